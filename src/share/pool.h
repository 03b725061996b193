/* Names of the ways to pool, in files and directories. */
#ifndef NVDP_SRC_SHARE_POOL_H
#define NVDP_SRC_SHARE_POOL_H

#include "model/model.h"
#include <string.h>

/* "auto" is settled before anything is written. */
static inline const char *nvdp__pool_name(enum nvdp_pool pool) {
    return nvdp__pool_names[pool];
}

/* NVDP_POOL_AUTO where the name is none of the others. */
static inline enum nvdp_pool nvdp__pool_find(const char *name) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        if (strcmp(name, nvdp__pool_name(pool)) == 0) return pool;
    }
    return NVDP_POOL_AUTO;
}

#endif
