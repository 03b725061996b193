#include "environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* OpenBLAS 0.3 takes processors that it does not know, AMD's with AVX-512 among them, for older
 * ones without: half the speed of a matrix product. */
static bool name_blas_core(void) {
#if defined(__x86_64__)
    if (getenv("OPENBLAS_CORETYPE") != NULL) return false;
    bool able = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
    return able && setenv("OPENBLAS_CORETYPE", "SkylakeX", 0) == 0;
#else
    return false;
#endif
}

/* Threads that spin at every barrier, the default, stall one another where other work shares the
 * processors: a step then takes ten to a hundred times as long. */
static bool calm_threads(void) {
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL) return false;
    return setenv("OMP_WAIT_POLICY", "passive", 0) == 0;
}

void cli_environment(char **argv) {
    static const char mark[] = "NVDP_ENVIRONMENT"; /* so that it happens once */
    if (getenv(mark) != NULL || setenv(mark, "set", 0) != 0) return;
    bool blas = name_blas_core();
    bool threads = calm_threads();
    if (blas || threads) execv("/proc/self/exe", argv); /* where it fails, go on as we are */
}
