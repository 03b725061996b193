#include "base/progress.h"

#include "base/context_private.h"
#include <math.h>

static const double REPORT_INTERVAL = 0.1; /* seconds */

void nvdp__meter_begin(struct nvdp__meter *meter, struct nvdp_context *ctx, const char *phase,
                       const char *unit, uint64_t done, uint64_t total) {
    double now = nvdp__now();
    *meter = (struct nvdp__meter){
        .ctx = ctx,
        .report = {.phase = phase,
                   .done = done,
                   .total = total,
                   .unit = unit,
                   .rate_unit = unit,
                   .loss = NAN,
                   .accuracy = NAN,
                   .eta_seconds = NAN},
        .started = now,
        .last = now - REPORT_INTERVAL,
        .done_at_start = done,
    };
}

static void send(struct nvdp__meter *meter) {
    const struct nvdp_context *ctx = meter->ctx;
    if (ctx != NULL && ctx->progress != NULL) ctx->progress(&meter->report, ctx->progress_user);
}

static double remaining_seconds(const struct nvdp__meter *meter) {
    const struct nvdp_progress *report = &meter->report;
    if (report->total == 0 || report->done <= meter->done_at_start) return NAN;
    if (report->done >= report->total) return 0;
    double advanced = (double)(report->done - meter->done_at_start);
    return report->elapsed_seconds * (double)(report->total - report->done) / advanced;
}

void nvdp__meter_update(struct nvdp__meter *meter, uint64_t done, double work,
                        const char *rate_unit, double loss) {
    struct nvdp_progress *report = &meter->report;
    double now = nvdp__now();
    report->done = done;
    report->rate_unit = rate_unit;
    report->loss = loss;
    report->elapsed_seconds = now - meter->started;
    report->rate = report->elapsed_seconds > 0 ? work / report->elapsed_seconds : 0;
    report->eta_seconds = remaining_seconds(meter);
    if (now - meter->last < REPORT_INTERVAL) return;
    meter->last = now;
    send(meter);
}

void nvdp__meter_accuracy(struct nvdp__meter *meter, double accuracy) {
    meter->report.accuracy = accuracy;
}

void nvdp__meter_end(struct nvdp__meter *meter) {
    meter->report.elapsed_seconds = nvdp__now() - meter->started;
    meter->report.eta_seconds = 0;
    meter->report.finished = true;
    send(meter);
}
