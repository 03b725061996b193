/* What the tests of bfloat16 operations share. */
#ifndef NVDP_TESTS_TENSOR_BF16_TEST_H
#define NVDP_TESTS_TENSOR_BF16_TEST_H

#include "tensor/bf16.h"
#include "tensor_test.h"

/* Skips the running test where bfloat16 products are not to be had. */
void bf16_or_skip(void);
/* A device with bfloat16 products, ctx NULL; nvdp__device_release: vectors on one thread and on two, and on one
 * thread the plain form and AMX's tiles.  What the processor lacks is computed without it. */
enum { BF16_ONE, BF16_TWO, BF16_PLAIN, BF16_TILES, BF16_DEVICES };
struct nvdp__device bf16_device(int which);

/* Allocations that test_free releases. */
nvdp__bf16 *bf16_zeros(size_t n);
nvdp__bf16 *bf16_values(size_t n, double scale); /* uniform, rounded; none is 0 or subnormal */
nvdp__bf16 *bf16_copy(size_t n, const nvdp__bf16 *x);
nvdp__bf16 *bf16_nans(size_t n);
double *bf16_widen(size_t n, const nvdp__bf16 *x);
float *bf16_floats(size_t n, const nvdp__bf16 *x);

/* Rounding to nearest is off by at most this part of the value: of its 8 bits one half of the last. */
#define BF16_ROUNDING 0x1p-8
/* |got - want| <= BF16_ROUNDING |want| + tolerance max |want|: a result that was computed in
 * float32 with that tolerance, then rounded. */
void bf16_close(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                double tolerance);
/* Bit for bit. */
void bf16_same(const char *what, size_t n, const nvdp__bf16 *a, const nvdp__bf16 *b);

static inline struct nvdp__tensor bf16_tensor(size_t rows, size_t cols, const nvdp__bf16 *x) {
    struct nvdp__tensor t = nvdp__f32(rows, cols, (const float *)(const void *)x);
    t.type = NVDP__BF16;
    return t;
}

#endif
