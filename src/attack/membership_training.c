#include "attack/membership.h"
nvdp_status nvdp__membership_training(const struct nvdp__attacked *attacked,
                                      struct nvdp__membership *out) {
    (void)attacked;
    (void)out;
    return NVDP_ERR_UNSUPPORTED;
}
