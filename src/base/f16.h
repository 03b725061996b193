/* f16: the bits of an IEEE 754 binary16 number. */
#ifndef NVDP_SRC_BASE_F16_H
#define NVDP_SRC_BASE_F16_H

#include <stdint.h>
#include <string.h>

/* Rounds to nearest, ties to even. A number beyond the range (|x| >= 65520) becomes an infinity;
 * NaN stays NaN. */
static inline uint16_t nvdp__f16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF));
    if (magnitude >= 0x47800000) return sign | 0x7C00; /* 2^16 and above become infinity */
    uint32_t mantissa = magnitude;
    /* number of bits of a float's mantissa for which f16 has no room */
    int drop = 13;
    if (magnitude < 0x38800000) { /* below 2^-14: the result has no implicit leading bit */
        int exponent = (int)(magnitude >> 23);
        if (exponent < 102) return sign; /* below 2^-25, the result is zero */
        drop = 126 - exponent;
        mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    } else {
        mantissa -= 0x38000000; /* changes the exponent's bias from 127 to 15 */
    }
    uint32_t kept = mantissa >> drop;
    uint32_t rest = mantissa & ((UINT32_C(1) << drop) - 1);
    uint32_t tie = UINT32_C(1) << (drop - 1);
    kept += rest > tie || (rest == tie && (kept & 1)); /* a carry into the exponent is correct */
    return (uint16_t)(sign | kept);
}

/* Converts without rounding. */
static inline float nvdp__f16_to_float(uint16_t f16) {
    uint32_t sign = (uint32_t)(f16 & 0x8000) << 16;
    uint32_t exponent = f16 >> 10 & 0x1F;
    uint32_t mantissa = f16 & 0x3FF;
    float value;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    uint32_t bits = exponent == 0x1F ? sign | 0x7F800000 | mantissa << 13
                                     : sign | (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
