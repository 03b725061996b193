/* Tests of the progress record, and of the estimates of the remaining time. */
#include "support.h"
#include "sweep/sweep.h"

static const struct sweep_run_progress unknown = {
    .rate = NAN, .eta_seconds = NAN, .training_seconds = NAN};

/* Creates a sweep's directory with a folder for the run "run". Returns its path. */
static const char *run_directory(void) {
    const char *out = support_scratch_path("sweep");
    mkdir(out, 0777);
    mkdir(support_scratch_path("sweep/runs"), 0777);
    mkdir(support_scratch_path("sweep/runs/run"), 0777);
    return out;
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

Test(progress, comes_back_as_it_was_written) {
    const char *out = run_directory();
    const struct sweep_run_progress some[] = {
        {"train", "step", 12, 400, 5.25, 73.9, 2.5, 76.2},
        {"pairs", "pair", 0, 0, NAN, NAN, 1e5, NAN},
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        sweep_progress_write(out, "run", &some[i]);
        struct sweep_run_progress read = sweep_progress_read(out, "run");
        cr_assert_str_eq(read.phase, some[i].phase);
        cr_assert_str_eq(read.unit, some[i].unit);
        cr_assert_eq(read.done, some[i].done);
        cr_assert_eq(read.total, some[i].total);
        cr_assert(same(read.rate, some[i].rate));
        cr_assert(same(read.eta_seconds, some[i].eta_seconds));
        cr_assert(same(read.seconds, some[i].seconds));
        cr_assert(same(read.training_seconds, some[i].training_seconds));
    }
    struct stat info;
    cr_assert_neq(stat(support_scratch_path("sweep/runs/run/progress.json.partial-0"), &info), 0);
}

Test(progress, what_cannot_be_understood_says_nothing) {
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{\"phase\": \"train\", \"unit\": \"step\", \"done\": 1, \"total\": 2}",
        "{\"phase\": \"train\", \"unit\": 3, \"done\": 1, \"total\": 2, \"seconds\": 1}",
        "{\"phase\": \"train\", \"unit\": \"step\", \"done\": -1, \"total\": 2, \"seconds\": 1}",
        "{\"phase\": \"train\", \"unit\": \"step\", \"done\": 1, \"total\": 2, \"seconds\": -1}",
    };
    const char *out = run_directory();
    cr_assert_str_eq(sweep_progress_read(out, "run").phase, "", "there is none");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        support_write_text(support_scratch_path("sweep/runs/run/progress.json"), wrong[i]);
        struct sweep_run_progress read = sweep_progress_read(out, "run");
        cr_expect_str_eq(read.phase, "", "%s", wrong[i]);
        cr_expect(isnan(read.rate) && isnan(read.eta_seconds) && isnan(read.training_seconds));
    }
    char text[512] = "{\"phase\": \"";
    memset(text + strlen(text), 'x', 200); /* longer than the field */
    strcat(text, "\", \"unit\": \"step\", \"done\": 1, \"total\": 2, \"seconds\": 1}");
    support_write_text(support_scratch_path("sweep/runs/run/progress.json"), text);
    cr_assert_eq(strlen(sweep_progress_read(out, "run").phase), 23);
}

/* Six runs, four of one method and two of another; the third has twice the work. */
enum { RUNS = 6 };
struct six {
    struct sweep_run run[RUNS];
    struct sweep_entry entry[RUNS];
    struct sweep_group group[2];
    struct sweep_pace pace[2];
    struct sweep_grid grid;
    struct sweep_table table;
};

static void make_six(struct six *six) {
    *six = (struct six){.group = {{.runs = 4}, {.runs = 2}}};
    for (size_t i = 0; i < RUNS; i++) {
        six->run[i].work = i == 2 ? 200 : 100;
        six->entry[i] = (struct sweep_entry){.group = i / 4, .seconds = NAN, .progress = unknown};
    }
    six->grid = (struct sweep_grid){.run = six->run, .count = RUNS};
    six->table = (struct sweep_table){.grid = &six->grid,
                                      .entry = six->entry,
                                      .group = six->group,
                                      .pace = six->pace,
                                      .groups = 2};
}

static double eta(struct six *six, size_t workers) {
    struct sweep_state state;
    sweep_table_count(&six->table, &state);
    return sweep_table_eta(&six->table, workers);
}

Test(eta, from_the_rates_of_running_runs_then_from_finished_ones) {
    struct six six;
    make_six(&six);
    cr_assert(isnan(eta(&six, 1)), "nothing is known");
    six.entry[0].state = SWEEP_ENTRY_HERE;
    cr_assert(isnan(eta(&six, 1)), "no step is done");
    /* 5 of 50 seconds, half a second per unit of work: 45 here, 50 + 100 + 50, 2 x 50. */
    six.entry[0].progress = (struct sweep_run_progress){"train", "step", 10, 100, 2, 45, 5, 50};
    near(eta(&six, 1), 345, 1e-9);
    near(eta(&six, 3), 115, 1e-9);
    near(eta(&six, 100), 100, 1e-9, "no less than the longest run");
    /* Another method, on another machine, is four times slower. Its own runs determine its estimate. */
    six.entry[4].state = SWEEP_ENTRY_ELSEWHERE;
    six.entry[4].progress =
        (struct sweep_run_progress){"train", "step", 50, 100, .5, 100, 100, 200};
    near(eta(&six, 1), 45 + 50 + 100 + 50 + 100 + 200, 1e-9);
    /* The first run finishes after 80 measured seconds, which determine its method's estimate. */
    six.entry[0].state = SWEEP_ENTRY_DONE;
    six.entry[0].seconds = 80;
    near(eta(&six, 1), 80 + 160 + 80 + 100 + 200, 1e-9);
    /* Past its estimate, a run has at least the time of its remaining steps left. */
    six.entry[4].progress.seconds = 1000;
    near(eta(&six, 1), 80 + 160 + 80 + 100 + 200, 1e-9);
    strcpy(six.entry[4].progress.phase, "pairs");
    near(eta(&six, 1), 80 + 160 + 80 + 200, 1e-9);
    for (size_t i = 1; i < RUNS; i++)
        six.entry[i].state = i % 2 == 0 ? SWEEP_ENTRY_DONE : SWEEP_ENTRY_FAILED;
    cr_assert_eq(eta(&six, 1), 0);
}
