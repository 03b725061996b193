/* Compares threads that each take their own texts through the encoder with all threads on every
 * text. */
#include "encoder.h"
#include "tensor/int8.h"

#include <pthread.h>

enum { TEXTS = 7, LONGEST = 90 };
/* For two threads: the first four texts have 163 tokens, the others 156. */
static const size_t even[TEXTS] = {LONGEST, 1, 33, 39, 70, 41, 45};
static const size_t uneven[TEXTS] = {LONGEST, 1, 2, 3, 1, 1, 1};

static struct encoder *encoder_of(enum nvdp_model_type type, enum nvdp_precision precision,
                                  bool lanes) {
    struct nvdp_bert_config config = encoder_config();
    config.hidden_size = 96;
    config.intermediate_size = 160;
    config.num_hidden_layers = 3;
    config.max_position_embeddings = LONGEST;
    config = encoder_of_type(type, config);
    if (precision == NVDP_PRECISION_BF16) support_bf16(NULL);
    if (precision == NVDP_PRECISION_INT8 && nvdp__int8_missing() != NULL)
        cr_skip_test("%s", nvdp__int8_missing());
    struct encoder *encoder = encoder_create_in(precision, &config, 3, false, false);
    cr_assert_eq(encoder->dev.threads, 2);
    if (lanes) ok(nvdp__bert_lanes(&encoder->bert, &encoder->dev, &encoder->cache));
    encoder_randomize(encoder, 0.1, 7);
    encoder_plan(encoder, TEXTS, LONGEST);
    nvdp__weights_changed(&encoder->dev);
    return encoder;
}

static struct encoder *encoder_in(enum nvdp_precision precision, bool lanes) {
    return encoder_of(NVDP_MODEL_BERT, precision, lanes);
}

static float *states(struct encoder *encoder, const struct nvdp__batch *batch) {
    encoder_forward(encoder, batch);
    ok(nvdp__device_status(&encoder->dev));
    return encoder_last(encoder, batch);
}

/* Returns the two encoders' difference relative to the states' size; 0: the same bits. */
static double differ(struct encoder *encoder[2], const struct nvdp__batch *batch) {
    size_t n = batch->tokens * encoder[0]->bert.config.hidden_size;
    double error = 0, size = 0;
    float *last[2];
    for (int i = 0; i < 2; i++)
        last[i] = states(encoder[i], batch);
    for (size_t k = 0; k < n; k++) {
        error += pow((double)last[1][k] - (double)last[0][k], 2);
        size += pow((double)last[0][k], 2);
    }
    cr_assert_gt(size, 0);
    return sqrt(error / size);
}

static void change_weights(struct encoder *encoder[2]) {
    for (int i = 0; i < 2; i++) {
        encoder_randomize(encoder[i], 0.2, 8);
        nvdp__weights_changed(&encoder[i]->dev);
    }
}

/* Sums of products may be split differently for another number of rows, so floating-point
 * results differ in the last digits, and integer ones do not. A batch that cannot be shared out
 * uses all threads on every text. */
static void check(enum nvdp_model_type type, enum nvdp_precision precision, double tolerance) {
    struct encoder *encoder[2];
    for (int i = 0; i < 2; i++)
        encoder[i] = encoder_of(type, precision, i == 1);
    const struct nvdp__bert_cache *cache = &encoder[1]->cache;
    struct nvdp__batch *batch = encoder_batch(encoder[0], TEXTS, even, 11);
    struct nvdp__batch *other = encoder_batch(encoder[0], TEXTS, uneven, 12);
    cr_assert_eq(encoder[0]->cache.lanes, 0);
    cr_assert_eq(cache->lanes, 2);
    cr_expect_leq(differ(encoder, batch), tolerance);
    cr_expect_eq(cache->lane[0].texts, 4);
    cr_expect_eq(cache->lane[1].first, 4);
    cr_expect_eq(cache->lane[1].texts, 3);
    cr_expect_eq(cache->lane[1].offset[3], 156, "the second lane ran");
    cr_expect_eq(differ(encoder, other), 0, "one text of a batch is more than half of it");
    change_weights(encoder);
    cr_expect_leq(differ(encoder, batch), tolerance);
}

Test(lanes, f32) {
    check(NVDP_MODEL_BERT, NVDP_PRECISION_F32, 1e-6);
}

Test(lanes, bf16) {
    check(NVDP_MODEL_BERT, NVDP_PRECISION_BF16, 1e-2);
}

Test(lanes, int8) {
    check(NVDP_MODEL_BERT, NVDP_PRECISION_INT8, 0);
}

Test(lanes, relatives_of_bert) {
    static const enum nvdp_model_type types[] = {NVDP_MODEL_MPNET, NVDP_MODEL_ELECTRA};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check(types[i], NVDP_PRECISION_F32, 1e-6);
        check(types[i], NVDP_PRECISION_BF16, 1e-2);
    }
}

Test(lanes, int8_of_relatives_of_bert) {
    check(NVDP_MODEL_MPNET, NVDP_PRECISION_INT8, 0);
    check(NVDP_MODEL_ELECTRA, NVDP_PRECISION_INT8, 1e-6);
}

/* A plan for fewer texts than threads has no lanes; a single text then uses all threads. */
Test(lanes, fewer_texts_than_threads) {
    struct encoder *encoder[2];
    for (int i = 0; i < 2; i++) {
        encoder[i] = encoder_in(NVDP_PRECISION_F32, i == 1);
        encoder_plan(encoder[i], 1, LONGEST);
    }
    struct nvdp__batch *batch = encoder_batch(encoder[0], 1, even, 11);
    cr_expect_eq(differ(encoder, batch), 0);
}

/* Words given in place of the table's, and a pass that begins at a layer. */
Test(lanes, given_words_and_states) {
    struct encoder *encoder[2];
    for (int i = 0; i < 2; i++)
        encoder[i] = encoder_in(NVDP_PRECISION_F32, i == 1);
    struct nvdp__batch *batch = encoder_batch(encoder[0], TEXTS, even, 11);
    size_t n = batch->tokens * encoder[0]->bert.config.hidden_size;
    float *plain = states(encoder[0], batch);
    batch->words = plain;
    cr_expect_leq(differ(encoder, batch), 1e-6);
    batch->words = NULL;
    for (int i = 0; i < 2; i++) {
        encoder[i]->pass.first_layer = 2;
        nvdp__upload(&encoder[i]->dev, n, plain, encoder[i]->cache.hidden[2]);
    }
    cr_expect_leq(differ(encoder, batch), 1e-6);
    float *last = encoder_last(encoder[1], batch);
    cr_expect_gt(encoder_difference(n, last, plain), 1e-2);
}

struct elsewhere {
    struct encoder *encoder;
    const struct nvdp__batch *batch;
    float *last;
};

static void *pass_elsewhere(void *user) {
    struct elsewhere *pass = user;
    pass->last = states(pass->encoder, pass->batch);
    return NULL;
}

/* Another thread runs products that one thread made: oneDNN must not keep state of the first. */
static void check_elsewhere(enum nvdp_precision precision, bool lanes) {
    struct encoder *encoder = encoder_in(precision, lanes);
    struct nvdp__batch *batch = encoder_batch(encoder, TEXTS, even, 11);
    struct elsewhere pass = {encoder, batch, NULL};
    size_t n = batch->tokens * encoder->bert.config.hidden_size;
    float *here = states(encoder, batch);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, pass_elsewhere, &pass), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect_arr_eq(here, pass.last, n * sizeof *here);
}

Test(lanes, from_another_thread) {
    for (int lanes = 0; lanes < 2; lanes++)
        check_elsewhere(NVDP_PRECISION_F32, lanes == 1);
}

Test(lanes, bf16_from_another_thread) {
    for (int lanes = 0; lanes < 2; lanes++)
        check_elsewhere(NVDP_PRECISION_BF16, lanes == 1);
}

Test(lanes, int8_from_another_thread) {
    for (int lanes = 0; lanes < 2; lanes++)
        check_elsewhere(NVDP_PRECISION_INT8, lanes == 1);
}

/* Whichever lane lacks memory, the device reports it, and everything allocated is released. */
static void runs_out_of_memory(enum nvdp_precision precision) {
    struct encoder *encoder = encoder_in(precision, false);
    struct nvdp__batch *batch = encoder_batch(encoder, TEXTS, even, 11);
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 1;
    for (; status != NVDP_OK; k++) {
        cr_assert_lt(k, 1000);
        nvdp__bert_cache_release(&encoder->cache);
        nvdp__device_release(&encoder->dev);
        ok(nvdp__bert_device(encoder->ctx, &encoder->bert.config, &encoder->dev));
        ok(nvdp__bert_cache_create(encoder->ctx, &encoder->bert, NVDP__KEEP_LAST, &encoder->cache));
        nvdp__fail_allocation(encoder->ctx, k);
        status = nvdp__bert_lanes(&encoder->bert, &encoder->dev, &encoder->cache);
        nvdp__fail_allocation(encoder->ctx, 0);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY);
        if (status != NVDP_OK) continue;
        encoder_plan(encoder, TEXTS, LONGEST);
        nvdp__fail_allocation(encoder->ctx, k);
        encoder_forward(encoder, batch);
        nvdp__fail_allocation(encoder->ctx, 0);
        status = nvdp__device_status(&encoder->dev);
        cr_assert(status == NVDP_OK || status == NVDP_ERR_MEMORY);
    }
    cr_expect_geq(k, 4);
}

Test(lanes, out_of_memory) {
    runs_out_of_memory(NVDP_PRECISION_F32);
}

Test(lanes, bf16_out_of_memory) {
    runs_out_of_memory(NVDP_PRECISION_BF16);
}

Test(lanes, int8_out_of_memory) {
    runs_out_of_memory(NVDP_PRECISION_INT8);
}
