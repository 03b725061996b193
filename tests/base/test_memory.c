/* Allocation: overflow, growth, failures. */
#include "support.h"

#include "test_context.h"

Test(memory, product_overflow) {
    size_t product = 7;
    cr_assert(nvdp__mul(6, 7, &product));
    cr_assert_eq(product, 42);
    cr_assert(!nvdp__mul(SIZE_MAX / 2 + 1, 2, &product));
    cr_assert_eq(product, 42);
}

Test(memory, zeroed_aligned_and_never_null_for_nothing) {
    const size_t counts[] = {0, 1, 63, 64, 65, 100000, 4 << 20, (4 << 20) + 65, (9 << 20) + 4097};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        unsigned char *bytes = nvdp__calloc(ctx, counts[i], 1);
        cr_assert_not_null(bytes);
        cr_assert_eq((uintptr_t)bytes % 64, 0);
        for (size_t j = 0; j < counts[i]; j++)
            cr_assert_eq(bytes[j], 0);
        memset(bytes, 1, counts[i]); /* the next round may get the same memory */
        free(bytes);
    }
}

Test(memory, overflow_is_an_error) {
    cr_assert_null(nvdp__calloc(ctx, SIZE_MAX / 4, 8));
    cr_assert_str_eq(nvdp_context_error(ctx),
                     "out of memory: 4611686018427387903 items of 8 bytes overflow");
    cr_assert_null(nvdp__calloc(ctx, SIZE_MAX, 1));
    cr_assert_null(nvdp__calloc(NULL, SIZE_MAX, 1));
}

Test(memory, reserve_keeps_and_zeroes) {
    nvdp__autofree int *items = NULL;
    size_t capacity = 0;
    ok(nvdp__reserve(ctx, &items, &capacity, 0, sizeof *items));
    cr_assert_null(items);
    for (int i = 0; i < 1000; i++) {
        ok(nvdp__reserve(ctx, &items, &capacity, (size_t)i + 1, sizeof *items));
        cr_assert_eq(items[i], 0);
        items[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(items[i], i);
    cr_assert_lt(capacity, 2100);
    size_t before = capacity;
    cr_assert_eq(nvdp__reserve(ctx, &items, &capacity, SIZE_MAX / 2, sizeof *items),
                 NVDP_ERR_MEMORY);
    cr_assert_eq(capacity, before);
    cr_assert_eq(items[999], 999);
}

Test(memory, texts) {
    nvdp__autofree char *copy = nvdp__strdup(ctx, "na\xc3\xafve");
    nvdp__autofree char *made = nvdp__format(ctx, "%s/%03d", copy, 7);
    cr_assert_str_eq(copy, "na\xc3\xafve");
    cr_assert_str_eq(made, "na\xc3\xafve/007");
}

Test(memory, the_kth_allocation_fails) {
    nvdp__fail_allocation(ctx, 3);
    nvdp__autofree char *first = nvdp__calloc(ctx, 1, 1);
    char *second = nvdp__strdup(ctx, "x");
    cr_assert_null(nvdp__format(ctx, "y"));
    cr_assert_str_eq(nvdp_context_error(ctx), "out of memory: 2 bytes");
    nvdp__autofree char *fourth = nvdp__calloc(ctx, 1, 1);
    cr_assert(first != NULL && second != NULL && fourth != NULL);
    nvdp__fail_allocation(ctx, 1);
    nvdp__autofree char *items = NULL;
    size_t capacity = 0;
    cr_assert_eq(nvdp__reserve(ctx, &items, &capacity, 4, 1), NVDP_ERR_MEMORY);
    nvdp__fail_allocation(ctx, 1);
    nvdp__fail_allocation(ctx, 0);
    ok(nvdp__reserve(ctx, &items, &capacity, 4, 1));
    free(second);
}
