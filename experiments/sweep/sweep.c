/* nvdp_sweep: opens the directory, keeps the workers busy until all is settled, reports. */
#include "sweep.h"

#include "base/file.h"
#include "seats.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_JOBS = 1024, PAUSE_MILLISECONDS = 20 };
static const double REPORT_INTERVAL = 0.2; /* seconds */

struct nvdp_sweep_config nvdp_sweep_config_default(void) {
    return (struct nvdp_sweep_config){.jobs = 1, .stale_seconds = NVDP__CLAIM_TIMEOUT};
}

/* --- reports --- */

/* What the runs that are not settled still take, shared among all who work. */
static double remaining_seconds(const struct nvdp__sweep *sweep, size_t elsewhere) {
    const struct nvdp__ledger *ledger = &sweep->ledger;
    double sum = 0;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        if (!nvdp__entry_is_settled(&ledger->entry[i]))
            sum += nvdp__ledger_usual_seconds(ledger, ledger->entry[i].group);
    }
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        const struct nvdp__seat *seat = &sweep->seat[k];
        if (!seat->taken) continue;
        double usual = nvdp__ledger_usual_seconds(ledger, ledger->entry[seat->run].group);
        sum -= fmin(nvdp__now() - seat->begun, usual);
    }
    return sum / (double)(nvdp__seats(sweep) + elsewhere);
}

static struct nvdp_sweep_job describe(const struct nvdp__sweep *sweep,
                                      const struct nvdp__seat *seat) {
    const struct nvdp__board *board = seat->worker.board;
    struct nvdp_sweep_job job = {.run = sweep->grid.run[seat->run].name,
                                 .done = atomic_load(&board->done),
                                 .total = atomic_load(&board->total),
                                 .seconds = nvdp__now() - seat->begun};
    memcpy(job.phase, board->phase, sizeof job.phase);
    job.phase[sizeof job.phase - 1] = '\0';
    return job;
}

static void fill_state(struct nvdp__sweep *sweep, struct nvdp_sweep_state *state) {
    nvdp__ledger_count(&sweep->ledger, state);
    state->job = sweep->job;
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        if (sweep->seat[k].taken) sweep->job[state->jobs++] = describe(sweep, &sweep->seat[k]);
    }
    state->elapsed_seconds = nvdp__now() - sweep->started;
    state->eta_seconds = remaining_seconds(sweep, state->elsewhere);
}

static void report(struct nvdp__sweep *sweep, bool now) {
    struct nvdp_sweep_state state;
    if (sweep->config->report == NULL) return;
    if (!now && nvdp__now() - sweep->reported < REPORT_INTERVAL) return;
    sweep->reported = nvdp__now();
    fill_state(sweep, &state);
    sweep->config->report(&state, sweep->config->user);
}

static bool is_working(const struct nvdp__sweep *sweep) {
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        if (sweep->seat[k].taken) return true;
    }
    return false;
}

/* Nothing more to do for this process. */
static bool is_over(const struct nvdp__sweep *sweep) {
    if (is_working(sweep)) return false;
    if (sweep->stopping) return true;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        const struct nvdp__entry *entry = &sweep->ledger.entry[i];
        bool others = sweep->config->leave && entry->state == NVDP__ENTRY_ELSEWHERE;
        if (!nvdp__entry_is_settled(entry) && !others) return false;
    }
    return true;
}

static void stop_workers(struct nvdp__sweep *sweep) {
    sweep->stopping = true;
    for (size_t k = 0; k < nvdp__seats(sweep); k++) {
        nvdp__worker_stop(&sweep->seat[k].worker);
    }
}

static nvdp_status run(struct nvdp__sweep *sweep) {
    const struct timespec pause = {.tv_nsec = PAUSE_MILLISECONDS * 1000000L};
    for (;;) {
        NVDP_RETURN_IF_FAILED(nvdp__seats_reap(sweep));
        if (sweep->stopping || nvdp__cancelled(sweep->ctx)) stop_workers(sweep);
        if (!sweep->stopping) NVDP_RETURN_IF_FAILED(nvdp__seats_fill(sweep));
        NVDP_RETURN_IF_FAILED(nvdp__seats_renew(sweep));
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
static nvdp_status label_finished(const struct nvdp__sweep *sweep) {
    for (size_t i = 0; i < sweep->grid.count; i++) {
        if (sweep->ledger.entry[i].state != NVDP__ENTRY_DONE) continue;
        NVDP_RETURN_IF_FAILED(
            nvdp__sweep_write_label(sweep->ctx, sweep->config->out, &sweep->grid.run[i]));
    }
    return NVDP_OK;
}

static nvdp_status open_sweep(struct nvdp__sweep *sweep) {
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

static void close_sweep(struct nvdp__sweep *sweep) {
    for (size_t k = 0; sweep->seat != NULL && k < nvdp__seats(sweep); k++) {
        struct nvdp__seat *seat = &sweep->seat[k];
        nvdp__worker_free(&seat->worker);
        if (!seat->taken) continue; /* after a failure of the sweep itself */
        (void)nvdp__claim_release(NULL, sweep->config->out, sweep->grid.run[seat->run].name,
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
    struct nvdp__sweep sweep = {.ctx = ctx, .config = config, .started = nvdp__now()};
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
