/* Parameter tables, arenas, and a context's threads. */
#include "tensor_test.h"

#include "test_context.h"

static nvdp_status declare(struct nvdp__params *params) {
    size_t index;
    NVDP_TRY(nvdp__params_add(params, "a", 2, 3, 5, NVDP__PARAM_DECAY, &index));
    NVDP_TRY(nvdp__params_add(params, "b", 1, 17, 99, 0, &index));
    NVDP_TRY(nvdp__params_add(params, "c", 1, 1, 0, NVDP__PARAM_FROZEN, &index));
    return nvdp__params_allocate(params, true);
}

Test(params, tensors_lie_aligned_in_one_vector) {
    struct nvdp__params params;
    nvdp__params_init(&params, ctx);
    ok(declare(&params));
    cr_expect_eq(params.count, 3);
    cr_expect_eq(params.total, 16 + 32 + 16);
    for (size_t i = 0; i < params.count; i++)
        cr_expect_eq((uintptr_t)nvdp__value(&params, i) % 64, 0);
    cr_expect_eq(nvdp__value(&params, 1), params.value + 16);
    cr_expect_null(nvdp__grad(&params, 2), "frozen");
    cr_expect_eq(params.entry[1].shape[1], 1, "a vector has one column");
    cr_expect_eq(nvdp__params_find(&params, "b"), 1);
    cr_expect_eq(nvdp__params_find(&params, "d"), SIZE_MAX);
    cr_expect_eq(nvdp__params_trainable(&params), 15 + 17);
    for (size_t i = 0; i < params.total; i++)
        cr_assert(params.value[i] == 0 && params.grad[i] == 0);
    nvdp__params_release(&params);
    nvdp__params_release(&params);
}

Test(params, refuses_what_it_cannot_hold) {
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    size_t index = 77;
    char name[200];
    memset(name, 'x', sizeof name);
    name[120] = '\0';
    nvdp__params_init(&params, ctx);
    cr_expect_eq(nvdp__params_add(&params, name, 1, 1, 1, 0, &index), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__params_add(&params, "a", 3, 1, 1, 0, &index), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__params_add(&params, "a", 2, SIZE_MAX, 2, 0, &index), NVDP_ERR_MEMORY);
    cr_expect_eq(nvdp__params_add(&params, "a", 1, SIZE_MAX - 3, 1, 0, &index), NVDP_ERR_MEMORY);
    cr_expect_eq(index, 77);
    name[119] = '\0';
    ok(nvdp__params_add(&params, name, 1, 1, 1, 0, &index));
    fails(nvdp__params_add(&params, name, 1, 1, 1, 0, &index), NVDP_ERR_ARGUMENT, "twice");
    ok(nvdp__params_allocate(&params, false));
    cr_expect_null(nvdp__grad(&params, 0));
    cr_expect_eq(nvdp__params_add(&params, "late", 1, 1, 1, 0, &index), NVDP_ERR_STATE);
    cr_expect_eq(nvdp__params_allocate(&params, false), NVDP_ERR_STATE);
}

Test(params, survives_every_failed_allocation) {
    uint64_t k = 1;
    for (;; k++) {
        struct nvdp__params params;
        nvdp__params_init(&params, ctx);
        nvdp__fail_allocation(ctx, k);
        nvdp_status status = declare(&params);
        nvdp__fail_allocation(ctx, 0);
        nvdp__params_release(&params);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        cr_assert_lt(k, 100);
    }
    cr_expect_gt(k, 3, "table, values and gradients are allocated");
}

/* Draws 60000 normals: the bounds of mean and deviation are 5 standard errors each (about one
 * seed in 10^6 would fail). */
Test(params, initial_normals_depend_on_seed_and_name_only) {
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    enum { ROWS = 300, COLS = 200, N = ROWS * COLS };
    nvdp__auto(nvdp__params_release) struct nvdp__params one, two;
    size_t a1, a2, b1, b2;
    nvdp__params_init(&one, ctx);
    nvdp__params_init(&two, ctx);
    ok(nvdp__params_add(&one, "a", 2, ROWS, COLS, 0, &a1));
    ok(nvdp__params_add(&one, "b", 2, ROWS, COLS, 0, &b1));
    ok(nvdp__params_add(&two, "b", 2, ROWS, COLS, 0, &b2));
    ok(nvdp__params_add(&two, "a", 2, ROWS, COLS, 0, &a2));
    ok(nvdp__params_allocate(&one, false));
    ok(nvdp__params_allocate(&two, false));
    nvdp__params_normal(&dev, &one, a1, 0.02, 42);
    nvdp__params_normal(&dev, &one, b1, 0.02, 42);
    nvdp__params_normal(&dev, &two, b2, 0.02, 42);
    nvdp__params_normal(&dev, &two, a2, 0.02, 43);
    test_same("b", N, nvdp__value(&one, b1), nvdp__value(&two, b2));
    cr_expect_neq(nvdp__value(&one, a1)[0], nvdp__value(&one, b1)[0], "another name");
    cr_expect_neq(nvdp__value(&one, a1)[0], nvdp__value(&two, a2)[0], "another seed");
    double sum = 0, squares = 0;
    for (size_t i = 0; i < N; i++) {
        double z = (double)nvdp__value(&one, a1)[i] / 0.02;
        sum += z;
        squares += z * z;
    }
    near(sum / N, 0, 5 / sqrt(N));
    near(squares / N, 1, 5 * sqrt(2.0 / N));
    nvdp__params_fill(&dev, &one, a1, 0.5f);
    cr_expect_eq(nvdp__value(&one, a1)[N - 1], 0.5f);
}

Test(arena, second_plan_carves_what_the_first_counted) {
    struct nvdp__arena arena = {0};
    const size_t sizes[] = {1, 16, 17, 0, 100};
    float *at[5];
    for (size_t i = 0; i < 5; i++)
        cr_expect_null(nvdp__arena_take(&arena, sizes[i]));
    cr_expect_eq(arena.used, 16 + 16 + 32 + 0 + 112);
    ok(nvdp__arena_allocate(ctx, &arena));
    cr_expect_eq(arena.used, 0);
    for (size_t i = 0; i < 5; i++) {
        at[i] = nvdp__arena_take(&arena, sizes[i]);
        cr_expect_eq((uintptr_t)at[i] % 64, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            at[i][j] = (float)i;
    }
    cr_expect_eq(arena.used, arena.capacity);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            cr_assert_eq(at[i][j], (float)i, "parts overlap");
    nvdp__arena_release(&arena);
    cr_expect_null(arena.base);
    nvdp__arena_release(&arena);
}

Test(arena, out_of_memory_leaves_it_as_it_was) {
    struct nvdp__arena arena = {0};
    nvdp__arena_take(&arena, 10);
    nvdp__fail_allocation(ctx, 1);
    cr_expect_eq(nvdp__arena_allocate(ctx, &arena), NVDP_ERR_MEMORY);
    cr_expect_null(arena.base);
    cr_expect_eq(arena.used, 16);
}

Test(device, carries_the_threads_of_its_context) {
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    cr_expect_eq(dev.threads, 2);
    cr_expect_null(dev.bf16);
    float host[3] = {1, 2, 3}, tensor[3], back[3];
    nvdp__upload(&dev, 3, host, tensor);
    nvdp__download(&dev, 3, tensor, back);
    test_same("round trip", 3, host, back);
    nvdp__upload(&dev, 0, NULL, NULL);
}
