/* Tasks, families of methods, and groups of runs that differ only in seed and fold. report_group() at the end calls the
 * sections in order: labels, tasks, families, groups, statistics. */
#include "base/array.h"
#include "base/sentence.h"
#include "report/parts.h"
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- labels --- */

/* A run's label is the method's name (or the sweep's label), followed by the options that distinguish the run from
 * other runs with this name. Options are added one at a time until, within each task, runs with the same label have
 * the same options. */

/* Options that are tried first. The first ALWAYS_SHOWN options (encoder, private training) are always shown if they
 * differ from the default, except in labels of a sweep. */
static const char *const preferred[] = {
    "encoder",    "target-epsilon", "dp-noise", "preset",      "clip-sequence", "regularizer",
    "latent-dim", "length-policy",  "kappa",    "limit-train", "freeze-layers"};
enum { PREFERRED = sizeof preferred / sizeof *preferred, ALWAYS_SHOWN = 3 };

static const char *base_name(const struct report_run *run) {
    return run->label != NULL ? run->label : report_method_name(run);
}

static bool differ_in(const struct report_run *a, const struct report_run *b, const char *key) {
    const json_t *x = json_object_get(a->variant, key), *y = json_object_get(b->variant, key);
    return !(x == y || (x != NULL && y != NULL && json_equal(x, y)));
}

/* Options that define the task of a folder of tables: another column makes another task. */
static const char *const columns[] = {"text-column", "text-pair-column", "label-column",
                                      "regression"};
enum { TASK_COLUMNS = sizeof columns / sizeof *columns };

/* Returns true if two runs have the same task. A sanitized folder stands for the task's original folder and has the
 * same columns. */
static bool same_task(const struct report_run *a, const struct report_run *b) {
    for (size_t k = 0; k < TASK_COLUMNS; k++) {
        if (differ_in(a, b, columns[k])) return false;
    }
    return strcmp(a->task, b->task) == 0 &&
           (a->sanitized || b->sanitized || strcmp(a->data, b->data) == 0);
}

/* Returns true if two runs have the same label but need different labels. */
static bool collide(const struct report *report, char *const *label, size_t i, size_t j) {
    const struct report_run *a = &report->run[i], *b = &report->run[j];
    return strcmp(report_method_name(a), report_method_name(b)) == 0 &&
           strcmp(label[i], label[j]) == 0 && same_task(a, b) &&
           !json_equal(a->variant, b->variant);
}

/* Returns an option in which the runs differ: a preferred option, else the first option in alphabetical order. */
static const char *choose(const struct report_run *a, const struct report_run *b) {
    for (size_t k = 0; k < PREFERRED; k++) {
        if (differ_in(a, b, preferred[k])) return preferred[k];
    }
    const char *first = NULL;
    for (int side = 0; side < 2; side++) {
        const char *key;
        json_t *value;
        json_object_foreach(side == 0 ? a->variant : b->variant, key, value) {
            (void)value;
            if ((first == NULL || strcmp(key, first) < 0) && differ_in(a, b, key)) first = key;
        }
    }
    return first;
}

struct extension {
    const char *label, *key;
    const json_t *value;
};

/* Writes the option as "latent-dim 16". Some values are written without the name of the option. */
static void print_extended(const void *of, FILE *to) {
    const struct extension *by = of;
    const json_t *value = by->value;
    const size_t length = strlen(by->label);
    const bool open = length > 0 && by->label[length - 1] == ')';
    fprintf(to, "%.*s%s", (int)(open ? length - 1 : length), by->label, open ? ", " : " (");
    if (strcmp(by->key, "regularizer") != 0 && strcmp(by->key, "clip-sequence") != 0 &&
        strcmp(by->key, "encoder") != 0)
        fprintf(to, "%s ", by->key);
    if (json_is_number(value)) {
        report_put_real(to, json_number_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", to);
    } else {
        fputs(json_is_string(value) ? json_string_value(value) : "none", to);
    }
    fputc(')', to);
}

/* Appends an option to a label: "nvdp" and "kl, latent-dim 16" make "nvdp (kl, latent-dim 16)". Skips "". */
static nvdp_status extend_label(struct nvdp_context *ctx, char **label, const char *key,
                                const json_t *value) {
    nvdp__autofree char *text = NULL;
    if (json_is_string(value) && json_string_length(value) == 0) return NVDP_OK;
    NVDP_TRY(nvdp__printed(ctx, print_extended, &(struct extension){*label, key, value}, &text));
    char *plain = nvdp__plain_copy(ctx, text);
    NVDP_TRY(NVDP__MADE(plain));
    free(*label);
    *label = plain;
    return NVDP_OK;
}

/* Adds the option to the labels of all runs with the same method and name, in all tasks, so that labels agree between
 * tasks. */
static nvdp_status extend(struct nvdp_context *ctx, const struct report *report, char **label,
                          const struct report_run *of, const char *key) {
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        if (strcmp(report_method_name(run), report_method_name(of)) != 0 ||
            strcmp(base_name(run), base_name(of)) != 0)
            continue;
        NVDP_TRY(extend_label(ctx, &label[i], key, json_object_get(run->variant, key)));
    }
    return NVDP_OK;
}

/* Makes label[runs], which the caller frees with free(). Adds options until no labels collide; each round distinguishes
 * at least one pair. */
static nvdp_status make_labels(struct nvdp_context *ctx, const struct report *report,
                               char **label) {
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        label[i] = nvdp__strdup(ctx, base_name(run));
        NVDP_TRY(NVDP__MADE(label[i]));
        for (size_t k = 0; k < ALWAYS_SHOWN && run->label == NULL; k++) {
            const json_t *value = json_object_get(run->variant, preferred[k]);
            if (value != NULL) NVDP_TRY(extend_label(ctx, &label[i], preferred[k], value));
        }
    }
    for (size_t i = 0; i < report->runs; i++) {
        for (size_t j = i + 1; j < report->runs; j++) {
            if (!collide(report, label, i, j)) continue;
            NVDP_TRY(extend(ctx, report, label, &report->run[i],
                            choose(&report->run[i], &report->run[j])));
        }
    }
    return NVDP_OK;
}

/* --- order, statistics --- */

enum { OTHERS = 1 << 16 }; /* greater than the position of any mechanism */

/* Returns the position of a method: methods in their order, then mechanisms of text privatization, then other names. */
static int method_place(const char *name) {
    struct nvdp_text_mechanism_info text = NVDP_RESULT(struct nvdp_text_mechanism_info);
    enum nvdp_method method;
    struct nvdp_method_info info = NVDP_RESULT(struct nvdp_method_info);
    if (nvdp_method_find(NULL, name, &method) == NVDP_OK) return (int)method;
    (void)nvdp_method_describe(NULL, NVDP_METHOD_BASE, &info);
    const bool known = nvdp_text_mechanism_describe(NULL, name, &text) == NVDP_OK;
    return (int)info.methods + (known ? text.place : OTHERS);
}

struct report_stat report_summarize(size_t n, const double *values) {
    struct report_stat stat = {.n = n, .mean = NAN, .sd = NAN, .max = NAN};
    if (n == 0) return stat;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        stat.max = fmax(stat.max, values[i]);
    }
    stat.mean = sum / (double)n;
    if (n < 2 || !isfinite(stat.mean)) return stat;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - stat.mean) * (values[i] - stat.mean);
    }
    stat.sd = sqrt(squares / (double)(n - 1));
    return stat;
}

/* --- tasks --- */

/* Returns the run's task. A sanitized folder matches the first task that may be its original task. */
static size_t find_task(const struct report *report, const struct report_run *run) {
    size_t at = 0;
    while (at < report->tasks && !same_task(report->task[at].first, run)) {
        at++;
    }
    return at;
}

/* Returns the name of a task. Own tables, whose task is always tsv, have the name of their folder. */
static const char *own_name(const struct report_task_rows *task) {
    const char *slash = strrchr(task->data, '/'), *folder = slash != NULL ? slash + 1 : task->data;
    const bool named = strcmp(task->task, "tsv") == 0 && folder[0] != '\0' && folder[0] != '.';
    return named ? folder : task->task;
}

/* Returns true if a task of the same name has other data, or, with `key`, another value of this option. */
static bool differs(const struct report *report, const struct report_task_rows *task,
                    const char *key) {
    for (size_t i = 0; i < report->tasks; i++) {
        const struct report_task_rows *other = &report->task[i];
        if (strcmp(own_name(other), own_name(task)) == 0 &&
            (key == NULL ? strcmp(other->data, task->data) != 0
                         : differ_in(other->first, task->first, key)))
            return true;
    }
    return false;
}

/* Labels a task. Tasks with the same name are labeled by the data folder and the columns in which they differ. */
static nvdp_status name_task(struct nvdp_context *ctx, struct report *report, size_t at) {
    struct report_task_rows *task = &report->task[at];
    const char *name = own_name(task);
    task->label = differs(report, task, NULL) ? nvdp__format(ctx, "%s (%s)", name, task->data)
                                              : nvdp__strdup(ctx, name);
    NVDP_TRY(NVDP__MADE(task->label));
    for (size_t k = 0; k < TASK_COLUMNS; k++) {
        const json_t *value = json_object_get(task->first->variant, columns[k]);
        const bool given = json_is_string(value) || json_is_true(value);
        if (given && differs(report, task, columns[k]))
            NVDP_TRY(extend_label(ctx, &task->label, columns[k], value));
    }
    return NVDP_OK;
}

/* Lists the tasks. Sanitized folders, which stand for a task's original folder, come last. */
static nvdp_status list_tasks(struct nvdp_context *ctx, struct report *report) {
    NVDP_TRY(NVDP__NEW(ctx, report->task, report->runs));
    for (size_t k = 0; k < 2 * report->runs; k++) {
        const bool sanitized = k >= report->runs;
        const struct report_run *run = &report->run[k % report->runs];
        if (run->sanitized != sanitized || find_task(report, run) < report->tasks) continue;
        report->task[report->tasks++] =
            (struct report_task_rows){.task = run->task, .data = run->data, .first = run};
    }
    for (size_t i = 0; i < report->tasks; i++) {
        NVDP_TRY(name_task(ctx, report, i));
    }
    return NVDP_OK;
}

/* --- families --- */

static size_t find_family(const struct report *report, const char *method, const char *label) {
    size_t at = 0;
    while (at < report->families && (strcmp(report->family[at].label, label) != 0 ||
                                     strcmp(report->family[at].method, method) != 0)) {
        at++;
    }
    return at;
}

static nvdp_status list_families(struct nvdp_context *ctx, struct report *report, char **label) {
    NVDP_TRY(NVDP__NEW(ctx, report->family, report->runs));
    for (size_t i = 0; i < report->runs; i++) {
        const char *method = report_method_name(&report->run[i]);
        if (find_family(report, method, label[i]) < report->families) continue;
        char *copy = nvdp__strdup(ctx, label[i]);
        NVDP_TRY(NVDP__MADE(copy));
        report->family[report->families++] =
            (struct report_family){.label = copy,
                                   .method = method,
                                   .place = method_place(method),
                                   .reference = report_is_reference(method)};
    }
    NVDP__SORT(report->family, report->families, NVDP__UP(struct report_family, place),
               NVDP__UP(struct report_family, method), NVDP__UP(struct report_family, label));
    for (size_t f = 1; f < report->families; f++) {
        for (size_t g = 0; g < f; g++)
            report->family[f].shade +=
                report_same_look(report->family[g].method, report->family[f].method);
    }
    return NVDP_OK;
}

/* --- groups --- */

/* Returns true if the numbers are equal or both NaN. */
static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static size_t find_group(const struct report *report, size_t task, size_t family,
                         const struct report_run *run) {
    size_t at = 0;
    for (; at < report->groups; at++) {
        const struct report_group *group = &report->group[at];
        if (group->task == task && group->family == family &&
            same_number(group->lambda_g, run->lambda_g) &&
            same_number(group->lambda_d, run->lambda_d) &&
            same_number(group->clip_sequence, run->clip_sequence) &&
            same_number(group->eta, run->eta))
            break;
    }
    return at;
}

int report_by_repetition(const struct report_run *a, const struct report_run *b) {
    if (a->seed != b->seed) return a->seed < b->seed ? -1 : 1;
    return (a->fold > b->fold) - (a->fold < b->fold);
}

/* Adds a run to its group, ordered by seed and fold. Counts a run with the same seed and fold once. */
static nvdp_status add_to_group(struct nvdp_context *ctx, struct report *report,
                                struct report_group *group, const struct report_run *run) {
    size_t at = 0;
    while (at < group->runs && report_by_repetition(group->run[at], run) < 0) {
        at++;
    }
    if (at < group->runs && report_by_repetition(group->run[at], run) == 0)
        return report_note(ctx, report, run->name,
                           "not counted, because it has the same configuration and seed as %s",
                           group->run[at]->name);
    memmove(group->run + at + 1, group->run + at, (group->runs - at) * sizeof(group->run[0]));
    group->run[at] = run;
    group->runs++;
    return NVDP_OK;
}

static nvdp_status make_groups(struct nvdp_context *ctx, struct report *report, char **label) {
    NVDP_TRY(NVDP__NEW(ctx, report->group, report->runs));
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        size_t task = find_task(report, run);
        size_t family = find_family(report, report_method_name(run), label[i]);
        size_t at = find_group(report, task, family, run);
        struct report_group *group = &report->group[at];
        if (at == report->groups) {
            *group = (struct report_group){.task = task,
                                           .family = family,
                                           .lambda_g = run->lambda_g,
                                           .lambda_d = run->lambda_d,
                                           .clip_sequence = run->clip_sequence,
                                           .eta = run->eta};
            report->groups++;
            NVDP_TRY(NVDP__NEW(ctx, group->run, report->runs));
        }
        NVDP_TRY(add_to_group(ctx, report, group, run));
    }
    return NVDP_OK;
}

/* --- statistics --- */

/* Returns statistics of the double at `offset` of each run, without NaN. */
static struct report_stat over_seeds(const struct report_group *group, double *scratch,
                                     size_t offset) {
    size_t n = 0;
    for (size_t i = 0; i < group->runs; i++) {
        double value = *(const double *)((const char *)group->run[i] + offset);
        if (!isnan(value)) scratch[n++] = value;
    }
    return report_summarize(n, scratch);
}

static void summarize(struct report_group *group, double *scratch) {
    for (int k = 0; k < REPORT_METRICS; k++) {
        group->score[k] = over_seeds(group, scratch, offsetof(struct report_run, score[k]));
    }
    group->validation = over_seeds(group, scratch, offsetof(struct report_run, validation));
    group->majority = over_seeds(group, scratch, offsetof(struct report_run, majority));
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        group->quantity[k] = over_seeds(group, scratch, offsetof(struct report_run, quantity[k]));
    }
    group->best = group->run[0];
    /* Selects by validation score only, never by test score. */
    for (size_t i = 1; i < group->runs; i++) {
        double value = group->run[i]->validation, best = group->best->validation;
        if (value > best || (isnan(best) && !isnan(value))) group->best = group->run[i];
    }
}

const struct report_group *report_chosen(const struct report *report, size_t task, size_t family,
                                         enum report_quantity quantity, double limit) {
    const struct report_group *chosen = NULL;
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_stat *spent = &group->quantity[quantity];
        if (group->task != task || group->family != family) continue;
        if (!isnan(limit) && !(spent->n == group->runs && spent->max <= limit)) continue;
        /* Groups of a family are ordered by rising privacy, so a tie selects the later, more private group. */
        if (chosen == NULL || group->validation.mean >= chosen->validation.mean ||
            isnan(chosen->validation.mean))
            chosen = group;
    }
    return chosen;
}

const struct report_group *report_selected(const struct report *report, size_t task,
                                           size_t family) {
    return report_chosen(report, task, family, REPORT_SUM_MAX, NAN);
}

/* The labels of the runs, and memory for their numbers. */
struct scratch {
    double *number;
    char **label;
    size_t runs;
};

static void release_scratch(struct scratch *scratch) {
    for (size_t i = 0; scratch->label != NULL && i < scratch->runs; i++) {
        free(scratch->label[i]);
    }
    free(scratch->label);
    free(scratch->number);
}

nvdp_status report_group(struct nvdp_context *ctx, struct report *report) {
    nvdp__auto(release_scratch) struct scratch scratch = {.runs = report->runs};
    NVDP_TRY(NVDP__NEW(ctx, scratch.number, report->runs));
    NVDP_TRY(NVDP__NEW(ctx, scratch.label, report->runs));
    NVDP_TRY(make_labels(ctx, report, scratch.label));
    NVDP_TRY(list_tasks(ctx, report));
    NVDP_TRY(list_families(ctx, report, scratch.label));
    NVDP_TRY(make_groups(ctx, report, scratch.label));
    NVDP__SORT(report->group, report->groups, NVDP__UP(struct report_group, task),
               NVDP__UP(struct report_group, family), NVDP__UP(struct report_group, lambda_g),
               NVDP__UP(struct report_group, lambda_d),
               NVDP__DOWN(struct report_group, clip_sequence),
               NVDP__DOWN(struct report_group, eta)); /* NaN (no such option) equals all values */
    for (size_t i = 0; i < report->groups; i++) {
        summarize(&report->group[i], scratch.number);
    }
    for (size_t i = 0; i < report->tasks; i++) {
        size_t n = 0;
        for (REPORT_EACH_GROUP(report, group)) {
            for (size_t k = 0; k < group->runs && group->task == i; k++)
                if (!isnan(group->run[k]->majority)) scratch.number[n++] = group->run[k]->majority;
        }
        report->task[i].majority = report_summarize(n, scratch.number).mean;
    }
    for (size_t i = 0; i < report->groups; i++) {
        struct report_group *group = &report->group[i];
        group->selected = group == report_selected(report, group->task, group->family);
    }
    return NVDP_OK;
}

/* ---- significance ---- */

/* Tests whether methods differ by more than chance between seeds. A pair of scores has the same task and seed, and two
 * methods. report_compare() tests all pairs of families. */

static const double CONFIDENCE_TAIL = 0.975; /* quantile for a two-sided interval of 95 % */
static const double SAME = 1e-12;            /* relative rounding error of the scores */

/* Computes t = mean/(sd/sqrt n), p = 2 P(T_(n-1) > |t|), and mean +- t_.975 sd/sqrt n. */
static void test_difference(struct report_paired *pair) {
    double freedom = (double)pair->n - 1, error = pair->sd / sqrt((double)pair->n);
    double reach = gsl_cdf_tdist_Pinv(CONFIDENCE_TAIL, freedom) * error;
    pair->t = pair->mean / error;
    pair->p = 2 * gsl_cdf_tdist_Q(fabs(pair->t), freedom);
    pair->low = pair->mean - reach;
    pair->high = pair->mean + reach;
}

struct report_paired report_paired_t(size_t n, const double *a, const double *b) {
    struct report_paired pair = {n, NAN, NAN, NAN, NAN, NAN, NAN};
    double mean = 0, squares = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        nvdp__welford(i + 1, a[i] - b[i], &mean, &squares);
        size = fmax(size, fmax(fabs(a[i]), fabs(b[i])));
    }
    if (n > 0) pair.mean = mean;
    if (n < 2) return pair;
    pair.sd = sqrt(squares / (double)(n - 1));
    if (pair.sd > SAME * size) {
        test_difference(&pair);
    } else if (fabs(mean) <= SAME * size) { /* false for NaN */
        pair.p = 1;
    }
    return pair;
}

void report_holm(size_t n, const double *p, double *adjusted) {
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        tests += !isnan(p[i]);
    for (size_t i = 0; i < n; i++) { /* multiplies the k-th smallest by tests + 1 - k */
        size_t smaller = 0;
        for (size_t j = 0; j < n; j++)
            smaller += p[j] < p[i];
        adjusted[i] = fmin(1, (double)(tests - smaller) * p[i]);
        if (isnan(p[i])) adjusted[i] = NAN;
    }
    for (size_t i = 0; i < n; i++) /* keeps adjusted values in the order of p */
        for (size_t j = 0; j < n; j++)
            if (p[j] <= p[i]) adjusted[i] = fmax(adjusted[i], adjusted[j]);
}

/* --- between the methods of a report --- */

/* Copies the scores of the seeds and folds that both groups have. Runs are sorted. */
static size_t common_runs(const struct report_group *a, const struct report_group *b, double *x,
                          double *y) {
    size_t n = 0, j = 0;
    for (size_t i = 0; i < a->runs; i++) {
        while (j < b->runs && report_by_repetition(b->run[j], a->run[i]) < 0) {
            j++;
        }
        if (j == b->runs || report_by_repetition(b->run[j], a->run[i]) != 0) continue;
        x[n] = a->run[i]->score[0];
        y[n++] = b->run[j]->score[0];
    }
    return n;
}

static size_t compare_task(const struct report *report, size_t task, double *scratch,
                           struct report_comparison *list) {
    size_t count = 0;
    for (size_t a = 0; a < report->families; a++) {
        const struct report_group *first = report_selected(report, task, a);
        for (size_t b = a + 1; first != NULL && b < report->families; b++) {
            const struct report_group *second = report_selected(report, task, b);
            if (second == NULL) continue;
            size_t n = common_runs(first, second, scratch, scratch + report->runs);
            if (n < 2) continue;
            struct report_paired pair = report_paired_t(n, scratch, scratch + report->runs);
            list[count++] = (struct report_comparison){.task = task,
                                                       .a = a,
                                                       .b = b,
                                                       .seeds = n,
                                                       .mean = pair.mean,
                                                       .low = pair.low,
                                                       .high = pair.high,
                                                       .t = pair.t,
                                                       .p = pair.p};
        }
    }
    return count;
}

nvdp_status report_compare(struct nvdp_context *ctx, const struct report *report,
                           struct report_comparison **out, size_t *count) {
    size_t pairs = report->tasks * report->families * report->families / 2, made = 0;
    nvdp__autofree double *scratch = nvdp__calloc(ctx, 2 * report->runs + 1, sizeof *scratch);
    nvdp__autofree double *p = nvdp__calloc(ctx, 2 * pairs + 1, sizeof *p);
    nvdp__autofree struct report_comparison *list = nvdp__calloc(ctx, pairs + 1, sizeof *list);
    NVDP_TRY(NVDP__MADE(scratch, p, list));
    for (size_t task = 0; task < report->tasks; task++) {
        const size_t more = compare_task(report, task, scratch, list + made);
        for (size_t k = 0; k < more; k++)
            p[k] = list[made + k].p;
        report_holm(more, p, p + more); /* adjusts over the comparisons of the task */
        for (size_t k = 0; k < more; k++)
            list[made++].holm = p[more + k];
    }
    *count = made;
    return NVDP__HAND_OVER(out, list);
}
