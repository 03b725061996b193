#include "train/machine.h"

#include "base/machine.h"
#include <cblas.h>
#include <gsl/gsl_version.h>
#include <nvdp/version.h>
#include <time.h>

json_t *nvdp__now_json(void) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    char name[512];
    nvdp__processor_name(sizeof name, name);
    return json_pack("{s:s,s:i}", "processor", name, "threads", nvdp_context_threads(ctx));
}
