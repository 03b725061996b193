/* Gradients at the start of a step: zeroed, left alone, or zeroed by rows. */
#include "tensor_test.h"

#include "test_context.h"

enum { ROWS = 7, DIM = 5 };
enum { BEFORE, TABLE, ADDED, SET_ONE, SET_TWO, STILL, AFTER, TENSORS };

/* Declares a table between tensors of all kinds, none of whole cache lines. */
static void declare(struct nvdp__params *params) {
    const struct {
        const char *name;
        size_t rows, cols;
        unsigned flags;
    } table[TENSORS] = {
        [BEFORE] = {"before", 3, 3, 0},
        [TABLE] = {"table", ROWS, DIM, NVDP__PARAM_ROWS | NVDP__PARAM_DECAY},
        [ADDED] = {"added", 1, 17, 0},
        [SET_ONE] = {"set one", 3, 7, NVDP__PARAM_SET},
        [SET_TWO] = {"set two", 3, 7, NVDP__PARAM_SET | NVDP__PARAM_JOINED},
        [STILL] = {"still", 2, 9, NVDP__PARAM_FROZEN},
        [AFTER] = {"after", 2, 2, 0},
    };
    nvdp__params_init(params, ctx);
    for (size_t i = 0; i < TENSORS; i++) {
        size_t index;
        ok(nvdp__params_add(params, table[i].name, 2, table[i].rows, table[i].cols, table[i].flags,
                            &index));
    }
    ok(nvdp__params_allocate(params, true));
}

Test(gradients, joined_tensors_follow_without_padding) {
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    size_t index[5];
    nvdp__params_init(&params, ctx);
    ok(nvdp__params_add(&params, "a", 2, 3, 5, NVDP__PARAM_JOINED, &index[0]));
    ok(nvdp__params_add(&params, "b", 2, 3, 5, NVDP__PARAM_JOINED, &index[1]));
    ok(nvdp__params_add(&params, "c", 1, 7, 1, NVDP__PARAM_JOINED, &index[2]));
    ok(nvdp__params_add(&params, "d", 1, 1, 1, 0, &index[3]));
    ok(nvdp__params_add(&params, "e", 1, 2, 1, NVDP__PARAM_JOINED, &index[4]));
    ok(nvdp__params_allocate(&params, true));
    const size_t offset[] = {0, 15, 30, 48, 49};
    for (size_t i = 0; i < 5; i++) {
        cr_expect_eq(params.entry[index[i]].offset, offset[i]);
        cr_expect_eq(nvdp__value(&params, index[i]), params.value + offset[i]);
        cr_expect_eq(nvdp__grad(&params, index[i]), params.grad + offset[i]);
    }
    cr_expect_eq(params.total, 64);
    cr_expect_eq(nvdp__params_trainable(&params), 15 + 15 + 7 + 1 + 2);
    cr_expect_null(params.use, "no table");
}

static void fill(const struct nvdp__params *params, float value) {
    for (size_t i = 0; i < params->total; i++)
        params->grad[i] = value;
}

static void expect_all(const struct nvdp__params *params, size_t tensor, float value) {
    for (size_t i = 0; i < params->entry[tensor].count; i++)
        cr_assert_eq(nvdp__grad(params, tensor)[i], value, "%s: element %zu",
                     params->entry[tensor].name, i);
}

static void expect_row(const struct nvdp__params *params, size_t row, float value) {
    for (size_t i = 0; i < DIM; i++)
        cr_assert_eq(nvdp__grad(params, TABLE)[row * DIM + i], value, "row %zu", row);
}

Test(gradients, begin_as_zero_except_where_they_are_set) {
    struct nvdp__params params;
    for (size_t d = 0; d < DEVICES; d++) {
        declare(&params);
        fill(&params, 3);
        nvdp__grad_begin(&test_devices[d], &params);
        const size_t zeroed[] = {BEFORE, TABLE, ADDED, AFTER};
        for (size_t i = 0; i < 4; i++)
            expect_all(&params, zeroed[i], 0);
        expect_all(&params, SET_ONE, 3);
        expect_all(&params, SET_TWO, 3);
        cr_expect_null(nvdp__grad(&params, STILL));
        for (size_t i = 0; i < 2 * 9; i++) /* a frozen tensor's gradient is never touched */
            cr_expect_eq(params.grad[params.entry[STILL].offset + i], 3);
        /* No sum reads the padding, but it stays finite. */
        for (size_t i = 0; i < params.total; i++)
            cr_assert(params.grad[i] == 0 || params.grad[i] == 3);
        nvdp__params_release(&params);
    }
}

Test(gradients, only_the_rows_used_last_are_zeroed) {
    const struct nvdp__device *dev = &test_devices[FAST_ONE];
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    declare(&params);
    const struct nvdp__row_use *use = params.use;
    cr_assert_eq(use->table, TABLE);
    cr_expect_not(use->tracked);
    nvdp__grad_begin(dev, &params);
    cr_expect(use->tracked);
    const int32_t index[] = {4, 1, 4, 4, 0, 1};
    nvdp__grad_rows(&params, 3, index);
    nvdp__grad_rows(&params, 3, index + 3); /* rows repeated within a call and over calls */
    cr_expect_eq(use->count, 3);
    for (size_t r = 0; r < ROWS; r++) {
        cr_expect_eq(use->now[r], r == 4 || r == 1 || r == 0);
        cr_expect_eq(use->ever[r], use->now[r]);
    }
    fill(&params, 2); /* also rows that were not announced, to see which are zeroed */
    nvdp__grad_begin(dev, &params);
    for (size_t r = 0; r < ROWS; r++)
        expect_row(&params, r, r == 4 || r == 1 || r == 0 ? 0 : 2);
    cr_expect_eq(use->count, 0);
    for (size_t r = 0; r < ROWS; r++)
        cr_expect_not(use->now[r]);
    cr_expect(use->ever[4] && use->ever[1] && use->ever[0] && !use->ever[2]);
    expect_all(&params, BEFORE, 0);
    expect_all(&params, ADDED, 0);
    expect_all(&params, AFTER, 0);
    nvdp__grad_rows(&params, 0, index);
    cr_expect_eq(use->count, 0);
}

Test(gradients, all_rows_at_once) {
    const struct nvdp__device *dev = &test_devices[FAST_ONE];
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    declare(&params);
    const int32_t index[] = {2};
    for (int order = 0; order < 3; order++) { /* rows before, after, none */
        nvdp__grad_begin(dev, &params);
        if (order == 0) nvdp__grad_rows(&params, 1, index);
        nvdp__grad_rows(&params, 0, NULL);
        if (order == 1) nvdp__grad_rows(&params, 1, index);
        cr_expect(params.use->all);
        fill(&params, 2);
        nvdp__grad_begin(dev, &params);
        expect_all(&params, TABLE, 0);
        cr_expect_not(params.use->all);
        cr_expect_not(params.use->now[2]);
        for (size_t r = 0; r < ROWS; r++)
            cr_expect(params.use->ever[r]);
    }
    fill(&params, 2);
    nvdp__grad_begin(dev, &params);
    expect_all(&params, TABLE, 2); /* no rows were announced */
}

/* Without nvdp__grad_begin nothing is tracked, as when the caller maintains the gradients; nor
 * for inference. */
Test(gradients, rows_are_not_tracked_unasked) {
    struct nvdp__params params;
    const int32_t index[] = {2};
    declare(&params);
    nvdp__grad_rows(&params, 1, index);
    nvdp__grad_rows(&params, 0, NULL);
    cr_expect_eq(params.use->count, 0);
    cr_expect_not(params.use->all || params.use->now[2] || params.use->ever[2]);
    nvdp__params_release(&params);

    size_t table;
    nvdp__params_init(&params, ctx);
    ok(nvdp__params_add(&params, "t", 2, 3, 2, NVDP__PARAM_ROWS, &table));
    ok(nvdp__params_allocate(&params, false));
    cr_expect_null(params.use);
    nvdp__grad_rows(&params, 1, index);
    nvdp__params_release(&params);
}

/* Only the first table is tracked by rows; another is zeroed as a whole. */
Test(gradients, a_second_table) {
    const struct nvdp__device *dev = &test_devices[FAST_ONE];
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    size_t one, two;
    const int32_t index[] = {2};
    nvdp__params_init(&params, ctx);
    ok(nvdp__params_add(&params, "one", 2, 3, 2, NVDP__PARAM_ROWS, &one));
    ok(nvdp__params_add(&params, "two", 2, 3, 2, NVDP__PARAM_ROWS, &two));
    ok(nvdp__params_allocate(&params, true));
    nvdp__grad_begin(dev, &params);
    nvdp__grad_rows(&params, 1, index);
    fill(&params, 2);
    nvdp__grad_begin(dev, &params);
    expect_all(&params, two, 0);
    cr_expect_eq(nvdp__grad(&params, one)[3], 2);
    cr_expect_eq(nvdp__grad(&params, one)[4], 0);
}

Test(gradients, survive_every_failed_allocation) {
    uint64_t k = 1;
    for (;; k++) {
        struct nvdp__params params;
        size_t index;
        nvdp__params_init(&params, ctx);
        ok(nvdp__params_add(&params, "t", 2, 3, 2, NVDP__PARAM_ROWS, &index));
        nvdp__fail_allocation(ctx, k);
        nvdp_status status = nvdp__params_allocate(&params, true);
        nvdp__fail_allocation(ctx, 0);
        if (status != NVDP_OK) cr_expect(params.value == NULL && params.use == NULL);
        nvdp__params_release(&params);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        cr_assert_lt(k, 100);
    }
    cr_expect_eq(k, 8, "values, gradients, the table's use, its owner and its three lists: %d",
                 (int)k);
}
