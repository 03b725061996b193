/* Shared by the tests of bfloat16 operations. */
#ifndef NVDP_TESTS_TENSOR_BF16_TEST_H
#define NVDP_TESTS_TENSOR_BF16_TEST_H

#include "tensor/bf16.h"
#include "tensor_test.h"

/* Skips the running test where there are no bfloat16 products. */
void bf16_or_skip(void);
/* Creates a device with bfloat16 products, ctx NULL; release it with nvdp__device_release. The
 * kinds: vectors on one thread and on two; on one thread the plain form and AMX's tiles. If
 * the processor lacks instructions, the plain form is used. */
enum { BF16_ONE, BF16_TWO, BF16_PLAIN, BF16_TILES, BF16_DEVICES };
struct nvdp__device bf16_device(int which);

/* Arrays that live until the test ends. */
nvdp__bf16 *bf16_zeros(size_t n);
nvdp__bf16 *bf16_values(size_t n, double scale); /* uniform, rounded; none is 0 or subnormal */
nvdp__bf16 *bf16_copy(size_t n, const nvdp__bf16 *x);
nvdp__bf16 *bf16_nans(size_t n);
double *bf16_widen(size_t n, const nvdp__bf16 *x);
float *bf16_floats(size_t n, const nvdp__bf16 *x);

/* Rounding to nearest changes a value by at most this part of it: half of the last of its 8
 * bits. */
#define BF16_ROUNDING 0x1p-8
/* Asserts |got - want| <= BF16_ROUNDING |want| + tolerance max |want|, for a result computed in
 * float32 with that tolerance and then rounded. */
void bf16_close(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                double tolerance);
/* Asserts equality bit for bit. */
void bf16_same(const char *what, size_t n, const nvdp__bf16 *a, const nvdp__bf16 *b);

static inline struct nvdp__tensor bf16_tensor(size_t rows, size_t cols, const nvdp__bf16 *x) {
    struct nvdp__tensor t = nvdp__f32(rows, cols, (const float *)(const void *)x);
    t.type = NVDP__BF16;
    return t;
}

#endif
