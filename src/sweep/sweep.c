/* run_sweep() opens the directory, keeps the workers busy until all runs are settled, and reports. sweep_plan() lists
 * the runs with progress and costs. Sections: the grid, the end of a run, leases and starts, reports, the loop, the
 * plan. */
#include "sweep/sweep.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 1024, PAUSE_MILLISECONDS = 20 };
/* seconds between reports */
static const double REPORT_INTERVAL = 0.2;
static const double PROGRESS_INTERVAL = 1; /* between reads of the runs' progress */
static const double LOOK_INTERVAL = 0.5;   /* between searches for a run to start */
static const double BUSY_INTERVAL = 5;     /* the same while all workers are busy, for the counts */
static const double RENEWALS = 8;          /* number of renewals per timeout of a lease */

const struct sweep_config sweep_config_default = {.jobs = 1, .stale_seconds = SWEEP_LEASE_TIMEOUT};

/* --- the grid --- */

/* Checks the configuration, reads the grid and checks the files of the grid. */
static nvdp_status read_grid(struct nvdp_context *ctx, const struct sweep_config *config,
                             struct sweep_grid *grid) {
    nvdp__auto(sweep_grid_release) struct sweep_grid read = {0};
    if (config->out == NULL || config->out[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a directory, found none");
    if (config->jobs < 1 || config->jobs > MAX_JOBS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{jobs}: expected 1 to %d, found %d", MAX_JOBS,
                          config->jobs);
    if (!(config->stale_seconds >= 1 && config->stale_seconds <= 1e6))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "stale_seconds: expected a number from 1 to 1e6, found %g",
                          config->stale_seconds);
    const struct nvdp__path kept = nvdp__path(config->out, "grid.json");
    if (nvdp__has(config->out, "run.json"))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected the directory of a sweep or a new directory, found a run",
                          config->out);
    if (config->grid == NULL && !nvdp__exists(kept.text))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{out}: expected the directory of a sweep, found %s without grid.json; "
                          "a new sweep needs a file GRID.json",
                          config->out);
    const char *path = config->grid != NULL ? config->grid : kept.text;
    NVDP_TRY(sweep_grid_read(ctx, path, &read));
    NVDP_TRY(sweep_grid_check_files(ctx, path, &read));
    return NVDP__HAND_OVER(grid, read);
}

/* A worker and its run. */
struct slot {
    struct sweep_worker worker;
    bool taken;
    size_t run;   /* index of the run */
    double begun; /* start on the monotonic clock */
};

/* State of one call of run_sweep(). */
struct sweep {
    struct nvdp_context *ctx;
    const struct sweep_config *config;
    struct sweep_grid grid;
    struct sweep_table table;
    struct sweep_work work;
    size_t slots;
    struct slot *slot;
    struct sweep_job *job; /* [runs] */
    size_t made;
    double started, looked, renewed, reported, read;
    bool stopping;
};

/* Returns an idle slot; NULL if all workers are busy. */
static struct slot *free_slot(const struct sweep *sweep) {
    for (size_t k = 0; k < sweep->slots; k++)
        if (!sweep->slot[k].taken) return &sweep->slot[k];
    return NULL;
}

/* --- the end of a run --- */

static nvdp_status end(struct sweep *sweep, struct slot *slot,
                       const struct sweep_failure *outcome) {
    size_t i = slot->run;
    const char *name = sweep->grid.run[i].name, *word = "interrupted";
    const char *directory = sweep->config->out;
    struct sweep_entry *entry = &sweep->table.entry[i];
    /* A worker did not fail if it stopped because of its parent's request or the user's signal. */
    const bool stopped = outcome->status == NVDP_ERR_CANCELLED ||
                         (sweep->stopping && outcome->status == NVDP_STATUS_COUNT);
    struct sweep_state state;
    sweep->looked = 0;
    if (stopped) {
        sweep->stopping = true;
        entry->state = SWEEP_ENTRY_WAITING;
    } else if (outcome->status == NVDP_OK) {
        word = "done";
        entry->state = SWEEP_ENTRY_WAITING;
        NVDP_TRY(sweep_table_look(sweep->ctx, &sweep->table, i)); /* reads the run's duration */
        entry->state = SWEEP_ENTRY_DONE;
        sweep->made++;
        NVDP_TRY(sweep_forget_failure(sweep->ctx, directory, name));
        sweep_table_count(&sweep->table, &state);
        nvdp__log(sweep->ctx, NVDP_LOG_INFO, "%zu of %zu: %s: done in %.1f s",
                  state.done + state.failed, state.runs, name, nvdp__now() - slot->begun);
    } else {
        word = "failed";
        int64_t attempts = 1 + sweep_failures(sweep->ctx, directory, name, NULL);
        entry->state = SWEEP_ENTRY_FAILED;
        NVDP_TRY(sweep_write_failure(sweep->ctx, directory, &sweep->grid.run[i], &sweep->table.self,
                                     attempts, outcome));
        sweep_table_count(&sweep->table, &state);
        nvdp__log(sweep->ctx, NVDP_LOG_WARNING, "%zu of %zu: %s: failed: %s",
                  state.done + state.failed, state.runs, name, outcome->message);
    }
    slot->taken = false;
    return sweep_lease_release(sweep->ctx, directory, name, &sweep->table.self, word,
                               &entry->lease);
}

/* --- leases and starts --- */

/* Renews the leases when it is time. If another process considered this process dead, for example after the machine
 * slept, the other process gets the run. */
static nvdp_status renew(struct sweep *sweep) {
    double interval = fmin(10, sweep->config->stale_seconds / RENEWALS);
    if (nvdp__now() - sweep->renewed < interval) return NVDP_OK;
    sweep->renewed = nvdp__now();
    for (size_t k = 0; k < sweep->slots; k++) {
        struct slot *slot = &sweep->slot[k];
        struct sweep_entry *entry = &sweep->table.entry[slot->run];
        if (!slot->taken ||
            sweep_lease_renew(sweep->config->out, sweep->grid.run[slot->run].name, &entry->lease))
            continue;
        sweep_worker_free(&slot->worker);
        sweep_lease_forget(&entry->lease);
        entry->state = SWEEP_ENTRY_ELSEWHERE;
        slot->taken = false;
        nvdp__log(
            sweep->ctx, NVDP_LOG_WARNING,
            "%s: another process took this run over, because this process was silent for too long",
            sweep->grid.run[slot->run].name);
        NVDP_TRY(sweep_worker_create(sweep->ctx, &slot->worker));
    }
    return NVDP_OK;
}

/* Checks unsettled runs when it is time, and starts free runs while workers are idle. */
static nvdp_status fill(struct sweep *sweep) {
    struct slot *slot = free_slot(sweep);
    double interval = slot != NULL ? LOOK_INTERVAL : BUSY_INTERVAL;
    if (sweep->looked > 0 && nvdp__now() - sweep->looked < interval) return NVDP_OK;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        struct sweep_entry *entry = &sweep->table.entry[i];
        if (entry->state == SWEEP_ENTRY_HERE || sweep_entry_is_settled(entry)) continue;
        NVDP_TRY(sweep_table_look(sweep->ctx, &sweep->table, i));
        if (entry->state != SWEEP_ENTRY_WAITING || slot == NULL) continue;
        NVDP_TRY(sweep_table_take(sweep->ctx, &sweep->table, i, sweep->config->stale_seconds));
        if (entry->state != SWEEP_ENTRY_HERE) continue;
        slot->taken = true; /* before the start, so that a failed start releases the lease */
        slot->run = i;
        slot->begun = nvdp__now();
        NVDP_TRY(sweep_worker_start(sweep->ctx, &sweep->work, &sweep->grid.run[i], &slot->worker));
        slot = free_slot(sweep);
    }
    sweep->looked = nvdp__now();
    return NVDP_OK;
}

/* --- reports --- */

static struct sweep_job describe(const struct sweep *sweep, size_t i) {
    const struct sweep_entry *entry = &sweep->table.entry[i];
    return (struct sweep_job){.run = sweep->grid.run[i].name,
                              .elsewhere = entry->state != SWEEP_ENTRY_HERE,
                              .progress = entry->progress};
}

static void report(struct sweep *sweep, bool now) {
    struct sweep_state state;
    if (sweep->config->report == NULL) return;
    if (!now && nvdp__now() - sweep->reported < REPORT_INTERVAL) return;
    sweep->reported = nvdp__now();
    if (nvdp__now() - sweep->read >= PROGRESS_INTERVAL) {
        sweep->read = nvdp__now();
        for (size_t i = 0; i < sweep->grid.count; i++)
            if (sweep_entry_is_running(&sweep->table.entry[i]))
                sweep->table.entry[i].progress =
                    sweep_progress_read(sweep->config->out, sweep->grid.run[i].name);
    }
    sweep_table_count(&sweep->table, &state);
    state.job = sweep->job;
    for (size_t k = 0; k < sweep->slots; k++) {
        if (!sweep->slot[k].taken) continue;
        sweep->job[state.jobs] = describe(sweep, sweep->slot[k].run);
        sweep->job[state.jobs++].progress.seconds = nvdp__now() - sweep->slot[k].begun;
    }
    for (size_t i = 0; i < sweep->grid.count; i++) {
        const struct sweep_entry *entry = &sweep->table.entry[i];
        if (sweep_entry_is_running(entry) && entry->state != SWEEP_ENTRY_HERE)
            sweep->job[state.jobs++] = describe(sweep, i);
    }
    state.elapsed_seconds = nvdp__now() - sweep->started;
    state.eta_seconds = sweep_table_eta(&sweep->table, sweep->slots + state.elsewhere);
    sweep->config->report(&state, sweep->config->user);
}

/* --- the loop --- */

/* Returns true if this process has nothing more to do. */
static bool is_over(const struct sweep *sweep) {
    for (size_t k = 0; k < sweep->slots; k++)
        if (sweep->slot[k].taken) return false;
    if (sweep->stopping) return true;
    for (size_t i = 0; i < sweep->grid.count; i++) {
        const struct sweep_entry *entry = &sweep->table.entry[i];
        bool others = sweep->config->leave && entry->state == SWEEP_ENTRY_ELSEWHERE;
        if (!sweep_entry_is_settled(entry) && !others) return false;
    }
    return true;
}

static nvdp_status run(struct sweep *sweep) {
    const struct timespec pause = {.tv_nsec = PAUSE_MILLISECONDS * 1000000L};
    for (;;) {
        for (size_t k = 0; k < sweep->slots; k++) { /* ends the runs whose workers have ended */
            bool ended = false;
            struct sweep_failure outcome;
            struct slot *slot = &sweep->slot[k];
            if (slot->taken)
                NVDP_TRY(sweep_worker_poll(sweep->ctx, &slot->worker, &ended, &outcome));
            if (ended) NVDP_TRY(end(sweep, slot, &outcome));
        }
        if (!sweep->stopping) sweep->stopping = nvdp_context_cancelled(sweep->ctx);
        for (size_t k = 0; k < sweep->slots && sweep->stopping;
             k++) /* the worker saves its state and exits */
            if (sweep->slot[k].taken) atomic_store(&sweep->slot[k].worker.shared->stop, true);
        if (!sweep->stopping) NVDP_TRY(fill(sweep));
        NVDP_TRY(renew(sweep));
        report(sweep, false);
        if (is_over(sweep)) break;
        nanosleep(&pause, NULL);
    }
    report(sweep, true);
    if (!sweep->stopping) return NVDP_OK;
    return nvdp__fail(sweep->ctx, NVDP_ERR_CANCELLED,
                      "interrupted; finished work is kept; run the same command again to continue");
}

/* --- the whole --- */

static void close_sweep(struct sweep *sweep) {
    for (size_t k = 0; k < sweep->slots; k++) {
        struct slot *slot = &sweep->slot[k];
        sweep_worker_free(&slot->worker);
        if (!slot->taken) continue; /* taken slots remain only after a failure of the sweep */
        (void)sweep_lease_release(NULL, sweep->config->out, sweep->grid.run[slot->run].name,
                                  &sweep->table.self, "interrupted",
                                  &sweep->table.entry[slot->run].lease);
    }
    sweep_table_close(&sweep->table);
    sweep_grid_release(&sweep->grid);
    free(sweep->slot);
    free(sweep->job);
}

nvdp_status run_sweep(struct nvdp_context *ctx, const struct sweep_config *config,
                      struct sweep_result *out) {
    struct sweep_state state;
    nvdp__auto(close_sweep) struct sweep sweep = {
        .ctx = ctx, .config = config, .started = nvdp__now()};
    NVDP_TRY(read_grid(ctx, config, &sweep.grid));
    const int threads = nvdp_context_threads(ctx) / config->jobs;
    NVDP_TRY(sweep_prepare(ctx, config->out, &sweep.grid));
    NVDP_TRY(sweep_table_open(ctx, config->out, &sweep.grid, config->retry_failed, &sweep.table));
    /* Finished runs get their labels from the current grid. */
    for (size_t i = 0; i < sweep.grid.count; i++)
        if (sweep.table.entry[i].state == SWEEP_ENTRY_DONE)
            NVDP_TRY(sweep_write_label(ctx, config->out, &sweep.grid.run[i]));
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(sweep.slot, (size_t)config->jobs),
                          NVDP__ITEMS(sweep.job, sweep.grid.count)));
    for (sweep.slots = 0; sweep.slots < (size_t)config->jobs; sweep.slots++)
        NVDP_TRY(sweep_worker_create(ctx, &sweep.slot[sweep.slots].worker));
    sweep.work = (struct sweep_work){.directory = config->out,
                                     .cache = config->cache,
                                     .grid = &sweep.grid,
                                     .threads = threads > 0 ? threads : 1};
    /* A child has no threads of its parent after fork(), but OpenMP would expect them. */
    (void)omp_pause_resource_all(omp_pause_hard);
    NVDP_TRY(run(&sweep));
    sweep_table_count(&sweep.table, &state);
    *out = (struct sweep_result){.runs = state.runs,
                                 .done = state.done,
                                 .failed = state.failed,
                                 .made = sweep.made,
                                 .seconds = nvdp__now() - sweep.started};
    return NVDP_OK;
}

/* --- the plan: runs, progress, costs --- */

/* The plan, and the owner of the plan's strings. */
struct whole_plan {
    struct sweep_plan plan; /* the first member: the caller has a pointer to it */
    struct sweep_plan_run *run;
    struct sweep_grid grid;
    char **owned; /* [2 plan.runs]: `varied`, then `message` */
};

const char *sweep_run_state_name(enum sweep_run_state state) {
    static const char *const names[] = {"waiting", "running", "done", "failed"};
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

static const enum sweep_run_state state_of[] = {
    [SWEEP_ENTRY_WAITING] = SWEEP_WAITING,   [SWEEP_ENTRY_HERE] = SWEEP_RUNNING,
    [SWEEP_ENTRY_ELSEWHERE] = SWEEP_RUNNING, [SWEEP_ENTRY_SILENT] = SWEEP_RUNNING,
    [SWEEP_ENTRY_DONE] = SWEEP_DONE,         [SWEEP_ENTRY_FAILED] = SWEEP_FAILED,
};

/* Formats the varied options: "latent_dim=8, lr=0.001". */
static char *varied_text(struct nvdp_context *ctx, const json_t *varied) {
    char *text = nvdp__strdup(ctx, "");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)varied, key, value) {
        char *word = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)), *longer = NULL;
        if (text != NULL && word != NULL)
            longer = nvdp__format(ctx, "%s%s%s=%s", text, text[0] != '\0' ? ", " : "", key, word);
        free(word);
        free(text);
        text = longer;
    }
    return text;
}

/* --- cost --- */

/* Returns true if two runs have the same steps and memory: only lambda and seed differ. */
static bool same_cost(const struct sweep_run *a, const struct sweep_run *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->label, b->label) == 0 &&
           json_equal(a->varied, b->varied);
}

static nvdp_status add_costs(struct nvdp_context *ctx, struct whole_plan *whole) {
    for (size_t i = 0; i < whole->grid.count; i++) {
        const struct sweep_run *run = &whole->grid.run[i];
        struct nvdp_train_plan plan = NVDP_RESULT(struct nvdp_train_plan);
        size_t k = 0;
        while (k < i && !same_cost(run, &whole->grid.run[k]))
            k++;
        if (k == i) {
            nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
            NVDP_TRY(nvdp_config_copy(run->config, &config));
            NVDP_TRY(nvdp_config_set(config, "out", "runs"));
            NVDP_TRY(nvdp_train_plan(ctx, config, NULL, &plan));
            whole->run[i].steps = plan.steps;
            whole->run[i].memory_bytes = plan.memory_bytes;
        }
        whole->run[i].steps = whole->run[k].steps;
        whole->run[i].memory_bytes = whole->run[k].memory_bytes;
    }
    return NVDP_OK;
}

nvdp_status sweep_plan(struct nvdp_context *ctx, const struct sweep_config *config, bool cost,
                       struct sweep_plan **out) {
    struct sweep_state state;
    struct whole_plan *whole = nvdp__calloc(ctx, 1, sizeof *whole);
    NVDP_TRY(NVDP__MADE(whole));
    nvdp__autoptr(sweep_plan_free) struct sweep_plan *made = &whole->plan;
    nvdp__auto(sweep_table_close) struct sweep_table table = {0};
    NVDP_TRY(read_grid(ctx, config, &whole->grid));
    NVDP_TRY(sweep_table_open(ctx, config->out, &whole->grid, config->retry_failed, &table));
    size_t count = whole->grid.count;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(whole->run, count),
                          NVDP__ITEMS(whole->owned, 2 * count)));
    for (size_t i = 0; i < count; i++) {
        const struct sweep_run *run = &whole->grid.run[i];
        char **varied = &whole->owned[2 * i], **message = &whole->owned[2 * i + 1];
        enum nvdp_method method;
        *varied = varied_text(ctx, run->varied);
        NVDP_TRY(NVDP__MADE(*varied));
        NVDP_TRY(nvdp_method_find(ctx, nvdp_config_get(run->config, "method"), &method));
        if (table.entry[i].state == SWEEP_ENTRY_FAILED)
            (void)sweep_failures(ctx, table.directory, run->name, message);
        whole->run[i] = (struct sweep_plan_run){
            .name = run->name,
            .task = run->task,
            .label = run->label,
            .varied = *varied,
            .method = method,
            .lambda_g = sweep_run_number(run, "lambda-g"),
            .lambda_d = sweep_run_number(run, "lambda-d"),
            .seed = strtoull(nvdp_config_get(run->config, "seed"), NULL, 10),
            .state = state_of[table.entry[i].state],
            .message = *message,
        };
    }
    if (cost) NVDP_TRY(add_costs(ctx, whole));
    sweep_table_count(&table, &state);
    whole->plan = (struct sweep_plan){
        .runs = count, .run = whole->run, .seconds = sweep_table_waiting_seconds(&table)};
    return NVDP__HAND_OVER(out, made);
}

void sweep_plan_free(struct sweep_plan *plan) {
    struct whole_plan *whole = (struct whole_plan *)plan;
    if (whole == NULL) return;
    for (size_t i = 0; whole->owned != NULL && i < 2 * whole->grid.count; i++)
        free(whole->owned[i]);
    sweep_grid_release(&whole->grid);
    free(whole->run);
    free(whole->owned);
    free(whole);
}
