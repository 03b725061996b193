#include "tensor/reference.h"

#include "tensor/dropout.h"
#include <math.h>

#define REAL float
#define REF(name) nvdp__ref_##name
#include "tensor/reference.inc"
