/* One run from training to results, in the process that calls. */
#ifndef NVDP_EXPERIMENTS_SWEEP_WORK_H
#define NVDP_EXPERIMENTS_SWEEP_WORK_H

#include "grid.h"

/* Trains, measures and shares, continuing where an earlier attempt stopped: a stage whose result is
 * there is passed over.  Then drops what the grid does not keep, and writes done.json. */
nvdp_status nvdp__sweep_work(struct nvdp_context *ctx, const char *directory, const char *cache,
                             const struct nvdp__grid *grid, const struct nvdp__sweep_run *run);

#endif
