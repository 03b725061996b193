/* Tests a mechanism of text privatization that is added only by its row: it privatizes a file,
 * and is described, measured and used in training. It draws by the exponential mechanism, like
 * santext. */
#include "tiny_task.h"

#include "test_context.h"

const struct nvdp__token_row nvdp__token_row_toy = {.citation = "toy (a test)",
                                                    .scale = "sigma",
                                                    .exact = true,
                                                    .uses_eta = true,
                                                    .bound_of = "santext",
                                                    .unknown = .25,
                                                    .place = 6};

static const char vectors[] = "6 2\nthe 0 0\ngood .5 0\nbad 0 2\nfilm 1 1\nmovie 1 1.5\n. -1 .25\n";

static struct nvdp_config *sanitize_config(const char *mechanism, const char *table,
                                           const char *text, const char *out) {
    return support_config(ctx, "sanitize", "mechanism", mechanism, "vectors", table, "text", text,
                          "out", out, "eta", "2", "insecure-seed", "3", NULL);
}

Test(toy_text_mechanism, is_described) {
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    ok(nvdp_text_mechanism_describe(ctx, "toy", &info));
    cr_expect_str_eq(info.name, "toy");
    cr_expect_eq(info.mechanism, NVDP_DCHI_RANDOM + 1);
    cr_expect(info.exact && info.uses_eta && !info.uses_p && !info.gives_vectors);
    ok(nvdp_text_mechanism_describe(ctx, "sequence-laplace", &info));
    cr_expect(info.on_sequence && info.mechanism == -1);
    fails(nvdp_text_mechanism_describe(ctx, "tory", &info), NVDP_ERR_ARGUMENT,
          "random, toy or sequence-laplace");
}

Test(toy_text_mechanism, privatizes_a_file) {
    nvdp__autoresult struct nvdp_sanitize_result result = NVDP_RESULT(struct nvdp_sanitize_result);
    const char *text = support_file("in.txt", "the good film .\nthe bad unheard movie .\n");
    const char *table = support_file("v.txt", vectors);
    struct nvdp_config *config =
        sanitize_config("santext", table, text, support_scratch_path("santext.txt"));
    ok(nvdp_sanitize(ctx, config, NULL, NULL, NULL));
    config = sanitize_config("toy", table, text, support_scratch_path("toy.txt"));
    ok(nvdp_sanitize(ctx, config, NULL, NULL, &result));
    cr_expect_str_eq(support_read(support_scratch_path("toy.txt")),
                     support_read(support_scratch_path("santext.txt")));
    support_contains(result.statement, "by mechanism toy (a test) over", "Noise: sigma 2 nats");
    cr_expect(result.epsilon > 0 && isfinite(result.epsilon));
    cr_expect_eq(result.oov_epsilon, result.epsilon / 4);
}

Test(toy_text_mechanism, is_measured_and_trained_under) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config =
        task_config(&task, NVDP_METHOD_BASE, support_scratch_path("run"));
    nvdp__autoresult struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    config.noise.mechanism = 1 + NVDP_DCHI_RANDOM + 1;
    task_set(&config, "epochs 1 eta 2");
    task_train(ctx, &config);
    support_contains(support_read(support_scratch_path("run/run.json")),
                     "\"token_noise\": \"toy\"");

    struct nvdp_config *options =
        support_config(ctx, "text-privacy", "mechanism", "toy", "eta", "2", "model", task.model,
                       "task", "sst2", "data", task.data, NULL);
    ok(nvdp_text_privacy(ctx, options, NULL, &report));
    cr_expect_str_eq(report.pairs->shape.method, "toy");
    support_contains(support_result_text(ctx, &report, NULL), "under toy, eta 2",
                     "The divergences are those of santext, which bound the exact ones.");
}
