/* Directories that training writes into. */
#ifndef NVDP_SRC_BASE_OUTDIR_H
#define NVDP_SRC_BASE_OUTDIR_H

#include "base/base.h"
#include <dirent.h>

/* Whether results may go there: the directory is new or empty, or may be overwritten.  `ways`: the options that lead past one
 * that is not, for the message. */
nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite,
                               const char *ways);
/* The directory, made where it is not there and tidied, for one writer: *lock, until it is given back or the process ends; one
 * that is held stays.  NVDP_ERR_STATE where another has it.  On a network file system it holds among processes of one machine;
 * where directories cannot be locked everybody gets it. */
nvdp_status nvdp__outdir_lock(struct nvdp_context *ctx, const char *directory, DIR **lock);
void nvdp__outdir_unlock(DIR *lock); /* NULL allowed */
/* Those of work that can be resumed. */
#define NVDP__RUN_WAYS "--resume or --overwrite"
/* NVDP_ERR_STATE if the folder is a run of nvdp train that has not ended: it has run.json, and result.json, which is
 * written last, is missing.  Its model is that of some epoch, and a resumed run replaces it. */
nvdp_status nvdp__outdir_check_ended(struct nvdp_context *ctx, const char *run);
/* The same for the folder RUN/model, under any name; other folders pass. */
nvdp_status nvdp__outdir_check_model(struct nvdp_context *ctx, const char *model);
/* Removes those of the named files and folders that are there; a name whose last part has a * is a
 * pattern. */
nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count);
/* Removes what processes that ended while they wrote a file have left there, and in its folder `model`
 * (nvdp__remove_leftovers); what another is writing meanwhile stays. */
nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory);

#endif
