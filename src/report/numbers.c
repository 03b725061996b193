/* The report's quantities, one row per quantity, in the order of the columns of groups.csv and runs.csv. Then the full
 * numbers of the tables, for programs, as CSV and as JSON. */
#include "report/parts.h"
#include <math.h>
#include <nvdp/result.h>
#include <stdlib.h>

/* clang-format off */
/* The place of a quantity in an object: minimum, maximum, whether every measurement has the quantity, keys. */
#define PRIVACY(min, max, needed, ...) .of = REPORT_OF_PRIVACY, .place = {{__VA_ARGS__}, min, max, needed}
#define POSTERIOR(min, max, needed, ...) .of = REPORT_OF_POSTERIOR, .place = {{__VA_ARGS__}, min, max, needed}

const struct report_quantity_row report_quantities[REPORT_QUANTITIES] = {
    [REPORT_SUM_MAX] = {"rd_sum_max", REPORT_NUMBER, .better = -1, .always = true, .log = true,
        PRIVACY(-INFINITY, INFINITY, true, "rd", "sum", "max")},
    [REPORT_SUM_MEAN] = {"rd_sum_mean", REPORT_NUMBER, .better = -1, .always = true, .log = true,
        PRIVACY(-INFINITY, INFINITY, true, "rd", "sum", "mean")},
    [REPORT_BOUND] = {"rd_bound", REPORT_PROVEN, .better = -1,
        PRIVACY(0, INFINITY, false, "bound", "sum")},
    [REPORT_UNIT_MAX] = {"rd_per_component_dim_max", REPORT_NUMBER, .better = -1, .always = true,
        PRIVACY(-INFINITY, INFINITY, true, "rd", "per_component_dim", "max")},
    [REPORT_UNIT_MEAN] = {"rd_per_component_dim_mean", REPORT_NUMBER, .better = -1, .always = true,
        PRIVACY(-INFINITY, INFINITY, true, "rd", "per_component_dim", "mean")},
    [REPORT_INFINITE] = {"infinite_share", REPORT_SHARE, .better = 0, .if_infinite = true,
        PRIVACY(-INFINITY, INFINITY, true, "infinite_share")},
    [REPORT_SUM_MAX_FINITE] = {"rd_sum_max_finite", REPORT_NUMBER, .better = 0, .if_infinite = true,
        PRIVACY(0, INFINITY, false, "rd", "sum", "max_finite")},
    [REPORT_UNIT_MAX_FINITE] = {"rd_per_component_dim_max_finite", REPORT_NUMBER, .better = 0, .if_infinite = true,
        PRIVACY(0, INFINITY, false, "rd", "per_component_dim", "max_finite")},
    [REPORT_BDP_BEST] = {"bdp_best", REPORT_NUMBER, .better = -1, .always = true,
        PRIVACY(-INFINITY, INFINITY, true, "bdp", "best", "epsilon")},
    [REPORT_BDP_PUBLISHED] = {"bdp_published", REPORT_NUMBER, .better = -1, .always = true,
        PRIVACY(-INFINITY, INFINITY, true, "bdp", "published", "epsilon")},
    [REPORT_EPSILON_MAX] = {"epsilon_max", REPORT_NUMBER, .better = 0, .log = true,
        PRIVACY(0, INFINITY, false, "epsilon", "max")},
    [REPORT_EPSILON_MEAN] = {"epsilon_mean", REPORT_NUMBER, .better = 0, .log = true,
        PRIVACY(0, INFINITY, false, "epsilon", "mean")},
    [REPORT_EXACT_MAX] = {"exact_epsilon_max", REPORT_NUMBER, .better = -1, .log = true,
        PRIVACY(0, INFINITY, false, "exact", "worst")},
    [REPORT_EXACT_MEAN] = {"exact_epsilon_mean", REPORT_NUMBER, .better = -1, .log = true,
        PRIVACY(0, INFINITY, false, "exact", "mean")},
    [REPORT_LINKED] = {"linked", REPORT_NUMBER, .better = -1,
        PRIVACY(0, 1, false, "linkage", "first")},
    [REPORT_CERTIFIED] = {"certified_epsilon", REPORT_PROVEN, .better = -1, .log = true},
    [REPORT_GUESS] = {"guess_bound_of_0.001", REPORT_PROVEN_SHARE, .better = -1},
    [REPORT_BITS] = {"certified_bits", REPORT_PROVEN, .better = -1},
    [REPORT_WORD] = {"word_epsilon", REPORT_PROVEN, .better = -1},
    [REPORT_WORD_GUESS] = {"word_guess_bound_of_0.001", REPORT_PROVEN_SHARE, .better = -1},
    [REPORT_VECTORS] = {"effective_vectors", REPORT_NUMBER, .better = 0,
        POSTERIOR(-INFINITY, INFINITY, false, "effective_vectors", "mean")},
    [REPORT_VECTORS_LOW] = {"effective_vectors_q05", REPORT_NUMBER, .better = 0,
        POSTERIOR(0, INFINITY, false, "effective_vectors", "quantiles", "0.05")},
    [REPORT_VECTORS_HIGH] = {"effective_vectors_q95", REPORT_NUMBER, .better = 0,
        POSTERIOR(0, INFINITY, false, "effective_vectors", "quantiles", "0.95")},
    [REPORT_TOKEN_SHARE] = {"token_share", REPORT_NUMBER, .better = 0,
        POSTERIOR(-INFINITY, INFINITY, false, "token_share", "mean")},
    [REPORT_ABS_MU] = {"mean_abs_mu", REPORT_NUMBER, .better = 0,
        POSTERIOR(-INFINITY, INFINITY, false, "mean_abs_mu")},
    [REPORT_SIGMA] = {"mean_sigma", REPORT_NUMBER, .better = 0,
        POSTERIOR(-INFINITY, INFINITY, false, "mean_sigma")},
    [REPORT_REUSE] = {"reader", REPORT_SCORE, .better = 0},
    [REPORT_ATTACK] = {"attack", REPORT_SCORE, .better = 0},
};
/* clang-format on */

bool report_is_proven(enum report_quantity quantity) {
    const enum report_kind kind = report_quantities[quantity].kind;
    return kind == REPORT_PROVEN || kind == REPORT_PROVEN_SHARE;
}

double report_value(const struct report_group *group, enum report_quantity quantity) {
    const struct report_stat *of = &group->quantity[quantity];
    return report_is_proven(quantity) ? of->max : of->mean;
}

/* ---- the files of numbers ---- */

/* --- CSV --- */

/* A line of groups.csv or runs.csv; each file uses some of the members. */
struct line {
    const char *run, *task, *data, *title, *method, *label, *metric, *second_metric, *command;
    bool private, selected;
    struct report_text seed;
    size_t seeds;
    int64_t fold;
    double lambda_g, lambda_d, clip_sequence, eta, validation, validation_sd, score, score_sd,
        score_best_seed, second_score, second_score_sd, second_score_best_seed, seconds;
};

#define ROW(member, ...)                                                                           \
    NVDP_RESULT_ROW(struct line, member, NULL, NVDP_SCOPE_RUN, 0, #member, __VA_ARGS__)
static const struct nvdp_result_row group_rows[] = {ROW(task),
                                                    ROW(data),
                                                    ROW(title),
                                                    ROW(method),
                                                    ROW(label),
                                                    ROW(private),
                                                    ROW(lambda_g),
                                                    ROW(lambda_d),
                                                    ROW(clip_sequence),
                                                    ROW(eta),
                                                    ROW(seeds),
                                                    ROW(selected),
                                                    ROW(metric),
                                                    ROW(validation),
                                                    ROW(validation_sd),
                                                    ROW(score),
                                                    ROW(score_sd),
                                                    ROW(score_best_seed),
                                                    ROW(second_metric),
                                                    ROW(second_score),
                                                    ROW(second_score_sd),
                                                    ROW(second_score_best_seed),
                                                    {0}};
static const struct nvdp_result_row run_rows[] = {
    ROW(run),
    ROW(task),
    ROW(method),
    ROW(label),
    ROW(private),
    ROW(lambda_g),
    ROW(lambda_d),
    ROW(clip_sequence),
    ROW(eta),
    {"seed", NVDP_RESULT_CHARS, .offset = offsetof(struct line, seed.text)},
    ROW(fold),
    ROW(validation),
    ROW(metric),
    ROW(score),
    ROW(second_metric),
    ROW(second_score),
    {0}};
static const struct nvdp_result_row run_end[] = {ROW(seconds), ROW(command), {0}};

/* Writes nothing for NaN, and "inf" for infinity, as in all files of the library. */
static void put_number(FILE *to, double value) {
    if (!isnan(value)) report_put_real(to, value);
}

/* Writes the values of the rows, separated by commas. If line is NULL, writes the names of the rows. */
static void put_rows(const struct nvdp_result_row *row, const struct line *line, FILE *to) {
    for (size_t k = 0; row[k].name != NULL; k++) {
        const void *at = (const char *)line + row[k].offset;
        if (k > 0) fputc(',', to);
        if (line == NULL)
            fputs(row[k].name, to);
        else if (row[k].type == NVDP_RESULT_REAL)
            put_number(to, *(const double *)at);
        else if (row[k].type == NVDP_RESULT_FLAG)
            fputs(*(const bool *)at ? "1" : "0", to);
        else if (row[k].type == NVDP_RESULT_COUNT)
            fprintf(to, "%lld", *(const long long *)at);
        else
            nvdp__put_csv(to, row[k].type == NVDP_RESULT_CHARS ? at : *(const char *const *)at);
    }
}

void report_groups_csv(const void *of, FILE *to) {
    const struct report *report = of;
    put_rows(group_rows, NULL, to);
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        fprintf(to, ",%s,%s_sd", report_quantities[k].name, report_quantities[k].name);
    }
    fputs("\r\n", to);
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_run *best = group->best;
        const struct report_task_rows *task = &report->task[group->task];
        const struct report_family *family = &report->family[group->family];
        put_rows(group_rows,
                 &(struct line){.task = task->task,
                                .data = task->data,
                                .title = task->label,
                                .method = family->method,
                                .label = family->label,
                                .private = !family->reference,
                                .lambda_g = group->lambda_g,
                                .lambda_d = group->lambda_d,
                                .clip_sequence = group->clip_sequence,
                                .eta = group->eta,
                                .seeds = group->runs,
                                .selected = group->selected,
                                .metric = best->metric[0],
                                .validation = group->validation.mean,
                                .validation_sd = group->validation.sd,
                                .score = group->score[0].mean,
                                .score_sd = group->score[0].sd,
                                .score_best_seed = best->score[0],
                                .second_metric = best->metrics > 1 ? best->metric[1] : "",
                                .second_score = group->score[1].mean,
                                .second_score_sd = group->score[1].sd,
                                .second_score_best_seed = best->score[1]},
                 to);
        for (int k = 0; k < REPORT_QUANTITIES; k++) {
            fputc(',', to);
            put_number(to, group->quantity[k].mean);
            fputc(',', to);
            put_number(to, group->quantity[k].sd);
        }
        fputs("\r\n", to);
    }
}

void report_runs_csv(const void *of, FILE *to) {
    const struct report *report = of;
    put_rows(run_rows, NULL, to);
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        fprintf(to, ",%s", report_quantities[k].name);
    }
    fputc(',', to);
    put_rows(run_end, NULL, to);
    fputs("\r\n", to);
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_family *family = &report->family[group->family];
        for (size_t i = 0; i < group->runs; i++) {
            const struct report_run *run = group->run[i];
            const struct line line = {.run = run->name,
                                      .task = run->task,
                                      .method = report_method_name(run),
                                      .label = family->label,
                                      .private = !family->reference,
                                      .lambda_g = run->lambda_g,
                                      .lambda_d = run->lambda_d,
                                      .clip_sequence = run->clip_sequence,
                                      .eta = run->eta,
                                      .seed = report_say("%llu", (unsigned long long)run->seed),
                                      .fold = run->fold,
                                      .validation = run->validation,
                                      .metric = run->metric[0],
                                      .score = run->score[0],
                                      .second_metric = run->metrics > 1 ? run->metric[1] : "",
                                      .second_score = run->score[1],
                                      .seconds = run->seconds,
                                      .command = run->command};
            put_rows(run_rows, &line, to);
            for (int k = 0; k < REPORT_QUANTITIES; k++) {
                fputc(',', to);
                put_number(to, run->quantity[k]);
            }
            fputc(',', to);
            put_rows(run_end, &line, to);
            fputs("\r\n", to);
        }
    }
}

/* --- JSON. json_pack takes ownership of its arguments, and returns NULL if any of them is NULL --- */

/* Appends the value, or adds it under the key.  On failure *to becomes NULL, so one check at the end suffices. */
static void add(json_t **to, const char *key, json_t *value) {
    const int failed =
        key != NULL ? json_object_set_new(*to, key, value) : json_array_append_new(*to, value);
    if (failed == 0) return;
    json_decref(*to);
    *to = NULL;
}

static json_t *stat(const struct report_stat *from) {
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)from->n, "mean",
                     nvdp__json_known(from->mean), "sd", nvdp__json_known(from->sd), "max",
                     nvdp__json_known(from->max));
}

static json_t *quantities(const struct report_group *group) {
    json_t *object = json_object();
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        if (group->quantity[k].n == 0) continue;
        add(&object, report_quantities[k].name, stat(&group->quantity[k]));
    }
    return object;
}

static json_t *scores(const struct report_group *group) {
    json_t *object = json_object();
    for (int k = 0; k < group->best->metrics; k++) {
        json_t *one = stat(&group->score[k]);
        add(&one, "best_seed", nvdp__json_known(group->best->score[k]));
        add(&object, group->best->metric[k], one);
    }
    return object;
}

static json_t *runs(const struct report_group *group) {
    json_t *array = json_array();
    for (size_t i = 0; i < group->runs; i++) {
        const struct report_run *run = group->run[i];
        json_t *one = json_pack("{s:s, s:I, s:I, s:o, s:o, s:s}", "run", run->name, "seed",
                                (json_int_t)run->seed, "fold", (json_int_t)run->fold, "validation",
                                nvdp__json_known(run->validation), "score",
                                nvdp__json_known(run->score[0]), "command", run->command);
        add(&array, NULL, one);
    }
    return array;
}

/* Makes a list of `count` items by calls of `item`. */
static json_t *make_list(const struct report *report, size_t count,
                         json_t *(*item)(const struct report *report, size_t i)) {
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        add(&array, NULL, item(report, i));
    }
    return array;
}

static json_t *group_item(const struct report *report, size_t i) {
    const struct report_group *group = &report->group[i];
    const struct report_task_rows *task = &report->task[group->task];
    const struct report_family *family = &report->family[group->family];
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:b, s:s, s:o, s:o, s:o, s:o}", "task",
        task->task, "data", task->data, "title", task->label, "method", family->method, "label",
        family->label, "private", !family->reference, "lambda_g", nvdp__json_known(group->lambda_g),
        "lambda_d", nvdp__json_known(group->lambda_d), "clip_sequence",
        nvdp__json_known(group->clip_sequence), "eta", nvdp__json_known(group->eta), "selected",
        group->selected, "best_run", group->best->name, "validation", stat(&group->validation),
        "scores", scores(group), "quantities", quantities(group), "runs", runs(group));
}

static void add_budgets(json_t **array, const struct report *report, size_t task, size_t f,
                        enum report_quantity limited) {
    if (report->family[f].reference || report_chosen(report, task, f, limited, INFINITY) == NULL)
        return;
    for (size_t k = 0; k < report->budgets; k++) {
        double nats = report->budget[k];
        const struct report_group *group = report_chosen(report, task, f, limited, nats);
        add(array, NULL,
            json_pack("{s:s, s:s, s:s, s:o, s:o}", "task", report->task[task].label, "label",
                      report->family[f].label, "limited", report_quantities[limited].name, "nats",
                      nvdp__json_known(nats), "group",
                      group != NULL ? json_integer(group - report->group) : json_null()));
    }
}

/* Returns the settings that the table of budgets chose, as indices into `groups`; null if there is none. */
static json_t *budgets(const struct report *report) {
    json_t *array = json_array();
    for (size_t task = 0; task < report->tasks; task++) {
        for (size_t f = 0; f < report->families; f++) {
            add_budgets(&array, report, task, f, REPORT_SUM_MAX);
            add_budgets(&array, report, task, f, REPORT_BOUND);
        }
    }
    return array;
}

static json_t *comparisons(const struct report *report, size_t count,
                           const struct report_comparison *list) {
    json_t *array = json_array();
    for (size_t k = 0; k < count; k++) {
        const struct report_comparison *pair = &list[k];
        json_t *one = json_pack(
            "{s:s, s:s, s:s, s:I, s:o, s:[o,o], s:o, s:o, s:o}", "task",
            report->task[pair->task].label, "method", report->family[pair->a].label, "against",
            report->family[pair->b].label, "seeds", (json_int_t)pair->seeds, "difference",
            nvdp__json_known(pair->mean), "interval", nvdp__json_known(pair->low),
            nvdp__json_known(pair->high), "t", nvdp__json_known(pair->t), "p",
            nvdp__json_known(pair->p), "p_holm", nvdp__json_known(pair->holm));
        add(&array, NULL, one);
    }
    return array;
}

static json_t *note_item(const struct report *report, size_t i) {
    return json_pack("{s:s, s:s}", "run", report->note[i].name, "note", report->note[i].text);
}

/* Returns an analysis as it was printed, with the name of the file. */
static json_t *analysis_item(const struct report *report, size_t i) {
    json_t *one = json_copy(report->analysis[i].root);
    add(&one, "file", json_string(report->analysis[i].name));
    return one;
}

nvdp_status report_json(struct nvdp_context *ctx, const struct report *report, char **out) {
    size_t count = 0;
    nvdp__autofree struct report_comparison *list = NULL;
    NVDP_TRY(report_compare(ctx, report, &list, &count));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "nvdp_format", "report/1",
                  "directory", report->directory, "units", "nats", "runs", (json_int_t)report->runs,
                  "groups", make_list(report, report->groups, group_item), "budgets",
                  budgets(report), "significance", comparisons(report, count, list), "analyses",
                  make_list(report, report->analyses, analysis_item), "not_counted",
                  make_list(report, report->notes, note_item));
    return nvdp__json_text(ctx, root, report->directory, out);
}
