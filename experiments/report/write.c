/* Everything a report writes. */
#include "experiments/report/write.h"
#include "base/file.h"
#include "experiments/report/numbers.h"
#include "experiments/report/tables.h"
#include "train/machine.h"

#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__report_file(struct nvdp_context *ctx, const char *directory, const char *name,
                              void (*put)(FILE *to, const void *from), const void *from) {
    nvdp_status status = NVDP_OK;
    char *text = NULL;
    size_t size = 0;
    char *path = nvdp__join(ctx, directory, name);
    FILE *to = open_memstream(&text, &size);
    bool good = to != NULL;
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (good) put(to, from);
    good = good && ferror(to) == 0;
    good = to != NULL && fclose(to) == 0 && good;
    to = NULL;
    if (!good) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path));
    NVDP_TRY(nvdp__write_file(ctx, path, text, size));
cleanup:
    if (to != NULL) fclose(to);
    free(text);
    free(path);
    return status;
}

/* --- tables --- */

static void put_text(FILE *to, const void *table) {
    nvdp__table_text(table, to);
}
static void put_csv(FILE *to, const void *table) {
    nvdp__table_csv(table, to);
}
static void put_markdown(FILE *to, const void *table) {
    nvdp__table_markdown(table, to);
}
static void put_latex(FILE *to, const void *table) {
    nvdp__table_latex(table, to);
}

static const struct {
    const char *suffix;
    void (*put)(FILE *to, const void *table);
} table_formats[] = {{"txt", put_text}, {"csv", put_csv}, {"md", put_markdown}, {"tex", put_latex}};

/* A document that shows every table, to be compiled as it is. */
static void put_document(FILE *to, const void *tables) {
    const struct nvdp__table *table = tables;
    fputs("\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n"
          "\\usepackage{graphicx}\n\\begin{document}\n",
          to);
    for (int k = 0; k < NVDP__TABLES; k++) {
        fprintf(to, "\\input{%s}\n\\clearpage\n", table[k].name);
    }
    fputs("\\end{document}\n", to);
}

static nvdp_status write_tables(struct nvdp_context *ctx, const char *folder,
                                const struct nvdp__table *table) {
    for (int k = 0; k < NVDP__TABLES; k++) {
        for (size_t f = 0; f < sizeof table_formats / sizeof *table_formats; f++) {
            char *name = nvdp__format(ctx, "%s.%s", table[k].name, table_formats[f].suffix);
            if (name == NULL) return NVDP_ERR_MEMORY;
            nvdp_status status =
                nvdp__report_file(ctx, folder, name, table_formats[f].put, &table[k]);
            free(name);
            NVDP_RETURN_IF_FAILED(status);
        }
    }
    return nvdp__report_file(ctx, folder, "all.tex", put_document, table);
}

static void put_groups(FILE *to, const void *report) {
    nvdp__groups_csv(report, to);
}
static void put_runs(FILE *to, const void *report) {
    nvdp__runs_csv(report, to);
}

static nvdp_status write_numbers(struct nvdp_context *ctx, const struct nvdp_report *report,
                                 const char *folder) {
    NVDP_RETURN_IF_FAILED(nvdp__report_file(ctx, folder, "groups.csv", put_groups, report));
    return nvdp__report_file(ctx, folder, "runs.csv", put_runs, report);
}

/* --- figures --- */

static nvdp_status read_svg(struct nvdp_context *ctx, const char *folder, const char *name,
                            char **out) {
    enum { LIMIT = 1 << 26 };
    nvdp_status status = NVDP_OK;
    char *bytes = NULL;
    size_t count = 0;
    char *path = nvdp__format(ctx, "%s/%s.svg", folder, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__read_file(ctx, path, LIMIT, &bytes, &count));
    *out = nvdp__inline_svg(ctx, bytes, name);
    if (*out == NULL) status = NVDP_ERR_MEMORY;
cleanup:
    free(bytes);
    free(path);
    return status;
}

/* After the first figure that was not drawn, the others' scripts are written only. */
static nvdp_status draw_figures(struct nvdp_context *ctx, struct nvdp_report *report,
                                const char *folder, const struct nvdp__figures *figures,
                                char **svg) {
    free(report->figure_notice);
    report->figure_notice = NULL;
    for (size_t i = 0; i < figures->count; i++) {
        const struct nvdp__figure *figure = &figures->item[i];
        bool draw = report->figures && report->figure_notice == NULL;
        if (nvdp__cancelled(ctx)) return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "interrupted");
        NVDP_RETURN_IF_FAILED(
            nvdp__draw(ctx, draw ? report->gnuplot : NULL, folder, figure, &report->figure_notice));
        if (draw && report->figure_notice == NULL)
            NVDP_RETURN_IF_FAILED(read_svg(ctx, folder, figure->name, &svg[i]));
    }
    if (report->figure_notice != NULL)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "no figures: %s; their scripts and data are in %s: install gnuplot and report "
                  "again",
                  report->figure_notice, folder);
    return NVDP_OK;
}

/* --- all of it --- */

struct folders {
    char *tables, *data, *figures;
};

static nvdp_status make_folder(struct nvdp_context *ctx, const char *out, const char *name,
                               char **path) {
    *path = nvdp__join(ctx, out, name);
    return *path != NULL ? nvdp__make_directory(ctx, *path) : NVDP_ERR_MEMORY;
}

static nvdp_status write_page(struct nvdp_context *ctx, const struct nvdp_report *report,
                              const struct nvdp__table *table, const struct nvdp__figures *figures,
                              char **svg) {
    json_t *now = nvdp__now_json();
    const char *created = json_string_value(now);
    struct nvdp__page page = {.report = report,
                              .table = table,
                              .figures = figures,
                              .svg = svg,
                              .created = created != NULL ? created : ""};
    nvdp_status status = nvdp__report_file(ctx, report->out, "index.html", nvdp__page, &page);
    json_decref(now);
    return status;
}

static nvdp_status write_json(struct nvdp_context *ctx, const struct nvdp_report *report) {
    nvdp_status status = NVDP_OK;
    char *text = NULL;
    char *path = nvdp__join(ctx, report->out, "report.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp_report_json(ctx, report, &text));
    NVDP_TRY(nvdp__write_file(ctx, path, text, strlen(text)));
cleanup:
    free(text);
    free(path);
    return status;
}

nvdp_status nvdp_report_write(struct nvdp_context *ctx, struct nvdp_report *report) {
    nvdp_status status = NVDP_OK;
    struct folders folder = {0};
    struct nvdp__figures figures = {0};
    struct nvdp__table table[NVDP__TABLES] = {0};
    char **svg = NULL;
    NVDP_TRY(make_folder(ctx, report->out, "tables", &folder.tables));
    NVDP_TRY(make_folder(ctx, report->out, "data", &folder.data));
    NVDP_TRY(make_folder(ctx, report->out, "figures", &folder.figures));
    for (int k = 0; k < NVDP__TABLES; k++) {
        table[k] = nvdp__table_maker_of[k](ctx, report);
        NVDP_TRY(table[k].status);
    }
    NVDP_TRY(write_tables(ctx, folder.tables, table));
    NVDP_TRY(write_numbers(ctx, report, folder.data));
    NVDP_TRY(nvdp__figures_make(ctx, report, &figures));
    svg = nvdp__calloc(ctx, figures.count + 1, sizeof *svg);
    if (svg == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(draw_figures(ctx, report, folder.figures, &figures, svg));
    NVDP_TRY(write_page(ctx, report, table, &figures, svg));
    NVDP_TRY(write_json(ctx, report));
cleanup:
    for (size_t i = 0; svg != NULL && i < figures.count; i++) {
        free(svg[i]);
    }
    free(svg);
    for (int k = 0; k < NVDP__TABLES; k++) {
        nvdp__table_release(&table[k]);
    }
    nvdp__figures_release(&figures);
    free(folder.tables);
    free(folder.data);
    free(folder.figures);
    return status;
}
