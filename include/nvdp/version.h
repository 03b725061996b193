/* The library's version, as macros and as a function. */
#ifndef NVDP_VERSION_H
#define NVDP_VERSION_H

#define NVDP_VERSION_MAJOR 0
#define NVDP_VERSION_MINOR 1
#define NVDP_VERSION_PATCH 0
#define NVDP_VERSION "0.1.0"

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/* The version of the library that runs, such as "0.1.0". */
const char *nvdp_version(void);

NVDP_END_DECLS
#endif
