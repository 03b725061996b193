/* Packed batches and the order of an epoch. */
#include "text_support.h"

#include "test_context.h"

Test(batch, layout) {
    struct nvdp_tokenizer *tiny = text_tiny(ctx);
    struct nvdp_dataset_config config = text_config(NVDP_TASK_RTE);
    support_file("train.tsv", "sentence1\tsentence2\tlabel\na\tb\tentailment\n"
                              "the cat\tsat\tnot_entailment\nmat\t\tentailment\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset));
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    ok(nvdp__batch_create(ctx, 2, dataset->longest, &batch));
    const int64_t rows[] = {2, 1};
    nvdp__batch_fill(batch, dataset, rows, 99, 2);
    const int32_t offset[] = {0, 4, 10};
    const int32_t ids[] = {TINY_CLS, TINY_MAT, TINY_SEP, TINY_SEP, TINY_CLS,
                           TINY_THE, TINY_CAT, TINY_SEP, TINY_SAT, TINY_SEP};
    const int32_t types[] = {0, 0, 0, 1, 0, 0, 0, 0, 1, 1};
    const int32_t positions[] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5};
    cr_assert_eq(batch->texts, 2);
    cr_assert_eq(batch->tokens, 10);
    cr_assert_eq(batch->longest, 6);
    cr_assert_arr_eq(batch->offset, offset, sizeof offset);
    cr_assert_arr_eq(batch->ids, ids, sizeof ids);
    cr_assert_arr_eq(batch->types, types, sizeof types);
    cr_assert_arr_eq(batch->positions, positions, sizeof positions);
    cr_assert(batch->label[0] == 0 && batch->label[1] == 1);
    cr_assert(batch->key[0] == 2 && batch->key[1] == 1);
    nvdp__batch_fill(batch, dataset, NULL, 0, 1); /* a shorter batch after a longer one */
    cr_assert_eq(batch->texts, 1);
    cr_assert_eq(batch->tokens, 5);
    cr_assert_eq(batch->longest, 5);
    cr_assert_eq(batch->key[0], 0);
    nvdp__batch_fill(batch, dataset, NULL, 1, 2);
    cr_assert_eq(batch->key[1], 2);
    nvdp__batch_fill(batch, dataset, NULL, 0, 0);
    cr_assert(batch->texts == 0 && batch->tokens == 0 && batch->longest == 0);
    nvdp__batch_free(NULL);
}

/* A part uses the batch's memory from a text on, with offsets from there. */
Test(batch, part) {
    static const size_t lengths[] = {3, 1, 4, 2};
    enum { DIM = 5 };
    float words[10 * DIM];
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    ok(nvdp__batch_create(ctx, 4, 4, &batch));
    nvdp__batch_clear(batch);
    for (size_t i = 0; i < 4; i++) {
        for (size_t t = 0; t < lengths[i]; t++)
            nvdp__batch_put(batch, (int32_t)(10 * i + t));
        nvdp__batch_end(batch, i);
    }
    int32_t offset[3];
    const int32_t expected[] = {0, 1, 5};
    struct nvdp__batch part = nvdp__batch_part(batch, 1, 2, DIM, offset);
    cr_expect_eq(part.texts, 2);
    cr_expect_eq(part.tokens, 5);
    cr_expect_eq(part.longest, 4);
    cr_expect_eq(part.offset, offset);
    cr_expect_arr_eq(offset, expected, sizeof expected);
    cr_expect_eq(part.ids, batch->ids + 3);
    cr_expect_eq(part.types, batch->types + 3);
    cr_expect_eq(part.positions, batch->positions + 3);
    cr_expect_eq(part.ids[1], 20);
    cr_expect_eq(part.positions[4], 3);
    cr_expect_null(part.words);
    batch->words = words;
    cr_expect_eq(nvdp__batch_part(batch, 3, 1, DIM, offset).words, words + 8 * DIM);
    cr_expect_eq(offset[1], 2);
}

Test(batch, without_labels) {
    struct nvdp_tokenizer *tiny = text_tiny(ctx);
    const char *const text[] = {"a"};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    ok(nvdp_dataset_from_texts(ctx, tiny, 8, 1, text, NULL, &dataset));
    ok(nvdp__batch_create(ctx, 1, 3, &batch));
    nvdp__batch_fill(batch, dataset, NULL, 0, 1);
    cr_assert(isnan(batch->label[0]));
}

Test(batch, too_large) {
    struct nvdp__batch *batch = NULL;
    text_error(ctx, nvdp__batch_create(ctx, 1 << 23, 512, &batch), NVDP_ERR_ARGUMENT,
               "batch: expected at most 2147483647 tokens, found 8388608 texts of 512");
    cr_assert_eq(nvdp__batch_create(ctx, SIZE_MAX, 512, &batch), NVDP_ERR_ARGUMENT);
    cr_assert_null(batch);
}

Test(epoch_order, permutes) {
    enum { N = 1000 };
    int64_t order[N];
    bool seen[N] = {false};
    nvdp__epoch_order(7, 3, N, order);
    for (int i = 0; i < N; i++) {
        cr_assert(order[i] >= 0 && order[i] < N && !seen[order[i]]);
        seen[order[i]] = true;
    }
    nvdp__epoch_order(7, 3, 0, order);
    nvdp__epoch_order(7, 3, 1, order);
    cr_assert_eq(order[0], 0);
}

Test(epoch_order, follows_seed_and_epoch) {
    enum { N = 100 };
    int64_t order[4][N];
    nvdp__epoch_order(7, 0, N, order[0]);
    nvdp__epoch_order(7, 0, N, order[1]);
    nvdp__epoch_order(7, 1, N, order[2]);
    nvdp__epoch_order(8, 0, N, order[3]);
    cr_assert_arr_eq(order[0], order[1], sizeof order[0]);
    cr_assert_neq(memcmp(order[0], order[2], sizeof order[0]), 0);
    cr_assert_neq(memcmp(order[0], order[3], sizeof order[0]), 0);
    cr_assert_neq(memcmp(order[2], order[3], sizeof order[0]), 0);
}
