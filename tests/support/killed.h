/* A private run whose processes are killed (SIGKILL) at random moments, and what must hold of it all the same. */
#ifndef NVDP_TESTS_SUPPORT_KILLED_H
#define NVDP_TESTS_SUPPORT_KILLED_H

#include "support.h"

struct killed_run {
    const char *record; /* of its folder, the file that a resume looks for */
    const char *model;  /* the weights that it gives away */
    /* Trains into `out`, every step a line of metrics.jsonl; `resume`: goes on. */
    nvdp_status (*train)(struct nvdp_context *ctx, const void *config, const char *out,
                         bool resume);
    const void *config;
    uint64_t steps; /* of the whole run */
    uint64_t
        late; /* steps after which a model on the way is on disk when it is asked whether to stop */
    bool seeded; /* the same draws from the same state, and in the end the same model */
};

/* Kills it so many times ($NVDP_KILLS instead, where that is set), then lets it end.  Fails the test unless it ends,
 * counts every step once, never has weights on disk that its saved state does not know of, and draws anew (the
 * same, where it is seeded) what the steps after a lost process's last state had drawn. */
void killed_ends(const struct killed_run *run, int kills);

#endif
