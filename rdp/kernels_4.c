/* The kernels for vectors of 4 doubles: AVX2. */
#include "rdp/kernels.h"
#ifdef NVDP__X86_KERNELS
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define KERNELS nvdp__kernels_4
#include "rdp/lanes.h"
#endif
