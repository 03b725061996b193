/* Copies of shared files with changed attributes or numbers. */
#ifndef NVDP_TESTS_SUPPORT_CHANGED_FILE_H
#define NVDP_TESTS_SUPPORT_CHANGED_FILE_H

#include "support.h"

/* A new value of one number of a file. */
struct changed_number {
    size_t at;
    int32_t steps;
};

/* Writes changed.h5, a copy of a file of grid int32, in which the attribute `name` has another value, and `count`
 * numbers are changed. If `value` is NULL, the attribute is removed. If `name` is NULL, no attribute changes. Returns
 * the path of the copy. */
const char *changed_file(struct nvdp_context *ctx, const char *path, const char *name,
                         const char *value, size_t count, const struct changed_number *numbers);

#endif
