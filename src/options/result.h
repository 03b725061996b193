/* Result tables (nvdp/result.h) inside the library. */
#ifndef NVDP_SRC_OPTIONS_RESULT_H
#define NVDP_SRC_OPTIONS_RESULT_H

#include <jansson.h>
#include <nvdp/result.h>
#include <stdio.h>

#define RESULT(name) extern const struct nvdp_result_table nvdp__result_##name;
#include "options/results.inc"
#undef RESULT

/* Adds the keys of a view to an object.  Returns false if a number that must be finite is not, or memory is short. */
bool nvdp__result_put(json_t *object, const struct nvdp_result_table *table, const char *view,
                      const void *result);
/* Returns the keys of a view as a new object, or NULL on failure. */
json_t *nvdp__result_json(const struct nvdp_result_table *table, const char *view,
                          const void *result);
/* Prints the lines of nvdp_result_text(). */
void nvdp__result_print(const struct nvdp_result_table *table, const void *result, FILE *to);

#endif
