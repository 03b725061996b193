/* Made-up run directories with invented numbers; nothing is trained. */
#ifndef NVDP_TESTS_SUPPORT_MADE_RUNS_H
#define NVDP_TESTS_SUPPORT_MADE_RUNS_H

#include "report/parts.h"
#include "support.h"

/* The values of a run that tests set. Zeros mean method "nvdp", task "sst2" and one epoch. */
struct made_run {
    const char *name;
    const char *method, *task, *data, *model;
    double lambda;
    double lambda_d; /* 0 for lambda */
    unsigned seed;
    double validation, score;
    const char *metric;     /* metric of `score`; NULL for accuracy */
    double majority;        /* 0 for .5 */
    double f1;              /* 0 if the task has one metric */
    double rd_max, rd_mean; /* divergences of whole samples; may be INFINITY; 0 if not measured */
    double rd_max_finite;   /* maximum over the finite pairs; 0 if not recorded */
    double bound;           /* certified bound; may be INFINITY; 0 if there is none */
    double share;           /* share of infinite pairs */
    double exact;           /* worst exact epsilon; the mean is half of it; 0 if not measured */
    double linked;          /* share of samples whose text is identified; 0 if not measured */
    double bdp_best, bdp_published;
    const char *options; /* more fields of run.json's config: "'epochs': 3" */
    const char *nvib;    /* fields of the config's nvib: "'latent_dim': 16" */
    const char *label;   /* label in sweep.json */
    const char *result;  /* more fields of result.json: "'certified': {}" */
    double vectors;      /* effective vectors; 0 for no posterior section */
};
/* Writes SCRATCH/folder/name. */
void made_run(const char *folder, const struct made_run *run);
void made_runs(const char *folder, size_t count, const struct made_run *runs);
/* Writes runs, and returns the report of the folder. */
struct report *made_report_of(const char *folder, size_t count, const struct made_run *runs);
/* Returns SCRATCH/folder, which it creates if needed. */
const char *made_folder(const char *folder);
/* Writes one file of a run; JSON may have single quotes. */
void made_run_file(const char *folder, const char *run, const char *file, const char *text);

/* Reads SCRATCH/folder; fails the test on errors. */
struct report *made_report(struct nvdp_context *ctx, const char *folder);
/* Writes the report without figures. Returns the content of one file of the report, which the caller frees with
 * free(). */
char *report_written(const char *folder, const char *file);
/* Returns the row of the label at its selected lambda in the report's first task. */
const struct report_group *made_selected(const struct report *report, const char *label);
/* Returns the text of the note on a run; "" if there is none. */
const char *made_note(const struct report *report, const char *run);

#endif
