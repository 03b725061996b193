/* One pair of a set of posteriors. */
#ifndef NVDP_RDP_PAIR_H
#define NVDP_RDP_PAIR_H

#include "rdp/pairs.h"

static inline size_t nvdp__rows(const struct nvdp_posteriors *set, size_t i) {
    return set->offset[i + 1] - set->offset[i];
}

static inline size_t nvdp__least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* [0] D(i || j), [1] D(j || i), while they are summed. */
struct nvdp__both {
    double value[2];
    bool wanted[2];
    bool small; /* hint of nvdp__gaussian_both */
};

/* to_pad and from_pad at the plan's order. */
void nvdp__pairs_padding(struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan);
/* Adds D(row || padding) to value[0], the other direction to value[1]; a row of text i. */
void nvdp__against_padding(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                           size_t i, size_t row, double value[2]);
/* The components only one of the two has, D(i || j), from to_pad and from_pad; 0 under equal
 * lengths. */
double nvdp__unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j);

/* Adds one block of the pair's common components: layout.rows rows from `row` on, or a piece of
 * one. What has become +inf is no longer wanted. */
void nvdp__pair_block(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                      size_t i, size_t j, size_t row, size_t piece, struct nvdp__both *pair);
/* Times kappa, plus the weights, where wanted. */
void nvdp__pair_finish(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                       size_t i, size_t j, struct nvdp__both *pair);

/* D(i || j) at the order of to_pad and from_pad. */
double nvdp__pair_value(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                        size_t i, size_t j);
/* D(i || j) with a plan of exact arithmetic, whatever the pass before. */
double nvdp__pair_exact(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                        size_t i, size_t j);

#endif
