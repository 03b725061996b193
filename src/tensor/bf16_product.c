/* The small products of attention with bfloat16 operands, in three versions: plain C, vectors
 * for AVX512_BF16, tiles for AMX. The functions at the end choose the version. */
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

/* Transposes x [rows, cols] words with row stride ldx into y [cols, ldy]. */
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

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

/* `rows` and `wide` are constants at every call, so that the sums stay in registers. */
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

/* Return the product p without its first rows, or without its first columns. */
NVDP__INLINE struct nvdp__bf16_product skip_rows(struct nvdp__bf16_product p, size_t rows) {
    p.m -= rows, p.a += rows * p.lda, p.c += rows * p.ldc;
    return p;
}

NVDP__INLINE struct nvdp__bf16_product skip_columns(struct nvdp__bf16_product p, size_t cols) {
    p.n -= cols, p.b += cols, p.c += cols;
    return p;
}

TARGET NVDP__INLINE void columns(size_t wide, struct nvdp__bf16_product p) {
    for (; p.m >= 6; p = skip_rows(p, 6))
        block(6, wide, p);
    if (p.m >= 3) {
        block(3, wide, p);
        p = skip_rows(p, 3);
    }
    if (p.m == 2)
        block(2, wide, p);
    else if (p.m == 1)
        block(1, wide, p);
}

TARGET static void fast_product(struct nvdp__bf16_product p) {
    for (; p.n >= WIDE * LANES; p = skip_columns(p, WIDE * LANES))
        columns(WIDE, p);
    if (p.n >= 2 * LANES) {
        columns(2, p);
        p = skip_columns(p, 2 * LANES);
    }
    if (p.n > 0) columns(1, p);
}

/* Transposes 16 x 16 words; rows past `rows` count as 0. */
TARGET static void transpose_block(size_t rows, const uint32_t *x, size_t ldx, uint32_t *y,
                                   size_t ldy) {
    __m512i a[LANES], b[LANES];
    for (size_t r = 0; r < LANES; r++)
        a[r] = r < rows ? _mm512_loadu_si512(x + r * ldx) : _mm512_setzero_si512();
    for (size_t r = 0; r < LANES; r += 2) { /* transposes pairs of words */
        b[r] = _mm512_unpacklo_epi32(a[r], a[r + 1]);
        b[r + 1] = _mm512_unpackhi_epi32(a[r], a[r + 1]);
    }
    /* transposes four rows: words c, c+4, c+8, c+12 are in a[r + c] */
    for (size_t r = 0; r < LANES; r += 4) {
        a[r] = _mm512_unpacklo_epi64(b[r], b[r + 2]);
        a[r + 1] = _mm512_unpackhi_epi64(b[r], b[r + 2]);
        a[r + 2] = _mm512_unpacklo_epi64(b[r + 1], b[r + 3]);
        a[r + 3] = _mm512_unpackhi_epi64(b[r + 1], b[r + 3]);
    }
    for (size_t c = 0; c < 4; c++) { /* transposes quarters across the four groups of rows */
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

/* Transposes x [rows, cols] words with row stride ldx into y [cols, ldy]. */
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

/* ---- AMX ----
 *
 * A tile has 16 rows of 64 bytes: 32 elements of A, 16 words of B or 16 sums of C. A and B are
 * stored in exactly this layout. 16 rows of A are multiplied by 32 columns of B at a time.
 * Narrower tiles multiply the rest of k, and lower tiles multiply the rest of m. */

#define TILES __attribute__((target("amx-tile,amx-bf16")))

/* These are macros, because gcc writes the register's name from the text of the argument. */
#define TMM_SUM 0
#define TMM_SUM_RIGHT 1
#define TMM_A 2
#define TMM_B 3
#define TMM_B_RIGHT 4
#define TMM_A_REST 5
#define TMM_B_REST 6
#define TMM_B_RIGHT_REST 7
enum { TILE_ROWS = 16, TILE_PAIRS = 16 };

/* The operand of LDTILECFG (Intel SDM, chapter 18). */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void shape_tile(struct tile_config *config, size_t tile, size_t rows, size_t words) {
    bool used = rows > 0 && words > 0;
    config->rows[tile] = used ? (uint8_t)rows : 0;
    config->row_bytes[tile] = used ? (uint16_t)(words * sizeof(uint32_t)) : 0;
}

/* Configures the tiles for `rows` rows of A, and `rest` pairs in the narrower tiles. */
TILES static void shape_tiles(size_t rows, size_t rest) {
    struct tile_config config = {.palette = 1};
    shape_tile(&config, TMM_SUM, rows, LANES);
    shape_tile(&config, TMM_SUM_RIGHT, rows, LANES);
    shape_tile(&config, TMM_A, rows, TILE_PAIRS);
    shape_tile(&config, TMM_B, TILE_PAIRS, LANES);
    shape_tile(&config, TMM_B_RIGHT, TILE_PAIRS, LANES);
    shape_tile(&config, TMM_A_REST, rows, rest);
    shape_tile(&config, TMM_B_REST, rest, LANES);
    shape_tile(&config, TMM_B_RIGHT_REST, rest, LANES);
    /* gcc's intrinsic declares only 8 bytes of the operand */
    __asm__ volatile("" : : "r"(&config) : "memory");
    _tile_loadconfig(&config);
}

/* Multiplies 16 columns, for as many rows as the tiles have. */
TILES static void tile_column(struct nvdp__bf16_product p, size_t whole, size_t rest) {
    size_t row = p.lda * sizeof *p.a, word_row = p.ldb * sizeof *p.b, sum_row = p.ldc * sizeof *p.c;
    if (p.add)
        _tile_loadd(TMM_SUM, p.c, sum_row);
    else
        _tile_zero(TMM_SUM);
    for (size_t l = 0; l < whole; l++, p.a += 2 * TILE_PAIRS, p.b += TILE_PAIRS * p.ldb) {
        _tile_loadd(TMM_A, p.a, row);
        _tile_loadd(TMM_B, p.b, word_row);
        _tile_dpbf16ps(TMM_SUM, TMM_A, TMM_B);
    }
    if (rest > 0) {
        _tile_loadd(TMM_A_REST, p.a, row);
        _tile_loadd(TMM_B_REST, p.b, word_row);
        _tile_dpbf16ps(TMM_SUM, TMM_A_REST, TMM_B_REST);
    }
    _tile_stored(TMM_SUM, p.c, sum_row);
}

/* Multiplies 32 columns, which share the tile of A. */
TILES static void tile_columns(struct nvdp__bf16_product p, size_t whole, size_t rest) {
    size_t row = p.lda * sizeof *p.a, word_row = p.ldb * sizeof *p.b, sum_row = p.ldc * sizeof *p.c;
    if (p.add) {
        _tile_loadd(TMM_SUM, p.c, sum_row);
        _tile_loadd(TMM_SUM_RIGHT, p.c + LANES, sum_row);
    } else {
        _tile_zero(TMM_SUM);
        _tile_zero(TMM_SUM_RIGHT);
    }
    for (size_t l = 0; l < whole; l++, p.a += 2 * TILE_PAIRS, p.b += TILE_PAIRS * p.ldb) {
        _tile_loadd(TMM_A, p.a, row);
        _tile_loadd(TMM_B, p.b, word_row);
        _tile_loadd(TMM_B_RIGHT, p.b + LANES, word_row);
        _tile_dpbf16ps(TMM_SUM, TMM_A, TMM_B);
        _tile_dpbf16ps(TMM_SUM_RIGHT, TMM_A, TMM_B_RIGHT);
    }
    if (rest > 0) {
        _tile_loadd(TMM_A_REST, p.a, row);
        _tile_loadd(TMM_B_REST, p.b, word_row);
        _tile_loadd(TMM_B_RIGHT_REST, p.b + LANES, word_row);
        _tile_dpbf16ps(TMM_SUM, TMM_A_REST, TMM_B_REST);
        _tile_dpbf16ps(TMM_SUM_RIGHT, TMM_A_REST, TMM_B_RIGHT_REST);
    }
    _tile_stored(TMM_SUM, p.c, sum_row);
    _tile_stored(TMM_SUM_RIGHT, p.c + LANES, sum_row);
}

TILES static void tile_product(struct nvdp__bf16_product p) {
    __asm__ volatile("" : : : "memory"); /* gcc's tile loads do not declare that they read memory */
    size_t pairs = (p.k + 1) / 2, whole = pairs / TILE_PAIRS, rest = pairs % TILE_PAIRS;
    for (size_t rows = 0; p.m > 0; p = skip_rows(p, rows)) {
        size_t before = rows;
        rows = p.m < TILE_ROWS ? p.m : TILE_ROWS;
        if (rows != before) shape_tiles(rows, rest);
        struct nvdp__bf16_product q = p;
        for (; q.n >= 2 * LANES; q = skip_columns(q, 2 * LANES))
            tile_columns(q, whole, rest);
        if (q.n > 0) tile_column(q, whole, rest);
    }
    _tile_release();
}

/* Asks the processor for AMX, and the kernel for permission to use the tile registers. The
 * permission holds for all threads of the process. */
bool nvdp__bf16_has_tiles(void) {
    /* values of XFEATURE_XTILEDATA and ARCH_REQ_XCOMP_PERM */
    enum { TILE_DATA = 18, REQUEST = 0x1023 };
    const unsigned needed = 1U << 22 | 1U << 24; /* bits of AMX-BF16 and AMX-TILE */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & needed) == needed &&
           syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#else

bool nvdp__bf16_has_tiles(void) {
    return false;
}

#define fast_product plain_product
#define tile_product plain_product
#define fast_transpose plain_transpose
#define fast_pack_rows plain_pack_rows

#endif

/* ---- choice of the version ---- */

void nvdp__bf16_product(enum nvdp__bf16_unit unit, struct nvdp__bf16_product p) {
    static void (*const products[])(struct nvdp__bf16_product) = {
        [NVDP__BF16_VECTORS] = fast_product,
        [NVDP__BF16_PLAIN] = plain_product,
        [NVDP__BF16_TILES] = tile_product};
    products[unit](p);
}

void nvdp__bf16_transpose(enum nvdp__bf16_unit unit, size_t rows, size_t cols, const uint32_t *x,
                          size_t ldy, uint32_t *y) {
    (unit == NVDP__BF16_PLAIN ? plain_transpose : fast_transpose)(rows, cols, x, cols, ldy, y);
}

void nvdp__bf16_pack_transposed(enum nvdp__bf16_unit unit, size_t rows, size_t dim,
                                const nvdp__bf16 *x, size_t ldx, size_t ldy, uint32_t *y) {
    (unit == NVDP__BF16_PLAIN ? plain_transpose : fast_transpose)(
        rows, dim / 2, (const uint32_t *)(const void *)x, ldx / 2, ldy, y);
}

void nvdp__bf16_pack(enum nvdp__bf16_unit unit, size_t rows, size_t dim, const nvdp__bf16 *x,
                     size_t ldx, uint32_t *y) {
    for (size_t r = 0; r < rows; r += 2)
        (unit == NVDP__BF16_PLAIN ? plain_pack_rows : fast_pack_rows)(
            dim, x + r * ldx, r + 1 < rows ? x + (r + 1) * ldx : NULL, y + r / 2 * dim);
}
