/* The bound proven over all texts: no pair of texts within the ball exceeds it, and a pair
 * attains it. */
#include "made_posteriors.h"

#include "test_context.h"

static const double orders[] = {0.5, 1, 1.1, 2, 64, INFINITY};
enum { ORDERS = sizeof orders / sizeof *orders };

/* Scales all means of each text, as one vector, to norm `radius` or, for every other text, below
 * it. */
static void into_ball(struct nvdp_posteriors *set, double radius) {
    for (size_t i = 0; i < set->texts; i++) {
        double square = 0;
        size_t first = set->offset[i] * set->dim, end = set->offset[i + 1] * set->dim;
        for (size_t k = first; k < end; k++)
            square += set->mu[k] * set->mu[k];
        for (size_t k = first; k < end; k++) {
            set->mu[k] *= radius * (i % 2 == 0 ? 1 : 0.4) / sqrt(square);
            set->logvar[k] = 0;
        }
    }
}

static struct nvdp_posteriors *made(double radius) {
    const struct made_texts texts = {24, 5, 3, 2, .seed = 7};
    struct nvdp_posteriors *set = made_posteriors(ctx, &texts);
    into_ball(set, radius);
    return set;
}

/* Texts of 1 to 5 tokens, padded to 7 rows. 1e-12 is the divergences' own error. */
Test(bound, no_pair_exceeds_it) {
    for (double radius = 0.01; radius < 100; radius *= 7) {
        struct nvdp_posteriors *set = made(radius);
        for (size_t o = 0; o < ORDERS; o++) {
            double bound = nvdp_renyi_sequence_bound(orders[o], radius), largest = 0;
            for (size_t i = 0; i < set->texts; i++)
                for (size_t j = 0; j < set->texts; j++)
                    largest = fmax(largest, nvdp_renyi_texts(orders[o], set, i, j));
            cr_expect_leq(largest, bound * (1 + 1e-12), "order %g, C %g", orders[o], radius);
            /* the bound is not vacuous: the farthest of these random texts come near it */
            cr_expect_geq(largest, bound / 4, "order %g, C %g", orders[o], radius);
        }
    }
}

/* The sensitivity is the ball's diameter: for two opposite texts, one is the other's negative. */
Test(bound, opposite_texts_attain_it) {
    struct nvdp_posteriors *set = made(1.45);
    size_t i = 0, j = 1; /* two texts of one length */
    while (set->offset[i + 1] - set->offset[i] != set->offset[j + 1] - set->offset[j])
        cr_assert_lt(++j, set->texts);
    size_t count = (set->offset[i + 1] - set->offset[i]) * set->dim;
    double *p = set->mu + set->offset[i] * set->dim, *q = set->mu + set->offset[j] * set->dim;
    for (size_t k = 0; k < count; k++)
        q[k] = -p[k];
    for (size_t o = 0; o < ORDERS; o++) {
        double value = nvdp_renyi_texts(orders[o], set, i, j);
        double bound = nvdp_renyi_sequence_bound(orders[o], 1.45);
        if (isinf(bound))
            cr_expect_eq(value, bound);
        else
            agrees(value, bound, 1e-12, "order %g", orders[o]);
    }
}

/* The report prints the proven bound and the measured value; nothing is proven for shared
 * weights. */
Test(bound, is_in_the_report) {
    for (int weights = 0; weights < 2; weights++) {
        struct made_texts texts = {24, 5, 3, 2, .seed = 7, .with_alpha = weights == 1};
        struct nvdp_posteriors *set = made_posteriors(ctx, &texts);
        nvdp__autoresult struct nvdp_privacy_report report =
            NVDP_RESULT(struct nvdp_privacy_report);
        set->kappa = 1;
        into_ball(set, 1.4);
        for (size_t t = 0; t < 2; t++) { /* on opposite sides of the ball */
            const size_t first = set->offset[t] * set->dim, end = set->offset[t + 1] * set->dim;
            for (size_t k = first; k < end; k++)
                set->mu[k] = k > first ? 0 : t == 0 ? 1.45 : -1.45;
        }
        set->clip_sequence = 1.45;
        ok(nvdp_privacy_measure(ctx, set, NULL, NULL, &report));
        double bound = nvdp_renyi_sequence_bound(1.1, 1.45);
        cr_expect_eq(report.bound.clip_sequence, 1.45);
        cr_expect_eq(report.bound.sum, weights == 0 ? bound : INFINITY);
        /* converted from divergences, it would be larger */
        if (weights == 0) cr_expect_eq(report.epsilon->sum.max, nvdp_gdp_epsilon(2.9, 1e-5));
        const json_t *root = support_result_json(ctx, &report, NULL);
        cr_expect_eq(number_at(root, "bound/clip_sequence"), 1.45);
        cr_expect_eq(number_at(root, "bound/sum"), weights == 0 ? bound : 0);
        const char *text = support_result_text(ctx, &report, NULL);
        cr_expect_eq(strstr(text, "C = 1.45: at order 1.1, any two texts, measured or not, differ "
                                  "by at most 4.626 nats") != NULL,
                     weights == 0, "%s", text);
    }
}

Test(bound, numbers) {
    near(nvdp_renyi_sequence_bound(1.1, 1.45), 1.1 * 2.9 * 2.9 / 2, 1e-14);
    near(nvdp_renyi_sequence_bound(1, 0.5), 0.5, 1e-15);
    cr_expect_eq(nvdp_renyi_sequence_bound(2, 0), 0);
    cr_expect_eq(nvdp_renyi_sequence_bound(INFINITY, 0), 0);
    cr_expect_eq(nvdp_renyi_sequence_bound(1e200, 1), INFINITY, "as of infinity");
    cr_expect(isnan(nvdp_renyi_sequence_bound(0, 1)));
    cr_expect(isnan(nvdp_renyi_sequence_bound(NAN, 1)));
    cr_expect(isnan(nvdp_renyi_sequence_bound(1.1, -1)));
    cr_expect(isnan(nvdp_renyi_sequence_bound(1.1, NAN)));
    cr_expect(isnan(nvdp_renyi_sequence_bound(1.1, INFINITY)));
}

/* The largest share that a divergence allows. Two outcomes attain it. For Gaussians mu apart,
 * whose test has Phi(mu + Phi^-1(FPR)) true positives, it is never below; for order infinity it
 * is e^D times the chance. */
Test(bound, most_of_an_event) {
    static const double chances[] = {1e-6, .01, .3, .9}, nats[] = {0, 1e-6, .1, 1, 5, 30};
    for (size_t o = 0; o < ORDERS; o++)
        for (size_t c = 0; c < 4; c++)
            for (size_t d = 0; d < 6; d++) {
                const double q = chances[c],
                             p = nvdp_renyi_probability_bound(orders[o], nats[d], q);
                cr_expect(p >= q && p <= 1, "%g %g %g: %g", orders[o], q, nats[d], p);
                if (orders[o] >= 1 && nats[d] >= -log(q)) cr_expect_eq(p, 1);
                if (orders[o] == INFINITY) near(p, fmin(1, q * exp(nats[d])), 1e-9 * p);
                if (p > 1 - 1e-9 || nats[d] < .01 || orders[o] == INFINITY) continue;
                const double got = nvdp_renyi_discrete(orders[o], 2, (double[]){log(p), log1p(-p)},
                                                       (double[]){log(q), log1p(-q)});
                near(got, nats[d], 1e-6 * nats[d], "%g %g", orders[o], q);
            }
    for (double mu = .1; mu < 8; mu *= 1.7)
        for (double x = -4; x < 2; x += .5) {
            const double fpr = erfc(-x * M_SQRT1_2) / 2, tpr = erfc(-(x + mu) * M_SQRT1_2) / 2;
            for (size_t o = 0; o < ORDERS - 1; o++)
                cr_expect_leq(
                    tpr,
                    nvdp_renyi_probability_bound(orders[o], orders[o] * mu * mu / 2, fpr) + 1e-12);
        }
    /* order 2 has a closed form: (p - q)^2 / (q (1 - q)) = e^D - 1 */
    for (long double d = 1e-30L; d < .1L; d *= 7)
        for (double q = 1e-9; q < .6; q *= 3) {
            const long double want = q + sqrtl(q * (1 - (long double)q) * expm1l((double)d));
            cr_expect_geq((long double)nvdp_renyi_probability_bound(2, (double)d, q), want,
                          "%Lg %g", d, q);
        }
    static const double far[] = {5e-324, 1e-310, 1e-308, 1e-100, 1 - 1e-15};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        for (double d = 0; d<1e-6; d = d> 0 ? d * 1e5 : 1e-320)
            cr_expect_geq(nvdp_renyi_probability_bound(1, d, far[i]), far[i], "%g %g", d, far[i]);
    cr_expect(isnan(nvdp_renyi_probability_bound(0, 1, .5)) &&
              isnan(nvdp_renyi_probability_bound(1, -1, .5)) &&
              isnan(nvdp_renyi_probability_bound(1, 1, 1)));
}
