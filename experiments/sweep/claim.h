/* Claims: who may work on a run.  Safe between processes, and between machines on a shared file
 * system that creates links exclusively (NFS does).
 *
 * A run's claims are DIR/claims/NAME.1, NAME.2, ...; the last one counts.  A claim is created by
 * link(), which one of several succeeds in, and no claim is ever removed: who takes over the claim
 * n of a dead holder creates n+1, so that of several takers one wins, and one that decided late
 * finds the number gone.
 *
 * A holder on the same machine is dead when its process is gone and the lock that it and its
 * workers hold on the claim with it: noticed at once.  One elsewhere is dead when its claim's
 * modification time, which it renews, has not changed for the claim's own timeout on the clock of
 * who watches: no two clocks are compared. */
#ifndef NVDP_EXPERIMENTS_SWEEP_CLAIM_H
#define NVDP_EXPERIMENTS_SWEEP_CLAIM_H

#include "holder.h"

#include <time.h>

/* Seconds without renewal after which a holder elsewhere counts as dead, where nothing else is
 * said.
 */
#define NVDP__CLAIM_TIMEOUT 120.0

/* What a process knows of a run's claims; zeroed at first. */
struct nvdp__claim {
    uint64_t number;         /* of the last claim seen; 0: none */
    struct timespec renewed; /* its modification time */
    double watched;          /* since when that has not changed, on the monotonic clock; 0: never */
    bool heard;              /* it has changed while this process watched */
    int fd;                  /* of one's own claim; valid while `mine` */
    bool mine;
};

enum nvdp__claim_state {
    NVDP__CLAIM_FREE,  /* none yet, given back, or its holder is dead */
    NVDP__CLAIM_HELD,  /* by somebody else */
    NVDP__CLAIM_SILENT /* held elsewhere, not heard of since this process watches */
};

/* Looks at the claims of `name` under `directory`; O(claims since the last look). */
nvdp_status nvdp__claim_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct nvdp__holder *self, struct nvdp__claim *claim,
                             enum nvdp__claim_state *state);
/* Creates the claim after the last one seen, to be called where that is free; *won false where
 * somebody else was faster.  `timeout`: seconds without renewal after which others may take over.
 */
nvdp_status nvdp__claim_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct nvdp__holder *self, double timeout,
                             struct nvdp__claim *claim, bool *won);
/* Renews one's own claim; *lost where somebody has taken over, after a long sleep, say. */
nvdp_status nvdp__claim_renew(struct nvdp_context *ctx, const char *directory, const char *name,
                              struct nvdp__claim *claim, bool *lost);
/* Gives one's own claim back; `outcome` says why: "done", "failed", "interrupted". */
nvdp_status nvdp__claim_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct nvdp__holder *self, const char *outcome,
                                struct nvdp__claim *claim);
/* Closes it without a word, as a process that dies does. */
void nvdp__claim_forget(struct nvdp__claim *claim);

#endif
