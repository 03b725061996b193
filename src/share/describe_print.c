/* A description for people: rows of names and values, sections indented. */
#include "share/describe.h"

#include <math.h>
#include <string.h>

enum { NAME_WIDTH = 28, LONGEST_NAME = 48, STEP = 2 };

static void print_number(double value, FILE *to) {
    fprintf(to, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.6g", value);
}

static void print_value(const json_t *value, FILE *to);

/* {a: 1, b: 2} */
static void print_members(const json_t *object, FILE *to) {
    const char *key;
    json_t *value;
    const char *before = "{";
    json_object_foreach((json_t *)object, key, value) {
        fprintf(to, "%s%s: ", before, key);
        print_value(value, to);
        before = ", ";
    }
    fputs(*before == '{' ? "{}" : "}", to);
}

/* One value on its line; arrays as [a, b]. */
static void print_value(const json_t *value, FILE *to) {
    if (json_is_string(value)) {
        fputs(json_string_value(value), to);
    } else if (json_is_integer(value)) {
        fprintf(to, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        print_number(json_real_value(value), to);
    } else if (json_is_array(value)) {
        size_t i;
        const json_t *item;
        fputc('[', to);
        json_array_foreach(value, i, item) {
            if (i > 0) fputs(", ", to);
            print_value(item, to);
        }
        fputc(']', to);
    } else if (json_is_object(value)) {
        print_members(value, to);
    } else {
        fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-", to);
    }
}

/* Whether every item has what a row shows. */
static bool is_table(const json_t *value) {
    size_t i;
    const json_t *row;
    json_array_foreach(value, i, row) {
        if (!json_is_string(json_object_get(row, "name")) ||
            !json_is_string(json_object_get(row, "type")))
            return false;
    }
    return json_array_size(value) > 0;
}

/* Rows of objects: their members in one line each, the first left-aligned in a column. */
static void print_table(const json_t *rows, int indent, FILE *to) {
    size_t i;
    const json_t *row;
    int width = 0;
    json_array_foreach(rows, i, row) {
        int length = (int)strlen(json_string_value(json_object_get(row, "name")));
        if (length > width) width = length;
    }
    json_array_foreach(rows, i, row) {
        fprintf(to, "%*s%-*s  %-5s ", indent, "", width,
                json_string_value(json_object_get(row, "name")),
                json_string_value(json_object_get(row, "type")));
        print_value(json_object_get(row, "shape"), to);
        fputc('\n', to);
    }
}

/* Values stand in one column, further right where an object has longer names. */
static int name_width(const json_t *object, int indent) {
    const char *key;
    json_t *value;
    int width = NAME_WIDTH - indent > 0 ? NAME_WIDTH - indent : 0;
    json_object_foreach((json_t *)object, key, value) {
        bool plain = !json_is_object(value) && !is_table(value);
        if (plain && strlen(key) < LONGEST_NAME && (int)strlen(key) > width)
            width = (int)strlen(key);
    }
    return width;
}

static void print_object(const json_t *object, int indent, FILE *to) {
    const char *key;
    json_t *value;
    int width = name_width(object, indent);
    json_object_foreach((json_t *)object, key, value) {
        if (json_is_object(value) || is_table(value)) {
            fprintf(to, "%*s%s\n", indent, "", key);
            if (json_is_object(value)) print_object(value, indent + STEP, to);
            if (is_table(value)) print_table(value, indent + STEP, to);
            continue;
        }
        fprintf(to, "%*s%-*s ", indent, "", width, key);
        print_value(value, to);
        fputc('\n', to);
    }
}

void nvdp__describe_print(const char *path, const json_t *object, FILE *to) {
    fprintf(to, "%s\n", path);
    print_object(object, STEP, to);
}
