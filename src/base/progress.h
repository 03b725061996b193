/* Progress of a long loop: rate-limited reports with an ETA through the context's callback. */
#ifndef NVDP_SRC_PROGRESS_H
#define NVDP_SRC_PROGRESS_H

#include "base/base.h"

struct nvdp__meter {
    struct nvdp_context *ctx;
    struct nvdp_progress report;
    double started;
    double last;
    uint64_t done_at_start; /* resumed work does not count in the rate */
};

void nvdp__meter_begin(struct nvdp__meter *meter, struct nvdp_context *ctx, const char *phase,
                       const char *unit, uint64_t done, uint64_t total);
/* `work` counts items of `rate_unit` done so far since begin (for the rate); loss may be NaN.
 * Reports at most ten times a second. */
void nvdp__meter_update(struct nvdp__meter *meter, uint64_t done, double work,
                        const char *rate_unit, double loss);
/* The accuracy of reports from now on. */
void nvdp__meter_accuracy(struct nvdp__meter *meter, double accuracy);
void nvdp__meter_end(struct nvdp__meter *meter);

#endif
