/* Products of the few rows of a short text, where BLAS spends more on packing than on arithmetic.
 *
 * The sums of a block of C stay in registers, so its size must suit the instruction set: wider
 * vectors than a set has, or more than it has registers, go through memory and are many times
 * slower.  Hence explicit versions here in place of NVDP__CLONES. */
#include "tensor/kernels.h"
#include "tensor/vector.h"

#define NVDP__JOIN_(a, b) a##b
#define NVDP__JOIN(a, b) NVDP__JOIN_(a, b)
enum { ROWS = 4 };

#define PRODUCT product_baseline
#define TARGET
#define LANES 4
#define WIDE 2
#include "tensor/small_gemm.inc"

#ifdef __x86_64__

#define PRODUCT product_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define WIDE 2
#include "tensor/small_gemm.inc"

#define PRODUCT product_avx512
#define TARGET __attribute__((target("avx512f")))
#define LANES 16
#define WIDE 4
#include "tensor/small_gemm.inc"

#endif

void nvdp__small_product(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                         size_t a_col, const float *b, size_t ldb, float *c, size_t ldc) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) {
        product_avx512(m, n, k, alpha, a, a_row, a_col, b, ldb, c, ldc);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        product_avx2(m, n, k, alpha, a, a_row, a_col, b, ldb, c, ldc);
        return;
    }
#endif
    product_baseline(m, n, k, alpha, a, a_row, a_col, b, ldb, c, ldc);
}

void nvdp__small_transpose(size_t rows, size_t cols, const float *x, size_t stride, size_t ldy,
                           float *y) {
    for (size_t c = 0; c < cols; c++) {
        for (size_t r = 0; r < rows; r++)
            y[c * ldy + r] = x[r * stride + c];
        for (size_t r = rows; r < ldy; r++)
            y[c * ldy + r] = 0;
    }
}
