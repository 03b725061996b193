/* What is computed of each text before its pairs. */
#include "rdp/pair.h"
#include <math.h>
#include <stdlib.h>

static nvdp_status allocate(struct nvdp__pairs *pairs) {
    struct nvdp_context *ctx = pairs->ctx;
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows = set->offset[set->texts];
    size_t pads = set->policy == NVDP_LENGTH_HIDDEN ? rows : 0;
    pairs->var = nvdp__calloc(ctx, rows * set->dim, sizeof *pairs->var);
    if (pairs->var == NULL) return NVDP_ERR_MEMORY;
    pairs->logs = nvdp__calloc(ctx, rows * pairs->layout.pieces, sizeof *pairs->logs);
    if (pairs->logs == NULL) return NVDP_ERR_MEMORY;
    pairs->most = nvdp__calloc(ctx, set->texts, sizeof *pairs->most);
    if (pairs->most == NULL) return NVDP_ERR_MEMORY;
    pairs->spread = nvdp__calloc(ctx, set->texts, sizeof *pairs->spread);
    if (pairs->spread == NULL) return NVDP_ERR_MEMORY;
    pairs->to_pad = nvdp__calloc(ctx, pads, sizeof *pairs->to_pad);
    if (pairs->to_pad == NULL) return NVDP_ERR_MEMORY;
    pairs->from_pad = nvdp__calloc(ctx, pads, sizeof *pairs->from_pad);
    return pairs->from_pad != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

/* What does not depend on the order of one text. */
static void prepare_text(struct nvdp__pairs *pairs, size_t i) {
    const struct nvdp_posteriors *set = pairs->set;
    const struct nvdp__layout *layout = &pairs->layout;
    size_t first = set->offset[i];
    double spread = 0;
    double top = -INFINITY;
    for (size_t k = first * set->dim; k < set->offset[i + 1] * set->dim; k++) {
        pairs->var[k] = exp(set->logvar[k]);
        double size = fabs(set->logvar[k]);
        spread = size > spread ? size : spread;
        top = set->logvar[k] > top ? set->logvar[k] : top;
    }
    pairs->spread[i] = spread;
    pairs->most[i] = exp(top);
    for (size_t row = first; row < set->offset[i + 1]; row++) {
        for (size_t piece = 0; piece < layout->pieces; piece++) {
            size_t at = piece * layout->width;
            size_t n = nvdp__least(layout->width, set->dim - at);
            double *logs = &pairs->logs[row * layout->pieces + piece];
            *logs = nvdp__log_product(n, pairs->var + row * set->dim + at);
            if ((row - first) % layout->rows != 0) *logs += *(logs - 1);
        }
    }
}

nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pairs *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->ctx = ctx;
    made->set = posteriors;
    made->layout = nvdp__layout(posteriors->dim);
    NVDP_TRY(allocate(made));
    NVDP_TRY(nvdp__weights_create(ctx, posteriors, &made->weights));
    const size_t texts = posteriors->texts;
    const int threads = nvdp_context_threads(ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < texts; i++) {
        prepare_text(made, i);
    }
    made->shortest = SIZE_MAX;
    for (size_t i = 0; i < texts; i++) {
        made->shortest = nvdp__least(made->shortest, nvdp__rows(posteriors, i));
    }
    *out = made;
    made = NULL;
cleanup:
    nvdp__pairs_free(made);
    return status;
}

void nvdp__pairs_free(struct nvdp__pairs *pairs) {
    if (pairs == NULL) return;
    free(pairs->var);
    free(pairs->logs);
    free(pairs->most);
    free(pairs->spread);
    nvdp__weights_free(&pairs->weights);
    free(pairs->to_pad);
    free(pairs->from_pad);
    free(pairs);
}

void nvdp__against_padding(const struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan,
                           size_t i, size_t row, double value[2]) {
    static const double zeros[NVDP__CHUNK];
    double ones[NVDP__CHUNK];
    const struct nvdp_posteriors *set = pairs->set;
    const bool both[2] = {true, true};
    bool small = false;
    for (size_t at = 0; at < set->dim; at += pairs->layout.width) {
        size_t n = nvdp__least(pairs->layout.width, set->dim - at);
        size_t first = row * set->dim + at;
        for (size_t k = 0; k < n; k++) {
            ones[k] = 1;
        }
        struct nvdp__block p = {.mu = set->mu + first,
                                .var = pairs->var + first,
                                .logs = nvdp__log_product(n, pairs->var + first),
                                .most = pairs->most[i],
                                .spread = pairs->spread[i]};
        struct nvdp__block q = {.mu = zeros, .var = ones, .most = 1};
        double part[2];
        nvdp__gaussian_both(plan, n, &p, &q, both, &small, part);
        value[0] += part[0];
        value[1] += part[1];
    }
}

void nvdp__pairs_padding(struct nvdp__pairs *pairs, const struct nvdp__gaussian_plan *plan) {
    const struct nvdp_posteriors *set = pairs->set;
    const size_t texts = set->texts;
    if (set->policy != NVDP_LENGTH_HIDDEN) return;
    const int threads = nvdp_context_threads(pairs->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < texts; i++) {
        double sum[2] = {0, 0};
        for (size_t row = set->offset[i + 1]; row > set->offset[i] + pairs->shortest; row--) {
            nvdp__against_padding(pairs, plan, i, row - 1, sum);
            pairs->to_pad[row - 1] = sum[0];
            pairs->from_pad[row - 1] = sum[1];
        }
    }
}
