/* Implements the operations of nvdp/ranks.h with MPI, and the start and end of a job.
 *
 * All waiting is polling. A process that waits yields its processor, and notices if another process has ended; in that
 * case, the wait functions of MPI would never return. A thread drives pending sums while the other threads compute. */
#include "common.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
    HOST = 128,
    /* With fewer processes, Open MPI uses the same algorithm in place and with a buffer. With this number or more, an
     * in-place sum sends log2 P times as much as needed. */
    BUFFERED = 4,
    BUFFERS = 16,    /* maximum number of pending sums with buffers */
    IN_PLACE = 4096, /* maximum number of pending sums in place */
    YIELDS = 2000,   /* number of polls before a process sleeps between polls */
    CHUNK = 1 << 30  /* maximum bytes per broadcast */
};
static const double LOOK_AROUND = 0.1; /* seconds between checks for missing processes */
/* Seconds that a failed process waits for the other processes to end. */
static const double PATIENCE = 2;
static const long NAP = 50000; /* nanoseconds */

/* A process's host and id, for other processes of the same machine. */
struct place {
    char host[HOST];
    int pid;
};

struct sum {
    float *values, *buffer; /* buffer is NULL for a sum in place */
    size_t count;
    MPI_Request request;
};

struct cli_ranks {
    struct nvdp_context *ctx;
    int rank, size;
    MPI_Comm work, leave; /* communicators for collective work, and for the end */
    struct place *place;  /* [size]; pid is 0 if the process is not visible from here */
    int gone;             /* rank of a missing process; -1 if there is none */
    char *held;           /* message withheld until the end */
    /* Ring of pending sums. `begun` sums were started in total, and the first `ended` sums have finished. */
    struct sum *sum;
    size_t room, begun, ended;
    float *buffers;
    size_t buffer; /* floats per buffer */
    /* Only one thread at a time may call MPI. */
    pthread_mutex_t mpi;
    pthread_cond_t some;
    pthread_t driver;
    bool driven, over;
};

/* ---- waiting ---- */

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

static nvdp_status mpi_failed(struct cli_ranks *r, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return nvdp__fail(r->ctx, NVDP_ERR_IO, "rank %d: MPI error: %s", r->rank, text);
}

static nvdp_status tell_gone(struct cli_ranks *r) {
    return nvdp__fail(r->ctx, NVDP_ERR_IO,
                      "rank %d stopped (process %d on %s), so the other ranks cannot continue",
                      r->gone, r->place[r->gone].pid, r->place[r->gone].host);
}

/* Returns true if a process of this machine has ended. */
static bool one_is_gone(struct cli_ranks *r) {
    for (int i = 0; i < r->size && r->gone < 0; i++)
        if (r->place[i].pid > 0 && kill((pid_t)r->place[i].pid, 0) != 0 && errno == ESRCH)
            r->gone = i;
    return r->gone >= 0;
}

/* Waits up to `seconds`, or without limit if INFINITY. *done reports completion. */
static nvdp_status wait_for(struct cli_ranks *r, MPI_Request *request, double seconds, bool *done) {
    double start = nvdp__now(), looked = start;
    *done = false;
    if (r->gone >= 0) return tell_gone(r);
    for (unsigned polls = 0;; polls++) {
        int flag = 0;
        pthread_mutex_lock(&r->mpi);
        int code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&r->mpi);
        if (code != MPI_SUCCESS) return mpi_failed(r, code);
        *done = flag != 0;
        if (*done) return NVDP_OK;
        if (polls < YIELDS)
            sched_yield();
        else
            nap();
        if (polls % 64 != 0) continue;
        double now = nvdp__now();
        if (now - start > seconds) return NVDP_OK;
        if (now - looked < LOOK_AROUND) continue;
        looked = now;
        if (one_is_gone(r)) return tell_gone(r);
    }
}

static nvdp_status finish(struct cli_ranks *r, int code, MPI_Request *request) {
    bool done;
    return code != MPI_SUCCESS ? mpi_failed(r, code) : wait_for(r, request, 1e300, &done);
}

/* ---- the operations ---- */

/* MPI_Test ends the requests, which the checker does not recognize. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static nvdp_status sum_doubles(void *user, double *values, size_t count) {
    struct cli_ranks *r = user;
    MPI_Request request = MPI_REQUEST_NULL;
    if (r->gone >= 0) return tell_gone(r);
    pthread_mutex_lock(&r->mpi);
    int code =
        MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM, r->work, &request);
    pthread_mutex_unlock(&r->mpi);
    return finish(r, code, &request);
}

static nvdp_status broadcast(void *user, int root, void *bytes, size_t count) {
    struct cli_ranks *r = user;
    for (size_t at = 0; at < count; at += CHUNK) {
        MPI_Request request = MPI_REQUEST_NULL;
        size_t n = nvdp__min(count - at, CHUNK);
        if (r->gone >= 0) return tell_gone(r);
        pthread_mutex_lock(&r->mpi);
        int code = MPI_Ibcast((char *)bytes + at, (int)n, MPI_BYTE, root, r->work, &request);
        pthread_mutex_unlock(&r->mpi);
        NVDP_TRY(finish(r, code, &request));
    }
    return NVDP_OK;
}

/* Finishes the oldest pending sum. */
static nvdp_status end_first(struct cli_ranks *r) {
    struct sum *sum = &r->sum[r->ended % r->room];
    NVDP_TRY(finish(r, MPI_SUCCESS, &sum->request));
    if (sum->buffer != NULL) memcpy(sum->values, sum->buffer, sum->count * sizeof *sum->values);
    pthread_mutex_lock(&r->mpi);
    r->ended++;
    pthread_mutex_unlock(&r->mpi);
    return NVDP_OK;
}

static nvdp_status need_buffers(struct cli_ranks *r, size_t count) {
    if (r->size < BUFFERED || count <= r->buffer) return NVDP_OK;
    while (r->ended < r->begun)
        NVDP_TRY(end_first(r));
    free(r->buffers);
    r->buffer = 0;
    r->buffers = nvdp__calloc(r->ctx, count * BUFFERS, sizeof *r->buffers);
    if (r->buffers == NULL) return NVDP_ERR_MEMORY;
    r->buffer = count;
    return NVDP_OK;
}

static nvdp_status sum_start(void *user, float *values, size_t count) {
    struct cli_ranks *r = user;
    NVDP_TRY(need_buffers(r, count));
    if (r->begun - r->ended == r->room) NVDP_TRY(end_first(r));
    if (r->gone >= 0) return tell_gone(r);
    struct sum *sum = &r->sum[r->begun % r->room];
    *sum = (struct sum){.values = values, .count = count, .request = MPI_REQUEST_NULL};
    if (r->buffer > 0) sum->buffer = r->buffers + r->begun % r->room * r->buffer;
    pthread_mutex_lock(&r->mpi);
    int code = sum->buffer != NULL ? MPI_Iallreduce(values, sum->buffer, (int)count, MPI_FLOAT,
                                                    MPI_SUM, r->work, &sum->request)
                                   : MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT,
                                                    MPI_SUM, r->work, &sum->request);
    r->begun++;
    pthread_cond_signal(&r->some);
    pthread_mutex_unlock(&r->mpi);
    return code == MPI_SUCCESS ? NVDP_OK : mpi_failed(r, code);
}

static nvdp_status sum_wait(void *user) {
    struct cli_ranks *r = user;
    while (r->ended < r->begun)
        NVDP_TRY(end_first(r));
    return NVDP_OK;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* Polls pending sums: MPI makes progress only during calls. */
static void *drive(void *user) {
    struct cli_ranks *r = user;
    pthread_mutex_lock(&r->mpi);
    while (!r->over && r->gone < 0) { /* if a process has ended, nobody waits for pending sums */
        int flag = 0;
        if (r->begun == r->ended) {
            pthread_cond_wait(&r->some, &r->mpi);
            continue;
        }
        /* A poll of one request makes progress for all requests. */
        (void)MPI_Request_get_status(r->sum[(r->begun - 1) % r->room].request, &flag,
                                     MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&r->mpi);
        nap();
        pthread_mutex_lock(&r->mpi);
    }
    pthread_mutex_unlock(&r->mpi);
    return NULL;
}

/* ---- the beginning ---- */

/* Detects a start by Open MPI, MPICH or Intel MPI, which export the number of processes. PMIx does not export the
 * number, so PMIX_RANK counts as several processes. */
static bool is_one_of_several(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = getenv(sizes[i]);
        if (size != NULL) return strtol(size, NULL, 10) > 1;
    }
    return getenv("PMIX_RANK") != NULL;
}

/* Exchanges the processes' hosts and ids. Returns the number of processes on this machine. */
static int look_around(struct cli_ranks *r) {
    struct place own = {.pid = (int)getpid()};
    int here = 1;
    gethostname(own.host, sizeof own.host - 1);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, r->place, sizeof own, MPI_BYTE, r->work);
    for (int i = 0; i < r->size; i++) {
        bool near = i != r->rank && strcmp(r->place[i].host, own.host) == 0;
        here += near;
        /* Clears the pid of processes in other containers with the same host name, which are not visible here. */
        if (!near || kill((pid_t)r->place[i].pid, 0) != 0) r->place[i].pid = 0;
    }
    MPI_Barrier(r->work); /* no process ends before it was checked */
    return here;
}

/* Divides the machine's processors among its processes, unless mpirun has done so. */
static void share_processors(struct cli *cli, int here) {
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = nvdp_context_threads(cli->ctx);
    if (cli_given(cli, "threads") || threads < all) return;
    (void)nvdp_context_set_threads(cli->ctx, threads / here > 0 ? threads / here : 1);
}

static nvdp_status open_ranks(struct cli *cli, struct cli_ranks *r, int level) {
    const struct nvdp_ranks ranks = {.rank = r->rank,
                                     .size = r->size,
                                     .user = r,
                                     .sum_start = sum_start,
                                     .sum_wait = sum_wait,
                                     .sum = sum_doubles,
                                     .broadcast = broadcast};
    r->room = r->size < BUFFERED ? IN_PLACE : BUFFERS;
    NVDP_TRY(NVDP__NEW(cli->ctx, r->sum, r->room));
    NVDP_TRY(NVDP__NEW(cli->ctx, r->place, (size_t)r->size));
    MPI_Comm_dup(MPI_COMM_WORLD, &r->work);
    MPI_Comm_dup(MPI_COMM_WORLD, &r->leave);
    MPI_Comm_set_errhandler(r->work, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(r->leave, MPI_ERRORS_RETURN);
    share_processors(cli, look_around(r));
    cli_catch(SIGUSR1, false); /* mpirun forwards this signal and then does not kill processes */
    r->driven = level >= MPI_THREAD_SERIALIZED && pthread_create(&r->driver, NULL, drive, r) == 0;
    return nvdp_context_set_ranks(cli->ctx, &ranks);
}

int cli_ranks_begin(struct cli *cli) {
    int level = MPI_THREAD_SINGLE;
    if (!cli->command->together || !is_one_of_several()) return CLI_SUCCESS;
    struct cli_ranks *r = calloc(1, sizeof *r);
    if (r == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->size);
    r->ctx = cli->ctx;
    r->gone = -1;
    pthread_mutex_init(&r->mpi, NULL);
    pthread_cond_init(&r->some, NULL);
    cli->ranks = r;
    CLI_DO(cli, open_ranks(cli, r, level));
    if (r->rank == 0) return CLI_SUCCESS;
    nvdp_context_set_log(cli->ctx, NULL, NULL);
    nvdp_context_set_progress(cli->ctx, NULL, NULL);
    cli->quiet = true;
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        return cli_error(cli, CLI_FAILURE, "/dev/null: cannot open");
    close(nowhere);
    return CLI_SUCCESS;
}

/* ---- the end ---- */

bool cli_ranks_say(struct cli *cli, const char *format, va_list args) {
    struct cli_ranks *r = cli->ranks;
    if (r == NULL || r->rank == 0) return true;
    free(r->held);
    if (vasprintf(&r->held, format, args) < 0) r->held = NULL;
    return false;
}

/* Returns the lowest rank that failed, or `size` if no rank failed. Sets *all to true if all processes reached the
 * end. */
static int who_failed(struct cli_ranks *r, bool failed, bool *all) {
    MPI_Request request = MPI_REQUEST_NULL;
    int first = failed ? r->rank : r->size;
    *all = false;
    if (r->gone >= 0) return first;
    pthread_mutex_lock(&r->mpi);
    /* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): as above */
    int code = MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, r->leave, &request);
    pthread_mutex_unlock(&r->mpi);
    if (code != MPI_SUCCESS || wait_for(r, &request, failed ? PATIENCE : 1e300, all) != NVDP_OK)
        *all = false;
    return first;
    /* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
}

static void close_ranks(struct cli *cli, struct cli_ranks *r) {
    pthread_mutex_lock(&r->mpi);
    r->over = true;
    pthread_cond_signal(&r->some);
    pthread_mutex_unlock(&r->mpi);
    if (r->driven) pthread_join(r->driver, NULL);
    MPI_Comm_free(&r->work);
    MPI_Comm_free(&r->leave);
    MPI_Finalize();
    free(r->sum);
    free(r->buffers);
    free(r->place);
    free(r->held);
    free(r);
    cli->ranks = NULL;
}

int cli_ranks_end(struct cli *cli, int code) {
    struct cli_ranks *r = cli->ranks;
    bool all = true;
    if (r == NULL) return code;
    int first = who_failed(r, code != CLI_SUCCESS, &all);
    if (r->held != NULL && (!all || first == r->rank))
        fprintf(stderr, "%s: rank %d: %s\n", cli->name, r->rank, r->held);
    if (all) {
        close_ranks(cli, r);
        return code;
    }
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, code != CLI_SUCCESS ? code : CLI_FAILURE);
    return code;
}
