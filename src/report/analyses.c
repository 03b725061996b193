/* Analyses of text privatization (nvdp sanitize --analyse ... --json) in a report: reads their files, makes their
 * tables, and draws the figures of Qu et al. 2021 and Yue et al. 2021. Sections follow this order. */
#include "report/parts.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <nvdp/attack.h>
#include <stdlib.h>
#include <string.h>

/* Analyses of nvdp sanitize, in the order of enum report_analysis_kind. */
static const char *const kinds[] = {"geometry", "deniability", "inversion", "mask-inference",
                                    "replacements"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Returns a number of the analysis, or of its member object `inner`; NaN if missing. */
static double real(const struct report_analysis *a, const char *key, const char *inner) {
    return inner != NULL ? report_real_of(json_object_get(a->root, key), inner)
                         : report_real_of(a->root, key);
}

static const char *text_of(const struct report_analysis *a, const char *key, const char *inner) {
    const json_t *value = json_object_get(a->root, key);
    return json_string_value(inner != NULL ? json_object_get(value, inner) : value);
}

/* ---- files ---- */

void report_analysis_release(struct report_analysis *analysis) {
    free(analysis->name);
    free(analysis->label);
    json_decref(analysis->root);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns true for attacks that find planted secrets. Other attacks find texts, or parts of them. */
static bool finds_secrets(const char *attack) {
    struct nvdp_attack_info info = NVDP_RESULT(struct nvdp_attack_info);
    for (size_t i = 0; nvdp_attack_describe(NULL, i, &info) == NVDP_OK; i++)
        if (strcmp(info.name, attack) == 0) return info.target == NVDP_ATTACK_MODEL;
    return false;
}

static nvdp_status parse(struct nvdp_context *ctx, const char *path, struct report_analysis *a) {
    NVDP_TRY(nvdp__json_read(ctx, path, &a->root));
    const char *attack = text_of(a, "attack", NULL);
    if (attack != NULL) {
        const bool exposure = finds_secrets(attack);
        a->kind = exposure ? REPORT_ANALYSIS_EXPOSURE : REPORT_ANALYSIS_ATTACK;
        return exposure ? report_exposure_parse(ctx, path, a) : report_attack_parse(ctx, path, a);
    }
    const char *kind = text_of(a, "analysis", NULL), *text = text_of(a, "of", "text");
    for (a->kind = 0; kind != NULL && a->kind < KINDS; a->kind++)
        if (strcmp(kind, kinds[a->kind]) == 0) break;
    a->mechanism = text_of(a, "mechanism", NULL);
    if (kind == NULL || a->kind == KINDS || a->mechanism == NULL || isnan(real(a, "dim", NULL)))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the output of nvdp sanitize --analyse --json or nvdp "
                          "attack --json, found another object",
                          path);
    a->task = text_of(a, "of", "task");
    a->eta = real(a, "eta", NULL);
    const char *split = text_of(a, "of", "split");
    a->label = nvdp__format(ctx, "%s%s%s, %.0f x %.0f",
                            a->task != NULL ? a->task
                            : text != NULL  ? base_name(text)
                                            : "vocabulary",
                            a->task != NULL && split != NULL ? " " : "",
                            a->task != NULL && split != NULL ? split : "",
                            real(a, "vocabulary", NULL), real(a, "dim", NULL));
    return NVDP__MADE(a->label);
}

static nvdp_status add_file(struct nvdp_context *ctx, struct report *report, const char *path) {
    struct report_analysis made = {.name = nvdp__plain_copy(ctx, base_name(path))};
    nvdp_status status = NVDP__MADE(made.name);
    if (status == NVDP_OK) status = parse(ctx, path, &made);
    if (status == NVDP_OK)
        status = nvdp__reserve(ctx, &report->analysis, &report->analysis_capacity,
                               report->analyses + 1, sizeof *report->analysis);
    if (status == NVDP_OK) {
        report->analysis[report->analyses++] = made;
        return NVDP_OK;
    }
    if (status == NVDP_ERR_INPUT || status == NVDP_ERR_IO)
        status = report_note(ctx, report, base_name(path), "%s", nvdp_context_error(ctx));
    report_analysis_release(&made);
    return status;
}

static int is_json(const struct dirent *entry) {
    return entry->d_name[0] != '.' && nvdp__ends_with(entry->d_name, ".json");
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static nvdp_status add_path(struct nvdp_context *ctx, struct report *report, const char *path) {
    nvdp_status status = NVDP_OK;
    struct dirent **entry = NULL;
    if (!nvdp__is_directory(path)) return add_file(ctx, report, path);
    int count = scandir(path, &entry, is_json, by_name);
    if (count < 0) return nvdp__fail_errno(ctx, errno, "%s: cannot list the directory", path);
    for (int i = 0; i < count; i++) {
        char *file = status == NVDP_OK ? nvdp__join(ctx, path, entry[i]->d_name) : NULL;
        if (status == NVDP_OK) status = NVDP__MADE(file);
        if (status == NVDP_OK) status = add_file(ctx, report, file);
        free(file);
        free(entry[i]);
    }
    free(entry);
    return status;
}

/* Orders by kind, texts and table, mechanism, then eta and file. */
static int by_series(const void *x, const void *y) {
    const struct report_analysis *a = x, *b = y;
    int order = a->kind - b->kind;
    if (order == 0) order = strcmp(a->label, b->label);
    if (order == 0) order = strcmp(a->mechanism, b->mechanism);
    if (order == 0) order = (a->eta > b->eta) - (a->eta < b->eta);
    return order != 0 ? order : strcmp(a->name, b->name);
}

nvdp_status report_analyses_read(struct nvdp_context *ctx, const char *list,
                                 struct report *report) {
    nvdp__autofree char *usual = nvdp__join(ctx, report->directory, "analyses");
    nvdp__autofree char *copy = nvdp__strdup(ctx, list != NULL ? list : "");
    char *left = NULL;
    NVDP_TRY(NVDP__MADE(usual, copy));
    if (nvdp__is_directory(usual)) NVDP_TRY(add_path(ctx, report, usual));
    for (char *path = strtok_r(copy, ",", &left); path != NULL; path = strtok_r(NULL, ",", &left))
        NVDP_TRY(add_path(ctx, report, path));
    if (report->analyses > 0)
        qsort(report->analysis, report->analyses, sizeof *report->analysis, by_series);
    return NVDP_OK;
}

/* ---- tables ---- */

static void put_share(struct report_table *table, double share, double error) {
    if (isnan(share))
        report_table_cell(table, NAN, "-");
    else if (error > 0)
        report_table_cell(table, NAN, "%.2f +- %.2f", 100 * share, 100 * error);
    else
        report_table_cell(table, NAN, "%.2f", 100 * share);
}

static void start_row(struct report_table *table, const struct report_analysis *a) {
    char text[NVDP__NUMBER_SIZE];
    report_table_row(table);
    report_table_cell(table, NAN, "%s", a->mechanism);
    report_table_cell(table, NAN, "%s", a->eta > 0 ? report_say_lambda(text, a->eta) : "-");
}

/* Makes the table of one kind, with the texts as headings and a row per mechanism and eta. */
static struct report_table
make_table(struct nvdp_context *ctx, const struct report *report, int kind, const char *name,
           const char *title, const char *const *columns,
           void (*put)(struct report_table *, const struct report_analysis *)) {
    struct report_table table = report_table_begin(ctx, name, title);
    const struct report_analysis *last = NULL;
    report_table_column(&table, false, "mechanism", "");
    report_table_column(&table, true, "eta", "");
    for (; *columns != NULL; columns++)
        report_table_column(&table, true, *columns, "");
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        if (a->kind != kind) continue;
        if (last == NULL || strcmp(last->label, a->label) != 0)
            report_table_heading(&table, "%s", a->label);
        start_row(&table, a);
        put(&table, a);
        last = a;
    }
    return table;
}

static void put_inversion(struct report_table *table, const struct report_analysis *a) {
    put_share(table, real(a, "prior", NULL), 0);
    put_share(table, real(a, "nearest", NULL), real(a, "nearest_error", NULL));
    put_share(table, real(a, "bayes", NULL), real(a, "bayes_error", NULL));
}

struct report_table report_table_inversion(struct nvdp_context *ctx, const struct report *report) {
    static const char *const columns[] = {"most frequent [%]", "nearest [%]", "Bayes-optimal [%]",
                                          NULL};
    struct report_table table = make_table(ctx, report, REPORT_ANALYSIS_INVERSION, "inversion",
                                           "Token inversion: how often an attacker names the token",
                                           columns, put_inversion);
    if (table.rows > 0)
        report_table_note(
            &table, "most frequent: an attacker who sees nothing and guesses the most frequent "
                    "token. nearest: an attacker who guesses the token nearest to the output, as "
                    "published. Bayes-optimal: an attacker who knows the mechanism and the unigram "
                    "counts and makes the best guess from a single token. Numbers with a standard "
                    "error are estimated from draws; the others are exact.");
    return table;
}

static void put_mask(struct report_table *table, const struct report_analysis *a) {
    const char *model = text_of(a, "mask_model", NULL);
    put_share(table, real(a, "defense_rate", NULL), real(a, "original_error", NULL));
    put_share(table, real(a, "sanitized", NULL), real(a, "sanitized_error", NULL));
    report_table_cell(table, NAN, "%.0f", real(a, "guesses", NULL));
    report_table_cell(table, NAN, "%s", model != NULL ? base_name(model) : "-");
}

struct report_table report_table_mask(struct nvdp_context *ctx, const struct report *report) {
    static const char *const columns[] = {"defence rate [%]", "names token sent [%]", "guesses",
                                          "mask model", NULL};
    struct report_table table = make_table(
        ctx, report, REPORT_ANALYSIS_MASK, "mask_inference",
        "Mask token inference: a masked language model guesses tokens from their context", columns,
        put_mask);
    if (table.rows > 0)
        report_table_note(
            &table,
            "defence rate: share of the positions at which the guess is not the original token. "
            "none: the original texts. The standard errors assume independent guesses.");
    return table;
}

/* Shows at most five outputs of each token; the first row has been started. */
static void put_replacements(struct report_table *table, const struct report_analysis *a) {
    const json_t *row, *output;
    size_t i, j;
    json_array_foreach(json_object_get(a->root, "replacements"), i, row) {
        char text[256] = "";
        const char *token = json_string_value(json_object_get(row, "token"));
        if (i > 0) start_row(table, a);
        json_array_foreach(json_object_get(row, "most_frequent"), j, output) {
            const char *word = json_string_value(json_object_get(output, "token"));
            const size_t used = strlen(text);
            if (j == 5) break;
            nvdp__snprintf(text + used, sizeof text - used, "%s%.40s %.1f", j > 0 ? ", " : "",
                           word != NULL ? word : "-", 100 * report_real_of(output, "share"));
        }
        report_table_cell(table, NAN, "%s", token != NULL ? token : "-");
        report_table_cell(table, NAN, "%.0f", report_real_of(row, "outputs"));
        report_table_cell(table, NAN, "%s", text);
    }
}

struct report_table report_table_replacements(struct nvdp_context *ctx,
                                              const struct report *report) {
    static const char *const columns[] = {"token", "outputs", "most frequent [%]", NULL};
    return make_table(ctx, report, REPORT_ANALYSIS_REPLACEMENTS, "replacements",
                      "Replacements: the most frequent outputs of a token", columns,
                      put_replacements);
}

/* ---- figures ---- */

static bool is_first(const struct report *report, size_t i, int kind) {
    const struct report_analysis *a = &report->analysis[i];
    return a->kind == kind && (i == 0 || a[-1].kind != kind || strcmp(a[-1].label, a->label) != 0);
}

static struct nvdp_text_mechanism_info mechanism_of(const char *name) {
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    (void)nvdp_text_mechanism_describe(NULL, name, &info); /* unknown names keep no properties */
    return info;
}

/* Returns true if b's noise is Laplace noise over the table of a. */
static bool is_level(const struct report_analysis *a, const struct report_analysis *b) {
    return mechanism_of(b->mechanism).uses_eta && !mechanism_of(b->mechanism).exact && b->eta > 0 &&
           real(b, "dim", NULL) == real(a, "dim", NULL) &&
           real(b, "vocabulary", NULL) == real(a, "vocabulary", NULL);
}

/* Draws Qu's Figure 3, a panel per table, with the noise levels of the table's Laplace mechanisms. */
static void draw_geometry(struct report_drawing *d, const struct report *report, size_t i,
                          size_t panel) {
    const struct report_analysis *a = &report->analysis[i];
    const json_t *row;
    size_t at;
    const size_t block =
        report_drawing_block(d, "index %zu: %s\n# k\tmean distance", d->next, a->label);
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
    report_drawing_plot(d, block);
    fprintf(d->script, "using 2:1 with points pt 7 ps 0.8 lc rgb '%s'\n", report_series_colour(0));
    fputs("unset arrow\nunset label\n", d->script);
}

/* Draws a quantity of tokens over eta: the median, with bars from the 5 % to the 95 % quantile. */
static void draw_quantity(struct report_drawing *d, const struct report *report, size_t first,
                          size_t panel, const char *key, const char *name, const char *where) {
    const struct report_analysis *const from = &report->analysis[first];
    const struct report_analysis *const end = report->analysis + report->analyses;
    const size_t before = d->next;
    size_t series = 0;
    for (const struct report_analysis *a = from;
         a < end && a->kind == from->kind && strcmp(a->label, from->label) == 0; a++) {
        if (!(a->eta > 0)) continue;
        if (a == from || strcmp(a->mechanism, a[-1].mechanism) != 0 || !(a[-1].eta > 0))
            report_drawing_block(d, "index %zu: %s of %s, %s\n# eta\t5 %%\tmedian\t95 %%\tmean",
                                 d->next, name, a->label, a->mechanism);
        report_drawing_row(d,
                           (double[]){a->eta, real(a, key, "q05"), real(a, key, "median"),
                                      real(a, key, "q95"), real(a, key, "mean")},
                           5, NULL);
    }
    report_drawing_panel(d, panel, from->label, "eta", name);
    report_drawing_key(d, where);
    fputs("set xrange [0:*]\nset yrange [0:*]\nset offsets 0, graph 0.05, graph 0.05, 0\n",
          d->script);
    for (const struct report_analysis *a = from; before + series < d->next; a++) {
        if (!(a->eta > 0) ||
            (a > from && strcmp(a->mechanism, a[-1].mechanism) == 0 && a[-1].eta > 0))
            continue;
        report_drawing_plot(d, before + series);
        fprintf(d->script, "using 1:3:2:4 with yerrorbars lw 1 ps 0 lc rgb '%s' notitle",
                report_series_colour(series));
        report_drawing_plot(d, before + series);
        fputs("using 1:3 with linespoints", d->script);
        report_drawing_series(d, series++, a->mechanism);
    }
    fputs("\nunset key\n", d->script);
}

static void draw_deniability(struct report_drawing *d, const struct report *report, size_t i,
                             size_t panel) {
    draw_quantity(d, report, i, panel, "n_w", "N_w", "left top");
    draw_quantity(d, report, i, panel + 1, "s_w", "S_w", "right top");
    draw_quantity(d, report, i, panel + 2, "s_star", "S*_y", "right top");
}

static bool has_eta(const struct report *report, size_t i) {
    const struct report_analysis *a = &report->analysis[i],
                                 *end = report->analysis + report->analyses;
    for (const struct report_analysis *b = a;
         b < end && b->kind == a->kind && strcmp(b->label, a->label) == 0; b++)
        if (b->eta > 0) return true;
    return false;
}

/* ---- with the runs' scores ---- */

static const char *task_of(const struct report *report, size_t task) {
    return report->task[task].task;
}

/* Returns true if no other mask model guesses better on the same texts: the strongest attacker counts. */
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

/* Returns true if the group's score belongs to the analysis: the same mechanism and eta, or no privacy for both. */
static bool is_of(const struct report_analysis *a, const struct report *report,
                  const struct report_group *group) {
    const bool plain = strcmp(a->mechanism, "none") == 0;
    if (a->kind != REPORT_ANALYSIS_MASK || a->task == NULL ||
        strcmp(a->task, task_of(report, group->task)) != 0 || !is_strongest(a, report))
        return false;
    if (plain)
        return isnan(group->eta) && group->selected &&
               strcmp(report->family[group->family].method, nvdp_method_name(NVDP_METHOD_BASE)) ==
                   0;
    return strcmp(a->mechanism, report_method_of(group->run[0])) == 0 &&
           fabs(a->eta - group->eta) <= 1e-9 * fabs(a->eta);
}

static size_t matches(const struct report *report, size_t task, size_t family) {
    size_t count = 0;
    for (REPORT_EACH_GROUP(report, group))
        for (size_t i = 0; i < report->analyses; i++)
            count += group->task == task && (family == SIZE_MAX || group->family == family) &&
                     is_of(&report->analysis[i], report, group);
    return count;
}

/* Draws SanText's Figure 4, a panel per task. */
static void draw_defense(struct report_drawing *d, const struct report *report, size_t task,
                         size_t panel) {
    const size_t before = d->next;
    char text[NVDP__NUMBER_SIZE];
    size_t series = 0;
    for (size_t f = 0; f < report->families; f++) {
        if (matches(report, task, f) == 0) continue;
        report_drawing_block(d, "index %zu: %s, %s\n# eta\tdefense rate x 100\tscore x 100\tits sd",
                             d->next, report->task[task].label, report->family[f].label);
        for (REPORT_EACH_GROUP(report, group))
            for (size_t i = 0; i < report->analyses; i++) {
                const struct report_analysis *a = &report->analysis[i];
                if (group->task != task || group->family != f || !is_of(a, report, group)) continue;
                report_drawing_row(d,
                                   (double[]){isnan(group->eta) ? INFINITY : group->eta,
                                              100 * real(a, "defense_rate", NULL),
                                              100 * group->score[0].mean, 100 * group->score[0].sd},
                                   4,
                                   isnan(group->eta) ? "inf" : report_say_lambda(text, group->eta));
            }
    }
    snprintf(text, sizeof text, "%.40s x 100", report->task[task].first->metric[0]);
    report_drawing_panel(d, panel, report->task[task].label, "defense rate x 100", text);
    report_drawing_key(d, "left bottom");
    fputs("set offsets graph 0.1, graph 0.15, graph 0.1, graph 0.1\n", d->script);
    for (size_t f = 0; f < report->families; f++) {
        if (matches(report, task, f) == 0) continue;
        report_drawing_plot(d, before + series);
        fputs("using 2:3 with linespoints", d->script);
        report_drawing_series(d, series, report->family[f].label);
        report_drawing_plot(d, before + series);
        fprintf(d->script,
                "using 2:3:5 with labels noenhanced left offset 0.7,0.4 font ',8' textcolor rgb "
                "'%s' notitle",
                report_series_colour(series++));
    }
    fputs("\nunset key\n", d->script);
}

/* Returns true if a family has scores at two etas or more. They are the utility in SanText's Figure 5. */
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
    const size_t before = d->next;
    char text[NVDP__NUMBER_SIZE];
    size_t series = 0;
    for (size_t f = 0; f < report->families; f++) {
        if (!over_eta(report, task, f)) continue;
        report_drawing_block(d, "index %zu: %s, %s\n# eta\tscore x 100\tits sd", d->next,
                             report->task[task].label, report->family[f].label);
        for (REPORT_EACH_GROUP(report, group)) /* eta falls: starts at the least private */
            if (group->task == task && group->family == f && group->eta > 0)
                report_drawing_row(
                    d, (double[]){group->eta, 100 * group->score[0].mean, 100 * group->score[0].sd},
                    3, NULL);
    }
    snprintf(text, sizeof text, "%.40s x 100", report->task[task].first->metric[0]);
    report_drawing_panel(d, panel, report->task[task].label, "eta", text);
    report_drawing_key(d, "left top");
    fputs("set xrange [0:*]\nset offsets 0, graph 0.05, graph 0.15, graph 0.05\n", d->script);
    for (size_t f = 0; f < report->families; f++) {
        if (!over_eta(report, task, f)) continue;
        report_drawing_plot(d, before + series);
        fputs("using 1:2 with linespoints", d->script);
        report_drawing_series(d, series++, report->family[f].label);
    }
    fputs("\nunset key\n", d->script);
}

/* ---- santext-plus over the share w and the probability p ---- */

struct cell {
    double w, p, eta, score;
};

/* Collects the cells of a task's groups whose mechanism reads p, sorted by w and p. *n is their number. */
static void find_cells(const struct report *report, size_t task, struct cell *cell, size_t *n) {
    *n = 0;
    for (REPORT_EACH_GROUP(report, group)) {
        const json_t *config = group->run[0]->config;
        const json_t *w = json_object_get(config, "sensitive"), *p = json_object_get(config, "p");
        if (group->task != task || group->run[0]->sanitizer == NULL ||
            !mechanism_of(group->run[0]->sanitizer).uses_p || !json_is_number(w) ||
            !json_is_number(p))
            continue;
        cell[(*n)++] = (struct cell){json_number_value(w), json_number_value(p), group->eta,
                                     100 * group->score[0].mean};
    }
}

static bool varies(size_t n, const struct cell *cell) {
    for (size_t i = 1; i < n; i++)
        if (cell[i].w != cell[0].w || cell[i].p != cell[0].p) return true;
    return false;
}

/* Draws one line per eta and p (or w) over the other parameter. */
static void draw_plus(struct report_drawing *d, size_t n, const struct cell *cell, size_t panel,
                      bool over_w, const char *title, const char *label) {
    const size_t before = d->next;
    size_t series = 0;
    report_drawing_panel(d, panel, title, over_w ? "w" : "p", label);
    report_drawing_key(d, "left bottom");
    fputs("set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.25\n", d->script);
    for (size_t i = 0; i < n; i++) {
        const double fixed = over_w ? cell[i].p : cell[i].w;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= (over_w ? cell[j].p : cell[j].w) == fixed && cell[j].eta == cell[i].eta;
        if (seen) continue;
        report_drawing_block(d, "index %zu: %s, %s %g, eta %g\n# %s\tscore x 100", d->next, title,
                             over_w ? "p" : "w", fixed, cell[i].eta, over_w ? "w" : "p");
        double last = -INFINITY; /* quadratic, as there are few points */
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
        char *name = nvdp__format(d->ctx, "%s %g, eta %g", over_w ? "p" : "w", fixed, cell[i].eta);
        report_drawing_plot(d, before + series);
        fputs("using 1:2 with linespoints", d->script);
        report_drawing_series(d, series++, name != NULL ? name : "");
        free(name);
    }
    fputs("\nunset key\n", d->script);
}

/* ---- all ---- */

struct words {
    const char *name, *title, *caption;
};

static nvdp_status add_figure(struct nvdp_context *ctx, const struct report *report,
                              const struct words *text, size_t panels, size_t across,
                              struct report_drawing *d) {
    return report_drawing_begin(ctx, report, text->name, text->title, text->caption, panels, across,
                                REPORT_LEGEND_NONE, d);
}

/* Adds a figure for each kind, with a panel or `parts` for each table or corpus. Task scores follow. */
static nvdp_status add_kind(struct nvdp_context *ctx, const struct report *report, int kind,
                            size_t parts, const struct words *text, struct report_figures *out) {
    struct report_drawing d;
    size_t panels = 0, place = 0;
    const bool scores = kind == REPORT_ANALYSIS_DENIABILITY;
    for (size_t i = 0; i < report->analyses; i++)
        panels += is_first(report, i, kind) && (!scores || has_eta(report, i)) ? parts : 0;
    if (panels == 0) return NVDP_OK;
    for (size_t t = 0; t < report->tasks && scores; t++)
        panels += over_eta(report, t, SIZE_MAX);
    nvdp_status status = add_figure(ctx, report, text, panels, 3, &d);
    for (size_t i = 0; i < report->analyses && status == NVDP_OK; i++) {
        if (!is_first(report, i, kind) || (scores && !has_eta(report, i))) continue;
        (scores ? draw_deniability : draw_geometry)(&d, report, i, place);
        place += parts;
    }
    for (size_t t = 0; t < report->tasks && scores && status == NVDP_OK; t++)
        if (over_eta(report, t, SIZE_MAX)) draw_utility(&d, report, t, place++);
    nvdp_status ended = report_drawing_end(&d, out);
    return status != NVDP_OK ? status : ended;
}

static nvdp_status add_defense(struct nvdp_context *ctx, const struct report *report,
                               const struct words *text, struct report_figures *out) {
    struct report_drawing d;
    size_t panels = 0, place = 0;
    for (size_t t = 0; t < report->tasks; t++)
        panels += matches(report, t, SIZE_MAX) > 0;
    if (panels == 0) return NVDP_OK;
    nvdp_status status = add_figure(ctx, report, text, panels, 3, &d);
    for (size_t t = 0; t < report->tasks && status == NVDP_OK; t++)
        if (matches(report, t, SIZE_MAX) > 0) draw_defense(&d, report, t, place++);
    nvdp_status ended = report_drawing_end(&d, out);
    return status != NVDP_OK ? status : ended;
}

static nvdp_status add_plus(struct nvdp_context *ctx, const struct report *report,
                            const struct words *text, struct report_figures *out) {
    nvdp_status status = NVDP_OK;
    struct report_drawing d;
    size_t panels = 0, place = 0, n = 0;
    struct cell *cell = nvdp__calloc(ctx, report->groups + 1, sizeof *cell);
    if (cell == NULL) return NVDP_ERR_MEMORY;
    for (size_t t = 0; t < report->tasks; t++) {
        find_cells(report, t, cell, &n);
        panels += varies(n, cell) ? 2 : 0;
    }
    if (panels == 0) goto cleanup;
    status = add_figure(ctx, report, text, panels, 2, &d);
    for (size_t t = 0; t < report->tasks && status == NVDP_OK; t++) {
        char label[NVDP__NUMBER_SIZE];
        find_cells(report, t, cell, &n);
        if (!varies(n, cell)) continue;
        snprintf(label, sizeof label, "%.40s x 100", report->task[t].first->metric[0]);
        draw_plus(&d, n, cell, place++, true, report->task[t].label, label);
        draw_plus(&d, n, cell, place++, false, report->task[t].label, label);
    }
    nvdp_status ended = report_drawing_end(&d, out);
    if (status == NVDP_OK) status = ended;
cleanup:
    free(cell);
    return status;
}

nvdp_status report_analysis_figures(struct nvdp_context *ctx, const struct report *report,
                                    struct report_figures *out) {
    static const struct words geometry = {
        "geometry", "Distances between tokens and the norm of the noise",
        "Mean distance of a token to its k-th nearest token. Vertical lines show the mean norm of "
        "the noise at each eta of the analyses of the same vectors (Qu et al. 2021, Figure 3)."};
    static const struct words deniability = {
        "deniability", "Plausible deniability over eta",
        "Probability N_w that a token stays unchanged, number S_w of different outputs in the "
        "draws, and number S*_y of different inputs of an output: medians over tokens, with bars "
        "from the 5 % to the 95 % quantile; and the score (Qu et al. 2021, Figure 4; Yue et al. "
        "2021, Figure 5)."};
    static const struct words defense = {
        "defense", "Score against the defense rate of mask token inference",
        "Score against the share of positions at which a masked language model does not name the "
        "original token. A point is an eta, and inf stands for the original texts. Of several mask "
        "models, the best guesser is shown (Yue et al. 2021, Figure 4)."};
    static const struct words plus = {
        "santext_plus",
        "santext-plus: score over the share w of sensitive tokens and over the probability p",
        "Score over w, with one line per p, and over p, with one line per w (Yue et al. 2021, "
        "Figure 3)."};
    NVDP_TRY(add_kind(ctx, report, REPORT_ANALYSIS_GEOMETRY, 1, &geometry, out));
    NVDP_TRY(add_kind(ctx, report, REPORT_ANALYSIS_DENIABILITY, 3, &deniability, out));
    NVDP_TRY(add_defense(ctx, report, &defense, out));
    NVDP_TRY(report_exposure_figure(ctx, report, out));
    return add_plus(ctx, report, &plus, out);
}
