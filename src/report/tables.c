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
    SCORE,        /* both metrics: mean and spread over seeds */
    BEST,         /* both metrics of the best seed */
    VALIDATION,   /* validation score: mean and spread over seeds */
    QUANTITY,     /* a quantity over seeds */
    BEST_QUANTITY /* a quantity of the best seed */
};

/* Tables that have the column or the note. */
enum { FIRST = 1, PUBLISHED = 2, SECOND = 4, BUDGET = 8, REFERENCE = 16 };

struct column {
    const char *name, *unit;
    enum kind kind;
    enum report_quantity quantity;
    unsigned in;
    /* Rank in Table 1 of the page, which shows the columns with the smallest ranks first. */
    int rank;
};

static const struct column all_columns[] = {
    {"setting", "", SETTING, 0, FIRST | PUBLISHED | SECOND, 1},
    {"seeds", "", SEEDS, 0, FIRST | SECOND, 10},
    {"validation", "", VALIDATION, 0, SECOND, 0},
    {"score", "", SCORE, 0, FIRST | SECOND, 2},
    {"best of", "seeds", BEST, 0, FIRST | SECOND, 12},
    {"score", "best of seeds", BEST, 0, PUBLISHED, 0},
    {"named", "share", QUANTITY, REPORT_LINKED, FIRST | SECOND, 5},
    {"exact eps", "worst", QUANTITY, REPORT_EXACT_MAX, FIRST | SECOND, 7},
    {"exact eps", "mean", QUANTITY, REPORT_EXACT_MEAN, FIRST | SECOND, 13},
    {"RD max", "[nats]", QUANTITY, REPORT_SUM_MAX, FIRST | SECOND, 8},
    {"infinite", "pairs", QUANTITY, REPORT_INFINITE, FIRST | SECOND, 14},
    {"RD max", "of the finite", QUANTITY, REPORT_SUM_MAX_FINITE, FIRST | SECOND, 15},
    {"bound", "[nats]", QUANTITY, REPORT_BOUND, FIRST | SECOND, 6},
    {"certified", "eps", QUANTITY, REPORT_CERTIFIED, FIRST | SECOND, 3},
    {"guess", ".1 % becomes", QUANTITY, REPORT_GUESS, FIRST | SECOND, 4},
    {"bits", "at most", QUANTITY, REPORT_BITS, SECOND, 0},
    {"word eps", "proven", QUANTITY, REPORT_WORD, FIRST | SECOND, 3},
    {"word guess", ".1 % becomes", QUANTITY, REPORT_WORD_GUESS, FIRST | SECOND, 4},
    {"RD mean", "[nats]", QUANTITY, REPORT_SUM_MEAN, FIRST | SECOND, 11},
    {"BDP", "best k", QUANTITY, REPORT_BDP_BEST, FIRST | SECOND, 9},
    {"BDP", "k=1.1", QUANTITY, REPORT_BDP_PUBLISHED, FIRST | SECOND, 16},
    {"BDP", "k=1.1", BEST_QUANTITY, REPORT_BDP_PUBLISHED, PUBLISHED, 0},
    {"RD max", "/comp.dim.", BEST_QUANTITY, REPORT_UNIT_MAX, PUBLISHED, 0},
    {"RD mean", "/comp.dim.", BEST_QUANTITY, REPORT_UNIT_MEAN, PUBLISHED, 0},
    {"infinite", "pairs", BEST_QUANTITY, REPORT_INFINITE, PUBLISHED, 0},
    {"RD max", "finite /comp.dim.", BEST_QUANTITY, REPORT_UNIT_MAX_FINITE, PUBLISHED, 0},
    {"RD max", "/comp.dim.", QUANTITY, REPORT_UNIT_MAX, SECOND, 0},
    {"RD mean", "/comp.dim.", QUANTITY, REPORT_UNIT_MEAN, SECOND, 0},
    {"effective", "vectors", QUANTITY, REPORT_VECTORS, SECOND, 0},
    {"reader", "", QUANTITY, REPORT_REUSE, SECOND, 0},
    {"attack", "", QUANTITY, REPORT_ATTACK, SECOND, 0},
};
enum { COLUMNS = sizeof all_columns / sizeof *all_columns };

/* Formats "first / second", or only the first metric if there is no second metric. */
static struct report_text say_pair(struct report_text first, struct report_text second, bool two) {
    return two ? report_say("%.28s / %.28s", first.text, second.text) : first;
}

static struct report_text say_scores(const struct report_group *group) {
    const struct report_stat *score = group->score;
    return say_pair(report_say_score_stat(&score[0]), report_say_score_stat(&score[1]),
                    score[1].n > 0);
}

/* Formats a value of a quantity: rounds a proven upper bound up, writes a share as "25.0 %", "none", or "-". */
static struct report_text say_value(enum report_kind kind, double value) {
    if (isnan(value)) return report_say("-");
    if (kind == REPORT_PROVEN) return report_say("%s", nvdp__bound(value).text);
    if (kind == REPORT_PROVEN_SHARE) return report_say("%s", nvdp__share_bound(value).text);
    if (kind != REPORT_SHARE) return report_say_number(value);
    return value > 0 ? report_say_share(value) : report_say("none");
}

static struct report_text say(const struct column *column, const struct report_group *group) {
    const enum report_kind kind = report_quantities[column->quantity].kind;
    const struct report_run *best = group->best;
    switch (column->kind) {
    case SETTING:
        return report_say_setting(group);
    case SEEDS:
        return report_say("%zu", group->runs);
    case SCORE:
        return say_scores(group);
    case BEST:
        return say_pair(report_say_score(best->score[0]), report_say_score(best->score[1]),
                        best->metrics > 1);
    case VALIDATION:
        return report_say_score_stat(&group->validation);
    case QUANTITY:
        return kind == REPORT_SCORE ? report_say_score_stat(&group->quantity[column->quantity])
                                    : say_value(kind, report_value(group, column->quantity));
    case BEST_QUANTITY:
        return say_value(kind, best->quantity[column->quantity]);
    }
    return report_say("%s", "");
}

/* Returns the number of seeds in a mean or maximum if some of the group's seeds are missing, else 0. */
static size_t some_seeds(const struct column *column, const struct report_group *group) {
    const size_t n = column->kind == VALIDATION ? group->validation.n
                     : column->kind == QUANTITY ? group->quantity[column->quantity].n
                                                : 0;
    return n < group->runs ? n : 0;
}

/* Returns +1 if larger values are better, -1 if smaller values are better, 0 if values are not compared. */
static int better_sign(const struct column *column) {
    if (column->kind == SCORE || column->kind == BEST) return 1;
    return column->kind == QUANTITY || column->kind == BEST_QUANTITY
               ? report_quantities[column->quantity].better
               : 0;
}

/* Returns the value that is compared; NaN if there is none. */
static double compared_value(const struct column *column, const struct report_group *group) {
    if (better_sign(column) == 0) return NAN;
    return column->kind == SCORE           ? group->score[0].mean
           : column->kind == BEST          ? group->best->score[0]
           : column->kind == BEST_QUANTITY ? group->best->quantity[column->quantity]
                                           : report_value(group, column->quantity);
}

/* --- rows --- */

struct choice {
    const struct column *column[COLUMNS];
    size_t columns;
    bool selected; /* show only groups with the selected setting */
};

static bool any(const struct report *report, enum report_quantity quantity) {
    for (REPORT_EACH_GROUP(report, group))
        if (group->quantity[quantity].n > 0) return true;
    return false;
}

/* Returns whether any measured pair of texts is infinitely far apart. */
static bool any_infinite(const struct report *report) {
    for (REPORT_EACH_GROUP(report, group))
        if (group->quantity[REPORT_INFINITE].max > 0) return true;
    return false;
}

/* Omits columns of infinite pairs if there are none, and optional columns if no run has the quantity. */
static bool shown(const struct report *report, enum report_quantity quantity) {
    const struct report_quantity_row *row = &report_quantities[quantity];
    return row->if_infinite ? any_infinite(report) : row->always || any(report, quantity);
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

/* Smallest share of identified texts that prints as 100 %. */
static const double NAMES_ALL = .995;

static bool names_all(const struct report_group *group) {
    return group->quantity[REPORT_LINKED].mean >= NAMES_ALL; /* false for NaN */
}

/* Returns true if, for all seeds, a finite number is proven or measured over all pairs, and not every text is
 * identified. Other methods may hide nothing, so their scores are not compared. */
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
    const struct report_family *family = &report->family[group->family];
    /* Privacy is easy if nothing was learned, and a good score is easy if nothing is hidden. */
    bool competes =
        choice->selected && !family->reference && hides(group) && !learned_nothing(report, group);
    report_table_row(table, "%s%s", family->label,
                     !family->reference && names_all(group) ? ", named 100 %" : "");
    for (size_t k = 0; k < choice->columns; k++) {
        const size_t some = some_seeds(choice->column[k], group);
        report_table_cell(table, competes ? compared_value(choice->column[k], group) : NAN, "%s%s",
                          say(choice->column[k], group).text,
                          some > 0 ? report_say(" (%zu of %zu)", some, group->runs).text : "");
    }
}

/* Formats a value with the printed digits, so that values are compared as printed. */
static struct report_text compared(const struct column *column, double value) {
    return better_sign(column) > 0 ? report_say_score(value)
                                   : say_value(report_quantities[column->quantity].kind, value);
}

/* Marks the best value of column k in the rows from `first` on if at least two rows compete. Values that print the same
 * are tied. */
static void mark(struct report_table *table, size_t first, size_t k, const struct column *column) {
    const int better = better_sign(column);
    double value = NAN;
    size_t competing = 0;
    if (table->status != NVDP_OK || better == 0) return;
    for (size_t row = first; row < table->rows; row++) {
        double other = table->row[row].cell[k].value;
        competing += !isnan(other);
        if (isfinite(other) && !(better * other <= better * value)) value = other;
    }
    if (competing < 2 || isnan(value)) return;
    const struct report_text best = compared(column, value);
    for (size_t row = first; row < table->rows; row++) {
        struct report_cell *cell = &table->row[row].cell[k];
        cell->strong = strcmp(compared(column, cell->value).text, best.text) == 0;
    }
}

static void add_majority(struct report_table *table, const struct report_task_rows *task,
                         size_t columns, const struct choice *choice) {
    if (isnan(task->majority)) return;
    report_table_row(table, "majority class");
    for (size_t k = 0; k < columns; k++) {
        bool score =
            choice == NULL || choice->column[k]->kind == SCORE || choice->column[k]->kind == BEST;
        report_table_cell(table, NAN, "%s", score ? report_say_score(task->majority).text : "-");
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
        mark(table, first, k + 1, choice->column[k]);
    }
}

/* Marks the columns that the page shows in a second table. The first table has seven columns, including the method. */
static void postpone(struct report_table *table, const struct choice *choice) {
    enum { WIDTH = 7 };
    for (size_t k = 0; table->status == NVDP_OK && k < choice->columns; k++) {
        int before = 1; /* the column of the method */
        for (size_t j = 0; j < choice->columns; j++) {
            before += choice->column[j]->rank < choice->column[k]->rank;
        }
        table->column[k + 1].later = before >= WIDTH;
    }
}

/* --- notes below the tables --- */

static void note_some_seeds(struct report_table *table, const struct report *report,
                            const struct choice *choice) {
    bool found = false;
    for (REPORT_EACH_GROUP(report, group))
        for (size_t k = 0; k < choice->columns; k++)
            found |=
                (group->selected || !choice->selected) && some_seeds(choice->column[k], group) > 0;
    if (found)
        report_table_note(
            table, REPORT_OF_RUNS,
            "CAUTION: numbers with a mark such as (1 of 3) are means, or maxima, over "
            "only those seeds that have this number.");
}

/* The condition of an explanation: always, if a run has one of the explanation's quantities, if there are folds, or if
 * some measured pair of texts is infinitely far apart. */
enum when { ALWAYS, IF_ANY, IF_FOLDS, IF_INFINITE };
struct note {
    unsigned in; /* tables */
    enum when when;
    enum report_quantity of[3]; /* REPORT_QUANTITIES ends the list */
    const char *text;
};
#define NOTE_OF(...)                                                                               \
    IF_ANY, {                                                                                      \
        __VA_ARGS__, REPORT_QUANTITIES                                                             \
    }
static const char per_unit[] =
    "/comp.dim.: the sum divided by components times dimensions, as in the published tables. This "
    "is no privacy guarantee, because a guarantee depends on the whole sum.";
/* The explanations in the order in which they appear below a table. */
static const struct note notes[] = {
    {FIRST | SECOND | BUDGET | REFERENCE,
     IF_FOLDS,
     {0},
     "The folds of a cross validation count as seeds. Each fold is scored on its own part of the "
     "train file."},
    {FIRST | SECOND | BUDGET | REFERENCE,
     ALWAYS,
     {0},
     "score: 100 times the metric on the test texts (the dev file), with fresh noise; mean +- "
     "standard deviation over seeds. best of seeds: the score of the seed with the largest "
     "validation score, as published."},
    {PUBLISHED,
     ALWAYS,
     {0},
     "score, privacy: values of the seed with the largest validation score; the score is 100 times "
     "the metric on the test texts (the dev file)."},
    {BUDGET,
     ALWAYS,
     {0},
     "chosen: the setting with the largest mean validation score among those whose largest "
     "divergence, over all ordered pairs of the measured texts and all seeds, is within the "
     "column's budget; this divergence stands in brackets. -: no setting is within the budget. "
     "Only settings whose seeds are all measured count. Methods that are not private exceed "
     "every budget and have their own table. Marked: the best of a task's private methods. "
     "Measured on these texts; no bound over all texts."},
    {FIRST | PUBLISHED,
     ALWAYS,
     {0},
     "setting: lambda, the weight of the regularizers, or C, the norm to which the sequence clip "
     "scales a text's means. The setting has the largest mean validation score (on ties, the more "
     "private one); the test scores are not used. Marked: the best of a task's private methods for "
     "which a finite number is proven or measured. A method marked named 100 % hides no text."},
    {FIRST | SECOND, NOTE_OF(REPORT_LINKED),
     "named: share of samples whose text is named by someone who has the model and the measured "
     "texts, at most 1000 of them (chance: one divided by their number)."},
    {FIRST | SECOND,
     ALWAYS,
     {0},
     "RD: Renyi divergence in nats, summed over everything that one release of a text shares; "
     "maximum and mean over all ordered pairs of the measured texts, mean over seeds. inf: some "
     "pair is infinite. Measured on these texts; no bound over all texts."},
    {PUBLISHED, ALWAYS, {0}, per_unit},
    {FIRST | SECOND | PUBLISHED,
     IF_INFINITE,
     {0},
     "infinite pairs: share of the measured pairs whose divergence is infinite. RD max of the "
     "finite: the largest divergence among the other pairs, for comparison with tables that leave "
     "infinite pairs out; this is no privacy statement."},
    {FIRST | SECOND | BUDGET,
     IF_ANY,
     {REPORT_BOUND, REPORT_CERTIFIED, REPORT_WORD},
     "Proven bounds are the largest over seeds, rounded up."},
    {FIRST | SECOND | BUDGET, NOTE_OF(REPORT_BOUND),
     "bound: the proven maximum of RD between any two texts, measured or not, from C: order "
     "(2C)^2/2."},
    {FIRST | SECOND, NOTE_OF(REPORT_EXACT_MAX),
     "exact eps: exact epsilon of (epsilon, delta)-indistinguishability at the delta of BDP, for "
     "the worst of all pairs and on average over drawn pairs, mean over seeds; of privatized texts "
     "an upper bound."},
    {FIRST | SECOND, NOTE_OF(REPORT_CERTIFIED),
     "certified eps: proven epsilon at delta 1e-5 for one sample of any two texts, measured or "
     "not. The texts that the encoder was trained on are not covered."},
    {FIRST | SECOND, NOTE_OF(REPORT_GUESS),
     "guess: proven on average over texts and noise: a guess that is right .1 % of the time "
     "without a text's sample is right at most this often with the sample. bits: upper bound on "
     "the average information of a sample about its text. Single guesses can be nearly certain."},
    {FIRST | SECOND, NOTE_OF(REPORT_WORD),
     "word eps: proven epsilon at delta 1e-5 for one sample of any two texts that differ in one "
     "word. word guess: the bound of guess for one word, all other words known."},
    {FIRST | SECOND,
     ALWAYS,
     {0},
     "BDP: Bayesian DP epsilon of the worst measured text, at the best moment k and at the "
     "published k = 1.1, where no value can be below ln(1/delta)/k."},
    {SECOND, ALWAYS, {0}, per_unit},
    {SECOND, NOTE_OF(REPORT_VECTORS),
     "effective vectors: exp of the entropy of a text's expected weights; mean over texts and "
     "seeds."},
    {SECOND, NOTE_OF(REPORT_REUSE),
     "reader: score of a reader that is trained on the shared file alone."},
    {SECOND, NOTE_OF(REPORT_ATTACK),
     "attack: score of a reader that is trained to find a private attribute in the shared file."},
    {BUDGET, NOTE_OF(REPORT_BOUND),
     "proven: the bound itself is within the budget, and holds for any two texts."},
};

static void add_notes(struct report_table *table, const struct report *report, unsigned in) {
    bool folds = false;
    for (size_t i = 0; i < report->runs; i++)
        folds |= report->run[i].fold > 0;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        bool made = notes[i].when == ALWAYS || (notes[i].when == IF_FOLDS && folds) ||
                    (notes[i].when == IF_INFINITE && any_infinite(report));
        for (int k = 0; notes[i].when == IF_ANY && k < 3 && notes[i].of[k] != REPORT_QUANTITIES;
             k++)
            made |= any(report, notes[i].of[k]);
        if (made && (notes[i].in & in) != 0)
            report_table_note(table, REPORT_EXPLAINS, "%s", notes[i].text);
    }
}

/* Warns of different numbers of texts. With more texts, the largest divergence rises and fewer texts are identified. */
static void caution_of_texts(struct report_table *table, const struct report *report, size_t task) {
    static const double ALIKE = 1.1; /* maximum ratio of the sizes of folds */
    double low = INFINITY, high = -INFINITY;
    for (REPORT_EACH_GROUP(report, group))
        for (size_t k = 0; group->task == task && k < group->runs; k++) {
            if (!group->run[k]->measured) continue;
            low = fmin(low, group->run[k]->how.texts); /* fmin ignores NaN */
            high = fmax(high, group->run[k]->how.texts);
        }
    if (high > ALIKE * low)
        report_table_note(table, REPORT_OF_RUNS,
                          "CAUTION: %s was measured on %g texts in some runs and on %g in others, "
                          "so the numbers for worst and for named texts are not comparable.",
                          report->task[task].label, low, high);
}

/* Notes how the runs were measured (with the same options: choose_measures()) and the consequences for the numbers. */
static void caution_of_measures(struct report_table *table, const struct report *report) {
    const struct report_measured *how = NULL;
    enum { GIVEN_LENGTH, OWN_TEXTS, SEEDED, LONELY, DRAWN, CAUTIONS };
    static const struct {
        enum report_note_kind kind;
        const char *before, *after; /* "2 of 6 runs" */
    } cautions[CAUTIONS] = {
        [GIVEN_LENGTH] = {REPORT_EXPLAINS, "In ",
                          ", the texts are privatized token by token. Their lengths are "
                          "public and distinguish most pairs, so the numbers hold only for "
                          "texts of equal length."},
        [OWN_TEXTS] = {REPORT_EXPLAINS, "In ",
                       ", the private texts chose the words that come out, or those that "
                       "are sensitive. That choice is not private, and no number covers it."},
        [SEEDED] = {REPORT_OF_RUNS, "",
                    " drew the noise of their texts from a seed, which can undo it; their "
                    "numbers hold for noise that nobody knows."},
        [LONELY] = {REPORT_OF_RUNS, "BDP is inf in ",
                    ", whatever RD is, because some text has fewer than two other "
                    "texts to compare with (of the same length, if lengths are "
                    "public). Measure more texts."},
        [DRAWN] = {REPORT_OF_RUNS, "",
                   ": mean and infinite share are estimated from drawn pairs; the maximum is "
                   "exact."},
    };
    size_t measured = 0, count[CAUTIONS] = {0};
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        if (!run->measured) continue;
        measured++;
        if (how == NULL || isnan(how->order) || isnan(how->delta)) how = &run->how;
        count[DRAWN] += run->how.drawn;
        count[GIVEN_LENGTH] += run->how.given_length;
        count[LONELY] += run->how.population < 2;
        count[SEEDED] += report_is_seeded(run);
        count[OWN_TEXTS] += run->own_texts;
    }
    if (measured == 0) return;
    report_table_note(
        table, REPORT_OF_RUNS, "Order of the divergences %g, delta %g, %s of a text%s%s.",
        how->order, how->delta, nvdp__samples_text(how->releases).text,
        how->releases == 1 ? ""
                           : " together for named, exact eps and BDP, one sample for RD and bound",
        how->same_length ? ", for pairs of texts with the same length" : "");
    for (size_t task = 0; task < report->tasks; task++)
        caution_of_texts(table, report, task);
    for (int k = 0; k < CAUTIONS; k++)
        if (count[k] > 0)
            report_table_note(table, cautions[k].kind, "%s%zu of %zu runs%s", cautions[k].before,
                              count[k], measured, cautions[k].after);
}

static void add_cautions(struct report_table *table, const struct report *report) {
    size_t optimistic = 0;
    caution_of_measures(table, report);
    for (size_t i = 0; i < report->runs; i++) {
        const char *protocol =
            json_string_value(json_object_get(report->run[i].variant, "protocol"));
        optimistic += protocol != NULL && strcmp(protocol, "dev") == 0;
    }
    if (optimistic > 0)
        report_table_note(table, REPORT_OF_RUNS,
                          "%zu of %zu runs chose their epoch on the test texts (--protocol dev), "
                          "so their scores are optimistic.",
                          optimistic, report->runs);
}

/* Prints the methods that learned nothing. */
static void print_collapsed(const void *of, FILE *to) {
    const struct report *report = of;
    const char *before = "";
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_family *family = &report->family[group->family];
        if (!group->selected || family->reference || !learned_nothing(report, group)) continue;
        fprintf(to, "%s%s on %s", before, family->label, report->task[group->task].label);
        before = ", ";
    }
}

/* Notes the methods that learned nothing, because their privacy is worth nothing. */
static void note_collapsed(struct report_table *table, const struct report *report) {
    nvdp__autofree char *text = NULL;
    if (table->status == NVDP_OK)
        table->status = nvdp__printed(table->ctx, print_collapsed, report, &text);
    if (text != NULL && *text != '\0')
        report_table_note(table, REPORT_OF_RUNS,
                          "No better than guessing the most frequent class: %s. Privacy is easy "
                          "for a model that learned nothing.",
                          text);
}

/* --- the tables --- */

/* Notes that methods without privacy make no file that an attacker could read. */
static void note_plain_attack(struct report_table *table, const struct report *report) {
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_family *family = &report->family[group->family];
        if (!family->reference || group->quantity[REPORT_ATTACK].n == 0) continue;
        report_table_note(
            table, REPORT_EXPLAINS,
            "attack of %s, which makes no private file: score of a probe on plain embeddings.",
            family->method);
        return;
    }
}

/* Makes a table of methods and settings. */
static struct report_table methods_table(struct nvdp_context *ctx, const struct report *report,
                                         unsigned in, const char *name, const char *title) {
    struct report_table table = report_table_begin(ctx, name, title, 1, REPORT_COLUMNS("method"));
    const struct choice choice = choose(report, in);
    for (size_t k = 0; k < choice.columns; k++) {
        report_table_column(&table, choice.column[k]->name, choice.column[k]->unit);
    }
    if (in == FIRST) postpone(&table, &choice);
    for (size_t task = 0; task < report->tasks; task++) {
        add_task(&table, report, task, &choice);
    }
    add_notes(&table, report, in);
    if (in == SECOND)
        note_plain_attack(&table, report);
    else
        note_collapsed(&table, report);
    if (in != PUBLISHED) note_some_seeds(&table, report, &choice);
    add_cautions(&table, report);
    return table;
}

/* Adds a row of scores and a row of the settings that give these scores. Budgets limit the quantity `limited`. */
static void add_budget_rows(struct report_table *table, const struct report *report, size_t task,
                            size_t f, enum report_quantity limited) {
    const bool proven = limited == REPORT_BOUND;
    bool found = true;
    for (int line = 0; line < 2 && found; line++) {
        report_table_row(table, "%s%s%s", report->family[f].label, proven ? ", proven" : "",
                         line == 1 ? ": chosen" : "");
        found = false;
        for (size_t k = 0; k < report->budgets; k++) {
            const struct report_group *group =
                report_chosen(report, task, f, limited, report->budget[k]);
            found |= group != NULL;
            if (group == NULL) {
                report_table_cell(table, NAN, "-");
            } else if (line == 0) {
                report_table_cell(table, proven ? NAN : group->score[0].mean, "%s",
                                  say_scores(group).text);
            } else { /* a setting with its numbers: "C 1.5 (3.1, bound 4.95)" */
                const struct report_stat *of = group->quantity;
                bool bounded = of[REPORT_BOUND].n > 0;
                report_table_cell(table, NAN, "%s (%s%s%s)", report_say_setting(group).text,
                                  report_say_number(of[REPORT_SUM_MAX].max).text,
                                  bounded ? ", bound " : "",
                                  bounded ? nvdp__bound(of[REPORT_BOUND].max).text : "");
            }
        }
    }
}

static struct report_table table_budget(struct nvdp_context *ctx, const struct report *report) {
    static const struct column score = {.kind = SCORE};
    struct report_table table = report_table_begin(
        ctx, "budget", "Score at a largest divergence within a budget (sums in nats)", 1,
        REPORT_COLUMNS("method"));
    for (size_t k = 0; k < report->budgets; k++) {
        report_table_column(&table, report_say_lambda(report->budget[k]).text,
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
            mark(&table, first, k + 1, &score);
        }
    }
    add_notes(&table, report, BUDGET);
    add_cautions(&table, report);
    return table;
}

/* Makes the table of base and reg. These methods satisfy no budget, so a score under a budget would suggest privacy. */
static struct report_table table_reference(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = report_table_begin(
        ctx, "not_private", "Methods that are not private and exceed every budget, for comparison",
        1, REPORT_COLUMNS("method", "score"));
    for (size_t task = 0; task < report->tasks; task++) {
        bool begun = false;
        for (size_t f = 0; f < report->families; f++) {
            const struct report_group *group = report_selected(report, task, f);
            if (group == NULL || !report->family[f].reference) continue;
            if (!begun) add_heading(&table, &report->task[task]);
            begun = true;
            report_table_row(&table, "%s\t%s", report->family[f].label, say_scores(group).text);
        }
    }
    if (table.rows > 0) add_notes(&table, report, REFERENCE);
    return table;
}

static struct report_table table_significance(struct nvdp_context *ctx,
                                              const struct report *report) {
    struct report_table table =
        report_table_begin(ctx, "significance", "Differences between methods, paired by seed", 2,
                           REPORT_COLUMNS("method", "against", "seeds", "difference",
                                          "95 % interval", "t", "p", "p (Holm)"));
    nvdp__autofree struct report_comparison *list = NULL;
    size_t count = 0;
    if (table.status == NVDP_OK) table.status = report_compare(ctx, report, &list, &count);
    for (size_t k = 0; k < count; k++) {
        const struct report_comparison *pair = &list[k];
        if (k == 0 || pair->task != list[k - 1].task)
            report_table_heading(&table, "%s", report->task[pair->task].label);
        report_table_row(
            &table, "%s\t%s\t%zu\t%+.2f\t%s\t%s\t%s\t%s", report->family[pair->a].label,
            report->family[pair->b].label, pair->seeds, 100 * pair->mean,
            isnan(pair->low) ? "-"
                             : report_say("%+.2f to %+.2f", 100 * pair->low, 100 * pair->high).text,
            report_say_number(pair->t).text, report_say_p(pair->p).text,
            report_say_p(pair->holm).text);
    }
    if (count == 0) {
        report_table_note(&table, REPORT_OF_RUNS,
                          "No two methods share two seeds, so there is nothing to test.");
        return table;
    }
    report_table_note(
        &table, REPORT_EXPLAINS,
        "difference: 100 times the first metric of the method, minus that of the method in the "
        "column against, over the seeds that both have, each at its selected setting. Two-sided "
        "paired t-test (Student), with Holm's "
        "adjustment over the comparisons of a task. With few seeds the test is rough; it covers "
        "the spread over seeds, not over texts. -: there is no spread to judge by.");
    return table;
}

/* The tables in order. A table is made from methods and settings, or by a function. */
static const struct {
    unsigned in;
    const char *name, *title;
    struct report_table (*make)(struct nvdp_context *ctx, const struct report *report);
} makers[REPORT_TABLES] = {
    {FIRST, "table1",
     "Table 1. Utility and privacy at the setting chosen on validation; divergences are sums in "
     "nats",
     NULL},
    {PUBLISHED, "table1_published",
     "Table 1, as published. The best seed at the setting chosen on validation; divergences per "
     "component and dimension, which are no privacy guarantee",
     NULL},
    {.make = table_budget},
    {.make = table_reference},
    {SECOND, "table2", "Table 2. Every setting", NULL},
    {.make = table_significance},
    {.make = report_table_inversion},
    {.make = report_table_replacements},
    {.make = report_table_attacks},
    {.make = report_table_mask},
    {.make = report_table_exposure},
    {.make = report_table_audit}};

nvdp_status report_tables_make(struct nvdp_context *ctx, const struct report *report,
                               struct report_tables *out) {
    nvdp__auto(report_tables_release) struct report_tables made = {.table = {{0}}};
    for (int k = 0; k < REPORT_TABLES; k++) {
        const bool of_runs = k < REPORT_TABLES - REPORT_ANALYSIS_TABLES;
        if (of_runs && report->runs == 0) continue;
        made.table[k] = makers[k].make != NULL ? makers[k].make(ctx, report)
                                               : methods_table(ctx, report, makers[k].in,
                                                               makers[k].name, makers[k].title);
        NVDP_TRY(made.table[k].status);
    }
    return NVDP__HAND_OVER(out, made);
}

void report_tables_release(struct report_tables *tables) {
    for (int k = 0; k < REPORT_TABLES; k++) {
        report_table_release(&tables->table[k]);
    }
}
