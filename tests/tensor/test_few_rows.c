/* Dense layers of few rows, in both instruction sets' versions. */
#define nvdp__few_rows_forward tested_few_rows_forward
#include "tensor/few_rows.c"
#undef nvdp__few_rows_forward

#include "tensor_test.h"

#ifdef __x86_64__

typedef void product(const struct nvdp__few_rows *p, size_t first, size_t end);

static void check(product *call, size_t rows, size_t in, size_t out, bool bias) {
    const size_t ldx = in + 3, ldy = out + 5;
    float *x = test_floats((rows + 1) * ldx, 1), *w = test_floats(out * in, 1);
    float *b = test_floats(out, 1), *y = test_floats((rows + 1) * ldy, 1);
    double *want = test_widen((rows + 1) * ldy, y); /* nothing is written between or after rows */
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            double sum = bias ? (double)b[o] : 0;
            for (size_t i = 0; i < in; i++)
                sum += (double)x[r * ldx + i] * (double)w[o * in + i];
            want[r * ldy + o] = sum;
        }
    const struct nvdp__few_rows p = {rows, in, out, x, ldx, w, bias ? b : NULL, y, ldy};
    call(&p, 0, out / 8 * 4);
    call(&p, out / 8 * 4, out);
    test_close("few rows", (rows + 1) * ldy, y, want, FLOAT_TOLERANCE);
}

static void check_shapes(product *call) {
    const size_t shapes[][2] = {{16, 4}, {16, 12}, {48, 16}, {384, 32}, {1536, 8}};
    const size_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 18, 24, 25, 48};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            check(call, rows[j], shapes[i][0], shapes[i][1], (i + j) % 2 == 0);
}

Test(few_rows, avx2_version) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        cr_skip_test("the processor has no AVX2");
    check_shapes(product_avx2);
}

Test(few_rows, avx512_version) {
    if (!__builtin_cpu_supports("avx512f")) cr_skip_test("the processor has no AVX-512");
    check_shapes(product_avx512);
}

Test(few_rows, threads_change_nothing_and_unsuitable_shapes_are_left_alone) {
    enum { ROWS = 20, IN = 384, OUT = 1536 };
    float *x = test_floats(ROWS * IN, 1), *w = test_floats(OUT * IN, 1);
    float *y[2] = {test_floats(ROWS * OUT, 1), test_floats(ROWS * OUT, 1)};
    struct nvdp__few_rows p = {ROWS, IN, OUT, x, IN, w, NULL, y[0], OUT};
    const struct nvdp__few_rows unsuitable[] = {
        {ROWS, IN - 1, OUT, x, IN, w, NULL, y[0], OUT},
        {ROWS, IN, OUT - 1, x, IN, w, NULL, y[0], OUT},
        {MAX_ROWS + 1, IN, OUT, x, IN, w, NULL, y[0], OUT},
    };
    const float before = y[0][0];
    for (size_t i = 0; i < sizeof unsuitable / sizeof *unsuitable; i++)
        cr_assert_not(tested_few_rows_forward(&test_devices[FAST_ONE], unsuitable[i]));
    cr_assert_eq(y[0][0], before);
    if (!tested_few_rows_forward(&test_devices[FAST_ONE], p)) cr_skip_test("no AVX2");
    p.y = y[1];
    cr_assert(tested_few_rows_forward(&test_devices[FAST_TWO], p));
    test_same("threads", ROWS * OUT, y[0], y[1]);
}

#endif
