/* The options of a bottleneck: rows for every kind of work that trains or reads one. */
#ifndef NVDP_SRC_MECHANISM_OPTIONS_H
#define NVDP_SRC_MECHANISM_OPTIONS_H

#include "base/schema.h"
#include <nvdp/method.h>

/* Rows of struct nvdp_nvib_config, in two tables: its regulariser stands with the loss's options. */
extern const struct nvdp_option nvdp__bottleneck_options[];
extern const struct nvdp_option nvdp__regularizer_options[];
/* Both: the object "nvib" in files. */
extern const struct nvdp__schema nvdp__nvib_schema;

extern const char *const nvdp__method_names[];
extern const char *const nvdp__pool_names[];

#endif
