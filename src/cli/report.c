/* nvdp report: writes tables and figures of a folder of runs. src/report does the work. */
#include "common.h"

#include "report/report.h"

#include <stdlib.h>

struct values {
    struct report_config config;
    bool no_figures;
};

static const struct nvdp_option options[] = {
    {"out", NVDP_OPTION_TEXT, "FOLDER", "directory of the report (default DIR/report)",
     NVDP_OPTION_AT(struct values, config.out), .traits = NVDP_TRAIT_NO_DEFAULT},
    {"analyses", NVDP_OPTION_LIST, "PATH",
     "further files, or folders of files, printed by nvdp sanitize --analyse --json or nvdp attack "
     "--json, in addition to DIR/analyses",
     NVDP_OPTION_AT(struct values, config.analyses)},
    {"budgets", NVDP_OPTION_LIST, "NATS",
     "limits of the largest divergence (sums, in nats); a table shows each method's score within "
     "each of them",
     NVDP_OPTION_AT(struct values, config.budgets)},
    {"no-figures", NVDP_OPTION_FLAG, NULL,
     "write the scripts and data of the figures, but draw nothing",
     NVDP_OPTION_AT(struct values, no_figures)},
    {"gnuplot", NVDP_OPTION_TEXT, "PROGRAM", "program that draws the figures",
     NVDP_OPTION_AT(struct values, config.gnuplot)},
    {0},
};

static nvdp_status show(struct cli *cli, const struct report *report) {
    if (!cli->json) {
        nvdp_status status = report_print(cli->ctx, report, stdout);
        if (status == NVDP_OK)
            printf("\nWritten to %s: index.html, tables/, figures/, data/\n",
                   report_directory(report));
        return status;
    }
    char *text = NULL;
    nvdp_status status = report_json(cli->ctx, report, &text);
    if (status == NVDP_OK) puts(text);
    free(text);
    return status;
}

static int run(struct cli *cli) {
    struct values values = {.config = report_config_default()};
    CLI_TRY(cli_begin(cli, &values));
    values.config.directory = cli->arg[0];
    values.config.figures = !values.no_figures;
    struct report *report = NULL;
    nvdp_status status = report_create(cli->ctx, &values.config, &report);
    if (status == NVDP_OK) status = report_write(cli->ctx, report);
    if (status == NVDP_OK) status = show(cli, report);
    report_free(report);
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
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
    .options = options,
    .run = run,
};
