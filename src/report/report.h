/* Reports: the tables and figures of a folder of runs (docs/report.md). */
#ifndef NVDP_SRC_REPORT_REPORT_H
#define NVDP_SRC_REPORT_REPORT_H

#include "base/base.h"
#include <nvdp/context.h>
#include <stdio.h>

struct report_config {
    const char *directory; /* a run, a folder of runs, or a folder with the folder runs/ */
    const char *out;       /* folder to write; NULL for DIRECTORY/report */
    /* List of files and folders, in addition to DIRECTORY/analyses; or NULL. */
    const char *analyses;
    bool figures;        /* draw figures; default true */
    const char *budgets; /* budgets of the table of budgets, in nats; default "1,3,10,30,100" */
    const char *gnuplot; /* the drawing program; default "gnuplot", searched in PATH */
};
struct report_config report_config_default(void);

struct report;

/* Reads every run under config->directory, groups runs that differ only in seed and fold, and reads analyses of text
 * privatization. Unfinished or unreadable runs become notes. Returns NVDP_ERR_INPUT if there is neither a finished run
 * nor an analysis. */
nvdp_status report_create(struct nvdp_context *ctx, const struct report_config *config,
                          struct report **out);
void report_free(struct report *report);
NVDP__AUTOPTR(struct report, report_free)

/* Writes tables (text, CSV, LaTeX, Markdown), the full numbers of the tables, figures and index.html. Figures are
 * gnuplot scripts and data, and SVG, PNG and PDF if gnuplot is installed; otherwise a notice is logged. A file
 * appears under its name when it is complete. */
nvdp_status report_write(struct nvdp_context *ctx, struct report *report);
/* Prints the tables for a terminal. */
nvdp_status report_print(struct nvdp_context *ctx, const struct report *report, FILE *to);
/* Returns the whole report as one JSON object (docs/report.md); the caller frees it with free(). */
nvdp_status report_json(struct nvdp_context *ctx, const struct report *report, char **out);
/* Returns the folder that report_write() writes. */
const char *report_directory(const struct report *report);

#endif
