/* Rotary position embeddings (Su et al. 2021): a query at position m and a key at position n, each
 * turned by its position's angles, have a product that depends on n - m only.
 *
 *     angle(p, i) = p theta^(-2i/h),  0 <= i < h/2
 *     y_i         = x_i cos - x_(i+h/2) sin
 *     y_(i+h/2)   = x_(i+h/2) cos + x_i sin
 *
 * A rotation's gradient is the inverse rotation. Frequencies and angles are rounded to float32, as
 * in transformers, whose checkpoints were trained with them. bfloat16 is turned in float32. */
#include "tensor/kernels.h"

/* The loop over one head; READ and WRITE turn elements into floats and back. */
#define ROTATE_HEAD(name, type, READ, WRITE)                                                       \
    NVDP__CLONES                                                                                   \
    static void name(size_t half, float sign, const float *restrict cosine,                        \
                     const float *restrict sine, type *restrict x, type *restrict y) {             \
        for (size_t i = 0; i < half; i++) {                                                        \
            const float a = READ(x[i]), b = READ(y[i]), s = sign * sine[i];                        \
            x[i] = WRITE(a * cosine[i] - b * s);                                                   \
            y[i] = WRITE(b * cosine[i] + a * s);                                                   \
        }                                                                                          \
    }
ROTATE_HEAD(rotate_head, float, , )
ROTATE_HEAD(rotate_head_bf16, nvdp__bf16, nvdp__bfloat16_to_float, nvdp__bfloat16_from_float)

static void rotate(const struct nvdp__device *dev, size_t heads, const int32_t *position,
                   const float *cosine, const float *sine, struct nvdp__tensor x, float sign) {
    const size_t half = x.cols / heads / 2;
    const int team = nvdp__team(dev, x.rows * x.cols);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < x.rows; r++) {
        const size_t at = (size_t)position[r] * half;
        for (size_t h = 0; h < heads; h++) {
            const size_t from = r * x.stride + h * 2 * half;
            float *head = (float *)x.data + from;
            nvdp__bf16 *rounded = (nvdp__bf16 *)x.data + from;
            if (x.type == NVDP__F32)
                rotate_head(half, sign, cosine + at, sine + at, head, head + half);
            else
                rotate_head_bf16(half, sign, cosine + at, sine + at, rounded, rounded + half);
        }
    }
}

void nvdp__rotate(const struct nvdp__device *dev, size_t heads, const int32_t *position,
                  const float *cosine, const float *sine, struct nvdp__tensor x) {
    rotate(dev, heads, position, cosine, sine, x, 1);
}

void nvdp__rotate_backward(const struct nvdp__device *dev, size_t heads, const int32_t *position,
                           const float *cosine, const float *sine, struct nvdp__tensor dx) {
    rotate(dev, heads, position, cosine, sine, dx, -1);
}

void nvdp__rotary_fill(size_t positions, size_t head_dim, double theta, float *cosine,
                       float *sine) {
    const size_t half = head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        const float frequency =
            1.0f / (float)pow(theta, (double)((float)(2 * i) / (float)head_dim));
        for (size_t p = 0; p < positions; p++) {
            const double angle = (double)((float)p * frequency);
            cosine[p * half + i] = (float)cos(angle);
            sine[p * half + i] = (float)sin(angle);
        }
    }
}
