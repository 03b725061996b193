/* Products of small integers (byte_product.h).
 *
 * VPMADDUBSW adds pairs of products in 16 bits. A lane of 32 bits is a row, so a step multiplies four numbers of eight
 * rows. Two steps are added in 16 bits, 4 x 127 x 64 < 2^15 in each lane, before they are widened. The rows' numbers of
 * four steps stay in registers while the points pass by. */
#include "tensor/byte_product.h"

#include "tensor/vector.h"

enum {
    ROWS = NVDP__BYTE_ROWS,
    POINTS = NVDP__BYTE_POINTS,
    DEEP = NVDP__BYTE_DEEP,
    LANE = 4, /* numbers in a lane */
    HALF = 8  /* rows in a vector */
};

/* [chunks, steps, halves, rows, numbers] */
void nvdp__byte_pack_rows(size_t n, size_t dim, const int8_t *q, int8_t *out) {
    memset(out, 0, ROWS * nvdp__blocks(dim, DEEP) * DEEP);
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < dim; k++)
            out[(k / LANE * ROWS + r) * LANE + k % LANE] = q[r * dim + k];
}

/* [chunks, points, numbers] */
void nvdp__byte_pack_points(size_t n, size_t dim, const uint8_t *u, uint8_t *out) {
    memset(out, 0, POINTS * nvdp__blocks(dim, DEEP) * DEEP);
    for (size_t p = 0; p < n; p++)
        for (size_t k = 0; k < dim; k++)
            out[(k / DEEP * POINTS + p) * DEEP + k % DEEP] = u[p * dim + k];
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

bool nvdp__byte_products(void) {
    return __builtin_cpu_supports("avx2") != 0;
}

AVX2 NVDP__INLINE __m256i four_numbers(const uint8_t *u) {
    int32_t numbers;
    memcpy(&numbers, u, sizeof numbers);
    return _mm256_set1_epi32(numbers);
}

AVX2 NVDP__INLINE __m256i products(const __m256i *x, const __m256i *w) {
    const __m256i even =
        _mm256_add_epi16(_mm256_maddubs_epi16(x[0], w[0]), _mm256_maddubs_epi16(x[2], w[4]));
    const __m256i odd =
        _mm256_add_epi16(_mm256_maddubs_epi16(x[1], w[2]), _mm256_maddubs_epi16(x[3], w[6]));
    const __m256i one = _mm256_set1_epi16(1);
    return _mm256_add_epi32(_mm256_madd_epi16(even, one), _mm256_madd_epi16(odd, one));
}

AVX2 static void multiply_block(size_t chunks, const int8_t *q, const uint8_t *u,
                                __m256i sum[POINTS][ROWS / HALF]) {
    for (size_t c = 0; c < chunks; c++, q += ROWS * DEEP) {
        __m256i w[2 * DEEP / LANE];
        memcpy(w, q, sizeof w);
        for (size_t p = 0; p < POINTS; p++, u += DEEP) {
            const __m256i x[DEEP / LANE] = {four_numbers(u), four_numbers(u + LANE),
                                            four_numbers(u + 2 * LANE), four_numbers(u + 3 * LANE)};
            sum[p][0] = _mm256_add_epi32(sum[p][0], products(x, w));
            sum[p][1] = _mm256_add_epi32(sum[p][1], products(x, w + 1));
        }
    }
}

AVX2 void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q,
                             int32_t *y) {
    const size_t chunks = nvdp__blocks(dim, DEEP);
    __m256i sum[POINTS][ROWS / HALF];
    for (size_t first = 0; first < rows; first += ROWS, q += ROWS * DEEP * chunks) {
        memset(sum, 0, sizeof sum);
        multiply_block(chunks, q, u, sum);
        for (size_t p = 0; p < POINTS; p++)
            memcpy(y + p * rows + first, sum[p], sizeof sum[p]);
    }
}

#else

bool nvdp__byte_products(void) {
    return false;
}

void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q, int32_t *y) {
    (void)dim, (void)rows, (void)u, (void)q, (void)y;
}

#endif
