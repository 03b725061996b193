/* Log densities of samples under the posteriors of texts: which text is the source of the
 * samples?
 *
 * A sample consists, in this order, of the components of the prior, of the text's tokens and,
 * under hidden lengths, of padding (nvdp/posteriors.h), each kappa times: weights pi ~
 * Dir(alpha/kappa), vectors z ~ N(mu, diag e^logvar). Padding and prior are the same for every
 * text, so log densities are computed minus
 *
 *     log N(z; 0, 1) of all vectors + log of the unnormalized density of pi with pseudo-counts 1 for the tokens,
 *
 * which does not depend on the text. Rows after the tokens of the longest text then drop out. */
#ifndef NVDP_RDP_LIKELIHOOD_H
#define NVDP_RDP_LIKELIHOOD_H

#include "base/array.h"
#include <nvdp/linkage.h>
#include <nvdp/posteriors.h>

/* Sufficient statistics of samples that are known to come from the same text. */
struct nvdp__evidence {
    size_t room;   /* number of allocated rows */
    size_t tokens; /* number of tokens of each sample, including padding */
    /* number of first tokens whose rows are stored: for example the tokens of the longest text */
    size_t rows;
    int samples;    /* K: number of samples so far */
    double *mean;   /* [rows, p] mean of the token's K kappa vectors */
    double *spread; /* [rows, p] sum of squared deviations from the mean */
    double *log_pi; /* [rows] sum of the token's K kappa log weights */
    /* [rows] number of these log weights that are at or below the end of the grid */
    double *cut;
    double *squares; /* [rows + 1] sum of squares of all vectors of earlier rows */
};
/* Creates `count` evidence structs, whose arrays `memory` owns. */
nvdp_status nvdp__evidence_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                  const struct nvdp_posteriors *set, size_t room, size_t count,
                                  struct nvdp__evidence *out);
/* Resets the evidence to zero samples, with the shape of text i's samples. */
void nvdp__evidence_begin(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                          size_t i);
/* Adds one sample: z [rows, p] and log_pi [rows] in the sample's order, beginning with the prior. Rows after
 * evidence->rows tokens are not read. A log weight of at most `end` stands for any value below `end`; `end` is
 * -INFINITY if there is no grid. */
void nvdp__evidence_add(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                        const double *z, const double *log_pi, double end);
/* Completes the statistics; to be called after the last sample. */
void nvdp__evidence_finish(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set);

/* The quantities of a likelihood that do not depend on the samples. */
struct nvdp__likelihood {
    struct nvdp__memory memory; /* owner of the arrays */
    const struct nvdp_posteriors *set;
    double *precision; /* [T, p] e^-logvar */
    double *logvar;    /* [T] sum of logvar over a row */
    double *tilt;      /* [T] (alpha - alpha of padding) / kappa */
    double *log_tilt;  /* [T] log(alpha / alpha of padding) */
    double *weights;   /* [N] constant of each text's Dirichlet density */
};
nvdp_status nvdp__likelihood_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                    struct nvdp__likelihood *out);
void nvdp__likelihood_release(struct nvdp__likelihood *likelihood);
/* out[i * texts + t]: log density of evidence i under the posterior of text[t] (NULL: all N
 * texts), in nats; -INFINITY if public lengths differ. O(samples x tokens x p) each, for any K;
 * the same bits on any number of threads. */
void nvdp__likelihoods(const struct nvdp__likelihood *likelihood, int threads, size_t n,
                       const struct nvdp__evidence *evidence, size_t texts, const size_t *text,
                       double *out);

/* ---- linkage.c: the guesses of nvdp_linkage_measure(), from samples of any source ---- */

/* A source that makes samples on demand. take() writes sample number `sample` of text i: `z` and `log_pi` in the
 * form that nvdp__evidence_add() reads, with `vectors` rows. Several threads call take(). */
struct nvdp__sample_source {
    void (*take)(const void *of, size_t i, size_t sample, size_t vectors, double *z,
                 double *log_pi);
    const void *of;
    double end; /* end of the grid of log weights; -INFINITY if there is no grid */
};
/* Samples [first, first + releases) of a text. */
struct nvdp__trial {
    size_t text, first;
};
/* Collects the evidence [n] of n trials. */
nvdp_status nvdp__linkage_collect(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  const struct nvdp__sample_source *source, size_t n,
                                  const struct nvdp__trial *trial, int releases,
                                  struct nvdp__evidence *evidence);
/* Returns the number of tokens of the longest of n texts (text NULL: of all texts of the set). */
size_t nvdp__linkage_rows(const struct nvdp_posteriors *set, size_t n, const size_t *text);
/* Returns a key of text i's posterior; equal posteriors have equal keys. */
uint64_t nvdp__posterior_key(const struct nvdp_posteriors *set, size_t i);
/* Returns the guess bound for a baseline and `releases` samples of a text of the set. Returns NaN if nothing is
 * proven: without a sequence clip, or if weights are shared. */
double nvdp__guess_limit(const struct nvdp_posteriors *set, double baseline, int releases);
/* Numbers the groups of texts with the same label: group [n], from 0 in ascending order of the labels. Texts whose
 * label is missing (NaN) are the last group. */
nvdp_status nvdp__label_groups(struct nvdp_context *ctx, size_t n, const float *label,
                               size_t *group, size_t *groups);
/* Runs `draws` trials for each text of the set, which must pass nvdp_posteriors_check();
 * of_texts is the set's size. */
nvdp_status nvdp__linkage(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                          const struct nvdp__sample_source *source, int releases, size_t draws,
                          struct nvdp_linkage *out);

#endif
