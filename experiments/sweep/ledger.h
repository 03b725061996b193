/* What a process knows of every run of a sweep. */
#ifndef NVDP_EXPERIMENTS_SWEEP_LEDGER_H
#define NVDP_EXPERIMENTS_SWEEP_LEDGER_H

#include "claim.h"
#include "directory.h"
#include <nvdp/sweep.h>

enum nvdp__entry_state {
    NVDP__ENTRY_WAITING,
    NVDP__ENTRY_HERE,      /* claimed by this process */
    NVDP__ENTRY_ELSEWHERE, /* claimed by another */
    NVDP__ENTRY_SILENT,    /* the same, by one not heard of yet */
    NVDP__ENTRY_DONE,
    NVDP__ENTRY_FAILED
};

struct nvdp__entry {
    enum nvdp__entry_state state;
    struct nvdp__claim claim;
    size_t group;
    double seconds;   /* DONE: what it took; NaN where unknown */
    int64_t pardoned; /* failed attempts that do not count: those before this call */
};

struct nvdp__ledger {
    const char *directory;
    const struct nvdp__grid *grid;
    struct nvdp__holder self;
    struct nvdp__entry *entry; /* [grid->count] */
    struct nvdp_sweep_group *group;
    size_t groups;
    double seconds; /* of a finished run, mean over all; NaN where none is known */
};

/* Looks at every run.  Reads only: the directory need not be there. */
nvdp_status nvdp__ledger_open(struct nvdp_context *ctx, const char *directory,
                              const struct nvdp__grid *grid, bool retry_failed,
                              struct nvdp__ledger *out);
void nvdp__ledger_close(struct nvdp__ledger *ledger); /* claims are forgotten, not given back */
/* Looks at run i again, unless it is HERE or settled. */
nvdp_status nvdp__ledger_look(struct nvdp_context *ctx, struct nvdp__ledger *ledger, size_t i);
/* Tries to make a WAITING run one's own: it is HERE, or what it has become meanwhile. */
nvdp_status nvdp__ledger_take(struct nvdp_context *ctx, struct nvdp__ledger *ledger, size_t i,
                              double timeout);
/* Done or failed: nothing is left to do. */
bool nvdp__entry_is_settled(const struct nvdp__entry *entry);
/* Counts the runs, in all and in each group, and means their times; `state` gets the ledger's
 * groups.  O(runs). */
void nvdp__ledger_count(struct nvdp__ledger *ledger, struct nvdp_sweep_state *state);
/* Seconds that a run of the group takes, as last counted: the mean of its finished ones, else of
 * all, else NaN. */
double nvdp__ledger_usual_seconds(const struct nvdp__ledger *ledger, size_t group);

#endif
