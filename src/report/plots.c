/* The figures of a report. Each figure is a row of the table at the end: a test that selects groups, and a function
 * that draws the panels, one per task or per task and family. */
#include "report/parts.h"

#include <math.h>
#include <stdlib.h>

struct panel;

/* A figure: a test whether a group has data for it, and a function that draws a panel. */
struct plot {
    const char *name, *title, *caption, *axis;
    enum report_quantity quantity;
    enum report_legend legend;
    bool by_family;
    size_t parts; /* panels side by side that belong together */
    bool (*has)(const struct plot *plot, const struct report_group *group);
    void (*draw)(const struct panel *panel);
};

struct panel {
    struct report_drawing *drawing;
    const struct report *report;
    const struct plot *plot;
    size_t task, family;      /* family is SIZE_MAX for any family */
    size_t place;             /* index among the figure's panels */
    struct report_spot *spot; /* [report->groups], scratch memory for labels */
};

/* Returns true if the group has data for the panel. */
static bool is_in(const struct panel *panel, const struct report_group *group) {
    return group->task == panel->task &&
           (panel->family == SIZE_MAX || group->family == panel->family) &&
           panel->plot->has(panel->plot, group);
}

static bool is_shown(const struct panel *panel) {
    bool found = false;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        found |= is_in(panel, group);
    }
    return found;
}

static bool has_value(const struct plot *plot, const struct report_group *group) {
    return group->quantity[plot->quantity].n > 0;
}

/* --- score against a measure of privacy: Figures 2 and 3 of the NVDP paper, and the same with sums --- */
/* The axis of one panel, and the range of the panel's scores. */
struct axis {
    double low, high; /* range of the finite, positive values */
    bool log, infinite;
    double edge; /* position of infinite values */
    double from, to, bottom, top;
};

/* Replaces values beyond an axis's numeric range by infinity or 0. */
static double drawable(double value) {
    if (value > 1e250) return INFINITY;
    return value < 1e-250 ? 0 : value;
}

/* Returns the values to draw for a group: the mean, or the maximum of a proven bound; and for the largest divergence,
 * the bound of the divergence. A missing value is NaN. */
static void set_drawn_values(const struct panel *panel, const struct report_group *group,
                             double value[2]) {
    enum report_quantity quantity = panel->plot->quantity;
    value[0] = drawable(report_value(group, quantity));
    value[1] = quantity == REPORT_SUM_MAX ? drawable(group->quantity[REPORT_BOUND].max) : NAN;
}

/* Returns 100 times the mean score plus `deviations` standard deviations, which count as 0 for one run. */
static double shifted_score(const struct report_group *group, double deviations) {
    double sd = group->score[0].sd;
    return 100 * (group->score[0].mean + (isfinite(sd) ? deviations * sd : 0));
}

static void find_scores(const struct panel *panel, struct axis *axis) {
    double low = INFINITY, high = -INFINITY;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        bool line = group->task == panel->task && group->selected &&
                    panel->report->family[group->family].reference;
        if (!line && !is_in(panel, group)) continue;
        low = fmin(low, shifted_score(group, line ? 0 : -1));
        high = fmax(high, shifted_score(group, line ? 0 : 1));
    }
    if (low > high) low = high = 0;
    double span = high > low ? high - low : 10; /* one score stands in the middle */
    axis->bottom = (high > low ? low : low - span / 2) - .08 * span;
    axis->top = (high > low ? high : high + span / 2) + .05 * span;
}

static struct axis find_axis(const struct panel *panel) {
    struct axis axis = {.low = INFINITY, .high = -INFINITY};
    for (REPORT_EACH_GROUP(panel->report, group)) {
        if (!is_in(panel, group)) continue;
        double value[2];
        set_drawn_values(panel, group, value);
        axis.infinite |= isinf(value[0]) != 0;
        for (int k = 0; k < 2; k++) {
            if (!isfinite(value[k]) || !(value[k] > 0)) continue;
            axis.low = fmin(axis.low, value[k]);
            axis.high = fmax(axis.high, value[k]);
        }
    }
    if (axis.low > axis.high) axis.low = axis.high = 1;
    axis.log = report_quantities[panel->plot->quantity].log || axis.high > 8 * axis.low;
    const bool one = axis.low == axis.high && !axis.infinite; /* the value stands in the middle */
    double span = axis.log ? fmax(log(axis.high / axis.low), log(3))
                           : fmax(axis.high - axis.low, (one ? 1 : .05) * axis.high);
    double pad = (one ? .5 : .08) * span, step = .22 * span, last = axis.infinite ? step : 0;
    axis.edge = axis.log ? axis.high * exp(step) : axis.high + step;
    axis.from = axis.log ? axis.low * exp(-pad) : axis.low - pad;
    axis.to = axis.log ? axis.high * exp(last + pad) : axis.high + last + pad;
    find_scores(panel, &axis);
    return axis;
}

/* Returns the position of a value: infinite values at the edge, values below a logarithmic axis at the left. */
static double axis_position(const struct axis *axis, double value) {
    return isinf(value) ? axis->edge : axis->log && !(value > 0) ? axis->from : value;
}

/* Returns the smallest 1, 2 or 5 times a power of ten that is at least `value`. */
static double round_step(double value) {
    double power = pow(10, floor(log10(value)));
    for (int k = 0; k < 3; k++) {
        double step = (double[]){1, 2, 5}[k] * power;
        if (step >= value * (1 - 1e-9)) return step;
    }
    return 10 * power;
}

static void put_tic(FILE *to, bool power, double value, bool first) {
    fputs(first ? "" : ", ", to);
    if (power) {
        fprintf(to, "'10^{%.0f}' %.9g", log10(value), value);
    } else {
        fprintf(to, "'%.9g' %.9g", value, value);
    }
}

static size_t put_linear_tics(FILE *to, double from, double last) {
    double step = round_step((last - from) / 5);
    size_t count = 0;
    for (double k = ceil(from / step); k * step <= last; k++) {
        put_tic(to, false, k * step, count++ == 0);
    }
    return count;
}

/* Writes the tics of a logarithmic axis: powers of ten; on a short axis, 2 and 5 times powers of ten, too; on an axis
 * shorter than one power, even steps. */
static size_t put_log_tics(FILE *to, double from, double last) {
    double decades = log10(last / from);
    int step = decades > 6 ? 2 : 1;
    size_t count = 0;
    if (decades < 1) return put_linear_tics(to, from, last);
    for (int power = (int)floor(log10(from)); power <= log10(last); power++) {
        for (int k = 0; k < (decades < 2 ? 3 : 1); k++) {
            double value = (double[]){1, 2, 5}[k] * pow(10, power);
            if (value < from || value > last || power % step != 0) continue;
            put_tic(to, k == 0 && (last > 2e4 || from < 5e-4), value, count++ == 0);
        }
    }
    return count;
}

/* Writes the axis, whose numbers end before "inf". */
static void put_axis(FILE *to, const struct axis *axis) {
    double part = .35; /* fraction of the way from the largest value to "inf" */
    double before = axis->log ? axis->high * pow(axis->edge / axis->high, part)
                              : axis->high + part * (axis->edge - axis->high);
    double last = axis->infinite ? before : axis->to;
    fprintf(to, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n%sset xtics (", axis->from,
            axis->to, axis->bottom, axis->top, axis->log ? "set logscale x\n" : "");
    size_t count =
        axis->log ? put_log_tics(to, axis->from, last) : put_linear_tics(to, axis->from, last);
    if (axis->infinite) fprintf(to, "%s'inf' %.9g", count > 0 ? ", " : "", axis->edge);
    fputs(")\n", to);
    if (!axis->infinite) return;
    fprintf(
        to,
        "set arrow from first %.9g,graph 0 to first %.9g,graph 1 nohead dt 3 lc rgb '#666666'\n",
        axis->edge, axis->edge);
}

/* Draws a family: data, then bars, line and points, infinite points, settings, bounds. */
static void draw_family(const struct panel *panel, const struct axis *axis) {
    const struct report_family *family = &panel->report->family[panel->family];
    struct report_drawing *drawing = panel->drawing;
    struct report_look look = report_family_look(family);
    bool bounded = false;
    size_t block =
        report_drawing_block(drawing,
                             "%s, %s\n# lambda_g\tlambda_d\tC\tseeds\tscore x 100\tits sd\tvalue\t"
                             "where it is drawn\tfinite\tbound\tsetting",
                             panel->report->task[panel->task].label, family->label);
    for (REPORT_EACH_GROUP(panel->report, group)) {
        double value[2];
        if (!is_in(panel, group)) continue;
        set_drawn_values(panel, group, value);
        bounded |= !isnan(value[1]);
        report_drawing_row(
            drawing,
            (double[]){group->lambda_g, group->lambda_d, group->clip_sequence, (double)group->runs,
                       100 * group->score[0].mean, 100 * group->score[0].sd, value[0],
                       axis_position(axis, value[0]), isfinite(value[0]) ? 1 : 0, value[1]},
            10, report_say_point(group).text);
    }
    report_drawing_plot(
        drawing, block,
        "using 8:($4>1?$5:NaN):6 with yerrorbars lw 1 ps 0 lc rgb '%s', \\\n     '' index %zu "
        "using ($9==1?$8:NaN):5 with linespoints lw 1.6 dt %d pt %d ps 0.8 lc rgb '%s', \\\n   "
        "  '' index %zu using ($9==0?$8:NaN):5 with points lw 1.6 pt %d ps 0.9 lc rgb '%s'",
        look.colour, block, look.dash, look.filled, look.colour, block, look.open, look.colour);
    if (bounded)
        fprintf(drawing->script,
                ", \\\n     '' index %zu using 10:5 with points lw 1.2 pt %d ps 0.9 lc rgb '%s'",
                block, look.open, look.colour);
}

/* Returns true if any value or bound in the panel is finite. */
static bool has_finite(const struct panel *panel) {
    for (REPORT_EACH_GROUP(panel->report, group)) {
        double value[2];
        set_drawn_values(panel, group, value);
        if (is_in(panel, group) && (isfinite(value[0]) || isfinite(value[1]))) return true;
    }
    return false;
}

static bool has_label(const struct panel *panel, const struct report_group *group) {
    return is_in(panel, group) && isfinite(shifted_score(group, 0));
}

/* Writes the setting of each point beside the point if there is room. */
static void put_labels(const struct panel *panel, const struct axis *axis) {
    enum { LETTER = 5 }; /* width in pixels */
    double size[2], value[2];
    size_t count = 0;
    report_drawing_area(panel->drawing, size);
    for (REPORT_EACH_GROUP(panel->report, group)) {
        if (!has_label(panel, group)) continue;
        set_drawn_values(panel, group, value);
        const double place = axis_position(axis, value[0]);
        panel->spot[count++] = (struct report_spot){
            .x = size[0] * (axis->log ? log(place / axis->from) / log(axis->to / axis->from)
                                      : (place - axis->from) / (axis->to - axis->from)),
            .y = size[1] * (shifted_score(group, 0) - axis->bottom) / (axis->top - axis->bottom),
            .width = LETTER * (double)report_text_width(report_say_point(group).text)};
    }
    report_place_labels(panel->spot, count, size);
    count = 0;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        if (!has_label(panel, group)) continue;
        const struct report_spot *spot = &panel->spot[count++];
        if (spot->labelled)
            report_put_label(panel->drawing->script, spot, size, report_say_point(group).text,
                             report_family_look(&panel->report->family[group->family]).colour);
    }
}

static void draw_scatter(const struct panel *panel) {
    const struct report *report = panel->report;
    const struct report_task_rows *task = &report->task[panel->task];
    struct axis axis = find_axis(panel);
    report_drawing_panel(panel->drawing, panel->place, task->label, panel->plot->axis,
                         report_say("%.40s x 100", task->first->metric[0]).text);
    put_axis(panel->drawing->script, &axis);
    put_labels(panel, &axis);
    for (size_t f = 0; f < report->families; f++) {
        const struct report_group *group = report_selected(report, panel->task, f);
        struct panel one = *panel;
        one.family = f;
        if (report->family[f].reference && group != NULL) {
            struct report_look look = report_family_look(&report->family[f]);
            report_drawing_plot(panel->drawing, SIZE_MAX,
                                "%.9g with lines lw 1.4 dt %d lc rgb '%s'",
                                100 * group->score[0].mean, look.dash, look.colour);
        }
        if (is_shown(&one)) draw_family(&one, &axis);
    }
    fputc('\n', panel->drawing->script);
}

/* --- effect of the regularizer on the posteriors: effective vectors over lambda --- */

/* Returns the position of lambda. Lambda 0, which has no logarithm, is a decade left of the smallest lambda. */
static double lambda_place(const struct report *report, const struct report_group *group) {
    double smallest = INFINITY;
    if (group->lambda_d > 0) return group->lambda_d;
    for (REPORT_EACH_GROUP(report, other)) {
        if (other->task == group->task && other->lambda_d > 0)
            smallest = fmin(smallest, other->lambda_d);
    }
    return isinf(smallest) ? 1 : smallest / 10;
}

static void draw_vectors(const struct panel *panel) {
    const struct report *report = panel->report;
    struct report_drawing *drawing = panel->drawing;
    const char *task = report->task[panel->task].label;
    double low = INFINITY, high = 0;
    report_drawing_panel(drawing, panel->place, task, "lambda_D", "effective vectors of a text");
    for (REPORT_EACH_GROUP(report, group)) {
        if (!is_in(panel, group)) continue;
        low = fmin(low, lambda_place(report, group));
        high = fmax(high, lambda_place(report, group));
    }
    /* Ends the axis half a decade beyond its points. */
    fprintf(drawing->script,
            "set logscale x\nset format x '10^{%%L}'\nset xrange [%.9g:%.9g]\n"
            "set yrange [0:*]\nset offsets 0, 0, graph 0.08, 0\n",
            low / sqrt(10), high * sqrt(10));
    for (size_t f = 0; f < report->families; f++) {
        struct report_look look = report_family_look(&report->family[f]);
        struct panel one = *panel;
        one.family = f;
        if (!is_shown(&one)) continue;
        size_t block = report_drawing_block(
            drawing,
            "%s, %s\n# lambda_g\tlambda_d\twhere it is drawn\teffective vectors, mean "
            "over texts and seeds\t5 %% quantile of texts\t95 %%",
            task, report->family[f].label);
        for (REPORT_EACH_GROUP(report, group)) {
            const struct report_stat *of = group->quantity;
            if (is_in(&one, group))
                report_drawing_row(drawing,
                                   (double[]){group->lambda_g, group->lambda_d,
                                              lambda_place(report, group), of[REPORT_VECTORS].mean,
                                              of[REPORT_VECTORS_LOW].mean,
                                              of[REPORT_VECTORS_HIGH].mean},
                                   6, NULL);
        }
        report_drawing_plot(
            drawing, block,
            "using 3:4:5:6 with yerrorbars lw 1.2 pt %d ps 0.8 lc rgb "
            "'%s', \\\n     '' index %zu using 3:4 with lines lw 1.6 dt %d lc rgb '%s'",
            look.filled, look.colour, block, look.dash, look.colour);
    }
    fputc('\n', drawing->script);
}

/* --- pseudo-counts --- */

/* Counts a group's tokens over all seeds, in one bin or, if `bin` is negative, in all bins. */
static double tokens_in(const struct report_group *group, int bin) {
    double sum = 0;
    for (size_t i = 0; i < group->runs; i++) {
        for (int b = 0; b < NVDP_ALPHA_BINS; b++) {
            if (bin < 0 || b == bin) sum += group->run[i]->alpha_count[b];
        }
    }
    return sum;
}

static bool has_histogram(const struct plot *plot, const struct report_group *group) {
    (void)plot;
    return tokens_in(group, -1) > 0;
}

/* Colors from weak to strong regularization: dark to light, in equal steps of lightness. */
static const char *const shade[] = {"#440154", "#414487", "#2a788e",
                                    "#22a884", "#7ad151", "#d2b100"};
enum { SHADES = sizeof shade / sizeof *shade };

static void draw_histograms(const struct panel *panel) {
    struct report_drawing *drawing = panel->drawing;
    const char *task = panel->report->task[panel->task].label;
    const char *family = panel->report->family[panel->family].label;
    double low = INFINITY, high = -INFINITY;
    size_t first = drawing->next;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        if (!is_in(panel, group)) continue;
        const struct report_run *run = group->run[0];
        double all = tokens_in(group, -1);
        report_drawing_block(drawing,
                             "%s, %s, %s\n# log10 alpha, middle of the bin\t"
                             "tokens\tshare of the tokens in %%",
                             task, family, report_say_setting(group).text);
        for (int b = 0; b < NVDP_ALPHA_BINS; b++) {
            double tokens = tokens_in(group, b), from = run->alpha_first + b * run->alpha_width;
            report_drawing_row(drawing,
                               (double[]){from + run->alpha_width / 2, tokens, 100 * tokens / all},
                               3, NULL);
            if (tokens == 0) continue;
            low = fmin(low, from);
            high = fmax(high, from + run->alpha_width);
        }
    }
    nvdp__autofree char *title = nvdp__format(drawing->ctx, "%s: %s", task, family);
    report_drawing_panel(drawing, panel->place, title != NULL ? title : "",
                         "log10 alpha of the tokens", "tokens [%]");
    fprintf(drawing->script,
            "set xrange [%.9g:%.9g]\nset yrange [0:*]\nset offsets 0, 0, graph 0.06, 0\n"
            "set key at graph 1.0,0.99 right top reverse Left samplen 1.5 spacing 1.1 font ',9' "
            "noenhanced title 'lambda'\n",
            low - .25, high + .25);
    size_t count = drawing->next - first, k = 0;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        if (!is_in(panel, group)) continue;
        report_drawing_plot(
            drawing, first + k, "using 1:3 with histeps lw 1.8 lc rgb '%s' title '%s'",
            shade[count > 1 ? k * (SHADES - 1) / (count - 1) : 0], report_say_point(group).text);
        k++;
    }
    report_drawing_end_key(drawing);
}

/* --- training curves of the selected settings: a line per run --- */

static bool has_curve(const struct plot *plot, const struct report_group *group) {
    (void)plot;
    for (size_t k = 0; k < group->runs; k++)
        if (group->selected && group->run[k]->epochs > 0) return true;
    return false;
}

/* Draws a column of the blocks from `first` on, which are the panel's runs in the order of the groups. With of_epochs,
 * skips runs that recorded no epochs. */
static void draw_runs(const struct panel *panel, size_t first, size_t column, bool of_epochs) {
    for (REPORT_EACH_GROUP(panel->report, group)) {
        struct report_look look = report_family_look(&panel->report->family[group->family]);
        for (size_t k = 0; is_in(panel, group) && k < group->runs; k++) {
            if (of_epochs && group->run[k]->epochs == 0) continue;
            report_drawing_plot(
                panel->drawing, first++,
                "using 1:%zu with linespoints lw 1.3 dt %d pt %d ps 0.4 lc rgb '%s'", column,
                look.dash, look.filled, look.colour);
        }
    }
    fputc('\n', panel->drawing->script);
}

static void draw_curves(const struct panel *panel, size_t first, size_t column, const char *label) {
    enum { FEW = 12 }; /* up to this number, all epochs have a tic */
    struct report_drawing *drawing = panel->drawing;
    size_t epochs = 0;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        for (size_t k = 0; is_in(panel, group) && k < group->runs; k++) {
            if (group->run[k]->epochs > epochs) epochs = group->run[k]->epochs;
        }
    }
    report_drawing_panel(drawing, panel->place + (column == 3),
                         panel->report->task[panel->task].label, "epoch", label);
    fprintf(drawing->script, "set xrange [0.8:%zu.2]\n%s", epochs,
            epochs <= FEW ? "set xtics 1\n" : "");
    fputs("set offsets 0, 0, graph 0.05, graph 0.05\n", drawing->script);
    draw_runs(panel, first, column, true);
}

static void draw_training(const struct panel *panel) {
    struct report_drawing *drawing = panel->drawing;
    const char *metric = panel->report->task[panel->task].first->metric[0];
    size_t first = drawing->next;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        for (size_t k = 0; is_in(panel, group) && k < group->runs; k++) {
            const struct report_run *run = group->run[k];
            if (run->epochs == 0) continue;
            report_drawing_block(drawing, "%s\n# epoch\tvalidation x 100\ttask loss, mean",
                                 run->name);
            for (size_t e = 0; e < run->epochs; e++) {
                report_drawing_row(drawing,
                                   (double[]){run->epoch[e].epoch, 100 * run->epoch[e].validation,
                                              run->epoch[e].task_loss},
                                   3, NULL);
            }
        }
    }
    draw_curves(panel, first, 2, report_say("validation %.30s x 100", metric).text);
    draw_curves(panel, first, 3, "task loss");
}

/* --- trade-off curves of the selected settings: the best test between two texts --- */

static bool has_trade_off(const struct plot *plot, const struct report_group *group) {
    (void)plot;
    for (size_t k = 0; k < group->runs; k++)
        if (group->selected && !isnan(group->run[k]->tpr[0][0])) return true;
    return false;
}

/* Draws the worst pair and a typical pair, with one line per seed, and the line of a test without information. */
static void draw_trade_off(const struct panel *panel) {
    static const char *const pair[REPORT_TRADE_OFFS] = {"worst pair", "typical pair"};
    struct report_drawing *drawing = panel->drawing;
    const char *task = panel->report->task[panel->task].label;
    const size_t first = drawing->next;
    for (REPORT_EACH_GROUP(panel->report, group)) {
        for (size_t k = 0; is_in(panel, group) && k < group->runs; k++) {
            report_drawing_block(drawing,
                                 "%s\n# false positives\ttrue positives, worst "
                                 "pair\ttypical pair",
                                 group->run[k]->name);
            for (size_t i = 0; i < NVDP_EXACT_FPRS; i++)
                report_drawing_row(drawing,
                                   (double[]){nvdp_exact_fpr(i), group->run[k]->tpr[0][i],
                                              group->run[k]->tpr[1][i]},
                                   3, NULL);
        }
    }
    for (size_t which = 0; which < REPORT_TRADE_OFFS; which++) {
        nvdp__autofree char *title = nvdp__format(drawing->ctx, "%s: %s", task, pair[which]);
        report_drawing_panel(drawing, panel->place + which, title != NULL ? title : "",
                             "false positives", "true positives, at most");
        fprintf(drawing->script,
                "set logscale x\nset format x '10^{%%L}'\nset xrange [%g:%g]\n"
                "set yrange [0:1.02]\nset offsets 0, 0, 0, 0\n",
                nvdp_exact_fpr(0), nvdp_exact_fpr(NVDP_EXACT_FPRS - 1));
        report_drawing_plot(drawing, SIZE_MAX, "x with lines lw 1 dt 3 lc rgb '#666666'");
        draw_runs(panel, first, which + 2, false);
    }
}

/* --- all --- */

#define HOW_TO_READ                                                                                \
    "Upper left is better. A line is a method, and a point is a setting (lambda or C), mean over " \
    "seeds. Bars are standard deviations. Open markers on the dotted line are infinite."
#define MEASURED "Delta and the number of samples stand below Table 1. "
#define SCATTER REPORT_LEGEND_ALL, false, 1, has_value, draw_scatter
static const struct plot plots[] = {
    {"fig2_bdp", "Figure 2. Score against Bayesian DP, published moment",
     "The Bayesian DP epsilon is that of the worst measured text at the published moment k = 1.1, "
     "where no value can be below ln(1/delta)/k, 10.47 at delta 1e-5. " MEASURED HOW_TO_READ,
     "BDP epsilon, k = 1.1", REPORT_BDP_PUBLISHED, SCATTER},
    {"fig2_bdp_best", "Figure 2, best moment. Score against Bayesian DP",
     "The Bayesian DP epsilon is that of the worst measured text at the best moment of each "
     "text. " MEASURED HOW_TO_READ,
     "BDP epsilon, best k", REPORT_BDP_BEST, SCATTER},
    {"fig3_rd_max", "Figure 3. Score against the largest Renyi divergence, as published",
     "The largest divergence of all pairs is divided by components times dimensions, as in the "
     "published tables. It is not a privacy guarantee. " HOW_TO_READ,
     "RD max / (components x dimensions)", REPORT_UNIT_MAX, SCATTER},
    {"fig3_rd_max_sum", "Figure 3, in sums. Score against the largest Renyi divergence",
     "The largest divergence of all pairs of measured texts is summed over all that one release of "
     "a text shares. Open markers left of the dotted line are proven bounds over all "
     "texts. " HOW_TO_READ,
     "RD max, sum [nats]", REPORT_SUM_MAX, SCATTER},
    {"rd_mean_sum", "Score against the mean Renyi divergence, in sums",
     "The divergence is summed over all that one release of a text shares, and averaged over all "
     "pairs. One infinite pair makes the mean infinite. " HOW_TO_READ,
     "RD mean, sum [nats]", REPORT_SUM_MEAN, SCATTER},
    {"epsilon_max", "Score against epsilon at a delta, of the worst pair",
     "The epsilon of (epsilon, delta)-indistinguishability of the worst pair is converted from its "
     "Renyi divergences, and is an upper bound of the exact value. " MEASURED
     "For privatized texts, whose "
     "lengths are public, only pairs of equal length count, and a point is an eta. " HOW_TO_READ,
     "epsilon, max [nats]", REPORT_EPSILON_MAX, SCATTER},
    {"epsilon_mean", "Score against epsilon at a delta, mean over pairs",
     "The epsilon of (epsilon, delta)-indistinguishability is converted from Renyi divergences and "
     "averaged over pairs. " MEASURED HOW_TO_READ,
     "epsilon, mean [nats]", REPORT_EPSILON_MEAN, SCATTER},
    {"exact_epsilon_max", "Score against the exact epsilon at a delta, of the worst pair",
     "The epsilon of (epsilon, delta)-indistinguishability of the worst pair is computed from the "
     "distribution of its privacy loss. No smaller epsilon holds for the pair. " MEASURED
         HOW_TO_READ,
     "exact epsilon, worst [nats]", REPORT_EXACT_MAX, SCATTER},
    {"exact_epsilon_mean", "Score against the exact epsilon at a delta, mean over pairs",
     "The exact epsilon is averaged over drawn pairs of texts. " MEASURED HOW_TO_READ,
     "exact epsilon, mean [nats]", REPORT_EXACT_MEAN, SCATTER},
    {"trade_off", "Trade-off curves, exact",
     "A test decides which of two texts is the source of its samples. " MEASURED
     "The curves show the largest "
     "rate of true positives at each rate of false positives that any test reaches. They belong to "
     "the worst pair of texts, and to the pair whose epsilon is nearest to the mean. Each line is "
     "a seed of a method at its chosen setting. The dotted line is a test that sees nothing.",
     NULL, REPORT_EXACT_MAX, REPORT_LEGEND_ALL, false, REPORT_TRADE_OFFS, has_trade_off,
     draw_trade_off},
    {"certified_epsilon", "Score against the certified epsilon",
     "The epsilon at delta 1e-5, the largest over seeds, is proven for one sample of any two "
     "texts, "
     "measured or not. " HOW_TO_READ,
     "certified epsilon [nats]", REPORT_CERTIFIED, SCATTER},
    {"vectors", "Effective number of vectors",
     "The effective number of vectors of a text is exp of the entropy of its expected weights, "
     "with prior and padding. It is drawn over the weight of the Dirichlet regularizer. Points are "
     "means over texts and seeds, and bars go from the 5 % to the 95 % quantile of texts.",
     NULL, REPORT_VECTORS, REPORT_LEGEND_WEIGHTED, false, 1, has_value, draw_vectors},
    {"alpha", "Pseudo-counts of the tokens",
     "Distribution of log10 alpha over the tokens of the measured texts. A line is a lambda, all "
     "seeds together.",
     NULL, REPORT_VECTORS, REPORT_LEGEND_NONE, true, 1, has_histogram, draw_histograms},
    {"training", "Training curves",
     "Validation score and mean training loss of the task per epoch. A line is a seed of a method "
     "at its chosen setting.",
     NULL, REPORT_VECTORS, REPORT_LEGEND_ALL, false, 2, has_curve, draw_training},
};

/* Draws the panels that have data, or only counts them if drawing is NULL.  Returns the number of panels. */
static size_t each_panel(struct panel panel, struct report_drawing *drawing, bool *finite) {
    const struct plot *plot = panel.plot;
    const size_t families = plot->by_family ? panel.report->families : 1;
    panel.drawing = drawing;
    for (size_t k = 0; k < panel.report->tasks * families; k++) {
        panel.task = k / families;
        if (plot->by_family) panel.family = k % families;
        if (!is_shown(&panel)) continue;
        if (drawing != NULL) plot->draw(&panel);
        *finite |= plot->draw != draw_scatter || has_finite(&panel);
        panel.place += plot->parts;
    }
    return panel.place;
}

static nvdp_status add_plot(struct nvdp_context *ctx, const struct report *report,
                            const struct plot *plot, struct report_figures *figures) {
    bool finite = false;
    struct report_drawing drawing;
    struct report_figure figure = {
        .name = plot->name, .title = plot->title, .caption = plot->caption};
    struct panel panel = {.report = report, .plot = plot, .family = SIZE_MAX};
    const size_t panels = each_panel(panel, NULL, &finite);
    const size_t across = plot->parts > 1 ? (panels > 4 ? 4 : 2) : panels == 4 ? 2 : 3;
    if (panels == 0) return NVDP_OK;
    figure.empty = !finite;
    nvdp__autofree struct report_spot *spot = nvdp__calloc(ctx, report->groups, sizeof *spot);
    NVDP_TRY(NVDP__MADE(spot));
    panel.spot = spot;
    report_drawing_begin(ctx, report, &figure, panels, across, plot->legend, &drawing);
    if (drawing.status == NVDP_OK) each_panel(panel, &drawing, &finite);
    return report_drawing_end(&drawing, figures);
}

nvdp_status report_figures_make(struct nvdp_context *ctx, const struct report *report,
                                struct report_figures *out) {
    for (size_t k = 0; k < sizeof plots / sizeof *plots; k++) {
        NVDP_TRY(add_plot(ctx, report, &plots[k], out));
    }
    return report_analysis_figures(ctx, report, out);
}
