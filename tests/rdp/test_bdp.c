/* Bayesian DP's cost and epsilon against golden values. */
#include "rdp_test.h"

#include "test_context.h"

enum { M = 8, MAX_COUNT = 34 };

/* Golden table: distances d_j, equal variances sigma^2, so D_l = l d^2 / (2 sigma^2). */
static const double distance[M] = {.1, .25, .4, .55, .7, .85, 1.0, 1.15};

struct row {
    double sigma;
    int moment;
    double rate;
    int releases;
    double gamma, cost, epsilon;
};

/* The last column is the epsilon of one call, also where the cost is of a hundred. */
static const struct row table[] = {
    {1, 1, 1, 1, 1e-6, 1.901322311892, 13.51960829252},
    {1, 8, 1, 1, 1e-6, 48.25457782185, 7.48410797531},
    {2, 8, 1, 1, 1e-6, 12.54434934859, 3.020329416152},
    {2, 8, .1, 1, 1e-6, 0.3788205660033, 1.499638318329},
    {4, 32, .01, 100, 1e-10, 0.01652107372202, 0.3602955168357},
};

static nvdp_status cost_of(const struct nvdp__bdp_options *config, double moment, size_t m,
                           const double *d, struct nvdp_bdp_cost *cost) {
    return nvdp_bdp(ctx, config->delta, config->gamma, config->releases, moment, m, d, cost);
}

static nvdp_status sampled_cost(const struct nvdp__bdp_options *config, double moment, double rate,
                                size_t m, const double *d, struct nvdp_bdp_cost *cost) {
    return nvdp_bdp_subsampled(ctx, config->delta, config->gamma, config->releases, moment, rate, m,
                               d, cost);
}

static struct nvdp_bdp_cost run(const struct row *row, const struct nvdp__bdp_options *config) {
    double d[MAX_COUNT][M];
    for (int l = 2; l <= row->moment + 1; l++)
        for (int j = 0; j < M; j++)
            d[l][j] = l * distance[j] * distance[j] / (2 * row->sigma * row->sigma);
    struct nvdp_bdp_cost cost = NVDP_RESULT(struct nvdp_bdp_cost);
    ok(sampled_cost(config, row->moment, row->rate, M, d[0], &cost));
    if (row->rate == 1) {
        struct nvdp_bdp_cost plain = NVDP_RESULT(struct nvdp_bdp_cost);
        ok(cost_of(config, row->moment, M, d[row->moment + 1], &plain));
        agrees(plain.cost, cost.cost, 1e-14);
        agrees(plain.epsilon, cost.epsilon, 1e-14);
    }
    return cost;
}

/* Printed to 13 digits: half a unit in the last place is at most 5e-13 of the value. */
Test(bdp, golden_table) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const struct row *row = &table[k];
        struct nvdp__bdp_options config = nvdp__privacy_defaults().bdp;
        config.gamma = row->gamma;
        config.releases = row->releases;
        struct nvdp_bdp_cost cost = run(row, &config);
        double one_call = nvdp__bdp_epsilon(&config, row->moment, 1, cost.cost);
        agrees(cost.cost, row->cost, 5e-13, "row %zu", k);
        agrees(one_call, row->epsilon, 5e-13, "row %zu", k);
        if (row->releases == 1) cr_expect_eq(cost.epsilon, one_call);
        cr_expect_eq(cost.m, M);
    }
}

/* The reported cost counts every release: mpmath, 30 digits, for the last row. */
Test(bdp, epsilon_of_all_releases) {
    struct nvdp__bdp_options config = nvdp__privacy_defaults().bdp;
    config.gamma = 1e-10;
    config.releases = 100;
    struct nvdp_bdp_cost cost = run(&table[4], &config);
    agrees(cost.epsilon, 0.411438541796901, 1e-13);
    agrees(cost.t, 53.8355794847, 1e-11);
}

/* Costs may be far beyond the range of exp: X about 2200. */
Test(bdp, log_space) {
    struct nvdp__bdp_options config = nvdp__privacy_defaults().bdp;
    double d[64];
    for (int j = 0; j < 64; j++)
        d[j] = 2000 + j / 64.0;
    struct nvdp_bdp_cost far = NVDP_RESULT(struct nvdp_bdp_cost),
                         near = NVDP_RESULT(struct nvdp_bdp_cost);
    ok(cost_of(&config, 1.1, 64, d, &far));
    for (int j = 0; j < 64; j++)
        d[j] -= 2000;
    ok(cost_of(&config, 1.1, 64, d, &near));
    /* shifting all divergences by 2000 shifts log M and the cost by 2200 */
    near(far.cost, near.cost + 2200, 1e-11);
    near(far.log_sd, near.log_sd + 2200, 1e-11);
    cr_expect(isfinite(far.epsilon));
}

Test(bdp, edges) {
    struct nvdp__bdp_options config = nvdp__privacy_defaults().bdp;
    double equal[3] = {2, 2, 2};
    struct nvdp_bdp_cost cost = NVDP_RESULT(struct nvdp_bdp_cost);
    ok(cost_of(&config, 2, 3, equal, &cost));
    near(cost.cost, 4, 1e-15);
    cr_expect_eq(cost.log_sd, -INFINITY);
    double one_infinite[3] = {2, INFINITY, 2};
    ok(cost_of(&config, 2, 3, one_infinite, &cost));
    cr_expect_eq(cost.cost, INFINITY);
    cr_expect_eq(cost.epsilon, INFINITY);
    double none[3] = {0, 0, 0};
    ok(cost_of(&config, 1.1, 3, none, &cost));
    /* the floor, ln(1e5)/1.1 = 10.466, with delta reduced by gamma */
    near(cost.epsilon, -log(1e-5 - 1e-6) / 1.1, 1e-12);

    cr_expect_eq(cost_of(&config, 1.1, 1, none, &cost), NVDP_ERR_ARGUMENT);
    cr_expect_eq(cost_of(&config, 0, 3, none, &cost), NVDP_ERR_ARGUMENT);
    cr_expect_eq(cost_of(&config, NAN, 3, none, &cost), NVDP_ERR_ARGUMENT);
    double bad[3] = {0, NAN, 0};
    cr_expect_eq(cost_of(&config, 1, 3, bad, &cost), NVDP_ERR_ARGUMENT);
    bad[1] = -1;
    cr_expect_eq(cost_of(&config, 1, 3, bad, &cost), NVDP_ERR_ARGUMENT);
    config.releases = 10; /* 1-(1-1e-6)^10 is above 1e-5 - 1e-10 */
    config.delta = 9e-6;
    fails(cost_of(&config, 1, 3, none, &cost), NVDP_ERR_ARGUMENT, "gamma");
}

Test(bdp, subsampling_bounds) {
    struct nvdp__bdp_options config = nvdp__privacy_defaults().bdp;
    struct row row = {1, 4, 0.5, 1, 1e-6, 0, 0};
    double last = 0;
    for (int k = 1; k <= 10; k++) {
        row.rate = k / 10.0;
        double cost = run(&row, &config).cost;
        cr_expect_gt(cost, last, "more sampling costs more");
        last = cost;
    }
    /* an infinite divergence of an order in use */
    double d[3][3] = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, {1, INFINITY, 1}};
    struct nvdp_bdp_cost cost = NVDP_RESULT(struct nvdp_bdp_cost);
    ok(sampled_cost(&config, 1, 0.1, 3, d[0], &cost));
    cr_expect_eq(cost.epsilon, INFINITY);
    cr_expect_eq(sampled_cost(&config, 1, 0, 3, d[0], &cost), NVDP_ERR_ARGUMENT);
    cr_expect_eq(sampled_cost(&config, 1, 1.5, 3, d[0], &cost), NVDP_ERR_ARGUMENT);
}
