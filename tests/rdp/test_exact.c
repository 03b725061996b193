/* The exact privacy loss: golden values, the closed form, identities between a pair's two
 * directions, samples. */
#include "rdp_test.h"

#include <gsl/gsl_sf_erf.h>

#include "test_context.h"

/* A pair of texts; index 0 is P, 1 is Q, or the reverse. */
struct pair {
    size_t n, m;
    double mu[2][64], var[2][64], alpha[2][8];
};

static struct nvdp_exact *opened(const struct pair *pair, int p, int times, int releases) {
    struct nvdp_exact *made = NULL;
    const int q = 1 - p;
    ok(nvdp_exact_create(ctx, pair->n, pair->mu[p], pair->var[p], pair->mu[q], pair->var[q], times,
                         pair->m, pair->alpha[p], pair->alpha[q], releases, &made));
    return support_keep(made);
}

static struct nvdp_exact_point at(struct nvdp_exact *exact, double epsilon) {
    struct nvdp_exact_point point;
    ok(nvdp_exact_delta(ctx, exact, epsilon, &point));
    return point;
}

static struct nvdp_exact *of_texts(const struct nvdp_posteriors *set, size_t p, size_t q,
                                   int releases) {
    struct nvdp_exact *made = NULL;
    ok(nvdp_exact_texts(ctx, set, p, q, releases, &made));
    return support_keep(made);
}

static size_t read_numbers(const json_t *from, double *to) {
    for (size_t i = 0; json_is_array(from) && i < json_array_size(from); i++)
        to[i] = support_number(json_array_get(from, i));
    return json_is_array(from) ? json_array_size(from) : 0;
}

/* Independent values of delta(epsilon) and of the moments' limit, computed with mpmath. */
Test(exact, golden) {
    json_t *root = support_golden_json("exact_loss.json"), *item, *point;
    size_t index, k;
    cr_assert_gt(json_array_size(root), 0);
    json_array_foreach(root, index, item) {
        struct pair pair = {0};
        for (int s = 0; s < 2; s++) {
            const char side = "pq"[s];
            pair.n = read_numbers(json_object_get(item, support_path("mu_%c", side)), pair.mu[s]);
            read_numbers(json_object_get(item, support_path("sd_%c", side)), pair.var[s]);
            pair.m =
                read_numbers(json_object_get(item, support_path("alpha_%c", side)), pair.alpha[s]);
            for (size_t i = 0; i < pair.n; i++)
                pair.var[s][i] *= pair.var[s][i];
        }
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        const char *name = text_at(item, "name");
        const char *strip = text_at(item, "strip");
        if (strcmp(strip, "+inf") == 0)
            cr_expect(isinf(nvdp_exact_moment_limit(exact)));
        else
            agrees(nvdp_exact_moment_limit(exact), strtod(strip, NULL), 1e-9);
        const json_t *curve = json_object_get(item, "curve");
        cr_expect_gt(json_array_size(curve), 0, "%s", name);
        json_array_foreach(curve, k, point) {
            const double want = strtod(text_at(point, "delta"), NULL);
            const struct nvdp_exact_point got = at(exact, number_at(point, "epsilon"));
            agrees(got.delta, want, 1e-12, "%s, epsilon %g", name, got.epsilon);
            near(got.rest, 1 - got.delta, 1e-15);
            agrees(exp(got.log_delta), got.delta, 1e-11);
        }
    }
}

/* Equal variances, N(mu, 1) against N(0, 1), down to the end of double's range. */
Test(exact, gaussians_have_a_closed_form) {
    static const double mus[] = {1e-3, .05, .3, 1, 2.5, 8, 30, 400};
    for (size_t m = 0; m < sizeof mus / sizeof *mus; m++) {
        const double mu = mus[m];
        struct pair pair = {
            .n = 2, .mu = {{mu * .6 * 2, 1}, {0, 1 - mu * .8 * .5}}, .var = {{4, .25}, {4, .25}}};
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        for (double z = -6; z <= 36; z += 1.5) {
            const double epsilon = mu * mu / 2 + z * mu;
            const double want = nvdp_gdp_delta(mu, epsilon);
            const struct nvdp_exact_point got = at(exact, epsilon);
            /* the exponent of each is known to 1e-15 of itself; mu 1e-3 rounds the means */
            agrees(got.delta, want, 1e-10, "%g %g", mu, epsilon);
            const double fpr = erfc((epsilon / mu + mu / 2) * M_SQRT1_2) / 2;
            const double tpr = erfc((epsilon / mu - mu / 2) * M_SQRT1_2) / 2;
            if (fpr > 1e-300) agrees(got.fpr, fpr, 1e-10, "%g %g", mu, epsilon);
            agrees(got.tpr, tpr, 1e-9, "%g %g", mu, epsilon);
        }
        double gdp = 0;
        ok(nvdp_exact_gdp(ctx, exact, 1e-5, &gdp));
        agrees(gdp, mu, 1e-12);
    }
    /* the formula as printed, where it does not cancel */
    for (double mu = .5; mu < 4; mu += .5)
        for (double epsilon = -2; epsilon < 4; epsilon += .5) {
            const double want = erfc((epsilon / mu - mu / 2) * M_SQRT1_2) / 2 -
                                exp(epsilon) * erfc((epsilon / mu + mu / 2) * M_SQRT1_2) / 2;
            near(nvdp_gdp_delta(mu, epsilon), want, 1e-14);
        }
    cr_expect_eq(nvdp_gdp_delta(0, 1), 0);
    cr_expect(isnan(nvdp_gdp_delta(-1, 1)));
}

static double uniform(struct nvdp__stream *stream, double low, double high) {
    return low + (high - low) * nvdp__stream_uniform(stream);
}

/* Draws one pair, from near to far means, with like to unlike variances. */
static struct pair random_pair(struct nvdp__stream *stream, size_t n, size_t m, double distance,
                               double unlike) {
    struct pair pair = {.n = n, .m = m};
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < n; i++) {
            pair.mu[s][i] = uniform(stream, -distance, distance);
            pair.var[s][i] = exp(uniform(stream, -unlike, unlike));
        }
        for (size_t i = 0; i < m; i++)
            pair.alpha[s][i] = exp(uniform(stream, -2 - unlike, 2 + unlike));
    }
    return pair;
}

/* P's view of Q and Q's of P agree: for -L under Q,
 *
 *   delta_PQ(-eps) = 1 - e^-eps + e^-eps delta_QP(eps),   Q(L > -eps) = 1 - Q(-L >= eps).
 *
 * The two sides are integrals on different paths with different saddles. */
Test(exact, both_directions_agree) {
    struct nvdp__stream stream = support_stream(5, 0);
    static const size_t sizes[][2] = {{1, 0}, {2, 0}, {0, 2}, {0, 6}, {1, 3}, {5, 2}, {40, 8}};
    static const double scales[][2] = {{.01, .01}, {.3, .05}, {.3, 1}, {2, .3}, {1, 5}, {6, 3}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t l = 0; l < sizeof scales / sizeof *scales; l++)
            for (int round = 0; round < 3; round++) {
                const struct pair pair =
                    random_pair(&stream, sizes[k][0], sizes[k][1], scales[l][0], scales[l][1]);
                struct nvdp_exact *pq = opened(&pair, 0, 1, 1), *qp = opened(&pair, 1, 1, 1);
                for (double epsilon = 0; epsilon < 30; epsilon = 2 * epsilon + .1) {
                    const struct nvdp_exact_point one = at(pq, -epsilon), two = at(qp, epsilon);
                    const double want = -expm1(-epsilon) + exp(-epsilon) * two.delta;
                    near(one.delta, want, 1e-11, "%zu %zu %g", k, l, epsilon);
                    agrees(one.rest, exp(-epsilon) * two.rest, 1e-10, "%zu %zu %g", k, l, epsilon);
                    near(one.fpr, 1 - two.tpr, 1e-10, "%zu %zu %g", k, l, epsilon);
                    near(one.tpr, 1 - two.fpr, 1e-10);
                }
            }
}

/* Four standard errors, 9 epsilons of 12 pairs: a false alarm in 1 of 150 seeds; this seed is
 * fixed. */
Test(exact, samples_agree) {
    enum { SAMPLES = 40000, EPSILONS = 9 };
    const struct nvdp__noise noise = {.seed = 11};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 1, 0);
    nvdp__autofree double *loss = malloc(SAMPLES * sizeof *loss);
    cr_assert_not_null(loss);
    for (int round = 0; round < 12; round++) {
        const struct pair pair =
            random_pair(&stream, 1 + (size_t)round, round % 3 == 0 ? 0 : 3, .4, .4);
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        const struct drawn_pair drawn = {.n = pair.n,
                                         .m = pair.m,
                                         .mu = {pair.mu[0], pair.mu[1]},
                                         .var = {pair.var[0], pair.var[1]},
                                         .alpha = {pair.alpha[0], pair.alpha[1]}};
        sampled_losses(&drawn, &stream, SAMPLES, loss);
        for (int e = 0; e < EPSILONS; e++) {
            const struct nvdp_exact_point point = at(exact, .5 * e - 1);
            cr_expect(sampled_losses_agree(&point, SAMPLES, loss, 1e-6), "%d %d: %g %g", round, e,
                      point.delta, point.tpr);
        }
    }
}

/* Epsilon is below every conversion from a Renyi divergence, and its delta is the requested one.
 * Tests are checked along the curve; the GDP curve lies above and touches it. */
Test(exact, epsilon_trade_off_and_gdp) {
    const struct nvdp__noise noise = {.seed = 6};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 2, 0);
    static const double deltas[] = {.3, 1e-2, 1e-5, 1e-12, 1e-200};
    for (int round = 0; round < 8; round++) {
        const size_t m = round % 2 == 0 ? 0 : 4;
        const struct pair pair = random_pair(&stream, 20, m, .3 + .1 * round, .1);
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        struct nvdp_exact_point point;
        double epsilon = 0, mu = 0, closest = INFINITY;
        for (size_t k = 0; k < sizeof deltas / sizeof *deltas; k++) {
            ok(nvdp_exact_epsilon(ctx, exact, deltas[k], &epsilon));
            agrees(at(exact, epsilon).delta, deltas[k], 1e-9);
            for (double order = 1.05; order < 40; order *= 1.3) {
                double d = nvdp_renyi_gaussian(order, pair.n, pair.mu[0], pair.var[0], pair.mu[1],
                                               pair.var[1]) +
                           nvdp_renyi_dirichlet(order, m, pair.alpha[0], pair.alpha[1]);
                cr_expect_leq(epsilon, nvdp_renyi_epsilon(order, d, deltas[k]) * (1 + 1e-12));
            }
        }
        double last = 0;
        for (double fpr = 1e-9; fpr < 1; fpr = fmin(10 * fpr, fpr + .2)) {
            ok(nvdp_exact_trade_off(ctx, exact, fpr, &point));
            agrees(point.fpr, fpr, 1e-9);
            cr_expect(point.tpr > last && point.tpr > fpr);
            last = point.tpr;
        }
        ok(nvdp_exact_gdp(ctx, exact, 1e-5, &mu));
        ok(nvdp_exact_epsilon(ctx, exact, 1e-5, &epsilon));
        for (int k = 0; k <= 100; k++) {
            point = at(exact, epsilon * k / 100);
            const double above = nvdp_gdp_delta(mu, point.epsilon);
            cr_expect_leq(point.delta, above * (1 + 1e-9));
            closest = fmin(closest, above / point.delta);
        }
        cr_expect_lt(closest, 1.001);
    }
}

/* Draws and releases act as repeated dimensions; texts give the same as their arrays. */
Test(exact, repeats_and_texts) {
    const struct nvdp__noise noise = {.seed = 8};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 3, 0);
    struct pair pair = random_pair(&stream, 4, 0, .3, .2), wide = pair;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < 48; i++) {
            wide.mu[s][i] = pair.mu[s][i % 4];
            wide.var[s][i] = pair.var[s][i % 4];
        }
    wide.n = 48;
    struct nvdp_exact *a = opened(&wide, 0, 1, 1), *b = opened(&pair, 0, 6, 2);
    for (double epsilon = -3; epsilon < 30; epsilon += 3)
        agrees(at(a, epsilon).delta, at(b, epsilon).delta, 1e-12);

    struct nvdp_posteriors *set = made_two_texts(ctx, 2, 3, 2, true);
    const double mu[] = {.1, -.2, .3, .4, -.5, .2}, logvar[] = {.1, -.2, .05, 0, .2, -.1};
    const double alpha[] = {2, 1.5, .7};
    memcpy(set->mu, mu, sizeof mu);
    memcpy(set->logvar, logvar, sizeof logvar);
    memcpy(set->alpha, alpha, sizeof alpha);
    set->prior_alpha = 1.2;
    set->pad_alpha = .4;
    set->kappa = 2;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 3;
    pair = (struct pair){
        .n = 4,
        .m = 8,
        .mu = {{.1, -.2, .3, .4}, {-.5, .2, 0, 0}},
        .var = {{exp(.1), exp(-.2), exp(.05), 1}, {exp(.2), exp(-.1), 1, 1}},
        .alpha = {{.6, .6, 1, 1, .75, .75, .2, .2}, {.6, .6, .35, .35, .2, .2, .2, .2}}};
    a = of_texts(set, 0, 1, 3);
    b = opened(&pair, 0, 2, 3);
    for (double epsilon = -3; epsilon < 30; epsilon += 3)
        agrees(at(a, epsilon).delta, at(b, epsilon).delta, 1e-12);
    set->policy = NVDP_LENGTH_PUBLIC;
    double epsilon = 0;
    a = of_texts(set, 0, 1, 1);
    cr_expect_eq(at(a, 7).delta, 1);
    ok(nvdp_exact_epsilon(ctx, a, .5, &epsilon));
    cr_expect(isinf(epsilon));
}

/* Measures with options, given as names and values with spaces between them. */
static nvdp_status measure(const struct nvdp_posteriors *set, const char *options,
                           struct nvdp_privacy_report *report) {
    struct nvdp_config *config = support_config(ctx, "privacy", NULL);
    support_options(ctx, config, "%s", options);
    return nvdp_privacy_measure(ctx, set, config, NULL, report);
}

static struct nvdp_privacy_report measured(const struct nvdp_posteriors *set, const char *options) {
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    ok(measure(set, options, &report));
    support_keep(report.pairs);
    return report;
}

/* The search by bounds finds the largest of all pairs. If as many pairs are drawn as exist, the
 * mean is exact; with fewer there is an interval around it. */
Test(exact, all_pairs) {
    enum { TEXTS = 9, PAIRS = TEXTS * (TEXTS - 1) };
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct made_texts made = {TEXTS, 5, 3, .1 * seed * seed, .policy = NVDP_LENGTH_HIDDEN};
        made.with_alpha = seed % 2 == 1;
        made.kappa = 1 + (int)seed % 2;
        made.seed = seed;
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        double worst = 0, sum = 0, asked = 0;
        for (size_t p = 0; p < set->texts; p++)
            for (size_t q = 0; q < set->texts; q++) {
                double epsilon = 0;
                if (p == q) continue;
                ok(nvdp_exact_epsilon(ctx, of_texts(set, p, q, 2), 1e-3, &epsilon));
                worst = fmax(worst, epsilon);
                sum += epsilon / PAIRS;
                if (p == 2 && q == 7) asked = epsilon;
            }
        struct nvdp_privacy_report report =
            measured(set, "exact true delta 1e-3 releases 2 pair 2,7 at-epsilon 1,3 "
                          "at-delta 1e-3,1e-6");
        const struct nvdp_exact_summary *got = report.exact;
        cr_expect_eq(got->pairs, PAIRS);
        cr_expect_eq(got->drawn, PAIRS);
        agrees(got->worst.epsilon, worst, 1e-9);
        agrees(got->mean, sum, 1e-9);
        agrees(got->asked.epsilon, asked, 1e-9);
        cr_expect_lt(got->evaluated, got->pairs);
        cr_expect_leq(got->worst.epsilon, report.epsilon->sum.max * (1 + 1e-9));
        cr_expect_eq(got->worst.points, 4);
        cr_expect_eq(got->worst.curve[2].delta, 1e-3);
        cr_expect_eq(got->worst.curve[2].epsilon, got->worst.epsilon);
        cr_expect_gt(got->worst.curve[3].epsilon, got->worst.epsilon);
        cr_expect_eq(got->worst.curve[1].epsilon, 3);
        cr_expect_eq(got->worst.curve[1].delta,
                     at(of_texts(set, got->worst.p, got->worst.q, 2), 3).delta);
        for (int i = 1; i < NVDP_EXACT_FPRS; i++)
            cr_expect(got->worst.tpr[i] >= got->worst.tpr[i - 1] &&
                      got->worst.tpr[i] >= nvdp_exact_fpr(i));
        report = measured(set, "exact true delta 1e-3 releases 2 exact-pairs 40");
        cr_expect_eq(report.exact->drawn, 40);
        cr_expect(report.exact->mean_interval.low < sum && sum < report.exact->mean_interval.high);
    }
}

Test(exact, lengths_that_are_public_tell_apart) {
    const struct made_texts made = {9,          3,        2, .2, .policy = NVDP_LENGTH_PUBLIC,
                                    .kappa = 1, .seed = 3};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_privacy_report report = measured(set, "exact true");
    cr_expect(isinf(report.exact->worst.epsilon) && isinf(report.exact->mean));
    cr_expect(isfinite(report.exact->mean_finite) && report.exact->infinite > 0);
    report = measured(set, "exact true adjacency same-length");
    cr_expect(isfinite(report.exact->worst.epsilon) && report.exact->infinite == 0);
    cr_expect_leq(report.exact->worst.epsilon, report.epsilon->sum.max);
    static const char *const refused[][2] = {
        {"exact true max-pairs 5", ""},
        {"exact true pair 0,0", ""},
        {"exact true pair 0,9", ""},
        {"exact true at-epsilon 1,x", ""},
        {"exact true at-delta 1e-5,1", "at_delta: expected numbers in (0, 1), found '1'"},
        {"at-delta 1e-5", "--at-delta: needs the option exact"},
        {"pair 0,1", "pair: needs the option exact"},
        {"exact-pairs 5", "--exact-pairs: needs the option exact"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        fails(measure(set, refused[i][0], &report), NVDP_ERR_ARGUMENT, refused[i][1]);
}

/* N(m, r) against N(0, 1), r > 1, has the loss
 *
 *   L(x)  =  x^2/2 - (x-m)^2/(2 r) - log(r)/2,
 *
 * above epsilon outside its two roots, where all four numbers are sums of erf and erfc. At a
 * root e^eps times Q's density is P's, so e^eps fpr is P's density at each root times Mills'
 * ratio of Q's tail. */
struct wide_pair {
    double delta, rest, tpr, fpr;
};

static struct wide_pair wide_pair(double m, double r, double epsilon) {
    const double a = (1 - 1 / r) / 2, b = m / r, c = -log(r) / 2 - m * m / (2 * r) - epsilon;
    const double root = sqrt(b * b - 4 * a * c),
                 x[] = {(-b - root) / (2 * a), (root - b) / (2 * a)};
    const double p[] = {(x[0] - m) / sqrt(2 * r), (x[1] - m) / sqrt(2 * r)};
    struct wide_pair made = {.tpr = (erfc(-p[0]) + erfc(p[1])) / 2,
                             .fpr = (erfc(-x[0] * M_SQRT1_2) + erfc(x[1] * M_SQRT1_2)) / 2};
    double weighed = 0; /* e^eps fpr */
    for (int k = 0; k < 2; k++)
        weighed += exp(-p[k] * p[k]) / sqrt(2 * M_PI * r) / gsl_sf_hazard(fabs(x[k]));
    made.rest = (erf(p[1]) - erf(p[0])) / 2 + weighed;
    made.delta = made.tpr < 0.5 ? made.tpr - weighed : 1 - made.rest;
    return made;
}

/* P's variance may be larger by any factor that the logarithms of two texts' variances allow (up
 * to e^600). The exponents are of the order of log r, accurate to 1e-15 of it, and tests on a
 * ratio's tail add the root's own rounding. */
Test(exact, variances_that_are_far_larger) {
    static const double ratios[] = {2.5, 1e5, 1e8, 1e12, 1e16, 1e20, 1e30, 1e100, 1e200, 1e260};
    static const double epsilons[] = {0, 0.5, 10, 100, 500};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        for (int apart = 0; apart < 2; apart++) {
            const double r = ratios[i];
            const struct pair pair = {.n = 1, .mu = {{apart}, {0}}, .var = {{r}, {1}}};
            struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
            for (int k = 0; k < 10; k++) {
                const double epsilon = k < 5 ? epsilons[k] : r * pow(10, k - 8);
                if (k >= 5 && epsilon < 600) continue;
                const struct nvdp_exact_point got = at(exact, epsilon);
                const struct wide_pair want = wide_pair(apart, r, epsilon);
                agrees(got.delta, want.delta, 1e-12, "%g %g", r, epsilon);
                agrees(got.rest, want.rest, 1e-12, "%g %g", r, epsilon);
                agrees(got.tpr, want.tpr, 1e-12, "%g %g", r, epsilon);
                if (want.fpr > 1e-300) agrees(got.fpr, want.fpr, 1e-12, "%g %g", r, epsilon);
            }
        }
}

/* Many such variances: without means delta is, except for a part of 1e-20, that of a chi-squared
 * number x of n degrees of freedom,
 *
 *   delta  =  P(x > (2 eps + n log r)/(r - 1))  =  e^-y sum_k<n/2 y^k/k!,   y  =  (eps + n log(r)/2)/(r - 1),
 *
 * summed by mpmath. y is known to 1e-16 of itself, so delta to 1e4 times as much. */
Test(exact, many_variances_that_are_far_larger) {
    static const double wants[][2] = {{9.8e23, 0.97779245618602998875},
                                      {1e24, 0.49867019166004545016},
                                      {1.03e24, 0.0014704948963856790839}};
    const struct pair pair = {.n = 1, .var = {{1e20}, {1}}};
    struct nvdp_exact *exact = opened(&pair, 0, 20000, 1);
    for (size_t i = 0; i < 3; i++) {
        const double got = at(exact, wants[i][0]).delta;
        agrees(got, wants[i][1], 1e-11);
    }
}

/* A narrower P has a trade-off too: for N(0, 1) against N(0, r) the best test takes |x| < t,
 *
 *   fpr  =  erf(t/sqrt(2 r)),   tpr  =  erf(t/sqrt 2),   eps  =  log(r)/2 - t^2 (1 - 1/r)/2,
 *
 * down to epsilons where 1 + c is of the order of 1/r. */
Test(exact, variances_that_are_far_smaller) {
    for (double r = 1e5; r < 1e260; r *= 1e15) {
        const struct pair pair = {.n = 1, .var = {{1}, {r}}};
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        struct nvdp_exact_point point;
        for (double root = 1e-3; root < 3; root *= 2) {
            const double t = root * sqrt(r), epsilon = log(r) / 2 - t * t * (1 - 1 / r) / 2;
            const double fpr = erf(root * M_SQRT1_2);
            agrees(at(exact, epsilon).fpr, fpr, 1e-11, "%g %g", r, root);
            ok(nvdp_exact_trade_off(ctx, exact, fpr, &point));
            /* the search ends at 1e-13 of epsilon */
            agrees(point.fpr, fpr, 1e-11, "%g %g", r, root);
            near(point.tpr, erf(t * M_SQRT1_2), 1e-11, "%g %g", r, root);
        }
    }
}

/* Two such texts in a report. e^eps fpr is at most 1e-20 of delta, so with z = Phi^-1(1 -
 * delta/2)
 *
 *   delta  =  P(|x| > z sqrt(r)),   eps  =  L(z sqrt(r))  =  (z^2 (r-1) - log r)/2. */
Test(exact, far_larger_variances_in_a_report) {
    for (double logvar = 38; logvar < 600; logvar *= 1.3) {
        struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 1, false);
        set->logvar[0] = fmin(logvar, 299);
        set->logvar[1] = set->logvar[0] - logvar;
        struct nvdp_privacy_report report = measured(set, "exact true delta 1e-5");
        const double z = 4.4171734134690221, r = exp(logvar); /* mpmath */
        agrees(report.exact->worst.epsilon, (z * z * (r - 1) - logvar) / 2, 1e-11, "%g", logvar);
    }
}

/* The pair may be arbitrarily near: N(mu, 1) against N(0, 1) has the closed form. With mu/2 lost
 * in rounding, its best test at false positives .01 has true positives .01 + mu phi(z), z the
 * normal quantile. 1e-10: as above. */
Test(exact, pairs_that_are_very_near) {
    struct nvdp_exact_point point;
    double value = 0;
    for (double mu = 1e-7; mu > 1e-140; mu *= mu > 1e-18 ? 0.3 : 1e-20) {
        const struct pair pair = {.n = 1, .mu = {{mu}, {0}}, .var = {{1}, {1}}};
        struct nvdp_exact *exact = opened(&pair, 0, 1, 1);
        for (double z = -3; z < 6; z += 0.5) {
            const double got = at(exact, z * mu).delta, want = nvdp_gdp_delta(mu, z * mu);
            agrees(got, want, 1e-10, "%g %g", mu, z);
        }
        ok(nvdp_exact_epsilon(ctx, exact, mu * 1e-3, &value));
        agrees(value, nvdp_gdp_epsilon(mu, mu * 1e-3), 1e-10, "%g", mu);
        ok(nvdp_exact_trade_off(ctx, exact, 0.01, &point));
        agrees(point.fpr, 0.01, 1e-10, "%g", mu);
        near(point.tpr, 0.01, 0.03 * mu + 1e-12, "%g", mu);
        cr_expect_eq(at(exact, 1).delta, 0);
        near(at(exact, -1).delta, -expm1(-1), 1e-12);
    }
    /* Variances that differ by a unit in the last place, y = 2^-52: L = y (x^2 - 1)/2 to a
     * relative y, and
     *
     *   delta(0)  =  E max(L, 0)  =  y phi(1),   as (x phi)' = (1 - x^2) phi. */
    const double ulp = 0x1p-52, want = ulp * exp(-0.5) / sqrt(2 * M_PI);
    for (int side = 0; side < 2; side++) {
        const struct pair pair = {.n = 1, .var = {{1 + ulp}, {1}}};
        struct nvdp_exact *exact = opened(&pair, side, 1, 1);
        agrees(at(exact, 0).delta, want, 1e-10);
        cr_expect_eq(at(exact, 1).delta, 0);
        ok(nvdp_exact_trade_off(ctx, exact, 0.01, &point));
        agrees(point.fpr, 0.01, 1e-10);
    }
}

/* For epsilon beyond 740, Q(L > eps) is below the smallest double: it is found from its
 * logarithm, and epsilon still reaches the requested delta. */
Test(exact, epsilons_where_false_positives_underflow) {
    static const double deltas[] = {1e-3, 1e-5, 1e-8, 1e-12, 1e-100};
    const struct pair pair = {
        .n = 3,
        .m = 3,
        .mu = {{1.2021468152074932, -0.8815993073670116, -7.5446134384298755}},
        .var = {{0.06682902880762, 2.1642135973735184, 83.2889365609574},
                {1.07063645957747, 1.421976533042696, 1.0063140860990176}},
        .alpha = {{0.43819950097687776, 0.4898195681830856, 2.2735692293580256},
                  {0.6669635764912012, 0.3995326785576161, 0.37705571703158425}}};
    for (int side = 0; side < 2; side++) {
        struct nvdp_exact *exact = opened(&pair, side, 1, 1);
        for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
            double epsilon = 0, mu = 0;
            ok(nvdp_exact_epsilon(ctx, exact, deltas[i], &epsilon));
            agrees(at(exact, epsilon).delta, deltas[i], 1e-9);
            ok(nvdp_exact_gdp(ctx, exact, deltas[i], &mu));
        }
    }
}

/* Points along shared paths equal those along paths of their own. The epsilons come in descending order, reach past
 * every loss and past the end of the losses below, and need both sides of 0. */
Test(exact, curve) {
    enum { COUNT = 300 };
    static double epsilon[COUNT];
    static struct nvdp_exact_point curve[COUNT];
    const struct pair pairs[] = {{.n = 1, .mu = {{1.5}}, .var = {{1}, {1}}},
                                 {.n = 3,
                                  .m = 3,
                                  .mu = {{.5, .2}},
                                  .var = {{1.1, .9, 1}, {1, 1, 1}},
                                  .alpha = {{1, 2, 3}, {1.5, 2, 2}}},
                                 {.n = 2,
                                  .m = 2,
                                  .mu = {{.1, 1}, {0, .5}},
                                  .var = {{5, 1}, {1, 2}},
                                  .alpha = {{.1, .2}, {.2, .05}}},
                                 {.n = 2,
                                  .mu = {{.1, 1}, {0, .5}},
                                  .var = {{1e-6, 1}, {1, 2}}}, /* so narrow that it is mirrored */
                                 {.n = 1, .var = {{1}, {4}}},  /* no loss is above log 2 */
                                 {.n = 1, .var = {{1}, {1}}}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        struct nvdp_exact *exact = opened(&pairs[k], 0, 1, 1);
        for (size_t i = 0; i < COUNT; i++)
            epsilon[i] = 30 - 40. * (double)i / COUNT;
        ok(nvdp_exact_curve(ctx, exact, COUNT, epsilon, curve));
        for (size_t i = 0; i < COUNT; i++) {
            const struct nvdp_exact_point want = at(exact, epsilon[i]);
            cr_expect_eq(curve[i].epsilon, epsilon[i]);
            near(curve[i].delta, want.delta, 1e-11 * want.delta);
            near(curve[i].rest, want.rest, 1e-11 * want.rest);
            near(curve[i].fpr, want.fpr, 1e-11 * want.fpr);
            near(curve[i].tpr, want.tpr, 1e-11 * want.tpr);
        }
        ok(nvdp_exact_curve(ctx, exact, 0, NULL, NULL));
        epsilon[7] = INFINITY;
        fails(nvdp_exact_curve(ctx, exact, COUNT, epsilon, curve), NVDP_ERR_ARGUMENT,
              "epsilon, number 7");
    }
}

Test(exact, edges) {
    struct nvdp_exact_point point;
    const struct pair same = {.n = 1, .m = 2, .var = {{2}, {2}}, .alpha = {{1, 2}, {1, 2}}};
    double value = 1;
    struct nvdp_exact *exact = opened(&same, 0, 1, 1); /* the two distributions are equal */
    cr_expect_eq(at(exact, 0).delta, 0);
    near(at(exact, -1).delta, -expm1(-1), 1e-15);
    near(at(exact, -7e-16).delta, 7e-16, 1e-25);
    ok(nvdp_exact_epsilon(ctx, exact, 1e-5, &value));
    cr_expect_eq(value, 0);
    ok(nvdp_exact_trade_off(ctx, exact, .3, &point));
    cr_expect_eq(point.tpr, .3);
    cr_expect_eq(nvdp_exact_delta(ctx, exact, NAN, &point), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_exact_epsilon(ctx, exact, 0, &value), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_exact_trade_off(ctx, exact, 1, &point), NVDP_ERR_ARGUMENT);
    /* N(0, 1) against N(0, 4): no loss is above log 2 */
    const struct pair narrow = {.n = 1, .var = {{1}, {4}}};
    exact = opened(&narrow, 0, 1, 1);
    cr_expect(isinf(nvdp_exact_moment_limit(exact)));
    cr_expect_gt(at(exact, .69).delta, 0);
    cr_expect_eq(at(exact, .7).delta, 0);
    struct pair wrong = same;
    wrong.var[1][0] = 0;
    fails(nvdp_exact_create(ctx, 1, wrong.mu[0], wrong.var[0], wrong.mu[1], wrong.var[1], 1, 0,
                            NULL, NULL, 1, &exact),
          NVDP_ERR_ARGUMENT, "variance of Q, entry 0");
    const struct nvdp_posteriors *set = made_two_texts(ctx, 0, 0, 1, false);
    fails(nvdp_exact_texts(ctx, set, 0, 2, 1, &exact), NVDP_ERR_ARGUMENT,
          "text numbers below 2, found 0 and 2");
}
