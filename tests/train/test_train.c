/* Tests whole runs on a tiny task: learning, resuming, stopping, refusing. */
#include "train_test.h"

#include "test_context.h"

static void learns(enum nvdp_method method) {
    struct nvdp__train_options config = task_options(ctx, method, "run");
    config.overwrite = true;
    struct nvdp_train_result result = task_train(ctx, &config);
    /* the label depends on one word: far above the majority class, .5 */
    cr_assert_gt(result.test->mean[0], 0.9, "accuracy %g", result.test->mean[0]);
    cr_assert_eq(result.test->draws, method == NVDP_METHOD_BASE ? 1 : 3);
    cr_assert_eq(result.steps, 10 * 14); /* 108 texts in batches of 8 */
    struct nvdp_evaluation evaluated = task_evaluate(ctx, config.out, 3);
    cr_assert_eq(evaluated.scores->mean[0], result.test->mean[0]); /* same seed, same draws */
}

Test(train, every_method_learns) {
    learns(NVDP_METHOD_BASE);
    learns(NVDP_METHOD_NVDP);
    learns(NVDP_METHOD_VIB_FIXED);
    learns(NVDP_METHOD_VIB_LEARNED);
    learns(NVDP_METHOD_VTDP);
}

Test(train, exact_kl_in_a_narrow_latent_learns) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    config.nvib.regularizer = NVDP__REGULARIZER_KL;
    config.nvib.delta = 1;
    config.kl_schedule = NVDP__KL_WARMUP;
    task_set(&config, "latent-dim 4 stdev-tau 0.3 alpha-tau -2 epochs 20");
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_assert_gt(result.test->mean[0], 0.8, "accuracy %g", result.test->mean[0]);
}

static void resumes_exactly(enum nvdp_method method, bool dropout,
                            enum nvdp__optimizer_kind optimizer) {
    struct nvdp__train_options config = task_options(ctx, method, "run");
    config.dropout = dropout ? 0.1 : 0;
    config.optimizer = optimizer;
    config.momentum = 0.9;
    task_resumes_exactly(ctx, config);
}

Test(train, base_with_dropout_resumes_exactly) {
    resumes_exactly(NVDP_METHOD_BASE, true, NVDP__OPTIMIZER_ADAMW);
}

Test(train, nvdp_resumes_exactly) {
    resumes_exactly(NVDP_METHOD_NVDP, false, NVDP__OPTIMIZER_SGD);
}

Test(train, vtdp_resumes_exactly) {
    resumes_exactly(NVDP_METHOD_VTDP, true, NVDP__OPTIMIZER_ADAMW);
}

/* Sets the seconds of earlier scores in the state to 9000. */
static void long_scored(const char *state) {
    static const char key[] = "\\\"score_seconds\\\":"; /* JSON in a JSON string */
    char *bytes = support_read(state);
    struct stat info;
    cr_assert_eq(stat(state, &info), 0);
    char *at = memmem(bytes, (size_t)info.st_size, key, strlen(key));
    cr_assert_not_null(at, "the state does not tell it");
    at += strlen(key);
    const size_t room = strcspn(at, ",}");
    memset(at, ' ', room);
    memcpy(at, "9e3", 3);
    support_write(state, bytes, (size_t)info.st_size);
}

Test(train, scores_before_a_resume_count) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    config.epochs = 1;
    task_train(ctx, &config);
    long_scored(support_path("%s/state.ckpt", config.out));
    config.resume = config.out;
    cr_expect_gt(task_train(ctx, &config).score_seconds, 9e3);
}

/* A second process in the folder could leave weights that do not match the records of the first. */
Test(train, one_process_trains_in_a_folder) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    DIR *lock = NULL;
    config.epochs = 1;
    task_train(ctx, &config);
    char *before = support_read(support_scratch_path("run/run.json"));
    ok(nvdp__outdir_lock(ctx, config.out, &lock));
    task_set(&config, "overwrite true seed 2");
    task_fails(ctx, &config, NVDP_ERR_STATE, "run: another process is writing to this folder");
    config.overwrite = false;
    config.resume = config.out;
    task_fails(ctx, &config, NVDP_ERR_STATE, "");
    cr_expect_str_eq(support_read(support_scratch_path("run/run.json")), before);
    nvdp__outdir_unlock(lock);
    task_train(ctx, &config);
}

/* As after a power failure, or an incomplete copy. */
Test(train, lost_lines_of_metrics_do_not_become_zeros) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    config.epochs = 2;
    task_train(ctx, &config);
    const char *path = support_scratch_path("run/metrics.jsonl");
    char *lines = support_read(path);
    const size_t first = strcspn(lines, "\n") + 1;
    cr_assert_eq(truncate(path, (off_t)first + 7), 0);
    config.resume = config.out;
    task_train(ctx, &config);
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq((size_t)info.st_size, first, "%zu of %zu bytes", (size_t)info.st_size, first);
}

/* Files that describe an earlier epoch's model, or another run's, are removed with this model. */
Test(train, what_was_measured_goes_with_its_model) {
    static const char *const described[] = {"privacy.json",        "privacy-limit-20.json",
                                            "certificate.json",    "certificate-releases-2.json",
                                            "predictions_dev.tsv", "reuse.json",
                                            "attack.json"};
    enum { DESCRIBED = sizeof described / sizeof *described };
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    const char *path[DESCRIBED];
    task_stop(ctx, &config, 20); /* 14 steps per epoch */
    config.resume = config.out;
    for (int attempt = 0; attempt < 2; attempt++) {
        for (int k = 0; k < DESCRIBED; k++) {
            path[k] = support_path("%s/%s", config.out, described[k]);
            support_write_text(path[k], "{}");
        }
        cr_assert_gt(task_train(ctx, &config).best_epoch, 2);
        for (int k = 0; k < DESCRIBED; k++) /* the second time nothing is left to train */
            cr_expect_eq(access(path[k], F_OK) == 0, attempt == 1, "%s", path[k]);
    }
    config.resume = NULL;
    task_set(&config, "overwrite true epochs 1");
    task_train(ctx, &config);
    for (int k = 0; k < DESCRIBED; k++)
        cr_expect_neq(access(path[k], F_OK), 0, "%s", path[k]);
}

Test(train, seeds_differ_and_repeat) {
    const char *a = support_scratch_path("a"), *b = support_scratch_path("b"),
               *c = support_scratch_path("c");
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, a);
    config.epochs = 1;
    task_train(ctx, &config);
    config.out = b;
    task_train(ctx, &config);
    config.out = c;
    config.seed = 2;
    task_train(ctx, &config);
    cr_assert(support_same_file(a, b, "model/model.safetensors"));
    cr_assert_not(support_same_file(a, c, "model/model.safetensors"));
}

Test(train, early_stopping_counts_epochs_without_improvement) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    config.adamw.lr = 0; /* nothing improves */
    config.patience = 2;
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_assert(result.early_stopped);
    cr_assert_eq(result.epochs_run, 3);
    cr_assert_eq(result.best_epoch, 1);
}

Test(train, divergence_stops_with_a_clear_message) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    task_set(&config, "lr 10 clip-norm 0");
    config.adamw.weight_decay = 10; /* x -= 100 x per step: overflows soon */
    config.epochs = 40;
    task_fails(ctx, &config, NVDP_ERR_NUMERIC, "diverged");
}

Test(train, a_directory_in_use_is_refused_then_overwritten) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "run");
    config.epochs = 1;
    task_train(ctx, &config);
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "not empty");
    config.overwrite = true;
    task_train(ctx, &config);
}

Test(train, bad_configurations_name_field_value_and_range) {
    struct nvdp__train_options good = task_options(ctx, NVDP_METHOD_NVDP, "run");
    struct nvdp__train_options config = good;
    config.batch = 0;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "--batch: expected 1");
    config = good;
    config.adamw.lr = NAN;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "lr: expected 0");
    config = good;
    config.max_length = 64;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "16, the model's max_position_embeddings");
    config = good;
    config.nvib.length = 4;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT,
               "--length: expected at least 10, the value of --max-length");
    config = good;
    config.task = "sst3";
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "sst3");
    config = good;
    config.method = NVDP_METHOD_VTDP;
    config.nvib.pool = NVDP_POOL_WEIGHTED;
    task_fails(ctx, &config, NVDP_ERR_ARGUMENT, "method vtdp has no weights");
    config = good;
    config.data = "/nonexistent";
    task_fails(ctx, &config, NVDP_ERR_IO, "/nonexistent");
    cr_assert_neq(access(good.out, F_OK), 0, "a refused run leaves nothing");
}

Test(train, an_unwritable_output_is_an_io_error) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_BASE, "/dev/null/run");
    task_fails(ctx, &config, NVDP_ERR_IO, "/dev/null");
}

Test(train, vocabulary_of_another_size_is_refused) {
    struct task task = task_make(ctx);
    const char *path = support_path("%s/vocab.txt", task.model);
    support_write_text(path, support_path("%sextra\n", support_read(path)));
    struct nvdp__train_options config =
        task_config(&task, NVDP_METHOD_BASE, support_scratch_path("run"));
    task_fails(ctx, &config, NVDP_ERR_INPUT, "vocab");
}

Test(train, plan_counts_without_writing) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    struct nvdp__train_options resolved = config;
    struct nvdp_train_plan plan;
    ok(nvdp__train_plan(ctx, &resolved, false, &plan));
    cr_assert_eq(plan.train_texts, 108);
    cr_assert_eq(plan.validation_texts, 12);
    cr_assert_eq(plan.test_texts, 40);
    cr_assert_eq(plan.steps, 10 * 14);
    cr_assert_gt(plan.memory_bytes, 4 * 4 * plan.parameters);
    cr_assert_eq(resolved.nvib.length, config.max_length);
    cr_assert_gt(resolved.nvib.latent_dim, 0);
    cr_assert_gt(resolved.nvib.latent_heads, 0);
    cr_assert_neq(resolved.nvib.pool, NVDP_POOL_AUTO);
    cr_assert(isnan(plan.step_seconds));
    cr_assert_neq(access(config.out, F_OK), 0);
}

/* Tests intervals over texts, and that a class of weight 0 is never predicted. */
Test(train, classes_weights_and_intervals) {
    struct nvdp__train_options options = task_options(ctx, NVDP_METHOD_BASE, "run");
    nvdp__autoresult struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    nvdp__autofree struct nvdp_class_score *classes = NULL;
    size_t count = 0;
    options.class_weights = "0,1";
    task_set(&options, "epochs 2 overwrite true limit-dev 30");
    struct nvdp_train_result result = task_train(ctx, &options);
    cr_expect_eq(result.test->n, 30);
    const double p = result.test->mean[0], half = 1.96 * sqrt(p * (1 - p) / 30);
    /* the normal interval; a bootstrap's ends lie on 30ths, and 400 samples place them within a
     * third */
    near(result.test->low[0], p - half, 1. / 30 + half / 3);
    near(result.test->high[0], p + half, 1. / 30 + half / 3);
    cr_expect(isnan(result.test->low[1]));
    const struct nvdp_config *config = support_config(ctx, "evaluate", "run", options.out, NULL);
    ok(nvdp_evaluate_classes(ctx, config, &evaluation, &count, &classes));
    cr_assert_eq(count, 2);
    cr_expect_str_eq(classes[1].name, "1");
    cr_expect(classes[0].recall == 0 && classes[0].said == 0 && classes[0].precision == 0);
    cr_expect(classes[1].recall == 1 && classes[1].said == TASK_DEV);
    near(classes[1].precision, evaluation.scores->mean[0], 1e-12);
    cr_expect_eq(classes[0].n + classes[1].n, TASK_DEV);
    /* texts of that class alone score 1, but other texts may not */
    const char *dev = "sentence\tlabel\n";
    for (size_t i = 0; i < 40; i++)
        dev = support_path("%sthe cat is good\t1\n", dev);
    support_file("data/dev.tsv", dev);
    ok(nvdp_evaluate(ctx, config, &evaluation));
    cr_expect_eq(evaluation.scores->mean[0], 1);
    near(evaluation.scores->low[0], pow(.025, 1 / 40.), 1e-9);
    cr_expect_eq(evaluation.scores->high[0], 1);
    options.class_weights = "1,2,3";
    task_fails(ctx, &options, NVDP_ERR_ARGUMENT,
               "expected none, balanced or 2 numbers from 0 to 1e6");
    options.class_weights = "0,0";
    task_fails(ctx, &options, NVDP_ERR_ARGUMENT, "expected at least one number above 0, found 0,0");
    options.class_weights = "balanced";
    options.limit_dev = 0;
    const double balanced = task_train(ctx, &options).test->mean[0];
    options.class_weights = "none"; /* both classes have the same number of texts */
    cr_expect_eq(task_train(ctx, &options).test->mean[0], balanced);
}

struct warnings {
    size_t count;
    char text[512];
};

static void capture(enum nvdp_log_level level, const char *message, void *user) {
    struct warnings *captured = user;
    const bool ours =
        strstr(message, "; try ") != NULL || strstr(message, "differ significantly") != NULL;
    if (level != NVDP_LOG_WARNING || !ours) return;
    captured->count++;
    snprintf(captured->text, sizeof captured->text, "%s", message);
}

/* The warning comes once, and never for a run that learns. */
Test(train, collapse_is_said) {
    struct warnings captured = {0};
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    nvdp_context_set_log(ctx, capture, &captured);
    task_set(&config, "epochs 2 overwrite true");
    config.holdout = .3; /* 36 texts */
    config.method = NVDP_METHOD_VIB_LEARNED;
    config.nvib.regularizer = NVDP__REGULARIZER_KL;
    config.nvib.mu_tau = 1e-3; /* N(0, 1) for every text */
    task_set(&config, "stdev-tau 1 lambda-g 10 lr 1e-4");
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect(result.loss_g + result.loss_d < .05, "%g, %g", result.loss_g, result.loss_d);
    cr_expect_eq(captured.count, 1);
    support_contains(captured.text, "the model has learned nothing",
                     "contain nothing about their texts", "try a smaller --lambda");
    cr_expect_gt(result.score_seconds, 0);
    captured.count = 0;
    config.method = NVDP_METHOD_BASE;
    config.adamw.lr = 1e-2;
    task_train(ctx, &config); /* still at .5 after half of the steps */
    cr_expect_eq(captured.count, 1);
    cr_expect(strstr(captured.text, "contain nothing") == NULL &&
                  strstr(captured.text, "--lr-head") != NULL,
              "%s", captured.text);
    support_lacks(captured.text, "bottleneck"); /* there is none */
    config.epochs = 8;
    task_train(ctx, &config);
    cr_expect_eq(captured.count, 1, "%s", captured.text);
    captured.count = 0;
    const char *path = support_path("%s/dev.tsv", config.data);
    char *dev = support_read(path), *rows = strchr(dev, '\n') + 1;
    support_write_text(path, support_path("%s%s%s", dev, rows, rows)); /* 120 texts */
    config.adamw.lr = 0;
    config.holdout = .1; /* 12 texts are too few to warn about */
    task_train(ctx, &config);
    cr_expect_eq(captured.count, 1);
    support_contains(captured.text, "does not differ significantly from the accuracy of always "
                                    "guessing the most frequent class");
}

Test(train, every_failed_allocation_is_reported) {
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    config.decay_to = NVDP__DECAY_TO_PRETRAINED;
    task_set(&config, "epochs 1 overwrite true");
    nvdp_status status = NVDP_ERR_MEMORY;
    for (uint64_t k = 1; status == NVDP_ERR_MEMORY && k < 4000; k += 1 + k / 16) {
        nvdp__fail_allocation(ctx, k);
        status = nvdp__train(ctx, &config, &result);
    }
    nvdp__fail_allocation(ctx, 0);
    ok(status);
}
