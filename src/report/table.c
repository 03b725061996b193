/* Builds tables, then writes their formats: text, CSV, Markdown, LaTeX, HTML. */
#include "report/parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- building --- */

struct report_table report_table_begin(struct nvdp_context *ctx, const char *name,
                                       const char *title) {
    return (struct report_table){.ctx = ctx, .name = name, .title = title};
}

/* Makes room for one more element. Returns false after a failure. */
static bool grow(struct report_table *table, void *array, size_t *capacity, size_t count,
                 size_t size) {
    if (table->status == NVDP_OK)
        table->status = nvdp__reserve(table->ctx, array, capacity, count + 1, size);
    return table->status == NVDP_OK;
}

void report_table_column(struct report_table *table, bool number, const char *name,
                         const char *unit) {
    if (!grow(table, &table->column, &table->column_capacity, table->columns,
              sizeof *table->column))
        return;
    char *text = nvdp__format(table->ctx, "%s%s%s", name, *unit != '\0' ? " " : "", unit);
    if (text == NULL) {
        table->status = NVDP_ERR_MEMORY;
        return;
    }
    table->column[table->columns++] =
        (struct report_column){.name = text, .head = strlen(name), .number = number};
}

void report_table_row(struct report_table *table) {
    if (!grow(table, &table->row, &table->row_capacity, table->rows, sizeof *table->row)) return;
    struct report_cell *cell = nvdp__calloc(table->ctx, table->columns + 1, sizeof *cell);
    if (cell == NULL) {
        table->status = NVDP_ERR_MEMORY;
        return;
    }
    table->row[table->rows++] = (struct report_row){.cell = cell};
    table->filled = 0;
}

/* Returns a formatted text; NULL after a failure. */
static char *formatted(struct report_table *table, const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) >= 0) return text;
    table->status = nvdp__fail(table->ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}

static void add_cell(struct report_table *table, double value, const char *format, va_list args) {
    if (table->status != NVDP_OK || table->filled == table->columns) return;
    table->row[table->rows - 1].cell[table->filled++] =
        (struct report_cell){.text = formatted(table, format, args), .value = value};
}

void report_table_cell(struct report_table *table, double value, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_cell(table, value, format, args);
    va_end(args);
}

void report_table_interval(struct report_table *table, const json_t *interval, double unit) {
    const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
    if (json_is_number(low))
        report_table_cell(table, NAN, "%.2f to %.2f", unit * json_number_value(low),
                          unit * json_number_value(high));
    else
        report_table_cell(table, NAN, "-");
}

void report_table_heading(struct report_table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report_table_row(table);
    add_cell(table, NAN, format, args);
    va_end(args);
    if (table->status == NVDP_OK) table->row[table->rows - 1].heading = true;
}

void report_table_note(struct report_table *table, const char *format, ...) {
    if (!grow(table, &table->note, &table->note_capacity, table->notes, sizeof *table->note))
        return;
    va_list args;
    va_start(args, format);
    char *text = formatted(table, format, args);
    va_end(args);
    if (text != NULL) table->note[table->notes++] = text;
}

void report_table_release(struct report_table *table) {
    for (size_t i = 0; i < table->rows; i++) {
        for (size_t k = 0; k < table->columns; k++) {
            free(table->row[i].cell[k].text);
        }
        free(table->row[i].cell);
    }
    for (size_t k = 0; k < table->columns; k++) {
        free(table->column[k].name);
    }
    for (size_t k = 0; k < table->notes; k++) {
        free(table->note[k]);
    }
    free(table->row);
    free(table->column);
    free(table->note);
    *table = (struct report_table){0};
}

static const char *cell_text(const struct report_row *row, size_t column) {
    const char *text = row->cell[column].text;
    return text != NULL ? text : "";
}

/* --- text --- */

static size_t shown_width(const struct report_row *row, size_t column) {
    return report_text_width(cell_text(row, column)) + (row->cell[column].strong ? 1 : 0);
}

static size_t column_width(const struct report_table *table, size_t column) {
    const struct report_column *of = &table->column[column];
    size_t unit = report_text_width(of->name + of->head);
    size_t width = report_text_width(of->name) - unit;
    if (unit > width + 1) width = unit - 1; /* the unit begins with a blank */
    if (of->number) width++;
    for (size_t i = 0; i < table->rows; i++) {
        const struct report_row *row = &table->row[i];
        if (row->heading) continue;
        size_t this = shown_width(row, column);
        /* Numbers without a star have a blank in its place. */
        if (table->column[column].number && !row->cell[column].strong) this ++;
        if (this > width) width = this;
    }
    return width;
}

/* A line that delays blanks until something follows them. */
struct line {
    FILE *to;
    size_t blanks;
};

static void put_word(struct line *line, const char *text) {
    if (*text == '\0') return;
    for (; line->blanks > 0; line->blanks--) {
        fputc(' ', line->to);
    }
    fputs(text, line->to);
}

static void end_line(struct line *line) {
    fputc('\n', line->to);
    line->blanks = 0;
}

/* Writes a cell with a star if it is the best. A blank in place of the star keeps numbers aligned. */
static void put_text_cell(const struct report_table *table, size_t column, const char *text,
                          bool strong, struct line *line) {
    bool number = table->column[column].number;
    size_t used = report_text_width(text) + (strong || number ? 1 : 0);
    size_t width = column_width(table, column);
    size_t fill = width > used ? width - used : 0;
    if (column > 0) line->blanks += 2;
    if (number) line->blanks += fill;
    put_word(line, text);
    if (strong) put_word(line, "*");
    if (number && !strong) line->blanks++;
    if (!number) line->blanks += fill;
}

/* Writes the names, then the units if any column has one. */
static void put_text_head(const struct report_table *table, FILE *to) {
    struct line line = {.to = to};
    bool units = false;
    for (size_t k = 0; k < table->columns; k++) {
        const struct report_column *column = &table->column[k];
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)column->head, column->name);
        units |= column->name[column->head] != '\0';
        put_text_cell(table, k, name, false, &line);
    }
    end_line(&line);
    for (size_t k = 0; units && k < table->columns; k++) {
        const char *unit = table->column[k].name + table->column[k].head;
        put_text_cell(table, k, *unit != '\0' ? unit + 1 : "", false, &line);
    }
    if (units) end_line(&line);
}

static void put_text_row(const struct report_table *table, const struct report_row *row, FILE *to) {
    struct line line = {.to = to};
    if (row->heading) {
        fprintf(to, "\n%s\n", cell_text(row, 0));
        return;
    }
    for (size_t k = 0; k < table->columns; k++) {
        put_text_cell(table, k, cell_text(row, k), row->cell[k].strong, &line);
    }
    end_line(&line);
}

/* Wraps a note at 100 characters and indents continuation lines. */
void report_table_put_note(const char *text, FILE *to) {
    enum { LINE = 100 };
    size_t at = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (at > 0 && at + 1 + word > LINE) {
            fputs("\n ", to);
            at = 1;
        }
        if (at > 0) fputc(' ', to);
        fwrite(text, 1, word, to);
        at += word + 1;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', to);
}

void report_table_body(const struct report_table *table, FILE *to) {
    fprintf(to, "%s\n\n", table->title);
    put_text_head(table, to);
    for (size_t i = 0; i < table->rows; i++) {
        put_text_row(table, &table->row[i], to);
    }
}

void report_table_text(const struct report_table *table, FILE *to) {
    report_table_body(table, to);
    if (table->notes > 0) fputc('\n', to);
    for (size_t k = 0; k < table->notes; k++) {
        report_table_put_note(table->note[k], to);
    }
}

bool report_said_before(const struct report_table *table, int tables, const char *note) {
    for (int k = 0; k < tables; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            if (strcmp(table[k].note[i], note) == 0) return true;
        }
    }
    return false;
}

/* --- common part of the formats for programs --- */

struct format {
    void (*put)(FILE *to, const char *text);
    const char *row, *between, *row_end; /* text before, between and after cells */
    const char *cell[2], *cell_end;      /* text around cells, for texts and numbers */
    const char *strong, *strong_end;
};

/* Writes a row; NULL: the columns' names. */
static void put_row(const struct format *format, const struct report_table *table,
                    const struct report_row *row, FILE *to) {
    for (size_t k = 0; k < table->columns; k++) {
        const char *text = row != NULL ? cell_text(row, k) : table->column[k].name;
        bool strong = row != NULL && (row->cell[k].strong || row->heading) && *text != '\0';
        fprintf(to, "%s%s%s", k > 0 ? format->between : format->row,
                format->cell[table->column[k].number], strong ? format->strong : "");
        format->put(to, text);
        fprintf(to, "%s%s", strong ? format->strong_end : "", format->cell_end);
    }
    fputs(format->row_end, to);
}

/* --- CSV --- */

static bool has_headings(const struct report_table *table) {
    return table->rows > 0 && table->row[0].heading;
}

void report_table_csv(const struct report_table *table, FILE *to) {
    static const struct format format = {nvdp__put_csv, "", ",", "\r\n", {"", ""}, "", "", ""};
    const char *heading = "task";
    bool headings = has_headings(table);
    for (size_t i = 0; i <= table->rows; i++) {
        const struct report_row *row = i > 0 ? &table->row[i - 1] : NULL; /* the names come first */
        if (row != NULL && row->heading) {
            heading = cell_text(row, 0);
            continue;
        }
        if (headings) {
            nvdp__put_csv(to, heading);
            fputc(',', to);
        }
        put_row(&format, table, row, to);
    }
}

/* --- Markdown --- */

void report_table_markdown(const struct report_table *table, FILE *to) {
    static const struct format format = {nvdp__put_markdown, "|",  "",   "\n",
                                         {" ", " "},         " |", "**", "**"};
    fputs("## ", to);
    nvdp__put_markdown(to, table->title);
    fputs("\n\n", to);
    put_row(&format, table, NULL, to);
    fputc('|', to);
    for (size_t k = 0; k < table->columns; k++) {
        fputs(table->column[k].number ? "---:|" : "---|", to);
    }
    fputc('\n', to);
    for (size_t i = 0; i < table->rows; i++) {
        put_row(&format, table, &table->row[i], to);
    }
    for (size_t k = 0; k < table->notes; k++) {
        fputc('\n', to);
        nvdp__put_markdown(to, table->note[k]);
        fputc('\n', to);
    }
}

/* --- LaTeX --- */

/* Writes "inf", alone or before a share of pairs, as the infinity sign. */
static void put_latex_text(FILE *to, const char *text) {
    if (strncmp(text, "inf", 3) == 0 && (text[3] == '\0' || text[3] == ' ')) {
        fputs("$\\infty$", to);
        text += 3;
    }
    nvdp__put_latex(to, text);
}

static const struct format latex = {put_latex_text, "", " & ",       " \\\\\n",
                                    {"", ""},       "", "\\textbf{", "}"};

static void put_latex_row(const struct report_table *table, const struct report_row *row,
                          FILE *to) {
    if (row->heading) {
        fprintf(to, "\\midrule\n\\multicolumn{%zu}{l}{\\textit{", table->columns);
        put_latex_text(to, cell_text(row, 0));
        fputs("}} \\\\\n", to);
        return;
    }
    put_row(&latex, table, row, to);
}

static const char latex_rules[] =
    "\\providecommand{\\toprule}{\\hline}\n\\providecommand{\\midrule}{\\hline}\n"
    "\\providecommand{\\bottomrule}{\\hline}\n";

static void begin_latex(const struct report_table *table, bool continued, FILE *to) {
    /* LaTeX numbers tables itself, so the number is skipped. */
    const char *dot = strncmp(table->title, "Table ", 6) == 0 ? strstr(table->title, ". ") : NULL;
    fputs("\\begin{table}\n\\centering\n\\caption{", to);
    nvdp__put_latex(to, dot != NULL ? dot + 2 : table->title);
    fputs(continued ? " (continued)}\n" : "}\n", to);
    if (!continued) fprintf(to, "\\label{tab:%s}\n", table->name);
    fputs("\\resizebox{\\linewidth}{!}{%\n\\begin{tabular}{", to);
    for (size_t k = 0; k < table->columns; k++) {
        fputc(table->column[k].number ? 'r' : 'l', to);
    }
    fputs("}\n\\toprule\n", to);
    put_row(&latex, table, NULL, to);
    if (!has_headings(table)) fputs("\\midrule\n", to);
}

static void end_latex(FILE *to) {
    fputs("\\bottomrule\n\\end{tabular}}\n", to);
}

/* Returns the number of rows under the heading at `row`, including the heading. */
static size_t section_rows(const struct report_table *table, size_t row) {
    size_t count = 1;
    while (row + count < table->rows && !table->row[row + count].heading) {
        count++;
    }
    return count;
}

/* Splits a table that is too long for a page, at a heading. */
void report_table_latex(const struct report_table *table, FILE *to) {
    enum { PAGE = 48 };
    size_t used = 0;
    fprintf(to,
            "%% Needs \\usepackage{graphicx} and, for better rules, \\usepackage{booktabs} in the "
            "preamble.\n%s",
            latex_rules);
    begin_latex(table, false, to);
    for (size_t i = 0; i < table->rows; i++, used++) {
        if (table->row[i].heading && used > 0 && used + section_rows(table, i) > PAGE) {
            end_latex(to);
            fputs("\\end{table}\n", to);
            begin_latex(table, true, to);
            used = 0;
        }
        put_latex_row(table, &table->row[i], to);
    }
    end_latex(to);
    fputs("\n\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\n", to);
    for (size_t k = 0; k < table->notes; k++) {
        nvdp__put_latex(to, table->note[k]);
        fputs("\n\n", to);
    }
    fputs("\\end{minipage}\n\\end{table}\n", to);
}

/* --- HTML --- */

/* Returns true if a part of the table has the column. Both parts have the first column, which names the rows. */
static bool in_part(const struct report_table *table, size_t column, bool later) {
    return column == 0 || table->column[column].later == later;
}

static size_t part_columns(const struct report_table *table, bool later) {
    size_t count = 0;
    for (size_t k = 0; k < table->columns; k++) {
        count += in_part(table, k, later);
    }
    return count;
}

static void put_html_row(const struct report_table *table, const struct report_row *row, bool later,
                         FILE *to) {
    if (row->heading) {
        fprintf(to, "<tr class=\"heading\"><th colspan=\"%zu\" scope=\"rowgroup\">",
                part_columns(table, later));
        nvdp__put_html(to, cell_text(row, 0));
        fputs("</th></tr>\n", to);
        return;
    }
    fputs("<tr>", to);
    for (size_t k = 0; k < table->columns; k++) {
        bool strong = row->cell[k].strong;
        if (!in_part(table, k, later)) continue;
        fprintf(to, "<td%s>%s", table->column[k].number ? " class=\"number\"" : "",
                strong ? "<strong>" : "");
        nvdp__put_html(to, cell_text(row, k));
        fputs(strong ? "</strong></td>" : "</td>", to);
    }
    fputs("</tr>\n", to);
}

/* Writes a column's name with the unit below. */
static void put_html_name(const struct report_column *column, FILE *to) {
    char name[64];
    const char *unit = column->name + column->head;
    snprintf(name, sizeof name, "%.*s", (int)column->head, column->name);
    nvdp__put_html(to, name);
    if (*unit == '\0') return;
    fputs("<br>", to);
    nvdp__put_html(to, unit + 1);
}

static void put_html_part(const struct report_table *table, bool later, FILE *to) {
    fputs("<div class=\"wide\"><table>\n<caption>", to);
    nvdp__put_html(to, table->title);
    fprintf(to, "%s</caption>\n<thead><tr>", later ? " (continued)" : "");
    for (size_t k = 0; k < table->columns; k++) {
        if (!in_part(table, k, later)) continue;
        fprintf(to, "<th scope=\"col\"%s>", table->column[k].number ? " class=\"number\"" : "");
        put_html_name(&table->column[k], to);
        fputs("</th>", to);
    }
    fputs("</tr></thead>\n<tbody>\n", to);
    for (size_t i = 0; i < table->rows; i++) {
        put_html_row(table, &table->row[i], later, to);
    }
    fputs("</tbody>\n</table></div>\n", to);
}

void report_table_html(const struct report_table *table, FILE *to) {
    put_html_part(table, false, to);
    if (part_columns(table, true) > 1) put_html_part(table, true, to);
}
