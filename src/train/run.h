/* A finished run opened again: its configuration, its best model, one split of its data. */
#ifndef NVDP_SRC_TRAIN_RUN_H
#define NVDP_SRC_TRAIN_RUN_H

#include "model/model.h"
#include "train/options.h"
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

#endif
