/* Sweeps: do every run of a grid.json once, with any number of processes (docs/sweep.md). */
#ifndef NVDP_SRC_SWEEP_SWEEP_H
#define NVDP_SRC_SWEEP_SWEEP_H

#include <nvdp/share.h>

/* Counts of the runs of one task with one method or variant. */
struct sweep_group {
    const char *task, *label;
    size_t runs, done, failed;
    size_t running; /* in this sweep's workers and in other processes */
    double seconds; /* mean duration of finished runs; NaN: unknown */
};

/* A running run. Runs of this process's workers come first. */
struct sweep_job {
    const char *run;
    bool elsewhere;           /* in another process, perhaps on another machine */
    char phase[24], unit[16]; /* "train", "step"; "" at first */
    uint64_t done, total;     /* units of the phase; total 0: unknown */
    double rate;              /* units per second; NaN: unknown */
    double eta_seconds;       /* for the phase; NaN: unknown */
    double seconds;           /* since the start */
};

struct sweep_state {
    /* elsewhere: those of `running` in other processes */
    size_t runs, done, failed, running, elsewhere;
    size_t groups;
    const struct sweep_group *group;
    size_t jobs;
    const struct sweep_job *job;
    double elapsed_seconds;
    /* from finished runs; before any, from the rates of running ones; NaN: unknown */
    double eta_seconds;
};
typedef void (*sweep_fn)(const struct sweep_state *state, void *user);

struct sweep_config {
    const char *grid;  /* grid file; NULL: OUT/grid.json, the last one used */
    const char *out;   /* directory of the sweep; several processes may share it */
    const char *cache; /* as for nvdp train */
    int jobs;          /* simultaneous runs, each in a process with its share of the threads; 1 */
    bool retry_failed; /* retry runs that had failed before this call */
    bool leave;        /* return when no run can be started, even if others still work */
    /* timeout after which a silent process on another machine counts as dead; 120 */
    double stale_seconds;
    sweep_fn report; /* called a few times per second by the calling thread; NULL: none */
    void *user;
};
struct sweep_config sweep_config_default(void);

struct sweep_result {
    size_t runs, done, failed;
    size_t made; /* done by this call */
    double seconds;
};
/* Does all pending runs. First checks the whole grid; an invalid one is NVDP_ERR_INPUT. Failed runs are recorded in
 * OUT/failed and do not stop the others; the call returns NVDP_OK. On cancellation saves states and returns
 * NVDP_ERR_CANCELLED. Messages, cancellation and threads are those of the context. Ends this process's idle OpenMP
 * threads, then forks. */
nvdp_status run_sweep(struct nvdp_context *ctx, const struct sweep_config *config,
                      struct sweep_result *out);

enum sweep_run_state {
    SWEEP_WAITING,
    SWEEP_RUNNING, /* leased by a process that is alive, or silent for less than its timeout */
    SWEEP_DONE,
    SWEEP_FAILED
};
const char *sweep_run_state_name(enum sweep_run_state state); /* returns "waiting", ... */

/* One run of a plan. Texts live as long as the plan. */
struct sweep_plan_run {
    const char *name, *task, *label, *varied; /* varied: "latent_dim=8, ...", or "" */
    enum nvdp_method method;
    double lambda_g, lambda_d;
    uint64_t seed;
    enum sweep_run_state state;
    uint64_t steps; /* 0: not requested */
    size_t memory_bytes;
    const char *message; /* reason of a failure; NULL */
};
struct sweep_plan {
    size_t runs;
    const struct sweep_plan_run *run;
    /* estimate for all waiting runs in sequence, from finished runs of the same kind; NaN: unknown */
    double seconds;
};
/* Lists the runs and their states; writes nothing. `cost`: also reads the data sets for steps and memory. */
nvdp_status sweep_plan(struct nvdp_context *ctx, const struct sweep_config *config, bool cost,
                       struct sweep_plan **out);
void sweep_plan_free(struct sweep_plan *plan); /* plan may be NULL */

#endif
