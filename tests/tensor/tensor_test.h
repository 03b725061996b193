/* Shared by the tensor tests: devices, random arrays, comparisons. */
#ifndef NVDP_TESTS_TENSOR_TENSOR_TEST_H
#define NVDP_TESTS_TENSOR_TENSOR_TEST_H

#include "gradcheck.h"
#include "plain_kernels.h"
#include "reference_kernels.h"
#include "support.h"
#include "tensor/bf16.h"
#include "tensor/int8.h"
#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tensor/vector.h"

enum { FAST_ONE, FAST_TWO, PLAIN, DEVICES };
/* The fast kernels on one thread and on two, and the plain reference; ctx NULL. */
extern const struct nvdp__device test_devices[DEVICES];

/* Lengths around the vector widths. */
enum { SIZES = 6 };
extern const size_t test_sizes[SIZES];

/* Arrays that live until the test ends; contents are uniform in [-1, 1) * scale. */
float *test_floats(size_t n, double scale);
float *test_zeros(size_t n);
float *test_copy(size_t n, const float *x);
double *test_widen(size_t n, const float *x); /* NULL stays NULL */
double *test_zeros64(size_t n);
int32_t *test_ints(size_t n, int32_t low, int32_t high); /* low <= x < high */

/* Asserts max |got - want| <= tolerance * max(max |want|, 1e-30). */
void test_close(const char *what, size_t n, const float *got, const double *want, double tolerance);
/* Asserts equality bit for bit. */
void test_same(const char *what, size_t n, const float *a, const float *b);

/* Describes attention over groups between offsets. Rows of q, of k and v, and of out end in pad,
 * 2 pad and 3 pad unused elements. */
struct ref_attention test_attention(size_t groups, const int32_t *q_offset, const int32_t *k_offset,
                                    size_t heads, size_t head_dim, size_t pad, float rate);
size_t test_longest(size_t groups, const int32_t *offset);

double test_dot(size_t n, const double *x, const double *y);

/* ---- operations by device: the library's, or on PLAIN the reference's in float; over plain
 * pointers where that is shorter ---- */

bool test_is_plain(const struct nvdp__device *dev);
void op_gemm(const struct nvdp__device *dev, bool trans_a, bool trans_b, size_t m, size_t n,
             size_t k, float alpha, const float *a, size_t lda, const float *b, size_t ldb,
             float beta, float *c, size_t ldc);
void op_linear_forward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                       const float *x, const float *w, const float *b, float *y);
void op_linear_backward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                        const float *x, const float *w, const float *dy, float *dx, bool accumulate,
                        float *dw, float *db);
void op_act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                    float *y);
void op_act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                     const float *dy, float *dx);
void op_layernorm_forward(const struct nvdp__device *dev, size_t rows, size_t dim, float eps,
                          const float *x, const float *residual, const float *gamma,
                          const float *beta, float *sum, float *y, float *mean, float *rstd);
void op_layernorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                           const float *sum, const float *gamma, const float *mean,
                           const float *rstd, const float *dy, float *dx, float *dgamma,
                           float *dbeta);
void op_norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                     struct nvdp__tensor x, struct nvdp__tensor residual, struct nvdp__tensor sum,
                     struct nvdp__tensor y, struct nvdp__tensor rounded);
void op_norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                      struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x);
void op_embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                      struct nvdp__tensor y);
void op_embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                       struct nvdp__tensor dy);
void op_rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                         const int32_t *index, const float *y, float *x);
void op_pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                     const int32_t *offset, const float *weight, const float *x, float *y);
void op_pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                      const int32_t *offset, const float *weight, const float *x, const float *dy,
                      float *dx, float *dweight);
void op_dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                      float *x);
/* q, k, v, out and their gradients, of one type. */
struct test_attention_data {
    const void *q, *k, *v, *dout;
    const float *bias;
    void *out, *dq, *dk, *dv;
    float *lse, *dbias;
};
size_t op_attention_scratch(const struct nvdp__device *dev, enum nvdp__type type, size_t longest_q,
                            size_t longest_k, size_t head_dim);
void op_attention_forward(const struct nvdp__device *dev, enum nvdp__type type,
                          const struct ref_attention *att, const struct test_attention_data *x,
                          float *scratch);
void op_attention_backward(const struct nvdp__device *dev, enum nvdp__type type,
                           const struct ref_attention *att, const struct test_attention_data *x,
                           float *scratch);
void op_softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                     size_t labels, const int32_t *label, double scale, double *nll, int32_t *best);
/* Takes one step over n elements as one run of spans. */
void op_adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                   const float *g, const float *anchor, float *m, float *v, float *x);

/* A float32 operation on values near 1 rounds by 6e-8. Sums of up to a few hundred terms, in any
 * order, and a few consecutive operations stay far below this part of the largest result. */
#define FLOAT_TOLERANCE 3e-6
#define GRADCHECK_TOLERANCE 1e-7

#endif
