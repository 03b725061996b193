/* Plain versions of the operations of ops.h: one thread, loops as in the formulas, sums and
 * functions in double.  They serve a device whose `reference` is set, and tests, which also
 * instantiate them for double (define REAL and REF, include reference_api.inc and reference.inc).
 */
#ifndef NVDP_SRC_TENSOR_REFERENCE_H
#define NVDP_SRC_TENSOR_REFERENCE_H

#include "tensor/ops.h"

#define REAL float
#define REF(name) nvdp__ref_##name
#include "tensor/reference_api.inc"
#undef REAL
#undef REF

#endif
