/* The rows of a task's file: texts, labels and ids found in its columns, each row checked. */
#ifndef NVDP_SRC_TEXT_ROWS_H
#define NVDP_SRC_TEXT_ROWS_H

#include "text/quote.h"
#include "text/task.h"

enum nvdp__label_use {
    NVDP__LABELS_REQUIRED, /* training and scoring */
    NVDP__LABELS_FOUND,    /* where the file has the column */
    NVDP__LABELS_IGNORED   /* hidden test labels */
};

struct nvdp__row {
    struct nvdp__field text, pair, id, label_text;
    int64_t index; /* rows before it in the file, bad ones too */
    float label;
};

/* Zero it, read it, release it.  Fields point into the file's bytes. */
struct nvdp__rows {
    struct nvdp_task task;
    const char **labels; /* owned: task.labels where they are not static */
    bool labelled, has_id;
    struct nvdp__row *row;
    size_t count, capacity;
    size_t skipped; /* bad ones on request, and MNLI's without a gold label */
};

/* Parses the file's bytes; `path` is for messages.  The labels of a user's file come from
 * config->labels_from or else from the file itself. */
nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows);
void nvdp__rows_release(struct nvdp__rows *rows);

/* Names as one block of memory for free(). */
nvdp_status nvdp__labels_copy(struct nvdp_context *ctx, size_t count,
                              const struct nvdp__field *names, const char ***out);

#endif
