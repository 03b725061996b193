/* Analyses of text privatization (nvdp sanitize --analyse ... --json) in a report: reads the files of analyses, makes
 * tables, and draws the figures of Qu et al. 2021 and Yue et al. 2021. Sections follow this order. */
#include "report/parts.h"

#include "base/array.h"
#include "base/file.h"

#include <math.h>
#include <nvdp/attack.h>
#include <stdlib.h>
#include <string.h>

/* Analyses of nvdp sanitize, in the order of enum report_analysis_kind. */
static const char *const kinds[] = {"geometry", "deniability", "inversion", "mask-inference",
                                    "replacements"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Returns a number of the analysis, or of the analysis's object `inner`; NaN if missing. */
static double real(const struct report_analysis *a, const char *key, const char *inner) {
    return inner != NULL ? report_member_real(json_object_get(a->root, key), inner)
                         : report_member_real(a->root, key);
}

static const char *member_text(const struct report_analysis *a, const char *key,
                               const char *inner) {
    const json_t *value = json_object_get(a->root, key);
    return json_string_value(inner != NULL ? json_object_get(value, inner) : value);
}

/* ---- files ---- */

void report_analysis_release(struct report_analysis *analysis) {
    free(analysis->name);
    free(analysis->label);
    json_decref(analysis->root);
}

/* Returns true for attacks that find planted secrets. Other attacks find texts, or parts of texts. */
static bool finds_secrets(const char *attack) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    for (size_t i = 0; nvdp_attack_describe(NULL, i, &info) == NVDP_OK; i++)
        if (strcmp(info.name, attack) == 0) return info.target == NVDP_ATTACK_MODEL;
    return false;
}

static nvdp_status parse(struct nvdp_context *ctx, const char *path, struct report_analysis *a) {
    NVDP_TRY(nvdp__json_read(ctx, path, &a->root));
    const char *attack = member_text(a, "attack", NULL);
    if (attack != NULL) {
        const bool exposure = finds_secrets(attack);
        a->kind = exposure ? REPORT_ANALYSIS_EXPOSURE : REPORT_ANALYSIS_ATTACK;
        return exposure ? report_exposure_parse(ctx, path, a) : report_attack_parse(ctx, path, a);
    }
    const char *kind = member_text(a, "analysis", NULL), *text = member_text(a, "of", "text");
    for (a->kind = 0; kind != NULL && a->kind < KINDS; a->kind++)
        if (strcmp(kind, kinds[a->kind]) == 0) break;
    a->mechanism = member_text(a, "mechanism", NULL);
    if (kind == NULL || a->kind == KINDS || a->mechanism == NULL || isnan(real(a, "dim", NULL)))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the output of nvdp sanitize --analyse --json or nvdp "
                          "attack --json, found another object",
                          path);
    a->task = member_text(a, "of", "task");
    a->eta = real(a, "eta", NULL);
    const char *split = member_text(a, "of", "split");
    a->label = nvdp__format(ctx, "%s%s%s, %.0f x %.0f",
                            a->task != NULL ? a->task
                            : text != NULL  ? nvdp__file_name(text)
                                            : "vocabulary",
                            a->task != NULL && split != NULL ? " " : "",
                            a->task != NULL && split != NULL ? split : "",
                            real(a, "vocabulary", NULL), real(a, "dim", NULL));
    return NVDP__MADE(a->label);
}

static nvdp_status add_file(struct nvdp_context *ctx, struct report *report, const char *path) {
    nvdp__auto(report_analysis_release) struct report_analysis made = {
        .name = nvdp__plain_copy(ctx, nvdp__file_name(path))};
    NVDP_TRY(NVDP__MADE(made.name));
    const nvdp_status status = parse(ctx, path, &made);
    if (status == NVDP_ERR_INPUT || status == NVDP_ERR_IO)
        return report_note(ctx, report, nvdp__file_name(path), "%s", nvdp_context_error(ctx));
    NVDP_TRY(status);
    NVDP_TRY(NVDP__PUSH(ctx, report->analysis, report->analyses, report->analysis_capacity, made));
    made = (struct report_analysis){0}; /* the report owns it now */
    return NVDP_OK;
}

static nvdp_status read_entry(struct nvdp_context *ctx, struct report *report,
                              const char *directory, const char *name) {
    if (!nvdp__ends_with(name, ".json")) return NVDP_OK;
    return add_file(ctx, report, nvdp__path(directory, name).text);
}

static nvdp_status add_path(struct nvdp_context *ctx, struct report *report, const char *path) {
    return nvdp__is_directory(path) ? report_each_entry(ctx, report, path, read_entry)
                                    : add_file(ctx, report, path);
}

nvdp_status report_analyses_read(struct nvdp_context *ctx, const char *list,
                                 struct report *report) {
    const struct nvdp__path usual = nvdp__path(report->directory, "analyses");
    nvdp__autofree char *copy = nvdp__strdup(ctx, list != NULL ? list : "");
    char *left = NULL;
    NVDP_TRY(NVDP__MADE(copy));
    if (nvdp__is_directory(usual.text)) NVDP_TRY(add_path(ctx, report, usual.text));
    for (char *path = strtok_r(copy, ",", &left); path != NULL; path = strtok_r(NULL, ",", &left))
        NVDP_TRY(add_path(ctx, report, path));
    NVDP__SORT(report->analysis, report->analyses, NVDP__UP(struct report_analysis, kind),
               NVDP__UP(struct report_analysis, label), NVDP__UP(struct report_analysis, mechanism),
               NVDP__UP(struct report_analysis, eta), NVDP__UP(struct report_analysis, name));
    return NVDP_OK;
}

/* ---- tables ---- */

static struct report_text say_share(double share, double error) {
    return error > 0 && !isnan(share) ? report_say("%.2f +- %.2f", 100 * share, 100 * error)
                                      : report_say_percent(share);
}

static struct report_text say_eta(const struct report_analysis *a) {
    return a->eta > 0 ? report_say_lambda(a->eta) : report_say("-");
}

/* Makes the table of one kind, with the texts as headings and rows per mechanism and eta. */
static struct report_table
make_table(struct nvdp_context *ctx, const struct report *report, int kind, const char *name,
           const char *title, const char *const *columns,
           void (*put)(struct report_table *, const struct report_analysis *)) {
    struct report_table table = report_table_begin(ctx, name, title, 1, columns);
    const struct report_analysis *last = NULL;
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        if (a->kind != kind) continue;
        if (last == NULL || strcmp(last->label, a->label) != 0)
            report_table_heading(&table, "%s", a->label);
        put(&table, a);
        last = a;
    }
    return table;
}

static void put_inversion(struct report_table *table, const struct report_analysis *a) {
    report_table_row(table, "%s\t%s\t%s\t%s\t%s", a->mechanism, say_eta(a).text,
                     report_say_percent(real(a, "prior", NULL)).text,
                     say_share(real(a, "nearest", NULL), real(a, "nearest_error", NULL)).text,
                     say_share(real(a, "bayes", NULL), real(a, "bayes_error", NULL)).text);
}

struct report_table report_table_inversion(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = make_table(
        ctx, report, REPORT_ANALYSIS_INVERSION, "inversion",
        "Token inversion: how often an attacker names the token",
        REPORT_COLUMNS("mechanism", "eta", "most frequent [%]", "nearest [%]", "Bayes-optimal [%]"),
        put_inversion);
    if (table.rows > 0)
        report_table_note(
            &table, REPORT_EXPLAINS,
            "most frequent: an attacker who sees nothing and guesses the most frequent "
            "token. nearest: an attacker who guesses the token nearest to the output, as "
            "published. Bayes-optimal: an attacker who knows the mechanism and the unigram "
            "counts and makes the best guess from a single token. Numbers with a standard "
            "error are estimated from draws; the others are exact.");
    return table;
}

static void put_mask(struct report_table *table, const struct report_analysis *a) {
    const char *model = member_text(a, "mask_model", NULL);
    report_table_row(table, "%s\t%s\t%s\t%s\t%.0f\t%s", a->mechanism, say_eta(a).text,
                     say_share(real(a, "defense_rate", NULL), real(a, "original_error", NULL)).text,
                     say_share(real(a, "sanitized", NULL), real(a, "sanitized_error", NULL)).text,
                     real(a, "guesses", NULL), model != NULL ? nvdp__file_name(model) : "-");
}

struct report_table report_table_mask(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = make_table(
        ctx, report, REPORT_ANALYSIS_MASK, "mask_inference",
        "Mask token inference: a masked language model guesses tokens from their context",
        REPORT_COLUMNS("mechanism", "eta", "defence rate [%]", "names token sent [%]", "guesses",
                       "mask model"),
        put_mask);
    if (table.rows > 0)
        report_table_note(
            &table, REPORT_EXPLAINS,
            "defence rate: share of the positions at which the guess is not the original token. "
            "none: the original texts. The standard errors assume independent guesses.");
    return table;
}

/* Shows at most five outputs of each token. */
static void put_replacements(struct report_table *table, const struct report_analysis *a) {
    const json_t *row, *output;
    size_t i, j;
    json_array_foreach(json_object_get(a->root, "replacements"), i, row) {
        char text[256] = "";
        const char *token = json_string_value(json_object_get(row, "token"));
        json_array_foreach(json_object_get(row, "most_frequent"), j, output) {
            const char *word = json_string_value(json_object_get(output, "token"));
            const size_t used = strlen(text);
            if (j == 5) break;
            nvdp__snprintf(text + used, sizeof text - used, "%s%.40s %.1f", j > 0 ? ", " : "",
                           word != NULL ? word : "-", 100 * report_member_real(output, "share"));
        }
        report_table_row(table, "%s\t%s", a->mechanism, say_eta(a).text);
        report_table_cell(table, NAN, "%s", token != NULL ? token : "-");
        report_table_cell(table, NAN, "%.0f", report_member_real(row, "outputs"));
        report_table_cell(table, NAN, "%s", text); /* the text may have tabs, because tokens may */
    }
    if (i == 0) report_table_row(table, "%s\t%s", a->mechanism, say_eta(a).text);
}

struct report_table report_table_replacements(struct nvdp_context *ctx,
                                              const struct report *report) {
    return make_table(ctx, report, REPORT_ANALYSIS_REPLACEMENTS, "replacements",
                      "Replacements: the most frequent outputs of a token",
                      REPORT_COLUMNS("mechanism", "eta", "token", "outputs", "most frequent [%]"),
                      put_replacements);
}

/* ---- figures ---- */

static bool is_first(const struct report *report, size_t i, int kind) {
    const struct report_analysis *a = &report->analysis[i];
    return a->kind == kind && (i == 0 || a[-1].kind != kind || strcmp(a[-1].label, a->label) != 0);
}

static struct nvdp_text_mechanism_info mechanism_info(const char *name) {
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    (void)nvdp_text_mechanism_describe(NULL, name, &info); /* an unknown name has no properties */
    return info;
}

/* Returns true if b's noise is Laplace noise over the table of a. */
static bool is_level(const struct report_analysis *a, const struct report_analysis *b) {
    return mechanism_info(b->mechanism).uses_eta && !mechanism_info(b->mechanism).exact &&
           b->eta > 0 && real(b, "dim", NULL) == real(a, "dim", NULL) &&
           real(b, "vocabulary", NULL) == real(a, "vocabulary", NULL);
}

/* Draws Figure 3 of Qu et al., with one panel per table, and the noise levels of the table's Laplace mechanisms. */
static void draw_geometry(struct report_drawing *d, const struct report *report, size_t i,
                          size_t panel) {
    const struct report_analysis *a = &report->analysis[i];
    const json_t *row;
    size_t at;
    const size_t block = report_drawing_block(d, "%s\n# k\tmean distance", a->label);
    json_array_foreach(json_object_get(a->root, "neighbours"), at, row)
        report_drawing_row(d,
                           (double[]){json_number_value(json_object_get(row, "k")),
                                      json_number_value(json_object_get(row, "mean"))},
                           2, NULL);
    report_drawing_panel(d, panel, a->label, "distance", "k of the k-th nearest token");
    fputs("set logscale y\nset xrange [0:*]\n", d->script);
    for (size_t k = 0, lines = 0; k < report->analyses; k++) {
        const struct report_analysis *b = &report->analysis[k];
        bool drawn = !is_level(a, b);
        for (size_t j = 0; j < k && !drawn; j++)
            drawn = is_level(a, &report->analysis[j]) && report->analysis[j].eta == b->eta;
        if (drawn) continue;
        const double noise = real(a, "dim", NULL) / b->eta;
        fprintf(d->script,
                "set arrow from first %.9g,graph 0 to first %.9g,graph 1 nohead dt 2 lc rgb "
                "'#444444'\nset label 'eta %.6g' at first %.9g,graph %.2f left offset 0.4,0 font "
                "',9'\n",
                noise, noise, b->eta, noise, .95 - .07 * (double)(lines++ % 6));
    }
    report_drawing_plot(d, block,
                        "using 2:1 with points pt 7 ps 0.8 lc rgb '%s'\nunset arrow\nunset label\n",
                        report_series_colour(0));
}

/* Draws a quantity of tokens over eta: the median, with bars from the 5 % to the 95 % quantile. */
static void draw_quantity(struct report_drawing *d, const struct report *report, size_t first,
                          size_t panel, const char *key, const char *name, const char *where) {
    const struct report_analysis *const from = &report->analysis[first];
    const struct report_analysis *const end = report->analysis + report->analyses;
    for (const struct report_analysis *a = from;
         a < end && a->kind == from->kind && strcmp(a->label, from->label) == 0; a++) {
        if (!(a->eta > 0)) continue;
        if (a == from || strcmp(a->mechanism, a[-1].mechanism) != 0 || !(a[-1].eta > 0))
            report_drawing_block(d, "%s of %s, %s\n# eta\t5 %%\tmedian\t95 %%\tmean", name,
                                 a->label, a->mechanism);
        report_drawing_row(d,
                           (double[]){a->eta, real(a, key, "q05"), real(a, key, "median"),
                                      real(a, key, "q95"), real(a, key, "mean")},
                           5, NULL);
    }
    report_drawing_panel(d, panel, from->label, "eta", name);
    report_drawing_key(d, where);
    fputs("set xrange [0:*]\nset yrange [0:*]\nset offsets 0, graph 0.05, graph 0.05, 0\n",
          d->script);
    for (const struct report_analysis *a = from; d->first + d->series < d->next; a++)
        if (a->eta > 0 &&
            !(a > from && strcmp(a->mechanism, a[-1].mechanism) == 0 && a[-1].eta > 0))
            report_drawing_line(d, "1:3", "1:3:2:4", a->mechanism);
    report_drawing_end_key(d);
}

static void draw_deniability(struct report_drawing *d, const struct report *report, size_t i,
                             size_t panel) {
    draw_quantity(d, report, i, panel, "n_w", "N_w", "left top");
    draw_quantity(d, report, i, panel + 1, "s_w", "S_w", "right top");
    draw_quantity(d, report, i, panel + 2, "s_star", "S*_y", "right top");
}

/* ---- with the runs' scores ---- */

/* Returns true if no other mask model guesses better on the same texts. Only the strongest attacker counts. */
static bool is_strongest(const struct report_analysis *a, const struct report *report) {
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *b = &report->analysis[i];
        const double than = real(a, "defense_rate", NULL), rate = real(b, "defense_rate", NULL);
        if (b->kind == a->kind && strcmp(b->label, a->label) == 0 && b->eta == a->eta &&
            strcmp(b->mechanism, a->mechanism) == 0 && (rate < than || (rate == than && b < a)))
            return false;
    }
    return true;
}

/* Returns true if the group's score belongs to the analysis: both have the same mechanism and eta, or no privacy. */
static bool has_group(const struct report_analysis *a, const struct report *report,
                      const struct report_group *group) {
    const bool plain = strcmp(a->mechanism, "none") == 0;
    if (a->kind != REPORT_ANALYSIS_MASK || a->task == NULL ||
        strcmp(a->task, report->task[group->task].task) != 0 || !is_strongest(a, report))
        return false;
    if (plain)
        return isnan(group->eta) && group->selected &&
               strcmp(report->family[group->family].method, nvdp_method_name(NVDP_METHOD_BASE)) ==
                   0;
    return strcmp(a->mechanism, report_method_name(group->run[0])) == 0 &&
           fabs(a->eta - group->eta) <= 1e-9 * fabs(a->eta);
}

static size_t match_count(const struct report *report, size_t task, size_t family) {
    size_t count = 0;
    for (REPORT_EACH_GROUP(report, group))
        for (size_t i = 0; i < report->analyses; i++)
            count += group->task == task && (family == SIZE_MAX || group->family == family) &&
                     has_group(&report->analysis[i], report, group);
    return count;
}

static struct report_text score_name(const struct report *report, size_t task) {
    return report_say("%.40s x 100", report->task[task].first->metric[0]);
}

/* Draws Figure 4 of SanText, with one panel per task. */
static void draw_defense(struct report_drawing *d, const struct report *report, size_t task,
                         size_t panel) {
    for (size_t f = 0; f < report->families; f++) {
        if (match_count(report, task, f) == 0) continue;
        report_drawing_block(d, "%s, %s\n# eta\tdefense rate x 100\tscore x 100\tits sd",
                             report->task[task].label, report->family[f].label);
        for (REPORT_EACH_GROUP(report, group))
            for (size_t i = 0; i < report->analyses; i++) {
                const struct report_analysis *a = &report->analysis[i];
                if (group->task != task || group->family != f || !has_group(a, report, group))
                    continue;
                report_drawing_row(d,
                                   (double[]){isnan(group->eta) ? INFINITY : group->eta,
                                              100 * real(a, "defense_rate", NULL),
                                              100 * group->score[0].mean, 100 * group->score[0].sd},
                                   4,
                                   isnan(group->eta) ? "inf" : report_say_lambda(group->eta).text);
            }
    }
    report_drawing_panel(d, panel, report->task[task].label, "defense rate x 100",
                         score_name(report, task).text);
    report_drawing_key(d, "left bottom");
    fputs("set offsets graph 0.1, graph 0.15, graph 0.1, graph 0.1\n", d->script);
    for (size_t f = 0; f < report->families; f++) {
        if (match_count(report, task, f) == 0) continue;
        report_drawing_line(d, "2:3", NULL, report->family[f].label);
        report_drawing_plot(d, d->first + d->series - 1,
                            "using 2:3:5 with labels noenhanced left offset 0.7,0.4 font ',8' "
                            "textcolor rgb '%s' notitle",
                            report_series_colour(d->series - 1));
    }
    report_drawing_end_key(d);
}

/* Returns true if a family has scores at two etas or more. These scores are the utility in Figure 5 of SanText. */
static bool over_eta(const struct report *report, size_t task, size_t family) {
    for (REPORT_EACH_GROUP(report, group)) /* groups of a family are adjacent, by eta */
        if (group > report->group && group->task == task && group->eta > 0 &&
            (family == SIZE_MAX || group->family == family) && group[-1].task == task &&
            group[-1].family == group->family && group[-1].eta > 0)
            return true;
    return false;
}

static void draw_utility(struct report_drawing *d, const struct report *report, size_t task,
                         size_t panel) {
    for (size_t f = 0; f < report->families; f++) {
        if (!over_eta(report, task, f)) continue;
        report_drawing_block(d, "%s, %s\n# eta\tscore x 100\tits sd", report->task[task].label,
                             report->family[f].label);
        for (REPORT_EACH_GROUP(report, group)) /* eta decreases: starts at the least private */
            if (group->task == task && group->family == f && group->eta > 0)
                report_drawing_row(
                    d, (double[]){group->eta, 100 * group->score[0].mean, 100 * group->score[0].sd},
                    3, NULL);
    }
    report_drawing_panel(d, panel, report->task[task].label, "eta", score_name(report, task).text);
    report_drawing_key(d, "left top");
    fputs("set xrange [0:*]\nset offsets 0, graph 0.05, graph 0.15, graph 0.05\n", d->script);
    for (size_t f = 0; f < report->families; f++)
        if (over_eta(report, task, f)) report_drawing_line(d, "1:2", NULL, report->family[f].label);
    report_drawing_end_key(d);
}

/* ---- santext-plus over the share w and the probability p ---- */

struct cell {
    double w, p, eta, score;
};

/* Returns the cells of a task's groups whose mechanism reads p, in the order of the groups; the caller frees it with
 * free(). *n is their number. NULL: out of memory. */
static struct cell *find_cells(struct nvdp_context *ctx, const struct report *report, size_t task,
                               size_t *n) {
    struct cell *cell = nvdp__calloc(ctx, report->groups + 1, sizeof *cell);
    *n = 0;
    for (REPORT_EACH_GROUP(report, group)) {
        const json_t *config = group->run[0]->config;
        const json_t *w = json_object_get(config, "sensitive"), *p = json_object_get(config, "p");
        if (cell == NULL || group->task != task || group->run[0]->sanitizer == NULL ||
            !mechanism_info(group->run[0]->sanitizer).uses_p || !json_is_number(w) ||
            !json_is_number(p))
            continue;
        cell[(*n)++] = (struct cell){json_number_value(w), json_number_value(p), group->eta,
                                     100 * group->score[0].mean};
    }
    return cell;
}

/* Draws one line per eta and p (or w) over the other parameter. */
static void draw_over(struct report_drawing *d, size_t n, const struct cell *cell, size_t panel,
                      bool over_w, const char *title, const char *label) {
    report_drawing_panel(d, panel, title, over_w ? "w" : "p", label);
    report_drawing_key(d, "left bottom");
    fputs("set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.25\n", d->script);
    for (size_t i = 0; i < n; i++) {
        const double fixed = over_w ? cell[i].p : cell[i].w;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= (over_w ? cell[j].p : cell[j].w) == fixed && cell[j].eta == cell[i].eta;
        if (seen) continue;
        report_drawing_block(d, "%s, %s %g, eta %g\n# %s\tscore x 100", title, over_w ? "p" : "w",
                             fixed, cell[i].eta, over_w ? "w" : "p");
        double last = -INFINITY; /* a quadratic search, because there are few points */
        for (size_t k = 0; k < n; k++) {
            const struct cell *next = NULL;
            for (size_t j = 0; j < n; j++) {
                const double at = over_w ? cell[j].w : cell[j].p;
                if ((over_w ? cell[j].p : cell[j].w) != fixed || cell[j].eta != cell[i].eta ||
                    at <= last)
                    continue;
                if (next == NULL || at < (over_w ? next->w : next->p)) next = &cell[j];
            }
            if (next == NULL) break;
            last = over_w ? next->w : next->p;
            report_drawing_row(d, (double[]){last, next->score}, 2, NULL);
        }
        report_drawing_line(
            d, "1:2", NULL,
            report_say("%s %g, eta %g", over_w ? "p" : "w", fixed, cell[i].eta).text);
    }
    report_drawing_end_key(d);
}

/* Returns the number of panels: over w and over p, unless both are the same in all groups. */
static size_t plus_panels(const struct report *report, size_t task) {
    size_t n = 0;
    bool varies = false;
    nvdp__autofree struct cell *cell = find_cells(NULL, report, task, &n);
    for (size_t i = 1; cell != NULL && i < n; i++)
        varies |= cell[i].w != cell[0].w || cell[i].p != cell[0].p;
    return varies ? 2 : 0;
}

static void draw_plus(struct report_drawing *d, const struct report *report, size_t task,
                      size_t panel) {
    size_t n = 0;
    nvdp__autofree struct cell *cell = find_cells(d->ctx, report, task, &n);
    if (cell == NULL) d->status = NVDP_ERR_MEMORY;
    for (size_t k = 0; cell != NULL && k < 2; k++)
        draw_over(d, n, cell, panel + k, k == 0, report->task[task].label,
                  score_name(report, task).text);
}

/* ---- all ---- */

static size_t geometry_panels(const struct report *report, size_t i) {
    return is_first(report, i, REPORT_ANALYSIS_GEOMETRY);
}

/* Returns the number of panels of texts and table: there are panels if an analysis of them has an eta. */
static size_t deniability_panels(const struct report *report, size_t i) {
    const struct report_analysis *a = &report->analysis[i],
                                 *end = report->analysis + report->analyses;
    bool has_eta = false;
    for (const struct report_analysis *b = a;
         b < end && b->kind == a->kind && strcmp(b->label, a->label) == 0; b++)
        has_eta |= b->eta > 0;
    return is_first(report, i, REPORT_ANALYSIS_DENIABILITY) && has_eta ? 3 : 0;
}

static size_t utility_panels(const struct report *report, size_t task) {
    return over_eta(report, task, SIZE_MAX);
}

static size_t defense_panels(const struct report *report, size_t task) {
    return match_count(report, task, SIZE_MAX) > 0;
}

/* Draws the panels of one source, or only counts them if d is NULL.  Returns `before` plus the number of panels. */
static size_t each_panel(const struct report_source *of, const struct report *report,
                         struct report_drawing *d, size_t before) {
    const size_t items = of->of_tasks ? report->tasks : report->analyses;
    for (size_t i = 0; i < items && of->panels != NULL; i++) {
        const size_t panels = of->panels(report, i);
        if (d != NULL && d->status == NVDP_OK && panels > 0) of->draw(d, report, i, before);
        before += panels;
    }
    return before;
}

static const struct {
    struct report_figure figure;
    size_t across;
    struct report_source first, second; /* there is no figure if `first` has no panels */
} figures[] = {
    {{.name = "geometry",
      .title = "Distances between tokens and the norm of the noise",
      .caption =
          "Mean distance of a token to its k-th nearest token. Vertical lines show the mean norm "
          "of "
          "the noise at each eta of the analyses of the same vectors (Qu et al. 2021, Figure 3)."},
     3,
     {false, geometry_panels, draw_geometry},
     {0}},
    {{.name = "deniability",
      .title = "Plausible deniability over eta",
      .caption =
          "Probability N_w that a token stays unchanged, number S_w of different outputs in the "
          "draws, and number S*_y of different inputs of an output: medians over tokens, with bars "
          "from the 5 % to the 95 % quantile; and the score (Qu et al. 2021, Figure 4; Yue et al. "
          "2021, Figure 5)."},
     3,
     {false, deniability_panels, draw_deniability},
     {true, utility_panels, draw_utility}},
    {{.name = "defense",
      .title = "Score against the defense rate of mask token inference",
      .caption =
          "Score against the share of positions at which a masked language model does not name the "
          "original token. A point is an eta, and inf stands for the original texts. Of several "
          "mask models, the best guesser is shown (Yue et al. 2021, Figure 4)."},
     3,
     {true, defense_panels, draw_defense},
     {0}},
    {{.name = "exposure",
      .title = "Exposure of secrets over how often they occur in the training text",
      .caption =
          "Mean exposure of planted secrets, with 95 % intervals. Dashed: a secret that is not in "
          "the text. 0: secrets that were not planted (Hoory et al. 2021, Figure 2)."},
     3,
     {false, report_exposure_panels, report_exposure_draw},
     {0}},
    {{.name = "santext_plus",
      .title =
          "santext-plus: score over the share w of sensitive tokens and over the probability p",
      .caption =
          "Score over w, with one line per p, and over p, with one line per w (Yue et al. 2021, "
          "Figure 3)."},
     2,
     {true, plus_panels, draw_plus},
     {0}},
};

nvdp_status report_analysis_figures(struct nvdp_context *ctx, const struct report *report,
                                    struct report_figures *out) {
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
        struct report_drawing d;
        const size_t panels = each_panel(&figures[k].first, report, NULL, 0);
        if (panels == 0) continue;
        report_drawing_begin(ctx, report, &figures[k].figure,
                             each_panel(&figures[k].second, report, NULL, panels),
                             figures[k].across, REPORT_LEGEND_NONE, &d);
        each_panel(&figures[k].second, report, &d, each_panel(&figures[k].first, report, &d, 0));
        NVDP_TRY(report_drawing_end(&d, out));
    }
    return NVDP_OK;
}
