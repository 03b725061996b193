/* oneDNN's product: it generates its code for the processor it runs on, so that new ones get theirs
 * too, and is faster than OpenBLAS 0.3.21 on every shape of an encoder (docs/performance.md). */
#include "tensor/gemm_onednn.h"

#include <dnnl.h>

/* Multiplications from which it pays. */
enum { LARGE = 1 << 18 };

bool nvdp__onednn_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                       const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                       size_t ldc) {
    if ((double)m * (double)n * (double)k < LARGE) return false;
    return dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', (dnnl_dim_t)m, (dnnl_dim_t)n,
                      (dnnl_dim_t)k, alpha, a, (dnnl_dim_t)lda, b, (dnnl_dim_t)ldb, beta, c,
                      (dnnl_dim_t)ldc) == dnnl_success;
}
