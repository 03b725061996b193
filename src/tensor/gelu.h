/* GELU and its slope, for vector loops.
 *
 * x Phi(x)  (Hendrycks & Gimpel 2016), slope Phi(x) + x phi(x); and its tanh form ("gelu_new"):
 * x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))/2.  Absolute error below 3e-7 max(1, |x|). */
#ifndef NVDP_SRC_TENSOR_GELU_H
#define NVDP_SRC_TENSOR_GELU_H

#include "tensor/vector.h"

/* The normal distribution function Phi(x) and its density: one exponential serves both.  erfc by
 * Abramowitz & Stegun 1964, 7.1.26 (absolute error below 1.5e-7); with rounding 3e-7 at most. */
NVDP__INLINE float nvdp__normal_cdf(float x, float *density) {
    float e = nvdp__fast_exp(-0.5f * x * x);
    float t = 1.0f / (1.0f + 0.231641888f * fabsf(x)); /* 0.3275911 |x| / sqrt 2 */
    float p = 0.530702715f;
    p = p * t - 0.726576014f;
    p = p * t + 0.710706871f;
    p = p * t - 0.142248368f;
    p = p * t + 0.127414796f;
    float tail = p * t * e; /* of the side that x lies on */
    *density = 0.398942280f * e;
    return x > 0 ? 1.0f - tail : tail;
}

NVDP__INLINE float nvdp__gelu(float x) {
    float density;
    return x * nvdp__normal_cdf(x, &density);
}

NVDP__INLINE float nvdp__gelu_and_slope(float x, float *slope) {
    float density;
    float cdf = nvdp__normal_cdf(x, &density);
    *slope = cdf + x * density;
    return x * cdf;
}

NVDP__INLINE float nvdp__gelu_new(float x) {
    float t = nvdp__fast_tanh(0.797884561f * (x + 0.044715f * x * x * x));
    return 0.5f * x * (1.0f + t);
}

NVDP__INLINE float nvdp__gelu_new_and_slope(float x, float *slope) {
    float square = x * x;
    float t = nvdp__fast_tanh(0.797884561f * (x + 0.044715f * x * square));
    float du = 0.797884561f * (1.0f + 0.134145f * square);
    *slope = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * du;
    return 0.5f * x * (1.0f + t);
}

#endif
