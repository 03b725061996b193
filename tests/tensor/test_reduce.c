/* Sums over arrays and spans, on any number of threads. */
#include "tensor_test.h"

/* 3e6 elements make many spans for every thread. */
static const size_t lengths[] = {0, 1, 7, 17, 4096, 4097, 40000, 3000001};

static double sum_squares(const struct nvdp__device *dev, size_t n, const float *x) {
    size_t spans = n / NVDP__SPAN + 2;
    struct nvdp__span *span = (struct nvdp__span *)(void *)test_zeros64(spans * 4);
    size_t at = 0;
    for (size_t i = 0; i < spans; i++) {
        span[i].offset = at;
        span[i].count = n - at < NVDP__SPAN ? n - at : NVDP__SPAN;
        at += span[i].count;
    }
    span[spans - 1] = (struct nvdp__span){.count = n < 5 ? n : 5, .idle = true}; /* counts as 0 */
    return nvdp__spans_sum_squares(dev, spans, span, x, test_zeros64(spans));
}

/* Sums n products of order 1 in double: the rounding is about n^(1/2) 1e-16, relative to the
 * sum. */
Test(reduce, sums_match_double_and_do_not_depend_on_threads) {
    for (size_t l = 0; l < 8; l++) {
        size_t n = lengths[l];
        float *x = test_floats(n, 1);
        double *x64 = test_widen(n, x);
        double squares = test_dot(n, x64, x64);
        double one = sum_squares(&test_devices[FAST_ONE], n, x);
        near(one, squares, 1e-12 * (squares + 1));
        cr_expect_eq(one, sum_squares(&test_devices[FAST_TWO], n, x));
    }
}
