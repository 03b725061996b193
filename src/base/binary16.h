/* IEEE 754 binary16, as bits. */
#ifndef NVDP_SRC_BINARY16_H
#define NVDP_SRC_BINARY16_H

#include <stdint.h>

/* Rounds to nearest, ties to even; past the range (|x| >= 65520) an infinity; NaN stays NaN. */
uint16_t nvdp__binary16_from_float(float value);
/* Exact. */
float nvdp__binary16_to_float(uint16_t half);

#endif
