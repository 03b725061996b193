/* What the tensor tests share: devices, random arrays, comparisons. */
#ifndef NVDP_TESTS_TENSOR_TEST_H
#define NVDP_TESTS_TENSOR_TEST_H

#include "gradcheck.h"
#include "reference64.h"
#include "tensor/ops.h"

enum { FAST_ONE, FAST_TWO, PLAIN, DEVICES };
/* Fast kernels on one thread, on two, and the plain reference; ctx NULL. */
extern const struct nvdp__device test_devices[DEVICES];

/* Lengths around the vector widths. */
enum { SIZES = 6 };
extern const size_t test_sizes[SIZES];

/* A group of allocations that test_free releases; contents are uniform in [-1, 1) * scale. */
float *test_floats(size_t n, double scale);
float *test_zeros(size_t n);
float *test_copy(size_t n, const float *x);
double *test_widen(size_t n, const float *x); /* NULL stays NULL */
double *test_zeros64(size_t n);
int32_t *test_ints(size_t n, int32_t low, int32_t high); /* low <= x < high */
void test_free(void);

/* max |got - want| <= tolerance * max(max |want|, 1e-30) */
void test_close(const char *what, size_t n, const float *got, const double *want, double tolerance);
/* Bit for bit. */
void test_same(const char *what, size_t n, const float *a, const float *b);

/* Attention over groups between offsets; rows of q, of k and v, and of out hold pad, 2 pad and 3
 * pad elements that are no one's. */
struct nvdp__attention test_attention(size_t groups, const int32_t *q_offset,
                                      const int32_t *k_offset, size_t heads, size_t head_dim,
                                      size_t pad, float rate);
size_t test_longest(size_t groups, const int32_t *offset);

double test_dot(size_t n, const double *x, const double *y);

/* A float32 operation on values near 1 rounds by 6e-8; sums of up to a few hundred terms, in any
 * order, and a few operations in a row stay far below this part of the largest result. */
#define FLOAT_TOLERANCE 3e-6
#define GRADCHECK_TOLERANCE 1e-7

#endif
