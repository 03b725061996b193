/* A finished run opened again: its configuration, its best model, one split of its data. */
#ifndef NVDP_SRC_TRAIN_RUN_H
#define NVDP_SRC_TRAIN_RUN_H

#include "model/model.h"
#include <nvdp/evaluate.h>

struct nvdp__run {
    struct nvdp_train_config config;
    json_t *config_owner;
    struct nvdp_model *model;
    struct nvdp_dataset *dataset; /* NULL where no split was asked for */
};

/* Reads RUN/run.json and RUN/model; loads config->split of config->data unless split is NULL. */
nvdp_status nvdp__run_open(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                           struct nvdp__run *run);
void nvdp__run_close(struct nvdp__run *run);
/* Loads a split by name with an opened run's tokenizer and settings.  "train" is every train row
 * the run read (its limit_train applies), validation part included; "validation" the held-out part.
 * `limit` (0: all): a seeded sample of other splits, the first texts of train. */
nvdp_status nvdp__run_split(struct nvdp_context *ctx, const struct nvdp__run *run, const char *data,
                            const char *split, size_t limit, uint64_t seed,
                            struct nvdp_dataset **out);

#endif
