/* Data sets in memory: what they own besides their public arrays, how texts become their tokens. */
#ifndef NVDP_SRC_TEXT_DATASET_H
#define NVDP_SRC_TEXT_DATASET_H

#include "base/base.h"
#include <nvdp/dataset.h>

struct nvdp__dataset_storage {
    const char **labels; /* task.labels where they are not static; one block */
    bool *cut;           /* [count] whether the text was truncated */
    size_t *group; /* [count] texts that stay together in cross validation; NULL: each alone */
    bool *goes_on; /* [count] of the sentence of the text before it; NULL but with tags */
};

static inline struct nvdp__dataset_storage *
nvdp__dataset_storage(const struct nvdp_dataset *dataset) {
    return dataset->storage;
}

/* "train", "dev", "test", "dev-mismatched", "test-mismatched"; `also`: other names, for the message. */
nvdp_status nvdp__find_split(struct nvdp_context *ctx, const char *name, const char *also,
                             enum nvdp_split *out);

/* A data set of `count` texts without tokens and ids: everything else is allocated. */
nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labeled,
                                 struct nvdp_dataset **out);

/* What a model says of it is for each text, or with tags for each word: so many. */
size_t nvdp__dataset_outputs(const struct nvdp_dataset *dataset);
/* Whether all of that has its label. */
bool nvdp__dataset_labeled(const struct nvdp_dataset *dataset);

/* Where offset[i + 1] and `cut` tell of each text how many tokens it has and whether it was cut:
 * turns counts into offsets, sums up, allocates ids and types. */
nvdp_status nvdp__dataset_lay_out(struct nvdp_context *ctx, struct nvdp_dataset *dataset);

struct nvdp__text {
    const char *text, *pair; /* pair NULL: none */
    size_t text_size, pair_size;
};
/* NVDP_ERR_ARGUMENT where it is no length that texts are cut to. */
nvdp_status nvdp__check_length(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               size_t max_length);
/* Tokenizes all texts into the data set, each thread a stretch of them. */
nvdp_status nvdp__dataset_encode(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct nvdp__text *texts, size_t max_length,
                                 struct nvdp_dataset *dataset);

/* As nvdp_dataset_holdout, but each text falls by itself, with probability `fraction`, by what it says: of one text more or less
 * the others stay where they are.  NVDP_ERR_INPUT where all fall on one side. */
nvdp_status nvdp__dataset_holdout_each(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                       double fraction, struct nvdp_dataset **train,
                                       struct nvdp_dataset **validation);

/* Cross validation: the texts of part `fold` (1 to folds) where `held`, else the others, in their
 * order.  Groups are dealt at random, the same way whatever the seed. */
nvdp_status nvdp__dataset_fold(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               size_t folds, size_t fold, bool held, struct nvdp_dataset **out);
/* The same in place; *dataset is NULL after an error.  Nothing where folds is 0. */
nvdp_status nvdp__dataset_keep_fold(struct nvdp_context *ctx, size_t folds, size_t fold, bool held,
                                    struct nvdp_dataset **dataset);

/* Marks `n` of `count` rows, chosen by the seed alone. */
nvdp_status nvdp__sample_rows(struct nvdp_context *ctx, uint64_t seed, size_t count, size_t n,
                              bool *chosen);

/* As nvdp_dataset_load_file, of texts that nobody has labels of: a column of that name may hold fillers (load.c). */
nvdp_status nvdp__dataset_load_texts(struct nvdp_context *ctx,
                                     const struct nvdp_tokenizer *tokenizer,
                                     const struct nvdp_dataset_config *config, const char *path,
                                     struct nvdp_dataset **out);

/* load.c: the bytes of a cached data set, without the cache's header; *out stays NULL where they
 * are not sound. */
nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out);

#endif
