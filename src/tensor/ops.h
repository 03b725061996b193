/* Operations on tensor memory. Matrices are row-major. Sums run in double or in fixed blocks, so
 * results do not depend on the number of threads unless stated.
 *
 * `_backward` functions ADD to parameter gradients (d<param>) and SET input gradients (dx) unless an argument says
 * otherwise. If an input gradient is no tensor, it is not computed. Input and output may share memory only where
 * stated. Tensors are contiguous (stride = cols) unless stated. While the device has `per_example`, parameter
 * gradients go to per_example.h. */
#ifndef NVDP_SRC_TENSOR_OPS_H
#define NVDP_SRC_TENSOR_OPS_H

#include "base/random.h"
#include "tensor/tensor.h"

/* ---- dense layers (dense.c) ---- */

/* Computes C = alpha op(A) op(B) + beta C in float32, with any strides. `flags` is a set of enum nvdp__gemm_flags. */
void nvdp__gemm(const struct nvdp__device *dev, float alpha, unsigned flags, struct nvdp__tensor a,
                struct nvdp__tensor b, float beta, struct nvdp__tensor c);

/* The activations of inner layers, in the order of enum nvdp_activation. The second name is used for the functions
 * in vector.h and in config.json. A new activation needs a row here, its value and slope in vector.h, and a member
 * of the enum. */
#define NVDP__ACTIVATIONS(ROW)                                                                     \
    ROW(GELU, gelu)                                                                                \
    ROW(GELU_NEW, gelu_new)                                                                        \
    ROW(RELU, relu)                                                                                \
    ROW(SILU, silu)                                                                                \
    ROW(QUICK_GELU, quick_gelu)

enum nvdp__act {
#define ROW(NAME, name) NVDP__ACT_##NAME,
    NVDP__ACTIVATIONS(ROW)
#undef ROW
        NVDP__ACT_TANH /* for heads only: float32, and the slope is computed from the output */
};

/* A layer y [rows, out] = x [rows, in] w [out, in]^T + b [out]. */
struct nvdp__linear {
    size_t rows, in, out;
    const float *w, *b; /* b is NULL if there is no bias */
    float *dw, *db;     /* gradients; NULL if not computed */
    bool set;           /* true to overwrite dw instead of adding to dw */
    bool f32;           /* true for float32 products on every device */
    /* true to use int8 in the forward pass if the device has int8; set for the encoder's layers */
    bool int8;
    /* [texts+1] first row of each text (per_example.h); NULL if each text has one row */
    const int32_t *offset;
    /* padded scratch memory that is free at this point and may hold dy for per_example.h; NULL if there is none */
    void *keep;
    /* how per_example.h recomputes x; NULL if x stays in memory */
    const struct nvdp__recompute *recompute;
};
/* Recomputes y = act(layer(x)). x and the layer's weights stay in memory; y is a scratch buffer. */
struct nvdp__recompute {
    const struct nvdp__linear *layer;
    enum nvdp__act act;
    struct nvdp__tensor x, y;
};
/* Computes the forward pass. On a bfloat16 device, float32 x and dy are rounded into scratch memory unless
 * layer->f32 is true; y and dx may have either type. On a float32 device all tensors are float32. */
void nvdp__dense_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                         struct nvdp__tensor x, struct nvdp__tensor y);
/* Computes dw += dy^T x (or sets dw if layer->set) and db += sum of the rows of dy, unless x is no tensor. Then
 * computes dx = dy w, or dx += dy w if `add` (float32), unless dx is no tensor. */
void nvdp__dense_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                          bool add);
/* Reserves the scratch memory into which float32 x and dy of the layer are rounded; all layers of the arena share
 * this memory. Called for each such layer while a step is planned. */
void nvdp__dense_plan(const struct nvdp__device *dev, struct nvdp__arena *arena, size_t rows,
                      size_t in, size_t out);

/* Creates products whose rows do not depend on each other. BLAS may sum a row in another order when other rows
 * surround it. A device with rowwise products gives a text the same bits in every batch; the products are slower, in
 * float32, and only for the forward pass. The scratch memory serves layers of at most `widest` inputs. The caller
 * frees *out with free(). */
nvdp_status nvdp__rowwise_create(const struct nvdp__device *dev, size_t widest,
                                 struct nvdp__rowwise **out);

/* Measures how fast this machine multiplies matrices, as the reference for other timings: flop/s of the fastest of
 * several large products in the device's precision. Takes about half a second. Returns 0 and records the error if
 * memory is exhausted. */
double nvdp__gemm_peak(const struct nvdp__device *dev);

/* ---- elementwise (elementwise.c) ---- */

void nvdp__zero(const struct nvdp__device *dev, size_t n, float *x);
void nvdp__copy(const struct nvdp__device *dev, size_t n, const float *x, float *y);
void nvdp__add(const struct nvdp__device *dev, size_t n, const float *x, float *y); /* y += x */
void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x);

/* Computes y = act(x), with x and y of the same type; y may be x. bfloat16 (not for tanh) is widened, computed in
 * float32 and rounded. */
void nvdp__activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y);
/* Computes dx = dy act'(x); dx may be dy. For tanh, x is the output; for ReLU, x may be the output. Also recomputes
 * y = act(x) unless y is no tensor; y may be x. */
void nvdp__activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y);

/* Masks are regenerated from counters, never stored. */
struct nvdp__dropout {
    float rate; /* 0 turns dropout off: nothing is read or changed */
    uint64_t seed;
    uint32_t step; /* step of the optimizer */
    uint32_t site; /* number of this dropout within the network */
    size_t first;  /* first row of a part of the tensor; in nvdp__dropout_apply(), first element */
};
/* Sets x[i] = keep_i ? x[i] / (1 - rate) : 0, in place; keep_i depends only on (seed, step, site, first + i). */
void nvdp__dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x);
/* Computes gated inner layers (Shazeer 2020): y [rows, n] = drop(act(u) g) for x = (u, g) [rows, 2n], all of one
 * type, computed in float32. Elements of the dropout are numbered (row, column). act is not tanh. */
void nvdp__gated_forward(const struct nvdp__device *dev, enum nvdp__act act,
                         const struct nvdp__dropout *drop, struct nvdp__tensor x,
                         struct nvdp__tensor y);
/* Sets dx and recomputes y; dx may be x, and y may be dy. */
void nvdp__gated_backward(const struct nvdp__device *dev, enum nvdp__act act,
                          const struct nvdp__dropout *drop, struct nvdp__tensor x,
                          struct nvdp__tensor dy, struct nvdp__tensor dx, struct nvdp__tensor y);

/* ---- dropout, residual and LayerNorm in one pass (norm.c) ---- */

struct nvdp__norm {
    float eps;
    const float *gamma, *beta; /* [dim] scale and shift of LayerNorm */
    /* [dim] the backward pass adds to these gradients; dbeta is NULL if not computed */
    float *dgamma, *dbeta;
    float *mean, *rstd;           /* [rows] kept for the backward pass */
    struct nvdp__dropout dropout; /* dropout of x; elements are numbered (row, column) */
    /* [texts+1] first row of each text (per_example.h); NULL if each text has one row */
    const int32_t *offset;
};
/* Computes sum = drop(x) + residual (0 if residual is no tensor) and y = LN(sum) gamma + beta. Also writes y in the
 * type of `rounded`, unless `rounded` is no tensor or is y's memory. sum may be x; without residual and dropout, sum
 * may be no tensor. */
void nvdp__norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        struct nvdp__tensor x, struct nvdp__tensor residual,
                        struct nvdp__tensor sum, struct nvdp__tensor y,
                        struct nvdp__tensor rounded);
/* Turns d, the gradient of y, into the gradient of sum and of the residual. Then computes d_x = drop'(d) in the type
 * of d_x, unless d_x is no tensor. d_x may be d's memory if there is no dropout. */
void nvdp__norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                         struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x);

/* ---- attention over packed texts (attention.c, attention_bf16.c) ---- */

/* Relative position biases, by the distance j - i from query i to key j of a text (Shaw et al. 2018; Raffel et al.
 * 2020). Each distance belongs to a bucket, and a table [buckets, heads] has the biases. Several layers may share
 * the table. */
struct nvdp__relative {
    size_t reach; /* distances are -reach to reach */
    size_t buckets;
    int32_t *bucket; /* [2 reach + 1] bucket of each distance */
    float *bias;     /* [heads, 2 reach + 1] the bias of each distance, from the table */
    /* [groups, buckets, heads] gradient of each text, to which the backward pass adds; NULL if not computed */
    float *gradient;
    double *sums; /* [threads, 2 reach + 1] scratch buffers of the backward pass */
};

struct nvdp__attention {
    size_t groups; /* number of texts */
    size_t heads;
    float scale;                  /* 1/sqrt(head_dim) */
    const int32_t *q_offset;      /* [groups+1] first row of q of each text */
    const int32_t *k_offset;      /* [groups+1] first row of k and v of each text */
    struct nvdp__dropout dropout; /* dropout of the probabilities */
    /* [rows, heads*head_dim], any strides; k and v have the same stride */
    struct nvdp__tensor q, k, v;
    struct nvdp__tensor out; /* [rows of q, heads*head_dim] the output, any stride */
    /* [rows of k] bias of each key, the same for every head; NULL if all biases are 0 */
    const float *bias;
    /* relative position biases, for queries and keys of the same tokens, instead of `bias`; NULL if there are none */
    const struct nvdp__relative *relative;
    /* [rows of q, heads] log-sum-exp for the backward pass; NULL if there is no backward pass */
    float *lse;
    float *scratch; /* nvdp__attend_scratch() floats */
};
/* The gradients have the strides of q, k, v and out. */
struct nvdp__attention_gradient {
    struct nvdp__tensor dout;
    struct nvdp__tensor dq, dk, dv; /* the backward pass sets these */
    /* [rows of k] which the backward pass sets; NULL if not computed */
    float *dbias;
};
size_t nvdp__attend_scratch(const struct nvdp__device *dev, enum nvdp__type type, size_t longest_q,
                            size_t longest_k, size_t head_dim);
/* Computes out_i = sum_j softmax_j(scale q_i.k_j + bias) v_j within each group and head. In bfloat16,
 * nvdp__attention_fits_bf16 must hold for the head dimension, and strides are even. */
void nvdp__attend_forward(const struct nvdp__device *dev, const struct nvdp__attention *att);
void nvdp__attend_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                           const struct nvdp__attention_gradient *d);
/* Applies rotary position embeddings (Su et al. 2021) in place: rotates the pair (x_i, x_(i+h/2)) of each head of x
 * [rows, heads*h], of any stride and type, by the angle of position[r] and i. Gradients are rotated back. cosine and
 * sine are [positions, h/2]. */
enum nvdp__rotation { NVDP__ROTATE_FORWARD = 1, NVDP__ROTATE_BACK = -1 };
void nvdp__rotate(const struct nvdp__device *dev, enum nvdp__rotation rotation, size_t heads,
                  const int32_t *position, const float *cosine, const float *sine,
                  struct nvdp__tensor x);
/* Fills cosine and sine, in host memory, for angle(p, i) = p theta^(-2i/h). */
void nvdp__rotary_fill(size_t positions, size_t head_dim, double theta, float *cosine, float *sine);
/* Sets relative->bias to 0 within `window` of a query, and to -inf beyond the window. */
void nvdp__window_fill(size_t heads, size_t window, const struct nvdp__relative *relative);
/* Sets relative->bias from the table [buckets, heads]. */
void nvdp__relative_fill(const struct nvdp__device *dev, size_t heads, const float *table,
                         const struct nvdp__relative *relative);
/* Adds the sum of the gradients of `groups` texts to the gradient of the table. */
void nvdp__relative_add(const struct nvdp__device *dev, size_t groups, size_t heads,
                        const struct nvdp__relative *relative, float *d_table);
static inline bool nvdp__attention_fits_bf16(size_t head_dim) {
    return head_dim % 32 == 0;
}

/* ---- embeddings and rows (rows.c) ---- */

struct nvdp__embedding {
    const int32_t *ids, *positions, *types; /* [rows] indices into the three tables */
    /* tables [.., dim], or the gradients of the tables; `type` is NULL if there is no such table, `position` is NULL
     * if there is no gradient */
    float *word, *position, *type;
    /* [rows, dim] vectors that replace the rows of `word`; NULL if there are none */
    const float *given;
    bool mixed;            /* true if `given` replaces only the rows with a negative id */
    const int32_t *offset; /* [texts+1] first row of each text (per_example.h) */
};
/* Computes y[r] = word[ids[r]] + position[positions[r]] + type[types[r]]; the last term is omitted if there is no
 * type table. given[r], if set, replaces word[ids[r]]; if `mixed`, only where ids[r] < 0. */
void nvdp__embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                         struct nvdp__tensor y);
/* Adds to the gradients of the tables; `word` may be NULL (not computed). Negative ids add nothing to the gradient
 * of `word`. */
void nvdp__embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                          struct nvdp__tensor dy);
/* sets y[r] = x[index[r]], or zeros if index[r] < 0 */
void nvdp__rows_gather(const struct nvdp__device *dev, size_t rows, size_t dim,
                       const int32_t *index, const float *x, float *y);
/* Sets y[index[r]] = x[r], rounded; the indices are distinct. */
void nvdp__rows_place(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const double *x, float *y);
/* sets y[r] = x[index[r]] in double */
void nvdp__rows_widen(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const float *x, double *y);
/* Adds y[r] to x[index[r]] in row order, so the result is deterministic. Skips negative indices. */
void nvdp__rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x);
/* Computes y[b] = sum_r weight[r] x[r] over rows offset[b]..offset[b+1]; the mean if weight is NULL. */
void nvdp__pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                        const int32_t *offset, const float *weight, const float *x, float *y);
/* Computes y[b, j] = max_r x[r, j] over the rows offset[b]..offset[b+1]; 0 if there are no rows. */
void nvdp__pool_max_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                            const int32_t *offset, const float *x, float *y);
/* Computes x[r] *= weight[r]; weight [rows] is host memory. */
void nvdp__rows_scale(const struct nvdp__device *dev, size_t rows, size_t dim, const float *weight,
                      float *x);
/* Computes x[r] /= max(|x[r]|, 1e-12), which scales rows to unit length; zero rows stay zero. */
void nvdp__rows_normalize(const struct nvdp__device *dev, size_t rows, size_t dim, float *x);
/* Sets dx, and dweight unless dweight is NULL. */
void nvdp__pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                         const int32_t *offset, const float *weight, const float *x,
                         const float *dy, float *dx, float *dweight);

/* ---- LSTM layers in both directions over packed texts (lstm.c) ---- */

/* The rows of a batch grouped by position. Texts are sorted by length, longest first; texts of
 * equal length keep their order. The rows of a position then belong to the first texts, and no
 * padding is computed. */
struct nvdp__steps {
    size_t texts, rows;
    size_t count;   /* number of positions: tokens of the longest text */
    int32_t *first; /* [count+1] position t has the rows first[t]..first[t+1] */
    int32_t *row;   /* [rows] row in the batch of each row of this order */
    int32_t *place; /* [rows] row of this order of each row in the batch: row[place[i]] = i */
    /* [rows] row, in [2 rows, H], of the previous step in each direction; -1 if there is no previous step */
    int32_t *before[2];
    int32_t *next; /* [count+1] scratch buffer */
};
/* Takes the arrays from the arena. */
void nvdp__steps_plan(struct nvdp__arena *arena, size_t max_rows, size_t longest,
                      struct nvdp__steps *steps);
/* Fills the arrays from offset [texts+1]; every text has at least one token. */
void nvdp__steps_fill(size_t texts, const int32_t *offset, struct nvdp__steps *steps);

/* One layer. Rows are ordered by `steps`; a row holds the forward direction first, then the backward direction. */
struct nvdp__lstm {
    const struct nvdp__steps *steps;
    size_t units;      /* H: units per direction */
    const float *u[2]; /* [4H, H] weights of h in the gates i, f, g, o: forward, backward */
    float *gates;      /* [rows, 8H] W x + b on entry, the gates on return */
    float *cell;       /* [rows, 2H] c, the states of the cells */
    float *out;        /* [rows, 2H] h, the outputs */
    float *scratch;    /* nvdp__lstm_scratch() floats */
};
size_t nvdp__lstm_scratch(size_t units, size_t max_texts);
/* Computes the forward pass. Texts are independent of each other: the bits are the same in any batch and on any
 * number of threads. */
void nvdp__lstm_forward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm);
/* Computes the backward pass from d_out [rows, 2H]; the gates are replaced by the gradients of W x + b + U h. */
void nvdp__lstm_backward(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                         const float *d_out);
/* Sets du [4H, H] of one direction; to be called after nvdp__lstm_backward(). earlier [rows, H] is a scratch buffer. */
void nvdp__lstm_backward_weight(const struct nvdp__device *dev, const struct nvdp__lstm *lstm,
                                size_t direction, float *earlier, float *du);

/* ---- losses (loss.c) ---- */

/* Returns the mean over rows of -log softmax(logits)[label]; label holds class indices. Sets dlogits, unless it is
 * NULL, to the gradient of scale * mean loss. Returns NaN if a logit is NaN or a label is not a class. */
double nvdp__cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                           const float *logits, const float *label_host, double scale,
                           float *dlogits);
/* Returns the mean over rows with the loss of each row multiplied by weight[label]; weight [classes] is NULL if all
 * weights are 1. */
double nvdp__weighted_cross_entropy(const struct nvdp__device *dev, size_t rows, size_t classes,
                                    const float *logits, const float *label_host,
                                    const double *weight, double scale, float *dlogits);
/* Returns the mean of (y - label)^2 over y [rows]. */
double nvdp__mean_squared(const struct nvdp__device *dev, size_t rows, const float *y,
                          const float *label_host, double scale, float *dy);
/* Cross-entropy over a vocabulary. Computes for each row of logits [rows, classes]: nll = -log
 * softmax(logits)[label] in nats, and `best`, the first of the largest logits. Then the logits
 * become scale * (softmax - one-hot label), the gradient of scale * nll; with scale 0 their
 * content is undefined.
 *
 * A row may have several `labels`, which may repeat: each label has an equal share of the target, and nll and
 * gradient are means over the labels. label [rows, labels], nll and best [rows] are host memory; labels are below
 * `classes`. A NaN logit gives NaN. Rows do not depend on each other or on the number of threads. */
void nvdp__softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        size_t labels, const int32_t *label, double scale, double *nll,
                        int32_t *best);

#endif
