/* Helpers shared by both implementations of attention (attention.c in float32,
 * attention_bf16.c): one tile per text and head, rows of scores in whole vectors, keys of
 * dropout. */
#ifndef NVDP_SRC_TENSOR_ATTENTION_H
#define NVDP_SRC_TENSOR_ATTENTION_H

#include "tensor/kernels.h"

/* The bfloat16 implementation; all strides are even. */
size_t nvdp__attention_bf16_scratch(const struct nvdp__device *dev, size_t longest_k,
                                    size_t head_dim);
void nvdp__attention_bf16_forward(const struct nvdp__device *dev,
                                  const struct nvdp__attention *att);
void nvdp__attention_bf16_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att,
                                   const struct nvdp__attention_gradient *d);

size_t nvdp__line_up(size_t n); /* rounds n up to whole cache lines of floats */

/* One (text, head): n_q rows of q against n_k rows of k and v. */
struct nvdp__tile {
    size_t first_q, n_q;
    size_t first_k, n_k;
    size_t group, head;
    size_t ld;                 /* row stride of the scores: n_k rounded up to whole vectors */
    size_t q_at, k_at, out_at; /* element offsets of the tile's first element */
};

size_t nvdp__head_dim(const struct nvdp__attention *att);
struct nvdp__tile nvdp__tile_of(const struct nvdp__attention *att, size_t group, size_t head);
size_t nvdp__longest_group(size_t groups, const int32_t *offset);

/* The dropout key of query i of a tile. */
NVDP__INLINE struct nvdp__dropout_key nvdp__tile_key(const struct nvdp__attention *att,
                                                     const struct nvdp__tile *t, size_t i) {
    size_t row = att->dropout.first + t->first_q + i;
    return nvdp__dropout_key(&att->dropout, row * att->heads + t->head);
}

/* Address of the log-sum-exp of query i of a tile; NULL if it is not kept. */
NVDP__INLINE float *nvdp__row_lse(const struct nvdp__attention *att, const struct nvdp__tile *t,
                                  size_t i) {
    return att->lse != NULL ? att->lse + (t->first_q + i) * att->heads + t->head : NULL;
}

/* Biases of query i of a tile for its keys; NULL: 0. */
NVDP__INLINE const float *nvdp__row_bias(const struct nvdp__attention *att,
                                         const struct nvdp__tile *t, size_t i) {
    const struct nvdp__relative *relative = att->relative;
    if (relative != NULL)
        return relative->bias + t->head * (2 * relative->reach + 1) + relative->reach - i;
    return att->bias != NULL ? att->bias + t->first_k : NULL;
}

/* Begins the gradient of the table of relative biases for a tile; NULL: it is not computed. Add
 * the tile's rows, then end it. */
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
