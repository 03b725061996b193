/** @file version.h
 * The library's version: as macros, of the headers, and as a function, of the library that runs.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_VERSION_H
#define NVDP_VERSION_H

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

#define NVDP_VERSION_MAJOR 0 /**< the public face changed so that programs must change */
#define NVDP_VERSION_MINOR 1 /**< something was added */
#define NVDP_VERSION_PATCH 0 /**< something was repaired */
#define NVDP_VERSION "0.1.0" /**< all three */

/** The version of the library that runs.
 * @return static text such as "0.1.0", as NVDP_VERSION of the headers it was built from */
const char *nvdp_version(void);

NVDP_END_DECLS
#endif
