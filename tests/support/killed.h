/* A private run whose processes are killed (SIGKILL) at random moments, and the properties that
 * must still hold. */
#ifndef NVDP_TESTS_SUPPORT_KILLED_H
#define NVDP_TESTS_SUPPORT_KILLED_H

#include "support.h"

struct killed_run {
    const char *record; /* the file in the run's folder that a resume looks for */
    const char *model;  /* the file of weights that the run publishes */
    /* Trains into `out`, with one line of metrics.jsonl per step. With `resume`, continues the run. */
    nvdp_status (*train)(struct nvdp_context *ctx, const void *config, const char *out,
                         bool resume);
    const void *config;
    uint64_t steps; /* number of steps of the whole run */
    uint64_t late;  /* steps by which the model on disk is older than the last line at a check */
    bool seeded;    /* the same state gives the same draws and the same final model */
};

/* Kills the run `kills` times (or $NVDP_KILLS times, if set), then lets it end. Fails the test
 * unless the run ends, counts every step once, and never has weights on disk that are newer than
 * the saved state. The draws of steps after the last saved state must be new after a kill, or, if
 * the run is seeded, identical. */
void killed_ends(const struct killed_run *run, int kills);

#endif
