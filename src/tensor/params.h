/* Parameters: one contiguous vector with a name table.  The optimiser, clipping, checkpoints and
 * gradient tests are loops over one vector. */
#ifndef NVDP_SRC_TENSOR_PARAMS_H
#define NVDP_SRC_TENSOR_PARAMS_H

#include "tensor/device.h"

enum { NVDP__PARAM_RANK = 2 };

enum nvdp__param_flags {
    NVDP__PARAM_DECAY = 1,    /* weight decay applies (not on biases and LayerNorm) */
    NVDP__PARAM_OPTIONAL = 2, /* initialised with a notice where a checkpoint lacks it */
    NVDP__PARAM_FROZEN = 4    /* no update */
};

struct nvdp__param {
    char name[120]; /* Hugging Face's name, such as "bert.encoder.layer.0.output.dense.bias" */
    int rank;
    size_t shape[NVDP__PARAM_RANK];
    size_t offset; /* floats from the start of the vector, multiple of 16 */
    size_t count;
    unsigned flags;
};

struct nvdp__params {
    struct nvdp_context *ctx;
    size_t count;
    size_t capacity;
    struct nvdp__param *entry;
    size_t total; /* floats, padding between tensors included */
    float *value; /* [total] */
    float *grad;  /* [total], NULL for inference */
};

void nvdp__params_init(struct nvdp__params *params, struct nvdp_context *ctx);
void nvdp__params_release(struct nvdp__params *params);
/* Declares a tensor; *index addresses it from now on. rank 1 (cols ignored) or 2. */
nvdp_status nvdp__params_add(struct nvdp__params *params, const char *name, int rank, size_t rows,
                             size_t cols, unsigned flags, size_t *index);
/* After all declarations. */
nvdp_status nvdp__params_allocate(struct nvdp__params *params, bool with_grad);
/* SIZE_MAX where there is none. */
size_t nvdp__params_find(const struct nvdp__params *params, const char *name);
float *nvdp__value(const struct nvdp__params *params, size_t index);
float *nvdp__grad(const struct nvdp__params *params, size_t index);

/* Initial values. */
void nvdp__params_fill(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                       float value);
/* Normal(0, sd), a stream of its own a tensor, keyed by (seed, name): independent of the other
 * tensors. */
void nvdp__params_normal(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                         double sd, uint64_t seed);
size_t nvdp__params_trainable(const struct nvdp__params *params); /* real elements, no padding */

#endif
