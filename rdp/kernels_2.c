/* The kernels for vectors of 2 doubles: any processor. */
#include "rdp/kernels.h"
#define LANES 2
#define TARGET
#define KERNELS nvdp__kernels_2
#include "rdp/lanes.h"
