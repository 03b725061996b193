/* Progress reports: rates, times left, resumed work. */
#include "support.h"

#include "test_context.h"

struct seen {
    int count;
    struct nvdp_progress last;
};

static void keep(const struct nvdp_progress *progress, void *user) {
    struct seen *seen = user;
    seen->count++;
    seen->last = *progress;
}

static void wait_seconds(double seconds) {
    struct timespec wait = {0, (long)(seconds * 1e9)};
    nanosleep(&wait, NULL);
}

Test(progress, first_and_last_reports_and_few_between) {
    struct seen seen = {0};
    struct nvdp__meter meter;
    nvdp_context_set_progress(ctx, keep, &seen);
    nvdp__meter_begin(&meter, ctx, "train", "step", 0, 1000000);
    double started = nvdp__now();
    for (uint64_t i = 1; i <= 100000; i++)
        nvdp__meter_update(&meter, i, (double)i, "token", 0.5);
    double seconds = nvdp__now() - started;
    cr_assert_geq(seen.count, 1);
    cr_assert_leq(seen.count, 1 + (int)(seconds / 0.1) + 1);
    int before = seen.count;
    nvdp__meter_end(&meter);
    cr_assert_eq(seen.count, before + 1);
    cr_assert(seen.last.finished);
    cr_assert_str_eq(seen.last.phase, "train");
    cr_assert_str_eq(seen.last.unit, "step");
    cr_assert_str_eq(seen.last.rate_unit, "token");
    cr_assert_eq(seen.last.done, 100000);
    cr_assert_eq(seen.last.loss, 0.5);
}

/* 5 of 20 steps were done before and 10 since: the remaining 5 take half the time so far. */
Test(progress, resumed_work_does_not_count) {
    struct seen seen = {0};
    struct nvdp__meter meter;
    nvdp_context_set_progress(ctx, keep, &seen);
    nvdp__meter_begin(&meter, ctx, "train", "step", 5, 20);
    wait_seconds(0.02);
    nvdp__meter_update(&meter, 15, 300, "token", NAN);
    cr_assert_eq(seen.count, 1);
    cr_assert(!seen.last.finished);
    double elapsed = seen.last.elapsed_seconds;
    cr_assert_geq(elapsed, 0.02);
    cr_assert_float_eq(seen.last.eta_seconds, elapsed / 2, 1e-9);
    cr_assert_float_eq(seen.last.rate, 300 / elapsed, 1e-6);
    cr_assert(isnan(seen.last.loss));
}

Test(progress, unknown_total_has_no_eta) {
    struct seen seen = {0};
    struct nvdp__meter meter;
    nvdp_context_set_progress(ctx, keep, &seen);
    nvdp__meter_begin(&meter, ctx, "encode", "text", 0, 0);
    nvdp__meter_update(&meter, 3, 3, "text", NAN);
    cr_assert(isnan(seen.last.eta_seconds));
    nvdp__meter_begin(&meter, NULL, "encode", "text", 0, 0); /* no context, so nobody listens */
    nvdp__meter_update(&meter, 3, 3, "text", NAN);
    nvdp__meter_end(&meter);
}
