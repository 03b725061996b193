/* Formats numbers and names for a report, and writes escaped texts and files.  Then builds tables, and writes tables as
 * text, CSV, Markdown, LaTeX and HTML. */
#include "base/array.h"
#include "base/file.h"
#include "base/sentence.h"
#include "report/parts.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

struct report_text report_say(const char *format, ...) {
    struct report_text said;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(said.text, sizeof said.text, format, args);
    va_end(args);
    return said;
}

struct report_text report_say_number(double value) {
    const double size = fabs(value);
    int decimals = 0; /* decimals for three digits in total */
    if (isnan(value)) return report_say("-");
    if (isinf(value)) return report_say(value > 0 ? "inf" : "-inf");
    if (size != 0 && (size < 9.995e-5 || size >= 1e7)) return report_say("%.2e", value);
    for (double limit = 99.95; size != 0 && size < limit; limit /= 10) {
        decimals++;
    }
    return report_say("%.*f", decimals, value);
}

struct report_text report_say_score(double value) {
    return isnan(value) ? report_say("-") : report_say("%.1f", 100 * value);
}

struct report_text report_say_score_stat(const struct report_stat *stat) {
    if (stat->n < 2 || isnan(stat->sd)) return report_say_score(stat->mean);
    return report_say("%.1f +- %.1f", 100 * stat->mean, 100 * stat->sd);
}

struct report_text report_say_share(double share) {
    if (share > 0 && share < .001) return report_say("<0.1 %%");
    if (share < 1 && share > .999) return report_say(">99.9 %%");
    return report_say(share == 0 || share == 1 ? "%.0f %%" : "%.1f %%", 100 * share);
}

struct report_text report_say_percent(double share) {
    return isnan(share) ? report_say("-") : report_say("%.2f", 100 * share);
}

/* Formats 0.001 as 1e-3 and 0.0025 as 2.5e-3. */
struct report_text report_say_lambda(double lambda) {
    if (!isfinite(lambda)) return report_say_number(lambda);
    if (lambda == 0 || (fabs(lambda) >= .1 && fabs(lambda) < 1e5)) return report_say("%g", lambda);
    struct report_text mantissa = report_say("%.5e", lambda);
    char *power = strchr(mantissa.text, 'e');
    *power = '\0';
    return report_say("%ge%d", strtod(mantissa.text, NULL), atoi(power + 1));
}

static const char lambda_word[] = "lambda ";

/* Formats the setting.  For a clip without a regularizer, writes only C. */
struct report_text report_say_setting(const struct report_group *group) {
    const double lambda_g = group->lambda_g, lambda_d = group->lambda_d;
    const bool clipped = !isnan(group->clip_sequence),
               two = lambda_g != lambda_d && !isnan(lambda_d),
               weighted = !isnan(lambda_g) && (!clipped || lambda_g != 0 || (two && lambda_d != 0));
    struct report_text lambda = {""};
    if (!isnan(group->eta)) /* eta is the only setting of training on privatized texts */
        return report_say("eta %.24s", report_say_lambda(group->eta).text);
    if (weighted)
        lambda = report_say("%s%s%.14s%s%.14s", lambda_word, two ? "G " : "",
                            report_say_lambda(lambda_g).text, two ? ", D " : "",
                            two ? report_say_lambda(lambda_d).text : "");
    if (clipped)
        return report_say("C %.14s%s%.44s", report_say_lambda(group->clip_sequence).text,
                          weighted ? ", " : "", lambda.text);
    return weighted ? lambda : report_say("-");
}

struct report_text report_say_point(const struct report_group *group) {
    const struct report_text whole = report_say_setting(group);
    const size_t word = sizeof lambda_word - 1;
    return report_say("%s", whole.text + (strncmp(whole.text, lambda_word, word) == 0 ? word : 0));
}

struct report_text report_say_p(double p) {
    if (isnan(p)) return report_say("-");
    return p < .001 ? report_say("<0.001") : report_say("%.3f", p);
}

struct report_text report_say_interval(const json_t *interval, double unit) {
    const json_t *low = json_array_get(interval, 0), *high = json_array_get(interval, 1);
    if (!json_is_number(low)) return report_say("-");
    return report_say("%.2f to %.2f", unit * json_number_value(low),
                      unit * json_number_value(high));
}

void report_put_real(FILE *to, double value) {
    char number[NVDP__NUMBER_SIZE] = "nan";
    for (int digits = 6; digits <= 17 && !isnan(value); digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value) break;
    }
    fputs(number, to);
}

size_t report_text_width(const char *text) {
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

/* --- texts --- */

void report_put(FILE *to, void (*escape)(FILE *to, const char *text), const char *before,
                const char *text, const char *after) {
    fputs(before, to);
    escape(to, text);
    fputs(after, to);
}

nvdp_status report_write_printed(struct nvdp_context *ctx, const char *directory, const char *name,
                                 void (*print)(const void *of, FILE *to), const void *of) {
    nvdp__autofree char *text = NULL;
    NVDP_TRY(nvdp__printed(ctx, print, of, &text));
    return nvdp__write_file(ctx, nvdp__path(directory, name).text, text, strlen(text));
}

double report_member_real(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *report_member_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

int report_stem(const char *name) {
    return (int)(strlen(name) - (nvdp__ends_with(name, ".json") ? strlen(".json") : 0));
}

/* ---- tables ---- */

/* --- building --- */

struct report_table report_table_begin(struct nvdp_context *ctx, const char *name,
                                       const char *title, size_t texts,
                                       const char *const *columns) {
    struct report_table table = {.ctx = ctx, .name = name, .title = title};
    for (size_t k = 0; columns[k] != NULL; k++) {
        report_table_column(&table, columns[k], "");
        if (table.status == NVDP_OK) table.column[k].number = k >= texts;
    }
    return table;
}

void report_table_column(struct report_table *table, const char *name, const char *unit) {
    if (table->status != NVDP_OK) return;
    char *text = nvdp__format(table->ctx, "%s%s%s", name, *unit != '\0' ? " " : "", unit);
    table->status = NVDP__MADE(text);
    if (table->status == NVDP_OK)
        table->status =
            NVDP__PUSH(table->ctx, table->column, table->columns, table->column_capacity,
                       (struct report_column){.name = text, .head = strlen(name), .number = true});
    if (table->status != NVDP_OK) free(text);
}

/* Returns a formatted text, which the caller frees with free(); NULL after a failure. */
static char *formatted(struct report_table *table, const char *format, va_list args) {
    char *text = NULL;
    if (table->status == NVDP_OK && vasprintf(&text, format, args) >= 0) return text;
    if (table->status == NVDP_OK)
        table->status = nvdp__fail(table->ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}

/* Adds a cell, and takes ownership of the text, which is NULL after a failure. */
static void add_cell(struct report_table *table, double value, char *text) {
    if (table->status == NVDP_OK && table->filled < table->columns)
        table->row[table->rows - 1].cell[table->filled++] =
            (struct report_cell){.text = text, .value = value};
    else
        free(text);
}

static void begin_row(struct report_table *table, bool heading) {
    struct report_cell *cell = NULL;
    if (table->status == NVDP_OK) table->status = NVDP__NEW(table->ctx, cell, table->columns + 1);
    if (table->status == NVDP_OK)
        table->status = NVDP__PUSH(table->ctx, table->row, table->rows, table->row_capacity,
                                   (struct report_row){.cell = cell, .heading = heading});
    if (table->status != NVDP_OK) free(cell);
    table->filled = 0;
}

void report_table_row(struct report_table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = formatted(table, format, args), *rest = text;
    va_end(args);
    begin_row(table, false);
    for (const char *cell; (cell = strsep(&rest, "\t")) != NULL;) {
        char *copy = nvdp__strdup(table->ctx, cell);
        if (table->status == NVDP_OK) table->status = NVDP__MADE(copy);
        add_cell(table, NAN, copy);
    }
    free(text);
}

void report_table_cell(struct report_table *table, double value, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_cell(table, value, formatted(table, format, args));
    va_end(args);
}

void report_table_value(struct report_table *table, size_t column, double value) {
    if (table->status == NVDP_OK) table->row[table->rows - 1].cell[column].value = value;
}

void report_table_heading(struct report_table *table, const char *format, ...) {
    va_list args;
    va_start(args, format);
    begin_row(table, true);
    add_cell(table, NAN, formatted(table, format, args));
    va_end(args);
}

void report_table_note(struct report_table *table, enum report_note_kind kind, const char *format,
                       ...) {
    va_list args;
    va_start(args, format);
    char *text = formatted(table, format, args);
    va_end(args);
    if (table->status == NVDP_OK)
        table->status = NVDP__PUSH(table->ctx, table->note, table->notes, table->note_capacity,
                                   (struct report_table_note){text, kind});
    if (table->status != NVDP_OK) free(text);
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
        free(table->note[k].text);
    }
    free(table->row);
    free(table->column);
    free(table->note);
    *table = (struct report_table){0};
}

/* Returns the first line of a column's name. */
static struct report_text head_line(const struct report_column *column) {
    return report_say("%.*s", (int)column->head, column->name);
}

static const char *cell_text(const struct report_row *row, size_t column) {
    const char *text = row->cell[column].text;
    return text != NULL ? text : "";
}

/* --- text --- */

static size_t column_width(const struct report_table *table, size_t column) {
    const struct report_column *of = &table->column[column];
    size_t unit = report_text_width(of->name + of->head);
    size_t width = report_text_width(of->name) - unit;
    if (unit > width + 1) width = unit - 1; /* the unit begins with a blank */
    if (of->number) width++;
    for (size_t i = 0; i < table->rows; i++) {
        const struct report_row *row = &table->row[i];
        if (row->heading) continue;
        /* Numbers without a star have a blank in place of the star. */
        const bool star = row->cell[column].strong || of->number;
        width = nvdp__max(width, report_text_width(cell_text(row, column)) + star);
    }
    return width;
}

/* A line that delays blanks until another character follows, so that no blanks end the line. */
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
    size_t width = column_width(table, column), fill = width > used ? width - used : 0;
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
        units |= column->name[column->head] != '\0';
        put_text_cell(table, k, head_line(column).text, false, &line);
    }
    end_line(&line);
    for (size_t k = 0; units && k < table->columns; k++) {
        const char *unit = table->column[k].name + table->column[k].head;
        put_text_cell(table, k, *unit != '\0' ? unit + 1 : "", false, &line);
    }
    if (units) end_line(&line);
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
        const struct report_row *row = &table->row[i];
        struct line line = {.to = to};
        if (row->heading) fprintf(to, "\n%s\n", cell_text(row, 0));
        for (size_t k = 0; k < table->columns && !row->heading; k++) {
            put_text_cell(table, k, cell_text(row, k), row->cell[k].strong, &line);
        }
        if (!row->heading) end_line(&line);
    }
}

void report_table_text(const void *of, FILE *to) {
    const struct report_table *table = of;
    report_table_body(table, to);
    if (table->notes > 0) fputc('\n', to);
    for (size_t k = 0; k < table->notes; k++) {
        report_table_put_note(table->note[k].text, to);
    }
}

bool report_said_before(const struct report_table *table, int tables, const char *note) {
    for (int k = 0; k < tables; k++) {
        for (size_t i = 0; i < table[k].notes; i++) {
            if (strcmp(table[k].note[i].text, note) == 0) return true;
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

/* Writes a row, or the names of the columns if row is NULL. */
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

void report_table_csv(const void *of, FILE *to) {
    const struct report_table *table = of;
    static const struct format format = {nvdp__put_csv, "", ",", "\r\n", {"", ""}, "", "", ""};
    const char *heading = "task";
    bool headings = has_headings(table);
    for (size_t i = 0; i <= table->rows; i++) {
        /* The names of the columns come first. */
        const struct report_row *row = i > 0 ? &table->row[i - 1] : NULL;
        if (row != NULL && row->heading) {
            heading = cell_text(row, 0);
            continue;
        }
        if (headings) report_put(to, nvdp__put_csv, "", heading, ",");
        put_row(&format, table, row, to);
    }
}

/* --- Markdown --- */

void report_table_markdown(const void *of, FILE *to) {
    const struct report_table *table = of;
    static const struct format format = {nvdp__put_markdown, "|",  "",   "\n",
                                         {" ", " "},         " |", "**", "**"};
    report_put(to, nvdp__put_markdown, "## ", table->title, "\n\n");
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
        report_put(to, nvdp__put_markdown, "\n", table->note[k].text, "\n");
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
        fprintf(to, "\\midrule\n\\multicolumn{%zu}{l}", table->columns);
        report_put(to, put_latex_text, "{\\textit{", cell_text(row, 0), "}} \\\\\n");
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
    report_put(to, nvdp__put_latex, "\\begin{table}\n\\centering\n\\caption{",
               dot != NULL ? dot + 2 : table->title, continued ? " (continued)}\n" : "}\n");
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
static size_t section_row_count(const struct report_table *table, size_t row) {
    size_t count = 1;
    while (row + count < table->rows && !table->row[row + count].heading) {
        count++;
    }
    return count;
}

/* Splits a table that is too long for a page, at a heading. */
void report_table_latex(const void *of, FILE *to) {
    enum { PAGE = 48 };
    const struct report_table *table = of;
    size_t used = 0;
    fprintf(to,
            "%% Needs \\usepackage{graphicx} and, for better rules, \\usepackage{booktabs} in the "
            "preamble.\n%s",
            latex_rules);
    begin_latex(table, false, to);
    for (size_t i = 0; i < table->rows; i++, used++) {
        if (table->row[i].heading && used > 0 && used + section_row_count(table, i) > PAGE) {
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
        report_put(to, nvdp__put_latex, "", table->note[k].text, "\n\n");
    }
    fputs("\\end{minipage}\n\\end{table}\n", to);
}

/* --- HTML --- */

/* Returns true if a part of the table has the column. Both parts have the first column with the names of the rows. */
static bool in_part(const struct report_table *table, size_t column, bool later) {
    return column == 0 || table->column[column].later == later;
}

static size_t part_column_count(const struct report_table *table, bool later) {
    size_t count = 0;
    for (size_t k = 0; k < table->columns; k++) {
        count += in_part(table, k, later);
    }
    return count;
}

static void put_html_row(const struct report_table *table, const struct report_row *row, bool later,
                         FILE *to) {
    if (row->heading) {
        fprintf(to, "<tr class=\"heading\"><th colspan=\"%zu\" scope=\"rowgroup\"",
                part_column_count(table, later));
        report_put(to, nvdp__put_html, ">", cell_text(row, 0), "</th></tr>\n");
        return;
    }
    fputs("<tr>", to);
    for (size_t k = 0; k < table->columns; k++) {
        bool strong = row->cell[k].strong;
        if (!in_part(table, k, later)) continue;
        fputs(table->column[k].number ? "<td class=\"number\"" : "<td", to);
        report_put(to, nvdp__put_html, strong ? "><strong>" : ">", cell_text(row, k),
                   strong ? "</strong></td>" : "</td>");
    }
    fputs("</tr>\n", to);
}

static void put_html_part(const struct report_table *table, bool later, FILE *to) {
    report_put(to, nvdp__put_html, "<div class=\"wide\"><table>\n<caption>", table->title,
               later ? " (continued)</caption>\n<thead><tr>" : "</caption>\n<thead><tr>");
    for (size_t k = 0; k < table->columns; k++) {
        const struct report_column *column = &table->column[k];
        const char *unit = column->name + column->head; /* the unit below the name */
        if (!in_part(table, k, later)) continue;
        fprintf(to, "<th scope=\"col\"%s>", column->number ? " class=\"number\"" : "");
        nvdp__put_html(to, head_line(column).text);
        if (*unit != '\0') report_put(to, nvdp__put_html, "<br>", unit + 1, "");
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
    if (part_column_count(table, true) > 1) put_html_part(table, true, to);
}
