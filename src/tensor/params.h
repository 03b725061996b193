/* Parameters: one contiguous vector with a name table. The optimizer, clipping, checkpoints and
 * gradient tests are loops over one vector. */
#ifndef NVDP_SRC_TENSOR_PARAMS_H
#define NVDP_SRC_TENSOR_PARAMS_H

#include "tensor/tensor.h"

enum { NVDP__PARAM_RANK = 2 };

enum nvdp__param_flags {
    NVDP__PARAM_DECAY = 1,    /* weight decay applies (not to biases and LayerNorm) */
    NVDP__PARAM_OPTIONAL = 2, /* initialized, with a notice, if a checkpoint lacks it */
    NVDP__PARAM_FROZEN = 4,   /* no gradient, no moments, no update */
    NVDP__PARAM_JOINED = 8,   /* follows the previous tensor without padding */
    NVDP__PARAM_SET = 16,    /* each backward pass overwrites its gradient, which is never zeroed */
    NVDP__PARAM_ROWS = 32,   /* an embedding table: most rows have no gradient in a step */
    NVDP__PARAM_LINEAR = 64, /* the matrix of a linear map */
    NVDP__PARAM_SHARED = 128 /* a small tensor that several layers read (per_example.h) */
};

struct nvdp__param {
    char name[120]; /* Hugging Face's name, such as "bert.encoder.layer.0.output.dense.bias" */
    int rank;
    size_t shape[NVDP__PARAM_RANK];
    size_t offset; /* floats from the start of the vector, a multiple of 16 unless joined */
    size_t count;
    unsigned flags;
};

struct nvdp__params {
    struct nvdp_context *ctx;
    size_t count;
    size_t capacity;
    struct nvdp__param *entry;
    size_t end;   /* end of the last declared tensor, in floats */
    size_t total; /* floats, including padding between tensors */
    float *value; /* [total] */
    float *grad;  /* [total], NULL for inference */
    /* of the first NVDP__PARAM_ROWS table; NULL: no such table, or inference */
    struct nvdp__row_use *use;
    /* Called during a backward pass when the gradients from grad[from] on are complete; NULL: no
     * call. */
    void (*complete)(void *user, size_t from);
    void *complete_user;
};

/* The rows of an embedding table that have a gradient. AdamW leaves the moments of a row that
 * never had a gradient at zero, so that only its decay must be computed: the same bits with a
 * fraction of the memory traffic. */
struct nvdp__row_use {
    size_t table;     /* index of the table in the parameters */
    bool tracked;     /* set by nvdp__grad_begin: the lists below are valid */
    bool all;         /* every row has a gradient in this step */
    size_t count;     /* number of rows in `row` */
    int32_t *row;     /* [rows of the table] those with a gradient in this step, each once */
    bool *now, *ever; /* [rows of the table] has a gradient in this step; in any step so far */
};

void nvdp__params_init(struct nvdp__params *params, struct nvdp_context *ctx);
void nvdp__params_release(struct nvdp__params *params);
/* Declares a tensor; *index is its index from now on. rank is 1 (cols is ignored) or 2. */
nvdp_status nvdp__params_add(struct nvdp__params *params, const char *name, int rank, size_t rows,
                             size_t cols, unsigned flags, size_t *index);
/* Call after all declarations. */
nvdp_status nvdp__params_allocate(struct nvdp__params *params, bool with_grad);
/* SIZE_MAX if there is no such tensor. */
size_t nvdp__params_find(const struct nvdp__params *params, const char *name);
float *nvdp__value(const struct nvdp__params *params, size_t index);
/* NULL: no gradients, or frozen */
float *nvdp__grad(const struct nvdp__params *params, size_t index);

/* Begins the gradients of a step. Zeroes those that backward passes add to; skips those that
 * they set (NVDP__PARAM_SET) and frozen ones. In a table with tracked rows, zeroes only the rows
 * used last. */
void nvdp__grad_begin(const struct nvdp__device *dev, struct nvdp__params *params);
/* Marks rows `index` [n] of the tracked table as having a gradient in this step; index NULL: all
 * rows. Call it after nvdp__grad_begin and before the gradient is written. */
void nvdp__grad_rows(const struct nvdp__params *params, size_t n, const int32_t *index);

/* Backward passes call this when the gradients of this tensor and of all later ones are
 * complete. */
static inline void nvdp__grad_complete(const struct nvdp__params *params, size_t index) {
    if (params->complete != NULL)
        params->complete(params->complete_user, params->entry[index].offset);
}

/* Initial values. */
void nvdp__params_fill(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                       float value);
/* Fills elements [first, first + n). */
void nvdp__params_fill_part(const struct nvdp__device *dev, struct nvdp__params *params,
                            size_t index, size_t first, size_t n, float value);
/* Draws from Normal(0, sd). Each tensor has its own stream, keyed by (seed, name), so it does
 * not depend on the other tensors. */
void nvdp__params_normal(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                         double sd, uint64_t seed);
/* Floats before the first trained tensor: the frozen part of an encoder. */
size_t nvdp__params_frozen(const struct nvdp__params *params);
size_t nvdp__params_trainable(const struct nvdp__params *params); /* elements without padding */

#endif
