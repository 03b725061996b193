/* Hidden states of a data set's texts in a file (docs/formats.md, Cache). */
#ifndef NVDP_SRC_MODEL_PREFIX_STORE_H
#define NVDP_SRC_MODEL_PREFIX_STORE_H

#include "base/base.h"
#include <nvdp/dataset.h>

struct nvdp__prefix_store;

/* What the file says; the data set must outlive the store. */
struct nvdp__prefix_content {
    const struct nvdp_dataset *dataset; /* index rising */
    size_t width;                       /* floats a token */
    /* Gives the states of texts first, first + 1, ... of the data set, as many as it likes: *texts
     * of them, *rows [tokens, width], valid until the next call. */
    nvdp_status (*compute)(void *user, size_t first, size_t *texts, const float **rows);
    void *user;
};

size_t nvdp__prefix_store_bytes(const struct nvdp_dataset *dataset, size_t width);
/* The file at `path`, made where it is missing or damaged.  *out stays NULL, after a notice, where
 * that cannot be; errors are those of `compute` and being cancelled. */
nvdp_status nvdp__prefix_store_open(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__prefix_content *content,
                                    struct nvdp__prefix_store **out);
void nvdp__prefix_store_close(struct nvdp__prefix_store *store); /* NULL allowed */
/* The states of the text with that index, `tokens` rows, into `to`.  False where the file has none,
 * or, after one notice, none that are whole: the file is removed then, for the next run to make it
 * anew. */
bool nvdp__prefix_store_read(struct nvdp__prefix_store *store, int64_t index, size_t tokens,
                             float *to);

#endif
