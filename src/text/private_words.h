/* A private word histogram, from which a vocabulary is trained (Hoory et al. 2021, section 3.2;
 * Korolova et al. 2009; Bun, Nissim & Stemmer 2019): noise on the counts of existing words, and
 * a threshold that hides which words exist.
 *
 *     h(x) += Lap(2/eps),  h(x) < 1 + 2 ln(2/delta)/eps  ->  0,     for words with h(x) > 0.
 *
 * It is (eps, delta)-differentially private under the replacement of one word: two counts change
 * by 1, and a word that only one of the two texts has, once, remains with a probability below
 * delta/2. An example of k words is (k eps, delta/2 max(k, e^((k-1) eps/2)))-differentially
 * private; private_words.c has the proof. The paper composes k guarantees of one word to (k eps,
 * k delta) by its Theorem 1. That theorem is about k mechanisms, not about k words, and its use
 * is wrong: with eps 1 and delta 1e-7, a word that only one text has, 14 times, is released with
 * probability 1.66e-5.
 *
 * The noise is a Laplace variable on the multiples of 2^-10, drawn exactly with integers
 * (Canonne, Kamath & Steinke 2020, Algorithm 2). Counts are integers, so a difference of 1 is a
 * difference of 2^10 steps, and no floating-point rounding can reveal more than the noise allows
 * (Mironov 2012). */
#ifndef NVDP_SRC_TEXT_PRIVATE_WORDS_H
#define NVDP_SRC_TEXT_PRIVATE_WORDS_H

#include "base/random.h"
#include "text/vocabulary.h"
#include <jansson.h>

struct nvdp__private_words {
    double epsilon, delta; /* epsilon 0: the histogram is not private */
    uint64_t max_words;    /* k, words counted per document; 0: all */
    uint64_t possible;     /* n, number of possible words */
};
/* NVDP_ERR_ARGUMENT unless 0 < epsilon < ln n and 0 < delta < 1/n. */
nvdp_status nvdp__private_words_check(struct nvdp_context *ctx,
                                      const struct nvdp__private_words *options);
/* Epsilon and delta if all of an example's at most `words` words are replaced. */
struct nvdp__example_privacy {
    double epsilon, delta;
};
struct nvdp__example_privacy nvdp__private_example(const struct nvdp__private_words *options,
                                                   uint64_t words);

/* The same if an example of at most `words` words is added or removed, the adjacency of private
 * training (job/dp.h). A removal changes counts by k in total, a replacement by 2k: epsilon is
 * half and delta is the same. With max_words, other words of the document take the place of
 * removed ones. Then these are the replacement's figures for at most max_words words. */
struct nvdp__example_privacy nvdp__private_removal(const struct nvdp__private_words *options,
                                                   uint64_t words);

/* The noise: P(i steps) ~ exp(-i s/t). */
struct nvdp__word_noise {
    uint64_t t, s;
    int64_t threshold; /* in steps */
};
struct nvdp__word_noise nvdp__word_noise(double epsilon, double delta);
/* The noised count as an integer of at least 1; 0: below the threshold. */
uint64_t nvdp__noised_count(const struct nvdp__word_noise *noise, struct nvdp__stream *stream,
                            uint64_t times);
/* The words that remain with their noised counts, ordered by these and then by the words' bytes.
 * `out` contains nothing else from `counts`. */
nvdp_status nvdp__private_word_counts(const struct nvdp__word_counts *counts,
                                      const struct nvdp__private_words *options,
                                      const struct nvdp__noise *noise,
                                      struct nvdp__word_counts *out);

/* vocab_privacy/1 of docs/formats.md, including the statement in plain English, for windows of `length`
 * tokens; NULL: out of memory, recorded. */
json_t *nvdp__private_words_json(struct nvdp_context *ctx,
                                 const struct nvdp__private_words *options, size_t length);
/* The inverse, from `object` of the file `path`; NVDP_ERR_INPUT names the invalid member. */
nvdp_status nvdp__private_words_read(struct nvdp_context *ctx, const char *path,
                                     const json_t *object, struct nvdp__private_words *options);

#endif
