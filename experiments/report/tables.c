/* Tables 1 and 2: columns are rows of a list, so that each table is a choice of them. */
#include "experiments/report/tables.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef const char *sayer(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group);

struct column {
    const char *name, *unit;
    sayer *say;
    double (*value)(const struct nvdp__group *group); /* what is compared; NULL: nothing is */
    int better;                                       /* +1 the larger, -1 the smaller */
};

/* --- columns --- */

static const char *say_lambda(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    return nvdp__say_lambdas(text, group->lambda_g, group->lambda_d);
}

static const char *say_seeds(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    snprintf(text, NVDP__NUMBER_ROOM, "%zu", group->runs);
    return text;
}

static const char *say_score(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    char first[NVDP__NUMBER_ROOM], second[NVDP__NUMBER_ROOM];
    nvdp__say_score_stat(first, &group->score[0]);
    if (group->score[1].n == 0) {
        snprintf(text, NVDP__NUMBER_ROOM, "%s", first);
    } else {
        snprintf(text, NVDP__NUMBER_ROOM, "%.28s / %.28s", first,
                 nvdp__say_score_stat(second, &group->score[1]));
    }
    return text;
}

static const char *say_best(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    char first[NVDP__NUMBER_ROOM], second[NVDP__NUMBER_ROOM];
    nvdp__say_score(first, group->best->score[0]);
    if (group->best->metrics < 2) {
        snprintf(text, NVDP__NUMBER_ROOM, "%s", first);
    } else {
        snprintf(text, NVDP__NUMBER_ROOM, "%.28s / %.28s", first,
                 nvdp__say_score(second, group->best->score[1]));
    }
    return text;
}

static const char *say_validation(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    return nvdp__say_score_stat(text, &group->validation);
}

static double score_of(const struct nvdp__group *group) {
    return group->score[0].mean;
}

static double best_of(const struct nvdp__group *group) {
    return group->best->score[0];
}

/* Means over seeds of one quantity: a pair of functions each. */
#define QUANTITY(name, quantity_)                                                                  \
    static double name##_of(const struct nvdp__group *group) {                                     \
        return group->quantity[quantity_].mean;                                                    \
    }                                                                                              \
    static const char *say_##name(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) { \
        return nvdp__say_divergence(text, name##_of(group), group->quantity[NVDP__INFINITE].mean); \
    }
QUANTITY(sum_max, NVDP__SUM_MAX)
QUANTITY(sum_mean, NVDP__SUM_MEAN)

#define NUMBER(name, value_)                                                                       \
    static double name##_of(const struct nvdp__group *group) {                                     \
        return value_;                                                                             \
    }                                                                                              \
    static const char *say_##name(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) { \
        return nvdp__say_number(text, name##_of(group));                                           \
    }
NUMBER(bdp_best, group->quantity[NVDP__BDP_BEST].mean)
NUMBER(bdp_published, group->quantity[NVDP__BDP_PUBLISHED].mean)
NUMBER(unit_max, group->quantity[NVDP__UNIT_MAX].mean)
NUMBER(unit_mean, group->quantity[NVDP__UNIT_MEAN].mean)
NUMBER(vectors, group->quantity[NVDP__VECTORS].mean)
NUMBER(best_unit_max, group->best->quantity[NVDP__UNIT_MAX])
NUMBER(best_unit_mean, group->best->quantity[NVDP__UNIT_MEAN])
NUMBER(best_bdp, group->best->quantity[NVDP__BDP_PUBLISHED])

static const char *say_reader(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    return nvdp__say_score_stat(text, &group->quantity[NVDP__REUSE]);
}

static const char *say_attack(char text[NVDP__NUMBER_ROOM], const struct nvdp__group *group) {
    return nvdp__say_score_stat(text, &group->quantity[NVDP__ATTACK]);
}

static const struct column first_columns[] = {
    {"lambda", "", say_lambda, NULL, 0},
    {"seeds", "", say_seeds, NULL, 0},
    {"score", "", say_score, score_of, 1},
    {"best of", "seeds", say_best, best_of, 1},
    {"RD max", "[nats]", say_sum_max, sum_max_of, -1},
    {"RD mean", "[nats]", say_sum_mean, sum_mean_of, -1},
    {"BDP", "best k", say_bdp_best, bdp_best_of, -1},
    {"BDP", "k=1.1", say_bdp_published, bdp_published_of, -1},
};
static const struct column published_columns[] = {
    {"lambda", "", say_lambda, NULL, 0},
    {"score", "best of seeds", say_best, best_of, 1},
    {"BDP", "k=1.1", say_best_bdp, best_bdp_of, -1},
    {"RD max", "/comp.dim.", say_best_unit_max, best_unit_max_of, -1},
    {"RD mean", "/comp.dim.", say_best_unit_mean, best_unit_mean_of, -1},
};
static const struct column second_columns[] = {
    {"lambda", "", say_lambda, NULL, 0},
    {"seeds", "", say_seeds, NULL, 0},
    {"validation", "", say_validation, NULL, 0},
    {"score", "", say_score, NULL, 0},
    {"best of", "seeds", say_best, NULL, 0},
    {"RD max", "[nats]", say_sum_max, NULL, 0},
    {"RD mean", "[nats]", say_sum_mean, NULL, 0},
    {"BDP", "best k", say_bdp_best, NULL, 0},
    {"BDP", "k=1.1", say_bdp_published, NULL, 0},
    {"RD max", "/comp.dim.", say_unit_max, NULL, 0},
    {"RD mean", "/comp.dim.", say_unit_mean, NULL, 0},
};
/* Where any run has them. */
static const struct column vectors_column = {"effective", "vectors", say_vectors, vectors_of, 0};
static const struct column reader_column = {"reader", "", say_reader, NULL, 0};
static const struct column attack_column = {"attack", "", say_attack, NULL, 0};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])
enum { MOST_COLUMNS = 16 };

/* --- rows --- */

struct choice {
    const struct column *column[MOST_COLUMNS];
    size_t columns;
    bool selected; /* only the groups of the selected lambda */
};

static struct choice choose(size_t count, const struct column *column, bool selected) {
    struct choice made = {.selected = selected};
    for (size_t k = 0; k < count; k++) {
        made.column[made.columns++] = &column[k];
    }
    return made;
}

static bool shown(const struct nvdp__group *group, size_t task, const struct choice *choice) {
    return group->task == task && (group->selected || !choice->selected);
}

static void add_row(struct nvdp__table *table, const struct nvdp_report *report,
                    const struct nvdp__group *group, const struct choice *choice) {
    char text[NVDP__NUMBER_ROOM];
    nvdp__table_row(table);
    nvdp__table_cell(table, report->family[group->family].label);
    for (size_t k = 0; k < choice->columns; k++) {
        nvdp__table_cell(table, choice->column[k]->say(text, group));
    }
}

/* A value as it is compared: in the digits that are printed. */
static const char *compared(char text[NVDP__NUMBER_ROOM], const struct column *column,
                            double value) {
    return column->better > 0 ? nvdp__say_score(text, value) : nvdp__say_number(text, value);
}

/* The best of a task's private methods in a column; NaN where fewer than two compete. */
static double best_value(const struct nvdp_report *report, size_t task, const struct choice *choice,
                         const struct column *column) {
    double best = NAN;
    size_t competing = 0;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (!shown(group, task, choice) || report->family[group->family].reference) continue;
        double value = column->value(group);
        competing++;
        if (isfinite(value) && !(column->better * value <= column->better * best)) best = value;
    }
    return competing > 1 ? best : NAN;
}

/* Those that print alike are as good. */
static void mark(struct nvdp__table *table, const struct nvdp_report *report, size_t task,
                 const struct choice *choice, size_t k, size_t row) {
    const struct column *column = choice->column[k];
    char best[NVDP__NUMBER_ROOM], text[NVDP__NUMBER_ROOM];
    if (column->better == 0) return;
    double value = best_value(report, task, choice, column);
    if (isnan(value)) return;
    compared(best, column, value);
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (!shown(group, task, choice)) continue;
        bool reference = report->family[group->family].reference;
        if (!reference && strcmp(compared(text, column, column->value(group)), best) == 0)
            nvdp__table_strong(table, row, k + 1);
        row++;
    }
}

static void add_majority(struct nvdp__table *table, const struct nvdp__task_rows *task,
                         const struct choice *choice) {
    char text[NVDP__NUMBER_ROOM];
    if (isnan(task->first->majority)) return;
    nvdp__table_row(table);
    nvdp__table_cell(table, "majority class");
    for (size_t k = 0; k < choice->columns; k++) {
        bool score = choice->column[k]->say == say_score || choice->column[k]->say == say_best;
        nvdp__table_cell(table, score ? nvdp__say_score(text, task->first->majority) : "-");
    }
}

/* "mrpc (accuracy / f1)" */
static void add_heading(struct nvdp__table *table, const struct nvdp__task_rows *task) {
    const struct nvdp__report_run *run = task->first;
    char *text =
        nvdp__format(table->ctx, "%s (%s%s%s)", task->label, run->metric[0],
                     run->metrics > 1 ? " / " : "", run->metrics > 1 ? run->metric[1] : "");
    if (text == NULL) {
        table->status = NVDP_ERR_MEMORY;
        return;
    }
    nvdp__table_heading(table, text);
    free(text);
}

static void add_task(struct nvdp__table *table, const struct nvdp_report *report, size_t task,
                     const struct choice *choice) {
    add_heading(table, &report->task[task]);
    add_majority(table, &report->task[task], choice);
    size_t first = table->rows;
    for (size_t i = 0; i < report->groups; i++) {
        if (shown(&report->group[i], task, choice))
            add_row(table, report, &report->group[i], choice);
    }
    for (size_t k = 0; choice->selected && k < choice->columns; k++) {
        mark(table, report, task, choice, k, first);
    }
}

static struct nvdp__table fill(struct nvdp_context *ctx, const struct nvdp_report *report,
                               const char *name, const char *title, const struct choice *choice) {
    struct nvdp__table table = nvdp__table_begin(ctx, name, title);
    nvdp__table_column(&table, false, "method", "");
    for (size_t k = 0; k < choice->columns; k++) {
        nvdp__table_column(&table, true, choice->column[k]->name, choice->column[k]->unit);
    }
    for (size_t task = 0; task < report->tasks; task++) {
        add_task(&table, report, task, choice);
    }
    return table;
}

/* --- what is said below them --- */

static void note_scores(struct nvdp__table *table) {
    nvdp__table_note(table, "score: 100 times the metric on the test texts (the dev file), with "
                            "fresh noise; mean +- standard deviation over seeds. best of seeds: "
                            "of the seed with the largest validation score, as published.");
}

static void note_selection(struct nvdp__table *table) {
    nvdp__table_note(table, "lambda: the weight of the regularisers with the largest mean "
                            "validation score, the larger one on ties; the test scores have no "
                            "say. Marked: the best of a task's private methods.");
}

static void note_privacy(struct nvdp__table *table) {
    nvdp__table_note(
        table,
        "RD: Renyi divergence in nats, summed over everything that one release of a text "
        "shares; largest and mean over all ordered pairs of the measured texts, mean over "
        "seeds. inf (x %%): some pair's is infinite, x %% of the pairs are. Measured on these "
        "texts, not a bound over all texts.");
    nvdp__table_note(table,
                     "BDP: Bayesian DP epsilon of the worst measured text: at the best moment k, "
                     "and at the published k = 1.1, where no value can be below ln(1/delta)/k.");
}

static void note_published(struct nvdp__table *table) {
    nvdp__table_note(table, "/comp.dim.: the sum divided by components times dimensions, as in "
                            "the published tables; not a privacy guarantee: a third party gets "
                            "the sum.");
}

struct extremes {
    double low, high;
};

static void widen(struct extremes *range, double value) {
    if (isnan(value)) return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

/* Whether the runs were measured alike; `drawn`: whether any rests on drawn pairs. */
static void caution_of_measures(struct nvdp__table *table, const struct nvdp_report *report) {
    struct extremes order = {INFINITY, -INFINITY}, delta = order, releases = order;
    size_t drawn = 0, same_length = 0, measured = 0;
    for (size_t i = 0; i < report->runs; i++) {
        const struct nvdp__report_run *run = &report->run[i];
        if (!run->measured) continue;
        measured++;
        widen(&order, run->how.order);
        widen(&delta, run->how.delta);
        widen(&releases, run->how.releases);
        drawn += run->how.drawn;
        same_length += run->how.same_length;
    }
    if (measured == 0) return;
    if (order.low < order.high || delta.low < delta.high || releases.low < releases.high ||
        (same_length > 0 && same_length < measured)) {
        nvdp__table_note(table,
                         "CAUTION: the runs were not measured alike (order %g to %g, delta "
                         "%g to %g, releases %g to %g, %zu of %zu over pairs of one length "
                         "only): their divergences are not comparable.",
                         order.low, order.high, delta.low, delta.high, releases.low, releases.high,
                         same_length, measured);
    } else {
        nvdp__table_note(table, "Order of the divergences %g, delta %g, %g release%s of a text%s.",
                         order.low, delta.low, releases.low, releases.low == 1 ? "" : "s",
                         same_length > 0 ? ", pairs of texts of one length" : "");
    }
    if (drawn > 0)
        nvdp__table_note(table,
                         "%zu of %zu runs: mean and infinite share are estimated from drawn "
                         "pairs; the maximum is exact.",
                         drawn, measured);
}

void nvdp__table_cautions(struct nvdp__table *table, const struct nvdp_report *report) {
    size_t optimistic = 0;
    caution_of_measures(table, report);
    for (size_t i = 0; i < report->runs; i++) {
        const char *protocol =
            json_string_value(json_object_get(report->run[i].variant, "protocol"));
        optimistic += protocol != NULL && strcmp(protocol, "dev") == 0;
    }
    if (optimistic > 0)
        nvdp__table_note(table,
                         "%zu of %zu runs chose their epoch on the test texts themselves "
                         "(--protocol dev): optimistic.",
                         optimistic, report->runs);
}

/* Names those that have learned nothing: their privacy is no merit. */
static void note_collapsed(struct nvdp__table *table, const struct nvdp_report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to != NULL && i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        const struct nvdp__family *family = &report->family[group->family];
        const struct nvdp__task_rows *task = &report->task[group->task];
        if (!group->selected || family->reference || isnan(task->first->majority)) continue;
        if (strcmp(task->first->metric[0], "accuracy") != 0) continue;
        if (group->score[0].mean <= task->first->majority)
            fprintf(to, "%s%s on %s", ftell(to) > 0 ? ", " : "", family->label, task->label);
    }
    if (to == NULL || fclose(to) != 0) {
        table->status = nvdp__fail(table->ctx, NVDP_ERR_MEMORY, "out of memory");
    } else if (*text != '\0') {
        nvdp__table_note(table,
                         "No better than always saying the most frequent class: %s. Privacy "
                         "is easy where nothing was learned.",
                         text);
    }
    free(text);
}

/* --- the tables --- */

struct nvdp__table nvdp__table_1(struct nvdp_context *ctx, const struct nvdp_report *report) {
    struct choice choice = choose(COUNT(first_columns), first_columns, true);
    struct nvdp__table table = fill(
        ctx, report, "table1",
        "Table 1. Utility and privacy at the lambda chosen on validation; sums in nats", &choice);
    note_scores(&table);
    note_selection(&table);
    note_privacy(&table);
    note_collapsed(&table, report);
    nvdp__table_cautions(&table, report);
    return table;
}

struct nvdp__table nvdp__table_1_published(struct nvdp_context *ctx,
                                           const struct nvdp_report *report) {
    struct choice choice = choose(COUNT(published_columns), published_columns, true);
    struct nvdp__table table =
        fill(ctx, report, "table1_published",
             "Table 1, as published. The best seed at the lambda chosen on validation; divergences "
             "per component and dimension, no privacy guarantee",
             &choice);
    nvdp__table_note(&table, "score, privacy: of the seed with the largest validation score; the "
                             "score is 100 times the metric on the test texts (the dev file).");
    note_selection(&table);
    note_published(&table);
    note_collapsed(&table, report);
    nvdp__table_cautions(&table, report);
    return table;
}

static bool any(const struct nvdp_report *report, enum nvdp__quantity quantity) {
    bool found = false;
    for (size_t i = 0; i < report->groups; i++) {
        found |= report->group[i].quantity[quantity].n > 0;
    }
    return found;
}

static void note_attack(struct nvdp__table *table, const struct nvdp_report *report) {
    nvdp__table_note(table, "attack: score of a reader that looks for a private attribute in the "
                            "shared file.");
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        const struct nvdp__family *family = &report->family[group->family];
        if (!family->reference || group->quantity[NVDP__ATTACK].n == 0) continue;
        nvdp__table_note(table,
                         "attack of %s, which makes no private file: of a probe on plain "
                         "embeddings.",
                         family->method);
        return;
    }
}

struct nvdp__table nvdp__table_2(struct nvdp_context *ctx, const struct nvdp_report *report) {
    struct choice choice = choose(COUNT(second_columns), second_columns, false);
    bool vectors = any(report, NVDP__VECTORS), reader = any(report, NVDP__REUSE);
    bool attack = any(report, NVDP__ATTACK);
    if (vectors) choice.column[choice.columns++] = &vectors_column;
    if (reader) choice.column[choice.columns++] = &reader_column;
    if (attack) choice.column[choice.columns++] = &attack_column;
    struct nvdp__table table = fill(ctx, report, "table2", "Table 2. Every lambda", &choice);
    note_scores(&table);
    note_privacy(&table);
    note_published(&table);
    if (vectors)
        nvdp__table_note(&table, "effective vectors: of a text, exp of the "
                                 "entropy of its expected weights; mean over texts and seeds.");
    if (reader)
        nvdp__table_note(&table, "reader: score of a reader trained from the shared file alone.");
    if (attack) note_attack(&table, report);
    nvdp__table_cautions(&table, report);
    return table;
}

const nvdp__table_maker nvdp__table_maker_of[NVDP__TABLES] = {
    nvdp__table_1, nvdp__table_1_published, nvdp__table_2, nvdp__table_significance};
