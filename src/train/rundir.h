/* Directories of runs: what training writes there, and who may (docs/formats.md). */
#ifndef NVDP_SRC_TRAIN_RUNDIR_H
#define NVDP_SRC_TRAIN_RUNDIR_H

#include "base/base.h"
#include <jansson.h>
#include <stdio.h>

/* Whether a run may go there: the directory is new or empty, or may be overwritten. */
nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite);
/* Removes those of the named files and folders that are there; a name with a * is a pattern. */
nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count);

/* metrics.jsonl, one JSON object a line, as long as the state that it belongs to: opens it, cut to
 * its first `bytes`. */
nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory, uint64_t bytes,
                                    FILE **out);
/* Appends `line` (stolen; NULL: out of memory); adds its length to *bytes. */
nvdp_status nvdp__metrics_file_append(struct nvdp_context *ctx, const char *directory, FILE *file,
                                      json_t *line, uint64_t *bytes);

/* What ran where and when, for the records that runs leave. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

#endif
