/* Tests that numbers have a decimal point in any locale of the calling program. */
#include "dchi/dchi.h"
#include "tiny_task.h"

#include <locale.h>

/* Appends a text and its name to the stream of compared output, and frees the text. */
static void add(FILE *to, const char *name, char *text) {
    cr_assert_not_null(text, "%s", name);
    fprintf(to, "--- %s\n%s\n", name, text);
    free(text);
}

/* Trains with fractional options and compares the model's files. */
static void train(struct nvdp_context *ctx, const char *run, FILE *to) {
    const struct task task = task_make(ctx);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    FREED(nvdp_result_free)
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    char *text = NULL, file[512];
    ok(nvdp_config_create(ctx, "train", &config));
    const char *const options[][2] = {
        {"task", "sst2"},     {"data", task.data},   {"model", task.model},
        {"out", run},         {"method", "nvdp"},    {"latent-dim", "4"},
        {"max-length", "10"}, {"epochs", "1"},       {"lambda-g", ".25"},
        {"lr", "1.5e-3"},     {"dropout", "0.125"},  {"clip-sequence", "1.75"},
        {"batch", "8"},       {"overwrite", "true"}, {"weights", "constant"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        support_set(ctx, config, options[i][0], options[i][1]);
    support_refused(ctx, config, "dropout", "1.5", "1.5");
    add(to, "refused", strdup(nvdp_context_error(ctx)));
    ok(nvdp_config_json(config, &text));
    support_contains(text, "1.75");
    add(to, "config", text);
    ok(nvdp_train(ctx, config, &result));
    snprintf(file, sizeof file, "%s/model/config.json", run);
    add(to, file, support_read(file));
}

/* Adds the measurements of the run's posteriors and the certificate of its model, as text and as JSON. */
static void measure(struct nvdp_context *ctx, const char *run, FILE *to) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    FREED(nvdp_result_free)
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    char *text = NULL, path[512];
    ok(nvdp_config_create(ctx, "run,privacy", &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "order", "1.5");
    support_set(ctx, config, "delta", "2.5e-6");
    support_set(ctx, config, "baseline", "0.25");
    ok(nvdp_run_posteriors(ctx, config, &posteriors));
    ok(nvdp_privacy_measure(ctx, posteriors, config, NULL, &report));
    ok(nvdp_result_text(ctx, &report, NULL, &text));
    support_contains(text, "order 1.5");
    add(to, "report", text);
    ok(nvdp_result_json(ctx, &report, NULL, &text));
    add(to, "report as JSON", text);
    snprintf(path, sizeof path, "%s/model", run);
    ok(nvdp_model_load(ctx, path, &model));
    ok(nvdp_model_certificate(ctx, model, config, &certificate));
    ok(nvdp_result_text(ctx, &certificate, NULL, &text));
    add(to, "certificate", text);
    ok(nvdp_result_json(ctx, &certificate, NULL, &text));
    add(to, "certificate as JSON", text);
}

/* Exports a file with its statement, which a reader recomputes. */
static void share(struct nvdp_context *ctx, const char *run, FILE *to) {
    nvdp__autoresult struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    const char *file = support_scratch_path("shared.safetensors");
    ok(nvdp_config_create(ctx, "export", &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "out", file);
    support_set(ctx, config, "overwrite", "true");
    support_set(ctx, config, "insecure-seed", "7");
    support_set(ctx, config, "no-ledger", "true");
    support_set(ctx, config, "split", "dev");
    support_set(ctx, config, "publish-measured", "true");
    ok(nvdp_export(ctx, config, &result));
    add(to, "statement", strdup(result.statement));
    ok(nvdp_verify(ctx, file, NULL, &found));
    cr_assert(found.checks > 10); /* one check refuses noise from a seed */
    for (size_t i = 0; i < found.checks; i++)
        add(to, found.check[i].what, strdup(found.check[i].found));
}

/* Word vectors: short numbers are parsed digit by digit, long ones by the C library. */
static void word_vectors(struct nvdp_context *ctx, FILE *to) {
    static const double want[] = {0.25, -0.0015, 0.1234567890123456789};
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *sanitizer = NULL;
    const char *file = support_scratch_path("vectors.txt");
    support_write_text(file, "a 0.25 -1.5e-3 0.1234567890123456789\nb 1 2 3.5\n");
    ok(nvdp_config_create(ctx, "sanitizer", &config));
    support_set(ctx, config, "vectors", file);
    support_set(ctx, config, "mechanism", "santext");
    support_set(ctx, config, "eta", "2.5");
    ok(nvdp_sanitizer_create(ctx, config, &sanitizer));
    double row[3];
    nvdp__vectors_row(nvdp_sanitizer_vectors(sanitizer), 0, row);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        cr_expect_eq(row[i], want[i]);
    support_refused(ctx, config, "eta", "2,5", "2,5");
    add(to, "eta refused", strdup(nvdp_context_error(ctx)));
}

static char *everything(void) {
    struct nvdp_context *ctx = support_context();
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    const char *run = support_scratch_path("run");
    train(ctx, run, to);
    measure(ctx, run, to);
    share(ctx, run, to);
    word_vectors(ctx, to);
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
