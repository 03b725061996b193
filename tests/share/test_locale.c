/* Tests that numbers have a decimal point in any locale of the calling program. */
#include "fixture.h"

#include <locale.h>

#include "test_context.h"

/* Appends a text and its name to the stream of compared output. */
static void add(FILE *to, const char *name, const char *text) {
    cr_assert_not_null(text, "%s", name);
    fprintf(to, "--- %s\n%s\n", name, text);
}

/* Trains with fractional options and compares the model's files. */
static void train(const char *run, FILE *to) {
    const struct task task = task_make(ctx);
    FREED(nvdp_result_free)
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    char *text = NULL;
    struct nvdp_config *config =
        support_config(ctx, "train", "task", "sst2", "data", task.data, "model", task.model, "out",
                       run, "method", "nvdp", "latent-dim", "4", "max-length", "10", "epochs", "1",
                       "lambda-g", ".25", "lr", "1.5e-3", "dropout", "0.125", "clip-sequence",
                       "1.75", "batch", "8", "overwrite", "true", "weights", "constant", NULL);
    support_refused(ctx, config, "dropout", "1.5", "1.5");
    add(to, "refused", nvdp_context_error(ctx));
    ok(nvdp_config_json(config, &text));
    support_contains(support_keep(text), "1.75");
    add(to, "config", text);
    ok(nvdp_train(ctx, config, &result));
    const char *file = support_path("%s/model/config.json", run);
    add(to, file, support_read(file));
}

/* Adds the measurements of the run's posteriors and the certificate of its model, as text and as JSON. */
static void measure(const char *run, FILE *to) {
    FREED(nvdp_result_free)
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    char *json = NULL;
    struct nvdp_config *config = support_config(ctx, "run,privacy", "run", run, "order", "1.5",
                                                "delta", "2.5e-6", "baseline", "0.25", NULL);
    ok(nvdp_run_posteriors(ctx, config, &posteriors));
    ok(nvdp_privacy_measure(ctx, posteriors, config, NULL, &report));
    const char *text = support_result_text(ctx, &report, NULL);
    support_contains(text, "order 1.5");
    add(to, "report", text);
    ok(nvdp_result_json(ctx, &report, NULL, &json));
    add(to, "report as JSON", support_keep(json));
    ok(nvdp_model_load(ctx, support_path("%s/model", run), &model));
    ok(nvdp_model_certificate(ctx, model, config, &certificate));
    add(to, "certificate", support_result_text(ctx, &certificate, NULL));
    ok(nvdp_result_json(ctx, &certificate, NULL, &json));
    add(to, "certificate as JSON", support_keep(json));
}

/* Exports a file with its statement, which a reader recomputes. */
static void share(const char *run, FILE *to) {
    const char *file = support_scratch_path("shared.safetensors");
    const struct nvdp_export_result result =
        share_exported(ctx, "run", run, "out", file, "overwrite", "true", "insecure-seed", "7",
                       "no-ledger", "true", "split", "dev", "publish-measured", "true", NULL);
    add(to, "statement", result.statement);
    const struct nvdp_verification found = share_verified(ctx, file, NULL);
    cr_assert(found.checks > 10); /* one check refuses noise from a seed */
    for (size_t i = 0; i < found.checks; i++)
        add(to, found.check[i].what, found.check[i].found);
}

/* Word vectors: short numbers are parsed digit by digit, long ones by the C library. */
static void word_vectors(FILE *to) {
    static const double want[] = {0.25, -0.0015, 0.1234567890123456789};
    nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *sanitizer = NULL;
    const char *file = support_scratch_path("vectors.txt");
    support_write_text(file, "a 0.25 -1.5e-3 0.1234567890123456789\nb 1 2 3.5\n");
    struct nvdp_config *config = support_config(ctx, "sanitizer", "vectors", file, "mechanism",
                                                "santext", "eta", "2.5", NULL);
    ok(nvdp_sanitizer_create(ctx, config, &sanitizer));
    double row[3];
    nvdp__vectors_row(nvdp_sanitizer_vectors(sanitizer), 0, row);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        cr_expect_eq(row[i], want[i]);
    support_refused(ctx, config, "eta", "2,5", "2,5");
    add(to, "eta refused", nvdp_context_error(ctx));
}

static char *everything(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    const char *run = support_scratch_path("run");
    train(run, to);
    measure(run, to);
    share(run, to);
    word_vectors(to);
    fclose(to);
    return support_keep(text);
}

Test(locale, a_decimal_comma_changes_nothing) {
    char *want = everything();
    support_decimal_comma();
    char sum[16], *found = everything();
    snprintf(sum, sizeof sum, "%.1f", 0.5);
    cr_assert_str_eq(sum, "0,5");
    cr_expect_str_eq(found, want);
}
