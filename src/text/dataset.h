/* The internal part of data sets in memory: storage behind the public arrays, tokenization, selection and splits;
 * texts that are equal. */
#ifndef NVDP_SRC_TEXT_DATASET_H
#define NVDP_SRC_TEXT_DATASET_H

#include "base/array.h"
#include "base/base.h"
#include "base/cache.h"
#include "text/tokenizer.h"
#include <nvdp/dataset.h>

/* ---- private texts among public ones ---- */

/* Decides whether public texts and private texts have a text in common. A release computes numbers without noise from
 * public texts: a center, directions, a vocabulary, sensitive tokens. A private text among the public texts can be
 * recomputed from these numbers, and no guarantee of the release covers this.
 *
 * Two texts are the same
 *
 *     if they have the same words, compared as NFKC, in lower case and without accents, whatever space and
 *     punctuation separates them;
 *     if a model reads the same tokens, which are cut to its maximum length; special tokens do not count;
 *     if a model reads the same tokens of these words.
 *
 * Each text of a pair is compared separately. Texts without words are compared only if a model reads them. Time and
 * memory are linear in the sizes of the texts. */
/* Public texts, and private texts that are compared with them. The caller sets the struct to zero, sets the first
 * four members, adds the public texts, compares the private texts, checks the result, and releases the struct. */
struct nvdp__public_texts {
    struct nvdp_context *ctx;
    /* tokenizer of the model that reads the texts; NULL if no model reads them */
    const struct nvdp_tokenizer *tokenizer;
    size_t max_length; /* max length of a text for this model, in tokens */
    const char *path;  /* path of the public texts, for the message; must outlive the struct */
    struct nvdp__strings keys;
    size_t compared, found,
        /* number of private texts; number of those that are public; row of the first of those, from 0 */
        first_row;
};

/* Add a public text of which the model reads `max_length` tokens; or the token ids of such a text. */
nvdp_status nvdp__public_texts_add(struct nvdp__public_texts *public, const char *text, size_t size,
                                   size_t max_length);
nvdp_status nvdp__public_texts_add_ids(struct nvdp__public_texts *public, size_t n,
                                       const int32_t *ids);
/* Adds each line of a file, and each cell of a line with tabs; for a table with quotes or objects (.csv, .json),
 * each cell. Fails for a pipe, which may have been read before. */
nvdp_status nvdp__public_texts_add_file(struct nvdp__public_texts *public, const char *path);

/* Sets *found to true if a private text is among the public texts. Several threads may call this function at the
 * same time. */
nvdp_status nvdp__public_texts_have(const struct nvdp__public_texts *public,
                                    struct nvdp_context *ctx, const char *text, size_t size,
                                    bool *found);
/* Compares a private text of this row, and counts it. */
nvdp_status nvdp__public_texts_compare(struct nvdp__public_texts *public, const char *text,
                                       size_t size, size_t row);
/* Returns NVDP_ERR_ARGUMENT if a private text was among the public texts. `what` is the name of the public texts,
 * such as "{center}". The message is only for the owner of the texts. */
nvdp_status nvdp__public_texts_check(const struct nvdp__public_texts *public, const char *what);
void nvdp__public_texts_release(struct nvdp__public_texts *public);

/* ---- data sets ---- */

/* Returns the defaults of nvdp_dataset_config_default(). */
struct nvdp_dataset_config nvdp__dataset_config_default(void);

/* The columns of NVDP_TASK_TSV, as in struct nvdp_dataset_config. */
struct nvdp__columns {
    const char *text_column, *text_pair_column, *label_column;
    bool regression;
};
void nvdp__set_columns(struct nvdp_dataset_config *config, const struct nvdp__columns *columns);

enum nvdp__label_use {
    NVDP__LABELS_REQUIRED, /* labels are needed, for training and scoring */
    NVDP__LABELS_FOUND,    /* labels are read if the file has the column */
    NVDP__LABELS_IGNORED,  /* labels are not read, as in test sets with hidden labels */
    /* labels are not interpreted, but stored as `answer`; the column is required */
    NVDP__LABELS_AS_TEXT
};
/* Returns the use of a split's labels. GLUE hides the test labels: a label column in GLUE's test files holds
 * placeholders. */
static inline enum nvdp__label_use nvdp__label_use(enum nvdp_task_id task, enum nvdp_split split) {
    if (split != NVDP_SPLIT_TEST && split != NVDP_SPLIT_TEST_MISMATCHED)
        return NVDP__LABELS_REQUIRED;
    return task == NVDP_TASK_TSV ? NVDP__LABELS_FOUND : NVDP__LABELS_IGNORED;
}

struct nvdp__dataset_storage {
    struct nvdp_task task;      /* the task in nvdp_dataset.task */
    struct nvdp__memory memory; /* owner of the arrays of this struct and of the data set */
    const char **labels;        /* task.labels, unless these are static; one block */
    const char **
        /* [count] the labels as strings, for NVDP__LABELS_AS_TEXT, in one block; else NULL */
        answer;
    /* number of labels after those of task.classes: tags that the model cannot predict */
    size_t more_labels;
    bool *cut; /* [count] true if the text was truncated */
    /* [count] group whose texts stay together in cross validation; NULL if each text is a group */
    size_t *group;
    /* [count] true if the text continues the sentence of the previous text; NULL if there are no tags */
    bool *continues;
};

static inline struct nvdp__dataset_storage *
nvdp__dataset_storage(const struct nvdp_dataset *dataset) {
    return dataset->storage;
}

/* Finds a split by its name: "train", "dev", "test", "dev-mismatched", "test-mismatched". `also` lists other valid
 * names, for the message. */
nvdp_status nvdp__find_split(struct nvdp_context *ctx, const char *name, const char *also,
                             enum nvdp_split *out);

/* Creates a data set of `count` texts with everything allocated except tokens and ids. */
nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labeled,
                                 struct nvdp_dataset **out);

/* Returns the number of a model's outputs: one per text; with tags, one per word. */
size_t nvdp__dataset_outputs(const struct nvdp_dataset *dataset);
/* Logs how many texts were cut at the max length; logs nothing if no text was cut. */
void nvdp__log_truncated(struct nvdp_context *ctx, const char *path,
                         const struct nvdp_dataset *dataset);
/* Returns true if all outputs have a label. */
bool nvdp__dataset_labeled(const struct nvdp_dataset *dataset);

/* Turns the token counts in offset[i + 1] into offsets, sums up `cut`, and allocates ids and
 * types. */
nvdp_status nvdp__dataset_lay_out(struct nvdp_context *ctx, struct nvdp_dataset *dataset);

struct nvdp__text {
    const char *text, *pair; /* `pair` is NULL if there is no second text */
    size_t text_size, pair_size;
};
enum { NVDP__TEXT_TOKENS = 512 }; /* max length of the texts of a task */
/* Fails with NVDP_ERR_ARGUMENT unless texts can be truncated to this length. */
nvdp_status nvdp__check_length(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               size_t max_length);
/* Tokenizes all texts into the data set; each thread processes a range of texts. */
nvdp_status nvdp__dataset_encode(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct nvdp__text *texts, size_t max_length,
                                 struct nvdp_dataset *dataset);

/* Selects texts for cross validation: the texts of part `fold` (1 to folds) if `held`, else all other texts, in
 * order. Groups are assigned to parts at random, independently of the seed. */
nvdp_status nvdp__dataset_fold(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               size_t folds, size_t fold, bool held, struct nvdp_dataset **out);
/* Selects the texts in place; *dataset is NULL after an error. Does nothing if folds is 0. */
nvdp_status nvdp__dataset_keep_fold(struct nvdp_context *ctx, size_t folds, size_t fold, bool held,
                                    struct nvdp_dataset **dataset);

/* Marks `limit` of `count` rows; the choice depends only on the seed. Marks all rows if there are no more, or if
 * `limit` is 0. The caller frees *chosen [count] with free(). */
nvdp_status nvdp__choose_rows(struct nvdp_context *ctx, uint64_t seed, size_t count, size_t limit,
                              bool **chosen);

/* Returns a key of text i's tokens. Texts with different tokens have different keys, except with probability 10^-19. */
int64_t nvdp__dataset_key(const struct nvdp_dataset *data, size_t i);
/* Counts the texts of `of` whose tokens are equal to the tokens of a text of `among`, except with probability
 * 10^-19. */
nvdp_status nvdp__dataset_overlap(struct nvdp_context *ctx, const struct nvdp_dataset *of,
                                  const struct nvdp_dataset *among, size_t *count);

/* Loads a file as nvdp_dataset_load_file() does, with all options set and this use of the labels: if labels are not
 * used, a label column may hold placeholders (load.c). Compares each text that is loaded with the public texts;
 * `public` is NULL if there are none. */
nvdp_status nvdp__dataset_load_rows(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp_dataset_config *config,
                                    enum nvdp__label_use use, const char *path,
                                    struct nvdp__public_texts *public, struct nvdp_dataset **out);

/* Reads a file of words with tags (load.c), where `index` of a text is the text's number in the file. If `limit` is
 * not 0, draws this number of the file's *texts by `seed`. */
nvdp_status nvdp__dataset_load_tagged(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                      size_t limit, uint64_t seed, const char *path, size_t *texts,
                                      struct nvdp_dataset **out);

/* Defined in load.c: reads a cached data set from bytes without the cache's header; *out stays NULL if the bytes are
 * not valid. */
nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out);

/* Splits a data set into two, stratified by class, or by tenths of the ranked scores. Largest remainders set the share
 * of every stratum. Both parts keep the file's order. O(texts log texts). ctx: records errors; may be NULL from: the
 * data set fraction: share of texts that are held out, between 0 and 1 seed: seed of the choice. NULL: each text is
 * held out by itself with probability `fraction`, which depends only on
 *       its content: adding or removing a text does not move the others
 * train: the remaining texts, at least one; untouched on error validation: the held-out texts, at least one; untouched
 * on error Returns NVDP_ERR_ARGUMENT for a fraction out of range; NVDP_ERR_INPUT for fewer than 2 texts, and without a
 * seed if all
 *         texts fall on one side; NVDP_ERR_MEMORY */
nvdp_status nvdp__dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                  double fraction, const uint64_t *seed,
                                  struct nvdp_dataset **train, struct nvdp_dataset **validation);

/* Reads and tokenizes a split on the context's threads. Accepts a leading byte-order mark, CRLF and a missing last
 * newline. GLUE's files have no quoting; a user's own may be quoted TSV, CSV or JSON lines (docs/formats.md).
 * Notices count unusual texts. GLUE's test labels are hidden: `label` is NULL. O(bytes of the file).
 * ctx: records errors; may be NULL, and then uses one thread
 * tokenizer: tokenizes the texts
 * config: options
 * split: the split
 * public: public texts, with which each text that is loaded is compared; NULL: none
 * out: the data set; nvdp_dataset_free(); untouched on error
 * Returns NVDP_ERR_INPUT for an empty file, rows with a wrong number of columns, unknown labels and scores out of
 *         range, with a message such as "FILE:LINE: expected N columns, found M"; NVDP_ERR_ARGUMENT for options that
 *         do not fit the task; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp__dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const struct nvdp_dataset_config *config, enum nvdp_split split,
                               struct nvdp__public_texts *public, struct nvdp_dataset **out);

/* Copies selected texts of a data set to a new one. O(tokens selected).
 * ctx: records errors; may be NULL
 * from: the data set
 * n: number of selected texts
 * rows: [n] their indices, in the order of the new data set; may repeat
 * out: the new data set; untouched on error
 * Returns NVDP_ERR_ARGUMENT if a row is not below from->count; NVDP_ERR_MEMORY */
nvdp_status nvdp__dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 size_t n, const size_t *rows, struct nvdp_dataset **out);

/* ---- texts that are read several times ---- */

/* Finds out whether each pass over texts has the texts and ids of the first pass. The caller sets the struct to zero. */
struct nvdp__content {
    struct nvdp__digest digest; /* of this pass, so far */
    bool begun, known;          /* a pass has begun; the first pass ended */
    char first[NVDP__DIGEST_HEX];
};
void nvdp__content_add(struct nvdp__content *content, const struct nvdp_dataset *data);
/* Ends a pass. Returns false if it had other texts than the first pass. */
bool nvdp__content_end(struct nvdp__content *content);

/* ---- texts that repeat ---- */

/* Two texts are equal if their tokens are equal; a ledger recognizes texts in the same way. */

enum { NVDP__TEXT_DIGEST = 16, NVDP__TEXT_KEY = 32, NVDP__REPEATS_TEXT = 192 };

/* Computes a keyed digest of a text's `n` tokens. */
void nvdp__text_digest(const unsigned char key[NVDP__TEXT_KEY], size_t n, const int32_t *ids,
                       const int32_t *types, unsigned char digest[NVDP__TEXT_DIGEST]);

struct nvdp__repeats {
    size_t most; /* number of rows of the most frequent text */
    /* "3 texts stand twice, 1 stands 6 times"; "" if no text repeats */
    char text[NVDP__REPEATS_TEXT];
};

/* Digests of texts, by which their repeats are counted. The caller sets the struct to zero with `ctx`, adds the texts,
 * and releases it. */
struct nvdp__text_digests {
    struct nvdp_context *ctx;
    unsigned char key[NVDP__TEXT_KEY];
    unsigned char (*digest)[NVDP__TEXT_DIGEST];
    size_t count, capacity;
};
nvdp_status nvdp__text_digests_add(struct nvdp__text_digests *digests,
                                   const struct nvdp_dataset *data);
void nvdp__text_digests_release(struct nvdp__text_digests *digests);
/* Counts the rows of each text. */
nvdp_status nvdp__repeats_count(const struct nvdp__text_digests *digests,
                                struct nvdp__repeats *out);

/* Returns true if `drawn` further samples of a text keep within the `promise` of its run. A text without earlier
 * samples may have as many samples as a row gets, `samples`, because the caller chose this number, even beyond the
 * promise. */
static inline bool nvdp__keeps_promise(uint64_t before, uint64_t drawn, uint64_t samples,
                                       uint64_t promise) {
    return before + drawn <= (before > 0 ? promise : nvdp__max(promise, samples));
}

#endif
