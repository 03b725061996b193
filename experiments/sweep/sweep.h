/* What nvdp_sweep and nvdp_sweep_plan share. */
#ifndef NVDP_EXPERIMENTS_SWEEP_SWEEP_H
#define NVDP_EXPERIMENTS_SWEEP_SWEEP_H

#include "grid.h"
#include <nvdp/sweep.h>

/* Checks the configuration, reads the grid and looks at the files that it names. */
nvdp_status nvdp__sweep_read_grid(struct nvdp_context *ctx, const struct nvdp_sweep_config *config,
                                  struct nvdp__grid *grid);

#endif
