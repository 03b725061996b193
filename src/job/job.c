/* The engine of training for train/ and pretrain/ (job.h). The file has first a step, then the
 * work between steps: the progress line, saved states and stops. */
#include "job/job.h"

#include "base/array.h"
#include "base/base.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include <cblas.h>
#include <gsl/gsl_version.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

void nvdp__job_close(struct nvdp__job *job) {
    if (job->metrics != NULL) fclose(job->metrics);
    nvdp__outdir_unlock(job->lock);
    nvdp__grad_sum_free(job->sum);
    nvdp__dp_free(job->dp);
    nvdp__optimizer_release(&job->optimizer);
    free(job->order);
}

/* --- a step --- */

struct rows {
    const struct nvdp__job *job;
    const int64_t *row;
};

static size_t token_count(const void *user, size_t i) {
    const struct rows *rows = user;
    return rows->job->kind->tokens(rows->job->run, rows->row[i]);
}

size_t nvdp__job_tokens(const struct nvdp__job *job, const int64_t *row, size_t n) {
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += job->kind->tokens(job->run, row[i]);
    return tokens;
}

struct nvdp__range nvdp__job_share(const struct nvdp__job *job, const int64_t *row, size_t n) {
    return nvdp__rank_balanced(job->ctx, n, token_count, &(struct rows){job, row});
}

/* Computes the clipped sum over the examples that the step draws, some of them at a time, with
 * noise. A step may draw no example. */
static nvdp_status private_gradient(struct nvdp__job *job, struct nvdp__pass *pass) {
    const struct nvdp__job_kind *kind = job->kind;
    size_t drawn;
    nvdp__grad_begin(job->dev, job->params);
    const struct nvdp__range own =
        nvdp__dp_start(job->dp, job->dev, job->params, job->step, job->order, &drawn);
    pass->part.tokens = nvdp__job_tokens(job, job->order, own.first);
    if (kind->drawn != NULL) kind->drawn(job->run, drawn, own.first, pass);
    nvdp__grad_sum_begin(job->sum, false);
    pass->divisor = job->dp->divisor;
    for (size_t at = 0; at < own.count && !job->last.left; at += job->batch) {
        const size_t n = nvdp__min(own.count - at, job->batch);
        nvdp__dp_begin(job->dp, job->dev, n);
        nvdp_status status = kind->examples(job->run, job->order + own.first + at, n, drawn, pass);
        if (status == NVDP_OK)
            status = nvdp__dp_clip(job->dp, job->dev, job->label, job->class_weight, at == 0);
        job->dev->per_example = NULL;
        NVDP_TRY(status);
        job->last.left = at + n < own.count && nvdp_context_cancelled(job->ctx);
    }
    job->last.left_out = job->dp->left_out;
    nvdp__dp_noise(job->dp, job->dev, job->params, job->step);
    return nvdp__device_status(job->dev);
}

/* Adds up the gradients and losses of all processes. */
static nvdp_status add_up(struct nvdp__job *job) {
    struct nvdp__job_step *r = &job->last;
    double part[3 + NVDP__JOB_SUMS] = {(double)r->tokens, (double)r->left, (double)r->left_out};
    const size_t sums = job->kind->sums;
    if (job->sum == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__grad_sum_finish(job->sum, job->dev));
    memcpy(part + 3, job->sums, sums * sizeof *part);
    NVDP_TRY(nvdp__rank_sum(job->ctx, 3 + sums, part));
    memcpy(job->sums, part + 3, sums * sizeof *part);
    r->tokens = (size_t)part[0];
    r->left = part[1] > 0;
    r->left_out = (size_t)part[2];
    return NVDP_OK;
}

nvdp_status nvdp__job_step(struct nvdp__job *job) {
    const struct nvdp__job_kind *kind = job->kind;
    const double factor = nvdp__lr_factor(job->step, job->schedule, job->optimizer.adamw.warmup);
    struct nvdp__pass pass = {
        .training = true, .seed = nvdp__dp_seed(job->dp, job->seed), .step = (uint32_t)job->step};
    struct nvdp__job_step *r = &job->last;
    *r = (struct nvdp__job_step){.lr = job->optimizer.adamw.lr * factor, .norm = NAN};
    memset(job->sums, 0, kind->sums * sizeof *job->sums);
    kind->begin(job->run, &pass);
    NVDP_TRY(job->dp != NULL ? private_gradient(job, &pass) : kind->batch(job->run, &pass));
    NVDP_TRY(add_up(job));
    if (r->left) return nvdp__fail(job->ctx, NVDP_ERR_CANCELLED, "interrupted during a step");
    r->total = kind->total(job->run);
    nvdp_status status = isfinite(r->total) ? nvdp__optimizer_step(&job->optimizer, job->dev,
                                                                   job->params, factor, &r->norm)
                                            : NVDP_ERR_NUMERIC;
    return status == NVDP_ERR_NUMERIC ? kind->diverged(job->run) : status;
}

/* --- between steps --- */

nvdp_status nvdp__job_keep(struct nvdp__job *job, nvdp_status status) {
    char message[NVDP__MESSAGE_SIZE];
    if (status != NVDP_ERR_IO || nvdp__ranks(job->ctx) == NULL || nvdp__rank(job->ctx) != 0)
        return status;
    nvdp__snprintf(message, sizeof message, "%s", nvdp_context_error(job->ctx));
    if (nvdp__job_save(job) != NVDP_OK) return nvdp__fail(job->ctx, status, "%s", message);
    return nvdp__fail(job->ctx, status, "%s; the state was saved; continue with: %s --resume %s",
                      message, job->kind->command, job->out);
}

nvdp_status nvdp__job_stop(struct nvdp__job *job) {
    NVDP_TRY(nvdp__job_save(job));
    return nvdp__fail(job->ctx, NVDP_ERR_CANCELLED,
                      "interrupted after step %" PRIu64 " of %" PRIu64
                      "; continue with: %s --resume %s",
                      job->step, job->steps, job->kind->command, job->out);
}

void nvdp__job_start(struct nvdp__job *job, const char *phase) {
    job->tokens_before = job->tokens;
    job->saved_at = nvdp__now();
    nvdp__meter_begin(&job->meter, job->ctx, phase, "step", job->step, job->steps);
}

nvdp_status nvdp__job_advance(struct nvdp__job *job) {
    const double start = nvdp__now();
    double shown;
    bool stop = false;
    nvdp_status status = nvdp__job_keep(job, nvdp__job_step(job));
    if (status == NVDP_ERR_CANCELLED) return nvdp__job_stop(job);
    NVDP_TRY(status);
    job->step++;
    job->seconds += nvdp__now() - start;
    job->tokens += (double)job->last.tokens;
    job->left_out += (double)job->last.left_out;
    NVDP_TRY(job->kind->count(job->run, &shown));
    nvdp__meter_update(&job->meter, job->step, job->tokens - job->tokens_before, "tok", shown);
    if (job->kind->due != NULL) NVDP_TRY(job->kind->due(job->run));
    NVDP_TRY(
        nvdp__job_keep(job, nvdp__rank_any(job->ctx, nvdp_context_cancelled(job->ctx), &stop)));
    if (stop) return nvdp__job_stop(job);
    return nvdp__now() - job->saved_at < job->checkpoint_seconds ? NVDP_OK : nvdp__job_save(job);
}

/* ---- the JSON records of a run (docs/formats.md) ---- */

/* --- software and hardware --- */

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

/* --- JSON files --- */

nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root) {
    nvdp__autoptr(json_decref) json_t *owner = root;
    const struct nvdp__path path = nvdp__path(directory, name);
    if (owner == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path.text);
    return nvdp__json_write(ctx, path.text, owner);
}
