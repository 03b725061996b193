/* The frozen part of an encoder: what it makes of a text never changes.
 *
 * It runs without dropout, and in float32 through products whose rows do not depend on each other,
 * so that a text's hidden states are the same bits in every batch, computed or kept (bf16 may round
 * them differently in another batch, as everywhere). */
#ifndef NVDP_SRC_MODEL_PREFIX_H
#define NVDP_SRC_MODEL_PREFIX_H

#include "model/model.h"

struct nvdp__prefix_store;

struct nvdp__prefix {
    struct nvdp_model *model; /* frozen and, whenever it is used, planned */
    size_t layers;
    struct nvdp__device dev;          /* the model's, with rowwise products in float32 */
    struct nvdp__prefix_store *store; /* NULL: computed each time */
    float *row;                       /* host, with a store: room for its longest text */
};

/* For a model with frozen layers. */
nvdp_status nvdp__prefix_create(struct nvdp_model *model, struct nvdp__prefix **out);
void nvdp__prefix_free(struct nvdp__prefix *prefix); /* NULL allowed */

/* Keeps the states of all texts of `dataset`, which must outlive the prefix, in a file of
 * `directory`; makes it where it is not there, `batch` texts at a time.  One process makes it, the
 * others wait.  Where it cannot be kept (no room, say) a notice tells, and states are computed. */
nvdp_status nvdp__prefix_keep(struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, size_t batch);
/* Bytes of such a file. */
size_t nvdp__prefix_bytes(const struct nvdp_bert_config *bert, const struct nvdp_dataset *dataset);

/* The states of the batch's texts into the model's cache. */
nvdp_status nvdp__prefix_fill(struct nvdp__prefix *prefix, const struct nvdp__batch *batch);

#endif
