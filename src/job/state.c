/* Writes and reads the files from which a run continues bit for bit, for job.c: state.ckpt
 * (parameters, moments and counters), then metrics.jsonl, up to the length in the state
 * (docs/formats.md). Both files are checked as any input file is. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include "encoder/safetensors.h"
#include "job/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 2 };

/* --- state.ckpt --- */

/* Adds the members; returns false if memory is exhausted. */
static bool add_members(json_t *object, const struct nvdp__state_member *members,
                        const void *state) {
    int failed = 0;
    for (const struct nvdp__state_member *m = members; m->key != NULL; m++) {
        const void *at = (const char *)state + m->offset;
        json_t *value = m->real ? json_real(*(const double *)at)
                                : json_integer((json_int_t) * (const uint64_t *)at);
        failed |= json_object_set_new(object, m->key, value);
    }
    return failed == 0;
}

/* Reads the members: a missing count is an error (NVDP_ERR_INPUT), a missing real number is 0. */
static nvdp_status read_members(struct nvdp_context *ctx, const char *path, const json_t *object,
                                const struct nvdp__state_member *members, void *state) {
    for (const struct nvdp__state_member *m = members; m->key != NULL; m++) {
        void *at = (char *)state + m->offset;
        NVDP_TRY(m->real ? nvdp__json_real(ctx, path, object, m->key, 0, -1e300, 1e300, at)
                         : nvdp__json_int_required(ctx, path, object, m->key, 0, INT64_MAX, at));
    }
    return NVDP_OK;
}

static nvdp_status write_file(const struct nvdp__job *job, const char *path, const json_t *object) {
    const struct nvdp__params *params = job->params;
    nvdp__autofree char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text == NULL) return nvdp__fail(job->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    size_t from = nvdp__params_frozen(params), count = params->total - from;
    const struct nvdp__tensor_source tensors[] = {
        {"parameters", NVDP__DTYPE_F32, 1, {count}, params->value + from},
        {"first_moment", NVDP__DTYPE_F32, 1, {count}, job->optimizer.m + from},
        {"second_moment", NVDP__DTYPE_F32, 1, {count}, job->optimizer.v + from},
    };
    const char *const metadata[] = {"format", "nvdp-state", "state", text, NULL};
    return nvdp__safetensors_write(job->ctx, path, 3, tensors, metadata);
}

static nvdp_status read_vector(const char *path, const struct nvdp__safetensors *file,
                               const char *name, const struct nvdp__params *params, float *to) {
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    size_t from = nvdp__params_frozen(params), count = params->total - from;
    if (info == NULL || info->dtype != NVDP__DTYPE_F32 || info->count != count) {
        return nvdp__fail(params->ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected %zu F32 values, found %zu", path, name, count,
                          info == NULL ? (size_t)0 : info->count);
    }
    nvdp__safetensors_read_f32(info, to + from);
    return NVDP_OK;
}

/* Reads parameters and moments; the caller releases *object. */
static nvdp_status read_file(struct nvdp__job *job, const char *path, json_t **object) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    NVDP_TRY(nvdp__safetensors_open(job->ctx, path, &file));
    const char *text = nvdp__safetensors_metadata(file, "state");
    *object = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (*object == NULL)
        return nvdp__fail(job->ctx, NVDP_ERR_INPUT, "%s: expected a training state, found none",
                          path);
    NVDP_TRY(read_vector(path, file, "parameters", job->params, job->params->value));
    NVDP_TRY(read_vector(path, file, "first_moment", job->params, job->optimizer.m));
    NVDP_TRY(read_vector(path, file, "second_moment", job->params, job->optimizer.v));
    nvdp__optimizer_restored(&job->optimizer, job->params);
    return NVDP_OK;
}

#define COUNT(member) NVDP__COUNT(struct nvdp__job, member)
#define REAL(member) NVDP__REAL(struct nvdp__job, member)

static const struct nvdp__state_member members[] = {
    COUNT(step),   COUNT(optimizer_steps), COUNT(epoch),   COUNT(metrics_bytes),
    REAL(seconds), REAL(tokens),           REAL(left_out), {0}};

nvdp_status nvdp__job_save(struct nvdp__job *job) {
    const struct nvdp__path path = nvdp__path(job->out, "state.ckpt");
    nvdp__autoptr(json_decref) json_t *object = NULL;
    if (nvdp__rank(job->ctx) != 0) return NVDP_OK;
    /* must be on the disk before the state, which counts its lines */
    if (job->metrics != NULL && fsync(fileno(job->metrics)) != 0)
        return nvdp__fail_errno(job->ctx, errno, "cannot write %s/metrics.jsonl", job->out);
    job->optimizer_steps = job->optimizer.steps_taken;
    object = json_pack("{s:i}", "version", VERSION);
    if (!add_members(object, members, job) || !add_members(object, job->kind->members, job->state))
        return nvdp__fail(job->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path.text);
    if (job->kind->write_state != NULL) NVDP_TRY(job->kind->write_state(job->run, object));
    nvdp__dp_state(job->dp, object);
    NVDP_TRY(write_file(job, path.text, object));
    job->saved_at = nvdp__now();
    return NVDP_OK;
}

nvdp_status nvdp__job_load(struct nvdp__job *job, bool *found) {
    nvdp__autoptr(json_decref) json_t *object = NULL;
    int64_t version;
    const struct nvdp__path path = nvdp__path(job->out, "state.ckpt");
    if (found != NULL && !(*found = nvdp__exists(path.text))) return NVDP_OK;
    NVDP_TRY(read_file(job, path.text, &object));
    NVDP_TRY(nvdp__json_int_required(job->ctx, path.text, object, "version", VERSION, VERSION,
                                     &version));
    NVDP_TRY(read_members(job->ctx, path.text, object, members, job));
    NVDP_TRY(read_members(job->ctx, path.text, object, job->kind->members, job->state));
    NVDP_TRY(job->kind->check_state(job->run, path.text, object));
    NVDP_TRY(nvdp__dp_continue(job->dp, path.text, object));
    job->optimizer.steps_taken = job->optimizer_steps;
    nvdp__weights_changed(job->dev);
    return NVDP_OK;
}

/* --- metrics.jsonl --- */

/* Returns the length of the whole lines within the first `bytes` bytes of the file. */
static uint64_t whole_lines(int fd, uint64_t bytes) {
    struct stat info;
    char last = '\n';
    if (fstat(fd, &info) == 0 && (uint64_t)info.st_size < bytes) bytes = (uint64_t)info.st_size;
    while (bytes > 0 && pread(fd, &last, 1, (off_t)bytes - 1) == 1 && last != '\n')
        bytes--;
    return bytes;
}

nvdp_status nvdp__job_open_metrics(struct nvdp__job *job) {
    nvdp__autoptr(fclose) FILE *file = NULL;
    const struct nvdp__path path = nvdp__path(job->out, "metrics.jsonl");
    NVDP_TRY(nvdp__append_regular(job->ctx, path.text, &file));
    const uint64_t found = whole_lines(fileno(file), job->metrics_bytes);
    if (ftruncate(fileno(file), (off_t)found) != 0 || fseek(file, 0, SEEK_END) != 0)
        return nvdp__fail_errno(job->ctx, errno, "cannot open %s", path.text);
    if (found < job->metrics_bytes)
        nvdp__log(job->ctx, NVDP_LOG_WARNING,
                  "%s: expected the %" PRIu64
                  " bytes that were written earlier, found complete lines of only %" PRIu64
                  " bytes; some older lines are missing, and new lines follow",
                  path.text, job->metrics_bytes, found);
    job->metrics_bytes = found;
    NVDP__HAND_OVER(&job->metrics, file);
    return NVDP_OK;
}

nvdp_status nvdp__job_log(struct nvdp__job *job, json_t *line, bool spent) {
    nvdp__autoptr(json_decref) json_t *owner = line;
    if (spent) NVDP_TRY(nvdp__dp_spent(job->dp, job->step, job->left_out, line));
    if (nvdp__rank(job->ctx) != 0) return NVDP_OK;
    nvdp__autofree char *text =
        owner == NULL ? NULL : json_dumps(owner, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text == NULL) return nvdp__fail(job->ctx, NVDP_ERR_MEMORY, "out of memory");
    const int written = nvdp__fprintf(job->metrics, "%s\n", text);
    if (written < 0 || fflush(job->metrics) != 0)
        return nvdp__fail_errno(job->ctx, errno, "cannot write %s/metrics.jsonl", job->out);
    job->metrics_bytes += (uint64_t)written;
    return NVDP_OK;
}
