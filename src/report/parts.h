/* Declarations that the parts of a report share. Each part includes only parts above it in this order: table, variants,
 * numbers, runs, groups, figure, attacks, analyses, tables, plots, page, report. */
#ifndef NVDP_SRC_REPORT_PARTS_H
#define NVDP_SRC_REPORT_PARTS_H

#include "base/json.h"
#include "base/sentence.h"
#include "report/report.h"
#include <nvdp/dchi.h>
#include <nvdp/method.h>
#include <nvdp/privacy.h>

/* --- data of a report: runs, and groups of runs that differ only in seed and fold --- */

enum { REPORT_METRICS = 2, REPORT_TRADE_OFFS = 2 };

/* Baseline of the guess bound in reports: one guess in a thousand is right without a sample. */
#define REPORT_GUESS_BASELINE 0.001

/* Quantities of a run. A group has the mean of a quantity over its seeds. A missing quantity is NaN. */
enum report_quantity {
    REPORT_SUM_MAX,  /* Renyi divergence in nats, summed over all shared values: maximum */
    REPORT_SUM_MEAN, /* mean over pairs */
    REPORT_BOUND,    /* proven upper bound of the maximum, for any texts */
    REPORT_UNIT_MAX, /* REPORT_SUM_MAX per component and dimension, as in the published tables */
    REPORT_UNIT_MEAN,
    REPORT_INFINITE,        /* share of infinite pairs */
    REPORT_SUM_MAX_FINITE,  /* maximum over the finite pairs; not a privacy statement */
    REPORT_UNIT_MAX_FINITE, /* REPORT_SUM_MAX_FINITE per component and dimension */
    REPORT_BDP_BEST,        /* Bayesian DP, best moment */
    REPORT_BDP_PUBLISHED,   /* moment 1.1 */
    REPORT_EPSILON_MAX,     /* epsilon from the divergences at bdp's delta: maximum over pairs */
    REPORT_EPSILON_MEAN,
    REPORT_EXACT_MAX, /* the exact value of this epsilon, by nvdp privacy --exact */
    REPORT_EXACT_MEAN,
    REPORT_LINKED,    /* share of samples whose text is identified among the measured texts */
    REPORT_CERTIFIED, /* proven epsilon over all texts of one sample at delta 1e-5 */
    /* Proven upper bound of the success of a guess with baseline .001 after one sample. */
    REPORT_GUESS,
    REPORT_BITS,         /* proven upper bound of the information of one sample about its text */
    REPORT_WORD,         /* proven epsilon per word of one sample at delta 1e-5 */
    REPORT_WORD_GUESS,   /* proven bound of a guess of one word, baseline .001, other words known */
    REPORT_VECTORS,      /* effective number of vectors per text: mean over texts */
    REPORT_VECTORS_LOW,  /* 5 % quantile of this number over texts */
    REPORT_VECTORS_HIGH, /* 95 % quantile of this number over texts */
    REPORT_TOKEN_SHARE,
    REPORT_ABS_MU,
    REPORT_SIGMA,
    REPORT_REUSE,  /* score of a reader that sees only the shared file: reuse.json */
    REPORT_ATTACK, /* score of a reader that predicts a private attribute: attack.json */
    REPORT_QUANTITIES
};

/* The place of a number in a file, up to three keys deep, and its range. */
struct report_place {
    const char *key[3];
    double min, max;
    bool needed;
};

/* The kind of a quantity, which determines the format. A group has the mean over its seeds, or, for a proven upper
 * bound, the maximum over its seeds. */
enum report_kind {
    REPORT_NUMBER,
    REPORT_SHARE,
    REPORT_PROVEN, /* rounded up */
    REPORT_PROVEN_SHARE,
    REPORT_SCORE
};
/* The object that has the quantity. */
enum report_source_of { REPORT_NOT_READ, REPORT_OF_PRIVACY, REPORT_OF_POSTERIOR };

/* A quantity. Tables show a quantity that some group has. */
struct report_quantity_row {
    const char *name; /* name in files */
    enum report_kind kind;
    int better;       /* +1 if larger is better, -1 if smaller is better, 0 if not compared */
    bool always;      /* true if tables show the quantity even without a value */
    bool if_infinite; /* true if tables show the quantity when a pair has infinite divergence */
    bool log;         /* true if figures draw the quantity on a logarithmic axis */
    enum report_source_of of;
    struct report_place place;
};
extern const struct report_quantity_row report_quantities[REPORT_QUANTITIES];

struct report_epoch {
    double epoch, validation, task_loss;
};

/* The options with which a privacy.json was measured. Runs with equal values are comparable. */
struct report_measured {
    double order, delta, texts, releases;
    char split[32];
    bool same_length;  /* true if pairs are limited to texts of the same length */
    bool given_length; /* true if text lengths are public, so pairs have equal lengths */
    bool drawn;        /* true if mean and shares are estimates from drawn pairs */
    /* Texts compared with the text of bdp's largest epsilon; NaN if not measured. */
    double population;
};

/* A complete measurement of a run. */
struct report_candidate {
    char *path;
    json_t *root; /* the file's object, until a candidate is chosen */
    struct report_measured how;
    bool exact; /* the measurement has the exact loss */
};

struct report_run {
    char *name; /* name of the run's directory, as shown */
    char *path;
    json_t *file;    /* contents of run.json */
    json_t *config;  /* its member "config" */
    json_t *variant; /* flat options by name, without options that make no different method */
    char *task, *method, *data;
    char *label, *model; /* from sweep.json, or NULL; `model` is the grid's path, with {options} */
    /* Mechanism that privatizes the run's texts, such as "santext"; NULL if there is none. */
    char *sanitizer;
    double eta;                /* noise of the mechanism; NaN without a mechanism */
    double lambda_g, lambda_d; /* weights of the two regularizers; NaN if the method has none */
    double clip_sequence;      /* C; NaN without a sequence clip */
    uint64_t seed;
    int64_t fold; /* fold of --folds, from 1; 0 without folds */
    int metrics;
    char *metric[REPORT_METRICS]; /* names for printing */
    char *metric_key;             /* first metric, as in files */
    double score[REPORT_METRICS]; /* NaN from index `metrics` on */
    double majority; /* score of the most frequent class; NaN if result.json has none */
    double validation, seconds;
    double training_epsilon,
        /* Guarantee of private training for one training example; NaN if there is none. */
        training_delta;
    double quantity[REPORT_QUANTITIES];
    char *infinite,
        *infinite_published; /* reason why divergences are infinite; NULL if they are finite */
    bool measured;
    struct report_candidate *candidate;
    size_t candidates, candidate_capacity;
    size_t part, part_of; /* measured texts and all texts; 0 if complete or unknown */
    bool sanitized;       /* true if nvdp sanitize wrote the run's data */
    bool insecure_seed;   /* true if a seed determined the draws of nvdp sanitize */
    bool own_texts; /* the vocabulary, or the sensitive words, were chosen by the private texts */
    struct report_measured how;
    double alpha_count[NVDP_ALPHA_BINS]; /* tokens per bin of log10 alpha; all 0 if unknown */
    double alpha_first, alpha_width;
    /* [worst, typical pair]: true-positive rate of the best test between the pair's texts at
     * nvdp_exact_fpr(); NaN if unknown */
    double tpr[REPORT_TRADE_OFFS][NVDP_EXACT_FPRS];
    struct report_epoch *epoch;
    size_t epochs, epoch_capacity;
    char *command;
};

/* A directory that is not counted, and the reason. */
struct report_note {
    char *name, *text;
};

struct report_stat {
    size_t n;
    double mean; /* +inf if any value is infinite; NaN if n is 0 */
    double sd;   /* standard deviation with divisor n - 1; NaN if n < 2 or the mean is infinite */
    double max;  /* maximum; NaN if n is 0 */
};

struct report_task_rows {
    char *label;
    const char *task, *data; /* from the runs of the task */
    const struct report_run *first;
    /* Majority-class score, mean over runs, because folds differ; NaN if no run has one. */
    double majority;
};

/* One method with one set of options, over tasks and over settings of lambda and C. */
struct report_family {
    char *label;
    const char *method;
    int place;      /* position of the method in the order of methods */
    bool reference; /* the method is base or reg, without privacy */
    int shade;      /* number of earlier families with the same kind of look */
};

/* Runs that differ only in seed or fold: repetitions. */
struct report_group {
    size_t task, family;
    double lambda_g, lambda_d, clip_sequence, eta;
    const struct report_run **run; /* [runs], by seed and fold */
    size_t runs;
    struct report_stat score[REPORT_METRICS];
    struct report_stat validation, majority;
    struct report_stat quantity[REPORT_QUANTITIES];
    const struct report_run *best; /* largest validation score; the smallest seed on ties */
    bool selected;                 /* report_chosen() without a limit */
};

/* Kinds of analyses: kinds of nvdp sanitize --analyse, then kinds of nvdp attack. */
enum {
    REPORT_ANALYSIS_GEOMETRY,
    REPORT_ANALYSIS_DENIABILITY,
    REPORT_ANALYSIS_INVERSION,
    REPORT_ANALYSIS_MASK,
    REPORT_ANALYSIS_REPLACEMENTS,
    REPORT_ANALYSIS_EXPOSURE,
    REPORT_ANALYSIS_ATTACK /* kinds other than exposure */
};
struct report_analysis {
    char *name; /* name of the analysis's file */
    json_t *root;
    int kind;
    /* From the root; task is NULL for another text or the vocabulary. */
    const char *mechanism, *task;
    double eta;  /* 0 if there is none */
    char *label; /* names texts and table, "sst2 dev, 29523 x 384", or the model of an attack */
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
    struct report_group *group; /* ordered by task and family, least private setting first */
    size_t groups;
    double *budget; /* [budgets], in nats */
    size_t budgets;
    struct report_analysis *analysis; /* ordered by kind, label, mechanism, eta */
    size_t analyses, analysis_capacity;
    char *figure_notice; /* why figures were not drawn; NULL if they were drawn or not requested */
};

/* Returns the name of the method in tables: the mechanism that makes it private. */
static inline const char *report_method_name(const struct report_run *run) {
    return run->sanitizer != NULL ? run->sanitizer : run->method;
}

/* Loops over all groups in order. */
#define REPORT_EACH_GROUP(report, item)                                                            \
    const struct report_group *item = (report)->group;                                             \
    item < (report)->group + (report)->groups;                                                     \
    item++

/* --- table.c: prints numbers and names, and escapes them for each format --- */

enum { NVDP__NUMBER_SIZE = 64 };
/* A short text by value. */
struct report_text {
    char text[NVDP__NUMBER_SIZE];
};

/* Returns the length of a file's name without .json. */
int report_stem(const char *name);

/* Formats like printf, cut to the size of a short text. */
struct report_text report_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Formats at least three digits: "0.0123", "66.1", "392488", "1.25e-06"; "inf", "-inf"; "-" for NaN. */
struct report_text report_say_number(double value);
/* Formats a score from -1 to 1 as 100 times its value with one decimal. */
struct report_text report_say_score(double value);
/* Formats "83.0 +- 0.4", or "83.0" without a spread. */
struct report_text report_say_score_stat(const struct report_stat *stat);
/* Formats "44.3 %"; never rounds a share to 0 or 100 %. */
struct report_text report_say_share(double share);
/* Formats 100 times a share: "44.31"; "-" for NaN. */
struct report_text report_say_percent(double share);
/* Formats "1e-3"; "-" for NaN. */
struct report_text report_say_lambda(double lambda);
/* Formats the setting of a group within its family: "lambda 1e-3", "lambda G 1e-3, D 1e-2", "C 1.5", "C 1.5, lambda
 * 1e-3"; "-" if there is none. */
struct report_text report_say_setting(const struct report_group *group);
/* Formats the setting for points of a drawing, without the word lambda: "1e-3", "C 1.5". */
struct report_text report_say_point(const struct report_group *group);
/* Formats a probability: "0.032", "<0.001". */
struct report_text report_say_p(double p);
/* Formats "low to high", where both ends are multiplied by `unit`; "-" without an interval. */
struct report_text report_say_interval(const json_t *interval, double unit);

/* Return a member of printed output: a number, or NaN if it is missing; a text, or "" if it is missing. */
double report_member_real(const json_t *object, const char *key);
const char *report_member_text(const json_t *object, const char *key);

/* Writes the shortest form that reads back as the same number. */
void report_put_real(FILE *to, double value);

/* Returns the number of code points. */
size_t report_text_width(const char *text);

/* Writes a text, escaped for a format, between two strings of that format. */
void report_put(FILE *to, void (*escape)(FILE *to, const char *text), const char *before,
                const char *text, const char *after);
/* Writes the text that `print` prints about `of` to DIRECTORY/name. */
nvdp_status report_write_printed(struct nvdp_context *ctx, const char *directory, const char *name,
                                 void (*print)(const void *of, FILE *to), const void *of);

/* --- variants.c --- */

/* Describes a run's method. Returns false for a mechanism of text privatization or an unknown name. */
bool report_method(const char *name, struct nvdp_method_info *out);
/* Returns true for base and reg, which are not private. */
bool report_is_reference(const char *method);
/* Returns true for methods with Gaussians only, which have no Dirichlet distribution and no lambda_D. */
bool report_is_gaussian(const char *method);
/* Returns true if the noise of the run's texts came from the seed: whoever knows the seed can remove this noise. */
bool report_is_seeded(const struct report_run *run);
/* Sets run->variant from run->config. */
nvdp_status report_options(struct nvdp_context *ctx, struct report_run *run);
/* Sets run->command to the command line "nvdp train ..." that repeats the run. */
nvdp_status report_command(struct nvdp_context *ctx, struct report_run *run);

/* --- numbers.c: quantities --- */

bool report_is_proven(enum report_quantity quantity);
/* Returns a group's value of a quantity: the mean over seeds, or, for a proven upper bound, the maximum. */
double report_value(const struct report_group *group, enum report_quantity quantity);

/* --- runs.c: finds and reads runs --- */

nvdp_status report_read(struct nvdp_context *ctx, struct report *report);
void report_run_release(struct report_run *run);
/* Adds a note and copies the strings of the note. */
nvdp_status report_note(struct nvdp_context *ctx, struct report *report, const char *name,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Calls `read` for every visible entry of a folder, sorted by name. */
nvdp_status report_each_entry(struct nvdp_context *ctx, struct report *report,
                              const char *directory,
                              nvdp_status (*read)(struct nvdp_context *ctx, struct report *report,
                                                  const char *directory, const char *name));

/* --- groups.c --- */

nvdp_status report_group(struct nvdp_context *ctx, struct report *report);
/* Compares by seed, then by fold. */
int report_by_repetition(const struct report_run *a, const struct report_run *b);
/* Returns the group of a task and family with the largest mean validation score; on ties, the more private group.
 * With a `limit`, considers only groups in which every seed has the quantity and no seed exceeds the limit. Returns
 * NULL if there is no such group. */
const struct report_group *report_chosen(const struct report *report, size_t task, size_t family,
                                         enum report_quantity quantity, double limit);
/* Does report_chosen() without a limit. */
const struct report_group *report_selected(const struct report *report, size_t task, size_t family);
struct report_stat report_summarize(size_t n, const double *values);

/* --- groups.c: tests whether methods differ by more than chance between seeds --- */

struct report_paired {
    size_t n;         /* number of pairs */
    double mean, sd;  /* mean and sd of a - b; sd has divisor n-1, and is NaN for n < 2 */
    double t;         /* mean / (sd / sqrt(n)) */
    double p;         /* two-sided p-value */
    double low, high; /* 95 % confidence interval of the mean difference */
};

/* Does Student's paired t-test (1908) of a[n] against b[n] with n-1 degrees of freedom. The test assumes that the
 * differences are normal draws, one per seed; this approximation is usual, and rough with five seeds. t, p, low and
 * high are NaN without spread: for fewer than two pairs, a score that is not finite, or equal differences (to 1e-12
 * of the scores). p is 1 if all differences are 0. */
struct report_paired report_paired_t(size_t n, const double *a, const double *b);

/* Adjusts p-values of n simultaneous tests by Holm (1979): if all adjusted values below x are called significant, any
 * error has probability at most x, whatever the dependence. Ignores NaN. `adjusted` must not be p. O(n^2). */
void report_holm(size_t n, const double *p, double *adjusted);

/* A test within one task, of two families that share at least two repetitions. */
struct report_comparison {
    size_t task, a, b; /* families */
    size_t seeds;
    double mean, low, high, t, p, holm; /* test of a - b, in units of the score */
};
/* Compares families in all tasks. *out has *count items; the caller frees it with free(). */
nvdp_status report_compare(struct nvdp_context *ctx, const struct report *report,
                           struct report_comparison **out, size_t *count);

/* --- table.c: builds a table and writes its formats --- */

struct report_cell {
    char *text;
    double value; /* number to compare within the column, or to draw; NaN for neither */
    bool strong;  /* best of the column */
};

/* A row. A heading has one cell that spans all columns. */
struct report_row {
    struct report_cell *cell; /* [columns] */
    bool heading;
};

struct report_column {
    char *name;  /* both lines of the name: "RD max [nats]" */
    size_t head; /* bytes of the first line */
    bool number; /* right-aligned */
    bool later;  /* shown in a second table on the page */
};

/* On the page, notes about runs are below their table; explanations of columns are in a separate section. */
enum report_note_kind { REPORT_EXPLAINS, REPORT_OF_RUNS };
struct report_table_note {
    char *text;
    enum report_note_kind kind;
};

struct report_table {
    struct nvdp_context *ctx;
    const char *name;  /* name of the table's files: "table1" */
    const char *title; /* one line */
    struct report_column *column;
    size_t columns, column_capacity;
    struct report_row *row;
    size_t rows, row_capacity;
    size_t filled;                  /* number of cells of the last row so far */
    struct report_table_note *note; /* notes below the table */
    size_t notes, note_capacity;
    nvdp_status status; /* first failure while building */
};

/* Builds a table of `texts` columns with texts, then columns with numbers, NULL-terminated. `status` keeps the first
 * failure; later calls do nothing. */
struct report_table report_table_begin(struct nvdp_context *ctx, const char *name,
                                       const char *title, size_t texts, const char *const *columns);
#define REPORT_COLUMNS(...)                                                                        \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }
/* Adds a column of numbers. `unit`, which may be "", is below the name in formats with two header lines. */
void report_table_column(struct report_table *table, const char *name, const char *unit);
void report_table_heading(struct report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Starts a row with the cells of a text, which are separated by tabs. */
void report_table_row(struct report_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds the next cell of the last row. */
void report_table_cell(struct report_table *table, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the number that a cell of the last row shows. */
void report_table_value(struct report_table *table, size_t column, double value);
void report_table_note(struct report_table *table, enum report_note_kind kind, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
void report_table_release(struct report_table *table);

/* Write the table `of`, a struct report_table. */
void report_table_text(const void *of, FILE *to);
void report_table_csv(
    const void *of, FILE *to); /* with the heading of each row in the first column, without notes */
void report_table_markdown(const void *of, FILE *to);
void report_table_latex(const void *of,
                        FILE *to); /* a table environment that compiles with or without booktabs */
/* Write the table without notes, and a single note. */
void report_table_body(const struct report_table *table, FILE *to);
void report_table_put_note(const char *note, FILE *to);
/* Returns true if one of the `tables` tables has the note. */
bool report_said_before(const struct report_table *table, int tables, const char *note);
/* Writes one table without notes, or two tables if some columns come later. */
void report_table_html(const struct report_table *table, FILE *to);

/* --- tables.c: the tables of a report --- */

enum { REPORT_TABLES = 12, REPORT_ANALYSIS_TABLES = 6 };
/* The tables: Table 1, Table 1 as published, budgets, methods without privacy, Table 2 and significance; then from
 * analyses inversion, replacements, attacks, mask inference, exposure and audit, which have no rows without analyses.
 * On failure, no table is made. */
struct report_tables {
    struct report_table table[REPORT_TABLES];
};
nvdp_status report_tables_make(struct nvdp_context *ctx, const struct report *report,
                               struct report_tables *out);
void report_tables_release(struct report_tables *tables);

/* --- figure.c: writes gnuplot scripts and data in one folder, so that anybody can redraw the figures --- */

struct report_figure {
    const char *name; /* name of the figure's files */
    const char *title;
    const char *caption; /* one sentence */
    int width, height;   /* size in pixels */
    bool empty;          /* no point is finite, so the figure is not drawn */
    char *script, *data; /* contents of NAME.gp and NAME.dat */
};

struct report_figures {
    struct report_figure *item;
    size_t count, capacity;
};

/* Families in the legend below the panels: none, families with pseudo-counts, all. */
enum report_legend { REPORT_LEGEND_NONE, REPORT_LEGEND_WEIGHTED, REPORT_LEGEND_ALL };
/* A figure under construction. */
struct report_drawing {
    struct nvdp_context *ctx;
    struct report_figure figure;
    size_t panels, across, down;
    enum report_legend kind;
    size_t legend;  /* number of lines of the legend */
    size_t next;    /* index of the next data block */
    size_t plotted; /* number of elements of the panel so far */
    size_t first;   /* first block of the panel, if the panel has a key */
    size_t series;  /* number of the panel's lines so far; line k has block first + k */
    size_t data_size, script_size;
    FILE *data, *script;
    /* First failure. After a failure, only report_drawing_end() may be called. */
    nvdp_status status;
};
/* Begins a drawing. `figure` has name, title and caption. */
void report_drawing_begin(struct nvdp_context *ctx, const struct report *report,
                          const struct report_figure *figure, size_t panels, size_t across,
                          enum report_legend legend, struct report_drawing *out);
/* Starts a panel and places its axes. Labels are plain text. */
void report_drawing_panel(struct report_drawing *drawing, size_t panel, const char *title,
                          const char *x, const char *y);
/* Returns the size of a panel between its axes, in pixels: width, height. */
void report_drawing_area(const struct report_drawing *drawing, double size[2]);
/* Starts a data block under a comment, which begins with the block's index. Returns the index. */
size_t report_drawing_block(struct report_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes a line of data, separated by tabs: numbers, then the text if not NULL. */
void report_drawing_row(struct report_drawing *drawing, const double *values, size_t count,
                        const char *text);
/* Adds an element to the panel: the block to draw, or SIZE_MAX for none, and gnuplot's words for the element. */
void report_drawing_plot(struct report_drawing *drawing, size_t block, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For figures whose lines are not families: set the position of the key, add a line with points under its title,
 * return the color of a line, and end the panel. `columns` and `bars` are columns of the line's block; `bars` may be
 * NULL. */
void report_drawing_key(struct report_drawing *drawing, const char *where);
void report_drawing_line(struct report_drawing *drawing, const char *columns, const char *bars,
                         const char *title);
const char *report_series_colour(size_t series);
void report_drawing_end_key(struct report_drawing *drawing);
/* Adds the finished figure to the list; on failure releases it. */
nvdp_status report_drawing_end(struct report_drawing *drawing, struct report_figures *figures);

/* The panels of a figure: a function that returns the number of panels of a task, or of an analysis, and a function
 * that draws these panels from index `panel` on. */
struct report_source {
    bool of_tasks;
    size_t (*panels)(const struct report *report, size_t i);
    void (*draw)(struct report_drawing *drawing, const struct report *report, size_t i,
                 size_t panel);
};

/* A family's look in all figures: colors that color-blind readers can distinguish (Okabe & Ito 2008), and a marker per
 * method. */
struct report_look {
    const char *colour; /* "#0072b2" */
    int filled, open;   /* gnuplot's point types */
    int dash;
};
/* Returns true if two methods have the same kind of look: the methods are equal, or both have the look for other
 * methods. */
bool report_same_look(const char *method, const char *other);
struct report_look report_family_look(const struct report_family *family);

/* --- figure.c: the labels of a panel's points --- */

/* A point in pixels from the panel's lower left corner, and its label. */
struct report_spot {
    double x, y;
    double width;  /* pixels */
    int side;      /* 0 and 1 are right, 2 and 3 left; odd sides are above */
    bool labelled; /* true if the label has room beside the point */
};
/* Sets side and labelled. Earlier points have priority. O(count^2). */
void report_place_labels(struct report_spot *spot, size_t count, const double size[2]);
void report_put_label(FILE *to, const struct report_spot *spot, const double size[2],
                      const char *text, const char *colour);

/* --- figure.c: runs gnuplot --- */

/* Writes a figure's script and data into the folder and runs the program on it, for SVG, PNG and PDF. Removes old
 * drawings first. *notice is NULL, or the reason if there are no drawings; the caller frees it with free(). A failure
 * of the drawing program is not an error. */
nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct report_figure *figure, char **notice);
/* Makes an SVG that can be inlined in a page with other drawings: without the XML head, with unique names. The caller
 * frees it with free(). */
nvdp_status report_inline_svg(struct nvdp_context *ctx, const char *svg, const char *name,
                              char **out);

/* --- attacks.c: attacks on the samples of runs --- */

/* Reads the output of nvdp attack. Returns NVDP_ERR_INPUT for other objects. */
nvdp_status report_attack_parse(struct nvdp_context *ctx, const char *path,
                                struct report_analysis *a);
/* Columns with numbers that the page draws: shares of right guesses, and their proven bounds. */
enum { REPORT_ATTACK_SHARE = 3, REPORT_ATTACK_BOUND = 7 };
struct report_table report_table_attacks(struct nvdp_context *ctx, const struct report *report);

/* --- attacks.c: attacks on models with planted secrets (nvdp attack) --- */

/* Sets label and mechanism (the model) from a->root. The file's name without the extension distinguishes models. */
nvdp_status report_exposure_parse(struct nvdp_context *ctx, const char *path,
                                  struct report_analysis *a);
struct report_table report_table_exposure(struct nvdp_context *ctx, const struct report *report);
struct report_table report_table_audit(struct nvdp_context *ctx, const struct report *report);
/* Draws Figure 2 of Hoory et al. 2021. */
size_t report_exposure_panels(const struct report *report, size_t i);
void report_exposure_draw(struct report_drawing *drawing, const struct report *report, size_t i,
                          size_t panel);

/* --- analyses.c: analyses of text privatization --- */

/* Reads the analyses in DIRECTORY/analyses and the files and folders of `list` (NULL if there is none). Notes files
 * that are not analyses. */
nvdp_status report_analyses_read(struct nvdp_context *ctx, const char *list, struct report *report);
void report_analysis_release(struct report_analysis *analysis);
struct report_table report_table_inversion(struct nvdp_context *ctx, const struct report *report);
struct report_table report_table_mask(struct nvdp_context *ctx, const struct report *report);
struct report_table report_table_replacements(struct nvdp_context *ctx,
                                              const struct report *report);
/* Adds the figures that have data, from analyses and runs. */
nvdp_status report_analysis_figures(struct nvdp_context *ctx, const struct report *report,
                                    struct report_figures *out);

/* --- plots.c: figures of runs --- */

/* Makes all figures that have data. */
nvdp_status report_figures_make(struct nvdp_context *ctx, const struct report *report,
                                struct report_figures *out);
void report_figures_release(struct report_figures *figures);

/* --- numbers.c: the full numbers of the tables, for programs --- */
/* Writes a row per group of a struct report: mean and standard deviation over seeds of all quantities. */
void report_groups_csv(const void *of, FILE *to);
/* Writes a row per run. */
void report_runs_csv(const void *of, FILE *to);

/* --- page.c --- */

struct report_page {
    const struct report *report;
    const struct report_table *table; /* [REPORT_TABLES] */
    const struct report_figures *figures;
    char **svg; /* [figures->count] drawings for the page; NULL if not drawn */
    const char *created;
};
/* Writes one self-contained HTML page of a struct report_page. */
void report_page(const void *of, FILE *to);

#endif
