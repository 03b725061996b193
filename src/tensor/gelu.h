/* GELU and its slope, for vector loops.
 *
 * x Phi(x), Phi(x) = (1 + erf(x/sqrt 2))/2  (Hendrycks & Gimpel 2016), slope Phi(x) + x phi(x); and
 * its tanh form ("gelu_new"): x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))/2.  Absolute error below
 * 2e-7 max(1, |x|): 1 + erf cancels for negative x, where the value itself vanishes. */
#ifndef NVDP_SRC_TENSOR_GELU_H
#define NVDP_SRC_TENSOR_GELU_H

#include "tensor/vector.h"

NVDP__INLINE float nvdp__gelu(float x) {
    return 0.5f * x * (1.0f + nvdp__fast_erf(x * 0.707106781f));
}

NVDP__INLINE float nvdp__gelu_and_slope(float x, float *slope) {
    float phi = 0.398942280f * nvdp__fast_exp(-0.5f * x * x);
    float cdf = 0.5f * (1.0f + nvdp__fast_erf(x * 0.707106781f));
    *slope = cdf + x * phi;
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
