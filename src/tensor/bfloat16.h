/* bfloat16: the upper half of a float. */
#ifndef NVDP_SRC_TENSOR_BFLOAT16_H
#define NVDP_SRC_TENSOR_BFLOAT16_H

#include <stdint.h>
#include <string.h>

typedef uint16_t nvdp__bf16;

/* Exact. */
static inline float nvdp__bfloat16_to_float(nvdp__bf16 half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even; NaN stays NaN.  Without a branch, so that it vectorises. */
static inline nvdp__bf16 nvdp__bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    uint32_t quiet = bits | 0x00400000u;
    uint32_t chosen = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
    return (nvdp__bf16)(chosen >> 16);
}

#endif
