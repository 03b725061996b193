/* The matrix of a summary: integers and their bounds, the exact sum, the noise, guesses. */
#include "base/array.h"
#include "summary/summary.h"
#include "support.h"

#include <gsl/gsl_cdf.h>

#include "test_context.h"

static struct nvdp__summary plan(size_t units, size_t dim, size_t answers, double epsilon) {
    struct nvdp__summary of;
    ok(nvdp__summary_plan(support_context(), units, dim, answers, epsilon, 1e-5, &of));
    return of;
}

/* Returns the squared Frobenius norm of the difference of two symmetric sums, in 4^bits units of both. */
static __int128 distance(const struct nvdp__summary *of, const int64_t *a, const int64_t *b) {
    __int128 square = 0;
    for (size_t i = 0, at = 0; i < of->width; i++)
        for (size_t j = i; j < of->width; j++, at++) {
            const __int128 off = (__int128)a[at] - b[at];
            square += (j > i ? 2 : 1) * off * off;
        }
    return square;
}

static int64_t *new_sum(const struct nvdp__summary *of) {
    return support_keep(calloc(nvdp__summary_entries(of), sizeof(int64_t)));
}

static void add_row(const struct nvdp__summary *of, size_t rows, const float *x, const float *y,
                    int64_t *sum) {
    nvdp__autofree int32_t *z = calloc(of->width, sizeof *z);
    nvdp__summary_row(of, rows, x, y, z);
    nvdp__summary_add(of, 1, 1, z, sum);
}

Test(summary, plan_proves_the_epsilon_that_was_asked) {
    for (size_t units = 1; units < (size_t)1 << 36; units = units * 7 + 1)
        for (double epsilon = .01; epsilon < 100; epsilon *= 3)
            for (size_t answers = 0; answers < 5; answers++) {
                const struct nvdp__summary of = plan(units, 10, answers, epsilon);
                const double proven = nvdp_gdp_epsilon(of.mu, 1e-5);
                cr_expect(proven <= epsilon && proven > epsilon * (1 - 1e-6), "%g: %.17g", epsilon,
                          proven);
                cr_expect_leq(M_SQRT2 / fmin(of.sigma, M_SQRT2 * of.sigma_off), of.mu);
                cr_expect_float_eq(of.alpha * of.alpha + of.beta * of.beta + of.tau * of.tau, 1,
                                   1e-15);
                const double step = ldexp(1, of.grid.exponent);
                cr_expect_lt(ldexp((double)units, 2 * of.bits), 0x1p62);
                cr_expect_lt((double)units + 16 * of.sigma, 0x1p24 * step);
                cr_expect_eq(of.width, 10 + answers + (answers < 2));
            }
}

Test(summary, plan_refuses) {
    struct nvdp__summary of;
    static const struct {
        size_t units, dim;
        double epsilon, delta;
        const char *words;
    } cases[] = {{10, 4, 0, 1e-5, "expected epsilon above 0"},
                 {10, 4, INFINITY, 1e-5, "expected epsilon above 0"},
                 {10, 4, NAN, 1e-5, "expected epsilon above 0"},
                 {10, 4, 1, 1, "delta between 0 and 1"},
                 {10, 4, 1, 0, "delta between 0 and 1"},
                 {0, 4, 1, 1e-5, "found 0 rows of 4 numbers"},
                 {SIZE_MAX, 4, 1, 1e-5, "or fewer rows"},
                 {(size_t)1 << 59, 4, 1, 1e-5, "or fewer rows"},
                 {10, 0, 1, 1e-5, "found 10 rows of 0 numbers"},
                 {10, SIZE_MAX, 1, 1e-5, "1 to 32768 numbers"},
                 {10, 4, 1e7, 1e-5, "epsilon of at most 1e+06"},
                 {10, 4, 1e-13, 1e-15, "choose a larger epsilon"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fails(nvdp__summary_plan(ctx, cases[i].units, cases[i].dim, 1, cases[i].epsilon,
                                 cases[i].delta, &of),
              NVDP_ERR_ARGUMENT, cases[i].words);
}

/* Whatever a row holds, the squares of its integers add up to at most 4^bits / m. */
Test(summary, no_row_exceeds_its_norm) {
    const struct nvdp__noise noise = {.seed = 7};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    float x[24], y[5];
    int32_t z[30];
    for (size_t trial = 0; trial < 20000; trial++) {
        const size_t answers = nvdp__stream_below(&stream, 6), dim = 1 + trial % 24;
        const size_t rows = 1 + nvdp__stream_below(&stream, trial % 3 == 0 ? 1 : 1000);
        const struct nvdp__summary of = plan(trial % 2 == 0 ? 1000 : 1000000000, dim, answers, 1);
        const double size = pow(10, 60 * nvdp__stream_uniform(&stream) - 25);
        for (size_t i = 0; i < dim; i++)
            x[i] = trial % 5 == 0 ? 1 / sqrtf((float)dim) /* exactly the norm, up to rounding */
                                  : (float)(size * nvdp__stream_normal(&stream));
        for (size_t k = 0; k < answers; k++)
            y[k] = (float)nvdp__stream_normal(&stream);
        if (trial % 11 == 0) x[0] = (float[]){NAN, INFINITY, -INFINITY}[trial % 3];
        nvdp__summary_row(&of, rows, x, y, z);
        int64_t square = 0;
        for (size_t i = 0; i < of.width; i++)
            square += (int64_t)z[i] * z[i];
        cr_assert_leq(square * (int64_t)rows, INT64_C(1) << (2 * of.bits), "trial %zu", trial);
        if (trial % 11 == 0) cr_assert_eq(z[of.alpha > 0], 0, "not finite");
    }
}

/* Theorem 1 in integers: no two units are farther apart than sqrt(2), and orthogonal ones attain it. */
Test(summary, distance_of_two_units_is_bounded_and_attained) {
    enum { DIM = 3, MOST_ROWS = 4 };
    const struct nvdp__summary of = plan(1000, DIM, 3, 1);
    const __int128 bound = (__int128)2 << (4 * of.bits);
    const struct nvdp__noise noise = {.seed = 3};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    __int128 largest = 0;
    for (size_t trial = 0; trial < 20000; trial++) {
        int64_t *sum[2] = {calloc(nvdp__summary_entries(&of), sizeof(int64_t)),
                           calloc(nvdp__summary_entries(&of), sizeof(int64_t))};
        for (size_t u = 0; u < 2; u++) {
            const size_t rows = 1 + nvdp__stream_below(&stream, MOST_ROWS);
            for (size_t r = 0; r < rows; r++) {
                float x[DIM], y[3] = {0};
                for (size_t i = 0; i < DIM; i++)
                    x[i] = (float)nvdp__stream_normal(&stream) * (trial % 2 == 0 ? 1 : 9);
                y[nvdp__stream_below(&stream, 3)] = 1;
                add_row(&of, rows, x, y, sum[u]);
            }
        }
        const __int128 found = distance(&of, sum[0], sum[1]);
        cr_assert(found <= bound, "trial %zu", trial);
        if (found > largest) largest = found;
        free(sum[0]);
        free(sum[1]);
    }
    cr_expect(largest > bound / 2, "the trials come near the bound");
    int64_t *a = new_sum(&of), *b = new_sum(&of);
    add_row(&of, 1, (float[]){1, 0, 0}, (float[]){1, 0, 0}, a);
    add_row(&of, 1, (float[]){0, 1, 0}, (float[]){0, 0, 1}, b);
    const double ratio = (double)distance(&of, a, b) / (double)bound;
    cr_expect(ratio <= 1 && ratio > 1 - 1e-5, "%.9f", ratio);
    /* persons attain it whatever their numbers of rows are, and a person whose rows differ stays below */
    for (size_t rows = 2; rows <= 4096; rows *= 2) {
        int64_t *many = new_sum(&of), *mixed = new_sum(&of);
        for (size_t r = 0; r < rows; r++) {
            add_row(&of, rows, (float[]){0, 1, 0}, (float[]){0, 0, 1}, many);
            add_row(&of, rows, r % 2 == 0 ? (float[]){0, 1, 0} : (float[]){0, 0, 1},
                    r % 2 == 0 ? (float[]){0, 0, 1} : (float[]){0, 1, 0}, mixed);
        }
        const double found = (double)distance(&of, a, many) / (double)bound,
                     less = (double)distance(&of, a, mixed) / (double)bound;
        cr_expect(found <= 1 && found > 1 - 1e-3, "%zu rows: %.9f", rows, found);
        cr_expect(less > .74 && less < .76, "%zu rows: %.9f", rows, less);
    }
}

/* Ascends the distance of two units by coordinates: no start leads above the bound. */
Test(summary, search_finds_no_pair_above_the_bound) {
    enum { DIM = 2, NUMBERS = 4 * (DIM + 2) };
    const struct nvdp__summary of = plan(50, DIM, 2, 1);
    const double bound = ldexp(2, 4 * of.bits);
    const struct nvdp__noise noise = {.seed = 5};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    double best = 0;
    for (size_t start = 0; start < 40; start++) {
        float at[NUMBERS], step = .5F;
        const size_t rows = start % 2 == 0 ? 1 : 2; /* each unit: a row, or a person of two */
        double value = 0;
        for (size_t i = 0; i < NUMBERS; i++)
            at[i] = (float)nvdp__stream_normal(&stream);
        for (size_t k = 0; k < 60 * NUMBERS; k++) {
            const size_t i = k % NUMBERS;
            const float old = at[i];
            int64_t *a = calloc(nvdp__summary_entries(&of), sizeof *a);
            int64_t *b = calloc(nvdp__summary_entries(&of), sizeof *b);
            at[i] += step * (float)nvdp__stream_normal(&stream);
            for (size_t r = 0; r < rows; r++) {
                const float *x = at + 2 * r * (DIM + 2);
                add_row(&of, rows, x, x + DIM, a);
                add_row(&of, rows, x + DIM + 2, x + 2 * DIM + 2, b);
            }
            const double found = (double)distance(&of, a, b);
            if (found > value)
                value = found;
            else
                at[i] = old;
            free(a);
            free(b);
        }
        cr_expect_leq(value, bound);
        best = fmax(best, value);
    }
    cr_expect_gt(best, .98 * bound, "%g", best / bound);
}

/* The sum is exact, by groups of rows and by threads, and the same as one computed entry by entry. */
Test(summary, sum_is_exact) {
    enum { ROWS = 37, DIM = 21 };
    const struct nvdp__summary of = plan(ROWS, DIM, 1, 1);
    const struct nvdp__noise noise = {.seed = 9};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    int32_t z[ROWS][DIM + 2];
    int64_t *all = new_sum(&of), *parts = new_sum(&of);
    for (size_t r = 0; r < ROWS; r++) {
        float x[DIM], y = r % 2 == 0 ? 1 : -1;
        for (size_t i = 0; i < DIM; i++)
            x[i] = (float)nvdp__stream_normal(&stream);
        nvdp__summary_row(&of, 1, x, &y, z[r]);
    }
    nvdp__summary_add(&of, 2, ROWS, z[0], all);
    nvdp__summary_add(&of, 1, 30, z[0], parts);
    nvdp__summary_add(&of, 2, ROWS - 30, z[30], parts);
    for (size_t i = 0, at = 0; i < of.width; i++)
        for (size_t j = i; j < of.width; j++, at++) {
            int64_t want = 0;
            for (size_t r = 0; r < ROWS; r++)
                want += (int64_t)z[r][i] * z[r][j];
            cr_assert(all[at] == want && parts[at] == want, "entry %zu %zu", i, j);
        }
}

/* --- the noise --- */

/* The release of a sum in units of 1: out [entries]. */
static void release(const struct nvdp__summary *of, uint64_t seed, const int64_t *sum,
                    double *out) {
    const struct nvdp__noise noise = {.seed = seed};
    const size_t entries = nvdp__summary_entries(of);
    nvdp__autofree int32_t *drawn = calloc(entries, sizeof *drawn);
    ok(nvdp__summary_draw(NULL, of, &noise, sum, drawn));
    for (size_t i = 0; i < entries; i++)
        out[i] = ldexp(drawn[i], of->grid.exponent);
}

/* M + E - M has the stated distribution: variances, no correlations, and normal tails, in the coordinates in which theorem 1
 * measures distances. */
Test(summary, noise_has_the_stated_distribution) {
    enum { DRAWS = 10000, ENTRIES = 10 };
    const struct nvdp__summary of = plan(3, 2, 1, 1);
    cr_assert_eq(nvdp__summary_entries(&of), ENTRIES);
    int64_t *sum = new_sum(&of);
    for (size_t r = 0; r < 3; r++)
        add_row(&of, 1, (float[]){.3F, (float)r / 3}, (float[]){r == 0 ? 1 : -1}, sum);
    double moment[ENTRIES][ENTRIES] = {{0}}, mean[ENTRIES] = {0};
    size_t beyond = 0;
    for (uint64_t s = 0; s < DRAWS; s++) {
        double drawn[ENTRIES];
        release(&of, s, sum, drawn);
        for (size_t i = 0, at = 0; i < of.width; i++)
            for (size_t j = i; j < of.width; j++, at++) {
                const double sigma = j > i ? of.sigma_off : of.sigma;
                drawn[at] = (drawn[at] - ldexp((double)sum[at], -2 * of.bits)) / sigma;
                beyond += fabs(drawn[at]) > 3;
            }
        for (size_t a = 0; a < ENTRIES; a++) {
            mean[a] += drawn[a] / DRAWS;
            for (size_t b = 0; b < ENTRIES; b++)
                moment[a][b] += drawn[a] * drawn[b] / DRAWS;
        }
    }
    for (size_t a = 0; a < ENTRIES; a++) { /* 4.5 standard errors */
        cr_expect_lt(fabs(mean[a]), .045, "%zu: %g", a, mean[a]);
        for (size_t b = 0; b < ENTRIES; b++)
            cr_expect_lt(fabs(moment[a][b] - (a == b)), a == b ? .064 : .045, "%zu %zu: %g", a, b,
                         moment[a][b]);
    }
    const double expected = ENTRIES * DRAWS * 2 * gsl_cdf_ugaussian_Q(3);
    cr_expect_lt(fabs((double)beyond - expected), 4.5 * sqrt(expected), "%zu", beyond);
}

/* --- guesses --- */

/* Simulated success of the best guess which of m orthogonal units is in the collection, all equally likely. */
static double best_guess(const struct nvdp__summary *of, size_t m, size_t draws) {
    const struct nvdp__noise noise = {.seed = 11};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    size_t right = 0;
    for (size_t s = 0; s < draws; s++) { /* P_u = e_u e_u^T: only the diagonal tells them apart */
        size_t best = 0;
        double top = -INFINITY;
        for (size_t i = 0; i < m; i++) {
            const double found = (i == 0) + of->sigma * nvdp__stream_normal(&stream);
            if (found > top) best = i;
            top = fmax(top, found);
        }
        right += best == 0;
    }
    return (double)right / (double)draws;
}

static double bound(double baseline, double radius) {
    return gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(baseline) + radius);
}

Test(summary, guesses_stay_below_their_bound) {
    struct nvdp__summary of = plan(1000, 64, 2, 1);
    const size_t draws = 200000;
    cr_expect_eq(nvdp__summary_guess(&of, 1), 0);
    cr_expect_float_eq(nvdp__summary_guess(&of, 2), of.mu / 2, 1e-9);
    cr_expect_float_eq(nvdp__summary_guess(&of, 3), of.mu / sqrt(3), 1e-9);
    cr_expect_gt(nvdp__summary_guess(&of, 0), nvdp__summary_guess(&of, 2));
    cr_expect_leq(nvdp__summary_guess(&of, 0), of.mu / M_SQRT2);
    for (size_t m = 2; m <= 27; m *= 3) {
        const double found = best_guess(&of, m, draws), b = 1 / (double)m;
        const double error = 4 * sqrt(b * (1 - b) / (double)draws);
        cr_expect_leq(found - error, bound(b, nvdp__summary_guess(&of, m)), "%zu", m);
        cr_expect_leq(found - error, bound(b, nvdp__summary_guess(&of, 0)), "%zu", m);
    }
    /* beta = tau, d = 384, two classes with sums of their own: the value of the specification */
    of = plan(1000, 384, 2, 1);
    cr_expect_float_eq(nvdp__summary_guess(&of, 0) / of.mu, .661, 5e-4);
    /* mu / 2 for three answers is false: three orthogonal units at mu = 1 */
    of.sigma = M_SQRT2;
    of.mu = 1;
    const double found = best_guess(&of, 3, 1000000);
    cr_expect_float_eq(found, .546, 2e-3, "%g", found);
    cr_expect_float_eq(bound(1 / 3., .5), .528, 1e-3);
    cr_expect_leq(found, bound(1 / 3., nvdp__summary_guess(&of, 3)));
}
