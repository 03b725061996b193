/* Parameters: one contiguous vector with a name table.  The optimizer, clipping, checkpoints and
 * gradient tests are loops over one vector. */
#ifndef NVDP_SRC_TENSOR_PARAMS_H
#define NVDP_SRC_TENSOR_PARAMS_H

#include "tensor/tensor.h"

enum { NVDP__PARAM_RANK = 2 };

enum nvdp__param_flags {
    NVDP__PARAM_DECAY = 1,    /* weight decay applies (not on biases and LayerNorm) */
    NVDP__PARAM_OPTIONAL = 2, /* initialized with a notice where a checkpoint lacks it */
    NVDP__PARAM_FROZEN = 4,   /* no gradient, no moments, no update */
    NVDP__PARAM_JOINED = 8,   /* follows the tensor before it without padding */
    NVDP__PARAM_SET = 16,     /* each backward pass overwrites its gradient: never zeroed */
    NVDP__PARAM_ROWS = 32,    /* an embedding table: most rows have no gradient in a step */
    NVDP__PARAM_LINEAR = 64   /* the matrix of a linear map */
};

struct nvdp__param {
    char name[120]; /* Hugging Face's name, such as "bert.encoder.layer.0.output.dense.bias" */
    int rank;
    size_t shape[NVDP__PARAM_RANK];
    size_t offset; /* floats from the start of the vector, multiple of 16 unless joined */
    size_t count;
    unsigned flags;
};

struct nvdp__params {
    struct nvdp_context *ctx;
    size_t count;
    size_t capacity;
    struct nvdp__param *entry;
    size_t end;                /* floats, of the last tensor declared */
    size_t total;              /* floats, padding between tensors included */
    float *value;              /* [total] */
    float *grad;               /* [total], NULL for inference */
    struct nvdp__row_use *use; /* of the first NVDP__PARAM_ROWS table; NULL: none, or inference */
    /* Told during a backward pass that the gradients from grad[from] on are complete; NULL: nobody. */
    void (*complete)(void *user, size_t from);
    void *complete_user;
};

/* Rows of an embedding table that have a gradient.  AdamW leaves the moments of a row that never
 * had one at zero, so that only its decay needs doing: the same bits at a fraction of the traffic.
 */
struct nvdp__row_use {
    size_t table;     /* index in the parameters */
    bool tracked;     /* since nvdp__grad_begin: the lists below hold */
    bool all;         /* every row has a gradient in this step */
    size_t count;     /* rows in `row` */
    int32_t *row;     /* [rows of the table] with a gradient in this step, each once */
    bool *now, *ever; /* [rows of the table] in this step; in any step */
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
float *nvdp__grad(const struct nvdp__params *params, size_t index); /* NULL: none, or frozen */

/* Begins a step's gradients: zero where backward passes add, nothing done where they set
 * (NVDP__PARAM_SET) or where there are none (frozen), and only the rows used last where rows are
 * tracked. */
void nvdp__grad_begin(const struct nvdp__device *dev, struct nvdp__params *params);
/* Rows `index` [n] of the tracked table get a gradient in this step; index NULL: all do.  To be
 * called before the gradient is written, where nvdp__grad_begin was. */
void nvdp__grad_rows(const struct nvdp__params *params, size_t n, const int32_t *index);

/* For backward passes: the gradients of this tensor and of all that were declared after it are complete. */
static inline void nvdp__grad_complete(const struct nvdp__params *params, size_t index) {
    if (params->complete != NULL)
        params->complete(params->complete_user, params->entry[index].offset);
}

/* Initial values. */
void nvdp__params_fill(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                       float value);
/* Elements [first, first + n) of it. */
void nvdp__params_fill_part(const struct nvdp__device *dev, struct nvdp__params *params,
                            size_t index, size_t first, size_t n, float value);
/* Normal(0, sd), a stream of its own a tensor, keyed by (seed, name): independent of the other
 * tensors. */
void nvdp__params_normal(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                         double sd, uint64_t seed);
/* Floats of the vector before the first tensor that is trained: the frozen part of an encoder. */
size_t nvdp__params_frozen(const struct nvdp__params *params);
size_t nvdp__params_trainable(const struct nvdp__params *params); /* real elements, no padding */

#endif
