/* The causes of infinite divergences: against the plain divergences, and by hand. */
#include "rdp_test.h"

static const struct made_texts wild = {
    30, 3, 3, 0.6, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};

static struct nvdp_infinite_summary of_pairs(struct nvdp_context *ctx, double order,
                                             const struct nvdp_posteriors *set, size_t pairs,
                                             const size_t *pair) {
    struct nvdp_infinite_summary made = NVDP_RESULT(struct nvdp_infinite_summary);
    ok(nvdp__renyi_infinite(ctx, order, set, pairs, pair, &made));
    return made;
}

/* A pair has a cause exactly where its plain divergence is infinite: none below finite_below,
 * one above it. */
static void check(const struct made_texts *made, double order) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_posteriors *set = made_posteriors(ctx, made);
    size_t pair[2 * 30 * 30], pairs = 0, infinite = 0;
    for (size_t i = 0; i < made->texts; i++)
        for (size_t j = 0; j < made->texts; j++) {
            const size_t one[2] = {i, j};
            const bool want = isinf(nvdp_renyi_texts(order, set, i, j)) != 0;
            cr_expect_eq(of_pairs(ctx, order, set, 1, one).infinite, want, "order %g, %zu, %zu",
                         order, i, j);
            infinite += want;
            memcpy(pair + 2 * pairs++, one, sizeof one);
        }
    const struct nvdp_infinite_summary all = of_pairs(ctx, order, set, pairs, pair);
    cr_assert_gt(infinite, 0);
    cr_expect_eq(all.infinite, infinite);
    cr_expect_eq(all.cause[NVDP_INFINITE_RANGE].pairs, 0);
    cr_expect(made->policy == NVDP_LENGTH_PUBLIC || all.finite_below > 1);
    if (made->policy == NVDP_LENGTH_HIDDEN && all.finite_below > 1) {
        bool above = false;
        for (size_t k = 0; k < pairs; k++) {
            const size_t i = pair[2 * k], j = pair[2 * k + 1];
            cr_expect(isfinite(nvdp_renyi_texts(all.finite_below * (1 - 1e-9), set, i, j)));
            above |= isinf(nvdp_renyi_texts(all.finite_below * (1 + 1e-9), set, i, j)) != 0;
        }
        cr_expect(above);
    }
}

Test(infinite, agrees_with_the_divergences) {
    struct made_texts made = wild;
    static const double orders[] = {1.1, 1.5, 2.1, 9, INFINITY};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        made.with_alpha = true;
        check(&made, orders[k]);
        made.with_alpha = false;
        check(&made, orders[k]);
    }
    made.policy = NVDP_LENGTH_PUBLIC;
    check(&made, 1.1);
}

/* Two texts of two tokens and two dimensions; the third text has one token. */
Test(infinite, names_place_dimension_and_quantity) {
    struct nvdp_context *ctx = support_context();
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    static const size_t both[4] = {0, 1, 1, 0}, padded[2] = {1, 2};
    ok(nvdp_posteriors_create(ctx, 3, 5, 2, true, &set));
    memcpy(set->offset, (size_t[4]){0, 2, 4, 5}, 4 * sizeof(size_t));
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 2;
    for (size_t r = 0; r < 5; r++)
        set->alpha[r] = 1;
    set->logvar[7] = 3; /* text 1, position 1, dimension 1: e^3 > 11 */
    struct nvdp_infinite_summary why = of_pairs(ctx, 1.1, set, 2, both);
    const struct nvdp_infinite_part *part = &why.cause[NVDP_INFINITE_TOKEN_LOGVAR];
    near(why.limit, 11, 1e-12);
    cr_expect(why.pairs == 2 && why.infinite == 1 && part->pairs == 1);
    cr_expect(part->place == 1 && part->dim == 1 && part->place_pairs == 1);
    near(part->ratio, exp(3), 1e-12);
    near(why.finite_below, exp(3) / (exp(3) - 1), 1e-12);
    why = of_pairs(ctx, 1.1, set, 1, padded);
    cr_expect_eq(why.cause[NVDP_INFINITE_PADDING_LOGVAR].pairs, 1);
    cr_expect_eq(why.cause[NVDP_INFINITE_PADDING_LOGVAR].dim, 1);
    set->logvar[7] = 0;
    set->alpha[2] = .05; /* text 1, position 0: a twentieth */
    why = of_pairs(ctx, 1.1, set, 2, both);
    part = &why.cause[NVDP_INFINITE_TOKEN_ALPHA];
    cr_expect(why.infinite == 1 && part->pairs == 1 && part->place == 0);
    near(part->ratio, 20, 1e-12);
    near(why.finite_below, 20. / 19, 1e-12);
    set->alpha[2] = 1;
    set->mu[5] = .5; /* text 1, position 0, dimension 1: a cause for order infinity only */
    cr_expect_eq(of_pairs(ctx, 1e6, set, 2, both).infinite, 0);
    why = of_pairs(ctx, INFINITY, set, 2, both);
    cr_expect(why.infinite == 2 && why.cause[NVDP_INFINITE_TOKEN_MU].pairs == 2);
    cr_expect(why.cause[NVDP_INFINITE_TOKEN_MU].dim == 1 && why.finite_below == INFINITY);
    set->mu[7] = .5; /* text 1, position 1, dimension 1, against padding */
    why = of_pairs(ctx, INFINITY, set, 1, padded);
    cr_expect_eq(why.cause[NVDP_INFINITE_PADDING_MU].pairs, 1);
    cr_expect_eq(why.cause[NVDP_INFINITE_PADDING_MU].dim, 1);
    set->policy = NVDP_LENGTH_PUBLIC;
    why = of_pairs(ctx, 1.1, set, 1, padded);
    cr_expect(why.cause[NVDP_INFINITE_LENGTHS].pairs == 1 && why.finite_below == 0);
    set->policy = NVDP_LENGTH_HIDDEN;
    set->mu[5] = 1e200;
    why = of_pairs(ctx, 1.1, set, 2, both);
    cr_expect(why.cause[NVDP_INFINITE_RANGE].pairs == 2 && why.finite_below == 0);
    cr_expect_eq(nvdp__renyi_infinite(ctx, 0, set, 2, both, &why), NVDP_ERR_ARGUMENT);
}

/* Counts and largest quotients are the same for any number of threads. */
Test(infinite, is_the_same_with_any_number_of_threads) {
    enum { PAIRS = 30 * 30 };
    struct nvdp_context *ctx = support_context();
    struct nvdp_posteriors *set = made_posteriors(ctx, &wild);
    size_t pair[2 * PAIRS];
    for (size_t k = 0; k < PAIRS; k++) {
        pair[2 * k] = k / 30;
        pair[2 * k + 1] = k % 30;
    }
    const struct nvdp_infinite_summary alone = of_pairs(NULL, 1.5, set, PAIRS, pair);
    cr_assert(alone.infinite > 0 && alone.cause[NVDP_INFINITE_TOKEN_LOGVAR].place_pairs > 0);
    for (int threads = 1; threads <= 3; threads++) {
        ok(nvdp_context_set_threads(ctx, threads));
        const struct nvdp_infinite_summary made = of_pairs(ctx, 1.5, set, PAIRS, pair);
        cr_expect_eq(memcmp(&made, &alone, sizeof made), 0, "%d threads", threads);
    }
}

static struct nvdp_privacy_report measure(struct nvdp_context *ctx,
                                          const struct nvdp_posteriors *set, size_t max_pairs) {
    struct nvdp__privacy_options config = nvdp__privacy_defaults();
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    config.pairs.max_pairs = max_pairs;
    ok(nvdp__privacy_measure(ctx, set, &config, NULL, &report));
    support_keep(report.pairs);
    return report;
}

static size_t infinite_at(const struct nvdp_posteriors *set, double order) {
    size_t infinite = 0;
    for (size_t i = 0; i < set->texts; i++)
        for (size_t j = 0; j < set->texts; j++)
            infinite += isinf(nvdp_renyi_texts(order, set, i, j)) != 0;
    return infinite;
}

Test(infinite, of_a_report) {
    struct nvdp_context *ctx = support_context();
    struct nvdp_posteriors *set = made_posteriors(ctx, &wild);
    struct nvdp_privacy_report report = measure(ctx, set, 0);
    cr_expect_eq(report.infinite->of, infinite_at(set, 1.1));
    cr_expect_eq(report.bdp.published->infinite_pairs->of, infinite_at(set, 2.1));
    cr_expect_eq(report.bdp.best->infinite_pairs->of, infinite_at(set, 1.05));
    cr_assert_gt(report.infinite->of, 0);
    const json_t *root = support_result_json(ctx, &report, NULL);
    cr_expect_eq((size_t)integer_at(root, "infinite_pairs/infinite"), report.infinite->of);
    cr_expect_gt(json_array_size(support_at(root, "infinite_pairs/causes")), 0);
    near(number_at(root, "bdp/published/infinite_pairs/order"), 2.1, 1e-12);
    const char *text = support_result_text(ctx, &report, NULL);
    support_contains(text, "Causes at order 1.1 (a ratio must be below 11 to be finite)",
                     "Causes at order 2.1 (a ratio must be below 1.909 to be finite)",
                     "and B - A < 2.398\n", " nvdp train --clip-sequence C, or --preset certified",
                     " nvdp privacy --exact computes an epsilon at delta");
    support_lacks(text, "finite there"); /* a lower order hides what it does not remove */
    support_lacks(text, "--order");
    struct nvdp_exact_summary exact = NVDP_RESULT(struct nvdp_exact_summary);
    report.exact = &exact; /* as if the exact loss were measured */
    support_lacks(support_result_text(ctx, &report, NULL), "privacy --exact");
    report = measure(ctx, set, 400); /* drawn pairs, and the largest */
    cr_expect_eq(report.infinite->infinite, report.pairs->infinite + 1);
}

/* If there are more infinite pairs than are examined, some of them are drawn. */
Test(infinite, of_many_pairs) {
    struct nvdp_context *ctx = support_context();
    struct made_texts made = wild;
    made.texts = 150;
    made.longest = 1;
    made.spread = 2;
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    struct nvdp_infinite_summary why;
    nvdp__autofree double *matrix = calloc(150 * 150, sizeof *matrix);
    for (size_t at = 0; at < 150 * 150; at++)
        matrix[at] = nvdp_renyi_texts(2.1, set, at / 150, at % 150);
    ok(nvdp__infinite_of_matrix(ctx, 2.1, set, matrix, &why));
    cr_expect_eq(why.of, infinite_at(set, 2.1));
    cr_assert_gt(why.of, NVDP__MAX_INFINITE);
    cr_expect(why.pairs == NVDP__MAX_INFINITE && why.infinite == why.pairs);
}
