/* Compares delta of epsilon and epsilon of delta with enumeration, a closed form, and draws of
 * the mechanism. */
#include "made_tables.h"
#include "rdp/loss.h"

#include "test_context.h"

static struct nvdp_vectors *table(size_t count, size_t dim) {
    nvdp__autofree double *rows = calloc(count * dim, sizeof *rows);
    for (size_t i = 0; i < count * dim; i++)
        rows[i] = sin(1.0 + 3.7 * (double)i) + cos(0.1 * (double)(i * i));
    return vectors_of(ctx, count, dim, rows);
}

/* Computes delta(eps) of three positions, output by output. */
static double enumerated(size_t count, const double *p, const double *q, double epsilon) {
    double delta = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (size_t k = 0; k < count; k++) {
                double log_p = p[i] + p[count + j] + p[2 * count + k];
                double log_q = q[i] + q[count + j] + q[2 * count + k];
                delta += fmax(exp(log_p) - exp(epsilon + log_q), 0);
            }
    return delta;
}

/* Twelve words and three positions make 1,728 outputs. The grid's ends must enclose the value. */
Test(loss, enumeration) {
    enum { WORDS = 12 };
    struct nvdp_vectors *vectors = table(WORDS, 3);
    unsigned char sensitive[WORDS] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
    const int32_t a[3] = {0, 5, 3}, b[3] = {7, 2, 9}, left[3] = {9, 5, 3};
    for (int c = 0; c < 4; c++) {
        const double eta = c % 2 == 0 ? 0.8 : 6;
        struct nvdp_dchi *dchi = dchi_of(
            ctx, vectors, c < 2 ? NVDP_DCHI_SANTEXT : NVDP_DCHI_SANTEXT_PLUS, eta, sensitive);
        double p[3 * WORDS], q[3 * WORDS];
        ok(nvdp_dchi_log_probabilities(ctx, dchi, 3, a, p));
        ok(nvdp_dchi_log_probabilities(ctx, dchi, 3, b, q));
        for (double epsilon = 0; epsilon < 12; epsilon += 1.3) {
            struct nvdp_interval got;
            ok(nvdp_dchi_delta(ctx, dchi, epsilon, 3, a, 3, b, &got));
            double want = enumerated(WORDS, p, q, epsilon);
            cr_expect(got.low <= want * (1 + 1e-9) && want <= got.high * (1 + 1e-9) + 1e-300,
                      "case %d, epsilon %g: %.12g in [%.12g, %.12g]", c, epsilon, want, got.low,
                      got.high);
            cr_expect_leq(got.high - got.low,
                          2e-3 * fmax(epsilon, .1) * fmax(want, 1e-12) + 1e-4 * (want > .1));
        }
        static const double deltas[3] = {.1, 1e-3, 1e-5};
        for (int d = 0; d < 3; d++) {
            struct nvdp_interval got;
            ok(nvdp_dchi_epsilon(ctx, dchi, deltas[d], 3, a, 3, b, &got));
            cr_expect(enumerated(WORDS, p, q, got.high) <= deltas[d] * (1 + 1e-9));
            cr_expect(got.low == 0 ||
                      enumerated(WORDS, p, q, got.low - 1e-9) >= deltas[d] * (1 - 1e-9));
            cr_expect(got.high - got.low <= 2e-3 * fmax(got.high, .1), "[%g, %g]", got.low,
                      got.high);
        }
        struct nvdp_interval got;
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 3, left, 3, b, &got));
        cr_expect_eq(isinf(got.low), c >= 2); /* with probability .7 the token stays as it is */
        if (c >= 2) {
            ok(nvdp_dchi_delta(ctx, dchi, 50, 3, left, 3, b, &got));
            near(got.low, .7, 1e-12);
            near(got.high, .7, 1e-6);
        }
    }
}

/* For d = 1 and one position, delta(eps) = 1 - e^((eps - s)/2) for eps <= s (Balle & Wang 2018,
 * Theorem 3). */
Test(loss, laplace_on_a_line) {
    struct nvdp_interval got;
    struct nvdp_vectors *vectors = vectors_of(ctx, 2, 1, (double[]){0, 2.5});
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, 2, NULL);
    const int32_t x[1] = {0}, x2[1] = {1};
    for (double epsilon = 0; epsilon < 5; epsilon += .7) {
        double want = -expm1((epsilon - 5) / 2);
        ok(nvdp_dchi_delta(ctx, dchi, epsilon, 1, x, 1, x2, &got));
        cr_expect(got.low <= want && want <= got.high && got.high - got.low < 5e-3,
                  "epsilon %g: %g in [%g, %g]", epsilon, want, got.low, got.high);
    }
    ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 1, x, 1, x2, &got));
    double want = 5 + 2 * log1p(-1e-5);
    cr_expect(got.low <= want && want <= got.high && got.high - got.low < 6e-3, "[%.9g, %.9g]",
              got.low, got.high);
}

/* Losses of 1 to 10^8 nats. A tilt of k rounds them by k h nats, and the tilted masses must not
 * vanish. For d = 1 the closed form is eps = s + 2 log(1 - delta). */
Test(loss, large_on_a_line) {
    const int32_t x[1] = {0}, x2[1] = {1};
    struct nvdp_vectors *vectors = vectors_of(ctx, 2, 1, (double[]){0, 1});
    for (double s = 1; s < 1e8; s *= 1.7) {
        struct nvdp_interval got;
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, s, NULL);
        for (int d = 0; d < 2; d++) {
            const double delta = d == 0 ? 1e-5 : .1, want = s + 2 * log1p(-delta);
            ok(nvdp_dchi_epsilon(ctx, dchi, delta, 1, x, 1, x2, &got));
            /* 1e-12: rounding; the width is at most a thousandth, as the header promises. */
            cr_expect(got.low <= want * (1 + 1e-12) && want <= got.high * (1 + 1e-12) &&
                          got.high - got.low < 2e-3 * want,
                      "s %g: %.12g in [%.12g, %.12g]", s, want, got.low, got.high);
        }
        for (int i = 0; i < 4; i++) {
            const double epsilon = s * (i + .5) / 4, want = -expm1((epsilon - s) / 2);
            ok(nvdp_dchi_delta(ctx, dchi, epsilon, 1, x, 1, x2, &got));
            cr_expect(got.low <= want && want <= got.high, "s %g, epsilon %g: %g in [%g, %g]", s,
                      epsilon, want, got.low, got.high);
        }
    }
}

/* For d >= 2, mpmath (20 digits) integrated and inverted delta(eps) from the density of L = -s
 * nu, which rdp/loss.c derives: e^(-s nu/2) (1 - nu^2)^((d-3)/2) [(d-1)/z K_{n+1}(z)/K_n(z) +
 * 1 - nu^2]. */
Test(loss, large_in_space) {
    static const struct {
        size_t dim;
        double s, delta, epsilon;
    } golden[] = {
        {2, 5000, 1e-5, 4999.99887752965},  {2, 5000, .1, 4999.41568405038},
        {3, 1000, 1e-5, 999.991051311602},  {3, 1000, .1, 998.937439095359},
        {3, 20000, 1e-5, 19999.9910428152}, {3, 20000, .1, 19998.9364299611},
        {50, 3000, 1e-5, 2981.40984110864}, {50, 3000, .1, 2961.75162708941},
        {3, 1e9, 1e-5, 999999999.991},      {50, 4e4, 1e-5, 39981.2686763554},
        {50, 4e4, .1, 39961.4606323298},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const double want = golden[i].epsilon;
        nvdp__autofree double *rows = calloc(2 * golden[i].dim, sizeof *rows);
        struct nvdp_interval got;
        rows[0] = 1;
        struct nvdp_vectors *vectors = vectors_of(ctx, 2, golden[i].dim, rows);
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, golden[i].s, NULL);
        ok(nvdp_dchi_epsilon(ctx, dchi, golden[i].delta, 1, (const int32_t[]){0}, 1,
                             (const int32_t[]){1}, &got));
        cr_expect(got.low <= want && want <= got.high && got.high - got.low < 2e-3 * want,
                  "d %zu, s %g: %.12g in [%.12g, %.12g]", golden[i].dim, golden[i].s, want, got.low,
                  got.high);
    }
}

/* A tilt of 5000 over a grid of 1: eps stays within the grid's width for two outcomes, 1 -
 * e^-900 and e^-900 against the reverse, and for d = 1. Masses that all vanish give no epsilon. */
Test(loss, vanishing_masses) {
    const double log_p[2] = {log1p(-exp(-900.7)), -900.7}, log_q[2] = {log_p[1], log_p[0]};
    struct nvdp__loss_part part;
    struct nvdp__loss loss;
    for (int i = 0; i < 3; i++) {
        const double want = i == 1 ? 900.7 + 2 * log1p(-1e-5) : 900.7 + log1p(-1e-5);
        ok(i == 1 ? nvdp__loss_laplace(ctx, 1, 900.7, 5000, 1, 1e-7, &part)
                  : nvdp__loss_discrete(ctx, 2, log_p, log_q, 5000, 1, 1e-7, &part));
        if (i == 2) {
            memset(part.mass, 0, part.n * sizeof *part.mass);
            nvdp__loss_finish(&part, 0, 0, 1e-7);
        }
        ok(nvdp__loss_sum(ctx, 1, &part, 5000, 1, &loss));
        const struct nvdp_interval got = nvdp__loss_epsilon(&loss, 1e-5);
        const struct nvdp_interval delta = nvdp__loss_delta(&loss, 10);
        cr_expect(got.low <= want && want <= got.high, "%d: [%g, %g]", i, got.low, got.high);
        cr_expect(delta.low <= 1 && delta.high == 1);
        cr_expect(i < 2 ? got.high < want + 2 : isinf(got.high) && delta.low == 0);
        nvdp__loss_free(&loss);
        free(part.mass);
    }
}

/* Checks santext and santext-plus with eta from 1 to 10^5 on 216 outputs: epsilon's upper end
 * must not be below the true value (the worst error), nor its lower end above it. */
Test(loss, large_enumerated) {
    enum { WORDS = 6 };
    struct nvdp_vectors *vectors = table(WORDS, 2);
    unsigned char sensitive[WORDS] = {1, 1, 1, 1, 0, 1};
    const int32_t a[3] = {0, 5, 3}, b[3] = {4, 2, 1};
    static const double deltas[3] = {.1, 1e-5, 1e-12};
    int step = 0;
    for (double eta = 1; eta < 1.2e5; eta *= 1.6, step++) {
        double p[3 * WORDS], q[3 * WORDS];
        struct nvdp_dchi *dchi =
            dchi_of(ctx, vectors, step % 2 == 0 ? NVDP_DCHI_SANTEXT : NVDP_DCHI_SANTEXT_PLUS, eta,
                    sensitive);
        ok(nvdp_dchi_log_probabilities(ctx, dchi, 3, a, p));
        ok(nvdp_dchi_log_probabilities(ctx, dchi, 3, b, q));
        for (int d = 0; d < 3; d++) {
            struct nvdp_interval got;
            ok(nvdp_dchi_epsilon(ctx, dchi, deltas[d], 3, a, 3, b, &got));
            /* 1e-9 of delta: exponentials of up to 10^6 nats in double. */
            cr_expect(enumerated(WORDS, p, q, got.high) <= deltas[d] * (1 + 1e-9),
                      "eta %g, delta %g: %.12g is too small", eta, deltas[d], got.high);
            cr_expect(got.low > 0 &&
                          enumerated(WORDS, p, q, got.low * (1 - 1e-9)) >= deltas[d] * (1 - 1e-9),
                      "eta %g, delta %g: %.12g is too large", eta, deltas[d], got.low);
            cr_expect(got.high - got.low <= 2e-3 * fmax(got.high, .1), "eta %g: [%g, %g]", eta,
                      got.low, got.high);
        }
    }
}

/* For the mechanism's own draws, L = eta (|y - phi(x')| - |y - phi(x)|), summed over positions,
 * gives delta(eps), D_1, D_1.5 and D_2 within five standard errors; a seed in 100,000 fails one
 * of the 18. */
Test(loss, laplace_drawn) {
    enum { DRAWS = 100000, LENGTH = 3 };
    static const size_t dims[3] = {2, 3, 30};
    const uint64_t seed = 11;
    nvdp__autofree size_t *offset = calloc(DRAWS + 1, sizeof *offset);
    int32_t *tokens = calloc(DRAWS * LENGTH, sizeof *tokens);
    nvdp__autofree double *loss = calloc(DRAWS, sizeof *loss);
    const int32_t a[LENGTH] = {0, 1, 2}, b[LENGTH] = {3, 1, 4};
    for (size_t i = 0; i < DRAWS * LENGTH; i++) {
        offset[i / LENGTH + 1] = (i / LENGTH + 1) * LENGTH;
        tokens[i] = a[i % LENGTH];
    }
    for (size_t c = 0; c < 3; c++) {
        const size_t dim = dims[c];
        const double eta = .2 * sqrt((double)dim);
        struct nvdp_vectors *vectors = table(5, dim);
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, eta, NULL);
        struct nvdp_dchi *nearest = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE_NEAREST, eta, NULL);
        nvdp__autofree double *y = calloc(DRAWS * LENGTH * dim, sizeof *y),
                              *rows = calloc(2 * dim, sizeof *rows);
        ok(nvdp_dchi_perturb(ctx, dchi, DRAWS, offset, tokens, &seed, 0, y));
        for (size_t t = 0; t < DRAWS; t++) {
            loss[t] = 0;
            for (size_t i = 0; i < LENGTH; i++) {
                double *from = rows, *to = rows + dim;
                nvdp__vectors_row(vectors, (size_t)a[i], from);
                nvdp__vectors_row(vectors, (size_t)b[i], to);
                double square = 0, other = 0;
                for (size_t k = 0; k < dim; k++) {
                    const double v = y[(t * LENGTH + i) * dim + k];
                    square += (v - from[k]) * (v - from[k]);
                    other += (v - to[k]) * (v - to[k]);
                }
                loss[t] += eta * (sqrt(other) - sqrt(square));
            }
        }
        static const double orders[4] = {1, 1.5, 2, INFINITY};
        double divergence[4], bound[4];
        ok(nvdp_dchi_divergence(ctx, dchi, 4, orders, LENGTH, a, LENGTH, b, divergence));
        ok(nvdp_dchi_divergence(ctx, nearest, 4, orders, LENGTH, a, LENGTH, b, bound));
        for (int what = 0; what < 6; what++) {
            const double epsilon = what == 3 ? 0 : what == 4 ? .5 : 2;
            double sum = 0, square = 0;
            for (size_t t = 0; t < DRAWS; t++) {
                double value = what == 0  ? loss[t]
                               : what < 3 ? exp((orders[what] - 1) * loss[t])
                                          : fmax(-expm1(epsilon - loss[t]), 0);
                sum += value / DRAWS;
                square += value * value / DRAWS;
            }
            const double error = 5 * sqrt((square - sum * sum) / DRAWS);
            struct nvdp_interval want;
            if (what < 3)
                want.low = want.high =
                    what == 0 ? divergence[0] : exp((orders[what] - 1) * divergence[what]);
            else
                ok(nvdp_dchi_delta(ctx, dchi, epsilon, LENGTH, a, LENGTH, b, &want));
            cr_expect(want.low - error <= sum && sum <= want.high + error,
                      "d %zu, %d: %g +- %g, expected %g to %g", dim, what, sum, error, want.low,
                      want.high);
            cr_expect(error < .1 * sum + 2e-3, "%g of %g", error, sum);
        }
        for (int k = 0; k < 4; k++)
            cr_expect(bound[k] == divergence[k] && divergence[k] <= divergence[3]);
        struct nvdp_interval here, there;
        double converted = divergence[3];
        for (double order = 1.05; order < 100; order *= 1.1) {
            double d;
            ok(nvdp_dchi_divergence(ctx, dchi, 1, &order, LENGTH, a, LENGTH, b, &d));
            converted = fmin(converted, nvdp_renyi_epsilon(order, d, 1e-5));
        }
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, LENGTH, a, LENGTH, b, &here));
        ok(nvdp_dchi_epsilon(ctx, nearest, 1e-5, LENGTH, a, LENGTH, b, &there));
        cr_expect(there.low == 0 && there.high == here.high && here.high <= divergence[3] * 1.002);
        cr_expect(here.low <= converted && converted < 2 * here.high, "%g, %g", here.high,
                  converted);
    }
    free(tokens);
}

/* Outputs with the same distribution, of other tokens too, give 0 at any length, and with other
 * positions only what these give. */
Test(loss, nothing_told) {
    enum { LENGTH = 60 };
    struct nvdp_vectors *vectors = table(6, 4);
    static const enum nvdp_dchi_mechanism kinds[3] = {NVDP_DCHI_RANDOM, NVDP_DCHI_SANTEXT,
                                                      NVDP_DCHI_LAPLACE};
    int32_t a[LENGTH + 1], b[LENGTH + 1];
    memcpy((double *)(uintptr_t)vectors->rows.at[1], vectors->rows.at[0], 4 * sizeof(double));
    for (int i = 0; i < LENGTH; i++) {
        a[i] = i % 2;
        b[i] = 1 - i % 2;
    }
    a[LENGTH] = 2;
    b[LENGTH] = 3;
    for (int k = 0; k < 3; k++) {
        struct nvdp_interval got = {-1, -1}, alone = {-1, -1};
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, kinds[k], k == 0 ? NAN : 3, NULL);
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, LENGTH, a, LENGTH, b, &got));
        cr_expect(got.low == 0 && got.high == 0, "%d: %g to %g", k, got.low, got.high);
        ok(nvdp_dchi_delta(ctx, dchi, 0, LENGTH, a, LENGTH, b, &got));
        cr_expect(got.low == 0 && got.high == 0, "%d: %g to %g", k, got.low, got.high);
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, LENGTH + 1, a, LENGTH + 1, b, &got));
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 1, a + LENGTH, 1, b + LENGTH, &alone));
        cr_expect(got.low == alone.low && got.high == alone.high && (got.high > 0) == (k > 0));
    }
}

Test(loss, edges) {
    struct nvdp_vectors *vectors = table(6, 4);
    struct nvdp_interval got = {-1, -1};
    const int32_t a[2] = {0, 1}, b[2] = {2, 3}, wrong[1] = {6};
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 3, NULL);
    struct nvdp_dchi *random = dchi_of(ctx, vectors, NVDP_DCHI_RANDOM, NAN, NULL);
    static const double bad[4] = {0, 1, -1, NAN};
    for (int i = 0; i < 4; i++)
        cr_expect_eq(nvdp_dchi_epsilon(ctx, dchi, bad[i], 2, a, 2, b, &got), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_dchi_delta(ctx, dchi, -1, 2, a, 2, b, &got), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_dchi_delta(ctx, dchi, INFINITY, 2, a, 2, b, &got), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_dchi_delta(ctx, dchi, 1, 1, wrong, 2, b, &got), NVDP_ERR_ARGUMENT);
    cr_expect(got.low == -1 && got.high == -1);
    ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 2, a, 1, b, &got));
    cr_expect(isinf(got.low) && isinf(got.high));
    ok(nvdp_dchi_delta(ctx, dchi, 4, 2, a, 1, b, &got));
    cr_expect(got.low == 1 && got.high == 1);
    ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 2, a, 2, a, &got));
    cr_expect(got.low == 0 && got.high == 0);
    ok(nvdp_dchi_epsilon(ctx, random, 1e-5, 2, a, 2, b, &got));
    cr_expect(got.low == 0 && got.high == 0);

    /* A word outside the table is a uniform draw; for laplace it is no further than the farthest
     * token. */
    const int32_t unknown[2] = {NVDP_DCHI_UNKNOWN, 1};
    double p[6], q[6], want = 0;
    ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, unknown, p));
    ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, a, q));
    for (size_t y = 0; y < 6; y++)
        want += fmax(exp(p[y]) - exp(1 + q[y]), 0);
    ok(nvdp_dchi_delta(ctx, dchi, 1, 2, unknown, 2, a, &got));
    cr_expect(got.low <= want && want <= got.high && got.high < 1.01 * want);
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, 3, NULL);
    struct nvdp_interval largest = {0, 0};
    for (int32_t y = 0; y < 6; y++) {
        ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 1, &y, 1, a, &got));
        if (got.high > largest.high) largest = got;
    }
    ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 2, unknown, 2, a, &got));
    cr_expect(got.low == 0 && got.high == largest.high && got.high > 0);
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE_NEAREST, 3, NULL);
    ok(nvdp_dchi_epsilon(ctx, dchi, 1e-5, 2, unknown, 2, a, &got));
    cr_expect(got.low == 0 && isinf(got.high));
}
