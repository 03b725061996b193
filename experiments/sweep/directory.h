/* The directory of a sweep (docs/formats.md): what of it is finished, what failed. */
#ifndef NVDP_EXPERIMENTS_SWEEP_DIRECTORY_H
#define NVDP_EXPERIMENTS_SWEEP_DIRECTORY_H

#include "grid.h"
#include "holder.h"

/* Makes the directory and its folders, and puts a copy of the grid into it. */
nvdp_status nvdp__sweep_prepare(struct nvdp_context *ctx, const char *directory,
                                const struct nvdp__grid *grid);
/* DIRECTORY/runs/NAME, and a file in it; free(). */
char *nvdp__sweep_run_path(struct nvdp_context *ctx, const char *directory, const char *name);
char *nvdp__sweep_run_file(struct nvdp_context *ctx, const char *directory, const char *name,
                           const char *file);

/* A finished run's record, written last. */
nvdp_status nvdp__sweep_write_done(struct nvdp_context *ctx, const char *directory,
                                   const char *name, double seconds);
/* Whether it is there; *seconds is the run's time, NaN where unknown. */
bool nvdp__sweep_is_done(struct nvdp_context *ctx, const char *directory, const char *name,
                         double *seconds);
/* runs/NAME/sweep.json: the run's label and the options that the grid varies, as it says now. */
nvdp_status nvdp__sweep_write_label(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp__sweep_run *run);

/* Why a run failed. */
struct nvdp__failure {
    nvdp_status status; /* NVDP_STATUS_COUNT: the worker died */
    int signal;         /* that it died of; 0: none */
    const char *message;
};
/* failed/NAME.json.  `attempts` counts this one. */
nvdp_status nvdp__sweep_write_failure(struct nvdp_context *ctx, const char *directory,
                                      const struct nvdp__sweep_run *run,
                                      const struct nvdp__holder *self, int64_t attempts,
                                      const struct nvdp__failure *failure);
/* The attempts that failed, 0 where there is no such record; *message may be NULL, else free(). */
int64_t nvdp__sweep_failures(struct nvdp_context *ctx, const char *directory, const char *name,
                             char **message);
nvdp_status nvdp__sweep_forget_failure(struct nvdp_context *ctx, const char *directory,
                                       const char *name);

#endif
