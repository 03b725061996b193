/* nvdp_sweep: claims runs, gives them to workers, records how they end. */
#include <nvdp/sweep.h>

#include "base/file.h"
#include "ledger.h"
#include "sweep.h"
#include "worker.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_JOBS = 1024, PAUSE_MILLISECONDS = 20 };
static const double LOOK_INTERVAL = 0.5; /* seconds between looks for something to begin */
static const double BUSY_INTERVAL = 5;   /* the same, while every worker has work: for the counts */
static const double REPORT_INTERVAL = 0.2;
static const double RENEWALS = 8; /* of a claim within its timeout */

struct nvdp_sweep_config nvdp_sweep_config_default(void) {
    return (struct nvdp_sweep_config){.jobs = 1, .stale_seconds = NVDP__CLAIM_TIMEOUT};
}

/* A worker and what it works on. */
struct seat {
    struct nvdp__worker worker;
    bool taken;
    size_t run;   /* its index */
    double begun; /* on the monotonic clock */
};

struct sweep {
    struct nvdp_context *ctx;
    const struct nvdp_sweep_config *config;
    struct nvdp__grid grid;
    struct nvdp__ledger ledger;
    struct nvdp__workplace place;
    struct seat *seat;          /* [config->jobs] */
    struct nvdp_sweep_job *job; /* the same number, for reports */
    size_t made;
    double started, looked, renewed, reported;
    bool stopping;
};

static const char *name_of(const struct sweep *sweep, size_t i) {
    return sweep->grid.run[i].name;
}

static size_t seats(const struct sweep *sweep) {
    return (size_t)sweep->config->jobs;
}

/* --- reports --- */

/* What the runs that are not settled still take, shared among all who work. */
static double remaining_seconds(const struct sweep *sweep, const struct nvdp_sweep_state *state) {
    double sum = 0;
    size_t hands = seats(sweep) + state->elsewhere;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        const struct nvdp__entry *entry = &sweep->ledger.entry[i];
        if (!nvdp__entry_is_settled(entry))
            sum += nvdp__ledger_usual_seconds(&sweep->ledger, entry->group);
    }
    for (size_t k = 0; k < state->jobs; k++) {
        sum -= fmin(state->job[k].seconds, sum / fmax((double)state->jobs, 1));
    }
    return sum / (double)hands;
}

static struct nvdp_sweep_job describe(const struct sweep *sweep, const struct seat *seat) {
    const struct nvdp__board *board = seat->worker.board;
    struct nvdp_sweep_job job = {.run = name_of(sweep, seat->run),
                                 .done = atomic_load(&board->done),
                                 .total = atomic_load(&board->total),
                                 .seconds = nvdp__now() - seat->begun};
    memcpy(job.phase, board->phase, sizeof job.phase);
    job.phase[sizeof job.phase - 1] = '\0';
    return job;
}

static void fill_state(struct sweep *sweep, struct nvdp_sweep_state *state) {
    nvdp__ledger_count(&sweep->ledger, state);
    state->job = sweep->job;
    for (size_t k = 0; k < seats(sweep); k++) {
        if (sweep->seat[k].taken) sweep->job[state->jobs++] = describe(sweep, &sweep->seat[k]);
    }
    state->elapsed_seconds = nvdp__now() - sweep->started;
    state->eta_seconds = remaining_seconds(sweep, state);
}

static void report(struct sweep *sweep, bool now) {
    struct nvdp_sweep_state state;
    if (sweep->config->report == NULL) return;
    if (!now && nvdp__now() - sweep->reported < REPORT_INTERVAL) return;
    sweep->reported = nvdp__now();
    fill_state(sweep, &state);
    sweep->config->report(&state, sweep->config->user);
}

/* --- beginning and ending a run --- */

static nvdp_status begin(struct sweep *sweep, struct seat *seat, size_t i) {
    NVDP_RETURN_IF_FAILED(
        nvdp__worker_start(sweep->ctx, &sweep->place, &sweep->grid.run[i], &seat->worker));
    seat->taken = true;
    seat->run = i;
    seat->begun = nvdp__now();
    return NVDP_OK;
}

static void say(struct sweep *sweep, size_t i, double seconds,
                const struct nvdp__failure *outcome) {
    struct nvdp_sweep_state state;
    nvdp__ledger_count(&sweep->ledger, &state);
    if (outcome->status == NVDP_OK) {
        nvdp__log(sweep->ctx, NVDP_LOG_INFO, "%zu of %zu: %s: done in %.1f s",
                  state.done + state.failed, state.runs, name_of(sweep, i), seconds);
    } else {
        nvdp__log(sweep->ctx, NVDP_LOG_WARNING, "%zu of %zu: %s: failed: %s",
                  state.done + state.failed, state.runs, name_of(sweep, i), outcome->message);
    }
}

static nvdp_status settle_done(struct sweep *sweep, size_t i) {
    struct nvdp__entry *entry = &sweep->ledger.entry[i];
    entry->state = NVDP__ENTRY_DONE;
    (void)nvdp__sweep_is_done(sweep->ctx, sweep->config->out, name_of(sweep, i), &entry->seconds);
    sweep->made++;
    return nvdp__sweep_forget_failure(sweep->ctx, sweep->config->out, name_of(sweep, i));
}

static nvdp_status settle_failed(struct sweep *sweep, size_t i,
                                 const struct nvdp__failure *outcome) {
    int64_t attempts =
        1 + nvdp__sweep_failures(sweep->ctx, sweep->config->out, name_of(sweep, i), NULL);
    sweep->ledger.entry[i].state = NVDP__ENTRY_FAILED;
    return nvdp__sweep_write_failure(sweep->ctx, sweep->config->out, &sweep->grid.run[i],
                                     &sweep->ledger.self, attempts, outcome);
}

/* A worker stopped on request, by its parent or by the user's own signal, has failed in nothing. */
static bool was_stopped(const struct sweep *sweep, const struct nvdp__failure *outcome) {
    if (outcome->status == NVDP_ERR_CANCELLED) return true;
    return sweep->stopping && outcome->status == NVDP_STATUS_COUNT;
}

static nvdp_status end(struct sweep *sweep, struct seat *seat,
                       const struct nvdp__failure *outcome) {
    size_t i = seat->run;
    double seconds = nvdp__now() - seat->begun;
    const char *word = "interrupted";
    seat->taken = false;
    sweep->looked = 0;
    if (was_stopped(sweep, outcome)) {
        sweep->stopping = true;
        sweep->ledger.entry[i].state = NVDP__ENTRY_WAITING;
    } else if (outcome->status == NVDP_OK) {
        word = "done";
        NVDP_RETURN_IF_FAILED(settle_done(sweep, i));
        say(sweep, i, seconds, outcome);
    } else {
        word = "failed";
        NVDP_RETURN_IF_FAILED(settle_failed(sweep, i, outcome));
        say(sweep, i, seconds, outcome);
    }
    return nvdp__claim_release(sweep->ctx, sweep->config->out, name_of(sweep, i),
                               &sweep->ledger.self, word, &sweep->ledger.entry[i].claim);
}

/* --- between --- */

static nvdp_status reap(struct sweep *sweep) {
    for (size_t k = 0; k < seats(sweep); k++) {
        bool ended = false;
        struct nvdp__failure outcome;
        struct seat *seat = &sweep->seat[k];
        if (!seat->taken) continue;
        NVDP_RETURN_IF_FAILED(nvdp__worker_poll(sweep->ctx, &seat->worker, &ended, &outcome));
        if (ended) NVDP_RETURN_IF_FAILED(end(sweep, seat, &outcome));
    }
    return NVDP_OK;
}

/* Somebody has taken this process for dead, after its machine slept, say: the run is theirs. */
static nvdp_status give_up(struct sweep *sweep, struct seat *seat) {
    size_t i = seat->run;
    nvdp__worker_free(&seat->worker);
    nvdp__claim_forget(&sweep->ledger.entry[i].claim);
    sweep->ledger.entry[i].state = NVDP__ENTRY_ELSEWHERE;
    seat->taken = false;
    nvdp__log(sweep->ctx, NVDP_LOG_WARNING,
              "%s: another process has taken it over, as this one was silent for too long",
              name_of(sweep, i));
    return nvdp__worker_create(sweep->ctx, &seat->worker);
}

static nvdp_status renew(struct sweep *sweep) {
    double interval = fmin(10, sweep->config->stale_seconds / RENEWALS);
    if (nvdp__now() - sweep->renewed < interval) return NVDP_OK;
    sweep->renewed = nvdp__now();
    for (size_t k = 0; k < seats(sweep); k++) {
        bool lost = false;
        size_t i = sweep->seat[k].run;
        if (!sweep->seat[k].taken) continue;
        NVDP_RETURN_IF_FAILED(nvdp__claim_renew(sweep->ctx, sweep->config->out, name_of(sweep, i),
                                                &sweep->ledger.entry[i].claim, &lost));
        if (lost) NVDP_RETURN_IF_FAILED(give_up(sweep, &sweep->seat[k]));
    }
    return NVDP_OK;
}

/* NULL where all workers are busy. */
static struct seat *free_seat(const struct sweep *sweep) {
    for (size_t k = 0; k < seats(sweep); k++) {
        if (!sweep->seat[k].taken) return &sweep->seat[k];
    }
    return NULL;
}

/* Looks at what is not settled and begins what is free, while a worker is. */
static nvdp_status look(struct sweep *sweep) {
    struct seat *seat = free_seat(sweep);
    double interval = seat != NULL ? LOOK_INTERVAL : BUSY_INTERVAL;
    if (sweep->looked > 0 && nvdp__now() - sweep->looked < interval) return NVDP_OK;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        struct nvdp__entry *entry = &sweep->ledger.entry[i];
        if (entry->state == NVDP__ENTRY_HERE || nvdp__entry_is_settled(entry)) continue;
        NVDP_RETURN_IF_FAILED(nvdp__ledger_look(sweep->ctx, &sweep->ledger, i));
        if (entry->state != NVDP__ENTRY_WAITING || seat == NULL) continue;
        NVDP_RETURN_IF_FAILED(
            nvdp__ledger_take(sweep->ctx, &sweep->ledger, i, sweep->config->stale_seconds));
        if (entry->state != NVDP__ENTRY_HERE) continue;
        NVDP_RETURN_IF_FAILED(begin(sweep, seat, i));
        seat = free_seat(sweep);
    }
    sweep->looked = nvdp__now();
    return NVDP_OK;
}

static bool is_working(const struct sweep *sweep) {
    for (size_t k = 0; k < seats(sweep); k++) {
        if (sweep->seat[k].taken) return true;
    }
    return false;
}

/* Nothing more to do for this process. */
static bool is_over(const struct sweep *sweep) {
    if (is_working(sweep)) return false;
    if (sweep->stopping) return true;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        const struct nvdp__entry *entry = &sweep->ledger.entry[i];
        bool others = sweep->config->leave && entry->state == NVDP__ENTRY_ELSEWHERE;
        if (!nvdp__entry_is_settled(entry) && !others) return false;
    }
    return true;
}

static void stop_workers(struct sweep *sweep) {
    sweep->stopping = true;
    for (size_t k = 0; k < seats(sweep); k++) {
        nvdp__worker_stop(&sweep->seat[k].worker);
    }
}

static nvdp_status run(struct sweep *sweep) {
    const struct timespec pause = {.tv_nsec = PAUSE_MILLISECONDS * 1000000L};
    for (;;) {
        NVDP_RETURN_IF_FAILED(reap(sweep));
        if (sweep->stopping || nvdp__cancelled(sweep->ctx)) stop_workers(sweep);
        if (!sweep->stopping) NVDP_RETURN_IF_FAILED(look(sweep));
        NVDP_RETURN_IF_FAILED(renew(sweep));
        report(sweep, false);
        if (is_over(sweep)) break;
        nanosleep(&pause, NULL);
    }
    report(sweep, true);
    if (!sweep->stopping) return NVDP_OK;
    return nvdp__fail(sweep->ctx, NVDP_ERR_CANCELLED,
                      "interrupted; what was done is kept: the same command continues");
}

/* --- the whole --- */

static nvdp_status check_config(struct nvdp_context *ctx, const struct nvdp_sweep_config *config) {
    if (config->out == NULL || config->out[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "out: expected a directory, found none");
    if (config->jobs < 1 || config->jobs > MOST_JOBS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "jobs: expected 1 to %d, found %d", MOST_JOBS,
                          config->jobs);
    if (!(config->stale_seconds >= 1 && config->stale_seconds <= 1e6))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "stale_seconds: expected 1 to 1e6, found %g",
                          config->stale_seconds);
    return NVDP_OK;
}

nvdp_status nvdp__sweep_read_grid(struct nvdp_context *ctx, const struct nvdp_sweep_config *config,
                                  struct nvdp__grid *grid) {
    nvdp_status status = NVDP_OK;
    char *run = NULL, *kept = NULL;
    struct nvdp__grid read = {0};
    NVDP_TRY(check_config(ctx, config));
    run = nvdp__join(ctx, config->out, "run.json");
    kept = nvdp__join(ctx, config->out, "grid.json");
    if (run == NULL || kept == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (nvdp__exists(run))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "%s: expected a sweep's directory or a new one, found a run's",
                            config->out));
    const char *path = config->grid != NULL ? config->grid : kept;
    NVDP_TRY(nvdp__grid_read(ctx, path, &read));
    NVDP_TRY(nvdp__grid_check_files(ctx, path, &read));
    *grid = read;
    read = (struct nvdp__grid){0};
cleanup:
    nvdp__grid_release(&read);
    free(run);
    free(kept);
    return status;
}

/* Finished runs get the labels that the grid gives them now. */
static nvdp_status label_finished(const struct sweep *sweep) {
    for (size_t i = 0; i < sweep->grid.count; i++) {
        if (sweep->ledger.entry[i].state != NVDP__ENTRY_DONE) continue;
        NVDP_RETURN_IF_FAILED(
            nvdp__sweep_write_label(sweep->ctx, sweep->config->out, &sweep->grid.run[i]));
    }
    return NVDP_OK;
}

static nvdp_status open_sweep(struct sweep *sweep) {
    const struct nvdp_sweep_config *config = sweep->config;
    struct nvdp_context *ctx = sweep->ctx;
    size_t jobs = (size_t)config->jobs;
    int threads = nvdp_context_threads(ctx) / config->jobs;
    NVDP_RETURN_IF_FAILED(nvdp__sweep_prepare(ctx, config->out, &sweep->grid));
    NVDP_RETURN_IF_FAILED(
        nvdp__ledger_open(ctx, config->out, &sweep->grid, config->retry_failed, &sweep->ledger));
    NVDP_RETURN_IF_FAILED(label_finished(sweep));
    sweep->seat = nvdp__calloc(ctx, jobs, sizeof *sweep->seat);
    sweep->job = nvdp__calloc(ctx, jobs, sizeof *sweep->job);
    if (sweep->seat == NULL || sweep->job == NULL) return NVDP_ERR_MEMORY;
    for (size_t k = 0; k < jobs; k++) {
        NVDP_RETURN_IF_FAILED(nvdp__worker_create(ctx, &sweep->seat[k].worker));
    }
    sweep->place = (struct nvdp__workplace){.directory = config->out,
                                            .cache = config->cache,
                                            .grid = &sweep->grid,
                                            .threads = threads > 0 ? threads : 1};
    /* a child has none of its parent's threads, though OpenMP would count on them */
    (void)omp_pause_resource_all(omp_pause_hard);
    return NVDP_OK;
}

static void close_sweep(struct sweep *sweep) {
    for (size_t k = 0; sweep->seat != NULL && k < seats(sweep); k++) {
        struct seat *seat = &sweep->seat[k];
        nvdp__worker_free(&seat->worker);
        if (!seat->taken) continue; /* after a failure of the sweep itself */
        (void)nvdp__claim_release(NULL, sweep->config->out, name_of(sweep, seat->run),
                                  &sweep->ledger.self, "interrupted",
                                  &sweep->ledger.entry[seat->run].claim);
    }
    nvdp__ledger_close(&sweep->ledger);
    nvdp__grid_release(&sweep->grid);
    free(sweep->seat);
    free(sweep->job);
}

nvdp_status nvdp_sweep(struct nvdp_context *ctx, const struct nvdp_sweep_config *config,
                       struct nvdp_sweep_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_sweep_state state;
    struct sweep sweep = {.ctx = ctx, .config = config, .started = nvdp__now()};
    NVDP_TRY(nvdp__sweep_read_grid(ctx, config, &sweep.grid));
    NVDP_TRY(open_sweep(&sweep));
    NVDP_TRY(run(&sweep));
    nvdp__ledger_count(&sweep.ledger, &state);
    *out = (struct nvdp_sweep_result){.runs = state.runs,
                                      .done = state.done,
                                      .failed = state.failed,
                                      .made = sweep.made,
                                      .seconds = nvdp__now() - sweep.started};
cleanup:
    close_sweep(&sweep);
    return status;
}
