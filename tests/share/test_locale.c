/* Tests that numbers have a decimal point in any locale of the calling program. */
#include "tiny_task.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

/* Appends a text and its name to the stream of compared output, and frees the text. */
static void add(FILE *to, const char *name, char *text) {
    cr_assert_not_null(text, "%s", name);
    fprintf(to, "--- %s\n%s\n", name, text);
    free(text);
}

static void must(struct nvdp_context *ctx, nvdp_status status) {
    cr_assert_eq(status, NVDP_OK, "%s", nvdp_context_error(ctx));
}

static struct nvdp_config *joined(struct nvdp_context *ctx,
                                  nvdp_status (*a)(struct nvdp_context *, struct nvdp_config **),
                                  nvdp_status (*b)(struct nvdp_context *, struct nvdp_config **)) {
    struct nvdp_config *config = NULL, *other = NULL;
    must(ctx, a(ctx, &config));
    must(ctx, b(ctx, &other));
    must(ctx, nvdp_config_join(config, other));
    return config;
}

/* Trains with fractional options and compares the model's files. */
static void train(struct nvdp_context *ctx, const char *run, FILE *to) {
    const struct task task = task_make(ctx);
    struct nvdp_config *config = NULL;
    FREED(nvdp_train_result_free)
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    char *text = NULL, file[512];
    must(ctx, nvdp_train_config_create(ctx, &config));
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
    must(ctx, nvdp_config_json(config, &text));
    support_contains(text, "1.75");
    add(to, "config", text);
    must(ctx, nvdp_train(ctx, config, &result));
    snprintf(file, sizeof file, "%s/model/config.json", run);
    add(to, file, support_read(file));
    nvdp_config_free(config);
}

/* Adds the measurements of the run's posteriors and the certificate of its model, as text and as JSON. */
static void measure(struct nvdp_context *ctx, const char *run, FILE *to) {
    struct nvdp_config *config = joined(ctx, nvdp_run_config_create, nvdp_privacy_config_create);
    FREED(nvdp_privacy_report_free)
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    struct nvdp_certificate certificate = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp_posteriors *posteriors = NULL;
    struct nvdp_model *model = NULL;
    char *text = NULL, path[512];
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "order", "1.5");
    support_set(ctx, config, "delta", "2.5e-6");
    support_set(ctx, config, "baseline", "0.25");
    must(ctx, nvdp_run_posteriors(ctx, config, &posteriors));
    must(ctx, nvdp_privacy_measure(ctx, posteriors, config, NULL, &report));
    must(ctx, nvdp_privacy_report_text(ctx, &report, &text));
    support_contains(text, "order 1.5");
    add(to, "report", text);
    must(ctx, nvdp_privacy_report_json(ctx, &report, &text));
    add(to, "report as JSON", text);
    snprintf(path, sizeof path, "%s/model", run);
    must(ctx, nvdp_model_load(ctx, path, &model));
    must(ctx, nvdp_model_certificate(ctx, model, config, &certificate));
    must(ctx, nvdp_certificate_text(ctx, &certificate, &text));
    add(to, "certificate", text);
    must(ctx, nvdp_certificate_json(ctx, &certificate, &text));
    add(to, "certificate as JSON", text);
    nvdp_model_free(model);
    nvdp_posteriors_free(posteriors);
    nvdp_config_free(config);
}

/* Exports a file with its statement, which a reader recomputes. */
static void share(struct nvdp_context *ctx, const char *run, FILE *to) {
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    struct nvdp_config *config = NULL;
    const char *file = support_scratch_path("shared.safetensors");
    must(ctx, nvdp_export_config_create(ctx, &config));
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "out", file);
    support_set(ctx, config, "overwrite", "true");
    support_set(ctx, config, "insecure-seed", "7");
    support_set(ctx, config, "no-ledger", "true");
    support_set(ctx, config, "split", "dev");
    support_set(ctx, config, "publish-measured", "true");
    must(ctx, nvdp_export(ctx, config, &result));
    add(to, "statement", strdup(result.statement));
    nvdp_export_result_free(&result);
    must(ctx, nvdp_verify(ctx, file, NULL, &found));
    cr_assert(found.checks > 10); /* one check refuses noise from a seed */
    for (size_t i = 0; i < found.checks; i++)
        add(to, found.check[i].what, strdup(found.check[i].found));
    nvdp_config_free(config);
}

/* Word vectors: short numbers are parsed digit by digit, long ones by the C library. */
static void word_vectors(struct nvdp_context *ctx, FILE *to) {
    static const double want[] = {0.25, -0.0015, 0.1234567890123456789};
    struct nvdp_config *config = NULL;
    struct nvdp_sanitizer *sanitizer = NULL;
    const char *file = support_scratch_path("vectors.txt");
    support_write_text(file, "a 0.25 -1.5e-3 0.1234567890123456789\nb 1 2 3.5\n");
    must(ctx, nvdp_sanitizer_config_create(ctx, &config));
    support_set(ctx, config, "vectors", file);
    support_set(ctx, config, "mechanism", "santext");
    support_set(ctx, config, "eta", "2.5");
    must(ctx, nvdp_sanitizer_create(ctx, config, &sanitizer));
    double row[3];
    nvdp_vectors_row(nvdp_sanitizer_vectors(sanitizer), 0, row);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        cr_expect_eq(row[i], want[i]);
    support_refused(ctx, config, "eta", "2,5", "2,5");
    add(to, "eta refused", strdup(nvdp_context_error(ctx)));
    nvdp_sanitizer_free(sanitizer);
    nvdp_config_free(config);
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
    nvdp_context_free(ctx);
    return text;
}

Test(locale, a_decimal_comma_changes_nothing) {
    char *want = everything();
    support_decimal_comma();
    char sum[16], *found = everything();
    snprintf(sum, sizeof sum, "%.1f", 0.5);
    cr_assert_str_eq(sum, "0,5");
    cr_expect_str_eq(found, want);
    free(found);
    free(want);
}
