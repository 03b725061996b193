/* Arrays of numpy: the NPY format, versions 1.0 and 2.0, as numpy.save writes it. */
#ifndef NVDP_SRC_ATTACK_NPY_H
#define NVDP_SRC_ATTACK_NPY_H

#include "base/base.h"

#define NVDP__NPY_LARGEST 1e100 /* squares of differences, and their sums, stay in double */

/* A [shape[0], shape[1]] array, float32 or float64 in the file, little-endian, in C order: neither side 0, all
 * numbers finite and within +-NVDP__NPY_LARGEST.  *value is to be freed.  Anything else is NVDP_ERR_INPUT. */
nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value);

#endif
