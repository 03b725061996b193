/* Rowwise products are correct, and every row has the same bits at every place. */
#include "tensor_test.h"

enum { MAX_ROWS = 150 };

static void check(const struct nvdp__device *plain, size_t in, size_t out) {
    struct nvdp__device dev = *plain;
    ok(nvdp__rowwise_create(plain, in + 3, &dev.rowwise));
    support_keep(dev.rowwise);
    float *x = test_floats(MAX_ROWS * in, 1), *w = test_floats(out * in, 1);
    float *b = test_floats(out, 1), *all = test_floats(MAX_ROWS * out, 1);
    float *some = test_floats(MAX_ROWS * out, 1);
    double *want = test_zeros64(MAX_ROWS * out);
    for (size_t r = 0; r < MAX_ROWS; r++)
        for (size_t o = 0; o < out; o++) {
            want[r * out + o] = (double)b[o];
            for (size_t i = 0; i < in; i++)
                want[r * out + o] += (double)x[r * in + i] * (double)w[o * in + i];
        }
    op_linear_forward(&dev, MAX_ROWS, in, out, x, w, b, all);
    test_close("rowwise", MAX_ROWS * out, all, want, FLOAT_TOLERANCE);
    const size_t rows[] = {1, 2, 3, 5, 17, 63, 64, 65, 130};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t first = (i * 7) % (MAX_ROWS - rows[i] + 1);
        op_linear_forward(&dev, rows[i], in, out, x + first * in, w, b, some);
        test_same("rows apart", rows[i] * out, some, all + first * out);
    }
    op_linear_forward(&dev, 2, in, out, x, w, NULL, some);
    for (size_t o = 0; o < 2 * out; o++)
        near(some[o] + b[o % out], all[o], 1e-5 * (double)in);
}

Test(rowwise, rows_do_not_depend_on_their_neighbors) {
    const size_t shapes[][2] = {{16, 16}, {16, 32},   {24, 16},  {1, 1},
                                {7, 65},  {256, 768}, {300, 70}, {768, 128}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int d = FAST_ONE; d <= FAST_TWO; d++)
            check(&test_devices[d], shapes[i][0], shapes[i][1]);
}

Test(rowwise, threads_change_nothing) {
    enum { ROWS = 90, IN = 200, OUT = 400 };
    float *y[2], *x = test_floats(ROWS * IN, 1), *w = test_floats(OUT * IN, 1);
    for (int d = FAST_ONE; d <= FAST_TWO; d++) {
        struct nvdp__device dev = test_devices[d];
        ok(nvdp__rowwise_create(&dev, IN, &dev.rowwise));
        y[d] = test_floats(ROWS * OUT, 1);
        op_linear_forward(&dev, ROWS, IN, OUT, x, w, NULL, y[d]);
        free(dev.rowwise);
    }
    test_same("threads", ROWS * OUT, y[FAST_ONE], y[FAST_TWO]);
}
