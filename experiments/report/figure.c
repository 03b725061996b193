#include "experiments/report/figure.h"
#include "experiments/report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
enum {
    PANEL_WIDTH = 410,
    PANEL_HEIGHT = 320,
    SINGLE_WIDTH = 620,
    SINGLE_HEIGHT = 420,
    LEFT = 76,
    RIGHT = 22,
    TOP = 30,
    BOTTOM = 52,
    LEGEND_LINE = 22,
    LEGEND_PAD = 12,
    LETTER = 7
};

/* --- looks --- */

enum { SHADES = 4 };
static const struct {
    const char *method;
    const char *colour[SHADES];
    int marker[SHADES]; /* filled; the open one is one less */
} looks[] = {
    {"nvdp", {"#0072b2", "#56b4e9", "#cc79a7", "#332288"}, {7, 13, 15, 5}},
    {"vtdp", {"#d55e00", "#a6611a", "#882255", "#ee8866"}, {5, 15, 13, 7}},
    {"vib-learned", {"#009e73", "#117733", "#44bb99", "#999933"}, {9, 11, 13, 15}},
    {"vib-fixed", {"#e69f00", "#ddaa33", "#aa8800", "#bbcc33"}, {11, 9, 13, 15}},
    {"base", {"#000000", "#333333", "#555555", "#222222"}, {7, 5, 9, 11}},
    {"reg", {"#777777", "#999999", "#666666", "#888888"}, {7, 5, 9, 11}},
    {"", {"#882255", "#44aa99", "#ddcc77", "#aa4499"}, {13, 15, 9, 11}}, /* any other */
};
enum { LOOKS = sizeof looks / sizeof *looks };

struct nvdp__look nvdp__look_of(const struct nvdp__family *family) {
    int at = 0;
    while (at < LOOKS - 1 && strcmp(looks[at].method, family->method) != 0) {
        at++;
    }
    int shade = family->same % SHADES;
    int marker = looks[at].marker[shade];
    bool reg = strcmp(family->method, "reg") == 0;
    return (struct nvdp__look){.colour = looks[at].colour[shade],
                               .filled = marker,
                               .open = marker - 1,
                               .dash = reg                 ? 3
                                       : family->reference ? 2
                                                           : 1 + family->same};
}

/* --- layout --- */

static int panel_width(const struct nvdp__drawing *drawing) {
    return drawing->panels == 1 ? SINGLE_WIDTH : PANEL_WIDTH;
}

static int panel_height(const struct nvdp__drawing *drawing) {
    return drawing->panels == 1 ? SINGLE_HEIGHT : PANEL_HEIGHT;
}

static bool in_legend(const struct nvdp__drawing *drawing, const struct nvdp_report *report,
                      size_t family) {
    bool weighted = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct nvdp__group *group = &report->group[i];
        weighted |= group->family == family && group->quantity[NVDP__VECTORS].n > 0;
    }
    return drawing->kind == NVDP__LEGEND_ALL ||
           (drawing->kind == NVDP__LEGEND_WEIGHTED && weighted);
}

static size_t legend_entries(const struct nvdp__drawing *drawing,
                             const struct nvdp_report *report) {
    size_t count = 0;
    for (size_t f = 0; f < report->families; f++) {
        count += in_legend(drawing, report, f);
    }
    return count;
}

static size_t legend_cell(const struct nvdp_report *report) {
    size_t widest = 0;
    for (size_t f = 0; f < report->families; f++) {
        size_t width = nvdp__text_width(report->family[f].label);
        if (width > widest) widest = width;
    }
    return widest * LETTER + 56;
}

static size_t legend_across(const struct nvdp__drawing *drawing, const struct nvdp_report *report) {
    size_t across = (size_t)drawing->figure.width / legend_cell(report);
    size_t entries = legend_entries(drawing, report);
    if (across > entries) across = entries;
    return across > 0 ? across : 1;
}

/* Pixels from the left and from the bottom as shares of the figure. */
static double screen_x(const struct nvdp__drawing *drawing, double pixels) {
    return pixels / drawing->figure.width;
}

static double screen_y(const struct nvdp__drawing *drawing, double pixels) {
    return pixels / drawing->figure.height;
}

static void put_legend_entry(struct nvdp__drawing *drawing, const struct nvdp__family *family,
                             double x, double y) {
    struct nvdp__look look = nvdp__look_of(family);
    FILE *to = drawing->script;
    fprintf(to,
            "set arrow from screen %.4f,screen %.4f to screen %.4f,screen %.4f nohead lw 2 dt %d "
            "lc rgb '%s'\n",
            screen_x(drawing, x), screen_y(drawing, y), screen_x(drawing, x + 28),
            screen_y(drawing, y), look.dash, look.colour);
    fputs("set label ", to);
    nvdp__put_gnuplot(to, family->label);
    fprintf(to, " noenhanced at screen %.4f,screen %.4f left\n", screen_x(drawing, x + 36),
            screen_y(drawing, y));
    if (family->reference) return;
    fprintf(to, "set label '' at screen %.4f,screen %.4f point pt %d ps 0.9 lc rgb '%s'\n",
            screen_x(drawing, x + 14), screen_y(drawing, y), look.filled, look.colour);
}

/* Arrows and labels of the first panel; its successors unset them. */
static void put_legend(struct nvdp__drawing *drawing, const struct nvdp_report *report) {
    size_t across = legend_across(drawing, report);
    double cell = (double)legend_cell(report);
    double left = (drawing->figure.width - cell * (double)across) / 2 + 8;
    for (size_t f = 0, k = 0; f < report->families; f++) {
        if (!in_legend(drawing, report, f)) continue;
        size_t lines = drawing->legend - k / across; /* from the bottom */
        double y = ((double)lines - .5) * LEGEND_LINE + LEGEND_PAD / 2.;
        put_legend_entry(drawing, &report->family[f], left + cell * (double)(k++ % across), y);
    }
}

static void put_prelude(struct nvdp__drawing *drawing) {
    const struct nvdp__figure *figure = &drawing->figure;
    fprintf(drawing->script,
            "# %s\n"
            "# Draw it again: gnuplot -e \"format='png'\" %s.gp    (format: svg, png or pdf)\n"
            "reset\n"
            "if (!exists('format')) format = 'svg'\n"
            "if (!exists('target')) target = '%s.'.format\n"
            "if (format eq 'svg') set terminal svg enhanced size %d,%d dynamic font "
            "'sans-serif,12' dashlength 0.6 background '#ffffff' name '%s'\n"
            "if (format eq 'png') set terminal pngcairo enhanced size %d,%d font 'sans-serif,12' "
            "fontscale 1.6 linewidth 2 pointscale 2 dashlength 0.45 background '#ffffff'\n"
            "if (format eq 'pdf') set terminal pdfcairo enhanced size %.2fin,%.2fin font "
            "'sans-serif,9' dashlength 0.6 background '#ffffff'\n"
            "set output target\n"
            "set encoding utf8\n"
            "set datafile separator tab\n"
            "set border 3 lc rgb '#444444'\n"
            "set tics nomirror out scale 0.6 textcolor rgb '#333333' font ',10'\n"
            "set grid lc rgb '#dddddd' lw 0.8 dt 1\n"
            "set style data linespoints\n"
            "unset key\n"
            "set multiplot\n",
            figure->title, figure->name, figure->name, figure->width, figure->height, figure->name,
            2 * figure->width, 2 * figure->height, figure->width / 96., figure->height / 96.);
}

nvdp_status nvdp__drawing_begin(struct nvdp_context *ctx, const struct nvdp_report *report,
                                const char *name, const char *title, const char *caption,
                                size_t panels, size_t across, enum nvdp__legend legend,
                                struct nvdp__drawing *out) {
    *out = (struct nvdp__drawing){.ctx = ctx,
                                  .figure = {.name = name, .title = title, .caption = caption},
                                  .panels = panels,
                                  .kind = legend,
                                  .across = across < panels ? across : panels};
    out->down = (panels + out->across - 1) / out->across;
    out->figure.width = panel_width(out) * (int)out->across;
    size_t cells = legend_across(out, report);
    out->legend = (legend_entries(out, report) + cells - 1) / cells;
    out->figure.height = panel_height(out) * (int)out->down + LEGEND_LINE * (int)out->legend +
                         (out->legend > 0 ? LEGEND_PAD : 0);
    out->script = open_memstream(&out->figure.script, &out->script_size);
    out->data = open_memstream(&out->figure.data, &out->data_size);
    if (out->script == NULL || out->data == NULL)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    put_prelude(out);
    put_legend(out, report);
    fprintf(out->data, "# %s. Columns are separated by tabs, blocks by two blank lines.\n", title);
    return NVDP_OK;
}

void nvdp__drawing_panel(struct nvdp__drawing *drawing, size_t panel, const char *title,
                         const char *x, const char *y) {
    FILE *to = drawing->script;
    int width = panel_width(drawing), height = panel_height(drawing);
    int left = (int)(panel % drawing->across) * width;
    int bottom = drawing->figure.height - (int)(panel / drawing->across + 1) * height;
    if (panel > 0) fputs("unset label\nunset arrow\n", to);
    fprintf(to, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n",
            screen_x(drawing, left + LEFT), screen_x(drawing, left + width - RIGHT));
    fprintf(to, "set bmargin at screen %.4f\nset tmargin at screen %.4f\n",
            screen_y(drawing, bottom + BOTTOM), screen_y(drawing, bottom + height - TOP));
    fputs("set title ", to);
    nvdp__put_gnuplot(to, title);
    fputs(" noenhanced offset 0,-0.5\nset xlabel ", to);
    nvdp__put_gnuplot(to, x);
    fputs(" noenhanced offset 0,0.4\nset ylabel ", to);
    nvdp__put_gnuplot(to, y);
    fputs(
        " noenhanced offset 0.5,0\nunset logscale\nset autoscale\nset xtics auto\nset ytics auto\n"
        "set format '%g'\n",
        to);
}

size_t nvdp__drawing_block(struct nvdp__drawing *drawing, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs(drawing->next > 0 ? "\n\n# " : "# ", drawing->data);
    vfprintf(drawing->data, format, args);
    fputc('\n', drawing->data);
    va_end(args);
    return drawing->next++;
}

void nvdp__drawing_number(struct nvdp__drawing *drawing, double value) {
    nvdp__put_real(drawing->data, value);
    fputc('\t', drawing->data);
}

nvdp_status nvdp__drawing_end(struct nvdp__drawing *drawing, struct nvdp__figures *figures) {
    bool good = drawing->script != NULL && drawing->data != NULL;
    nvdp_status status = NVDP_OK;
    if (good) fputs("unset multiplot\nset output\n", drawing->script);
    if (drawing->script != NULL) good = fclose(drawing->script) == 0 && good;
    if (drawing->data != NULL) good = fclose(drawing->data) == 0 && good;
    if (!good) status = nvdp__fail(drawing->ctx, NVDP_ERR_MEMORY, "out of memory");
    if (status == NVDP_OK)
        status = nvdp__reserve(drawing->ctx, &figures->item, &figures->room, figures->count + 1,
                               sizeof *figures->item);
    if (status == NVDP_OK) {
        figures->item[figures->count++] = drawing->figure;
    } else {
        free(drawing->figure.script);
        free(drawing->figure.data);
    }
    return status;
}

nvdp_status nvdp__figures_make(struct nvdp_context *ctx, const struct nvdp_report *report,
                               struct nvdp__figures *out) {
    NVDP_RETURN_IF_FAILED(nvdp__figures_scatter(ctx, report, out));
    NVDP_RETURN_IF_FAILED(nvdp__figures_posterior(ctx, report, out));
    return nvdp__figures_training(ctx, report, out);
}

void nvdp__figures_release(struct nvdp__figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        free(figures->item[i].script);
        free(figures->item[i].data);
    }
    free(figures->item);
    *figures = (struct nvdp__figures){0};
}
