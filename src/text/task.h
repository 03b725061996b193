/* The tasks' layouts: which columns of a file hold what. */
#ifndef NVDP_SRC_TEXT_TASK_H
#define NVDP_SRC_TEXT_TASK_H

#include "base/base.h"
#include <nvdp/dataset.h>

struct nvdp__layout {
    struct nvdp_task task; /* NVDP_TASK_TSV: without labels and pair, which its options decide */
    const char *text, *pair, *label;                           /* columns by header name */
    const char *id;                                            /* may be missing from a file */
    const char *dev, *dev_mismatched, *test, *test_mismatched; /* file names; NULL: no such split */
};

/* NULL where `id` is no task. */
const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id);
/* The layout with a user's columns and regression put in. */
nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out);
/* The split's file within the task's directory. */
nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name);

#endif
