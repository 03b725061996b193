/* One pair. */
#include "rdp/pair.h"
#include <math.h>

double nvdp__unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows_i = nvdp__rows(set, i);
    size_t rows_j = nvdp__rows(set, j);
    if (rows_i == rows_j) return 0;
    if (set->policy == NVDP_LENGTH_PUBLIC) return INFINITY;
    return rows_i > rows_j ? pairs->to_pad[set->offset[i] + rows_j]
                           : pairs->from_pad[set->offset[j] + rows_i];
}

/* Rows [row, row + rows) of text i, or a piece of one row. */
static struct nvdp__block block_of(const struct nvdp__pairs *pairs, size_t i, size_t row,
                                   size_t rows, size_t piece) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t first = (set->offset[i] + row) * set->dim + piece * pairs->layout.width;
    size_t last = (set->offset[i] + row + rows - 1) * pairs->layout.pieces + piece;
    return (struct nvdp__block){.mu = set->mu + first,
                                .var = pairs->var + first,
                                .logs = pairs->logs[last],
                                .most = pairs->most[i],
                                .spread = pairs->spread[i]};
}

void nvdp__pair_block(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                      size_t i, size_t j, size_t row, size_t piece, struct nvdp__both *pair) {
    const struct nvdp_posteriors *set = pairs->set;
    const struct nvdp__layout *layout = &pairs->layout;
    size_t common = nvdp__least(nvdp__rows(set, i), nvdp__rows(set, j));
    if (row >= common) return;
    size_t rows = nvdp__least(layout->rows, common - row);
    size_t n = layout->pieces > 1 ? nvdp__least(layout->width, set->dim - piece * layout->width)
                                  : rows * set->dim;
    struct nvdp__block p = block_of(pairs, i, row, rows, piece);
    struct nvdp__block q = block_of(pairs, j, row, rows, piece);
    double part[2];
    nvdp__gaussian_both(plan, n, &p, &q, pair->wanted, &pair->small, part);
    for (int side = 0; side < 2; side++) {
        if (!pair->wanted[side]) continue;
        pair->value[side] += part[side];
        pair->wanted[side] = pair->value[side] < INFINITY;
    }
}

void nvdp__pair_finish(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                       size_t i, size_t j, struct nvdp__both *pair) {
    const struct nvdp_posteriors *set = pairs->set;
    double part[2] = {0, 0};
    double gaussian[2] = {pair->value[0] * set->kappa, pair->value[1] * set->kappa};
    if (!pair->wanted[0] && !pair->wanted[1]) return;
    if (set->alpha != NULL) {
        nvdp__weights_both(plan, &pairs->weights, i, j, pair->wanted, gaussian, part);
    }
    for (int side = 0; side < 2; side++) {
        if (pair->wanted[side]) pair->value[side] = gaussian[side] + part[side];
    }
}

static void all_blocks(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                       size_t i, size_t j, struct nvdp__both *pair) {
    const struct nvdp__layout *layout = &pairs->layout;
    size_t common = nvdp__least(nvdp__rows(pairs->set, i), nvdp__rows(pairs->set, j));
    for (size_t row = 0; row < common; row += layout->rows) {
        for (size_t piece = 0; piece < layout->pieces; piece++) {
            if (!pair->wanted[0] && !pair->wanted[1]) return;
            nvdp__pair_block(pairs, plan, i, j, row, piece, pair);
        }
    }
}

double nvdp__pair_value(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                        size_t i, size_t j) {
    double start = nvdp__unmatched(pairs, i, j);
    if (isinf(start) || nvdp__weights_outside(&pairs->weights, plan->order, i, j)) return INFINITY;
    struct nvdp__both pair = {.value = {start, 0}, .wanted = {true, false}};
    all_blocks(pairs, plan, i, j, &pair);
    nvdp__pair_finish(pairs, plan, i, j, &pair);
    return pair.value[0];
}

double nvdp__pair_exact(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                        size_t i, size_t j) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows_i = nvdp__rows(set, i);
    size_t rows_j = nvdp__rows(set, j);
    struct nvdp__both pair = {.wanted = {true, false}};
    if (rows_i != rows_j && set->policy == NVDP_LENGTH_PUBLIC) return INFINITY;
    for (size_t row = rows_j; row < rows_i; row++) {
        double part[2] = {0, 0};
        nvdp__against_padding(pairs, plan, i, set->offset[i] + row, part);
        pair.value[0] += part[0];
    }
    for (size_t row = rows_i; row < rows_j; row++) {
        double part[2] = {0, 0};
        nvdp__against_padding(pairs, plan, j, set->offset[j] + row, part);
        pair.value[0] += part[1];
    }
    pair.wanted[0] = pair.value[0] < INFINITY;
    all_blocks(pairs, plan, i, j, &pair);
    nvdp__pair_finish(pairs, plan, i, j, &pair);
    return pair.value[0];
}
