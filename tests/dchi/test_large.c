/* Large tables, which keep four bytes per number and compute the rest for each pass: the same results as those of small
 * tables, bit by bit, and little memory. */
#include "made_tables.h"
#include <sys/resource.h>

#include "test_context.h"

enum { COUNT = 3000, DIM = 37, TOKENS = 90 };

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Rows of all forms in turn: decimals, near decimals, floats, doubles; the last two rows are equal. */
static nvdp_status fill(struct nvdp__vector_rows *rows) {
    uint64_t state = 9;
    *rows = (struct nvdp__vector_rows){.ctx = ctx, .dim = DIM};
    for (size_t j = 0; j < COUNT - 1; j++) {
        uint64_t digits[DIM];
        unsigned char decimals[DIM];
        float floats[DIM];
        double doubles[DIM];
        for (size_t k = 0; k < DIM; k++) {
            const double u = uniform(&state) - .5;
            digits[k] = (uint64_t)fabs(rint(u * (j % 4 == 0 ? 1e5 : 1e8))) | (uint64_t)(u < 0)
                                                                                 << 63;
            decimals[k] = j % 4 == 0 ? 5 : k % 2 == 0 ? 8 : 11;
            floats[k] = (float)u;
            doubles[k] = u;
        }
        if (j % 4 < 2) {
            uint32_t *packed;
            NVDP_TRY(nvdp__vector_rows_space(rows, rows->dim * sizeof *packed, &packed));
            const unsigned char form = nvdp__row_of_decimals(DIM, digits, decimals, packed);
            cr_assert(j % 4 == 0 ? form == 5 : form >= NVDP__ROW_NEAR && form < NVDP__ROW_FLOATS);
            NVDP_TRY(nvdp__vector_rows_put(rows, form, packed));
        } else {
            NVDP_TRY(j % 4 == 2 ? nvdp__vector_rows_add_floats(rows, floats)
                                : nvdp__vector_rows_add_doubles(rows, doubles));
        }
    }
    return nvdp__vector_rows_copy(rows, rows, COUNT - 2);
}

static struct nvdp_vectors *table(size_t few) {
    struct nvdp__vector_rows rows;
    struct nvdp_vectors *vectors = NULL;
    ok(fill(&rows));
    ok(nvdp__vectors_adopt(ctx, &rows, few, &vectors));
    cr_expect_eq(vectors->centered != NULL, few > 0);
    return support_keep(vectors);
}

static void same_bits(const void *a, const void *b, size_t bytes, const char *what) {
    cr_expect(memcmp(a, b, bytes) == 0, "%s", what);
}

static void compare_mechanism(struct nvdp_vectors *const *vectors, enum nvdp_dchi_mechanism kind) {
    static unsigned char sensitive[COUNT];
    const size_t offset[] = {0, TOKENS};
    const uint64_t seed = 4;
    int32_t token[TOKENS], drawn[2][TOKENS];
    double same[2][TOKENS], distinct[2][TOKENS], divergence[2][2];
    struct nvdp_dchi_worst worst[2] = {NVDP_RESULT(struct nvdp_dchi_worst),
                                       NVDP_RESULT(struct nvdp_dchi_worst)};
    for (size_t x = 0; x < COUNT; x++)
        sensitive[x] = x % 3 != 0;
    for (size_t i = 0; i < TOKENS; i++)
        token[i] = i % 11 == 10 ? NVDP_DCHI_UNKNOWN : (int32_t)(i * i * 31 % COUNT);
    for (size_t t = 0; t < 2; t++) {
        nvdp__autoptr(nvdp_dchi_free) struct nvdp_dchi *dchi = NULL;
        ok(nvdp_dchi_create(ctx, vectors[t], kind, 9, .4, sensitive, &dchi));
        ok(nvdp_dchi_sample(ctx, dchi, 1, offset, token, &seed, 0, drawn[t]));
        ok(nvdp__dchi_deniability(ctx, dchi, TOKENS, token, 30, 5, same[t], distinct[t]));
        ok(nvdp_dchi_divergence(ctx, dchi, 2, (double[]){1, 2}, 4, token, 4, token + 4,
                                divergence[t]));
        ok(nvdp_dchi_worst(ctx, dchi, 50, 6, &worst[t]));
    }
    same_bits(drawn[0], drawn[1], sizeof drawn[0], "tokens");
    same_bits(same[0], same[1], sizeof same[0], "N_w");
    same_bits(distinct[0], distinct[1], sizeof distinct[0], "S_w");
    same_bits(divergence[0], divergence[1], sizeof divergence[0], "divergences");
    same_bits(&worst[0], &worst[1], sizeof worst[0], "the worst case");
}

Test(large, results_are_those_of_small_tables) {
    struct nvdp_vectors *vectors[2] = {table(SIZE_MAX), table(0)};
    struct nvdp_geometry geometry[2] = {NVDP_RESULT(struct nvdp_geometry),
                                        NVDP_RESULT(struct nvdp_geometry)};
    int32_t nearest[2][TOKENS];
    double points[TOKENS * DIM], neighbors[2][2 * 3];
    uint64_t state = 3;
    for (size_t i = 0; i < TOKENS * DIM; i++)
        points[i] = (uniform(&state) - .5) * (i < DIM ? 1e20 : 1.5);
    for (size_t t = 0; t < 2; t++) {
        ok(nvdp__vectors_geometry(ctx, vectors[t], 200, 7, &geometry[t]));
        ok(nvdp__vectors_nearest(ctx, vectors[t], TOKENS, points, nearest[t]));
        ok(nvdp__vectors_neighbors(ctx, vectors[t], 2, (int32_t[]){5, 2998}, 3,
                                   (size_t[]){1, 2, 2999}, neighbors[t]));
    }
    same_bits(&geometry[0], &geometry[1], sizeof geometry[0], "geometry");
    same_bits(nearest[0], nearest[1], sizeof nearest[0], "nearest");
    same_bits(neighbors[0], neighbors[1], sizeof neighbors[0], "neighbors");
    for (int kind = NVDP_DCHI_LAPLACE_NEAREST; kind <= NVDP_DCHI_RANDOM; kind++)
        compare_mechanism(vectors, (enum nvdp_dchi_mechanism)kind);
    for (size_t t = 0; t < 2; t++)
        nvdp_vectors_free(vectors[t]);
}

/* nvdp__vectors_geometry() against all distances in double. */
Test(large, extremes) {
    struct nvdp_vectors *vectors = table(0);
    enum { SOME = 40 };
    int32_t token[SOME];
    double nearest[SOME], farthest[SOME], a[DIM], b[DIM];
    for (size_t i = 0; i < SOME; i++)
        token[i] = (int32_t)(COUNT - 1 - i * 73);
    ok(nvdp__vectors_extremes(ctx, vectors, SOME, token, nearest, farthest));
    for (size_t i = 0; i < SOME; i++) {
        double low = INFINITY, high = 0;
        nvdp__vectors_row(vectors, (size_t)token[i], a);
        for (size_t y = 0; y < COUNT; y++) {
            if (y == (size_t)token[i]) continue;
            nvdp__vectors_row(vectors, y, b);
            const double d = nvdp__distance(DIM, a, b);
            low = fmin(low, d);
            high = fmax(high, d);
        }
        cr_expect_eq(nearest[i], low);
        cr_expect_eq(farthest[i], high);
    }
    cr_expect_eq(nearest[0], 0); /* the last two rows are equal */
}

/* Rows with one number far above the others, tiny rows and near ones, for which integers say little. */
Test(large, nearest_of_uneven_rows) {
    enum { UNEVEN = 2100, POINTS = 70 };
    struct nvdp__vector_rows rows = {.ctx = ctx, .dim = DIM};
    nvdp__autoptr(nvdp_vectors_free) struct nvdp_vectors *vectors = NULL;
    static double table[UNEVEN][DIM], point[POINTS][DIM];
    int32_t nearest[POINTS];
    uint64_t state = 8;
    for (size_t j = 0; j < UNEVEN; j++) {
        const double size = j % 5 == 0 ? 1e-21 : j % 5 == 1 ? 1e-6 : 1;
        for (size_t k = 0; k < DIM; k++)
            table[j][k] = (uniform(&state) - .5) * (j % 5 == 2 && k == j % DIM ? 90 : size);
        if (j % 5 == 3) memcpy(table[j], table[j - 1], sizeof *table);
        if (j % 5 == 3) table[j][1] += 1e-9;
        ok(nvdp__vector_rows_add_doubles(&rows, table[j]));
    }
    for (size_t i = 0; i < POINTS; i++)
        for (size_t k = 0; k < DIM; k++)
            point[i][k] = table[i * 29][k] + (uniform(&state) - .5) * (i % 2 == 0 ? 1e-9 : 3);
    ok(nvdp__vectors_adopt(ctx, &rows, 0, &vectors));
    ok(nvdp__vectors_nearest(ctx, vectors, POINTS, point[0], nearest));
    for (size_t i = 0; i < POINTS; i++) {
        size_t best = 0;
        for (size_t j = 1; j < UNEVEN; j++)
            if (nvdp__square_distance(DIM, point[i], table[j]) <
                nvdp__square_distance(DIM, point[i], table[best]))
                best = j;
        cr_expect_eq(nearest[i], (int32_t)best, "point %zu: %d, expected %zu", i, nearest[i], best);
    }
}

#ifndef NVDP_SANITIZED
static double peak(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* Reads, measures and draws with a table of twelve million numbers of text. */
Test(large, memory) {
    enum { WORDS = 40000, WIDE = 300 };
    struct nvdp__vector_rows rows = {.ctx = ctx, .dim = WIDE};
    nvdp__autoptr(nvdp_vectors_free) struct nvdp_vectors *vectors = NULL;
    nvdp__autoptr(nvdp_dchi_free) struct nvdp_dchi *dchi = NULL;
    struct nvdp_geometry geometry = NVDP_RESULT(struct nvdp_geometry);
    const double before = peak();
    for (size_t j = 0; j < WORDS; j++) {
        uint64_t digits[WIDE];
        unsigned char decimals[WIDE];
        uint32_t *packed;
        for (size_t k = 0; k < WIDE; k++) {
            digits[k] = (j * 7919 + k * 104729) * 2654435761 % 100000;
            decimals[k] = 5;
        }
        ok(nvdp__vector_rows_space(&rows, rows.dim * sizeof *packed, &packed));
        const unsigned char form = nvdp__row_of_decimals(WIDE, digits, decimals, packed);
        ok(nvdp__vector_rows_put(&rows, form, packed));
    }
    ok(nvdp__vectors_adopt(ctx, &rows, 0, &vectors));
    ok(nvdp__vectors_geometry(ctx, vectors, 20, 7, &geometry));
    ok(nvdp_dchi_create(ctx, vectors, NVDP_DCHI_SANTEXT, 9, 0, NULL, &dchi));
    int32_t token[] = {1, 2, 3, 500};
    ok(nvdp_dchi_sample(ctx, dchi, 1, (size_t[]){0, 4}, token, NULL, 0, token));
    cr_expect_lt(peak() - before, 6.0 * WORDS * WIDE, "%g bytes per number",
                 (peak() - before) / WORDS / WIDE);
}
#endif
