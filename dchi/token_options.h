/* The options of text privatization: the option tables for every command that draws tokens. */
#ifndef NVDP_DCHI_TOKEN_OPTIONS_H
#define NVDP_DCHI_TOKEN_OPTIONS_H

#include "dchi/dchi.h"
#include "options/rows.h"
#include "rdp/options.h"
#include <nvdp/sanitize.h>
#include <nvdp/text_privacy.h>

/* The values of an option that names a mechanism: "none", then the values of enum nvdp_dchi_mechanism. Only tests
 * use these names. */
enum nvdp__token_mechanism {
    NVDP__TOKENS_AS_THEY_ARE,
    NVDP__TOKENS_LAPLACE,
    NVDP__TOKENS_LAPLACE_NEAREST,
    NVDP__TOKENS_SANTEXT,
    NVDP__TOKENS_SANTEXT_PLUS,
    NVDP__TOKENS_RANDOM
};
static inline enum nvdp_dchi_mechanism nvdp__dchi_mechanism(enum nvdp__token_mechanism mechanism) {
    return (enum nvdp_dchi_mechanism)(mechanism - 1);
}

/* The treatment of a word without a vector. */
enum nvdp__oov {
    NVDP__OOV_UNIFORM, /* the word is replaced by a uniform draw */
    NVDP__OOV_DROP     /* the word is left out */
};

struct nvdp__sanitizer_options {
    /* the row of this option is in the caller's table: --mechanism, --token-noise ... */
    enum nvdp__token_mechanism mechanism;
    double eta; /* eta per unit of distance */
    /* p of santext-plus */
    double p;
    double sensitive;           /* w, the sensitive share of the vocabulary */
    const char *sensitive_from; /* corpus whose counts determine the sensitive words */
    bool sensitive_from_data;   /* true to use the counts of the texts themselves */
    const char *sensitive_list; /* file with one sensitive word per line */
    /* The owner of the data declares that sensitive_from and vocabulary_from were chosen independently of the
     * private texts. */
    bool public_independent;
    /* options in nvdp__sanitizer_table_rows */
    const char *vectors; /* file of word vectors; NULL for the encoder's table */
    /* Restricts the words to the words of this public file, or of the texts of this task; NULL: no restriction. */
    const char *vocabulary_from;
    enum nvdp__oov oov;
};

/* Rows of struct nvdp__sanitizer_options: eta, epsilon, p, sensitive, sensitive-from, sensitive-list,
 * public-independent. */
extern const struct nvdp_option nvdp__sanitizer_rows[];
/* Rows vectors, vocabulary-from, oov and sensitive-from-data, for commands that process files, by words or
 * WordPieces. Training uses the vectors of its model, and has no counts of texts that it has not read. */
extern const struct nvdp_option nvdp__sanitizer_table_rows[];
/* Rows of the option table (options/rows.h): the mechanism, and the model whose word embeddings the mechanism draws
 * from. */
/* clang-format off */
#define NVDP__MECHANISM_ROW(...)                                                                   \
    {"mechanism", NVDP_OPTION_CHOICE, "M",                                                         \
     "laplace (outputs vectors, not words), laplace-nearest, santext, santext-plus or random", NULL, \
     .choices = nvdp__token_mechanism_names, .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT, __VA_ARGS__}
#define NVDP__WORDS_MODEL_ROW(...)                                                                 \
    {"model", NVDP_OPTION_TEXT, "DIR",                                                             \
     "encoder whose word embeddings are the vectors and whose WordPieces are the tokens", NULL, .traits = NVDP_TRAIT_BASIC, __VA_ARGS__}
/* clang-format on */
/* Checks relations between options; accepts the mechanism "none". */
nvdp_status nvdp__sanitizer_check(struct nvdp_context *ctx,
                                  const struct nvdp__sanitizer_options *options);
/* The options of nvdp_sanitizer_create(), and their struct. */
struct nvdp__sanitizer_config {
    const char *model;
    struct nvdp__sanitizer_options sanitizer;
};
extern const struct nvdp__schema nvdp__sanitizer_schema;

/* Texts as tokens of a table. */
struct nvdp__token_texts {
    size_t texts;          /* N, the number of texts */
    const size_t *offset;  /* [N + 1] first token of each text, from 0 */
    const int32_t *tokens; /* [offset[N]] below V, or NVDP_DCHI_UNKNOWN */
    /* [N] number of tokens in the first part of each pair; NULL for single texts. Two pairs have the same length if
     * both parts have the same length. */
    const size_t *first;
    size_t unknown; /* number of words without a vector, including dropped words; not an input */
};

/* Measures all ordered pairs of texts, as nvdp_privacy_measure() does for posteriors. Divergences are sums over
 * positions of nvdp_dchi_divergence(), within 1e-12 nats per token (divided by order - 1 if order < 2). For
 * laplace-nearest, the divergences of laplace are used, which are upper bounds. max-pairs is not supported.
 *
 * Each pair of tokens is computed once, for all orders together. O(P V) for P distinct pairs of tokens at the same
 * position of texts of equal length, and O(T V d) for T distinct tokens; O(P d) for laplace. Memory: 400 P bytes, 1
 * KiB per token, and 4 N^2 doubles. The result has the same bits for any number of threads.
 * ctx: records messages, reports progress, can cancel, provides threads
 * dchi: mechanism
 * texts: 2 to 20000
 * matrix: [N, N] as in nvdp_renyi_pairs(); NULL: not wanted
 * out: the report; nvdp_result_free()
 * Returns NVDP_ERR_ARGUMENT for an option, a token or a number of texts out of its range, drawn pairs, or the exact
 *         loss; NVDP_ERR_INPUT without adjacent texts; NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp__dchi_privacy(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               const struct nvdp__token_texts *texts,
                               const struct nvdp__privacy_options *options, double *matrix,
                               struct nvdp_dchi_report *out);
/* Measures the privacy of one noised vector per text (nvdp__sequence_perturb()), as nvdp_privacy_measure() does for
 * posteriors. D_l of a pair is nvdp_renyi_laplace(l, d, eta |s - s'|), within 1e-12. With a clip, the report has
 * the bound for any two texts: the divergence at distance 2 C eta. A vector does not depend on the text's length.
 * max-pairs is not supported. O(N^2 d); memory 4 N^2 doubles.
 * ctx: records messages, reports progress, can cancel, provides threads
 * eta: > 0 and finite
 * clip: C > 0, maximum norm to which vectors are scaled down; INFINITY: no clip
 * texts: N, 2 to 20000
 * dim: d, at least 1
 * states: [N, d] vectors before clip and noise; a vector with a number that is not finite counts as 0, as when
 *                 it is shared
 * matrix: [N, N] as in nvdp_renyi_pairs(); NULL: not wanted
 * out: the report; nvdp_result_free()
 * Returns NVDP_ERR_ARGUMENT for a value or an option out of its range, drawn pairs, or the exact loss;
 *         NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp__sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                   size_t dim, const double *states,
                                   const struct nvdp__privacy_options *options, double *matrix,
                                   struct nvdp_privacy_report *out);

/* The kind of struct nvdp_dchi_report, which src/sanitize defines together with the text of the report. */
extern const struct nvdp_result_kind nvdp__dchi_report_kind;

#endif
