/* Any bytes as the files of a run directory, a NUL between one and the next: what is reported of
 * them is a table, a JSON object, a set of scripts. */
#include "experiments/report/parts.h"
#include "fuzz.h"

static const char *const names[] = {"run.json",      "result.json", "privacy.json",
                                    "metrics.jsonl", "sweep.json",  NULL};

static void check(struct nvdp_context *ctx, const struct nvdp_report *report) {
    char *text = NULL;
    struct nvdp__figures figures = {0};
    FILE *nowhere = fopen("/dev/null", "we");
    if (nowhere == NULL || report->groups != 1 || report->group[0].runs != 1) abort();
    if (nvdp_report_print(ctx, report, nowhere) != NVDP_OK) abort();
    if (nvdp_report_json(ctx, report, &text) != NVDP_OK) abort();
    if (nvdp__figures_make(ctx, report, &figures) != NVDP_OK) abort();
    nvdp__figures_release(&figures);
    free(text);
    fclose(nowhere);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char folder[] = "/tmp/nvdp-fuzz-report-XXXXXX";
    struct nvdp_context *ctx = NULL;
    struct nvdp_report *report = NULL;
    struct nvdp_report_config config = nvdp_report_config_default();
    if (mkdtemp(folder) == NULL || nvdp_context_create(&ctx) != NVDP_OK) abort();
    fuzz_write(folder, names, data, size);
    config.directory = folder;
    nvdp_status status = nvdp_report_create(ctx, &config, &report);
    if (status == NVDP_OK) {
        check(ctx, report);
    } else {
        fuzz_refused(ctx, status);
    }
    nvdp_report_free(report);
    nvdp_context_free(ctx);
    fuzz_remove(folder, names);
    return 0;
}
