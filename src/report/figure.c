/* Figures: gnuplot scripts and data in one folder, so that anybody can redraw the figures, and the run of gnuplot as a
 * separate process. Sections: looks, layout, drawing, drawings in a page. */
#include "base/array.h"
#include "base/file.h"
#include "base/sentence.h"
#include "report/parts.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sizes in pixels. */
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
    const char *colour[SHADES];
    int marker[SHADES]; /* filled point types; the open type is one less */
} looks[] = {
    /* One look per method, in the order of methods; the last look is for everything else. */
    {{"#000000", "#333333", "#555555", "#222222"}, {7, 5, 9, 11}},
    {{"#777777", "#999999", "#666666", "#888888"}, {7, 5, 9, 11}},
    {{"#e69f00", "#ddaa33", "#aa8800", "#bbcc33"}, {11, 9, 13, 15}},
    {{"#009e73", "#117733", "#44bb99", "#999933"}, {9, 11, 13, 15}},
    {{"#d55e00", "#a6611a", "#882255", "#ee8866"}, {5, 15, 13, 7}},
    {{"#0072b2", "#56b4e9", "#cc79a7", "#332288"}, {7, 13, 15, 5}},
    {{"#882255", "#44aa99", "#ddcc77", "#aa4499"}, {13, 15, 9, 11}},
};
enum { LOOKS = sizeof looks / sizeof *looks };

static int look_index(const char *name) {
    enum nvdp_method method;
    return nvdp_method_find(NULL, name, &method) == NVDP_OK && (int)method < LOOKS - 1 ? (int)method
                                                                                       : LOOKS - 1;
}

bool report_same_look(const char *method, const char *other) {
    return look_index(method) == look_index(other);
}

struct report_look report_family_look(const struct report_family *family) {
    int at = look_index(family->method), shade = family->shade % SHADES;
    int marker = looks[at].marker[shade];
    return (struct report_look){.colour = looks[at].colour[shade],
                                .filled = marker,
                                .open = marker - 1,
                                .dash = family->reference ? 2 + at : 1 + family->shade};
}

/* --- layout --- */

static int panel_width(const struct report_drawing *drawing) {
    return drawing->panels == 1 ? SINGLE_WIDTH : PANEL_WIDTH;
}

static int panel_height(const struct report_drawing *drawing) {
    return drawing->panels == 1 ? SINGLE_HEIGHT : PANEL_HEIGHT;
}

static bool in_legend(const struct report_drawing *drawing, const struct report *report,
                      size_t family) {
    bool weighted = false;
    for (size_t i = 0; i < report->groups; i++) {
        const struct report_group *group = &report->group[i];
        weighted |= group->family == family && group->quantity[REPORT_VECTORS].n > 0;
    }
    return drawing->kind == REPORT_LEGEND_ALL ||
           (drawing->kind == REPORT_LEGEND_WEIGHTED && weighted);
}

static size_t legend_entry_count(const struct report_drawing *drawing,
                                 const struct report *report) {
    size_t count = 0;
    for (size_t f = 0; f < report->families; f++) {
        count += in_legend(drawing, report, f);
    }
    return count;
}

static size_t legend_cell(const struct report *report) {
    size_t widest = 0;
    for (size_t f = 0; f < report->families; f++) {
        size_t width = report_text_width(report->family[f].label);
        if (width > widest) widest = width;
    }
    return widest * LETTER + 56;
}

static size_t legend_across(const struct report_drawing *drawing, const struct report *report) {
    size_t across = (size_t)drawing->figure.width / legend_cell(report);
    size_t entries = legend_entry_count(drawing, report);
    if (across > entries) across = entries;
    return across > 0 ? across : 1;
}

/* Convert pixels from the left and from the bottom to shares of the figure. */
static double screen_x(const struct report_drawing *drawing, double pixels) {
    return pixels / drawing->figure.width;
}

static double screen_y(const struct report_drawing *drawing, double pixels) {
    return pixels / drawing->figure.height;
}

/* Writes arrows and labels into the first panel. Later panels unset them. */
static void put_legend(struct report_drawing *drawing, const struct report *report) {
    size_t across = legend_across(drawing, report);
    double cell = (double)legend_cell(report);
    double left = (drawing->figure.width - cell * (double)across) / 2 + 8;
    FILE *to = drawing->script;
    for (size_t f = 0, k = 0; f < report->families; f++) {
        if (!in_legend(drawing, report, f)) continue;
        const struct report_family *family = &report->family[f];
        struct report_look look = report_family_look(family);
        size_t lines = drawing->legend - k / across; /* counted from the bottom */
        double x = left + cell * (double)(k++ % across);
        double y = screen_y(drawing, ((double)lines - .5) * LEGEND_LINE + LEGEND_PAD / 2.);
        fprintf(to,
                "set arrow from screen %.4f,screen %.4f to screen %.4f,screen %.4f nohead lw 2 dt "
                "%d lc rgb '%s'\n",
                screen_x(drawing, x), y, screen_x(drawing, x + 28), y, look.dash, look.colour);
        report_put(to, nvdp__put_gnuplot, "set label ", family->label, "");
        fprintf(to, " noenhanced at screen %.4f,screen %.4f left\n", screen_x(drawing, x + 36), y);
        if (family->reference) continue;
        fprintf(to, "set label '' at screen %.4f,screen %.4f point pt %d ps 0.9 lc rgb '%s'\n",
                screen_x(drawing, x + 14), y, look.filled, look.colour);
    }
}

void report_drawing_begin(struct nvdp_context *ctx, const struct report *report,
                          const struct report_figure *figure, size_t panels, size_t across,
                          enum report_legend legend, struct report_drawing *out) {
    *out = (struct report_drawing){.ctx = ctx,
                                   .figure = *figure,
                                   .panels = panels,
                                   .kind = legend,
                                   .across = across < panels ? across : panels};
    const struct report_figure *drawn = &out->figure; /* the figure with its size */
    out->down = (panels + out->across - 1) / out->across;
    out->figure.width = panel_width(out) * (int)out->across;
    size_t cells = legend_across(out, report);
    out->legend = (legend_entry_count(out, report) + cells - 1) / cells;
    out->figure.height = panel_height(out) * (int)out->down + LEGEND_LINE * (int)out->legend +
                         (out->legend > 0 ? LEGEND_PAD : 0);
    out->script = open_memstream(&out->figure.script, &out->script_size);
    out->data = open_memstream(&out->figure.data, &out->data_size);
    out->status = NVDP__MADE(out->script, out->data);
    if (out->status != NVDP_OK) return;
    fprintf(
        out->script,
        "# %s\n# To draw this figure again: gnuplot -e \"format='png'\" %s.gp    (format: svg, png "
        "or pdf)\nreset\nif (!exists('format')) format = 'svg'\nif (!exists('target')) target = "
        "'%s.'.format\nif (format eq 'svg') set terminal svg enhanced size %d,%d dynamic font "
        "'sans-serif,12' dashlength 0.6 background '#ffffff' name '%s'\nif (format eq 'png') set "
        "terminal pngcairo enhanced size %d,%d font 'sans-serif,12' fontscale 1.6 linewidth 2 "
        "pointscale 2 dashlength 0.45 background '#ffffff'\nif (format eq 'pdf') set terminal "
        "pdfcairo enhanced size %.2fin,%.2fin font 'sans-serif,9' dashlength 0.6 background "
        "'#ffffff'\nset output target\nset encoding utf8\nset datafile separator tab\nset border 3 "
        "lc rgb '#444444'\nset tics nomirror out scale 0.6 textcolor rgb '#333333' font ',10'\nset "
        "grid lc rgb '#dddddd' lw 0.8 dt 1\nset style data linespoints\nunset key\nset multiplot\n",
        figure->title, figure->name, figure->name, drawn->width, drawn->height, figure->name,
        2 * drawn->width, 2 * drawn->height, drawn->width / 96., drawn->height / 96.);
    put_legend(out, report);
    fprintf(out->data, "# %s. Columns are separated by tabs, blocks by two blank lines.\n",
            figure->title);
}

void report_drawing_panel(struct report_drawing *drawing, size_t panel, const char *title,
                          const char *x, const char *y) {
    FILE *to = drawing->script;
    int width = panel_width(drawing), height = panel_height(drawing);
    drawing->plotted = drawing->series = 0;
    int left = (int)(panel % drawing->across) * width;
    int bottom = drawing->figure.height - (int)(panel / drawing->across + 1) * height;
    if (panel > 0) fputs("unset label\nunset arrow\n", to);
    fprintf(to, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n",
            screen_x(drawing, left + LEFT), screen_x(drawing, left + width - RIGHT));
    fprintf(to, "set bmargin at screen %.4f\nset tmargin at screen %.4f\n",
            screen_y(drawing, bottom + BOTTOM), screen_y(drawing, bottom + height - TOP));
    report_put(to, nvdp__put_gnuplot, "set title ", title, " noenhanced offset 0,-0.5\n");
    report_put(to, nvdp__put_gnuplot, "set xlabel ", x, " noenhanced offset 0,0.4\n");
    report_put(to, nvdp__put_gnuplot, "set ylabel ", y,
               " noenhanced offset 0.5,0\nunset logscale\nset autoscale\nset xtics auto\n"
               "set ytics auto\nset format '%g'\n");
}

void report_drawing_area(const struct report_drawing *drawing, double size[2]) {
    size[0] = panel_width(drawing) - LEFT - RIGHT;
    size[1] = panel_height(drawing) - TOP - BOTTOM;
}

size_t report_drawing_block(struct report_drawing *drawing, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(drawing->data, "%s# index %zu: ", drawing->next > 0 ? "\n\n" : "", drawing->next);
    vfprintf(drawing->data, format, args);
    fputc('\n', drawing->data);
    va_end(args);
    return drawing->next++;
}

void report_drawing_row(struct report_drawing *drawing, const double *values, size_t count,
                        const char *text) {
    for (size_t k = 0; k < count; k++) {
        if (k > 0) fputc('\t', drawing->data);
        report_put_real(drawing->data, values[k]);
    }
    fprintf(drawing->data, "%s%s\n", text != NULL ? "\t" : "", text != NULL ? text : "");
}

void report_drawing_plot(struct report_drawing *drawing, size_t block, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs(drawing->plotted++ > 0 ? ", \\\n     " : "plot ", drawing->script);
    if (block != SIZE_MAX)
        fprintf(drawing->script, "'%s.dat' index %zu ", drawing->figure.name, block);
    vfprintf(drawing->script, format, args);
    va_end(args);
}

/* Looks of lines in drawings that show no families. */
static const struct {
    const char *colour;
    int marker;
} styles[] = {{"#0072b2", 7},  {"#d55e00", 5}, {"#009e73", 9}, {"#e69f00", 11},
              {"#cc79a7", 13}, {"#56b4e9", 7}, {"#882255", 5}, {"#777777", 9}};
enum { STYLES = sizeof styles / sizeof *styles };

const char *report_series_colour(size_t series) {
    return styles[series % STYLES].colour;
}

void report_drawing_key(struct report_drawing *drawing, const char *where) {
    fprintf(drawing->script,
            "set key %s reverse Left samplen 1.5 spacing 1.1 font ',9' noenhanced\n", where);
}

void report_drawing_line(struct report_drawing *drawing, const char *columns, const char *bars,
                         const char *title) {
    const size_t series = drawing->series++, block = drawing->first + series;
    const char *colour = report_series_colour(series);
    if (bars != NULL)
        report_drawing_plot(drawing, block,
                            "using %s with yerrorbars lw 1 ps 0 lc rgb '%s' notitle", bars, colour);
    report_drawing_plot(drawing, block,
                        "using %s with linespoints lw 1.4 pt %d ps 0.7 lc rgb '%s' title ", columns,
                        styles[series % STYLES].marker, colour);
    nvdp__put_gnuplot(drawing->script, title);
}

void report_drawing_end_key(struct report_drawing *drawing) {
    fputs("\nunset key\n", drawing->script);
    drawing->first = drawing->next;
}

static void release_figure(struct report_figure *figure) {
    free(figure->script);
    free(figure->data);
}

nvdp_status report_drawing_end(struct report_drawing *drawing, struct report_figures *figures) {
    nvdp_status status = drawing->status;
    if (status == NVDP_OK) fputs("unset multiplot\nset output\n", drawing->script);
    if (drawing->script != NULL && fclose(drawing->script) != 0) status = NVDP_ERR_MEMORY;
    if (drawing->data != NULL && fclose(drawing->data) != 0) status = NVDP_ERR_MEMORY;
    if (status == NVDP_OK)
        status = NVDP__PUSH(drawing->ctx, figures->item, figures->count, figures->capacity,
                            drawing->figure);
    else
        nvdp__fail(drawing->ctx, status, "out of memory");
    if (status != NVDP_OK) release_figure(&drawing->figure);
    return status;
}

void report_figures_release(struct report_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        release_figure(&figures->item[i]);
    }
    free(figures->item);
    *figures = (struct report_figures){0};
}

/* --- drawing --- */

extern char **environ;

static const char *const formats[] = {"svg", "png", "pdf"};
enum { FORMATS = sizeof formats / sizeof *formats };
static const char log_name[] = "gnuplot.log";

/* Prints the script once per format, each with a temporary output file. */
static void print_commands(const void *of, FILE *to) {
    const struct report_figure *figure = of;
    for (int k = 0; k < FORMATS; k++) {
        fprintf(to, "format='%s'; target='%s.%s.partial'; load '%s.gp'; ", formats[k], figure->name,
                formats[k], figure->name);
    }
}

/* Runs the program in the folder, with output to a log file. Returns 0, an errno if the program did not start, or -1 if
 * it failed. */
static int run(const char *program, const char *folder, const char *script_text) {
    char *argv[] = {(char *)program, "-e", (char *)script_text,
                    NULL}; /* posix_spawn() does not change the arguments */
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int state = 0, err = posix_spawn_file_actions_init(&actions);
    if (err != 0) return err;
    err = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (err == 0) err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (err == 0)
        err = posix_spawn_file_actions_addopen(&actions, 1, log_name, O_WRONLY | O_CREAT | O_TRUNC,
                                               0666);
    if (err == 0) err = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (err == 0) err = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (err != 0) return err;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return errno;
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? 0 : -1;
}

/* Returns a sentence with the last non-blank line of the log; NULL if memory is short. */
static char *complaint(struct nvdp_context *ctx, const char *folder, const char *program,
                       const char *figure) {
    enum { LIMIT = 1 << 16 };
    nvdp__autofree char *bytes = NULL;
    const char *said = "no error message";
    size_t count = 0;
    if (nvdp__read_file(ctx, nvdp__path(folder, log_name).text, LIMIT, &bytes, &count) == NVDP_OK)
        for (char *line = strtok(bytes, "\n"); line != NULL; line = strtok(NULL, "\n"))
            if (line[strspn(line, " ^\t")] != '\0') said = line;
    return nvdp__format(ctx, "%s failed on figure %s: %s", program, figure, said);
}

/* Renames the finished drawings, or removes incomplete ones. */
static nvdp_status settle(struct nvdp_context *ctx, const char *folder, const char *name,
                          bool keep) {
    for (int k = 0; k < FORMATS; k++) {
        struct nvdp__path path = nvdp__path_format("%s/%s.%s", folder, name, formats[k]),
                          beside = nvdp__path_format("%s.partial", path.text);
        if (keep) NVDP_TRY(nvdp__publish(ctx, beside.text, path.text, true));
        if (keep) continue;
        (void)unlink(beside.text);
        (void)unlink(path.text);
    }
    return NVDP_OK;
}

static nvdp_status write_part(struct nvdp_context *ctx, const char *folder, const char *name,
                              const char *suffix, const char *text) {
    return nvdp__write_file(ctx, nvdp__path_format("%s/%s.%s", folder, name, suffix).text, text,
                            strlen(text));
}

static nvdp_status draw(struct nvdp_context *ctx, const char *program, const char *folder,
                        const struct report_figure *figure, char **notice) {
    nvdp__autofree char *script_text = NULL, *said = NULL;
    NVDP_TRY(nvdp__printed(ctx, print_commands, figure, &script_text));
    NVDP_TRY(settle(ctx, folder, figure->name, false));
    NVDP_TRY(write_part(ctx, folder, figure->name, "dat", figure->data));
    NVDP_TRY(write_part(ctx, folder, figure->name, "gp", figure->script));
    if (program == NULL) return NVDP_OK;
    const int err = run(program, folder, script_text);
    if (err > 0) said = nvdp__format(ctx, "cannot run %s: %s", program, strerror(err));
    if (err < 0) said = complaint(ctx, folder, program, figure->name);
    if (err != 0) NVDP_TRY(NVDP__MADE(said));
    NVDP_TRY(settle(ctx, folder, figure->name, err == 0));
    return NVDP__HAND_OVER(notice, said);
}

nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct report_figure *figure, char **notice) {
    const nvdp_status status = draw(ctx, program, folder, figure, notice);
    (void)unlink(nvdp__path(folder, log_name).text);
    return status;
}

/* --- drawings in a page --- */

struct inlined {
    const char *svg, *name;
};

static void print_inlined(const void *of, FILE *to) {
    static const char *const shared[] = {"gpDot", "gpPt"};
    const struct inlined *from = of;
    const char *at = strstr(from->svg, "<svg");
    for (at = at != NULL ? at : from->svg; *at != '\0'; fputc(*at++, to)) {
        for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
            if (strncmp(at, shared[k], strlen(shared[k])) == 0) fprintf(to, "%s-", from->name);
        }
    }
}

nvdp_status report_inline_svg(struct nvdp_context *ctx, const char *svg, const char *name,
                              char **out) {
    return nvdp__printed(ctx, print_inlined, &(struct inlined){svg, name}, out);
}

/* ---- labels ---- */

/* Places the labels of a panel's points. A label is beside its point, on the side where it covers the smallest area. */
/* Height of a label's line, half size of a marker, gap between point and label, in pixels; number of sides. */
enum { HEIGHT = 10, MARKER = 4, GAP = 6, SIDES = 4 };

struct box {
    double left, right, low, high;
};

/* Returns the box of a label on side 0 to 3: below right, above right, below left, above left. */
static struct box label_box(const struct report_spot *spot, int side) {
    double left = side < 2 ? spot->x + GAP : spot->x - GAP - spot->width;
    double low = side % 2 == 0 ? spot->y - HEIGHT - 1 : spot->y + 1;
    return (struct box){left, left + spot->width, low, low + HEIGHT};
}

static double area(const struct box *box) {
    return fmax(box->right - box->left, 0) * fmax(box->high - box->low, 0);
}

static double common(const struct box *a, const struct box *b) {
    return area(&(struct box){fmax(a->left, b->left), fmin(a->right, b->right),
                              fmax(a->low, b->low), fmin(a->high, b->high)});
}

/* Returns the area of a label, in square pixels, that overlaps points or earlier labels or is outside the panel. */
static double covered(const struct box *label, const struct report_spot *spot, size_t count,
                      size_t placed, const struct box *panel) {
    double sum = area(label) - common(label, panel);
    for (size_t i = 0; i < count; i++) {
        struct box marker = {spot[i].x - MARKER, spot[i].x + MARKER, spot[i].y - MARKER,
                             spot[i].y + MARKER};
        sum += common(label, &marker);
        if (i >= placed || !spot[i].labelled) continue;
        struct box other = label_box(&spot[i], spot[i].side);
        sum += common(label, &other);
    }
    return sum;
}

void report_place_labels(struct report_spot *spot, size_t count, const double size[2]) {
    struct box panel = {0, size[0], 0, size[1]};
    for (size_t i = 0; i < count; i++) {
        double smallest = INFINITY;
        for (int side = 0; side < SIDES; side++) {
            struct box box = label_box(&spot[i], side);
            double cost = covered(&box, spot, count, i, &panel);
            if (cost >= smallest) continue;
            smallest = cost;
            spot[i].side = side;
        }
        struct box box = label_box(&spot[i], spot[i].side);
        spot[i].labelled = smallest <= area(&box) / 4;
    }
}

void report_put_label(FILE *to, const struct report_spot *spot, const double size[2],
                      const char *text, const char *colour) {
    bool right = spot->side < 2;
    report_put(to, nvdp__put_gnuplot, "set label ", text, "");
    fprintf(to,
            " noenhanced at graph %.5f,graph %.5f %s offset %g,%g font ',8' textcolor rgb '%s'\n",
            spot->x / size[0], spot->y / size[1], right ? "left" : "right", right ? .7 : -.7,
            spot->side % 2 == 0 ? -.6 : .6, colour);
}
