/* Worker processes: one a run, so that a crash costs that run alone. */
#ifndef NVDP_EXPERIMENTS_SWEEP_WORKER_H
#define NVDP_EXPERIMENTS_SWEEP_WORKER_H

#include "directory.h"
#include <stdatomic.h>
#include <sys/types.h>

enum { NVDP__PHASE_ROOM = 24, NVDP__FAILURE_ROOM = 2048 };

/* What a worker tells its parent, in memory that both have.  Progress is for people: a number may
 * be read while it changes.  Status and message are read after the worker's end. */
struct nvdp__board {
    atomic_bool stop; /* the parent's wish */
    atomic_uint_fast64_t done, total;
    char phase[NVDP__PHASE_ROOM];
    int status; /* -1: no word yet */
    char message[NVDP__FAILURE_ROOM];
};

struct nvdp__worker {
    pid_t pid; /* 0: idle */
    struct nvdp__board *board;
};

/* What all workers of a sweep share. */
struct nvdp__workplace {
    const char *directory, *cache;
    const struct nvdp__grid *grid;
    int threads; /* a worker's */
};

nvdp_status nvdp__worker_create(struct nvdp_context *ctx, struct nvdp__worker *worker);
void nvdp__worker_free(struct nvdp__worker *worker); /* kills it where it runs */
/* Starts a process that does `run`.  It dies with its parent.  Its notes go to runs/NAME/log.txt.
 */
nvdp_status nvdp__worker_start(struct nvdp_context *ctx, const struct nvdp__workplace *place,
                               const struct nvdp__sweep_run *run, struct nvdp__worker *worker);
/* Asks it to save its state and to end. */
void nvdp__worker_stop(struct nvdp__worker *worker);
/* *ended, and how: status NVDP_OK, or the failure; the message lives as long as the worker does.
 * Never waits. */
nvdp_status nvdp__worker_poll(struct nvdp_context *ctx, struct nvdp__worker *worker, bool *ended,
                              struct nvdp__failure *outcome);

#endif
