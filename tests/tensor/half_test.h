/* What the tests of bfloat16 operations share. */
#ifndef NVDP_TESTS_HALF_TEST_H
#define NVDP_TESTS_HALF_TEST_H

#include "tensor/half.h"
#include "tensor/operand.h"
#include "tensor_test.h"

/* Skips the running test where bfloat16 products are not to be had. */
void half_or_skip(void);
/* A device with bfloat16 products on so many threads, ctx NULL; nvdp__device_release. */
struct nvdp__device half_device(int threads);

/* Allocations that test_free releases. */
nvdp__bf16 *half_zeros(size_t n);
nvdp__bf16 *half_values(size_t n, double scale); /* uniform, rounded; none is 0 or subnormal */
nvdp__bf16 *half_copy(size_t n, const nvdp__bf16 *x);
nvdp__bf16 *half_nans(size_t n);
double *half_widen(size_t n, const nvdp__bf16 *x);
float *half_floats(size_t n, const nvdp__bf16 *x);

/* Rounding to nearest is off by at most this part of the value: of its 8 bits half the last. */
#define HALF_ROUNDING 0x1p-8
/* |got - want| <= HALF_ROUNDING |want| + tolerance max |want|: a result that was computed in
 * float32 with that tolerance, then rounded. */
void half_close(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                double tolerance);
/* Bit for bit. */
void half_same(const char *what, size_t n, const nvdp__bf16 *a, const nvdp__bf16 *b);

static inline const nvdp__operand *half_in(const nvdp__bf16 *x) {
    return (const nvdp__operand *)(const void *)x;
}
static inline nvdp__operand *half_out(nvdp__bf16 *x) {
    return (nvdp__operand *)(void *)x;
}

#endif
