/* bfloat16: the upper half of a float. */
#ifndef NVDP_SRC_BERT_BFLOAT16_H
#define NVDP_SRC_BERT_BFLOAT16_H

#include <stdint.h>
#include <string.h>

/* Exact. */
static inline float nvdp__bfloat16_to_float(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even; NaN stays NaN. */
static inline uint16_t nvdp__bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
