/* Pairs of texts, with the certificate per word if the method has such a certificate. */
#ifndef NVDP_SRC_ATTACK_PAIR_H
#define NVDP_SRC_ATTACK_PAIR_H

#include "attack/attack.h"
#include "model/model.h"
#include "rdp/word.h"
#include <nvdp/attack.h>

struct nvdp__stream;

/* The words of the attacked texts, and the certificate per word. */
struct nvdp__pair_words {
    const struct nvdp_dataset *data;
    struct nvdp_model *model;
    struct nvdp__word_clip clip;
    size_t batch; /* texts of a batch of the model */
};

/* Returns an upper bound of mu, for all samples together, for two texts that differ in k adjacent words of one text and
 * k' adjacent words of the other text (`changed`). */
double nvdp__pair_mu(const struct nvdp__word_clip *clip, const size_t changed[2], int releases);
/* Counts, in each of two texts, the words between the longest common beginning and end; a border counts as a word. */
void nvdp__pair_change(const struct nvdp_dataset *data, size_t p, size_t q, size_t changed[2]);
/* Distinguishes two texts by their samples, for several pairs. Samples of both texts are drawn as in nvdp_export(),
 * but from the seed and without the grid. The score is the log ratio of their densities; no test is better (Neyman
 * & Pearson 1933). Half of the samples choose a threshold and a direction; the other half measure the error rates.
 * They give
 *
 *     epsilon  >=  log((TPR - delta) / FPR)                         (Kairouz, Oh & Viswanath 2015)
 *
 * with the limits of Clopper & Pearson. This lower bound must not exceed the exact epsilon of the pair, which must
 * not exceed the epsilon that is proven over all texts. The share of samples that are more likely under the right text
 * must not exceed the share of the best test by more than its interval. Otherwise the sampler, the densities, the
 * integral or the proof is wrong, except with probability 1 - confidence.
 *
 * O(pairs x samples x tokens x p); one second for 10,000 samples of 30 tokens in 384 dimensions.
 *
 * Options (kind "attack"): releases, seed, pair, pairs, samples, delta, confidence; and `texts`,
 * for nvdp_linkage_measure().
 * ctx: records messages, can cancel
 * posteriors: 2 or more texts; checked
 * certified: proven epsilon >= 0 at the delta, for `releases` samples; INFINITY if nothing is proven
 * config: of kind "attack"; NULL for the defaults
 * out: the result, even if a comparison fails, freed with nvdp__pair_attacks_free(); untouched on error
 * Returns NVDP_ERR_ARGUMENT for options or `certified` out of range, or two texts with different public lengths;
 *         NVDP_ERR_INPUT for posteriors that fail nvdp_posteriors_check(), or without two texts of the same length;
 *         NVDP_ERR_NUMERIC; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY
 * words: if it is not NULL, compares with the certificate per word, too, and attacks as many drawn pairs of texts that
 * differ in one word */
nvdp_status nvdp__attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__pair_words *words, double certified,
                               const struct nvdp_config *config, struct nvdp__pair_attacks *out);

#endif
