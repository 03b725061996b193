/* Files of a report, and the program that draws. */
#ifndef NVDP_EXPERIMENTS_REPORT_WRITE_H
#define NVDP_EXPERIMENTS_REPORT_WRITE_H

#include "experiments/report/figure.h"
#include "experiments/report/table.h"

/* --- write.c --- */
/* Writes DIRECTORY/name with what `put` writes. */
nvdp_status nvdp__report_file(struct nvdp_context *ctx, const char *directory, const char *name,
                              void (*put)(FILE *to, const void *from), const void *from);

/* --- gnuplot.c --- */
/* Writes a figure's script and data into the folder and runs the program on it: SVG, PNG, PDF. Old
 * drawings are removed first.  *notice: NULL, or why there are none; free().  Only what is not the
 * drawing program's fault is an error. */
nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct nvdp__figure *figure, char **notice);

/* --- page.c --- */
struct nvdp__page {
    const struct nvdp_report *report;
    const struct nvdp__table *table; /* [NVDP__TABLES] */
    const struct nvdp__figures *figures;
    char **svg; /* [figures->count] to stand in the page; NULL: not drawn */
    const char *created;
};
/* One self-contained HTML page. */
void nvdp__page(FILE *to, const void *page);
/* The drawing as it can stand in a page with others: without its XML head, its names made its own;
 * NULL with the error recorded. */
char *nvdp__inline_svg(struct nvdp_context *ctx, const char *svg, const char *name);

#endif
