/* Which figures a report has.  Each is a list of panels, of a task or of a task and a family. */
#include "experiments/report/parts.h"

#include <math.h>
#include <stdlib.h>

/* A figure: which panels have something to show, and how each is drawn. */
struct plot {
    const char *name, *title, *caption, *axis;
    enum nvdp__quantity quantity;
    enum nvdp__legend legend;
    bool by_family;
    size_t parts; /* panels that one drawing makes */
    bool (*shown)(const struct nvdp_report *report, const struct plot *plot, size_t task,
                  size_t family);
    void (*draw)(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                 const struct plot *plot, size_t task, size_t family, size_t panel);
};

/* --- score against a measure of privacy: Figures 2 and 3 of the NVDP paper, and the same in sums --- */

/* The axis of one panel. */
struct axis {
    double low, high; /* of the finite, positive values */
    bool log, infinite;
    double edge; /* where infinite values stand */
    double from, to;
};

static bool has_value(const struct nvdp__group *group, enum nvdp__quantity quantity) {
    return group->quantity[quantity].n > 0;
}

/* Beyond what an axis can be computed for: as good as infinite, as good as none. */
static double drawable(double value) {
    if (value > 1e250) return INFINITY;
    return value < 1e-250 ? 0 : value;
}

static struct axis find_axis(const struct nvdp_report *report, size_t task,
                             enum nvdp__quantity quantity) {
    struct axis axis = {.low = INFINITY, .high = -INFINITY};
    for (NVDP__EACH_GROUP(report, group)) {
        double value = drawable(group->quantity[quantity].mean);
        if (group->task != task || !has_value(group, quantity)) continue;
        axis.infinite |= isinf(value) != 0;
        if (!isfinite(value) || !(value > 0)) continue;
        axis.low = fmin(axis.low, value);
        axis.high = fmax(axis.high, value);
    }
    if (axis.low > axis.high) axis.low = axis.high = 1;
    axis.log = quantity == NVDP__SUM_MEAN || quantity == NVDP__SUM_MAX || axis.high > 8 * axis.low;
    double span = axis.log ? fmax(log(axis.high / axis.low), log(3))
                           : fmax(axis.high - axis.low, .05 * axis.high);
    double pad = .08 * span, step = .22 * span;
    double last = axis.infinite ? step : 0;
    axis.edge = axis.log ? axis.high * exp(step) : axis.high + step;
    axis.from = axis.log ? axis.low * exp(-pad) : axis.low - pad;
    axis.to = axis.log ? axis.high * exp(last + pad) : axis.high + last + pad;
    return axis;
}

/* Where a value stands: infinite ones at the edge, those that a logarithm does not take at the
 * left.
 */
static double place(const struct axis *axis, double value) {
    if (isinf(value)) return axis->edge;
    return axis->log && !(value > 0) ? axis->from : value;
}

static const char columns[] = "lambda_g\tlambda_d\tseeds\tscore x 100\tits sd\tvalue\twhere it is "
                              "drawn\tfinite\tlambda";

static void put_group(struct nvdp__drawing *drawing, const struct nvdp__group *group,
                      const struct axis *axis, enum nvdp__quantity quantity) {
    char text[NVDP__NUMBER_ROOM];
    double value = drawable(group->quantity[quantity].mean);
    nvdp__drawing_number(drawing, group->lambda_g);
    nvdp__drawing_number(drawing, group->lambda_d);
    nvdp__drawing_number(drawing, (double)group->runs);
    nvdp__drawing_number(drawing, 100 * group->score[0].mean);
    nvdp__drawing_number(drawing, 100 * group->score[0].sd);
    nvdp__drawing_number(drawing, value);
    nvdp__drawing_number(drawing, place(axis, value));
    nvdp__drawing_number(drawing, isfinite(value) ? 1 : 0);
    fprintf(drawing->data, "%s\n", nvdp__say_lambdas(text, group->lambda_g, group->lambda_d));
}

/* One family's plot elements: bars, line and points, infinite points, lambdas. */
static void plot_family(struct nvdp__drawing *drawing, const struct nvdp__family *family,
                        size_t block, bool first) {
    struct nvdp__look look = nvdp__look_of(family);
    FILE *to = drawing->script;
    fprintf(to,
            "%s'%s.dat' index %zu using 7:($3>1?$4:NaN):5 with yerrorbars lw 1 ps 0 lc rgb '%s'",
            first ? "plot " : ", \\\n     ", drawing->figure.name, block, look.colour);
    fprintf(to,
            ", \\\n     '' index %zu using ($8==1?$7:NaN):4 with linespoints lw 1.6 dt %d pt %d ps "
            "0.8 lc rgb '%s'",
            block, look.dash, look.filled, look.colour);
    fprintf(to,
            ", \\\n     '' index %zu using ($8==0?$7:NaN):4 with points lw 1.6 pt %d ps 0.9 lc rgb "
            "'%s'",
            block, look.open, look.colour);
    fprintf(to,
            ", \\\n     '' index %zu using 7:4:9 with labels noenhanced left offset 0.7,-0.6 font "
            "',8' textcolor rgb '%s'",
            block, look.colour);
}

static size_t write_family(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                           size_t task, size_t family, const struct axis *axis,
                           enum nvdp__quantity quantity) {
    size_t block =
        nvdp__drawing_block(drawing, "index %zu: %s, %s\n# %s", drawing->next,
                            report->task[task].label, report->family[family].label, columns);
    for (NVDP__EACH_GROUP(report, group)) {
        if (group->task == task && group->family == family && has_value(group, quantity))
            put_group(drawing, group, axis, quantity);
    }
    return block;
}

static bool family_shown(const struct nvdp_report *report, size_t task, size_t family,
                         enum nvdp__quantity quantity) {
    bool found = false;
    for (NVDP__EACH_GROUP(report, group)) {
        found |= group->task == task && group->family == family && has_value(group, quantity);
    }
    return found;
}

/* 1, 2 or 5 times a power of ten, at least `value`. */
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

/* Places of the numbers on a logarithmic axis: powers of ten, also their 2 and 5 where it is short,
 * even steps where it is shorter than a power. */
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

/* The numbers end before "inf". */
static void put_axis(struct nvdp__drawing *drawing, const struct axis *axis) {
    FILE *to = drawing->script;
    double part = .35; /* of the way from the largest to "inf" */
    double before = axis->log ? axis->high * pow(axis->edge / axis->high, part)
                              : axis->high + part * (axis->edge - axis->high);
    double last = axis->infinite ? before : axis->to;
    fprintf(to, "set xrange [%.9g:%.9g]\n%s", axis->from, axis->to,
            axis->log ? "set logscale x\n" : "");
    fputs("set offsets graph 0, graph 0, graph 0.08, graph 0.05\nset xtics (", to);
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

static void draw_scatter(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                         const struct plot *scatter, size_t task, size_t family, size_t panel) {
    (void)family;
    const struct nvdp__report_run *run = report->task[task].first;
    struct axis axis = find_axis(report, task, scatter->quantity);
    char label[NVDP__NUMBER_ROOM];
    bool first = true;
    snprintf(label, sizeof label, "%.40s x 100", run->metric[0]);
    nvdp__drawing_panel(drawing, panel, report->task[task].label, scatter->axis, label);
    put_axis(drawing, &axis);
    for (size_t f = 0; f < report->families; f++) {
        struct nvdp__look look = nvdp__look_of(&report->family[f]);
        const struct nvdp__group *group = nvdp__selected(report, task, f);
        if (report->family[f].reference && group != NULL) {
            fprintf(drawing->script, "%s%.9g with lines lw 1.4 dt %d lc rgb '%s'",
                    first ? "plot " : ", \\\n     ", 100 * group->score[0].mean, look.dash,
                    look.colour);
            first = false;
        }
        if (!family_shown(report, task, f, scatter->quantity)) continue;
        size_t block = write_family(drawing, report, task, f, &axis, scatter->quantity);
        plot_family(drawing, &report->family[f], block, first);
        first = false;
    }
    fputc('\n', drawing->script);
}

static bool scatter_shown(const struct nvdp_report *report, const struct plot *plot, size_t task,
                          size_t family) {
    bool found = false;
    for (family = 0; family < report->families; family++) {
        found |= family_shown(report, task, family, plot->quantity);
    }
    return found;
}

/* --- what the regulariser does to the posteriors: effective vectors over lambda --- */

static bool has_vectors(const struct nvdp__group *group) {
    return group->quantity[NVDP__VECTORS].n > 0;
}

/* Whether any group of the task, and of the family where one is named, has what is drawn. */
static bool any_has(const struct nvdp_report *report, size_t task, size_t family,
                    bool (*has)(const struct nvdp__group *)) {
    bool found = false;
    for (NVDP__EACH_GROUP(report, group)) {
        found |=
            group->task == task && (family == SIZE_MAX || group->family == family) && has(group);
    }
    return found;
}

static bool vectors_shown(const struct nvdp_report *report, const struct plot *plot, size_t task,
                          size_t family) {
    (void)plot, (void)family;
    return any_has(report, task, SIZE_MAX, has_vectors);
}

/* A logarithm takes no lambda of 0: it stands a decade left of the smallest. */
static double lambda_place(const struct nvdp_report *report, const struct nvdp__group *group) {
    double least = INFINITY;
    if (group->lambda_d > 0) return group->lambda_d;
    for (NVDP__EACH_GROUP(report, other)) {
        if (other->task == group->task && other->lambda_d > 0) least = fmin(least, other->lambda_d);
    }
    return isinf(least) ? 1 : least / 10;
}

/* The axis ends half a decade beyond its points. */
static void put_lambda_axis(FILE *to, const struct nvdp_report *report, size_t task) {
    double low = INFINITY, high = 0;
    for (NVDP__EACH_GROUP(report, group)) {
        if (group->task != task || !has_vectors(group)) continue;
        low = fmin(low, lambda_place(report, group));
        high = fmax(high, lambda_place(report, group));
    }
    fprintf(to, "set logscale x\nset format x '10^{%%L}'\nset xrange [%.9g:%.9g]\n", low / sqrt(10),
            high * sqrt(10));
}

static size_t write_vectors(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                            size_t task, size_t family) {
    size_t block = nvdp__drawing_block(
        drawing,
        "index %zu: %s, %s\n# lambda_g\tlambda_d\twhere it is drawn\teffective vectors, mean over "
        "texts and seeds\t5 %% quantile of texts\t95 %%",
        drawing->next, report->task[task].label, report->family[family].label);
    for (NVDP__EACH_GROUP(report, group)) {
        if (group->task != task || group->family != family || !has_vectors(group)) continue;
        nvdp__drawing_number(drawing, group->lambda_g);
        nvdp__drawing_number(drawing, group->lambda_d);
        nvdp__drawing_number(drawing, lambda_place(report, group));
        nvdp__drawing_number(drawing, group->quantity[NVDP__VECTORS].mean);
        nvdp__drawing_number(drawing, group->quantity[NVDP__VECTORS_LOW].mean);
        nvdp__put_real(drawing->data, group->quantity[NVDP__VECTORS_HIGH].mean);
        fputc('\n', drawing->data);
    }
    return block;
}

static void draw_vectors(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                         const struct plot *plot, size_t task, size_t family, size_t panel) {
    (void)plot, (void)family;
    FILE *to = drawing->script;
    bool first = true;
    nvdp__drawing_panel(drawing, panel, report->task[task].label, "lambda_D",
                        "effective vectors of a text");
    put_lambda_axis(to, report, task);
    fputs("set yrange [0:*]\nset offsets 0, 0, graph 0.08, 0\n", to);
    for (size_t f = 0; f < report->families; f++) {
        if (!any_has(report, task, f, has_vectors)) continue;
        struct nvdp__look look = nvdp__look_of(&report->family[f]);
        size_t block = write_vectors(drawing, report, task, f);
        fprintf(to,
                "%s'%s.dat' index %zu using 3:4:5:6 with yerrorbars lw 1.2 pt %d ps 0.8 lc rgb "
                "'%s', \\\n     '' index %zu using 3:4 with lines lw 1.6 dt %d lc rgb '%s'",
                first ? "plot " : ", \\\n     ", drawing->figure.name, block, look.filled,
                look.colour, block, look.dash, look.colour);
        first = false;
    }
    fputc('\n', to);
}

/* --- pseudo-counts --- */

/* Tokens of a group, and one bin's, over its seeds. */
static double tokens_in(const struct nvdp__group *group, int bin) {
    double sum = 0;
    for (size_t i = 0; i < group->runs; i++) {
        for (int b = 0; b < NVDP_ALPHA_BINS; b++) {
            if (bin < 0 || b == bin) sum += group->run[i]->alpha_count[b];
        }
    }
    return sum;
}

static bool has_histogram(const struct nvdp__group *group) {
    return tokens_in(group, -1) > 0;
}

/* From little regularised to much: dark to light, of equal steps in lightness. */
static const char *const shade[] = {"#440154", "#414487", "#2a788e",
                                    "#22a884", "#7ad151", "#d2b100"};
enum { SHADES = sizeof shade / sizeof *shade };

static void write_histogram(struct nvdp__drawing *drawing, const struct nvdp__group *group,
                            double *low, double *high) {
    const struct nvdp__report_run *run = group->run[0];
    double all = tokens_in(group, -1);
    for (int b = 0; b < NVDP_ALPHA_BINS; b++) {
        double tokens = tokens_in(group, b);
        double from = run->alpha_first + b * run->alpha_width;
        nvdp__drawing_number(drawing, from + run->alpha_width / 2);
        nvdp__drawing_number(drawing, tokens);
        nvdp__put_real(drawing->data, 100 * tokens / all);
        fputc('\n', drawing->data);
        if (tokens == 0) continue;
        *low = fmin(*low, from);
        *high = fmax(*high, from + run->alpha_width);
    }
}

static void draw_histograms(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                            const struct plot *plot, size_t task, size_t family, size_t panel) {
    (void)plot;
    char text[NVDP__NUMBER_ROOM];
    FILE *to = drawing->script;
    double low = INFINITY, high = -INFINITY;
    size_t first = drawing->next, count = 0;
    for (NVDP__EACH_GROUP(report, group)) {
        if (group->task != task || group->family != family || !has_histogram(group)) continue;
        nvdp__drawing_block(drawing,
                            "index %zu: %s, %s, lambda %s\n# log10 alpha, middle of the bin\t"
                            "tokens\tshare of the tokens in %%",
                            drawing->next, report->task[task].label, report->family[family].label,
                            nvdp__say_lambdas(text, group->lambda_g, group->lambda_d));
        write_histogram(drawing, group, &low, &high);
        count++;
    }
    char *title = nvdp__format(drawing->ctx, "%s: %s", report->task[task].label,
                               report->family[family].label);
    nvdp__drawing_panel(drawing, panel, title != NULL ? title : "", "log10 alpha of the tokens",
                        "tokens [%]");
    free(title);
    fprintf(to, "set xrange [%.9g:%.9g]\nset yrange [0:*]\nset offsets 0, 0, graph 0.06, 0\n",
            low - .25, high + .25);
    fputs("set key at graph 1.0,0.99 right top reverse Left samplen 1.5 spacing 1.1 font ',9' "
          "noenhanced title 'lambda'\n",
          to);
    size_t k = 0;
    for (NVDP__EACH_GROUP(report, group)) {
        if (group->task != task || group->family != family || !has_histogram(group)) continue;
        size_t at = count > 1 ? k * (SHADES - 1) / (count - 1) : 0;
        fprintf(to, "%s'%s.dat' index %zu using 1:3 with histeps lw 1.8 lc rgb '%s' title '%s'",
                k == 0 ? "plot " : ", \\\n     ", drawing->figure.name, first + k, shade[at],
                nvdp__say_lambdas(text, group->lambda_g, group->lambda_d));
        k++;
    }
    fputs("\nunset key\n", to);
}

static bool histograms_shown(const struct nvdp_report *report, const struct plot *plot, size_t task,
                             size_t family) {
    (void)plot;
    return any_has(report, task, family, has_histogram);
}

/* --- training curves of the selected lambdas: a line per run --- */

static bool training_shown(const struct nvdp_report *report, const struct plot *plot, size_t task,
                           size_t family) {
    (void)plot, (void)family;
    bool found = false;
    for (NVDP__EACH_GROUP(report, group)) {
        for (size_t k = 0; k < group->runs; k++) {
            found |= group->task == task && group->selected && group->run[k]->epochs > 0;
        }
    }
    return found;
}

static void write_run(struct nvdp__drawing *drawing, const struct nvdp__report_run *run) {
    nvdp__drawing_block(drawing, "index %zu: %s\n# epoch\tvalidation x 100\ttask loss, mean",
                        drawing->next, run->name);
    for (size_t e = 0; e < run->epochs; e++) {
        nvdp__drawing_number(drawing, run->epoch[e].epoch);
        nvdp__drawing_number(drawing, 100 * run->epoch[e].validation);
        nvdp__put_real(drawing->data, run->epoch[e].task_loss);
        fputc('\n', drawing->data);
    }
}

/* Blocks `first` and on are the task's runs, in the order of the groups. */
static void draw_curves(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                        size_t task, size_t first, int column) {
    bool begun = false;
    for (NVDP__EACH_GROUP(report, group)) {
        struct nvdp__look look = nvdp__look_of(&report->family[group->family]);
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs == 0) continue;
            fprintf(drawing->script,
                    "%s'%s.dat' index %zu using 1:%d with linespoints lw 1.3 dt %d pt %d ps 0.4 lc "
                    "rgb '%s'",
                    begun ? ", \\\n     " : "plot ", drawing->figure.name, first++, column,
                    look.dash, look.filled, look.colour);
            begun = true;
        }
    }
    fputc('\n', drawing->script);
}

/* Whole epochs, unless there are many. */
static void put_epoch_axis(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                           size_t task) {
    enum { FEW = 12 };
    size_t most = 0;
    for (NVDP__EACH_GROUP(report, group)) {
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs > most) most = group->run[k]->epochs;
        }
    }
    fprintf(drawing->script, "set xrange [0.8:%zu.2]\n", most);
    if (most <= FEW) fputs("set xtics 1\n", drawing->script);
    fputs("set offsets 0, 0, graph 0.05, graph 0.05\n", drawing->script);
}

static void draw_training(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                          const struct plot *plot, size_t task, size_t family, size_t panel) {
    (void)plot, (void)family;
    char label[NVDP__NUMBER_ROOM];
    size_t first = drawing->next;
    for (NVDP__EACH_GROUP(report, group)) {
        for (size_t k = 0; group->task == task && group->selected && k < group->runs; k++) {
            if (group->run[k]->epochs > 0) write_run(drawing, group->run[k]);
        }
    }
    snprintf(label, sizeof label, "validation %.30s x 100", report->task[task].first->metric[0]);
    nvdp__drawing_panel(drawing, panel, report->task[task].label, "epoch", label);
    put_epoch_axis(drawing, report, task);
    draw_curves(drawing, report, task, first, 2);
    nvdp__drawing_panel(drawing, panel + 1, report->task[task].label, "epoch", "task loss");
    put_epoch_axis(drawing, report, task);
    draw_curves(drawing, report, task, first, 3);
}

/* --- all --- */

#define SCATTER NVDP__LEGEND_ALL, false, 1, scatter_shown, draw_scatter
static const struct plot plots[] = {
    {"fig2_bdp", "Figure 2. Score against Bayesian DP, published moment",
     "Score against the Bayesian DP epsilon of the worst measured text at the published moment k = "
     "1.1, where no value can be below ln(1/delta)/k = 10.47. Upper left is better. Each point is "
     "a lambda, mean over seeds; bars are standard deviations; open markers on the dotted line are "
     "infinite.",
     "BDP epsilon, k = 1.1", NVDP__BDP_PUBLISHED, SCATTER},
    {"fig2_bdp_best", "Figure 2, best moment. Score against Bayesian DP",
     "The same at the best moment of each text.", "BDP epsilon, best k", NVDP__BDP_BEST, SCATTER},
    {"fig3_rd_max", "Figure 3. Score against the largest Renyi divergence, as published",
     "Score against the largest divergence of all pairs, divided by components times dimensions as "
     "in the published tables: not a privacy guarantee.",
     "RD max / (components x dimensions)", NVDP__UNIT_MAX, SCATTER},
    {"fig3_rd_max_sum", "Figure 3, in sums. Score against the largest Renyi divergence",
     "The same as it is: summed over all that one release of a text shares.", "RD max, sum [nats]",
     NVDP__SUM_MAX, SCATTER},
    {"rd_mean_sum", "Score against the mean Renyi divergence, in sums",
     "Score against the mean over all pairs of the summed divergence: the honest frontier. Open "
     "markers on the dotted line: some pair is infinite, and so is the mean.",
     "RD mean, sum [nats]", NVDP__SUM_MEAN, SCATTER},
    {"vectors", "Effective number of vectors",
     "Effective number of vectors of a text, exp of the entropy of its expected weights (prior "
     "and padding included), over the weight of the Dirichlet regulariser: mean over texts and "
     "seeds, bars from the 5 % to the 95 % quantile of texts.",
     NULL, NVDP__VECTORS, NVDP__LEGEND_WEIGHTED, false, 1, vectors_shown, draw_vectors},
    {"alpha", "Pseudo-counts of the tokens",
     "Distribution of log10 alpha over the tokens of the measured texts, a line a lambda, all "
     "seeds together.",
     NULL, NVDP__VECTORS, NVDP__LEGEND_NONE, true, 1, histograms_shown, draw_histograms},
    {"training", "Training curves",
     "Validation score and mean training loss of the task by epoch, a line a seed, each method "
     "at its selected lambda.",
     NULL, NVDP__VECTORS, NVDP__LEGEND_ALL, false, 2, training_shown, draw_training},
};

static nvdp_status add_plot(struct nvdp_context *ctx, const struct nvdp_report *report,
                            const struct plot *plot, struct nvdp__figures *figures) {
    size_t families = plot->by_family ? report->families : 1;
    size_t panels = 0, panel = 0;
    for (size_t k = 0; k < report->tasks * families; k++) {
        if (plot->shown(report, plot, k / families, k % families)) panels += plot->parts;
    }
    if (panels == 0) return NVDP_OK;
    size_t across = plot->parts > 1 ? (panels > 4 ? 4 : 2) : panels == 4 ? 2 : 3;
    struct nvdp__drawing drawing;
    nvdp_status status = nvdp__drawing_begin(ctx, report, plot->name, plot->title, plot->caption,
                                             panels, across, plot->legend, &drawing);
    for (size_t k = 0; status == NVDP_OK && k < report->tasks * families; k++) {
        if (!plot->shown(report, plot, k / families, k % families)) continue;
        plot->draw(&drawing, report, plot, k / families, k % families, panel);
        panel += plot->parts;
    }
    nvdp_status ended = nvdp__drawing_end(&drawing, figures);
    return status != NVDP_OK ? status : ended;
}

nvdp_status nvdp__figures_make(struct nvdp_context *ctx, const struct nvdp_report *report,
                               struct nvdp__figures *out) {
    for (size_t k = 0; k < sizeof plots / sizeof *plots; k++) {
        NVDP_RETURN_IF_FAILED(add_plot(ctx, report, &plots[k], out));
    }
    return NVDP_OK;
}
