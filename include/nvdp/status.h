/** @file status.h
 * Status codes: the return values of all fallible functions.
 *
 * On any code other than NVDP_OK, results through pointers are untouched. nvdp_context_error() then returns one line
 * with the file, line, tensor or field at fault, what was expected and what was found.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_STATUS_H
#define NVDP_STATUS_H

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** The codes with their meanings: X(name, text) is expanded once per code. */
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

/** Status of a call. Codes keep their numbers; new codes are added at the end. */
typedef enum nvdp_status {
#define NVDP_STATUS_ENUM(name, text) NVDP_##name, /**< text */
    NVDP_STATUS_MAP(NVDP_STATUS_ENUM)
#undef NVDP_STATUS_ENUM
        NVDP_STATUS_COUNT /**< number of codes; not a code */
} nvdp_status;

/** Returns the name of a code without its prefix, such as "ERR_INPUT".
 * @param status any value
 * @return static text, "UNKNOWN" for an invalid code; never NULL */
const char *nvdp_status_name(nvdp_status status);

/** Returns the meaning of a code, such as "out of memory".
 * @param status any value
 * @return static text, "unknown status" for an invalid code; never NULL */
const char *nvdp_status_text(nvdp_status status);

NVDP_END_DECLS
#endif
