#include <nvdp/status.h>

const char *nvdp_status_name(nvdp_status status) {
    switch (status) {
#define NVDP_STATUS_CASE(name, text)                                                               \
    case NVDP_##name:                                                                              \
        return #name;
        NVDP_STATUS_MAP(NVDP_STATUS_CASE)
#undef NVDP_STATUS_CASE
    default:
        return "UNKNOWN";
    }
}

const char *nvdp_status_text(nvdp_status status) {
    switch (status) {
#define NVDP_STATUS_CASE(name, text)                                                               \
    case NVDP_##name:                                                                              \
        return text;
        NVDP_STATUS_MAP(NVDP_STATUS_CASE)
#undef NVDP_STATUS_CASE
    default:
        return "unknown status";
    }
}
