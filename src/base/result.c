/* The engine of result tables: prints a struct as JSON and as lines, from the rows of the struct's table. The file
 * has, in this order, views, values, JSON, lines and grids. */
#include "base/result.h"

#include "base/json.h"
#include "base/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- the rows of a view --- */

/* The struct of a table, or item k of a list of structs. */
struct place {
    const struct nvdp_result_table *table;
    const char *view;
    enum nvdp_result_absent absent; /* not inherited by inner tables */
    const char *result;
    size_t k;
    size_t room; /* number of bytes of the struct */
};

/* A row of the struct, with the settings of the view. */
struct entry {
    const struct nvdp_result_row *row;
    const char *key, *view;
    enum nvdp_result_absent absent;
};

static enum nvdp_result_absent stated_absent(enum nvdp_result_absent a, enum nvdp_result_absent b) {
    return a != NVDP_ABSENT_INHERITED ? a : b;
}

static const struct nvdp_result_view *find_view(const struct nvdp_result_table *table,
                                                const char *name) {
    for (const struct nvdp_result_view *view = table->views;
         name != NULL && view != NULL && view->name != NULL; view++)
        if (strcmp(view->name, name) == 0) return view;
    return NULL;
}

static const struct nvdp_result_key *find_key(const struct nvdp_result_view *view,
                                              const char *row) {
    for (const struct nvdp_result_key *key = view != NULL ? view->keys : NULL;
         key != NULL && key->row != NULL; key++)
        if (strcmp(key->row, row) == 0) return key;
    return NULL;
}

/* Finds the i-th row of a view: first the rows that the view names, then all other rows. Returns false after the
 * last row. */
static bool next_entry(const struct place *at, size_t i, struct entry *out) {
    const struct nvdp_result_view *view = find_view(at->table, at->view);
    const struct nvdp_result_key *key = view != NULL ? view->keys : NULL;
    const struct nvdp_result_row *row = at->table->rows;
    for (; key != NULL && key->row != NULL && i > 0; i--)
        key++;
    if (key != NULL && key->row != NULL) {
        while (row->name != NULL && strcmp(row->name, key->row) != 0)
            row++;
    } else {
        key = NULL;
        for (; row->name != NULL; row++)
            if (find_key(view, row->name) == NULL && i-- == 0) break;
    }
    *out = (struct entry){row, row->name, at->view, stated_absent(row->absent, at->absent)};
    if (key != NULL && key->key != NULL) out->key = key->key;
    if (key != NULL && key->view != NULL) out->view = key->view;
    if (key != NULL) out->absent = stated_absent(key->absent, out->absent);
    return row->name != NULL;
}

/* --- values --- */

/* Returns item k of a list of structs, or of parallel arrays. */
static const char *item(const struct place *at, const struct nvdp_result_row *row) {
    return at->result + at->k * (at->table->size > 0 ? at->table->size : row->width);
}

static const void *member(const struct place *at, const struct nvdp_result_row *row) {
    const char *to = item(at, row) + row->offset;
    return row->indirect ? *(const char *const *)(const void *)to + row->within : to;
}

static bool is_null(const struct place *at, const struct nvdp_result_row *row) {
    return *(const void *const *)(const void *)(item(at, row) + row->offset) == NULL;
}

static int64_t whole(const void *at, size_t width) {
    int64_t value = 0;
    int narrow = 0;
    if (width == sizeof(bool)) return *(const bool *)at;
    memcpy(width == sizeof narrow ? (void *)&narrow : (void *)&value, at, width);
    return width == sizeof narrow ? narrow : value;
}

static bool flag(const struct place *at, const struct nvdp_result_row *row) {
    const void *value = member(at, row);
    return row->width == sizeof(bool) ? *(const bool *)value : whole(value, row->width) == 1;
}

static double real(const struct place *at, const struct nvdp_result_row *row) {
    return row->real != NULL ? row->real(item(at, row)) : *(const double *)member(at, row);
}

static const char *word(const struct place *at, const struct nvdp_result_row *row) {
    const char *value = member(at, row);
    if (row->text != NULL) return row->text;
    if (row->type == NVDP_RESULT_CHARS) return value;
    if (row->type == NVDP_RESULT_TEXT) return *(const char *const *)(const void *)value;
    const int of = (int)whole(value, row->width);
    return row->words != NULL ? row->words[of] : row->word(of);
}

/* Returns true if the number on which the row depends is above 0, or if the row depends on no number. */
static bool is_positive(const struct place *at, const struct nvdp_result_row *row) {
    const void *number =
        row->positive +
        (row->indirect ? (const char *)member(at, row) - row->within : item(at, row));
    if (row->positive_real) return *(const double *)number > 0;
    return row->positive_width == 0 || whole(number, row->positive_width) > 0;
}

static bool is_there(const struct place *at, const struct nvdp_result_row *row) {
    const size_t width = row->indirect ? sizeof(void *) : row->width;
    if (row->real == NULL && row->offset + width > at->room) return false;
    if (row->indirect && is_null(at, row)) return false;
    if (!is_positive(at, row)) return false;
    if (row->present != NULL && !row->present(item(at, row))) return false;
    if (row->levels != NULL || row->json != NULL) return true;
    switch (row->type) {
    case NVDP_RESULT_REAL:
    case NVDP_RESULT_INTERVAL:
        return !isnan(real(at, row));
    case NVDP_RESULT_TEXT:
    case NVDP_RESULT_ENUM:
        return word(at, row) != NULL;
    default:
        return true;
    }
}

/* Returns the struct to which a row with a table refers, or the k-th struct of a list. */
static struct place inner(const struct place *at, const struct entry *entry, size_t k) {
    const struct nvdp_result_table *table = entry->row->of;
    const struct nvdp_result_view *view = find_view(table, entry->view);
    return (struct place){table,
                          entry->view,
                          stated_absent(view != NULL ? view->absent : 0, at->absent),
                          member(at, entry->row),
                          k,
                          SIZE_MAX};
}

static struct place outer(const struct nvdp_result_table *table, const char *view,
                          const void *result) {
    const struct nvdp_result_view *found = find_view(table, view);
    const size_t size = table->sized ? *(const size_t *)result : 0;
    return (struct place){
        table,  view, stated_absent(found != NULL ? found->absent : 0, NVDP_ABSENT_NULL),
        result, 0,    size > 0 ? size : SIZE_MAX};
}

/* --- JSON --- */

static bool put(json_t *object, const struct place *at, const struct nvdp_result_row *but);

/* Returns the value if `complete`, else releases the value and returns NULL. */
static json_t *kept(json_t *value, bool complete) {
    if (complete) return value;
    json_decref(value);
    return NULL;
}

/* Adds all rows except `but` to an object. On failure, releases the object and returns NULL. */
static json_t *filled(json_t *object, const struct place *at, const struct nvdp_result_row *but) {
    return kept(object, object != NULL && put(object, at, but));
}

/* Adds a value to an object, or to an array if the key is NULL. */
static bool add(json_t *list, const char *key, json_t *value) {
    return (key != NULL ? json_object_set_new(list, key, value)
                        : json_array_append_new(list, value)) == 0;
}

static json_t *interval_json(double low, double high) {
    return json_pack("[o, o]", nvdp__json_number(low), nvdp__json_number(high));
}

static json_t *list_json(const struct place *at, const struct entry *entry) {
    const struct nvdp_result_row *row = entry->row;
    const bool map = row->type == NVDP_RESULT_MAP;
    const size_t count = (size_t)whole(item(at, row) + row->length, row->length_width);
    json_t *list = map ? json_object() : json_array();
    bool good = list != NULL;
    for (size_t k = 0; k < count && good; k++) {
        const struct place one = inner(at, entry, k);
        const struct nvdp_result_row *but = map ? one.table->rows : NULL;
        good = add(list, map ? word(&one, but) : NULL, filled(json_object(), &one, but));
    }
    return kept(list, good);
}

enum { LEVEL_ROOM = 16 };

/* Returns the JSON of one of adjacent numbers or intervals. NaN is "nan" among levels, else null. */
static json_t *element_json(const struct nvdp_result_row *row, const void *element) {
    const double *value = element;
    if (row->type == NVDP_RESULT_COUNT) return json_integer(whole(element, row->width));
    if (row->type == NVDP_RESULT_INTERVAL) return interval_json(value[0], value[1]);
    return row->levels != NULL ? nvdp__json_number(*value) : nvdp__json_known(*value);
}

/* Returns adjacent numbers or intervals: {"0.5": value, ...} if the row has levels, else an array. */
static json_t *array_json(const struct place *at, const struct nvdp_result_row *row) {
    const char *from = member(at, row);
    json_t *list = row->levels != NULL ? json_object() : json_array();
    bool good = list != NULL;
    for (size_t i = 0; i < row->array && good; i++, from += row->width) {
        char key[LEVEL_ROOM];
        if (row->levels != NULL) nvdp__snprintf(key, sizeof key, "%g", row->levels[i]);
        good = add(list, row->levels != NULL ? key : NULL, element_json(row, from));
    }
    return kept(list, good);
}

static json_t *value_json(const struct place *at, const struct entry *entry) {
    const struct nvdp_result_row *row = entry->row;
    if (row->json != NULL) return row->json(member(at, row));
    if (row->array > 0) return array_json(at, row);
    switch (row->type) {
    case NVDP_RESULT_REAL:
        return entry->absent == NVDP_ABSENT_ERROR ? json_real(real(at, row))
                                                  : nvdp__json_number(real(at, row));
    case NVDP_RESULT_COUNT:
        return json_integer(whole(member(at, row), row->width));
    case NVDP_RESULT_FLAG:
        return json_boolean(flag(at, row));
    case NVDP_RESULT_INTERVAL:
        return interval_json(real(at, row),
                             *(const double *)(const void *)(item(at, row) + row->high));
    case NVDP_RESULT_TABLE: {
        const struct place in = inner(at, entry, 0);
        json_t *object = filled(json_object(), &in, NULL);
        if (row->note != NULL) json_object_set_new(object, "note", json_string(row->note));
        return object;
    }
    case NVDP_RESULT_LIST:
    case NVDP_RESULT_MAP:
        return list_json(at, entry);
    default:
        return json_string(word(at, row));
    }
}

/* Puts all rows except `but`. */
static bool put(json_t *object, const struct place *at, const struct nvdp_result_row *but) {
    struct entry entry;
    for (size_t i = 0; next_entry(at, i, &entry); i++) {
        json_t *value = NULL;
        if (entry.row == but || entry.absent == NVDP_ABSENT_HIDDEN) continue;
        if (is_there(at, entry.row))
            value = value_json(at, &entry);
        else if (entry.absent == NVDP_ABSENT_OMITTED)
            continue;
        else if (entry.absent == NVDP_ABSENT_NAN && entry.row->type == NVDP_RESULT_REAL)
            value = nvdp__json_number(NAN);
        else if (entry.absent == NVDP_ABSENT_NAN && entry.row->type == NVDP_RESULT_INTERVAL)
            value = value_json(at, &entry);
        else if (entry.absent == NVDP_ABSENT_EACH && entry.row->type == NVDP_RESULT_INTERVAL)
            value = json_pack("[n, n]");
        else if (entry.absent != NVDP_ABSENT_ERROR)
            value = json_null();
        if (json_object_set_new(object, entry.key, value) != 0) return false;
    }
    return true;
}

json_t *nvdp__result_put(json_t *object, const struct nvdp_result_table *table, const char *view,
                         const void *result) {
    const struct place at = outer(table, view, result);
    return filled(object, &at, NULL);
}

json_t *nvdp__result_json(const struct nvdp_result_table *table, const char *view,
                          const void *result) {
    return nvdp__result_put(json_object(), table, view, result);
}

const struct nvdp_result_kind *nvdp__result_kind(const void *result) {
    struct nvdp__result head = {0};
    if (result != NULL) memcpy(&head, result, sizeof head);
    return head.kind;
}

nvdp_status nvdp__result_refuse(struct nvdp_context *ctx, const struct nvdp_result_kind *kind,
                                const char *what) {
    if (kind == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "result: expected a struct that the library filled, found an empty one");
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "result '%s': it has no %s", kind->name, what);
}

nvdp_status nvdp__result_pack(struct nvdp_context *ctx, const void *result, const char *view,
                              json_t **out) {
    const struct nvdp_result_kind *kind = nvdp__result_kind(result);
    if (kind == NULL || (kind->pack == NULL && kind->rows == NULL))
        return nvdp__result_refuse(ctx, kind, "JSON");
    *out = kind->pack != NULL ? kind->pack(result) : nvdp__result_json(kind->rows, view, result);
    if (*out != NULL) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_NUMERIC,
        "result '%s': expected finite numbers and texts in UTF-8, found others, or ran "
        "out of memory",
        kind->name);
}

/* --- lines of text --- */

/* Appends a number. An upper bound is rounded up, a lower bound is rounded down, and other numbers are rounded to
 * nearest. The row may set the number of decimals; else few significant digits are printed, and thousands as whole
 * numbers. */
static void say_number(const struct nvdp_result_row *row, double value, struct nvdp__writer *to) {
    const double scaled = (row->scale != 0 ? row->scale : 1) * value;
    if (row->bound != 0 && row->decimals > 0)
        nvdp__append(to, "%.*f", row->decimals,
                     -row->bound * nvdp__lower_bound(-row->bound * scaled, row->decimals));
    else if (row->bound < 0)
        nvdp__append(to, "%s", nvdp__bound_below(scaled).text);
    else if (row->bound > 0)
        nvdp__append(to, "%s",
                     row->scale == 100 ? nvdp__share_bound(value).text : nvdp__bound(scaled).text);
    else if (row->decimals > 0)
        nvdp__append(to, "%.*f", row->decimals, scaled);
    else
        nvdp__append(to, fabs(scaled) >= 1e3 && fabs(scaled) < 1e7 ? "%.0f" : "%.4g", scaled);
}

static void say_value(const struct place *at, const struct nvdp_result_row *row,
                      struct nvdp__writer *to) {
    const bool scaled = row->scale != 0 && row->scale != 1;
    if (row->type == NVDP_RESULT_REAL) {
        say_number(row, real(at, row), to);
        const char *error = item(at, row) + row->error;
        if (row->error > 0 && *(const double *)(const void *)error > 0)
            nvdp__append(to, " +- %.2g", *(const double *)(const void *)error);
    } else if (row->type == NVDP_RESULT_INTERVAL) {
        say_number(row, real(at, row), to);
        nvdp__append(to, " to ");
        say_number(row, *(const double *)(const void *)(item(at, row) + row->high), to);
    } else if (row->type == NVDP_RESULT_COUNT && scaled) {
        nvdp__append(to, "%.*f", row->decimals,
                     row->scale * (double)whole(member(at, row), row->width));
    } else if (row->type == NVDP_RESULT_COUNT) {
        nvdp__append(to, "%" PRId64, whole(member(at, row), row->width));
    } else if (row->type == NVDP_RESULT_FLAG && row->words == NULL) {
        nvdp__append(to, "%s", flag(at, row) ? "yes" : "no");
    } else {
        to->used += nvdp__show_into(to->out + to->used, to->size - to->used, word(at, row));
    }
    if (row->after != NULL) nvdp__append(to, "%s", row->after);
}

enum { VALUE_ROOM = 512, COLUMNS = 20 };

static void print_value(const struct place *at, const struct nvdp_result_row *row, FILE *to) {
    char text[VALUE_ROOM] = "";
    struct nvdp__writer writer = {text, sizeof text, 0};
    const char *after = row->after != NULL ? row->after : "";
    if (row->type == NVDP_RESULT_TEXT || row->type == NVDP_RESULT_CHARS) {
        nvdp__print_row(to, row->label, "%s%s", word(at, row), after);
        return;
    }
    say_value(at, row, &writer);
    nvdp__print_row(to, row->label, "%s", text);
}

static size_t item_count(const struct place *at, const struct nvdp_result_row *row) {
    return row->type == NVDP_RESULT_TABLE
               ? 1
               : (size_t)whole(item(at, row) + row->length, row->length_width);
}

/* --- grids: structs are lines, and the labelled rows of their table are columns --- */

struct grid {
    FILE *to; /* NULL if the columns are only measured */
    size_t lines;
    size_t width[COLUMNS]; /* width per column; 0 if no line has a value */
};

/* Returns true if the column is aligned left, as strings are; numbers are aligned right. */
static bool is_text(const struct nvdp_result_row *row) {
    return row->type == NVDP_RESULT_TEXT || row->type == NVDP_RESULT_CHARS ||
           row->type == NVDP_RESULT_ENUM;
}

/* Prints the value of column c, or measures it. `line` is NULL for the head of the column. */
static void grid_cell(struct grid *grid, const struct nvdp_result_row *row,
                      const struct place *line, size_t c) {
    char text[VALUE_ROOM] = "-";
    struct nvdp__writer writer = {text, sizeof text, 0};
    const bool there = line != NULL && is_there(line, row);
    if (line == NULL)
        nvdp__append(&writer, "%s", row->label);
    else if (there)
        say_value(line, row, &writer);
    if (there || (grid->to == NULL && grid->width[c] > 0))
        grid->width[c] = nvdp__max(grid->width[c], nvdp__max(strlen(text), strlen(row->label)));
    if (grid->to != NULL && grid->width[c] > 0)
        nvdp__fprintf(grid->to, is_text(row) ? "  %-*s" : "  %*s", (int)grid->width[c], text);
}

/* Prints the name at the left and the values of the columns, or measures them. `line` is NULL for the heads. */
static void grid_line(struct grid *grid, const char *name, const struct place *heads,
                      const struct place *line, const char *note) {
    struct entry entry;
    grid->lines += grid->to == NULL;
    if (grid->width[0] < strlen(name)) grid->width[0] = strlen(name);
    if (grid->to != NULL) nvdp__fprintf(grid->to, "  %-*s", (int)grid->width[0], name);
    for (size_t i = 0, c = 1; next_entry(heads, i, &entry); i++) {
        struct nvdp_result_row row = *entry.row; /* a copy: the row, or the row of one level */
        const size_t columns = row.levels != NULL ? row.array : 1;
        if (row.label == NULL || entry.absent == NVDP_ABSENT_HIDDEN) continue;
        for (size_t k = 0; k < columns && c < COLUMNS; k++, row.offset += row.width) {
            char level[LEVEL_ROOM];
            if (entry.row->levels != NULL) {
                nvdp__snprintf(level, sizeof level, "%g %%", 100 * entry.row->levels[k]);
                row.label = level;
                row.levels = NULL;
            }
            grid_cell(grid, &row, line, c++);
        }
    }
    if (grid->to != NULL)
        nvdp__fprintf(grid->to, "%s%s\n", note != NULL ? "  " : "", note != NULL ? note : "");
}

/* Prints or measures the lines of all entries, from `first` on, that have the same table. Returns the next entry. */
static size_t grid_lines(struct grid *grid, const struct place *at, size_t first) {
    const struct nvdp_result_table *of = NULL;
    struct entry entry;
    size_t i = first;
    for (; next_entry(at, i, &entry); i++) {
        const struct nvdp_result_row *row = entry.row;
        if (of != NULL && (row->of != of || row->label == NULL)) break;
        const struct place heads = inner(at, &entry, 0);
        if (of == NULL && grid->to != NULL && grid->lines > 0)
            grid_line(grid, "", &heads, NULL, NULL);
        of = row->of;
        if (entry.absent == NVDP_ABSENT_HIDDEN || !is_there(at, row)) continue;
        for (size_t k = 0; k < item_count(at, row); k++) {
            const struct place line = inner(at, &entry, k);
            grid_line(grid, row->type == NVDP_RESULT_TABLE ? row->label : "", &line, &line,
                      row->after);
        }
    }
    return i;
}

static void print_rows(const struct place *at, FILE *to) {
    struct entry entry;
    for (size_t i = 0; next_entry(at, i, &entry); i++) {
        const struct nvdp_result_row *row = entry.row;
        if (entry.absent == NVDP_ABSENT_HIDDEN || !is_there(at, row)) continue;
        if (row->print != NULL) {
            row->print(item(at, row), (struct nvdp_result_lines *)to);
        } else if (row->of != NULL && row->label != NULL) {
            struct grid grid = {.to = NULL};
            grid_lines(&grid, at, i);
            grid.to = to;
            i = grid_lines(&grid, at, i) - 1;
        } else if (row->of != NULL) {
            for (size_t k = 0; k < item_count(at, row); k++) {
                const struct place in = inner(at, &entry, k);
                print_rows(&in, to);
            }
        } else if (row->label != NULL) {
            print_value(at, row, to);
        }
    }
}

void nvdp__result_print(const struct nvdp_result_table *table, const void *result, FILE *to) {
    const struct place at = outer(table, "terminal", result);
    print_rows(&at, to);
}
