/* The report of a set of posteriors against plain divergences, and its text. */
#include "rdp_test.h"

#include "test_context.h"

static const struct made_texts ordinary = {
    70, 4, 3, 0.15, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
/* Some pairs are infinite at small orders. */
static const struct made_texts wild = {
    40, 3, 3, 0.6, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};

/* Computes every text's cost at a moment by the plain divergences. */
static struct nvdp_bdp_cost plain_cost(const struct nvdp_posteriors *set,
                                       const struct nvdp__bdp_options *bdp, double moment,
                                       size_t i) {
    double d[128];
    size_t m = 0;
    for (size_t j = 0; j < set->texts; j++) {
        if (j == i) continue;
        d[m++] =
            fmax(nvdp_renyi_texts(moment + 1, set, i, j), nvdp_renyi_texts(moment + 1, set, j, i));
    }
    struct nvdp_bdp_cost cost = NVDP_RESULT(struct nvdp_bdp_cost);
    ok(nvdp_bdp(ctx, bdp->delta, bdp->gamma, bdp->releases, moment, m, d, &cost));
    return cost;
}

static void check_column(const struct nvdp_posteriors *set,
                         const struct nvdp__privacy_options *config, size_t count,
                         const double *moments, const struct nvdp_bdp_column *got) {
    double tolerance = config->pairs.arithmetic == NVDP_PAIRS_EXACT ? 1e-12 : 1e-6;
    double worst = -INFINITY, sum = 0;
    size_t infinite = 0, worst_text = 0;
    for (size_t i = 0; i < set->texts; i++) {
        double smallest = INFINITY;
        for (size_t k = 0; k < count; k++)
            smallest = fmin(smallest, plain_cost(set, &config->bdp, moments[k], i).epsilon);
        if (smallest > worst) {
            worst = smallest;
            worst_text = i;
        }
        sum += smallest;
        infinite += isinf(smallest) ? 1 : 0;
    }
    agrees(got->worst.epsilon, worst, tolerance);
    agrees(got->mean_epsilon, sum / (double)set->texts, tolerance);
    cr_expect_eq(got->worst_text, worst_text);
    cr_expect_eq(got->infinite_texts, infinite);
    near(got->floor, log(1e5) / got->worst.moment, 1e-12);
}

/* Computes every pair's minimum over the orders by the plain divergences. */
static void check_epsilon(const struct nvdp_posteriors *set,
                          const struct nvdp__privacy_options *config, size_t count,
                          const double *moments, const struct nvdp_epsilon_summary *got) {
    double tolerance = config->pairs.arithmetic == NVDP_PAIRS_EXACT ? 1e-12 : 1e-6;
    const double delta = config->bdp.delta;
    const int releases = config->bdp.releases;
    double largest = -INFINITY, sum = 0;
    size_t infinite = 0, pairs = 0;
    for (size_t i = 0; i < set->texts; i++) {
        for (size_t j = 0; j < set->texts; j++) {
            if (j == i) continue;
            const double published = config->bdp.published_moment + 1;
            double smallest = nvdp_renyi_epsilon(
                published, releases * nvdp_renyi_texts(published, set, i, j), delta);
            for (size_t k = 0; k < count; k++) {
                double d = releases * nvdp_renyi_texts(moments[k] + 1, set, i, j);
                smallest = fmin(smallest, nvdp_renyi_epsilon(moments[k] + 1, d, delta));
            }
            largest = fmax(largest, smallest);
            infinite += isinf(smallest) ? 1 : 0;
            sum += isinf(smallest) ? 0 : smallest;
            pairs++;
        }
    }
    agrees(got->sum.max, largest, tolerance);
    agrees(got->sum.mean_finite, sum / (double)(pairs - infinite), tolerance);
    cr_expect(got->infinite == infinite && got->pairs == pairs && got->texts == set->texts);
    cr_expect(got->delta == delta && got->releases == releases);
    cr_expect_eq(isinf(got->sum.mean), infinite > 0);
    cr_expect(got->sum.quantile[0] <= got->sum.quantile[4] && got->sum.quantile[4] <= largest);
}

static const double moments[] = {0.05, 0.1, 0.25, 0.5, 1,  1.1, 1.5, 2,  3,
                                 4,    6,   8,    12,  16, 24,  32,  48, 64};
enum { MOMENTS = sizeof moments / sizeof *moments };

/* Settling texts early gives the same numbers as all orders of all pairs. */
static void compare_in(const struct made_texts *made, size_t count,
                       enum nvdp_pairs_arithmetic arithmetic) {
    struct nvdp_posteriors *set = made_posteriors(ctx, made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    char text[256] = "";
    config.pairs.arithmetic = arithmetic;
    if (count < MOMENTS) {
        for (size_t k = 0; k < count; k++)
            sprintf(text + strlen(text), "%s%g", k > 0 ? "," : "", moments[k]);
        config.moments = text;
    }
    nvdp__autofree double *matrix = calloc(made->texts * made->texts, sizeof *matrix),
                          *again = calloc(made->texts * made->texts, sizeof *again);
    ok(nvdp__privacy_measure(ctx, set, &config, matrix, &report));
    check_column(set, &config, count, moments, report.bdp.best);
    check_column(set, &config, 1, &config.bdp.published_moment, report.bdp.published);
    check_epsilon(set, &config, count, moments, report.epsilon);
    struct nvdp_pairs_summary alone = NVDP_RESULT(struct nvdp_pairs_summary);
    ok(nvdp__renyi_pairs(ctx, set, &config, again, &alone));
    cr_expect_eq(alone.sum.max, report.pairs->sum.max);
    cr_expect_eq(alone.sum.mean_finite, report.pairs->sum.mean_finite);
    cr_expect_eq(alone.infinite, report.pairs->infinite);
    cr_expect_eq(memcmp(matrix, again, made->texts * made->texts * sizeof *matrix), 0);
    cr_expect_eq(report.bdp.small_population, made->texts - 1 < 64);
    cr_expect_eq(report.shape.components, made->longest + 3);
    cr_expect_str_eq(report.shape.method, "nvdp");
}

static void compare(const struct made_texts *made, size_t count) {
    compare_in(made, count, NVDP_PAIRS_EXACT);
    compare_in(made, count, NVDP_PAIRS_FAST);
}

/* Checks values by hand. For the Gaussian mechanism, D_l = l r, the minimum over l is near r + 2
 * sqrt(r log 1/delta), and below it (Bun & Steinke 2016, Proposition 1.3). */
Test(measure, epsilon_of_divergences) {
    near(nvdp_renyi_epsilon(2, 1, 1e-5), 1 - log(2) - log(2e-5), 1e-13);
    for (double order = 1.001; order < 1e6; order *= 1.1) {
        const long double s = order - 1, moved = logl(1e-5) + log1pl(s);
        cr_expect_geq((long double)nvdp_renyi_epsilon(order, 1, 1e-5),
                      fmaxl(1 - log1pl(1 / s) - moved / s, 0), "order %g", order);
    }
    cr_expect_eq(nvdp_renyi_epsilon(3, 0, .5), 0);
    cr_expect_eq(nvdp_renyi_epsilon(3, INFINITY, .5), INFINITY);
    cr_expect_eq(nvdp_renyi_epsilon(INFINITY, 4, .5), 4);
    cr_expect(isnan(nvdp_renyi_epsilon(1, 1, .5)) && isnan(nvdp_renyi_epsilon(2, -1, .5)) &&
              isnan(nvdp_renyi_epsilon(2, 1, 0)) && isnan(nvdp_renyi_epsilon(2, 1, 1)));
    for (double r = .01; r < 200; r *= 3) {
        const double known = r + 2 * sqrt(r * log(1e5));
        double smallest = INFINITY;
        for (double order = 1.001; order < 1e4; order *= 1.001)
            smallest = fmin(smallest, nvdp_renyi_epsilon(order, order * r, 1e-5));
        cr_expect(smallest < known && smallest > .6 * known, "r %g: %g, %g", r, smallest, known);
    }
}

Test(measure, settling_texts_early_changes_no_number) {
    compare(&ordinary, MOMENTS);
    compare(&wild, MOMENTS);
    compare(&wild, 3);
    compare(&ordinary, 1);
}

/* For nearly equal texts the floor falls with k, so the best moment is the last. */
Test(measure, nearly_equal_texts_reach_the_floor) {
    struct made_texts made = ordinary;
    made.spread = 1e-4;
    compare(&made, MOMENTS);
}

static struct nvdp_privacy_report measure(const struct made_texts *made,
                                          enum nvdp_adjacency adjacency) {
    struct nvdp_posteriors *set = made_posteriors(ctx, made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    config.pairs.adjacency = adjacency;
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    ok(nvdp__privacy_measure(ctx, set, &config, NULL, &report));
    support_keep(report.pairs);
    return report;
}

/* Under public lengths every text has a neighbor of another length, so `all` is +inf. */
Test(measure, public_lengths) {
    struct made_texts made = ordinary;
    made.policy = NVDP_LENGTH_PUBLIC;
    struct nvdp_privacy_report all = measure(&made, NVDP_ADJACENT_ALL);
    cr_expect_eq(all.bdp.best->worst.epsilon, INFINITY);
    cr_expect_eq(all.bdp.best->mean_epsilon, INFINITY);
    cr_expect_eq(all.bdp.best->infinite_texts, 70);
    cr_expect_eq(all.bdp.published->worst.epsilon, INFINITY);
    cr_expect_eq(all.pairs->sum.max, INFINITY);
    struct nvdp_privacy_report same = measure(&made, NVDP_ADJACENT_SAME_LENGTH);
    cr_expect(isfinite(same.bdp.best->worst.epsilon));
    cr_expect(same.bdp.small_population);
    cr_expect_lt(same.bdp.best->worst.m, 64);
}

/* Two texts have one neighbor each, which bounds nothing. */
Test(measure, one_neighbor_is_no_population) {
    struct made_texts made = ordinary;
    made.texts = 2;
    struct nvdp_privacy_report report = measure(&made, NVDP_ADJACENT_ALL);
    cr_expect(isfinite(report.pairs->sum.max));
    cr_expect_eq(report.bdp.best->worst.epsilon, INFINITY);
    cr_expect_eq(report.bdp.best->infinite_texts, 2);
    cr_expect_eq(report.bdp.best->worst.m, 1);
}

Test(report, json) {
    struct nvdp_privacy_report report = measure(&wild, NVDP_ADJACENT_ALL);
    const json_t *root = support_result_json(ctx, &report, NULL);
    support_has(root, "{'order': 1.1, 'arithmetic': 'fast', 'n': 40, 'pairs': 1560}");
    cr_assert_gt(report.pairs->infinite, 0);
    cr_expect_eq(number_at(root, "infinite"), (double)report.pairs->infinite);
    cr_expect_eq(number_at(root, "infinite_share"), (double)report.pairs->infinite / 1560);
    support_has(root, "{'rd/sum/max': 'inf', 'rd/sum/mean': 'inf'}");
    cr_expect_eq(number_at(root, "rd/sum/max_finite"), report.pairs->sum.max_finite);
    cr_expect_eq(number_at(root, "rd/sum/mean_finite"), report.pairs->sum.mean_finite);
    cr_expect_eq(json_array_size(support_at(root, "rd/sum/argmax")), 2);
    cr_expect_eq(number_at(root, "rd/sum/quantiles/0.5"), report.pairs->sum.quantile[0]);
    cr_expect_not_null(support_at(root, "rd/per_component/mean"));
    cr_expect_str_eq(text_at(root, "rd/per_component_dim/note"),
                     "as in the published tables; not a privacy guarantee");
    static const char *columns[] = {"epsilon", "moment", "mean_epsilon", "m",     "t",
                                    "log_M",   "log_S",  "max_X",        "floor", "infinite_texts"};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        cr_expect_not_null(support_at(root, support_path("bdp/published/%s", columns[k])));
        cr_expect_not_null(support_at(root, support_path("bdp/best/%s", columns[k])));
    }
    support_has(root,
                "{'bdp/published/moment': 1.1, 'bdp/delta': 1e-5, 'bdp/gamma': 1e-6, "
                "'bdp/releases': 1, 'units': 'nats', "
                "'rd/sum/note': 'for one release of a text; S releases cost S times as much', "
                "'adjacency': 'all', "
                "'scope': 'measured on the given texts; not a bound over all texts'}");
}

static const char *printed(const struct nvdp_privacy_report *report) {
    return support_result_text(NULL, report, NULL);
}

/* The report explains a finite divergence with an infinite epsilon. */
Test(report, lonely_texts) {
    struct made_texts made = ordinary;
    made.texts = 2;
    struct nvdp_privacy_report report = measure(&made, NVDP_ADJACENT_ALL);
    support_contains(
        printed(&report),
        "  2 of the texts have fewer than two other texts to compare with, so the bound is inf.");
    report = measure(&ordinary, NVDP_ADJACENT_ALL);
    support_lacks(printed(&report), "fewer than two other texts");
}

Test(report, print) {
    static const char *const said[] = {
        "12.3 % of pairs are infinite (192): max and mean are inf; over the finite pairs only, ",
        "finite pairs only, the sum has max ",
        "(not a privacy statement)",
        "as in the published tables; not a privacy guarantee",
        "not a bound over all texts",
        "nats",
        "Arithmetic: fast, within 1e-6 (maxima within 1e-12).",
        ", of one release\n",
        "warning: some text has fewer than 64"};
    struct nvdp_privacy_report report = measure(&wild, NVDP_ADJACENT_ALL);
    report.pairs->infinite = 192; /* 12.3 % of 1560 */
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        support_contains(printed(&report), said[i]);
    report.pairs->infinite = 1;
    report.bdp.releases = 3;
    support_contains(support_result_text(NULL, &report, "summary"),
                     "(Renyi divergence: of one sample; epsilon: of 3 samples)");
    report.epsilon->sum.max = 7.00001;
    support_contains(printed(&report), "  epsilon  7.001  "); /* rounded up */
    support_contains(printed(&report), "of one release; 3 releases cost 3 times as much",
                     "less than 0.1 % of pairs are infinite (1)");
    report.pairs->infinite = 1560;
    support_contains(
        printed(&report),
        "100.0 % of pairs are infinite (1560): max and mean are inf; no pair is finite.");
    report = measure(&ordinary, NVDP_ADJACENT_ALL);
    if (report.pairs->infinite > 0) return;
    support_lacks(printed(&report), "infinite (", "warning");
}

Test(measure, arguments) {
    struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    for (int wrong = 0; wrong < 4; wrong++) {
        struct nvdp__privacy_options config = nvdp__privacy_defaults();
        if (wrong == 0) config.moments = "1,-1";
        if (wrong == 1) config.moments = "";
        if (wrong == 2) config.bdp.releases = 0;
        if (wrong == 3) config.bdp.delta = 0;
        cr_expect_eq(nvdp__privacy_measure(ctx, set, &config, NULL, &report), NVDP_ERR_ARGUMENT,
                     "%d", wrong);
    }
}

/* Every allocation fails in turn: an error each time, nothing leaked, results untouched. */
Test(measure, out_of_memory) {
    struct made_texts made = ordinary;
    made.texts = 5;
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    nvdp__autoresult struct nvdp_privacy_report report = {.struct_size = sizeof report,
                                                          .shape.dim = 99};
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__privacy_measure(ctx, set, &config, NULL, &report)))
        cr_expect_eq(report.shape.dim, 99);
    cr_expect_geq(k, 10);
    cr_expect_eq(report.shape.dim, 3);
    struct nvdp_pairs_summary summary = NVDP_RESULT(struct nvdp_pairs_summary);
    k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp__renyi_pairs(ctx, set, &config, NULL, &summary)))
        cr_expect_lt(k, 100);
}

/* A program compiled when results had fewer members still works; one that does not set its
 * result's size gets an error. */
Test(measure, results_of_other_sizes) {
    struct made_texts made = {5, 2, 2, 0.1, .policy = NVDP_LENGTH_HIDDEN};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_pairs_summary all = NVDP_RESULT(struct nvdp_pairs_summary), some = {0};
    ok(nvdp__renyi_pairs(ctx, set, &config, NULL, &all));
    cr_expect_eq(all.struct_size, sizeof all);
    fails(nvdp__renyi_pairs(ctx, set, &config, NULL, &some), NVDP_ERR_ARGUMENT, "struct_size");
    some.struct_size = offsetof(struct nvdp_pairs_summary, sum);
    some.sum.max = 77;
    ok(nvdp__renyi_pairs(ctx, set, &config, NULL, &some));
    cr_expect_eq(some.pairs, 20);
    cr_expect_eq(some.sum.max, 77, "what the caller's struct does not have is not written");
}
