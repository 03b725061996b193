/* Products in which no row depends on the others.
 *
 * BLAS may sum a row's products in another order when it stands among other rows.  Where the same
 * text must give the same bits in every batch, a device with rowwise products is used: slower, and
 * forward only. */
#ifndef NVDP_SRC_TENSOR_ROWWISE_H
#define NVDP_SRC_TENSOR_ROWWISE_H

#include "tensor/device.h"

/* Scratch for layers of at most `widest` inputs on the device's threads. */
nvdp_status nvdp__rowwise_create(const struct nvdp__device *dev, size_t widest,
                                 struct nvdp__rowwise **out);
void nvdp__rowwise_free(struct nvdp__rowwise *rowwise); /* NULL allowed */

/* y[rows, out] = x[rows, in] w[out, in]^T + b[out] (b NULL: none); dev->rowwise is there. */
void nvdp__rowwise_linear(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                          const float *x, const float *w, const float *b, float *y);

#endif
