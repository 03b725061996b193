/* Privatizes a task's files, or a text, token by token.  The parts of the work share this header.
 *
 *     sanitize.c             the options, the pass over the texts, the output files
 *     representations.c      vectors of tokens in place of texts (their reader: src/text/representations.c)
 *     statement.c            the description of the output: numbers, privacy.json, plain English
 *     analyse.c              distances and deniability of a table's tokens (nvdp/text_privacy.h) */
#ifndef NVDP_SRC_SANITIZE_SANITIZE_H
#define NVDP_SRC_SANITIZE_SANITIZE_H

#include "dchi/sanitizer.h"
#include "text/dataset.h"
#include <jansson.h>
#include <nvdp/share.h>

/* The facts about privatized texts that are reported. */
struct nvdp__sanitized {
    const struct nvdp_sanitizer *sanitizer;
    struct nvdp_sanitizer_info info;
    const char *source; /* file or folder name of the vectors */
    const char *from;   /* task or file whose words are the vocabulary; NULL: the whole table */
    const char *chosen; /* santext-plus: the option that defines the sensitive tokens */
    bool own_choice;    /* santext-plus: they are counted on the private texts */
    /* "compared" if the public texts were compared with the private ones, "declared" if the owner declares that they
     * were chosen independently; NULL: there are no public texts. */
    const char *public;
    const char
        *sensitive_from; /* file name of public texts that chose the sensitive tokens, or NULL */
    double rare;         /* share w of the vocabulary that is sensitive; NaN: taken from a list */
    char table[NVDP__DIGEST_HEX], sensitive[NVDP__DIGEST_HEX]; /* digests of the vectors and V_S */
    const char *generator;                                     /* "os" or "insecure-seed" */
    size_t measured; /* max. tokens of the corpus whose deniability is measured */
    size_t draws;    /* per token */
    uint64_t seed;   /* chooses the tokens */
    uint64_t *seen;  /* [V] occurrences of each token */
    uint64_t texts, tokens, changed, unknown, kept; /* kept: tokens that are not sensitive */
    uint64_t longest;                               /* output tokens of the longest row */
    json_t *files;                                  /* {"train.tsv": {"privatized": [...], ...}} */
    /* set by nvdp__sanitized_measure() */
    struct nvdp_geometry geometry;
    size_t sampled;
    double same, distinct; /* N_w and S_w, means over the sample */
};

/* Counts the texts of a batch, with `columns` texts per row, and their tokens (texts, tokens, unknown, longest, seen).
 * Returns the number of rows without a word. */
size_t nvdp__sanitized_count(struct nvdp__sanitized *done, const struct nvdp__text_batch *batch,
                             size_t columns);
/* Returns the number of words, including omitted ones. */
uint64_t nvdp__sanitized_words(const struct nvdp__sanitized *done);
/* Sets geometry, same and distinct. */
nvdp_status nvdp__sanitized_measure(struct nvdp_context *ctx, struct nvdp__sanitized *done);
/* Returns the worst case over all pairs of tokens: eta times the largest distance, +inf for santext-plus, 0 for
 * random. */
double nvdp__sanitized_epsilon(const struct nvdp__sanitized *done);
/* Returns the same for as many tokens as the longest row has. */
double nvdp__sanitized_row_epsilon(const struct nvdp__sanitized *done);
/* Returns the worst case for a word without a vector and a word with one; +inf if nothing is proven. */
double nvdp__sanitized_oov_epsilon(const struct nvdp__sanitized *done);
/* Writes the statement in plain English, cut to `size` bytes. */
void nvdp__sanitized_statement(const struct nvdp__sanitized *done, size_t size, char *out);
/* Returns the object of privacy.json, or NULL if memory is short. */
json_t *nvdp__sanitized_json(const struct nvdp__sanitized *done, const char *statement);

/* ---- sanitize.c ---- */

/* A task's folder, or a file with one text per line. */
struct nvdp__sanitize_source {
    const char *task, *data; /* or else: */
    const char *text;
    struct nvdp__columns columns;
};
extern const struct nvdp_option
    nvdp__sanitize_source_rows[]; /* of that struct, except label-column */
nvdp_status nvdp__sanitize_source_check(struct nvdp_context *ctx,
                                        const struct nvdp__sanitize_source *source);
/* Returns the configuration for a table that is source->text: a task of one's own; the text is in column `text` unless named. */
struct nvdp_dataset_config nvdp__sanitize_table(const struct nvdp__sanitize_source *source);
/* Counts the tokens of everything that nvdp_sanitize() would privatize, in all splits.  V_S is chosen from these
 * counts. */
nvdp_status nvdp__sanitize_count(struct nvdp_context *ctx,
                                 const struct nvdp__sanitize_source *source,
                                 struct nvdp_sanitizer *sanitizer);

/* ---- representations.c ---- */

enum { NVDP__SANITIZE_SPLITS = NVDP_SPLIT_TEST_MISMATCHED + 1 };

struct nvdp__represent {
    const struct nvdp_sanitizer *sanitizer;
    bool lines;                              /* path[0] has one text per line */
    struct nvdp_dataset_config config;       /* task and columns, unless `lines` */
    const char *path[NVDP__SANITIZE_SPLITS]; /* of the splits; NULL: none */
    const char *out;
    const uint64_t *noise; /* seed; NULL: the operating system */
};
/* Writes the file and its statement.  The caller sets done->info, source, generator and the options of measurement. */
nvdp_status nvdp__represent(struct nvdp_context *ctx, const struct nvdp__represent *of,
                            struct nvdp__sanitized *done, size_t size, char *statement);

#endif
