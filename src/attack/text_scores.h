/* Scores of guessed texts against the true ones: BLEU-4, ROUGE-L, F1 of words, with bootstrap intervals.
 *
 * A text is a sequence of words, each given by a key.  Sums over texts determine all scores, so a bootstrap resamples
 * texts and adds their counts. */
#ifndef NVDP_SRC_ATTACK_TEXT_SCORES_H
#define NVDP_SRC_ATTACK_TEXT_SCORES_H

#include "attack/texts.h"

enum { NVDP__BLEU_ORDERS = 4, NVDP__TEXT_WORDS = 512 };

/* Counts of one text, or their sums. */
struct nvdp__text_counts {
    double texts;
    double grams[NVDP__BLEU_ORDERS],
        right[NVDP__BLEU_ORDERS]; /* n-grams of the guess; clipped matches */
    double words, guessed;        /* in the true text; in the guess */
    double rouge, f1;             /* of the text; sums of them */
    double exact;
    double named, names;    /* entity words in the true text that the guess has; all of them */
    double cosine, cosines; /* of the re-embedded guess; how many were computed */
};

/* Compares a guess of m words with a text of n words, both at most NVDP__TEXT_WORDS. */
struct nvdp__text_counts nvdp__text_compare(size_t n, const uint64_t *text, size_t m,
                                            const uint64_t *guess);
/* Counts how many of n words the m words of a guess have, as multisets. */
size_t nvdp__words_in_common(size_t n, const uint64_t *text, size_t m, const uint64_t *guess);
/* Returns the BLEU-4 of a corpus (Papineni et al. 2002): the brevity penalty times the geometric mean of the precisions
 * of n-grams, where 1 is added to the matches and n-grams of n > 1 (Lin & Och 2004). */
double nvdp__bleu(const struct nvdp__text_counts *sum);

/* Adds all scores of [seeds, n] guesses, with 95 % intervals by the percentiles of a bootstrap over texts, drawn with
 * the attack's seed.  A score of no or all texts has the limit of Clopper & Pearson. */
nvdp_status nvdp__add_text_scores(struct nvdp__text_attack *attack, enum nvdp__observed observed,
                                  size_t seeds, size_t n, const struct nvdp__text_counts *count);

#endif
