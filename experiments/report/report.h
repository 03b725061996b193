/* What a report knows: runs, and groups of runs that differ in their seed only. */
#ifndef NVDP_EXPERIMENTS_REPORT_H
#define NVDP_EXPERIMENTS_REPORT_H

#include "base/json.h"
#include <nvdp/privacy.h>
#include <nvdp/report.h>

enum { NVDP__REPORT_METRICS = 2 };

/* Numbers that a run has one of, and a group a mean over its seeds.  NaN: there is none. */
enum nvdp__quantity {
    NVDP__SUM_MAX,  /* Renyi divergence, nats, summed over all that is shared: largest */
    NVDP__SUM_MEAN, /* mean over pairs */
    NVDP__UNIT_MAX, /* the same per component and dimension, as in the published tables */
    NVDP__UNIT_MEAN,
    NVDP__INFINITE,      /* share of infinite pairs */
    NVDP__BDP_BEST,      /* Bayesian DP, best moment */
    NVDP__BDP_PUBLISHED, /* moment 1.1 */
    NVDP__VECTORS,       /* effective number of vectors of a text: mean over texts */
    NVDP__VECTORS_LOW,   /* 5 % quantile */
    NVDP__VECTORS_HIGH,  /* 95 % */
    NVDP__TOKEN_SHARE,
    NVDP__ABS_MU,
    NVDP__SIGMA,
    NVDP__REUSE,  /* score of a reader that sees the shared file alone: reuse.json */
    NVDP__ATTACK, /* of one that looks for a private attribute: attack.json */
    NVDP__QUANTITIES
};

struct nvdp__report_epoch {
    double epoch, validation, task_loss;
};

/* How a privacy.json was measured: runs are comparable where these agree. */
struct nvdp__measured {
    double order, delta, texts, releases;
    bool same_length; /* adjacency */
    bool drawn;       /* mean and shares are estimates from drawn pairs */
};

struct nvdp__report_run {
    char *name; /* of its directory, as shown */
    char *path;
    json_t *file;    /* run.json */
    json_t *config;  /* in it */
    json_t *variant; /* options by name without what is no difference between methods: flat */
    char *task, *method, *data, *label; /* label: sweep.json's, NULL where none */
    double lambda_g, lambda_d;          /* NaN for methods without a bottleneck */
    uint64_t seed;
    int metrics;
    char *metric[NVDP__REPORT_METRICS];
    double score[NVDP__REPORT_METRICS];
    double majority, validation, seconds;
    double quantity[NVDP__QUANTITIES];
    bool measured;
    struct nvdp__measured how;
    double alpha_count[NVDP_ALPHA_BINS]; /* tokens by log10 alpha; all 0: unknown */
    double alpha_first, alpha_width;
    struct nvdp__report_epoch *epoch;
    size_t epochs, epoch_room;
    char *command;
};

/* A directory that is not counted, and why. */
struct nvdp__report_note {
    char *name, *text;
};

struct nvdp__stat {
    size_t n;
    double mean; /* +inf where any is; NaN where n is 0 */
    double sd;   /* divisor n - 1; NaN where n < 2 or mean is infinite */
};

struct nvdp__task_rows {
    char *label;
    const char *task, *data; /* of its runs */
    const struct nvdp__report_run *first;
};

/* One method with one set of options, over tasks and lambdas. */
struct nvdp__family {
    char *label;
    const char *method;
    bool reference; /* base, reg: nothing private */
    int same;       /* how many families of the method come before it */
};

/* Runs that differ in their seed only. */
struct nvdp__group {
    size_t task, family;
    double lambda_g, lambda_d;
    const struct nvdp__report_run **run; /* [runs] by seed */
    size_t runs;
    struct nvdp__stat score[NVDP__REPORT_METRICS];
    struct nvdp__stat validation;
    struct nvdp__stat quantity[NVDP__QUANTITIES];
    const struct nvdp__report_run *best; /* largest validation score, the smallest seed on ties */
    bool selected; /* the lambda of its task and family: largest mean validation score; the larger
                      lambda on ties */
};

struct nvdp_report {
    char *directory, *out, *gnuplot;
    bool figures;
    struct nvdp__report_run *run;
    size_t runs, run_room;
    struct nvdp__report_note *note;
    size_t notes, note_room;
    struct nvdp__task_rows *task;
    size_t tasks;
    struct nvdp__family *family;
    size_t families;
    struct nvdp__group *group; /* by task, family, lambda */
    size_t groups;
    char *figure_notice; /* why figures were not drawn; NULL: they were, or none were asked for */
};

/* --- runs.c: finding and reading --- */
nvdp_status nvdp__report_read(struct nvdp_context *ctx, struct nvdp_report *report);
/* Adds a note; takes nothing over. */
nvdp_status nvdp__report_note(struct nvdp_context *ctx, struct nvdp_report *report,
                              const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* --- read_run.c --- */
/* Fills a zeroed *run from a directory that has run.json and result.json.  NVDP_ERR_INPUT: broken,
 * the message recorded. */
nvdp_status nvdp__report_read_run(struct nvdp_context *ctx, const char *path, const char *name,
                                  struct nvdp__report_run *run);
void nvdp__report_run_release(struct nvdp__report_run *run);
/* --- read_privacy.c --- */
/* privacy.json, reuse.json, attack.json, where they are. */
nvdp_status nvdp__report_read_privacy(struct nvdp_context *ctx, struct nvdp__report_run *run);
/* --- options.c --- */
/* run->variant from run->config. */
nvdp_status nvdp__report_options(struct nvdp_context *ctx, struct nvdp__report_run *run);
/* "nvdp train ..." that would make the run again; free(). */
char *nvdp__report_command(struct nvdp_context *ctx, const struct nvdp__report_run *run);
/* --- labels.c --- */
/* What the tables call each run's method: its name, and as many options as tell it from the others
 * of the same task.  label[runs], each free(). */
nvdp_status nvdp__report_labels(struct nvdp_context *ctx, const struct nvdp_report *report,
                                char **label);
/* --- groups.c --- */
nvdp_status nvdp__report_group(struct nvdp_context *ctx, struct nvdp_report *report);
bool nvdp__is_reference(const char *method);
/* The group of a task and family that was selected; NULL where there is none. */
const struct nvdp__group *nvdp__selected(const struct nvdp_report *report, size_t task,
                                         size_t family);
struct nvdp__stat nvdp__stat_of(size_t n, const double *values);

#endif
