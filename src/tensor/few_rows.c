/* Dense layers of a short text: y = x w^T + b for few rows of x.
 *
 * BLAS first packs w, which costs as much as the product itself if x has few rows. Here each
 * weight is loaded once, without packing: the sums of a block of y run along the inputs, in
 * vectors, and the lanes of these vectors are added at the end. */
#include "tensor/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

/* Number of outputs per block. */
enum { OUTPUTS = 4 };

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))

/* Uses only instructions that both versions have. */
__attribute__((target("avx2"))) NVDP__INLINE __m128 lanes_of_8(const __m256 sum[OUTPUTS]) {
    const __m256 pairs =
        _mm256_hadd_ps(_mm256_hadd_ps(sum[0], sum[1]), _mm256_hadd_ps(sum[2], sum[3]));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

AVX512 NVDP__INLINE __m256 half_of_16(__m512 x) {
    const __m512d upper = _mm512_castps_pd(_mm512_shuffle_f32x4(x, x, 0xee));
    return _mm256_add_ps(_mm512_castps512_ps256(x),
                         _mm256_castpd_ps(_mm512_castpd512_pd256(upper)));
}

AVX512 NVDP__INLINE __m128 lanes_of_16(const __m512 sum[OUTPUTS]) {
    const __m256 half[OUTPUTS] = {half_of_16(sum[0]), half_of_16(sum[1]), half_of_16(sum[2]),
                                  half_of_16(sum[3])};
    return lanes_of_8(half);
}

#define PRODUCT product_avx2
#define TARGET AVX2
#define LANES 8
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define MADD _mm256_fmadd_ps
#define ROWS 3
#define SUMS lanes_of_8
#include "tensor/few_rows.inc"

#define PRODUCT product_avx512
#define TARGET AVX512
#define LANES 16
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define MADD _mm512_fmadd_ps
#define ROWS 6
#define SUMS lanes_of_16
#include "tensor/few_rows.inc"

/* Max rows for which this is faster than a product that packs w. Measured with AVX2 against
 * oneDNN: 1.3 to 1.8 times as fast at 18 rows. STEP is a multiple of LANES in both instruction
 * sets. */
enum { MAX_ROWS = 48, STEP = 16 };

bool nvdp__few_rows_forward(const struct nvdp__device *dev, struct nvdp__few_rows p) {
    const bool wide = __builtin_cpu_supports("avx512f") != 0;
    if (p.rows > MAX_ROWS || p.in % STEP != 0 || p.out % OUTPUTS != 0) return false;
    if (!wide && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) return false;
    const size_t parts = (size_t)nvdp__team(dev, p.rows * p.out * p.in / STEP);
    const size_t part = nvdp__blocks(p.out / OUTPUTS, parts) * OUTPUTS;
#pragma omp parallel for num_threads((int)parts) schedule(static)
    for (size_t first = 0; first < p.out; first += part)
        (wide ? product_avx512 : product_avx2)(&p, first, first + nvdp__min(part, p.out - first));
    return true;
}

#else

bool nvdp__few_rows_forward(const struct nvdp__device *dev, struct nvdp__few_rows p) {
    (void)dev, (void)p;
    return false;
}

#endif
