/* The exact loss where double precision lacks digits: pairs that are nearly the same, pairs whose
 * integral doubles cannot hold and that get a bound, and pairs of every kind at random. */
#include "rdp_test.h"

#include <gsl/gsl_errno.h>

#include "test_context.h"

/* Two equal pseudo-counts a against two equal ones b: L = beta + v log(x (1-x)), v = a - b, x ~
 * Beta(a, a), so that L > eps is an interval about 1/2, or the complement of one. */
static struct nvdp_exact_point of_equal_weights(double a, double b, double epsilon) {
    const double v = a - b;
    const double beta = 2 * (lgamma(b) - lgamma(a)) - lgamma(2 * b) + lgamma(2 * a);
    const double square = 0.25 - exp((epsilon - beta) / v);
    const double edge = 0.5 - sqrt(fmax(square, 0));
    struct nvdp_exact_point made = {.epsilon = epsilon};
    made.tpr = 2 * gsl_cdf_beta_P(edge, a, a);
    made.fpr = 2 * gsl_cdf_beta_P(edge, b, b);
    if (v > 0) {
        made.tpr = 1 - made.tpr;
        made.fpr = 1 - made.fpr;
    }
    made.delta = made.tpr - exp(epsilon) * made.fpr;
    return made;
}

/* If the loss has an end, epsilon comes close to it: the differences above leave 1e-10 of
 * 1e-16. */
Test(exact_bound, nearly_equal_weights_have_a_closed_form) {
    static const double pairs[][2] = {{100, 101}, {101, 100}, {102, 100}, {100, 103},
                                      {103, 100}, {10, 10.5}, {.5, .501}, {3000, 3001}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const double p[] = {pairs[k][0], pairs[k][0]}, q[] = {pairs[k][1], pairs[k][1]};
        nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
        struct nvdp_exact_point got;
        ok(nvdp_exact_create(ctx, 0, NULL, NULL, NULL, NULL, 1, 2, p, q, 1, &exact));
        const double spread = nvdp__exact_deviation(exact);
        for (double z = .01; z < 6; z += .017) {
            const struct nvdp_exact_point want = of_equal_weights(p[0], q[0], z * spread);
            cr_assert_eq(nvdp_exact_delta(ctx, exact, z * spread, &got), NVDP_OK, "%g %g %g: %s",
                         p[0], q[0], z, nvdp_context_error(ctx));
            near(got.delta, want.delta, 1e-10, "%g %g %g", p[0], q[0], z);
        }
    }
}

/* Makes texts of three tokens in one dimension, at the prior. */
static struct nvdp_posteriors *made_set(size_t texts) {
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, texts, 3 * texts, 1, true, &set));
    for (size_t i = 0; i <= texts; i++)
        set->offset[i] = 3 * i;
    for (size_t r = 0; r < 3 * texts; r++)
        set->alpha[r] = 100;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 8;
    set->pad_alpha = 1. / 9;
    return support_keep(set);
}

static struct nvdp_privacy_report measured(const struct nvdp_posteriors *set) {
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    const struct nvdp_config *config =
        support_config(ctx, "privacy", "exact", "true", "pair", "0,1", NULL);
    ok(nvdp_privacy_measure(ctx, set, config, NULL, &report));
    support_keep(report.pairs);
    return report;
}

/* Four million draws of the worst pair's loss put its epsilon at .275. */
Test(exact_bound, a_report_of_nearly_equal_weights) {
    struct nvdp_posteriors *set = made_set(4);
    for (size_t r = 0; r < 12; r++)
        set->alpha[r] = 100 + (double)(r / 3);
    struct nvdp_privacy_report report = measured(set);
    near(report.exact->worst.epsilon, 0.276399068613, 1e-10);
    cr_expect_eq(report.exact->bounds.evaluated + report.exact->bounds.drawn, 0);
    cr_expect_eq(report.exact->bounds.worst, 0);
}

/* Prints a report without the guess bounds, which also contain "at most". */
static const char *printed(const struct nvdp_privacy_report *from) {
    struct nvdp_privacy_report report = *from;
    report.guesses.count = 0;
    return support_result_text(NULL, &report, NULL);
}

/* Standard deviations e^-20 and means 1e8 apart. With equal variances the closed form applies.
 * With others no double holds the integral, and a bound replaces it, labeled, and not far from
 * D_1 and a few standard deviations of the loss. */
Test(exact_bound, a_pair_that_is_too_far_apart_is_bounded) {
    struct nvdp_posteriors *set = made_set(3);
    for (size_t r = 0; r < 9; r++)
        set->logvar[r] = -40;
    set->mu[0] = 1e8;
    struct nvdp_privacy_report report = measured(set);
    const double mu = 1e8 * exp(20);
    agrees(report.exact->worst.epsilon, mu * mu / 2, 1e-14);
    cr_expect_eq(report.exact->bounds.worst, 0);
    support_lacks(printed(&report), "at most");

    set->logvar[1] = -39;
    report = measured(set);
    agrees(report.exact->worst.epsilon, mu * mu / 2, 1e-12);
    cr_expect_geq(report.exact->worst.epsilon, mu * mu / 2);
    cr_expect_neq(report.exact->bounds.worst & NVDP_EXACT_EPSILON, 0);
    cr_expect_gt(report.exact->bounds.evaluated, 0);
    cr_expect_gt(report.exact->bounds.drawn, 0);
    cr_expect_lt(report.exact->bounds.drawn, report.exact->drawn); /* texts 1 and 2 are the same */
    support_contains(printed(&report), "worst pair, at most ",
                     "the bounds come from Renyi divergences");
    support_lacks(support_result_text(ctx, &report, "summary"), "(exact)");
    nvdp__autofree char *json = NULL;
    ok(nvdp_result_json(ctx, &report, NULL, &json));
    support_contains(json, "\"worst_is_bound\": true", "\"bounds\": [\n          \"epsilon\"",
                     "\"which\": \"worst\"", "\"which\": \"typical\"");
}

/* For K(s)/s and s far below 2^-52: the order 1 + s, rounded to 1, would lose everything that s
 * adds. */
Test(exact_bound, the_bound_of_a_wide_loss_is_one) {
    static const double mu[2][1] = {{0}, {72}}, var[2][1] = {{2.9e11}, {4.6e-5}};
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
    double epsilon = 0;
    ok(nvdp_exact_create(ctx, 1, mu[0], var[0], mu[1], var[1], 1, 0, NULL, NULL, 1, &exact));
    ok(nvdp_exact_epsilon(ctx, exact, 1e-5, &epsilon));
    cr_expect_leq(epsilon, nvdp__exact_bound(exact, 1e-5));
}

/* A pseudo-count that is a thousand times the other's ends the strip at orders near 1, where its
 * moments are large. Epsilon grows as delta falls. */
Test(exact_bound, orders_near_1_reach_the_end_of_the_strip) {
    static const double p[] = {.0033830898603995035, .014812546566726929, 20.485498827660848,
                               .0012500182640545693},
                        q[] = {.0033830926542829905, .014812538653966898, 21560.400571816495,
                               .0011952630788001929};
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
    double epsilon = 0, last = 1000;
    bool is_bound;
    ok(nvdp_exact_create(ctx, 0, NULL, NULL, NULL, NULL, 1, 4, p, q, 1, &exact));
    for (double delta = 1e-3; delta > 1e-12; delta /= 100) {
        ok(nvdp__exact_epsilon(exact, delta, &epsilon, &is_bound));
        cr_expect_gt(epsilon, last, "%g: %g", delta, epsilon);
        last = epsilon;
    }
}

static double uniform(struct nvdp__stream *stream, double low, double high) {
    return low + (high - low) * nvdp__stream_uniform(stream);
}

static bool one_in(struct nvdp__stream *stream, int n) {
    return nvdp__stream_uniform(stream) < 1. / n;
}

enum { MAX_COUNT = 5 };
struct pair {
    size_t n, m;
    double mu[2][MAX_COUNT], var[2][MAX_COUNT], alpha[2][MAX_COUNT];
};

/* Draws log variances to `logs`, means e^`far` apart and pseudo-counts e^-`small` to e^`large`,
 * often equal or nearly so. In one pair of four, one pseudo-count is about a thousand times the
 * other text's, and the rest are alike. */
static struct pair extreme(struct nvdp__stream *stream, double logs, double far, double small,
                           double large) {
    struct pair made = {.n = (size_t)uniform(stream, 0, MAX_COUNT + 1),
                        .m = (size_t)uniform(stream, 2, MAX_COUNT + 1)};
    const bool alike = one_in(stream, 3), close = one_in(stream, 2), single = one_in(stream, 4);
    for (size_t i = 0; i < made.n; i++) {
        const double log_var = uniform(stream, -logs, logs);
        made.var[0][i] = exp(log_var);
        made.var[1][i] = alike ? made.var[0][i] : exp(uniform(stream, -logs, logs));
        made.mu[1][i] = one_in(stream, 4) ? 0 : exp(uniform(stream, -far, far));
        if (close) made.mu[1][i] = sqrt(made.var[1][i]) * uniform(stream, 0, 5);
    }
    if (single) made.n = 0;
    for (size_t i = 0; i < made.m; i++) {
        const double a = made.alpha[0][i] = exp(uniform(stream, -small, large));
        made.alpha[1][i] = one_in(stream, 4)   ? a
                           : one_in(stream, 3) ? a * (1 + uniform(stream, -1e-6, 1e-6))
                           : one_in(stream, 2) ? a * uniform(stream, .9, 1.1)
                                               : exp(uniform(stream, -small, large));
        if (single) {
            const double off = one_in(stream, 2) ? 1e-6 : .1;
            made.alpha[0][i] = exp(i == 0 ? uniform(stream, 0, 5) : uniform(stream, -small, 0));
            made.alpha[1][i] = made.alpha[0][i] * (i == 0 ? exp(uniform(stream, 6.5, 7.5))
                                                          : 1 + uniform(stream, -off, off));
        }
    }
    return made;
}

static struct nvdp_exact *opened(const struct pair *pair, int p) {
    struct nvdp_exact *made = NULL;
    const int q = 1 - p;
    ok(nvdp_exact_create(ctx, pair->n, pair->mu[p], pair->var[p], pair->mu[q], pair->var[q], 1,
                         pair->m, pair->alpha[p], pair->alpha[q], 1, &made));
    return support_keep(made);
}

/* Expects numbers for every pair: exact ones are ordered, and no bound contradicts them. */
static void has_numbers(struct nvdp_exact *exact) {
    static const double deltas[] = {.9, .1, 1e-3, 1e-5, 1e-10};
    double last = 0, value = 0;
    bool is_bound;
    for (size_t k = 0; k < sizeof deltas / sizeof *deltas; k++) {
        ok(nvdp__exact_epsilon(exact, deltas[k], &value, &is_bound));
        cr_expect_geq(value * (1 + 1e-9), last, "%g: %.15g %.15g", deltas[k], value, last);
        last = is_bound ? last : value;
    }
    last = 1;
    for (double epsilon = 0; epsilon < 1e3; epsilon = 5 * epsilon + .1) {
        ok(nvdp__exact_delta(exact, epsilon, &value, &is_bound));
        cr_expect(value >= 0 && value <= 1, "%g: %g", epsilon, value);
        if (!is_bound) cr_expect_leq(value, last * (1 + 1e-7) + 1e-12, "%g: %g", epsilon, value);
        last = fmin(last, value);
    }
    last = 0;
    for (size_t k = 0; k < NVDP_EXACT_FPRS; k += 3) {
        const double fpr = nvdp_exact_fpr(k);
        ok(nvdp__exact_tpr(exact, fpr, &value, &is_bound));
        cr_expect(value >= fpr * (1 - 1e-7) && value <= 1, "%g: %g", fpr, value);
        cr_expect_geq(value * (1 + 1e-7), last, "%g: %.15g %.15g", fpr, value, last);
        last = is_bound ? last : value;
    }
    ok(nvdp__exact_mu(exact, 1e-5, &value, &is_bound));
    cr_expect_geq(value, 0);
}

/* The share of delta beyond epsilon in the draws is below delta, within five standard errors: a
 * false alarm in one of 20,000 seeds; this seed is fixed. 1e-12: digits of a loss of about 1e30
 * nats. */
static void is_at_least(const struct pair *pair, int p, struct nvdp_exact *exact,
                        struct nvdp__stream *stream) {
    enum { SAMPLES = 2000 };
    static double loss[SAMPLES];
    static const double delta = .05;
    const int q = 1 - p;
    const struct drawn_pair drawn = {.n = pair->n,
                                     .m = pair->m,
                                     .mu = {pair->mu[p], pair->mu[q]},
                                     .var = {pair->var[p], pair->var[q]},
                                     .alpha = {pair->alpha[p], pair->alpha[q]}};
    double epsilon = 0, sum = 0, squares = 0;
    bool is_bound;
    sampled_losses(&drawn, stream, SAMPLES, loss);
    ok(nvdp__exact_epsilon(exact, delta, &epsilon, &is_bound));
    for (size_t s = 0; s < SAMPLES; s++) {
        const double part = fmax(-expm1(epsilon * (1 + 1e-12) + 1e-12 - loss[s]), 0);
        sum += part / SAMPLES;
        squares += part * part / SAMPLES;
    }
    const double error = sqrt(fmax(squares - sum * sum, 1. / SAMPLES / SAMPLES) / SAMPLES);
    cr_expect_leq(sum - 5 * error, delta, "epsilon %g: %g +- %g", epsilon, sum, error);
}

/* One weight alone, or one entry of a vector alone, reveals no more than the whole sample:
 * P(tail) <= e^epsilon Q(tail) + delta for both tails of each, at any delta. Uses Beta and normal
 * distributions in closed form. Returns the number of tails compared. */
static size_t is_above_its_marginals(const struct pair *pair, int p, struct nvdp_exact *exact) {
    static const double deltas[] = {1e-2, 1e-3, 1e-5, 1e-10}, times[] = {1.5, 10, 90};
    const int q = 1 - p;
    double all[2] = {0, 0}, epsilon = 0;
    size_t compared = 0;
    bool is_bound;
    for (size_t i = 0; i < pair->m; i++)
        for (int k = 0; k < 2; k++)
            all[k] += pair->alpha[k][i];
    for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++) {
        ok(nvdp__exact_epsilon(exact, deltas[d], &epsilon, &is_bound));
        for (size_t i = 0; i < pair->n + pair->m; i++)
            for (int tail = 0; tail < 6; tail++) {
                const double of_p = times[tail / 2] * deltas[d];
                const bool low = tail % 2;
                double of_q;
                if (i < pair->n) {
                    const double sd[2] = {sqrt(pair->var[0][i]), sqrt(pair->var[1][i])};
                    const double at =
                        pair->mu[p][i] + sd[p] * gsl_cdf_ugaussian_Qinv(of_p) * (low ? -1 : 1);
                    const double z = (at - pair->mu[q][i]) / sd[q];
                    of_q = low ? gsl_cdf_ugaussian_P(z) : gsl_cdf_ugaussian_Q(z);
                } else {
                    const double *a = pair->alpha[p] + (i - pair->n),
                                 *b = pair->alpha[q] + (i - pair->n);
                    const double at = low ? gsl_cdf_beta_Pinv(of_p, *a, all[p] - *a)
                                          : gsl_cdf_beta_Qinv(of_p, *a, all[p] - *a);
                    if (all[p] > 1e5 || all[q] > 1e5) continue; /* GSL approximates */
                    /* the tail that the inversion found, up to rounding */
                    const double found = low ? gsl_cdf_beta_P(at, *a, all[p] - *a)
                                             : gsl_cdf_beta_Q(at, *a, all[p] - *a);
                    if (!(fabs(found / of_p - 1) < 1e-6)) continue;
                    of_q = low ? gsl_cdf_beta_P(at, *b, all[q] - *b)
                               : gsl_cdf_beta_Q(at, *b, all[q] - *b);
                }
                if (!(epsilon < 650) || !(of_q >= 0)) continue; /* values below e^-700 count as 0 */
                compared++;
                cr_expect_leq(of_p * (1 - 1e-5),
                              deltas[d] + exp(epsilon) * (of_q * (1 + 1e-5) + 1e-300),
                              "delta %g epsilon %.15g: component %zu: %g %g", deltas[d], epsilon, i,
                              of_p, of_q);
            }
    }
    return compared;
}

Test(exact_bound, nasty_pairs_have_numbers_that_hold) {
    const size_t pairs = support_repeats("NVDP_TRIES", 12);
    size_t compared = 0;
    gsl_set_error_handler_off();
    struct nvdp__stream stream = support_stream(7, 0);
    for (size_t k = 0; k < pairs; k++) {
        const struct pair pair = extreme(&stream, 40, 18, 7, 14);
        for (int p = 0; p < 2; p++) {
            struct nvdp_exact *exact = opened(&pair, p);
            has_numbers(exact);
            is_at_least(&pair, p, exact, &stream);
            compared += is_above_its_marginals(&pair, p, exact);
        }
    }
    cr_expect_gt(compared, pairs);
}

/* Pairs as far apart as posteriors may be have numbers. */
Test(exact_bound, the_farthest_pairs_have_numbers) {
    const size_t pairs = support_repeats("NVDP_TRIES", 6);
    struct nvdp__stream stream = support_stream(8, 0);
    for (size_t k = 0; k < pairs; k++) {
        const struct pair pair = extreme(&stream, 300, 300, 230, 230);
        for (int p = 0; p < 2; p++) {
            struct nvdp_exact *exact = opened(&pair, p);
            has_numbers(exact);
        }
    }
}
