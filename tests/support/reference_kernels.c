/* Compiles the reference kernels (reference_kernels.h) for double and for float. */
#include "reference_kernels.h"

#include "tensor/kernels.h"
#include <math.h>

#define REAL double
#define REF(name) ref64_##name
#include "reference_kernels.inc"
#undef REAL
#undef REF
#define REAL float
#define REF(name) ref32_##name
#include "reference_kernels.inc"
