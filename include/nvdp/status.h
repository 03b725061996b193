/* Status codes: what every fallible function of the library returns.
 *
 * On anything but NVDP_OK the results a function writes through pointers are untouched, and
 * nvdp_context_error() holds one line that names the file, line, tensor or field at fault,
 * what was expected and what was found. */
#ifndef NVDP_STATUS_H
#define NVDP_STATUS_H

#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/* name, text */
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

typedef enum nvdp_status {
#define NVDP_STATUS_ENUM(name, text) NVDP_##name,
    NVDP_STATUS_MAP(NVDP_STATUS_ENUM)
#undef NVDP_STATUS_ENUM
        NVDP_STATUS_COUNT
} nvdp_status;

/* The code's name, such as "ERR_INPUT"; never NULL. */
const char *nvdp_status_name(nvdp_status status);
/* The code's meaning in a few words; never NULL. */
const char *nvdp_status_text(nvdp_status status);

NVDP_END_DECLS
#endif
