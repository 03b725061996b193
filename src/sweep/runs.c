/* The state of every run of a sweep, as one process sees it: files (docs/sweep.md), lease, progress, and time left.
 * Sections: finished, failed, running, checking, the whole table, estimates. */
#include "sweep/sweep.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes `value` to `path` and frees `value`, which is NULL if memory is short. */
static nvdp_status write_json(struct nvdp_context *ctx, const struct nvdp__path path,
                              json_t *value) {
    nvdp__autoptr(json_decref) json_t *owner = value;
    return owner != NULL ? nvdp__json_write(ctx, path.text, owner)
                         : nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Writes `value` to `path`, unless the file has this content already. */
static nvdp_status keep_json(struct nvdp_context *ctx, const struct nvdp__path path,
                             json_t *value) {
    nvdp__autoptr(json_decref) json_t *kept = NULL, *owner = value;
    const bool same = owner != NULL && nvdp__exists(path.text) &&
                      nvdp__json_read(ctx, path.text, &kept) == NVDP_OK && json_equal(kept, owner);
    return same ? NVDP_OK : write_json(ctx, path, json_incref(owner));
}

nvdp_status sweep_prepare(struct nvdp_context *ctx, const char *directory,
                          const struct sweep_grid *grid) {
    static const char *const folders[] = {"runs", "claims", "failed"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        NVDP_TRY(nvdp__make_directory(ctx, nvdp__path(directory, folders[i]).text));
    return keep_json(ctx, nvdp__path(directory, "grid.json"), json_incref(grid->root));
}

struct nvdp__path sweep_run_file(const char *directory, const char *name, const char *file) {
    return nvdp__path_format("%s/runs/%s/%s", directory, name, file);
}

/* --- finished --- */

static double number_or_nan(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

nvdp_status sweep_write_done(struct nvdp_context *ctx, const char *directory, const char *name,
                             double seconds) {
    return write_json(ctx, sweep_run_file(directory, name, "done.json"),
                      json_pack("{s:s,s:f,s:o}", "nvdp_format", "sweep-done/1", "seconds", seconds,
                                "finished", nvdp__now_json()));
}

/* Returns true if a run's done.json exists, and sets *seconds to the run's duration, or NaN if unknown. Looks up the
 * file through the open directory, because an NFS client may otherwise report from its cache that the file is
 * missing. */
static bool is_done(struct nvdp_context *ctx, const char *directory, const char *name,
                    double *seconds) {
    nvdp__autoptr(json_decref) json_t *record = NULL;
    nvdp__auto(nvdp__close_owned) int fd =
        open(sweep_run_file(directory, name, "").text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool done = fd >= 0 && faccessat(fd, "done.json", F_OK, 0) == 0;
    if (done)
        (void)nvdp__json_read(ctx, sweep_run_file(directory, name, "done.json").text, &record);
    *seconds = number_or_nan(record, "seconds");
    return done;
}

nvdp_status sweep_write_label(struct nvdp_context *ctx, const char *directory,
                              const struct sweep_run *run) {
    return keep_json(ctx, sweep_run_file(directory, run->name, "sweep.json"),
                     json_pack("{s:s,s:s,s:O,s:s*}", "nvdp_format", "sweep-run/1", "label",
                               run->label, "varied", run->varied, "model", run->model));
}

/* --- failed --- */

static struct nvdp__path failure_path(const char *directory, const char *name) {
    return nvdp__path_format("%s/failed/%s.json", directory, name);
}

nvdp_status sweep_write_failure(struct nvdp_context *ctx, const char *directory,
                                const struct sweep_run *run, const struct sweep_process *self,
                                int64_t attempts, const struct sweep_failure *failure) {
    const char *status_name =
        failure->status == NVDP_STATUS_COUNT ? "DIED" : nvdp_status_name(failure->status);
    char *config = NULL;
    NVDP_TRY(nvdp_config_json(run->config, &config));
    json_t *record =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:I,s:s,s:o,s:o}", "nvdp_format", "sweep-failure/1", "run",
                  run->name, "label", run->label, "status", status_name, "message",
                  failure->message, "attempts", (json_int_t)attempts, "host", self->host, "time",
                  nvdp__now_json(), "config", nvdp__json_taken(config));
    if (failure->signal != 0) json_object_set_new(record, "signal", json_integer(failure->signal));
    return write_json(ctx, failure_path(directory, run->name), record);
}

int64_t sweep_failures(struct nvdp_context *ctx, const char *directory, const char *name,
                       char **message) {
    nvdp__autoptr(json_decref) json_t *record = NULL;
    const struct nvdp__path path = failure_path(directory, name);
    if (message != NULL) *message = NULL;
    if (!nvdp__exists(path.text)) return 0;
    (void)nvdp__json_read(ctx, path.text, &record);
    const json_int_t attempts = json_integer_value(json_object_get(record, "attempts"));
    const char *text = json_string_value(json_object_get(record, "message"));
    if (message != NULL && text != NULL) *message = nvdp__strdup(ctx, text);
    return attempts > 1 ? attempts : 1; /* an unreadable record counts as one attempt */
}

nvdp_status sweep_forget_failure(struct nvdp_context *ctx, const char *directory,
                                 const char *name) {
    return nvdp__remove(ctx, failure_path(directory, name).text);
}

/* --- running --- */

/* Writes a temporary file, then renames it. Does not sync, because progress is worthless after a power failure. */
void sweep_progress_write(const char *directory, const char *name,
                          const struct sweep_run_progress *progress) {
    nvdp__autoptr(json_decref) json_t *record = json_pack(
        "{s:s,s:s,s:s,s:I,s:I,s:o,s:o,s:f,s:o}", "nvdp_format", "sweep-progress/1", "phase",
        progress->phase, "unit", progress->unit, "done", (json_int_t)progress->done, "total",
        (json_int_t)progress->total, "rate", nvdp__json_finite(progress->rate), "eta_seconds",
        nvdp__json_finite(progress->eta_seconds), "seconds", progress->seconds, "training_seconds",
        nvdp__json_finite(progress->training_seconds));
    const struct nvdp__path path = sweep_run_file(directory, name, "progress.json"),
                            beside = sweep_run_file(directory, name, "progress.json.partial-0");
    if (record == NULL || json_dump_file(record, beside.text, JSON_INDENT(2)) != 0 ||
        rename(beside.text, path.text) != 0)
        (void)unlink(beside.text);
}

struct sweep_run_progress sweep_progress_read(const char *directory, const char *name) {
    struct sweep_run_progress progress = {.rate = NAN, .eta_seconds = NAN, .training_seconds = NAN};
    nvdp__autoptr(json_decref) json_t *record = NULL;
    (void)nvdp__json_read(NULL, sweep_run_file(directory, name, "progress.json").text, &record);
    const char *phase = json_string_value(json_object_get(record, "phase"));
    const char *unit = json_string_value(json_object_get(record, "unit"));
    json_int_t done = json_integer_value(json_object_get(record, "done"));
    json_int_t total = json_integer_value(json_object_get(record, "total"));
    double seconds = number_or_nan(record, "seconds");
    if (phase != NULL && unit != NULL && done >= 0 && total >= 0 && seconds >= 0) {
        progress = (struct sweep_run_progress){
            .done = (uint64_t)done,
            .total = (uint64_t)total,
            .rate = number_or_nan(record, "rate"),
            .eta_seconds = number_or_nan(record, "eta_seconds"),
            .seconds = seconds,
            .training_seconds = number_or_nan(record, "training_seconds"),
        };
        snprintf(progress.phase, sizeof progress.phase, "%s", phase);
        snprintf(progress.unit, sizeof progress.unit, "%s", unit);
    }
    return progress;
}

/* --- checking --- */

bool sweep_entry_is_settled(const struct sweep_entry *entry) {
    return entry->state == SWEEP_ENTRY_DONE || entry->state == SWEEP_ENTRY_FAILED;
}

bool sweep_entry_is_running(const struct sweep_entry *entry) {
    return entry->state == SWEEP_ENTRY_HERE || entry->state == SWEEP_ENTRY_ELSEWHERE ||
           entry->state == SWEEP_ENTRY_SILENT;
}

/* If the run is done or failed, sets the state from the run's files and returns true. */
static bool settle(struct nvdp_context *ctx, const struct sweep_table *table, size_t i) {
    struct sweep_entry *entry = &table->entry[i];
    const char *name = table->grid->run[i].name;
    if (is_done(ctx, table->directory, name, &entry->seconds))
        entry->state = SWEEP_ENTRY_DONE;
    else if (sweep_failures(ctx, table->directory, name, NULL) > entry->pardoned)
        entry->state = SWEEP_ENTRY_FAILED;
    return sweep_entry_is_settled(entry);
}

nvdp_status sweep_table_look(struct nvdp_context *ctx, struct sweep_table *table, size_t i) {
    static const enum sweep_entry_state state_of[] = {
        [SWEEP_LEASE_FREE] = SWEEP_ENTRY_WAITING,
        [SWEEP_LEASE_HELD] = SWEEP_ENTRY_ELSEWHERE,
        [SWEEP_LEASE_SILENT] = SWEEP_ENTRY_SILENT,
    };
    struct sweep_entry *entry = &table->entry[i];
    enum sweep_lease_state state = SWEEP_LEASE_FREE;
    if (entry->state == SWEEP_ENTRY_HERE || sweep_entry_is_settled(entry)) return NVDP_OK;
    if (settle(ctx, table, i)) return NVDP_OK;
    NVDP_TRY(sweep_lease_look(ctx, table->directory, table->grid->run[i].name, &table->self,
                              &entry->lease, &state));
    entry->state = state_of[state];
    return NVDP_OK;
}

nvdp_status sweep_table_take(struct nvdp_context *ctx, struct sweep_table *table, size_t i,
                             double timeout) {
    struct sweep_entry *entry = &table->entry[i];
    const char *name = table->grid->run[i].name;
    bool won = false;
    NVDP_TRY(
        sweep_lease_take(ctx, table->directory, name, &table->self, timeout, &entry->lease, &won));
    if (!won) return sweep_table_look(ctx, table, i);
    /* The run may have been finished between check and lease. */
    if (settle(ctx, table, i))
        return sweep_lease_release(ctx, table->directory, name, &table->self, "settled",
                                   &entry->lease);
    entry->state = SWEEP_ENTRY_HERE;
    entry->progress =
        (struct sweep_run_progress){.rate = NAN, .eta_seconds = NAN, .training_seconds = NAN};
    return NVDP_OK;
}

/* --- the whole table --- */

nvdp_status sweep_table_open(struct nvdp_context *ctx, const char *directory,
                             const struct sweep_grid *grid, bool retry_failed,
                             struct sweep_table *out) {
    nvdp__auto(sweep_table_close) struct sweep_table table = {
        .directory = directory, .grid = grid, .self = sweep_process_self()};
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(table.entry, grid->count),
                          NVDP__ITEMS(table.group, grid->count),
                          NVDP__ITEMS(table.pace, grid->count)));
    for (size_t i = 0; i < grid->count; i++) {
        const struct sweep_run *run = &grid->run[i];
        size_t g = 0;
        while (g < table.groups && (strcmp(table.group[g].task, run->task) != 0 ||
                                    strcmp(table.group[g].label, run->label) != 0))
            g++;
        if (g == table.groups)
            table.group[table.groups++] =
                (struct sweep_group){.task = run->task, .label = run->label};
        table.group[g].runs++;
        table.entry[i].group = g;
        table.entry[i].seconds = NAN;
        if (retry_failed) table.entry[i].pardoned = sweep_failures(ctx, directory, run->name, NULL);
        NVDP_TRY(sweep_table_look(ctx, &table, i));
    }
    return NVDP__HAND_OVER(out, table);
}

void sweep_table_close(struct sweep_table *table) {
    for (size_t i = 0; table->entry != NULL && i < table->grid->count; i++)
        sweep_lease_forget(&table->entry[i].lease);
    free(table->entry);
    free(table->group);
    free(table->pace);
    *table = (struct sweep_table){0};
}

/* --- counts and estimates of the time left --- */

static double ratio(double seconds, double work) {
    return work > 0 ? seconds / work : NAN;
}

/* Returns the seconds per unit of work, from the first source with data: finished runs of the same task and method,
 * runs of the same task and method in training, all finished runs, all runs in training. NaN if no source has data. */
static double seconds_per_work(const struct sweep_pace *own, const struct sweep_pace *all) {
    const double ranked[] = {
        ratio(own->done_seconds, own->done_work), ratio(own->training_seconds, own->training_work),
        ratio(all->done_seconds, all->done_work), ratio(all->training_seconds, all->training_work)};
    size_t i = 0;
    while (i < 3 && isnan(ranked[i]))
        i++;
    return ranked[i];
}

static void add_pace(const struct sweep_entry *entry, double work, struct sweep_pace *pace) {
    if (!isnan(entry->seconds)) {
        pace->done_seconds += entry->seconds;
        pace->done++;
        pace->done_work += work;
    } else if (sweep_entry_is_running(entry) && !isnan(entry->progress.training_seconds)) {
        pace->training_seconds += entry->progress.training_seconds;
        pace->training_work += work;
    }
}

void sweep_table_count(struct sweep_table *table, struct sweep_state *state) {
    struct sweep_pace all = {0};
    *state = (struct sweep_state){.runs = table->grid->count,
                                  .groups = table->groups,
                                  .group = table->group,
                                  .eta_seconds = NAN};
    memset(table->pace, 0, table->groups * sizeof *table->pace);
    for (size_t g = 0; g < table->groups; g++) {
        struct sweep_group *group = &table->group[g];
        group->done = group->failed = group->running = 0;
    }
    for (size_t i = 0; i < table->grid->count; i++) {
        const struct sweep_entry *entry = &table->entry[i];
        struct sweep_group *group = &table->group[entry->group];
        bool running = sweep_entry_is_running(entry);
        group->done += entry->state == SWEEP_ENTRY_DONE;
        group->failed += entry->state == SWEEP_ENTRY_FAILED;
        group->running += running;
        state->elsewhere += running && entry->state != SWEEP_ENTRY_HERE;
        add_pace(entry, table->grid->run[i].work, &table->pace[entry->group]);
        add_pace(entry, table->grid->run[i].work, &all);
    }
    for (size_t g = 0; g < table->groups; g++) {
        struct sweep_group *group = &table->group[g];
        struct sweep_pace *pace = &table->pace[g];
        pace->seconds_per_work = seconds_per_work(pace, &all);
        group->seconds = ratio(pace->done_seconds, (double)pace->done);
        state->done += group->done;
        state->failed += group->failed;
        state->running += group->running;
    }
}

/* Estimates the seconds left of run i. For a run in training, returns at least the seconds of the remaining steps. */
static double seconds_left(const struct sweep_table *table, size_t i) {
    const struct sweep_entry *entry = &table->entry[i];
    double usual = table->pace[entry->group].seconds_per_work * table->grid->run[i].work;
    if (isnan(usual) || !sweep_entry_is_running(entry)) return usual;
    bool training = strcmp(entry->progress.phase, "train") == 0;
    double minimum = training && entry->progress.eta_seconds > 0 ? entry->progress.eta_seconds : 0;
    return fmax(usual - entry->progress.seconds, minimum);
}

double sweep_table_eta(const struct sweep_table *table, size_t workers) {
    double sum = 0, longest = 0;
    for (size_t i = 0; i < table->grid->count; i++) {
        if (sweep_entry_is_settled(&table->entry[i])) continue;
        double left = seconds_left(table, i);
        if (isnan(left)) return NAN;
        sum += left;
        longest = fmax(longest, left);
    }
    return fmax(sum / (double)workers, longest);
}

double sweep_table_waiting_seconds(const struct sweep_table *table) {
    double sum = 0;
    for (size_t i = 0; i < table->grid->count; i++)
        if (table->entry[i].state == SWEEP_ENTRY_WAITING) sum += seconds_left(table, i);
    return sum;
}
