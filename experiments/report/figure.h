/* Figures: gnuplot scripts and the data they draw, one folder, so that anybody can draw them again.
 */
#ifndef NVDP_EXPERIMENTS_REPORT_FIGURE_H
#define NVDP_EXPERIMENTS_REPORT_FIGURE_H

#include "experiments/report/report.h"

struct nvdp__figure {
    const char *name; /* of its files */
    const char *title;
    const char *caption; /* what it shows, in a sentence */
    int width, height;   /* in pixels */
    char *script, *data; /* NAME.gp, NAME.dat */
};

struct nvdp__figures {
    struct nvdp__figure *item;
    size_t count, room;
};

/* All figures that have something to show. */
nvdp_status nvdp__figures_make(struct nvdp_context *ctx, const struct nvdp_report *report,
                               struct nvdp__figures *out);
void nvdp__figures_release(struct nvdp__figures *figures);

/* --- one kind each: add their figures --- */
nvdp_status nvdp__figures_scatter(struct nvdp_context *ctx, const struct nvdp_report *report,
                                  struct nvdp__figures *figures);
nvdp_status nvdp__figures_posterior(struct nvdp_context *ctx, const struct nvdp_report *report,
                                    struct nvdp__figures *figures);
nvdp_status nvdp__figures_training(struct nvdp_context *ctx, const struct nvdp_report *report,
                                   struct nvdp__figures *figures);

/* --- figure.c: what they share --- */
/* Which families are named below the panels: none, those that have pseudo-counts, all. */
enum nvdp__legend { NVDP__LEGEND_NONE, NVDP__LEGEND_WEIGHTED, NVDP__LEGEND_ALL };
/* A figure being written. */
struct nvdp__drawing {
    struct nvdp_context *ctx;
    struct nvdp__figure figure;
    size_t panels, across, down;
    enum nvdp__legend kind;
    size_t legend; /* lines of it */
    size_t next;   /* index of the next block of data */
    size_t data_size, script_size;
    FILE *data, *script;
};
nvdp_status nvdp__drawing_begin(struct nvdp_context *ctx, const struct nvdp_report *report,
                                const char *name, const char *title, const char *caption,
                                size_t panels, size_t across, enum nvdp__legend legend,
                                struct nvdp__drawing *out);
/* Places the next panel's axes; labels are plain text. */
void nvdp__drawing_panel(struct nvdp__drawing *drawing, size_t panel, const char *title,
                         const char *x, const char *y);
/* Starts a block of data under a comment; returns its index. */
size_t nvdp__drawing_block(struct nvdp__drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A number and a tab. */
void nvdp__drawing_number(struct nvdp__drawing *drawing, double value);
/* Adds the finished figure to the list, or on failure releases it. */
nvdp_status nvdp__drawing_end(struct nvdp__drawing *drawing, struct nvdp__figures *figures);

/* How a family looks in all figures: colours that the colour-blind can tell apart (Okabe & Ito
 * 2008), a marker a method. */
struct nvdp__look {
    const char *colour; /* "#0072b2" */
    int filled, open;   /* gnuplot's point types */
    int dash;
};
struct nvdp__look nvdp__look_of(const struct nvdp__family *family);

#endif
