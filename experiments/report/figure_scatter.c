/* Score against a measure of privacy: Figures 2 and 3 of the NVDP paper, and the same in sums. */
#include "experiments/report/figure.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdlib.h>

struct scatter {
    const char *name, *title, *caption, *axis;
    enum nvdp__quantity quantity;
};

static const struct scatter scatters[] = {
    {"fig2_bdp", "Figure 2. Score against Bayesian DP, published moment",
     "Score against the Bayesian DP epsilon of the worst measured text at the published moment k = "
     "1.1, where no value can be below ln(1/delta)/k = 10.47. Upper left is better. Each point is "
     "a "
     "lambda, mean over seeds; bars are standard deviations; open markers on the dotted line are "
     "infinite.",
     "BDP epsilon, k = 1.1", NVDP__BDP_PUBLISHED},
    {"fig2_bdp_best", "Figure 2, best moment. Score against Bayesian DP",
     "The same at the best moment of each text.", "BDP epsilon, best k", NVDP__BDP_BEST},
    {"fig3_rd_max", "Figure 3. Score against the largest Renyi divergence, as published",
     "Score against the largest divergence of all pairs, divided by components times dimensions as "
     "in the published tables: not a privacy guarantee.",
     "RD max / (components x dimensions)", NVDP__UNIT_MAX},
    {"fig3_rd_max_sum", "Figure 3, in sums. Score against the largest Renyi divergence",
     "The same as it is: summed over all that one release of a text shares.", "RD max, sum [nats]",
     NVDP__SUM_MAX},
    {"rd_mean_sum", "Score against the mean Renyi divergence, in sums",
     "Score against the mean over all pairs of the summed divergence: the honest frontier. Open "
     "markers on the dotted line: some pair is infinite, and so is the mean.",
     "RD mean, sum [nats]", NVDP__SUM_MEAN},
};

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
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
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
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (group->task == task && group->family == family && has_value(group, quantity))
            put_group(drawing, group, axis, quantity);
    }
    return block;
}

static bool family_shown(const struct nvdp_report *report, size_t task, size_t family,
                         enum nvdp__quantity quantity) {
    bool found = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
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
    double near = axis->log ? axis->high * pow(axis->edge / axis->high, part)
                            : axis->high + part * (axis->edge - axis->high);
    double last = axis->infinite ? near : axis->to;
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

static void draw_panel(struct nvdp__drawing *drawing, const struct nvdp_report *report, size_t task,
                       size_t panel, const struct scatter *scatter) {
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

static bool task_shown(const struct nvdp_report *report, size_t task,
                       enum nvdp__quantity quantity) {
    bool found = false;
    for (size_t f = 0; f < report->families; f++) {
        found |= family_shown(report, task, f, quantity);
    }
    return found;
}

static nvdp_status add_scatter(struct nvdp_context *ctx, const struct nvdp_report *report,
                               const struct scatter *scatter, struct nvdp__figures *figures) {
    size_t panels = 0, panel = 0;
    for (size_t task = 0; task < report->tasks; task++) {
        panels += task_shown(report, task, scatter->quantity);
    }
    if (panels == 0) return NVDP_OK;
    struct nvdp__drawing drawing;
    nvdp_status status =
        nvdp__drawing_begin(ctx, report, scatter->name, scatter->title, scatter->caption, panels,
                            panels == 4 ? 2 : 3, NVDP__LEGEND_ALL, &drawing);
    for (size_t task = 0; status == NVDP_OK && task < report->tasks; task++) {
        if (task_shown(report, task, scatter->quantity))
            draw_panel(&drawing, report, task, panel++, scatter);
    }
    nvdp_status ended = nvdp__drawing_end(&drawing, figures);
    return status != NVDP_OK ? status : ended;
}

nvdp_status nvdp__figures_scatter(struct nvdp_context *ctx, const struct nvdp_report *report,
                                  struct nvdp__figures *figures) {
    for (size_t k = 0; k < sizeof scatters / sizeof *scatters; k++) {
        NVDP_RETURN_IF_FAILED(add_scatter(ctx, report, &scatters[k], figures));
    }
    return NVDP_OK;
}
