/* The kernels for vectors of 8 doubles: AVX-512. */
#include "rdp/kernels.h"
#ifdef NVDP__X86_KERNELS
#define LANES 8
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define KERNELS nvdp__kernels_8
#include "rdp/lanes.h"
#endif
