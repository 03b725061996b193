/* What samples tell of whose they are: log densities of samples under the posteriors of texts.
 *
 * A sample has, in this order, the prior's component, those of the text's tokens and, where lengths are hidden, padding
 * (nvdp/posteriors.h), each kappa times: weights pi ~ Dir(alpha/kappa), vectors z ~ N(mu, diag e^logvar).  As padding and
 * prior are the same for every text, log densities are told less
 *
 *     log N(z; 0, 1) of all vectors + log of the density of pi at pseudo-counts 1 in place of the tokens' that is
 *     unnormalized,
 *
 * which no text enters: rows behind the longest text's tokens drop out. */
#ifndef NVDP_RDP_LIKELIHOOD_H
#define NVDP_RDP_LIKELIHOOD_H

#include "base/base.h"
#include <nvdp/posteriors.h>

/* Samples of one text, known to be of one: as much of them as densities depend on. */
struct nvdp__evidence {
    size_t room;     /* rows there is memory for */
    size_t tokens;   /* of each sample, padding included */
    size_t rows;     /* the first of them, whose rows are kept: the longest text's, say */
    int samples;     /* K so far */
    double *mean;    /* [rows, p] of the token's K kappa vectors */
    double *spread;  /* [rows, p] sum of their squares about it */
    double *log_pi;  /* [rows] sum of the token's K kappa log weights */
    double *cut;     /* [rows] how many of these are at the end of their grid, or below it */
    double *squares; /* [rows + 1] sum of squares of all vectors of the rows before */
};
nvdp_status nvdp__evidence_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  size_t room, struct nvdp__evidence *out);
void nvdp__evidence_release(struct nvdp__evidence *evidence);
/* Of samples that text i of the set may have: nothing has been added. */
void nvdp__evidence_begin(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                          size_t i);
/* One sample more: z [rows, p] and log_pi [rows] in the sample's order, from the prior's on, of which rows behind
 * evidence->rows tokens are not read.  A log weight of `end` or below is taken to be anything below: -INFINITY: none. */
void nvdp__evidence_add(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                        const double *z, const double *log_pi, double end);
/* After the last. */
void nvdp__evidence_finish(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set);

/* What does not depend on the samples. */
struct nvdp__likelihood {
    const struct nvdp_posteriors *set;
    double *precision; /* [T, p] e^-logvar */
    double *logvar;    /* [T] sums over a row */
    double *tilt;      /* [T] (alpha - padding's) / kappa */
    double *log_tilt;  /* [T] log(alpha / padding's) */
    double *weights;   /* [N] the Dirichlet's constant */
};
nvdp_status nvdp__likelihood_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                    struct nvdp__likelihood *out);
void nvdp__likelihood_release(struct nvdp__likelihood *likelihood);
/* out[i * texts + t]: log density of evidence i under text[t]'s posterior (NULL: all N texts), in nats; -INFINITY where
 * public lengths tell them apart.  O(samples x tokens x p) each, whatever K is; the same bits on any number of threads. */
void nvdp__likelihoods(const struct nvdp__likelihood *likelihood, int threads, size_t n,
                       const struct nvdp__evidence *evidence, size_t texts, const size_t *text,
                       double *out);

#endif
