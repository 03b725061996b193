/* Compares the forms of one block with the plain one, with the vectors of every width. */
#include "rdp_test.h"

enum { WIDE = NVDP__CHUNK, WIDTHS = 3 };
static const int widths[WIDTHS] = {2, 4, 8};

struct texts {
    double mu[2][WIDE], var[2][WIDE];
    struct nvdp__dim_range block[2];
};

/* Sets a block's data about its variances. */
static void describe(struct texts *texts, size_t n) {
    for (int side = 0; side < 2; side++) {
        struct nvdp__dim_range *block = &texts->block[side];
        *block = (struct nvdp__dim_range){.mu = texts->mu[side], .var = texts->var[side]};
        block->logs = nvdp__log_product(n, texts->var[side]);
        for (size_t k = 0; k < n; k++) {
            block->max_var = fmax(block->max_var, texts->var[side][k]);
            block->spread = fmax(block->spread, fabs(log(texts->var[side][k])));
        }
    }
}

/* Returns the largest relative error of both directions; the infinities must be the same. */
static double deviation(const struct nvdp__plan *plan, size_t n, const struct texts *at,
                        bool small) {
    const bool wanted[2] = {true, true};
    double got[2], worst = 0;
    nvdp__gaussian_both(plan, n, &at->block[0], &at->block[1], wanted, &small, got);
    for (int side = 0; side < 2; side++) {
        double want = nvdp__gaussian(plan->order, n, at->mu[side], at->var[side], at->mu[1 - side],
                                     at->var[1 - side]);
        cr_expect_eq(isinf(want), isinf(got[side]), "order %.17g n %zu: %g %g", plan->order, n,
                     want, got[side]);
        worst = fmax(worst, support_relative(got[side], want, 1e-300));
    }
    return worst;
}

static const double orders[] = {0.01, 0.3, 0.9, 0.999, 1 - 1e-7, 1,  1 + 1e-12, 1 + 1e-7, 1.05,
                                1.1,  1.5, 2,   2.1,   9,        65, 1e4,       1e9,      INFINITY};
enum { ORDERS = sizeof orders / sizeof *orders };

/* Random blocks of every size: variances and means that differ by 1e-9 to a few, at levels from
 * e^-100 to e^100, some with a v at or near its edge 0. Tolerances are those of
 * nvdp_pairs_arithmetic; the fast form's own bound is 2e-7. */
Test(fast, agrees_with_the_plain_form) {
    static struct texts texts;
    unsigned seed = 3;
    double worst[2] = {0, 0};
    for (int trial = 0; trial < 6000; trial++) {
        double order = orders[trial % ORDERS];
        double spread = exp(-20 * made_uniform(&seed)), shift = exp(-20 * made_uniform(&seed));
        double level = 200 * (made_uniform(&seed) - 0.5) * (trial % 3 == 0);
        size_t max_n = made_uniform(&seed) < 0.5 ? 20 : WIDE;
        size_t n = 1 + (size_t)(made_uniform(&seed) * (double)max_n);
        if (n > WIDE) n = WIDE;
        for (size_t k = 0; k < n; k++) {
            for (int side = 0; side < 2; side++) {
                texts.mu[side][k] = exp(level / 2) * shift * made_normal(&seed);
                texts.var[side][k] = exp(level + spread * made_normal(&seed));
            }
        }
        if (order > 1 && made_uniform(&seed) < 0.2) {
            double near = pow(10, -16 * made_uniform(&seed)) * made_normal(&seed);
            texts.var[0][n / 2] = texts.var[1][n / 2] * (1 + 1 / (order - 1)) * (1 + near);
        }
        describe(&texts, n);
        for (int mode = 0; mode < 2; mode++) {
            struct nvdp__plan plan =
                nvdp__plan(order, mode == 0 ? NVDP_PAIRS_EXACT : NVDP_PAIRS_FAST);
            for (int w = 0; w < WIDTHS; w++) {
                plan.kernels = nvdp__lane_kernels(widths[w]);
                if (plan.kernels == NULL) continue;
                double off =
                    fmax(deviation(&plan, n, &texts, false), deviation(&plan, n, &texts, true));
                cr_expect_leq(off, mode == 0 ? 1e-12 : 1e-6,
                              "order %.9g, n %zu, spread %g, shift %g, width %d: %.2e", order, n,
                              spread, shift, widths[w], off);
                worst[mode] = fmax(worst[mode], off);
            }
        }
    }
    cr_log_info("worst: exact %.2e, fast %.2e", worst[0], worst[1]);
    cr_expect_leq(worst[1], 2e-7);
}

/* One direction is infinite, the other finite, for each dimension from the first to the last. */
Test(fast, each_direction_has_its_own_infinity) {
    static struct texts texts;
    unsigned seed = 8;
    for (size_t at = 0; at < WIDE; at += 37) {
        for (size_t k = 0; k < WIDE; k++) {
            for (int side = 0; side < 2; side++) {
                texts.mu[side][k] = made_normal(&seed);
                texts.var[side][k] = exp(0.1 * made_normal(&seed));
            }
        }
        texts.var[0][at] = 20 * texts.var[1][at];
        describe(&texts, WIDE);
        struct nvdp__plan plan = nvdp__plan(1.1, NVDP_PAIRS_FAST);
        const bool wanted[2] = {true, true};
        bool small = false;
        double got[2];
        nvdp__gaussian_both(&plan, WIDE, &texts.block[0], &texts.block[1], wanted, &small, got);
        cr_expect_eq(got[0], INFINITY);
        double want =
            nvdp__gaussian(1.1, WIDE, texts.mu[1], texts.var[1], texts.mu[0], texts.var[0]);
        agrees(got[1], want, 1e-7);
    }
}

/* Checks the polynomials at every order that has them, for the error that rdp/pairs.h states. */
Test(fast, polynomials) {
    for (int k = 0; k < ORDERS; k++) {
        struct nvdp__chebyshev narrow, wide;
        if (orders[k] > 1e6) continue;
        cr_expect(nvdp__chebyshev_fit(orders[k], NVDP__NARROW_TERMS, 0.125, &narrow), "order %g",
                  orders[k]);
        cr_expect(nvdp__chebyshev_fit(orders[k], NVDP__WIDE_TERMS, 0.6, &wide), "order %g",
                  orders[k]);
    }
}

/* Compares pseudo-counts from 1e-12 to 1e12 with the C library's lnG: within 1e-14 of `size`. */
Test(fast, log_gammas) {
    unsigned seed = 5;
    for (int trial = 0; trial < 3000; trial++) {
        double p[64], q[64];
        size_t n = 8 * (1 + (size_t)(7.99 * made_uniform(&seed)));
        double range = 60 * made_uniform(&seed) * (trial % 2), spread = made_uniform(&seed);
        double s = (trial % 5 == 0 ? 1 : 0.1) * made_normal(&seed);
        bool outside[2] = {false, false};
        double want[2] = {0, 0};
        for (size_t k = 0; k < n; k++) {
            double level = range * (made_uniform(&seed) - 0.5);
            p[k] = exp(level + spread * made_normal(&seed));
            q[k] = exp(level + spread * made_normal(&seed));
            double c[2] = {p[k] + s * (p[k] - q[k]), q[k] - s * (p[k] - q[k])};
            int sign;
            outside[0] = outside[0] || c[0] < 1e-9 * p[k];
            outside[1] = outside[1] || c[1] < 1e-9 * q[k];
            want[0] += lgamma_r(c[0], &sign);
            want[1] += lgamma_r(c[1], &sign);
        }
        for (int w = 0; w < WIDTHS; w++) {
            const struct nvdp__kernels *run = nvdp__lane_kernels(widths[w]);
            struct nvdp__log_gammas got;
            if (run == NULL) continue;
            run->log_gammas(s, n, p, q, &got);
            for (int side = 0; side < 2; side++) {
                cr_expect_eq(got.unsafe[side], outside[side]);
                if (outside[side]) continue;
                cr_expect_leq(fabs(got.sum[side] - want[side]), 1e-14 * got.size[side] + 1e-14,
                              "n %zu width %d: %.17g %.17g", n, widths[w], got.sum[side],
                              want[side]);
            }
        }
    }
}
