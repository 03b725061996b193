/* Tasks, families of methods, and groups of runs that differ only in seed and fold. report_group() at the end calls the
 * sections in order: labels, tasks, families, groups, statistics. */
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- labels --- */

/* A run's label is the method's name (or the sweep's label), followed by the options that distinguish it from other
 * runs of that name. Options are added one at a time until, within each task, runs with the same label have the same
 * options. */

/* Options that are tried first. The first ALWAYS_SHOWN of them (encoder, private training) are also shown if they
 * differ from the default, except in labels of a sweep. */
static const char *const preferred[] = {
    "encoder",    "target-epsilon", "dp-noise", "preset",      "clip-sequence", "regularizer",
    "latent-dim", "length-policy",  "kappa",    "limit-train", "freeze-layers"};
enum { PREFERRED = sizeof preferred / sizeof *preferred, ALWAYS_SHOWN = 3 };

struct labels {
    struct nvdp_context *ctx;
    const struct report *report;
    char **label;
};

static const char *base_name(const struct report_run *run) {
    return run->label != NULL ? run->label : report_method_of(run);
}

static bool differ_in(const struct report_run *a, const struct report_run *b, const char *key) {
    const json_t *x = json_object_get(a->variant, key), *y = json_object_get(b->variant, key);
    return !(x == y || (x != NULL && y != NULL && json_equal(x, y)));
}

/* Columns that define the task of a folder of tables: other columns make another task. */
static const char *const columns[] = {"text-column", "text-pair-column", "label-column",
                                      "regression"};
enum { TASK_COLUMNS = sizeof columns / sizeof *columns };

/* Returns true if two runs have the same task. A sanitized folder stands for the task's own folder and has its
 * columns. */
static bool same_task(const struct report_run *a, const struct report_run *b) {
    for (size_t k = 0; k < TASK_COLUMNS; k++) {
        if (differ_in(a, b, columns[k])) return false;
    }
    return strcmp(a->task, b->task) == 0 &&
           (a->sanitized || b->sanitized || strcmp(a->data, b->data) == 0);
}

/* Returns true if two runs have the same label but need different ones. */
static bool collide(const struct labels *all, size_t i, size_t j) {
    const struct report_run *a = &all->report->run[i], *b = &all->report->run[j];
    return strcmp(report_method_of(a), report_method_of(b)) == 0 &&
           strcmp(all->label[i], all->label[j]) == 0 && same_task(a, b) &&
           !json_equal(a->variant, b->variant);
}

/* Returns an option in which the runs differ: a preferred one, else the first in alphabetical order. */
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

/* Writes an option as "latent-dim 16". Some values need no name. */
static void put_option(FILE *to, const char *key, const json_t *value) {
    if (strcmp(key, "regularizer") != 0 && strcmp(key, "clip-sequence") != 0 &&
        strcmp(key, "encoder") != 0)
        fprintf(to, "%s ", key);
    if (json_is_number(value)) {
        report_put_real(to, json_number_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", to);
    } else {
        fputs(json_is_string(value) ? json_string_value(value) : "none", to);
    }
}

/* Appends an option to a label: "nvdp" and "kl, latent-dim 16" make "nvdp (kl, latent-dim 16)". Skips "". */
static char *extended(struct nvdp_context *ctx, const char *label, const char *key,
                      const json_t *value) {
    struct report_sheet sheet;
    if (json_is_string(value) && json_string_length(value) == 0) return nvdp__strdup(ctx, label);
    size_t length = strlen(label);
    bool open = length > 0 && label[length - 1] == ')';
    FILE *to = report_sheet_open(&sheet);
    if (to != NULL) {
        fprintf(to, "%.*s%s", (int)(open ? length - 1 : length), label, open ? ", " : " (");
        put_option(to, key, value);
        fputc(')', to);
    }
    char *text = report_sheet_text(ctx, &sheet);
    char *plain = text != NULL ? nvdp__plain_copy(ctx, text) : NULL;
    free(text);
    return plain;
}

/* Adds the option to the labels of all runs with the same method and name, in all tasks, so that labels agree between
 * tasks. */
static nvdp_status extend(struct labels *all, const struct report_run *of, const char *key) {
    for (size_t i = 0; i < all->report->runs; i++) {
        const struct report_run *run = &all->report->run[i];
        if (strcmp(report_method_of(run), report_method_of(of)) != 0 ||
            strcmp(base_name(run), base_name(of)) != 0)
            continue;
        char *longer = extended(all->ctx, all->label[i], key, json_object_get(run->variant, key));
        if (longer == NULL) return NVDP_ERR_MEMORY;
        free(all->label[i]);
        all->label[i] = longer;
    }
    return NVDP_OK;
}

/* Adds options until no labels collide. Each round distinguishes at least one pair. */
static nvdp_status distinguish(struct labels *all) {
    size_t runs = all->report->runs;
    for (size_t i = 0; i < runs; i++) {
        for (size_t j = i + 1; j < runs; j++) {
            if (!collide(all, i, j)) continue;
            const char *key = choose(&all->report->run[i], &all->report->run[j]);
            NVDP_TRY(extend(all, &all->report->run[i], key));
        }
    }
    return NVDP_OK;
}

/* Returns the start of a label; NULL if out of memory. */
static char *begun(struct nvdp_context *ctx, const struct report_run *run) {
    char *label = nvdp__strdup(ctx, base_name(run));
    for (size_t k = 0; k < ALWAYS_SHOWN && label != NULL && run->label == NULL; k++) {
        const json_t *value = json_object_get(run->variant, preferred[k]);
        if (value == NULL) continue;
        char *longer = extended(ctx, label, preferred[k], value);
        free(label);
        label = longer;
    }
    return label;
}

/* label[runs], each free(). */
static nvdp_status make_labels(struct nvdp_context *ctx, const struct report *report,
                               char **label) {
    struct labels all = {.ctx = ctx, .report = report, .label = label};
    for (size_t i = 0; i < report->runs; i++) {
        label[i] = begun(ctx, &report->run[i]);
        if (label[i] == NULL) return NVDP_ERR_MEMORY;
    }
    return distinguish(&all);
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

struct report_stat report_stat_of(size_t n, const double *values) {
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

/* Returns the run's task. A sanitized folder matches the first task that may be its own. */
static size_t find_task(const struct report *report, const struct report_run *run) {
    size_t at = 0;
    while (at < report->tasks && !same_task(report->task[at].first, run)) {
        at++;
    }
    return at;
}

/* Returns true if a task of the same name differs in its data, or with `key` in that option. */
static bool differs(const struct report *report, const struct report_task_rows *task,
                    const char *key) {
    for (size_t i = 0; i < report->tasks; i++) {
        const struct report_task_rows *other = &report->task[i];
        if (strcmp(other->task, task->task) == 0 &&
            (key == NULL ? strcmp(other->data, task->data) != 0
                         : differ_in(other->first, task->first, key)))
            return true;
    }
    return false;
}

/* Labels a task. Tasks with the same name are labeled by the data folder and the columns in which they differ. */
static nvdp_status name_task(struct nvdp_context *ctx, struct report *report, size_t at) {
    struct report_task_rows *task = &report->task[at];
    task->label = differs(report, task, NULL) ? nvdp__format(ctx, "%s (%s)", task->task, task->data)
                                              : nvdp__strdup(ctx, task->task);
    for (size_t k = 0; k < TASK_COLUMNS && task->label != NULL; k++) {
        const json_t *value = json_object_get(task->first->variant, columns[k]);
        const bool given = json_is_string(value) || json_is_true(value);
        if (!given || !differs(report, task, columns[k])) continue;
        char *longer = extended(ctx, task->label, columns[k], value);
        free(task->label);
        task->label = longer;
    }
    return task->label != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static void add_tasks(struct report *report, bool sanitized) {
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        if (run->sanitized != sanitized || find_task(report, run) < report->tasks) continue;
        report->task[report->tasks++] =
            (struct report_task_rows){.task = run->task, .data = run->data, .first = run};
    }
}

static nvdp_status list_tasks(struct nvdp_context *ctx, struct report *report) {
    report->task = nvdp__calloc(ctx, report->runs, sizeof *report->task);
    if (report->task == NULL) return NVDP_ERR_MEMORY;
    add_tasks(report, false);
    add_tasks(report, true);
    for (size_t i = 0; i < report->tasks; i++) {
        NVDP_TRY(name_task(ctx, report, i));
    }
    return NVDP_OK;
}

/* --- families --- */

static int by_method(const void *a, const void *b) {
    const struct report_family *x = a, *y = b;
    int difference = method_place(x->method) - method_place(y->method);
    if (difference == 0) difference = strcmp(x->method, y->method);
    return difference != 0 ? difference : strcmp(x->label, y->label);
}

static size_t find_family(const struct report *report, const char *method, const char *label) {
    size_t at = 0;
    while (at < report->families && (strcmp(report->family[at].label, label) != 0 ||
                                     strcmp(report->family[at].method, method) != 0)) {
        at++;
    }
    return at;
}

static nvdp_status list_families(struct nvdp_context *ctx, struct report *report, char **label) {
    report->family = nvdp__calloc(ctx, report->runs, sizeof *report->family);
    if (report->family == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < report->runs; i++) {
        const char *method = report_method_of(&report->run[i]);
        if (find_family(report, method, label[i]) < report->families) continue;
        char *copy = nvdp__strdup(ctx, label[i]);
        if (copy == NULL) return NVDP_ERR_MEMORY;
        report->family[report->families++] = (struct report_family){
            .label = copy, .method = method, .reference = report_is_reference(method)};
    }
    qsort(report->family, report->families, sizeof *report->family, by_method);
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
    report->group = nvdp__calloc(ctx, report->runs, sizeof *report->group);
    if (report->group == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < report->runs; i++) {
        const struct report_run *run = &report->run[i];
        size_t task = find_task(report, run);
        size_t family = find_family(report, report_method_of(run), label[i]);
        size_t at = find_group(report, task, family, run);
        struct report_group *group = &report->group[at];
        if (at == report->groups) {
            *group = (struct report_group){.task = task,
                                           .family = family,
                                           .lambda_g = run->lambda_g,
                                           .lambda_d = run->lambda_d,
                                           .clip_sequence = run->clip_sequence,
                                           .eta = run->eta};
            group->run = nvdp__calloc(ctx, report->runs, sizeof(group->run[0]));
            report->groups++;
            if (group->run == NULL) return NVDP_ERR_MEMORY;
        }
        NVDP_TRY(add_to_group(ctx, report, group, run));
    }
    return NVDP_OK;
}

static int by_number(double x, double y) {
    return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b) {
    const struct report_group *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    if (x->family != y->family) return x->family < y->family ? -1 : 1;
    int difference = by_number(x->lambda_g, y->lambda_g);
    if (difference == 0) difference = by_number(x->lambda_d, y->lambda_d);
    if (difference == 0) difference = by_number(y->clip_sequence, x->clip_sequence);
    return difference != 0 ? difference : by_number(y->eta, x->eta);
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
    return report_stat_of(n, scratch);
}

/* Selects the run by validation score only, never by test score. */
static const struct report_run *best_run(const struct report_group *group) {
    const struct report_run *best = group->run[0];
    for (size_t i = 1; i < group->runs; i++) {
        double value = group->run[i]->validation;
        if (value > best->validation || (isnan(best->validation) && !isnan(value)))
            best = group->run[i];
    }
    return best;
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
    group->best = best_run(group);
}

/* Returns the mean majority score of a task. */
static double majority_of(const struct report *report, size_t task, double *scratch) {
    size_t n = 0;
    for (REPORT_EACH_GROUP(report, group)) {
        for (size_t i = 0; i < group->runs && group->task == task; i++)
            if (!isnan(group->run[i]->majority)) scratch[n++] = group->run[i]->majority;
    }
    return report_stat_of(n, scratch).mean;
}

const struct report_group *report_chosen(const struct report *report, size_t task, size_t family,
                                         enum report_quantity quantity, double limit) {
    const struct report_group *chosen = NULL;
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_stat *spent = &group->quantity[quantity];
        if (group->task != task || group->family != family) continue;
        if (!isnan(limit) && !(spent->n == group->runs && spent->max <= limit)) continue;
        /* Groups of a family are ordered by rising privacy, so a tie selects the later, more private one. */
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

nvdp_status report_group(struct nvdp_context *ctx, struct report *report) {
    nvdp_status status = NVDP_OK;
    double *scratch = nvdp__calloc(ctx, report->runs, sizeof *scratch);
    char **label = nvdp__calloc(ctx, report->runs, sizeof *label);
    if (scratch == NULL || label == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
    NVDP_TRY_OR_CLEAN(make_labels(ctx, report, label));
    NVDP_TRY_OR_CLEAN(list_tasks(ctx, report));
    NVDP_TRY_OR_CLEAN(list_families(ctx, report, label));
    NVDP_TRY_OR_CLEAN(make_groups(ctx, report, label));
    qsort(report->group, report->groups, sizeof *report->group, by_place);
    for (size_t i = 0; i < report->groups; i++) {
        summarize(&report->group[i], scratch);
    }
    for (size_t i = 0; i < report->tasks; i++) {
        report->task[i].majority = majority_of(report, i, scratch);
    }
    for (size_t i = 0; i < report->groups; i++) {
        struct report_group *group = &report->group[i];
        group->selected = group == report_selected(report, group->task, group->family);
    }
cleanup:
    for (size_t i = 0; label != NULL && i < report->runs; i++) {
        free(label[i]);
    }
    free(label);
    free(scratch);
    return status;
}
