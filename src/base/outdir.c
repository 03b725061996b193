/* Output directories (outdir.h): locking, checks of runs, removal of files. */
#include "base/outdir.h"

#include "base/file.h"
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite,
                               const char *ways) {
    if (nvdp__exists(directory) && !nvdp__is_directory(directory))
        return nvdp__fail_errno(ctx, ENOTDIR, "%s: cannot write the run to this folder", directory);
    if (overwrite || !nvdp__exists(directory) || nvdp__directory_empty(directory)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the output directory is not empty; use %s",
                      directory, nvdp__with_options(ctx, ways).text);
}

nvdp_status nvdp__outdir_lock(struct nvdp_context *ctx, const char *directory, DIR **lock) {
    if (*lock != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__make_directory(ctx, directory));
    DIR *opened = opendir(directory);
    if (opened != NULL && flock(dirfd(opened), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        closedir(opened);
        return nvdp__fail(
            ctx, NVDP_ERR_STATE,
            "%s: another process is writing to this folder; wait until it has finished", directory);
    }
    *lock = opened;
    return nvdp__outdir_tidy(ctx, directory);
}

/* Unlocks even if a process forked in the meantime still has the directory open. */
void nvdp__outdir_unlock(DIR *lock) {
    if (lock == NULL) return;
    (void)flock(dirfd(lock), LOCK_UN);
    closedir(lock);
}

/* True if DIRECTORY/name exists.  A path that no system call takes does not. */
static bool holds(const char *directory, const char *name) {
    char path[PATH_MAX];
    const int length = nvdp__snprintf(path, sizeof path, "%s/%s", directory, name);
    return length > 0 && (size_t)length < sizeof path && nvdp__exists(path);
}

nvdp_status nvdp__outdir_check_ended(struct nvdp_context *ctx, const char *run) {
    if (!holds(run, "run.json") || holds(run, "result.json")) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_STATE,
                      "%s: expected a finished run, but result.json is missing, because the run "
                      "was stopped or is still training; finish it with: nvdp train --resume %s",
                      run, run);
}

nvdp_status nvdp__outdir_check_run(struct nvdp_context *ctx, const char *run) {
    if (holds(run, "run.json")) return NVDP_OK;
    const bool pretrained = holds(run, "pretrain.json");
    const bool ended = !holds(run, "state.ckpt") || holds(run, "result.json");
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT, "%s: expected the folder of a run of nvdp train, found %s%s", run,
        nvdp__exists(run) && !nvdp__is_directory(run) ? "a file" : "no run.json",
        pretrained && ended ? ": the folder has a pretrained model"
        : pretrained        ? ": the folder has a pretraining that was stopped or is still running"
        : ended             ? ""
                            : ": a training began in this folder but cannot be resumed without "
                              "run.json; train again");
}

/* True if both paths lead to the same folder. */
static bool same_folder(const char *a, const char *b) {
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

nvdp_status nvdp__outdir_check_model(struct nvdp_context *ctx, const char *model) {
    static const char own[] = "/model";
    size_t length = strlen(model);
    nvdp__autofree char *run = nvdp__join(ctx, model, ".."),
                        *name = nvdp__join(ctx, model, "../model");
    NVDP_TRY(NVDP__MADE(run, name));
    while (length > 1 && model[length - 1] == '/')
        length--;
    const bool named =
        length >= sizeof own && strncmp(model + length - strlen(own), own, strlen(own)) == 0;
    /* RUN/model/.. is RUN; shortened for the message */
    if (named) run[length - strlen(own)] = '\0';
    return named || same_folder(model, name) ? nvdp__outdir_check_ended(ctx, run) : NVDP_OK;
}

/* Removes matching files. glob() would also treat the directory's own name as a pattern. */
static nvdp_status remove_matching(struct nvdp_context *ctx, const char *directory,
                                   const char *pattern) {
    nvdp_status status = NVDP_OK;
    DIR *folder = opendir(directory);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) != 0) continue;
        char *path = nvdp__join(ctx, directory, entry->d_name);
        NVDP_TRY_OR_CLEAN(NVDP__MADE(path));
        status = nvdp__remove(ctx, path);
        free(path);
        NVDP_TRY_OR_CLEAN(status);
    }
cleanup:
    if (folder != NULL) closedir(folder);
    return status;
}

nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *path = nvdp__join(ctx, directory, name[i]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        char *last = strrchr(path, '/');
        nvdp_status status;
        if (strchr(name[i], '*') == NULL) {
            status = nvdp__remove(ctx, path);
        } else {
            if (last != NULL) *last = '\0';
            status = last != NULL ? remove_matching(ctx, path, last + 1)
                                  : remove_matching(ctx, ".", path);
        }
        free(path);
        NVDP_TRY(status);
    }
    return NVDP_OK;
}

nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory) {
    char *model = nvdp__join(ctx, directory, "model");
    nvdp_status status = NVDP__MADE(model);
    if (status == NVDP_OK) status = nvdp__remove_leftovers(ctx, directory, NULL);
    if (status == NVDP_OK) status = nvdp__remove_leftovers(ctx, model, NULL);
    free(model);
    return status;
}
