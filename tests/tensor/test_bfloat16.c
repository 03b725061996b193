#include "half_test.h"
#include "tensor/operand_access.h"

#include <string.h>

static bool is_nan(uint32_t bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

Test(bfloat16, every_value_survives) {
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float value = nvdp__bfloat16_to_float((nvdp__bf16)h);
        cr_assert_eq(nvdp__float_bits(value), h << 16);
        bool nan = is_nan(h << 16);
        cr_assert_eq(isnan(value) != 0, nan);
        /* NaNs become quiet. */
        cr_assert_eq(nvdp__bfloat16_from_float(value), nan ? (h | 0x40) : h, "%04x", h);
    }
}

/* Of the floats between neighbours h and h + 1 the nearer one is taken, the even one of a tie.  The
 * upper neighbour of the largest is infinity, the numbers below the smallest normal are subnormal:
 * the same rule. */
Test(bfloat16, rounds_to_nearest_even) {
    for (uint32_t h = 0; h < 0x7f80; h++)
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            uint32_t low = (h | sign) << 16;
            nvdp__bf16 down = (nvdp__bf16)(h | sign);
            nvdp__bf16 up = (nvdp__bf16)(down + 1);
            cr_assert_eq(nvdp__bfloat16_from_float(nvdp__bits_float(low + 0x0001u)), down);
            cr_assert_eq(nvdp__bfloat16_from_float(nvdp__bits_float(low + 0x7fffu)), down);
            cr_assert_eq(nvdp__bfloat16_from_float(nvdp__bits_float(low + 0x8000u)),
                         h % 2 == 0 ? down : up, "%04x", down);
            cr_assert_eq(nvdp__bfloat16_from_float(nvdp__bits_float(low + 0x8001u)), up);
            cr_assert_eq(nvdp__bfloat16_from_float(nvdp__bits_float(low + 0xffffu)), up);
        }
}

Test(bfloat16, known_values) {
    cr_expect_eq(nvdp__bfloat16_from_float(1.0f), 0x3f80);
    cr_expect_eq(nvdp__bfloat16_from_float(-2.0f), 0xc000);
    cr_expect_eq(nvdp__bfloat16_from_float(-0.0f), 0x8000);
    cr_expect_eq(nvdp__bfloat16_from_float(3.4028235e38f), 0x7f80, "rounds up to infinity");
    cr_expect_eq(nvdp__bfloat16_from_float(-INFINITY), 0xff80);
    cr_expect_eq(nvdp__bfloat16_from_float(0x1p-149f), 0x0000);
    cr_expect_eq(nvdp__bfloat16_from_float(0x1p-133f), 0x0001);
    /* A NaN whose payload lies in the lower half alone must not become an infinity, nor one whose
     * bits are all set carry into the sign. */
    cr_expect_eq(nvdp__bfloat16_from_float(nvdp__bits_float(0x7f800001u)), 0x7fc0);
    cr_expect_eq(nvdp__bfloat16_from_float(nvdp__bits_float(0x7fffffffu)), 0x7fff);
    cr_expect_eq(nvdp__bfloat16_from_float(nvdp__bits_float(0xffffffffu)), 0xffff);
}

/* Floats at which the vectorised loops could differ from the function: all upper halves, with lower
 * halves around the tie. */
static float *awkward(size_t *n) {
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { LOWER = sizeof lower / sizeof lower[0] };
    *n = LOWER << 16;
    float *x = test_zeros(*n);
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t bits = i / LOWER << 16 | lower[i % LOWER];
        memcpy(x + i, &bits, sizeof bits);
    }
    return x;
}

Test(bfloat16, loops_round_and_widen_like_the_functions) {
    size_t n;
    float *x = awkward(&n);
    nvdp__bf16 *want = half_zeros(n);
    for (size_t i = 0; i < n; i++)
        want[i] = nvdp__bfloat16_from_float(x[i]);
    nvdp__bf16 *rounded = half_zeros(n);
    nvdp__round_row(n, x, rounded);
    half_same("round", n, rounded, want);
    float *wide = test_zeros(n);
    nvdp__widen_row(n, want, wide);
    test_same("widen", n, wide, half_floats(n, want));
    test_free();
}

/* Lengths around the block that a thread takes, and that nothing past the end is written. */
Test(operand, conversions_on_any_number_of_threads) {
    half_or_skip();
    const size_t lengths[] = {0,
                              1,
                              31,
                              NVDP__BLOCK - 1,
                              NVDP__BLOCK + 1,
                              5 * NVDP__BLOCK,
                              NVDP__PARALLEL_MIN + 3 * NVDP__BLOCK + 5};
    for (int threads = 1; threads <= 2; threads++) {
        struct nvdp__device dev = half_device(threads);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            size_t n = lengths[l];
            float *x = test_floats(n, 3);
            nvdp__bf16 *y = half_nans(n + 1);
            nvdp__to_operand(&dev, n, x, half_out(y));
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(y[i], nvdp__bfloat16_from_float(x[i]));
            cr_assert_eq(y[n], 0xffff, "written past the end");
            float *back = test_floats(n + 1, 1);
            float *guard = test_copy(n + 1, back);
            nvdp__from_operand(&dev, n, half_in(y), back);
            test_same("back", n, back, half_floats(n, y));
            test_same("guard", 1, back + n, guard + n);
        }
        nvdp__device_release(&dev);
        test_free();
    }
}

Test(operand, is_the_tensor_on_a_float_device) {
    struct nvdp__device single = {.threads = 1};
    cr_expect_eq(nvdp__operand_rows(&single, 33), 33);
    float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nvdp__operand *x = nvdp__operand_in(memory);
    cr_expect_eq((void *)nvdp__operand_at(&single, x, 3), (void *)(memory + 3));
    cr_expect_null(nvdp__operand_at(&single, NULL, 3));
    cr_expect_eq((void *)nvdp__rounded(&single, 8, memory, NULL), (void *)memory);
    struct nvdp__arena arena = {0};
    nvdp__arena_take_operand(&arena, &single, 33, 5);
    cr_expect_eq(arena.used, 176, "33 x 5 floats in whole lines");
    nvdp__arena_take_copy(&arena, &single, 33, 5, memory);
    cr_expect_eq(arena.used, 176, "shared memory takes none");
}

Test(operand, has_whole_blocks_of_rows_in_bfloat16) {
    half_or_skip();
    float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nvdp__operand *x = nvdp__operand_in(memory);
    struct nvdp__arena arena = {0};
    struct nvdp__device half = half_device(1);
    cr_expect_eq(nvdp__operand_rows(&half, 0), 0);
    cr_expect_eq(nvdp__operand_rows(&half, 1), 32);
    cr_expect_eq(nvdp__operand_rows(&half, 32), 32);
    cr_expect_eq(nvdp__operand_rows(&half, 33), 64);
    cr_expect_eq((char *)nvdp__operand_at(&half, x, 3), (char *)memory + 6);
    nvdp__bf16 room[8] = {0};
    cr_expect_eq((void *)nvdp__rounded(&half, 8, memory, half_out(room)), (void *)room);
    cr_expect_eq(room[7], nvdp__bfloat16_from_float(8));
    nvdp__arena_take_operand(&arena, &half, 33, 5);
    cr_expect_eq(arena.used, 160, "64 x 5 halves");
    nvdp__arena_take_copy(&arena, &half, 33, 5, memory);
    cr_expect_eq(arena.used, 320);
    nvdp__device_release(&half);
}
