/* Certificates: closed forms, the largest divergences within bounds by brute force, conditions
 * one by one, and that nothing within the limits exceeds the proven bound. */
#include "rdp_test.h"

#include "test_context.h"

/* (a) holds with C 1.45: one vector of 3 numbers per text. */
static struct nvdp_limits sequence(void) {
    struct nvdp_limits limits = {.struct_size = sizeof limits, .method = "vib-fixed", .kappa = 1};
    limits.noise = limits.sealed = limits.same_noise = true;
    limits.rows = 1;
    limits.dim = 3;
    limits.clip_sequence = 1.45;
    limits.clip_mu = limits.alpha_max = INFINITY;
    limits.prior_alpha = limits.pad_alpha = 1;
    return limits;
}

/* (c) holds: 4 rows, some of them padding, with weights. */
static struct nvdp_limits clip_set(void) {
    struct nvdp_limits limits = sequence();
    limits.rows = 4;
    limits.same_noise = false;
    limits.clip_sequence = INFINITY;
    limits.clip_mu = 0.5;
    limits.logvar_min = -0.2;
    limits.logvar_max = 0.1;
    limits.weights = true;
    limits.alpha_min = 0.9;
    limits.alpha_max = 1.2;
    return limits;
}

static struct nvdp_certificate certify(const struct nvdp_limits *limits, const char *releases) {
    struct nvdp_certificate made = NVDP_RESULT(struct nvdp_certificate);
    ok(nvdp_certify(ctx, limits, support_config(ctx, "privacy", "releases", releases, NULL),
                    &made));
    return made;
}

static const char *statement_of(const struct nvdp_certificate *made) {
    char *text = NULL;
    ok(nvdp__certificate_statement(ctx, made, &text));
    return support_keep(text);
}

/* The calibration of Balle & Wang 2018 at delta 1e-5; 1e-4: its digits. */
Test(certificate, mu_of_an_epsilon) {
    static const double table[][2] = {{1, .26805}, {2, .50155}, {4, .92493}, {8, 1.66603}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        near(nvdp_gdp_mu(table[i][0], 1e-5), table[i][1], 5.1e-6);
    for (double epsilon = 0.01; epsilon < 300; epsilon *= 1.7) {
        for (double delta = 1e-12; delta < 0.5; delta *= 30) {
            const double mu = nvdp_gdp_mu(epsilon, delta);
            cr_expect_leq(nvdp_gdp_delta(mu, epsilon), delta * (1 + 1e-12));
            cr_expect_geq(nvdp_gdp_delta(mu * (1 + 1e-9), epsilon), delta);
            const double back = nvdp_gdp_epsilon(mu, delta);
            cr_expect_lt(support_relative(back, epsilon, 1e-3), 1e-9, "%g at %g: %.17g", epsilon,
                         delta, back);
        }
    }
    cr_expect_eq(nvdp_gdp_epsilon(0, 1e-5), 0);
    cr_expect_eq(nvdp_gdp_epsilon(1e-6, 1e-5), 0, "a delta that is never reached");
    cr_expect_eq(nvdp_gdp_epsilon(INFINITY, 1e-5), INFINITY);
    cr_expect(isnan(nvdp_gdp_epsilon(-1, 1e-5)) && isnan(nvdp_gdp_epsilon(1, 0)));
    cr_expect(isnan(nvdp_gdp_mu(-1, 1e-5)) && isnan(nvdp_gdp_mu(1, 1)));
}

/* For all mu the result is never below the exact epsilon, and not far above it. Large mu have
 *
 *   eps  =  mu^2/2 + a mu,   delta  =  Phi(-a) - e^eps Phi(-a - mu),
 *
 * solved by mpmath (the second part is phi(a)/mu); small ones, with delta = x mu, have eps = a
 * mu where x = phi(a) - a Phi(-a), to a relative mu a. 1e-11: delta is reduced by 1e-12 for the
 * rounding. 1e-12: delta is the exponential of a logarithm of up to 700. */
Test(certificate, epsilon_of_a_mu) {
    static const double large[][3] = {{1e3, 1e-5, 504263.89292065408},
                                      {1e3, .5, 499999.0000003333324},
                                      {1e3, .999, 496908.76614586151},
                                      {1e6, 1e-5, 500004264889.79392496},
                                      {1e9, 1e-5, 500000004264890792.92},
                                      {1e9, .999, 499999996909767692.83},
                                      {1e12, 1e-5, 5.0000000000426489079e+23},
                                      {1e14, 1e-5, 5.0000000000004264891e+27},
                                      {1e20, .999, 5e39},
                                      {1e62, 1e-5, 5e123},
                                      {1e100, 1e-5, 5e199},
                                      {1e154, .5, 5e307}};
    static const double small[][2] = {{.1, .90234634751003452137}, {1e-30, 11.251185889347142679}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const double mu = large[i][0], delta = large[i][1], want = large[i][2];
        const double got = nvdp_gdp_epsilon(mu, delta), back = nvdp_gdp_mu(got, delta);
        cr_expect(got >= want && got <= want * (1 + 1e-14), "%g %g: %.17g %.17g", mu, delta, got,
                  want);
        cr_expect(back <= mu * (1 + 5e-15) && back >= mu * (1 - 1e-13), "%g %g: %.17g", mu, delta,
                  back);
        cr_expect_eq(nvdp_gdp_delta(mu, 1), 1);
        cr_expect_eq(nvdp_gdp_delta(mu, 1.1 * want), 0);
    }
    for (double mu = 1e-200; mu < 1e-12; mu *= 1e8)
        for (size_t i = 0; i < 2; i++) {
            const double want = mu * small[i][1], got = nvdp_gdp_epsilon(mu, small[i][0] * mu);
            cr_expect(got >= want && got <= want * (1 + 1e-11), "%g: %.17g %.17g", mu, got, want);
        }
    for (double mu = 1e-300; mu < 1e300; mu *= 1e25) {
        const double closed = erf(mu / 2 * M_SQRT1_2); /* Phi(mu/2) - Phi(-mu/2) */
        agrees(nvdp_gdp_delta(mu, 0), closed, 1e-12, "%g", mu);
        cr_expect_eq(nvdp_gdp_delta(mu, INFINITY), 0);
        cr_expect_eq(nvdp_gdp_delta(mu, -INFINITY), 1);
        cr_expect(!isnan(nvdp_gdp_delta(mu, 1e300)) && !isnan(nvdp_gdp_delta(mu, 1e-300)));
        if (mu > 1.9e154) cr_expect_eq(nvdp_gdp_epsilon(mu, .9), INFINITY);
        cr_expect_leq(nvdp_gdp_epsilon(mu, 1e-5), nvdp_gdp_epsilon(mu * 1e25, 1e-5));
    }
    for (double epsilon = 1e10; epsilon < 1e300; epsilon *= 1e10) {
        const double mu = nvdp_gdp_mu(epsilon, 1e-5), largest = sqrt(2 * epsilon);
        cr_expect(mu < largest && mu > largest * (1 - 5 / largest - 1e-13), "%g: %.17g", epsilon,
                  mu);
    }
    struct nvdp_limits limits = sequence();
    limits.clip_sequence = 1e62;
    const struct nvdp_certificate made = certify(&limits, "1");
    cr_expect(made.epsilon >= 2e124 && made.epsilon < 2.1e124, "%g", made.epsilon);
}

/* (a) is attained: two opposite texts have its curve, for one release and for four. 1e-10 is the
 * integral's error. */
Test(certificate, sequence_is_exact) {
    const struct nvdp_limits limits = sequence();
    for (int releases = 1; releases <= 4; releases += 3) {
        const struct nvdp_certificate made = certify(&limits, releases == 1 ? "1" : "4");
        const double p[3] = {1.45, 0, 0}, q[3] = {-1.45, 0, 0}, one[3] = {1, 1, 1};
        nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
        double epsilon = 0;
        ok(nvdp_exact_create(ctx, 3, p, one, q, one, 1, 0, NULL, NULL, releases, &exact));
        cr_assert_eq(made.theorem, NVDP_THEOREM_SEQUENCE);
        near(made.mu, 2.9 * sqrt(releases), 1e-14);
        near(made.right, erfc(-made.mu / 2 * M_SQRT1_2) / 2, 1e-14);
        ok(nvdp_exact_epsilon(ctx, exact, 1e-5, &epsilon));
        agrees(made.epsilon, epsilon, 1e-10);
        cr_expect_eq(made.points, 8);
        for (size_t i = 0; i < made.points; i++) {
            struct nvdp_exact_point point;
            const double at = made.curve[i].epsilon, mu = made.mu;
            const double closed = erfc((at / mu - mu / 2) * M_SQRT1_2) / 2 -
                                  exp(at) * erfc((at / mu + mu / 2) * M_SQRT1_2) / 2;
            ok(nvdp_exact_delta(ctx, exact, at, &point));
            agrees(made.curve[i].delta, point.delta, 1e-10);
            cr_expect_lt(support_relative(made.curve[i].delta, closed, 1e-6), 1e-9);
        }
    }
}

/* A certificate that is not exactly private has no delta of 0. */
Test(certificate, no_delta_is_zero) {
    struct nvdp_limits limits = sequence();
    limits.clip_sequence = 1e-3;
    for (int same = 0; same < 2; same++) {
        limits.same_noise = same;
        const struct nvdp_certificate made = certify(&limits, "1");
        cr_assert_neq(made.theorem, NVDP_THEOREM_NONE);
        for (size_t i = 0; i < made.points; i++)
            cr_expect_gt(made.curve[i].delta, 0, "epsilon %g", made.curve[i].epsilon);
    }
}

/* C is in standard deviations: a norm of R with noise sigma becomes R/sigma, times sqrt(rows)
 * and sqrt(kappa). */
Test(certificate, radius_in_units_of_the_noise) {
    struct nvdp_limits limits = sequence();
    limits.clip_sequence = INFINITY;
    limits.clip_mu = 0.7;
    limits.logvar_min = 2 * log(0.5);
    limits.logvar_max = 0;
    near(certify(&limits, "1").radius, 1.4, 2e-7); /* the float's margin */
    limits.rows = 9;
    limits.logvar_min = 0;
    near(certify(&limits, "1").radius, 2.1, 3e-7);
    limits.kappa = 4;
    near(certify(&limits, "1").radius, 4.2, 6e-7);
}

/* Tries variances at the ends and between them, with |d| = 2R. */
Test(certificate, worst_gaussians_by_brute_force) {
    enum { STEPS = 12 };
    static const double bounds[][2] = {{1, 1}, {0.5, 1}, {0.3, 1.1}, {0.8, 3}};
    static const double orders[] = {1, 1.1, 1.3, 2};
    for (size_t k = 0; k < 16; k++) {
        const double low = bounds[k / 4][0], high = bounds[k / 4][1], order = orders[k % 4];
        const double proven = nvdp__worst_gaussian(order, 2, 0.6, low, high);
        double largest = 0;
        for (size_t i = 0; i < STEPS * STEPS * STEPS * STEPS; i++) {
            const size_t at[] = {i % STEPS, i / STEPS % STEPS, i / STEPS / STEPS % STEPS,
                                 i / STEPS / STEPS / STEPS};
            double var[4];
            for (int v = 0; v < 4; v++)
                var[v] = low + (high - low) * (double)at[v] / (STEPS - 1);
            const double p[] = {0.6, 0}, q[] = {-0.6, 0}, r[] = {0.6 * M_SQRT1_2, 0.6 * M_SQRT1_2},
                         s[] = {-r[0], -r[1]};
            largest = fmax(largest, nvdp_renyi_gaussian(order, 2, p, var, q, var + 2));
            largest = fmax(largest, nvdp_renyi_gaussian(order, 2, r, var, s, var + 2));
        }
        if (isinf(largest)) {
            cr_expect_eq(proven, INFINITY);
            continue;
        }
        agrees(proven, largest, 1e-12, "order %g in [%g, %g]", order, low, high);
    }
}

/* Close variances, and orders near the last finite one, in long double. */
Test(certificate, worst_gaussians_close_by) {
    static const double wide[] = {1e-7, 1e-2, 1e3}, share[] = {1e-9, .5, 1 - 1e-6, 1 - 1e-9};
    for (size_t k = 0; k < 12; k++) {
        const double low = .7, high = low * (1 + wide[k / 4]);
        const double order = fmin(1 + share[k % 4] * low / (high - low), 1e4);
        const long double s = order - 1, up = ((long double)high - low) / low;
        const long double wider = -(log1pl(-s * up) / s + log1pl(up)) / 2;
        const double means = (double)(2 * order / (low * (1 - s * up)));
        cr_expect_geq(nvdp__worst_gaussian(order, 1, 0, low, high), (double)(wider * (1 - 1e-9L)),
                      "%g wider, order %.17g", wide[k / 4], order);
        cr_expect_geq(nvdp__worst_gaussian(order, 1, 1, low, high), means);
    }
}

/* Tries all vertices by their counts, and random points between them: none is above the proven
 * bound, and the bound is not far above the best vertex. */
Test(certificate, worst_dirichlets_by_brute_force) {
    enum { MAX_COUNT = 6, DRAWS = 6000 };
    static const struct {
        double order, fixed, low, high;
        int kappa;
    } cases[] = {{1.1, 1, 0.1, 1, 1}, {1.1, 1, 0.6, 6, 1},        {2.5, 1e-3, 1, 1.5, 1},
                 {1, 1, 0.05, 4, 1},  {1.5, 3, 10, 25, 1},        {8, 1, 1, 1.1, 1},
                 {1.1, 1, 0.6, 6, 3}, {1.01, 0.01, 1e-3, 0.05, 1}};
    unsigned seed = 3;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t m = 1; m <= MAX_COUNT; m++) {
            double found = 0, largest = 0, p[3 * (MAX_COUNT + 1)], q[3 * (MAX_COUNT + 1)];
            const size_t kappa = (size_t)cases[c].kappa, weights = (m + 1) * kappa;
            const double proven =
                nvdp__worst_dirichlet(cases[c].order, m, cases[c].fixed, cases[c].low,
                                      cases[c].high, cases[c].kappa, &found);
            for (size_t i = 0; i < DRAWS; i++) {
                const bool ends = i < 1U << (2 * m);
                for (size_t k = 0; k < weights; k++) {
                    const size_t own = k / kappa;
                    const double wide = cases[c].high - cases[c].low;
                    if (k % kappa > 0) {
                        p[k] = p[k - 1];
                        q[k] = q[k - 1];
                        continue;
                    }
                    for (size_t side = 0; side < 2; side++)
                        (side == 0 ? p : q)[k] =
                            cases[c].low + wide * (ends ? (double)(i >> (side * m + own) & 1)
                                                        : made_uniform(&seed));
                    if (own == m) p[k] = q[k] = cases[c].fixed;
                }
                for (size_t k = 0; k < weights; k++) {
                    p[k] /= cases[c].kappa;
                    q[k] /= cases[c].kappa;
                }
                largest = fmax(largest, nvdp_renyi_dirichlet(cases[c].order, weights, p, q));
            }
            cr_expect_leq(largest, proven, "case %zu, %zu weights: %.17g above %.17g", c, m,
                          largest, proven);
            cr_expect_leq(found, largest * (1 + 1e-9) + 1e-12, "case %zu, %zu weights: a vertex", c,
                          m);
            /* the proof splits components: a small loss where there are several */
            if (m > 2)
                cr_expect_geq(largest, 0.75 * proven, "case %zu, %zu weights: %g of %g", c, m,
                              largest, proven);
        }
    }
}

/* Eight components in [.1, 1] cost 143 nats at order 1.1; four in [1, 1.5] cost 2.2 at order 2.5
 * (without a prior's). */
Test(certificate, worst_dirichlets_of_the_specification) {
    double found;
    const double wide = nvdp__worst_dirichlet(1.1, 8, 1e-12, 0.1, 1, 1, &found);
    near(found, 143.2, 0.05);
    cr_expect(wide >= found && wide < 1.05 * found, "%g", wide);
    const double tight = nvdp__worst_dirichlet(2.5, 4, 1e-12, 1, 1.5, 1, &found);
    near(found, 2.168, 0.001);
    cr_expect(tight >= found && tight < 1.05 * found, "%g", tight);
    cr_expect_eq(nvdp__worst_dirichlet(1.1, 8, 1, 0.1, 1.1, 1, &found), INFINITY, "l/(l-1) times");
    cr_expect_eq(found, INFINITY);
    cr_expect_eq(nvdp__worst_dirichlet(1.1, 8, 1, 1, 1, 1, &found), 0);
}

/* Each broken condition fails separately, names the option that would restore it, and ends the
 * certificate. */
Test(certificate, conditions) {
    static const char *const option[] = {"--query sampled", "--length-policy hidden",
                                         "--clip-sequence C", "--clip-sequence C",
                                         "--weights constant"};
    for (size_t broken = 0; broken < 5; broken++) {
        struct nvdp_limits limits = sequence();
        if (broken == 0) limits.sealed = false;
        if (broken == 1) limits.rows = 0;
        if (broken == 2) limits.same_noise = false;
        if (broken == 2) limits.logvar_min = -INFINITY;
        if (broken == 3) limits.clip_sequence = INFINITY;
        if (broken == 4) limits.weights = true;
        const struct nvdp_certificate made = certify(&limits, "1");
        const struct nvdp_claim *claim = &made.claim[NVDP_THEOREM_SEQUENCE];
        cr_expect_eq(made.theorem, NVDP_THEOREM_NONE, "condition %zu", broken);
        cr_expect_eq(made.epsilon, INFINITY);
        cr_expect_eq(made.right, 1);
        cr_assert_eq(claim->conditions, 5);
        for (size_t k = 0; k < 5; k++)
            if (broken != 2 || k != 3) /* without a smallest variance there is no radius either */
                cr_expect_eq(claim->condition[k].holds, k != broken, "%zu, broken %zu", k, broken);
        support_contains(claim->condition[broken].option, option[broken]);
        const char *text = statement_of(&made);
        support_contains(text, "Nothing is proven");
        if (broken != 2) support_contains(text, option[broken]); /* otherwise (c) needs less */
    }
    struct nvdp_limits padded = sequence(); /* its variance is 1 */
    padded.rows = 4;
    padded.logvar_min = padded.logvar_max = -1;
    cr_expect_not(certify(&padded, "1").claim[NVDP_THEOREM_SEQUENCE].holds);
    struct nvdp_limits base = {.struct_size = sizeof base, .method = "base"};
    const struct nvdp_certificate made = certify(&base, "1");
    cr_expect_eq(made.theorem, NVDP_THEOREM_NONE);
    for (size_t i = 0; i < made.points; i++)
        cr_expect_eq(made.curve[i].delta, 1);
    support_contains(made.claim[0].condition[0].option, "--method");
    base = sequence();
    base.clip_sequence = NAN;
    struct nvdp_certificate none = NVDP_RESULT(struct nvdp_certificate);
    fails(nvdp_certify(ctx, &base, NULL, &none), NVDP_ERR_ARGUMENT, "clip_sequence");
}

/* Makes random texts within the limits, and adversarial ones with every value at a limit. */
static struct nvdp_posteriors *within(const struct nvdp_limits *limits) {
    const size_t longest = limits->rows > 1 ? limits->rows - 1 : 1;
    const struct made_texts texts = {
        40, longest, limits->dim, 2, .with_alpha = limits->weights, .seed = 11};
    struct nvdp_posteriors *set = made_posteriors(ctx, &texts);
    unsigned seed = 5;
    set->kappa = limits->kappa;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = limits->rows;
    set->prior_alpha = limits->prior_alpha;
    set->pad_alpha = limits->pad_alpha;
    for (size_t i = 0; i < set->texts; i++) {
        double all = 0;
        for (size_t r = set->offset[i]; r < set->offset[i + 1]; r++) {
            double *mu = set->mu + r * set->dim, square = 0;
            const bool ends = i % 2 == 0;
            for (size_t k = 0; k < set->dim; k++) {
                mu[k] = ends ? (double)(k == 0) * (i % 4 == 0 ? 1 : -1) : made_normal(&seed);
                square += mu[k] * mu[k];
                const double at = ends ? (double)(i % 4 == 0) : made_uniform(&seed);
                set->logvar[r * set->dim + k] =
                    limits->logvar_min + at * (limits->logvar_max - limits->logvar_min);
            }
            for (size_t k = 0; k < set->dim && isfinite(limits->clip_mu); k++)
                mu[k] *= limits->clip_mu / sqrt(square);
            for (size_t k = 0; k < set->dim; k++)
                all += mu[k] * mu[k];
            if (set->alpha != NULL)
                set->alpha[r] =
                    limits->alpha_min + (ends ? (double)((i / 2 + r) % 2) : made_uniform(&seed)) *
                                            (limits->alpha_max - limits->alpha_min);
        }
        for (size_t k = set->offset[i] * set->dim; k < set->offset[i + 1] * set->dim; k++)
            if (isfinite(limits->clip_sequence)) set->mu[k] *= limits->clip_sequence / sqrt(all);
    }
    return set;
}

/* No pair exceeds the proven bound, at the certificate's delta and on its curve. The worst pair
 * is not far below, so that the bound is meaningful: for (a) a tenth in epsilon, for the
 * conversions of (b) and (c) half. */
Test(certificate, nothing_within_the_limits_exceeds_it) {
    for (int theorem = 0; theorem < NVDP_THEOREMS; theorem++) {
        struct nvdp_limits limits = theorem == NVDP_THEOREM_CLIP_SET ? clip_set() : sequence();
        limits.rows = 4;
        if (theorem == NVDP_THEOREM_SEQUENCE_WEIGHTS) {
            limits.weights = true;
            limits.alpha_min = 0.8;
            limits.alpha_max = 1.3;
        }
        const struct nvdp_certificate made = certify(&limits, "2");
        struct nvdp_posteriors *set = within(&limits);
        double largest = 0;
        cr_assert_eq((int)made.theorem, theorem);
        cr_expect_lt(made.right, 1);
        for (size_t i = 0; i < set->texts; i++) {
            for (size_t j = 0; j < set->texts; j += i == j ? 1 : 7) {
                nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
                struct nvdp_exact_point point;
                double epsilon = 0;
                if (i == j) continue;
                ok(nvdp_exact_texts(ctx, set, i, j, 2, &exact));
                ok(nvdp_exact_epsilon(ctx, exact, made.delta, &epsilon));
                largest = fmax(largest, epsilon);
                for (size_t k = 0; k < made.points; k += 3) {
                    ok(nvdp_exact_delta(ctx, exact, made.curve[k].epsilon, &point));
                    cr_expect_leq(point.delta, made.curve[k].delta * (1 + 1e-9));
                }
                if (!isnan(made.order))
                    cr_expect_leq(nvdp_renyi_texts(made.order, set, i, j),
                                  made.vectors + made.weights);
            }
        }
        cr_expect_leq(largest, made.epsilon * (1 + 1e-9));
        cr_expect_geq(largest, made.epsilon * (theorem == NVDP_THEOREM_SEQUENCE ? 0.9 : 0.5));
    }
}

Test(certificate, as_text) {
    const struct nvdp_limits limits = sequence();
    const struct nvdp_certificate made = certify(&limits, "1");
    const json_t *root = support_result_json(ctx, &made, NULL);
    cr_expect_str_eq(text_at(root, "theorem"), "a");
    cr_expect_eq(number_at(root, "epsilon"), made.epsilon);
    cr_expect_eq(json_array_size(json_object_get(root, "curve")), 8);
    cr_expect_eq(json_array_size(json_object_get(root, "theorems")), 3);
    support_contains(text_at(root, "statement"),
                     "right at most 92.7 % / 0.63 % / 0.00063 % of the time with the sample",
                     "Proven: epsilon 15.97 at delta 1e-05, one sample, any two texts");
    cr_expect_eq(json_array_size(json_object_get(root, "guess")), 3);
    cr_expect_leq(fabs(number_at(root, "information_bits") - made.information / M_LN2), 1e-12);
    const char *text = support_result_text(ctx, &made, NULL);
    support_contains(text,
                     "(a) sequence clip and the same noise for every text: holds, epsilon 15.9",
                     "Proven: epsilon 15.97 at delta 1e-05, one sample, any two texts.");
    const char *at = strstr(text, "     epsilon        delta\n"); /* the curve, rounded up */
    for (size_t i = 0; i < made.points; i++) {
        double epsilon = NAN, delta = NAN;
        int length = 0;
        if (i == 0) at = strchr(at, '\n');
        cr_assert_eq(sscanf(at, "%lf %lf%n", &epsilon, &delta, &length), 2, "%s", at);
        cr_expect_eq(epsilon, made.curve[i].epsilon);
        cr_expect(delta >= made.curve[i].delta * (1 - 1e-9) &&
                  delta <= made.curve[i].delta * 1.001);
        at += length;
    }
}

/* A proof of an epsilon that excludes nothing begins with that statement. */
Test(certificate, of_no_use) {
    struct nvdp_limits limits = sequence();
    limits.clip_sequence = 50;
    struct nvdp_certificate made = certify(&limits, "1");
    const char *text = statement_of(&made);
    cr_expect_eq(strncmp(text, "No useful guarantee: epsilon 5426 at delta ", 43), 0, "%s", text);
    support_lacks(text, "guess that is right", "lets any two texts be told apart");
    limits.clip_sequence = 2.668;
    made = certify(&limits, "1");
    near(made.named_bound, nvdp_guess_bound(.01, 2.668, 1, limits.rows * limits.dim), 1e-12);
    text = statement_of(&made);
    cr_expect_eq(strncmp(text, made.named_bound > .5 ? "No useful" : "Proven:", 7), 0, "%s", text);
}

/* The guess bounds: for (a) those of nvdp_guess_bound(); for (c) at least the success of the
 * best guess between two texts whose rows all have opposite means of the largest norm; never
 * above e^epsilon b + delta. */
Test(certificate, guesses) {
    const struct nvdp_limits all[] = {sequence(), clip_set()};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const struct nvdp_certificate made = certify(&all[k], "2");
        cr_assert_eq(made.theorem, k == 0 ? NVDP_THEOREM_SEQUENCE : NVDP_THEOREM_CLIP_SET);
        cr_assert_eq(made.guesses, 3);
        cr_assert_eq(made.numbers, all[k].rows * all[k].dim);
        for (size_t i = 0; i < made.guesses; i++) {
            const double b = made.guess[i].baseline, bound = made.guess[i].bound;
            cr_expect(bound >= b && bound <= 1);
            cr_expect_leq(bound, exp(made.epsilon) * b + made.delta + 1e-12, "%zu %g", k, b);
            if (k == 0) cr_expect_eq(bound, nvdp_guess_bound(b, made.radius, 2, made.numbers));
        }
        if (k == 1)
            cr_expect_geq(made.guess[0].bound,
                          nvdp_guess_attribute(.5, all[k].clip_mu * sqrt(4), 2));
        cr_expect(made.information > 0 && made.information < INFINITY);
    }
}

/* Bounds at the ends of double's range neither stop the program nor prove a value that is not a
 * number. */
Test(certificate, far_bounds) {
    static const double alpha[][2] = {{1e300, 1.1e300}, {1e-300, 1e-299}, {1e-20, 1}, {.9, 1.2}};
    for (size_t i = 0; i < sizeof alpha / sizeof *alpha; i++) {
        struct nvdp_limits limits = clip_set();
        limits.alpha_min = alpha[i][0];
        limits.alpha_max = alpha[i][1];
        if (i % 2 == 0) limits.logvar_min = -30;
        const struct nvdp_certificate made = certify(&limits, "1");
        for (int t = 0; t < NVDP_THEOREMS; t++)
            cr_expect(!(made.claim[t].holds && isnan(made.claim[t].epsilon)), "%zu, %d", i, t);
        cr_expect(!(made.epsilon < 1e-6), "%zu: %g", i, made.epsilon);
    }
}
