/* What a run leaves in its directory, of training and of pretraining: where it ran, metrics.jsonl
 * (docs/formats.md). */
#include "job/rundir.h"

#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/ranks.h"

#include <cblas.h>
#include <errno.h>
#include <gsl/gsl_version.h>
#include <inttypes.h>
#include <nvdp/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what ran where and when --- */

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    char name[512];
    nvdp__processor_name(sizeof name, name);
    json_t *object =
        json_pack("{s:s,s:i}", "processor", name, "threads", nvdp_context_threads(ctx));
    if (nvdp__ranks(ctx) != NULL)
        json_object_set_new(object, "processes", json_integer(nvdp__ranks(ctx)->size));
    return object;
}

/* --- its JSON files --- */

nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(ctx, directory, name);
    NVDP_TRY(NVDP__MADE(path));
    if (root == NULL) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path));
    NVDP_TRY(nvdp__json_write(ctx, path, root));
cleanup:
    json_decref(root);
    free(path);
    return status;
}

/* --- metrics.jsonl --- */

/* Of the first `bytes` of the file, those in whole lines that are there. */
static uint64_t whole_lines(int fd, uint64_t bytes) {
    struct stat info;
    char last = '\n';
    if (fstat(fd, &info) == 0 && (uint64_t)info.st_size < bytes) bytes = (uint64_t)info.st_size;
    while (bytes > 0 && pread(fd, &last, 1, (off_t)bytes - 1) == 1 && last != '\n')
        bytes--;
    return bytes;
}

nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory,
                                    uint64_t *bytes, FILE **out) {
    nvdp_status status = NVDP_OK;
    FILE *file = NULL;
    char *path = nvdp__join(ctx, directory, "metrics.jsonl");
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp__append_regular(ctx, path, &file));
    const uint64_t found = whole_lines(fileno(file), *bytes);
    if (ftruncate(fileno(file), (off_t)found) != 0 || fseek(file, 0, SEEK_END) != 0)
        NVDP_TRY(nvdp__fail_errno(ctx, errno, "cannot open %s", path));
    if (found < *bytes)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: expected the %" PRIu64 " bytes that were written before, found %" PRIu64
                  " in whole lines; later ones follow these",
                  path, *bytes, found);
    *bytes = found;
    NVDP__HAND_OVER(out, file);
cleanup:
    if (file != NULL) fclose(file);
    free(path);
    return status;
}

nvdp_status nvdp__metrics_file_sync(struct nvdp_context *ctx, const char *directory, FILE *file) {
    if (file == NULL || fsync(fileno(file)) == 0) return NVDP_OK;
    return nvdp__fail_errno(ctx, errno, "cannot write %s/metrics.jsonl", directory);
}

nvdp_status nvdp__metrics_file_append(struct nvdp_context *ctx, const char *directory, FILE *file,
                                      json_t *line, uint64_t *bytes) {
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    int written = fprintf(file, "%s\n", text);
    free(text);
    if (written < 0 || fflush(file) != 0)
        return nvdp__fail_errno(ctx, errno, "cannot write %s/metrics.jsonl", directory);
    *bytes += (uint64_t)written;
    return NVDP_OK;
}
