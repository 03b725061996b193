/* Pairs of texts, with the certificate per word for the texts of a method that has one. */
#ifndef NVDP_SRC_ATTACK_PAIR_H
#define NVDP_SRC_ATTACK_PAIR_H

#include "model/model.h"
#include "rdp/word.h"
#include <nvdp/attack.h>

struct nvdp__stream;

/* The words of the attacked texts, and their certificate. */
struct nvdp__pair_words {
    const struct nvdp_dataset *data;
    struct nvdp_model *model;
    struct nvdp__word_clip clip;
    size_t batch; /* texts of a batch of the model */
};

/* Upper bound of mu for texts of which k adjacent words differ from k' of the other, all samples together. */
double nvdp__pair_mu(const struct nvdp__word_clip *clip, const size_t changed[2], int releases);
/* Counts the words between the longest common beginning and end of two texts, in each; a border is a word. */
void nvdp__pair_change(const struct nvdp_dataset *data, size_t p, size_t q, size_t changed[2]);
/* Draws one word of the pair's text P, pair->word, and the number *source of a word of its text Q. Returns false if the two
 * words are equal, or a text has no word. */
bool nvdp__pair_draw_word(struct nvdp__stream *stream, const struct nvdp_dataset *data,
                          struct nvdp_pair_attack *pair, size_t *source);
/* Computes the posteriors of both texts of every pair: text 2i is P; in text 2i + 1 a word of text q, its number
 * source[i], replaces word pair->word of P. */
nvdp_status nvdp__pair_replace(struct nvdp_context *ctx, const struct nvdp__pair_words *words,
                               size_t pairs, const struct nvdp_pair_attack *pair,
                               const size_t *source, struct nvdp_posteriors **out);
/* As nvdp_attack_pairs(); with `words`, also compares with the certificate per word, and attacks as many drawn pairs of
 * texts one word apart. */
nvdp_status nvdp__attack_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__pair_words *words, double certified,
                               const struct nvdp_config *config, struct nvdp_pair_attacks *out);

#endif
