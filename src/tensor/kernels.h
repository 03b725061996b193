/* Kernels that several files of this folder call from their own parallel loops: rows to
 * bfloat16, column sums, small products, the random bits of dropout. */
#ifndef NVDP_SRC_TENSOR_KERNELS_H
#define NVDP_SRC_TENSOR_KERNELS_H

#include "tensor/bf16.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

/* y = x rounded to nearest bfloat16; subnormal numbers may become 0 (tensor.c). */
void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y);

/* Returns the sum of x[i] y[i], in double (rows.c). */
double nvdp__dot(size_t dim, const float *x, const float *y);

/* Adds column c of x [rows, count], with row stride `stride`, to sum[c], in double and in row
 * order. count <= NVDP__COLUMNS (dense.c). */
void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum);

/* Joins names in files that are included once per instruction set. */
#define NVDP__JOIN_(a, b) a##b
#define NVDP__JOIN(a, b) NVDP__JOIN_(a, b)

/* A product C [m, n] = alpha A B for small sizes; n is a multiple of 16. */
struct nvdp__small_product {
    size_t m, n, k;
    float alpha;
    const float *a;
    size_t a_row,
        a_col;      /* element (i, l) of A is a[i * a_row + l * a_col], so A may be transposed */
    const float *b; /* [k, n] right operand */
    size_t ldb;     /* elements from row to row */
    float *c;
    size_t ldc;
};
void nvdp__small_product(struct nvdp__small_product p);

/* A product y [rows, out] = x [rows, in] w^T + b, for w [out, in]; b may be NULL. */
struct nvdp__few_rows {
    size_t rows, in, out;
    const float *x; /* ldx and ldy are elements from row to row */
    size_t ldx;
    const float *w, *b;
    float *y;
    size_t ldy;
};
/* Returns false without computing anything if another product is faster or the shape does not
 * fit (few_rows.c). */
bool nvdp__few_rows_forward(const struct nvdp__device *dev, struct nvdp__few_rows p);

/* Sets y [cols, ldy] to x^T for x [rows, cols] with row stride `stride`; columns rows..ldy of y
 * become zero. */
void nvdp__small_transpose(size_t rows, size_t cols, const float *x, size_t stride, size_t ldy,
                           float *y);

/* ---- dropout ----
 *
 * Elements are numbered (block, j). The key of a block is computed from (seed, step, site,
 * block) by rounds of splitmix64 (Steele, Lea & Flood 2014). Within a block, the bits of element
 * j are a 32-bit hash of j under the key, which vectorizes. Dropout needs well mixed bits, not
 * secret ones. */
struct nvdp__dropout_key {
    uint32_t add, flip;
};

NVDP__INLINE uint64_t nvdp__splitmix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

NVDP__INLINE struct nvdp__dropout_key nvdp__dropout_key(const struct nvdp__dropout *drop,
                                                        uint64_t block) {
    uint64_t key = nvdp__splitmix(drop->seed);
    key = nvdp__splitmix(key ^ ((uint64_t)drop->step << 32 | drop->site));
    key = nvdp__splitmix(key ^ block);
    return (struct nvdp__dropout_key){(uint32_t)key, (uint32_t)(key >> 32)};
}

/* Mixes the bits of a word: a bijection of 32-bit words with low bias (lowbias32 by C. Wellons). */
NVDP__INLINE uint32_t nvdp__mix32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Returns 31 uniform bits. */
NVDP__INLINE int32_t nvdp__dropout_bits(struct nvdp__dropout_key key, uint32_t j) {
    return (int32_t)(nvdp__mix32(nvdp__mix32(j * 0x9e3779b9u + key.add) ^ key.flip) >> 1);
}

/* Returns the threshold: an element is kept if its bits are at least this (elementwise.c). */
int32_t nvdp__dropout_threshold(const struct nvdp__dropout *drop);

/* Returns the factor of element j: 0, or scale = 1/(1 - rate). */
NVDP__INLINE float nvdp__dropout_factor(struct nvdp__dropout_key key, int32_t threshold,
                                        float scale, uint32_t j) {
    return nvdp__dropout_bits(key, j) >= threshold ? scale : 0.0f;
}

/* ==== attention ==== */

/* The parts that both implementations of attention share (attention.c in float32,
 * attention_bf16.c): one tile per text and head, rows of scores in whole vectors, and the keys
 * of dropout. */

size_t nvdp__line_up(size_t n); /* rounds n up to whole cache lines of floats */

/* One head of one text: n_q rows of q against n_k rows of k and v. */
struct nvdp__tile {
    size_t first_q, n_q;
    size_t first_k, n_k;
    size_t group, head;
    size_t ld;                 /* row stride of the scores: n_k rounded up to whole vectors */
    size_t q_at, k_at, out_at; /* element offsets of the tile's first element */
};

size_t nvdp__head_dim(const struct nvdp__attention *att);

/* The bfloat16 implementation, for one tile with keys; all strides are even. `scratch` has
 * nvdp__attention_bf16_scratch() floats. */
size_t nvdp__attention_bf16_scratch(size_t longest_k, size_t head_dim);
void nvdp__attention_bf16_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                                  const struct nvdp__tile *t, float *scratch);
void nvdp__attention_bf16_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att, const struct nvdp__tile *t,
                                   const struct nvdp__attention_gradient *d, float *scratch);

/* Returns the dropout key of query i of a tile. */
NVDP__INLINE struct nvdp__dropout_key nvdp__tile_key(const struct nvdp__attention *att,
                                                     const struct nvdp__tile *t, size_t i) {
    size_t row = att->dropout.first + t->first_q + i;
    return nvdp__dropout_key(&att->dropout, row * att->heads + t->head);
}

/* Returns the address of the log-sum-exp of query i of a tile; NULL if the log-sum-exp is not
 * kept. */
NVDP__INLINE float *nvdp__row_lse(const struct nvdp__attention *att, const struct nvdp__tile *t,
                                  size_t i) {
    return att->lse != NULL ? att->lse + (t->first_q + i) * att->heads + t->head : NULL;
}

/* Returns the biases of query i of a tile for the keys; NULL if all biases are 0. */
NVDP__INLINE const float *nvdp__row_bias(const struct nvdp__attention *att,
                                         const struct nvdp__tile *t, size_t i) {
    const struct nvdp__relative *relative = att->relative;
    if (relative != NULL)
        return relative->bias + t->head * (2 * relative->reach + 1) + relative->reach - i;
    return att->bias != NULL ? att->bias + t->first_k : NULL;
}

/* Begins the gradient of the table of relative position biases for a tile; the caller then adds
 * the tile's rows and ends the gradient. Returns NULL if this gradient is not computed. */
double *nvdp__relative_begin(const struct nvdp__attention *att);
/* Adds rows [first, first + n) of ds [n, ld] to the sums by distance. */
void nvdp__relative_rows(const struct nvdp__attention *att, const struct nvdp__tile *t,
                         size_t first, size_t n, const float *ds, double *sums);
void nvdp__relative_end(const struct nvdp__attention *att, const struct nvdp__tile *t,
                        const double *sums);

NVDP__INLINE float nvdp__keep_scale(const struct nvdp__attention *att) {
    return 1.0f / (1.0f - att->dropout.rate);
}

#endif
