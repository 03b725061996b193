/* The engine of every training run: steps with private or ordinary gradients, over one process
 * or several; when to save, log and stop; state.ckpt and metrics.jsonl. */
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

/* Writes `root` (stolen; NULL: out of memory) as DIRECTORY/NAME. */
nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root);

/* Describe for these records the libraries, and the processor, threads and processes. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

/* Sums the gradients of processes that train together (base/ranks.h), and shares their
 * parameters. Backward passes complete the gradient vector from its end on; complete parts are
 * summed while the backward pass continues. */

struct nvdp__grad_sum;

/* Sets *out to NULL if there is only one process. max_rows is the maximum number of rows of the
 * tracked table in a step (0: always dense). */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t max_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL allowed, as below */
/* Call before a step's gradient. All processes must know the same rows of the tracked table, in
 * the same order (nvdp__grad_rows). With `overlapped`, one backward pass follows that reports
 * complete parts; otherwise the gradient is complete only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* Replaces params->grad by the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Copies rank 0's parameters to all processes. Sums, and therefore initial values, may depend on
 * the number of threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Returns NVDP_ERR_STATE if the parameters differ between processes. Call it before the
 * parameters are used or published. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* Returns {processes, bytes of the last step's sum, steps of this process, seconds of waiting};
 * NULL for a single process. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

/* ---- the job ---- */

/* A counter of a struct that is part of a saved state; {0} ends the table. */
struct nvdp__state_member {
    const char *key;
    size_t offset;
    bool real; /* a double; otherwise a uint64_t */
};
#define NVDP__COUNT(type, member)                                                                  \
    { #member, offsetof(type, member), false }
#define NVDP__REAL(type, member)                                                                   \
    { #member, offsetof(type, member), true }

/* The results of a step. */
struct nvdp__job_step {
    double total, lr, norm; /* the minimized loss; the gradient's norm before clipping */
    size_t tokens;
    size_t left_out; /* private examples whose gradient is not finite */
    bool left;       /* a private step was cancelled before all drawn examples were processed */
};

enum { NVDP__JOB_SUMS = 5 }; /* maximum */

/* The functions of one kind of run. `run` is the struct that contains the job. */
struct nvdp__job_kind {
    const char *command;                      /* "nvdp train" */
    const struct nvdp__state_member *members; /* counters of job->state */
    size_t sums;                              /* number of job->sums, at most NVDP__JOB_SUMS */
    size_t (*tokens)(const void *run, int64_t row);
    /* Called before a step: sets the members of the pass that depend on options. */
    void (*begin)(void *run, struct nvdp__pass *pass);
    /* Computes the gradient and sums of this process's share of the epoch's next examples, and
     * calls nvdp__grad_begin() and nvdp__grad_sum_begin() for it. */
    nvdp_status (*batch)(void *run, struct nvdp__pass *pass);
    /* Called before a private step that draws `drawn` examples, of which `before` belong to
     * lower ranks. NULL: nothing to do. */
    void (*drawn)(void *run, size_t drawn, size_t before, struct nvdp__pass *pass);
    /* Computes the gradients of n drawn examples and adds their losses to job->sums. */
    nvdp_status (*examples)(void *run, const int64_t *row, size_t n, size_t drawn,
                            struct nvdp__pass *pass);
    double (*total)(void *run);         /* the minimized loss, from job->sums */
    nvdp_status (*diverged)(void *run); /* reports a loss or gradient that is not finite */
    /* Called after a step: counts and logs it, and returns the loss for the progress line. */
    nvdp_status (*count)(void *run, double *shown);
    nvdp_status (*due)(void *run); /* evaluations and models between steps; NULL: none */
    /* Writes more than `members` to a state (NULL: nothing), and checks a state that was read. */
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
    struct nvdp__dp *dp;        /* NULL: not private */
    struct nvdp__grad_sum *sum; /* NULL: single process */
    int64_t *order;             /* the epoch's examples, or those that a private step draws */
    size_t batch;               /* private examples processed at a time */
    const float *label;         /* [batch] labels of these examples; NULL: none */
    const double *class_weight; /* weights of their clipped gradients, by label; NULL: 1 */
    double *sums;               /* [kind->sums] losses and counts of a step, over all processes */
    uint64_t seed;
    uint64_t steps, schedule; /* last step of the run; last step of the learning-rate schedule */
    double checkpoint_seconds;
    const char *out;

    /* counters, saved with parameters and moments */
    uint64_t step;            /* steps done */
    uint64_t optimizer_steps; /* the optimizer's count; set when the state is saved */
    uint64_t epoch;           /* running, from 0 */
    uint64_t metrics_bytes;   /* length of metrics.jsonl that belongs to this state */
    double seconds, tokens;   /* of training steps */
    double left_out;          /* sum over steps */

    struct nvdp__job_step last;
    struct nvdp__meter meter;
    double tokens_before; /* tokens of earlier calls */
    FILE *metrics;
    DIR *lock; /* lock of the directory */
    double saved_at;
};

/* Closes the files and releases dp, sum, optimizer and order. Call it before the parameters are released. */
void nvdp__job_close(struct nvdp__job *job);

/* Returns the number of tokens in n examples. */
size_t nvdp__job_tokens(const struct nvdp__job *job, const int64_t *row, size_t n);
/* Returns this process's share of n examples, balanced by tokens. */
struct nvdp__range nvdp__job_share(const struct nvdp__job *job, const int64_t *row, size_t n);

/* Takes one optimizer step and leaves its results in job->last and job->sums; the caller updates
 * the counters. Returns NVDP_ERR_CANCELLED if cancelled within a private step, which then
 * changes nothing. */
nvdp_status nvdp__job_step(struct nvdp__job *job);

/* Starts the progress line and the timer for the next saved state. */
void nvdp__job_start(struct nvdp__job *job, const char *phase);
/* Takes, counts and logs one step; saves the state when it is due, and stops when cancelled. */
nvdp_status nvdp__job_advance(struct nvdp__job *job);
/* Returns `status`. If another process is gone (NVDP_ERR_IO), rank 0 first saves the state, and
 * the message explains how to continue. */
nvdp_status nvdp__job_keep(struct nvdp__job *job, nvdp_status status);
/* Saves the state and returns NVDP_ERR_CANCELLED with a message that explains how to continue. */
nvdp_status nvdp__job_stop(struct nvdp__job *job);

/* Writes DIR/state.ckpt on rank 0. */
nvdp_status nvdp__job_save(struct nvdp__job *job);
/* Reads DIR/state.ckpt. Sets *found to false if there is none; if `found` is NULL, a missing
 * state is an error. */
nvdp_status nvdp__job_load(struct nvdp__job *job, bool *found);
/* Opens metrics.jsonl, one JSON object per line, and cuts it to job->metrics_bytes. If the file
 * has fewer bytes in whole lines, warns and continues after these. */
nvdp_status nvdp__job_open_metrics(struct nvdp__job *job);
/* Appends a line (stolen; NULL: out of memory) to metrics.jsonl on rank 0. With `spent`, adds
 * the privacy cost of the steps. */
nvdp_status nvdp__job_log(struct nvdp__job *job, json_t *line, bool spent);

#endif
