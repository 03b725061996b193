/* All pairs of a set against the plain divergences; their statistics and options. */
#include "rdp_test.h"

#include "test_context.h"

/* Returns the matrix of all pairs. */
static double *matrix_of(const struct nvdp_posteriors *set, double order,
                         enum nvdp_pairs_arithmetic arithmetic, struct nvdp_pairs_summary *out) {
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.order = order;
    config.pairs.arithmetic = arithmetic;
    double *matrix = calloc(set->texts * set->texts, sizeof(double));
    ok(nvdp__renyi_pairs(ctx, set, &config, matrix, out));
    cr_expect_eq(out->arithmetic, arithmetic);
    return support_keep(matrix);
}

/* Checks the worst relative error, the same infinities, and the largest value to 1e-12 in both. */
static void compare(const struct made_texts *made, double order) {
    struct nvdp_posteriors *set = made_posteriors(ctx, made);
    struct nvdp_pairs_summary exact = NVDP_RESULT(struct nvdp_pairs_summary),
                              fast = NVDP_RESULT(struct nvdp_pairs_summary);
    double *matrix[2] = {matrix_of(set, order, NVDP_PAIRS_EXACT, &exact),
                         matrix_of(set, order, NVDP_PAIRS_FAST, &fast)};
    double worst[2] = {0, 0};
    double largest = 0;
    for (size_t i = 0; i < set->texts; i++) {
        for (size_t j = 0; j < set->texts; j++) {
            double want = nvdp_renyi_texts(order, set, i, j);
            if (isfinite(want)) largest = fmax(largest, want);
            for (int k = 0; k < 2; k++) {
                double got = matrix[k][i * set->texts + j];
                cr_expect_eq(isinf(got), isinf(want), "(%zu, %zu): %g, %g", i, j, got, want);
                worst[k] = fmax(worst[k], support_relative(got, want, 1e-300));
            }
        }
    }
    cr_expect_leq(worst[0], 1e-12, "order %g, spread %g, dim %zu: %.2e", order, made->spread,
                  made->dim, worst[0]);
    cr_expect_leq(worst[1], 1e-6, "order %g, spread %g, dim %zu: %.2e", order, made->spread,
                  made->dim, worst[1]);
    cr_expect_eq(fast.infinite, exact.infinite);
    if (exact.infinite < exact.pairs) agrees(fast.sum.max_finite, largest, 1e-12);
    if (exact.infinite == 0) {
        cr_expect_eq(fast.sum.max_p, exact.sum.max_p);
        cr_expect_eq(fast.sum.max_q, exact.sum.max_q);
    }
}

/* Every form in its domain: from nearly equal texts to mostly infinite pairs. */
Test(pairs, agree_with_the_plain_form) {
    static const double orders[] = {0.01, 0.5, 0.999, 1, 1.0001, 1.1, 2, 20, 1e6, INFINITY};
    static const double spreads[] = {1e-7, 1e-4, 0.01, 0.1, 0.3, 1};
    static const size_t dims[] = {1, 3, 16, 100, 700};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t s = 0; s < 6; s++) {
            for (size_t d = 0; d < 5; d++) {
                struct made_texts made = {11, 6, dims[d], spreads[s],
                                          .seed = (unsigned)(s * 5 + d)};
                made.with_alpha = (s + d) % 3 != 0;
                made.kappa = 1 + (int)(d % 2);
                made.policy = (s + d) % 2 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
                compare(&made, orders[o]);
            }
        }
    }
}

/* More texts than a tile has, rows wider than a block, and an incomplete last block. */
Test(pairs, tiles_and_pieces) {
    struct made_texts made = {
        67, 3, 2 * NVDP__CHUNK + 5, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    compare(&made, 1.1);
    made.dim = 90;
    made.longest = 20;
    compare(&made, 1);
}

/* Large pseudo-counts that nearly cancel: only the stable Dirichlet form keeps the digits, in
 * either arithmetic. */
Test(pairs, large_pseudo_counts) {
    struct made_texts made = {9, 20, 1, 1e-3, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    for (size_t r = 0; r < set->offset[9]; r++)
        set->alpha[r] *= exp(10);
    set->pad_alpha = exp(10);
    static const double orders[] = {0.7, 1, 1.1, 3};
    for (int o = 0; o < 8; o++) {
        bool exact = o % 2 == 0;
        struct nvdp_pairs_summary summary = NVDP_RESULT(struct nvdp_pairs_summary);
        double *matrix =
            matrix_of(set, orders[o / 2], exact ? NVDP_PAIRS_EXACT : NVDP_PAIRS_FAST, &summary);
        for (size_t k = 0; k < 81; k++) {
            double want = nvdp_renyi_texts(orders[o / 2], set, k / 9, k % 9);
            agrees(matrix[k], want, exact ? 1e-12 : 1e-6);
        }
    }
}

Test(pairs, any_number_of_threads_gives_the_same_bits) {
    struct made_texts made = {43, 7, 33, 0.25, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_pairs_summary summary[3] = {NVDP_RESULT(struct nvdp_pairs_summary),
                                            NVDP_RESULT(struct nvdp_pairs_summary),
                                            NVDP_RESULT(struct nvdp_pairs_summary)};
    double *matrix[3];
    for (int k = 0; k < 3; k++) {
        ok(nvdp_context_set_threads(ctx, (int[]){1, 2, 5}[k]));
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        matrix[k] = matrix_of(set, 1.3, NVDP_PAIRS_FAST, &summary[k]);
        cr_expect_eq(memcmp(matrix[k], matrix[0], 43 * 43 * sizeof(double)), 0);
        cr_expect_eq(summary[k].sum.mean, summary[0].sum.mean);
    }
}

/* Infinite pairs are counted, rank above all others in the quantiles, and make max and mean
 * infinite. */
Test(pairs, summary_keeps_infinities) {
    struct made_texts made = {
        30, 3, 4, 0.45, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN, .kappa = 2};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    double *matrix = matrix_of(set, 1.5, NVDP_PAIRS_FAST, &s);
    double sorted[30 * 29];
    size_t n = 0, infinite = 0;
    double sum = 0, max = 0;
    for (size_t k = 0; k < 900; k++) {
        if (k / 30 == k % 30) {
            cr_expect_eq(matrix[k], 0);
            continue;
        }
        sorted[n++] = matrix[k];
        infinite += isinf(matrix[k]) ? 1 : 0;
        if (isfinite(matrix[k])) {
            sum += matrix[k];
            max = fmax(max, matrix[k]);
        }
    }
    qsort(sorted, n, sizeof *sorted, nvdp__by_double);
    cr_assert(infinite > 0 && infinite < n, "%zu", infinite);
    cr_expect_eq(s.texts, 30);
    cr_expect_eq(s.pairs, 870);
    cr_expect_eq(s.infinite, infinite);
    cr_expect_eq(s.sum.max, INFINITY);
    cr_expect_eq(s.sum.mean, INFINITY);
    cr_expect_eq(s.sum.max_finite, max);
    agrees(s.sum.mean_finite, sum / (double)(n - infinite), 1e-14);
    cr_expect_eq(matrix[s.sum.max_p * 30 + s.sum.max_q], INFINITY);
    static const size_t rank[] = {435, 783, 827, 862, 870}; /* ceil(level 870) */
    for (int k = 0; k < NVDP_PAIR_QUANTILES; k++)
        cr_expect_eq(s.sum.quantile[k], sorted[rank[k] - 1]);
    /* hidden length 5: six components of two vectors, four dimensions */
    agrees(s.per_component.max_finite, max / 12, 1e-15);
    agrees(s.per_component_dim.max_finite, max / 48, 1e-15);
    cr_expect_eq(s.per_component.mean, INFINITY);
}

Test(pairs, all_infinite) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, 3, 6, 1, false, &set));
    set->offset[1] = 1;
    set->offset[2] = 3;
    set->offset[3] = 6;
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    matrix_of(set, 1.1, NVDP_PAIRS_FAST, &s);
    cr_expect_eq(s.infinite, 6);
    cr_expect_eq(s.sum.quantile[0], INFINITY);
    cr_expect(isnan(s.sum.max_finite));
    cr_expect(isnan(s.sum.mean_finite));
    /* public lengths that are all different leave no pair of the same length */
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.adjacency = NVDP_ADJACENT_SAME_LENGTH;
    cr_expect_eq(nvdp__renyi_pairs(ctx, set, &config, NULL, &s), NVDP_ERR_INPUT);
}

Test(pairs, same_length_only) {
    struct made_texts made = {20, 3, 2, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_PUBLIC};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    double matrix[400];
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.adjacency = NVDP_ADJACENT_SAME_LENGTH;
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    ok(nvdp__renyi_pairs(ctx, set, &config, matrix, &s));
    size_t pairs = 0;
    for (size_t i = 0; i < 20; i++) {
        for (size_t j = 0; j < 20; j++) {
            bool same = set->offset[i + 1] - set->offset[i] == set->offset[j + 1] - set->offset[j];
            cr_expect_eq(isnan(matrix[i * 20 + j]), !same);
            pairs += same && i != j ? 1 : 0;
        }
    }
    cr_expect_eq(s.pairs, pairs);
    cr_expect_eq(s.infinite, 0);
    cr_expect_eq(s.adjacency, NVDP_ADJACENT_SAME_LENGTH);
}

Test(pairs, quantile_is_nearest_rank) {
    unsigned seed = 1;
    for (int trial = 0; trial < 500; trial++) {
        double values[40], sorted[40];
        size_t n = 1 + (size_t)(made_uniform(&seed) * 40);
        for (size_t k = 0; k < n; k++) {
            double v = floor(10 * made_uniform(&seed));
            values[k] = sorted[k] = v > 8 ? INFINITY : v;
        }
        qsort(sorted, n, sizeof *sorted, nvdp__by_double);
        size_t place = 0;
        for (int level = 1; level <= 20; level++) {
            size_t rank = ((size_t)level * n + 19) / 20;
            double got = nvdp__quantile(n, place, level / 20.0, values, &place);
            cr_expect_eq(got, sorted[rank - 1], "n %zu level %d/20", n, level);
        }
    }
}

static bool stop(void *user) {
    int *calls = user;
    return ++*calls > 1;
}

static void count(const struct nvdp_progress *progress, void *user) {
    int *reports = user;
    *reports += 1;
    cr_expect_str_eq(progress->phase, "pairs");
    cr_expect_leq(progress->done, progress->total);
}

Test(pairs, progress_and_cancel) {
    struct made_texts made = {200, 1, 1, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_pairs_summary s = {.struct_size = sizeof s, .pairs = 77};
    int reports = 0, calls = 1;
    nvdp_context_set_progress(ctx, count, &reports);
    ok(nvdp__renyi_pairs(ctx, set, &config, NULL, &s));
    cr_expect_gt(reports, 0);
    nvdp_context_set_cancel(ctx, stop, &calls);
    s.pairs = 77;
    cr_expect_eq(nvdp__renyi_pairs(ctx, set, &config, NULL, &s), NVDP_ERR_CANCELLED);
    cr_expect_eq(s.pairs, 77, "results are untouched on error");
}

Test(pairs, arguments) {
    struct made_texts made = {3, 2, 2, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_pairs_summary s = NVDP_RESULT(struct nvdp_pairs_summary);
    double bad[] = {0, -1, NAN};
    for (int k = 0; k < 3; k++) {
        struct nvdp__privacy_options config = nvdp__privacy_defaults();
        config.pairs.order = bad[k];
        fails(nvdp__renyi_pairs(ctx, set, &config, NULL, &s), NVDP_ERR_ARGUMENT, "order");
    }
    struct nvdp_config *config = support_config(ctx, "privacy", NULL);
    cr_expect_eq(nvdp_config_set(config, "adjacency", "7"), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_config_set(config, "arithmetic", "9"), NVDP_ERR_ARGUMENT);
    ok(nvdp_config_check(config));
    ok(nvdp_config_set(config, "delta", "1e-7"));
    cr_expect_eq(nvdp_config_check(config), NVDP_ERR_ARGUMENT);
    ok(nvdp_config_set(config, "delta", NULL));
    set->alpha[0] = -1;
    cr_expect_eq(nvdp_renyi_pairs(ctx, set, config, NULL, &s), NVDP_ERR_INPUT);
    set->alpha[0] = 1;
    set->texts = 1;
    cr_expect_eq(nvdp_renyi_pairs(ctx, set, config, NULL, &s), NVDP_ERR_ARGUMENT);
    set->texts = 3;
}

/* Options by name take the values set, otherwise the defaults; options of other commands are
 * refused. */
Test(pairs, options_by_name) {
    struct made_texts made = {9, 2, 2, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp__privacy_options plain = nvdp__privacy_defaults();
    struct nvdp_pairs_summary want = NVDP_RESULT(struct nvdp_pairs_summary), got = want;
    struct nvdp_config *config = support_config(ctx, "privacy", NULL),
                       *other = support_config(ctx, NULL, NULL);
    ok(nvdp__renyi_pairs(ctx, set, &plain, NULL, &want));
    ok(nvdp_renyi_pairs(ctx, set, NULL, NULL, &got));
    cr_expect_eq(got.order, 1.1);
    cr_expect_eq(memcmp(&got.sum, &want.sum, sizeof got.sum), 0);
    plain.pairs.order = 3;
    plain.pairs.arithmetic = NVDP_PAIRS_EXACT;
    ok(nvdp_config_set(config, "order", "3"));
    ok(nvdp_config_set(config, "arithmetic", "exact"));
    ok(nvdp__renyi_pairs(ctx, set, &plain, NULL, &want));
    ok(nvdp_renyi_pairs(ctx, set, config, NULL, &got));
    cr_expect_eq(memcmp(&got.sum, &want.sum, sizeof got.sum), 0);
    cr_expect_eq(nvdp_renyi_pairs(ctx, set, other, NULL, &got), NVDP_ERR_ARGUMENT);
}
