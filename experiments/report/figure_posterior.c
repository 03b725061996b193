/* What the regulariser does to the posteriors: effective vectors and pseudo-counts over lambda. */
#include "experiments/report/figure.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdlib.h>

static bool has_vectors(const struct nvdp__group *group) {
    return group->quantity[NVDP__VECTORS].n > 0;
}

static bool shown(const struct nvdp_report *report, size_t task, size_t family,
                  bool (*has)(const struct nvdp__group *)) {
    bool found = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        found |=
            group->task == task && (family == SIZE_MAX || group->family == family) && has(group);
    }
    return found;
}

/* --- effective vectors --- */

/* A logarithm takes no lambda of 0: it stands a decade left of the smallest. */
static double place(const struct nvdp_report *report, const struct nvdp__group *group) {
    double least = INFINITY;
    if (group->lambda_d > 0) return group->lambda_d;
    for (size_t i = 0; i < report->groups; i++) {
        if (report->group[i].task == group->task && report->group[i].lambda_d > 0)
            least = fmin(least, report->group[i].lambda_d);
    }
    return isinf(least) ? 1 : least / 10;
}

/* The axis ends half a decade beyond its points. */
static void put_lambda_axis(FILE *to, const struct nvdp_report *report, size_t task) {
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (group->task != task || !has_vectors(group)) continue;
        low = fmin(low, place(report, group));
        high = fmax(high, place(report, group));
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
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (group->task != task || group->family != family || !has_vectors(group)) continue;
        nvdp__drawing_number(drawing, group->lambda_g);
        nvdp__drawing_number(drawing, group->lambda_d);
        nvdp__drawing_number(drawing, place(report, group));
        nvdp__drawing_number(drawing, group->quantity[NVDP__VECTORS].mean);
        nvdp__drawing_number(drawing, group->quantity[NVDP__VECTORS_LOW].mean);
        nvdp__put_real(drawing->data, group->quantity[NVDP__VECTORS_HIGH].mean);
        fputc('\n', drawing->data);
    }
    return block;
}

static void draw_vectors(struct nvdp__drawing *drawing, const struct nvdp_report *report,
                         size_t task, size_t panel) {
    FILE *to = drawing->script;
    bool first = true;
    nvdp__drawing_panel(drawing, panel, report->task[task].label, "lambda_D",
                        "effective vectors of a text");
    put_lambda_axis(to, report, task);
    fputs("set yrange [0:*]\nset offsets 0, 0, graph 0.08, 0\n", to);
    for (size_t f = 0; f < report->families; f++) {
        if (!shown(report, task, f, has_vectors)) continue;
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

static nvdp_status add_vectors(struct nvdp_context *ctx, const struct nvdp_report *report,
                               struct nvdp__figures *figures) {
    size_t panels = 0, panel = 0;
    for (size_t task = 0; task < report->tasks; task++) {
        panels += shown(report, task, SIZE_MAX, has_vectors);
    }
    if (panels == 0) return NVDP_OK;
    struct nvdp__drawing drawing;
    nvdp_status status = nvdp__drawing_begin(
        ctx, report, "vectors", "Effective number of vectors",
        "Effective number of vectors of a text, exp of the entropy of its expected weights (prior "
        "and padding included), over the weight of the Dirichlet regulariser: mean over texts and "
        "seeds, bars from the 5 % to the 95 % quantile of texts.",
        panels, panels == 4 ? 2 : 3, NVDP__LEGEND_WEIGHTED, &drawing);
    for (size_t task = 0; status == NVDP_OK && task < report->tasks; task++) {
        if (shown(report, task, SIZE_MAX, has_vectors))
            draw_vectors(&drawing, report, task, panel++);
    }
    nvdp_status ended = nvdp__drawing_end(&drawing, figures);
    return status != NVDP_OK ? status : ended;
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

/* From few regularised to much: dark to light, of equal steps in lightness. */
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
                            size_t task, size_t family, size_t panel) {
    char text[NVDP__NUMBER_ROOM];
    FILE *to = drawing->script;
    double low = INFINITY, high = -INFINITY;
    size_t first = drawing->next, count = 0;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
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
    for (size_t k = 0, i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        if (group->task != task || group->family != family || !has_histogram(group)) continue;
        size_t at = count > 1 ? k * (SHADES - 1) / (count - 1) : 0;
        fprintf(to, "%s'%s.dat' index %zu using 1:3 with histeps lw 1.8 lc rgb '%s' title '%s'",
                k == 0 ? "plot " : ", \\\n     ", drawing->figure.name, first + k, shade[at],
                nvdp__say_lambdas(text, group->lambda_g, group->lambda_d));
        k++;
    }
    fputs("\nunset key\n", to);
}

static nvdp_status add_histograms(struct nvdp_context *ctx, const struct nvdp_report *report,
                                  struct nvdp__figures *figures) {
    size_t panels = 0, panel = 0;
    for (size_t k = 0; k < report->tasks * report->families; k++) {
        panels += shown(report, k / report->families, k % report->families, has_histogram);
    }
    if (panels == 0) return NVDP_OK;
    struct nvdp__drawing drawing;
    nvdp_status status = nvdp__drawing_begin(
        ctx, report, "alpha", "Pseudo-counts of the tokens",
        "Distribution of log10 alpha over the tokens of the measured texts, a line a lambda, all "
        "seeds together.",
        panels, panels == 4 ? 2 : 3, NVDP__LEGEND_NONE, &drawing);
    for (size_t k = 0; status == NVDP_OK && k < report->tasks * report->families; k++) {
        size_t task = k / report->families, family = k % report->families;
        if (shown(report, task, family, has_histogram))
            draw_histograms(&drawing, report, task, family, panel++);
    }
    nvdp_status ended = nvdp__drawing_end(&drawing, figures);
    return status != NVDP_OK ? status : ended;
}

nvdp_status nvdp__figures_posterior(struct nvdp_context *ctx, const struct nvdp_report *report,
                                    struct nvdp__figures *figures) {
    NVDP_RETURN_IF_FAILED(add_vectors(ctx, report, figures));
    return add_histograms(ctx, report, figures);
}
