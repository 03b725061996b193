/* Directories of runs: what training writes there, and who may (docs/formats.md). */
#ifndef NVDP_SRC_JOB_RUNDIR_H
#define NVDP_SRC_JOB_RUNDIR_H

#include "base/outdir.h"
#include <jansson.h>
#include <stdio.h>

/* metrics.jsonl, one JSON object a line, as long as the state that it belongs to: opens it, cut to
 * its first *bytes, or, after a warning, to the whole lines that are left of them. */
nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory,
                                    uint64_t *bytes, FILE **out);
/* On the disk before a state that counts its lines is; NULL allowed. */
nvdp_status nvdp__metrics_file_sync(struct nvdp_context *ctx, const char *directory, FILE *file);
/* Appends `line` (stolen; NULL: out of memory); adds its length to *bytes. */
nvdp_status nvdp__metrics_file_append(struct nvdp_context *ctx, const char *directory, FILE *file,
                                      json_t *line, uint64_t *bytes);

/* Writes `root` (stolen; NULL: out of memory) as DIRECTORY/NAME. */
nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root);

/* What ran where and when, for the records that runs leave. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

#endif
