/* The JSON records of a run (docs/formats.md). */
#ifndef NVDP_SRC_JOB_RUNDIR_H
#define NVDP_SRC_JOB_RUNDIR_H

#include "base/outdir.h"
#include <jansson.h>

/* Writes `root` (stolen; NULL: out of memory) as DIRECTORY/NAME. */
nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root);

/* Describe for these records the libraries, and the processor, threads and processes. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

#endif
