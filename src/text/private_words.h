/* A private word histogram, from which a vocabulary is trained (Hoory et al. 2021, section 3.2; Korolova et al. 2009; Bun,
 * Nissim & Stemmer 2019): noise on the counts of the words that there are, and a threshold that hides which there are.
 *
 *     h(x) += Lap(2/eps),        h(x) < 1 + 2 ln(2/delta)/eps  ->  0,        for words with h(x) > 0.
 *
 * (eps, delta)-differentially private where one word is replaced by another: two counts change by 1, and a word that
 * only one of the two texts has, once, stays with a probability below delta/2.  An example of k words is
 * (k eps, delta/2 max(k, e^((k-1) eps/2)))-differentially private; private_words.c has the proof.  The paper adds up k
 * guarantees of one word to (k eps, k delta) by its Theorem 1, which is about k mechanisms and not about k words, and is
 * wrong here: with eps 1 and delta 1e-7 a word that one text alone has 14 times is released with probability 1.66e-5.
 *
 * The noise is a Laplace variable on the multiples of 2^-10, drawn exactly, by integers alone (Canonne, Kamath & Steinke
 * 2020, Algorithm 2): counts are whole, so that a difference of 1 is one of 2^10 steps, and no rounding of a
 * floating-point number can tell more than the noise does (Mironov 2012). */
#ifndef NVDP_SRC_TEXT_PRIVATE_WORDS_H
#define NVDP_SRC_TEXT_PRIVATE_WORDS_H

#include "base/random.h"
#include "text/vocabulary.h"
#include <jansson.h>

struct nvdp__private_words {
    double epsilon, delta; /* epsilon 0: the histogram is not private */
    uint64_t max_words;    /* k, of a document; 0: all */
    uint64_t possible;     /* n words that there could be */
};
/* NVDP_ERR_ARGUMENT unless 0 < epsilon < ln n and 0 < delta < 1/n. */
nvdp_status nvdp__private_words_check(struct nvdp_context *ctx,
                                      const struct nvdp__private_words *options);
/* Epsilon and delta where all of an example's `words` words, at most, are replaced by others. */
struct nvdp__example_privacy {
    double epsilon, delta;
};
struct nvdp__example_privacy nvdp__private_example(const struct nvdp__private_words *options,
                                                   uint64_t words);

/* The same where an example of `words` words, at most, is added or removed, which is what private training calls adjacent
 * (job/dp.h).  A removal changes counts by k in all, where a replacement changes them by 2k: epsilon is half, and delta is
 * the same.  With max_words other words come into the place of those that went: the replacement's figures, of max_words
 * at most. */
struct nvdp__example_privacy nvdp__private_removal(const struct nvdp__private_words *options,
                                                   uint64_t words);

/* The noise: P(i steps) ~ exp(-i s/t). */
struct nvdp__word_noise {
    uint64_t t, s;
    int64_t threshold; /* in steps */
};
struct nvdp__word_noise nvdp__word_noise(double epsilon, double delta);
/* h(x) noised, in whole numbers of at least 1; 0: below the threshold. */
uint64_t nvdp__noised_count(const struct nvdp__word_noise *noise, struct nvdp__stream *stream,
                            uint64_t times);
/* The words that stay, with their noised counts, in the order of these, then of the words' bytes; nothing else of
 * `counts` is in it. */
nvdp_status nvdp__private_word_counts(const struct nvdp__word_counts *counts,
                                      const struct nvdp__private_words *options,
                                      const struct nvdp__noise *noise,
                                      struct nvdp__word_counts *out);

/* The statement in plain English; `length` tokens of a window.  free(). */
char *nvdp__private_words_statement(struct nvdp_context *ctx,
                                    const struct nvdp__private_words *options, size_t length);
/* vocab_privacy/1 of docs/formats.md, the statement in it; NULL: out of memory, recorded. */
json_t *nvdp__private_words_json(struct nvdp_context *ctx,
                                 const struct nvdp__private_words *options, size_t length);
/* The reverse, from `object` of the file `path`; NVDP_ERR_INPUT names what is wrong. */
nvdp_status nvdp__private_words_read(struct nvdp_context *ctx, const char *path,
                                     const json_t *object, struct nvdp__private_words *options);

#endif
