/* Scores against values worked out by hand. */
#include "train/metrics.h"

#include <criterion/criterion.h>
#include <math.h>

/* labels 1 1 1 0 0, predictions 1 1 0 1 0: tp 2, fn 1, fp 1, tn 1 */
static const float two_class[] = {0, 1, 0, 1, 1, 0, 0, 1, 1, 0};
static const float label[] = {1, 1, 1, 0, 0};

Test(metrics, accuracy_f1_and_matthews_by_hand) {
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_ACCURACY, 5, 2, two_class, label), 0.6, 1e-15);
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_F1, 5, 2, two_class, label), 4.0 / 6, 1e-15);
    double matthews = (2.0 * 1 - 1 * 1) / sqrt(3.0 * 3 * 2 * 2);
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_MATTHEWS, 5, 2, two_class, label), matthews, 1e-15);
}

/* F1 of class 1 is 4/6, of class 0 1/2; a third class that nobody has or says is left out. */
Test(metrics, macro_f1_by_hand) {
    float three_class[15];
    for (int i = 0; i < 5; i++) {
        three_class[3 * i] = two_class[2 * i];
        three_class[3 * i + 1] = two_class[2 * i + 1];
        three_class[3 * i + 2] = -1;
    }
    const double want = (4.0 / 6 + .5) / 2;
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 2, two_class, label), want, 1e-15);
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 3, three_class, label), want, 1e-15);
    three_class[2] = 9; /* said once, never so: F1 0 */
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 3, three_class, label),
                       (2.0 / 5 + .5 + 0) / 3, 1e-15);
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_MACRO_F1), "macro_f1");
}

Test(metrics, degenerate_predictions_score_zero) {
    const float always_zero[] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
    cr_assert_eq(nvdp__metric(NVDP_METRIC_MATTHEWS, 5, 2, always_zero, label), 0);
    cr_assert_eq(nvdp__metric(NVDP_METRIC_F1, 5, 2, always_zero, label), 0);
    const float constant[] = {2, 2, 2, 2, 2};
    cr_assert_eq(nvdp__metric(NVDP_METRIC_PEARSON, 5, 1, constant, label), 0);
    cr_assert_eq(nvdp__metric(NVDP_METRIC_SPEARMAN, 5, 1, constant, label), 0);
}

Test(metrics, correlations_by_hand) {
    const float x[] = {1, 2, 3, 4}, y[] = {1, 3, 2, 5};
    /* means 2.5, 2.75; sums 5.5, 5, 8.75 */
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_PEARSON, 4, 1, x, y), 5.5 / sqrt(5 * 8.75), 1e-12);
    /* ranks of y 1 3 2 4: 1 - 6*2/(4*15) */
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_SPEARMAN, 4, 1, x, y), 0.8, 1e-12);
}

Test(metrics, spearman_gives_ties_their_mean_rank) {
    const float x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
    /* ranks x 1 2.5 2.5 4, y 1 2 3 4: cov 4.5, sums 4.5 and 5 */
    cr_assert_float_eq(nvdp__metric(NVDP_METRIC_SPEARMAN, 4, 1, x, y), 4.5 / sqrt(4.5 * 5), 1e-12);
}

Test(metrics, argmax_takes_the_first_of_equals) {
    const float tie[] = {1, 3, 3};
    cr_assert_eq(nvdp__argmax(3, tie), 1);
}

Test(metrics, majority) {
    cr_assert_float_eq(nvdp__majority(5, 2, label), 0.6, 1e-15);
    cr_assert(isnan(nvdp__majority(5, 1, label)));
}

Test(metrics, score_gives_mean_and_sample_deviation_over_draws) {
    struct nvdp_task task = {.classes = 2, .metrics = 1, .metric = {NVDP_METRIC_ACCURACY}};
    const float perfect[] = {0, 1, 0, 1, 0, 1, 1, 0, 1, 0};
    const float *draws[] = {two_class, perfect};
    struct nvdp_scores scores;
    nvdp__score(&task, 5, label, 2, draws, &scores);
    cr_assert_float_eq(scores.mean[0], 0.8, 1e-15);
    cr_assert_float_eq(scores.sd[0], sqrt(0.08),
                       1e-12); /* values 0.6, 1: squares .04 + .04 over 1 */
    cr_assert_eq(scores.draws, 2);
}
