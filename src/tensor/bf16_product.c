/* The small products of attention with bfloat16 operands: in vectors where the processor has
 * AVX512_BF16, and plainly in C. */
#include "tensor/bf16.h"

#include "tensor/vector.h"

enum { LANES = NVDP__BF16_LANES, WIDE = 4 };

/* ---- plain C ---- */

static float low_half(uint32_t word) {
    return nvdp__bits_float(word << 16);
}

static float high_half(uint32_t word) {
    return nvdp__bits_float(word & 0xffff0000u);
}

NVDP__CLONES
static void plain_row(size_t n, size_t pairs, const nvdp__bf16 *a, const uint32_t *b, size_t ldb,
                      float *restrict c) {
    for (size_t p = 0; p < pairs; p++) {
        float first = nvdp__bfloat16_to_float(a[2 * p]);
        float second = nvdp__bfloat16_to_float(a[2 * p + 1]);
        for (size_t j = 0; j < n; j++)
            c[j] += second * high_half(b[p * ldb + j]) + first * low_half(b[p * ldb + j]);
    }
}

static void plain_product(struct nvdp__bf16_product p) {
    for (size_t i = 0; i < p.m; i++) {
        float *c = p.c + i * p.ldc;
        if (!p.add) memset(c, 0, p.n * sizeof *c);
        plain_row(p.n, (p.k + 1) / 2, p.a + i * p.lda, p.b, p.ldb, c);
    }
}

/* x [rows, cols] words with row stride ldx -> y [cols, ldy]. */
static void plain_transpose(size_t rows, size_t cols, const uint32_t *x, size_t ldx, size_t ldy,
                            uint32_t *y) {
    for (size_t c = 0; c < cols; c++)
        for (size_t r = 0; r < ldy; r++)
            y[c * ldy + r] = r < rows ? x[r * ldx + c] : 0;
}

static void plain_pack_rows(size_t dim, const nvdp__bf16 *even, const nvdp__bf16 *odd,
                            uint32_t *y) {
    for (size_t d = 0; d < dim; d++)
        y[d] = even[d] | (odd != NULL ? (uint32_t)odd[d] << 16 : 0);
}

/* ---- AVX512_BF16 ---- */

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

/* `rows` and `wide` are constants where this is inlined: the sums stay in registers. */
TARGET NVDP__INLINE void block(size_t rows, size_t wide, struct nvdp__bf16_product p) {
    __m512 sum[6][WIDE];
    size_t pairs = (p.k + 1) / 2;
    for (size_t r = 0; r < rows; r++)
        for (size_t w = 0; w < wide; w++)
            sum[r][w] = p.add ? _mm512_loadu_ps(p.c + r * p.ldc + w * LANES) : _mm512_setzero_ps();
    for (size_t l = 0; l < pairs; l++) {
        __m512bh from[WIDE];
        for (size_t w = 0; w < wide; w++)
            from[w] = (__m512bh)_mm512_loadu_si512(p.b + l * p.ldb + w * LANES);
        for (size_t r = 0; r < rows; r++) {
            int32_t pair;
            memcpy(&pair, p.a + r * p.lda + 2 * l, sizeof pair);
            __m512bh both = (__m512bh)_mm512_set1_epi32(pair);
            for (size_t w = 0; w < wide; w++)
                sum[r][w] = _mm512_dpbf16_ps(sum[r][w], both, from[w]);
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t w = 0; w < wide; w++)
            _mm512_storeu_ps(p.c + r * p.ldc + w * LANES, sum[r][w]);
}

/* What is left of p after its first rows, or columns. */
TARGET NVDP__INLINE struct nvdp__bf16_product below(struct nvdp__bf16_product p, size_t rows) {
    p.m -= rows, p.a += rows * p.lda, p.c += rows * p.ldc;
    return p;
}

TARGET NVDP__INLINE struct nvdp__bf16_product beside(struct nvdp__bf16_product p, size_t cols) {
    p.n -= cols, p.b += cols, p.c += cols;
    return p;
}

TARGET NVDP__INLINE void columns(size_t wide, struct nvdp__bf16_product p) {
    for (; p.m >= 6; p = below(p, 6))
        block(6, wide, p);
    if (p.m >= 3) {
        block(3, wide, p);
        p = below(p, 3);
    }
    if (p.m == 2)
        block(2, wide, p);
    else if (p.m == 1)
        block(1, wide, p);
}

TARGET static void fast_product(struct nvdp__bf16_product p) {
    for (; p.n >= WIDE * LANES; p = beside(p, WIDE * LANES))
        columns(WIDE, p);
    if (p.n >= 2 * LANES) {
        columns(2, p);
        p = beside(p, 2 * LANES);
    }
    if (p.n > 0) columns(1, p);
}

/* 16 x 16 words; rows past `rows` count as 0. */
TARGET static void transpose_block(size_t rows, const uint32_t *x, size_t ldx, uint32_t *y,
                                   size_t ldy) {
    __m512i a[LANES], b[LANES];
    for (size_t r = 0; r < LANES; r++)
        a[r] = r < rows ? _mm512_loadu_si512(x + r * ldx) : _mm512_setzero_si512();
    for (size_t r = 0; r < LANES; r += 2) { /* pairs of words */
        b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
        b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
    }
    for (size_t r = 0; r < LANES; r += 4) { /* four rows: words c, c+4, c+8, c+12 in a[r + c] */
        a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
        a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
        a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
        a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
    }
    for (size_t c = 0; c < 4; c++) { /* quarters across the four groups of rows */
        __m512i low01 = _mm512_shuffle_i32x4(a[c], a[c + 4], 0x44);
        __m512i high01 = _mm512_shuffle_i32x4(a[c], a[c + 4], 0xee);
        __m512i low23 = _mm512_shuffle_i32x4(a[c + 8], a[c + 12], 0x44);
        __m512i high23 = _mm512_shuffle_i32x4(a[c + 8], a[c + 12], 0xee);
        b[c] = _mm512_shuffle_i32x4(low01, low23, 0x88);
        b[c + 4] = _mm512_shuffle_i32x4(low01, low23, 0xdd);
        b[c + 8] = _mm512_shuffle_i32x4(high01, high23, 0x88);
        b[c + 12] = _mm512_shuffle_i32x4(high01, high23, 0xdd);
    }
    for (size_t r = 0; r < LANES; r++)
        _mm512_storeu_si512(y + r * ldy, b[r]);
}

/* x [rows, cols] words with row stride ldx -> y [cols, ldy]. */
TARGET static void fast_transpose(size_t rows, size_t cols, const uint32_t *x, size_t ldx,
                                  size_t ldy, uint32_t *y) {
    for (size_t r = 0; r < ldy; r += LANES)
        for (size_t c = 0; c < cols; c += LANES)
            transpose_block(r < rows ? rows - r : 0, x + r * ldx + c, ldx, y + c * ldy + r, ldy);
}

TARGET static void fast_pack_rows(size_t dim, const nvdp__bf16 *even, const nvdp__bf16 *odd,
                                  uint32_t *y) {
    for (size_t d = 0; d < dim; d += LANES) {
        __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)(even + d)));
        __m512i high = _mm512_setzero_si512();
        if (odd != NULL)
            high = _mm512_slli_epi32(
                _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)(odd + d))), 16);
        _mm512_storeu_si512(y + d, _mm512_or_si512(low, high));
    }
}

#else

#define fast_product plain_product
#define fast_transpose plain_transpose
#define fast_pack_rows plain_pack_rows

#endif

/* ---- either ---- */

void nvdp__bf16_product(bool plain, struct nvdp__bf16_product p) {
    (plain ? plain_product : fast_product)(p);
}

void nvdp__bf16_transpose(bool plain, size_t rows, size_t cols, const uint32_t *x, size_t ldy,
                          uint32_t *y) {
    (plain ? plain_transpose : fast_transpose)(rows, cols, x, cols, ldy, y);
}

void nvdp__bf16_pack_transposed(bool plain, size_t rows, size_t dim, const nvdp__bf16 *x,
                                size_t ldx, size_t ldy, uint32_t *y) {
    (plain ? plain_transpose : fast_transpose)(rows, dim / 2, (const uint32_t *)(const void *)x,
                                               ldx / 2, ldy, y);
}

void nvdp__bf16_pack(bool plain, size_t rows, size_t dim, const nvdp__bf16 *x, size_t ldx,
                     uint32_t *y) {
    for (size_t r = 0; r < rows; r += 2)
        (plain ? plain_pack_rows : fast_pack_rows)(
            dim, x + r * ldx, r + 1 < rows ? x + (r + 1) * ldx : NULL, y + r / 2 * dim);
}
