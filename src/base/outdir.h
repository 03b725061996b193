/* Output directories of training. */
#ifndef NVDP_SRC_BASE_OUTDIR_H
#define NVDP_SRC_BASE_OUTDIR_H

#include "base/base.h"
#include <dirent.h>

/* Checks that results may be written: the directory is new or empty, or `overwrite` is set.
 * `ways`: the options, for the message, that allow a nonempty directory. */
nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite,
                               const char *ways);
/* Makes the directory if necessary, removes leftovers, and locks it for one writer until
 * nvdp__outdir_unlock or the end of the process. A lock already held in *lock is kept.
 * NVDP_ERR_STATE if another process has the lock. On a network file system the lock works only
 * among processes of one machine; if directories cannot be locked, every process succeeds. */
nvdp_status nvdp__outdir_lock(struct nvdp_context *ctx, const char *directory, DIR **lock);
void nvdp__outdir_unlock(DIR *lock); /* NULL allowed */
NVDP__AUTOPTR(DIR, nvdp__outdir_unlock)
/* The options for work that can be resumed. */
#define NVDP__RUN_WAYS "{resume} or {overwrite}"
/* Fails with NVDP_ERR_STATE if the folder is an unfinished run of nvdp train: it has run.json
 * but not result.json, which is written last. Its model is from some epoch, and resuming would
 * replace it. */
nvdp_status nvdp__outdir_check_ended(struct nvdp_context *ctx, const char *run);
/* Fails with NVDP_ERR_INPUT if the folder has no run.json, and says what else it may be. */
nvdp_status nvdp__outdir_check_run(struct nvdp_context *ctx, const char *run);
/* The same as nvdp__outdir_check_ended for the folder RUN/model under any name; accepts other folders. */
nvdp_status nvdp__outdir_check_model(struct nvdp_context *ctx, const char *model);
/* Removes the named files and folders if they exist; a name with * in its last part is a
 * pattern. */
nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count);
/* Removes the leftovers (nvdp__remove_leftovers) of ended processes in the directory and in its
 * folder `model`; files that other processes are writing stay. */
nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory);

#endif
