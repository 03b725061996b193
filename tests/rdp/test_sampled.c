/* Compares statistics from drawn pairs with those of all pairs, and tests the intervals by
 * themselves. */
#include "rdp_test.h"

#include "test_context.h"

static const struct made_texts ordinary = {
    90, 4, 5, 0.15, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};

/* Summarizes all pairs with max_pairs 0, otherwise drawn ones. */
static struct nvdp_pairs_summary summary_of(const struct nvdp_posteriors *set, size_t max_pairs,
                                            uint64_t seed, enum nvdp_adjacency adjacency) {
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_pairs_summary made = NVDP_RESULT(struct nvdp_pairs_summary);
    config.pairs.max_pairs = max_pairs;
    config.pairs.seed = seed;
    config.pairs.adjacency = adjacency;
    ok(nvdp__renyi_pairs(ctx, set, &config, NULL, &made));
    return made;
}

static bool inside(const struct nvdp_interval *interval, double value) {
    return interval->low <= value && value <= interval->high;
}

static void same_largest(const struct nvdp_divergence_summary *got,
                         const struct nvdp_divergence_summary *want) {
    if (isinf(want->max)) {
        cr_expect_eq(got->max, INFINITY);
        cr_expect(isnan(got->max_finite));
        return;
    }
    agrees(got->max, want->max, 1e-12);
    cr_expect_eq(got->max_p, want->max_p);
    cr_expect_eq(got->max_q, want->max_q);
    cr_expect_eq(got->max_finite, got->max);
}

/* 60 draws of 1,500 of 8,010 pairs. Each interval fails with at most 5 %: more than 10 failures
 * of 60 have probability 1e-4. The largest value is exact in every draw. */
Test(sampled, intervals_cover) {
    struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
    struct nvdp_pairs_summary all = summary_of(set, 0, 1, NVDP_ADJACENT_ALL);
    cr_assert_eq(all.infinite, 0);
    cr_expect_eq(all.sample.drawn, 0);
    int missed_mean = 0, missed_bound = 0, missed[NVDP_PAIR_QUANTILES] = {0};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct nvdp_pairs_summary some = summary_of(set, 1500, seed, NVDP_ADJACENT_ALL);
        cr_expect_eq(some.pairs, all.pairs);
        cr_expect_eq(some.sample.drawn, 1500);
        cr_expect_eq(some.infinite, 0);
        cr_expect_eq(some.sample.infinite_share.high, 0);
        same_largest(&some.sum, &all.sum);
        same_largest(&some.per_component, &all.per_component);
        same_largest(&some.per_component_dim, &all.per_component_dim);
        cr_expect_eq(some.sum.mean, some.sum.mean_finite);
        missed_mean += !inside(&some.sample.mean, all.sum.mean);
        missed_bound += !inside(&some.sample.mean_bound, all.sum.mean);
        for (int k = 0; k < NVDP_PAIR_QUANTILES; k++) {
            cr_expect(inside(&some.sample.quantile[k], some.sum.quantile[k]));
            missed[k] += !inside(&some.sample.quantile[k], all.sum.quantile[k]);
        }
        cr_expect_lt(some.sample.mean.high - some.sample.mean.low, 0.2 * all.sum.mean);
    }
    cr_expect_leq(missed_mean, 10);
    cr_expect_eq(missed_bound, 0, "the bound is far wider than its 5 %%");
    for (int k = 0; k < NVDP_PAIR_QUANTILES; k++)
        cr_expect_leq(missed[k], 10, "level %d: %d", k, missed[k]);
}

/* The presence of infinite pairs is certain; their share is estimated. */
Test(sampled, infinite_pairs) {
    struct made_texts made = ordinary;
    made.spread = 0.5;
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_pairs_summary all = summary_of(set, 0, 1, NVDP_ADJACENT_ALL);
    struct nvdp_pairs_summary some = summary_of(set, 2000, 1, NVDP_ADJACENT_ALL);
    cr_assert(all.infinite > 0 && all.infinite < all.pairs);
    same_largest(&some.sum, &all.sum);
    cr_expect_eq(nvdp_renyi_texts(1.1, set, some.sum.max_p, some.sum.max_q), INFINITY);
    cr_expect_eq(some.sum.mean, INFINITY);
    cr_expect(inside(&some.sample.infinite_share, (double)all.infinite / (double)all.pairs));
    cr_expect(inside(&some.sample.mean, all.sum.mean_finite));
    cr_expect(isnan(some.sample.mean_bound.high));
}

/* Under public lengths all pairs are infinite at once; among equal lengths every unit has its
 * own largest value. */
Test(sampled, public_lengths) {
    struct made_texts made = ordinary;
    made.policy = NVDP_LENGTH_PUBLIC;
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_pairs_summary some = summary_of(set, 500, 1, NVDP_ADJACENT_ALL);
    cr_expect_eq(some.sum.max, INFINITY);
    cr_expect_eq(nvdp_renyi_texts(1.1, set, some.sum.max_p, some.sum.max_q), INFINITY);
    struct nvdp_pairs_summary all = summary_of(set, 0, 1, NVDP_ADJACENT_SAME_LENGTH);
    some = summary_of(set, 500, 1, NVDP_ADJACENT_SAME_LENGTH);
    cr_assert_gt(all.pairs, 500);
    cr_expect_eq(some.pairs, all.pairs);
    same_largest(&some.sum, &all.sum);
    same_largest(&some.per_component, &all.per_component);
    same_largest(&some.per_component_dim, &all.per_component_dim);
    cr_expect(inside(&some.sample.mean, all.sum.mean));
    /* as many as exist: every pair, and the same numbers */
    some = summary_of(set, all.pairs, 1, NVDP_ADJACENT_SAME_LENGTH);
    cr_expect_eq(memcmp(&some, &all, sizeof some), 0);
}

Test(sampled, any_number_of_threads_gives_the_same_bits) {
    struct nvdp_pairs_summary got[2] = {NVDP_RESULT(struct nvdp_pairs_summary),
                                        NVDP_RESULT(struct nvdp_pairs_summary)};
    for (int threads = 1; threads <= 2; threads++) {
        ok(nvdp_context_set_threads(ctx, threads));
        struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
        got[threads - 1] = summary_of(set, 3000, 4, NVDP_ADJACENT_ALL);
    }
    cr_expect_eq(memcmp(&got[0], &got[1], sizeof got[0]), 0);
}

/* More texts than a matrix could hold; one of them makes pairs infinite. */
Test(sampled, many_texts) {
    enum { MANY = 20001 };
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, MANY, MANY, 1, false, &set));
    for (size_t i = 0; i < MANY; i++) {
        set->offset[i + 1] = i + 1;
        set->mu[i] = 1e-3 * (double)(i % 100);
        set->logvar[i] = i == 77 ? 3 : 0;
    }
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    fails(nvdp__renyi_pairs(ctx, set, &config, NULL, &s), NVDP_ERR_ARGUMENT, "--max-pairs");
    s = summary_of(set, 10000, 1, NVDP_ADJACENT_ALL);
    cr_expect_eq(s.pairs, (size_t)MANY * (MANY - 1));
    cr_expect_eq(s.sum.max, INFINITY);
    cr_expect_eq(s.sum.max_p, 77);
}

Test(sampled, arguments) {
    struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    config.pairs.max_pairs = 1;
    cr_expect_eq(nvdp__renyi_pairs(ctx, set, &config, NULL, &s), NVDP_ERR_ARGUMENT);
    nvdp__autofree double *matrix = calloc(90 * 90, sizeof *matrix);
    config.pairs.max_pairs = 100;
    cr_expect_eq(nvdp__renyi_pairs(ctx, set, &config, matrix, &s), NVDP_ERR_ARGUMENT);
}

/* Every allocation fails in turn. */
Test(sampled, out_of_memory) {
    struct made_texts made = ordinary;
    made.texts = 12;
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    nvdp__autoresult struct nvdp_privacy_report report = {.struct_size = sizeof report,
                                                          .shape.dim = 99};
    config.pairs.max_pairs = 50;
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__privacy_measure(ctx, set, &config, NULL, &report)))
        cr_expect_eq(report.shape.dim, 99);
    cr_expect_geq(k, 40);
}

/* Bayesian DP uses the largest number of texts whose pairs fit: 45 * 44 <= 2000 < 46 * 45. */
Test(sampled, report) {
    struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    config.pairs.max_pairs = 2000;
    ok(nvdp__privacy_measure(ctx, set, &config, NULL, &report));
    cr_expect_eq(report.bdp.texts, 45);
    cr_expect_eq(report.bdp.best->worst.m, 44);
    cr_expect_eq(report.shape.components, 7);
    cr_expect(report.bdp.small_population);
    const json_t *root = support_result_json(ctx, &report, NULL);
    cr_expect_eq(number_at(root, "sample/drawn"), 2000);
    cr_expect_eq(number_at(root, "sample/mean/1"), report.pairs->sample.mean.high);
    cr_expect_eq(number_at(root, "sample/quantiles/0.9/0"), report.pairs->sample.quantile[1].low);
    cr_expect_eq(number_at(root, "bdp/texts"), 45);
    const char *text = support_result_text(ctx, &report, NULL);
    support_contains(text, "2000 pairs drawn uniformly. 95 % intervals of the sum:",
                     "None of all pairs is infinite.", "among 45 of the texts, drawn uniformly");
}

/* Checks the ranks' coverage by the binomial distribution itself, and that no narrower ranks
 * cover. */
Test(interval, ranks) {
    static const size_t sizes[] = {1, 2, 10, 57, 1000, 200000};
    for (int s = 0; s < 6; s++) {
        for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
            size_t n = sizes[s];
            double p = nvdp__pair_quantile_level[level];
            size_t low, high;
            nvdp__interval_ranks(0.95, n, p, &low, &high);
            double below = low == 0 ? 0 : gsl_cdf_binomial_P((unsigned)low - 1, p, (unsigned)n);
            cr_expect_leq(below, 0.025 + 1e-12);
            cr_expect_gt(gsl_cdf_binomial_P((unsigned)low, p, (unsigned)n), 0.025 - 1e-12);
            cr_expect_leq(gsl_cdf_binomial_Q((unsigned)high - 1, p, (unsigned)n), 0.025 + 1e-12);
            cr_expect(high == 1 ||
                      gsl_cdf_binomial_Q((unsigned)high - 2, p, (unsigned)n) > 0.025 - 1e-12);
            cr_expect_leq(high, n + 1);
        }
    }
}

/* Clopper & Pearson at 3 and 0 of 10 (tables), Student at 2 degrees of freedom (t = 4.302653). */
Test(interval, known_values) {
    struct nvdp_interval share = nvdp__interval_share(0.95, 10, 3);
    near(share.low, 0.0667395, 1e-6);
    near(share.high, 0.6524529, 1e-6);
    share = nvdp__interval_share(0.95, 10, 0);
    cr_expect_eq(share.low, 0);
    near(share.high, 0.3084971, 1e-6);
    share = nvdp__interval_share(0.95, 10, 10);
    near(share.low, 1 - 0.3084971, 1e-6);
    cr_expect_eq(share.high, 1);
    struct nvdp_interval mean = nvdp__interval_student(0.95, 3, 5, sqrt(3));
    near(mean.low, 5 - 4.302653, 1e-6);
    cr_expect(isnan(nvdp__interval_student(0.95, 1, 5, 1).low));
    /* log(80) = 4.382027: 0.5 +- 0.1 sqrt(8.764053/1001) + 7 * 4.382027/3000 */
    struct nvdp_interval bound = nvdp__interval_bernstein(0.95, 1001, 0.5, 0.1, 1);
    near(bound.high, 0.5 + 0.1 * sqrt(8.764053 / 1001) + 7 * 4.382027 / 3000, 1e-7);
    cr_expect_eq(nvdp__interval_bernstein(0.95, 2, 0.5, 0.1, 1).low, 0);
}

/* Cases for which GSL's inverse beta distribution fails and calls its error handler, which
 * aborts: each end leaves 2.5 % beyond it. */
Test(interval, many_drawn_pairs) {
    static const size_t sizes[] = {2, 1000, 99999, 100000, 100003, 10000000};
    for (int s = 0; s < 6; s++) {
        size_t n = sizes[s];
        size_t counts[] = {0, 1, 3, 11, n / 100, n / 8, n / 3, n / 2, n - 1, n};
        for (int h = 0; h < 10; h++) {
            if (counts[h] > n) continue;
            double k = (double)counts[h], rest = (double)(n - counts[h]);
            struct nvdp_interval share = nvdp__interval_share(0.95, n, counts[h]);
            cr_expect_leq(share.low, k / (double)n);
            cr_expect_geq(share.high, k / (double)n);
            if (k > 0) near(gsl_cdf_beta_P(share.low, k, rest + 1), 0.025, 1e-8);
            if (rest > 0) near(gsl_cdf_beta_Q(share.high, k + 1, rest), 0.025, 1e-8);
        }
    }
}

/* Arguments for which GSL would call its error handler are handled first. */
Test(interval, arguments_of_students_t) {
    static const double tails[] = {NAN, -1, 0, 1, 2, INFINITY, 0.1};
    static const double freedoms[] = {NAN, -1, 0, 0.5, -INFINITY};
    for (int t = 0; t < 6; t++)
        cr_expect(isnan(nvdp__student_quantile(tails[t], 5)));
    for (int t = 0; t < 7; t++)
        for (int f = 0; f < 5; f++)
            cr_expect(isnan(nvdp__student_quantile(tails[t], freedoms[f])));
    near(nvdp__student_quantile(0.025, 2), 4.302653, 1e-6);
    cr_expect_geq(nvdp__student_quantile(1e-300, 3), 1e90);
    cr_expect(isnan(nvdp__interval_student(NAN, 10, 1, 1).low));
}
