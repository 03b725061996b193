/* A finished run opened again: its configuration, its best model, one split of its data. */
#ifndef NVDP_SRC_TRAIN_RUN_H
#define NVDP_SRC_TRAIN_RUN_H

#include "base/base.h"
#include "model/model.h"
#include "model/noise.h"
#include "train/options.h"
#include <jansson.h>
#include <nvdp/evaluate.h>

struct nvdp__run {
    struct nvdp__train_options config;
    json_t *config_owner;
    struct nvdp_model *model;
    struct nvdp_dataset *dataset; /* NULL where no split was asked for */
    struct nvdp__token_noise *noise;
    struct nvdp__token_file *given;
};

/* The configuration in RUN/run.json; *owner backs its texts. */
nvdp_status nvdp__run_read_config(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__train_options *config, json_t **owner);
/* The train file's texts as a run divides them: those that it trains on, those that it is validated on. */
nvdp_status nvdp__train_holdout(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp_dataset *all, struct nvdp_dataset **train,
                                struct nvdp_dataset **held);
/* Reads RUN/run.json and RUN/model; loads config->split of config->data unless split is NULL. */
nvdp_status nvdp__run_open(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                           struct nvdp__run *run);
/* The same for work on what a bottleneck shares: NVDP_ERR_ARGUMENT, before anything is loaded, where the run's users noise
 * their texts themselves (token-noise). */
nvdp_status nvdp__run_open_bottleneck(struct nvdp_context *ctx,
                                      const struct nvdp__run_options *config,
                                      struct nvdp__run *run);
/* Makes run->dataset, set by the caller, texts as the run's users send them: over the word embeddings that
 * the run began with. */
nvdp_status nvdp__run_privatize(struct nvdp_context *ctx, struct nvdp__run *run);
void nvdp__run_close(struct nvdp__run *run);
/* How the run's texts are read; `data` NULL: from the folder it was trained from.  No limit is set.
 */
struct nvdp_dataset_config nvdp__run_dataset_config(const struct nvdp__run *run, const char *data);

/* The measurements of a run (include/nvdp/measured.h), read from its files. */

struct nvdp__measurement {
    char *name;      /* of its file: "privacy-limit-20.json" */
    json_t *report;  /* the file's object */
    bool complete;   /* every text of the split was measured */
    double releases; /* samples of a text together */
    size_t texts, of_texts;
};

struct nvdp__measurements {
    struct nvdp__measurement *list; /* the first one speaks for the run: nvdp_measured_list() */
    size_t count, capacity;
};

/* `run` is run.json, which tells how many texts there are where an earlier version measured; NULL: unknown.
 * NVDP_ERR_IO, NVDP_ERR_INPUT: a broken file. */
nvdp_status nvdp__measurements_read(struct nvdp_context *ctx, const char *directory,
                                    const json_t *run, struct nvdp__measurements *out);
void nvdp__measurements_release(struct nvdp__measurements *all);

/* Training from token representations: a file of kind representations/1 in the place of texts. */

struct nvdp__token_file; /* an open file, and where each text's vectors are */

/* Opens options->representations, which must be of options->task and of vectors as wide as the word
 * embeddings of options->model; *noise gives its vectors to a model. */
nvdp_status nvdp__token_file_open(struct nvdp_context *ctx,
                                  const struct nvdp__train_options *options,
                                  const struct nvdp_tokenizer *tokenizer,
                                  struct nvdp__token_file **out, struct nvdp__token_noise **noise);
void nvdp__token_file_close(struct nvdp__token_file *given); /* NULL allowed */
/* A split's texts as a data set: [CLS] and [SEP] as the tokenizer sets them, cut to max_length as it cuts,
 * [UNK] in the place of tokens, which nobody knows.  limit 0: all, else a sample. */
nvdp_status nvdp__token_file_texts(struct nvdp_context *ctx, const struct nvdp__token_file *given,
                                   const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                   enum nvdp_split split, size_t limit, uint64_t seed,
                                   struct nvdp_dataset **out);

#endif
