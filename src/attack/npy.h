/* NumPy arrays: the NPY format, versions 1.0 and 2.0, as numpy.save writes it. */
#ifndef NVDP_SRC_ATTACK_NPY_H
#define NVDP_SRC_ATTACK_NPY_H

#include "base/base.h"

#define NVDP__NPY_LARGEST                                                                          \
    1e100 /* keeps squares of differences, and their sums, in the range of double */

/* Reads a [shape[0], shape[1]] array: float32 or float64 in the file, little-endian, in C order.  Both sides must be
 * positive, and all numbers finite and within +-NVDP__NPY_LARGEST; otherwise NVDP_ERR_INPUT.  The caller frees
 * *value. */
nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value);

#endif
