/* The objective distill.
 *
 *     x = s/|s| - m,  t = x/|x|                      a public text's embedding s, the center m
 *     v = A x,  M = C v/|v|                          method sentence (sentence.c)
 *     z_k = M + e_k,  e_k ~ N(0, I),  k = 1, 2       two samples of the same text
 *     y_k = G z_k,  u_k = y_k/|y_k|
 *     loss = mean_i -log softmax_j(u_1i . u_2j / tau)_i + w mean_i (1 - (u_1i + u_2i) . t_i / 2)
 *
 * A receiver compares two noised texts, so both sides of the contrastive loss are noised. For directions that carry the
 * power s_k of C^2 = sum s_k, the similarity of two samples keeps a share (s_k/(1 + s_k))^2 of direction k. This share
 * is convex for small s_k. For a small C, the best map therefore gives up all but few directions; principal directions
 * of one fixed width keep all of them.
 *
 * Backwards, with g the gradient of a unit vector u = y/|y|: dy = (g - u (u . g))/|y|. */
#include "nvib/nvib.h"
#include "tensor/ops.h"
#include "vib/vib.h"

#include <math.h>

void nvdp__distill_plan(struct nvdp__distill *step, struct nvdp__arena *arena) {
    const size_t n = step->max_texts, wide = n * step->width, narrow = n * step->dim;
    NVDP__TAKE(arena, {&step->x, wide}, {&step->target, wide}, {&step->mu, narrow},
               {&step->d_mu, narrow}, {&step->length_v, n});
    for (size_t k = 0; k < 2; k++)
        NVDP__TAKE(arena, {&step->e[k], narrow}, {&step->z[k], narrow}, {&step->dz[k], narrow},
                   {&step->u[k], wide}, {&step->du[k], wide}, {&step->length_y[k], n});
    NVDP__TAKE(arena, {&step->logits, n * n}, {&step->label, n});
}

/* Makes the rows unit vectors; a row of zeros stays a row of zeros, with length 1. */
static void normalize(size_t n, size_t dim, const float *from, float *to, float *length) {
    for (size_t i = 0; i < n; i++) {
        const double norm = sqrt(nvdp__dot_f64(dim, from + i * dim, from + i * dim));
        const double by = norm > 0 ? norm : 1;
        for (size_t j = 0; j < dim; j++)
            to[i * dim + j] = (float)(from[i * dim + j] / by);
        if (length != NULL) length[i] = (float)by;
    }
}

/* Turns gradients of unit vectors u, times `scale`, into gradients of the vectors before normalization. */
static void normalize_backward(size_t n, size_t dim, double scale, const float *u,
                               const float *length, float *d) {
    for (size_t i = 0; i < n; i++) {
        const double along = nvdp__dot_f64(dim, u + i * dim, d + i * dim);
        for (size_t j = 0; j < dim; j++)
            d[i * dim + j] = (float)(scale * (d[i * dim + j] - along * u[i * dim + j]) / length[i]);
    }
}

/* Sets mu to the directions v/|v| of the texts' means. */
static void find_means(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                       const float *map) {
    const size_t d = step->width, p = step->dim;
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, nvdp__f32(n, d, step->x), nvdp__f32(p, d, map), 0,
               nvdp__f32(n, p, step->mu));
    normalize(n, p, step->mu, step->mu, step->length_v);
}

/* Draws the samples z_k, and sets u_k to y_k. */
static void draw_and_decode(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                            size_t k, const float *decoder) {
    const size_t d = step->width, p = step->dim;
    for (size_t i = 0; i < n * p; i++)
        step->z[k][i] = (float)(step->clip * step->mu[i] + step->e[k][i]);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, nvdp__f32(n, p, step->z[k]), nvdp__f32(d, p, decoder), 0,
               nvdp__f32(n, d, step->u[k]));
}

const float *nvdp__distill_decode(const struct nvdp__device *dev, struct nvdp__distill *step,
                                  size_t n, const float *map, const float *decoder) {
    find_means(dev, step, n, map);
    draw_and_decode(dev, step, n, 0, decoder);
    return step->u[0];
}

static double forward(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                      const float *map, const float *decoder) {
    const size_t d = step->width;
    double cosine = 0;
    normalize(n, d, step->x, step->target, NULL);
    find_means(dev, step, n, map);
    for (size_t k = 0; k < 2; k++) {
        draw_and_decode(dev, step, n, k, decoder);
        normalize(n, d, step->u[k], step->u[k], step->length_y[k]);
        for (size_t i = 0; i < n; i++)
            cosine += nvdp__dot_f64(d, step->u[k] + i * d, step->target + i * d) / 2;
    }
    nvdp__gemm(dev, (float)(1 / step->temperature), NVDP__TRANSPOSE_B, nvdp__f32(n, d, step->u[0]),
               nvdp__f32(n, d, step->u[1]), 0, nvdp__f32(n, n, step->logits));
    for (size_t i = 0; i < n; i++)
        step->label[i] = (float)i;
    return step->cosine * (1 - cosine / (double)n);
}

static void backward(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                     const float *decoder, float *d_map, float *d_decoder) {
    const size_t d = step->width, p = step->dim;
    const struct nvdp__tensor logits = nvdp__f32(n, n, step->logits);
    for (size_t k = 0; k < 2; k++) {
        float *du = step->du[k];
        nvdp__gemm(dev, (float)(1 / step->temperature),
                   k == 1 ? NVDP__TRANSPOSE_A : NVDP__AS_STORED, logits,
                   nvdp__f32(n, d, step->u[1 - k]), 0, nvdp__f32(n, d, du));
        for (size_t i = 0; i < n * d; i++)
            du[i] -= (float)(step->cosine / 2 / (double)n * step->target[i]);
        normalize_backward(n, d, 1, step->u[k], step->length_y[k], du);
        nvdp__gemm(dev, 1, NVDP__TRANSPOSE_A, nvdp__f32(n, d, du), nvdp__f32(n, p, step->z[k]),
                   k == 0 ? 0 : 1, nvdp__f32(d, p, d_decoder));
        nvdp__gemm(dev, 1, NVDP__AS_STORED, nvdp__f32(n, d, du), nvdp__f32(d, p, decoder), 0,
                   nvdp__f32(n, p, step->dz[k]));
    }
    for (size_t i = 0; i < n * p; i++)
        step->d_mu[i] = step->dz[0][i] + step->dz[1][i];
    normalize_backward(n, p, step->clip, step->mu, step->length_v, step->d_mu);
    nvdp__gemm(dev, 1, NVDP__TRANSPOSE_A, nvdp__f32(n, p, step->d_mu), nvdp__f32(n, d, step->x), 0,
               nvdp__f32(p, d, d_map));
}

double nvdp__distill_step(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                          const float *map, const float *decoder, float *d_map, float *d_decoder) {
    const bool wanted = d_map != NULL;
    const double cosine = forward(dev, step, n, map, decoder);
    const double loss = cosine + nvdp__cross_entropy(dev, n, n, step->logits, step->label, 1,
                                                     wanted ? step->logits : NULL);
    if (wanted) backward(dev, step, n, decoder, d_map, d_decoder);
    return loss;
}
