/* Opens a finished run: its configuration, its best model, one split of its data. */
#ifndef NVDP_SRC_TRAIN_RUN_H
#define NVDP_SRC_TRAIN_RUN_H

#include "model/model.h"
#include "train/options.h"
#include <nvdp/evaluate.h>

struct nvdp__run {
    struct nvdp__train_options config;
    json_t *config_owner;
    struct nvdp_model *model;
    struct nvdp_dataset *dataset; /* NULL if no split was requested */
    struct nvdp__token_noise *noise;
    struct nvdp__token_file *given;
};

/* Reads the configuration in RUN/run.json; *owner owns its strings. */
nvdp_status nvdp__run_read_config(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__train_options *config, json_t **owner);
/* Divides the train file's texts as a run does, into those for training and those for
 * validation. */
nvdp_status nvdp__train_holdout(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp_dataset *all, struct nvdp_dataset **train,
                                struct nvdp_dataset **held);
/* Reads RUN/run.json and RUN/model; loads config->split of config->data unless split is NULL. */
nvdp_status nvdp__run_open(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                           struct nvdp__run *run);
/* The same, for work on texts shared through a bottleneck. Returns NVDP_ERR_ARGUMENT, before
 * loading anything, if the run's users add noise to their texts themselves (token-noise). */
nvdp_status nvdp__run_open_bottleneck(struct nvdp_context *ctx,
                                      const struct nvdp__run_options *config,
                                      struct nvdp__run *run);
/* Privatizes run->dataset, which the caller has set, as the run's users do: over the word
 * embeddings with which the run began. */
nvdp_status nvdp__run_privatize(struct nvdp_context *ctx, struct nvdp__run *run);
void nvdp__run_close(struct nvdp__run *run);
/* Returns the configuration for reading the run's texts; `data` NULL: from the folder of the
 * training data. It sets no limit. */
struct nvdp_dataset_config nvdp__run_dataset_config(const struct nvdp__run *run, const char *data);

#endif
