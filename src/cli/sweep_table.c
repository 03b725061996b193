/* The state of a sweep for people: a table on a terminal, plain lines otherwise. */
#include "common.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_ROWS = 24, USUAL_COLUMNS = 80, LINE_ROOM = 256, NAME_WIDTH = 24 };
static const double LINE_INTERVAL = 30; /* seconds */

static struct winsize screen(void) {
    struct winsize size = {.ws_row = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        size = (struct winsize){.ws_row = USUAL_ROWS, .ws_col = USUAL_COLUMNS};
    return size;
}

/* A line of the table, cut at the screen's edge so that it stays one. */
static void put(struct cli_meter *meter, int width, const char *line) {
    fprintf(stderr, "%.*s\n", width - 1, line);
    meter->lines++;
}

static void put_groups(struct cli_meter *meter, int width, const struct nvdp_sweep_state *state) {
    char line[LINE_ROOM];
    snprintf(line, sizeof line, "%-6s %-*s %6s %6s %6s %8s %9s", "task", NAME_WIDTH, "method",
             "runs", "done", "failed", "running", "s a run");
    put(meter, width, line);
    for (size_t g = 0; g < state->groups; g++) {
        const struct nvdp_sweep_group *group = &state->group[g];
        char seconds[CLI_DURATION_ROOM] = "-";
        if (!isnan(group->seconds)) snprintf(seconds, sizeof seconds, "%.1f", group->seconds);
        snprintf(line, sizeof line, "%-6s %-*s %6zu %6zu %6zu %8zu %9s", group->task, NAME_WIDTH,
                 group->label, group->runs, group->done, group->failed, group->running, seconds);
        put(meter, width, line);
    }
}

/* "sst2-nvdp-l0.001-s1-0123456789ab  train step 120/400, 5.2/s, ETA 0:54  0:31" */
static void describe(const struct nvdp_sweep_job *job, char line[LINE_ROOM]) {
    char passed[CLI_DURATION_ROOM], left[CLI_DURATION_ROOM] = "unknown", state[128] = "begins";
    cli_duration(job->seconds, passed);
    if (!isnan(job->eta_seconds)) cli_duration(job->eta_seconds, left);
    if (job->total > 0 && isnan(job->rate)) {
        snprintf(state, sizeof state, "%s %s %" PRIu64 "/%" PRIu64, job->phase, job->unit,
                 job->done, job->total);
    } else if (job->total > 0) {
        snprintf(state, sizeof state, "%s %s %" PRIu64 "/%" PRIu64 ", %.3g/s, ETA %s", job->phase,
                 job->unit, job->done, job->total, job->rate, left);
    } else if (job->phase[0] != '\0') {
        snprintf(state, sizeof state, "%s", job->phase);
    }
    snprintf(line, LINE_ROOM, "%s  %s  %s%s", job->run, state, passed,
             job->elsewhere ? " elsewhere" : "");
}

static void put_jobs(struct cli_meter *meter, int width, const struct nvdp_sweep_state *state) {
    for (size_t k = 0; k < state->jobs; k++) {
        char line[LINE_ROOM], indented[LINE_ROOM + 2];
        describe(&state->job[k], line);
        snprintf(indented, sizeof indented, "  %s", line);
        put(meter, width, indented);
    }
}

/* "12 of 40 done, 1 failed, 2 running (1 elsewhere), 3:21, ETA 10:00" */
static void summarise(const struct nvdp_sweep_state *state, char line[LINE_ROOM]) {
    char passed[CLI_DURATION_ROOM], left[CLI_DURATION_ROOM] = "unknown", others[48] = "";
    cli_duration(state->elapsed_seconds, passed);
    if (!isnan(state->eta_seconds)) cli_duration(state->eta_seconds, left);
    if (state->elsewhere > 0) snprintf(others, sizeof others, " (%zu elsewhere)", state->elsewhere);
    snprintf(line, LINE_ROOM, "%zu of %zu done, %zu failed, %zu running%s, %s, ETA %s", state->done,
             state->runs, state->failed, state->running, others, passed, left);
}

static void draw(struct cli_meter *meter, const struct nvdp_sweep_state *state) {
    char line[LINE_ROOM];
    struct winsize size = screen();
    cli_meter_clear(meter);
    if (state->groups + state->jobs + 3 < size.ws_row) put_groups(meter, size.ws_col, state);
    if (state->jobs + 3 < size.ws_row) put_jobs(meter, size.ws_col, state);
    summarise(state, line);
    put(meter, size.ws_col, line);
    fflush(stderr);
}

void cli_sweep_show(struct cli *cli, const struct nvdp_sweep_state *state) {
    char line[LINE_ROOM];
    struct timespec now;
    if (cli->quiet) return;
    if (cli->meter.terminal) {
        draw(&cli->meter, state);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((double)now.tv_sec - cli->meter.last_update < LINE_INTERVAL) return;
    cli->meter.last_update = (double)now.tv_sec;
    summarise(state, line);
    fprintf(stderr, "%s: %s\n", cli->name, line);
    for (size_t k = 0; k < state->jobs; k++) {
        describe(&state->job[k], line);
        fprintf(stderr, "%s: %s\n", cli->name, line);
    }
}
