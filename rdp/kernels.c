/* Which of the kernels this processor runs. */
#include "rdp/kernels.h"

const struct nvdp__kernels *nvdp__kernels_of(int lanes) {
    if (lanes == 2) return &nvdp__kernels_2;
#ifdef NVDP__X86_KERNELS
    __builtin_cpu_init();
    bool half = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (lanes == 4 && half) return &nvdp__kernels_4;
    if (lanes == 8 && half && __builtin_cpu_supports("avx512f")) return &nvdp__kernels_8;
#endif
    return NULL;
}

const struct nvdp__kernels *nvdp__kernels(void) {
    const struct nvdp__kernels *found = nvdp__kernels_of(8);
    if (found == NULL) found = nvdp__kernels_of(4);
    return found != NULL ? found : nvdp__kernels_of(2);
}
