#include "base/outdir.h"

#include "base/file.h"
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__outdir_check(struct nvdp_context *ctx, const char *directory, bool overwrite) {
    if (nvdp__exists(directory) && !nvdp__is_directory(directory))
        return nvdp__fail_errno(ctx, ENOTDIR, "%s: cannot write a run there", directory);
    if (overwrite || !nvdp__exists(directory) || nvdp__directory_empty(directory)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: the output directory is not empty; use --resume or --overwrite",
                      directory);
}

static nvdp_status remove_one(struct nvdp_context *ctx, const char *path) {
    if (remove(path) == 0 || errno == ENOENT) return NVDP_OK;
    return nvdp__fail_errno(ctx, errno, "cannot remove %s", path);
}

static nvdp_status remove_matching(struct nvdp_context *ctx, const char *pattern) {
    nvdp_status status = NVDP_OK;
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && status == NVDP_OK; i++) {
            status = remove_one(ctx, found.gl_pathv[i]);
        }
    }
    globfree(&found);
    return status;
}

nvdp_status nvdp__outdir_remove(struct nvdp_context *ctx, const char *directory,
                                const char *const *name, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *path = nvdp__join(ctx, directory, name[i]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        bool pattern = strchr(name[i], '*') != NULL;
        nvdp_status status = pattern ? remove_matching(ctx, path) : remove_one(ctx, path);
        free(path);
        NVDP_RETURN_IF_FAILED(status);
    }
    return NVDP_OK;
}

nvdp_status nvdp__outdir_tidy(struct nvdp_context *ctx, const char *directory) {
    static const char *const left[] = {"*.partial-*-*", "model/*.partial-*-*"};
    return nvdp__outdir_remove(ctx, directory, left, 2);
}
