/* A tiny task and a tiny random BERT on which training takes a second. */
#ifndef NVDP_TESTS_TRAIN_RIG_H
#define NVDP_TESTS_TRAIN_RIG_H

#include <nvdp.h>

struct rig {
    char data[512], model[512];
};

/* Writes SST-2-like data (the label is decided by one word) and a 1-layer BERT into the scratch
 * directory. */
struct rig rig_make(struct nvdp_context *ctx);
/* With heads of 32 dimensions, which bfloat16 products want. */
struct rig rig_make_wide(struct nvdp_context *ctx);
/* A configuration that learns the task; out is in the scratch directory (static text). */
struct nvdp_train_config rig_config(const struct rig *rig, enum nvdp_method method,
                                    const char *out);
/* Trains, and fails the test where that fails. */
struct nvdp_train_result rig_train(struct nvdp_context *ctx,
                                   const struct nvdp_train_config *config);
/* Stopped again and again, at steps and inside validation, three epochs end in the bytes and
 * numbers of a run that was not; under names of their own in the scratch directory. */
void rig_resumes_exactly(struct nvdp_context *ctx, struct nvdp_train_config config);
/* The file's bytes equal. */
bool rig_same_file(const char *directory_a, const char *directory_b, const char *name);

#endif
