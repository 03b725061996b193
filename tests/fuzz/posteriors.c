/* Reads any bytes as a posteriors file. */
#include "fuzz.h"
#include <nvdp/posteriors.h>

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    (void)nvdp_posteriors_read(in.ctx, in.path, &set);
    return NVDP_OK;
}
