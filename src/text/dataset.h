/* Internal part of data sets in memory: storage behind the public arrays, tokenization,
 * selection and splits. */
#ifndef NVDP_SRC_TEXT_DATASET_H
#define NVDP_SRC_TEXT_DATASET_H

#include "base/base.h"
#include "text/public_texts.h"
#include <nvdp/dataset.h>

/* The defaults of nvdp_dataset_config_default(). */
struct nvdp_dataset_config nvdp__dataset_config_default(void);

/* Columns of NVDP_TASK_TSV, as in struct nvdp_dataset_config. */
struct nvdp__columns {
    const char *text_column, *text_pair_column, *label_column;
    bool regression;
};
void nvdp__set_columns(struct nvdp_dataset_config *config, const struct nvdp__columns *columns);

struct nvdp__dataset_storage {
    struct nvdp_task task; /* nvdp_dataset.task */
    const char **labels;   /* task.labels unless static; one block */
    size_t
        more_labels; /* labels behind those of task.classes: tags that the model cannot predict */
    bool *cut;       /* [count] the text was truncated */
    /* [count] group whose texts stay together in cross validation; NULL: each text alone */
    size_t *group;
    bool *continues; /* [count] continues the sentence of the previous text; NULL without tags */
};

static inline struct nvdp__dataset_storage *
nvdp__dataset_storage(const struct nvdp_dataset *dataset) {
    return dataset->storage;
}

/* "train", "dev", "test", "dev-mismatched", "test-mismatched"; `also`: other names, for the
 * message. */
nvdp_status nvdp__find_split(struct nvdp_context *ctx, const char *name, const char *also,
                             enum nvdp_split *out);

/* Creates a data set of `count` texts with everything allocated except tokens and ids. */
nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labeled,
                                 struct nvdp_dataset **out);

/* Number of a model's outputs: one per text, or with tags one per word. */
size_t nvdp__dataset_outputs(const struct nvdp_dataset *dataset);
/* Notes how many texts were cut at the maximum length; nothing if none was. */
void nvdp__log_truncated(struct nvdp_context *ctx, const char *path,
                         const struct nvdp_dataset *dataset);
/* True if all outputs have a label. */
bool nvdp__dataset_labeled(const struct nvdp_dataset *dataset);

/* Turns the token counts in offset[i + 1] into offsets, sums up `cut`, and allocates ids and
 * types. */
nvdp_status nvdp__dataset_lay_out(struct nvdp_context *ctx, struct nvdp_dataset *dataset);

struct nvdp__text {
    const char *text, *pair; /* pair NULL: no second text */
    size_t text_size, pair_size;
};
/* NVDP_ERR_ARGUMENT unless texts can be truncated to this length. */
nvdp_status nvdp__check_length(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               size_t max_length);
/* Tokenizes all texts into the data set; each thread processes a range of texts. */
nvdp_status nvdp__dataset_encode(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct nvdp__text *texts, size_t max_length,
                                 struct nvdp_dataset *dataset);

/* Like nvdp_dataset_holdout, but each text is assigned independently with probability
 * `fraction`, depending only on its content. Adding or removing a text does not move the others.
 * NVDP_ERR_INPUT if all texts fall on one side. */
nvdp_status nvdp__dataset_holdout_each(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                       double fraction, struct nvdp_dataset **train,
                                       struct nvdp_dataset **validation);

/* Cross validation: selects the texts of part `fold` (1 to folds) if `held`, else the other
 * texts, in their order. Groups are assigned at random, independently of the seed. */
nvdp_status nvdp__dataset_fold(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               size_t folds, size_t fold, bool held, struct nvdp_dataset **out);
/* The same in place; *dataset is NULL after an error. Does nothing if folds is 0. */
nvdp_status nvdp__dataset_keep_fold(struct nvdp_context *ctx, size_t folds, size_t fold, bool held,
                                    struct nvdp_dataset **dataset);

/* Marks `n` of `count` rows; the choice depends only on the seed. */
nvdp_status nvdp__sample_rows(struct nvdp_context *ctx, uint64_t seed, size_t count, size_t n,
                              bool *chosen);

/* Returns a key of text i's tokens.  Texts with other tokens have another key, except with probability 10^-19. */
int64_t nvdp__dataset_key(const struct nvdp_dataset *data, size_t i);
/* Counts the texts of `of` whose tokens are those of a text of `among`, except with probability 10^-19. */
nvdp_status nvdp__dataset_overlap(struct nvdp_context *ctx, const struct nvdp_dataset *of,
                                  const struct nvdp_dataset *among, size_t *count);

/* Like nvdp_dataset_load_file, for texts without labels: a label column may hold placeholders
 * (load.c). */
nvdp_status nvdp__dataset_load_texts(struct nvdp_context *ctx,
                                     const struct nvdp_tokenizer *tokenizer,
                                     const struct nvdp_dataset_config *config, const char *path,
                                     struct nvdp_dataset **out);

/* Do the same as nvdp_dataset_load() and nvdp_dataset_load_file() for private texts, and compare each text that is loaded
 * with the public ones; `public` NULL: with none. */
nvdp_status nvdp__dataset_load_private(struct nvdp_context *ctx,
                                       const struct nvdp_tokenizer *tokenizer,
                                       const struct nvdp_dataset_config *config,
                                       enum nvdp_split split, struct nvdp__public_texts *public,
                                       struct nvdp_dataset **out);
nvdp_status nvdp__dataset_load_private_file(struct nvdp_context *ctx,
                                            const struct nvdp_tokenizer *tokenizer,
                                            const struct nvdp_dataset_config *config,
                                            const char *path, struct nvdp__public_texts *public,
                                            struct nvdp_dataset **out);

/* Reads a file of words with tags (load.c), where `index` of a text is its number in the file. With `limit`, draws that
 * many of the file's *texts by `seed`. */
nvdp_status nvdp__dataset_load_tagged(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                      size_t limit, uint64_t seed, const char *path, size_t *texts,
                                      struct nvdp_dataset **out);

/* load.c: reads a cached data set from bytes without the cache's header; *out stays NULL if they
 * are not valid. */
nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out);

#endif
