/* Operations on tensor memory.  Row-major float32; sums that decide results run in double or in
 * fixed blocks, so that a result does not depend on the number of threads unless said.
 *
 * `_backward` functions ADD to parameter gradients (d<param>) and SET input gradients (dx) unless
 * an argument says otherwise.  Where an input gradient may be NULL it is not computed. In and out
 * may be the same memory only where said. */
#ifndef NVDP_SRC_TENSOR_OPS_H
#define NVDP_SRC_TENSOR_OPS_H

#include "base/random.h"
#include "tensor/device.h"

/* ---- matrix products (gemm.c) ---- */
/* C[m,n] = alpha op(A) op(B) + beta C; lda etc. are row strides. */
void nvdp__gemm(const struct nvdp__device *dev, bool trans_a, bool trans_b, size_t m, size_t n,
                size_t k, float alpha, const float *a, size_t lda, const float *b, size_t ldb,
                float beta, float *c, size_t ldc);
/* y[T,out] = x[T,in] w[out,in]^T + b[out] (b NULL: none). */
void nvdp__linear_forward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                          const float *x, const float *w, const float *b, float *y);
/* dx (NULL: skip) set, or added to where accumulate; dw, db (NULL: skip) added to. */
void nvdp__linear_backward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                           const float *x, const float *w, const float *dy, float *dx,
                           bool accumulate, float *dw, float *db);

/* ---- elementwise (elementwise.c) ---- */
void nvdp__zero(const struct nvdp__device *dev, size_t n, float *x);
void nvdp__copy(const struct nvdp__device *dev, size_t n, const float *x, float *y);
void nvdp__add(const struct nvdp__device *dev, size_t n, const float *x, float *y); /* y += x */
void nvdp__axpy(const struct nvdp__device *dev, size_t n, float a, const float *x,
                float *y); /* y += a x */
void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x);
enum nvdp__act { NVDP__ACT_GELU, NVDP__ACT_GELU_NEW, NVDP__ACT_TANH };
/* x and y may be the same. */
void nvdp__act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                       float *y);
/* x is the input (for tanh: pass y, the output); dx may be dy. */
void nvdp__act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                        const float *x, const float *dy, float *dx);

/* ---- LayerNorm (layernorm.c) ---- */
/* y = LN(x + residual) gamma + beta (residual NULL: none); sum (may be x; NULL where residual is
 * NULL) keeps x + residual; mean, rstd [rows] are kept. */
void nvdp__layernorm_forward(const struct nvdp__device *dev, size_t rows, size_t dim, float eps,
                             const float *x, const float *residual, const float *gamma,
                             const float *beta, float *sum, float *y, float *mean, float *rstd);
/* sum: the normalised input (x, or x + residual). dx (of the sum) is set; dx may be dy. */
void nvdp__layernorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *sum, const float *gamma, const float *mean,
                              const float *rstd, const float *dy, float *dx, float *dgamma,
                              float *dbeta);

/* ---- embeddings and rows (rows.c) ---- */
/* y[r] = word[ids[r]] + position[positions[r]] + type[types[r]] */
void nvdp__embed_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                         const int32_t *ids, const int32_t *positions, const int32_t *types,
                         const float *word, const float *position, const float *type, float *y);
void nvdp__embed_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                          const int32_t *ids, const int32_t *positions, const int32_t *types,
                          const float *dy, float *dword, float *dposition, float *dtype);
/* y[r] = x[index[r]], zeros where index[r] < 0 */
void nvdp__rows_gather(const struct nvdp__device *dev, size_t rows, size_t dim,
                       const int32_t *index, const float *x, float *y);
/* x[index[r]] += y[r], in row order: deterministic */
void nvdp__rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x);
/* y[b] = sum_r weight[r] x[r] over rows offset[b]..offset[b+1] (weight NULL: the mean). */
void nvdp__pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                        const int32_t *offset, const float *weight, const float *x, float *y);
/* dx set; dweight (NULL: skip) set. */
void nvdp__pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                         const int32_t *offset, const float *weight, const float *x,
                         const float *dy, float *dx, float *dweight);
/* y[r] = |x[r]|^2 */
void nvdp__row_sqnorm(const struct nvdp__device *dev, size_t rows, size_t dim, const float *x,
                      float *y);
/* dx[r] += 2 dy[r] x[r] */
void nvdp__row_sqnorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                               const float *x, const float *dy, float *dx);

/* ---- dropout (dropout.c): masks are regenerated from counters, never stored ---- */
struct nvdp__dropout {
    float rate; /* 0: off; nothing is read or changed */
    uint64_t seed;
    uint32_t step; /* optimiser step */
    uint32_t site; /* which dropout of the network */
};
/* x[i] = keep_i ? x[i] / (1 - rate) : 0, in place; keep depends on (seed, step, site, i) only. */
void nvdp__dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x);

/* ---- attention over packed texts (attention.c) ---- */
struct nvdp__attention {
    size_t groups; /* texts */
    size_t heads;
    size_t head_dim;
    float scale;                            /* 1/sqrt(head_dim) */
    const int32_t *q_offset;                /* [groups+1] rows of q */
    const int32_t *k_offset;                /* [groups+1] rows of k and v */
    size_t q_stride, kv_stride, out_stride; /* row strides, >= heads*head_dim */
    struct nvdp__dropout dropout;           /* on the probabilities */
};
/* out_i = sum_j softmax_j(scale q_i.k_j + bias_j) v_j within each group and head; bias [rows of k]
 * is the same for every head (NULL: 0).  lse [rows of q, heads] keeps log-sum-exp.  scratch:
 * nvdp__attention_scratch floats. */
size_t nvdp__attention_scratch(const struct nvdp__device *dev, size_t longest_q, size_t longest_k,
                               size_t head_dim);
void nvdp__attention_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                             const float *q, const float *k, const float *v, const float *bias,
                             float *out, float *lse, float *scratch);
/* dq, dk, dv set (strides as q, kv); dbias (NULL: skip) [rows of k] set. */
void nvdp__attention_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                              const float *q, const float *k, const float *v, const float *bias,
                              const float *out, const float *lse, const float *dout, float *dq,
                              float *dk, float *dv, float *dbias, float *scratch);

/* ---- losses and reductions (loss.c, reduce.c) ---- */
/* Mean over rows of -log softmax(logits)[label]; label holds class indices.  dlogits (NULL: skip)
 * set to the gradient of scale * mean loss.  NaN where a logit is NaN or a label is no class. */
double nvdp__cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                           const float *logits, const float *label_host, double scale,
                           float *dlogits);
/* Mean of (y - label)^2, y [rows]. */
double nvdp__mean_squared(const struct nvdp__device *dev, size_t rows, const float *y,
                          const float *label_host, double scale, float *dy);
double nvdp__sum_squares(const struct nvdp__device *dev, size_t n,
                         const float *x); /* fixed blocks, double */
double nvdp__dot(const struct nvdp__device *dev, size_t n, const float *x, const float *y);
bool nvdp__all_finite(const struct nvdp__device *dev, size_t n, const float *x);

/* ---- optimiser (adamw.c) ---- */
struct nvdp__adamw {
    double lr, beta1, beta2, eps, weight_decay;
    double bias1, bias2; /* 1 - beta^t */
    double grad_scale;   /* clipping factor applied to g */
};
/* One step over n elements: m, v, x updated; decoupled decay x -= lr weight_decay (x - anchor),
 * anchor NULL: 0.  (Loshchilov & Hutter 2019.) */
void nvdp__adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                      const float *g, const float *anchor, float *m, float *v, float *x);

/* The same over many tensors in one pass, in pieces of a length that does not depend on the number
 * of threads. */
enum { NVDP__SPAN = 16384 };
struct nvdp__span {
    size_t offset, count; /* in all four vectors; count <= NVDP__SPAN */
    bool decays;          /* opt->weight_decay applies */
    bool idle;            /* gradient and moments are zero: decay alone */
    bool apart;           /* some other rule steps it: not touched here */
};
void nvdp__adamw_spans(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t spans,
                       const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                       float *v, float *x);
/* Sum of squares of all spans' elements, each span in double, in order; idle ones count as 0.
 * `part` has room for one double a span. */
double nvdp__spans_sum_squares(const struct nvdp__device *dev, size_t spans,
                               const struct nvdp__span *span, const float *x, double *part);

#endif
