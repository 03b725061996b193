/* What a file or directory is, as a JSON object; and such an object for people. */
#ifndef NVDP_SRC_SHARE_DESCRIBE_H
#define NVDP_SRC_SHARE_DESCRIBE_H

#include "base/base.h"
#include <jansson.h>
#include <stdio.h>

/* describe_file.c, describe_directory.c: a new object whose "kind" says what it is. */
nvdp_status nvdp__describe_file(struct nvdp_context *ctx, const char *path, json_t **out);
nvdp_status nvdp__describe_directory(struct nvdp_context *ctx, const char *path, json_t **out);

/* Text that a file brought, fit to be shown: control characters and broken UTF-8 become '?'. */
json_t *nvdp__shown(const char *text);
/* describe_print.c */
void nvdp__describe_print(const char *path, const json_t *object, FILE *to);

#endif
