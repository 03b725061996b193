/* The full numbers behind the tables, for programs: CSV, then JSON. */
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>

/* --- CSV --- */

static const char *const names[REPORT_QUANTITIES] = {
    [REPORT_SUM_MAX] = "rd_sum_max",
    [REPORT_SUM_MEAN] = "rd_sum_mean",
    [REPORT_BOUND] = "rd_bound",
    [REPORT_UNIT_MAX] = "rd_per_component_dim_max",
    [REPORT_UNIT_MEAN] = "rd_per_component_dim_mean",
    [REPORT_INFINITE] = "infinite_share",
    [REPORT_SUM_MAX_FINITE] = "rd_sum_max_finite",
    [REPORT_UNIT_MAX_FINITE] = "rd_per_component_dim_max_finite",
    [REPORT_BDP_BEST] = "bdp_best",
    [REPORT_BDP_PUBLISHED] = "bdp_published",
    [REPORT_EPSILON_MAX] = "epsilon_max",
    [REPORT_EPSILON_MEAN] = "epsilon_mean",
    [REPORT_EXACT_MAX] = "exact_epsilon_max",
    [REPORT_EXACT_MEAN] = "exact_epsilon_mean",
    [REPORT_LINKED] = "linked",
    [REPORT_CERTIFIED] = "certified_epsilon",
    [REPORT_GUESS] = "guess_bound_of_0.001",
    [REPORT_BITS] = "certified_bits",
    [REPORT_WORD] = "word_epsilon",
    [REPORT_WORD_GUESS] = "word_guess_bound_of_0.001",
    [REPORT_VECTORS] = "effective_vectors",
    [REPORT_VECTORS_LOW] = "effective_vectors_q05",
    [REPORT_VECTORS_HIGH] = "effective_vectors_q95",
    [REPORT_TOKEN_SHARE] = "token_share",
    [REPORT_ABS_MU] = "mean_abs_mu",
    [REPORT_SIGMA] = "mean_sigma",
    [REPORT_REUSE] = "reader",
    [REPORT_ATTACK] = "attack",
};

/* Writes nothing for NaN, and "inf" for infinity, as in all files of the library. */
static void put_number(FILE *to, double value) {
    fputc(',', to);
    if (!isnan(value)) report_put_real(to, value);
}

static void put_text(FILE *to, const char *text) {
    fputc(',', to);
    nvdp__put_csv(to, text);
}

static void put_stat(FILE *to, const struct report_stat *stat) {
    put_number(to, stat->mean);
    put_number(to, stat->sd);
}

void report_groups_csv(const struct report *report, FILE *to) {
    fputs("task,data,title,method,label,private,lambda_g,lambda_d,clip_sequence,eta,seeds,selected,"
          "metric,"
          "validation,validation_sd,score,score_sd,score_best_seed,second_metric,second_score,"
          "second_score_sd,second_score_best_seed",
          to);
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        fprintf(to, ",%s,%s_sd", names[k], names[k]);
    }
    fputs("\r\n", to);
    for (REPORT_EACH_GROUP(report, group)) {
        const struct report_run *best = group->best;
        nvdp__put_csv(to, report->task[group->task].task);
        put_text(to, report->task[group->task].data);
        put_text(to, report->task[group->task].label);
        put_text(to, report->family[group->family].method);
        put_text(to, report->family[group->family].label);
        fprintf(to, ",%d", !report->family[group->family].reference);
        put_number(to, group->lambda_g);
        put_number(to, group->lambda_d);
        put_number(to, group->clip_sequence);
        put_number(to, group->eta);
        fprintf(to, ",%zu,%d", group->runs, group->selected);
        put_text(to, best->metric[0]);
        put_stat(to, &group->validation);
        put_stat(to, &group->score[0]);
        put_number(to, best->score[0]);
        put_text(to, best->metrics > 1 ? best->metric[1] : "");
        put_stat(to, &group->score[1]);
        put_number(to, best->score[1]);
        for (int k = 0; k < REPORT_QUANTITIES; k++) {
            put_stat(to, &group->quantity[k]);
        }
        fputs("\r\n", to);
    }
}

static void put_run(const struct report *report, const struct report_group *group,
                    const struct report_run *run, FILE *to) {
    nvdp__put_csv(to, run->name);
    put_text(to, run->task);
    put_text(to, report_method_of(run));
    put_text(to, report->family[group->family].label);
    fprintf(to, ",%d", !report->family[group->family].reference);
    put_number(to, run->lambda_g);
    put_number(to, run->lambda_d);
    put_number(to, run->clip_sequence);
    put_number(to, run->eta);
    fprintf(to, ",%llu,%lld", (unsigned long long)run->seed, (long long)run->fold);
    put_number(to, run->validation);
    put_text(to, run->metric[0]);
    put_number(to, run->score[0]);
    put_text(to, run->metrics > 1 ? run->metric[1] : "");
    put_number(to, run->score[1]);
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        put_number(to, run->quantity[k]);
    }
    put_number(to, run->seconds);
    put_text(to, run->command);
    fputs("\r\n", to);
}

void report_runs_csv(const struct report *report, FILE *to) {
    fputs("run,task,method,label,private,lambda_g,lambda_d,clip_sequence,eta,seed,fold,validation,"
          "metric,score,second_metric,second_score",
          to);
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        fprintf(to, ",%s", names[k]);
    }
    fputs(",seconds,command\r\n", to);
    for (REPORT_EACH_GROUP(report, group)) {
        for (size_t k = 0; k < group->runs; k++) {
            put_run(report, group, group->run[k], to);
        }
    }
}

/* --- JSON --- */

/* Each setter takes ownership of `value` and tolerates NULL, so that one check at the end suffices. */
static void set(json_t *object, const char *key, json_t *value, bool *good) {
    if (json_object_set_new(object, key, value) != 0) *good = false;
}

static void append(json_t *array, json_t *value, bool *good) {
    if (json_array_append_new(array, value) != 0) *good = false;
}

/* Returns null for NaN. */
static json_t *number(double value) {
    return isnan(value) ? json_null() : nvdp__json_number(value);
}

static json_t *stat(const struct report_stat *from) {
    return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)from->n, "mean", number(from->mean),
                     "sd", number(from->sd), "max", number(from->max));
}

static json_t *quantities(const struct report_group *group, bool *good) {
    json_t *object = json_object();
    for (int k = 0; k < REPORT_QUANTITIES; k++) {
        if (group->quantity[k].n == 0) continue;
        set(object, names[k], stat(&group->quantity[k]), good);
    }
    return object;
}

static json_t *scores(const struct report_group *group, bool *good) {
    json_t *object = json_object();
    for (int k = 0; k < group->best->metrics; k++) {
        json_t *one = stat(&group->score[k]);
        set(one, "best_seed", number(group->best->score[k]), good);
        set(object, group->best->metric[k], one, good);
    }
    return object;
}

static json_t *runs(const struct report_group *group, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < group->runs; i++) {
        const struct report_run *run = group->run[i];
        json_t *one = json_pack("{s:s, s:I, s:I, s:o, s:o, s:s}", "run", run->name, "seed",
                                (json_int_t)run->seed, "fold", (json_int_t)run->fold, "validation",
                                number(run->validation), "score", number(run->score[0]), "command",
                                run->command);
        append(array, one, good);
    }
    return array;
}

static json_t *group_json(const struct report *report, const struct report_group *group,
                          bool *good) {
    const struct report_task_rows *task = &report->task[group->task];
    const struct report_family *family = &report->family[group->family];
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:b}", "task", task->task, "data",
        task->data, "title", task->label, "method", family->method, "label", family->label,
        "private", !family->reference, "lambda_g", number(group->lambda_g), "lambda_d",
        number(group->lambda_d), "clip_sequence", number(group->clip_sequence), "eta",
        number(group->eta), "selected", group->selected);
    if (object == NULL) *good = false;
    set(object, "best_run", json_string(group->best->name), good);
    set(object, "validation", stat(&group->validation), good);
    set(object, "scores", scores(group, good), good);
    set(object, "quantities", quantities(group, good), good);
    set(object, "runs", runs(group, good), good);
    return object;
}

static json_t *groups(const struct report *report, bool *good) {
    json_t *array = json_array();
    for (REPORT_EACH_GROUP(report, group)) {
        append(array, group_json(report, group, good), good);
    }
    return array;
}

static void append_budgets(json_t *array, const struct report *report, size_t task, size_t f,
                           enum report_quantity limited, bool *good) {
    if (report->family[f].reference || report_chosen(report, task, f, limited, INFINITY) == NULL)
        return;
    for (size_t k = 0; k < report->budgets; k++) {
        double nats = report->budget[k];
        const struct report_group *group = report_chosen(report, task, f, limited, nats);
        append(array,
               json_pack("{s:s, s:s, s:s, s:o, s:o}", "task", report->task[task].label, "label",
                         report->family[f].label, "limited", names[limited], "nats", number(nats),
                         "group",
                         group != NULL ? json_integer(group - report->group) : json_null()),
               good);
    }
}

/* Returns the settings that the table of budgets chose, as indices into `groups`; null if there is none. */
static json_t *budgets(const struct report *report, bool *good) {
    json_t *array = json_array();
    for (size_t task = 0; task < report->tasks; task++) {
        for (size_t f = 0; f < report->families; f++) {
            append_budgets(array, report, task, f, REPORT_SUM_MAX, good);
            append_budgets(array, report, task, f, REPORT_BOUND, good);
        }
    }
    return array;
}

static json_t *comparisons(const struct report *report, size_t count,
                           const struct report_comparison *list, bool *good) {
    json_t *array = json_array();
    for (size_t k = 0; k < count; k++) {
        const struct report_comparison *pair = &list[k];
        json_t *one = json_pack(
            "{s:s, s:s, s:s, s:I, s:o, s:[o,o], s:o, s:o, s:o}", "task",
            report->task[pair->task].label, "method", report->family[pair->a].label, "against",
            report->family[pair->b].label, "seeds", (json_int_t)pair->seeds, "difference",
            number(pair->mean), "interval", number(pair->low), number(pair->high), "t",
            number(pair->t), "p", number(pair->p), "p_holm", number(pair->holm));
        append(array, one, good);
    }
    return array;
}

static json_t *notes(const struct report *report, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < report->notes; i++) {
        json_t *one =
            json_pack("{s:s, s:s}", "run", report->note[i].name, "note", report->note[i].text);
        append(array, one, good);
    }
    return array;
}

/* Returns the analyses as they were printed, with their files. */
static json_t *analyses(const struct report *report, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < report->analyses; i++) {
        json_t *one = json_copy(report->analysis[i].root);
        set(one, "file", json_string(report->analysis[i].name), good);
        append(array, one, good);
    }
    return array;
}

nvdp_status report_json(struct nvdp_context *ctx, const struct report *report, char **out) {
    bool good = true;
    size_t count = 0;
    struct report_comparison *list = NULL;
    NVDP_TRY(report_compare(ctx, report, &list, &count));
    json_t *root = json_pack("{s:s, s:s, s:s, s:I}", "nvdp_format", "report/1", "directory",
                             report->directory, "units", "nats", "runs", (json_int_t)report->runs);
    set(root, "groups", groups(report, &good), &good);
    set(root, "budgets", budgets(report, &good), &good);
    set(root, "significance", comparisons(report, count, list, &good), &good);
    set(root, "analyses", analyses(report, &good), &good);
    set(root, "not_counted", notes(report, &good), &good);
    free(list);
    if (!good) json_decref(root);
    return nvdp__json_text(ctx, good ? root : NULL, report->directory, out);
}
