/* Tests membership: a mechanism whose curve is known, one that reveals nothing, runs, files and training.  Seeds are
 * fixed; comments state the false-alarm rates. */
#include "attack/membership.h"
#include "attack_test.h"

#include "test_context.h"

static double phi(double x) {
    return erfc(-x * M_SQRT1_2) / 2;
}

static const struct nvdp__text_score *score_of(const struct nvdp__text_score *score, size_t n,
                                               const char *observed,
                                               enum nvdp__text_metric metric) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(score[i].observed, observed) == 0 && score[i].metric == metric) return &score[i];
    cr_assert_fail("no %s of %s", nvdp__text_metric_name(metric), observed);
    return NULL;
}

/* Compares two sets of scores. */
static struct nvdp__text_attack compare(size_t members, const double *in, size_t others,
                                        const double *out, const struct nvdp__tradeoff *proven) {
    struct nvdp__text_attack a = {.ctx = ctx};
    ok(nvdp__add_roc(&a, NVDP__OBSERVED_RELEASE, members, in, others, out, proven));
    support_keep(a.score);
    return a;
}

/* --- what is proven --- */

/* Pure epsilon: the best test guesses right with probability e^eps/(1 + e^eps), and its curve has one corner. */
Test(tradeoff, of_pure_epsilon_has_one_corner) {
    const double epsilon = 1.3, right = exp(epsilon) / (1 + exp(epsilon));
    struct nvdp__tradeoff proven = {.mu = INFINITY};
    cr_expect(!nvdp__tradeoff_proves(&proven));
    cr_expect_eq(nvdp__tradeoff_tpr(&proven, .1), 1);
    nvdp__tradeoff_add(&proven, INFINITY, 0);
    cr_expect(!nvdp__tradeoff_proves(&proven));
    nvdp__tradeoff_add(&proven, epsilon, 0);
    cr_expect(nvdp__tradeoff_proves(&proven));
    near(nvdp__tradeoff_tpr(&proven, .01), exp(epsilon) * .01, 1e-12);
    near(nvdp__tradeoff_tpr(&proven, .9), 1 - exp(-epsilon) * .1, 1e-12);
    cr_expect(nvdp__tradeoff_auc(&proven) >= right && nvdp__tradeoff_auc(&proven) < right + 1e-4);
    cr_expect(nvdp__tradeoff_accuracy(&proven) >= right &&
              nvdp__tradeoff_accuracy(&proven) < right + 1e-4);
}

/* The sums over cells are above the closed forms, by less than 1e-4. */
Test(tradeoff, of_a_gaussian) {
    const struct nvdp__tradeoff exact = {.mu = 1.5};
    struct nvdp__tradeoff in_cells = {.mu = 1.5};
    nvdp__tradeoff_add(&in_cells, 300, 0); /* no limit */
    near(nvdp__tradeoff_auc(&exact), phi(1.5 / M_SQRT2), 1e-12);
    near(nvdp__tradeoff_accuracy(&exact), phi(.75), 1e-12);
    const double more = nvdp__tradeoff_auc(&in_cells) - nvdp__tradeoff_auc(&exact),
                 better = nvdp__tradeoff_accuracy(&in_cells) - nvdp__tradeoff_accuracy(&exact);
    cr_expect(more >= 0 && more < 1e-4, "%g", more);
    cr_expect(better >= 0 && better < 1e-4, "%g", better);
}

/* --- scores --- */

enum { TRIALS = 4000 };

/* Makes two texts of one number each: 0 and `mu`, with noise of variance 1. */
static struct nvdp_posteriors *two(double mu) {
    struct nvdp_posteriors *set = made_two_texts(ctx, 1, 2, 1, false);
    set->mu[1] = mu;
    return set;
}

/* A file of one text at mu, or of a text at 0 in its place.  The likelihood ratio is increasing in z, so AUC =
 * Phi(mu/sqrt 2) and TPR = Phi(Phi^-1(FPR) + mu): the curve that is proven is attained.  Tolerances are 4.4 standard
 * deviations. */
Test(membership, of_one_gaussian_has_a_closed_form) {
    static const double mus[] = {0, .5, 2};
    double *in = support_keep(calloc(TRIALS, sizeof *in)), *out = support_keep(calloc(TRIALS, 8));
    for (size_t c = 0; c < 3; c++) {
        const double mu = mus[c];
        struct nvdp_posteriors *set = two(mu);
        size_t zero = 0, one = 1;
        double score, other, background;
        const struct nvdp__candidates texts[] = {
            {set, 1, &one, &score}, {set, 1, &zero, &other}, {set, 1, &zero, &background}};
        for (uint64_t k = 0; k < TRIALS; k++) {
            const struct nvdp__sampler sampler = {.posteriors = set, .noise.seed = k + 1};
            const struct nvdp__sample_source source = {nvdp__linkage_draw, &sampler, -INFINITY};
            const struct nvdp__sampled_file file = {set, &source, 1, 1, &one, k + TRIALS + 1};
            ok(nvdp__membership_scores(ctx, &file, &texts[0], &texts[1], &texts[2], &out[k]));
            in[k] = score;
            cr_assert_eq(other, 0, "the background's own text"); /* p = q */
        }
        const struct nvdp__tradeoff proven = {.mu = mu};
        struct nvdp__text_attack a = compare(TRIALS, in, TRIALS, out, &proven);
        const struct nvdp__text_score *auc =
            score_of(a.score, a.scores, "release", NVDP__TEXT_METRIC_AUC);
        near(auc->value, phi(mu / M_SQRT2), 4.4 * .0065, "%g", mu);
        near(auc->bound, phi(mu / M_SQRT2), 1e-9);
        cr_expect_lt(auc->interval.high - auc->interval.low, .027);
        const struct nvdp__text_score *tpr =
            score_of(a.score, a.scores, "release", NVDP__TEXT_METRIC_TPR_PERCENT);
        const double want = mu == 0 ? .01 : phi(-2.3263478740408408 + mu);
        cr_expect(tpr->interval.low < want + .02 && tpr->interval.high > want - .02, "%g: %g", mu,
                  tpr->value);
        near(tpr->baseline, .0141383, 1e-7); /* of 40 in 4000, at 1.25 % */
        cr_expect_leq(tpr->interval.low, tpr->bound);
        const struct nvdp__text_score *right =
            score_of(a.score, a.scores, "release", NVDP__TEXT_METRIC_ACCURACY);
        near(right->value, phi(mu / 2), 4.4 * .008, "%g", mu);
    }
}

/* Scores that know nothing: AUC .5 is in 95 % of the intervals, and nothing exceeds what is proven of no information
 * more often than the intervals fail.  Of 300 draws, fewer than 270 or more than 8 % would occur by chance in one of
 * 10^4 cases. */
Test(membership, of_no_information_is_chance) {
    enum { DRAWS = 300, N = 200 };
    const struct nvdp__tradeoff nothing = {.mu = 0};
    struct nvdp__stream stream = support_stream(4, 0);
    double in[N], out[N];
    size_t covered = 0, above[4] = {0};
    for (int draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < N; i++) {
            in[i] = nvdp__stream_normal(&stream);
            out[i] = nvdp__stream_normal(&stream);
        }
        struct nvdp__text_attack a = compare(N, in, N, out, &nothing);
        covered += a.score[0].interval.low <= .5 && a.score[0].interval.high >= .5;
        for (size_t k = 0; k < 3; k++)
            above[k] += a.score[k].interval.low > a.score[k].bound;
        cr_expect(isnan(a.score[3].value) && isnan(a.score[3].bound)); /* 200 texts: no .1 % */
    }
    cr_expect(covered >= 270, "%zu", covered);
    for (size_t k = 0; k < 3; k++)
        cr_expect_leq(above[k], 24, "%zu: %zu", k, above[k]);
}

/* The interval of a TPR holds at exactly its FPR: each end fails in at most 1 of 40 cases, 24 of 300 by chance. Scores
 * are normal, and 1.5 apart. */
Test(membership, of_a_rate_covers_the_threshold) {
    enum { DRAWS = 300, N = 1000 };
    struct nvdp__stream stream = support_stream(5, 0);
    double in[N], out[N];
    const double want = phi(-2.3263478740408408 + 1.5);
    size_t below = 0, above = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < N; i++) {
            in[i] = 1.5 + nvdp__stream_normal(&stream);
            out[i] = nvdp__stream_normal(&stream);
        }
        struct nvdp__text_attack a = compare(N, in, N, out, NULL);
        const struct nvdp__text_score *tpr =
            score_of(a.score, a.scores, "release", NVDP__TEXT_METRIC_TPR_PERCENT);
        below += tpr->interval.high < want;
        above += tpr->interval.low > want;
        cr_expect(tpr->interval.low > 0 && tpr->interval.high < .5);
    }
    cr_expect(below <= 24 && above <= 24, "%zu and %zu", below, above);
}

/* Ties count half; without an error the interval is that of a share. */
Test(membership, of_perfect_and_equal_scores) {
    double in[50], out[50];
    for (size_t i = 0; i < 50; i++) {
        in[i] = 1;
        out[i] = 0;
    }
    struct nvdp__text_attack a = compare(50, in, 50, out, NULL);
    cr_expect_eq(a.score[0].value, 1);
    near(a.score[0].interval.low, pow(.025, 1. / 50), 1e-9);
    cr_expect_eq(a.score[1].value, 1);
    cr_expect(isnan(a.score[0].bound) && isnan(a.score[2].value));
    a = compare(50, out, 50, out, NULL);
    cr_expect_eq(a.score[0].value, .5);
    cr_expect_eq(a.score[1].value, .5);
}

/* --- runs and files --- */

struct found {
    const json_t *report;
    const char *verdict;
};

/* Runs the attack with options: names and values with spaces between them. */
static nvdp_status attack(const char *run, const char *options, struct found *found) {
    struct nvdp_config *config =
        support_config(ctx, "attack", "kind", "membership", "run", run, NULL);
    struct nvdp_attack_result *result = NULL;
    char *verdict = NULL;
    support_options(ctx, config, "%s", options);
    NVDP_TRY(nvdp_attack(ctx, config, &result));
    support_keep(result);
    found->report = support_result_json(ctx, result, NULL);
    const char *text = support_result_text(ctx, result, NULL);
    support_contains(text, "TPR at FPR 1 %");
    /* the bounds of an audit have a row and a key each */
    const json_t *audit = json_object_get(found->report, "audit");
    static const char *const rows[][2] = {
        {"one run", "epsilon"}, {"curve", "curve_epsilon"}, {"mu", "mu"}};
    for (size_t i = 0; json_is_object(audit) && i < 3; i++)
        support_contains(text, support_path("  %-*s%s >= %.3f (proven: at most ", 16, rows[i][0],
                                            i < 2 ? "epsilon" : "mu",
                                            nvdp__lower_bound(number_at(audit, rows[i][1]), 3)));
    ok(nvdp_attack_verdict(ctx, result, &verdict));
    found->verdict = support_keep(verdict);
    return NVDP_OK;
}

/* Runs an attack that finds no violation, and returns its report. */
static const json_t *attacked(const char *run, const char *options) {
    struct found found;
    ok(attack(run, options, &found));
    cr_expect_str_empty(found.verdict, "%s", found.verdict);
    return found.report;
}

/* A number of a score in the report. */
static double number(const json_t *report, const char *observed, const char *metric,
                     const char *key) {
    const json_t *scores = json_object_get(report, "scores"), *score;
    size_t i;
    json_array_foreach(scores, i, score) {
        if (strcmp(text_at(score, "observed"), observed) != 0 ||
            strcmp(text_at(score, "metric"), metric) != 0)
            continue;
        const json_t *value = json_object_get(score, key);
        return json_is_array(value) ? number_at(value, "0") : json_number_value(value);
    }
    cr_assert_fail("no %s of %s", metric, observed);
    return NAN;
}

/* Writes n different texts of seven words, from `first` on, to a file of the task. */
static const char *write_different(const char *name, size_t first, size_t n) {
    static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                        "sea",  "red", "blue", "one", "two"};
    const char *path = support_scratch_path(name);
    FILE *file = fopen(path, "w");
    fprintf(file, "sentence\tlabel\n");
    for (size_t i = first; i < first + n; i++) {
        for (size_t k = 0, digits = i * 7919 % 1000000; k < 6; k++, digits /= 10)
            fprintf(file, "%s ", words[digits % 10]);
        fprintf(file, "%s\t%zu\n", words[i % 2], i % 2);
    }
    fclose(file);
    return path;
}

static const struct run_choice certified = {.method = NVDP_METHOD_NVDP,
                                            .query = 0,
                                            .policy = NVDP_LENGTH_HIDDEN,
                                            .epochs = 1,
                                            .clip_sequence = 8};

/* A certified run, with pairs that a coin decides: with 400 samples each the texts are found, with one sample and a
 * tiny clip they are not. */
Test(membership, of_a_certified_run) {
    double found[2];
    for (int small = 0; small < 2; small++) {
        struct run_choice choice = certified;
        choice.clip_sequence = small ? .05 : 8;
        const char *run = task_run(ctx, small ? "small" : "run", &choice, NULL);
        const char *data = support_scratch_path("many");
        if (!small) mkdir(data, 0777);
        write_different("many/dev.tsv", 0, 400);
        const char *known = write_different("public.tsv", 1000, 300);
        const json_t *report = attacked(
            run, support_path("data %s public %s releases %s", data, known, small ? "1" : "400"));
        support_has(report, "{'members': 200, 'others': 200}");
        near(number_at(report, "mu"), small ? .1 : 320, 1e-9);
        found[small] = number(report, "release", "AUC", "value");
        cr_expect_leq(number(report, "release", "AUC", "interval"),
                      number(report, "release", "AUC", "bound"));
        cr_expect_gt(number(report, "states", "AUC", "value"), .9);
        cr_expect_eq(integer_at(report, "audit/canaries"), 200);
        cr_expect_leq(number_at(report, "audit/epsilon"), number_at(report, "epsilon"));
    }
    cr_expect(found[1] > .4 && found[1] < .6, "%g", found[1]);
    cr_expect_gt(found[0], .8, "%g", found[0]);
}

/* A given file: its texts are found among public ones; each is compared with a public text in its place, which is
 * bounded.  Refused: no public texts, few of them, methods without samples, options that do not fit. */
Test(membership, of_a_shared_file) {
    struct run_choice choice = certified;
    struct found found;
    const char *run = task_run(ctx, "run", &choice, NULL);
    const char *data = support_scratch_path("many"), *file = support_scratch_path("shared.h5");
    mkdir(data, 0777);
    write_different("many/dev.tsv", 0, 60);
    const char *known = write_different("public.tsv", 30, 300); /* half of the texts are public */
    const struct nvdp_config *config = support_config(
        ctx, "export", "run", run, "data", data, "split", "dev", "out", file, "samples", "100",
        "measure-texts", "2", "insecure-seed", "7", "no-ledger", "true", NULL);
    ok(nvdp_export(ctx, config, NULL));
    const char *given = support_path("data %s shared %s", data, file);
    const json_t *report = attacked(run, support_path("%s public %s releases 100", given, known));
    support_has(report, "{'members': 60, 'others': 135, 'both': 30}");
    cr_expect_gt(number(report, "release", "AUC", "value"), .8);
    cr_expect_gt(number(report, "replaced", "AUC", "value"), .8);
    cr_expect_leq(number(report, "replaced", "AUC", "interval"),
                  number(report, "replaced", "AUC", "bound"));
    cr_expect(!json_is_object(json_object_get(report, "audit")));

    const char *one = support_path("%s public %s", given, known),
               *few = support_path("%s public %s releases 100", given,
                                   write_different("few.tsv", 10, 60)),
               *small = support_path("data %s public %s", data, known);
    fails(attack(run, given, &found), NVDP_ERR_ARGUMENT, "public: expected a file");
    fails(attack(run, one, &found), NVDP_ERR_ARGUMENT,
          "releases: expected 100, all samples of a text in ");
    support_contains(nvdp_context_error(ctx), "shared.h5, found 1");
    fails(attack(run, few, &found), NVDP_ERR_INPUT,
          "40 different public texts that are not in it, found 60 and 10");
    write_different("many/dev.tsv", 0, 30);
    fails(attack(run, small, &found), NVDP_ERR_INPUT, "expected at least 40 different texts");
    choice.method = NVDP_METHOD_BASE;
    choice.clip_sequence = 0;
    const char *base = task_run(ctx, "base", &choice, NULL);
    fails(attack(base, small, &found), NVDP_ERR_ARGUMENT, "base");
}

/* --- training --- */

/* By hand: logits {0, 2} without text 0 and {4, 8} with it; {1, 3} with text 1, which all runs saw.  Variances are 2
 * and (8 + 2)/2 = 5, means differ by 5, so text 1 without is taken at 2 - 5. */
Test(shadows, by_hand) {
    const struct nvdp__shadow_sums sums[] = {{{2, 2}, {2, 12}, {4, 80}}, {{0, 2}, {0, 4}, {0, 10}}};
    const double phi[] = {3, 1}, out = 2 * 1.5, in = 5 * 1.5;
    double score[2];
    ok(nvdp__shadow_scores(ctx, 2, sums, phi, score));
    const double volumes = log(out / in) / 2;
    near(score[0], (2 * 2 / out - 3 * 3 / in) / 2 + volumes, 1e-12);
    near(score[1], (4 * 4 / out - 1 * 1 / in) / 2 + volumes, 1e-12);
    fails(nvdp__shadow_scores(ctx, 1, sums + 1, phi, score), NVDP_ERR_NUMERIC,
          "shadows: expected texts that some of the runs saw");
}

/* Logits are N(0, 1) without a text and N(1.5, 1) with it.  With many runs the score is the log likelihood ratio of
 * both (within 4.4 standard errors of the two means), and its AUC is the best, Phi(1.5/sqrt 2). */
Test(shadows, of_known_gaussians) {
    enum { TEXTS = 2000, RUNS = 256 };
    const double shift = 1.5;
    const struct nvdp__noise noise = {.seed = 6};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    struct nvdp__shadow_sums *sums = support_keep(calloc(TEXTS, sizeof *sums));
    double *logit = support_keep(calloc(TEXTS, sizeof *logit)),
           *score = support_keep(calloc(TEXTS, sizeof *score));
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t k = 0; k < RUNS; k++) {
            const size_t in = k % 2;
            const double x = nvdp__stream_normal(&stream) + shift * (double)in;
            sums[i].n[in]++;
            sums[i].sum[in] += x;
            sums[i].square[in] += x * x;
        }
        logit[i] =
            nvdp__stream_normal(&stream) + shift * (i < TEXTS / 2); /* the first are members */
    }
    ok(nvdp__shadow_scores(ctx, TEXTS, sums, logit, score));
    for (size_t i = 0; i < TEXTS; i++) {
        const double off = fabs(logit[i]) + fabs(logit[i] - shift);
        near(score[i], shift * logit[i] - shift * shift / 2, 4.4 * off / sqrt(RUNS / 2) + .1, "%zu",
             i);
    }
    struct nvdp__text_attack a = compare(TEXTS / 2, score, TEXTS / 2, score + TEXTS / 2, NULL);
    near(a.score[0].value, phi(shift / M_SQRT2), 4.4 * .009);
}

enum { MEMORIZED = 120 };

/* Trains on different texts whose labels are random, or (`learnable`) name their last word. */
static const char *train_on(const char *name, bool learnable, double lr, double dp_noise,
                            uint64_t seed, enum nvdp_protocol protocol) {
    const struct nvdp__noise noise = {.seed = 3};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    const char *data = support_scratch_path(learnable ? "learn" : "memorize");
    const char *run = support_scratch_path(name);
    char path[600];
    static const char *const splits[] = {"train", "dev"};
    mkdir(data, 0777);
    for (size_t s = 0; s < 2; s++) {
        snprintf(path, sizeof path, "%s/%s.tsv", data, splits[s]);
        nvdp__autoptr(fclose) FILE *file = fopen(path, "w");
        fprintf(file, "sentence\tlabel\n");
        for (size_t i = 0; i < (s == 0 ? MEMORIZED : 24); i++) {
            static const char *const words[] = {"good", "bad", "cat",  "dog", "sun",
                                                "sea",  "red", "blue", "one", "two"};
            const size_t last = nvdp__stream_below(&stream, 2),
                         coin = nvdp__stream_below(&stream, 2);
            for (size_t k = 0; k < 6; k++)
                fprintf(file, "%s ", words[2 + nvdp__stream_below(&stream, 8)]);
            fprintf(file, "%s\t%zu\n", words[last], learnable ? 1 - last : coin);
        }
    }
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, run);
    config.data = data;
    config.epochs = learnable ? 4 : dp_noise > 0 ? 2 : 14;
    config.adamw.lr = lr;
    config.protocol = protocol;
    config.select = NVDP__SELECT_LAST;
    config.dropout = config.classifier_dropout = 0;
    task_set(&config, "batch 2 holdout .3 eval-draws 1 overwrite true");
    if (dp_noise > 0) {
        config.dp.noise = dp_noise;
        config.dp.batch = 8;
        config.dp.insecure_seed = seed;
    }
    task_train(ctx, &config);
    return run;
}

/* Memorized labels are found by loss, and by shadow runs, which a second attack uses again.  Nothing is proven. */
Test(membership, of_memorized_texts) {
    const char *run = train_on("overfit", false, 5e-3, 0, 0, NVDP_PROTOCOL_HOLDOUT);
    static const char options[] = "members training shadows 4";
    struct found found;
    const json_t *report = attacked(run, options);
    support_has(report, "{'members': 84, 'others': 36}");
    const double first = number(report, "shadows", "AUC", "value"),
                 bound = number(report, "loss", "AUC", "bound");
    cr_expect_gt(number(report, "loss", "AUC", "interval"), .55, "%g",
                 number(report, "loss", "AUC", "value"));
    cr_expect_gt(first, .55, "%g", first);
    cr_expect(isnan(bound) || bound == 0);
    const char *path = support_path("%s.shadows/3/result.json", run);
    const char *before = support_read(path);
    report = attacked(run, options);
    cr_expect_str_eq(before, support_read(path));
    cr_expect_eq(number(report, "shadows", "AUC", "value"), first);

    /* a folder of other runs: the run was trained again with another option; options that do not fit */
    train_on("overfit", false, 4e-3, 0, 0, NVDP_PROTOCOL_HOLDOUT);
    fails(attack(run, options, &found), NVDP_ERR_INPUT, ".shadows/1: expected shadow run of");
    support_contains(nvdp_context_error(ctx), "with --lr 0.004, found 0.005; remove the folder");
    train_on("overfit", false, 5e-3, 0, 0, NVDP_PROTOCOL_HOLDOUT);
    fails(attack(run, "members training shadows 1", &found), NVDP_ERR_ARGUMENT,
          "shadows: expected 0 or at least 2, found 1");
    const char *other = train_on("overfit.shadows/2", true, 5e-3, 0, 0, NVDP_PROTOCOL_HOLDOUT);
    fails(attack(run, options, &found), NVDP_ERR_INPUT, "2: expected shadow run of");
    fails(attack(other, "members training shared x.h5", &found), NVDP_ERR_ARGUMENT,
          "shared: expected no file");
    fails(attack(other, "members training releases 2", &found), NVDP_ERR_ARGUMENT,
          "releases: expected 1");
    fails(attack(other, "members training delta 1e-6", &found), NVDP_ERR_ARGUMENT,
          "delta: expected none");
    const char *dev = train_on("dev", true, 5e-3, 0, 0, NVDP_PROTOCOL_DEV);
    fails(attack(dev, options, &found), NVDP_ERR_ARGUMENT,
          "shadows: expected a run whose train file");
}

/* A label that generalizes tells nothing: the interval contains .5, for held-out texts and for others. */
Test(membership, of_texts_that_generalize) {
    for (int dev = 0; dev < 2; dev++) {
        const char *run =
            train_on("general", true, 5e-3, 0, 0, dev ? NVDP_PROTOCOL_DEV : NVDP_PROTOCOL_HOLDOUT);
        struct found found;
        ok(attack(run, "members training limit 22", &found));
        const json_t *report = found.report;
        support_has(report, "{'members': 22, 'others': 22}");
        cr_expect_lt(number(report, "loss", "AUC", "interval"), .5);
        cr_expect_gt(number(report, "loss", "AUC", "value"), .3);
    }
}

/* Private training: the accountant's epsilon for one text in place of another bounds the score, and is not exceeded; noise
 * from a seed proves nothing. Its held-out texts are those of a shadow run too, so there are none. */
Test(membership, of_private_training) {
    for (uint64_t seed = 0; seed < 2; seed++) {
        const char *run = train_on("private", false, 5e-3, 4, seed, NVDP_PROTOCOL_HOLDOUT);
        struct found found;
        const json_t *report = attacked(run, "members training");
        const double epsilon = number_at(report, "epsilon"), delta = number_at(report, "delta"),
                     bound = number(report, "loss", "AUC", "bound");
        cr_expect_eq(json_is_number(json_object_get(report, "epsilon")), seed == 0);
        cr_expect(!json_is_real(json_object_get(report, "mu")), "numerical, not proven");
        if (seed == 0) {
            struct nvdp__tradeoff proven = {.mu = INFINITY};
            nvdp__autoresult struct nvdp_training_privacy training =
                NVDP_RESULT(struct nvdp_training_privacy);
            ok(nvdp_training_privacy(ctx, run, &training, NULL));
            cr_expect_eq(epsilon, training.risk->replaced_epsilon);
            cr_expect_gt(epsilon, 1.9 * training.account->pld_epsilon);
            cr_expect(bound > .5 && bound < 1, "%g", bound);
            cr_expect_leq(number(report, "loss", "AUC", "interval"), bound);
            nvdp__tradeoff_add(&proven, epsilon, delta);
            near(bound, nvdp__tradeoff_auc(&proven), 1e-9);
        }
        fails(attack(run, "members training shadows 2", &found), NVDP_ERR_ARGUMENT,
              "shadows: expected a run without private training");
    }
}
