/* Builds the parts of the description of a file, as JSON. */
#ifndef NVDP_SRC_SHARE_DESCRIBE_H
#define NVDP_SRC_SHARE_DESCRIBE_H

#include "base/base.h"
#include <jansson.h>

/* Returns text from a file as a printable JSON string: control characters and broken UTF-8 become '?'. */
json_t *nvdp__shown(const char *text);
/* Sets the kind and the size of the file. */
void nvdp__describe_start(json_t *object, const char *path, const char *kind);
/* Does the same, and adds an empty list of datasets and an empty object of attributes, both owned by `object`. */
nvdp_status nvdp__describe_begin(struct nvdp_context *ctx, const char *path, const char *kind,
                                 json_t *object, json_t **datasets, json_t **attributes);
/* Adds a dataset to the list `array`. */
void nvdp__describe_dataset(const char *name, int rank, const size_t *shape, const char *type,
                            void *array);
/* Sets an attribute from its printed value. */
void nvdp__describe_attribute(json_t *object, const char *name, const char *value, bool number);

#endif
