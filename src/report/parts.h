/* What the chapters of a report share; each includes only what stands above it here:
 * text, options, runs, groups, significance, table, figure, labels, exposures, analyses, tables, plots, numbers, page, report. */
#ifndef NVDP_SRC_REPORT_PARTS_H
#define NVDP_SRC_REPORT_PARTS_H

#include "base/escape.h"
#include "base/json.h"
#include "report/report.h"
#include <nvdp/dchi.h>
#include <nvdp/method.h>
#include <nvdp/privacy.h>

/* --- what a report knows: runs, and groups of runs that differ in seed and fold only --- */

enum { REPORT_METRICS = 2, REPORT_TRADE_OFFS = 2 };

/* The baseline of the guess bound in reports: one guess in a thousand is right without a sample. */
#define REPORT_GUESS_BASELINE 0.001

/* Numbers that a run has one of, and a group a mean over its seeds.  NaN: there is none. */
enum report_quantity {
    REPORT_SUM_MAX,  /* Renyi divergence, nats, summed over all that is shared: largest */
    REPORT_SUM_MEAN, /* mean over pairs */
    REPORT_BOUND,    /* what the largest is proven to be at most, whatever the texts */
    REPORT_UNIT_MAX, /* the same per component and dimension, as in the published tables */
    REPORT_UNIT_MEAN,
    REPORT_INFINITE,        /* share of infinite pairs */
    REPORT_SUM_MAX_FINITE,  /* largest over the finite pairs: no privacy statement */
    REPORT_UNIT_MAX_FINITE, /* the same per component and dimension */
    REPORT_BDP_BEST,        /* Bayesian DP, best moment */
    REPORT_BDP_PUBLISHED,   /* moment 1.1 */
    REPORT_EPSILON_MAX,     /* at bdp's delta, converted from the divergences: largest pair's */
    REPORT_EPSILON_MEAN,
    REPORT_EXACT_MAX, /* the same, exact: nvdp privacy --exact */
    REPORT_EXACT_MEAN,
    REPORT_LINKED,    /* share of samples whose text is named among the measured ones */
    REPORT_CERTIFIED, /* proven over all texts, at delta 1e-5, of one sample of a text */
    REPORT_GUESS, /* proven: success of a guess with baseline .001 that reads one sample, at most */
    REPORT_BITS,  /* proven: information that one sample carries about its text, at most */
    REPORT_VECTORS,      /* effective number of vectors of a text: mean over texts */
    REPORT_VECTORS_LOW,  /* 5 % quantile */
    REPORT_VECTORS_HIGH, /* 95 % */
    REPORT_TOKEN_SHARE,
    REPORT_ABS_MU,
    REPORT_SIGMA,
    REPORT_REUSE,  /* score of a reader that sees the shared file alone: reuse.json */
    REPORT_ATTACK, /* of one that looks for a private attribute: attack.json */
    REPORT_QUANTITIES
};

struct report_epoch {
    double epoch, validation, task_loss;
};

/* How a privacy.json was measured: runs are comparable where these agree. */
struct report_measured {
    double order, delta, texts, releases;
    char split[32];
    bool same_length;  /* adjacency */
    bool given_length; /* of privatized texts, whose lengths are public: pairs of one length */
    bool drawn;        /* mean and shares are estimates from drawn pairs */
    double population; /* others that the text of bdp's largest epsilon was compared with; NaN */
};

/* A complete measurement of a run. */
struct report_candidate {
    char *path;
    struct report_measured how;
    bool exact; /* with the exact loss */
};

struct report_run {
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
    char *metric[REPORT_METRICS]; /* as they may be printed */
    char *metric_key;             /* of the first, as files have it */
    double score[REPORT_METRICS]; /* NaN from [metrics] on */
    double majority;              /* first metric of always saying the most frequent class; NaN */
    double validation, seconds;
    double quantity[REPORT_QUANTITIES];
    char *infinite, *infinite_published; /* why, in words; NULL: nothing is, or nobody knows */
    bool measured;
    struct report_candidate *candidate;
    size_t candidates, candidate_capacity;
    size_t part,
        part_of;    /* texts of a measurement that is not complete; 0: there is none, or unknown */
    bool sanitized; /* its data are what nvdp sanitize wrote of the task */
    struct report_measured how;
    double alpha_count[NVDP_ALPHA_BINS]; /* tokens by log10 alpha; all 0: unknown */
    double alpha_first, alpha_width;
    /* [worst, typical pair]: true positives of the best test between its texts, at nvdp_exact_fpr(); NaN */
    double tpr[REPORT_TRADE_OFFS][NVDP_EXACT_FPRS];
    struct report_epoch *epoch;
    size_t epochs, epoch_capacity;
    char *command;
};

/* A directory that is not counted, and why. */
struct report_note {
    char *name, *text;
};

struct report_stat {
    size_t n;
    double mean; /* +inf where any is; NaN where n is 0 */
    double sd;   /* divisor n - 1; NaN where n < 2 or mean is infinite */
    double max;  /* NaN where n is 0 */
};

struct report_task_rows {
    char *label;
    const char *task, *data; /* of its runs */
    const struct report_run *first;
    double majority; /* mean over its runs, as each fold has its own; NaN */
};

/* One method with one set of options, over tasks and settings: what of lambda and C it was given. */
struct report_family {
    char *label;
    const char *method;
    bool reference; /* base, reg: nothing private */
    int shade;      /* how many before it have looks of one kind with its own */
};

/* Runs that differ in their seed only, or in the fold of a cross validation: repetitions. */
struct report_group {
    size_t task, family;
    double lambda_g, lambda_d, clip_sequence, eta;
    const struct report_run **run; /* [runs] by seed, fold */
    size_t runs;
    struct report_stat score[REPORT_METRICS];
    struct report_stat validation, majority;
    struct report_stat quantity[REPORT_QUANTITIES];
    const struct report_run *best; /* largest validation score, the smallest seed on ties */
    bool selected;                 /* report_chosen() of all */
};

/* What nvdp sanitize --analyse printed; last, nvdp attack. */
enum {
    REPORT_ANALYSIS_GEOMETRY,
    REPORT_ANALYSIS_DENIABILITY,
    REPORT_ANALYSIS_INVERSION,
    REPORT_ANALYSIS_MASK,
    REPORT_ANALYSIS_EXPOSURE,
    REPORT_ANALYSIS_ATTACK /* of the other kinds */
};
struct report_analysis {
    char *name; /* of its file */
    json_t *root;
    int kind;
    const char *mechanism, *task; /* the root's; task NULL: of another text, or the vocabulary */
    double eta;                   /* 0: none */
    char *
        label; /* of the texts and the table: "sst2 dev, 29523 x 384"; of an attack: of the model */
};

struct report {
    char *directory, *out, *gnuplot;
    bool figures;
    struct report_run *run;
    size_t runs, run_capacity;
    struct report_note *note;
    size_t notes, note_capacity;
    struct report_task_rows *task;
    size_t tasks;
    struct report_family *family;
    size_t families;
    struct report_group *group; /* by task, family, then from the least private setting on */
    size_t groups;
    double *budget; /* [budgets] nats */
    size_t budgets;
    struct report_analysis *analysis; /* by kind, label, mechanism, eta */
    size_t analyses, analysis_capacity;
    char *figure_notice; /* why figures were not drawn; NULL: they were, or none were asked for */
};

/* What the tables call its method: what makes it private. */
static inline const char *report_method_of(const struct report_run *run) {
    return run->sanitizer != NULL ? run->sanitizer : run->method;
}

/* All groups, in their order. */
#define REPORT_EACH_GROUP(report, item)                                                            \
    const struct report_group *item = (report)->group;                                             \
    item < (report)->group + (report)->groups;                                                     \
    item++

/* --- text.c: numbers and names as a report prints them, and what each format needs escaped --- */

enum { NVDP__NUMBER_SIZE = 64 };

/* Bytes of a file's name without .json. */
int report_stem(const char *name);

/* Three digits or more: "0.0123", "66.1", "392488", "1.25e-06"; "inf", "-inf"; "-" for NaN. */
const char *report_say_number(char text[NVDP__NUMBER_SIZE], double value);
/* A score between -1 and 1 as 100 times it, with one decimal. */
const char *report_say_score(char text[NVDP__NUMBER_SIZE], double value);
/* "83.0 +- 0.4", or "83.0" where there is no spread. */
const char *report_say_score_stat(char text[NVDP__NUMBER_SIZE], const struct report_stat *stat);
/* "44.3 %"; a share is never rounded to none or to all. */
const char *report_say_share(char text[NVDP__NUMBER_SIZE], double share);
/* A number, and where it is infinite the share of pairs that are: "inf (44.3 %)". */
const char *report_say_divergence(char text[NVDP__NUMBER_SIZE], double value, double share);
/* "1e-3"; "-" for NaN. */
const char *report_say_lambda(char text[NVDP__NUMBER_SIZE], double lambda);
/* What tells the group from others of its family: "lambda 1e-3", "lambda G 1e-3, D 1e-2", "C 1.5",
 * "C 1.5, lambda 1e-3"; "-": nothing does. */
const char *report_say_setting(char text[NVDP__NUMBER_SIZE], const struct report_group *group);
/* The same for a drawing's points, where lambda is not named: "1e-3", "C 1.5". */
const char *report_say_point(char text[NVDP__NUMBER_SIZE], const struct report_group *group);
/* A probability: "0.032", "<0.001". */
const char *report_say_p(char text[NVDP__NUMBER_SIZE], double p);

/* A member of what a program printed: a number, NaN where it is none; a text, "" where it is none. */
double report_real_of(const json_t *object, const char *key);
const char *report_text_of(const json_t *object, const char *key);

/* The shortest form that reads back as the same number. */
void report_put_real(FILE *to, double value);

/* Code points. */
size_t report_text_width(const char *text);

/* A text being written. */
struct report_sheet {
    FILE *to; /* NULL: out of memory */
    char *text;
    size_t size;
};
/* *sheet is zeroed, or was finished. */
FILE *report_sheet_open(struct report_sheet *sheet);
/* The finished text, free(); NULL with the error recorded. */
char *report_sheet_text(struct nvdp_context *ctx, struct report_sheet *sheet);
/* Writes it to DIRECTORY/name. */
nvdp_status report_sheet_write(struct nvdp_context *ctx, struct report_sheet *sheet,
                               const char *directory, const char *name);

/* --- options.c --- */

/* Describes the method of a run; false for a mechanism of text privatization, or an unknown name. */
bool report_method(const char *name, struct nvdp_method_info *out);
/* base and reg: nothing private. */
bool report_is_reference(const char *method);
/* Gaussians alone: no Dirichlet, and no lambda_D. */
bool report_is_gaussian(const char *method);
/* run->variant from run->config. */
nvdp_status report_options(struct nvdp_context *ctx, struct report_run *run);
/* "nvdp train ..." that would make the run again; free(). */
char *report_command(struct nvdp_context *ctx, const struct report_run *run);

/* --- runs.c: finding and reading --- */

nvdp_status report_read(struct nvdp_context *ctx, struct report *report);
void report_run_release(struct report_run *run);
/* Adds a note; takes nothing over. */
nvdp_status report_note(struct nvdp_context *ctx, struct report *report, const char *name,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- groups.c --- */

nvdp_status report_group(struct nvdp_context *ctx, struct report *report);
/* Below 0, 0, above 0: by seed, then by fold. */
int report_by_repetition(const struct report_run *a, const struct report_run *b);
/* The group of a task and family with the largest mean validation score, the more private one on
 * ties; of those alone in which no seed's quantity is above `limit`, or missing; NaN: of all.  NULL
 * where there is none. */
const struct report_group *report_chosen(const struct report *report, size_t task, size_t family,
                                         enum report_quantity quantity, double limit);
/* Of all. */
const struct report_group *report_selected(const struct report *report, size_t task, size_t family);
struct report_stat report_stat_of(size_t n, const double *values);

/* --- significance.c: whether methods differ beyond the seeds' chance --- */

struct report_paired {
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
struct report_paired report_paired_t(size_t n, const double *a, const double *b);

/* Holm (1979): p-values of n tests made together, adjusted such that calling all below x
 * significant errs at all with probability x at most, whatever their dependence.  NaN is no test:
 * it is not counted and stays.  `adjusted` may not be p. O(n^2). */
void report_holm(size_t n, const double *p, double *adjusted);

/* Tests of one task: every pair of families that share two repetitions at least. */
struct report_comparison {
    size_t task, a, b; /* families */
    size_t seeds;
    double mean, low, high, t, p, holm; /* of a - b, in the score's own unit */
};
/* Of all tasks; *out has *count items, free(). */
nvdp_status report_compare(struct nvdp_context *ctx, const struct report *report,
                           struct report_comparison **out, size_t *count);

/* --- table.c: a table as text, and its formats --- */

struct report_cell {
    char *text;
    double value; /* what competes with others of its column; NaN: nothing */
    bool strong;  /* the best of its column */
};

/* A row with a heading has one cell, over all columns. */
struct report_row {
    struct report_cell *cell; /* [columns] */
    bool heading;
};

struct report_column {
    char *name;  /* both lines: "RD max [nats]" */
    size_t head; /* bytes of the first line */
    bool number; /* right-aligned */
    bool later;  /* on the page, in a second table */
};

struct report_table {
    struct nvdp_context *ctx;
    const char *name;  /* of its files: "table1" */
    const char *title; /* one line */
    struct report_column *column;
    size_t columns, column_capacity;
    struct report_row *row;
    size_t rows, row_capacity;
    size_t filled; /* cells of the last row */
    char **note;   /* below the table, in words */
    size_t notes, note_capacity;
    nvdp_status status; /* of building: the first failure */
};

/* Building: failures are kept in `status` and everything after them does nothing. */
struct report_table report_table_begin(struct nvdp_context *ctx, const char *name,
                                       const char *title);
/* `unit`, which may be "", stands below the name where there is room for two lines. */
void report_table_column(struct report_table *table, bool number, const char *name,
                         const char *unit);
void report_table_heading(struct report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_table_row(struct report_table *table);
/* The next cell of the last row. */
void report_table_cell(struct report_table *table, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "low to high", both times `unit`; "-" where there is no interval. */
void report_table_interval(struct report_table *table, const json_t *interval, double unit);
void report_table_note(struct report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void report_table_release(struct report_table *table);
/* Neither rows nor notes: of analyses that nobody made. */
static inline bool report_table_is_empty(const struct report_table *table) {
    return table->rows == 0 && table->notes == 0;
}

/* The formats; none checks its writes: the caller does so with ferror. */
void report_table_text(const struct report_table *table, FILE *to);
/* The same without notes, and one note. */
void report_table_body(const struct report_table *table, FILE *to);
void report_table_put_note(const char *note, FILE *to);
/* Whether one of the `tables` tables has the note. */
bool report_said_before(const struct report_table *table, int tables, const char *note);
/* Every row has the heading it stands under in its first column; no notes. */
void report_table_csv(const struct report_table *table, FILE *to);
void report_table_markdown(const struct report_table *table, FILE *to);
/* A table environment that compiles with or without booktabs. */
void report_table_latex(const struct report_table *table, FILE *to);
/* One table without notes, or two where some columns come later. */
void report_table_html(const struct report_table *table, FILE *to);

/* --- tables.c: the tables of a report --- */

enum { REPORT_TABLES = 11, REPORT_ANALYSIS_TABLES = 5 };
/* Makes Table 1, Table 1 as published, budgets, methods that are not private, Table 2, significance; and of analyses
 * inversion, attacks, mask inference, exposure, audit, without rows where there are none.  On failure none is made. */
nvdp_status report_tables_make(struct nvdp_context *ctx, const struct report *report,
                               struct report_table table[REPORT_TABLES]);
void report_tables_release(struct report_table table[REPORT_TABLES]);

/* --- figure.c: gnuplot scripts and the data they draw, one folder, so that anybody can draw them
 * again --- */

struct report_figure {
    const char *name; /* of its files */
    const char *title;
    const char *caption; /* what it shows, in a sentence */
    int width, height;   /* in pixels */
    bool empty;          /* none of its points is finite: it is not drawn */
    char *script, *data; /* NAME.gp, NAME.dat */
};

struct report_figures {
    struct report_figure *item;
    size_t count, capacity;
};

/* Which families are named below the panels: none, those that have pseudo-counts, all. */
enum report_legend { REPORT_LEGEND_NONE, REPORT_LEGEND_WEIGHTED, REPORT_LEGEND_ALL };
/* A figure being written. */
struct report_drawing {
    struct nvdp_context *ctx;
    struct report_figure figure;
    size_t panels, across, down;
    enum report_legend kind;
    size_t legend;  /* lines of it */
    size_t next;    /* index of the next block of data */
    size_t plotted; /* elements of the panel so far */
    size_t data_size, script_size;
    FILE *data, *script;
};
nvdp_status report_drawing_begin(struct nvdp_context *ctx, const struct report *report,
                                 const char *name, const char *title, const char *caption,
                                 size_t panels, size_t across, enum report_legend legend,
                                 struct report_drawing *out);
/* Places the next panel's axes; labels are plain text. */
void report_drawing_panel(struct report_drawing *drawing, size_t panel, const char *title,
                          const char *x, const char *y);
/* Pixels between the axes of a panel, across and up. */
void report_drawing_area(const struct report_drawing *drawing, double size[2]);
/* Starts a block of data under a comment; returns its index. */
size_t report_drawing_block(struct report_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of data: numbers, and a text where it is not NULL, with tabs between them. */
void report_drawing_row(struct report_drawing *drawing, const double *values, size_t count,
                        const char *text);
/* Begins the panel's next element: "plot", or a comma, and the block it draws (SIZE_MAX: none). */
void report_drawing_plot(struct report_drawing *drawing, size_t block);
/* Figures whose lines are no families: where their names stand, how the next element of the panel looks and
 * what it is called, and its colour alone. */
void report_drawing_key(struct report_drawing *drawing, const char *where);
void report_drawing_series(struct report_drawing *drawing, size_t series, const char *title);
const char *report_series_colour(size_t series);
/* Adds the finished figure to the list, or on failure releases it. */
nvdp_status report_drawing_end(struct report_drawing *drawing, struct report_figures *figures);

/* How a family looks in all figures: colours that the colour-blind can tell apart (Okabe & Ito
 * 2008), a marker a method. */
struct report_look {
    const char *colour; /* "#0072b2" */
    int filled, open;   /* gnuplot's point types */
    int dash;
};
/* Whether two methods' looks are of one kind: of one method, or of any that has none of its own. */
bool report_same_look(const char *method, const char *other);
struct report_look report_look_of(const struct report_family *family);

/* --- labels.c: the labels of a panel's points --- */

/* A point, in pixels from the panel's lower left corner, and its label. */
struct report_spot {
    double x, y;
    double width;  /* pixels */
    int side;      /* 0, 1: to the right; 2, 3: to the left; odd: above */
    bool labelled; /* somewhere beside the point is room */
};
/* Sets side and labelled; the first points choose first.  O(count^2). */
void report_place_labels(struct report_spot *spot, size_t count, const double size[2]);
void report_put_label(FILE *to, const struct report_spot *spot, const double size[2],
                      const char *text, const char *colour);

/* --- figure.c, again: drawing --- */

/* Writes a figure's script and data into the folder and runs the program on it: SVG, PNG, PDF. Old
 * drawings are removed first.  *notice: NULL, or why there are none; free().  Only what is not the
 * drawing program's fault is an error. */
nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct report_figure *figure, char **notice);
/* The drawing as it can stand in a page with others: without its XML head, its names made its own;
 * NULL with the error recorded. */
char *report_inline_svg(struct nvdp_context *ctx, const char *svg, const char *name);

/* --- attacks.c: of what runs share --- */

/* NVDP_ERR_INPUT where the object is none that nvdp attack prints. */
nvdp_status report_attack_parse(struct nvdp_context *ctx, const char *path,
                                struct report_analysis *a);
struct report_table report_table_attacks(struct nvdp_context *ctx, const struct report *report);

/* --- exposures.c: of models that planted secrets were looked for in (nvdp attack) --- */

/* Of a->root: label and mechanism, which is the model; the file's name without its end tells models apart. */
nvdp_status report_exposure_parse(struct nvdp_context *ctx, const char *path,
                                  struct report_analysis *a);
struct report_table report_table_exposure(struct nvdp_context *ctx, const struct report *report);
struct report_table report_table_audit(struct nvdp_context *ctx, const struct report *report);
/* Hoory et al. 2021, Figure 2, where there is an attack. */
nvdp_status report_exposure_figure(struct nvdp_context *ctx, const struct report *report,
                                   struct report_figures *out);

/* --- analyses.c: of text privatization --- */

/* Those in DIRECTORY/analyses, and the files and folders of `list` (NULL: none); what is none becomes a
 * note. */
nvdp_status report_analyses_read(struct nvdp_context *ctx, const char *list, struct report *report);
void report_analysis_release(struct report_analysis *analysis);
struct report_table report_table_inversion(struct nvdp_context *ctx, const struct report *report);
struct report_table report_table_mask(struct nvdp_context *ctx, const struct report *report);
/* Those that have something to show, also of runs. */
nvdp_status report_analysis_figures(struct nvdp_context *ctx, const struct report *report,
                                    struct report_figures *out);

/* --- plots.c: which figures there are --- */

/* All figures that have something to show. */
nvdp_status report_figures_make(struct nvdp_context *ctx, const struct report *report,
                                struct report_figures *out);
void report_figures_release(struct report_figures *figures);

/* --- numbers.c: the numbers behind the tables, in full, for programs --- */

/* A row per group: mean and standard deviation over seeds of everything. */
void report_groups_csv(const struct report *report, FILE *to);
/* A row per run. */
void report_runs_csv(const struct report *report, FILE *to);

/* --- page.c --- */

struct report_page {
    const struct report *report;
    const struct report_table *table; /* [REPORT_TABLES] */
    const struct report_figures *figures;
    char **svg; /* [figures->count] to stand in the page; NULL: not drawn */
    const char *created;
};
/* One self-contained HTML page. */
void report_page(FILE *to, const struct report_page *page);

#endif
