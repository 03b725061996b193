#include "train/metrics_file.h"

#include "base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory, uint64_t bytes,
                                    FILE **out) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(ctx, directory, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    FILE *file = fopen(path, "a");
    if (file == NULL || ftruncate(fileno(file), (off_t)bytes) != 0 ||
        fseek(file, 0, SEEK_END) != 0) {
        status = nvdp__fail_errno(ctx, errno, "cannot open %s", path);
        if (file != NULL) fclose(file);
        file = NULL;
    }
    if (status == NVDP_OK) *out = file;
    free(path);
    return status;
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
