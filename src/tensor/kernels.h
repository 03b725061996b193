/* Kernels that several files of this room call from their own parallel loops. */
#ifndef NVDP_SRC_TENSOR_KERNELS_H
#define NVDP_SRC_TENSOR_KERNELS_H

#include <stddef.h>

/* sum[c] += column c of x [rows, count] with row stride `stride`; count <= NVDP__COLUMNS; in double
 * and in row order. */
void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum);

#endif
