/* The trivial mechanism of methods base and reg: BERT's pooler, nothing private. */
#ifndef NVDP_SRC_BOTTLENECK_NONE_H
#define NVDP_SRC_BOTTLENECK_NONE_H

#include "bottleneck/bottleneck.h"

extern const struct nvdp__mechanism nvdp__mechanism_none;

#endif
