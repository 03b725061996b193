/* Tensors, the device they are on, and the arena that a step's tensors are carved from.
 *
 * Tensor memory belongs to a device: code above src/tensor/ makes views of it and passes them on,
 * but reads and writes elements only through operations (ops.h) and nvdp__upload / nvdp__download.
 * Index tables (int32_t *) are host memory. */
#ifndef NVDP_SRC_TENSOR_TENSOR_H
#define NVDP_SRC_TENSOR_TENSOR_H

#include "base/base.h"
#include <nvdp/precision.h>

struct nvdp__bf16_engine;
struct nvdp__int8;
struct nvdp__rowwise;
struct nvdp__linear;
struct nvdp__per_example;

/* What computes attention's products of bfloat16 (bf16.h): AVX512_BF16; C, where the processor lacks the
 * instructions; AMX. */
enum nvdp__bf16_unit { NVDP__BF16_VECTORS, NVDP__BF16_PLAIN, NVDP__BF16_TILES };

/* The CPU, with a number of threads. */
struct nvdp__device {
    struct nvdp_context *ctx;
    int threads;
    struct nvdp__bf16_engine *bf16; /* products in bfloat16 (bf16.h); NULL: in float32 */
    struct nvdp__int8 *int8;   /* the encoder's dense layers forward in int8 (int8.h); NULL: not */
    enum nvdp__bf16_unit unit; /* of our own bfloat16 products */
    /* Dense layers forward whose rows do not depend on each other (ops.h); NULL: the fastest. */
    struct nvdp__rowwise *rowwise;
    /* Gradients of parameters for each text of a batch alone (per_example.h); NULL: of all together. */
    struct nvdp__per_example *per_example;
};

/* Float32, whatever the context's precision: for small models. Nothing to release. */
struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx);
/* In the context's precision.  Where bf16 is not to be had, float32 and a notice; where int8 is not,
 * NVDP_ERR_UNSUPPORTED: what it leaves to others is bf16, or float32 without a notice. */
nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev);
/* For one thread beside others, each with a lane of its own: dev's copies of weights, to be released before dev. Its
 * failures are dev's. */
nvdp_status nvdp__device_lane(const struct nvdp__device *dev, struct nvdp__device *lane);
void nvdp__device_without_bf16(struct nvdp__device *dev);
void nvdp__device_release(struct nvdp__device *dev); /* also one that is all zeros */
enum nvdp_precision nvdp__device_precision(const struct nvdp__device *dev); /* in force */
/* To be called after parameters were written: prepared copies of weights are made again. */
void nvdp__weights_changed(const struct nvdp__device *dev);
/* Operations do not fail one by one.  This tells whether one has since the device was made, for the
 * end of a pass: out of memory in the library behind bfloat16 products. */
nvdp_status nvdp__device_status(const struct nvdp__device *dev);

/* The libraries below take as many threads as OpenMP says on the calling thread, which is the
 * caller's to set.  Around calls of theirs it is `threads`; returns what it was, for
 * nvdp__threads_restore.  Inside a parallel region, where products take one thread, nothing
 * changes. */
int nvdp__threads_set(int threads);
void nvdp__threads_restore(int before);

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor);
void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host);

/* ---- tensors ---- */

enum nvdp__type { NVDP__F32, NVDP__BF16 };

/* A view of a matrix, passed by value; data NULL: none.  What matrix products write or read has
 * room for nvdp__padded_rows(rows) rows, and operations may overwrite those past `rows`. */
struct nvdp__tensor {
    enum nvdp__type type;
    size_t rows, cols;
    size_t stride; /* elements from row to row, at least cols */
    void *data;
};
#define NVDP__NO_TENSOR ((struct nvdp__tensor){0})

/* [rows, cols] end to end. */
struct nvdp__tensor nvdp__f32(size_t rows, size_t cols, const float *data);
bool nvdp__is_tensor(struct nvdp__tensor x);
/* The first `rows` rows: of a batch in what was planned for the largest. */
struct nvdp__tensor nvdp__with_rows(struct nvdp__tensor x, size_t rows);
/* Rows [first, first + rows), and columns [first, first + cols). */
struct nvdp__tensor nvdp__row_slice(struct nvdp__tensor x, size_t first, size_t rows);
struct nvdp__tensor nvdp__col_slice(struct nvdp__tensor x, size_t first, size_t cols);

/* What products make of a number of rows: on a bfloat16 device whole blocks. */
size_t nvdp__padded_rows(const struct nvdp__device *dev, size_t rows);
/* What products of this device read best, and what they leave float32: the type of activations. */
static inline enum nvdp__type nvdp__product_type(const struct nvdp__device *dev) {
    return dev->bf16 != NULL ? NVDP__BF16 : NVDP__F32;
}
/* y = x in y's type; nothing to do where they are one memory. */
void nvdp__convert(const struct nvdp__device *dev, struct nvdp__tensor x, struct nvdp__tensor y);

/* ---- arena: a step's activations ---- */

/* Plan with base NULL (only counts), allocate, plan again (carves). */
struct nvdp__arena {
    float *base;
    size_t used;       /* floats */
    size_t capacity;   /* floats, the dense layers' scratch included */
    size_t scratch[2]; /* floats wanted by nvdp__dense_plan: inputs, gradients */
};

/* n floats, 64-byte aligned; NULL while measuring, and past the end, which nvdp__arena_check tells. */
float *nvdp__arena_take(struct nvdp__arena *arena, size_t n);
/* [rows, cols] of a type, with padded rows. */
struct nvdp__tensor nvdp__arena_tensor(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                       enum nvdp__type type, size_t rows, size_t cols);
/* Floats that it takes in all. */
size_t nvdp__arena_floats(const struct nvdp__arena *arena);
/* Allocates them and rewinds, so that the plan can be repeated. */
nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena);
/* After the second plan: NVDP_ERR_STATE where it took more than the first, and the step must not run. */
nvdp_status nvdp__arena_check(struct nvdp_context *ctx, const struct nvdp__arena *arena);
void nvdp__arena_release(struct nvdp__arena *arena);

#endif
