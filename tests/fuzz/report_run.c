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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/nvdp-fuzz-report-XXXXXX";
    struct nvdp_context *ctx = NULL;
    struct report *report = NULL;
    struct report_config config = report_config_default();
    if (mkdtemp(folder) == NULL || nvdp_context_create(&ctx) != NVDP_OK) abort();
    fuzz_write(folder, names, data, size);
    config.directory = folder;
    nvdp_status status = report_create(ctx, &config, &report);
    if (status == NVDP_OK) {
        check(ctx, report);
    } else {
        fuzz_refused(ctx, status);
    }
    report_free(report);
    nvdp_context_free(ctx);
    fuzz_remove(folder, names);
    return 0;
}
