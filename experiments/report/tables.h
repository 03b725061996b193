/* The tables of a report. */
#ifndef NVDP_EXPERIMENTS_REPORT_TABLES_H
#define NVDP_EXPERIMENTS_REPORT_TABLES_H

#include "experiments/report/report.h"
#include "experiments/report/table.h"

/* Release each with nvdp__table_release, also after a failure (table.status). */

/* A row a task and method at its selected lambda, with columns that mean what they say. */
struct nvdp__table nvdp__table_1(struct nvdp_context *ctx, const struct nvdp_report *report);
/* The same of the best seed alone, with the normalisation and moment of the published tables. */
struct nvdp__table nvdp__table_1_published(struct nvdp_context *ctx,
                                           const struct nvdp_report *report);
/* A row a lambda. */
struct nvdp__table nvdp__table_2(struct nvdp_context *ctx, const struct nvdp_report *report);
/* Paired tests between the methods of a task at their selected lambdas. */
struct nvdp__table nvdp__table_significance(struct nvdp_context *ctx,
                                            const struct nvdp_report *report);

enum { NVDP__TABLES = 4 };
typedef struct nvdp__table (*nvdp__table_maker)(struct nvdp_context *, const struct nvdp_report *);
extern const nvdp__table_maker nvdp__table_maker_of[NVDP__TABLES];

/* Tests of one task: every pair of families that share two seeds at least, or more. */
struct nvdp__comparison {
    size_t task, a, b; /* families */
    size_t seeds;
    double mean, low, high, t, p, holm; /* of a - b, in the score's own unit */
};
/* Of all tasks; *out has *count items, free(). */
nvdp_status nvdp__compare(struct nvdp_context *ctx, const struct nvdp_report *report,
                          struct nvdp__comparison **out, size_t *count);
/* What must be said of how the runs were measured: nothing, or that they differ. */
void nvdp__table_cautions(struct nvdp__table *table, const struct nvdp_report *report);

#endif
