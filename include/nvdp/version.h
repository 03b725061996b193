/** @file version.h
 * Versions: macros have the version of the headers, and a function returns the version of the loaded library.
 *
 * Stable: later versions add to it. */
/** Increases for incompatible changes. */
#ifndef NVDP_VERSION_H
#define NVDP_VERSION_H

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

#define NVDP_VERSION_MAJOR 0
#define NVDP_VERSION_MINOR 1 /**< increases for additions */
#define NVDP_VERSION_PATCH 0 /**< increases for fixes */
#define NVDP_VERSION "0.1.0" /**< the full version */

/** Returns the version of the loaded library.
 * @return static text such as "0.1.0": NVDP_VERSION of the headers with which the library was built */
const char *nvdp_version(void);

NVDP_END_DECLS
#endif
