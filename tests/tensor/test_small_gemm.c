/* Tests the small product in every instruction set's version, narrower sets too. */
#include "tensor_test.h"

enum { ROWS = 4 };

#define PRODUCT tested_baseline
#define TARGET
#define LANES 4
#define WIDE 2
#include "tensor/small_product.inc"

#ifdef __x86_64__
#define PRODUCT tested_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define WIDE 2
#include "tensor/small_product.inc"
#endif

typedef void product(struct nvdp__small_product p);

static void check(product *call, size_t m, size_t n, size_t k, bool transposed) {
    size_t lda = (transposed ? m : k) + 3;
    size_t ldb = n + 5, ldc = n + 1;
    size_t na = (transposed ? k : m) * lda;
    float *a = test_floats(na, 1), *b = test_floats(k * ldb, 1), *c = test_floats(m * ldc, 1);
    double *want = test_widen(m * ldc, c); /* nothing is written between rows */
    ref64_gemm(transposed, false, m, n, k, 0.25, test_widen(na, a), lda, test_widen(k * ldb, b),
               ldb, 0, want, ldc);
    call((struct nvdp__small_product){m, n, k, 0.25f, a, transposed ? 1 : lda, transposed ? lda : 1,
                                      b, ldb, c, ldc});
    test_close("product", m * ldc, c, want, FLOAT_TOLERANCE);
}

static void check_shapes(product *call) {
    const size_t rows[] = {0, 1, 2, 3, 4, 7, 13, 33};
    const size_t columns[] = {16, 32, 48, 64, 80, 128};
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 6; j++)
            for (size_t l = 0; l < 8; l++)
                check(call, rows[i], columns[j], rows[l], (i + l) % 2 == 0);
}

Test(small_gemm, chosen_version) {
    check_shapes(nvdp__small_product);
}

Test(small_gemm, baseline_version) {
    check_shapes(tested_baseline);
}

#ifdef __x86_64__
Test(small_gemm, avx2_version) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        cr_skip_test("the processor has no AVX2");
    check_shapes(tested_avx2);
}
#endif

Test(small_gemm, transpose_pads_with_zeros) {
    const float x[] = {1, 2, 9, 3, 4, 9, 5, 6, 9};
    float y[2 * 4];
    nvdp__small_transpose(3, 2, x, 3, 4, y);
    test_same("transpose", 8, y, (const float[]){1, 3, 5, 0, 2, 4, 6, 0});
}
