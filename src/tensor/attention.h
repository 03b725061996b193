/* What both forms of attention (attention.c, attention_bf16.c) are made of: a tile per text and head,
 * rows of scores in whole vectors, dropout's keys. */
#ifndef NVDP_SRC_TENSOR_ATTENTION_H
#define NVDP_SRC_TENSOR_ATTENTION_H

#include "tensor/kernels.h"

/* The bfloat16 form; strides even. */
size_t nvdp__attention_bf16_scratch(const struct nvdp__device *dev, size_t longest_k,
                                    size_t head_dim);
void nvdp__attention_bf16_forward(const struct nvdp__device *dev,
                                  const struct nvdp__attention *att);
void nvdp__attention_bf16_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att,
                                   const struct nvdp__attention_gradient *d);

/* Floats in 64 bytes. */
enum { NVDP__LINE = 16 };

NVDP__INLINE size_t nvdp__line_up(size_t n) {
    return (n + NVDP__LINE - 1) / NVDP__LINE * NVDP__LINE;
}

/* Rows are worked on in whole vectors, up to a stride that is a multiple of 16: past n_k they hold
 * the score -inf, hence the probability 0. */
NVDP__INLINE size_t nvdp__whole_lines(size_t ld) {
    return ld / NVDP__LINE * NVDP__LINE; /* ld itself, said so that the compiler knows */
}

/* One (text, head): n_q rows of q against n_k rows of k and v. */
struct nvdp__tile {
    size_t first_q, n_q;
    size_t first_k, n_k;
    size_t head;
    size_t ld;                 /* row stride of the scores: n_k in whole vectors */
    size_t q_at, k_at, out_at; /* element offsets of the tile's corner */
};

NVDP__INLINE size_t nvdp__head_dim(const struct nvdp__attention *att) {
    return att->q.cols / att->heads;
}

NVDP__INLINE struct nvdp__tile nvdp__tile_of(const struct nvdp__attention *att, size_t group,
                                             size_t head) {
    size_t column = head * nvdp__head_dim(att);
    struct nvdp__tile t = {.first_q = (size_t)att->q_offset[group],
                           .first_k = (size_t)att->k_offset[group],
                           .head = head};
    t.n_q = (size_t)att->q_offset[group + 1] - t.first_q;
    t.n_k = (size_t)att->k_offset[group + 1] - t.first_k;
    t.ld = nvdp__line_up(t.n_k);
    t.q_at = t.first_q * att->q.stride + column;
    t.k_at = t.first_k * att->k.stride + column;
    t.out_at = t.first_q * att->out.stride + column;
    return t;
}

NVDP__INLINE size_t nvdp__longest_group(size_t groups, const int32_t *offset) {
    int32_t most = 0;
    for (size_t g = 0; g < groups; g++)
        if (offset[g + 1] - offset[g] > most) most = offset[g + 1] - offset[g];
    return (size_t)most;
}

/* The key of query i of a tile. */
NVDP__INLINE struct nvdp__dropout_key nvdp__tile_key(const struct nvdp__attention *att,
                                                     const struct nvdp__tile *t, size_t i) {
    return nvdp__dropout_key(&att->dropout, (t->first_q + i) * att->heads + t->head);
}

NVDP__INLINE float nvdp__keep_scale(const struct nvdp__attention *att) {
    return 1.0f / (1.0f - att->dropout.rate);
}

/* Floats as integers of the same order (NaN outermost), and back: compilers vectorise only integer
 * maxima, because their order is free. */
NVDP__INLINE int32_t nvdp__ordered_bits(int32_t bits) {
    return bits ^ ((bits >> 31) & INT32_MAX);
}

NVDP__INLINE float nvdp__row_max(size_t ld, const float *s) {
    int32_t highest = INT32_MIN;
    for (size_t j = 0; j < ld; j++) {
        int32_t key = nvdp__ordered_bits((int32_t)nvdp__float_bits(s[j]));
        highest = key > highest ? key : highest;
    }
    return nvdp__bits_float((uint32_t)nvdp__ordered_bits(highest));
}

#endif
