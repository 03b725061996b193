/* The engine of every training run: steps with private or ordinary gradients, over one process or several; when to
 * save, log and stop; state.ckpt and metrics.jsonl. */
#ifndef NVDP_SRC_JOB_JOB_H
#define NVDP_SRC_JOB_JOB_H

#include "base/file.h"
#include "base/ranks.h"
#include "encoder/encoder.h"
#include "job/dp.h"
#include "job/optimizer.h"
#include "tensor/tensor.h"
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>

/* ---- the JSON records of a run (docs/formats.md) ---- */

/* Writes `root` as DIRECTORY/NAME, and takes over root. root is NULL if memory was exhausted, which is an error. */
nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root);

/* Describe, for these records, the libraries; and the processor, threads and processes. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

/* Sums the gradients of processes that train together (base/ranks.h), and shares their
 * parameters. Backward passes complete the gradient vector from its end on; complete parts are
 * summed while the backward pass continues. */

struct nvdp__grad_sum;

/* Creates the sum; sets *out to NULL if there is only one process. max_rows is the max number of rows of the tracked
 * table in a step; 0 if the gradient is always dense. */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t max_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL is allowed, here and below */
/* Begins a step, before the gradient. All processes must know the same rows of the tracked table, in the same order
 * (nvdp__grad_rows()). If `overlapped`, one backward pass follows that reports complete parts; else the gradient is
 * complete only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* Replaces params->grad by the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Copies the parameters of rank 0 to all processes. Sums, and therefore initial values, may depend on the number of
 * threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Fails with NVDP_ERR_STATE if the parameters differ between processes. To be called before the parameters are used
 * or published. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Returns {processes, bytes of the last step's sum, steps of this process, seconds of waiting}; NULL for a single
 * process. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

/* ---- the job ---- */

/* A counter of a struct that is part of a saved state; {0} ends a table of such counters. */
struct nvdp__state_member {
    const char *key;
    size_t offset;
    bool real; /* true for a double, false for a uint64_t */
};
#define NVDP__COUNT(type, member)                                                                  \
    { #member, offsetof(type, member), false }
#define NVDP__REAL(type, member)                                                                   \
    { #member, offsetof(type, member), true }

/* The results of a step. */
struct nvdp__job_step {
    double total, lr, norm; /* loss that is minimized; norm of the gradient before clipping */
    size_t tokens;
    size_t left_out; /* number of private examples whose gradient is not finite */
    /* true if a private step was cancelled before all drawn examples were processed */
    bool left;
};

enum { NVDP__JOB_SUMS = 5 }; /* max number of sums */

/* The functions of one kind of run. `run` is the struct that contains the job. */
struct nvdp__job_kind {
    const char *command;                      /* such as "nvdp train" */
    const struct nvdp__state_member *members; /* counters of job->state */
    size_t sums;                              /* number of job->sums, at most NVDP__JOB_SUMS */
    size_t (*tokens)(const void *run, int64_t row);
    /* Called before a step: sets the members of the pass that depend on options. */
    void (*begin)(void *run, struct nvdp__pass *pass);
    /* Computes the gradient and the sums for this process's share of the epoch's next examples; calls
     * nvdp__grad_begin() and nvdp__grad_sum_begin(). */
    nvdp_status (*batch)(void *run, struct nvdp__pass *pass);
    /* Called before a private step that draws `drawn` examples, of which `before` belong to lower ranks. NULL if
     * there is nothing to do. */
    void (*drawn)(void *run, size_t drawn, size_t before, struct nvdp__pass *pass);
    /* Computes the gradients of n drawn examples and adds their losses to job->sums. */
    nvdp_status (*examples)(void *run, const int64_t *row, size_t n, size_t drawn,
                            struct nvdp__pass *pass);
    double (*total)(void *run);         /* returns the loss that is minimized, from job->sums */
    nvdp_status (*diverged)(void *run); /* reports a loss or gradient that is not finite */
    /* Called after a step: counts and logs the step, and returns the loss for the progress line. */
    nvdp_status (*count)(void *run, double *shown);
    /* evaluations and models between steps; NULL if there are none */
    nvdp_status (*due)(void *run);
    /* Write more than `members` to a state (NULL if there is nothing more), and check a state that was read. */
    nvdp_status (*write_state)(void *run, json_t *object);
    nvdp_status (*check_state)(void *run, const char *path, const json_t *object);
};

struct nvdp__job {
    struct nvdp_context *ctx;
    const struct nvdp__job_kind *kind;
    void *run, *state;
    struct nvdp__device *dev;
    struct nvdp__params *params;
    struct nvdp__optimizer optimizer;
    struct nvdp__dp *dp;        /* NULL if training is not private */
    struct nvdp__grad_sum *sum; /* NULL for a single process */
    /* the examples of the epoch, or the examples that a private step draws */
    int64_t *order;
    size_t batch;       /* number of private examples that are processed at a time */
    const float *label; /* [batch] labels of these examples; NULL if there are none */
    /* weights of the clipped gradients, by label; NULL if all weights are 1 */
    const double *class_weight;
    /* [kind->sums] losses and counts of a step, summed over all processes */
    double *sums;
    uint64_t seed;
    uint64_t steps, schedule; /* last step of the run; last step of the learning-rate schedule */
    double checkpoint_seconds;
    const char *out;

    /* counters, saved with parameters and moments */
    uint64_t step;            /* steps done */
    uint64_t optimizer_steps; /* count of the optimizer; set when the state is saved */
    uint64_t epoch;           /* the running epoch, from 0 */
    uint64_t metrics_bytes;   /* length of the part of metrics.jsonl that belongs to this state */
    double seconds, tokens;   /* totals over training steps */
    double left_out;          /* sum of left-out examples over steps */

    struct nvdp__job_step last;
    struct nvdp__meter meter;
    double tokens_before; /* number of tokens in earlier calls */
    FILE *metrics;
    DIR *lock; /* lock of the directory */
    double saved_at;
};

/* Closes the files and releases dp, sum, optimizer and order. To be called before the parameters are released. */
void nvdp__job_close(struct nvdp__job *job);

/* Returns the number of tokens in n examples. */
size_t nvdp__job_tokens(const struct nvdp__job *job, const int64_t *row, size_t n);
/* Returns this process's share of n examples, balanced by tokens. */
struct nvdp__range nvdp__job_share(const struct nvdp__job *job, const int64_t *row, size_t n);

/* Takes one optimizer step, and writes the results to job->last and job->sums; the caller updates the counters.
 * Returns NVDP_ERR_CANCELLED if cancelled within a private step, which then changes nothing. */
nvdp_status nvdp__job_step(struct nvdp__job *job);

/* Starts the progress line and the timer for the next saved state. */
void nvdp__job_start(struct nvdp__job *job, const char *phase);
/* Takes, counts and logs one step. Saves the state when a save is due, and stops if cancelled. */
nvdp_status nvdp__job_advance(struct nvdp__job *job);
/* Returns `status`. If another process has ended (NVDP_ERR_IO), rank 0 first saves the state, and the message
 * explains how to continue. */
nvdp_status nvdp__job_keep(struct nvdp__job *job, nvdp_status status);
/* Saves the state and returns NVDP_ERR_CANCELLED with a message that explains how to continue. */
nvdp_status nvdp__job_stop(struct nvdp__job *job);

/* Writes DIR/state.ckpt on rank 0. */
nvdp_status nvdp__job_save(struct nvdp__job *job);
/* Reads DIR/state.ckpt. Sets *found to false if there is no state; if `found` is NULL, a missing state is an error. */
nvdp_status nvdp__job_load(struct nvdp__job *job, bool *found);
/* Opens metrics.jsonl, which has one JSON object per line, and cuts it to job->metrics_bytes. If the whole lines of
 * the file have fewer bytes, warns and continues after these lines. */
nvdp_status nvdp__job_open_metrics(struct nvdp__job *job);
/* Appends a line to metrics.jsonl on rank 0, and takes over `line`. line is NULL if memory was exhausted, which is
 * an error. If `spent`, adds the privacy cost of the steps. */
nvdp_status nvdp__job_log(struct nvdp__job *job, json_t *line, bool spent);

#endif
