/* metrics.jsonl: one JSON object a line, as long as the state that it belongs to. */
#ifndef NVDP_SRC_TRAIN_METRICS_FILE_H
#define NVDP_SRC_TRAIN_METRICS_FILE_H

#include "base/base.h"
#include <jansson.h>
#include <stdio.h>

/* Opens DIRECTORY/metrics.jsonl, cut to its first `bytes`. */
nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory, uint64_t bytes,
                                    FILE **out);
/* Appends `line` (stolen; NULL: out of memory); adds its length to *bytes. */
nvdp_status nvdp__metrics_file_append(struct nvdp_context *ctx, const char *directory, FILE *file,
                                      json_t *line, uint64_t *bytes);

#endif
