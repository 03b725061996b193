/* What the chapters of a sweep share.  In the order of a run's way:
 *   grid.c, expand.c   grid.json, read and expanded into runs
 *   lease.c            which process may work on a run
 *   runs.c             what is known of every run: files, lease, progress, time left
 *   worker.c           a process that does a run
 *   sweep.c            the whole: done, or told beforehand */
#ifndef NVDP_SRC_SWEEP_INTERNAL_H
#define NVDP_SRC_SWEEP_INTERNAL_H

#include "base/base.h"
#include "sweep/sweep.h"
#include <jansson.h>
#include <nvdp/evaluate.h>
#include <nvdp/share.h>
#include <nvdp/train.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

/* --- grid.c, expand.c: grid.json (docs/sweep.md) --- */

/* What stays of a finished run beside its results. */
enum sweep_keep {
    SWEEP_KEEP_ALL,
    SWEEP_KEEP_MODEL,  /* neither the state to resume from nor the shared file */
    SWEEP_KEEP_RESULTS /* no model either */
};

struct sweep_run {
    char *name;                 /* of its directory: says the main options, ends in a digest */
    char *label;                /* the method's, or the name of the variant */
    const char *attack;         /* file of private labels; NULL: none */
    json_t *varied;             /* options beyond lambda and seed that the grid lists */
    struct nvdp_config *config; /* of nvdp_train, without out and cache */
    char *task;
    bool private_;          /* has a posterior to measure and to share */
    size_t round, position; /* place of its seed in the list of seeds; in the grid */
    double work; /* bytes of train.tsv times epochs: what training time is about proportional to;
                    0: the file is not there */
};

struct sweep_grid {
    json_t *root; /* the file; owns texts */
    struct sweep_run *run;
    size_t count, capacity;
    enum sweep_keep keep;
    struct nvdp_config *measured; /* of nvdp_run_posteriors, but for run, and of
                                     nvdp_privacy_measure */
    bool share;
    struct nvdp_config *exported; /* of nvdp_export, but for run and out */
    struct nvdp_config *reuse;    /* of nvdp_reuse, but for file and labels */
};

/* Reads, checks and expands `path`; what it says wrong is named, with what was expected.  No other
 * file is needed.  Runs stand in the order in which they are to be made: all of the first seed,
 * then of the next; equal ones once. */
nvdp_status sweep_grid_read(struct nvdp_context *ctx, const char *path, struct sweep_grid *out);
void sweep_grid_release(struct sweep_grid *grid);
/* Whether the models and data sets that the runs name are there and fit the options. */
nvdp_status sweep_grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct sweep_grid *grid);
/* Appends the runs of `task` with `method`, an entry of the file's "methods"; path is for messages.
 */
nvdp_status sweep_grid_expand(struct nvdp_context *ctx, const char *path, const char *task,
                              const json_t *method, struct sweep_grid *grid);
/* The entry's label and method. */
const char *sweep_grid_label(const json_t *method);
const char *sweep_grid_method(const json_t *method);
void sweep_run_release(struct sweep_run *run);
/* An option that is a number. */
double sweep_run_number(const struct sweep_run *run, const char *option);

/* --- lease.c: which process may work on a run --- */

/* Seconds without renewal after which a process elsewhere counts as dead, where nothing else is
 * said. */
#define SWEEP_LEASE_TIMEOUT 120.0

/* A process, of this machine or another. */
struct sweep_process {
    char host[256];
    char boot[64]; /* the kernel's boot id and the process id namespace; "" where unknown */
    int64_t pid;
    int64_t started; /* clock ticks after boot: tells a process from a later one of its number */
};
struct sweep_process sweep_process_self(void);

/* What a process knows of a run's leases; zeroed at first. */
struct sweep_lease {
    uint64_t number;         /* of the last lease seen; 0: none */
    struct timespec renewed; /* its modification time */
    double watched;          /* since when that has not changed, on the monotonic clock; 0: never */
    bool heard;              /* it has changed while this process watched */
    int fd;                  /* of one's own lease; valid while `mine` */
    bool mine;
};

enum sweep_lease_state {
    SWEEP_LEASE_FREE,  /* none yet, given back, or its process is dead */
    SWEEP_LEASE_HELD,  /* by another process */
    SWEEP_LEASE_SILENT /* held elsewhere, not heard of since this process watches */
};

/* Looks at the leases of `name` under `directory`; O(leases since the last look). */
nvdp_status sweep_lease_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, struct sweep_lease *lease,
                             enum sweep_lease_state *state);
/* Creates the lease after the last one seen, to be called where that is free; *won false where
 * another process was faster.  `timeout`: seconds without renewal after which others may take over.
 */
nvdp_status sweep_lease_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, double timeout,
                             struct sweep_lease *lease, bool *won);
/* Renews one's own lease; *lost where another process has taken over, after a long sleep, say. */
nvdp_status sweep_lease_renew(struct nvdp_context *ctx, const char *directory, const char *name,
                              struct sweep_lease *lease, bool *lost);
/* Gives one's own lease back; `outcome` says why: "done", "failed", "interrupted". */
nvdp_status sweep_lease_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct sweep_process *self, const char *outcome,
                                struct sweep_lease *lease);
/* Closes it without a word, as a process that dies does. */
void sweep_lease_forget(struct sweep_lease *lease);

/* --- runs.c: what is known of every run --- */

/* How far a running run is, as its worker writes it into runs/NAME/progress.json: a file, so that
 * whoever works on the directory sees it, on any machine, and what a killed worker wrote last stays
 * whole.  It counts while the run's lease is held. */
struct sweep_run_progress {
    char phase[24], unit[16]; /* "train", "step"; "" before the first word */
    uint64_t done, total;     /* total 0: unknown */
    double rate;              /* units a second; NaN where unknown */
    double eta_seconds;       /* of the phase; NaN where unknown */
    double seconds;           /* since the run began */
    double training_seconds;  /* that all its steps take at the rate so far; NaN before the first */
};

enum sweep_entry_state {
    SWEEP_ENTRY_WAITING,
    SWEEP_ENTRY_HERE,      /* leased to this process */
    SWEEP_ENTRY_ELSEWHERE, /* leased to another */
    SWEEP_ENTRY_SILENT,    /* the same, by one not heard of yet */
    SWEEP_ENTRY_DONE,
    SWEEP_ENTRY_FAILED
};

struct sweep_entry {
    enum sweep_entry_state state;
    struct sweep_lease lease;
    size_t group;
    double seconds;   /* DONE: what it took; NaN where unknown */
    int64_t pardoned; /* failed attempts that do not count: those before this call */
    struct sweep_run_progress progress; /* of a running one, as last read */
};

/* What the runs of a task and method tell of their pace: the finished ones their time, those that
 * are being trained what all their steps take at the rate so far. */
struct sweep_pace {
    size_t done; /* with a known time */
    double done_seconds, done_work, training_seconds, training_work;
    double seconds_per_work; /* what is reckoned with; NaN where unknown */
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

/* Why a run failed. */
struct sweep_failure {
    nvdp_status status; /* NVDP_STATUS_COUNT: the worker died */
    int signal;         /* that it died of; 0: none */
    const char *message;
};

/* Makes the directory and its folders, and puts a copy of the grid into it. */
nvdp_status sweep_prepare(struct nvdp_context *ctx, const char *directory,
                          const struct sweep_grid *grid);
/* DIRECTORY/runs/NAME/FILE; free(). */
char *sweep_run_file(struct nvdp_context *ctx, const char *directory, const char *name,
                     const char *file);
/* A finished run's record, written last. */
nvdp_status sweep_write_done(struct nvdp_context *ctx, const char *directory, const char *name,
                             double seconds);
/* runs/NAME/sweep.json: the run's label and the options that the grid varies, as it says now. */
nvdp_status sweep_write_label(struct nvdp_context *ctx, const char *directory,
                              const struct sweep_run *run);
/* failed/NAME.json.  `attempts` counts this one. */
nvdp_status sweep_write_failure(struct nvdp_context *ctx, const char *directory,
                                const struct sweep_run *run, const struct sweep_process *self,
                                int64_t attempts, const struct sweep_failure *failure);
/* The attempts that failed, 0 where there is no such record; *message may be NULL, else free(). */
int64_t sweep_failures(struct nvdp_context *ctx, const char *directory, const char *name,
                       char **message);
nvdp_status sweep_forget_failure(struct nvdp_context *ctx, const char *directory, const char *name);

/* runs/NAME/progress.json, replaced at once.  One that cannot be written is left out. */
void sweep_progress_write(const char *directory, const char *name,
                          const struct sweep_run_progress *progress);
/* Empty where there is none, or none that can be understood. */
struct sweep_run_progress sweep_progress_read(struct nvdp_context *ctx, const char *directory,
                                              const char *name);

/* Looks at every run.  Reads only: the directory need not be there. */
nvdp_status sweep_table_open(struct nvdp_context *ctx, const char *directory,
                             const struct sweep_grid *grid, bool retry_failed,
                             struct sweep_table *out);
void sweep_table_close(struct sweep_table *table); /* leases are forgotten, not given back */
/* Looks at run i again, unless it is HERE or settled. */
nvdp_status sweep_table_look(struct nvdp_context *ctx, struct sweep_table *table, size_t i);
/* Tries to make a WAITING run one's own: it is HERE, or what it has become meanwhile. */
nvdp_status sweep_table_take(struct nvdp_context *ctx, struct sweep_table *table, size_t i,
                             double timeout);
/* HERE or leased elsewhere; done or failed. */
bool sweep_entry_is_running(const struct sweep_entry *entry);
bool sweep_entry_is_settled(const struct sweep_entry *entry);
/* Reads the progress of the running ones again. */
void sweep_table_read_progress(struct nvdp_context *ctx, struct sweep_table *table);
/* Counts the runs, in all and in each group, and means their times; `state` gets the table's
 * groups.  O(runs). */
void sweep_table_count(struct sweep_table *table, struct sweep_state *state);
/* Seconds until all is settled where `workers` runs go on at a time, as of the last
 * sweep_table_count; NaN where nothing is known to go by. */
double sweep_table_eta(const struct sweep_table *table, size_t workers);
/* The same of all waiting runs, one after the other. */
double sweep_table_waiting_seconds(const struct sweep_table *table);

/* --- worker.c: one process a run, so that a crash costs that run alone --- */

/* What a worker and its parent tell one another, in memory that both have.  Status and message are
 * read after the worker's end. */
struct sweep_mailbox {
    atomic_bool stop; /* the parent's wish */
    int status;       /* -1: no word yet */
    char message[2048];
};

struct sweep_worker {
    pid_t pid; /* 0: idle */
    struct sweep_mailbox *shared;
};

/* What all workers of a sweep have in common. */
struct sweep_work {
    const char *directory, *cache;
    const struct sweep_grid *grid;
    int threads; /* a worker's */
};

nvdp_status sweep_worker_create(struct nvdp_context *ctx, struct sweep_worker *worker);
void sweep_worker_free(struct sweep_worker *worker); /* kills it where it runs */
/* Starts a process that does `run`: trains, measures and shares, continuing where an earlier
 * attempt stopped; then drops what the grid does not keep, and writes done.json.  It dies with its
 * parent.  Its notes go to runs/NAME/log.txt. */
nvdp_status sweep_worker_start(struct nvdp_context *ctx, const struct sweep_work *work,
                               const struct sweep_run *run, struct sweep_worker *worker);
/* Asks it to save its state and to end. */
void sweep_worker_stop(struct sweep_worker *worker);
/* *ended, and how: status NVDP_OK, or the failure; the message lives as long as the worker does.
 * Never waits. */
nvdp_status sweep_worker_poll(struct nvdp_context *ctx, struct sweep_worker *worker, bool *ended,
                              struct sweep_failure *outcome);

#endif
