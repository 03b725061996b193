/* The summary of posteriors, computed by hand. */
#include "made_posteriors.h"

#include "test_context.h"

/* Two texts of width 2: tokens with pseudo-counts {3, 4} and {0.5}, hidden length 3. */
static struct nvdp_posteriors *two_texts(bool with_alpha) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 2, 3, 2, with_alpha);
    memcpy(set->mu, (double[]){1, -2, 3, 0, -6, 0}, 6 * sizeof(double));
    for (int k = 0; k < 6; k++)
        set->logvar[k] = k < 3 ? 0 : 2 * log(3);
    if (with_alpha) memcpy(set->alpha, (double[]){3, 4, .5}, 3 * sizeof(double));
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 3;
    set->prior_alpha = 1;
    set->pad_alpha = 2;
    set->kappa = 1;
    return set;
}

static struct nvdp_posterior_summary summarize(struct nvdp_posteriors *set) {
    struct nvdp_posterior_summary summary = NVDP_RESULT(struct nvdp_posterior_summary);
    ok(nvdp_posteriors_summarize(ctx, set, &summary));
    return summary;
}

static double hill(int n, const double *p) {
    double entropy = 0;
    for (int i = 0; i < n; i++)
        entropy -= p[i] * log(p[i]);
    return exp(entropy);
}

/* Text 1 has the weights 1, 3, 4, 2 of 10; text 2 has 1, .5, 2, 2 of 5.5. */
Test(posterior_summary, by_hand) {
    struct nvdp_posteriors *set = two_texts(true);
    struct nvdp_posterior_summary got = summarize(set);
    double first = hill(4, (double[]){.1, .3, .4, .2});
    double second = hill(4, (double[]){1 / 5.5, .5 / 5.5, 2 / 5.5, 2 / 5.5});
    /* 1e-14: a few roundings. */
    agrees(got.vectors.mean, (first + second) / 2, 1e-14);
    agrees(got.vectors.quantile[0], fmin(first, second), 1e-14);
    agrees(got.vectors.quantile[4], fmax(first, second), 1e-14);
    double l2[] = {100 / (1 + 9 + 16 + 4.), 5.5 * 5.5 / (1 + .25 + 4 + 4)};
    agrees(got.vectors_l2.mean, (l2[0] + l2[1]) / 2, 1e-14);
    agrees(got.token_share.mean, (.7 + .5 / 5.5) / 2, 1e-14);
    agrees(got.mean_abs_mu, 12. / 6, 1e-14);
    agrees(got.mean_sigma, (3 * 1 + 3 * 3.) / 6, 1e-14);
    cr_expect_eq(got.texts, 2);
    cr_expect_eq(got.tokens, 3);
    /* log10: .477, .602 and -.301; bins begin at -8 + b/4 */
    cr_expect_eq(got.alpha_bin[33], 1);
    cr_expect_eq(got.alpha_bin[34], 1);
    cr_expect_eq(got.alpha_bin[30], 1);
}

/* With kappa equal vectors per component there are kappa times as many; public length: no
 * padding. */
Test(posterior_summary, kappa_and_public_length) {
    struct nvdp_posteriors *set = two_texts(true);
    set->kappa = 3;
    set->policy = NVDP_LENGTH_PUBLIC;
    set->alpha[0] = set->alpha[1] = set->alpha[2] = 1;
    struct nvdp_posterior_summary got = summarize(set);
    agrees(got.vectors.mean, 3 * (3 + 2) / 2., 1e-14);
    agrees(got.vectors_l2.mean, 3 * (3 + 2) / 2., 1e-14);
}

Test(posterior_summary, edges_of_the_histogram) {
    struct nvdp_posteriors *set = two_texts(true);
    memcpy(set->alpha, (double[]){1e-9, 1e-8, 1e4}, 3 * sizeof(double));
    struct nvdp_posterior_summary got = summarize(set);
    cr_expect_eq(got.alpha_below, 1);
    cr_expect_eq(got.alpha_bin[0], 1);
    cr_expect_eq(got.alpha_above, 1);
}

Test(posterior_summary, gaussian_mechanisms_have_no_weights) {
    struct nvdp_posteriors *set = two_texts(false);
    struct nvdp_posterior_summary got = summarize(set);
    cr_expect(!got.weighted);
    cr_expect(isnan(got.vectors.mean));
    cr_expect(isnan(got.token_share.quantile[2]));
    agrees(got.mean_sigma, 2, 1e-14);
}

static json_t *measured(bool with_alpha) {
    struct nvdp_posteriors *set = two_texts(with_alpha);
    nvdp__autoresult struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    if (!with_alpha) snprintf(set->method, sizeof set->method, "vtdp");
    ok(nvdp_privacy_measure(ctx, set, NULL, NULL, &report));
    return support_result_json(ctx, &report, NULL);
}

Test(posterior_summary, stands_in_the_report) {
    json_t *root = measured(true);
    double first = hill(4, (double[]){.1, .3, .4, .2});
    double second = hill(4, (double[]){1 / 5.5, .5 / 5.5, 2 / 5.5, 2 / 5.5});
    near(number_at(root, "posterior/effective_vectors/mean"), (first + second) / 2, 1e-14);
    const json_t *counts = support_at(root, "posterior/log10_alpha/counts");
    cr_expect_eq(json_array_size(counts), NVDP_ALPHA_BINS);
    cr_expect_eq(integer_at(counts, "30"), 1);
    root = measured(false);
    cr_expect(json_is_null(support_at(root, "posterior/effective_vectors")));
    cr_expect(json_is_null(support_at(root, "posterior/log10_alpha")));
}
