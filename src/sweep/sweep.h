/* Sweeps: every run that a grid.json names, once, by any number of processes (docs/sweep.md). */
#ifndef NVDP_SRC_SWEEP_SWEEP_H
#define NVDP_SRC_SWEEP_SWEEP_H

#include <nvdp/share.h>

/* The runs of one task with one method or variant. */
struct sweep_group {
    const char *task, *label;
    size_t runs, done, failed;
    size_t running; /* by this sweep's workers and by others */
    double seconds; /* of a finished run, mean; NaN where none is known */
};

/* A running run; those of this process's workers come first. */
struct sweep_job {
    const char *run;
    bool elsewhere;           /* another process does it, perhaps on another machine */
    char phase[24], unit[16]; /* "train", "step"; "" at first */
    uint64_t done, total;     /* units of the phase; total 0: unknown */
    double rate;              /* units a second; NaN where unknown */
    double eta_seconds;       /* of the phase; NaN where unknown */
    double seconds;           /* since it began */
};

struct sweep_state {
    size_t runs, done, failed, running, elsewhere; /* the last: of `running`, by others */
    size_t groups;
    const struct sweep_group *group;
    size_t jobs;
    const struct sweep_job *job;
    double elapsed_seconds;
    double eta_seconds; /* from the finished runs, and before there are any from the rates of the
                           running ones; NaN where unknown */
};
typedef void (*sweep_fn)(const struct sweep_state *state, void *user);

struct sweep_config {
    const char *grid;     /* file; NULL: OUT/grid.json, the last one used there */
    const char *out;      /* directory of the sweep; other processes may work on it */
    const char *cache;    /* as in nvdp_train_config */
    int jobs;             /* runs at a time, each in a process with its share of the threads; 1 */
    bool retry_failed;    /* try again what had failed when this call began */
    bool leave;           /* return when there is nothing to begin, though others still work */
    double stale_seconds; /* a process on another machine that is silent for so long is taken for
                             dead; 120 */
    sweep_fn report;      /* a few times a second, from the calling thread; NULL: none */
    void *user;
};
struct sweep_config sweep_config_default(void);

struct sweep_result {
    size_t runs, done, failed;
    size_t made; /* of the done ones, by this call */
    double seconds;
};
/* Does what is to be done.  Checks the whole grid before anything is run; a malformed one is
 * NVDP_ERR_INPUT.  Runs that fail are recorded in OUT/failed and do not stop the others: the call
 * is NVDP_OK.  On cancel states are saved and NVDP_ERR_CANCELLED returned.  Messages, cancel and
 * the threads are the context's.  Forks, after it has ended this process's idle OpenMP threads. */
nvdp_status run_sweep(struct nvdp_context *ctx, const struct sweep_config *config,
                      struct sweep_result *out);

enum sweep_run_state {
    SWEEP_WAITING,
    SWEEP_RUNNING, /* claimed by somebody who lives, or was not yet silent for long */
    SWEEP_DONE,
    SWEEP_FAILED
};
const char *sweep_run_state_name(enum sweep_run_state state); /* "waiting", ... */

/* One run of a plan; texts live as long as the plan. */
struct sweep_plan_run {
    const char *name, *task, *label, *varied; /* the last: "latent_dim=8, ...", "" */
    enum nvdp_method method;
    double lambda_g, lambda_d;
    uint64_t seed;
    enum sweep_run_state state;
    uint64_t steps; /* 0: not asked for */
    size_t memory_bytes;
    const char *message; /* why it failed; NULL */
};
struct sweep_plan {
    size_t runs;
    const struct sweep_plan_run *run;
    double seconds; /* that what waits would take one after the other, from the finished runs of
                       the same kind; NaN where there is none */
};
/* What run_sweep would do; writes nothing.  `cost`: reads the data sets for steps and memory. */
nvdp_status sweep_plan(struct nvdp_context *ctx, const struct sweep_config *config, bool cost,
                       struct sweep_plan **out);
void sweep_plan_free(struct sweep_plan *plan); /* NULL is allowed */

#endif
