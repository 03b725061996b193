#include "train/optimizer.h"
#include "train/trainer.h"

#include <criterion/criterion.h>

Test(schedule, learning_rate_rises_then_falls_to_zero) {
    /* 20 steps, 4 of warm-up: the golden trace's schedule */
    cr_assert_float_eq(nvdp__lr_factor(0, 20, 0.2), 0, 0);
    cr_assert_float_eq(nvdp__lr_factor(2, 20, 0.2), 0.5, 1e-15);
    cr_assert_float_eq(nvdp__lr_factor(4, 20, 0.2), 1, 1e-15);
    cr_assert_float_eq(nvdp__lr_factor(5, 20, 0.2), 15.0 / 16, 1e-15);
    cr_assert_float_eq(nvdp__lr_factor(20, 20, 0.2), 0, 1e-15);
    cr_assert_float_eq(nvdp__lr_factor(0, 20, 0), 1, 0);
}

Test(schedule, kl_weight) {
    struct nvdp_train_config config = nvdp_train_config_default();
    cr_assert_eq(nvdp__kl_weight(&config, 0, 100), 1);
    config.kl_schedule = NVDP_KL_WARMUP;
    config.kl_delay = 0.2;
    config.kl_ramp = 0.5;
    cr_assert_eq(nvdp__kl_weight(&config, 0, 100), 0);
    cr_assert_eq(nvdp__kl_weight(&config, 19, 100), 0);
    cr_assert_float_eq(nvdp__kl_weight(&config, 45, 100), 0.5, 1e-12);
    cr_assert_float_eq(nvdp__kl_weight(&config, 70, 100), 1, 1e-12);
    cr_assert_eq(nvdp__kl_weight(&config, 99, 100), 1);
    config.kl_ramp = 0;
    cr_assert_eq(nvdp__kl_weight(&config, 20, 100), 1);
    config.kl_schedule = NVDP_KL_DECAY;
    cr_assert_float_eq(nvdp__kl_weight(&config, 25, 100), 0.75, 1e-15);
}
