#include "reference64.h"

#include "tensor/dropout.h"
#include <math.h>

#define REAL double
#define REF(name) ref64_##name
#include "tensor/reference.inc"
