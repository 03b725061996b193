/* A task's files, or a text, privatized token by token: what the parts of the work share.
 *
 *     sanitize.c             the options, the pass over the texts, the files that come out
 *     representations.c      vectors of tokens in place of texts (their reader: src/text/representations.c)
 *     statement.c            what is said about them: numbers, privacy.json, plain English
 *     analyse.c              distances and deniability of a table's tokens (nvdp/text_privacy.h) */
#ifndef NVDP_SRC_SANITIZE_SANITIZE_H
#define NVDP_SRC_SANITIZE_SANITIZE_H

#include "dchi/sanitizer.h"
#include <jansson.h>
#include <nvdp/dataset.h>
#include <nvdp/share.h>

/* What happened to the texts, and what else is said. */
struct nvdp__sanitized {
    const struct nvdp_sanitizer *sanitizer;
    struct nvdp_sanitizer_info info;
    const char *source; /* of the vectors: their file's or folder's name */
    const char *from; /* whose words are the vocabulary, a task or a file; NULL: the whole table */
    const char *chosen; /* santext-plus: which option says which tokens are sensitive */
    double rare;        /* w that they were chosen by; NaN: of a list */
    char table[NVDP__DIGEST_HEX], sensitive[NVDP__DIGEST_HEX]; /* digests of the vectors and V_S */
    const char *generator;                                     /* "os" or "insecure-seed" */
    size_t measured; /* tokens of the corpus whose deniability is measured, at most */
    size_t draws;    /* of each */
    uint64_t seed;   /* that chooses them */
    uint64_t *seen;  /* [V] how often each token was there */
    uint64_t texts, tokens, changed, unknown, kept; /* kept: tokens that are not sensitive */
    json_t *files;                                  /* {"train.tsv": {"privatized": [...], ...}} */
    /* nvdp__sanitized_measure() */
    struct nvdp_geometry geometry;
    size_t sampled;
    double same, distinct; /* N_w and S_w, means over the sampled */
};

/* Counts a batch's texts, of rows of so many each, and their tokens (texts, tokens, unknown, seen); the number of rows
 * without a word. */
size_t nvdp__sanitized_count(struct nvdp__sanitized *done, const struct nvdp__text_batch *batch,
                             size_t columns);
/* geometry, same, distinct. */
nvdp_status nvdp__sanitized_measure(struct nvdp_context *ctx, struct nvdp__sanitized *done);
/* The worst case over all pairs of tokens: eta times what no two are further apart than; +inf of
 * santext-plus, 0 of random. */
double nvdp__sanitized_epsilon(const struct nvdp__sanitized *done);
/* The same of a word without a vector and one with a vector; +inf: nothing is proven. */
double nvdp__sanitized_oov_epsilon(const struct nvdp__sanitized *done);
/* In plain English, cut to `size` bytes. */
void nvdp__sanitized_statement(const struct nvdp__sanitized *done, size_t size, char *out);
/* The object of privacy.json; NULL: out of memory. */
json_t *nvdp__sanitized_json(const struct nvdp__sanitized *done, const char *statement);

/* ---- sanitize.c ---- */

/* A task's folder, or a text a line. */
struct nvdp__sanitize_source {
    const char *task, *data; /* or */
    const char *text;
    struct nvdp_task_options columns;
};
extern const struct nvdp_option
    nvdp__sanitize_source_rows[]; /* of that struct; all but label-column */
nvdp_status nvdp__sanitize_source_check(struct nvdp_context *ctx,
                                        const struct nvdp__sanitize_source *source);
/* Counts the tokens of all that nvdp_sanitize() would privatize, every split: V_S comes from them. */
nvdp_status nvdp__sanitize_count(struct nvdp_context *ctx,
                                 const struct nvdp__sanitize_source *source,
                                 struct nvdp_sanitizer *sanitizer);

/* ---- representations.c ---- */

enum { NVDP__SANITIZE_SPLITS = NVDP_SPLIT_TEST_MISMATCHED + 1 };

struct nvdp__represent {
    const struct nvdp_sanitizer *sanitizer;
    bool lines;                              /* path[0] has a text a line */
    struct nvdp_dataset_config config;       /* task and columns, else */
    const char *path[NVDP__SANITIZE_SPLITS]; /* of the splits; NULL: none */
    const char *out;
    const uint64_t *noise; /* seed; NULL: the operating system */
};
/* Writes the file, and what is said of it; done->info, source, generator and what is measured are set. */
nvdp_status nvdp__represent(struct nvdp_context *ctx, const struct nvdp__represent *of,
                            struct nvdp__sanitized *done, size_t size, char *statement);

#endif
