/* The reference operations in double. */
#ifndef NVDP_TESTS_REFERENCE64_H
#define NVDP_TESTS_REFERENCE64_H

#include "tensor/ops.h"

#define REAL double
#define REF(name) ref64_##name
#include "tensor/reference_api.inc"
#undef REAL
#undef REF

#endif
