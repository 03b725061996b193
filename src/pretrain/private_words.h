/* Private counts of words, from which a vocabulary is trained (Hoory et al. 2021, section 3.2): noise on the counts of
 * existing words, and a threshold that hides which words exist.
 *
 * Laplace noise (Korolova et al. 2009; Bun, Nissim & Stemmer 2019):
 *
 *     h(x) += Lap(2/eps),  h(x) < 1 + 2 ln(2/delta)/eps  ->  0,     for words with h(x) > 0.
 *
 * The histogram is (eps, delta)-differentially private under the replacement of one word: two counts change by 1, and a
 * word that only one of the two texts has, once, remains with a probability below delta/2. An example of k words is (k
 * eps, delta/2 max(k, e^((k-1) eps/2)))-differentially private; private_words.c has the proof. The paper composes k
 * guarantees of one word to (k eps, k delta) by its Theorem 1. That theorem is about k mechanisms, not about k words,
 * and its use is wrong: with eps 1 and delta 1e-7, a word that only one text has, 14 times, is released with
 * probability 1.66e-5. The noise is a Laplace variable on the multiples of 2^-10, drawn exactly with integers
 * (Canonne, Kamath & Steinke 2020, Algorithm 2). Counts are integers, so a difference of 1 is a difference of 2^10
 * steps, and no floating-point rounding can reveal more than the noise allows (Mironov 2012).
 *
 * Gaussian noise (Wilkins et al. 2024, the Gaussian sparse histogram): h(x) is the number of documents that have the
 * word. The removal of a window of k words, all of one document, changes at most k of these counts, by 1 each, so the
 * noise grows with the root of k. sigma and the threshold follow from eps and delta of this removal; private_words.c
 * has the proof. The noise is exact, on the multiples of 2^-4 (base/exact_normal.h). */
#ifndef NVDP_SRC_PRETRAIN_PRIVATE_WORDS_H
#define NVDP_SRC_PRETRAIN_PRIVATE_WORDS_H

#include "base/exact_normal.h"
#include "text/vocabulary.h"

#include <jansson.h>

enum nvdp__count_noise { NVDP__COUNT_LAPLACE, NVDP__COUNT_GAUSSIAN };
extern const char *const nvdp__count_units[]; /* what epsilon is for; ends with NULL */

struct nvdp__private_words {
    /* of the replacement of one word (Laplace) or of the removal of `window` words (Gaussian); epsilon is 0 if the
     * histogram is not private */
    double epsilon, delta;
    uint64_t max_words; /* max words counted per document; 0: all words */
    uint64_t possible;  /* n, number of possible words; Laplace */
    int noise;          /* enum nvdp__count_noise */
    uint64_t window;    /* Gaussian: words of one document whose removal has epsilon and delta */
};
/* Fails with NVDP_ERR_ARGUMENT unless 0 < epsilon < ln n and 0 < delta < 1/n (Laplace), or 1e-6 <= epsilon <= 100 and
 * 1e-300 <= delta <= .5 (Gaussian). */
nvdp_status nvdp__private_words_check(struct nvdp_context *ctx,
                                      const struct nvdp__private_words *options);
/* Returns epsilon and delta for the replacement of all words of an example, which are at most `words`, all of one
 * document. */
struct nvdp__example_privacy {
    double epsilon, delta;
};
struct nvdp__example_privacy nvdp__private_example(const struct nvdp__private_words *options,
                                                   uint64_t words);

/* Returns epsilon and delta if an example of at most `words` words is added or removed, the adjacency of private
 * training (job/dp.h). With Laplace noise, a removal changes counts by k in total, a replacement by 2k: epsilon is half
 * and delta is the same. With max_words, other words of the document take the place of removed words. Then the result
 * is that of a replacement of at most max_words words. */
struct nvdp__example_privacy nvdp__private_removal(const struct nvdp__private_words *options,
                                                   uint64_t words);

struct nvdp__word_noise {
    uint64_t t, s;     /* Laplace: P(i steps) ~ exp(-i s/t) */
    double sigma;      /* Gaussian: standard deviation of a count */
    int64_t threshold; /* threshold in steps */
};
struct nvdp__word_noise nvdp__word_noise(const struct nvdp__private_words *options);
/* Returns the count with noise, as an integer of at least 1; 0 if it is below the threshold. Laplace reads `stream`,
 * Gauss reads `digits`. */
uint64_t nvdp__noised_count(const struct nvdp__word_noise *noise, struct nvdp__stream *stream,
                            struct nvdp__digits *digits, uint64_t times);
/* Returns the words that remain, with their counts with noise, ordered by these counts and then by the bytes of the
 * words. `out` contains nothing else from `counts`. */
nvdp_status nvdp__private_word_counts(const struct nvdp__word_counts *counts,
                                      const struct nvdp__private_words *options,
                                      const struct nvdp__noise *noise,
                                      struct nvdp__word_counts *out);

/* Returns vocab_privacy/1 of docs/formats.md, including the statement in plain English, for windows of `length`
 * tokens; NULL if memory is exhausted, which is recorded. */
json_t *nvdp__private_words_json(struct nvdp_context *ctx,
                                 const struct nvdp__private_words *options, size_t length);
/* Reads such a record from `object` of the file `path`. Fails with NVDP_ERR_INPUT; the message has the invalid
 * member. */
nvdp_status nvdp__private_words_read(struct nvdp_context *ctx, const char *path,
                                     const json_t *object, struct nvdp__private_words *options);

#endif
