/* What the chapters of a report share; each includes only what stands above it here:
 * text, options, runs, groups, significance, table, figure, labels, exposures, analyses, tables, plots, numbers, page, report. */
#ifndef NVDP_EXPERIMENTS_REPORT_PARTS_H
#define NVDP_EXPERIMENTS_REPORT_PARTS_H

#include "base/escape.h"
#include "base/json.h"
#include "experiments/report/report.h"
#include <nvdp/privacy.h>

/* --- what a report knows: runs, and groups of runs that differ in seed and fold only --- */

enum { NVDP__REPORT_METRICS = 2, NVDP__TRADE_OFFS = 2 };

/* The baseline of the guess bound in reports: one guess in a thousand is right without a sample. */
#define NVDP__GUESS_BASELINE 0.001

/* Numbers that a run has one of, and a group a mean over its seeds.  NaN: there is none. */
enum nvdp__quantity {
    NVDP__SUM_MAX,  /* Renyi divergence, nats, summed over all that is shared: largest */
    NVDP__SUM_MEAN, /* mean over pairs */
    NVDP__BOUND,    /* what the largest is proven to be at most, whatever the texts */
    NVDP__UNIT_MAX, /* the same per component and dimension, as in the published tables */
    NVDP__UNIT_MEAN,
    NVDP__INFINITE,        /* share of infinite pairs */
    NVDP__SUM_MAX_FINITE,  /* largest over the finite pairs: no privacy statement */
    NVDP__UNIT_MAX_FINITE, /* the same per component and dimension */
    NVDP__BDP_BEST,        /* Bayesian DP, best moment */
    NVDP__BDP_PUBLISHED,   /* moment 1.1 */
    NVDP__EPSILON_MAX,     /* at bdp's delta, converted from the divergences: largest pair's */
    NVDP__EPSILON_MEAN,
    NVDP__EXACT_MAX, /* the same, exact: nvdp privacy --exact */
    NVDP__EXACT_MEAN,
    NVDP__LINKED,    /* share of samples whose text is named among the measured ones */
    NVDP__CERTIFIED, /* proven over all texts, at delta 1e-5, of one sample of a text */
    NVDP__GUESS, /* proven: success of a guess with baseline .001 that reads one sample, at most */
    NVDP__BITS,  /* proven: information that one sample carries about its text, at most */
    NVDP__VECTORS,      /* effective number of vectors of a text: mean over texts */
    NVDP__VECTORS_LOW,  /* 5 % quantile */
    NVDP__VECTORS_HIGH, /* 95 % */
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
    char split[32];
    bool same_length;  /* adjacency */
    bool given_length; /* of privatized texts, whose lengths are public: pairs of one length */
    bool drawn;        /* mean and shares are estimates from drawn pairs */
    double population; /* others that the text of bdp's largest epsilon was compared with; NaN */
};

/* A complete measurement of a run. */
struct nvdp__candidate {
    char *path;
    struct nvdp__measured how;
    bool exact; /* with the exact loss */
};

struct nvdp__report_run {
    char *name; /* of its directory, as shown */
    char *path;
    json_t *file;    /* run.json */
    json_t *config;  /* in it */
    json_t *variant; /* options by name without what is no difference between methods: flat */
    char *task, *method, *data, *label; /* label: sweep.json's, NULL where none */
    char *sanitizer;           /* what privatizes its texts: "santext", ...; NULL: nothing */
    double eta;                /* its noise; NaN */
    double lambda_g, lambda_d; /* NaN where the method has none */
    double clip_sequence;      /* C, NaN where nothing is clipped so */
    uint64_t seed;
    int64_t fold; /* of --folds, from 1 on; 0: none */
    int metrics;
    char *metric[NVDP__REPORT_METRICS]; /* as they may be printed */
    char *metric_key;                   /* of the first, as files have it */
    double score[NVDP__REPORT_METRICS]; /* NaN from [metrics] on */
    double majority; /* first metric of always saying the most frequent class; NaN */
    double validation, seconds;
    double quantity[NVDP__QUANTITIES];
    char *infinite, *infinite_published; /* why, in words; NULL: nothing is, or nobody knows */
    bool measured;
    struct nvdp__candidate *candidate;
    size_t candidates, candidate_capacity;
    size_t part,
        part_of;    /* texts of a measurement that is not complete; 0: there is none, or unknown */
    bool sanitized; /* its data are what nvdp sanitize wrote of the task */
    struct nvdp__measured how;
    double alpha_count[NVDP_ALPHA_BINS]; /* tokens by log10 alpha; all 0: unknown */
    double alpha_first, alpha_width;
    /* [worst, typical pair]: true positives of the best test between its texts, at nvdp_exact_fpr[]; NaN */
    double tpr[NVDP__TRADE_OFFS][NVDP_EXACT_FPRS];
    struct nvdp__report_epoch *epoch;
    size_t epochs, epoch_capacity;
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
    double max;  /* NaN where n is 0 */
};

struct nvdp__task_rows {
    char *label;
    const char *task, *data; /* of its runs */
    const struct nvdp__report_run *first;
    double majority; /* mean over its runs, as each fold has its own; NaN */
};

/* One method with one set of options, over tasks and settings: what of lambda and C it was given. */
struct nvdp__family {
    char *label;
    const char *method;
    bool reference; /* base, reg: nothing private */
    int shade;      /* how many before it have looks of one kind with its own */
};

/* Runs that differ in their seed only, or in the fold of a cross validation: repetitions. */
struct nvdp__group {
    size_t task, family;
    double lambda_g, lambda_d, clip_sequence, eta;
    const struct nvdp__report_run **run; /* [runs] by seed, fold */
    size_t runs;
    struct nvdp__stat score[NVDP__REPORT_METRICS];
    struct nvdp__stat validation, majority;
    struct nvdp__stat quantity[NVDP__QUANTITIES];
    const struct nvdp__report_run *best; /* largest validation score, the smallest seed on ties */
    bool selected;                       /* nvdp__chosen() of all */
};

/* What nvdp sanitize --analyse printed; last, nvdp attack. */
enum {
    NVDP__ANALYSIS_GEOMETRY,
    NVDP__ANALYSIS_DENIABILITY,
    NVDP__ANALYSIS_INVERSION,
    NVDP__ANALYSIS_MASK,
    NVDP__ANALYSIS_EXPOSURE,
    NVDP__ANALYSIS_ATTACK /* of the other kinds */
};
struct nvdp__analysis {
    char *name; /* of its file */
    json_t *root;
    int kind;
    const char *mechanism, *task; /* the root's; task NULL: of another text, or the vocabulary */
    double eta;                   /* 0: none */
    char *
        label; /* of the texts and the table: "sst2 dev, 29523 x 384"; of an attack: of the model */
};

struct nvdp_report {
    char *directory, *out, *gnuplot;
    bool figures;
    struct nvdp__report_run *run;
    size_t runs, run_capacity;
    struct nvdp__report_note *note;
    size_t notes, note_capacity;
    struct nvdp__task_rows *task;
    size_t tasks;
    struct nvdp__family *family;
    size_t families;
    struct nvdp__group *group; /* by task, family, then from the least private setting on */
    size_t groups;
    double *budget; /* [budgets] nats */
    size_t budgets;
    struct nvdp__analysis *analysis; /* by kind, label, mechanism, eta */
    size_t analyses, analysis_capacity;
    char *figure_notice; /* why figures were not drawn; NULL: they were, or none were asked for */
};

/* What the tables call its method: what makes it private. */
static inline const char *nvdp__method_of(const struct nvdp__report_run *run) {
    return run->sanitizer != NULL ? run->sanitizer : run->method;
}

/* All groups, in their order. */
#define NVDP__EACH_GROUP(report, item)                                                             \
    const struct nvdp__group *item = (report)->group;                                              \
    item < (report)->group + (report)->groups;                                                     \
    item++

/* --- text.c: numbers and names as a report prints them, and what each format needs escaped --- */

enum { NVDP__NUMBER_SIZE = 64 };

/* Three digits or more: "0.0123", "66.1", "392488", "1.25e-06"; "inf", "-inf"; "-" for NaN. */
const char *nvdp__say_number(char text[NVDP__NUMBER_SIZE], double value);
/* A score between -1 and 1 as 100 times it, with one decimal. */
const char *nvdp__say_score(char text[NVDP__NUMBER_SIZE], double value);
/* "83.0 +- 0.4", or "83.0" where there is no spread. */
const char *nvdp__say_score_stat(char text[NVDP__NUMBER_SIZE], const struct nvdp__stat *stat);
/* "44.3 %"; a share is never rounded to none or to all. */
const char *nvdp__say_share(char text[NVDP__NUMBER_SIZE], double share);
/* A number, and where it is infinite the share of pairs that are: "inf (44.3 %)". */
const char *nvdp__say_divergence(char text[NVDP__NUMBER_SIZE], double value, double share);
/* "1e-3"; "-" for NaN. */
const char *nvdp__say_lambda(char text[NVDP__NUMBER_SIZE], double lambda);
/* What tells the group from others of its family: "lambda 1e-3", "lambda G 1e-3, D 1e-2", "C 1.5",
 * "C 1.5, lambda 1e-3"; "-": nothing does. */
const char *nvdp__say_setting(char text[NVDP__NUMBER_SIZE], const struct nvdp__group *group);
/* The same for a drawing's points, where lambda is not named: "1e-3", "C 1.5". */
const char *nvdp__say_point(char text[NVDP__NUMBER_SIZE], const struct nvdp__group *group);
/* A probability: "0.032", "<0.001". */
const char *nvdp__say_p(char text[NVDP__NUMBER_SIZE], double p);

/* A member of what a program printed: a number, NaN where it is none; a text, "" where it is none. */
double nvdp__real_of(const json_t *object, const char *key);
const char *nvdp__text_of(const json_t *object, const char *key);

/* The shortest form that reads back as the same number. */
void nvdp__put_real(FILE *to, double value);

/* Code points. */
size_t nvdp__text_width(const char *text);

/* A text being written. */
struct nvdp__sheet {
    FILE *to; /* NULL: out of memory */
    char *text;
    size_t size;
};
/* *sheet is zeroed, or was finished. */
FILE *nvdp__sheet_open(struct nvdp__sheet *sheet);
/* The finished text, free(); NULL with the error recorded. */
char *nvdp__sheet_text(struct nvdp_context *ctx, struct nvdp__sheet *sheet);
/* Writes it to DIRECTORY/name. */
nvdp_status nvdp__sheet_write(struct nvdp_context *ctx, struct nvdp__sheet *sheet,
                              const char *directory, const char *name);

/* --- options.c --- */

/* base and reg: nothing private. */
bool nvdp__is_reference(const char *method);
/* Gaussians alone: no Dirichlet, and no lambda_D. */
bool nvdp__is_gaussian(const char *method);
/* run->variant from run->config. */
nvdp_status nvdp__report_options(struct nvdp_context *ctx, struct nvdp__report_run *run);
/* "nvdp train ..." that would make the run again; free(). */
char *nvdp__report_command(struct nvdp_context *ctx, const struct nvdp__report_run *run);

/* --- runs.c: finding and reading --- */

nvdp_status nvdp__report_read(struct nvdp_context *ctx, struct nvdp_report *report);
void nvdp__report_run_release(struct nvdp__report_run *run);
/* Adds a note; takes nothing over. */
nvdp_status nvdp__report_note(struct nvdp_context *ctx, struct nvdp_report *report,
                              const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- groups.c --- */

nvdp_status nvdp__report_group(struct nvdp_context *ctx, struct nvdp_report *report);
/* Below 0, 0, above 0: by seed, then by fold. */
int nvdp__by_repetition(const struct nvdp__report_run *a, const struct nvdp__report_run *b);
/* The group of a task and family with the largest mean validation score, the more private one on
 * ties; of those alone in which no seed's quantity is above `limit`, or missing; NaN: of all.  NULL
 * where there is none. */
const struct nvdp__group *nvdp__chosen(const struct nvdp_report *report, size_t task, size_t family,
                                       enum nvdp__quantity quantity, double limit);
/* Of all. */
const struct nvdp__group *nvdp__selected(const struct nvdp_report *report, size_t task,
                                         size_t family);
struct nvdp__stat nvdp__stat_of(size_t n, const double *values);

/* --- significance.c: whether methods differ beyond the seeds' chance --- */

struct nvdp__paired {
    size_t n;         /* pairs */
    double mean, sd;  /* of a - b; sd with divisor n-1, NaN for fewer than two */
    double t;         /* mean / (sd / sqrt(n)) */
    double p;         /* two-sided */
    double low, high; /* 95 % confidence interval of the mean difference */
};

/* Student's paired t-test (1908) of a[n] against b[n], n-1 degrees of freedom.  It takes the
 * differences as normal draws, one a seed: for differences between seeds a usual approximation, and
 * with five seeds a rough one.  t, p, low and high are NaN where there is no spread to judge by:
 * fewer than two pairs, a score that is not finite, or differences that are all the same (to 1e-12
 * of the scores); but p is 1 where all differences are 0. */
struct nvdp__paired nvdp__paired_t(size_t n, const double *a, const double *b);

/* Holm (1979): p-values of n tests made together, adjusted such that calling all below x
 * significant errs at all with probability x at most, whatever their dependence.  NaN is no test:
 * it is not counted and stays.  `adjusted` may not be p. O(n^2). */
void nvdp__holm(size_t n, const double *p, double *adjusted);

/* Tests of one task: every pair of families that share two repetitions at least. */
struct nvdp__comparison {
    size_t task, a, b; /* families */
    size_t seeds;
    double mean, low, high, t, p, holm; /* of a - b, in the score's own unit */
};
/* Of all tasks; *out has *count items, free(). */
nvdp_status nvdp__compare(struct nvdp_context *ctx, const struct nvdp_report *report,
                          struct nvdp__comparison **out, size_t *count);

/* --- table.c: a table as text, and its formats --- */

struct nvdp__cell {
    char *text;
    double value; /* what competes with others of its column; NaN: nothing */
    bool strong;  /* the best of its column */
};

/* A row with a heading has one cell, over all columns. */
struct nvdp__row {
    struct nvdp__cell *cell; /* [columns] */
    bool heading;
};

struct nvdp__column {
    char *name;  /* both lines: "RD max [nats]" */
    size_t head; /* bytes of the first line */
    bool number; /* right-aligned */
};

struct nvdp__table {
    struct nvdp_context *ctx;
    const char *name;  /* of its files: "table1" */
    const char *title; /* one line */
    struct nvdp__column *column;
    size_t columns, column_capacity;
    struct nvdp__row *row;
    size_t rows, row_capacity;
    size_t filled; /* cells of the last row */
    char **note;   /* below the table, in words */
    size_t notes, note_capacity;
    nvdp_status status; /* of building: the first failure */
};

/* Building: failures are kept in `status` and everything after them does nothing. */
struct nvdp__table nvdp__table_begin(struct nvdp_context *ctx, const char *name, const char *title);
/* `unit`, which may be "", stands below the name where there is room for two lines. */
void nvdp__table_column(struct nvdp__table *table, bool number, const char *name, const char *unit);
void nvdp__table_heading(struct nvdp__table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nvdp__table_row(struct nvdp__table *table);
/* The next cell of the last row. */
void nvdp__table_cell(struct nvdp__table *table, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "low to high", both times `unit`; "-" where there is no interval. */
void nvdp__table_interval(struct nvdp__table *table, const json_t *interval, double unit);
void nvdp__table_note(struct nvdp__table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nvdp__table_release(struct nvdp__table *table);
/* Neither rows nor notes: of analyses that nobody made. */
static inline bool nvdp__table_is_empty(const struct nvdp__table *table) {
    return table->rows == 0 && table->notes == 0;
}

/* The formats; none checks its writes: the caller does so with ferror. */
void nvdp__table_text(const struct nvdp__table *table, FILE *to);
/* The same without notes, and one note. */
void nvdp__table_body(const struct nvdp__table *table, FILE *to);
void nvdp__table_put_note(const char *note, FILE *to);
/* Every row has the heading it stands under in its first column; no notes. */
void nvdp__table_csv(const struct nvdp__table *table, FILE *to);
void nvdp__table_markdown(const struct nvdp__table *table, FILE *to);
/* A table environment that compiles with or without booktabs. */
void nvdp__table_latex(const struct nvdp__table *table, FILE *to);
void nvdp__table_html(const struct nvdp__table *table, FILE *to);

/* --- tables.c: the tables of a report --- */

enum { NVDP__TABLES = 11, NVDP__ANALYSIS_TABLES = 5 };
/* Makes Table 1, Table 1 as published, budgets, methods that are not private, Table 2, significance; and of analyses
 * inversion, attacks, mask inference, exposure, audit, without rows where there are none.  On failure none is made. */
nvdp_status nvdp__tables_make(struct nvdp_context *ctx, const struct nvdp_report *report,
                              struct nvdp__table table[NVDP__TABLES]);
void nvdp__tables_release(struct nvdp__table table[NVDP__TABLES]);

/* --- figure.c: gnuplot scripts and the data they draw, one folder, so that anybody can draw them
 * again --- */

struct nvdp__figure {
    const char *name; /* of its files */
    const char *title;
    const char *caption; /* what it shows, in a sentence */
    int width, height;   /* in pixels */
    char *script, *data; /* NAME.gp, NAME.dat */
};

struct nvdp__figures {
    struct nvdp__figure *item;
    size_t count, capacity;
};

/* Which families are named below the panels: none, those that have pseudo-counts, all. */
enum nvdp__legend { NVDP__LEGEND_NONE, NVDP__LEGEND_WEIGHTED, NVDP__LEGEND_ALL };
/* A figure being written. */
struct nvdp__drawing {
    struct nvdp_context *ctx;
    struct nvdp__figure figure;
    size_t panels, across, down;
    enum nvdp__legend kind;
    size_t legend;  /* lines of it */
    size_t next;    /* index of the next block of data */
    size_t plotted; /* elements of the panel so far */
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
/* Pixels between the axes of a panel, across and up. */
void nvdp__drawing_area(const struct nvdp__drawing *drawing, double size[2]);
/* Starts a block of data under a comment; returns its index. */
size_t nvdp__drawing_block(struct nvdp__drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of data: numbers, and a text where it is not NULL, with tabs between them. */
void nvdp__drawing_row(struct nvdp__drawing *drawing, const double *values, size_t count,
                       const char *text);
/* Begins the panel's next element: "plot", or a comma, and the block it draws (SIZE_MAX: none). */
void nvdp__drawing_plot(struct nvdp__drawing *drawing, size_t block);
/* Figures whose lines are no families: where their names stand, how the next element of the panel looks and
 * what it is called, and its colour alone. */
void nvdp__drawing_key(struct nvdp__drawing *drawing, const char *where);
void nvdp__drawing_series(struct nvdp__drawing *drawing, size_t series, const char *title);
const char *nvdp__series_colour(size_t series);
/* Adds the finished figure to the list, or on failure releases it. */
nvdp_status nvdp__drawing_end(struct nvdp__drawing *drawing, struct nvdp__figures *figures);

/* How a family looks in all figures: colours that the colour-blind can tell apart (Okabe & Ito
 * 2008), a marker a method. */
struct nvdp__look {
    const char *colour; /* "#0072b2" */
    int filled, open;   /* gnuplot's point types */
    int dash;
};
/* Whether two methods' looks are of one kind: of one method, or of any that has none of its own. */
bool nvdp__same_look(const char *method, const char *other);
struct nvdp__look nvdp__look_of(const struct nvdp__family *family);

/* --- labels.c: the labels of a panel's points --- */

/* A point, in pixels from the panel's lower left corner, and its label. */
struct nvdp__spot {
    double x, y;
    double width;  /* pixels */
    int side;      /* 0, 1: to the right; 2, 3: to the left; odd: above */
    bool labelled; /* somewhere beside the point is room */
};
/* Sets side and labelled; the first points choose first.  O(count^2). */
void nvdp__place_labels(struct nvdp__spot *spot, size_t count, const double size[2]);
void nvdp__put_label(FILE *to, const struct nvdp__spot *spot, const double size[2],
                     const char *text, const char *colour);

/* --- figure.c, again: drawing --- */

/* Writes a figure's script and data into the folder and runs the program on it: SVG, PNG, PDF. Old
 * drawings are removed first.  *notice: NULL, or why there are none; free().  Only what is not the
 * drawing program's fault is an error. */
nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct nvdp__figure *figure, char **notice);
/* The drawing as it can stand in a page with others: without its XML head, its names made its own;
 * NULL with the error recorded. */
char *nvdp__inline_svg(struct nvdp_context *ctx, const char *svg, const char *name);

/* --- attacks.c: of what runs share --- */

/* Bytes of a file's name without .json. */
int nvdp__stem(const char *name);
/* NVDP_ERR_INPUT where the object is none that nvdp attack prints. */
nvdp_status nvdp__attack_parse(struct nvdp_context *ctx, const char *path,
                               struct nvdp__analysis *a);
struct nvdp__table nvdp__table_attacks(struct nvdp_context *ctx, const struct nvdp_report *report);

/* --- exposures.c: of models that planted secrets were looked for in (nvdp attack) --- */

/* Of a->root: label and mechanism, which is the model; the file's name without its end tells models apart. */
nvdp_status nvdp__exposure_parse(struct nvdp_context *ctx, const char *path,
                                 struct nvdp__analysis *a);
struct nvdp__table nvdp__table_exposure(struct nvdp_context *ctx, const struct nvdp_report *report);
struct nvdp__table nvdp__table_audit(struct nvdp_context *ctx, const struct nvdp_report *report);
/* Hoory et al. 2021, Figure 2, where there is an attack. */
nvdp_status nvdp__exposure_figure(struct nvdp_context *ctx, const struct nvdp_report *report,
                                  struct nvdp__figures *out);

/* --- analyses.c: of text privatization --- */

/* Those in DIRECTORY/analyses, and the files and folders of `list` (NULL: none); what is none becomes a
 * note. */
nvdp_status nvdp__analyses_read(struct nvdp_context *ctx, const char *list,
                                struct nvdp_report *report);
void nvdp__analysis_release(struct nvdp__analysis *analysis);
struct nvdp__table nvdp__table_inversion(struct nvdp_context *ctx,
                                         const struct nvdp_report *report);
struct nvdp__table nvdp__table_mask(struct nvdp_context *ctx, const struct nvdp_report *report);
/* Those that have something to show, also of runs. */
nvdp_status nvdp__analysis_figures(struct nvdp_context *ctx, const struct nvdp_report *report,
                                   struct nvdp__figures *out);

/* --- plots.c: which figures there are --- */

/* All figures that have something to show. */
nvdp_status nvdp__figures_make(struct nvdp_context *ctx, const struct nvdp_report *report,
                               struct nvdp__figures *out);
void nvdp__figures_release(struct nvdp__figures *figures);

/* --- numbers.c: the numbers behind the tables, in full, for programs --- */

/* A row per group: mean and standard deviation over seeds of everything. */
void nvdp__groups_csv(const struct nvdp_report *report, FILE *to);
/* A row per run. */
void nvdp__runs_csv(const struct nvdp_report *report, FILE *to);

/* --- page.c --- */

struct nvdp__page {
    const struct nvdp_report *report;
    const struct nvdp__table *table; /* [NVDP__TABLES] */
    const struct nvdp__figures *figures;
    char **svg; /* [figures->count] to stand in the page; NULL: not drawn */
    const char *created;
};
/* One self-contained HTML page. */
void nvdp__page(FILE *to, const struct nvdp__page *page);

#endif
