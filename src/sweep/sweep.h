/* Sweeps: do every run of a grid.json once, with any number of processes (docs/sweep.md). */
#ifndef NVDP_SRC_SWEEP_SWEEP_H
#define NVDP_SRC_SWEEP_SWEEP_H

#include "base/array.h"
#include <jansson.h>
#include <nvdp/evaluate.h>
#include <nvdp/share.h>
#include <nvdp/train.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

/* Counts of the runs of one task with one method or variant. */
struct sweep_group {
    const char *task, *label;
    size_t runs, done, failed;
    size_t running; /* number of runs in this sweep's workers and in other processes */
    double seconds; /* mean duration of finished runs; NaN if unknown */
};

/* Progress of a running run. The worker writes the progress to runs/NAME/progress.json, so that every process of the
 * sweep can read it on any machine, and the last record of a killed worker stays complete. The record is valid while
 * the run's lease is held. */
struct sweep_run_progress {
    char phase[24], unit[16]; /* "train", "step"; "" at first */
    uint64_t done, total;     /* units of the phase; total is 0 if unknown */
    double rate;              /* units per second; NaN if unknown */
    double eta_seconds;       /* expected time to the end of the phase; NaN if unknown */
    double seconds;           /* since the start of the run */
    /* Estimate for all steps at the current rate; NaN before the first step. */
    double training_seconds;
};

/* A running run. Runs of this process's workers come first. */
struct sweep_job {
    const char *run;
    bool elsewhere; /* true if another process runs it, perhaps on another machine */
    struct sweep_run_progress progress;
};

struct sweep_state {
    /* Numbers of runs; `elsewhere` is the part of `running` in other processes. */
    size_t runs, done, failed, running, elsewhere;
    size_t groups;
    const struct sweep_group *group;
    size_t jobs;
    const struct sweep_job *job;
    double elapsed_seconds;
    /* Estimate from finished runs, or, if no run is finished, from the rates of running runs; NaN if unknown. */
    double eta_seconds;
};
typedef void (*sweep_fn)(const struct sweep_state *state, void *user);

struct sweep_config {
    const char *grid;  /* grid file; NULL for OUT/grid.json, the last used grid */
    const char *out;   /* directory of the sweep; several processes may share it */
    const char *cache; /* folder of the cache, as in nvdp train */
    /* Number of simultaneous runs; each run has a process and a share of the threads; 1. */
    int jobs;
    bool retry_failed; /* retry runs that had failed before this call */
    bool leave;        /* return when no run can be started, even if other processes still work */
    /* timeout after which a silent process on another machine counts as dead; 120 */
    double stale_seconds;
    /* The calling thread calls this function a few times per second; may be NULL. */
    sweep_fn report;
    void *user;
};
extern const struct sweep_config sweep_config_default;

struct sweep_result {
    size_t runs, done, failed;
    size_t made; /* number of runs done by this call */
    double seconds;
};
/* Does all pending runs. First checks the whole grid; returns NVDP_ERR_INPUT for an invalid grid. Failed runs are
 * recorded in OUT/failed and do not stop other runs; the call returns NVDP_OK. If it is cancelled, saves states and
 * returns NVDP_ERR_CANCELLED. Messages, cancellation and the number of threads are set by the context. Ends this
 * process's idle OpenMP threads, then forks. */
nvdp_status run_sweep(struct nvdp_context *ctx, const struct sweep_config *config,
                      struct sweep_result *out);

enum sweep_run_state {
    SWEEP_WAITING,
    SWEEP_RUNNING, /* leased by a process that is alive, or silent for less than its timeout */
    SWEEP_DONE,
    SWEEP_FAILED
};
const char *sweep_run_state_name(enum sweep_run_state state); /* returns "waiting", ... */

/* One run of a plan. The plan owns the strings. */
struct sweep_plan_run {
    const char *name, *task, *label, *varied; /* `varied` is "latent_dim=8, ...", or "" */
    enum nvdp_method method;
    double lambda_g, lambda_d;
    uint64_t seed;
    enum sweep_run_state state;
    uint64_t steps; /* 0 if not requested */
    size_t memory_bytes;
    const char *message; /* reason of a failure; NULL if the run has not failed */
};
struct sweep_plan {
    size_t runs;
    const struct sweep_plan_run *run;
    /* Estimate for all waiting runs in sequence, from finished runs of the same kind; NaN if unknown. */
    double seconds;
};
/* Lists the runs and their states; writes nothing. With `cost`, reads the data sets to compute steps and memory. */
nvdp_status sweep_plan(struct nvdp_context *ctx, const struct sweep_config *config, bool cost,
                       struct sweep_plan **out);
void sweep_plan_free(struct sweep_plan *plan); /* plan may be NULL */
NVDP__AUTOPTR(struct sweep_plan, sweep_plan_free)

/* ---- the parts of a sweep ---- */

/* Declarations that the parts share, in the order in which a run uses them:
 *    grid.c, expand.c   read grid.json and expand it into runs
 *    worker.c           leases decide which process may work on a run; it does one run in a process
 *    runs.c             state of every run: files, lease, progress, time left
 *    sweep.c            does the whole sweep, or plans it */

/* --- grid.c, expand.c: grid.json (docs/sweep.md) --- */

/* Files of a finished run that are kept in addition to the results. */
enum sweep_keep {
    SWEEP_KEEP_ALL,
    SWEEP_KEEP_MODEL,  /* keep the model, but neither the training state nor the shared file */
    SWEEP_KEEP_RESULTS /* keep no files in addition to the results */
};

struct sweep_run {
    char *name;         /* name of the run's directory: main options and a digest */
    char *label;        /* label of the method or the variant */
    const char *attack; /* file of private labels; NULL if there is none */
    /* The grid's path of the model if the path has {options}, else NULL. */
    char *model;
    json_t *varied;             /* options that the grid lists, other than lambda and seed */
    struct nvdp_config *config; /* options of nvdp_train() without out and cache */
    char *task;
    bool private_;          /* the method has a posterior to measure and to share */
    size_t round, position; /* index of the run's seed; index of the run in the grid */
    /* Bytes of train.tsv times epochs, roughly proportional to training time; 0 without a file. */
    double work;
};

struct sweep_grid {
    json_t *root; /* the parsed file, which owns strings */
    struct sweep_run *run;
    size_t count, capacity;
    enum sweep_keep keep;
    /* Options of nvdp_run_posteriors (without run) and nvdp_privacy_measure. */
    struct nvdp_config *measured;
    bool share;
    struct nvdp_config *exported; /* options of nvdp_export, without run and out */
    struct nvdp_config *reuse;    /* options of nvdp_reuse, without file and labels */
};

/* Reads, checks and expands `path`. Messages have the invalid value and the expected values. Reads no other file. Runs
 * are ordered by seed; equal runs appear once. */
nvdp_status sweep_grid_read(struct nvdp_context *ctx, const char *path, struct sweep_grid *out);
void sweep_grid_release(struct sweep_grid *grid);
/* Checks that the models and data sets of the runs exist and fit the options. */
nvdp_status sweep_grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct sweep_grid *grid);
/* Appends the runs of `task` with `method`, an entry of the file's "methods". `path` is for messages. */
nvdp_status sweep_grid_expand(struct nvdp_context *ctx, const char *path, const char *task,
                              const json_t *method, struct sweep_grid *grid);
/* Return the entry's label and method. */
const char *sweep_grid_label(const json_t *method);
const char *sweep_grid_method(const json_t *method);
void sweep_run_release(struct sweep_run *run);
/* Returns the value of an option that is a number. */
double sweep_run_number(const struct sweep_run *run, const char *option);

/* --- worker.c: leases decide which process may work on a run --- */

/* Default of the seconds without renewal after which a process on another machine counts as dead. */
#define SWEEP_LEASE_TIMEOUT 120.0

/* Identifies a process on this machine or another. */
struct sweep_process {
    char host[256];
    char boot[64]; /* kernel's boot id and process id namespace; "" if unknown */
    int64_t pid;
    int64_t started; /* start in clock ticks after boot; distinguishes processes with a reused id */
};
struct sweep_process sweep_process_self(void);

/* The knowledge of a process about a run's leases; initially zero. */
struct sweep_lease {
    uint64_t number;         /* number of the last lease seen; 0 if there is none */
    struct timespec renewed; /* modification time of the last lease */
    /* Time when `renewed` was first seen, on the monotonic clock; 0 if never. */
    double watched;
    bool heard; /* `renewed` changed while this process watched */
    int fd;     /* file of this process's lease, valid while `mine` is set */
    bool mine;
};

enum sweep_lease_state {
    SWEEP_LEASE_FREE,  /* there is no lease, it was released, or its process is dead */
    SWEEP_LEASE_HELD,  /* another process holds the lease */
    SWEEP_LEASE_SILENT /* held elsewhere, and not yet renewed while this process watches */
};

/* Checks the leases of `name` under `directory`. O(leases since the last check). */
nvdp_status sweep_lease_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, struct sweep_lease *lease,
                             enum sweep_lease_state *state);
/* Creates the lease after the last lease seen, which must be free. *won is false if another process was faster. After
 * `timeout` seconds without a renewal, other processes may take over. */
nvdp_status sweep_lease_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, double timeout,
                             struct sweep_lease *lease, bool *won);
/* Renews the lease of this process. Returns false if another process took over, for example after the machine slept. */
bool sweep_lease_renew(const char *directory, const char *name, const struct sweep_lease *lease);
/* Releases the lease of this process with an `outcome`: "done", "failed", "interrupted". */
nvdp_status sweep_lease_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct sweep_process *self, const char *outcome,
                                struct sweep_lease *lease);
/* Closes the lease of this process without a record, as the death of the process would. */
void sweep_lease_forget(struct sweep_lease *lease);

/* --- runs.c: state of every run --- */

enum sweep_entry_state {
    SWEEP_ENTRY_WAITING,
    SWEEP_ENTRY_HERE,      /* leased to this process */
    SWEEP_ENTRY_ELSEWHERE, /* leased to another process */
    SWEEP_ENTRY_SILENT,    /* leased to another process that has not yet renewed */
    SWEEP_ENTRY_DONE,
    SWEEP_ENTRY_FAILED
};

struct sweep_entry {
    enum sweep_entry_state state;
    struct sweep_lease lease;
    size_t group;
    double seconds;                     /* duration of a run that is DONE; NaN if unknown */
    int64_t pardoned;                   /* failed attempts before this call, which do not count */
    struct sweep_run_progress progress; /* last progress read of a running run */
};

/* Speed of the runs of a task and method: durations of finished runs, and estimates for all steps of runs in
 * training. */
struct sweep_pace {
    size_t done; /* number of finished runs with known durations */
    double done_seconds, done_work, training_seconds, training_work;
    double seconds_per_work; /* result used for estimates; NaN if unknown */
};

struct sweep_table {
    const char *directory;
    const struct sweep_grid *grid;
    struct sweep_process self;
    struct sweep_entry *entry; /* [grid->count] */
    struct sweep_group *group;
    struct sweep_pace *pace; /* [groups] */
    size_t groups;
};

/* The failure of a run. */
struct sweep_failure {
    nvdp_status status; /* NVDP_STATUS_COUNT if the worker died */
    int signal;         /* signal that killed the worker, or 0 */
    const char *message;
};

/* Creates the directory and its folders, and copies the grid into it. */
nvdp_status sweep_prepare(struct nvdp_context *ctx, const char *directory,
                          const struct sweep_grid *grid);
/* Returns DIRECTORY/runs/NAME/FILE. */
struct nvdp__path sweep_run_file(const char *directory, const char *name, const char *file);
/* Writes a finished run's record, the last file of a run. */
nvdp_status sweep_write_done(struct nvdp_context *ctx, const char *directory, const char *name,
                             double seconds);
/* Writes runs/NAME/sweep.json: the run's label and varied options according to the current grid. */
nvdp_status sweep_write_label(struct nvdp_context *ctx, const char *directory,
                              const struct sweep_run *run);
/* Writes failed/NAME.json. `attempts` includes the current attempt. */
nvdp_status sweep_write_failure(struct nvdp_context *ctx, const char *directory,
                                const struct sweep_run *run, const struct sweep_process *self,
                                int64_t attempts, const struct sweep_failure *failure);
/* Returns the number of failed attempts, 0 without a record. *message may be NULL; otherwise the caller frees it with
 * free(). */
int64_t sweep_failures(struct nvdp_context *ctx, const char *directory, const char *name,
                       char **message);
nvdp_status sweep_forget_failure(struct nvdp_context *ctx, const char *directory, const char *name);

/* Replaces runs/NAME/progress.json atomically. Ignores errors. */
void sweep_progress_write(const char *directory, const char *name,
                          const struct sweep_run_progress *progress);
/* Reads the progress of a run. Returns an empty record if there is no record, or if it is invalid. */
struct sweep_run_progress sweep_progress_read(const char *directory, const char *name);

/* Checks every run. Reads only; the directory need not exist. */
nvdp_status sweep_table_open(struct nvdp_context *ctx, const char *directory,
                             const struct sweep_grid *grid, bool retry_failed,
                             struct sweep_table *out);
void sweep_table_close(struct sweep_table *table); /* does not release leases */
/* Checks run i again, unless the run is HERE or settled. */
nvdp_status sweep_table_look(struct nvdp_context *ctx, struct sweep_table *table, size_t i);
/* Tries to lease a WAITING run. Afterwards the run is HERE, or in another state. */
nvdp_status sweep_table_take(struct nvdp_context *ctx, struct sweep_table *table, size_t i,
                             double timeout);
/* Return true if a run is running (HERE or leased elsewhere), or settled (done or failed). */
bool sweep_entry_is_running(const struct sweep_entry *entry);
bool sweep_entry_is_settled(const struct sweep_entry *entry);
/* Counts the runs, in total and per group, and averages their durations. `state` borrows the table's groups.
 * O(runs). */
void sweep_table_count(struct sweep_table *table, struct sweep_state *state);
/* Estimates the seconds until all runs are settled with `workers` runs at a time, from the last sweep_table_count().
 * NaN if unknown. */
double sweep_table_eta(const struct sweep_table *table, size_t workers);
/* Estimates the seconds for all waiting runs, one after the other. */
double sweep_table_waiting_seconds(const struct sweep_table *table);

/* --- worker.c: one process per run, so that a crash affects only that run --- */

/* Memory that a worker shares with its parent. The parent reads status and message after the worker has ended. */
struct sweep_mailbox {
    atomic_bool stop; /* set by the parent: the worker saves its state and exits */
    int status;       /* -1 until it is set */
    char message[2048];
};

struct sweep_worker {
    pid_t pid; /* 0 if idle */
    struct sweep_mailbox *shared;
};

/* Values that all workers of a sweep share. */
struct sweep_work {
    const char *directory, *cache;
    const struct sweep_grid *grid;
    int threads; /* threads per worker */
};

nvdp_status sweep_worker_create(struct nvdp_context *ctx, struct sweep_worker *worker);
void sweep_worker_free(struct sweep_worker *worker); /* kills a running worker */
/* Starts a process for `run`. The process continues an earlier attempt if there is one, trains, measures and shares.
 * Then it removes files that the grid does not keep, and writes done.json. The process dies with its parent. Its log is
 * runs/NAME/log.txt. */
nvdp_status sweep_worker_start(struct nvdp_context *ctx, const struct sweep_work *work,
                               const struct sweep_run *run, struct sweep_worker *worker);
/* Sets *ended if the worker has ended, without waiting, and sets *outcome to status NVDP_OK or the failure. The worker
 * owns the message. */
nvdp_status sweep_worker_poll(struct nvdp_context *ctx, struct sweep_worker *worker, bool *ended,
                              struct sweep_failure *outcome);

#endif
