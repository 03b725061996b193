#include "tensor/operand_access.h"

#include "tensor/half.h"

size_t nvdp__operand_rows(const struct nvdp__device *dev, size_t rows) {
    return dev->half != NULL ? nvdp__half_rows(rows) : rows;
}

nvdp__operand *nvdp__arena_take_operand(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                        size_t rows, size_t dim) {
    size_t elements = nvdp__operand_rows(dev, rows) * dim;
    return nvdp__f32_op(nvdp__arena_take(arena, dev->half != NULL ? (elements + 1) / 2 : elements));
}

nvdp__operand *nvdp__operand_in(float *memory) {
    return nvdp__f32_op(memory);
}

nvdp__operand *nvdp__arena_take_copy(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                     size_t rows, size_t dim, float *shared) {
    if (dev->half == NULL) return nvdp__f32_op(shared);
    return nvdp__arena_take_operand(arena, dev, rows, dim);
}

nvdp__operand *nvdp__operand_at(const struct nvdp__device *dev, nvdp__operand *x, size_t elements) {
    if (x == NULL) return NULL;
    if (dev->half == NULL) return nvdp__f32_op(nvdp__op_f32_out(x) + elements);
    return (nvdp__operand *)(void *)(nvdp__op_bf16_out(x) + elements);
}

NVDP__CLONES
static void round_block(size_t n, const float *restrict x, nvdp__bf16 *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_from_float(x[i]);
}

NVDP__CLONES
static void widen_block(size_t n, const nvdp__bf16 *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_to_float(x[i]);
}

void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y) {
    round_block(n, x, y);
}

void nvdp__widen_row(size_t n, const nvdp__bf16 *x, float *y) {
    widen_block(n, x, y);
}

void nvdp__to_operand(const struct nvdp__device *dev, size_t n, const float *x, nvdp__operand *y) {
    if (dev->half == NULL) {
        if (nvdp__op_f32(y) != x) nvdp__copy(dev, n, x, nvdp__op_f32_out(y));
        return;
    }
    nvdp__bf16 *to = nvdp__op_bf16_out(y);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++)
        round_block(nvdp__block_length(n, NVDP__BLOCK, b), x + b * NVDP__BLOCK,
                    to + b * NVDP__BLOCK);
}

/* On a float32 device operations do not write to what they read. */
static nvdp__operand *unchanged(const float *x) {
    union {
        const void *read;
        void *given;
    } pointer = {.read = x};
    return pointer.given;
}

nvdp__operand *nvdp__rounded(const struct nvdp__device *dev, size_t n, const float *x,
                             nvdp__operand *room) {
    if (dev->half == NULL) return unchanged(x);
    nvdp__to_operand(dev, n, x, room);
    return room;
}

void nvdp__from_operand(const struct nvdp__device *dev, size_t n, const nvdp__operand *x,
                        float *y) {
    if (dev->half == NULL) {
        if (nvdp__op_f32(x) != y) nvdp__copy(dev, n, nvdp__op_f32(x), y);
        return;
    }
    const nvdp__bf16 *from = nvdp__op_bf16(x);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++)
        widen_block(nvdp__block_length(n, NVDP__BLOCK, b), from + b * NVDP__BLOCK,
                    y + b * NVDP__BLOCK);
}
