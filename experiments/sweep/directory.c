#include "directory.h"

#include "base/file.h"
#include "base/json.h"
#include "train/config.h"
#include "train/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

nvdp_status nvdp__sweep_prepare(struct nvdp_context *ctx, const char *directory,
                                const struct nvdp__grid *grid) {
    static const char *const folders[] = {"runs", "claims", "failed"};
    nvdp_status status = NVDP_OK;
    json_t *kept = NULL;
    char *copy = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = nvdp__join(ctx, directory, folders[i]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        status = nvdp__make_directory(ctx, path);
        free(path);
        NVDP_RETURN_IF_FAILED(status);
    }
    copy = nvdp__join(ctx, directory, "grid.json");
    if (copy == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    bool same = nvdp__exists(copy) && nvdp__json_read(ctx, copy, &kept) == NVDP_OK &&
                json_equal(kept, grid->root);
    if (!same) NVDP_TRY(nvdp__json_write(ctx, copy, grid->root));
cleanup:
    json_decref(kept);
    free(copy);
    return status;
}

char *nvdp__sweep_run_path(struct nvdp_context *ctx, const char *directory, const char *name) {
    return nvdp__format(ctx, "%s/runs/%s", directory, name);
}

char *nvdp__sweep_run_file(struct nvdp_context *ctx, const char *directory, const char *name,
                           const char *file) {
    return nvdp__format(ctx, "%s/runs/%s/%s", directory, name, file);
}

/* --- finished --- */

nvdp_status nvdp__sweep_write_done(struct nvdp_context *ctx, const char *directory,
                                   const char *name, double seconds) {
    json_t *record = json_pack("{s:s,s:f,s:o}", "nvdp_format", "sweep-done/1", "seconds", seconds,
                               "finished", nvdp__now_json());
    char *path = nvdp__sweep_run_file(ctx, directory, name, "done.json");
    nvdp_status status = NVDP_ERR_MEMORY;
    if (path != NULL && record != NULL) status = nvdp__json_write(ctx, path, record);
    json_decref(record);
    free(path);
    return status;
}

/* Looked up through an open directory: another machine's client asks its server again for what it
 * remembers as missing. */
static bool is_in(const char *directory, const char *file) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    bool found = faccessat(fd, file, F_OK, 0) == 0;
    close(fd);
    return found;
}

bool nvdp__sweep_is_done(struct nvdp_context *ctx, const char *directory, const char *name,
                         double *seconds) {
    json_t *record = NULL;
    char *run = nvdp__sweep_run_path(ctx, directory, name);
    char *path = nvdp__sweep_run_file(ctx, directory, name, "done.json");
    bool done = run != NULL && path != NULL && is_in(run, "done.json");
    *seconds = NAN;
    if (done && nvdp__json_read(ctx, path, &record) == NVDP_OK) {
        const json_t *value = json_object_get(record, "seconds");
        if (json_is_number(value)) *seconds = json_number_value(value);
    }
    json_decref(record);
    free(run);
    free(path);
    return done;
}

nvdp_status nvdp__sweep_write_label(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp__sweep_run *run) {
    nvdp_status status = NVDP_OK;
    json_t *kept = NULL;
    json_t *label = json_pack("{s:s,s:s,s:O}", "nvdp_format", "sweep-run/1", "label", run->label,
                              "varied", run->varied);
    char *path = nvdp__sweep_run_file(ctx, directory, run->name, "sweep.json");
    if (path == NULL || label == NULL) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory"));
    bool same = nvdp__exists(path) && nvdp__json_read(ctx, path, &kept) == NVDP_OK &&
                json_equal(kept, label);
    if (!same) NVDP_TRY(nvdp__json_write(ctx, path, label));
cleanup:
    json_decref(kept);
    json_decref(label);
    free(path);
    return status;
}

/* --- failed --- */

static char *failure_path(struct nvdp_context *ctx, const char *directory, const char *name) {
    return nvdp__format(ctx, "%s/failed/%s.json", directory, name);
}

nvdp_status nvdp__sweep_write_failure(struct nvdp_context *ctx, const char *directory,
                                      const struct nvdp__sweep_run *run,
                                      const struct nvdp__holder *self, int64_t attempts,
                                      const struct nvdp__failure *failure) {
    const char *status_name =
        failure->status == NVDP_STATUS_COUNT ? "DIED" : nvdp_status_name(failure->status);
    json_t *record =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:o,s:o}", "nvdp_format", "sweep-failure/1", "run",
                  run->name, "label", run->label, "status", status_name, "message",
                  failure->message, "attempts", (json_int_t)attempts, "host", self->host, "time",
                  nvdp__now_json(), "config", nvdp__train_config_json(&run->config));
    char *path = failure_path(ctx, directory, run->name);
    nvdp_status status = NVDP_ERR_MEMORY;
    if (record != NULL && failure->signal != 0)
        json_object_set_new(record, "signal", json_integer(failure->signal));
    if (record != NULL && path != NULL) status = nvdp__json_write(ctx, path, record);
    json_decref(record);
    free(path);
    return status;
}

int64_t nvdp__sweep_failures(struct nvdp_context *ctx, const char *directory, const char *name,
                             char **message) {
    int64_t attempts = 0;
    json_t *record = NULL;
    char *path = failure_path(ctx, directory, name);
    if (message != NULL) *message = NULL;
    if (path != NULL && nvdp__exists(path)) {
        attempts = 1; /* a record that cannot be read is one all the same */
        if (nvdp__json_read(ctx, path, &record) == NVDP_OK) {
            json_int_t read = json_integer_value(json_object_get(record, "attempts"));
            const char *text = json_string_value(json_object_get(record, "message"));
            attempts = read > 1 ? read : 1;
            if (message != NULL && text != NULL) *message = nvdp__strdup(ctx, text);
        }
    }
    json_decref(record);
    free(path);
    return attempts;
}

nvdp_status nvdp__sweep_forget_failure(struct nvdp_context *ctx, const char *directory,
                                       const char *name) {
    char *path = failure_path(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    if (unlink(path) != 0 && errno != ENOENT)
        status = nvdp__fail_errno(ctx, errno, "cannot remove %s", path);
    free(path);
    return status;
}
