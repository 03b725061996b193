/* How fast this machine multiplies matrices: what other work is measured by. */
#ifndef NVDP_SRC_TENSOR_PEAK_H
#define NVDP_SRC_TENSOR_PEAK_H

#include "tensor/device.h"

/* Flop/s of the fastest of several large products in the device's precision, through the library's
 * own matrix product; 0 with the error recorded where memory is short.  About half a second. */
double nvdp__gemm_peak(const struct nvdp__device *dev);

#endif
