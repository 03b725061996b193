/* The device that tensor operations run on: the CPU, with a number of threads.
 *
 * Tensor memory (float *) belongs to a device: code above src/tensor/ passes these pointers on and
 * adds whole-element offsets to them, but reads and writes them only through operations and
 * nvdp__upload / nvdp__download.  Index tables (int32_t *) are host memory. */
#ifndef NVDP_SRC_TENSOR_DEVICE_H
#define NVDP_SRC_TENSOR_DEVICE_H

#include "base/base.h"
#include <nvdp/precision.h>

struct nvdp__half;
struct nvdp__rowwise;

struct nvdp__device {
    struct nvdp_context *ctx;
    int threads;
    bool reference;          /* plain reference kernels instead of the fast ones */
    struct nvdp__half *half; /* products in bfloat16 (half.h); NULL: in float32 */
    /* Dense layers forward whose rows do not depend on each other (rowwise.h); NULL: the fastest.
     */
    struct nvdp__rowwise *rowwise;
};

/* Float32, whatever the context's precision: for small models. Nothing to release. */
struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx);
/* In the context's precision; where that is not to be had, float32 and a notice. */
nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev);
void nvdp__device_release(struct nvdp__device *dev); /* also one that is all zeros */
/* To be called after parameters were written: prepared copies of weights are made again. */
void nvdp__weights_changed(const struct nvdp__device *dev);
/* Operations do not fail one by one.  This tells whether one has since the device was made, for the
 * end of a pass: out of memory in the library behind bfloat16 products. */
nvdp_status nvdp__device_status(const struct nvdp__device *dev);

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor);
void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host);

/* Arena: a step's activations.  Plan with base NULL (only counts), allocate, plan again (carves).
 */
struct nvdp__arena {
    float *base;
    size_t used;     /* floats */
    size_t capacity; /* floats */
};

/* n floats, 64-byte aligned; NULL while measuring.  Never fails: the second plan repeats the first.
 */
float *nvdp__arena_take(struct nvdp__arena *arena, size_t n);
/* Allocates arena->used floats and rewinds, so that the plan can be repeated. */
nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena);
void nvdp__arena_release(struct nvdp__arena *arena);

#endif
