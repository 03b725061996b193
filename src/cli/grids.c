/* nvdp sweep: runs a grid of trainings, resumable and by any number of processes; prints the plan (--dry-run), the
 * progress and the result. nvdp report: writes tables and figures of a folder of runs. src/sweep and src/report do
 * the work. */
#include "common.h"

#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== nvdp sweep ==== */

struct sweep_values {
    struct sweep_config config;
    bool dry_run;
    bool no_cache;
};

#define AT(field) NVDP_OPTION_AT(struct sweep_values, config.field)

static const struct nvdp_option sweep_options[] = {
    {"out", NVDP_OPTION_TEXT, "DIR", "directory of the sweep; several processes may work on it",
     AT(out), .group = "Sweep:"},
    {"jobs", NVDP_OPTION_INTEGER, "N", "runs at a time; the runs share the threads", AT(jobs)},
    {"retry-failed", NVDP_OPTION_FLAG, NULL, "run failed runs again, from their saved states",
     AT(retry_failed)},
    {"no-wait", NVDP_OPTION_FLAG, NULL,
     "end when no run is left to start, even if other processes still work on some", AT(leave)},
    {"stale-after", NVDP_OPTION_REAL, "X",
     "seconds after which a silent process on another machine counts as dead and its run is taken "
     "over",
     AT(stale_seconds)},
    {"cache", NVDP_OPTION_TEXT, "DIR",
     "folder that caches tokens and frozen layers' states between runs (default "
     "$XDG_CACHE_HOME/nvdp or ~/.cache/nvdp); these files reveal the texts",
     AT(cache), .traits = NVDP_TRAIT_NO_DEFAULT},
    {"no-cache", NVDP_OPTION_FLAG, NULL, "cache nothing between runs",
     NVDP_OPTION_AT(struct sweep_values, no_cache)},
    {"dry-run", NVDP_OPTION_FLAG, NULL, "print the runs, their steps and memory, and run nothing",
     NVDP_OPTION_AT(struct sweep_values, dry_run)},
    {0},
};

/* --- --dry-run --- */

static json_t *run_json(const struct sweep_plan_run *run) {
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:s, s:I, s:I}", "run", run->name, "task",
        run->task, "label", run->label, "method", nvdp_method_name(run->method), "varied",
        run->varied, "lambda_g", cli_number(run->lambda_g), "lambda_d", cli_number(run->lambda_d),
        "seed", (json_int_t)run->seed, "state", sweep_run_state_name(run->state), "steps",
        (json_int_t)run->steps, "memory_bytes", (json_int_t)run->memory_bytes);
    if (object != NULL && run->message != NULL)
        json_object_set_new(object, "message", json_string(run->message));
    return object;
}

static void plan_print(const struct sweep_plan *plan) {
    size_t count[SWEEP_FAILED + 1] = {0};
    uint64_t steps = 0;
    size_t memory = 0;
    printf("%-8s %10s %8s  %-20s %-20s %s\n", "state", "steps", "MiB", "method", "varied", "run");
    for (size_t i = 0; i < plan->runs; i++) {
        const struct sweep_plan_run *run = &plan->run[i];
        printf("%-8s %10" PRIu64 " %8.0f  %-20s %-20s %s\n", sweep_run_state_name(run->state),
               run->steps, (double)run->memory_bytes / (1 << 20), run->label, run->varied,
               run->name);
        count[run->state]++;
        if (run->state == SWEEP_WAITING) steps += run->steps;
        if (run->memory_bytes > memory) memory = run->memory_bytes;
    }
    cli_row("runs", "%zu, of which %zu are waiting, %zu running, %zu done, %zu failed", plan->runs,
            count[SWEEP_WAITING], count[SWEEP_RUNNING], count[SWEEP_DONE], count[SWEEP_FAILED]);
    cli_row("steps left", "%" PRIu64, steps);
    cli_row("memory", "%.0f MiB for the largest run; --jobs runs several at a time",
            (double)memory / (1 << 20));
    if (isnan(plan->seconds)) return;
    char time[CLI_DURATION_ROOM];
    cli_duration(plan->seconds, time);
    cli_row("time", "%s for one run after the other, estimated from the finished ones", time);
}

static int dry_run(struct cli *cli, const struct sweep_values *values) {
    nvdp__autoptr(sweep_plan_free) struct sweep_plan *plan = NULL;
    CLI_DO(cli, sweep_plan(cli->ctx, &values->config, true, &plan));
    if (!cli->json) {
        plan_print(plan);
        return CLI_SUCCESS;
    }
    json_t *runs = json_array();
    for (size_t i = 0; i < plan->runs; i++)
        json_array_append_new(runs, run_json(&plan->run[i]));
    return cli_print_json(
        cli, json_pack("{s:o, s:o}", "runs", runs, "seconds", cli_number(plan->seconds)));
}

/* --- the result --- */

/* Returns the failed runs and their messages as a JSON list, which is empty if the plan is unknown. */
static json_t *failures_json(const struct sweep_plan *plan) {
    json_t *list = json_array();
    for (size_t i = 0; plan != NULL && i < plan->runs; i++) {
        const struct sweep_plan_run *run = &plan->run[i];
        if (run->state != SWEEP_FAILED) continue;
        json_array_append_new(list, json_pack("{s:s, s:s}", "run", run->name, "message",
                                              run->message != NULL ? run->message : ""));
    }
    return list;
}

static void sweep_print(const struct sweep_values *values, const struct sweep_result *result,
                        const struct sweep_plan *plan) {
    char time[CLI_DURATION_ROOM];
    if (result->done == result->runs && result->made == 0) {
        cli_row("nothing to do", "all %zu runs are finished", result->runs);
        return;
    }
    cli_duration(result->seconds, time);
    cli_row("runs", "%zu", result->runs);
    cli_row("done", "%zu, of which %zu in this call", result->done, result->made);
    if (result->done + result->failed < result->runs)
        cli_row("elsewhere", "%zu", result->runs - result->done - result->failed);
    if (result->failed > 0) cli_row("failed", "%zu", result->failed);
    for (size_t i = 0; plan != NULL && i < plan->runs; i++)
        if (plan->run[i].state == SWEEP_FAILED)
            printf("  %s: %s\n", plan->run[i].name,
                   plan->run[i].message != NULL ? plan->run[i].message : "");
    cli_row("time", "%s", time);
    cli_row("sweep", "%s", values->config.out);
}

static int show(struct cli *cli, const struct sweep_values *values,
                const struct sweep_result *result) {
    nvdp__autoptr(sweep_plan_free) struct sweep_plan *plan = NULL;
    struct sweep_config config = values->config;
    config.retry_failed = false;
    if (result->failed > 0) (void)sweep_plan(cli->ctx, &config, false, &plan);
    if (cli->json)
        CLI_TRY(cli_print_json(
            cli,
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "out", config.out, "runs",
                      (json_int_t)result->runs, "done", (json_int_t)result->done, "made",
                      (json_int_t)result->made, "failed", (json_int_t)result->failed, "failures",
                      failures_json(plan), "seconds", cli_number(result->seconds))));
    else
        sweep_print(values, result, plan);
    return result->failed > 0 ? CLI_FAILURE : CLI_SUCCESS;
}

static int sweep(struct cli *cli) {
    struct sweep_values values = {.config = sweep_config_default};
    struct sweep_config *config = &values.config;
    CLI_TRY(cli_begin(cli, &values));
    if (config->out == NULL) return cli_usage(cli, "option --out is needed");
    CLI_TRY(cli_resolve_cache(cli, values.no_cache));
    if (cli->args > 0) config->grid = cli->arg[0];
    if (values.dry_run) return dry_run(cli, &values);
    config->report = cli_sweep_show;
    config->user = cli;
    struct sweep_result result;
    nvdp_status status = run_sweep(cli->ctx, config, &result);
    cli_meter_clear(&cli->meter);
    if (status != NVDP_OK) return cli_fail(cli, status);
    return show(cli, &values, &result);
}

const struct cli_command cli_command_sweep = {
    .name = "sweep",
    .summary = "train and measure every run of a grid, by any number of processes",
    .args = "[GRID.json]",
    .description =
        "Trains, measures and, if requested, shares every run of a grid: tasks x methods x lambdas "
        "x seeds x any option of nvdp train that has a list of values. You can stop a sweep at any "
        "moment and start it again: finished runs are kept, unfinished runs continue, and nothing "
        "runs twice. Without GRID.json, the last grid of --out is used.",
    .examples =
        "Examples:\n"
        "  nvdp sweep grid.json --out sweep --dry-run\n"
        "  nvdp sweep grid.json --out sweep --jobs 4\n"
        "  nvdp sweep --out sweep --retry-failed\n"
        "\n"
        "A grid:\n"
        "  {\"tasks\": [\"rte\"], \"data\": {\"rte\": \"glue/RTE\"}, \"model\": \"bert\",\n"
        "   \"methods\": [\"base\", \"nvdp\"], \"lambdas\": [1e-3, 1e-2], \"seeds\": [1, 2, 3],\n"
        "   \"epochs\": 3, \"max_length\": 64}\n",
    .options = sweep_options,
    .run = sweep,
};

/* ==== nvdp report ==== */

struct report_values {
    struct report_config config;
    bool no_figures;
};

static const struct nvdp_option report_options[] = {
    {"out", NVDP_OPTION_TEXT, "FOLDER", "directory of the report (default DIR/report)",
     NVDP_OPTION_AT(struct report_values, config.out), .traits = NVDP_TRAIT_NO_DEFAULT},
    {"analyses", NVDP_OPTION_LIST, "PATH",
     "further files, or folders of files, printed by nvdp sanitize --analyse --json or nvdp attack "
     "--json, in addition to DIR/analyses",
     NVDP_OPTION_AT(struct report_values, config.analyses)},
    {"budgets", NVDP_OPTION_LIST, "NATS",
     "limits of the largest divergence (sums, in nats); a table shows each method's score within "
     "each of them",
     NVDP_OPTION_AT(struct report_values, config.budgets)},
    {"no-figures", NVDP_OPTION_FLAG, NULL,
     "write the scripts and data of the figures, but draw nothing",
     NVDP_OPTION_AT(struct report_values, no_figures)},
    {"gnuplot", NVDP_OPTION_TEXT, "PROGRAM", "program that draws the figures",
     NVDP_OPTION_AT(struct report_values, config.gnuplot)},
    {0},
};

static int report(struct cli *cli) {
    struct report_values values = {.config = report_config_default()};
    nvdp__autoptr(report_free) struct report *report = NULL;
    nvdp__autofree char *text = NULL;
    CLI_TRY(cli_begin(cli, &values));
    values.config.directory = cli->arg[0];
    values.config.figures = !values.no_figures;
    CLI_DO(cli, report_create(cli->ctx, &values.config, &report));
    CLI_DO(cli, report_write(cli->ctx, report));
    if (cli->json) {
        CLI_DO(cli, report_json(cli->ctx, report, &text));
        return puts(text) != EOF ? CLI_SUCCESS : CLI_FAILURE;
    }
    CLI_DO(cli, report_print(cli->ctx, report, stdout));
    printf("\nWritten to %s: index.html, tables/, figures/, data/\n", report_directory(report));
    return CLI_SUCCESS;
}

const struct cli_command cli_command_report = {
    .name = "report",
    .summary = "make tables and figures from a folder of runs",
    .args = "DIR",
    .description =
        "Reads the runs in DIR or DIR/runs and groups runs that differ only in their seed. Writes "
        "tables (text, CSV, LaTeX, Markdown), figures (SVG, PNG, PDF through gnuplot, with scripts "
        "and data) and one HTML page. Settings (lambda or C) and seeds are chosen by the "
        "validation score. Unfinished or broken runs are listed and left out.",
    .examples = "Examples:\n"
                "  nvdp report sweep\n"
                "  nvdp report runs --out paper --no-figures\n"
                "  nvdp report sweep --budgets 2,8 --json >report.json\n"
                "  cd sweep/report/figures && gnuplot -e \"format='png'\" rd_mean_sum.gp\n",
    .options = report_options,
    .run = report,
};
