#include <nvdp/version.h>

const char *nvdp_version(void) {
    return NVDP_VERSION;
}
