/* Draws the samples of a release.
 *
 * Training computes samples with tensor operations in float32.  This file draws a release in double and rounds once,
 * because the possible values, and their spacing, must not depend on the text (Mironov 2012, "On significance of the
 * least significant bits for differential privacy").  Rows, their order and the random streams are the same as in the
 * mechanism.  So with the same streams, training and sampler give the same sample up to rounding. */
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
    /* Index of the sample among the samples of one text: the epoch of the streams. */
    uint32_t sample;
};

/* Draws the sample of text i under stream number `key`: the first `vectors` rows of z [rows, p], and all of log_pi
 * [rows] (NULL without weights).  Does not round. */
void nvdp__sampler_draw(const struct nvdp__sampler *sampler, size_t i, uint64_t key, size_t vectors,
                        double *z, double *log_pi);
/* Rounds values within [-NVDP__LARGEST_F16, high] to the nearest float16.  The results are exact in float.  `high` is
 * NVDP__LARGEST_F16 for vectors, 0 for log weights. */
#define NVDP__LARGEST_F16 65504.0
void nvdp__round_f16(size_t n, const double *values, double high, float *out);

/* The fixed grids of a release, which are the same for every text.  With a sequence clip of at most 16, the standard
 * deviation of the noise is 1, and z is int16 in steps of 2^-10.  Otherwise deviations may be small and means large,
 * and z is int32 in steps of 2^-12.  Log weights are int16 in steps of 2^-8. */
struct nvdp__release_grids {
    enum nvdp__h5_type type;
    struct nvdp__rounding_grid z, log_pi;
};
struct nvdp__release_grids nvdp__release_grids(double clip_sequence);
/* Fails with NVDP_ERR_ARGUMENT if a deviation or a pseudo-count of a text is too large or too small for exact drawing
 * on the grids. */
nvdp_status nvdp__release_fits(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__release_grids *grids);
/* Checks the condition of nvdp__release_fits() for all possible texts, before any text is read: no text influences the
 * refusal. */
nvdp_status nvdp__release_fits_limits(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                                      const struct nvdp__release_grids *grids);
/* Returns the factor for the means of text i before they are truncated towards zero: 1, or slightly less if rounding
 * would exceed the norm of a sequence clip. */
double nvdp__release_factor(const struct nvdp_posteriors *posteriors, size_t i);
/* Draws the sample of text i under stream number `key` with exact normals, rounded once, on the grids: z [rows, p],
 * log_pi [rows] (NULL without weights).  Under a sequence clip C the released means have norm at most C, in exact
 * arithmetic.  `scratch` has nvdp__sampler_bytes bytes, aligned for any type. */
size_t nvdp__sampler_bytes(size_t rows, size_t dim);
void nvdp__sampler_draw_fixed(const struct nvdp__sampler *sampler,
                              const struct nvdp__release_grids *grids, size_t i, uint64_t key,
                              void *scratch, int32_t *z, int32_t *log_pi);

/* --- re-identification on a set of posteriors --- */

/* Draws the first `vectors` rows of sample number `sample` of text i, for struct nvdp__sample_source.  `sampler` is
 * a struct nvdp__sampler whose member `sample` is ignored.  The index of the text is its key. */
void nvdp__linkage_draw(const void *sampler, size_t i, size_t sample, size_t vectors, double *z,
                        double *log_pi);

#endif
