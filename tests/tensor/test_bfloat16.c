/* Conversions between float and bfloat16, one number at a time and by rows. */
#include "bf16_test.h"

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

/* A float between neighbors h and h + 1 becomes the nearer one, or the even one on a tie. The
 * largest number's upper neighbor is infinity, and numbers below the smallest normal are
 * subnormal; both follow the same rule. */
Test(bfloat16, rounds_to_nearest_even) {
    for (uint32_t h = 0; h < 0x7f80; h++)
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            uint32_t low = (h | sign) << 16;
            nvdp__bf16 down = (nvdp__bf16)(h | sign), up = (nvdp__bf16)(down + 1);
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

/* Returns floats at which the vectorized loops could differ from the function: all upper halves,
 * with lower halves around the tie. */
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

Test(bfloat16, loops_round_like_the_function) {
    size_t n;
    float *x = awkward(&n);
    nvdp__bf16 *want = bf16_zeros(n);
    for (size_t i = 0; i < n; i++)
        want[i] = nvdp__bfloat16_from_float(x[i]);
    nvdp__bf16 *rounded = bf16_zeros(n);
    nvdp__round_row(n, x, rounded);
    /* AVX512_BF16 treats subnormal numbers as 0. */
    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) < 0x1p-126f && rounded[i] == (want[i] & 0x8000)) want[i] = rounded[i];
    bf16_same("round", n, rounded, want);
    for (size_t length = 0; length < 40; length++) {
        memset(rounded, 0xff, 40 * sizeof *rounded);
        nvdp__round_row(length, x + n / 3, rounded);
        bf16_same("a row's end", length, rounded, want + n / 3);
        cr_expect_eq(rounded[length], 0xffff, "length %zu", length);
    }
}

/* Checks lengths around the block that a thread takes, and that nothing past the end is written. */
Test(tensor, conversions_on_any_number_of_threads) {
    bf16_or_skip();
    const size_t lengths[] = {0,
                              1,
                              31,
                              NVDP__BLOCK - 1,
                              NVDP__BLOCK + 1,
                              5 * NVDP__BLOCK,
                              NVDP__PARALLEL_MIN + 3 * NVDP__BLOCK + 5};
    for (int which = BF16_ONE; which <= BF16_TWO; which++) {
        struct nvdp__device dev = bf16_device(which);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            size_t n = lengths[l];
            float *x = test_floats(n, 3);
            nvdp__bf16 *y = bf16_nans(n + 1);
            nvdp__convert(&dev, nvdp__f32(1, n, x), bf16_tensor(1, n, y));
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(y[i], nvdp__bfloat16_from_float(x[i]));
            cr_assert_eq(y[n], 0xffff, "written past the end");
        }
    }
}

Test(tensor, views_and_memory_in_float32) {
    struct nvdp__device single = {.threads = 1};
    cr_expect_eq(nvdp__padded_rows(&single, 33), 33);
    cr_expect_eq(nvdp__product_type(&single), NVDP__F32);
    float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct nvdp__tensor x = nvdp__f32(2, 4, memory);
    cr_expect_eq(nvdp__col_slice(x, 3, 1).data, (void *)(memory + 3));
    cr_expect_eq(nvdp__row_slice(x, 1, 1).data, (void *)(memory + 4));
    cr_expect_eq(nvdp__col_slice(x, 3, 1).stride, 4);
    cr_expect_null(nvdp__col_slice(NVDP__NO_TENSOR, 3, 1).data);
    nvdp__convert(&single, x, x);
    cr_expect_eq(memory[7], 8, "one memory");
    struct nvdp__arena arena = {0};
    nvdp__arena_tensor(&arena, &single, NVDP__F32, 33, 5);
    cr_expect_eq(arena.used, 176, "33 x 5 floats in whole lines");
    nvdp__dense_plan(&single, &arena, 33, 5, 5);
    cr_expect_eq(nvdp__arena_floats(&arena), 176, "nothing is rounded");
}

Test(tensor, has_whole_blocks_of_rows_in_bfloat16) {
    bf16_or_skip();
    float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nvdp__bf16 rounded[8] = {0};
    struct nvdp__arena arena = {0};
    struct nvdp__device bf16 = bf16_device(BF16_ONE);
    cr_expect_eq(nvdp__padded_rows(&bf16, 0), 0);
    cr_expect_eq(nvdp__padded_rows(&bf16, 1), 32);
    cr_expect_eq(nvdp__padded_rows(&bf16, 32), 32);
    cr_expect_eq(nvdp__padded_rows(&bf16, 33), 64);
    cr_expect_eq(nvdp__product_type(&bf16), NVDP__BF16);
    cr_expect_eq(nvdp__col_slice(bf16_tensor(1, 8, rounded), 3, 1).data, (void *)(rounded + 3));
    nvdp__convert(&bf16, nvdp__f32(1, 8, memory), bf16_tensor(1, 8, rounded));
    cr_expect_eq(rounded[7], nvdp__bfloat16_from_float(8));
    nvdp__arena_tensor(&arena, &bf16, NVDP__BF16, 33, 5);
    cr_expect_eq(arena.used, 160, "64 x 5 bfloat16 numbers");
    nvdp__arena_tensor(&arena, &bf16, NVDP__F32, 33, 5);
    cr_expect_eq(arena.used, 480);
}
