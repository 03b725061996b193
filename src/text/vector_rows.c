/* Rows of word vectors in four bytes per number. */
#include "tensor/vector.h"
#include "text/vectors.h"

#include <float.h>
#include <stdlib.h>

enum { NEAR_STEPS = 8, NEAR_BITS = 3, SLAB_BYTES = 1 << 22 };

static const uint64_t SIGN = UINT64_C(1) << 63;

const double nvdp__powers_of_ten[NVDP__ROW_DECIMALS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- packing ---- */

/* Multiplies digits by 10^by; returns false if the result is above `most`. */
static bool shifted(uint64_t *digits, int by, uint64_t most) {
    uint64_t value = *digits;
    for (; by < 0 && value % 10 == 0; by++)
        value /= 10;
    if (by < 0) return false;
    for (; by > 0 && value <= most; by--)
        value *= 10;
    *digits = value;
    return value <= most;
}

/* Packs numbers that all have `most` decimals. */
NVDP__CLONES
static bool pack_even(size_t dim, const uint64_t *digits, const unsigned char *decimals,
                      unsigned char most, uint32_t *out) {
    enum { LARGEST = 9 }; /* the largest power of ten that fits 31 bits */
    uint64_t factor[NVDP__ROW_DECIMALS + 1], over = 0;
    /* 2^32 stands for a power that is too large unless it multiplies 0 */
    for (size_t by = 0; by <= NVDP__ROW_DECIMALS; by++)
        factor[by] = by <= LARGEST ? (uint64_t)nvdp__powers_of_ten[by] : UINT64_C(1) << 32;
    for (size_t k = 0; k < dim; k++) {
        const uint64_t m = digits[k] & ~SIGN, value = m * factor[most - decimals[k]];
        over |= m | value; /* the product is right if m fits 31 bits */
        out[k] = (uint32_t)value | (uint32_t)(digits[k] >> 32 & UINT32_C(1) << 31);
    }
    return over <= INT32_MAX;
}

static bool pack_near(size_t dim, const uint64_t *digits, const unsigned char *decimals, int least,
                      uint32_t *out) {
    const uint64_t most = (UINT32_C(1) << (31 - NEAR_BITS)) - 1;
    for (size_t k = 0; k < dim; k++) {
        const uint64_t given = digits[k] & ~SIGN;
        int places = decimals[k] < least ? least : decimals[k];
        if (places >= least + NEAR_STEPS) places = least + NEAR_STEPS - 1;
        uint64_t m = given;
        /* a number with zeros at its end may need fewer places */
        while (given != 0 && !shifted(&m, places - decimals[k], most)) {
            if (--places < least) return false;
            m = given;
        }
        out[k] = (uint32_t)(m << NEAR_BITS | (uint64_t)(places - least)) |
                 (uint32_t)(digits[k] >> 32 & UINT32_C(1) << 31);
    }
    return true;
}

unsigned char nvdp__row_of_decimals(size_t dim, const uint64_t *digits,
                                    const unsigned char *decimals, uint32_t *out) {
    unsigned char most = 0;
    if (dim > NVDP__ROW_WIDEST) return NVDP__ROW_DOUBLES;
    for (size_t k = 0; k < dim; k++)
        most = decimals[k] > most ? decimals[k] : most;
    if (pack_even(dim, digits, decimals, most, out)) return most;
    const unsigned char least = most < NEAR_STEPS ? 0 : most - (NEAR_STEPS - 1);
    if (pack_near(dim, digits, decimals, least, out))
        return (unsigned char)(NVDP__ROW_NEAR + least);
    return NVDP__ROW_DOUBLES;
}

/* ---- the table ---- */

nvdp_status nvdp__vector_rows_space(struct nvdp__vector_rows *rows, size_t bytes, void *out) {
    const size_t each = sizeof(double); /* keeps doubles aligned */
    rows->pool.block_size = SLAB_BYTES;
    return nvdp__pool_take(rows->ctx, &rows->pool, (bytes + each - 1) / each * each, out);
}

nvdp_status nvdp__vector_rows_put(struct nvdp__vector_rows *rows, unsigned char form,
                                  const void *numbers) {
    NVDP_TRY(
        nvdp__reserve(rows->ctx, &rows->at, &rows->at_capacity, rows->count + 1, sizeof *rows->at));
    rows->at[rows->count] = numbers;
    return NVDP__PUSH(rows->ctx, rows->form, rows->count, rows->form_capacity, form);
}

/* Appends a row of this form, which the caller writes. */
static nvdp_status append(struct nvdp__vector_rows *rows, unsigned char form, void **out) {
    const size_t each = form == NVDP__ROW_DOUBLES ? sizeof(double) : sizeof(float);
    NVDP_TRY(nvdp__vector_rows_space(rows, rows->dim * each, out));
    return nvdp__vector_rows_put(rows, form, *out);
}

nvdp_status nvdp__vector_rows_add_floats(struct nvdp__vector_rows *rows, const float *row) {
    const bool wide = rows->dim > NVDP__ROW_WIDEST;
    void *at;
    NVDP_TRY(append(rows, wide ? NVDP__ROW_DOUBLES : NVDP__ROW_FLOATS, &at));
    if (!wide) memcpy(at, row, rows->dim * sizeof *row);
    for (size_t k = 0; k < rows->dim && wide; k++)
        ((double *)at)[k] = (double)row[k];
    return NVDP_OK;
}

nvdp_status nvdp__vector_rows_add_doubles(struct nvdp__vector_rows *rows, const double *row) {
    float floats[NVDP__ROW_WIDEST];
    void *at;
    bool exact = rows->dim <= NVDP__ROW_WIDEST;
    for (size_t k = 0; k < rows->dim && exact; k++) {
        exact = fabs(row[k]) <= FLT_MAX;
        if (exact) floats[k] = (float)row[k];
        exact = exact && (double)floats[k] == row[k];
    }
    if (exact) return nvdp__vector_rows_add_floats(rows, floats);
    NVDP_TRY(append(rows, NVDP__ROW_DOUBLES, &at));
    for (size_t k = 0; k < rows->dim; k++)
        ((double *)at)[k] = fabs(row[k]) < NVDP__ROW_SMALLEST ? 0 : row[k];
    return NVDP_OK;
}

nvdp_status nvdp__vector_rows_copy(struct nvdp__vector_rows *rows,
                                   const struct nvdp__vector_rows *from, size_t row) {
    const unsigned char form = from->form[row];
    void *at;
    if (form == NVDP__ROW_DOUBLES) return nvdp__vector_rows_add_doubles(rows, from->at[row]);
    if (form == NVDP__ROW_FLOATS) return nvdp__vector_rows_add_floats(rows, from->at[row]);
    NVDP_TRY(append(rows, form, &at));
    memcpy(at, from->at[row], rows->dim * sizeof(uint32_t));
    return NVDP_OK;
}

nvdp_status nvdp__vector_rows_expand(struct nvdp__vector_rows *rows) {
    const size_t dim = rows->dim;
    nvdp__auto(nvdp__pool_release) struct nvdp__pool pool = {0};
    double *all = NULL;
    NVDP_TRY(nvdp__pool_take(rows->ctx, &pool, rows->count * dim * sizeof *all, &all));
    for (size_t j = 0; j < rows->count; j++)
        nvdp__vector_row_part(rows, j, 0, dim, all + j * dim);
    for (size_t j = 0; j < rows->count; j++) {
        rows->at[j] = all + j * dim;
        rows->form[j] = NVDP__ROW_DOUBLES;
    }
    nvdp__pool_release(&rows->pool);
    return NVDP__HAND_OVER(&rows->pool, pool);
}

void nvdp__vector_rows_release(struct nvdp__vector_rows *rows) {
    nvdp__pool_release(&rows->pool);
    free(rows->at);
    free(rows->form);
    *rows = (struct nvdp__vector_rows){0};
}

/* ---- reading ---- */

NVDP__INLINE double with_sign(double magnitude, uint32_t packed) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= (uint64_t)(packed & UINT32_C(1) << 31) << 32;
    memcpy(&magnitude, &bits, sizeof bits);
    return magnitude;
}

NVDP__CLONES
static void rows_read_decimals(size_t n, const uint32_t *at, double power, double *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = with_sign((double)(int32_t)(at[k] & INT32_MAX) / power, at[k]);
}

NVDP__CLONES
static void rows_read_near(size_t n, const uint32_t *at, const double *power, double *out) {
    for (size_t k = 0; k < n; k++) {
        const uint32_t m = (at[k] & INT32_MAX) >> NEAR_BITS;
        out[k] = with_sign((double)(int32_t)m / power[at[k] & (NEAR_STEPS - 1)], at[k]);
    }
}

NVDP__CLONES
static void rows_read_floats(size_t n, const float *at, double *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = (double)at[k];
}

void nvdp__vector_row_part(const struct nvdp__vector_rows *rows, size_t row, size_t first, size_t n,
                           double *out) {
    const unsigned char form = rows->form[row];
    const uint32_t *packed = rows->at[row];
    if (form == NVDP__ROW_DOUBLES)
        memcpy(out, (const double *)rows->at[row] + first, n * sizeof *out);
    else if (form == NVDP__ROW_FLOATS)
        rows_read_floats(n, (const float *)rows->at[row] + first, out);
    else if (form >= NVDP__ROW_NEAR)
        rows_read_near(n, packed + first, nvdp__powers_of_ten + (form - NVDP__ROW_NEAR), out);
    else
        rows_read_decimals(n, packed + first, nvdp__powers_of_ten[form], out);
}

const double *nvdp__vector_row(const struct nvdp__vector_rows *rows, size_t row, double *scratch) {
    if (rows->form[row] == NVDP__ROW_DOUBLES) return rows->at[row];
    nvdp__vector_row_part(rows, row, 0, rows->dim, scratch);
    return scratch;
}
