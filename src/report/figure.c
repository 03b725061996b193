/* Figures: gnuplot scripts and their data in one folder, so that anyone can redraw them, and the run of gnuplot as a
 * separate process. Sections: looks, layout, drawing, drawings in a page. */
#include "report/parts.h"

#include "base/file.h"

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
    int marker[SHADES]; /* filled point types; the open one is one less */
} looks[] = {
    /* one per method, in the methods' order; the last for everything else */
    {{"#000000", "#333333", "#555555", "#222222"}, {7, 5, 9, 11}},
    {{"#777777", "#999999", "#666666", "#888888"}, {7, 5, 9, 11}},
    {{"#e69f00", "#ddaa33", "#aa8800", "#bbcc33"}, {11, 9, 13, 15}},
    {{"#009e73", "#117733", "#44bb99", "#999933"}, {9, 11, 13, 15}},
    {{"#d55e00", "#a6611a", "#882255", "#ee8866"}, {5, 15, 13, 7}},
    {{"#0072b2", "#56b4e9", "#cc79a7", "#332288"}, {7, 13, 15, 5}},
    {{"#882255", "#44aa99", "#ddcc77", "#aa4499"}, {13, 15, 9, 11}},
};
enum { LOOKS = sizeof looks / sizeof *looks };

static int row_of(const char *name) {
    enum nvdp_method method;
    const bool known = nvdp_method_find(NULL, name, &method) == NVDP_OK;
    return known && (int)method < LOOKS - 1 ? (int)method : LOOKS - 1;
}

bool report_same_look(const char *method, const char *other) {
    return row_of(method) == row_of(other);
}

struct report_look report_look_of(const struct report_family *family) {
    int at = row_of(family->method);
    int shade = family->shade % SHADES;
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

static size_t legend_entries(const struct report_drawing *drawing, const struct report *report) {
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
    size_t entries = legend_entries(drawing, report);
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

static void put_legend_entry(struct report_drawing *drawing, const struct report_family *family,
                             double x, double y) {
    struct report_look look = report_look_of(family);
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

/* Writes arrows and labels into the first panel. Later panels unset them. */
static void put_legend(struct report_drawing *drawing, const struct report *report) {
    size_t across = legend_across(drawing, report);
    double cell = (double)legend_cell(report);
    double left = (drawing->figure.width - cell * (double)across) / 2 + 8;
    for (size_t f = 0, k = 0; f < report->families; f++) {
        if (!in_legend(drawing, report, f)) continue;
        size_t lines = drawing->legend - k / across; /* counted from the bottom */
        double y = ((double)lines - .5) * LEGEND_LINE + LEGEND_PAD / 2.;
        put_legend_entry(drawing, &report->family[f], left + cell * (double)(k++ % across), y);
    }
}

static void put_prelude(struct report_drawing *drawing) {
    const struct report_figure *figure = &drawing->figure;
    fprintf(
        drawing->script,
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
        figure->title, figure->name, figure->name, figure->width, figure->height, figure->name,
        2 * figure->width, 2 * figure->height, figure->width / 96., figure->height / 96.);
}

nvdp_status report_drawing_begin(struct nvdp_context *ctx, const struct report *report,
                                 const char *name, const char *title, const char *caption,
                                 size_t panels, size_t across, enum report_legend legend,
                                 struct report_drawing *out) {
    *out = (struct report_drawing){.ctx = ctx,
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

void report_drawing_panel(struct report_drawing *drawing, size_t panel, const char *title,
                          const char *x, const char *y) {
    FILE *to = drawing->script;
    int width = panel_width(drawing), height = panel_height(drawing);
    drawing->plotted = 0;
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

void report_drawing_area(const struct report_drawing *drawing, double size[2]) {
    size[0] = panel_width(drawing) - LEFT - RIGHT;
    size[1] = panel_height(drawing) - TOP - BOTTOM;
}

size_t report_drawing_block(struct report_drawing *drawing, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs(drawing->next > 0 ? "\n\n# " : "# ", drawing->data);
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

void report_drawing_plot(struct report_drawing *drawing, size_t block) {
    fputs(drawing->plotted++ > 0 ? ", \\\n     " : "plot ", drawing->script);
    if (block != SIZE_MAX)
        fprintf(drawing->script, "'%s.dat' index %zu ", drawing->figure.name, block);
}

/* Looks of series in drawings that show no families. */
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

void report_drawing_series(struct report_drawing *drawing, size_t series, const char *title) {
    fprintf(drawing->script, " lw 1.4 pt %d ps 0.7 lc rgb '%s' title ",
            styles[series % STYLES].marker, report_series_colour(series));
    nvdp__put_gnuplot(drawing->script, title);
}

nvdp_status report_drawing_end(struct report_drawing *drawing, struct report_figures *figures) {
    bool good = drawing->script != NULL && drawing->data != NULL;
    nvdp_status status = NVDP_OK;
    if (good) fputs("unset multiplot\nset output\n", drawing->script);
    if (drawing->script != NULL) good = fclose(drawing->script) == 0 && good;
    if (drawing->data != NULL) good = fclose(drawing->data) == 0 && good;
    if (!good) status = nvdp__fail(drawing->ctx, NVDP_ERR_MEMORY, "out of memory");
    if (status == NVDP_OK)
        status = nvdp__reserve(drawing->ctx, &figures->item, &figures->capacity, figures->count + 1,
                               sizeof *figures->item);
    if (status == NVDP_OK) {
        figures->item[figures->count++] = drawing->figure;
    } else {
        free(drawing->figure.script);
        free(drawing->figure.data);
    }
    return status;
}

void report_figures_release(struct report_figures *figures) {
    for (size_t i = 0; i < figures->count; i++) {
        free(figures->item[i].script);
        free(figures->item[i].data);
    }
    free(figures->item);
    *figures = (struct report_figures){0};
}

/* --- drawing --- */

extern char **environ;

static const char *const formats[] = {"svg", "png", "pdf"};
enum { FORMATS = sizeof formats / sizeof *formats };
static const char log_name[] = "gnuplot.log";

/* Returns the script once per format, each with a temporary output file. */
static char *commands(struct nvdp_context *ctx, const struct report_figure *figure) {
    struct report_sheet sheet;
    FILE *to = report_sheet_open(&sheet);
    for (int k = 0; to != NULL && k < FORMATS; k++) {
        fprintf(to, "format='%s'; target='%s.%s.partial'; load '%s.gp'; ", formats[k], figure->name,
                formats[k], figure->name);
    }
    return report_sheet_text(ctx, &sheet);
}

/* Runs the program in the folder with its output in a log file. Returns 0, an errno if it did not start, or -1 if it
 * failed. */
static int run(const char *program, const char *folder, char *script_text) {
    char *name = strdup(program), *option = strdup("-e");
    char *argv[] = {name, option, script_text, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int state = 0;
    int err = name == NULL || option == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);
    if (err != 0) goto cleanup;
    err = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (err == 0) err = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (err == 0)
        err = posix_spawn_file_actions_addopen(&actions, 1, log_name, O_WRONLY | O_CREAT | O_TRUNC,
                                               0666);
    if (err == 0) err = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (err == 0) err = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (err != 0) goto cleanup;
    while (waitpid(child, &state, 0) < 0) {
        if (errno == EINTR) continue;
        err = errno;
        goto cleanup;
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) err = -1;
cleanup:
    free(name);
    free(option);
    return err;
}

/* Returns the last non-blank line of the log. */
static char *complaint(struct nvdp_context *ctx, const char *folder, const char *program,
                       const char *figure) {
    enum { LIMIT = 1 << 16 };
    char *path = nvdp__join(ctx, folder, log_name);
    char *bytes = NULL, *said = NULL;
    size_t count = 0;
    if (path != NULL && nvdp__read_file(ctx, path, LIMIT, &bytes, &count) == NVDP_OK) {
        for (char *line = strtok(bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            if (line[strspn(line, " ^\t")] != '\0') said = line;
        }
    }
    char *text = nvdp__format(ctx, "%s failed on figure %s: %s", program, figure,
                              said != NULL ? said : "no error message");
    free(bytes);
    free(path);
    return text;
}

/* Renames the finished drawings, or removes incomplete ones. */
static nvdp_status settle(struct nvdp_context *ctx, const char *folder, const char *name,
                          bool keep) {
    nvdp_status status = NVDP_OK;
    for (int k = 0; k < FORMATS && status == NVDP_OK; k++) {
        char *path = nvdp__format(ctx, "%s/%s.%s", folder, name, formats[k]);
        char *beside = nvdp__format(ctx, "%s/%s.%s.partial", folder, name, formats[k]);
        if (path == NULL || beside == NULL) {
            status = NVDP_ERR_MEMORY;
        } else if (keep) {
            status = nvdp__publish(ctx, beside, path, true);
        } else {
            (void)unlink(beside);
            (void)unlink(path);
        }
        free(beside);
        free(path);
    }
    return status;
}

static nvdp_status write_part(struct nvdp_context *ctx, const char *folder, const char *name,
                              const char *suffix, const char *text) {
    char *path = nvdp__format(ctx, "%s/%s.%s", folder, name, suffix);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__write_file(ctx, path, text, strlen(text));
    free(path);
    return status;
}

static void remove_log(struct nvdp_context *ctx, const char *folder) {
    char *path = nvdp__join(ctx, folder, log_name);
    if (path != NULL) (void)unlink(path);
    free(path);
}

nvdp_status nvdp__draw(struct nvdp_context *ctx, const char *program, const char *folder,
                       const struct report_figure *figure, char **notice) {
    nvdp_status status = NVDP_OK;
    char *said = NULL;
    char *script_text = commands(ctx, figure);
    if (script_text == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY_OR_CLEAN(settle(ctx, folder, figure->name, false));
    NVDP_TRY_OR_CLEAN(write_part(ctx, folder, figure->name, "dat", figure->data));
    NVDP_TRY_OR_CLEAN(write_part(ctx, folder, figure->name, "gp", figure->script));
    int err = program != NULL ? run(program, folder, script_text) : 0;
    if (program == NULL) goto cleanup;
    if (err > 0) said = nvdp__format(ctx, "cannot run %s: %s", program, strerror(err));
    if (err < 0) said = complaint(ctx, folder, program, figure->name);
    if (err != 0 && said == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
    NVDP_TRY_OR_CLEAN(settle(ctx, folder, figure->name, err == 0));
    *notice = said;
    said = NULL;
cleanup:
    remove_log(ctx, folder);
    free(said);
    free(script_text);
    return status;
}

/* --- drawings in a page --- */

char *report_inline_svg(struct nvdp_context *ctx, const char *svg, const char *name) {
    static const char *const shared[] = {"gpDot", "gpPt"};
    const char *at = strstr(svg, "<svg");
    struct report_sheet sheet;
    FILE *to = report_sheet_open(&sheet);
    for (at = at != NULL ? at : svg; to != NULL && *at != '\0';) {
        for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
            if (strncmp(at, shared[k], strlen(shared[k])) == 0) fprintf(to, "%s-", name);
        }
        fputc(*at++, to);
    }
    return report_sheet_text(ctx, &sheet);
}
