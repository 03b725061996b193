/* Output of the subcommands: texts on stdout, progress on stderr. Sections: texts, the
 * progress bar, the state of a sweep. */
#include "common.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- texts --- */

int cli_put(char *text) {
    nvdp__autofree char *owned = text;
    return fputs(owned, stdout) != EOF ? CLI_SUCCESS : CLI_FAILURE;
}

/* --- progress --- */

enum { LINE_ROOM = 256, MIN_BAR = 10, MAX_BAR = 40, NAME_WIDTH = 24 };
/* seconds */
static const double bar_interval = 0.1, line_interval = 10, table_interval = 30;

void cli_meter_open(struct cli_meter *meter) {
    const char *term = getenv("TERM");
    meter->terminal = isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
    meter->last_update = nvdp__now();
}

void cli_meter_clear(struct cli_meter *meter) {
    if (meter->lines > 0) cli_control("\033[%dA\r\033[J", meter->lines);
    if (meter->drawn) cli_control("\r\033[K");
    meter->lines = 0;
    meter->drawn = false;
}

void cli_duration(double seconds, char text[CLI_DURATION_ROOM]) {
    unsigned long whole = (unsigned long)fmin(fmax(seconds, 0), 1e9);
    if (whole >= 3600) {
        snprintf(text, CLI_DURATION_ROOM, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60,
                 whole % 60);
    } else {
        snprintf(text, CLI_DURATION_ROOM, "%lu:%02lu", whole / 60, whole % 60);
    }
}

/* Formats progress without the bar: "540/1200 steps  812 token/s  loss 0.3122  ETA 1:02". */
static void describe(const struct nvdp_progress *progress, char line[LINE_ROOM]) {
    struct nvdp__writer to = {line, LINE_ROOM, 0};
    char seconds[CLI_DURATION_ROOM];
    nvdp__append(&to, "%llu", (unsigned long long)progress->done);
    if (progress->total > 0) nvdp__append(&to, "/%llu", (unsigned long long)progress->total);
    nvdp__append(&to, " %ss", progress->unit != NULL ? progress->unit : "item");
    if (isfinite(progress->rate) && progress->rate > 0)
        nvdp__append(&to, progress->rate < 10 ? "  %.2f %s/s" : "  %.0f %s/s", progress->rate,
                     progress->rate_unit != NULL ? progress->rate_unit : "item");
    if (!isnan(progress->loss)) nvdp__append(&to, "  loss %.4f", progress->loss);
    if (!isnan(progress->accuracy)) nvdp__append(&to, "  accuracy %.3f", progress->accuracy);
    cli_duration(progress->finished ? progress->elapsed_seconds : progress->eta_seconds, seconds);
    if (progress->finished)
        nvdp__append(&to, "  in %s", seconds);
    else if (isfinite(progress->eta_seconds))
        nvdp__append(&to, "  ETA %s", seconds);
}

static struct winsize screen(void) {
    struct winsize size = {.ws_row = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) size = (struct winsize){.ws_row = 0};
    if (size.ws_row == 0) size.ws_row = 24;
    if (size.ws_col == 0) size.ws_col = 80;
    return size;
}

static void draw_bar(const struct nvdp_progress *progress, const char *text) {
    char head[LINE_ROOM];
    snprintf(head, sizeof head, "%-10s", progress->phase != NULL ? progress->phase : "");
    int width = screen().ws_col;
    int room = width - (int)strlen(head) - (int)strlen(text) - 12;
    cli_control("\r\033[K");
    if (progress->total == 0 || room < MIN_BAR) {
        fprintf(stderr, "%.*s", width - 1, head);
        int left = width - 1 - (int)strlen(head);
        fprintf(stderr, "%.*s", left > 0 ? left : 0, text);
    } else {
        int bar = room < MAX_BAR ? room : MAX_BAR;
        double share = fmin((double)progress->done / (double)progress->total, 1);
        int filled = (int)(share * bar);
        char cells[MAX_BAR + 1] = "";
        memset(cells, '.', (size_t)bar);
        memset(cells, '#', (size_t)filled);
        fprintf(stderr, "%s[%s] %3d%%  %s", head, cells, (int)(share * 100), text);
    }
    fflush(stderr);
}

void cli_meter_show(struct cli_meter *meter, const struct cli *cli,
                    const struct nvdp_progress *progress) {
    double time = nvdp__now();
    double interval = meter->terminal ? bar_interval : line_interval;
    if (meter->terminal && progress->finished) {
        cli_meter_clear(meter);
        return;
    }
    if (time - meter->last_update < interval) return;
    meter->last_update = time;
    char text[LINE_ROOM] = "";
    describe(progress, text);
    if (meter->terminal) {
        draw_bar(progress, text);
        meter->drawn = true;
    } else {
        fprintf(stderr, "%s: %s: %s\n", cli->name, progress->phase != NULL ? progress->phase : "",
                text);
    }
}

/* --- the state of a sweep: a table on a terminal, plain lines otherwise --- */

/* Prints a line of the table, cut at the screen's width so that it does not wrap. */
static void put(struct cli_meter *meter, int width, const char *line) {
    fprintf(stderr, "%.*s\n", width - 1, line);
    meter->lines++;
}

static void put_groups(struct cli_meter *meter, int width, const struct sweep_state *state) {
    char line[LINE_ROOM];
    snprintf(line, sizeof line, "%-6s %-*s %6s %6s %6s %8s %9s", "task", NAME_WIDTH, "method",
             "runs", "done", "failed", "running", "s a run");
    put(meter, width, line);
    for (size_t g = 0; g < state->groups; g++) {
        const struct sweep_group *group = &state->group[g];
        char seconds[CLI_DURATION_ROOM] = "-";
        if (!isnan(group->seconds)) snprintf(seconds, sizeof seconds, "%.1f", group->seconds);
        snprintf(line, sizeof line, "%-6s %-*s %6zu %6zu %6zu %8zu %9s", group->task, NAME_WIDTH,
                 group->label, group->runs, group->done, group->failed, group->running, seconds);
        put(meter, width, line);
    }
}

/* Formats a job: "sst2-nvdp-l0.001-s1-0123456789ab  train step 120/400, 5.2/s, ETA 0:54  0:31". */
static void describe_job(const struct sweep_job *job, char line[LINE_ROOM]) {
    const struct sweep_run_progress *at = &job->progress;
    char passed[CLI_DURATION_ROOM], left[CLI_DURATION_ROOM] = "unknown", state[128] = "begins";
    cli_duration(at->seconds, passed);
    if (!isnan(at->eta_seconds)) cli_duration(at->eta_seconds, left);
    if (at->total > 0 && isnan(at->rate)) {
        snprintf(state, sizeof state, "%s %s %" PRIu64 "/%" PRIu64, at->phase, at->unit, at->done,
                 at->total);
    } else if (at->total > 0) {
        snprintf(state, sizeof state, "%s %s %" PRIu64 "/%" PRIu64 ", %.3g/s, ETA %s", at->phase,
                 at->unit, at->done, at->total, at->rate, left);
    } else if (at->phase[0] != '\0') {
        snprintf(state, sizeof state, "%s", at->phase);
    }
    snprintf(line, LINE_ROOM, "%s  %s  %s%s", job->run, state, passed,
             job->elsewhere ? " elsewhere" : "");
}

/* Formats the totals: "12 of 40 done, 1 failed, 2 running (1 elsewhere), 3:21, ETA 10:00". */
static void summarize(const struct sweep_state *state, char line[LINE_ROOM]) {
    char passed[CLI_DURATION_ROOM], left[CLI_DURATION_ROOM] = "unknown", others[48] = "";
    cli_duration(state->elapsed_seconds, passed);
    if (!isnan(state->eta_seconds)) cli_duration(state->eta_seconds, left);
    if (state->elsewhere > 0)
        snprintf(others, sizeof others, " (%zu by other processes)", state->elsewhere);
    snprintf(line, LINE_ROOM, "%zu of %zu done, %zu failed, %zu running%s, %s, ETA %s", state->done,
             state->runs, state->failed, state->running, others, passed, left);
}

static void draw(struct cli_meter *meter, const struct sweep_state *state) {
    char line[LINE_ROOM];
    struct winsize size = screen();
    cli_meter_clear(meter);
    if (state->groups + state->jobs + 3 < size.ws_row) put_groups(meter, size.ws_col, state);
    for (size_t k = 0; k < state->jobs && state->jobs + 3 < size.ws_row; k++) {
        char indented[LINE_ROOM + 2];
        describe_job(&state->job[k], line);
        snprintf(indented, sizeof indented, "  %s", line);
        put(meter, size.ws_col, indented);
    }
    summarize(state, line);
    put(meter, size.ws_col, line);
    fflush(stderr);
}

void cli_sweep_show(const struct sweep_state *state, void *user) {
    struct cli *cli = user;
    char line[LINE_ROOM];
    if (cli->quiet) return;
    if (cli->meter.terminal) {
        draw(&cli->meter, state);
        return;
    }
    /* The first ETA is printed as soon as it is known. */
    bool news = !isnan(state->eta_seconds) && !cli->meter.told_eta;
    if (!news && nvdp__now() - cli->meter.last_update < table_interval) return;
    cli->meter.last_update = nvdp__now();
    if (news) cli->meter.told_eta = true;
    summarize(state, line);
    fprintf(stderr, "%s: %s\n", cli->name, line);
    for (size_t k = 0; k < state->jobs; k++) {
        describe_job(&state->job[k], line);
        fprintf(stderr, "%s: %s\n", cli->name, line);
    }
}
