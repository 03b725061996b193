/* Tensors, their device, and the arena from which the tensors of a step are allocated.
 *
 * Tensor memory belongs to a device. Code above src/tensor/ makes views of it and passes them
 * on; it reads and writes elements only through operations (ops.h) and nvdp__upload /
 * nvdp__download. Index arrays (int32_t *) are host memory. */
#ifndef NVDP_SRC_TENSOR_TENSOR_H
#define NVDP_SRC_TENSOR_TENSOR_H

#include "base/base.h"
#include <nvdp/precision.h>

struct nvdp__bf16_engine;
struct nvdp__int8;
struct nvdp__rowwise;
struct nvdp__linear;
struct nvdp__per_example;

/* Kernels of the bfloat16 products of attention (bf16.h): by AVX512_BF16 instructions, by
 * plain C if the processor lacks them, or by AMX. */
enum nvdp__bf16_unit { NVDP__BF16_VECTORS, NVDP__BF16_PLAIN, NVDP__BF16_TILES };

/* The CPU, with a number of threads. */
struct nvdp__device {
    struct nvdp_context *ctx;
    int threads;
    struct nvdp__bf16_engine *bf16; /* products in bfloat16 (bf16.h); NULL: in float32 */
    struct nvdp__int8 *int8; /* int8 for the encoder's dense layers, forward (int8.h); NULL: off */
    enum nvdp__bf16_unit unit; /* for our own bfloat16 products */
    /* Dense layers whose rows do not depend on each other, forward (ops.h); NULL: the fastest
     * layers. */
    struct nvdp__rowwise *rowwise;
    /* Parameter gradients for each text of a batch (per_example.h); NULL: for the whole batch. */
    struct nvdp__per_example *per_example;
};

/* A float32 device regardless of the context's precision, for small models. Needs no release. */
struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx);
/* Creates a device in the context's precision. If bf16 is not available, falls back to float32
 * with a notice. If int8 is not available, fails with NVDP_ERR_UNSUPPORTED. Under int8, the
 * other operations use bf16 if available, else float32 without a notice. */
nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev);
/* Creates a lane: a device for one of several concurrent threads that shares the weight copies
 * of dev. Release it before dev. The status of dev includes its failures. */
nvdp_status nvdp__device_lane(const struct nvdp__device *dev, struct nvdp__device *lane);
void nvdp__device_without_bf16(struct nvdp__device *dev);
void nvdp__device_release(struct nvdp__device *dev); /* accepts an all-zero device */
/* the precision in use */
enum nvdp_precision nvdp__device_precision(const struct nvdp__device *dev);
/* Call after writing parameters: prepared copies of weights are then made again. */
void nvdp__weights_changed(const struct nvdp__device *dev);
/* Operations return no status. This one returns the first failure since the device was created
 * (the library for bfloat16 products ran out of memory); check it at the end of a pass. */
nvdp_status nvdp__device_status(const struct nvdp__device *dev);

/* Sets the number of OpenMP threads of the calling thread, which the libraries below use. Call
 * it around calls of these libraries. Returns the previous number for nvdp__threads_restore.
 * Inside a parallel region, where products take one thread, nothing changes. */
int nvdp__threads_set(int threads);
void nvdp__threads_restore(int before);

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor);
void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host);

/* ---- tensors ---- */

enum nvdp__type { NVDP__F32, NVDP__BF16 };

/* A view of a matrix, passed by value; data NULL: no tensor. Operands of matrix products have
 * room for nvdp__padded_rows(rows) rows, and operations may overwrite the rows past `rows`. */
struct nvdp__tensor {
    enum nvdp__type type;
    size_t rows, cols;
    size_t stride; /* elements from row to row, at least cols */
    void *data;
};
#define NVDP__NO_TENSOR ((struct nvdp__tensor){0})

/* A contiguous view [rows, cols]. */
struct nvdp__tensor nvdp__f32(size_t rows, size_t cols, const float *data);
bool nvdp__is_tensor(struct nvdp__tensor x);
/* The first `rows` rows: a batch in memory that was planned for the largest batch. */
struct nvdp__tensor nvdp__with_rows(struct nvdp__tensor x, size_t rows);
/* Rows [first, first + rows), or columns [first, first + cols). */
struct nvdp__tensor nvdp__row_slice(struct nvdp__tensor x, size_t first, size_t rows);
struct nvdp__tensor nvdp__col_slice(struct nvdp__tensor x, size_t first, size_t cols);

/* The number of rows that products compute: whole blocks on a bfloat16 device. */
size_t nvdp__padded_rows(const struct nvdp__device *dev, size_t rows);
/* The type of activations that products of this device read and write fastest. */
static inline enum nvdp__type nvdp__product_type(const struct nvdp__device *dev) {
    return dev->bf16 != NULL ? NVDP__BF16 : NVDP__F32;
}
/* y = x in y's type; does nothing if x and y share memory. */
void nvdp__convert(const struct nvdp__device *dev, struct nvdp__tensor x, struct nvdp__tensor y);

/* ---- arena: a step's activations ---- */

/* Plan with base NULL (counts only), allocate, then plan again (assigns memory). */
struct nvdp__arena {
    float *base;
    size_t used;       /* floats */
    size_t capacity;   /* floats, including the scratch memory of the dense layers */
    size_t scratch[2]; /* floats requested by nvdp__dense_plan: inputs, gradients */
};

/* Takes n floats, 64-byte aligned. NULL while counting and past the end, which nvdp__arena_check
 * reports. */
float *nvdp__arena_take(struct nvdp__arena *arena, size_t n);
/* Takes a tensor [rows, cols] of a type, with padded rows. */
struct nvdp__tensor nvdp__arena_tensor(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                       enum nvdp__type type, size_t rows, size_t cols);
/* Total floats taken, including scratch memory. */
size_t nvdp__arena_floats(const struct nvdp__arena *arena);
/* Allocates these floats and rewinds, so that the plan can be repeated. */
nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena);
/* Call after the second plan. NVDP_ERR_STATE if it took more than the first; the step must not
 * run then. */
nvdp_status nvdp__arena_check(struct nvdp_context *ctx, const struct nvdp__arena *arena);
void nvdp__arena_release(struct nvdp__arena *arena);

#endif
