/* The privacy of one noised vector per text (Qu et al. 2021, section 3.2.3), over all pairs of a
 * data set. */
#include "dchi/options.h"
#include "rdp/loss.h"
#include "rdp/pairs.h"

#include <stdlib.h>

struct work {
    struct nvdp_context *ctx;
    size_t texts, dim;
    double *distance, *value; /* [N (N-1) / 2] eta |s - s'| for texts i > j in order; D_l */
};

/* struct nvdp__divergence_source: both sides have the same noise, so both directions are equal. */
static nvdp_status fill(void *of, double order, double *matrix) {
    const struct work *work = of;
    const size_t n = work->texts;
    NVDP_TRY(nvdp__renyi_laplaces(work->ctx, order, work->dim, n * (n - 1) / 2, work->distance,
                                  work->value));
    for (size_t i = 0, at = 0; i < n; i++) {
        matrix[i * n + i] = 0;
        for (size_t j = 0; j < i; j++)
            matrix[i * n + j] = matrix[j * n + i] = work->value[at++];
    }
    return nvdp__check_cancelled(work->ctx, "cancelled");
}

static nvdp_status check_adjacency(struct nvdp_context *ctx,
                                   const struct nvdp__privacy_options *options) {
    if (options->pairs.adjacency != NVDP_ADJACENT_ALL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "adjacency: expected all with sequence-laplace, which shares one vector "
                          "per text whatever the length of the text");
    return NVDP_OK;
}

static nvdp_status distances(struct work *work, double eta, double clip, const double *states) {
    const size_t n = work->texts, dim = work->dim;
    nvdp__autofree double *clipped = NULL;
    NVDP_TRY(NVDP__NEW(work->ctx, clipped, n * dim));
    for (size_t i = 0; i < n; i++)
        nvdp__sequence_clip(dim, clip, states + i * dim, clipped + i * dim);
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(work->ctx))
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            work->distance[i * (i - 1) / 2 + j] =
                eta * nvdp__distance(dim, clipped + i * dim, clipped + j * dim);
    return NVDP_OK;
}

nvdp_status nvdp__sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                   size_t dim, const double *states,
                                   const struct nvdp__privacy_options *options, double *matrix,
                                   struct nvdp_privacy_report *out) {
    nvdp_status status = NVDP_OK;
    struct work work = {.ctx = ctx, .texts = texts, .dim = dim};
    const struct nvdp__divergence_source source = {fill, &work};
    struct nvdp_posteriors shape = {.texts = texts,
                                    .dim = dim,
                                    .kappa = 1,
                                    .policy = NVDP_LENGTH_PUBLIC, /* every sample has one row */
                                    .method = "sequence-laplace"};
    struct nvdp_privacy_report made = NVDP_RESULT(struct nvdp_privacy_report);
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(nvdp__schema_check(ctx, &nvdp__privacy_schema, options));
    NVDP_TRY_OR_CLEAN(nvdp__sequence_check(ctx, eta, clip, dim));
    NVDP_TRY_OR_CLEAN(check_adjacency(ctx, options));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, shape.offset, texts + 1));
    for (size_t i = 0; i <= texts; i++)
        shape.offset[i] = i;
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, work.distance, texts * (texts - 1) / 2));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, work.value, texts * (texts - 1) / 2));
    NVDP_TRY_OR_CLEAN(distances(&work, eta, clip, states));
    NVDP_TRY_OR_CLEAN(
        nvdp__privacy_measure_source(ctx, &shape, &source, options, matrix, NULL, &made));
    made.policy = NVDP_LENGTH_HIDDEN;
    if (isfinite(clip)) {
        made.clip_sequence = clip;
        made.bound = nvdp_renyi_laplace(options->pairs.order, dim, 2 * clip * eta);
        made.bound_loss = 2 * clip * eta;
    }
    NVDP__GIVE(out, &made);
cleanup:
    free(shape.offset);
    free(work.distance);
    free(work.value);
    return status;
}

nvdp_status nvdp_sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                  size_t dim, const double *states,
                                  const struct nvdp_config *config, double *matrix,
                                  struct nvdp_privacy_report *out) {
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    if (config != NULL) NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__privacy_schema, &options));
    return nvdp__sequence_privacy(ctx, eta, clip, texts, dim, states, &options, matrix, out);
}
