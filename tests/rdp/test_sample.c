/* The divergence of two texts' samples: golden values, padding, directions. */
#include "rdp_test.h"

#include "test_context.h"

/* Sets one of a golden case's two texts: component 0 is the prior, the rest are tokens. */
static void fill(struct nvdp_posteriors *set, size_t text, const json_t *alpha, const json_t *mu,
                 const json_t *sigma) {
    size_t rows = json_array_size(alpha) - 1;
    for (size_t r = 0; r < rows; r++) {
        size_t row = text * rows + r;
        set->alpha[row] = support_number(json_array_get(alpha, r + 1));
        for (size_t k = 0; k < set->dim; k++) {
            set->mu[row * set->dim + k] =
                support_number(json_array_get(json_array_get(mu, r + 1), k));
            set->logvar[row * set->dim + k] =
                2 * log(support_number(json_array_get(json_array_get(sigma, r + 1), k)));
        }
    }
}

Test(sample, golden) {
    json_t *root = support_golden_json("renyi_nvdp.json");
    size_t index;
    json_t *item;
    json_array_foreach(root, index, item) {
        const json_t *alpha = json_object_get(item, "alpha");
        const json_t *mu = json_object_get(item, "mu");
        size_t rows = json_array_size(alpha) - 1;
        size_t dim = json_array_size(json_array_get(mu, 0));
        struct nvdp_posteriors *set = made_two_texts(ctx, rows, 2 * rows, dim, true);
        set->kappa = (int)integer_at(item, "kappa");
        set->prior_alpha = support_number(json_array_get(alpha, 0));
        fill(set, 0, alpha, mu, json_object_get(item, "sigma"));
        fill(set, 1, json_object_get(item, "alpha2"), json_object_get(item, "mu2"),
             json_object_get(item, "sigma2"));
        double order = support_number(json_object_get(item, "order"));
        double want = support_number(json_object_get(item, "value"));
        double got = nvdp_renyi_texts(order, set, 0, 1);
        agrees(got, want, 1e-12, "case %zu", index);
    }
}

/* Computes the divergence of the sample written out in full: prior, tokens, padding, each weight
 * kappa times. */
static double written_out(double order, const struct nvdp_posteriors *set, size_t i, size_t j) {
    size_t components = set->length + 1, weights = components * (size_t)set->kappa;
    double *alpha[2], gaussian = 0;
    for (int side = 0; side < 2; side++) {
        size_t text = side == 0 ? i : j;
        size_t rows = set->offset[text + 1] - set->offset[text];
        alpha[side] = support_keep(calloc(weights, sizeof(double)));
        for (size_t c = 0; c < components; c++) {
            double a = set->pad_alpha;
            if (c == 0) a = set->prior_alpha;
            if (c >= 1 && c <= rows && set->alpha != NULL)
                a = set->alpha[set->offset[text] + c - 1];
            for (int k = 0; k < set->kappa; k++)
                alpha[side][c * (size_t)set->kappa + (size_t)k] = a / set->kappa;
        }
    }
    for (size_t c = 0; c < set->length; c++) {
        for (size_t d = 0; d < set->dim; d++) {
            double mu[2] = {0, 0}, var[2] = {1, 1};
            for (int side = 0; side < 2; side++) {
                size_t text = side == 0 ? i : j;
                size_t row = set->offset[text] + c;
                if (row >= set->offset[text + 1]) continue;
                mu[side] = set->mu[row * set->dim + d];
                var[side] = exp(set->logvar[row * set->dim + d]);
            }
            gaussian += nvdp_renyi_gaussian(order, 1, &mu[0], &var[0], &mu[1], &var[1]);
        }
    }
    gaussian *= set->kappa;
    return set->alpha == NULL ? gaussian
                              : gaussian + nvdp_renyi_dirichlet(order, weights, alpha[0], alpha[1]);
}

Test(sample, hidden_length_is_padding_written_out) {
    static const double orders[] = {0.5, 1, 1.1, 1.5, INFINITY};
    for (int kappa = 1; kappa <= 3; kappa++) {
        for (int with_alpha = 0; with_alpha < 2; with_alpha++) {
            struct made_texts made = {6,
                                      5,
                                      3,
                                      0.2,
                                      .with_alpha = with_alpha,
                                      .kappa = with_alpha ? kappa : 1,
                                      .policy = NVDP_LENGTH_HIDDEN,
                                      .seed = (unsigned)kappa};
            struct nvdp_posteriors *set = made_posteriors(ctx, &made);
            set->pad_alpha = 1.0 / 6;
            set->prior_alpha = 1.25;
            for (size_t k = 0; k < 5; k++) {
                for (size_t pair = 0; pair < 36; pair++) {
                    double got = nvdp_renyi_texts(orders[k], set, pair / 6, pair % 6);
                    double want = written_out(orders[k], set, pair / 6, pair % 6);
                    agrees(got, want, 1e-12, "order %g, pair %zu", orders[k], pair);
                }
            }
        }
    }
}

Test(sample, lengths_and_components) {
    struct made_texts made = {8, 4, 2, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_PUBLIC};
    struct nvdp_posteriors *set = made_posteriors(ctx, &made);
    for (size_t i = 0; i < 8; i++) {
        size_t rows_i = set->offset[i + 1] - set->offset[i];
        cr_expect_eq(nvdp__sample_components(set, i), rows_i + 1);
        for (size_t j = 0; j < 8; j++) {
            size_t rows_j = set->offset[j + 1] - set->offset[j];
            double got = nvdp_renyi_texts(1.1, set, i, j);
            cr_expect_eq(isinf(got), rows_i != rows_j);
            if (i == j) cr_expect_eq(got, 0);
        }
    }
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 9;
    cr_expect_eq(nvdp__sample_components(set, 0), 10);
    free(set->alpha);
    set->alpha = NULL;
    cr_expect_eq(nvdp__sample_components(set, 0), 9);
    cr_expect(isnan(nvdp_renyi_texts(0, set, 0, 1)));
    cr_expect(isnan(nvdp_renyi_texts(NAN, set, 0, 1)));
}

/* For vib-fixed, the divergence is l |mu - mu'|^2 / (2 sigma^2). */
Test(sample, one_row_of_equal_variance) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 2, false);
    set->mu[0] = 3;
    set->mu[1] = 4;
    for (int k = 0; k < 4; k++)
        set->logvar[k] = log(0.55 * 0.55);
    double want = 1.1 * 25 / (2 * 0.55 * 0.55);
    agrees(nvdp_renyi_texts(1.1, set, 0, 1), want, 1e-14);
}

/* Eq. 7 as printed swaps the variances: a narrow text against a wide one is finite, the reverse
 * is not. */
Test(sample, direction) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 1, false);
    set->logvar[0] = log(0.25);
    cr_expect(isfinite(nvdp_renyi_texts(2, set, 0, 1)));
    cr_expect_eq(nvdp_renyi_texts(2, set, 1, 0), INFINITY);
}
