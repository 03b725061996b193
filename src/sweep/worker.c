/* Worker processes: one per run, so that a crash affects only that run. First the stages of a run (train, measure,
 * share), then the code in the worker's process, then starting and watching it from the parent. */
#include "internal.h"

#include "base/file.h"
#include "base/json.h"
#include "base/outdir.h"
#include "base/own.h"

#include <nvdp/measured.h>
#include <nvdp/text_privacy.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* State of a run. Each stage is skipped if its result exists. */
struct stage {
    struct nvdp_context *ctx;
    const char *cache;
    const struct sweep_grid *grid;
    const struct sweep_run *run;
    char *out; /* the run's directory */
};

static char *path_to(const struct stage *at, const char *file) {
    return nvdp__join(at->ctx, at->out, file);
}

static bool has(const struct stage *at, const char *file) {
    char *path = path_to(at, file);
    bool found = path != NULL && nvdp__exists(path);
    free(path);
    return found;
}

static nvdp_status train(const struct stage *at) {
    nvdp__auto(nvdp_train_result_free) struct nvdp_train_result result =
        NVDP_RESULT(struct nvdp_train_result);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    if (has(at, "result.json")) return NVDP_OK;
    NVDP_TRY(nvdp_config_copy(at->run->config, &config));
    NVDP_TRY(nvdp_config_set(config, "out", at->out));
    NVDP_TRY(nvdp_config_set(config, "cache", at->cache));
    if (has(at, "run.json"))
        NVDP_TRY(nvdp_config_set(config, "resume", at->out));
    else
        NVDP_TRY(nvdp_config_set(config, "overwrite", "true"));
    return nvdp_train(at->ctx, config, &result);
}

static nvdp_status write_privacy(const struct stage *at, const char *name, const char *text) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    nvdp__autofree char *path = path_to(at, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__output_open(at->ctx, path, &output));
    NVDP_TRY(nvdp__output_printf(&output, "%s\n", text));
    return nvdp__output_commit(&output, true);
}

/* Measures the privatized texts or states that the run's users send. */
static nvdp_status measure_texts(const struct stage *at, const struct nvdp_config *config,
                                 bool sequence, char **text) {
    struct nvdp_privacy_report vectors = NVDP_RESULT(struct nvdp_privacy_report);
    if (sequence) {
        NVDP_TRY(nvdp_run_sequence_privacy(at->ctx, config, NULL, &vectors));
        const nvdp_status status = nvdp_privacy_report_json(at->ctx, &vectors, text);
        nvdp_privacy_report_free(&vectors);
        return status;
    }
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    NVDP_TRY(nvdp_run_text_privacy(at->ctx, config, NULL, &report));
    const nvdp_status status = nvdp_dchi_report_json(at->ctx, &report, text);
    nvdp_dchi_report_free(&report);
    return status;
}

/* Reads measured.json, which nvdp privacy --sanitized left in a sanitized folder and which applies to every run on
 * it. */
static nvdp_status measured_before(const struct stage *at, char **text) {
    nvdp_status status = NVDP_OK;
    const char *data = nvdp_config_get(at->run->config, "data");
    char *path = data != NULL ? nvdp__join(at->ctx, data, "measured.json") : NULL;
    size_t size = 0;
    if (path != NULL && nvdp__exists(path))
        status = nvdp__read_file(at->ctx, path, (size_t)1 << 26, text, &size);
    free(path);
    return status;
}

static nvdp_status measure(const struct stage *at) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__auto(nvdp_privacy_report_free) struct nvdp_privacy_report report =
        NVDP_RESULT(struct nvdp_privacy_report);
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    nvdp__autofree char *text = NULL, *name = NULL;
    const char *noise = nvdp_config_get(at->run->config, "token-noise");
    struct nvdp_text_mechanism_info mechanism = NVDP_RESULT(struct nvdp_text_mechanism_info);
    const bool noised = noise != NULL && strcmp(noise, "none") != 0;
    /* A folder's measurement has its own options, which are not the run's. */
    const bool own = noised || at->run->private_;
    if (own)
        NVDP_TRY(nvdp_measured_name(at->ctx, at->grid->measured, "privacy", &name));
    else
        NVDP_TRY(NVDP__MADE(name = nvdp__strdup(at->ctx, "privacy.json")));
    if (has(at, name)) return NVDP_OK;
    NVDP_TRY(nvdp_config_copy(at->grid->measured, &config));
    NVDP_TRY(nvdp_config_set(config, "run", at->out));
    if (noised) {
        NVDP_TRY(nvdp_text_mechanism_describe(at->ctx, noise, &mechanism));
        NVDP_TRY(measure_texts(at, config, mechanism.on_sequence, &text));
    } else if (!at->run->private_) {
        NVDP_TRY(measured_before(at, &text));
    } else {
        NVDP_TRY(nvdp_run_posteriors(at->ctx, config, &posteriors));
        NVDP_TRY(nvdp_privacy_measure(at->ctx, posteriors, config, NULL, &report));
        NVDP_TRY(nvdp_linkage_measure(at->ctx, posteriors, report.bdp_releases, NVDP_LINKAGE_TEXTS,
                                      1, report.linkage));
        NVDP_TRY(nvdp_privacy_report_json(at->ctx, &report, &text));
    }
    if (own) NVDP_TRY(nvdp_measured_label(at->ctx, config, &text));
    if (text != NULL) NVDP_TRY(write_privacy(at, name, text));
    return NVDP_OK;
}

/* Trains a reader of the shared file, for the labels in the file or for others. */
static nvdp_status read_shared(const struct stage *at, const char *shared, const char *labels,
                               const char *file) {
    nvdp__auto(nvdp_reuse_result_free) struct nvdp_reuse_result result =
        NVDP_RESULT(struct nvdp_reuse_result);
    struct nvdp_config *config = at->grid->reuse;
    nvdp__autofree char *text = NULL, *path = path_to(at, file);
    nvdp__autoptr(json_decref) json_t *object = NULL;
    if (has(at, file)) return NVDP_OK;
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp_config_set(config, "file", shared));
    NVDP_TRY(nvdp_config_set(config, "labels", labels));
    NVDP_TRY(nvdp_reuse(at->ctx, config, &result));
    NVDP_TRY(
        nvdp_result_json(at->ctx, nvdp_result_table_find("scores"), "file", result.scores, &text));
    object = json_loads(text, 0, NULL);
    json_object_set_new(object, "train_texts", json_integer((json_int_t)result.train_texts));
    json_object_set_new(object, "classes", json_integer((json_int_t)result.classes));
    json_object_set_new(object, "best_epoch", json_integer((json_int_t)result.best_epoch));
    json_object_set_new(object, "seconds", json_real(result.seconds));
    return nvdp__json_write(at->ctx, path, object);
}

static nvdp_status share(const struct stage *at) {
    struct nvdp_config *config = at->grid->exported;
    const char *attack = at->run->attack;
    bool wanted = at->grid->share && at->run->private_ &&
                  strcmp(nvdp_config_get(at->run->config, "query"), "sampled") == 0;
    if (!wanted || (has(at, "reuse.json") && (attack == NULL || has(at, "attack.json"))))
        return NVDP_OK;
    nvdp__autofree char *shared = path_to(at, "shared.h5");
    if (shared == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp_config_set(config, "run", at->out));
    NVDP_TRY(nvdp_config_set(config, "out", shared));
    /* The ledger may hold a killed attempt, whose file is lost. A large budget lets the next attempt proceed, and its
     * file reports the number. */
    NVDP_TRY(nvdp_config_set(config, "budget-samples", "1000000"));
    if (!nvdp__exists(shared)) NVDP_TRY(nvdp_export(at->ctx, config, NULL));
    NVDP_TRY(read_shared(at, shared, NULL, "reuse.json"));
    if (attack != NULL) NVDP_TRY(read_shared(at, shared, attack, "attack.json"));
    return NVDP_OK;
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
    nvdp_status status = NVDP_OK;
    double started = nvdp__now();
    struct stage at = {.ctx = ctx, .cache = work->cache, .grid = work->grid, .run = run};
    at.out = nvdp__format(ctx, "%s/runs/%s", work->directory, run->name);
    if (at.out == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY_OR_CLEAN(nvdp__make_directory(ctx, at.out));
    NVDP_TRY_OR_CLEAN(
        nvdp__outdir_remove(ctx, at.out, partial, sizeof partial / sizeof partial[0]));
    NVDP_TRY_OR_CLEAN(sweep_write_label(ctx, work->directory, run));
    NVDP_TRY_OR_CLEAN(train(&at));
    NVDP_TRY_OR_CLEAN(measure(&at));
    NVDP_TRY_OR_CLEAN(share(&at));
    NVDP_TRY_OR_CLEAN(drop(&at));
    NVDP_TRY_OR_CLEAN(sweep_write_done(ctx, work->directory, run->name, nvdp__now() - started));
cleanup:
    free(at.out);
    return status;
}

/* --- in the worker's process --- */

static const double PROGRESS_INTERVAL = 0.5; /* seconds */

struct inside {
    const struct sweep_work *work;
    const struct sweep_run *run;
    struct sweep_mailbox *shared;
    FILE *log; /* NULL if it cannot be written; the run then reports the error */
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
    else if (now - inside->trained < PROGRESS_INTERVAL) /* skips scoring that is over in a moment */
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
    char *directory = sweep_run_file(ctx, work->directory, run->name, "");
    char *path = sweep_run_file(ctx, work->directory, run->name, "log.txt");
    nvdp_status status =
        directory != NULL && path != NULL ? nvdp__make_directory(ctx, directory) : NVDP_ERR_MEMORY;
    if (status == NVDP_OK) status = nvdp__append_regular(ctx, path, &inside.log);
    free(directory);
    free(path);
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
        _exit(0); /* without the parent's buffers and exit handlers */
    }
    worker->pid = pid;
    return NVDP_OK;
}

void sweep_worker_stop(struct sweep_worker *worker) {
    if (worker->pid > 0) atomic_store(&worker->shared->stop, true);
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
