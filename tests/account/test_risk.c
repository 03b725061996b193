/* The risk to one example from a trained model: against closed forms, simulated attackers, and
 * the real mechanism when an example is zeroed out, replaced or removed. */
#include "account/account.h"
#include "support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <nvdp.h>

#include "test_context.h"

static const double baselines[] = {0.5, 0.05, 0.001};
enum { BASELINES = 3 };

static struct nvdp_example_risk risk_of(const struct nvdp_dp_run *run, double delta,
                                        double *epsilon) {
    struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
    struct nvdp_example_risk risk = NVDP_RESULT(struct nvdp_example_risk);
    ok(nvdp_account(ctx, run, delta, &account));
    ok(nvdp_example_risk(ctx, run, &account, BASELINES, baselines, &risk));
    *epsilon = account.pld_epsilon;
    return risk;
}

/* The bound on guessing whether an example was in the training set, at a prior: the conjugate of the trade-off curve. */
static double membership(const struct nvdp_dp_run *run, double prior) {
    const double odds = log((1 - prior) / prior);
    double present = 0;
    if (isfinite(odds)) ok(nvdp__account_deltas(ctx, run, 1, &odds, &present, NULL));
    return isinf(odds) ? 1 : fmin(fmax(1 - prior + prior * present, fmax(prior, 1 - prior)), 1);
}

/* Expects a value that is not below the exact one, and above it by at most `relative`. */
static void just_above(double got, double exact, double relative, const char *what) {
    cr_expect(got >= exact * (1 - 1e-9) && got <= exact * (1 + relative), "%s: %.9g, exactly %.9g",
              what, got, exact);
}

/* With every example in every step this is a Gaussian mechanism with mu = sqrt(T)/sigma, and 2
 * mu for replacing an example. */
Test(account_risk, of_a_gaussian_mechanism) {
    static const struct nvdp_dp_steps cases[] = {{2, 1, 4}, {5, 1, 3}, {1.5, 1, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nvdp_dp_run run = {&cases[i], 1, NULL, 0};
        const double mu = sqrt((double)cases[i].steps) / cases[i].noise;
        double epsilon;
        const struct nvdp_example_risk risk = risk_of(&run, 1e-5, &epsilon);
        just_above(risk.mu, mu, 3e-3, "mu");
        just_above(risk.membership, gsl_cdf_ugaussian_P(mu / 2), 1e-4, "membership");
        just_above(risk.replaced_epsilon, nvdp_gdp_epsilon(2 * mu, 1e-5), 0.004, "replaced");
        for (size_t k = 0; k < BASELINES; k++)
            just_above(risk.guess[k].bound,
                       gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(baselines[k]) + mu), 2e-3,
                       "guess");
        for (double p = 0.02; p < 1; p += 0.24) { /* the best test answers yes above a threshold */
            const double h = log((1 - p) / p) / mu;
            const double exact =
                p * gsl_cdf_ugaussian_P(mu / 2 - h) + (1 - p) * gsl_cdf_ugaussian_P(mu / 2 + h);
            just_above(membership(&run, p), exact, 1e-4, "membership at a prior");
        }
        cr_expect_eq(membership(&run, 0), 1);
        cr_expect_eq(membership(&run, 1), 1);
    }
}

/* Replacing an example: epsilons of the two curves in a row, computed by convolution of losses and 600 lines in NumPy. */
Test(account_risk, of_a_replaced_example) {
    static const struct {
        struct nvdp_dp_steps steps;
        double delta, epsilon;
    } cases[] = {{{1, .01, 1000}, 1e-5, 3.51813},
                 {{2, .1, 100}, 1e-5, 4.60386},
                 {{.8, .02, 300}, 4.579e-4, 4.60570}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nvdp_dp_run run = {&cases[i].steps, 1, NULL, 0};
        double epsilon;
        const struct nvdp_example_risk risk = risk_of(&run, cases[i].delta, &epsilon);
        just_above(risk.replaced_epsilon, cases[i].epsilon, 3e-3, "replaced");
    }
}

/* One step in which the example is drawn with probability q: thresholds are the best tests. */
Test(account_risk, of_one_sampled_step) {
    static const struct nvdp_dp_steps step = {0.7, 0.3, 1};
    const struct nvdp_dp_run run = {&step, 1, NULL, 0};
    const double delta = 1e-4;
    double epsilon;
    const struct nvdp_example_risk risk = risk_of(&run, delta, &epsilon);
    double best = 0;
    for (double t = -5; t < 6; t += 1e-3) {
        const double fpr = gsl_cdf_ugaussian_Q(t / step.noise);
        const double tpr = 0.7 * fpr + 0.3 * gsl_cdf_ugaussian_Q((t - 1) / step.noise);
        best = fmax(best, (tpr + 1 - fpr) / 2);
        /* the bounds that mu claims, in both directions */
        if (!(fpr > 0 && fpr < 1)) continue;
        cr_assert_leq(tpr, gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(fpr) + risk.mu) + delta);
        cr_assert_leq(1 - fpr,
                      gsl_cdf_ugaussian_P(gsl_cdf_ugaussian_Pinv(1 - tpr) + risk.mu) + delta);
    }
    just_above(risk.membership, best, 1e-4, "membership");
    for (size_t k = 0; k < BASELINES; k++) {
        const double t = step.noise * gsl_cdf_ugaussian_Qinv(baselines[k]);
        just_above(risk.guess[k].bound,
                   0.7 * baselines[k] + 0.3 * gsl_cdf_ugaussian_Q((t - 1) / step.noise), 2e-3,
                   "guess");
    }
}

/* Three steps' likelihood ratio is the best test. Over 40,000 draws it is never above the bound
 * by more than four standard errors (false alarms below 1e-4 for each of three baselines), and
 * near the bound. */
Test(account_risk, attackers_stay_below) {
    enum { STEPS = 3, DRAWS = 40000 };
    static const struct nvdp_dp_steps steps = {0.8, 0.4, STEPS};
    const struct nvdp_dp_run run = {&steps, 1, NULL, 0};
    double epsilon, *score[2];
    const struct nvdp_example_risk risk = risk_of(&run, 1e-4, &epsilon);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (int there = 0; there < 2; there++) {
        score[there] = malloc(DRAWS * sizeof(double));
        for (size_t i = 0; i < DRAWS; i++) {
            double loss = 0;
            for (int s = 0; s < STEPS; s++) {
                const bool drawn = there && gsl_rng_uniform(rng) < steps.rate;
                const double z = drawn + gsl_ran_gaussian(rng, steps.noise);
                loss += log1p(steps.rate * expm1((z - 0.5) / (steps.noise * steps.noise)));
            }
            score[there][i] = loss;
        }
        qsort(score[there], DRAWS, sizeof(double), nvdp__by_double);
    }
    for (size_t k = 0; k < BASELINES; k++) {
        const double cut = score[0][(size_t)((1 - baselines[k]) * DRAWS)];
        double right = 0;
        for (size_t i = 0; i < DRAWS; i++)
            right += score[1][i] > cut;
        right /= DRAWS;
        /* the errors of the share, and of the threshold, which moves with baselines[k] (1 +-
         * 1/sqrt(b DRAWS)) */
        const double error =
            sqrt(right * (1 - right) / DRAWS) + right / baselines[k] * sqrt(baselines[k] / DRAWS);
        cr_expect_leq(right, risk.guess[k].bound + 4 * error, "%g", baselines[k]);
        cr_expect_geq(right, risk.guess[k].bound - 4 * error - 2e-3, "%g", baselines[k]);
    }
    gsl_rng_free(rng);
    free(score[0]);
    free(score[1]);
}

/* ---- one step of N examples with gradients 1, and one with -1, each drawn with probability q
 * ---- */

/* Computes the density of the sum at x: `others` examples of gradient 1, and one of gradient g. */
static double density(double x, unsigned others, double rate, double g, double noise) {
    double sum = 0;
    for (unsigned k = 0; k <= others; k++)
        sum += gsl_ran_binomial_pdf(k, rate, others) *
               ((1 - rate) * gsl_ran_gaussian_pdf(x - k, noise) +
                rate * gsl_ran_gaussian_pdf(x - k - g, noise));
    return sum;
}

struct set {
    unsigned others;
    double rate, g; /* g 0: the odd example is zeroed out, or absent */
};

/* Computes sup_S P(S) - e^epsilon Q(S) by the trapezoidal rule. */
static double loss_between(struct set p, struct set q, double noise, double epsilon) {
    double sum = 0;
    for (double x = -12; x < 24; x += 0.01)
        sum += fmax(0, density(x, p.others, p.rate, p.g, noise) -
                           exp(epsilon) * density(x, q.others, q.rate, q.g, noise));
    return 0.01 * sum;
}

/* The bounds cover zeroing an example out, and replaced_epsilon covers replacing one. They do
 * not cover removing one where the probability is B/N: all others are then drawn more often,
 * which moves the sum as far again. */
Test(account_risk, what_is_adjacent) {
    enum { N = 20 };
    static const double noises[] = {1, 2};
    bool removed = false;
    for (size_t i = 0; i < 2; i++) {
        const struct nvdp_dp_steps step = {noises[i], 1.0 / N, 1};
        const struct nvdp_dp_run run = {&step, 1, NULL, 0};
        const struct set with = {N - 1, 1.0 / N, -1}, zeroed = {N - 1, 1.0 / N, 0},
                         other = {N - 1, 1.0 / N, 1}, less = {N - 1, 1.0 / (N - 1), 0};
        for (double epsilon = 0; epsilon < 0.1; epsilon += 0.02) {
            double delta;
            ok(nvdp_account_delta(ctx, &run, epsilon, &delta));
            cr_expect_leq(loss_between(with, zeroed, noises[i], epsilon), delta);
            cr_expect_leq(loss_between(zeroed, with, noises[i], epsilon), delta);
            removed = removed || loss_between(with, less, noises[i], epsilon) > 1.05 * delta;
        }
        double epsilon;
        const double delta = 0.01;
        const struct nvdp_example_risk risk = risk_of(&run, delta, &epsilon);
        cr_expect_leq(loss_between(with, other, noises[i], risk.replaced_epsilon), delta);
        /* also without other examples */
        const struct set alone = {0, 1.0 / N, -1}, replaced = {0, 1.0 / N, 1};
        cr_expect_leq(loss_between(alone, replaced, noises[i], risk.replaced_epsilon), delta);
    }
    cr_expect(removed);
}

Test(account_risk, refusals) {
    const struct nvdp_dp_steps step = {1, 0.1, 1};
    const struct nvdp_dp_run run = {&step, 1, NULL, 0};
    struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
    struct nvdp_example_risk risk = NVDP_RESULT(struct nvdp_example_risk);
    ok(nvdp_account(ctx, &run, 1e-5, &account));
    cr_expect_eq(nvdp_example_risk(ctx, &run, &account, 1, &(double){1.5}, &risk),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_example_risk(ctx, &run, &account, NVDP_GUESSES + 1, baselines, &risk),
                 NVDP_ERR_ARGUMENT);
}
