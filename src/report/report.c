/* A report: turns a folder of runs into a folder of tables, figures and one page. Sections: creation, printing on a
 * terminal, writing the folder. */
#include "report/parts.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"

#include <stdlib.h>
#include <string.h>

/* --- creation --- */

struct report_config report_config_default(void) {
    return (struct report_config){
        .figures = true, .budgets = "1,3,10,30,100", .gnuplot = "gnuplot"};
}

/* Returns the path without trailing slashes. */
static char *trimmed(struct nvdp_context *ctx, const char *path) {
    char *copy = nvdp__strdup(ctx, path);
    for (size_t n = copy != NULL ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--) {
        copy[n - 1] = '\0';
    }
    return copy;
}

/* Parses budgets such as "1,3,10". */
static nvdp_status read_budgets(struct nvdp_context *ctx, const char *text, struct report *report) {
    enum { MOST = 16 };
    report->budget = nvdp__calloc(ctx, MOST, sizeof *report->budget);
    if (report->budget == NULL) return NVDP_ERR_MEMORY;
    const char *at = text;
    for (; *at != '\0'; at += *at == ',') {
        char *end = NULL;
        double nats = strtod(at, &end);
        bool good = end != at && (*end == '\0' || (*end == ',' && end[1] != '\0'));
        if (!good || !(nats >= 0) || report->budgets == MOST) break;
        report->budget[report->budgets++] = nats;
        at = end;
    }
    if (report->budgets > 0 && *at == '\0') return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "{budgets}: expected 1 to %d numbers in nats, each at least 0, found '%s'",
                      MOST, text);
}

nvdp_status report_create(struct nvdp_context *ctx, const struct report_config *config,
                          struct report **out) {
    nvdp__autoptr(report_free) struct report *report = nvdp__calloc(ctx, 1, sizeof *report);
    if (report == NULL) return NVDP_ERR_MEMORY;
    if (config->directory == NULL || config->directory[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "directory: expected the folder of the runs, found none");
    NVDP_TRY(read_budgets(ctx, config->budgets != NULL ? config->budgets : "", report));
    report->figures = config->figures;
    report->directory = trimmed(ctx, config->directory);
    /* gnuplot runs in another folder, so a relative path is made absolute. A plain name is searched in PATH. */
    const char *program = config->gnuplot != NULL ? config->gnuplot : "gnuplot";
    if (strchr(program, '/') != NULL) report->gnuplot = realpath(program, NULL);
    if (report->gnuplot == NULL) report->gnuplot = nvdp__strdup(ctx, program);
    if (report->directory == NULL || report->gnuplot == NULL) return NVDP_ERR_MEMORY;
    report->out = config->out != NULL ? trimmed(ctx, config->out)
                                      : nvdp__format(ctx, "%s/report", report->directory);
    if (report->out == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(report_analyses_read(ctx, config->analyses, report));
    NVDP_TRY(report_read(ctx, report));
    NVDP_TRY(report_group(ctx, report));
    return NVDP__HAND_OVER(out, report);
}

void report_free(struct report *report) {
    if (report == NULL) return;
    for (size_t i = 0; i < report->groups; i++) {
        free(report->group[i].run);
    }
    for (size_t i = 0; i < report->families; i++) {
        free(report->family[i].label);
    }
    for (size_t i = 0; i < report->tasks; i++) {
        free(report->task[i].label);
    }
    for (size_t i = 0; i < report->runs; i++) {
        report_run_release(&report->run[i]);
    }
    for (size_t i = 0; i < report->notes; i++) {
        free(report->note[i].name);
        free(report->note[i].text);
    }
    for (size_t i = 0; i < report->analyses; i++) {
        report_analysis_release(&report->analysis[i]);
    }
    free(report->analysis);
    free(report->budget);
    free(report->group);
    free(report->family);
    free(report->task);
    free(report->run);
    free(report->note);
    free(report->figure_notice);
    free(report->directory);
    free(report->out);
    free(report->gnuplot);
    free(report);
}

const char *report_directory(const struct report *report) {
    return report->out;
}

/* --- for a terminal --- */

/* Prints the tables, then every different note once, then the remarks. */
nvdp_status report_print(struct nvdp_context *ctx, const struct report *report, FILE *to) {
    nvdp__auto(report_tables_release) struct report_tables tables = {.table = {{0}}};
    const struct report_table *table = tables.table;
    NVDP_TRY(report_tables_make(ctx, report, &tables));
    for (int k = 0; k < REPORT_TABLES; k++) {
        if (table[k].rows == 0) continue;
        report_table_body(&table[k], to);
        fputc('\n', to);
    }
    for (int k = 0; k < REPORT_TABLES; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            if (!report_said_before(table, k, table[k].note[i].text))
                report_table_put_note(table[k].note[i].text, to);
        }
    }
    if (report->notes > 0) fputs("\nRuns with a remark\n\n", to);
    for (size_t i = 0; i < report->notes; i++) {
        fprintf(to, "%s: %s\n", report->note[i].name, report->note[i].text);
    }
    return NVDP_OK;
}

/* --- a folder --- */

/* Returns true if the table has no rows and no notes, because no such analyses were made. */
static bool is_empty(const struct report_table *table) {
    return table->rows == 0 && table->notes == 0;
}

/* Prints a document with every table, ready to compile. */
static void print_document(const void *of, FILE *to) {
    const struct report_table *table = of;
    fputs("\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n"
          "\\usepackage{graphicx}\n\\begin{document}\n",
          to);
    for (int k = 0; k < REPORT_TABLES; k++) {
        if (!is_empty(&table[k])) fprintf(to, "\\input{%s}\n\\clearpage\n", table[k].name);
    }
    fputs("\\end{document}\n", to);
}

static nvdp_status write_tables(struct nvdp_context *ctx, const char *folder,
                                const struct report_table *table) {
    static const struct {
        const char *suffix;
        void (*print)(const void *of, FILE *to);
    } formats[] = {{"txt", report_table_text},
                   {"csv", report_table_csv},
                   {"md", report_table_markdown},
                   {"tex", report_table_latex}};
    for (int k = 0; k < REPORT_TABLES; k++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats && !is_empty(&table[k]); f++)
            NVDP_TRY(report_write_printed(
                ctx, folder, report_say("%s.%s", table[k].name, formats[f].suffix).text,
                formats[f].print, &table[k]));
    return report_write_printed(ctx, folder, "all.tex", print_document, table);
}

static nvdp_status read_svg(struct nvdp_context *ctx, const char *folder, const char *name,
                            char **out) {
    enum { LIMIT = 1 << 26 };
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__read_file(ctx, nvdp__path_format("%s/%s.svg", folder, name).text, LIMIT, &bytes,
                             &count));
    return report_inline_svg(ctx, bytes, name, out);
}

/* Draws the figures. After the first failure, writes only the scripts of the remaining figures. */
static nvdp_status draw_figures(struct nvdp_context *ctx, struct report *report, const char *folder,
                                const struct report_figures *figures, char **svg) {
    free(report->figure_notice);
    report->figure_notice = NULL;
    for (size_t i = 0; i < figures->count; i++) {
        const struct report_figure *figure = &figures->item[i];
        bool draw = report->figures && report->figure_notice == NULL && !figure->empty;
        if (nvdp_context_cancelled(ctx)) return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "interrupted");
        NVDP_TRY(
            nvdp__draw(ctx, draw ? report->gnuplot : NULL, folder, figure, &report->figure_notice));
        if (draw && report->figure_notice == NULL)
            NVDP_TRY(read_svg(ctx, folder, figure->name, &svg[i]));
    }
    if (report->figure_notice != NULL)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "no figures were drawn: %s; their scripts and data are in %s; install gnuplot "
                  "and run nvdp report again",
                  report->figure_notice, folder);
    return NVDP_OK;
}

static nvdp_status write_page(struct nvdp_context *ctx, const struct report *report,
                              const struct report_table *table,
                              const struct report_figures *figures, char **svg) {
    nvdp__autoptr(json_decref) json_t *now = nvdp__now_json();
    const char *created = json_string_value(now);
    const struct report_page page = {.report = report,
                                     .table = table,
                                     .figures = figures,
                                     .svg = svg,
                                     .created = created != NULL ? created : ""};
    return report_write_printed(ctx, report->out, "index.html", report_page, &page);
}

static nvdp_status write_figures(struct nvdp_context *ctx, struct report *report,
                                 const char *folder, const struct report_table *table,
                                 const struct report_figures *figures) {
    nvdp__autofree char **svg = nvdp__calloc(ctx, figures->count + 1, sizeof *svg);
    NVDP_TRY(NVDP__MADE(svg));
    nvdp_status status = draw_figures(ctx, report, folder, figures, svg);
    if (status == NVDP_OK) status = write_page(ctx, report, table, figures, svg);
    for (size_t i = 0; i < figures->count; i++) {
        free(svg[i]);
    }
    return status;
}

nvdp_status report_write(struct nvdp_context *ctx, struct report *report) {
    static const char *const names[] = {"tables", "data", "figures"};
    struct nvdp__path folder[3];
    nvdp__autofree char *json = NULL;
    nvdp__auto(report_figures_release) struct report_figures figures = {0};
    nvdp__auto(report_tables_release) struct report_tables tables = {.table = {{0}}};
    for (int k = 0; k < 3; k++) {
        folder[k] = nvdp__path(report->out, names[k]);
        NVDP_TRY(nvdp__make_directory(ctx, folder[k].text));
        NVDP_TRY(nvdp__remove_leftovers(ctx, folder[k].text, NULL));
    }
    NVDP_TRY(nvdp__remove_leftovers(ctx, report->out, NULL));
    NVDP_TRY(report_tables_make(ctx, report, &tables));
    NVDP_TRY(write_tables(ctx, folder[0].text, tables.table));
    NVDP_TRY(report_write_printed(ctx, folder[1].text, "groups.csv", report_groups_csv, report));
    NVDP_TRY(report_write_printed(ctx, folder[1].text, "runs.csv", report_runs_csv, report));
    NVDP_TRY(report_figures_make(ctx, report, &figures));
    NVDP_TRY(write_figures(ctx, report, folder[2].text, tables.table, &figures));
    NVDP_TRY(report_json(ctx, report, &json));
    return nvdp__write_file(ctx, nvdp__path(report->out, "report.json").text, json, strlen(json));
}
