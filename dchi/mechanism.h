/* The table of mechanisms of text privatization.
 *
 * No other file decides anything by a mechanism's name: it asks for a property of the row.  The rows stand with the
 * mathematics (distribution.c, sample.c) and are listed in members.inc.  The value of an option that names a mechanism is 0
 * for "none", else 1 more than the index of the row; enum nvdp_dchi_mechanism is that index. */
#ifndef NVDP_DCHI_MECHANISM_H
#define NVDP_DCHI_MECHANISM_H

#include <nvdp/dchi.h>
#include <stdbool.h>

struct nvdp__token_row {
    const char *citation; /* name, what comes out, source; for statements */
    const char *scale;    /* the paper's name of eta */
    /* Unless `exact`, draws are the word's vector with Laplace noise.  An exact mechanism gives tokens of known
     * probabilities: a uniform draw for any input without uses_eta, else the exponential mechanism over distances. */
    bool exact;
    bool uses_eta; /* else eta must be 0 */
    bool uses_p;   /* protects the sensitive tokens alone; leaves others with probability 1 - p */
    bool gives_vectors; /* gives noised word vectors in place of tokens */
    bool on_sequence;   /* gives one noised vector per text */
    /* gives_vectors: the mechanism that gives the token nearest to the vector. */
    enum nvdp_dchi_mechanism nearest;
    const char *bound_of; /* whose divergences bound this mechanism's; NULL: its own are exact */
    /* The largest log ratio between a word without a vector and another word, as a multiple of the worst case of two words
     * with vectors; +inf: no bound is proven.  statement.c derives it. */
    double unknown;
    int place; /* in reports, whose order is not the table's */
};

/* Returns the row of an option's value; that of "none", which has no property, for 0; NULL for any other value. */
const struct nvdp__token_row *nvdp__token_row(int choice);
/* The same for a mechanism over a table; NULL for any other value. */
const struct nvdp__token_row *nvdp__dchi_row(enum nvdp_dchi_mechanism mechanism);
const char *nvdp__dchi_name(enum nvdp_dchi_mechanism mechanism);

/* The values of options: "none" and the mechanisms of tokens; the same and those of one vector per text. */
extern const char *const nvdp__token_mechanism_names[];
extern const char *const nvdp__text_noise_names[];

#endif
