/* The accountant of DP-SGD: published and independent values, closed forms, searches. */
#include "account/account.h"
#include "support.h"

#include "test_context.h"

static struct nvdp_account account(const struct nvdp_dp_run *run, double delta) {
    struct nvdp_account made = NVDP_RESULT(struct nvdp_account);
    ok(nvdp_account(ctx, run, delta, &made));
    return made;
}

static struct nvdp_account steps_account(double noise, double rate, uint64_t steps, double delta) {
    const struct nvdp_dp_steps phase = {noise, rate, steps};
    return account(&(struct nvdp_dp_run){&phase, 1, NULL, 0}, delta);
}

/* 50 steps: computed by another program's quadrature with 30 digits, printed with nine. */
Test(account, renyi_golden) {
    static const double golden[][2] = {{1.5, 6.50070897e-4},
                                       {2.5, 1.08541806e-3},
                                       {5, 2.18075656e-3},
                                       {50, 2.38460375e-2},
                                       {100, 167.416308}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        agrees(50 * nvdp_renyi_subsampled(golden[i][0], 2.5, .01), golden[i][1], 1e-8,
               "order %g: %.12g", golden[i][0], 50 * nvdp_renyi_subsampled(golden[i][0], 2.5, .01));
}

/* For a whole order the moment is a sum (Mironov, Talwar & Zhang 2019, section 3.3): sum_i C(l,
 * i) (1-q)^(l-i) q^i e^(i (i-1) / (2 sigma^2)). Computed in long double; the terms i = 0, 1 and
 * the 1 are left out, which keeps small sums exact. */
static double whole_order(int order, double noise, double rate) {
    long double sum = 0, choose = 1;
    for (int i = 0; i <= order; i++) {
        sum += choose * powl(1 - (long double)rate, order - i) * powl(rate, i) *
               expm1l(i * (i - 1.L) / (2 * (long double)noise * noise));
        choose *= (order - i) / (i + 1.L);
    }
    return (double)(log1pl(sum) / (order - 1)); /* the weights' sum is 1 */
}

Test(account, renyi_whole_orders) {
    static const double noises[] = {.5, .7, 1.3, 8, 200}, rates[] = {1e-7, 1e-3, .04, .5, .99999};
    for (size_t s = 0; s < 5; s++) {
        for (size_t q = 0; q < 5; q++) {
            for (int order = 2; order <= 64; order = order * 3 / 2 + 1) {
                double want = whole_order(order, noises[s], rates[q]);
                double got = nvdp_renyi_subsampled(order, noises[s], rates[q]);
                /* Long double's exponent covers all of them. */
                agrees(got, want, 1e-11, "%d %g %g: %.15g, %.15g", order, noises[s], rates[q], got,
                       want);
            }
        }
    }
    for (double order = 1.01; order < 1e4; order *= 3)
        agrees(nvdp_renyi_subsampled(order, 3, 1), order / 18, 1e-15);
    cr_expect_eq(nvdp_renyi_subsampled(3, 1, 0), 0);
    cr_expect(isnan(nvdp_renyi_subsampled(1, 1, .5)) && isnan(nvdp_renyi_subsampled(2, 0, .5)) &&
              isnan(nvdp_renyi_subsampled(2, 1, 1.5)));
}

/* At far orders the divergence is l/(2 sigma^2) + l/(l-1) log q, and the quadrature just below
 * them agrees. */
Test(account, renyi_far_orders, .timeout = 60) {
    static const double orders[] = {1e8, 1e12, 1e17, 1e100, 1e300}, noises[] = {1e-3, .5, 1, 30},
                        rates[] = {1e-300, 1e-5, .1, .999999, 1};
    for (size_t i = 0; i < 100; i++) {
        const double l = orders[i / 20], s = noises[i / 5 % 4], q = rates[i % 5];
        agrees(nvdp_renyi_subsampled(l, s, q), l / (2 * s * s) + l / (l - 1) * log(q), 1e-14,
               "%g %g %g", l, s, q);
    }
    for (size_t i = 0; i < 20; i++) { /* on both sides of the order from which it is used */
        const double s = noises[i / 5], q = rates[i % 5], from = 1 + 2 * s * s * (40 - log(q));
        for (int side = -1; side <= 1; side += 2) {
            const double l = from + side * 1e-3 * (from - 1);
            agrees(nvdp_renyi_subsampled(l, s, q), l / (2 * s * s) + l / (l - 1) * log(q), 1e-11,
                   "%g %g %g", l, s, q);
        }
    }
}

/* Between whole orders the divergence grows, and the moment is log-convex in the order
 * (Hoelder). */
Test(account, renyi_between_orders) {
    static const double noises[] = {.3, 1, 4}, rates[] = {1e-5, .01, .3};
    for (size_t i = 0; i < 9; i++) {
        const double s = noises[i / 3], q = rates[i % 3], h = .01;
        for (double l = 1.05; l < 80; l *= 1.1) {
            double low = (l - h - 1) * nvdp_renyi_subsampled(l - h, s, q);
            double at = (l - 1) * nvdp_renyi_subsampled(l, s, q);
            double high = (l + h - 1) * nvdp_renyi_subsampled(l + h, s, q);
            cr_expect(high > at && at > low, "%g %g %g", l, s, q);
            cr_expect_geq(high + low - 2 * at, -1e-11 * at, "%g %g %g", l, s, q);
        }
    }
}

/* TF-Privacy's figures: its orders, and the conversion of Canonne, Kamath & Steinke. */
Test(account, epsilon_golden) {
    struct nvdp_account made = steps_account(1.3, 150. / 60000, 15 * 400, 1e-5);
    agrees(made.rdp_epsilon, 0.7242234026, 1e-10, "%.12g", made.rdp_epsilon);
    cr_expect_eq(made.rdp_order, 19);
    cr_expect_lt(made.pld_epsilon, made.rdp_epsilon);
    made = steps_account(1.5, .04, 2250, 1e-5);
    agrees(made.rdp_epsilon, 7.32911117143, 1e-11, "%.12g", made.rdp_epsilon);
    near(made.rdp_order, 3.9, 1e-12);
}

/* Epsilons between the optimistic and the pessimistic estimate of dp-accounting 0.6.0 (losses in
 * steps of 1e-5 to 1e-4): privacy_loss_distribution.from_gaussian_mechanism(noise,
 * sampling_prob=rate, value_discretization_interval=..., pessimistic_estimate=False,
 * use_connect_dots=False, or neither).self_compose(steps).get_epsilon_for_delta(delta). */
Test(account, loss_distribution_golden) {
    static const struct {
        double noise, rate;
        uint64_t steps;
        double delta, low, high;
    } golden[] = {
        {4, 0.125, 12, 3e-07, 0.538979, 0.539579},
        {2.25, 0.0003, 1000, 2e-06, 0.00844435, 0.0134473},
        {0.55, 0.0125, 10, 1e-05, 3.69421, 3.69471},
        {1.3, 0.0025, 6000, 1e-05, 0.610004, 0.640005},
        {1.5, 0.04, 2250, 1e-05, 6.65628, 6.76879},
        {2.25, 0.3, 80, 2e-08, 7.81153, 7.81553},
        {1.25, 1, 3, 4e-07, 7.37406, 7.37421},
        {1, 0.01, 2000, 1e-06, 2.93525, 2.95525},
        {6, 0.001, 7500, 2e-07, 0.0187825, 0.0562913},
        {0.8, 0.5, 1, 1e-05, 4.78618, 4.78623},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct nvdp_account made =
            steps_account(golden[i].noise, golden[i].rate, golden[i].steps, golden[i].delta);
        cr_expect(made.pld_epsilon >= golden[i].low && made.pld_epsilon <= 1.01 * golden[i].high,
                  "%zu: %.10g", i, made.pld_epsilon);
        /* dp-accounting's estimate is as far above the true value as ours */
        agrees(made.pld_epsilon, golden[i].high, 5e-3, "%zu: %.10g", i, made.pld_epsilon);
    }
}

static double gauss_delta(double mu, double epsilon) {
    return (erfc((epsilon / mu - mu / 2) / sqrt(2)) -
            exp(epsilon) * erfc((epsilon / mu + mu / 2) / sqrt(2))) /
           2;
}

/* Without sampling, T steps are one Gaussian mechanism with mu = sqrt(T)/sigma (Dong, Roth & Su
 * 2022): the results are never below it, and epsilon is less than a thousandth above. */
Test(account, whole_batches) {
    static const double noises[] = {.4, 1, 6, 300};
    static const uint64_t steps[] = {1, 9, 400};
    for (size_t i = 0; i < 12; i++) {
        const double mu = sqrt((double)steps[i % 3]) / noises[i / 3];
        const struct nvdp_dp_steps phase = {noises[i / 3], 1, steps[i % 3]};
        const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
        for (double epsilon = mu / 3; epsilon < 9 * mu + 3 * mu * mu; epsilon *= 2) {
            double got = NAN, want = gauss_delta(mu, epsilon), later;
            later = gauss_delta(mu, 1.002 * epsilon);
            ok(nvdp_account_delta(ctx, &run, epsilon, &got));
            if (!(later > 1e-14 && want < .5)) continue; /* where the closed form is accurate */
            cr_expect(got >= want * (1 - 1e-9), "mu %g, eps %g: %g < %g", mu, epsilon, got, want);
            cr_expect_leq(got, 1.01 * gauss_delta(mu, epsilon * .999), "mu %g, eps %g", mu,
                          epsilon);
        }
    }
}

/* N(mu, 1) against N(0, 1), mu = sqrt(7)/2: 30 digits by mpmath. */
Test(account, small_delta) {
    const struct nvdp_dp_steps phase = {2, 1, 7};
    const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
    double delta;
    ok(nvdp_account_delta(ctx, &run, 30, &delta));
    cr_expect(delta > 5.6593e-109 && delta < 6.5e-109, "%g", delta);
    ok(nvdp_account_delta(ctx, &run, 1e4, &delta));
    cr_expect(delta > 0 && delta < 1e-300, "%g", delta);
    /* the delta at 0 of one step, rounded up */
    const struct nvdp_dp_steps single = {917.6995525465824, 1, 1};
    ok(nvdp_account_delta(ctx, &(struct nvdp_dp_run){&single, 1, NULL, 0}, 0, &delta));
    cr_expect_geq(delta, 0.00043471990321519407);
    /* the Gaussian mechanism: never below its exact epsilon */
    for (double tiny = 5e-324; tiny < 1e-290; tiny *= 1e3)
        cr_expect_geq(steps_account(2, 1, 7, tiny).pld_epsilon,
                      nvdp_gdp_epsilon(sqrt(7) / 2, tiny) * (1 - 1e-12), "%g", tiny);
}

/* Steps in one phase or two give the same; one step is compared with its definition, integrated
 * elsewhere. */
Test(account, phases) {
    const struct nvdp_dp_steps phase[] = {{1.3, .01, 700}, {1.3, .01, 300}, {.8, .002, 500}};
    struct nvdp_account two = account(&(struct nvdp_dp_run){phase, 2, NULL, 0}, 1e-6);
    struct nvdp_account one = steps_account(1.3, .01, 1000, 1e-6);
    agrees(two.pld_epsilon, one.pld_epsilon, 1e-8);
    agrees(two.rdp_epsilon, one.rdp_epsilon, 1e-13);
    struct nvdp_account three = account(&(struct nvdp_dp_run){phase, 3, NULL, 0}, 1e-6);
    cr_expect(three.pld_epsilon > one.pld_epsilon && three.pld_epsilon < three.rdp_epsilon);
    cr_expect_lt(three.pld_epsilon,
                 one.pld_epsilon + steps_account(.8, .002, 500, 1e-6).pld_epsilon);
    /* order 128, with 80 digits: .17286663845947633268 */
    struct nvdp_account whole = steps_account(454.0924079256672, .9999999240960967, 238, 1e-8);
    cr_expect_geq(whole.rdp_epsilon, .17286663845947635);
    struct nvdp_account none = account(&(struct nvdp_dp_run){phase, 0, NULL, 0}, 1e-6);
    cr_expect(none.pld_epsilon == 0 && none.rdp_epsilon == 0 && isnan(none.rdp_order));
}

/* For one step with q < 1, delta = q delta_1(log(1 + (e^eps - 1)/q)) where the example is
 * present, as max_S P(S) - e^eps Q(S) shows with P = (1-q) Q + q P_1. */
Test(account, one_step) {
    static const double noises[] = {.5, 1, 3}, rates[] = {1e-4, .02, .6};
    for (size_t i = 0; i < 9; i++) {
        const double s = noises[i / 3], q = rates[i % 3];
        const struct nvdp_dp_steps phase = {s, q, 1};
        for (double epsilon = .001; epsilon < 4; epsilon *= 3) {
            double want = q * gauss_delta(1 / s, log1p(expm1(epsilon) / q)), got = NAN;
            if (want < 1e-13) continue;
            ok(nvdp_account_delta(ctx, &(struct nvdp_dp_run){&phase, 1, NULL, 0}, epsilon, &got));
            cr_expect(got >= want * (1 - 1e-9) && got <= want * 1.01, "%g %g, eps %g: %g, %g", s, q,
                      epsilon, got, want);
        }
    }
}

/* One step in both directions and at epsilons of either sign. With the example present under P
 * the curve is q delta_1(log(1 + (e^e - 1)/q)), and 1 - e^e below log(1-q), where the
 * logarithm's argument is not positive. The other direction is its reflection: absent(e) = 1 -
 * e^e + e^e present(-e). */
static double present_delta(double noise, double rate, double epsilon) {
    const double inside = expm1(epsilon) / rate;
    return inside <= -1 ? -expm1(epsilon) : rate * gauss_delta(1 / noise, log1p(inside));
}

Test(account, deltas_of_one_step) {
    static const double epsilon[] = {-3, -.7, -.05, 0, .002, .05, .7, 3};
    enum { N = sizeof epsilon / sizeof *epsilon };
    static const double noises[] = {.5, 1, 3}, rates[] = {.02, .6, 1};
    for (size_t i = 0; i < 9; i++) {
        const struct nvdp_dp_steps phase = {noises[i / 3], rates[i % 3], 1};
        const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
        double present[N], absent[N], largest;
        ok(nvdp__account_deltas(ctx, &run, N, epsilon, present, absent));
        for (size_t j = 0; j < N; j++) {
            const double e = epsilon[j], want = present_delta(phase.noise, phase.rate, e);
            const double other = exp(e) * present_delta(phase.noise, phase.rate, -e) - expm1(e);
            cr_expect(present[j] >= want - 1e-15 && present[j] <= 1.01 * want + 1e-13,
                      "%zu, eps %g: present %.12g, expected %.12g", i, e, present[j], want);
            cr_expect(absent[j] >= other - 1e-15 && absent[j] <= 1.01 * other + 1e-13,
                      "%zu, eps %g: absent %.12g, expected %.12g", i, e, absent[j], other);
            if (e < 0) continue;
            ok(nvdp_account_delta(ctx, &run, e, &largest));
            cr_expect_eq(largest, fmax(present[j], absent[j]));
        }
        double alone[N];
        ok(nvdp__account_deltas(ctx, &run, N, epsilon, alone, NULL));
        cr_expect_arr_eq(alone, present, sizeof alone);
    }
    const struct nvdp_dp_steps phase = {1, .1, 10};
    const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
    const double ends[] = {-INFINITY, INFINITY, NAN};
    double at[3] = {7, 7, 7};
    cr_expect_eq(nvdp__account_deltas(ctx, &run, 3, ends, at, NULL), NVDP_ERR_ARGUMENT);
    cr_expect_eq(at[0], 7);
    ok(nvdp__account_deltas(ctx, &run, 2, ends, at, NULL));
    cr_expect(at[0] == 1 && at[1] == 0);
}

/* Computes epsilon of one step by bisection of one_step's closed form. */
static double one_step_epsilon(double noise, double rate, double delta) {
    double low = 0, high = 1e7;
    for (int i = 0; i < 120; i++) {
        const double middle = low + (high - low) / 2;
        const double inside = middle > 700 ? middle - log(rate) : log1p(expm1(middle) / rate);
        *(rate * nvdp_gdp_delta(1 / noise, inside) <= delta ? &high : &low) = middle;
    }
    return high;
}

/* From noise .03 to 1000 and epsilon 1e-3 to 5e5, the result is never below the closed form and
 * at most a thousandth above it. */
Test(account, one_step_everywhere) {
    static const double noises[] = {.03, .1, .4, 1, 6, 60, 1000}, rates[] = {1e-5, 1e-3, .07, .9},
                        deltas[] = {1e-12, 1e-8, 1e-5, 1e-3};
    size_t compared = 0;
    for (size_t i = 0; i < 7 * 4 * 4; i++) {
        const struct nvdp_dp_steps phase = {noises[i / 16], rates[i / 4 % 4], 1};
        const double want = one_step_epsilon(phase.noise, phase.rate, deltas[i % 4]);
        double got;
        if (want < 1e-3) continue;
        ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){&phase, 1, NULL, 0}, deltas[i % 4],
                                NVDP_ACCOUNTANT_PLD, &got));
        cr_expect(got >= want && got <= 1.001 * want, "noise %g, rate %g, delta %g: %.10g, %.10g",
                  phase.noise, phase.rate, deltas[i % 4], got, want);
        compared++;
    }
    cr_expect_eq(compared, 70, "%zu", compared);
}

/* Many steps. The first ten values: the integral of pld.c over z by numpy, with M(z) by Gauss
 * and Legendre's rule of the exact densities, without a grid of losses or added variance;
 * neither R nor the nodes' end changes ten digits. The others: dp-accounting 0.6.0 as above,
 * connecting the dots in steps of 2e-4 to .05, which is up to 7e-4 above the true value. */
Test(account, many_steps_golden) {
    static const struct {
        double noise, rate;
        uint64_t steps;
        double delta, epsilon, below;
    } golden[] = {
        {1, 1e-6, 1000000, 1e-10, 0.0065020874, 0},   {1, 1e-6, 1000000000, 1e-10, 0.23096037, 0},
        {50, 0.01, 1000000000, 1e-6, 49.326228, 0},   {1000, 0.5, 1000000000, 1e-5, 191.54923, 0},
        {1.3, 0.0025, 6000, 1e-5, 0.64000367, 0},     {30, 1e-5, 1000000000, 1e-8, 0.046822155, 0},
        {2, 1e-7, 1000000000, 1e-6, 0.0048439746, 0}, {0.5, 1e-5, 1000000000, 1e-9, 16.219684, 0},
        {0.3, 0.2, 1000000, 1e-5, 713885.17, 0},      {300, 0.9, 100000, 1e-3, 2.9409999, 0},
        {0.1, 0.01, 1000, 1e-5, 1195.8, 8e-4},        {0.03, 0.001, 1000, 1e-5, 4148.15, 3e-4},
        {0.05, 1e-4, 100, 1e-8, 625.23552, 1e-4},     {0.1, 1e-5, 3000, 1e-6, 128.32945, 1e-4},
        {0.2, 0.5, 20, 1e-10, 322.61712, 1e-4},       {0.3, 1e-5, 1000, 1e-8, 9.2751748, 1e-4},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const double got =
            steps_account(golden[i].noise, golden[i].rate, golden[i].steps, golden[i].delta)
                .pld_epsilon;
        const double want = golden[i].epsilon;
        cr_expect(got >= want * (1 - golden[i].below) && got <= 1.0005 * want, "%zu: %.10g, %.10g",
                  i, got, want);
    }
}

/* A further guarantee alone gives the exact curve of randomized response; with training, at most
 * the sum. */
Test(account, beside) {
    const struct nvdp_dp_guarantee rest = {.5, 1e-7};
    const struct nvdp_dp_steps phase = {1.3, .0025, 6000};
    double delta = NAN, p = 1 / (1 + exp(-.5));
    ok(nvdp_account_delta(ctx, &(struct nvdp_dp_run){NULL, 0, &rest, 1}, .2, &delta));
    double want = 1e-7 + (1 - 1e-7) * p * -expm1(.2 - .5);
    cr_expect(delta >= want && delta < 1.001 * want, "%g, expected %g", delta, want);
    struct nvdp_account alone = steps_account(1.3, .0025, 6000, 1e-5 - 1e-7);
    struct nvdp_account both = account(&(struct nvdp_dp_run){&phase, 1, &rest, 1}, 1e-5);
    near(both.rdp_epsilon, alone.rdp_epsilon + .5, 1e-12);
    cr_expect(both.pld_epsilon < alone.pld_epsilon + .5 && both.pld_epsilon > alone.pld_epsilon);
    cr_expect_eq(account(&(struct nvdp_dp_run){NULL, 0, &rest, 1}, 1e-5).pld_epsilon, .5);
    cr_expect_eq(account(&(struct nvdp_dp_run){&phase, 1, &rest, 1}, 1e-8).pld_epsilon, INFINITY);
}

Test(account, budgets) {
    static const enum nvdp_accountant kinds[] = {NVDP_ACCOUNTANT_PLD, NVDP_ACCOUNTANT_RDP};
    for (size_t i = 0; i < 2; i++) {
        struct nvdp_dp_steps phase = {1, .01, 1000};
        const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
        double noise, epsilon;
        ok(nvdp_account_noise(ctx, &run, 2, 1e-6, kinds[i], &noise));
        phase.noise = noise;
        ok(nvdp_account_epsilon(ctx, &run, 1e-6, kinds[i], &epsilon));
        cr_expect(epsilon <= 2 && epsilon > 1.998, "%.10g", epsilon);
        uint64_t steps;
        phase.steps = 100000;
        ok(nvdp_account_steps(ctx, &run, 2, 1e-6, kinds[i], &steps));
        cr_expect(steps >= 1000 && steps < 1003, "%llu", (unsigned long long)steps);
        phase.steps = steps + 1;
        ok(nvdp_account_epsilon(ctx, &run, 1e-6, kinds[i], &epsilon));
        cr_expect_gt(epsilon, 2);
        phase.steps = 400;
        ok(nvdp_account_steps(ctx, &run, 2, 1e-6, kinds[i], &steps));
        cr_expect_eq(steps, 400);
        phase.rate = 1;
        phase.noise = .05;
        ok(nvdp_account_steps(ctx, &run, 2, 1e-6, kinds[i], &steps));
        cr_expect_eq(steps, 0);
    }
}

/* For budgets from 1e-3 to 1000 and all kinds of runs, the noise keeps the budget and uses
 * nearly all of it. */
Test(account, noise_for_any_budget) {
    static const double epsilons[] = {1e-3, 10, 1000}, rates[] = {1e-4, .01, 1};
    static const uint64_t steps[] = {1, 1000, 1000000000};
    for (size_t i = 0; i < 3 * 3 * 3; i++) {
        struct nvdp_dp_steps phase = {1, rates[i / 3 % 3], steps[i % 3]};
        const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
        double epsilon, wanted = epsilons[i / 9];
        if (i == 8) continue; /* needs more noise than 1e6 */
        cr_assert_eq(nvdp_account_noise(ctx, &run, wanted, 1e-6, NVDP_ACCOUNTANT_PLD, &phase.noise),
                     NVDP_OK, "%zu: %s", i, nvdp_context_error(ctx));
        ok(nvdp_account_epsilon(ctx, &run, 1e-6, NVDP_ACCOUNTANT_PLD, &epsilon));
        cr_expect(epsilon <= wanted && epsilon >= .995 * wanted, "%zu: noise %g, epsilon %.8g", i,
                  phase.noise, epsilon);
    }
}

/* With almost no noise, epsilon is the Gaussian mechanism's, mu = 1/sigma, or the bound above it
 * by Renyi divergences, and the search ends at once. Delta falls as epsilon grows, everywhere.
 * Invalid runs are refused before a search. */
Test(account, far_ends) {
    static const double noises[] = {1e-3, 4e-3, .02};
    for (size_t i = 0; i < 3; i++) {
        const double mu = 1 / noises[i],
                     lower = mu * mu / 2 + 4 * mu; /* delta 1e-5 is beyond 4 sd */
        const struct nvdp_account made = steps_account(noises[i], 1, 1, 1e-5);
        cr_expect(made.pld_epsilon > lower && made.pld_epsilon <= made.rdp_epsilon, "%g: %g",
                  noises[i], made.pld_epsilon);
        cr_expect_lt(made.rdp_epsilon, mu * mu); /* its lowest order is above 1 */
    }
    const struct nvdp_dp_steps phase = {1, .1, 10}, wrong = {1, .1, UINT64_MAX};
    double before = 1, delta;
    for (double epsilon = 1; epsilon < 1e300; epsilon *= 30) {
        const struct nvdp_dp_run run = {&phase, 1, NULL, 0};
        ok(nvdp_account_delta(ctx, &run, epsilon, &delta));
        cr_expect(delta <= before, "eps %g: %g after %g", epsilon, delta, before);
        before = delta;
    }
    cr_expect_lt(delta, 1e-300);
    uint64_t steps = 7;
    cr_expect_eq(nvdp_account_steps(ctx, &(struct nvdp_dp_run){&wrong, 1, NULL, 0}, 2, 1e-6,
                                    NVDP_ACCOUNTANT_PLD, &steps),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(steps, 7);
}

Test(account, refusals) {
    struct nvdp_account made = NVDP_RESULT(struct nvdp_account);
    static const struct nvdp_dp_steps wrong[] = {{0, .1, 1},        {-1, .1, 1},  {NAN, .1, 1},
                                                 {INFINITY, .1, 1}, {1, 0, 1},    {1, 1.1, 1},
                                                 {1, NAN, 1},       {1e-4, .1, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_eq(nvdp_account(ctx, &(struct nvdp_dp_run){&wrong[i], 1, NULL, 0}, 1e-5, &made),
                     NVDP_ERR_ARGUMENT, "%zu", i);
    const struct nvdp_dp_steps phase = {1, .1, 10};
    const struct nvdp_dp_guarantee much = {5, 0};
    const struct nvdp_dp_run run = {&phase, 1, &much, 1};
    cr_expect_eq(nvdp_account(ctx, &run, 0, &made), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_account(ctx, &run, 1, &made), NVDP_ERR_ARGUMENT);
    double noise = -1;
    fails(nvdp_account_noise(ctx, &run, 4, 1e-5, NVDP_ACCOUNTANT_RDP, &noise), NVDP_ERR_ARGUMENT,
          "1e6");
    cr_expect_eq(noise, -1);
}

Test(account, statement) {
    const struct nvdp_dp_steps phase = {1.3, .0025, 6000};
    const struct nvdp_dp_guarantee rest = {.5, 1e-7};
    const struct nvdp_dp_run run = {&phase, 1, &rest, 1};
    const struct nvdp_example_risk risk = {.mu = .32101,
                                           .replaced_epsilon = 2.5,
                                           .membership = .5612,
                                           .guesses = 1,
                                           .guess = {{.001, .00234}}};
    struct nvdp_dp_facts facts = {
        .example = "one row", .clip = .1, .examples = 60000, .shards = 4, .seeded = true};
    struct nvdp_account made = account(&run, 1e-5);
    char *text = NULL;
    ok(nvdp_account_statement(ctx, &run, &facts, &made, &text));
    static const char *const parts[] = {
        "1.3",
        "0.0025",
        "6000",
        "1e-05",
        "1.119",
        "1.225",
        "0.5",
        "1e-07",
        "one row",
        "0.1",
        "60000 examples",
        "seed",
        "Poisson",
        "zero-out",
        "order 19",
        "4 workers",
        "copies of an example, or several examples of one person",
        ("If any of these follows from the number of examples N, then N is public")};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        support_contains(text, parts[i]);
    support_lacks(text, "one example more", "mu is");
    free(text);
    facts.risk = &risk;
    facts.seeded = false;
    facts.steps_done = 4000;
    for (int k = 0; k < 2; k++) {
        facts.shows = k == 0 ? NVDP_DP_PUBLIC_RATE : NVDP_DP_PUBLIC_DIVISOR;
        ok(nvdp_account_statement(ctx, &run, &facts, &made, &text));
        support_contains(text,
                         k == 0 ? "the probability is B/N"
                                : "since sums and their noise are divided by Q N",
                         "Adding or removing an example is not covered",
                         "Proven for exact arithmetic, which this training's noise lacks: the "
                         "training is (epsilon ",
                         "6000 planned steps that draw each example with probability 0.0025, noise "
                         "1.3, of which 4000 were done (epsilon counts all",
                         "replacing one costs epsilon 2.5 at",
                         "right 50 % of the time without the model, at most 56.2 % with it",
                         "right 0.1 % without, at most 0.24 % with the model",
                         "mu 0.3211 leaks no less (numerical, not proven");
        free(text);
    }
    /* a delta is never less than the one that epsilon is for */
    made = account(&run, .5 / 103);
    ok(nvdp_account_statement(ctx, &run, &facts, &made, &text));
    support_contains(text, ", delta 0.004855)-differentially private",
                     "costs epsilon 2.5 at delta 0.004855.");
    free(text);
}
