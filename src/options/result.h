/* Result tables (nvdp/result.h) inside the library. */
#ifndef NVDP_SRC_OPTIONS_RESULT_H
#define NVDP_SRC_OPTIONS_RESULT_H

#include "base/result.h"

#define RESULT(name) extern const struct nvdp_result_table nvdp__result_##name;
#include "options/results.inc"
#undef RESULT

#endif
