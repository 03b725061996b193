/* Implements leases, then worker processes. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/result.h"
#include "sweep/sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/measured.h>
#include <nvdp/text_privacy.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- leases ---- */

/* Leases decide which process may work on a run. They are safe between processes, and between machines on a shared file
 * system that creates links exclusively (NFS does).
 *
 * A run's leases are DIR/claims/NAME.1, NAME.2, ...; the last lease counts. link() creates a lease, and only one of
 * several callers succeeds. No lease is ever removed. A process that takes over lease n of a dead process creates lease
 * n+1, so only one process succeeds, and a late process finds that the number exists.
 *
 * A process on the same machine is dead if its process id does not exist, and if neither the process nor its workers
 * hold the lock on the lease. This is known at once. A process on another machine renews the modification time of its
 * lease, and is dead if this time has not changed for the lease's timeout. The observer measures the timeout on its own
 * clock, so clocks are never compared. */

/* --- processes --- */

enum { LINE_SIZE = 4096, STATE_FIELD = 3, START_FIELD = 22 };

static void read_line(const char *path, size_t size, char *line) {
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (file == NULL) return;
    if (fgets(line, (int)size, file) == NULL) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
}

/* Reads a process's state ('R', 'Z', ...) and its start in clock ticks after boot from /proc/PID/stat. The second
 * field, a name in parentheses, may contain anything. */
static bool read_stat(int64_t pid, char *state, int64_t *started) {
    char path[64], line[LINE_SIZE];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_line(path, sizeof line, line);
    const char *at = strrchr(line, ')');
    if (at == NULL || sscanf(at + 1, " %c", state) != 1) return false;
    for (int field = STATE_FIELD; at != NULL && field <= START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%" SCNd64, started) == 1;
}

struct sweep_process sweep_process_self(void) {
    struct sweep_process self = {.pid = getpid()};
    char boot[40], space[24] = "", state;
    if (gethostname(self.host, sizeof self.host - 1) != 0) self.host[0] = '\0';
    read_line("/proc/sys/kernel/random/boot_id", sizeof boot, boot);
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    if (length > 0) space[length] = '\0';
    bool known = read_stat(self.pid, &state, &self.started);
    if (known && boot[0] != '\0' && length > 0)
        snprintf(self.boot, sizeof self.boot, "%s %s", boot, space);
    return self;
}

/* Returns true if the process of a record still runs. The process id must be valid on this machine: same boot, same
 * namespace. */
static bool is_alive(const json_t *record) {
    char state = '\0';
    int64_t started = 0;
    if (!read_stat(json_integer_value(json_object_get(record, "pid")), &state, &started))
        return false;
    return started == json_integer_value(json_object_get(record, "started")) && state != 'Z' &&
           state != 'X';
}

static struct nvdp__path claim_path(const char *directory, const char *name, uint64_t number) {
    return nvdp__path_format("%s/claims/%s.%" PRIu64, directory, name, number);
}

/* --- checking --- */

/* Returns true if the lease is locked. The workers of a process inherit the lock, which ends with the last worker. So a
 * worker that briefly outlives its parent keeps the run. Without file locks, only the process id counts. */
static bool is_locked(const char *path) {
    nvdp__auto(nvdp__close_owned) int fd = -1;
    return nvdp__open_regular(NULL, path, &fd) == NVDP_OK && flock(fd, LOCK_EX | LOCK_NB) != 0 &&
           errno == EWOULDBLOCK;
}

/* Returns the state of a lease from another machine: renewed since it was first seen, not yet renewed, or past its
 * timeout. */
static enum sweep_lease_state remote_state(const char *path, double timeout,
                                           struct sweep_lease *lease) {
    struct stat info;
    /* The file is missing while it is replaced. */
    if (stat(path, &info) != 0) return SWEEP_LEASE_SILENT;
    bool first = lease->watched == 0;
    bool renewed = info.st_mtim.tv_sec != lease->renewed.tv_sec ||
                   info.st_mtim.tv_nsec != lease->renewed.tv_nsec;
    if (first || renewed) {
        lease->heard = !first;
        lease->renewed = info.st_mtim;
        lease->watched = nvdp__now();
    }
    if (nvdp__now() - lease->watched > timeout) return SWEEP_LEASE_FREE;
    return lease->heard ? SWEEP_LEASE_HELD : SWEEP_LEASE_SILENT;
}

nvdp_status sweep_lease_look(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, struct sweep_lease *lease,
                             enum sweep_lease_state *state) {
    /* Numbers have no gaps, so the last lease is the one without a successor. */
    while (nvdp__exists(claim_path(directory, name, lease->number + 1).text)) {
        lease->number++;
        lease->watched = 0;
    }
    *state = SWEEP_LEASE_FREE;
    if (lease->number == 0) return NVDP_OK;
    const struct nvdp__path path = claim_path(directory, name, lease->number);
    nvdp__autoptr(json_decref) json_t *record = NULL;
    /* An unreadable record states no process, so the record's age decides. */
    if (nvdp__json_read(ctx, path.text, &record) == NVDP_ERR_MEMORY) return NVDP_ERR_MEMORY;
    const char *boot = json_string_value(json_object_get(record, "boot"));
    const double timeout = json_number_value(json_object_get(record, "timeout"));
    if (json_object_get(record, "outcome") != NULL) return NVDP_OK; /* the lease is free */
    /* A record with missing members counts as a record from another machine. */
    if (self->boot[0] == '\0' || boot == NULL || strcmp(self->boot, boot) != 0)
        *state = remote_state(path.text, timeout > 0 ? timeout : SWEEP_LEASE_TIMEOUT, lease);
    else if (is_alive(record) || is_locked(path.text))
        *state = SWEEP_LEASE_HELD;
    return NVDP_OK;
}

/* --- taking --- */

static json_t *record_json(const struct sweep_process *self, double timeout) {
    return json_pack("{s:s,s:s,s:I,s:I,s:s,s:f,s:o}", "host", self->host, "boot", self->boot, "pid",
                     (json_int_t)self->pid, "started", (json_int_t)self->started, "nvdp_format",
                     "claim/1", "timeout", timeout, "time", nvdp__now_json());
}

/* Writes the record to a temporary name and locks the file. The caller closes *fd unless it is negative. */
static nvdp_status write_beside(struct nvdp_context *ctx, const char *beside, const json_t *record,
                                int *fd) {
    nvdp__autofree char *text = json_dumps(record, JSON_INDENT(2));
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    const size_t length = strlen(text);
    *fd = open(beside, O_RDWR | O_CLOEXEC);
    if (*fd < 0 || write(*fd, text, length) != (ssize_t)length || write(*fd, "\n", 1) != 1 ||
        fsync(*fd) != 0)
        return nvdp__fail_errno(ctx, errno, "%s: cannot write", beside);
    (void)flock(*fd, LOCK_EX | LOCK_NB); /* without locks the process id decides */
    return NVDP_OK;
}

static void remove_beside(char *const *beside) {
    if (*beside != NULL) (void)unlink(*beside);
    free(*beside);
}

nvdp_status sweep_lease_take(struct nvdp_context *ctx, const char *directory, const char *name,
                             const struct sweep_process *self, double timeout,
                             struct sweep_lease *lease, bool *won) {
    nvdp__auto(remove_beside) char *beside = NULL;
    nvdp__auto(nvdp__close_owned) int fd = -1;
    struct stat info;
    nvdp__autoptr(json_decref) json_t *record = record_json(self, timeout);
    const struct nvdp__path path = claim_path(directory, name, lease->number + 1);
    *won = false;
    NVDP_TRY(nvdp__create_temporary(ctx, path.text, &beside, NULL));
    NVDP_TRY(write_beside(ctx, beside, record, &fd));
    *won = link(beside, path.text) == 0;
    int err = errno;
    /* If the server's reply to link() was lost, the number of links shows success. */
    if (!*won && fstat(fd, &info) == 0 && info.st_nlink == 2) *won = true;
    if (!*won && err != EEXIST)
        return nvdp__fail_errno(ctx, err,
                                "%s: cannot create a lock; the file system must support hard links",
                                path.text);
    if (*won) {
        *lease = (struct sweep_lease){.number = lease->number + 1, .fd = fd, .mine = true};
        fd = -1;
    }
    return NVDP_OK;
}

/* --- holding --- */

bool sweep_lease_renew(const char *directory, const char *name, const struct sweep_lease *lease) {
    (void)futimens(lease->fd, NULL); /* a failed renewal is repeated later */
    return !nvdp__exists(claim_path(directory, name, lease->number + 1).text);
}

nvdp_status sweep_lease_release(struct nvdp_context *ctx, const char *directory, const char *name,
                                const struct sweep_process *self, const char *outcome,
                                struct sweep_lease *lease) {
    nvdp__autoptr(json_decref) json_t *record = record_json(self, SWEEP_LEASE_TIMEOUT);
    json_object_set_new(record, "outcome", json_string(outcome));
    const nvdp_status status =
        nvdp__json_write(ctx, claim_path(directory, name, lease->number).text, record);
    sweep_lease_forget(lease);
    return status;
}

void sweep_lease_forget(struct sweep_lease *lease) {
    if (lease->mine) close(lease->fd);
    lease->mine = false;
}

/* ---- workers ---- */

/* Worker processes, one per run, so that a crash affects only that run. First the stages of a run (train, measure,
 * share), then the code in the worker's process, then the code by which the parent starts and watches a worker. */

/* State of a run. Each stage is skipped if its result exists. */
struct stage {
    struct nvdp_context *ctx;
    const char *cache;
    const struct sweep_grid *grid;
    const struct sweep_run *run;
    const char *out; /* the run's directory */
};

static nvdp_status train(const struct stage *at) {
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    if (nvdp__has(at->out, "result.json")) return NVDP_OK;
    NVDP_TRY(nvdp_config_copy(at->run->config, &config));
    NVDP_TRY(nvdp_config_set(config, "out", at->out));
    NVDP_TRY(nvdp_config_set(config, "cache", at->cache));
    if (nvdp__has(at->out, "run.json"))
        NVDP_TRY(nvdp_config_set(config, "resume", at->out));
    else
        NVDP_TRY(nvdp_config_set(config, "overwrite", "true"));
    return nvdp_train(at->ctx, config, &result);
}

/* Copies measured.json, which nvdp privacy --sanitized wrote to a sanitized folder, and which applies to every run on
 * that folder. */
static nvdp_status copy_measured(const struct stage *at) {
    nvdp__autofree char *text = NULL;
    const char *data = nvdp_config_get(at->run->config, "data");
    size_t size = 0;
    if (data == NULL || nvdp__has(at->out, "privacy.json")) return NVDP_OK;
    const struct nvdp__path path = nvdp__path(data, "measured.json");
    if (!nvdp__exists(path.text)) return NVDP_OK;
    NVDP_TRY(nvdp__read_file(at->ctx, path.text, (size_t)1 << 26, &text, &size));
    return nvdp__write_text(at->ctx, nvdp__path(at->out, "privacy.json").text, text);
}

static nvdp_status measure(const struct stage *at) {
    nvdp__autoresult struct nvdp_measured found = NVDP_RESULT(struct nvdp_measured);
    nvdp__autofree char *name = NULL;
    const char *noise = nvdp_config_get(at->run->config, "token-noise");
    /* The measurement of a folder has other options than the run. */
    if (!at->run->private_ && (noise == NULL || strcmp(noise, "none") == 0))
        return copy_measured(at);
    NVDP_TRY(nvdp_measured_name(at->ctx, at->grid->measured, "privacy", &name));
    if (nvdp__has(at->out, name)) return NVDP_OK;
    NVDP_TRY(nvdp_config_set(at->grid->measured, "run", at->out));
    NVDP_TRY(nvdp_measure(at->ctx, at->out, at->grid->measured, &found));
    return found.unsaved == NULL ? NVDP_OK : nvdp__fail(at->ctx, NVDP_ERR_IO, "%s", found.unsaved);
}

/* Trains a reader of the shared file, for the labels in the file or for other labels. */
static nvdp_status read_shared(const struct stage *at, const char *shared, const char *labels,
                               const char *file) {
    nvdp__autoresult struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    struct nvdp_config *config = at->grid->reuse;
    if (nvdp__has(at->out, file)) return NVDP_OK;
    NVDP_TRY(nvdp_config_set(config, "file", shared));
    NVDP_TRY(nvdp_config_set(config, "labels", labels));
    NVDP_TRY(nvdp_reuse(at->ctx, config, &result));
    nvdp__autoptr(json_decref) json_t *object =
        nvdp__result_json(nvdp_result_table_find("scores"), "file", result.scores);
    json_object_update_new(
        object, json_pack("{s:I, s:I, s:I, s:f}", "train_texts", (json_int_t)result.train_texts,
                          "classes", (json_int_t)result.classes, "best_epoch",
                          (json_int_t)result.best_epoch, "seconds", result.seconds));
    return nvdp__json_write(at->ctx, nvdp__path(at->out, file).text, object);
}

static nvdp_status share(const struct stage *at) {
    struct nvdp_config *config = at->grid->exported;
    const char *attack = at->run->attack;
    bool wanted = at->grid->share && at->run->private_ &&
                  strcmp(nvdp_config_get(at->run->config, "query"), "sampled") == 0;
    if (!wanted ||
        (nvdp__has(at->out, "reuse.json") && (attack == NULL || nvdp__has(at->out, "attack.json"))))
        return NVDP_OK;
    const struct nvdp__path shared = nvdp__path(at->out, "shared.h5");
    NVDP_TRY(nvdp_config_set(config, "run", at->out));
    NVDP_TRY(nvdp_config_set(config, "out", shared.text));
    /* The ledger may count a killed attempt, whose file is lost. A large budget lets the next attempt proceed, and the
     * new file reports the number of samples. */
    NVDP_TRY(nvdp_config_set(config, "budget-samples", "1000000"));
    if (!nvdp__exists(shared.text)) NVDP_TRY(nvdp_export(at->ctx, config, NULL));
    NVDP_TRY(read_shared(at, shared.text, NULL, "reuse.json"));
    return attack != NULL ? read_shared(at, shared.text, attack, "attack.json") : NVDP_OK;
}

/* Removes the files that the grid does not keep, and the progress record. */
static nvdp_status drop(const struct stage *at) {
    static const char *const names[] = {"progress.json", "state.ckpt", "shared.h5", "base/model/*",
                                        "base/*",        "base",       "model/*",   "model"};
    static const size_t count[] = {[SWEEP_KEEP_ALL] = 1,
                                   [SWEEP_KEEP_MODEL] = 6,
                                   [SWEEP_KEEP_RESULTS] = sizeof names / sizeof names[0]};
    return nvdp__outdir_remove(at->ctx, at->out, names, count[at->grid->keep]);
}

static nvdp_status do_run(struct nvdp_context *ctx, const struct sweep_work *work,
                          const struct sweep_run *run) {
    /* Removes partial files and progress of a killed attempt. No other process writes here now. */
    static const char *const partial[] = {"*.partial-*", "model/*.partial-*", "progress.json"};
    const double started = nvdp__now();
    const struct nvdp__path out = nvdp__path_format("%s/runs/%s", work->directory, run->name);
    const struct stage at = {
        .ctx = ctx, .cache = work->cache, .grid = work->grid, .run = run, .out = out.text};
    NVDP_TRY(nvdp__make_directory(ctx, at.out));
    NVDP_TRY(nvdp__outdir_remove(ctx, at.out, partial, sizeof partial / sizeof partial[0]));
    NVDP_TRY(sweep_write_label(ctx, work->directory, run));
    NVDP_TRY(train(&at));
    NVDP_TRY(measure(&at));
    NVDP_TRY(share(&at));
    NVDP_TRY(drop(&at));
    return sweep_write_done(ctx, work->directory, run->name, nvdp__now() - started);
}

/* --- in the worker's process --- */

static const double PROGRESS_INTERVAL = 0.5; /* seconds */

struct inside {
    const struct sweep_work *work;
    const struct sweep_run *run;
    struct sweep_mailbox *shared;
    FILE *log; /* NULL if it cannot be opened; then the run reports the error */
    struct sweep_run_progress progress;
    double started, trained, written; /* times of the last step and the last record */
    nvdp_cancel_fn cancel;            /* the user's callback */
    void *cancel_user;
};

static void on_progress(const struct nvdp_progress *report, void *user) {
    struct inside *inside = user;
    struct sweep_run_progress *progress = &inside->progress;
    double now = nvdp__now(), left = report->eta_seconds;
    bool advances = left > 0 && report->total > report->done;
    bool training = strcmp(report->phase, "train") == 0;
    if (training)
        inside->trained = now;
    else if (now - inside->trained < PROGRESS_INTERVAL) /* skips short scoring */
        return;
    snprintf(progress->phase, sizeof progress->phase, "%s", report->phase);
    snprintf(progress->unit, sizeof progress->unit, "%s", report->unit);
    progress->done = report->done;
    progress->total = report->total;
    progress->eta_seconds = left;
    progress->rate = advances ? (double)(report->total - report->done) / left : NAN;
    progress->seconds = now - inside->started;
    if (advances && training) progress->training_seconds = (double)report->total / progress->rate;
    if (inside->written > 0 && now - inside->written < PROGRESS_INTERVAL) return;
    inside->written = now;
    sweep_progress_write(inside->work->directory, inside->run->name, progress);
}

static void on_log(enum nvdp_log_level level, const char *message, void *user) {
    FILE *log = ((struct inside *)user)->log;
    if (level == NVDP_LOG_DEBUG || log == NULL) return;
    fprintf(log, "%s%s\n", level == NVDP_LOG_WARNING ? "warning: " : "", message);
    (void)fflush(log);
}

static bool on_cancel(void *user) {
    const struct inside *inside = user;
    return atomic_load(&inside->shared->stop) ||
           (inside->cancel != NULL && inside->cancel(inside->cancel_user));
}

static void run_inside(struct nvdp_context *ctx, const struct sweep_work *work,
                       const struct sweep_run *run, struct sweep_mailbox *shared) {
    struct inside inside = {.work = work,
                            .run = run,
                            .shared = shared,
                            .progress = {.training_seconds = NAN},
                            .started = nvdp__now()};
    nvdp_status status =
        nvdp__make_directory(ctx, sweep_run_file(work->directory, run->name, "").text);
    if (status == NVDP_OK)
        status = nvdp__append_regular(
            ctx, sweep_run_file(work->directory, run->name, "log.txt").text, &inside.log);
    nvdp_context_get_cancel(ctx, &inside.cancel, &inside.cancel_user);
    nvdp_context_set_progress(ctx, on_progress, &inside);
    nvdp_context_set_log(ctx, on_log, &inside);
    nvdp_context_set_cancel(ctx, on_cancel, &inside);
    if (status == NVDP_OK) status = nvdp_context_set_threads(ctx, work->threads);
    if (status == NVDP_OK) status = do_run(ctx, work, run);
    const char *message = nvdp_context_error(ctx);
    snprintf(shared->message, sizeof shared->message, "%s",
             message[0] != '\0' ? message : nvdp_status_text(status));
    shared->status = (int)status;
    if (inside.log != NULL) (void)fclose(inside.log);
}

/* --- in the parent process --- */

nvdp_status sweep_worker_create(struct nvdp_context *ctx, struct sweep_worker *worker) {
    void *memory = mmap(NULL, sizeof *worker->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nvdp__fail_errno(ctx, errno, "cannot allocate the shared memory of a worker");
    *worker = (struct sweep_worker){.shared = memory};
    return NVDP_OK;
}

void sweep_worker_free(struct sweep_worker *worker) {
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (worker->shared != NULL) munmap(worker->shared, sizeof *worker->shared);
    *worker = (struct sweep_worker){0};
}

nvdp_status sweep_worker_start(struct nvdp_context *ctx, const struct sweep_work *work,
                               const struct sweep_run *run, struct sweep_worker *worker) {
    struct sweep_mailbox *shared = worker->shared;
    memset(shared, 0, sizeof *shared);
    shared->status = -1;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) return nvdp__fail_errno(ctx, errno, "cannot start a worker process");
    if (pid == 0) {
        /* If the parent died before prctl(), getppid() differs. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
            run_inside(ctx, work, run, shared);
        _exit(0); /* does not run the parent's exit handlers or flush its buffers */
    }
    worker->pid = pid;
    return NVDP_OK;
}

nvdp_status sweep_worker_poll(struct nvdp_context *ctx, struct sweep_worker *worker, bool *ended,
                              struct sweep_failure *outcome) {
    int raw = 0;
    struct sweep_mailbox *shared = worker->shared;
    *ended = false;
    if (worker->pid == 0) return NVDP_OK;
    pid_t pid = waitpid(worker->pid, &raw, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return NVDP_OK;
    if (pid < 0) return nvdp__fail_errno(ctx, errno, "cannot wait for a worker process");
    worker->pid = 0;
    *ended = true;
    *outcome = (struct sweep_failure){.status = NVDP_STATUS_COUNT, .message = shared->message};
    if (WIFEXITED(raw) && WEXITSTATUS(raw) == 0 && shared->status >= 0) {
        outcome->status = (nvdp_status)shared->status;
    } else if (WIFSIGNALED(raw)) {
        outcome->signal = WTERMSIG(raw);
        snprintf(shared->message, sizeof shared->message,
                 "the worker was killed by signal %d (%s)%s", outcome->signal,
                 sigdescr_np(outcome->signal),
                 outcome->signal == SIGKILL ? ", perhaps because of a lack of memory" : "");
    } else {
        snprintf(shared->message, sizeof shared->message, "the worker failed with exit code %d",
                 WEXITSTATUS(raw));
    }
    return NVDP_OK;
}
