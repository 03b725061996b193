/* The table of methods: name and mechanism.  A new mechanism is one file and one row here. */
#include "bottleneck/none.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "vib/vib.h"

#include <string.h>

static const struct {
    const char *name;
    const struct nvdp__mechanism *mechanism;
} table[] = {
    [NVDP_METHOD_BASE] = {"base", &nvdp__mechanism_none},
    [NVDP_METHOD_REG] = {"reg", &nvdp__mechanism_none},
    [NVDP_METHOD_VIB_FIXED] = {"vib-fixed", &nvdp__mechanism_vib_fixed},
    [NVDP_METHOD_VIB_LEARNED] = {"vib-learned", &nvdp__mechanism_vib_learned},
    [NVDP_METHOD_VTDP] = {"vtdp", &nvdp__mechanism_vtdp},
    [NVDP_METHOD_NVDP] = {"nvdp", &nvdp__mechanism_nvdp},
};
enum { METHODS = sizeof table / sizeof table[0] };

const char *nvdp_method_name(enum nvdp_method method) {
    return (size_t)method < METHODS ? table[method].name : "unknown";
}

nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out) {
    for (size_t i = 0; i < METHODS; i++) {
        if (strcmp(name, table[i].name) == 0) {
            *out = (enum nvdp_method)i;
            return NVDP_OK;
        }
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "method '%s': expected base, reg, vib-fixed, vib-learned, vtdp or nvdp",
                      name);
}

const struct nvdp__mechanism *nvdp__method_mechanism(enum nvdp_method method) {
    return (size_t)method < METHODS ? table[method].mechanism : NULL;
}

nvdp__resolver *nvdp__method_resolver(enum nvdp_method method) {
    const struct nvdp__mechanism *mechanism = nvdp__method_mechanism(method);
    return mechanism != NULL ? mechanism->resolve : NULL;
}
