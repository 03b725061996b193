/* GELU over operands.  In bfloat16 each element is widened, computed in float32 and rounded. */
#include "tensor/operand_access.h"

#include "tensor/gelu.h"

NVDP__CLONES
static void gelu_halves(size_t n, const nvdp__bf16 *x, nvdp__bf16 *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_from_float(nvdp__gelu(nvdp__bfloat16_to_float(x[i])));
}

NVDP__CLONES
static void gelu_new_halves(size_t n, const nvdp__bf16 *x, nvdp__bf16 *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_from_float(nvdp__gelu_new(nvdp__bfloat16_to_float(x[i])));
}

NVDP__CLONES
static void gelu_halves_backward(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy,
                                 nvdp__bf16 *dx, nvdp__bf16 *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float u = nvdp__bfloat16_to_float(x[i]);
        float slope;
        float value = nvdp__gelu_and_slope(u, &slope);
        dx[i] = nvdp__bfloat16_from_float(nvdp__bfloat16_to_float(dy[i]) * slope);
        y[i] = nvdp__bfloat16_from_float(value);
    }
}

NVDP__CLONES
static void gelu_new_halves_backward(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy,
                                     nvdp__bf16 *dx, nvdp__bf16 *y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float u = nvdp__bfloat16_to_float(x[i]);
        float slope;
        float value = nvdp__gelu_new_and_slope(u, &slope);
        dx[i] = nvdp__bfloat16_from_float(nvdp__bfloat16_to_float(dy[i]) * slope);
        y[i] = nvdp__bfloat16_from_float(value);
    }
}

void nvdp__operand_act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                               const nvdp__operand *x, nvdp__operand *y) {
    if (dev->half == NULL) {
        nvdp__act_forward(dev, act, n, nvdp__op_f32(x), nvdp__op_f32_out(y));
        return;
    }
    const nvdp__bf16 *from = nvdp__op_bf16(x);
    nvdp__bf16 *to = nvdp__op_bf16_out(y);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__BLOCK;
        size_t count = nvdp__block_length(n, NVDP__BLOCK, b);
        if (act == NVDP__ACT_GELU_NEW)
            gelu_new_halves(count, from + at, to + at);
        else
            gelu_halves(count, from + at, to + at);
    }
}

void nvdp__operand_act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                                const nvdp__operand *x, const nvdp__operand *dy, nvdp__operand *dx,
                                nvdp__operand *y) {
    if (dev->half == NULL) {
        nvdp__act_backward(dev, act, n, nvdp__op_f32(x), nvdp__op_f32(dy), nvdp__op_f32_out(dx));
        nvdp__act_forward(dev, act, n, nvdp__op_f32(x), nvdp__op_f32_out(y));
        return;
    }
    const nvdp__bf16 *from = nvdp__op_bf16(x);
    const nvdp__bf16 *slope = nvdp__op_bf16(dy);
    nvdp__bf16 *to = nvdp__op_bf16_out(dx);
    nvdp__bf16 *value = nvdp__op_bf16_out(y);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__BLOCK;
        size_t count = nvdp__block_length(n, NVDP__BLOCK, b);
        if (act == NVDP__ACT_GELU_NEW)
            gelu_new_halves_backward(count, from + at, slope + at, to + at, value + at);
        else
            gelu_halves_backward(count, from + at, slope + at, to + at, value + at);
    }
}
