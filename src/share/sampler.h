/* The samples of a release.
 *
 * The tensor operations that training uses compute a sample in float32.  A release is drawn here
 * instead, in double, and rounded once: the values that can come out, and how dense they lie, must
 * not depend on the text (Mironov 2012, "On significance of the least significant bits for
 * differential privacy").  Rows, their order and the random streams are those of the mechanism, so
 * that with the same streams both give the same sample up to rounding. */
#ifndef NVDP_SRC_SHARE_SAMPLER_H
#define NVDP_SRC_SHARE_SAMPLER_H

#include "base/exact_normal.h"
#include "hdf5/hdf5.h"
#include "mechanism/mechanism.h"
#include <nvdp/certificate.h>
#include <nvdp/model.h>

struct nvdp__sampler {
    const struct nvdp_posteriors *posteriors;
    struct nvdp__noise noise;
    uint32_t sample; /* number of the sample among those of one text: the streams' epoch */
};

/* Draws text i's sample under stream number `key`: z [rows, p], log_pi [rows] (NULL without
 * weights).  Nothing is rounded yet. */
void nvdp__sampler_draw(const struct nvdp__sampler *sampler, size_t i, uint64_t key, double *z,
                        double *log_pi);
/* The same of the first `vectors` rows of z, and all of log_pi. */
void nvdp__sampler_draw_first(const struct nvdp__sampler *sampler, size_t i, uint64_t key,
                              size_t vectors, double *z, double *log_pi);
/* Onto the grid: to the nearest f16, vectors kept within +-65504, log weights within [-65504, 0].
 * What comes out is exact in float. */
void nvdp__grid_vectors(size_t n, const double *z, float *out);
void nvdp__grid_log_weights(size_t n, const double *log_pi, float *out);

/* The fixed grids of a release, the same for every text: of a model with a sequence clip int16 of 2^-10,
 * the noise's standard deviation being 1; else, where deviations may be small and means large, int32 of 2^-12.
 * Log weights: int16 of 2^-8. */
struct nvdp__release_grids {
    enum nvdp__h5_type type;
    struct nvdp__rounding_grid z, log_pi;
};
struct nvdp__release_grids nvdp__release_grids(double clip_sequence);
/* NVDP_ERR_ARGUMENT where a deviation or the pseudo-counts of one of the texts are beyond what can be drawn
 * exactly on them. */
nvdp_status nvdp__release_fits(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__release_grids *grids);
/* The same for every text at once, before one is read: a refusal that no text changes. */
nvdp_status nvdp__release_fits_limits(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                                      const struct nvdp__release_grids *grids);
/* What the means of text i are multiplied with before they are cut off towards zero: 1, or a little less
 * where a sequence clip's norm would be exceeded by rounding. */
double nvdp__release_factor(const struct nvdp_posteriors *posteriors, size_t i);
/* Draws text i's sample under stream number `key` with exact normals, rounded once, onto the grids: z
 * [rows, p], log_pi [rows] (NULL without weights).  Under a sequence clip C the means that are released
 * have norm C at most, in exact arithmetic.  `scratch` has nvdp__sampler_bytes bytes, aligned for any type. */
size_t nvdp__sampler_bytes(size_t rows, size_t dim);
void nvdp__sampler_draw_fixed(const struct nvdp__sampler *sampler,
                              const struct nvdp__release_grids *grids, size_t i, uint64_t key,
                              void *scratch, int32_t *z, int32_t *log_pi);

/* --- linkage_measure.c --- */

/* Draws the first `vectors` rows of text i's sample number `sample`, as struct nvdp__sample_source wants it; `sampler` is a struct
 * nvdp__sampler whose own `sample` is not used.  The text is its own key. */
void nvdp__linkage_draw(const void *sampler, size_t i, size_t sample, size_t vectors, double *z,
                        double *log_pi);

#endif
