/* Tests weight decay towards the checkpoint, and method reg, which uses it. */
#include "encoder/checkpoint.h"
#include "train_test.h"

static struct nvdp__train_options reg_config(struct nvdp_context *ctx, const struct task *task,
                                             const char *out) {
    struct nvdp__train_options config = task_config(task, NVDP_METHOD_REG, out);
    struct nvdp__train_options implied = task_implied(ctx, "method", "reg");
    config.dropout = implied.dropout;
    config.classifier_dropout = implied.classifier_dropout;
    config.adamw.weight_decay = implied.adamw.weight_decay;
    config.decay_to = implied.decay_to;
    return config;
}

Test(reg, implies_dropout_and_decay_towards_the_checkpoint) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__train_options config = nvdp__train_defaults();
    cr_expect_eq(config.dropout, 0);
    cr_expect_eq(config.decay_to, NVDP__DECAY_TO_ZERO);
    cr_expect_eq(config.kl_schedule, NVDP__KL_CONSTANT);
    config = task_implied(ctx, "method", "reg");
    cr_expect_eq(config.dropout, 0.1);
    cr_expect_eq(config.classifier_dropout, 0.1);
    cr_expect_eq(config.adamw.weight_decay, 0.01);
    cr_expect_eq(config.decay_to, NVDP__DECAY_TO_PRETRAINED);
    cr_expect_eq(config.kl_schedule, NVDP__KL_CONSTANT);
}

Test(reg, learns) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    struct nvdp_train_result result = task_train(ctx, &config);
    cr_expect_gt(result.test->mean[0], 0.9, "accuracy %g", result.test->mean[0]);
    cr_expect_eq(result.test->draws, 1); /* no noise */
}

/* --- several steps against a plain loop in double --- */

struct plain {
    double *x, *m, *v;
    float *anchor;
};

/* Returns the checkpoint's values by name, directly from the file; 0 for tensors that it lacks. */
static float *anchor_of(struct nvdp_context *ctx, const char *directory,
                        const struct nvdp__params *params) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    float *anchor = calloc(params->total, sizeof *anchor);
    size_t lacking = 0;
    ok(nvdp__safetensors_open(ctx, support_path("%s/model.safetensors", directory), &file));
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, params->entry[i].name);
        lacking += info == NULL;
        if (info != NULL) nvdp__safetensors_read_f32(info, anchor + params->entry[i].offset);
    }
    cr_assert_eq(lacking, 2, "all but the classifier"); /* its weight and bias */
    return support_keep(anchor);
}

static void plain_begin(struct plain *p, struct nvdp_context *ctx, const struct nvdp__trainer *t) {
    const struct nvdp__params *params = &t->model->params;
    double **const sums[] = {&p->x, &p->m, &p->v};
    for (size_t k = 0; k < 3; k++)
        *sums[k] = support_keep(calloc(params->total, sizeof(double)));
    p->anchor = anchor_of(ctx, t->config.model, params);
    for (size_t i = 0; i < params->total; i++)
        p->x[i] = params->value[i];
}

/* Clips, takes Adam's step with bias correction, and decays towards the anchor; gradients are
 * the trainer's. */
static void plain_step(struct plain *p, const struct nvdp__trainer *t, int step) {
    const struct nvdp__params *params = &t->model->params;
    const struct nvdp__adamw_options *c = &t->config.adamw;
    double scale = t->job.last.norm > c->clip_norm ? c->clip_norm / (t->job.last.norm + 1e-6) : 1;
    for (size_t k = 0; k < params->count; k++) {
        const struct nvdp__param *entry = &params->entry[k];
        double decay = entry->flags & NVDP__PARAM_DECAY ? c->weight_decay : 0;
        for (size_t i = entry->offset; i < entry->offset + entry->count; i++) {
            double g = scale * (double)params->grad[i];
            p->m[i] = c->beta1 * p->m[i] + (1 - c->beta1) * g;
            p->v[i] = c->beta2 * p->v[i] + (1 - c->beta2) * g * g;
            double first = p->m[i] / (1 - pow(c->beta1, step));
            double second = p->v[i] / (1 - pow(c->beta2, step));
            double pull = decay * (p->x[i] - (double)p->anchor[i]);
            p->x[i] -= t->job.last.lr * (pull + first / (sqrt(second) + c->adam_eps));
        }
    }
}

static void open_trainer(struct nvdp__trainer *t) {
    ok(nvdp__trainer_open(t));
    ok(nvdp__trainer_allocate(t, true));
    struct nvdp_model *model = t->model;
    nvdp__model_initialise(model, t->config.seed);
    ok(nvdp__checkpoint_load(&model->dev, t->config.model, &model->params));
    nvdp__epoch_order(t->config.seed, 0, t->train->count, t->job.order);
}

/* Compares ten steps. Adam's first steps have the size of the rate, independent of the gradient.
 * For gradients near the smallest float the quotient's error is large, so these elements are not
 * compared. The others differ by float32's roundings of x (6e-8 of weights near 1) and of the
 * quotient (1e-6 of a rate of 1e-2) in each of ten steps. */
Test(reg, steps_are_those_of_a_plain_loop) {
    enum { STEPS = 10 };
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer t = {
        .ctx = ctx, .config = reg_config(ctx, &task, support_scratch_path("run"))};
    struct plain plain;
    t.config.adamw.weight_decay = 3; /* so that decay is a large part of a step */
    t.config.adamw.warmup = 0;
    open_trainer(&t);
    plain_begin(&plain, ctx, &t);
    for (int step = 1; step <= STEPS; step++) {
        ok(nvdp__job_step(&t.job));
        plain_step(&plain, &t, step);
        t.job.step++;
        t.state.epoch_step++;
    }
    const struct nvdp__params *params = &t.model->params;
    size_t compared = 0, moved = 0;
    for (size_t k = 0; k < params->count; k++) {
        const struct nvdp__param *entry = &params->entry[k];
        for (size_t i = entry->offset; i < entry->offset + entry->count; i++) {
            bool tiny = plain.v[i] > 0 && plain.v[i] < 1e-18;
            if (tiny) continue;
            compared++;
            moved += fabs(plain.x[i] - (double)plain.anchor[i]) > 1e-3;
            near(params->value[i], plain.x[i], 2e-6, "%s[%zu]", entry->name, i - entry->offset);
        }
    }
    cr_expect_gt(compared, params->total * 9 / 10);
    cr_expect_gt(moved, params->total / 2);
}

/* --- the anchor of a base run's classifier --- */

/* Returns the squared norm of the anchor of the classifier in a run from `base`. */
static double head_anchor(struct nvdp_context *ctx, const struct task *task, const char *base,
                          enum nvdp_method method, const char *name) {
    struct nvdp__trainer t = {.ctx = ctx, .config = reg_config(ctx, task, NULL)};
    double square = 0;
    t.config.method = method;
    t.config.task = name;
    t.config.model = NULL;
    t.config.from_base = base;
    t.config.columns = (struct nvdp__columns){.text_column = "sentence", .label_column = "label"};
    ok(nvdp__trainer_take_base(&t));
    ok(nvdp__trainer_open(&t));
    ok(nvdp__trainer_allocate(&t, true));
    const struct nvdp__param *head = &t.model->params.entry[t.model->classifier.weight];
    for (size_t i = head->offset; i < head->offset + head->count; i++)
        square += pow((double)t.job.optimizer.anchor[i], 2);
    nvdp__trainer_close(&t);
    return square;
}

Test(reg, a_classifier_that_is_not_taken_decays_towards_0) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const char *base = support_scratch_path("base");
    struct nvdp__train_options config = task_config(&task, NVDP_METHOD_BASE, base);
    config.epochs = 1;
    task_train(ctx, &config);
    cr_expect_gt(head_anchor(ctx, &task, base, NVDP_METHOD_REG, "sst2"), 0);
    cr_expect_eq(head_anchor(ctx, &task, base, NVDP_METHOD_REG, "tsv"), 0, "another task's");
    cr_expect_eq(head_anchor(ctx, &task, base, NVDP_METHOD_VIB_FIXED, "sst2"), 0, "a pooler's");
}

/* --- resuming --- */

Test(reg, resumes_exactly) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    task_resumes_exactly(ctx, reg_config(ctx, &task, support_scratch_path("run")));
}

Test(reg, resumes_exactly_in_bfloat16) {
    struct nvdp_context *ctx = support_context();
    support_bf16(ctx);
    struct task task = task_make_wide(ctx);
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    config.precision = NVDP_PRECISION_BF16;
    task_resumes_exactly(ctx, config);
}

/* decay_to is an option of every method. */
Test(reg, nvdp_that_decays_towards_the_checkpoint_resumes_exactly) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    config.method = NVDP_METHOD_NVDP;
    config.adamw.weight_decay = 0.5;
    task_resumes_exactly(ctx, config);
}

/* Changes the last number of the file, which belongs to a weight. */
static void change_a_weight(const char *directory) {
    const float other = 0.5f;
    const char *path = support_path("%s/model.safetensors", directory);
    nvdp__autoptr(fclose) FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, -(long)sizeof other, SEEK_END), 0);
    cr_assert_eq(fwrite(&other, sizeof other, 1, file), 1);
}

Test(reg, another_checkpoint_cannot_be_decayed_to) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    task_stop(ctx, &config, 11);
    change_a_weight(task.model);
    config.resume = config.out;
    task_fails(ctx, &config, NVDP_ERR_INPUT, "state.ckpt: expected the weights");
    support_contains(nvdp_context_error(ctx), task.model);
}

/* --- the result of decay --- */

/* Reads a tensor of a directory's weights. */
static float *read_tensor(struct nvdp_context *ctx, const char *directory, const char *name,
                          size_t *count) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, support_path("%s/model.safetensors", directory), &file));
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    cr_assert_not_null(info, "%s", name);
    float *value = malloc(info->count * sizeof *value);
    cr_assert_not_null(value);
    nvdp__safetensors_read_f32(info, value);
    *count = info->count;
    return support_keep(value);
}

/* Returns the largest distance of a run's tensor from `scale` times the checkpoint's (NULL: from
 * 0). */
static double distance(struct nvdp_context *ctx, const char *run, const char *checkpoint,
                       double scale, const char *name) {
    double largest = 0;
    size_t count, same;
    float *value = read_tensor(ctx, support_path("%s/model", run), name, &count);
    float *from = checkpoint != NULL ? read_tensor(ctx, checkpoint, name, &same) : NULL;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)value[i] - (from != NULL ? scale * from[i] : 0)));
    return largest;
}

static const char query[] = "bert.encoder.layer.0.attention.self.query.weight";
static const char pooler[] = "bert.pooler.dense.weight";
static const char norm[] = "bert.encoder.layer.0.output.LayerNorm.weight";

/* Rate times decay is 1 in the first step. Gradients are clipped to almost nothing (1e-6, over
 * Adam's epsilon of 1, at a rate of 0.1 in 14 steps), so the weights equal the values towards
 * which decay pulls. */
static void pulls(enum nvdp__decay_to to, size_t freeze_layers) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    const double rest = 2e-6, kept = to == NVDP__DECAY_TO_PRETRAINED ? 1 : 0;
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    config.decay_to = to;
    config.adamw.warmup = 0;
    config.freeze_layers = freeze_layers;
    task_set(&config, "weight-decay 10 lr 0.1 clip-norm 1e-6 adam-eps 1 epochs 1");
    task_train(ctx, &config);
    double query_kept = freeze_layers > 0 ? 1 : kept;
    cr_expect_lt(distance(ctx, config.out, task.model, query_kept, query), rest);
    cr_expect_lt(distance(ctx, config.out, task.model, kept, pooler), rest);
    cr_expect_lt(distance(ctx, config.out, task.model, 1, norm), rest, "LayerNorm does not decay");
    cr_expect_lt(distance(ctx, config.out, NULL, 0, "classifier.weight"), rest);
    if (freeze_layers > 0) cr_expect_eq(distance(ctx, config.out, task.model, 1, query), 0);
}

Test(reg, decay_pulls_to_the_checkpoint_and_the_classifier_to_zero) {
    pulls(NVDP__DECAY_TO_PRETRAINED, 0);
}

Test(reg, decay_pulls_to_zero_where_it_is_told_to) {
    pulls(NVDP__DECAY_TO_ZERO, 0);
}

Test(reg, frozen_layers_stay) {
    pulls(NVDP__DECAY_TO_PRETRAINED, 1);
}

Test(reg, a_plan_counts_the_anchor) {
    struct nvdp_context *ctx = support_context();
    struct task task = task_make(ctx);
    struct nvdp__train_options config = reg_config(ctx, &task, support_scratch_path("run"));
    struct nvdp_train_plan plan[2];
    for (int to = 0; to < 2; to++) {
        config.decay_to = to == 0 ? NVDP__DECAY_TO_ZERO : NVDP__DECAY_TO_PRETRAINED;
        ok(nvdp__train_plan(ctx, &config, false, &plan[to]));
    }
    cr_expect_geq(plan[1].memory_bytes - plan[0].memory_bytes, 4 * plan[0].parameters);
}
