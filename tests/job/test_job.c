/* Tests the engine of runs with a kind of run that has no model: steps down |x - target|^2 / 2. */
#include "job/job.h"
#include "tests/support/support.h"

#include "test_context.h"

enum { SIZE = 40, STEPS = 12 };

struct toy_state {
    uint64_t counted;
    double sum;
};

struct toy {
    struct nvdp__job job;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct toy_state state;
    double loss;
    bool fails;
    uint64_t cancel_at;
};

static size_t tokens(const void *run, int64_t row) {
    (void)run;
    return (size_t)row;
}

static void begin(void *run, struct nvdp__pass *pass) {
    (void)run;
    cr_expect(pass->training);
}

static nvdp_status batch(void *run, struct nvdp__pass *pass) {
    struct toy *toy = run;
    cr_expect_eq(pass->step, toy->job.step);
    cr_expect_eq(toy->loss, 0, "a step's sums begin at 0");
    nvdp__grad_begin(&toy->dev, &toy->params);
    for (size_t i = 0; i < SIZE; i++) {
        float distance = toy->params.value[i] - (float)(i + toy->job.step % 3);
        toy->params.grad[i] = distance;
        toy->loss += .5 * (double)(distance * distance);
    }
    toy->job.last.tokens = 7;
    return NVDP_OK;
}

static double total(void *run) {
    const struct toy *toy = run;
    return toy->fails ? NAN : toy->loss;
}

static nvdp_status diverged(void *run) {
    return nvdp__fail(((struct toy *)run)->job.ctx, NVDP_ERR_NUMERIC, "the toy diverged");
}

static nvdp_status count(void *run, double *shown) {
    struct toy *toy = run;
    toy->state.counted++;
    toy->state.sum += toy->loss;
    *shown = toy->loss;
    return nvdp__job_log(&toy->job, json_pack("{s:f}", "loss", toy->loss), true);
}

static nvdp_status check_state(void *run, const char *path, const json_t *object) {
    struct toy *toy = run;
    cr_expect(json_is_object(object));
    return toy->job.step <= toy->job.steps
               ? NVDP_OK
               : nvdp__fail(toy->job.ctx, NVDP_ERR_INPUT, "%s: too many steps", path);
}

static const struct nvdp__state_member members[] = {
    NVDP__COUNT(struct toy_state, counted), NVDP__REAL(struct toy_state, sum), {0}};

static const struct nvdp__job_kind kind = {.command = "toy",
                                           .members = members,
                                           .sums = 1,
                                           .tokens = tokens,
                                           .begin = begin,
                                           .batch = batch,
                                           .total = total,
                                           .diverged = diverged,
                                           .count = count,
                                           .check_state = check_state};

static bool cancelled(void *user) {
    const struct toy *toy = user;
    return toy->cancel_at > 0 && toy->job.step >= toy->cancel_at;
}

static void open_toy(struct toy *toy, const char *out) {
    size_t index;
    *toy = (struct toy){.dev = nvdp__device_cpu(ctx)};
    nvdp__params_init(&toy->params, ctx);
    ok(nvdp__params_add(&toy->params, "x", 1, SIZE, 1, 0, &index));
    ok(nvdp__params_allocate(&toy->params, true));
    toy->job = (struct nvdp__job){
        .ctx = ctx,
        .kind = &kind,
        .run = toy,
        .state = &toy->state,
        .dev = &toy->dev,
        .params = &toy->params,
        .optimizer =
            {.adamw = {.lr = .1, .warmup = .2, .beta1 = .9, .beta2 = .999, .adam_eps = 1e-8}},
        .sums = &toy->loss,
        .steps = STEPS,
        .schedule = STEPS,
        .checkpoint_seconds = 1e9,
        .out = out};
    ok(nvdp__optimizer_create(ctx, &toy->params, &toy->job.optimizer));
    nvdp_context_set_cancel(ctx, cancelled, toy);
    mkdir(out, 0700);
}

static void close_toy(struct toy *toy) {
    nvdp__job_close(&toy->job);
    nvdp__params_release(&toy->params);
}

static nvdp_status go(struct toy *toy) {
    nvdp_status status = nvdp__job_open_metrics(&toy->job);
    nvdp__job_start(&toy->job, "toy");
    while (status == NVDP_OK && toy->job.step < toy->job.steps)
        status = nvdp__job_advance(&toy->job);
    return status;
}

Test(job, a_stopped_run_goes_on_to_the_same_bits) {
    struct toy whole, part, rest;
    const char *out = support_scratch_path("part");
    bool found = true;
    open_toy(&whole, support_scratch_path("whole"));
    ok(go(&whole));
    open_toy(&part, out);
    ok(nvdp__job_load(&part.job, &found));
    cr_expect_not(found);
    part.cancel_at = 5;
    cr_assert_eq(go(&part), NVDP_ERR_CANCELLED);
    cr_expect_str_eq(
        nvdp_context_error(part.job.ctx),
        support_path("interrupted after step 5 of 12; continue with: toy --resume %s", out));
    ok(nvdp__job_log(&part.job, json_pack("{s:i}", "lost", 1), false));
    close_toy(&part);
    open_toy(&rest, out);
    ok(nvdp__job_load(&rest.job, &found));
    cr_expect(found);
    cr_expect_eq(rest.job.step, 5);
    ok(go(&rest));
    cr_expect_eq(memcmp(rest.params.value, whole.params.value, SIZE * sizeof(float)), 0);
    cr_expect_eq(rest.state.counted, STEPS);
    cr_expect(rest.state.sum == whole.state.sum);
    cr_expect_eq(rest.job.tokens, 7 * STEPS);
    cr_expect(support_same_file(whole.job.out, out, "metrics.jsonl"), "lines after the state go");
    close_toy(&rest);
    open_toy(&rest, out);
    rest.job.steps = 4;
    cr_expect_eq(nvdp__job_load(&rest.job, NULL), NVDP_ERR_INPUT);
    cr_expect_str_eq(nvdp_context_error(rest.job.ctx),
                     support_path("%s/state.ckpt: too many steps", out));
    close_toy(&rest);
    close_toy(&whole);
}

Test(job, a_loss_that_is_not_finite_changes_nothing) {
    struct toy toy;
    open_toy(&toy, support_scratch_path("fails"));
    toy.fails = true;
    cr_expect_eq(go(&toy), NVDP_ERR_NUMERIC);
    cr_expect_str_eq(nvdp_context_error(toy.job.ctx), "the toy diverged");
    cr_expect_eq(toy.job.step + toy.state.counted + toy.job.optimizer.steps_taken, 0);
    for (size_t i = 0; i < SIZE; i++)
        cr_expect_eq(toy.params.value[i], 0);
    close_toy(&toy);
}
