/* Planted secrets and canaries (nvdp attack --kind exposure --json) in a report: their tables, and the memorization
 * figure of Hoory et al. 2021. */
#include "report/parts.h"

#include "base/file.h"
#include "base/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean exposure of secrets that were not planted: E[-log2 U] = log2 e for a uniform rank. */
static const double CONTROL = 1.4426950408889634;
/* Position of secrets that were planted 0 times on a logarithmic axis. */
static const double NEVER = 0.3;

static bool is_canary(const json_t *group) {
    return json_is_true(json_object_get(group, "canary"));
}

/* Returns group k of an attack; NULL beyond the last, or if it is not an object. */
static const json_t *group_at(const struct report_analysis *a, size_t k) {
    return a->kind != REPORT_ANALYSIS_EXPOSURE
               ? NULL
               : json_array_get(json_object_get(a->root, "groups"), k);
}

/* Returns true for secrets of this form and place that have a chosen number of occurrences. */
static bool is_part(const json_t *group, const char *form, const char *place) {
    return !is_canary(group) && strcmp(report_text_of(group, "form"), form) == 0 &&
           strcmp(report_text_of(group, "place"), place) == 0;
}

nvdp_status report_exposure_parse(struct nvdp_context *ctx, const char *path,
                                  struct report_analysis *a) {
    const json_t *accountant = json_object_get(a->root, "accountant");
    const double epsilon = report_real_of(accountant, "epsilon");
    bool good = group_at(a, 0) != NULL;
    a->mechanism = report_text_of(a->root, "model");
    for (size_t k = 0; group_at(a, k) != NULL; k++)
        good = good && *report_text_of(group_at(a, k), "form") != '\0' &&
               isfinite(report_real_of(group_at(a, k), "exposure")) &&
               report_real_of(group_at(a, k), "occurrences") >= 0;
    if (!good)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected the output of nvdp attack --kind exposure --json, found another object",
            path);
    char promise[128] = "", bound[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT];
    if (isfinite(epsilon))
        snprintf(promise, sizeof promise, ", epsilon %s at delta %s%s", nvdp__bound(bound, epsilon),
                 nvdp__bound(delta, report_real_of(accountant, "delta")),
                 json_is_true(json_object_get(accountant, "insecure_seed"))
                     ? " for who does not know the seed"
                     : "");
    a->label = nvdp__format(ctx, "%.*s%s", report_stem(a->name), a->name, promise);
    return NVDP__MADE(a->label);
}

/* ---- tables ---- */

static void put_group(struct report_table *table, const json_t *group) {
    report_table_row(table);
    report_table_cell(table, NAN, "%s", report_text_of(group, "form"));
    report_table_cell(table, NAN, "%s",
                      is_canary(group) ? "canary" : report_text_of(group, "place"));
    report_table_cell(table, NAN, "%.0f", report_real_of(group, "occurrences"));
    report_table_cell(table, NAN, "%.0f", report_real_of(group, "secrets"));
    report_table_cell(table, NAN, "%.2f", report_real_of(group, "loss"));
    report_table_cell(table, NAN, "%.2f", report_real_of(group, "exposure"));
    report_table_interval(table, json_object_get(group, "interval"), 1);
    report_table_cell(table, NAN, "%.0f", 100 * report_real_of(group, "first"));
}

struct report_table report_table_exposure(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table = report_table_begin(
        ctx, "exposure", "Memorization: exposure of secrets in the training text");
    static const char *const columns[] = {"occurrences",     "secrets", "loss [nats]",
                                          "exposure [bits]", "95 %",    "first [%]"};
    report_table_column(&table, false, "form", "");
    report_table_column(&table, false, "place", "");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(&table, true, columns[i], "");
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        if (a->kind != REPORT_ANALYSIS_EXPOSURE) continue;
        report_table_heading(&table, "%s (%.2f bits)", a->label,
                             log2(report_real_of(a->root, "candidates")));
        for (size_t k = 0; group_at(a, k) != NULL; k++)
            put_group(&table, group_at(a, k));
    }
    if (table.rows > 0)
        report_table_note(
            &table, "exposure: log2 of the number of candidates minus log2 of the secret's rank "
                    "among them (Carlini et al. 2019); 1.44 on average for secrets that were not "
                    "planted. first: share of secrets that the model ranks first. Intervals of the "
                    "mean over secrets (Student; if all are first, Clopper & Pearson).");
    return table;
}

struct report_table report_table_audit(struct nvdp_context *ctx, const struct report *report) {
    struct report_table table =
        report_table_begin(ctx, "audit", "Canary audit: measured and promised epsilon of one run");
    static const char *const columns[] = {"canaries",          "AUC",      "delta",
                                          "epsilon, at least", "promised", "confidence [%]"};
    report_table_column(&table, false, "model", "");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(&table, true, columns[i], "");
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        const json_t *audit = json_object_get(a->root, "audit");
        const double promised = report_real_of(json_object_get(a->root, "accountant"), "epsilon");
        char text[NVDP__NUMBER_SIZE];
        if (a->kind != REPORT_ANALYSIS_EXPOSURE || !json_is_object(audit)) continue;
        report_table_row(&table);
        report_table_cell(&table, NAN, "%s", a->label);
        report_table_cell(&table, NAN, "%.0f", report_real_of(audit, "canaries"));
        report_table_cell(&table, NAN, "%.3f", report_real_of(audit, "auc"));
        report_table_cell(&table, NAN, "%s",
                          report_say_lambda(text, report_real_of(audit, "delta")));
        report_table_cell(&table, NAN, "%.2f",
                          nvdp__lower_bound(report_real_of(audit, "epsilon"), 2));
        report_table_cell(&table, NAN, "%s",
                          isfinite(promised) ? nvdp__bound(text, promised) : "-");
        report_table_cell(&table, NAN, "%.0f", 100 * report_real_of(audit, "confidence"));
        if (report_real_of(audit, "epsilon") > promised)
            report_table_note(&table, "VIOLATION: %s is less private than promised.", a->label);
    }
    if (table.rows > 0)
        report_table_note(
            &table, "One-run audit (Steinke et al. 2023) with texts that a coin flip put into the "
                    "training set or left out. promised: the epsilon of the accountant.");
    return table;
}

/* ---- the figure ---- */

static bool has_part(const struct report_analysis *a, const char *form, const char *place) {
    for (size_t k = 0; group_at(a, k) != NULL; k++)
        if (is_part(group_at(a, k), form, place)) return true;
    return false;
}

/* Returns true if group k of analysis i is the first of its form and place. */
static bool begins_part(const struct report *report, size_t i, size_t k) {
    const json_t *group = group_at(&report->analysis[i], k);
    const char *form = report_text_of(group, "form"), *place = report_text_of(group, "place");
    for (size_t j = 0; j < i; j++)
        if (has_part(&report->analysis[j], form, place)) return false;
    for (size_t m = 0; m < k; m++)
        if (is_part(group_at(&report->analysis[i], m), form, place)) return false;
    return !is_canary(group);
}

static void put_rows(struct report_drawing *d, const struct report_analysis *a, const char *form,
                     const char *place) {
    report_drawing_block(d, "index %zu: %s, %s in %s\n# occurrences\texposure\tlow\thigh", d->next,
                         a->label, form, place);
    for (size_t k = 0; group_at(a, k) != NULL; k++) {
        const json_t *group = group_at(a, k), *interval = json_object_get(group, "interval");
        const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
        const double mean = report_real_of(group, "exposure"),
                     times = report_real_of(group, "occurrences");
        if (is_part(group, form, place))
            report_drawing_row(d,
                               (double[]){times > 0 ? times : NEVER, mean,
                                          json_is_number(low) ? json_number_value(low) : mean,
                                          json_is_number(high) ? json_number_value(high) : mean},
                               4, NULL);
    }
}

/* Draws a panel for one form and place, with a line per model. */
static void draw_part(struct report_drawing *d, const struct report *report, size_t panel,
                      const char *form, const char *place) {
    const size_t before = d->next;
    size_t series = 0;
    char title[64];
    for (size_t i = 0; i < report->analyses; i++)
        if (has_part(&report->analysis[i], form, place))
            put_rows(d, &report->analysis[i], form, place);
    snprintf(title, sizeof title, "%.20s, %s", form,
             strcmp(place, "window") == 0 ? "separate examples" : "in the text");
    report_drawing_panel(d, panel, title, "occurrences", "exposure [bits]");
    report_drawing_key(d, "left top");
    fprintf(d->script,
            "set logscale x\nset xtics add ('0' %g)\nset xrange [%g:*]\nset yrange [0:*]\n"
            "set offsets 0, 0, graph 0.3, 0\n"
            "set arrow from graph 0,first %.4f to graph 1,first %.4f nohead dt 2 lc rgb "
            "'#777777'\n",
            NEVER, NEVER / 1.5, CONTROL, CONTROL);
    for (size_t i = 0; i < report->analyses; i++) {
        const struct report_analysis *a = &report->analysis[i];
        if (!has_part(a, form, place)) continue;
        report_drawing_plot(d, before + series);
        fprintf(d->script, "using 1:2:3:4 with yerrorbars lw 1 ps 0 lc rgb '%s' notitle",
                report_series_colour(series));
        report_drawing_plot(d, before + series);
        fputs("using 1:2 with linespoints", d->script);
        report_drawing_series(d, series++, a->label);
    }
    fputs("\nunset key\n", d->script);
}

nvdp_status report_exposure_figure(struct nvdp_context *ctx, const struct report *report,
                                   struct report_figures *out) {
    struct report_drawing d;
    size_t panels = 0, place = 0;
    for (size_t i = 0; i < report->analyses; i++)
        for (size_t k = 0; group_at(&report->analysis[i], k) != NULL; k++)
            panels += begins_part(report, i, k);
    if (panels == 0) return NVDP_OK;
    NVDP_TRY(report_drawing_begin(
        ctx, report, "exposure",
        "Exposure of secrets over how often they occur in the training text",
        "Mean exposure of planted secrets, with 95 % intervals. Dashed: a secret that is not in "
        "the text. 0: secrets that were not planted (Hoory et al. 2021, Figure 2).",
        panels, 3, REPORT_LEGEND_NONE, &d));
    for (size_t i = 0; i < report->analyses; i++)
        for (size_t k = 0; group_at(&report->analysis[i], k) != NULL; k++)
            if (begins_part(report, i, k))
                draw_part(&d, report, place++,
                          report_text_of(group_at(&report->analysis[i], k), "form"),
                          report_text_of(group_at(&report->analysis[i], k), "place"));
    return report_drawing_end(&d, out);
}
