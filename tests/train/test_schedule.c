/* Tests learning rates and regularizer weights over the steps, exactly. */
#include "train_test.h"

#include "test_context.h"

Test(schedule, learning_rate_rises_then_falls_to_zero) {
    /* 20 steps, 4 of warm-up: the golden trace's schedule */
    near(nvdp__lr_factor(0, 20, 0.2), 0, 0);
    near(nvdp__lr_factor(2, 20, 0.2), 0.5, 1e-15);
    near(nvdp__lr_factor(4, 20, 0.2), 1, 1e-15);
    near(nvdp__lr_factor(5, 20, 0.2), 15.0 / 16, 1e-15);
    near(nvdp__lr_factor(20, 20, 0.2), 0, 1e-15);
    near(nvdp__lr_factor(0, 20, 0), 1, 0);
}

/* 20 steps, delay a fifth, ramp half: 0 up to step 4, then a tenth more per step, 1 from step
 * 14. */
Test(schedule, warmup_waits_then_rises_then_stays) {
    struct nvdp__train_options config = nvdp__train_defaults();
    config.kl_schedule = NVDP__KL_WARMUP;
    task_set(&config, "kl-delay 0.2 kl-ramp 0.5");
    for (uint64_t step = 0; step < 20; step++) {
        double want = step <= 4 ? 0 : step >= 14 ? 1 : (double)(step - 4) / 10;
        near(nvdp__kl_weight(&config, step, 20), want, 1e-15, "step %d", (int)step);
    }
    cr_expect_eq(nvdp__kl_weight(&config, 3, 20), 0, "not even a rounding's worth");
    cr_expect_eq(nvdp__kl_weight(&config, 15, 20), 1);
    /* shares of the steps between two steps: of 7 steps, step 2 is at 2/7 */
    cr_expect_eq(nvdp__kl_weight(&config, 1, 7), 0);
    near(nvdp__kl_weight(&config, 2, 7), (2.0 / 7 - 0.2) / 0.5, 1e-15);
    cr_expect_eq(nvdp__kl_weight(&config, 5, 7), 1);
}

Test(schedule, warmup_without_ramp_delay_or_end) {
    struct nvdp__train_options config = nvdp__train_defaults();
    config.kl_schedule = NVDP__KL_WARMUP;
    config.kl_delay = 0.25;
    config.kl_ramp = 0; /* a jump */
    cr_expect_eq(nvdp__kl_weight(&config, 4, 20), 0);
    cr_expect_eq(nvdp__kl_weight(&config, 5, 20), 1);
    config.kl_delay = 0; /* from the first step on, whose weight is 0 */
    config.kl_ramp = 0.5;
    cr_expect_eq(nvdp__kl_weight(&config, 0, 20), 0);
    near(nvdp__kl_weight(&config, 1, 20), 0.1, 1e-15);
    near(nvdp__kl_weight(&config, 10, 20), 1, 1e-15);
    config.kl_delay = 0.8; /* training ends on the ramp */
    near(nvdp__kl_weight(&config, 19, 20), 0.3, 1e-15);
    config.kl_delay = 1;
    cr_expect_eq(nvdp__kl_weight(&config, 19, 20), 0);
}

Test(schedule, constant_and_decay) {
    struct nvdp__train_options config = nvdp__train_defaults();
    for (uint64_t step = 0; step < 20; step++) {
        config.kl_schedule = NVDP__KL_CONSTANT;
        cr_expect_eq(nvdp__kl_weight(&config, step, 20), 1);
        config.kl_schedule = NVDP__KL_DECAY;
        near(nvdp__kl_weight(&config, step, 20), (double)(20 - step) / 20, 1e-15);
    }
}

/* Checks a run's lines of steps: the weight is the schedule's, and the loss follows from it. */
static void check_run(enum nvdp__kl_schedule schedule) {
    enum { STEPS = 28 }; /* 2 epochs of 108 texts in batches of 8 */
    struct nvdp__train_options config = task_options(ctx, NVDP_METHOD_NVDP, "run");
    config.kl_schedule = schedule;
    task_set(&config, "epochs 2 log-every 1 lambda-g 0.25 lambda-d 0.5");
    task_train(ctx, &config);
    const char *path = support_path("%s/metrics.jsonl", config.out);
    nvdp__autoptr(fclose) FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    uint64_t steps = 0;
    json_t *line;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        if (json_object_get(line, "kl_weight") != NULL) {
            double value[5];
            const char *const key[] = {"kl_weight", "loss", "task_loss", "loss_g", "loss_d"};
            for (size_t i = 0; i < 5; i++)
                value[i] = json_number_value(json_object_get(line, key[i]));
            /* lines have 9 digits, and no part of the sum is negative */
            double weight = nvdp__kl_weight(&config, steps, STEPS);
            near(value[0], weight, 1e-9);
            double want = value[2] + value[0] * (0.25 * value[3] + 0.5 * value[4]);
            near(value[1], want, 2e-8 * fabs(want));
            steps++;
        }
        json_decref(line);
    }
    cr_expect_eq(steps, STEPS);
}

Test(schedule, a_run_follows_it) {
    check_run(NVDP__KL_WARMUP);
}

Test(schedule, a_run_follows_its_decay) {
    check_run(NVDP__KL_DECAY);
}

/* The published losses imply full weight, the exact regularizer implies a late rise. */
Test(schedule, the_regularizer_implies_it) {
    struct nvdp__train_options config = task_implied(ctx, "regularizer", "published");
    cr_expect_eq(config.nvib.regularizer, NVDP__REGULARIZER_PUBLISHED);
    cr_expect_eq(config.kl_schedule, NVDP__KL_CONSTANT);
    config = task_implied(ctx, "regularizer", "kl");
    cr_expect_eq(config.kl_schedule, NVDP__KL_WARMUP);
    cr_expect_eq(config.kl_delay, 0.2);
    cr_expect_eq(config.kl_ramp, 0.5);
}
