/* Operations on tensor memory.  Row-major; sums that decide results run in double or in fixed
 * blocks, so that a result does not depend on the number of threads unless said.
 *
 * `_backward` functions ADD to parameter gradients (d<param>) and SET input gradients (dx) unless
 * an argument says otherwise.  Where an input gradient may be none it is then not computed.  In and
 * out may be the same memory only where said.  Tensors lie end to end (stride = cols) unless said.
 * While the device has `per_example`, gradients of parameters take another way (per_example.h). */
#ifndef NVDP_SRC_TENSOR_OPS_H
#define NVDP_SRC_TENSOR_OPS_H

#include "base/random.h"
#include "tensor/tensor.h"

/* ---- dense layers (dense.c) ---- */

/* C = alpha op(A) op(B) + beta C in float32; any strides. */
void nvdp__gemm(const struct nvdp__device *dev, float alpha, bool trans_a, struct nvdp__tensor a,
                bool trans_b, struct nvdp__tensor b, float beta, struct nvdp__tensor c);

enum nvdp__act { NVDP__ACT_GELU, NVDP__ACT_GELU_NEW, NVDP__ACT_TANH, NVDP__ACT_RELU };

/* y [rows, out] = x [rows, in] w [out, in]^T + b [out] */
struct nvdp__linear {
    size_t rows, in, out;
    const float *w, *b;    /* b NULL: none */
    float *dw, *db;        /* gradients; NULL: not wanted */
    bool set;              /* dw is overwritten instead of added to */
    bool f32;              /* products in float32 on every device */
    bool int8;             /* forward in int8 where the device has it: the encoder's */
    const int32_t *offset; /* [texts+1] rows of each text (per_example.h); NULL: one each */
    void *keep; /* where dy may be kept for them, nobody's memory by then, padded; NULL: nowhere */
    const struct nvdp__again *again; /* how they get x once more; NULL: it stays where it is */
};
/* y = act(layer(x)): x and the layer's weights stay, y is nobody's memory when it is computed. */
struct nvdp__again {
    const struct nvdp__linear *layer;
    enum nvdp__act act;
    struct nvdp__tensor x, y;
};
/* On a bfloat16 device (unless layer->f32) float32 x and dy are rounded into scratch; y and dx may
 * be of either type.  On a float32 device all are float32. */
void nvdp__dense_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                         struct nvdp__tensor x, struct nvdp__tensor y);
/* dw += dy^T x (set where layer->set) and db += sum of dy's rows, unless x is none;  dx = dy w, or
 * dx += dy w where `add` (float32), unless dx is none. */
void nvdp__dense_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                          bool add);
/* To be called for each layer whose x or dy are float32 when a step is planned: reserves the
 * scratch that they are rounded into, one for all layers of the arena. */
void nvdp__dense_plan(const struct nvdp__device *dev, struct nvdp__arena *arena, size_t rows,
                      size_t in, size_t out);

/* BLAS may sum a row's products in another order when it stands among other rows.  Where the same
 * text must give the same bits in every batch, a device with rowwise products is used (float32):
 * slower, and forward only.  Scratch for layers of at most `widest` inputs. */
nvdp_status nvdp__rowwise_create(const struct nvdp__device *dev, size_t widest,
                                 struct nvdp__rowwise **out);
void nvdp__rowwise_free(struct nvdp__rowwise *rowwise); /* NULL allowed */

/* How fast this machine multiplies matrices, what other work is measured by: flop/s of the fastest
 * of several large products in the device's precision; 0 with the error recorded where memory is
 * short.  About half a second. */
double nvdp__gemm_peak(const struct nvdp__device *dev);

/* ---- elementwise (elementwise.c) ---- */

void nvdp__zero(const struct nvdp__device *dev, size_t n, float *x);
void nvdp__copy(const struct nvdp__device *dev, size_t n, const float *x, float *y);
void nvdp__add(const struct nvdp__device *dev, size_t n, const float *x, float *y); /* y += x */
void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x);

/* y = act(x), x and y of one type; y may be x.  bfloat16 (GELU forms only) is widened, computed in
 * float32 and rounded. */
void nvdp__activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y);
/* dx = dy act'(x), dx may be dy; for tanh and ReLU x is the output.  Unless y is none, y = act(x): computed
 * again instead of kept; y may be x. */
void nvdp__activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y);

/* Masks are regenerated from counters, never stored. */
struct nvdp__dropout {
    float rate; /* 0: off; nothing is read or changed */
    uint64_t seed;
    uint32_t step; /* optimizer step */
    uint32_t site; /* which dropout of the network */
    size_t first;  /* number of the first row, or element of nvdp__dropout_apply, of a part */
};
/* x[i] = keep_i ? x[i] / (1 - rate) : 0, in place; keep depends on (seed, step, site, first + i) only. */
void nvdp__dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x);

/* ---- dropout, residual and LayerNorm in one pass (norm.c) ---- */

struct nvdp__norm {
    float eps;
    const float *gamma, *beta;    /* [dim] */
    float *dgamma, *dbeta;        /* [dim] added to by backward */
    float *mean, *rstd;           /* [rows] kept */
    struct nvdp__dropout dropout; /* on x; its elements are numbered (row, column) */
    const int32_t *offset;        /* [texts+1] rows of each text (per_example.h); NULL: one each */
};
/* sum = drop(x) + residual (none: 0),  y = LN(sum) gamma + beta,  rounded = y in its own type (none,
 * or y's memory: not written).  sum may be x, and is none only without residual and dropout. */
void nvdp__norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        struct nvdp__tensor x, struct nvdp__tensor residual,
                        struct nvdp__tensor sum, struct nvdp__tensor y,
                        struct nvdp__tensor rounded);
/* d, the gradient of y, becomes that of sum (and of the residual); d_x = drop'(d) in its own type
 * (none: not wanted).  d_x may be d's memory where there is no dropout. */
void nvdp__norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                         struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x);

/* ---- attention over packed texts (attention.c, attention_bf16.c) ---- */

struct nvdp__attention {
    size_t groups; /* texts */
    size_t heads;
    float scale;                  /* 1/sqrt(head_dim) */
    const int32_t *q_offset;      /* [groups+1] rows of q */
    const int32_t *k_offset;      /* [groups+1] rows of k and v */
    struct nvdp__dropout dropout; /* on the probabilities */
    struct nvdp__tensor q, k, v;  /* [rows, heads*head_dim], any strides, k's and v's the same */
    struct nvdp__tensor out;      /* [rows of q, heads*head_dim], any stride */
    const float *bias;            /* [rows of k], the same for every head; NULL: 0 */
    float *lse;                   /* [rows of q, heads] keeps log-sum-exp; NULL: no backward */
    float *scratch;               /* nvdp__attend_scratch floats */
};
/* Of strides as q, k, v, out. */
struct nvdp__attention_gradient {
    struct nvdp__tensor dout;
    struct nvdp__tensor dq, dk, dv; /* set */
    float *dbias;                   /* [rows of k] set; NULL: skip */
};
size_t nvdp__attend_scratch(const struct nvdp__device *dev, enum nvdp__type type, size_t longest_q,
                            size_t longest_k, size_t head_dim);
/* out_i = sum_j softmax_j(scale q_i.k_j + bias_j) v_j within each group and head.  In bfloat16
 * heads are of whole vectors (nvdp__attention_fits_bf16) and strides even. */
void nvdp__attend_forward(const struct nvdp__device *dev, const struct nvdp__attention *att);
void nvdp__attend_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                           const struct nvdp__attention_gradient *d);
static inline bool nvdp__attention_fits_bf16(size_t head_dim) {
    return head_dim % 32 == 0;
}

/* ---- embeddings and rows (rows.c) ---- */

struct nvdp__embedding {
    const int32_t *ids, *positions, *types; /* [rows] */
    float *word, *position, *type; /* tables [.., dim], or their gradients; type NULL: none */
    const float *given;            /* [rows, dim] in place of the rows of word; NULL: none */
    const int32_t *offset;         /* [texts+1] rows of each text (per_example.h) */
};
/* y[r] = word[ids[r]] + position[positions[r]] + type[types[r]], the last where there is a table,
 * the first given[r] where those are given. */
void nvdp__embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                         struct nvdp__tensor y);
/* The tables' gradients are added to; word's may be NULL: not wanted. */
void nvdp__embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                          struct nvdp__tensor dy);
/* y[r] = x[index[r]], zeros where index[r] < 0 */
void nvdp__rows_gather(const struct nvdp__device *dev, size_t rows, size_t dim,
                       const int32_t *index, const float *x, float *y);
/* y[index[r]] = x[r], rounded; no two rows the same. */
void nvdp__rows_place(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const double *x, float *y);
/* y[r] = x[index[r]] in double */
void nvdp__rows_widen(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const float *x, double *y);
/* x[index[r]] += y[r], in row order: deterministic */
void nvdp__rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x);
/* y[b] = sum_r weight[r] x[r] over rows offset[b]..offset[b+1] (weight NULL: the mean). */
void nvdp__pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                        const int32_t *offset, const float *weight, const float *x, float *y);
/* y[b, j] = max_r x[r, j] over the same rows; 0 where there are none. */
void nvdp__pool_max_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                            const int32_t *offset, const float *x, float *y);
/* x[r] *= weight[r], weight [rows] on the host. */
void nvdp__rows_scale(const struct nvdp__device *dev, size_t rows, size_t dim, const float *weight,
                      float *x);
/* x[r] /= max(|x[r]|, 1e-12): to unit length, zeros stay. */
void nvdp__rows_normalize(const struct nvdp__device *dev, size_t rows, size_t dim, float *x);
/* dx set; dweight (NULL: skip) set. */
void nvdp__pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                         const int32_t *offset, const float *weight, const float *x,
                         const float *dy, float *dx, float *dweight);

/* ---- LSTM layers in both directions over packed texts (lstm.c) ---- */

/* The rows of a batch position by position, texts sorted by length, longest first (equals in their
 * order): the rows of a position are those of the first texts, and no padding is computed. */
struct nvdp__steps {
    size_t texts, rows;
    size_t count;   /* positions: tokens of the longest text */
    int32_t *first; /* [count+1] position t's rows are first[t]..first[t+1] */
    int32_t *row;   /* [rows] the batch's row */
    int32_t *place; /* [rows] the reverse: of the batch's rows */
    int32_t
        *before[2]; /* [rows] of out as [2 rows, H]: the step before in each direction; -1: none */
    int32_t *next;  /* [count+1] scratch */
};
/* The tables lie in the arena. */
void nvdp__steps_plan(struct nvdp__arena *arena, size_t max_rows, size_t longest,
                      struct nvdp__steps *steps);
/* offset [texts+1]; a text has one token at least. */
void nvdp__steps_fill(size_t texts, const int32_t *offset, struct nvdp__steps *steps);

/* Rows as steps tell; a row holds the forward direction's numbers, then the backward direction's. */
struct nvdp__lstm {
    const struct nvdp__steps *steps;
    size_t units;      /* H of a direction */
    const float *u[2]; /* [4H, H] gates i, f, g, o of the forward and of the backward direction */
    float *gates;      /* [rows, 8H] W x + b becomes the gates */
    float *cell;       /* [rows, 2H] c */
    float *out;        /* [rows, 2H] h */
    float *scratch;    /* nvdp__lstm_scratch floats */
};
size_t nvdp__lstm_scratch(size_t units, size_t max_texts);
/* Texts are independent of each other: the same bits in any batch, on any number of threads. */
void nvdp__lstm_forward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm);
/* d_out [rows, 2H]; the gates become the gradients of W x + b + U h. */
void nvdp__lstm_backward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                         const float *d_out);
/* du [4H, H] set, of one direction, after that; `earlier` [rows, H] is scratch. */
void nvdp__lstm_backward_weight(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                                size_t direction, float *earlier, float *du);

/* ---- losses (loss.c) ---- */

/* Mean over rows of -log softmax(logits)[label]; label holds class indices.  dlogits (NULL: skip)
 * set to the gradient of scale * mean loss.  NaN where a logit is NaN or a label is no class. */
double nvdp__cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                           const float *logits, const float *label_host, double scale,
                           float *dlogits);
/* The same with each row's part times weight[label], [classes]; the mean is still over rows.  NULL: 1. */
double nvdp__weighted_cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                                    const float *logits, const float *label_host,
                                    const double *weight, double scale, float *dlogits);
/* Mean of (y - label)^2, y [rows]. */
double nvdp__mean_squared(const struct nvdp__device *dev, size_t rows, const float *y,
                          const float *label_host, double scale, float *dy);
/* Cross-entropy over many classes, the vocabulary.  For each row of logits [rows, classes]:
 * nll = -log softmax(logits)[label] in nats, and the first of the largest logits.  Then the logits
 * become scale * (softmax - one-hot label), the gradient of scale * nll; scale 0 leaves them
 * undefined.  Of several `labels` a row, which may repeat, each has its equal share of the target:
 * means of both over them.  label [rows, labels], nll, best [rows] are host memory, labels are below
 * `classes`.  NaN where a logit is NaN.  Rows are independent of each other and of threads. */
void nvdp__softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        size_t labels, const int32_t *label, double scale, double *nll,
                        int32_t *best);

#endif
