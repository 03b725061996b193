/* Dense layers over operands: OpenBLAS in float32 (gemm.c), oneDNN in bfloat16 (half.c). */
#include "tensor/operand_access.h"

#include "tensor/half.h"
#include "tensor/rowwise.h"

static struct nvdp__half_shape shape_of(const struct nvdp__linear *layer) {
    return (struct nvdp__half_shape){layer->rows, layer->in, layer->out};
}

static void forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                    const nvdp__operand *x, const struct nvdp__half_result *y) {
    struct nvdp__half_shape shape = shape_of(layer);
    nvdp__half_forward(dev->half, &shape, nvdp__op_bf16(x), layer->w, layer->b, y);
}

void nvdp__linear_to_operand(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                             const nvdp__operand *x, nvdp__operand *y) {
    if (dev->half == NULL) {
        nvdp__linear_to_float(dev, layer, x, nvdp__op_f32_out(y));
        return;
    }
    forward(dev, layer, x, &(struct nvdp__half_result){.half = nvdp__op_bf16_out(y)});
}

void nvdp__linear_to_float(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                           const nvdp__operand *x, float *y) {
    if (dev->rowwise != NULL) {
        nvdp__rowwise_linear(dev, layer->rows, layer->in, layer->out, nvdp__op_f32(x), layer->w,
                             layer->b, y);
        return;
    }
    if (dev->half == NULL) {
        nvdp__linear_forward(dev, layer->rows, layer->in, layer->out, nvdp__op_f32(x), layer->w,
                             layer->b, y);
        return;
    }
    forward(dev, layer, x, &(struct nvdp__half_result){.single = y});
}

/* Rows summed in float32 before they are added in double, and columns a piece of work. */
enum { ROWS = 64, COLUMNS = 256 };

/* sum += columns of at most ROWS rows. */
NVDP__INLINE void add_rows(size_t rows, size_t stride, size_t count, const nvdp__bf16 *restrict x,
                           double *restrict sum) {
    float part[COLUMNS] = {0};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            part[c] += nvdp__bfloat16_to_float(x[r * stride + c]);
    for (size_t c = 0; c < count; c++)
        sum[c] += (double)part[c];
}

NVDP__CLONES
static void operand_columns(size_t rows, size_t stride, size_t count, const nvdp__bf16 *restrict x,
                            float *restrict to) {
    double sum[COLUMNS] = {0};
    for (size_t r = 0; r < rows; r += ROWS) {
        size_t n = rows - r < ROWS ? rows - r : ROWS;
        if (count == COLUMNS) /* a length the compiler knows */
            add_rows(n, stride, COLUMNS, x + r * stride, sum);
        else
            add_rows(n, stride, count, x + r * stride, sum);
    }
    for (size_t c = 0; c < count; c++)
        to[c] = (float)((double)to[c] + sum[c]);
}

static void bias_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          const nvdp__bf16 *dy) {
    int team = nvdp__team(dev, layer->rows * layer->out);
    size_t blocks = nvdp__blocks(layer->out, COLUMNS);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * COLUMNS;
        operand_columns(layer->rows, layer->out, nvdp__block_length(layer->out, COLUMNS, b),
                        dy + at, layer->db + at);
    }
}

void nvdp__linear_params_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                  nvdp__operand *x, nvdp__operand *dy) {
    if (dev->half == NULL) {
        if (layer->set && layer->dw != NULL)
            nvdp__gemm(dev, true, false, layer->out, layer->in, layer->rows, 1, nvdp__op_f32(dy),
                       layer->out, nvdp__op_f32(x), layer->in, 0, layer->dw, layer->in);
        nvdp__linear_backward(dev, layer->rows, layer->in, layer->out, nvdp__op_f32(x), layer->w,
                              nvdp__op_f32(dy), NULL, false, layer->set ? NULL : layer->dw,
                              layer->db);
        return;
    }
    struct nvdp__half_shape shape = shape_of(layer);
    if (layer->dw != NULL)
        nvdp__half_backward_weight(dev->half, &shape, nvdp__op_bf16_out(x), nvdp__op_bf16_out(dy),
                                   !layer->set, layer->dw);
    if (layer->db != NULL) bias_backward(dev, layer, nvdp__op_bf16(dy));
}

static void backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                     const nvdp__operand *dy, const struct nvdp__half_result *dx) {
    struct nvdp__half_shape shape = shape_of(layer);
    nvdp__half_backward_input(dev->half, &shape, nvdp__op_bf16(dy), layer->w, dx);
}

void nvdp__linear_back_to_operand(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                  const nvdp__operand *dy, nvdp__operand *dx) {
    if (dev->half == NULL) {
        nvdp__linear_back_to_float(dev, layer, dy, false, nvdp__op_f32_out(dx));
        return;
    }
    backward(dev, layer, dy, &(struct nvdp__half_result){.half = nvdp__op_bf16_out(dx)});
}

void nvdp__linear_back_to_float(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                const nvdp__operand *dy, bool add, float *dx) {
    if (dev->half == NULL) {
        nvdp__linear_backward(dev, layer->rows, layer->in, layer->out, NULL, layer->w,
                              nvdp__op_f32(dy), dx, add, NULL, NULL);
        return;
    }
    backward(dev, layer, dy, &(struct nvdp__half_result){.single = dx, .add = add});
}
