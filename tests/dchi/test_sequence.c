/* One noised vector per text: every pair against the closed form, bounds against pairs. */
#include "made_tables.h"
#include "noised_texts.h"

#include "test_context.h"

static struct nvdp__privacy_options options_of(const struct nvdp_config *config) {
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    if (config != NULL) ok(nvdp__config_values(ctx, config, &nvdp__privacy_schema, &options));
    return options;
}

enum { TEXTS = 12, DIM = 5 };

static const double eta = 3;

static double norm(const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k < DIM; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

Test(sequence, pairs_are_the_closed_form) {
    double states[TEXTS * DIM], clipped[TEXTS * DIM], zero[DIM] = {0}, matrix[TEXTS * TEXTS];
    static const double clips[] = {INFINITY, .9};
    for (size_t i = 0; i < TEXTS * DIM; i++)
        states[i] = sin(1.0 + 3.7 * (double)i) * (i < 2 * DIM ? 0.1 : 1);
    memcpy(states + 3 * DIM, states + 2 * DIM, DIM * sizeof *states); /* two equal texts */
    for (size_t c = 0; c < 2; c++) {
        for (size_t i = 0; i < TEXTS * DIM; i++) {
            const double length = norm(states + i / DIM * DIM, zero);
            clipped[i] = states[i] * (length > clips[c] ? clips[c] / length : 1);
        }
        static const char *const orders[] = {"0.5", "1", "1.1", "8", "inf"};
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            FREED(nvdp_result_free)
            struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
            const double order = strtod(orders[o], NULL);
            double largest = 0;
            struct nvdp_config *config = support_config(ctx, "privacy", NULL);
            ok(nvdp_config_set(config, "order", orders[o]));
            const struct nvdp__privacy_options options = options_of(config);
            ok(nvdp__sequence_privacy(ctx, eta, clips[c], TEXTS, DIM, states, &options, matrix,
                                      &report));
            for (size_t i = 0; i < TEXTS; i++) {
                for (size_t j = 0; j < TEXTS; j++) {
                    const double distance = eta * norm(clipped + i * DIM, clipped + j * DIM);
                    const double want = i == j ? 0 : nvdp_renyi_laplace(order, DIM, distance);
                    /* a relative error of 1e-11 in each value, and in the distance */
                    near(matrix[i * TEXTS + j], want, 1e-10 * (want + 1e-3));
                    largest = fmax(largest, want);
                }
            }
            near(report.pairs->sum.max, largest, 1e-10 * largest);
            cr_expect_eq(report.pairs->pairs, TEXTS * (TEXTS - 1));
            cr_expect_eq(report.shape.policy, NVDP_LENGTH_HIDDEN);
            cr_expect_eq(report.shape.components, 1);
            cr_expect_eq(report.shape.dim, DIM);
            cr_expect_eq(isfinite(clips[c]), report.bound.clip_sequence > 0);
            if (isfinite(clips[c])) {
                near(report.bound.sum, nvdp_renyi_laplace(order, DIM, 2 * eta * clips[c]), 1e-12);
                near(report.bound.loss, 2 * eta * clips[c], 1e-12);
                cr_expect_leq(largest, report.bound.sum);
                cr_expect_leq(report.epsilon->sum.max, report.bound.loss);
            }
        }
    }
}

Test(sequence, wrong_values_are_refused) {
    FREED(nvdp_result_free)
    struct nvdp_privacy_report report = NVDP_RESULT(struct nvdp_privacy_report);
    double states[2 * DIM] = {1};
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    cr_expect_eq(nvdp__sequence_privacy(ctx, 0, 1, 2, DIM, states, &options, NULL, &report),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__sequence_privacy(ctx, 1, 0, 2, DIM, states, &options, NULL, &report),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__sequence_privacy(ctx, 1, 1, 1, DIM, states, &options, NULL, &report),
                 NVDP_ERR_ARGUMENT);
    struct nvdp_config *config = support_config(ctx, "privacy", NULL);
    ok(nvdp_config_set(config, "adjacency", "same-length"));
    options = options_of(config);
    cr_expect_eq(nvdp__sequence_privacy(ctx, 1, 1, 2, DIM, states, &options, NULL, &report),
                 NVDP_ERR_ARGUMENT);
}

/* For huge, denormal and infinite numbers and NaN, nothing leaves the ball and no text is
 * refused. */
Test(sequence, clip_is_total) {
    static const double scale[] = {1, 1e300, 1e308, 1e-310, 1e-3}, radii[] = {1e-10, .9, 1e5};
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    uint64_t state = 1;
    for (int round = 0; round < 3000; round++) {
        const double radius = radii[round % 3];
        double in[DIM], out[DIM];
        long double norm = 0;
        for (size_t k = 0; k < DIM; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            in[k] = ((double)(state >> 32) * 0x1p-31 - 1) * scale[round % 5];
        }
        const bool whole = round % 4 != 0;
        if (!whole) in[round % DIM] = odd[round / 4 % 3];
        nvdp__sequence_clip(DIM, radius, in, out);
        for (size_t k = 0; k < DIM; k++) {
            cr_assert(isfinite(out[k]) && (whole || out[k] == 0), "round %d", round);
            norm += (long double)out[k] * out[k];
        }
        cr_assert_leq(sqrtl(norm), (long double)radius, "round %d", round);
    }
    double states[2 * DIM] = {[3] = NAN};
    ok(noised_texts(ctx, 1, 1, DIM, states, states));
    for (size_t k = 0; k < 2 * DIM; k++)
        cr_expect(isfinite(states[k]));
}
