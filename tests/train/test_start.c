/* Tests the starts of a run: a model whose head has another shape, a finished run without a
 * bottleneck. */
#include "train_test.h"

struct fixture {
    struct nvdp_context *ctx;
    struct task task;
    const char *base, *model;
    char notices[8192];
};

static void keep(enum nvdp_log_level level, const char *message, void *user) {
    struct fixture *fixture = user;
    size_t used = strlen(fixture->notices);
    if (level != NVDP_LOG_NOTICE) return;
    snprintf(fixture->notices + used, sizeof fixture->notices - used, "%s\n", message);
}

/* Makes a finished run of base, and its model. */
static void open_fixture(struct fixture *fixture) {
    *fixture = (struct fixture){.ctx = support_context()};
    fixture->task = task_make(fixture->ctx);
    fixture->base = support_scratch_path("base");
    fixture->model = support_path("%s/model", fixture->base);
    struct nvdp__train_options config =
        task_config(&fixture->task, NVDP_METHOD_BASE, fixture->base);
    config.epochs = 2;
    task_train(fixture->ctx, &config);
    nvdp_context_set_log(fixture->ctx, keep, fixture);
}

/* Returns options that start from the base run and do not change weights. */
static struct nvdp__train_options still(const struct fixture *fixture, enum nvdp_method method) {
    struct nvdp__train_options config = task_config(&fixture->task, method, NULL);
    config.model = NULL;
    config.from_base = fixture->base;
    task_set(&config, "epochs 1 lr 0 overwrite true");
    return config;
}

/* Returns whether the tensor has the same bits in both models. */
static bool same_tensor(struct nvdp_context *ctx, const char *a, const char *b, const char *name) {
    const struct nvdp__tensor_info *tensor[2];
    for (int i = 0; i < 2; i++) {
        const char *path = support_path("%s/model/model.safetensors", i == 0 ? a : b);
        struct nvdp__safetensors *file = NULL;
        ok(nvdp__safetensors_open(ctx, path, &file));
        tensor[i] = nvdp__safetensors_find(support_keep(file), name);
        cr_assert_not_null(tensor[i], "%s: no %s", path, name);
    }
    return tensor[0]->count == tensor[1]->count &&
           memcmp(tensor[0]->data, tensor[1]->data, tensor[0]->count * sizeof(float)) == 0;
}

/* --- --model, a head of another shape --- */

Test(start, a_classifier_of_another_shape_is_initialised) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *run = support_scratch_path("run");
    struct nvdp__train_options config = task_config(&fixture.task, NVDP_METHOD_BASE, run);
    config.model = fixture.model;
    config.task = "tsv";
    config.columns.text_column = "sentence";
    config.columns.label_column = "label";
    task_set(&config, "regression true epochs 2");
    task_train(fixture.ctx, &config);
    support_contains(fixture.notices,
                     "model.safetensors: tensor 'classifier.weight': expected "
                     "shape [1, 16], found [2, 16]; initialized\n",
                     "tensor 'classifier.bias': expected shape [1], found [2]; initialized\n");
    support_lacks(fixture.notices, "not used");
    fixture.notices[0] = '\0';
    /* a bottleneck of another width on the encoder of a model with a bottleneck */
    config = task_config(&fixture.task, NVDP_METHOD_NVDP, run);
    task_set(&config, "latent-dim 8 epochs 1 overwrite true");
    task_train(fixture.ctx, &config);
    support_lacks(fixture.notices, "'classifier.weight'"); /* it is always new */
    config.model = support_path("%s/model", run);
    config.out = support_scratch_path("other");
    config.nvib.latent_dim = 4;
    fixture.notices[0] = '\0';
    task_train(fixture.ctx, &config);
    support_contains(fixture.notices, "tensor 'nvib.mu.weight': expected shape [4, 16], found "
                                      "[8, 16]; initialized\n");
    config.method = NVDP_METHOD_VIB_FIXED;
    fixture.notices[0] = '\0';
    task_train(fixture.ctx, &config);
    support_contains(fixture.notices, "2 tensors missing, initialized: vib.mu.weight",
                     "23 tensors not used: nvib.* (7), nvdp.* (16)");
}

Test(start, a_finished_model_of_another_shape_is_refused) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp_model *model = NULL;
    const char *path = support_path("%s/config.json", fixture.model);
    char *text = support_read(path);
    char *outputs = strstr(text, "\"outputs\": 2");
    char *labels = strstr(text, "\"labels\"");
    cr_assert(outputs != NULL && labels != NULL);
    outputs[strlen("\"outputs\": ")] = '1';
    char *classes = strstr(labels, "\"0\",");
    cr_assert_not_null(classes);
    memset(classes, ' ', 4);
    support_write_text(path, text);
    fails(nvdp_model_load(fixture.ctx, fixture.model, &model), NVDP_ERR_INPUT,
          "tensor 'classifier.weight': expected shape [1, 16], found [2, 16]");
}

/* --- --from-base --- */

/* A model that was trained on all texts has seen those that score a fold. */
Test(start, a_fold_begins_from_what_has_not_seen_its_texts) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *run = support_scratch_path("run");
    struct nvdp__train_options config = still(&fixture, NVDP_METHOD_VIB_FIXED);
    config.out = run;
    task_set(&config, "folds 3 fold 2");
    task_fails(
        fixture.ctx, &config, NVDP_ERR_ARGUMENT,
        "base was trained on the texts on which fold 2 is scored; start from a run of the same "
        "fold");
    config.from_base = NULL;
    config.model = fixture.model;
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT, "base/model was trained on the texts");
    config.model = fixture.task.model;
    config.base_epochs = 1; /* its own base run */
    task_train(fixture.ctx, &config);
    config = still(&fixture, NVDP_METHOD_VIB_FIXED);
    config.out = support_scratch_path("other");
    config.from_base = support_path("%s/base", run);
    task_set(&config, "folds 3 fold 2");
    task_train(fixture.ctx, &config);
    config.fold = 1;
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT, "on which fold 1 is scored");
    config.fold = 2;
    config.limit_train = TASK_TRAIN - 1; /* other folds */
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT, "on which fold 2 is scored");
}

Test(start, every_method_takes_the_encoder_of_a_base_run) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *run = support_scratch_path("run");
    for (int method = NVDP_METHOD_BASE; method <= NVDP_METHOD_NVDP; method++) {
        struct nvdp__train_options config = still(&fixture, (enum nvdp_method)method);
        config.out = run;
        task_train(fixture.ctx, &config);
        bool bare = !nvdp_method_is_private((enum nvdp_method)method);
        cr_expect(same_tensor(fixture.ctx, fixture.base, run,
                              "bert.encoder.layer.0.output.LayerNorm.weight"));
        cr_expect(
            same_tensor(fixture.ctx, fixture.base, run, "bert.embeddings.word_embeddings.weight"));
        cr_expect_eq(same_tensor(fixture.ctx, fixture.base, run, "classifier.weight"), bare);
        if (bare) cr_expect(support_same_file(fixture.base, run, "model/model.safetensors"));
    }
    support_contains(support_read(support_path("%s/run.json", run)),
                     support_path("\"from_base\": \"%s\"", fixture.base),
                     support_path("\"model\": \"%s\"", fixture.model));
}

Test(start, with_all_layers_frozen_the_base_run_teaches_the_bottleneck) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp__train_options config = still(&fixture, NVDP_METHOD_NVDP);
    const char *run = support_scratch_path("run"), *cache = support_scratch_path("cache");
    config.out = run;
    config.cache = cache;
    task_set(&config, "freeze-layers 1 epochs 5 lr 1e-2");
    struct nvdp_train_result result = task_train(fixture.ctx, &config);
    cr_expect_gt(result.test->mean[0], 0.9, "accuracy %g", result.test->mean[0]);
    cr_expect(
        same_tensor(fixture.ctx, fixture.base, run, "bert.encoder.layer.0.output.dense.weight"));
    struct nvdp_evaluation evaluated = task_evaluate(fixture.ctx, run, 3);
    cr_expect_eq(evaluated.scores->mean[0], result.test->mean[0]);
}

Test(start, a_run_from_a_base_run_resumes_exactly) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp__train_options config = still(&fixture, NVDP_METHOD_VIB_LEARNED);
    task_set(&config, "overwrite false lr 1e-2");
    task_resumes_exactly(fixture.ctx, config);
}

Test(start, another_task_gives_its_encoder_alone) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp__train_options config = still(&fixture, NVDP_METHOD_BASE);
    const char *run = support_scratch_path("run");
    config.out = run;
    config.task = "tsv"; /* also two outputs */
    config.columns.text_column = "sentence";
    config.columns.label_column = "label";
    task_train(fixture.ctx, &config);
    support_contains(fixture.notices, "is of task sst2 with 2 outputs, so only its encoder is used "
                                      "and the classifier is initialized\n");
    cr_expect_not(same_tensor(fixture.ctx, fixture.base, run, "classifier.weight"));
    cr_expect(same_tensor(fixture.ctx, fixture.base, run, "bert.pooler.dense.weight"));
}

Test(start, what_is_no_base_run_is_named) {
    struct fixture fixture;
    open_fixture(&fixture);
    struct nvdp__train_options config = still(&fixture, NVDP_METHOD_NVDP);
    const char *run = support_scratch_path("run");
    config.out = run;
    config.from_base = "/nowhere";
    task_fails(fixture.ctx, &config, NVDP_ERR_IO, "--from-base: /nowhere: no such run directory");
    config.from_base = fixture.task.model;
    task_fails(fixture.ctx, &config, NVDP_ERR_IO, "run.json");
    config.from_base = fixture.base;
    config.model = "/other";
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT,
               "the model from which the run of --from-base was trained");
    config.model = fixture.task.model; /* the base run's own model: no contradiction */
    task_train(fixture.ctx, &config);
    config.model = NULL;
    config.from_base = run;
    config.out = support_scratch_path("second");
    task_fails(fixture.ctx, &config, NVDP_ERR_INPUT, "expected a run of base or reg, found nvdp");
    config.from_base = NULL;
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT, "option --model or --from-base is needed");
    config.from_base = fixture.base;
    cr_assert_eq(unlink(support_path("%s/result.json", fixture.base)), 0);
    task_fails(fixture.ctx, &config, NVDP_ERR_STATE,
               "expected a finished run, but result.json is missing");
}

/* --- both steps in one: --base-epochs --- */

static struct nvdp__train_options both(const struct fixture *fixture, const char *out) {
    struct nvdp__train_options config = task_config(&fixture->task, NVDP_METHOD_VIB_LEARNED, out);
    task_set(&config, "base-epochs 2 epochs 3 lr 1e-2");
    return config;
}

Test(start, two_steps_in_one_are_the_two_steps) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *whole = support_scratch_path("whole"), *parts = support_scratch_path("parts");
    const char *first = support_scratch_path("whole/base");
    const char *base = support_scratch_path("first");
    struct nvdp__train_options config = both(&fixture, whole);
    struct nvdp_train_result one = task_train(fixture.ctx, &config);

    config.method = NVDP_METHOD_BASE;
    config.dropout = config.classifier_dropout = 0.1;
    config.out = base;
    task_set(&config, "base-epochs 0 epochs 2");
    task_train(fixture.ctx, &config);
    cr_expect(support_same_file(base, first, "model/model.safetensors"));

    config = both(&fixture, parts);
    config.from_base = base; /* which --base-epochs leaves unchanged */
    config.model = NULL;
    config.freeze_layers = 1;
    struct nvdp_train_result two = task_train(fixture.ctx, &config);
    cr_expect(support_same_file(whole, parts, "model/model.safetensors"));
    cr_expect_eq(one.test->mean[0], two.test->mean[0]);
    cr_expect_neq(access(support_scratch_path("parts/base"), F_OK), 0);
}

Test(start, two_steps_in_one_resume_exactly) {
    struct fixture fixture;
    open_fixture(&fixture);
    task_resumes_exactly(fixture.ctx, both(&fixture, NULL));
}

/* An earlier run is removed completely, also after kills, but it is kept if the new run cannot
 * begin. */
Test(start, two_steps_in_one_replace_a_run) {
    struct fixture fixture;
    open_fixture(&fixture);
    const char *run = support_scratch_path("run");
    struct nvdp__train_options config = both(&fixture, run);
    struct nvdp_train_plan plan = NVDP_RESULT(struct nvdp_train_plan);
    task_train(fixture.ctx, &config);
    task_fails(fixture.ctx, &config, NVDP_ERR_ARGUMENT, "use --resume or --overwrite");
    config.overwrite = true;
    config.data = "/nowhere";
    task_fails(fixture.ctx, &config, NVDP_ERR_IO, "/nowhere/train.tsv");
    cr_expect_eq(access(support_scratch_path("run/base/result.json"), F_OK), 0);
    config.data = fixture.task.data;
    const char *first = support_read(support_scratch_path("run/base/run.json"));
    config.seed++;
    support_file("run/state.ckpt.partial-1-0", "half");
    support_file("run/base/state.ckpt.partial-1-0", "half");
    support_file("run/base/model/model.safetensors.partial-1-0", "half");
    task_train(fixture.ctx, &config);
    const char *second = support_read(support_scratch_path("run/base/run.json"));
    cr_expect_str_neq(first, second);
    support_contains(second, "\"method\": \"base\"");

    config.overwrite = false;
    config.out = support_scratch_path("planned");
    ok(nvdp__train_plan(fixture.ctx, &config, false, &plan));
    cr_expect_eq(config.freeze_layers, 1, "all of them");
    cr_expect_gt(plan.frozen_parameters, 0);
    task_set(&config, "base-epochs 0 freeze-layers 0");
    ok(nvdp__train_plan(fixture.ctx, &config, false, &plan));
    cr_expect_eq(plan.base_seconds, 0);
    cr_expect_eq(plan.frozen_parameters, 0);
}

/* --- learning rates of encoder, bottleneck and head --- */

Test(start, each_part_learns_at_its_own_rate) {
    struct nvdp_context *ctx = support_context();
    static const char *const tensor[] = {"bert.encoder.layer.0.output.dense.weight",
                                         "nvib.mu.weight", "classifier.weight"};
    static const struct {
        const char *name;
        double lr, bottleneck, head;
        bool moves[3];
    } cases[] = {{"none", 0, -1, -1, {false, false, false}},
                 {"encoder", 1e-2, 0, 0, {true, false, false}},
                 {"bottleneck", 0, 1e-2, -1, {false, true, false}},
                 {"head", 0, -1, 1e-2, {false, false, true}},
                 {"all", 1e-2, -1, -1, {true, true, true}},
                 {"named", 1e-2, 1e-2, 1e-2, {true, true, true}}};
    const char *run[sizeof cases / sizeof *cases];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, cases[i].name);
        run[i] = config.out;
        config.epochs = 1;
        config.adamw.lr = cases[i].lr;
        config.lr_bottleneck = cases[i].bottleneck;
        config.lr_head = cases[i].head;
        task_train(ctx, &config);
        for (int k = 0; k < 3; k++)
            cr_expect_neq(same_tensor(ctx, run[0], run[i], tensor[k]), cases[i].moves[k], "%s: %s",
                          cases[i].name, tensor[k]);
    }
    cr_expect(support_same_file(run[4], run[5], "model/model.safetensors"));
}
