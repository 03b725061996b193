/* Exact products of small integers for AVX2, faster than those of whole bytes: u in 0..127 by q in -64..64, whose sums
 * of four products fit 16 bits. */
#ifndef NVDP_SRC_TENSOR_BYTE_PRODUCT_H
#define NVDP_SRC_TENSOR_BYTE_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NVDP__BYTE_LARGEST_U = 127,
    NVDP__BYTE_LARGEST_Q = 64,
    NVDP__BYTE_ROWS = 16,   /* rows packed together */
    NVDP__BYTE_POINTS = 64, /* points packed together */
    NVDP__BYTE_DEEP = 16    /* numbers of a row are padded to a multiple */
};

bool nvdp__byte_products(void); /* the processor has them */

static inline size_t nvdp__byte_width(size_t dim) {
    return (dim + NVDP__BYTE_DEEP - 1) / NVDP__BYTE_DEEP * NVDP__BYTE_DEEP;
}

/* Packs n rows [n, dim] into out [NVDP__BYTE_ROWS, width], and n points in the same way. */
void nvdp__byte_pack_rows(size_t n, size_t dim, const int8_t *q, int8_t *out);
void nvdp__byte_pack_points(size_t n, size_t dim, const uint8_t *u, uint8_t *out);
/* y [NVDP__BYTE_POINTS, rows] = u q^T for packed points and rows, a multiple of NVDP__BYTE_ROWS. */
void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q, int32_t *y);

#endif
