#include "train/machine.h"

#include "base/machine.h"
#include <cblas.h>
#include <gsl/gsl_version.h>
#include <nvdp/version.h>

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    char name[512];
    nvdp__processor_name(sizeof name, name);
    return json_pack("{s:s,s:i}", "processor", name, "threads", nvdp_context_threads(ctx));
}
