/* What a data set owns besides its public arrays. */
#ifndef NVDP_SRC_TEXT_DATASET_H
#define NVDP_SRC_TEXT_DATASET_H

#include "base/base.h"
#include <nvdp/dataset.h>

struct nvdp__dataset_storage {
    const char **labels; /* task.labels where they are not static; one block */
    char *id_text;       /* what `id` points into */
    bool *cut;           /* [count] whether the text was truncated */
};

static inline struct nvdp__dataset_storage *
nvdp__dataset_storage(const struct nvdp_dataset *dataset) {
    return dataset->storage;
}

/* A data set of `count` texts without tokens: everything but ids and types is allocated. */
nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labelled, bool has_id,
                                 struct nvdp_dataset **out);

/* Marks `n` of `count` rows, chosen by the seed alone. */
void nvdp__sample_rows(uint64_t seed, size_t count, size_t n, int64_t *scratch, bool *chosen);

#endif
