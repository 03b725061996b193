/* Reports: the tables and figures of a folder of runs (docs/report.md). */
#ifndef NVDP_SRC_REPORT_REPORT_H
#define NVDP_SRC_REPORT_REPORT_H

#include <nvdp/context.h>
#include <stdio.h>

struct report_config {
    const char *directory; /* run directories are in it, or in its runs/, or it is one itself */
    const char *out;       /* folder to write; NULL: DIRECTORY/report */
    const char
        *analyses;       /* files and folders of them, a list, beside DIRECTORY/analyses; or NULL */
    bool figures;        /* default true */
    const char *budgets; /* of the table of budgets, in nats: "1,3,10,30,100", the default */
    const char *gnuplot; /* the program that draws; default "gnuplot", looked up in PATH */
};
struct report_config report_config_default(void);

struct report;

/* Reads every run under config->directory and groups those that differ in their seed only; and analyses of
 * text privatization.  Runs
 * that are unfinished or cannot be read are kept in a list, not fatal; NVDP_ERR_INPUT where there
 * is neither a finished one nor an analysis. */
nvdp_status report_create(struct nvdp_context *ctx, const struct report_config *config,
                          struct report **out);
void report_free(struct report *report);

/* Writes tables (text, CSV, LaTeX, Markdown), the numbers behind them, figures (gnuplot scripts,
 * their data; SVG, PNG and PDF where gnuplot is there, else a notice) and index.html.  Every file
 * appears under its name when it is complete. */
nvdp_status report_write(struct nvdp_context *ctx, struct report *report);
/* The tables for a terminal. */
nvdp_status report_print(struct nvdp_context *ctx, const struct report *report, FILE *to);
/* Everything as one JSON object (docs/report.md); free() the text. */
nvdp_status report_json(struct nvdp_context *ctx, const struct report *report, char **out);
/* The folder that report_write writes. */
const char *report_directory(const struct report *report);

#endif
