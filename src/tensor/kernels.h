/* Kernels that several files of this folder call from their own parallel loops: rows to
 * bfloat16, column sums, small products, the random bits of dropout. */
#ifndef NVDP_SRC_TENSOR_KERNELS_H
#define NVDP_SRC_TENSOR_KERNELS_H

#include "tensor/bf16.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

/* y = x rounded to nearest; subnormal numbers may become 0 (tensor.c). */
void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y);

/* Sum of x[i] y[i], in double (rows.c). */
double nvdp__dot(size_t dim, const float *x, const float *y);

/* sum[c] += column c of x [rows, count] with row stride `stride`, in double and in row order.
 * count <= NVDP__COLUMNS (dense.c). */
void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum);

/* Joins names in files that are included once per instruction set. */
#define NVDP__JOIN_(a, b) a##b
#define NVDP__JOIN(a, b) NVDP__JOIN_(a, b)

/* C [m, n] = alpha A B for small sizes; n is a multiple of 16. */
struct nvdp__small_product {
    size_t m, n, k;
    float alpha;
    const float *a;
    size_t a_row,
        a_col;      /* A's element (i, l) is a[i * a_row + l * a_col], so A may be transposed */
    const float *b; /* [k, n] */
    size_t ldb;     /* elements from row to row */
    float *c;
    size_t ldc;
};
void nvdp__small_product(struct nvdp__small_product p);

/* y [rows, out] = x [rows, in] w^T + b, for w [out, in]; b may be NULL. */
struct nvdp__few_rows {
    size_t rows, in, out;
    const float *x; /* ldx and ldy elements from row to row */
    size_t ldx;
    const float *w, *b;
    float *y;
    size_t ldy;
};
/* Returns false, and computes nothing, if another product is faster or the shape does not suit
 * (few_rows.c). */
bool nvdp__few_rows_forward(const struct nvdp__device *dev, struct nvdp__few_rows p);

/* y [cols, ldy] = x^T for x [rows, cols] with row stride `stride`; columns rows..ldy of y are
 * zero. */
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

/* A bijection of 32-bit words with low bias (lowbias32 by C. Wellons). */
NVDP__INLINE uint32_t nvdp__mix32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* 31 uniform bits. */
NVDP__INLINE int32_t nvdp__dropout_bits(struct nvdp__dropout_key key, uint32_t j) {
    return (int32_t)(nvdp__mix32(nvdp__mix32(j * 0x9e3779b9u + key.add) ^ key.flip) >> 1);
}

/* An element is kept if its bits are at least this (elementwise.c). */
int32_t nvdp__dropout_threshold(const struct nvdp__dropout *drop);

/* The factor of element j: 0, or scale = 1/(1 - rate). */
NVDP__INLINE float nvdp__dropout_factor(struct nvdp__dropout_key key, int32_t threshold,
                                        float scale, uint32_t j) {
    return nvdp__dropout_bits(key, j) >= threshold ? scale : 0.0f;
}

#endif
