/* The numbers behind the tables, in full, for programs: CSV and JSON. */
#ifndef NVDP_EXPERIMENTS_REPORT_NUMBERS_H
#define NVDP_EXPERIMENTS_REPORT_NUMBERS_H

#include "experiments/report/report.h"

/* A row a group: mean and standard deviation over seeds of everything. */
void nvdp__groups_csv(const struct nvdp_report *report, FILE *to);
/* A row a run. */
void nvdp__runs_csv(const struct nvdp_report *report, FILE *to);
/* The name of a quantity in files: "rd_sum_max", ... */
const char *nvdp__quantity_name(enum nvdp__quantity quantity);

#endif
