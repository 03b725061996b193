/** @file status.h
 * Status codes: what every fallible function of the library returns.
 *
 * On anything but NVDP_OK the results that a function writes through pointers are untouched, and
 * nvdp_context_error() holds one line that names the file, line, tensor or field at fault, what was
 * expected and what was found.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_STATUS_H
#define NVDP_STATUS_H

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** The codes, each with its meaning: X(name, text) is expanded once per code. */
#define NVDP_STATUS_MAP(X)                                                                         \
    X(OK, "success")                                                                               \
    X(ERR_MEMORY, "out of memory")                                                                 \
    X(ERR_ARGUMENT, "an option or argument is out of its range")                                   \
    X(ERR_INPUT, "an input file is malformed or inconsistent")                                     \
    X(ERR_IO, "the operating system refused a file operation")                                     \
    X(ERR_NUMERIC, "a computation left the range of numbers")                                      \
    X(ERR_CANCELLED, "cancelled on request")                                                       \
    X(ERR_UNSUPPORTED, "not available in this build")                                              \
    X(ERR_STATE, "called in the wrong state")

/** How a call ended.  Codes keep their numbers; new ones are added at the end. */
typedef enum nvdp_status {
#define NVDP_STATUS_ENUM(name, text) NVDP_##name, /**< text */
    NVDP_STATUS_MAP(NVDP_STATUS_ENUM)
#undef NVDP_STATUS_ENUM
        NVDP_STATUS_COUNT /**< how many codes there are; none itself */
} nvdp_status;

/** A code's name without its prefix, such as "ERR_INPUT".
 * @param status any value
 * @return static text, "UNKNOWN" for what is no code; never NULL */
const char *nvdp_status_name(nvdp_status status);

/** A code's meaning in a few words, such as "out of memory".
 * @param status any value
 * @return static text, "unknown status" for what is no code; never NULL */
const char *nvdp_status_text(nvdp_status status);

NVDP_END_DECLS
#endif
