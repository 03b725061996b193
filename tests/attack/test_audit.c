/* Tests the audit of canaries in one run, against explicit sums and against mechanisms with known epsilon. */
#include "attack_test.h"

#include "test_context.h"

static double choose(int n, int k) {
    double c = 1;
    for (int i = 1; i <= k; i++)
        c = c * (n - k + i) / i;
    return c;
}

static double mass(int r, int v, double q) {
    return choose(r, v) * pow(q, v) * pow(1 - q, r - v);
}

static double tail(int r, int v, double q) {
    double sum = 0;
    for (int k = v < 0 ? 0 : v; k <= r; k++)
        sum += mass(r, k, q);
    return sum;
}

/* Tolerance 1e-11: lgamma and sums of 60 terms in double. */
Test(audit, p_values_are_the_sums) {
    static const double epsilons[] = {0, .3, 1, 4}, deltas[] = {0, 1e-5, .01, 1};
    for (size_t e = 0; e < 4; e++)
        for (size_t d = 0; d < 4; d++)
            for (int r = 0; r <= 60; r += 7)
                for (int v = 0; v <= r; v += 3) {
                    const double q = exp(epsilons[e]) / (1 + exp(epsilons[e]));
                    double slope = 0;
                    for (int i = 1; i <= 80; i++) /* m = 80: no step beyond v is steeper */
                        slope = fmax(slope, (tail(r, v - i, q) - tail(r, v, q)) / i);
                    const double want = fmin(1, tail(r, v, q) + 2 * 80 * deltas[d] * slope);
                    near(nvdp__audit_p_value(80, (uint64_t)r, (uint64_t)v, epsilons[e], deltas[d]),
                         want, 1e-11 + 1e-11 * want, "r %d v %d", r, v);
                }
}

Test(audit, bounds_in_closed_form) {
    /* All r right: q^r = 1 - confidence. */
    for (uint64_t r = 5; r <= 2000; r *= 4) {
        const double q = pow(.05, 1 / (double)r);
        agrees(nvdp__audit_epsilon(5000, r, r, 0, .95), log(q / (1 - q)), 1e-9);
    }
    cr_expect_eq(nvdp__audit_epsilon(100, 100, 50, 0, .95), 0);
    cr_expect_eq(nvdp__audit_epsilon(100, 0, 0, 0, .95), 0);
    cr_expect_eq(nvdp__audit_epsilon(100, 100, 100, 1, .95), 0); /* delta 1 promises nothing */
    cr_expect_lt(nvdp__audit_epsilon(1000, 500, 400, 1e-3, .95),
                 nvdp__audit_epsilon(1000, 500, 400, 0, .95));
    /* 10^6 coins, right with probability q(1): within .01 of 1. */
    const double got = nvdp__audit_epsilon(1000000, 1000000, 731058, 0, .95);
    cr_expect(got > .99 && got < 1, "%g", got);
    cr_expect(isnan(nvdp__audit_epsilon(10, 11, 5, 0, .95)));
    cr_expect(isnan(nvdp__audit_epsilon(10, 10, 11, 0, .95)));
    cr_expect(isnan(nvdp__audit_epsilon(10, 10, 5, -.1, .95)));
    cr_expect(isnan(nvdp__audit_epsilon(10, 10, 5, 0, 1)));
    cr_expect(isnan(nvdp__audit_p_value(10, 10, 5, -1, 0)));
}

/* Tests three mechanisms that are exactly (epsilon, delta)-private: randomized response; the same, but each answer
 * is revealed with probability delta; the same, but all answers are revealed at once with probability delta.  Sums
 * the probability that the bound exceeds epsilon over the outcomes. */
Test(audit, bounds_are_above_the_truth_in_a_twentieth_of_all_runs_at_most) {
    static const double epsilons[] = {.1, .5, 1, 2, 4}, deltas[] = {0, 1e-4, .004};
    static const int m = 100;
    for (size_t e = 0; e < 5; e++)
        for (size_t d = 0; d < 3; d++)
            for (int r = 5; r <= m; r += 19) {
                const double epsilon = epsilons[e], delta = deltas[d];
                const double q = exp(epsilon) / (1 + exp(epsilon));
                double response = 0, some = 0, all = 0;
                for (int v = 0; v <= r; v++) {
                    const double bound =
                        nvdp__audit_epsilon(m, (uint64_t)r, (uint64_t)v, delta, .95);
                    if (bound <= epsilon) continue;
                    response += mass(r, v, q);
                    some += mass(r, v, delta + (1 - delta) * q);
                    all += (1 - delta) * mass(r, v, q) + (v == r ? delta : 0);
                }
                cr_expect_leq(response, .05);
                cr_expect_leq(some, .05);
                cr_expect_leq(all, .05);
            }
}

enum { CANARIES = 200, RUNS = 300 };

/* Each canary's answer is right with probability q.  Its score is the answer times a random confidence. */
static void respond(struct nvdp__stream *stream, double epsilon, double *score,
                    unsigned char *included) {
    const double q = exp(epsilon) / (1 + exp(epsilon));
    for (size_t i = 0; i < CANARIES; i++) {
        included[i] = nvdp__stream_uniform(stream) < .5;
        const bool says = nvdp__stream_uniform(stream) < q ? included[i] != 0 : included[i] == 0;
        score[i] = (says ? 1 : -1) * nvdp__stream_uniform(stream);
    }
}

/* Combines six ways to guess.  The bound exceeds epsilon in at most .05 of the runs, and so in 28 of 300 with
 * probability at most 2e-3. */
Test(audit, of_simulated_canaries) {
    const struct nvdp__noise noise = {.seed = 5};
    static const double epsilons[] = {.5, 1, 3};
    double score[CANARIES];
    unsigned char included[CANARIES];
    for (size_t e = 0; e < 3; e++) {
        size_t above = 0;
        double mean = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            struct nvdp__stream stream =
                nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, (uint32_t)e, run);
            struct nvdp__canary_audit audit = NVDP_RESULT(struct nvdp__canary_audit);
            respond(&stream, epsilons[e], score, included);
            ok(nvdp__audit_canaries(ctx, CANARIES, score, included, 0, 0, 0, .95, &audit));
            cr_assert_eq(audit.ways, NVDP__AUDIT_WAYS);
            above += audit.epsilon > epsilons[e];
            mean += audit.epsilon / RUNS;
        }
        cr_expect_lt(above, 28, "epsilon %g: %zu runs", epsilons[e], above);
        cr_expect_gt(mean, .25 * epsilons[e], "epsilon %g: %g", epsilons[e], mean);
    }
}

Test(audit, canaries_are_guessed_by_their_scores) {
    const double score[8] = {5, 1, 4, 3, 3, -2, 0, 2};
    const unsigned char included[8] = {1, 0, 1, 0, 1, 1, 0, 0};
    struct nvdp__canary_audit audit = NVDP_RESULT(struct nvdp__canary_audit);
    ok(nvdp__audit_canaries(ctx, 8, score, included, 3, 2, 0, .9, &audit));
    cr_expect_eq(audit.ways, 1);
    cr_expect_eq(audit.included, 4);
    cr_expect_eq(audit.way[0].correct, 2 + 1); /* 5, 4, then the first 3; -2 and 0 */
    cr_expect_eq(audit.epsilon, nvdp__audit_epsilon(8, 5, 3, 0, .9));
    /* In: 5, 4, 3, -2; out: 1, 3, 0, 2: 4 + 4 + 3.5 + 0 of 16 pairs. */
    near(audit.auc, 11.5 / 16, 1e-15);
    struct nvdp__canary_audit same = audit;
    fails(nvdp__audit_canaries(ctx, 8, score, included, 5, 4, 0, .9, &audit), NVDP_ERR_ARGUMENT,
          "expected at most 8, the number of canaries");
    cr_expect_eq(nvdp__audit_canaries(ctx, 8, score, included, 3, 2, 2, .9, &audit),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__audit_canaries(ctx, 0, score, included, 0, 0, 0, .9, &audit),
                 NVDP_ERR_ARGUMENT);
    const double none[1] = {NAN};
    cr_expect_eq(nvdp__audit_canaries(ctx, 1, none, included, 0, 0, 0, .9, &audit),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(memcmp(&same, &audit, sizeof same), 0, "untouched on error");
}

/* --- the whole curve (audit.c) --- */

static double normal_cdf(double x) {
    return erfc(-x * M_SQRT1_2) / 2;
}

/* A Gaussian mechanism with a number of its own for each of n canaries: no attacker who guesses all of them has more
 * than c right with a larger probability than the binomial one.  For one canary the bound is exact. */
Test(curve, bounds_all_guesses_of_a_gaussian) {
    static const double mus[] = {0, .3, 1, 2.5};
    for (size_t k = 0; k < 4; k++) {
        const double q = normal_cdf(mus[k] / 2);
        near(nvdp__audit_mu(1, 1, 1, 1 - q), mus[k], 1e-6);
        for (int n = 1; n <= 12; n++)
            for (int c = 0; c <= n; c++) {
                const double p = tail(n, c, q) * (1 - 1e-6),
                             mu = nvdp__audit_mu((uint64_t)n, (uint64_t)n, (uint64_t)c, 1 - p);
                cr_expect_leq(mu, mus[k] + 1e-9, "%g %d %d: %g", mus[k], n, c, mu);
            }
    }
    cr_expect(isnan(nvdp__audit_mu(5, 6, 1, .95)) && isnan(nvdp__audit_mu(5, 4, 5, .95)));
    cr_expect(isnan(nvdp__audit_mu(5, 4, 1, 0)) && isnan(nvdp__audit_mu(5, 4, 1, 1)));
    cr_expect(isnan(nvdp__audit_curve_epsilon(5, 4, 1, 2, .95)));
    cr_expect_eq(nvdp__audit_mu(5, 4, 0, .95), 0);
    cr_expect_eq(nvdp__audit_mu(0, 0, 0, .95), 0);
}

/* Runs `runs` audits of a Gaussian mechanism that adds the number +-mu/2 of each canary to noise. */
static void simulate(double mu, size_t m, size_t in, size_t runs,
                     struct nvdp__canary_audit *found) {
    const struct nvdp__noise noise = {.seed = 17};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, m);
    nvdp__autofree double *score = calloc(m, sizeof *score);
    nvdp__autofree unsigned char *included = calloc(m, 1);
    for (size_t run = 0; run < runs; run++) {
        for (size_t i = 0; i < m; i++) {
            included[i] = (unsigned char)nvdp__stream_below(&stream, 2);
            score[i] = (included[i] ? mu / 2 : -mu / 2) + nvdp__stream_normal(&stream);
        }
        found[run] = (struct nvdp__canary_audit)NVDP_RESULT(struct nvdp__canary_audit);
        ok(nvdp__audit_canaries(ctx, m, score, included, in, in, 1e-5, .95, &found[run]));
    }
}

/* Returns the smallest p at which mu is rejected. */
static double p_value(uint64_t canaries, uint64_t guesses, uint64_t correct, double mu) {
    double low = 0, high = 1;
    for (int i = 0; i < 40; i++) {
        const double middle = (low + high) / 2;
        *(nvdp__audit_mu(canaries, guesses, correct, 1 - middle) > mu ? &high : &low) = middle;
    }
    return high;
}

/* With abstention: the share of runs with c or more right of the four surest guesses is at most the bound, up to 4.4
 * standard deviations. */
Test(curve, bounds_the_surest_guesses) {
    enum { AUDITS = 4000 };
    nvdp__autofree struct nvdp__canary_audit *found = calloc(AUDITS, sizeof *found);
    for (int strong = 0; strong < 2; strong++) {
        const double mu = strong ? 1.5 : .5;
        simulate(mu, 20, 2, AUDITS, found);
        for (uint64_t c = 1; c <= 4; c++) {
            size_t hits = 0;
            for (size_t run = 0; run < AUDITS; run++)
                hits += found[run].way[0].correct >= c;
            const double p = p_value(20, 4, c, mu);
            cr_expect_leq((double)hits / AUDITS, p + 4.4 * sqrt(p * (1 - p) / AUDITS) + 1e-12,
                          "%g %d: %g", mu, (int)c, p);
        }
    }
}

/* The lower bounds exceed the truth in at most 5 % of runs: if it were exactly 5 %, 12 or more of 100 would occur by
 * chance in one of 200 cases. */
Test(curve, covers_the_truth) {
    enum { AUDITS = 100 };
    struct nvdp__canary_audit found[AUDITS];
    static const double mus[] = {0, .5, 1, 3};
    for (size_t k = 0; k < 4; k++) {
        size_t above = 0, epsilons = 0;
        double mean = 0;
        simulate(mus[k], 400, 0, AUDITS, found);
        for (size_t run = 0; run < AUDITS; run++) {
            above += found[run].mu > mus[k];
            epsilons += found[run].curve_epsilon > nvdp_gdp_epsilon(mus[k], 1e-5);
            mean += found[run].mu / AUDITS;
        }
        cr_expect_leq(above, 11, "%g: %zu", mus[k], above);
        cr_expect_leq(epsilons, 11, "%g: %zu", mus[k], epsilons);
        if (mus[k] >= 1) cr_expect_geq(mean, .2 * mus[k], "%g: %g", mus[k], mean);
    }
}

/* For Gaussian mechanisms the curve shows more than the theorem for (epsilon, delta): expected numbers of right
 * guesses, and never more than the truth. */
Test(curve, shows_more_than_epsilon_and_delta) {
    static const uint64_t sizes[] = {100, 1000, 10000};
    static const double mus[] = {.5, 1, 2, 4};
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 4; k++) {
            const uint64_t m = sizes[s], right = (uint64_t)((double)m * normal_cdf(mus[k] / 2));
            const double plain = nvdp__audit_epsilon(m, m, right, 1e-5, .95),
                         mu = nvdp__audit_mu(m, m, right, .95), shown = nvdp_gdp_epsilon(mu, 1e-5);
            if (plain > .1)
                cr_expect_gt(shown, 1.2 * plain, "%zu %g: %g, %g", (size_t)m, mus[k], shown, plain);
            cr_expect_leq(mu, mus[k]);
        }
}

/* For one (epsilon, delta): without delta the other theorem is exact, and this one shows at most 3 % less; with delta
 * and many canaries it shows more, and it is the only one that shows anything. */
Test(curve, of_epsilon_and_delta) {
    static const uint64_t cases[][3] = {
        {10000, 10000, 8000}, {1000, 1000, 800}, {1000, 100, 100}, {10000, 100, 95}, {7, 7, 7}};
    for (size_t c = 0; c < 5; c++) {
        const uint64_t m = cases[c][0], n = cases[c][1], right = cases[c][2];
        const double plain = nvdp__audit_epsilon(m, n, right, 0, .95),
                     curve = nvdp__audit_curve_epsilon(m, n, right, 0, .95);
        cr_expect(curve <= plain * (1 + 1e-8) && curve >= .97 * plain, "%zu: %g, %g", c, curve,
                  plain);
        cr_expect_geq(nvdp__audit_curve_epsilon(m, n, right, 1e-3, .95),
                      nvdp__audit_epsilon(m, n, right, 1e-3, .95), "%zu", c);
    }
    cr_expect_gt(nvdp__audit_curve_epsilon(100000, 100, 100, 1e-5, .95), 3.4);
    cr_expect_lt(nvdp__audit_epsilon(100000, 100, 100, 1e-5, .95), 1);
    cr_expect_eq(nvdp__audit_curve_epsilon(1000, 1000, 1000, 1, .95), 0);
}
