/* The engine of every training run: steps with private or ordinary gradients, over one process or several; when to save, log and
 * stop; state.ckpt and metrics.jsonl. */
#ifndef NVDP_SRC_JOB_JOB_H
#define NVDP_SRC_JOB_JOB_H

#include "base/outdir.h"
#include "base/ranks.h"
#include "bert/encoder.h"
#include "job/dp.h"
#include "job/optimizer.h"
#include "tensor/params.h"
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>

/* ---- the JSON records of a run (docs/formats.md) ---- */

/* Writes `root` (stolen; NULL: out of memory) as DIRECTORY/NAME. */
nvdp_status nvdp__run_json_write(struct nvdp_context *ctx, const char *directory, const char *name,
                                 json_t *root);

/* For these records: libraries; processor, threads and processes. */
json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

/* Sums the gradients of processes that train together (base/ranks.h), and shares their parameters.  Backward passes complete the
 * gradient vector from its end on; the complete part is summed while they go on. */

struct nvdp__grad_sum;

/* *out NULL if this process is alone; most_rows: maximum number of rows of the tracked table in a step (0: always dense). */
nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t most_rows, struct nvdp__grad_sum **out);
void nvdp__grad_sum_free(struct nvdp__grad_sum *sum); /* NULL allowed, as below */
/* Before a step's gradient.  All processes must know the same rows of the tracked table, in the same order (nvdp__grad_rows).
 * `overlapped`: one backward pass follows, which reports complete parts; otherwise the gradient is complete only at the end. */
void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped);
/* Replaces params->grad by the sum. */
nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev);
/* Gives rank 0's parameters to all processes: sums, and with them initial values, may depend on the number of threads. */
nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params);
/* NVDP_ERR_STATE if the parameters differ between processes.  Call it before they are used or given away. */
nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params);
/* {processes, bytes of the last step's sum, steps of this process, seconds of waiting in them}; NULL if this process is alone. */
json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum);

/* ---- the job ---- */

/* Counters of a struct that a state keeps; {0} ends the table. */
struct nvdp__state_member {
    const char *key;
    size_t offset;
    bool real; /* a double; else a uint64_t */
};
#define NVDP__COUNT(type, member)                                                                  \
    { #member, offsetof(type, member), false }
#define NVDP__REAL(type, member)                                                                   \
    { #member, offsetof(type, member), true }

/* The results of a step. */
struct nvdp__job_step {
    double total, lr, norm; /* the loss that is minimized; the gradient's norm before clipping */
    size_t tokens;
    size_t left_out; /* private examples whose gradient was no finite number */
    bool left;       /* a private step, cancelled before all drawn examples were processed */
};

enum { NVDP__JOB_SUMS = 5 }; /* maximum */

/* The functions of one kind of run, whose struct `run` has the job. */
struct nvdp__job_kind {
    const char *command;                      /* "nvdp train" */
    const struct nvdp__state_member *members; /* of job->state */
    size_t sums;                              /* at most NVDP__JOB_SUMS */
    size_t (*tokens)(const void *run, int64_t row);
    /* Before a step: the members of the pass that options set. */
    void (*begin)(void *run, struct nvdp__pass *pass);
    /* Computes the gradient and sums of this process's share of the epoch's next examples, and calls nvdp__grad_begin() and
     * nvdp__grad_sum_begin() for it. */
    nvdp_status (*batch)(void *run, struct nvdp__pass *pass);
    /* Before a private step: it draws `drawn` examples, and `before` of them come before this process's.  NULL: nothing to do. */
    void (*drawn)(void *run, size_t drawn, size_t before, struct nvdp__pass *pass);
    /* Computes the gradients of n of them and adds their losses to job->sums. */
    nvdp_status (*examples)(void *run, const int64_t *row, size_t n, size_t drawn,
                            struct nvdp__pass *pass);
    double (*total)(void *run);         /* the loss that is minimized, of job->sums */
    nvdp_status (*diverged)(void *run); /* the error of a loss or gradient that is not finite */
    /* After a step: counts and logs it; returns the loss that the progress line shows. */
    nvdp_status (*count)(void *run, double *shown);
    nvdp_status (*due)(void *run); /* evaluations and models between steps; NULL: none */
    /* Adds to a state more than `members` (NULL: nothing); checks a state that was read. */
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
    struct nvdp__grad_sum *sum; /* NULL: this process is alone */
    int64_t *order;             /* the epoch's examples, or those that a private step draws */
    size_t batch;               /* private examples that are processed at a time */
    const float *label;         /* [batch] of these examples; NULL: none */
    const double *class_weight; /* of their clipped gradients, by label; NULL: 1 */
    double *sums;               /* [kind->sums] losses and counts of a step, over all processes */
    uint64_t seed;
    uint64_t steps, schedule; /* where the run ends; where the learning rate's schedule ends */
    double checkpoint_seconds;
    const char *out;

    /* counters, saved with parameters and moments */
    uint64_t step;            /* steps done */
    uint64_t optimizer_steps; /* as the optimizer counts; set when the state is saved */
    uint64_t epoch;           /* running, from 0 */
    uint64_t metrics_bytes;   /* length of metrics.jsonl that belongs to this state */
    double seconds, tokens;   /* of training steps */
    double left_out;          /* sum over steps */

    struct nvdp__job_step last;
    struct nvdp__meter meter;
    double tokens_before; /* tokens of earlier calls */
    FILE *metrics;
    DIR *lock; /* of the directory */
    double saved_at;
};

/* Closes the files and releases dp, sum, optimizer and order.  Call it before the parameters are released. */
void nvdp__job_close(struct nvdp__job *job);

/* Tokens of n examples. */
size_t nvdp__job_tokens(const struct nvdp__job *job, const int64_t *row, size_t n);
/* This process's share of n examples, balanced by tokens. */
struct nvdp__range nvdp__job_share(const struct nvdp__job *job, const int64_t *row, size_t n);

/* One optimizer step, with its results in job->last and job->sums; counters are the caller's.  NVDP_ERR_CANCELLED within a private
 * step, which changes nothing then. */
nvdp_status nvdp__job_step(struct nvdp__job *job);

/* Starts the progress line and the time to the next saved state. */
void nvdp__job_start(struct nvdp__job *job, const char *phase);
/* One step, counted and logged; saves the state when it is due, and stops when asked. */
nvdp_status nvdp__job_advance(struct nvdp__job *job);
/* Passes `status` on.  If another process is gone (NVDP_ERR_IO), rank 0 saves the state first, and the message says how to
 * continue. */
nvdp_status nvdp__job_keep(struct nvdp__job *job, nvdp_status status);
/* Saves the state and returns NVDP_ERR_CANCELLED, whose message says how to continue. */
nvdp_status nvdp__job_stop(struct nvdp__job *job);

/* DIR/state.ckpt, written by rank 0. */
nvdp_status nvdp__job_save(struct nvdp__job *job);
/* *found false if there is none; `found` NULL: that is an error. */
nvdp_status nvdp__job_load(struct nvdp__job *job, bool *found);
/* Opens metrics.jsonl, one JSON object per line, cut to job->metrics_bytes.  If fewer bytes are there in whole lines, warns and
 * continues after these. */
nvdp_status nvdp__job_open_metrics(struct nvdp__job *job);
/* Appends a line (stolen; NULL: out of memory) to metrics.jsonl, if this is rank 0; `spent`: adds the privacy cost of the steps. */
nvdp_status nvdp__job_log(struct nvdp__job *job, json_t *line, bool spent);

#endif
