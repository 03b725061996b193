/* Tests training with bfloat16 products. */
#include "train_test.h"

#include "test_context.h"

struct captured {
    int notices;
};

static void listen(enum nvdp_log_level level, const char *message, void *user) {
    struct captured *captured = user;
    captured->notices += level == NVDP_LOG_NOTICE && strstr(message, "precision bf16") != NULL;
}

static struct nvdp__train_options config_in(const struct task *task, enum nvdp_precision precision,
                                            const char *out) {
    struct nvdp__train_options config = task_config(task, NVDP_METHOD_NVDP, out);
    config.precision = precision;
    task_set(&config, "epochs 4 lr 3e-3 dropout 0.1");
    return config;
}

static struct nvdp_train_result train_in(const struct task *task, enum nvdp_precision precision,
                                         int threads, const char *out, bool plain,
                                         struct captured *captured) {
    if (plain) support_bf16(ctx);
    struct nvdp__train_options config = config_in(task, precision, out);
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    ok(nvdp_context_set_threads(ctx, threads));
    nvdp_context_set_log(ctx, listen, captured);
    ok(nvdp__train(ctx, &config, &result));
    support_keep(result.test);
    return result;
}

static const char *const model = "model/model.safetensors";

/* The label depends on one word, so accuracy must be far above the majority class, .5, in both
 * precisions. */
Test(bf16, learns_as_float32_does_or_says_that_it_is_float32) {
    struct task task = task_make_wide(ctx);
    struct captured captured[2] = {{0}, {0}};
    char out[2][512];
    struct nvdp_train_result result[2];
    for (int i = 0; i < 2; i++) {
        snprintf(out[i], sizeof out[i], "%s", support_scratch_path(i == 0 ? "f32" : "bf16"));
        result[i] = train_in(&task, i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_BF16, 2, out[i],
                             false, &captured[i]);
        cr_assert_gt(result[i].test->mean[0], 0.9, "accuracy %g", result[i].test->mean[0]);
    }
    bool missing = nvdp__bf16_missing(false) != NULL;
    cr_expect_eq(captured[0].notices, 0);
    cr_expect_eq(captured[1].notices > 0, missing);
    cr_expect_eq(support_same_file(out[0], out[1], model), missing);
}

/* Tests the mechanisms without weights. One has an additional layer, in bfloat16 like the
 * encoder. */
Test(bf16, gaussian_methods_learn) {
    static const enum nvdp_method methods[] = {NVDP_METHOD_VIB_LEARNED, NVDP_METHOD_VTDP};
    struct task task = task_make_wide(ctx);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct nvdp__train_options config =
            config_in(&task, NVDP_PRECISION_BF16, support_scratch_path("gaussian"));
        nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
        config.method = methods[i];
        config.overwrite = true;
        ok(nvdp__train(ctx, &config, &result));
        cr_expect_gt(result.test->mean[0], 0.9, "%s: accuracy %g", nvdp_method_name(methods[i]),
                     result.test->mean[0]);
    }
}

Test(bf16, bytes_do_not_depend_on_the_number_of_threads) {
    support_bf16(ctx);
    struct task task = task_make_wide(ctx);
    struct captured captured = {0};
    char out[2][512];
    for (int i = 0; i < 2; i++) {
        snprintf(out[i], sizeof out[i], "%s", support_scratch_path(i == 0 ? "one" : "two"));
        train_in(&task, NVDP_PRECISION_BF16, i + 1, out[i], true, &captured);
    }
    cr_expect(support_same_file(out[0], out[1], model));
}

/* Weight copies and rows in use are not part of the state and must be restored. */
Test(bf16, resumes_exactly) {
    support_bf16(ctx);
    struct task task = task_make_wide(ctx);
    task_resumes_exactly(ctx, config_in(&task, NVDP_PRECISION_BF16, support_scratch_path("run")));
}

/* Heads of 8 dimensions are too narrow for bfloat16. */
Test(bf16, narrow_heads_are_trained_in_float32_with_a_notice) {
    struct task task = task_make(ctx);
    struct captured captured[2] = {{0}, {0}};
    char out[2][512];
    for (int i = 0; i < 2; i++) {
        snprintf(out[i], sizeof out[i], "%s", support_scratch_path(i == 0 ? "f32" : "bf16"));
        train_in(&task, i == 0 ? NVDP_PRECISION_F32 : NVDP_PRECISION_BF16, 2, out[i], false,
                 &captured[i]);
    }
    cr_expect_eq(captured[0].notices, 0);
    cr_expect_gt(captured[1].notices, 0);
    cr_expect(support_same_file(out[0], out[1], model));
}
