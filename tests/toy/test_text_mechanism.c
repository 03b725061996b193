/* Tests a mechanism of text privatization that is added only by its row: it privatizes a file,
 * and is described, measured and used in training. It draws by the exponential mechanism, like
 * santext. */
#include "dchi/mechanism.h"
#include "tiny_task.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct nvdp__token_row nvdp__token_row_toy = {.citation = "toy (a test)",
                                                    .scale = "sigma",
                                                    .exact = true,
                                                    .uses_eta = true,
                                                    .bound_of = "santext",
                                                    .unknown = .25,
                                                    .place = 6};

static const char vectors[] = "6 2\nthe 0 0\ngood .5 0\nbad 0 2\nfilm 1 1\nmovie 1 1.5\n. -1 .25\n";

static const char *write_text(const char *name, const char *text) {
    const char *path = support_scratch_path(name);
    support_write_text(path, text);
    return path;
}

static struct nvdp_config *sanitize_config(struct nvdp_context *ctx, const char *mechanism,
                                           const char *table, const char *text, const char *out) {
    struct nvdp_config *config = NULL;
    cr_assert_eq(nvdp_sanitize_config_create(ctx, &config), NVDP_OK);
    support_set(ctx, config, "mechanism", mechanism);
    support_set(ctx, config, "vectors", table);
    support_set(ctx, config, "text", text);
    support_set(ctx, config, "out", out);
    support_set(ctx, config, "eta", "2");
    support_set(ctx, config, "insecure-seed", "3");
    return config;
}

Test(toy_text_mechanism, is_described) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    cr_assert_eq(nvdp_text_mechanism_describe(ctx, "toy", &info), NVDP_OK);
    cr_expect_str_eq(info.name, "toy");
    cr_expect_eq(info.mechanism, NVDP_DCHI_RANDOM + 1);
    cr_expect(info.exact && info.uses_eta && !info.uses_p && !info.gives_vectors);
    cr_assert_eq(nvdp_text_mechanism_describe(ctx, "sequence-laplace", &info), NVDP_OK);
    cr_expect(info.on_sequence && info.mechanism == -1);
    cr_expect_eq(nvdp_text_mechanism_describe(ctx, "tory", &info), NVDP_ERR_ARGUMENT);
    support_contains(nvdp_context_error(ctx), "random, toy or sequence-laplace");
    nvdp_context_free(ctx);
}

Test(toy_text_mechanism, privatizes_a_file) {
    struct nvdp_context *ctx = support_context();
    FREED(nvdp_sanitize_result_free)
    struct nvdp_sanitize_result result = NVDP_RESULT(struct nvdp_sanitize_result);
    const char *text = write_text("in.txt", "the good film .\nthe bad unheard movie .\n");
    const char *table = write_text("v.txt", vectors);
    struct nvdp_config *config =
        sanitize_config(ctx, "santext", table, text, support_scratch_path("santext.txt"));
    cr_assert_eq(nvdp_sanitize(ctx, config, NULL, NULL, NULL), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    nvdp_config_free(config);
    config = sanitize_config(ctx, "toy", table, text, support_scratch_path("toy.txt"));
    cr_assert_eq(nvdp_sanitize(ctx, config, NULL, NULL, &result), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    nvdp_config_free(config);
    char *mine = support_read(support_scratch_path("toy.txt"));
    char *theirs = support_read(support_scratch_path("santext.txt"));
    cr_expect_str_eq(mine, theirs);
    support_contains(result.statement, "by mechanism toy (a test) over");
    support_contains(result.statement, "Noise: sigma 2 nats");
    cr_expect(result.epsilon > 0 && isfinite(result.epsilon));
    cr_expect_eq(result.oov_epsilon, result.epsilon / 4);
    free(mine);
    free(theirs);
    nvdp_context_free(ctx);
}

Test(toy_text_mechanism, is_measured_and_trained_under) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config =
        task_config(&task, NVDP_METHOD_BASE, support_scratch_path("run"));
    struct nvdp_config *options = NULL;
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    char *text = NULL;
    config.epochs = 1;
    config.noise.mechanism = 1 + NVDP_DCHI_RANDOM + 1;
    config.noise.sanitizer.eta = 2;
    task_train(ctx, &config);
    text = support_read(support_scratch_path("run/run.json"));
    support_contains(text, "\"token_noise\": \"toy\"");
    free(text);

    cr_assert_eq(nvdp_text_privacy_config_create(ctx, &options), NVDP_OK);
    support_set(ctx, options, "mechanism", "toy");
    support_set(ctx, options, "eta", "2");
    support_set(ctx, options, "model", task.model);
    support_set(ctx, options, "task", "sst2");
    support_set(ctx, options, "data", task.data);
    cr_assert_eq(nvdp_text_privacy(ctx, options, NULL, &report), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    nvdp_config_free(options);
    cr_expect_str_eq(report.pairs->method, "toy");
    cr_assert_eq(nvdp_dchi_report_text(ctx, &report, &text), NVDP_OK);
    support_contains(text, "under toy, eta 2");
    support_contains(text, "The divergences are those of santext, which bound the exact ones.");
    free(text);
    nvdp_dchi_report_free(&report);
    nvdp_context_free(ctx);
}
