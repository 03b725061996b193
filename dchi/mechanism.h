/* The table of mechanisms of text privatization.
 *
 * No other file depends on a mechanism's name: it reads a property of the row. The rows are
 * defined with the mathematics (distribution.c, sample.c) and listed in members.inc. The value
 * of an option that names a mechanism is 0 for "none", else 1 plus the index of the row, which
 * is enum nvdp_dchi_mechanism. */
#ifndef NVDP_DCHI_MECHANISM_H
#define NVDP_DCHI_MECHANISM_H

#include <nvdp/dchi.h>
#include <stdbool.h>

struct nvdp__token_row {
    const char *citation; /* name, kind of output, source; for statements */
    const char *scale;    /* the paper's name for eta */
    /* If not `exact`, draws are the word's vector plus Laplace noise. An exact mechanism draws
     * tokens with known probabilities: uniformly for any input without uses_eta, else by the
     * exponential mechanism over distances. */
    bool exact;
    bool uses_eta; /* if false, eta must be 0 */
    /* protects only the sensitive tokens; leaves others unchanged with probability 1 - p */
    bool uses_p;
    bool gives_vectors; /* outputs noised word vectors instead of tokens */
    bool on_sequence;   /* outputs one noised vector per text */
    /* With gives_vectors: the mechanism that outputs the token nearest to the vector. */
    enum nvdp_dchi_mechanism nearest;
    /* the mechanism whose divergences bound this one's; NULL: its own are exact */
    const char *bound_of;
    /* The largest log ratio between a word without a vector and another word, as a multiple of
     * the worst case of two words with vectors; +inf: no bound is proven. statement.c derives
     * it. */
    double unknown;
    int place; /* position in reports, whose order differs from the table's */
};

/* Returns the row of an option's value: for 0 ("none") a row without properties; NULL for any
 * other value. */
const struct nvdp__token_row *nvdp__token_row(int choice);
/* The same for a mechanism over a table; NULL for any other value. */
const struct nvdp__token_row *nvdp__dchi_row(enum nvdp_dchi_mechanism mechanism);
const char *nvdp__dchi_name(enum nvdp_dchi_mechanism mechanism);

/* The values of options: "none" and the mechanisms of tokens; the second list adds those of one
 * vector per text. */
extern const char *const nvdp__token_mechanism_names[];
extern const char *const nvdp__text_noise_names[];

#endif
