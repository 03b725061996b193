/* Devices: their precision, notices, and threads. */
#include "bf16_test.h"

#include <omp.h>

#include "test_context.h"

struct heard {
    int notices;
    char last[512];
};

static void listen(enum nvdp_log_level level, const char *message, void *user) {
    struct heard *heard = user;
    if (level != NVDP_LOG_NOTICE) return;
    heard->notices++;
    snprintf(heard->last, sizeof heard->last, "%s", message);
}

Test(device, float32_is_the_default) {
    struct heard heard = {0};
    nvdp__auto(nvdp__device_release) struct nvdp__device dev;
    nvdp_context_set_log(ctx, listen, &heard);
    cr_expect_eq(nvdp__context_precision(ctx), NVDP_PRECISION_F32);
    ok(nvdp__device_create(ctx, &dev));
    cr_expect_null(dev.bf16);
    cr_expect_eq(dev.threads, 2);
    cr_expect_eq(heard.notices, 0);
    ok(nvdp__device_status(&dev));
    nvdp__weights_changed(&dev);
}

/* The device uses bf16 where the processor has it; elsewhere float32, and a notice gives the
 * reason. */
Test(device, in_bf16_or_with_a_notice) {
    struct heard heard = {0};
    struct nvdp__device dev;
    const char *missing = nvdp__bf16_missing(false);
    nvdp_context_set_log(ctx, listen, &heard);
    nvdp_context_set_precision(ctx, NVDP_PRECISION_BF16);
    cr_expect_eq(nvdp__context_precision(ctx), NVDP_PRECISION_BF16);
    ok(nvdp__device_create(ctx, &dev));
    cr_expect_eq(dev.bf16 == NULL, missing != NULL);
    cr_expect_eq(heard.notices, missing != NULL ? 1 : 0);
    if (missing != NULL) {
        support_contains(heard.last, "bf16");
        cr_expect_not_null(strstr(heard.last, missing), "found '%s'", heard.last);
        support_contains(heard.last, "f32");
    }
    ok(nvdp__device_status(&dev));
    nvdp__device_release(&dev);
    cr_expect_null(dev.bf16);
    nvdp__device_release(&dev);
}

/* Tests request the form without the instructions; otherwise the device gives the notice above. */
Test(device, plain_bf16_on_request) {
    bf16_or_skip();
    nvdp__auto(nvdp__device_release) struct nvdp__device dev;
    nvdp__allow_plain_bf16(ctx);
    ok(nvdp__device_create(ctx, &dev));
    cr_expect_null(dev.bf16, "f32 was asked for");
    nvdp_context_set_precision(ctx, NVDP_PRECISION_BF16);
    ok(nvdp__device_create(ctx, &dev));
    cr_expect_not_null(dev.bf16);
    cr_expect(dev.unit == NVDP__BF16_PLAIN);
}

Test(device, nothing_is_missing_or_creation_says_what) {
    const char *missing = nvdp__bf16_missing(false);
    struct nvdp__bf16_engine *bf16 = NULL;
    nvdp_status status = nvdp__bf16_create(ctx, false, &bf16);
    if (missing == NULL) {
        ok(status);
        cr_expect_not_null(bf16);
    } else {
        cr_assert_eq(status, NVDP_ERR_UNSUPPORTED);
        cr_expect_null(bf16);
        support_contains(nvdp_context_error(ctx), missing);
    }
    nvdp__bf16_free(bf16);
    nvdp__bf16_free(NULL);
}

Test(device, out_of_memory) {
    bf16_or_skip();
    nvdp__auto(nvdp__device_release) struct nvdp__device dev;
    nvdp_context_set_precision(ctx, NVDP_PRECISION_BF16);
    if (nvdp__bf16_missing(false) != NULL) nvdp__allow_plain_bf16(ctx);
    nvdp__fail_allocation(ctx, 1);
    cr_expect_eq(nvdp__device_create(ctx, &dev), NVDP_ERR_MEMORY);
    cr_expect_null(dev.bf16);
}

/* The libraries below use the device's number of threads, whatever the calling thread's number. */
Test(device, products_leave_the_callers_threads_alone) {
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float x[4] = {1, 2, 3, 4}, y[4];
    omp_set_num_threads(3);
    nvdp__gemm(&dev, 1, NVDP__AS_STORED, nvdp__f32(2, 2, x), nvdp__f32(2, 2, x), 0,
               nvdp__f32(2, 2, y));
    near(y[0], 7, 1e-6);
    cr_expect_eq(omp_get_max_threads(), 3);
    int before = nvdp__threads_set(dev.threads);
    cr_expect_eq(omp_get_max_threads(), 2);
    nvdp__threads_restore(before);
    cr_expect_eq(omp_get_max_threads(), 3);
}

Test(device, a_plan_beyond_what_was_measured_is_an_error) {
    nvdp__auto(nvdp__arena_release) struct nvdp__arena arena = {0};
    nvdp__arena_take(&arena, 20);
    ok(nvdp__arena_allocate(ctx, &arena));
    cr_expect_not_null(nvdp__arena_take(&arena, 20));
    ok(nvdp__arena_check(ctx, &arena));
    cr_expect_null(nvdp__arena_take(&arena, 1));
    cr_expect_eq(nvdp__arena_check(ctx, &arena), NVDP_ERR_STATE);
    cr_expect_str_eq(nvdp_context_error(ctx),
                     "internal error: a plan took 48 floats, but 32 were measured");
}
