/* What training needs to continue to the same bits, in one safetensors file: parameters, both
 * moments, and counters as JSON in the metadata key "state".  It is read with the same distrust as
 * any other file. */
#ifndef NVDP_SRC_JOB_STATE_H
#define NVDP_SRC_JOB_STATE_H

#include "job/optimizer.h"
#include <jansson.h>

enum { NVDP__STATE_VERSION = 2 };

/* Members of a struct: one table, which {0} ends, writes and reads them. */
struct nvdp__state_member {
    const char *key;
    size_t offset;
    bool real; /* a double; else a uint64_t */
};
#define NVDP__COUNT(type, member)                                                                  \
    { #member, offsetof(type, member), false }
#define NVDP__REAL(type, member)                                                                   \
    { #member, offsetof(type, member), true }

/* {"version": 2, ...}; NULL out of memory. */
json_t *nvdp__state_object(const struct nvdp__state_member *members, const void *state);
/* Sets the members; a missing count is NVDP_ERR_INPUT. */
nvdp_status nvdp__state_values(struct nvdp_context *ctx, const char *path, const json_t *object,
                               const struct nvdp__state_member *members, void *state);

/* Writes the file; `object` is stolen.  Atomic. */
nvdp_status nvdp__state_file_write(const char *path, json_t *object,
                                   const struct nvdp__params *params,
                                   const struct nvdp__optimizer *optimizer);
/* Reads parameters and moments; *object is the caller's, and so is telling the device that weights
 * changed. */
nvdp_status nvdp__state_file_read(const char *path, struct nvdp__params *params,
                                  struct nvdp__optimizer *optimizer, json_t **object);

#endif
