/* Drawing what is given away: a text's sample from its posterior, in double, on float16's grid.
 *
 * The tensor operations that training uses compute a sample in float32.  A release is drawn here
 * instead, in double, and rounded once: the values that can come out, and how dense they lie, must
 * not depend on the text (Mironov 2012).  Rows, their order and the random streams are those of the
 * mechanism, so that with the same streams both give the same sample up to rounding. */
#ifndef NVDP_SRC_SHARE_RELEASE_H
#define NVDP_SRC_SHARE_RELEASE_H

#include "base/random.h"
#include <nvdp/posteriors.h>

struct nvdp__release {
    const struct nvdp_posteriors *posteriors;
    struct nvdp__noise noise;
    uint32_t sample; /* which of a text's samples: the streams' epoch */
};

/* Rows of a sample of a text with `own` posterior rows, with or without weights. */
size_t nvdp__release_sample_rows(const struct nvdp_posteriors *posteriors, bool weights,
                                 size_t own);
/* Rows of text i's sample: (1 + L) kappa or (1 + tokens) kappa with weights; without weights L, or
 * the text's own rows. */
size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i);
/* Draws text i's sample under stream number `key`: z [rows, p], log_pi [rows] (NULL without
 * weights).  Nothing is rounded yet. */
void nvdp__release_draw(const struct nvdp__release *release, size_t i, uint64_t key, double *z,
                        double *log_pi);

/* Onto the grid: to the nearest value of binary16, vectors kept within +-65504, log weights within
 * [-65504, 0].  What comes out is exact in float. */
void nvdp__grid_vectors(size_t n, const double *z, float *out);
void nvdp__grid_log_weights(size_t n, const double *log_pi, float *out);

#endif
