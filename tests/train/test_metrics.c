/* Tests scores against values computed by hand, then intervals over texts. */
#include "train_test.h"

#include "test_context.h"

/* labels 1 1 1 0 0, predictions 1 1 0 1 0: tp 2, fn 1, fp 1, tn 1 */
static const float two_class[] = {0, 1, 0, 1, 1, 0, 0, 1, 1, 0};
static const float label[] = {1, 1, 1, 0, 0};

Test(metrics, accuracy_f1_and_matthews_by_hand) {
    near(nvdp__metric(NVDP_METRIC_ACCURACY, 5, 2, two_class, label), 0.6, 1e-15);
    near(nvdp__metric(NVDP_METRIC_F1, 5, 2, two_class, label), 4.0 / 6, 1e-15);
    double matthews = (2.0 * 1 - 1 * 1) / sqrt(3.0 * 3 * 2 * 2);
    near(nvdp__metric(NVDP_METRIC_MATTHEWS, 5, 2, two_class, label), matthews, 1e-15);
}

/* F1 of class 1 is 4/6, of class 0 1/2; a third class without labels and predictions is left
 * out. */
Test(metrics, macro_f1_by_hand) {
    float three_class[15];
    for (int i = 0; i < 5; i++) {
        three_class[3 * i] = two_class[2 * i];
        three_class[3 * i + 1] = two_class[2 * i + 1];
        three_class[3 * i + 2] = -1;
    }
    const double want = (4.0 / 6 + .5) / 2;
    near(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 2, two_class, label), want, 1e-15);
    near(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 3, three_class, label), want, 1e-15);
    three_class[2] = 9; /* predicted once, never a label: F1 0 */
    near(nvdp__metric(NVDP_METRIC_MACRO_F1, 5, 3, three_class, label), (2.0 / 5 + .5 + 0) / 3,
         1e-15);
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
    near(nvdp__metric(NVDP_METRIC_PEARSON, 4, 1, x, y), 5.5 / sqrt(5 * 8.75), 1e-12);
    /* ranks of y 1 3 2 4: 1 - 6*2/(4*15) */
    near(nvdp__metric(NVDP_METRIC_SPEARMAN, 4, 1, x, y), 0.8, 1e-12);
}

Test(metrics, spearman_gives_ties_their_mean_rank) {
    const float x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
    /* ranks x 1 2.5 2.5 4, y 1 2 3 4: cov 4.5, sums 4.5 and 5 */
    near(nvdp__metric(NVDP_METRIC_SPEARMAN, 4, 1, x, y), 4.5 / sqrt(4.5 * 5), 1e-12);
}

Test(metrics, argmax_takes_the_first_of_equals) {
    const float tie[] = {1, 3, 3};
    cr_assert_eq(nvdp__argmax(3, tie), 1);
}

Test(metrics, majority) {
    near(nvdp__majority(5, 2, label), 0.6, 1e-15);
    cr_assert(isnan(nvdp__majority(5, 1, label)));
}

Test(metrics, score_gives_mean_and_sample_deviation_over_draws) {
    struct nvdp_task task = {.classes = 2, .metrics = 1, .metric = {NVDP_METRIC_ACCURACY}};
    const float perfect[] = {0, 1, 0, 1, 0, 1, 1, 0, 1, 0};
    const float *draws[] = {two_class, perfect};
    struct nvdp_scores scores;
    nvdp__score(&task, 5, label, 2, draws, &scores);
    near(scores.mean[0], 0.8, 1e-15);
    near(scores.sd[0], sqrt(0.08), 1e-12); /* values 0.6, 1: squares .04 + .04 over 1 */
    cr_assert_eq(scores.draws, 2);
}

/* --- intervals over texts --- */

enum { MAX_TEXTS = 200 };
static const struct nvdp_task ratios = {
    .classes = 2,
    .metrics = 3,
    .metric = {NVDP_METRIC_MACRO_F1, NVDP_METRIC_MATTHEWS, NVDP_METRIC_ACCURACY}};

/* Scores n texts, of which the first `rare` have class 1; predicted[i] is the prediction for text i. */
static struct nvdp_scores scored(const struct nvdp_task *task, size_t n, size_t rare,
                                 const bool *predicted) {
    struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
    float outputs[2 * MAX_TEXTS], actual[MAX_TEXTS];
    const float *draw = outputs;
    for (size_t i = 0; i < n; i++) {
        outputs[2 * i] = !predicted[i];
        outputs[2 * i + 1] = predicted[i];
        actual[i] = i < rare;
    }
    nvdp__score(task, n, actual, 1, &draw, &scores);
    ok(nvdp__add_intervals(ctx, task, n, actual, 1, &draw, &scores));
    return scores;
}

/* A classifier that always predicts the larger class had a macro-F1 of .49 with the interval .47
 * to 1, because texts of that class alone score 1. */
Test(metrics, a_constant_classifier_has_no_interval_of_ratios) {
    const bool never[MAX_TEXTS] = {false};
    const struct nvdp_scores scores = scored(&ratios, 60, 3, never);
    near(scores.mean[0], 57 / 117., 1e-12);
    cr_expect(isnan(scores.low[0]) && isnan(scores.high[0]), "%g to %g", scores.low[0],
              scores.high[0]);
    cr_expect_eq(scores.mean[1], 0);
    cr_expect(isnan(scores.low[1]) && isnan(scores.high[1]));
    near(scores.low[2], .95 - 1.96 * sqrt(.95 * .05 / 60), .03);
    cr_expect_lt(scores.low[2], scores.high[2]);
}

/* With 3 texts of 60 in a class, one plain sample in twenty lacks this class. Matthews'
 * correlation is then 0, below the end of its interval. */
Test(metrics, no_resample_loses_a_class) {
    bool predicted[MAX_TEXTS] = {true, true, true};
    predicted[59] = true; /* one error */
    const struct nvdp_scores scores = scored(&ratios, 60, 3, predicted);
    near(scores.mean[1], (3 * 56 - 0) / sqrt(4. * 3 * 57 * 56), 1e-12);
    cr_expect_gt(scores.low[1], .5); /* with four such errors it is .64 */
    cr_expect_gt(scores.low[0], .7);
    cr_expect_eq(scores.high[0], 1);
}

/* A predicted class without texts stays among the classes over which macro-F1 averages. */
Test(metrics, a_class_that_no_text_has_stays_counted) {
    struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
    const struct nvdp_task task = {.classes = 3, .metrics = 1, .metric = {NVDP_METRIC_MACRO_F1}};
    float outputs[3 * 40] = {0}, actual[40];
    const float *draw = outputs;
    for (size_t i = 0; i < 40; i++) {
        actual[i] = i % 2;
        outputs[3 * i + (i == 0 ? 2 : i % 2)] = 1;
    }
    nvdp__score(&task, 40, actual, 1, &draw, &scores);
    ok(nvdp__add_intervals(ctx, &task, 40, actual, 1, &draw, &scores));
    cr_expect_leq(scores.high[0],
                  2 / 3. + 1e-12); /* was 1: samples without text 0 had two classes */
    cr_expect_gt(scores.low[0], .6);
}

/* Three labels of 40 are not 0: one plain sample in twenty is constant and has correlation 0. */
Test(metrics, no_resample_of_a_correlation_is_constant) {
    struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
    const struct nvdp_task task = {
        .regression = true, .classes = 1, .metrics = 1, .metric = {NVDP_METRIC_PEARSON}};
    float outputs[40], actual[40];
    const float *draw = outputs;
    for (size_t i = 0; i < 40; i++) {
        actual[i] = i < 3 ? (float)(i + 1) : 0;
        outputs[i] = actual[i] + (i % 2 > 0 ? .02F : -.02F);
    }
    nvdp__score(&task, 40, actual, 1, &draw, &scores);
    ok(nvdp__add_intervals(ctx, &task, 40, actual, 1, &draw, &scores));
    cr_expect_gt(scores.low[0], .9);
}

/* 300 splits of 50 texts of a class that is found 4 times of 5, and 150 texts of another that is
 * mistaken for it once in ten. The interval contains the expected macro-F1 19 times of 20. For
 * 300 splits, 95 % +- 3.8 standard deviations are 90.2 to 99.8 %: one false alarm in 7000. */
Test(metrics, intervals_hold_the_truth) {
    enum { SPLITS = 300, RARE = 50 };
    const double found = .8, wrong = .1, common = MAX_TEXTS - RARE;
    const double predicted = RARE * found + common * wrong, other = MAX_TEXTS - predicted;
    const double truth =
        RARE * found / (RARE + predicted) + common * (1 - wrong) / (common + other);
    const struct nvdp__noise noise = {.seed = 5};
    size_t inside = 0;
    for (size_t k = 0; k < SPLITS; k++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, k);
        bool say[MAX_TEXTS];
        for (size_t i = 0; i < MAX_TEXTS; i++)
            say[i] = (double)nvdp__stream_below(&stream, 1000) < 1000 * (i < RARE ? found : wrong);
        const struct nvdp_scores scores = scored(&ratios, MAX_TEXTS, RARE, say);
        inside += scores.low[0] <= truth && truth <= scores.high[0];
    }
    cr_expect(inside >= 271 && inside <= 299, "%zu of %d", inside, SPLITS);
}

struct said {
    size_t warnings;
    char text[512];
};

static void hear(enum nvdp_log_level level, const char *message, void *user) {
    struct said *said = user;
    if (level != NVDP_LOG_WARNING) return;
    said->warnings++;
    snprintf(said->text, sizeof said->text, "%s", message);
}

/* A score below the most frequent class is a warning however few texts there are; so are very few training texts. */
Test(metrics, warnings_of_what_shows_nothing) {
    struct said said = {0};
    struct nvdp_scores scores = {.metric = {NVDP_METRIC_ACCURACY}, .n = 20, .majority = .5};
    nvdp_context_set_log(ctx, hear, &said);
    scores.mean[0] = .55; /* 20 texts prove nothing, and claim nothing */
    scores.low[0] = .3;
    nvdp__warn_of_chance(ctx, &scores);
    cr_expect_eq(said.warnings, 0);
    scores.n = 200;
    nvdp__warn_of_chance(ctx, &scores);
    cr_expect_eq(said.warnings, 1);
    support_contains(said.text, "does not differ significantly");
    scores.mean[0] = .45;
    scores.n = 20;
    nvdp__warn_of_chance(ctx, &scores);
    cr_expect_eq(said.warnings, 2);
    support_contains(said.text, "0.4500 is below that of always guessing the most frequent class");
    scores.metric[0] = NVDP_METRIC_MATTHEWS; /* compares with another number */
    nvdp__warn_of_chance(ctx, &scores);
    nvdp__warn_of_few(ctx, 300);
    cr_expect_eq(said.warnings, 2);
    nvdp__warn_of_few(ctx, 10);
    cr_expect_eq(said.warnings, 3);
    support_contains(said.text, "10 training texts: so few show hardly anything");
}
