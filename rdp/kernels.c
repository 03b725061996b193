/* Compiles the kernels of rdp/kernels.inc for vectors of 2, 4 and 8 doubles, and chooses the
 * kernels for this processor. */
#include "rdp/kernels.h"
#include "rdp/divergence.h"
#include <string.h>

/* Every name of kernels.inc, with the width appended. */
#define JOIN_(name, lanes) name##_##lanes
#define JOIN(name, lanes) JOIN_(name, lanes)
#define WIDTH(name) JOIN(name, LANES)
#define vec WIDTH(vec)
#define words WIDTH(words)
#define unaligned WIDTH(unaligned)
#define all WIDTH(all)
#define total WIDTH(total)
#define product WIDTH(product)
#define any_sign WIDTH(any_sign)
#define dims WIDTH(dims)
#define load WIDTH(load)
#define load_last WIDTH(load_last)
#define quotients WIDTH(quotients)
#define quotients_add WIDTH(quotients_add)
#define multiply WIDTH(multiply)
#define products WIDTH(products)
#define polynomial WIDTH(polynomial)
#define parity WIDTH(parity)
#define parity_add WIDTH(parity_add)
#define fit_values WIDTH(fit_values)
#define chebyshev WIDTH(chebyshev)
#define series WIDTH(series)
#define outside WIDTH(outside)
#define logarithm WIDTH(logarithm)
#define gammas WIDTH(gammas)
#define gammas_add WIDTH(gammas_add)
#define gammas_end WIDTH(gammas_end)
#define log_gammas WIDTH(log_gammas)
#define shifted_logs WIDTH(shifted_logs)
#define any_below WIDTH(any_below)
#define min_sum WIDTH(min_sum)
#define kernels WIDTH(kernels)

enum { STEPS = 8, CHAINS = 8 };

#define LANES 2
#define TARGET
#include "rdp/kernels.inc"

#if defined(__x86_64__)
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#include "rdp/kernels.inc"

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#include "rdp/kernels.inc"
#endif

const struct nvdp__kernels *nvdp__lane_kernels(int lanes) {
    if (lanes == 2) return &kernels_2;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (lanes == 4 && avx2) return &kernels_4;
    if (lanes == 8 && avx2 && __builtin_cpu_supports("avx512f")) return &kernels_8;
#endif
    return NULL;
}

const struct nvdp__kernels *nvdp__kernels(void) {
    const struct nvdp__kernels *found = nvdp__lane_kernels(8);
    if (found == NULL) found = nvdp__lane_kernels(4);
    return found != NULL ? found : nvdp__lane_kernels(2);
}
