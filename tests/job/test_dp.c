/* Tests private training: the examples in a step, clipping, noise, the independence of the
 * update from other data, then whole runs, their budgets and statements. */
#include "tests/support/killed.h"
#include "tests/support/tiny_task.h"
#include "train/trainer.h"

#include <ctype.h>

#include "test_context.h"

enum { BILSTM = 1 }; /* index in nvdp__encoder_choices */

/* A trainer on the tiny task with random weights, as nvdp_train has it before its first step. */
struct fixture {
    struct nvdp_context *ctx;
    struct task task;
    struct nvdp__trainer t;
};

static struct fixture open_fixture(enum nvdp_method method, const struct nvdp__dp_options *dp,
                                   size_t batch, enum nvdp_precision precision) {
    struct fixture f = {.ctx = support_context()};
    nvdp__allow_plain_bf16(f.ctx);
    f.task = precision == NVDP_PRECISION_BF16 ? task_make_wide(f.ctx) : task_make(f.ctx);
    f.t = (struct nvdp__trainer){.ctx = f.ctx, .config = task_config(&f.task, method, "none")};
    f.t.config.batch = batch;
    f.t.config.protocol = NVDP_PROTOCOL_DEV;
    f.t.config.precision = precision;
    f.t.config.adamw.clip_norm = 0;
    if (dp != NULL) f.t.config.dp = *dp;
    return f;
}

static void start(struct fixture *f) {
    f->t.config.data = f->task.data;
    f->t.config.model = f->task.model;
    ok(nvdp__trainer_open(&f->t));
    ok(nvdp__trainer_allocate(&f->t, true));
    nvdp__model_initialise(f->t.model, 3);
    ok(nvdp__model_initialise_bottleneck(f->t.model, NULL, 3));
    for (size_t i = 0; i < f->t.train->count; i++)
        f->t.job.order[i] = (int64_t)i;
    support_keep_parts(f->t);
}

static struct nvdp__job_step step(struct fixture *f) {
    ok(nvdp__job_step(&f->t.job));
    return f->t.job.last;
}

static const struct nvdp__params *params_of(const struct fixture *f) {
    return &f->t.model->params;
}

static double norm_of(size_t n, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static double distance(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (double)y[i], 2);
    return sqrt(sum);
}

/* Returns options that are not private: every example in every step, no clipping, no noise. */
static struct nvdp__dp_options open_options(void) {
    return (struct nvdp__dp_options){.clip = INFINITY, .sample_rate = 1, .insecure_seed = 1};
}

/* Matrices have the same bits as in ordinary training. Biases, LayerNorms and other values kept
 * per text are summed text by text, in double. Ordinary training sums row by row, so these agree
 * up to rounding. */
static void equals_ordinary(enum nvdp_method method) {
    const struct nvdp__dp_options dp = open_options();
    struct fixture plain = open_fixture(method, NULL, TASK_TRAIN, NVDP_PRECISION_F32);
    struct fixture private = open_fixture(method, &dp, TASK_TRAIN, NVDP_PRECISION_F32);
    start(&plain);
    start(&private);
    struct nvdp__job_step want = step(&plain), got = step(&private);
    cr_expect_eq(plain.t.losses.task, private.t.losses.task);
    cr_expect_eq(want.tokens, got.tokens);
    const struct nvdp__params *params = params_of(&plain);
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        const float *x = nvdp__grad(params, i), *y = nvdp__grad(params_of(&private), i);
        if ((entry->flags & (NVDP__PARAM_LINEAR | NVDP__PARAM_ROWS)) != 0)
            cr_expect_eq(memcmp(x, y, entry->count * sizeof *x), 0, "%s", entry->name);
        cr_expect_leq(distance(entry->count, x, y), 2e-6 * norm_of(entry->count, x) + 1e-9, "%s",
                      entry->name);
    }
}

Test(dp, without_noise_and_clipping_it_is_ordinary_training) {
    equals_ordinary(NVDP_METHOD_BASE);
    equals_ordinary(NVDP_METHOD_VTDP);
    equals_ordinary(NVDP_METHOD_VIB_LEARNED);
}

/* The sum does not depend on the number of examples processed at a time. */
Test(dp, micro_batches_add_up) {
    struct nvdp__dp_options dp = open_options();
    dp.clip = 15; /* some examples' gradients are longer, others shorter */
    dp.noise = 1;
    dp.insecure_seed = 5;
    struct fixture whole = open_fixture(NVDP_METHOD_NVDP, &dp, TASK_TRAIN, NVDP_PRECISION_F32);
    struct fixture parts = open_fixture(NVDP_METHOD_NVDP, &dp, 7, NVDP_PRECISION_F32);
    start(&whole);
    start(&parts);
    step(&whole);
    step(&parts);
    const struct nvdp__params *params = params_of(&whole);
    cr_expect_leq(distance(params->total, params->grad, params_of(&parts)->grad),
                  1e-5 * norm_of(params->total, params->grad));
    nvdp__autoptr(json_decref) json_t *line = json_object();
    ok(nvdp__dp_spent(parts.t.job.dp, 1, 0, line));
    const double clipped = number_at(line, "clipped");
    cr_expect_eq(parts.t.job.dp->seen, parts.t.job.dp->examples);
    cr_expect_eq(parts.t.job.dp->clipped, whole.t.job.dp->clipped);
    cr_expect(clipped > 0 && clipped < 1, "%g", clipped);
}

/* The loss of words is the mean over all words and does not depend on the number of sentences
 * processed at a time. */
Test(dp, the_loss_of_words_does_not_depend_on_the_batch) {
    const struct nvdp__dp_options dp = open_options();
    double loss[2];
    for (int k = 0; k < 2; k++) {
        struct fixture f = open_fixture(NVDP_METHOD_BASE, &dp, k == 0 ? 2 : 64, NVDP_PRECISION_F32);
        snprintf(f.task.data, sizeof f.task.data, "%s", support_scratch_path("ner"));
        mkdir(f.task.data, 0700);
        for (int file = 0; file < 2; file++)
            support_write_text(support_path("%s/%s.tsv", f.task.data, file == 0 ? "train" : "dev"),
                               "a\tB-X\n\nb\tO\n\na\tO\nb\tI-X\na\tO\nb\tO\n");
        f.t.config.task = "ner";
        start(&f);
        step(&f);
        loss[k] = f.t.losses.task;
    }
    near(loss[0], loss[1], 1e-6 * loss[1]);
}

/* If training stopped at a text whose loss is not finite, this would reveal the text; its
 * gradient counts as 0. */
static void goes_on(enum nvdp_method method, enum nvdp_precision precision) {
    enum { LONG = 7 }; /* texts have 5 to 8 tokens */
    struct nvdp__dp_options dp = {.clip = 1, .noise = 1, .sample_rate = 1, .insecure_seed = 4};
    struct fixture f = open_fixture(method, &dp, 7, precision);
    start(&f);
    const struct nvdp__params *params = params_of(&f);
    const struct nvdp_dataset *texts = f.t.train;
    size_t longest = 0;
    for (size_t i = 0; i < texts->count; i++)
        longest += texts->offset[i + 1] - texts->offset[i] > LONG;
    cr_assert(longest > 0 && longest < texts->count);
    nvdp__value(params, f.t.model->bert.position)[LONG * f.t.model->info.bert.hidden_size] = NAN;
    nvdp__weights_changed(&f.t.model->dev);
    struct nvdp__job_step report = step(&f);
    cr_expect_eq(report.left_out, longest);
    cr_expect(isfinite(report.total) && report.total > 0, "%g", report.total);
    cr_expect(isfinite(norm_of(params->total, params->grad)));
    nvdp__autoptr(json_decref) json_t *line = json_object();
    ok(nvdp__dp_spent(f.t.job.dp, 1, (double)report.left_out, line));
    cr_expect_eq(number_at(line, "left_out"), (double)longest);
}

Test(dp, a_loss_that_is_no_number_does_not_stop_the_run) {
    goes_on(NVDP_METHOD_BASE, NVDP_PRECISION_F32);
    goes_on(NVDP_METHOD_NVDP, NVDP_PRECISION_F32);
    goes_on(NVDP_METHOD_BASE, NVDP_PRECISION_BF16);
}

/* One example with any gradient changes the sum by at most C. */
static void is_clipped(enum nvdp_method method, enum nvdp_precision precision) {
    struct nvdp__dp_options dp = {.clip = 1e-3, .noise = 1, .sample_rate = 1};
    struct fixture f = open_fixture(method, &dp, 8, precision);
    start(&f);
    f.t.job.dp->noise = 0; /* no option allows this */
    f.t.job.dp->examples = 1;
    step(&f);
    double norm = norm_of(params_of(&f)->total, params_of(&f)->grad) * f.t.job.dp->divisor;
    cr_expect_leq(norm, dp.clip * (1 + 1e-6));
    cr_expect_geq(norm, dp.clip * (precision == NVDP_PRECISION_F32 ? 0.99 : 0.95), "%g", norm);
    cr_expect_eq(f.t.job.dp->clipped, 1);
}

Test(dp, each_example_is_clipped) {
    is_clipped(NVDP_METHOD_BASE, NVDP_PRECISION_F32);
    is_clipped(NVDP_METHOD_NVDP, NVDP_PRECISION_F32);
    is_clipped(NVDP_METHOD_VIB_FIXED, NVDP_PRECISION_F32);
    is_clipped(NVDP_METHOD_BASE, NVDP_PRECISION_BF16);
    is_clipped(NVDP_METHOD_NVDP, NVDP_PRECISION_BF16);
}

/* Takes a step and returns the gradient; *total (NULL: skip) is its size. */
static float *sum_of_step(struct fixture *f, size_t *total) {
    step(f);
    const struct nvdp__params *params = params_of(f);
    float *copy = malloc(params->total * sizeof *copy);
    cr_assert_not_null(copy);
    memcpy(copy, params->grad, params->total * sizeof *copy);
    if (total != NULL) *total = params->total;
    return support_keep(copy);
}

static float *weighed_sum(const char *weights, double noise, size_t *total) {
    const struct nvdp__dp_options dp = {
        .clip = 0.5, .noise = 1, .sample_rate = 1, .insecure_seed = 3};
    struct fixture f = open_fixture(NVDP_METHOD_VIB_LEARNED, &dp, 7, NVDP_PRECISION_F32);
    f.t.config.class_weights = weights;
    start(&f);
    f.t.job.dp->noise = noise;
    return sum_of_step(&f, total);
}

/* Class weights apply to clipped gradients, relative to the largest, and leave the noise
 * unchanged; before clipping they would have no effect. Sums of floats are in another order:
 * 1e-5. */
Test(dp, classes_weigh_clipped_gradients) {
    size_t total;
    float *all = weighed_sum("none", 0, &total), *same = weighed_sum("3,3", 0, NULL),
          *one = weighed_sum("0,5", 0, NULL), *other = weighed_sum("0.1,0", 0, NULL),
          *mixed = weighed_sum("1,4", 0, NULL), *noisy = weighed_sum("none", 1, NULL),
          *mixed_noisy = weighed_sum("1,4", 1, NULL);
    cr_expect_eq(memcmp(all, same, total * sizeof *all), 0);
    cr_expect_gt(norm_of(total, one), 1e-3);
    cr_expect_gt(norm_of(total, other), 1e-3);
    double off[3] = {0}, largest = 0;
    for (size_t i = 0; i < total; i++) {
        largest = fmax(largest, fabs((double)noisy[i]));
        off[0] = fmax(off[0], fabs((double)one[i] + (double)other[i] - (double)all[i]));
        off[1] = fmax(off[1], fabs((double)one[i] + (double)other[i] / 4 - (double)mixed[i]));
        off[2] = fmax(off[2], fabs((double)noisy[i] - (double)all[i] -
                                   ((double)mixed_noisy[i] - (double)mixed[i])));
    }
    for (int k = 0; k < 3; k++)
        cr_expect_leq(off[k], 1e-5 * largest, "%d: %g of %g", k, off[k], largest);
}

/* Returns the gradient of a step over the first n examples, without noise. */
static float *sum_over(size_t n, bool last_is_nothing) {
    const struct nvdp__dp_options dp = {.clip = 1, .noise = 1, .sample_rate = 1};
    struct fixture f = open_fixture(NVDP_METHOD_BASE, &dp, TASK_TRAIN, NVDP_PRECISION_F32);
    start(&f);
    f.t.job.dp->noise = 0;
    f.t.job.dp->examples = n;
    /* An example that the model predicts with certainty has no gradient. */
    if (last_is_nothing) {
        float *bias = nvdp__value(params_of(&f), f.t.model->classifier.bias);
        float *weight = nvdp__value(params_of(&f), f.t.model->classifier.weight);
        memset(weight, 0,
               params_of(&f)->entry[f.t.model->classifier.weight].count * sizeof *weight);
        bias[0] = 60;
        bias[1] = -60;
        for (size_t i = 0; i < n; i++)
            f.t.train->label[i] = i + 1 < n || n == 5 ? 1 : 0;
    }
    return sum_of_step(&f, NULL);
}

/* Six examples of which the last has no gradient, and the first five alone, give the same sum:
 * the sum is not divided by the number of drawn examples. */
Test(dp, the_number_drawn_does_not_reach_the_update) {
    float *five = sum_over(5, true), *six = sum_over(6, true);
    struct fixture f = open_fixture(NVDP_METHOD_BASE, NULL, 8, NVDP_PRECISION_F32);
    start(&f);
    size_t total = params_of(&f)->total;
    cr_expect_gt(norm_of(total, five), 1e-3);
    cr_expect_leq(distance(total, five, six), 1e-6 * norm_of(total, five));
}

/* With no example drawn the gradient is only noise, of standard deviation sigma C / B. Its
 * squares are chi-square with as many degrees of freedom as parameters; the tolerance is five
 * standard deviations. */
Test(dp, an_empty_batch_is_noise) {
    const struct nvdp__dp_options dp = {
        .clip = 0.5, .noise = 2, .sample_rate = 1e-12, .insecure_seed = 9};
    struct fixture f = open_fixture(NVDP_METHOD_BASE, &dp, 8, NVDP_PRECISION_F32);
    f.t.config.epochs = 1;
    start(&f);
    f.t.job.dp->divisor = 4;
    double n = (double)nvdp__params_trainable(params_of(&f));
    struct nvdp__job_step report = {0};
    for (int s = 0; s < 2; s++) { /* the second step starts from the remains of the first */
        report = step(&f);
        double square = pow(norm_of(params_of(&f)->total, params_of(&f)->grad) / 0.25, 2);
        cr_expect_lt(fabs(square - n), 5 * sqrt(2 * n), "%g of %g", square, n);
        f.t.job.step++;
    }
    cr_expect_eq(report.tokens, 0);
    cr_expect_eq(report.total, 0);
    f.t.job.dp->rate = 1; /* an empty step leaves no gradient */
    report = step(&f);
    cr_expect_gt(report.tokens, 0);
}

/* Each step draws every example independently with probability q: the numbers drawn have a
 * binomial's mean and variance. 4,000 steps; five standard deviations, that of the variance
 * about (2 / steps)^.5 var. */
Test(dp, steps_draw_by_poisson_sampling) {
    enum { STEPS = 4000, N = 120 };
    struct nvdp__dp_options options = {.clip = 1, .noise = 1, .batch = 30, .insecure_seed = 2};
    nvdp__autoptr(nvdp__dp_free) struct nvdp__dp *dp = NULL;
    int64_t rows[N];
    double sum = 0, squares = 0, each[N] = {0}, variance = N * 0.25 * 0.75;
    ok(nvdp__dp_create(ctx, &options, N, 1, 0, 8, NULL, &dp));
    cr_expect_eq(dp->rate, 0.25);
    cr_expect_eq(dp->divisor, 30);
    cr_expect_eq(nvdp__dp_epoch_steps(dp), 4);
    for (uint64_t s = 0; s < STEPS; s++) {
        size_t n = nvdp__dp_draw(dp, s, rows);
        sum += (double)n;
        squares += pow((double)n - 30, 2);
        for (size_t i = 0; i < n; i++) {
            cr_assert(i == 0 || rows[i] > rows[i - 1]);
            each[rows[i]]++;
        }
    }
    cr_expect_lt(fabs(sum / STEPS - 30), 5 * sqrt(variance / STEPS));
    cr_expect_lt(fabs(squares / STEPS - variance), 5 * variance * sqrt(2.0 / STEPS));
    for (size_t i = 0; i < N; i++)
        cr_expect_lt(fabs(each[i] - STEPS / 4.0), 5 * sqrt(STEPS * 0.25 * 0.75));
}

/* ---- whole runs ---- */

static struct nvdp__train_options run_options(const struct task *task, const char *out) {
    struct nvdp__train_options config = task_config(task, NVDP_METHOD_VIB_LEARNED, out);
    config.dp = (struct nvdp__dp_options){.batch = 9, .noise = 0.6, .clip = 1, .insecure_seed = 11};
    config.select = NVDP__SELECT_LAST;
    task_set(&config, "clip-norm 0 epochs 3");
    return config;
}

/* Copies the task to another folder, with the first `rows` texts of train. */
static void copy_task(const struct task *task, const char *to, size_t rows) {
    cr_assert_eq(mkdir(to, 0755), 0);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "train.tsv" : "dev.tsv";
        char *text = support_read(support_path("%s/%s", task->data, name)), *end = text;
        for (size_t r = 0; i == 0 && r <= rows && end != NULL; r++)
            end = strchr(end, '\n') != NULL ? strchr(end, '\n') + 1 : NULL;
        if (i == 0 && end != NULL) *end = '\0';
        support_write_text(support_path("%s/%s", to, name), text);
    }
}

/* Noise and draws are keyed by the step: a stopped run draws the same numbers when it continues.
 * (With AdamW see below: killed.) */
Test(dp, a_resumed_run_goes_on_as_if_it_had_not_been_stopped) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = run_options(&task, "none");
    config.optimizer = NVDP__OPTIMIZER_SGD;
    config.momentum = 0.9;
    task_resumes_exactly(ctx, config);
}

/* The steps were counted for the texts with which the run began. */
Test(dp, a_run_does_not_go_on_with_other_texts) {
    struct task task = task_make(ctx);
    const char *data = support_scratch_path("copied"), *out = support_scratch_path("out"),
               *path = support_path("%s/train.tsv", data);
    copy_task(&task, data, 60);
    struct nvdp__train_options config = run_options(&task, out);
    config.data = data;
    task_stop(ctx, &config, 11);
    const char *text = support_read(path);
    support_write_text(path, support_path("%s%s", text, strchr(text, '\n') + 1));
    config.resume = out;
    task_fails(ctx, &config, NVDP_ERR_INPUT,
               "expected the same train file as at the beginning of the run");
    support_write_text(path, text);
    task_train(ctx, &config);
}

/* A step may take minutes. A cancelled run does not wait for its end, and the step is repeated. */
Test(dp, a_step_of_many_batches_is_left_within) {
    struct task task = task_make(ctx);
    const char *whole = support_scratch_path("whole"), *parts = support_scratch_path("parts");
    struct nvdp__train_options config = run_options(&task, whole);
    task_set(&config, "dp-batch 54 batch 1");
    task_train(ctx, &config);
    config.out = parts;
    task_stop(ctx, &config, 30); /* the first step checks about fifty times */
    support_contains(nvdp_context_error(ctx), "interrupted after step 0 of 6");
    config.resume = parts;
    task_stop(ctx, &config, 70);
    support_contains(nvdp_context_error(ctx), "interrupted after step 1 of 6");
    task_train(ctx, &config);
    cr_expect(support_same_file(whole, parts, "model/model.safetensors"));
}

/* Without a seed no two runs are the same, and draws after a resume differ from those before. */
Test(dp, secure_noise_is_never_the_same) {
    struct task task = task_make(ctx);
    const char *one = support_scratch_path("one"), *two = support_scratch_path("two");
    struct nvdp__train_options config = run_options(&task, one);
    config.dp.insecure_seed = 0;
    config.epochs = 1;
    task_train(ctx, &config);
    config.out = two;
    task_train(ctx, &config);
    cr_expect_not(support_same_file(one, two, "model/model.safetensors"));
    nvdp__autoptr(nvdp__dp_free) struct nvdp__dp *before = NULL, *after = NULL;
    int64_t rows[2][TASK_TRAIN];
    struct nvdp__dp_options options = {.clip = 1, .noise = 1, .sample_rate = 0.5};
    ok(nvdp__dp_create(ctx, &options, TASK_TRAIN, 1, 0, 8, NULL, &before));
    ok(nvdp__dp_create(ctx, &options, TASK_TRAIN, 1, 0, 8, NULL, &after));
    size_t n = nvdp__dp_draw(before, 3, rows[0]), m = nvdp__dp_draw(after, 3, rows[1]);
    cr_expect(n != m || memcmp(rows[0], rows[1], n * sizeof rows[0][0]) != 0);
    /* The same holds for masks, dropout and samples; with a seed they can be repeated. */
    cr_expect_neq(nvdp__dp_seed(before, 7), nvdp__dp_seed(after, 7));
    cr_expect_neq(nvdp__dp_seed(before, 7), 7);
    cr_expect_eq(nvdp__dp_seed(NULL, 7), 7);
}

static nvdp_status train_on(struct nvdp_context *of, const void *config, const char *out,
                            bool resume) {
    struct nvdp__train_options options = *(const struct nvdp__train_options *)config;
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    options.out = out;
    options.resume = resume ? out : NULL;
    options.overwrite = !resume;
    return nvdp__train(of, &options, &result);
}

static void is_killed(uint64_t seed) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = run_options(&task, "none");
    config.dp.insecure_seed = seed;
    config.method = NVDP_METHOD_BASE;
    config.select = NVDP__SELECT_BEST; /* writes models on the way because it learns quickly */
    config.protocol = NVDP_PROTOCOL_DEV;
    config.adamw.lr *= 4;
    task_set(&config, "dp-batch 27 dp-noise 0.04 epochs 12 log-every 1 checkpoint-seconds 1e6");
    killed_ends(&(struct killed_run){.record = "run.json",
                                     .model = "model/model.safetensors",
                                     .train = train_on,
                                     .config = &config,
                                     .steps = 4 * 12,
                                     .late = 1,
                                     .seeded = seed != 0},
                6);
}

Test(dp, killed_again_and_again_it_counts_every_step) {
    is_killed(11);
}

Test(dp, killed_again_and_again_no_noise_is_used_twice) {
    is_killed(0);
}

/* With little noise on few parameters it learns as ordinary training does. */
Test(dp, learns) {
    struct task task = task_make(ctx);
    struct nvdp__train_options config = run_options(&task, support_scratch_path("learns"));
    config.method = NVDP_METHOD_BASE;
    task_set(&config, "dp-batch 27 dp-noise 0.04 epochs 40");
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_geq(result.test->mean[0], 0.9, "%g", result.test->mean[0]);
    cr_expect_eq(result.best_epoch, 40);
}

/* Tests a BiLSTM, and texts that users privatize themselves. The guarantee for the users' texts
 * and that for the training are separate. */
Test(dp, other_encoders_and_privatized_texts) {
    static const struct {
        int encoder, mechanism;
    } cases[] = {{BILSTM, NVDP__NOISE_NONE},
                 {BILSTM, NVDP__NOISE_LAPLACE},
                 {0, NVDP__NOISE_LAPLACE},
                 {0, NVDP__NOISE_SEQUENCE},
                 {0, NVDP__TOKENS_SANTEXT}};
    struct task task = task_make(ctx);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp__train_options config =
            run_options(&task, support_scratch_path(support_path("other%zu", i)));
        config.method = NVDP_METHOD_BASE;
        config.encoder = cases[i].encoder;
        config.lstm_hidden = 9;
        config.noise.mechanism = cases[i].mechanism;
        if (cases[i].mechanism != NVDP__NOISE_NONE) config.noise.sanitizer.eta = 50;
        config.epochs = 1;
        task_train(ctx, &config);
    }
}

/* Returns the object `dp` of the run's file, whose whole object is *root unless `root` is NULL. */
static json_t *dp_of(const char *run, const char *name, json_t **root) {
    json_t *object = support_json(support_path("%s/%s", run, name));
    if (root != NULL) *root = object;
    return json_object_get(object, "dp");
}

static double examples_of(const json_t *dp) {
    return number_at(dp, "examples");
}

static double epsilon_of(const json_t *dp) {
    return number_at(dp, "pld/epsilon");
}

/* Noise for a budget stays within it, also after a resume; with given noise a run ends at the
 * last step that the budget allows, and keeps its model. */
Test(dp, budgets) {
    struct task task = task_make(ctx);
    const char *found = support_scratch_path("found"), *ended = support_scratch_path("ended");
    struct nvdp__train_options config = run_options(&task, found);
    task_set(&config, "dp-noise 0 target-epsilon 3");
    json_t *first_root;
    struct nvdp_train_result result = task_train(ctx, &config);
    json_t *planned = dp_of(found, "run.json", &first_root),
           *dp = dp_of(found, "result.json", NULL);
    static const char *const same[] = {"noise", "steps", "delta", "pld", "rdp", "examples"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        cr_expect(json_equal(json_object_get(planned, same[i]), json_object_get(dp, same[i])), "%s",
                  same[i]);
    cr_expect_leq(epsilon_of(dp), 3);
    cr_expect_geq(epsilon_of(dp), 2.99);
    double noise = number_at(dp, "noise");
    cr_expect_eq(number_at(first_root, "config/dp/dp_noise"), noise);
    cr_expect_eq((uint64_t)integer_at(dp, "steps"), result.steps);
    support_contains(text_at(dp, "statement"), "INSECURE: the noise comes from a seed");
    cr_expect_str_eq(text_at(dp, "adjacency"), "zero-out");
    cr_expect(json_is_true(json_object_get(dp, "delta_default")));
    support_contains(text_at(dp, "statement"),
                     "The number of examples N is public, since the probability is B/N");
    /* the recomputed account equals that of the run */
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    nvdp__autofree char *statement = NULL;
    ok(nvdp_training_privacy(ctx, found, &training, &statement));
    cr_expect(training.is_private && training.finished && training.seeded &&
              training.delta_default);
    near(training.account->pld_epsilon, epsilon_of(dp), 1e-12);
    near(training.risk->mu, number_at(dp, "mu"), 1e-12);
    near(training.risk->membership, number_at(dp, "membership/bound"), 1e-12);
    cr_expect_eq(json_array_size(json_object_get(dp, "guess")), 2);
    support_contains(statement, "zero-out");

    config = run_options(&task, ended);
    config.dp.noise = noise;
    config.dp.target_epsilon = 2;
    result = task_train(ctx, &config);
    dp = dp_of(ended, "result.json", NULL);
    cr_expect_leq(epsilon_of(dp), 2);
    cr_expect_lt(result.steps, 36);
    cr_expect_neq(result.steps % 12, 0, "to see that an epoch ends early");
    cr_expect_eq(result.best_epoch, result.epochs_run);
    const double n = examples_of(dp);
    const struct nvdp_dp_steps more = {noise, 9 / n, result.steps + 1};
    double epsilon;
    ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){.phase = &more, .phases = 1}, 0.5 / n,
                            NVDP_ACCOUNTANT_PLD, &epsilon));
    cr_expect_gt(epsilon, 2);
    support_read(support_path("%s/dp-statement.txt", ended));
}

/* Validation scores of the private model decide when training stops, so epsilon counts the planned
 * steps: in every file, and for every reader, also of records of earlier versions. */
Test(dp, a_run_that_stops_early_costs_all_planned_steps) {
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("early");
    struct nvdp__train_options config = run_options(&task, out);
    config.select = NVDP__SELECT_BEST;
    task_set(&config, "patience 1 epochs 4");
    config.adamw.lr = config.lr_bottleneck = config.lr_head = 1e-12; /* never better */
    config.dp.insecure_seed = 0;
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_assert(result.early_stopped);
    json_t *root, *dp = dp_of(out, "result.json", &root);
    const double n = examples_of(dp);
    const struct nvdp_dp_steps planned = {0.6, 9 / n, 48}, done = {0.6, 9 / n, result.steps};
    double epsilon, less;
    ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){.phase = &planned, .phases = 1}, 0.5 / n,
                            NVDP_ACCOUNTANT_PLD, &epsilon));
    ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){.phase = &done, .phases = 1}, 0.5 / n,
                            NVDP_ACCOUNTANT_PLD, &less));
    cr_assert_lt(less, epsilon);
    near(epsilon_of(dp), epsilon, 1e-12 * epsilon);
    cr_expect_eq(integer_at(dp, "steps"), 48);
    cr_expect_eq((uint64_t)integer_at(dp, "steps_done"), result.steps);
    support_contains(
        text_at(dp, "statement"), "48 planned steps that draw each example",
        "were done (epsilon counts all that were planned, because the end may depend on "
        "what was learned)",
        "or at losses and counts of them (settings, an epoch, an early end");
    const char *path = support_path("%s/result.json", out);
    for (int old = 0; old < 2; old++) {
        struct nvdp_guarantee guarantee = NVDP_RESULT(struct nvdp_guarantee);
        ok(nvdp_run_guarantee(ctx, out, &guarantee));
        near(guarantee.training_epsilon, epsilon, 1e-12 * epsilon);
        /* an earlier version counted the steps that were done */
        json_object_set_new(dp, "steps", json_integer((json_int_t)result.steps));
        json_object_del(dp, "steps_done");
        json_object_set_new(json_object_get(dp, "pld"), "epsilon", json_real(less));
        cr_assert_eq(json_dump_file(root, path, 0), 0);
    }
    nvdp__autoresult struct nvdp_training_privacy training =
        NVDP_RESULT(struct nvdp_training_privacy);
    ok(nvdp_training_privacy(ctx, out, &training, NULL));
    near(training.account->pld_epsilon, epsilon, 1e-12 * epsilon);
    cr_expect(training.finished && training.steps_done == result.steps &&
              training.steps.steps == 48);
}

/* The model so far may not decide on more steps. */
Test(dp, a_resumed_run_may_not_plan_more_steps) {
    struct task task = task_make(ctx);
    const char *out = support_scratch_path("more");
    struct nvdp__train_options config = run_options(&task, out);
    task_stop(ctx, &config, 11);
    json_t *root;
    cr_expect_eq(integer_at(dp_of(out, "run.json", &root), "steps"), 36);
    json_object_set_new(json_object_get(root, "config"), "epochs", json_integer(6));
    cr_assert_eq(json_dump_file(root, support_path("%s/run.json", out), 0), 0);
    config.resume = out;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "expected at most the 36 steps that were planned");
}

static void refused(const struct task *task, const struct nvdp__dp_options *dp, const char *what) {
    struct nvdp__train_options config = run_options(task, support_scratch_path("refused"));
    config.dp = *dp;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, what);
}

/* Opens DATA/train.tsv for writing, with its header. */
static FILE *open_rows(const char *data, const char *end) {
    const char *path = support_path("%s/train.tsv", data);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "sentence\tlabel%s", end);
    return file;
}

/* Writes texts that the task does not have. */
static void write_others(const char *data) {
    static const char *const words[] = {"sun", "sea", "red", "blue", "one", "two", "cat"};
    nvdp__autoptr(fclose) FILE *file = open_rows(data, "\n");
    for (size_t i = 0; i < 49; i++)
        fprintf(file, "cat good dog %s %s red red\t%zu\n", words[i / 7], words[i % 7], i % 2);
}

enum same { REVERSED, CRLF, CAPITALS, LONGER, SHORTER, SAME };

/* Writes the task's texts to a file with other bytes. */
static void write_same(const struct task *task, const char *data, enum same how) {
    char *row[TASK_TRAIN + 2];
    size_t rows = 0;
    const char *path = support_path("%s/train.tsv", task->data);
    char *text = support_read(path);
    for (char *at = strchr(text, '\n'); at != NULL && at[1] != '\0' && rows <= TASK_TRAIN;) {
        *at = '\0';
        row[rows++] = at + 1;
        at = strchr(at + 1, '\n');
        if (at != NULL && at[1] == '\0') *at = '\0';
    }
    nvdp__autoptr(fclose) FILE *file = open_rows(data, how == CRLF ? "\r\n" : "\n");
    if (how == LONGER) fprintf(file, "red red red red red red red red\t1\n");
    for (size_t i = 0; i < (how == SHORTER ? rows / 2 : rows); i++) {
        char *of = row[how == REVERSED ? rows - 1 - i : i];
        for (char *c = of; how == CAPITALS && *c != '\t' && *c != '\0'; c++)
            *c = (char)toupper((unsigned char)*c);
        fprintf(file, "%s%s", of, how == CRLF ? "\r\n" : "\n");
    }
}

/* Known texts are found in any file, and no other texts are. The record of an earlier version
 * has no digests and is compared file by file; the statement names the kind of comparison. */
Test(dp, of_a_model_that_saw_the_same_texts_in_another_file) {
    struct task task = task_make(ctx);
    const char *bare = support_scratch_path("bare"), *other = support_scratch_path("other"),
               *out = support_scratch_path("out");
    copy_task(&task, other, 1000);
    struct nvdp__train_options base = task_config(&task, NVDP_METHOD_BASE, bare);
    base.epochs = 1;
    task_train(ctx, &base);
    struct nvdp__train_options config = run_options(&task, out);
    config.data = other;
    config.model = NULL;
    config.from_base = bare;
    for (enum same how = REVERSED; how < SAME; how++) {
        write_same(&task, other, how);
        task_fails(ctx, &config, NVDP_ERR_ARGUMENT,
                   how == LONGER ? "which was trained on 120 of these 121 texts (the first "
                                   "is text 2) without privacy"
                                 : "which was trained on them without privacy");
    }
    write_others(other);
    config.overwrite = true;
    for (int known = 1; known >= 0; known--) {
        task_train(ctx, &config);
        const char *statement = text_at(dp_of(out, "result.json", NULL), "statement");
        support_contains(statement, "had learned without privacy from data/train.tsv",
                         known ? "None of these examples is among those texts (compared by words), "
                                 "apart from texts of fewer than 6 words"
                               : "Only whole files were compared with data/train.tsv, and they "
                                 "differ from the file of these examples");
        const char *path = support_path("%s/seen_texts.bin", bare);
        struct stat of;
        if (known) cr_assert_eq(stat(path, &of), 0);
        if (known) cr_expect_eq(of.st_mode & 0777, 0600);
        if (known) cr_assert_eq(remove(path), 0);
    }
}

/* The guarantee of the start model's training for these texts is counted. If an earlier training
 * was not private, however far back, nothing is guaranteed. */
Test(dp, of_a_base_run) {
    struct task task = task_make(ctx);
    const char *bare = support_scratch_path("bare"), *private = support_scratch_path("private"),
               *copy = support_scratch_path("copy"), *part = support_scratch_path("part"),
               *out = support_scratch_path("out"), *next = support_scratch_path("next");
    copy_task(&task, copy, 1000);
    copy_task(&task, part, 1000);
    write_others(part);
    struct nvdp__train_options base = task_config(&task, NVDP_METHOD_BASE, bare);
    base.epochs = 1;
    task_train(ctx, &base);
    struct nvdp__train_options config = run_options(&task, out);
    config.model = NULL;
    config.from_base = bare;
    static const char refused[] = "which was trained on them without privacy";
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, refused);
    config.from_base = NULL;
    config.model = support_path("%s/model", bare);
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, refused);
    config.from_base = bare;
    config.model = NULL;
    config.data = copy;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, refused);
    /* the present place of its texts does not matter */
    const char *elsewhere = support_path("%s.elsewhere", task.data);
    cr_assert_eq(rename(task.data, elsewhere), 0);
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, refused);
    cr_assert_eq(rename(elsewhere, task.data), 0);

    /* a private run from it, on other texts; then another from that, again on the original texts */
    config.data = part;
    config.method = NVDP_METHOD_BASE;
    task_train(ctx, &config);
    cr_expect_null(json_object_get(dp_of(out, "result.json", NULL), "start"));
    config.data = task.data;
    config.from_base = out;
    config.out = next;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, refused);

    /* from a private run: both guarantees together, also after a resume; not from another model
     * in its place */
    base = run_options(&task, private);
    base.method = NVDP_METHOD_BASE;
    base.epochs = 1;
    task_train(ctx, &base);
    json_t *of_base, *first = dp_of(private, "result.json", &of_base);
    const struct nvdp_dp_guarantee before = {epsilon_of(first), number_at(first, "delta")};
    config.from_base = private;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT,
               "--target-delta: expected more than the cost of training the starting model");
    const double n = examples_of(first);
    config.dp.target_delta = 0.9 / n;
    config.dp.insecure_seed =
        0; /* a guarantee that depends on the secrecy of the base run's seed is none */
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "or with noise from a seed");
    config.dp.insecure_seed = 11;
    config.dp.target_epsilon = before.epsilon;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT,
               "--target-epsilon: expected more than the cost of training the starting model");
    config.dp.target_epsilon = 0;
    task_stop(ctx, &config, 11);
    config.resume = next;
    const char *moved = support_path("%s/result.json", private);
    char *text = support_read(moved);
    cr_assert_eq(json_object_set_new(first, "delta", json_real(before.delta / 2)), 0);
    cr_assert_eq(json_dump_file(of_base, moved, 0), 0);
    task_fails(ctx, &config, NVDP_ERR_INPUT, "expected a starting model whose training cost");
    support_write_text(moved, text);
    const struct nvdp_train_result result = task_train(ctx, &config);
    const json_t *dp = dp_of(next, "result.json", NULL);
    cr_expect_eq(number_at(dp, "start/0"), before.epsilon);
    cr_expect_eq(number_at(dp, "start/1"), before.delta);
    const struct nvdp_dp_steps phase = {0.6, 9 / n, result.steps};
    struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
    ok(nvdp_account(ctx, &(struct nvdp_dp_run){&phase, 1, &before, 1}, 0.9 / n, &account));
    /* the files' numbers have 15 digits */
    near(epsilon_of(dp), account.pld_epsilon, 1e-12 * account.pld_epsilon);
    support_contains(text_at(dp, "statement"), "of earlier computations on the examples");
    /* the notice names the texts to their owner; the statement does not */
    support_lacks(text_at(dp, "statement"), "the first is text");
    /* a later training adds this one's part to that of the base run */
    double cost;
    ok(nvdp_account_epsilon(ctx, &(struct nvdp_dp_run){.phase = &phase, .phases = 1},
                            0.9 / n - before.delta, NVDP_ACCOUNTANT_PLD, &cost));
    near(number_at(dp, "own/0"), cost, 1e-12 * cost);
    near(number_at(dp, "own/1"), 0.9 / n - before.delta, 1e-15);
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    struct nvdp_dp_guarantee all;
    char digest[1][NVDP__DIGEST_HEX];
    ok(nvdp__lineage_read(ctx, support_path("%s/model", next), &lineage));
    ok(nvdp__file_sha256(ctx, support_path("%s/train.tsv", task.data), digest[0]));
    const struct nvdp__seen seen = {1, (const char(*)[NVDP__DIGEST_HEX])digest, NULL, NULL, 0};
    ok(nvdp__lineage_promise(ctx, &lineage, seen, true, &all));
    near(all.epsilon, before.epsilon + cost, 1e-12 * all.epsilon);
    near(all.delta, 0.9 / n, 1e-15);
}

Test(dp, what_is_not_private_is_refused) {
    struct task task = task_make(ctx);
    const struct {
        struct nvdp__dp_options dp;
        const char *what;
    } cases[] = {
        {{.clip = 1, .noise = 1}, "--dp-noise needs --dp-batch or --dp-sample-rate"},
        {{.clip = 1, .batch = 8},
         "--dp-noise: expected a number above 0, or --target-epsilon in its place, found 0"},
        {{.clip = 1, .noise = -1, .batch = 8}, "--dp-noise: expected 0 to"},
        {{.clip = 1, .noise = 1e-4, .batch = 8}, "--dp-noise: expected at least 0.001"},
        {{.clip = 0, .noise = 1, .batch = 8}, "--dp-clip: expected at least 1e-09"},
        {{.clip = INFINITY, .noise = 1, .batch = 8}, "noise cannot hide unbounded gradients"},
        {{.clip = 1, .noise = 1, .sample_rate = 1.5}, "found 1.5"},
        {{.clip = 1, .noise = 1, .sample_rate = 0.5, .batch = 8}, "exclude each other"},
        {{.clip = INFINITY, .target_epsilon = 3, .batch = 8}, "noise cannot hide"},
        {{.clip = 1, .target_epsilon = 3}, "--target-epsilon needs --dp-batch"},
        {{.clip = 1, .noise = 1, .batch = 8, .target_delta = 0.1}, "expected less than 1/N"},
        {{.clip = 1, .noise = 0.5, .batch = 90, .target_epsilon = 0.1},
         "a budget for at least one step"},
        {{.clip = 1, .noise = 1, .batch = 5000},
         "expected at most 111, the number of training examples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(&task, &cases[i].dp, cases[i].what);
}
