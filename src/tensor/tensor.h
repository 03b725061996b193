/* Tensors, the device of tensors, the arena from which the tensors of a step are allocated, and
 * parameters.
 *
 * Tensor memory belongs to a device. Code above src/tensor/ makes views of it and passes them
 * on; it reads and writes elements only through operations (ops.h) and nvdp__upload /
 * nvdp__download. Index arrays (int32_t *) are host memory. */
#ifndef NVDP_SRC_TENSOR_TENSOR_H
#define NVDP_SRC_TENSOR_TENSOR_H

#include "base/array.h"
#include "base/base.h"
#include <nvdp/precision.h>

struct nvdp__bf16_engine;
struct nvdp__int8;
struct nvdp__rowwise;
struct nvdp__linear;
struct nvdp__per_example;

/* The kernels for the bfloat16 products of attention (bf16.h): AVX512_BF16 instructions, plain C
 * if the processor lacks these instructions, or AMX. */
enum nvdp__bf16_unit { NVDP__BF16_VECTORS, NVDP__BF16_PLAIN, NVDP__BF16_TILES };

/* The CPU, with a number of threads. */
struct nvdp__device {
    struct nvdp_context *ctx;
    int threads;
    /* engine for products in bfloat16 (bf16.h); NULL if products are in float32 */
    struct nvdp__bf16_engine *bf16;
    /* int8 for the encoder's dense layers in the forward pass (int8.h); NULL if int8 is off */
    struct nvdp__int8 *int8;
    enum nvdp__bf16_unit unit; /* for the bfloat16 products of bf16_product.c */
    /* Dense layers whose rows do not depend on each other, in the forward pass (ops.h); NULL for
     * the fastest layers. */
    struct nvdp__rowwise *rowwise;
    /* Records of the gradients of each text of a batch (per_example.h); NULL if gradients are
     * for the whole batch. */
    struct nvdp__per_example *per_example;
};

/* Returns a float32 device regardless of the context's precision, for small models. The device
 * needs no release. */
struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx);
/* Creates a device in the context's precision. If bf16 is not available, falls back to float32
 * with a notice. If int8 is not available, fails with NVDP_ERR_UNSUPPORTED. Under int8, the
 * other operations use bf16 if available, else float32 without a notice. */
nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev);
/* Creates a lane: a device for one of several concurrent threads that shares the weight copies
 * of `dev`. Release the lane before `dev`. The status of `dev` includes the failures of the
 * lane. */
nvdp_status nvdp__device_lane(const struct nvdp__device *dev, struct nvdp__device *lane);
void nvdp__device_without_bf16(struct nvdp__device *dev);
void nvdp__device_release(struct nvdp__device *dev); /* accepts a device of zeros */
/* the precision in use */
enum nvdp_precision nvdp__device_precision(const struct nvdp__device *dev);
/* Tells the device that parameters were written, so that prepared copies of weights are made
 * again. */
void nvdp__weights_changed(const struct nvdp__device *dev);
/* Returns the first failure since the device was created, because operations return no status:
 * the library for bfloat16 products ran out of memory. To be checked at the end of a pass. */
nvdp_status nvdp__device_status(const struct nvdp__device *dev);

/* Sets the number of OpenMP threads of the calling thread, which the libraries that this library
 * calls use. To be called around calls of these libraries. Returns the previous number, for
 * nvdp__threads_restore(). Inside a parallel region, where products take one thread, nothing
 * changes. */
int nvdp__threads_set(int threads);
void nvdp__threads_restore(int before);

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor);
void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host);

/* ---- tensors ---- */

enum nvdp__type { NVDP__F32, NVDP__BF16 };

/* A view of a matrix, passed by value; `data` is NULL if it is no tensor. Operands of matrix
 * products have room for nvdp__padded_rows(rows) rows, and operations may overwrite the rows
 * past `rows`. */
struct nvdp__tensor {
    enum nvdp__type type;
    size_t rows, cols;
    size_t stride; /* elements from row to row, at least cols */
    void *data;
};
#define NVDP__NO_TENSOR ((struct nvdp__tensor){0})

/* Returns a contiguous view [rows, cols]. */
struct nvdp__tensor nvdp__f32(size_t rows, size_t cols, const float *data);
bool nvdp__is_tensor(struct nvdp__tensor x);
/* Returns the first `rows` rows: a batch in memory that was planned for the largest batch. */
struct nvdp__tensor nvdp__with_rows(struct nvdp__tensor x, size_t rows);
/* Return rows [first, first + rows), or columns [first, first + cols). */
struct nvdp__tensor nvdp__row_slice(struct nvdp__tensor x, size_t first, size_t rows);
struct nvdp__tensor nvdp__col_slice(struct nvdp__tensor x, size_t first, size_t cols);

/* Flags of a product: the operands that are read transposed. */
enum nvdp__gemm_flags { NVDP__AS_STORED = 0, NVDP__TRANSPOSE_A = 1, NVDP__TRANSPOSE_B = 2 };

/* Returns the number of rows that products compute: whole blocks on a bfloat16 device. */
size_t nvdp__padded_rows(const struct nvdp__device *dev, size_t rows);
/* Returns the type of activations that products of this device read and write fastest. */
static inline enum nvdp__type nvdp__product_type(const struct nvdp__device *dev) {
    return dev->bf16 != NULL ? NVDP__BF16 : NVDP__F32;
}
/* Converts x to the type of y; does nothing if x and y share memory. */
void nvdp__convert(const struct nvdp__device *dev, struct nvdp__tensor x, struct nvdp__tensor y);

/* ---- arena: a step's activations ---- */

/* Memory for a step. Plan with base NULL, which only counts; then allocate; then plan again,
 * which assigns memory. */
struct nvdp__arena {
    float *base;
    size_t used;       /* floats taken so far */
    size_t capacity;   /* floats, including the scratch memory of the dense layers */
    size_t scratch[2]; /* floats that nvdp__dense_plan() requested: for inputs, for gradients */
};

/* Takes n floats, 64-byte aligned. Returns NULL while counting, and past the end, which
 * nvdp__arena_check() reports. */
float *nvdp__arena_take(struct nvdp__arena *arena, size_t n);
/* Takes several arrays of float or int32_t, given as {&pointer, items}. */
#define NVDP__TAKE(arena, ...)                                                                     \
    nvdp__arena_take_parts(arena, (const struct nvdp__arena_part[]){__VA_ARGS__},                  \
                           sizeof((const struct nvdp__arena_part[]){__VA_ARGS__}) /                \
                               sizeof(struct nvdp__arena_part))
struct nvdp__arena_part {
    void *pointer; /* the address of the pointer */
    size_t items;
};
void nvdp__arena_take_parts(struct nvdp__arena *arena, const struct nvdp__arena_part *part,
                            size_t parts);
/* Takes a tensor [rows, cols] of a type, with padded rows. */
struct nvdp__tensor nvdp__arena_tensor(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                       enum nvdp__type type, size_t rows, size_t cols);
/* Returns the total of floats taken, including scratch memory. */
size_t nvdp__arena_floats(const struct nvdp__arena *arena);
/* Allocates the floats that were taken and rewinds, so that the plan can be repeated. */
nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena);
/* Checks the arena after the second plan. Fails with NVDP_ERR_STATE if the second plan took more
 * than the first; the step must not run then. */
nvdp_status nvdp__arena_check(struct nvdp_context *ctx, const struct nvdp__arena *arena);
void nvdp__arena_release(struct nvdp__arena *arena);

/* ==== parameters (params.c) ==== */

/* The parameters: one contiguous vector with a name table. The optimizer, clipping, checkpoints
 * and gradient tests are loops over this vector. */

enum { NVDP__PARAM_RANK = 2 };

enum nvdp__param_flags {
    NVDP__PARAM_DECAY = 1,    /* weight decay applies (not set for biases and LayerNorm) */
    NVDP__PARAM_OPTIONAL = 2, /* initialized, with a notice, if a checkpoint lacks the tensor */
    NVDP__PARAM_FROZEN = 4,   /* no gradient, no moments, no update */
    NVDP__PARAM_JOINED = 8,   /* follows the previous tensor without padding */
    NVDP__PARAM_SET = 16,    /* each backward pass overwrites the gradient, which is never zeroed */
    NVDP__PARAM_ROWS = 32,   /* an embedding table: most rows have no gradient in a step */
    NVDP__PARAM_LINEAR = 64, /* the matrix of a linear map */
    NVDP__PARAM_SHARED = 128 /* a small tensor that several layers read (per_example.h) */
};

struct nvdp__param {
    /* name in Hugging Face checkpoints, such as "bert.encoder.layer.0.output.dense.bias" */
    char name[120];
    int rank;
    size_t shape[NVDP__PARAM_RANK];
    size_t offset; /* floats from the start of the vector; a multiple of 16 unless joined */
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
    float *value; /* [total] values of the parameters */
    float *grad;  /* [total] gradients of the parameters; NULL for inference */
    /* use of the first NVDP__PARAM_ROWS table; NULL if there is no such table, or for inference */
    struct nvdp__row_use *use;
    /* Called during a backward pass when the gradients from grad[from] on are complete; NULL if
     * no call is wanted. */
    void (*complete)(void *user, size_t from);
    void *complete_user;
};

/* The rows of an embedding table that have a gradient. AdamW leaves the moments of a row that
 * never had a gradient at zero, so only the decay of such a row is computed. The bits are the
 * same, with a fraction of the memory traffic. */
struct nvdp__row_use {
    struct nvdp__memory memory; /* owner of the arrays */
    size_t table;               /* index of the table in the parameters */
    bool tracked;               /* set by nvdp__grad_begin(): true if the lists below are valid */
    bool all;                   /* true if every row has a gradient in this step */
    size_t count;               /* number of rows in `row` */
    int32_t *row; /* [rows of the table] the rows with a gradient in this step, each once */
    /* [rows of the table] true if the row has a gradient in this step; in any step so far */
    bool *now, *ever;
};

void nvdp__params_init(struct nvdp__params *params, struct nvdp_context *ctx);
void nvdp__params_release(struct nvdp__params *params);
/* Declares a tensor; *index receives its index. rank is 1 (cols is ignored) or 2. */
nvdp_status nvdp__params_add(struct nvdp__params *params, const char *name, int rank, size_t rows,
                             size_t cols, unsigned flags, size_t *index);
/* Allocates the vector, after all declarations. */
nvdp_status nvdp__params_allocate(struct nvdp__params *params, bool with_grad);
/* Returns the index of a tensor; SIZE_MAX if there is no such tensor. */
size_t nvdp__params_find(const struct nvdp__params *params, const char *name);
float *nvdp__value(const struct nvdp__params *params, size_t index);
/* returns NULL if there are no gradients or the tensor is frozen */
float *nvdp__grad(const struct nvdp__params *params, size_t index);

/* Begins the gradients of a step. Zeroes the gradients that backward passes add to; skips
 * gradients that they set (NVDP__PARAM_SET) and frozen tensors. In a table with tracked rows,
 * zeroes only the rows that were used last. */
void nvdp__grad_begin(const struct nvdp__device *dev, struct nvdp__params *params);
/* Marks rows `index` [n] of the tracked table as having a gradient in this step; index NULL
 * stands for all rows. To be called after nvdp__grad_begin() and before the gradient is written. */
void nvdp__grad_rows(const struct nvdp__params *params, size_t n, const int32_t *index);

/* Reports that the gradients of this tensor and of all later tensors are complete. Backward
 * passes call this. */
static inline void nvdp__grad_complete(const struct nvdp__params *params, size_t index) {
    if (params->complete != NULL)
        params->complete(params->complete_user, params->entry[index].offset);
}

/* Initial values: fills a tensor with one number. */
void nvdp__params_fill(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                       float value);
/* Fills elements [first, first + n). */
void nvdp__params_fill_part(const struct nvdp__device *dev, struct nvdp__params *params,
                            size_t index, size_t first, size_t n, float value);
/* Draws from Normal(0, sd). Each tensor has a separate stream, keyed by (seed, name), so the
 * values do not depend on the other tensors. */
void nvdp__params_normal(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                         double sd, uint64_t seed);
/* Returns the floats before the first trained tensor: the frozen part of an encoder. */
size_t nvdp__params_frozen(const struct nvdp__params *params);
/* number of trained elements, without padding */
size_t nvdp__params_trainable(const struct nvdp__params *params);

#endif
