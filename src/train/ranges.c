#include "train/ranges.h"

nvdp_status nvdp__check_ranges(struct nvdp_context *ctx, size_t count,
                               const struct nvdp__range *range) {
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__range *r = &range[i];
        if (r->value >= r->min && r->value <= r->max) continue; /* NaN fails */
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %g to %g, found %g", r->field,
                          r->min, r->max, r->value);
    }
    return NVDP_OK;
}
