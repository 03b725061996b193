/* The tables of a report. all_columns lists every column; each table selects some of them. Sections: columns, rows,
 * notes, tables. */
#include "report/parts.h"

#include "base/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- columns --- */

enum kind {
    SETTING,
    SEEDS,
    SCORE,      /* both metrics: mean and spread over seeds */
    BEST,       /* both metrics of the best seed */
    VALIDATION, /* mean and spread over seeds */
    READER,     /* a quantity that is a score */
    NUMBER,     /* mean of a quantity over seeds */
    SHARE,      /* mean of a share over seeds */
    PROVEN,     /* a proven upper bound: the largest over seeds, rounded up */
    PROVEN_SHARE,
    BEST_NUMBER, /* a quantity of the best seed */
    BEST_SHARE   /* a share of the best seed */
};

/* Tables that have the column. */
enum { FIRST = 1, PUBLISHED = 2, SECOND = 4 };

struct column {
    const char *name, *unit;
    enum kind kind;
    enum report_quantity quantity;
    int better; /* +1: larger is better; -1: smaller is better; 0: not compared */
    unsigned in;
    int rank; /* in Table 1 of the page, which shows the columns with the smallest ranks first */
};

static const struct column all_columns[] = {
    {"setting", "", SETTING, 0, 0, FIRST | PUBLISHED | SECOND, 1},
    {"seeds", "", SEEDS, 0, 0, FIRST | SECOND, 10},
    {"validation", "", VALIDATION, 0, 0, SECOND, 0},
    {"score", "", SCORE, 0, 1, FIRST | SECOND, 2},
    {"best of", "seeds", BEST, 0, 1, FIRST | SECOND, 12},
    {"score", "best of seeds", BEST, 0, 1, PUBLISHED, 0},
    {"named", "share", NUMBER, REPORT_LINKED, -1, FIRST | SECOND, 5},
    {"exact eps", "worst", NUMBER, REPORT_EXACT_MAX, -1, FIRST | SECOND, 7},
    {"exact eps", "mean", NUMBER, REPORT_EXACT_MEAN, -1, FIRST | SECOND, 13},
    {"RD max", "[nats]", NUMBER, REPORT_SUM_MAX, -1, FIRST | SECOND, 8},
    {"infinite", "pairs", SHARE, REPORT_INFINITE, 0, FIRST | SECOND, 14},
    {"RD max", "of the finite", NUMBER, REPORT_SUM_MAX_FINITE, 0, FIRST | SECOND, 15},
    {"bound", "[nats]", PROVEN, REPORT_BOUND, -1, FIRST | SECOND, 6},
    {"certified", "eps", PROVEN, REPORT_CERTIFIED, -1, FIRST | SECOND, 3},
    {"guess", ".1 % becomes", PROVEN_SHARE, REPORT_GUESS, -1, FIRST | SECOND, 4},
    {"bits", "at most", PROVEN, REPORT_BITS, -1, SECOND, 0},
    {"word eps", "proven", PROVEN, REPORT_WORD, -1, FIRST | SECOND, 3},
    {"word guess", ".1 % becomes", PROVEN_SHARE, REPORT_WORD_GUESS, -1, FIRST | SECOND, 4},
    {"RD mean", "[nats]", NUMBER, REPORT_SUM_MEAN, -1, FIRST | SECOND, 11},
    {"BDP", "best k", NUMBER, REPORT_BDP_BEST, -1, FIRST | SECOND, 9},
    {"BDP", "k=1.1", NUMBER, REPORT_BDP_PUBLISHED, -1, FIRST | SECOND, 16},
    {"BDP", "k=1.1", BEST_NUMBER, REPORT_BDP_PUBLISHED, -1, PUBLISHED, 0},
    {"RD max", "/comp.dim.", BEST_NUMBER, REPORT_UNIT_MAX, -1, PUBLISHED, 0},
    {"RD mean", "/comp.dim.", BEST_NUMBER, REPORT_UNIT_MEAN, -1, PUBLISHED, 0},
    {"infinite", "pairs", BEST_SHARE, REPORT_INFINITE, 0, PUBLISHED, 0},
    {"RD max", "finite /comp.dim.", BEST_NUMBER, REPORT_UNIT_MAX_FINITE, 0, PUBLISHED, 0},
    {"RD max", "/comp.dim.", NUMBER, REPORT_UNIT_MAX, -1, SECOND, 0},
    {"RD mean", "/comp.dim.", NUMBER, REPORT_UNIT_MEAN, -1, SECOND, 0},
    {"effective", "vectors", NUMBER, REPORT_VECTORS, 0, SECOND, 0},
    {"reader", "", READER, REPORT_REUSE, 0, SECOND, 0},
    {"attack", "", READER, REPORT_ATTACK, 0, SECOND, 0},
};
enum { COLUMNS = sizeof all_columns / sizeof *all_columns };

/* Formats "first / second", or only the first metric if there is no second. */
static void say_pair(char text[NVDP__NUMBER_SIZE], const char *first, const char *second) {
    if (second == NULL) {
        snprintf(text, NVDP__NUMBER_SIZE, "%s", first);
    } else {
        snprintf(text, NVDP__NUMBER_SIZE, "%.28s / %.28s", first, second);
    }
}

static const char *say_scores(char text[NVDP__NUMBER_SIZE], const struct report_group *group) {
    char first[NVDP__NUMBER_SIZE], second[NVDP__NUMBER_SIZE];
    say_pair(text, report_say_score_stat(first, &group->score[0]),
             group->score[1].n > 0 ? report_say_score_stat(second, &group->score[1]) : NULL);
    return text;
}

/* Formats "25.0 %", "none", or "-". */
static const char *say_infinite(char text[NVDP__NUMBER_SIZE], double share) {
    if (share > 0) return report_say_share(text, share);
    return isnan(share) ? "-" : "none";
}

/* Formats a proven upper bound, rounded up. */
static const char *say_proven(char text[NVDP__NUMBER_SIZE], enum kind kind, double value) {
    if (isnan(value)) return "-";
    return kind == PROVEN ? nvdp__bound(text, value) : nvdp__share_bound(text, value);
}

static const char *say(char text[NVDP__NUMBER_SIZE], const struct column *column,
                       const struct report_group *group) {
    char first[NVDP__NUMBER_SIZE], second[NVDP__NUMBER_SIZE];
    const struct report_stat *quantity = &group->quantity[column->quantity];
    const struct report_run *best = group->best;
    switch (column->kind) {
    case SETTING:
        return report_say_setting(text, group);
    case SEEDS:
        snprintf(text, NVDP__NUMBER_SIZE, "%zu", group->runs);
        return text;
    case SCORE:
        return say_scores(text, group);
    case BEST:
        say_pair(text, report_say_score(first, best->score[0]),
                 best->metrics > 1 ? report_say_score(second, best->score[1]) : NULL);
        return text;
    case VALIDATION:
        return report_say_score_stat(text, &group->validation);
    case READER:
        return report_say_score_stat(text, quantity);
    case NUMBER:
        return report_say_number(text, quantity->mean);
    case SHARE:
        return say_infinite(text, quantity->mean);
    case PROVEN:
    case PROVEN_SHARE:
        return say_proven(text, column->kind, quantity->max);
    case BEST_NUMBER:
        return report_say_number(text, best->quantity[column->quantity]);
    case BEST_SHARE:
        return say_infinite(text, best->quantity[column->quantity]);
    }
    return "";
}

static bool is_proven(enum kind kind) {
    return kind == PROVEN || kind == PROVEN_SHARE;
}

/* Returns the number of seeds in a mean or maximum if some of the group's seeds are missing, else 0. */
static size_t some_seeds(const struct column *column, const struct report_group *group) {
    const enum kind kind = column->kind;
    const bool all = kind == READER || kind == NUMBER || kind == SHARE || is_proven(kind);
    const size_t n = kind == VALIDATION ? group->validation.n
                     : all              ? group->quantity[column->quantity].n
                                        : 0;
    return n < group->runs ? n : 0;
}

/* Returns the value that is compared; NaN: none. */
static double value_of(const struct column *column, const struct report_group *group) {
    if (column->better == 0) return NAN;
    switch (column->kind) {
    case SCORE:
        return group->score[0].mean;
    case BEST:
        return group->best->score[0];
    case BEST_NUMBER:
        return group->best->quantity[column->quantity];
    case PROVEN:
    case PROVEN_SHARE:
        return group->quantity[column->quantity].max;
    default:
        return group->quantity[column->quantity].mean;
    }
}

/* --- rows --- */

struct choice {
    const struct column *column[COLUMNS];
    size_t columns;
    bool selected; /* only groups with the selected setting */
};

static bool any(const struct report *report, enum report_quantity quantity) {
    bool found = false;
    for (REPORT_EACH_GROUP(report, group)) {
        found |= group->quantity[quantity].n > 0;
    }
    return found;
}

/* Returns whether any measured pair of texts is infinitely far apart. */
static bool any_infinite(const struct report *report) {
    bool found = false;
    for (REPORT_EACH_GROUP(report, group)) {
        found |= group->quantity[REPORT_INFINITE].max > 0;
    }
    return found;
}

/* Omits columns of infinite pairs if there are none, and optional columns if no run has the quantity. */
static bool shown(const struct report *report, enum report_quantity quantity) {
    if (quantity == REPORT_INFINITE || quantity == REPORT_SUM_MAX_FINITE ||
        quantity == REPORT_UNIT_MAX_FINITE)
        return any_infinite(report);
    const bool always = quantity != REPORT_BOUND && quantity < REPORT_EXACT_MAX;
    return always || any(report, quantity);
}

static struct choice choose(const struct report *report, unsigned in) {
    struct choice made = {.selected = in != SECOND};
    for (const struct column *column = all_columns; column < all_columns + COLUMNS; column++) {
        if ((column->in & in) != 0 && shown(report, column->quantity))
            made.column[made.columns++] = column;
    }
    return made;
}

/* Upper bound of the Matthews or Pearson correlation that counts as chance; noise alone gives about 0. */
static const double NO_CORRELATION = .02;

/* Returns true if the score is no better than that of a constant prediction. */
static bool learned_nothing(const struct report *report, const struct report_group *group) {
    const char *metric = report->task[group->task].first->metric[0];
    const double score = group->score[0].mean;
    if (strcmp(metric, "accuracy") == 0) return score <= group->majority.mean; /* false for NaN */
    return (strcmp(metric, "matthews") == 0 || strcmp(metric, "pearson") == 0) &&
           score < NO_CORRELATION;
}

/* Smallest share of named texts that prints as 100 %. */
static const double NAMES_ALL = .995;

static bool names_all(const struct report_group *group) {
    return group->quantity[REPORT_LINKED].mean >= NAMES_ALL; /* false for NaN */
}

/* Returns true if a finite number is proven, or measured over all pairs, of all seeds, and not every text is named.
 * Other methods may hide nothing, so their scores are no merit. */
static bool hides(const struct report_group *group) {
    static const enum report_quantity stated[] = {REPORT_CERTIFIED, REPORT_WORD, REPORT_BOUND,
                                                  REPORT_EXACT_MAX, REPORT_SUM_MAX};
    bool finite = false;
    for (size_t k = 0; k < sizeof stated / sizeof *stated; k++) {
        const struct report_stat *of = &group->quantity[stated[k]];
        finite |= of->n == group->runs && isfinite(of->max);
    }
    return finite && !names_all(group);
}

static void add_row(struct report_table *table, const struct report *report,
                    const struct report_group *group, const struct choice *choice) {
    char text[NVDP__NUMBER_SIZE];
    const struct report_family *family = &report->family[group->family];
    /* privacy is easy if nothing was learned, and a score if nothing is hidden */
    bool competes =
        choice->selected && !family->reference && hides(group) && !learned_nothing(report, group);
    report_table_row(table);
    report_table_cell(table, NAN, "%s%s", family->label,
                      !family->reference && names_all(group) ? ", named 100 %" : "");
    for (size_t k = 0; k < choice->columns; k++) {
        const size_t some = some_seeds(choice->column[k], group);
        char part[NVDP__NUMBER_SIZE] = "";
        if (some > 0) snprintf(part, sizeof part, " (%zu of %zu)", some, group->runs);
        report_table_cell(table, competes ? value_of(choice->column[k], group) : NAN, "%s%s",
                          say(text, choice->column[k], group), part);
    }
}

/* Formats a value with the printed digits, which are compared. */
static const char *compared(char text[NVDP__NUMBER_SIZE], enum kind kind, int better,
                            double value) {
    if (is_proven(kind)) return say_proven(text, kind, value);
    return better > 0 ? report_say_score(text, value) : report_say_number(text, value);
}

/* Marks the best value of a column in the rows from `first` if at least two compete. Values that print the same are
 * tied. */
static void mark(struct report_table *table, size_t first, size_t column, enum kind kind,
                 int better) {
    char best[NVDP__NUMBER_SIZE], text[NVDP__NUMBER_SIZE];
    double value = NAN;
    size_t competing = 0;
    if (table->status != NVDP_OK || better == 0) return;
    for (size_t row = first; row < table->rows; row++) {
        double other = table->row[row].cell[column].value;
        competing += !isnan(other);
        if (isfinite(other) && !(better * other <= better * value)) value = other;
    }
    if (competing < 2 || isnan(value)) return;
    compared(best, kind, better, value);
    for (size_t row = first; row < table->rows; row++) {
        struct report_cell *cell = &table->row[row].cell[column];
        cell->strong = strcmp(compared(text, kind, better, cell->value), best) == 0;
    }
}

static void add_majority(struct report_table *table, const struct report_task_rows *task,
                         size_t columns, const struct choice *choice) {
    char text[NVDP__NUMBER_SIZE];
    if (isnan(task->majority)) return;
    report_table_row(table);
    report_table_cell(table, NAN, "majority class");
    for (size_t k = 0; k < columns; k++) {
        bool score =
            choice == NULL || choice->column[k]->kind == SCORE || choice->column[k]->kind == BEST;
        report_table_cell(table, NAN, "%s", score ? report_say_score(text, task->majority) : "-");
    }
}

/* Adds a heading such as "mrpc (accuracy / f1)". */
static void add_heading(struct report_table *table, const struct report_task_rows *task) {
    const struct report_run *run = task->first;
    report_table_heading(table, "%s (%s%s%s)", task->label, run->metric[0],
                         run->metrics > 1 ? " / " : "", run->metrics > 1 ? run->metric[1] : "");
}

static void add_task(struct report_table *table, const struct report *report, size_t task,
                     const struct choice *choice) {
    add_heading(table, &report->task[task]);
    add_majority(table, &report->task[task], choice->columns, choice);
    size_t first = table->rows;
    for (REPORT_EACH_GROUP(report, group)) {
        if (group->task == task && (group->selected || !choice->selected))
            add_row(table, report, group, choice);
    }
    for (size_t k = 0; choice->selected && k < choice->columns; k++) {
        mark(table, first, k + 1, choice->column[k]->kind, choice->column[k]->better);
    }
}

/* Marks the columns that the page shows in a second table: the first has seven, with the method. */
static void postpone(struct report_table *table, const struct choice *choice) {
    enum { WIDTH = 7 };
    for (size_t k = 0; table->status == NVDP_OK && k < choice->columns; k++) {
        int before = 1; /* the method */
        for (size_t j = 0; j < choice->columns; j++) {
            before += choice->column[j]->rank < choice->column[k]->rank;
        }
        table->column[k + 1].later = before >= WIDTH;
    }
}

static struct report_table fill(struct nvdp_context *ctx, const struct report *report, unsigned in,
                                const char *name, const char *title) {
    struct report_table table = report_table_begin(ctx, name, title);
    struct choice choice = choose(report, in);
    report_table_column(&table, false, "method", "");
    for (size_t k = 0; k < choice.columns; k++) {
        report_table_column(&table, true, choice.column[k]->name, choice.column[k]->unit);
    }
    if (in == FIRST) postpone(&table, &choice);
    for (size_t task = 0; task < report->tasks; task++) {
        add_task(&table, report, task, &choice);
    }
    return table;
}

/* --- notes below the tables --- */

static void note_some_seeds(struct report_table *table, const struct report *report, unsigned in) {
    const struct choice choice = choose(report, in);
    bool found = false;
    for (REPORT_EACH_GROUP(report, group))
        for (size_t k = 0; k < choice.columns; k++)
            found |=
                (group->selected || !choice.selected) && some_seeds(choice.column[k], group) > 0;
    if (found)
        report_table_note(
            table, "CAUTION: numbers with a mark such as (1 of 3) are means, or maxima, over "
                   "only those seeds that have this number.");
}

static void note_scores(struct report_table *table, const struct report *report) {
    bool folds = false;
    for (size_t i = 0; i < report->runs; i++)
        folds |= report->run[i].fold > 0;
    if (folds)
        report_table_note(table, "The folds of a cross validation count as seeds. Each fold is "
                                 "scored on its own part of the train file.");
    report_table_note(table,
                      "score: 100 times the metric on the test texts (the dev file), with fresh "
                      "noise; mean +- standard deviation over seeds. best of seeds: the score of "
                      "the seed with the largest validation score, as published.");
}

static void note_selection(struct report_table *table) {
    report_table_note(
        table, "setting: lambda, the weight of the regularizers, or C, the norm to which "
               "the sequence clip scales a text's means. The setting has the largest mean "
               "validation score (on ties, the more private one); the test scores are not "
               "used. Marked: the best of a task's private methods for which a finite number is "
               "proven or measured. A method marked named 100 %% hides no text.");
}

static void note_bound(struct report_table *table, const struct report *report) {
    if (any(report, REPORT_BOUND) || any(report, REPORT_CERTIFIED) || any(report, REPORT_WORD))
        report_table_note(table, "Proven bounds are the largest over seeds, rounded up.");
    if (any(report, REPORT_BOUND))
        report_table_note(table, "bound: the proven maximum of RD between any two texts, measured "
                                 "or not, from C: order (2C)^2/2.");
}

static void note_infinite(struct report_table *table, const struct report *report) {
    if (any_infinite(report))
        report_table_note(
            table,
            "infinite pairs: share of the measured pairs whose divergence is infinite. RD max of "
            "the finite: the largest divergence among the other pairs, for comparison with tables "
            "that leave infinite pairs out; this is no privacy statement.");
}

static void note_privacy(struct report_table *table, const struct report *report) {
    if (any(report, REPORT_LINKED))
        report_table_note(
            table,
            "named: share of samples whose text is named by someone who has the model and the "
            "measured texts, at most 1000 of them (chance: one divided by their number).");
    report_table_note(
        table,
        "RD: Renyi divergence in nats, summed over everything that one release of a text shares; "
        "maximum and mean over all ordered pairs of the measured texts, mean over seeds. inf: some "
        "pair is infinite. Measured on these texts; no bound over all texts.");
    note_infinite(table, report);
    note_bound(table, report);
    if (any(report, REPORT_EXACT_MAX))
        report_table_note(
            table, "exact eps: exact epsilon of (epsilon, delta)-indistinguishability at the delta "
                   "of BDP, for the worst of all pairs and on average over drawn pairs, mean over "
                   "seeds; of privatized texts an upper bound.");
    if (any(report, REPORT_CERTIFIED))
        report_table_note(table, "certified eps: proven epsilon at delta 1e-5 for one sample of "
                                 "any two texts, measured or not. The texts that the encoder was "
                                 "trained on are not covered.");
    if (any(report, REPORT_GUESS))
        report_table_note(table,
                          "guess: proven on average over texts and noise: a guess that is right .1 "
                          "%% of the time without a text's sample is right at most this often with "
                          "the sample. bits: upper bound on the average information of a sample "
                          "about its text. Single guesses can be nearly certain.");
    if (any(report, REPORT_WORD))
        report_table_note(
            table, "word eps: proven epsilon at delta 1e-5 for one sample of any two texts that "
                   "differ in one word. word guess: the bound of guess for one word, all other "
                   "words known.");
    report_table_note(table,
                      "BDP: Bayesian DP epsilon of the worst measured text, at the best moment k "
                      "and at the published k = 1.1, where no value can be below ln(1/delta)/k.");
}

static void note_published(struct report_table *table) {
    report_table_note(
        table, "/comp.dim.: the sum divided by components times dimensions, as in the published "
               "tables. This is no privacy guarantee, because a third party gets the whole sum.");
}

struct extremes {
    double low, high;
};

static void widen(struct extremes *range, double value) {
    if (isnan(value)) return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

/* Warns of different numbers of texts. With more texts the largest divergence rises and fewer texts are identified. */
static void caution_of_texts(struct report_table *table, const struct report *report, size_t task) {
    static const double ALIKE = 1.1; /* ratio of sizes that folds do not exceed */
    struct extremes texts = {INFINITY, -INFINITY};
    for (REPORT_EACH_GROUP(report, group))
        for (size_t k = 0; group->task == task && k < group->runs; k++)
            if (group->run[k]->measured) widen(&texts, group->run[k]->how.texts);
    if (texts.high > ALIKE * texts.low)
        report_table_note(table,
                          "CAUTION: %s was measured on %g texts in some runs and on %g in others, "
                          "so the numbers for worst and for named texts are not comparable.",
                          report->task[task].label, texts.low, texts.high);
}

/* Notes how the runs were measured (with the same options: choose_measures()) and the consequences for the numbers. */
static void caution_of_measures(struct report_table *table, const struct report *report) {
    const struct report_measured *how = NULL;
    size_t drawn = 0, measured = 0, given_length = 0, lonely = 0, seeded = 0, own_texts = 0;
    char samples[NVDP__SAMPLES_TEXT];
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        if (!run->measured) continue;
        measured++;
        if (how == NULL || isnan(how->order) || isnan(how->delta)) how = &run->how;
        drawn += run->how.drawn;
        given_length += run->how.given_length;
        lonely += run->how.population < 2;
        seeded += report_is_seeded(run);
        own_texts += run->own_texts;
    }
    if (measured == 0) return;
    report_table_note(table, "Order of the divergences %g, delta %g, %s of a text%s%s.", how->order,
                      how->delta, nvdp__samples_text(how->releases, samples),
                      how->releases == 1
                          ? ""
                          : " together for named, exact eps and BDP, one sample for RD and bound",
                      how->same_length ? ", for pairs of texts with the same length" : "");
    for (size_t task = 0; task < report->tasks; task++)
        caution_of_texts(table, report, task);
    if (given_length > 0)
        report_table_note(
            table,
            "In %zu of %zu runs, the texts are privatized token by token. Their lengths are public "
            "and distinguish most pairs, so the numbers hold only for texts of equal length.",
            given_length, measured);
    if (own_texts > 0)
        report_table_note(
            table,
            "In %zu of %zu runs, the private texts chose the words that come out, or those "
            "that are sensitive. That choice is not private, and no number covers it.",
            own_texts, measured);
    if (seeded > 0)
        report_table_note(table,
                          "%zu of %zu runs drew the noise of their texts from a seed, which can "
                          "undo it; their numbers hold for noise that nobody knows.",
                          seeded, measured);
    if (lonely > 0)
        report_table_note(table,
                          "BDP is inf in %zu of %zu runs, whatever RD is, because some text has "
                          "fewer than two other texts to compare with (of the same length, if "
                          "lengths are public). Measure more texts.",
                          lonely, measured);
    if (drawn > 0)
        report_table_note(table,
                          "%zu of %zu runs: mean and infinite share are estimated from drawn "
                          "pairs; the maximum is exact.",
                          drawn, measured);
}

static void cautions(struct report_table *table, const struct report *report) {
    size_t optimistic = 0;
    caution_of_measures(table, report);
    for (size_t i = 0; i < report->runs; i++) {
        const char *protocol =
            json_string_value(json_object_get(report->run[i].variant, "protocol"));
        optimistic += protocol != NULL && strcmp(protocol, "dev") == 0;
    }
    if (optimistic > 0)
        report_table_note(table,
                          "%zu of %zu runs chose their epoch on the test texts (--protocol dev), "
                          "so their scores are optimistic.",
                          optimistic, report->runs);
}

/* Names the methods that learned nothing: their privacy is no merit. */
static void note_collapsed(struct report_table *table, const struct report *report) {
    struct report_sheet sheet;
    FILE *to = report_sheet_open(&sheet);
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_family *family = &report->family[group->family];
        const struct report_task_rows *task = &report->task[group->task];
        if (to == NULL || !group->selected || family->reference) continue;
        if (learned_nothing(report, group))
            fprintf(to, "%s%s on %s", ftell(to) > 0 ? ", " : "", family->label, task->label);
    }
    char *text = report_sheet_text(table->ctx, &sheet);
    if (text == NULL) table->status = NVDP_ERR_MEMORY;
    if (text != NULL && *text != '\0')
        report_table_note(table,
                          "No better than guessing the most frequent class: %s. Privacy is easy "
                          "for a model that learned nothing.",
                          text);
    free(text);
}

/* --- the tables --- */

static struct report_table table_1(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = fill(ctx, report, FIRST, "table1",
                                     "Table 1. Utility and privacy at the setting chosen on "
                                     "validation; divergences are sums in nats");
    note_scores(&table, report);
    note_selection(&table);
    note_privacy(&table, report);
    note_collapsed(&table, report);
    note_some_seeds(&table, report, FIRST);
    cautions(&table, report);
    return table;
}

static struct report_table table_1_published(struct nvdp_context *ctx,
                                             const struct report *report) {
    struct report_table table =
        fill(ctx, report, PUBLISHED, "table1_published",
             "Table 1, as published. The best seed at the setting chosen on validation; "
             "divergences per component and dimension, which are no privacy guarantee");
    report_table_note(&table,
                      "score, privacy: values of the seed with the largest validation score; the "
                      "score is 100 times the metric on the test texts (the dev file).");
    note_selection(&table);
    note_published(&table);
    note_infinite(&table, report);
    note_collapsed(&table, report);
    cautions(&table, report);
    return table;
}

static void note_attack(struct report_table *table, const struct report *report) {
    report_table_note(table, "attack: score of a reader that is trained to find a private "
                             "attribute in the shared file.");
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_family *family = &report->family[group->family];
        if (!family->reference || group->quantity[REPORT_ATTACK].n == 0) continue;
        report_table_note(
            table,
            "attack of %s, which makes no private file: score of a probe on plain embeddings.",
            family->method);
        return;
    }
}

static struct report_table table_2(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = fill(ctx, report, SECOND, "table2", "Table 2. Every setting");
    note_scores(&table, report);
    note_privacy(&table, report);
    note_published(&table);
    if (any(report, REPORT_VECTORS))
        report_table_note(&table, "effective vectors: exp of the entropy of a text's expected "
                                  "weights; mean over texts and seeds.");
    if (any(report, REPORT_REUSE))
        report_table_note(&table,
                          "reader: score of a reader that is trained on the shared file alone.");
    if (any(report, REPORT_ATTACK)) note_attack(&table, report);
    note_some_seeds(&table, report, SECOND);
    cautions(&table, report);
    return table;
}

/* Adds a setting with its numbers: "C 1.5 (3.1, bound 4.95)". */
static void add_chosen(struct report_table *table, const struct report_group *group) {
    char setting[NVDP__NUMBER_SIZE], max[NVDP__NUMBER_SIZE], bound[NVDP__NUMBER_SIZE];
    const struct report_stat *of = group->quantity;
    bool bounded = of[REPORT_BOUND].n > 0;
    report_table_cell(table, NAN, "%s (%s%s%s)", report_say_setting(setting, group),
                      report_say_number(max, of[REPORT_SUM_MAX].max), bounded ? ", bound " : "",
                      bounded ? nvdp__bound(bound, of[REPORT_BOUND].max) : "");
}

/* Adds a row of scores and a row of the settings selected for them. Budgets limit the quantity `limited`. */
static void add_budget_rows(struct report_table *table, const struct report *report, size_t task,
                            size_t f, enum report_quantity limited) {
    char text[NVDP__NUMBER_SIZE];
    const bool proven = limited == REPORT_BOUND;
    bool found = true;
    for (int line = 0; line < 2 && found; line++) {
        report_table_row(table);
        report_table_cell(table, NAN, "%s%s%s", report->family[f].label, proven ? ", proven" : "",
                          line == 1 ? ": chosen" : "");
        found = false;
        for (size_t k = 0; k < report->budgets; k++) {
            const struct report_group *group =
                report_chosen(report, task, f, limited, report->budget[k]);
            found |= group != NULL;
            if (group == NULL)
                report_table_cell(table, NAN, "-");
            else if (line == 0)
                report_table_cell(table, proven ? NAN : group->score[0].mean, "%s",
                                  say_scores(text, group));
            else
                add_chosen(table, group);
        }
    }
}

static struct report_table table_budget(struct nvdp_context *ctx, const struct report *report) {
    char text[NVDP__NUMBER_SIZE];
    struct report_table table = report_table_begin(
        ctx, "budget", "Score at a largest divergence within a budget (sums in nats)");
    report_table_column(&table, false, "method", "");
    for (size_t k = 0; k < report->budgets; k++) {
        report_table_column(&table, true, report_say_lambda(text, report->budget[k]),
                            report->budget[k] == 1 ? "nat" : "nats");
    }
    for (size_t task = 0; task < report->tasks; task++) {
        add_heading(&table, &report->task[task]);
        add_majority(&table, &report->task[task], report->budgets, NULL);
        size_t first = table.rows;
        for (size_t f = 0; f < report->families; f++) {
            const struct report_group *group = report_selected(report, task, f);
            if (group == NULL || report->family[f].reference) continue;
            add_budget_rows(&table, report, task, f, REPORT_SUM_MAX);
            if (report_chosen(report, task, f, REPORT_BOUND, INFINITY) != NULL)
                add_budget_rows(&table, report, task, f, REPORT_BOUND);
        }
        for (size_t k = 0; k < report->budgets; k++) {
            mark(&table, first, k + 1, SCORE, 1);
        }
    }
    note_scores(&table, report);
    report_table_note(
        &table,
        "chosen: the setting with the largest mean validation score among those whose largest "
        "divergence, over all ordered pairs of the measured texts and all seeds, is within the "
        "column's budget; this divergence stands in brackets. -: no setting is within the budget. "
        "Only settings whose seeds are all measured count. Methods that are not private exceed "
        "every budget and have their own table. Marked: the best of a task's private methods. "
        "Measured on these texts; no bound over all texts.");
    note_bound(&table, report);
    if (any(report, REPORT_BOUND))
        report_table_note(
            &table, "proven: the bound itself is within the budget, and holds for any two texts.");
    cautions(&table, report);
    return table;
}

/* Makes the table of base and reg. They satisfy no budget, so a score under a budget would suggest privacy. */
static struct report_table table_reference(struct nvdp_context *ctx, const struct report *report) {
    char text[NVDP__NUMBER_SIZE];
    struct report_table table = report_table_begin(
        ctx, "not_private", "Methods that are not private and exceed every budget, for comparison");
    report_table_column(&table, false, "method", "");
    report_table_column(&table, true, "score", "");
    for (size_t task = 0; task < report->tasks; task++) {
        bool begun = false;
        for (size_t f = 0; f < report->families; f++) {
            const struct report_group *group = report_selected(report, task, f);
            if (group == NULL || !report->family[f].reference) continue;
            if (!begun) add_heading(&table, &report->task[task]);
            begun = true;
            report_table_row(&table);
            report_table_cell(&table, NAN, "%s", report->family[f].label);
            report_table_cell(&table, NAN, "%s", say_scores(text, group));
        }
    }
    if (table.rows > 0) note_scores(&table, report);
    return table;
}

static void add_comparison(struct report_table *table, const struct report *report,
                           const struct report_comparison *pair) {
    char text[NVDP__NUMBER_SIZE];
    report_table_row(table);
    report_table_cell(table, NAN, "%s", report->family[pair->a].label);
    report_table_cell(table, NAN, "%s", report->family[pair->b].label);
    report_table_cell(table, NAN, "%zu", pair->seeds);
    report_table_cell(table, NAN, "%+.2f", 100 * pair->mean);
    if (isnan(pair->low))
        report_table_cell(table, NAN, "-");
    else
        report_table_cell(table, NAN, "%+.2f to %+.2f", 100 * pair->low, 100 * pair->high);
    report_table_cell(table, NAN, "%s", report_say_number(text, pair->t));
    report_table_cell(table, NAN, "%s", report_say_p(text, pair->p));
    report_table_cell(table, NAN, "%s", report_say_p(text, pair->holm));
}

static struct report_table table_significance(struct nvdp_context *ctx,
                                              const struct report *report) {
    static const char *const names[] = {"seeds", "difference", "95 % interval",
                                        "t",     "p",          "p (Holm)"};
    struct report_table table =
        report_table_begin(ctx, "significance", "Differences between methods, paired by seed");
    struct report_comparison *list = NULL;
    size_t count = 0;
    table.status = report_compare(ctx, report, &list, &count);
    report_table_column(&table, false, "method", "");
    report_table_column(&table, false, "against", "");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        report_table_column(&table, true, names[k], "");
    }
    for (size_t k = 0; k < count; k++) {
        if (k == 0 || list[k].task != list[k - 1].task)
            report_table_heading(&table, "%s", report->task[list[k].task].label);
        add_comparison(&table, report, &list[k]);
    }
    free(list);
    if (count == 0) {
        report_table_note(&table, "No two methods share two seeds, so there is nothing to test.");
        return table;
    }
    report_table_note(
        &table,
        "difference: 100 times the first metric of the method, minus that of the method in the "
        "column against, over the seeds that both have, each at its selected setting. Two-sided "
        "paired t-test (Student), with Holm's "
        "adjustment over the comparisons of a task. With few seeds the test is rough; it covers "
        "the spread over seeds, not over texts. -: there is no spread to judge by.");
    return table;
}

nvdp_status report_tables_make(struct nvdp_context *ctx, const struct report *report,
                               struct report_table table[REPORT_TABLES]) {
    struct report_table (*const maker[REPORT_TABLES])(
        struct nvdp_context *, const struct report *) = {table_1,
                                                         table_1_published,
                                                         table_budget,
                                                         table_reference,
                                                         table_2,
                                                         table_significance,
                                                         report_table_inversion,
                                                         report_table_replacements,
                                                         report_table_attacks,
                                                         report_table_mask,
                                                         report_table_exposure,
                                                         report_table_audit};
    nvdp_status status = NVDP_OK;
    for (int k = 0; k < REPORT_TABLES; k++) {
        const bool of_runs = k < REPORT_TABLES - REPORT_ANALYSIS_TABLES;
        table[k] = of_runs && report->runs == 0 ? (struct report_table){0} : maker[k](ctx, report);
        if (status == NVDP_OK) status = table[k].status;
    }
    if (status != NVDP_OK) report_tables_release(table);
    return status;
}

void report_tables_release(struct report_table table[REPORT_TABLES]) {
    for (int k = 0; k < REPORT_TABLES; k++) {
        report_table_release(&table[k]);
    }
}
