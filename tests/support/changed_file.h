/* Copies of shared files in which something is changed. */
#ifndef NVDP_TESTS_SUPPORT_CHANGED_FILE_H
#define NVDP_TESTS_SUPPORT_CHANGED_FILE_H

#include "support.h"

/* A new value of one number of a file. */
struct changed_number {
    size_t at;
    int32_t steps;
};

/* Writes a copy of a file of grid int32, changed.h5, in which the attribute `name` has another value, or none
 * (`value` NULL), and `count` numbers are changed. `name` NULL: no attribute changes. Returns its path. */
const char *changed_file(struct nvdp_context *ctx, const char *path, const char *name,
                         const char *value, size_t count, const struct changed_number *numbers);

#endif
