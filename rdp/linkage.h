/* Linkage attack, internal: the guesses of nvdp_linkage_measure(), from samples of any source. */
#ifndef NVDP_RDP_LINKAGE_H
#define NVDP_RDP_LINKAGE_H

#include "rdp/likelihood.h"
#include <nvdp/linkage.h>

/* A source that makes samples on demand: number `sample` of text i of the set. take() writes `z`
 * and `log_pi` as nvdp__evidence_add reads them, with `vectors` rows; several threads call it. */
struct nvdp__sample_source {
    void (*take)(const void *of, size_t i, size_t sample, size_t vectors, double *z,
                 double *log_pi);
    const void *of;
    double end; /* end of the grid of log weights; -INFINITY: no grid */
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
/* Tokens of the longest of n texts (NULL: of the whole set). */
size_t nvdp__linkage_rows(const struct nvdp_posteriors *set, size_t n, const size_t *text);
/* Returns a key of text i's posterior; equal posteriors have equal keys. */
uint64_t nvdp__posterior_key(const struct nvdp_posteriors *set, size_t i);
/* Returns the guess bound for a baseline and `releases` samples of a text of the set. NaN if
 * nothing is proven: without a sequence clip, or if weights are shared. */
double nvdp__guess_limit(const struct nvdp_posteriors *set, double baseline, int releases);
/* Runs `draws` trials for each text of the set, which must pass nvdp_posteriors_check();
 * of_texts is the set's size. */
nvdp_status nvdp__linkage(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                          const struct nvdp__sample_source *source, int releases, size_t draws,
                          struct nvdp_linkage *out);

#endif
