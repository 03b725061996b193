/* Whose are the samples in a shared file? */
#include "share/embeddings_file.h"
#include "share/linkage.h"

#include <math.h>
#include <nvdp/attack.h>

/* Steps of a grid's end: the least int16 but one, as a release rounds (share/release.c). */
static double end_of(const struct nvdp__embeddings *file) {
    return file->shape.grid == NVDP__H5_F16 ? -65504
                                            : -ldexp(INT16_MAX, file->shape.log_pi_exponent);
}

static void take(const void *of, size_t i, size_t sample, size_t vectors, double *z,
                 double *log_pi) {
    const struct nvdp__embeddings *file = of;
    const size_t p = file->shape.dim, at = i * file->shape.samples + sample;
    const size_t first = (size_t)file->offset[at];
    float *narrow = (float *)(void *)z; /* widened from its end on */
    nvdp__embeddings_values(file, first * p, vectors * p, narrow);
    for (size_t k = vectors * p; k-- > 0;) {
        float value;
        memcpy(&value, narrow + k, sizeof value);
        z[k] = (double)value;
    }
    for (size_t r = 0; r < vectors && file->log_pi != NULL; r++)
        log_pi[r] = (double)file->log_pi[first + r];
}

static nvdp_status check(struct nvdp_context *ctx, const char *path,
                         const struct nvdp__embeddings *file, const struct nvdp_posteriors *set,
                         int releases) {
    const struct nvdp__embeddings_shape *shape = &file->shape;
    if (shape->texts != set->texts || shape->dim != set->dim || shape->kappa != set->kappa ||
        shape->weights != (set->alpha != NULL) || shape->policy != set->policy)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected samples of these %zu texts, of %zu dimensions, kappa %d, "
                          "found %zu texts, %zu dimensions, kappa %d",
                          path, set->texts, set->dim, set->kappa, shape->texts, shape->dim,
                          shape->kappa);
    for (size_t i = 0; i < set->texts; i++) {
        const size_t at = i * shape->samples;
        const size_t rows = (size_t)(file->offset[at + 1] - file->offset[at]);
        if (rows != nvdp__release_rows(set, i))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: text %zu: expected samples of %zu rows, found %zu", path, i,
                              nvdp__release_rows(set, i), rows);
    }
    if (releases >= 1 && (size_t)releases <= shape->samples && set->texts > 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected 2 texts or more, and 1 to %zu releases, found %zu and %d", path,
                      shape->samples, set->texts, releases);
}

nvdp_status nvdp_attack_shared(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const char *path, int releases, struct nvdp_linkage *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings *file = NULL;
    struct nvdp_linkage made;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, ""));
    NVDP_TRY(nvdp__embeddings_read(ctx, path, &file));
    NVDP_TRY(check(ctx, path, file, posteriors, releases));
    const struct nvdp__sample_source source = {take, file, end_of(file)};
    NVDP_TRY(nvdp__linkage(ctx, posteriors, &source, releases,
                           file->shape.samples / (size_t)releases, &made));
    NVDP__GIVE(out, &made);
cleanup:
    nvdp__embeddings_free(file);
    return status;
}
