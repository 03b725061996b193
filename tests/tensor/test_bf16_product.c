/* Small bfloat16 products of every unit, and their packing, against plain loops. */
#include "bf16_test.h"

/* Packs two elements into a word, the first in the lower half. */
static uint32_t word(nvdp__bf16 first, nvdp__bf16 second) {
    return first | (uint32_t)second << 16;
}

static uint32_t *words(size_t n) {
    return (uint32_t *)(void *)test_zeros(n);
}

/* Computes c (m x n in rows of ldc) from the formula; other elements keep their values. */
static double *expected(size_t m, size_t n, size_t k, bool add, const nvdp__bf16 *a, size_t lda,
                        const uint32_t *b, size_t ldb, const float *c, size_t ldc) {
    double *want = test_widen(m * ldc, c);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = add ? want[i * ldc + j] : 0;
            for (size_t l = 0; l < k; l++) {
                uint32_t pair = b[l / 2 * ldb + j];
                nvdp__bf16 from = (nvdp__bf16)(l % 2 == 0 ? pair : pair >> 16);
                sum += (double)nvdp__bfloat16_to_float(a[i * lda + l]) *
                       (double)nvdp__bfloat16_to_float(from);
            }
            want[i * ldc + j] = sum;
        }
    return want;
}

static const struct {
    enum nvdp__bf16_unit unit;
    const char *name;
} unit[] = {
    {NVDP__BF16_PLAIN, "plain"}, {NVDP__BF16_VECTORS, "vectors"}, {NVDP__BF16_TILES, "tiles"}};

/* Returns how many of these the processor has. */
static size_t units(void) {
    return nvdp__bf16_missing(false) != NULL ? 1 : nvdp__bf16_has_tiles() ? 3 : 2;
}

/* Products of two 8-bit significands are exact in float32; only the sum rounds. */
static void check(size_t m, size_t n, size_t k, bool add, size_t pad) {
    size_t pairs = (k + 1) / 2, lda = 2 * pairs + 2 * pad, ldb = n + pad, ldc = n + 3 * pad;
    nvdp__bf16 *a = bf16_values(m * lda, 1), *numbers = bf16_values(2 * pairs * ldb, 1);
    uint32_t *b = words(pairs * ldb);
    for (size_t i = 0; i < pairs * ldb; i++)
        b[i] = word(numbers[2 * i], i / ldb + 1 == pairs && k % 2 == 1 ? 0 : numbers[2 * i + 1]);
    for (size_t i = 0; i < m && k % 2 == 1; i++)
        a[i * lda + k] = nvdp__bfloat16_from_float(3e38f); /* any finite value will do */
    float *c = test_floats(m * ldc, 1);
    double *want = expected(m, n, k, add, a, lda, b, ldb, c, ldc);
    for (size_t u = 0; u < units(); u++) {
        float *got = test_copy(m * ldc, c);
        nvdp__bf16_product(unit[u].unit,
                           (struct nvdp__bf16_product){m, n, k, add, a, lda, b, ldb, got, ldc});
        test_close(unit[u].name, m * ldc, got, want, FLOAT_TOLERANCE);
    }
}

/* Covers all remainders of blocks of six rows and of four, two and one vectors, and of tiles. */
Test(bf16_product, matches_loops_over_shapes) {
    const size_t lengths[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 130};
    for (size_t m = 0; m <= 13; m++)
        for (size_t n = 16; n <= 128; n += 16)
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
                for (int add = 0; add < 2; add++)
                    check(m, n, lengths[i], add == 1, (m + n / 16 + i) % 2 * 5);
    check(5, 0, 6, true, 1);
    for (size_t m = 14; m <= 50; m += 3)
        check(m, 16 * (m % 5), 7 * m % 100, m % 2 == 0, m % 7);
}

static const size_t row_counts[] = {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 50};
enum { ROW_COUNTS = sizeof row_counts / sizeof row_counts[0] };

/* Numbers the cases: every row count in the plain form, then in the fast one where there is one. */
static size_t cases(void) {
    return nvdp__bf16_missing(false) == NULL ? 2 * ROW_COUNTS : ROW_COUNTS;
}

static enum nvdp__bf16_unit case_unit(size_t i) {
    return i < ROW_COUNTS ? NVDP__BF16_PLAIN : NVDP__BF16_VECTORS;
}

/* The source's last row ends with the memory, so that a sanitizer sees reads past it. */
static nvdp__bf16 *source(size_t rows, size_t dim, size_t ldx) {
    return bf16_values(rows > 0 ? (rows - 1) * ldx + dim : 0, 1);
}

static size_t lanes_up(size_t n) {
    return (n + NVDP__BF16_LANES - 1) / NVDP__BF16_LANES * NVDP__BF16_LANES;
}

Test(bf16_product, packs_the_transpose) {
    for (size_t i = 0; i < cases(); i++)
        for (size_t dim = 32; dim <= 128; dim += 32)
            for (size_t more = 0; more <= 16; more += 16) {
                size_t rows = row_counts[i % ROW_COUNTS], ldx = dim + more;
                size_t ldy = lanes_up(rows) + more;
                nvdp__bf16 *x = source(rows, dim, ldx);
                uint32_t *y = words(dim / 2 * ldy);
                memset(y, 0xff, dim / 2 * ldy * sizeof *y);
                nvdp__bf16_pack_transposed(case_unit(i), rows, dim, x, ldx, ldy, y);
                for (size_t p = 0; p < dim / 2; p++)
                    for (size_t r = 0; r < ldy; r++) {
                        uint32_t want =
                            r < rows ? word(x[r * ldx + 2 * p], x[r * ldx + 2 * p + 1]) : 0;
                        cr_assert_eq(y[p * ldy + r], want, "%zu x %zu: word (%zu, %zu)", rows, dim,
                                     p, r);
                    }
            }
}

Test(bf16_product, packs_pairs_of_rows) {
    for (size_t i = 0; i < cases(); i++)
        for (size_t dim = 16; dim <= 96; dim += 16) {
            size_t rows = row_counts[i % ROW_COUNTS], pairs = (rows + 1) / 2, ldx = dim + i % 3;
            nvdp__bf16 *x = source(rows, dim, ldx);
            uint32_t *y = words(pairs * dim + 1);
            memset(y, 0xff, (pairs * dim + 1) * sizeof *y);
            nvdp__bf16_pack(case_unit(i), rows, dim, x, ldx, y);
            for (size_t p = 0; p < pairs; p++)
                for (size_t d = 0; d < dim; d++) {
                    nvdp__bf16 odd = 2 * p + 1 < rows ? x[(2 * p + 1) * ldx + d] : 0;
                    cr_assert_eq(y[p * dim + d], word(x[2 * p * ldx + d], odd),
                                 "%zu x %zu: word (%zu, %zu)", rows, dim, p, d);
                }
            cr_assert_eq(y[pairs * dim], UINT32_MAX, "written past the end");
        }
}

Test(bf16_product, transposes_words) {
    for (size_t i = 0; i < cases(); i++)
        for (size_t cols = 16; cols <= 64; cols += 16)
            for (size_t more = 0; more <= 16; more += 16) {
                size_t rows = row_counts[i % ROW_COUNTS];
                size_t ldy = lanes_up(rows) + more;
                uint32_t *x = (uint32_t *)(void *)bf16_values(2 * rows * cols, 1);
                uint32_t *y = words(cols * ldy);
                memset(y, 0xff, cols * ldy * sizeof *y);
                nvdp__bf16_transpose(case_unit(i), rows, cols, x, ldy, y);
                for (size_t c = 0; c < cols; c++)
                    for (size_t r = 0; r < ldy; r++)
                        cr_assert_eq(y[c * ldy + r], r < rows ? x[r * cols + c] : 0,
                                     "%zu x %zu: word (%zu, %zu)", rows, cols, c, r);
            }
}
