/* Reads any bytes as the files of a run directory, separated by NUL bytes. The report of them is
 * a table, a JSON object and a set of scripts. */
#include "fuzz.h"
#include "report/parts.h"

static const char *const names[] = {"run.json",      "result.json", "privacy.json",
                                    "metrics.jsonl", "sweep.json",  NULL};

static void check(struct nvdp_context *ctx, const struct report *report) {
    char *text = NULL;
    struct report_figures figures = {0};
    FILE *nowhere = fopen("/dev/null", "we");
    if (nowhere == NULL || report->groups != 1 || report->group[0].runs != 1) abort();
    if (report_print(ctx, report, nowhere) != NVDP_OK) abort();
    if (report_json(ctx, report, &text) != NVDP_OK) abort();
    if (report_figures_make(ctx, report, &figures) != NVDP_OK) abort();
    report_figures_release(&figures);
    free(text);
    fclose(nowhere);
}

nvdp_status fuzz_use(struct fuzz_input in) {
    char folder[] = "/tmp/nvdp-fuzz-report-XXXXXX";
    struct report *report = NULL;
    struct report_config config = report_config_default();
    if (mkdtemp(folder) == NULL) abort();
    fuzz_write(folder, names, in.data, in.size);
    config.directory = folder;
    nvdp_status status = report_create(in.ctx, &config, &report);
    if (status == NVDP_OK) check(in.ctx, report);
    report_free(report);
    fuzz_remove(folder, names);
    return status;
}
