/* What training needs to continue to the same bits, in one safetensors file: parameters, both
 * moments, and counters as JSON in the metadata key "state".  It is read with the same distrust as
 * any other file. */
#ifndef NVDP_SRC_TRAIN_STATE_H
#define NVDP_SRC_TRAIN_STATE_H

#include "train/optimizer.h"
#include <jansson.h>

enum { NVDP__STATE_VERSION = 2 };

/* Members of a state: one table writes and reads them. */
struct nvdp__counter {
    const char *key;
    uint64_t *value;
};
struct nvdp__quantity {
    const char *key;
    double *value;
};
struct nvdp__state_table {
    const struct nvdp__counter *counter;
    size_t counters;
    const struct nvdp__quantity *quantity;
    size_t quantities;
};

/* {"version": 2, ...}; NULL out of memory. */
json_t *nvdp__state_object(const struct nvdp__state_table *table);
/* Sets the table's values; a missing counter is NVDP_ERR_INPUT. */
nvdp_status nvdp__state_values(struct nvdp_context *ctx, const char *path, const json_t *object,
                               const struct nvdp__state_table *table);

/* Writes the file; `object` is stolen.  Atomic. */
nvdp_status nvdp__state_file_write(const char *path, json_t *object,
                                   const struct nvdp__params *params,
                                   const struct nvdp__optimizer *optimizer);
/* Reads parameters and moments; *object is the caller's, and so is telling the device that weights
 * changed. */
nvdp_status nvdp__state_file_read(const char *path, struct nvdp__params *params,
                                  struct nvdp__optimizer *optimizer, json_t **object);

#endif
