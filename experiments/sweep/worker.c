#include "worker.h"

#include "base/base.h"
#include "base/file.h"
#include "work.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

nvdp_status nvdp__worker_create(struct nvdp_context *ctx, struct nvdp__worker *worker) {
    void *memory = mmap(NULL, sizeof *worker->board, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nvdp__fail_errno(ctx, errno, "no memory to share with a worker");
    *worker = (struct nvdp__worker){.board = memory};
    return NVDP_OK;
}

void nvdp__worker_free(struct nvdp__worker *worker) {
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (worker->board != NULL) munmap(worker->board, sizeof *worker->board);
    *worker = (struct nvdp__worker){0};
}

/* --- in the worker --- */

struct inside {
    struct nvdp__board *board;
    FILE *log;
    nvdp_cancel_fn cancel; /* the user's */
    void *cancel_user;
};

static void on_progress(const struct nvdp_progress *progress, void *user) {
    struct nvdp__board *board = ((struct inside *)user)->board;
    snprintf(board->phase, sizeof board->phase, "%s", progress->phase);
    atomic_store(&board->done, progress->done);
    atomic_store(&board->total, progress->total);
}

static void on_log(enum nvdp_log_level level, const char *message, void *user) {
    FILE *log = ((struct inside *)user)->log;
    if (level == NVDP_LOG_DEBUG || log == NULL) return;
    fprintf(log, "%s%s\n", level == NVDP_LOG_WARNING ? "warning: " : "", message);
    (void)fflush(log);
}

static bool on_cancel(void *user) {
    const struct inside *inside = user;
    return atomic_load(&inside->board->stop) ||
           (inside->cancel != NULL && inside->cancel(inside->cancel_user));
}

/* NULL where it cannot be written: the run itself will say so. */
static FILE *open_log(struct nvdp_context *ctx, const struct nvdp__workplace *place,
                      const struct nvdp__sweep_run *run) {
    FILE *log = NULL;
    char *directory = nvdp__sweep_run_path(ctx, place->directory, run->name);
    char *path = nvdp__sweep_run_file(ctx, place->directory, run->name, "log.txt");
    if (directory != NULL && path != NULL && nvdp__make_directory(ctx, directory) == NVDP_OK)
        log = fopen(path, "ae");
    free(directory);
    free(path);
    return log;
}

static void work(struct nvdp_context *ctx, const struct nvdp__workplace *place,
                 const struct nvdp__sweep_run *run, struct nvdp__board *board) {
    struct inside inside = {.board = board, .log = open_log(ctx, place, run)};
    nvdp__cancel_callback(ctx, &inside.cancel, &inside.cancel_user);
    nvdp_context_set_progress(ctx, on_progress, &inside);
    nvdp_context_set_log(ctx, on_log, &inside);
    nvdp_context_set_cancel(ctx, on_cancel, &inside);
    nvdp_status status = nvdp_context_set_threads(ctx, place->threads);
    if (status == NVDP_OK)
        status = nvdp__sweep_work(ctx, place->directory, place->cache, place->grid, run);
    const char *message = nvdp_context_error(ctx);
    snprintf(board->message, sizeof board->message, "%s",
             message[0] != '\0' ? message : nvdp_status_text(status));
    board->status = (int)status;
    if (inside.log != NULL) (void)fclose(inside.log);
}

/* --- in the parent --- */

nvdp_status nvdp__worker_start(struct nvdp_context *ctx, const struct nvdp__workplace *place,
                               const struct nvdp__sweep_run *run, struct nvdp__worker *worker) {
    struct nvdp__board *board = worker->board;
    memset(board, 0, sizeof *board);
    board->status = -1;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) return nvdp__fail_errno(ctx, errno, "no process for a worker");
    if (pid == 0) {
        /* where the parent died before this was said, it is not the parent any more */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
            work(ctx, place, run, board);
        _exit(0); /* the parent's buffers and exit handlers are the parent's */
    }
    worker->pid = pid;
    return NVDP_OK;
}

void nvdp__worker_stop(struct nvdp__worker *worker) {
    if (worker->pid > 0) atomic_store(&worker->board->stop, true);
}

/* How a process ended that did not tell. */
static void describe_death(int raw, struct nvdp__board *board, struct nvdp__failure *outcome) {
    outcome->status = NVDP_STATUS_COUNT;
    if (WIFSIGNALED(raw)) {
        outcome->signal = WTERMSIG(raw);
        snprintf(board->message, sizeof board->message, "the worker died of signal %d (%s)%s",
                 outcome->signal, sigdescr_np(outcome->signal),
                 outcome->signal == SIGKILL ? ": killed, perhaps for want of memory" : "");
    } else {
        snprintf(board->message, sizeof board->message, "the worker ended with exit code %d",
                 WEXITSTATUS(raw));
    }
}

nvdp_status nvdp__worker_poll(struct nvdp_context *ctx, struct nvdp__worker *worker, bool *ended,
                              struct nvdp__failure *outcome) {
    int raw = 0;
    *ended = false;
    if (worker->pid == 0) return NVDP_OK;
    pid_t pid = waitpid(worker->pid, &raw, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return NVDP_OK;
    if (pid < 0) return nvdp__fail_errno(ctx, errno, "a worker cannot be waited for");
    worker->pid = 0;
    *ended = true;
    *outcome = (struct nvdp__failure){.message = worker->board->message};
    if (WIFEXITED(raw) && WEXITSTATUS(raw) == 0 && worker->board->status >= 0) {
        outcome->status = (nvdp_status)worker->board->status;
    } else {
        describe_death(raw, worker->board, outcome);
    }
    return NVDP_OK;
}
