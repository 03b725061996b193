/* Benchmarks: what they count, what they refuse; the numbers themselves are the machine's. */
#include "bench/bench.h"
#include "encoder/encoder.h"
#include "tiny_task.h"

#include "test_context.h"

/* Training options; nvdp_config_free(). */
static struct nvdp_config *training(const char *const (*option)[2], size_t options) {
    struct nvdp_config *config = support_config(ctx, "train", NULL);
    for (size_t i = 0; i < options; i++)
        ok(nvdp_config_set(config, option[i][0], option[i][1]));
    return support_keep(config);
}

static struct bench_config tiny(enum bench_work work, enum nvdp_method method,
                                struct nvdp_config **train) {
    const char *const options[][2] = {{"method", nvdp_method_name(method)},
                                      {"batch", "2"},
                                      {"max-length", "8"},
                                      {"dropout", "-1"}};
    struct bench_config config = bench_config_default;
    *train = training(options, 4);
    config.work = work;
    config.arch = "tiny";
    config.steps = 2;
    config.train = *train;
    return config;
}

static struct bench_result must_bench(const struct bench_config *config) {
    struct bench_result result;
    ok(run_bench(ctx, config, &result));
    return result;
}

static void consistent(const struct bench_config *config, const struct bench_result *r) {
    cr_assert_eq(r->step.count, config->steps);
    cr_assert_gt(r->step.min, 0);
    cr_assert_leq(r->step.min, r->step.median);
    cr_assert_leq(r->step.min, r->step.mean);
    double seconds = r->step.mean * (double)config->steps;
    /* the same few operations in another order */
    near(r->tokens_per_second * seconds, (double)r->tokens, 1e-9 * (double)r->tokens);
    cr_assert_geq(r->tokens_per_second_best, r->tokens_per_second * (1 - 1e-12));
    cr_assert_gt(r->peak_flops, 0);
    cr_assert_gt(r->peak_rss, 4 * r->parameters); /* float32 weights are among it */
    cr_assert_gt(strlen(r->machine), 0);
}

/* Two texts of 8 tokens through 2 layers of width 128: a token's dense products take
 * 4 D^2 + 2 D 4 D = 12 D^2 = 196,608 multiply-adds a layer, a text's attention 2 n^2 D = 16,384. */
static const double tiny_flops = 2.0 * 2 * (16 * 196608.0 + 2 * 16384.0);

Test(bench, counts_what_a_step_multiplies) {
    for (int method = 0; method < 2; method++) {
        enum nvdp_method which = method == 0 ? NVDP_METHOD_BASE : NVDP_METHOD_NVDP;
        nvdp__autoptr(nvdp_config_free) struct nvdp_config *training = NULL;
        struct bench_config config = tiny(BENCH_TRAIN, which, &training);
        struct bench_result train = must_bench(&config);
        consistent(&config, &train);
        cr_assert_eq(train.tokens, 32);
        cr_assert_eq(train.texts, 4);
        double seconds = train.step.mean * 2;
        near(1e9 * train.gflops * seconds / (3 * 2 * tiny_flops), 1, 1e-9);
        double weights = 12.0 * 128 * 128 * 2;
        near(1e9 * train.encoder_gflops / train.tokens_per_second, 6 * weights, 1e-3);
        config.work = BENCH_ENCODE;
        struct bench_result encode = must_bench(&config);
        consistent(&config, &encode);
        seconds = encode.step.mean * 2;
        near(1e9 * encode.gflops * seconds / (2 * tiny_flops), 1, 1e-9);
        near(1e9 * encode.encoder_gflops / encode.tokens_per_second, 2 * weights, 1e-3);
        cr_assert_eq(encode.parameters, train.parameters);
    }
}

Test(bench, sizes_are_google_s) {
    static const struct {
        const char *name;
        size_t parameters; /* of the encoder with pooler, as published: 4.4, 11.2, 28.8 M, ... */
    } sizes[] = {{"tiny", 4385920},
                 {"mini", 11170560},
                 {"small", 28763648},
                 {"base", 109482240},
                 {"large", 335141888}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
        ok(nvdp_bert_config_find(ctx, sizes[i].name, &config));
        ok(nvdp__bert_config_check(ctx, &config));
        cr_assert_eq(nvdp__bert_parameter_count(&config), sizes[i].parameters, "%s: %zu",
                     sizes[i].name, nvdp__bert_parameter_count(&config));
    }
    struct nvdp_bert_config untouched = {.struct_size = sizeof untouched, .hidden_size = 7};
    fails(nvdp_bert_config_find(ctx, "huge", &untouched), NVDP_ERR_ARGUMENT,
          "'huge': expected tiny, mini, small");
    cr_assert_eq(untouched.hidden_size, 7);
}

/* Real texts come in the order of the epochs and wrap into the next one; the file holds the
 * batches. */
Test(bench, real_texts_in_the_order_of_training) {
    struct task task = task_make(ctx);
    struct bench_config config = bench_config_default;
    const char *path = support_scratch_path("batches.jsonl");
    config.work = BENCH_ENCODE;
    config.steps = 16; /* an epoch has 15 batches of 8 */
    const char *const options[][2] = {{"data", task.data},
                                      {"task", "sst2"},
                                      {"model", task.model},
                                      {"batch", "8"},
                                      {"max-length", "10"}};
    struct nvdp_config *train = training(options, 5);
    config.train = train;
    config.batches = path;
    struct bench_result result = must_bench(&config);
    consistent(&config, &result);
    cr_assert_eq(result.texts, 128);
    FILE *file = fopen(path, "r");
    char line[8192];
    size_t lines = 0, tokens = 0, texts = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        nvdp__autoptr(json_decref) json_t *batch = json_loads(line, 0, NULL);
        cr_assert_not_null(batch, "%s", line);
        size_t index;
        json_t *ids;
        json_array_foreach(json_object_get(batch, "input_ids"), index, ids) {
            const json_t *types = json_array_get(json_object_get(batch, "token_type_ids"), index);
            cr_assert_eq(json_array_size(types), json_array_size(ids));
            cr_assert_eq(integer_at(ids, "0"), 2); /* [CLS] of the task */
            tokens += json_array_size(ids);
        }
        texts += json_array_size(json_object_get(batch, "labels"));
        lines++;
    }
    fclose(file);
    cr_assert_eq(lines, 16);
    cr_assert_eq(tokens, result.tokens);
    cr_assert_eq(texts, result.texts);
}

static void refused(const struct bench_config *config, const char *message) {
    struct bench_result result;
    fails(run_bench(ctx, config, &result), NVDP_ERR_ARGUMENT, message);
}

Test(bench, refuses_what_cannot_be) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *train = NULL;
    struct bench_config config = tiny(BENCH_TRAIN, NVDP_METHOD_NVDP, &train);
    config.arch = "medium";
    refused(&config, "arch 'medium': expected tiny");
    config.arch = NULL;
    refused(&config, "arch: expected an architecture or a model, found neither");
    config.arch = "tiny";
    config.steps = 0;
    refused(&config, "steps: expected 1 to 100000, found 0");
    config.steps = 1;
    cr_assert_eq(nvdp_config_set(train, "batch", "0"), NVDP_ERR_ARGUMENT);
    cr_assert_str_eq(nvdp_context_error(ctx), "--batch: expected 1 to 65536, found 0");
    ok(nvdp_config_set(train, "max-length", "513"));
    refused(&config, "--max-length: expected at most 512, the model's max_position_embeddings");
}

Test(bench, rd_counts_ordered_pairs) {
    struct bench_rd_config config = bench_rd_config_default;
    config.texts = 7;
    config.components = 5;
    config.dim = 16;
    config.steps = 3;
    struct bench_rd_result result;
    ok(bench_rd(ctx, &config, &result));
    cr_assert_eq(result.pairs, 42);
    cr_assert_eq(result.step.count, 3);
    near(result.pairs_per_second * result.step.mean, 42, 1e-9);
    near(result.pair_elements_per_second / result.pairs_per_second, 80, 1e-9);
    /* 4 tokens x 16 dimensions of 1.1/2 E(mu - mu')^2 = .55 x 2 x .09, give or take: five standard
     * deviations of the mean over 42 pairs are below a quarter of it */
    near(result.sum.mean_finite, 64 * 0.55 * 0.18, 0.25 * 64 * 0.55 * 0.18);
    config.texts = 1;
    fails(bench_rd(ctx, &config, &result), NVDP_ERR_ARGUMENT, "texts: expected 2");
}
