/** @file result.h
 * Tables of results: what a result struct tells, a row each number.
 *
 * To add a number to a result: a member of the struct, a row of its table, the code that computes it.
 * JSON (files and --json), the program's lines and nvdp_result_table_find(), which tells programs and
 * Python the names, units and meanings, follow from the row.  NVDP_RESULT_ROW() writes a row; one that
 * is no plain member names the members of struct nvdp_result_row.  A view says where a file differs
 * from the table: names, order, NaN, what is left out.  Rows that it does not name follow in the
 * table's order, so that a new row is in every view.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_RESULT_H
#define NVDP_RESULT_H

#include <nvdp/context.h>
#include <nvdp/export.h>

#include <stdbool.h>
#include <stddef.h>

NVDP_BEGIN_DECLS

/** What a row's value is. */
enum nvdp_result_type {
    NVDP_RESULT_REAL,     /**< double */
    NVDP_RESULT_COUNT,    /**< an integer of 4 or 8 bytes */
    NVDP_RESULT_FLAG,     /**< bool */
    NVDP_RESULT_TEXT,     /**< const char * */
    NVDP_RESULT_CHARS,    /**< char array in the struct */
    NVDP_RESULT_WORD,     /**< int or enum; its `word` */
    NVDP_RESULT_INTERVAL, /**< two doubles, the upper end at `high`; none where the lower end is NaN */
    NVDP_RESULT_TABLE,    /**< one struct, of `of` */
    NVDP_RESULT_LIST,     /**< several of them */
    NVDP_RESULT_MAP       /**< likewise; in JSON the first row's text is the key of each */
};

/** What a value describes. */
enum nvdp_result_scope {
    NVDP_SCOPE_RUN,
    NVDP_SCOPE_TEXT,
    NVDP_SCOPE_PAIR,
    NVDP_SCOPE_FILE,
    NVDP_SCOPE_MODEL
};

/** What stands in JSON for a value that does not exist: NaN, no interval, a row that is not `present`. */
enum nvdp_result_absent {
    NVDP_ABSENT_INHERITED, /**< key: the row's; row: the view's; view: of the table around it, or null */
    NVDP_ABSENT_NULL,      /**< null */
    NVDP_ABSENT_NAN,       /**< "nan"; null where it is no number */
    NVDP_ABSENT_OMITTED, /**< neither key nor value */
    NVDP_ABSENT_ERROR,   /**< an error, as of infinities: the number must exist and be finite */
    NVDP_ABSENT_HIDDEN   /**< the key is left out always */
};

/** Where lines are written; opaque. */
struct nvdp_result_lines;

/** A value of a result. */
struct nvdp_result_row {
    const char *name; /**< and its key; NULL ends a table */
    enum nvdp_result_type type;
    const char *unit; /**< "nats", "texts", "s"; NULL: none */
    enum nvdp_result_scope scope;
    int better;          /**< +1: larger is better; -1: smaller; 0: neither */
    const char *help;    /**< what it is */
    size_t offset;       /**< of the member */
    size_t width;        /**< its bytes */
    const char *label;   /**< of its line for people; NULL: it has none, or `print` writes it */
    int decimals;        /**< of a real number in that line */
    const char *after;   /**< behind the number; NULL: nothing */
    double scale;        /**< of the number in that line; 0: 1 */
    size_t high;         /**< offset of an interval's upper end */
    size_t length;       /**< offset of a list's length */
    size_t length_width; /**< bytes of that length */
    bool indirect;       /**< the member is a pointer to the struct or list */
    enum nvdp_result_absent absent;     /**< of this row in every view */
    const struct nvdp_result_table *of; /**< the table of a struct or list */
    const char *(*word)(int value);     /**< the text of an enum's value */
    double (*real)(
        const void *
            result); /**< a number that is no member but follows from some; the row needs no offset */
    bool (*present)(const void *result); /**< whether the value exists; NULL: always */
    /** Writes the row's lines for people, by nvdp_result_line(). */
    void (*print)(const void *result, struct nvdp_result_lines *to);
};
/** Members `offset` and `width` of a row for `member` of struct `type`. */
#define NVDP_RESULT_AT(type, member)                                                               \
    .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)
/** A row of a plain member, named like it; more members of the row may follow. */
#define NVDP_RESULT_ROW(struct_, member, unit_, scope_, better_, ...)                                   \
    {                                                                                                   \
        .name = #member,                                                                              \
     .type = _Generic(((struct_ *)0)->member,                                                      \
         double: NVDP_RESULT_REAL,                                                                 \
         bool: NVDP_RESULT_FLAG,                                                                   \
         char *: NVDP_RESULT_CHARS,                                                                \
         const char *: NVDP_RESULT_TEXT,                                                           \
         default: NVDP_RESULT_COUNT),                                                              \
     .unit = unit_, .scope = scope_, .better = better_, NVDP_RESULT_AT(struct_, member),           \
     .help = __VA_ARGS__ \
    }
/** Members `length` and `length_width` of a row. */
#define NVDP_RESULT_LENGTH(type, member)                                                           \
    .length = offsetof(type, member), .length_width = sizeof(((type *)0)->member)

/** A row in a view. */
struct nvdp_result_key {
    const char *row;                /**< its name; NULL ends a list */
    const char *key;                /**< its key there; NULL: the row's name */
    enum nvdp_result_absent absent; /**< of it there */
    const char *view;               /**< of its table; NULL: that of the same name */
};

/** How one file, or "terminal", differs from the table. */
struct nvdp_result_view {
    const char *name; /**< NULL ends a list */
    enum nvdp_result_absent absent;
    const struct nvdp_result_key *keys; /**< first in this order; NULL: none */
};

/** The rows of a struct. */
struct nvdp_result_table {
    const char *name;
    const char *help;
    bool
        sized; /**< the struct begins with its size (NVDP_RESULT()): members beyond it are left out */
    size_t
        size; /**< of an item, in a list of structs; 0: every member of an item is an array of its own */
    const struct nvdp_result_row *rows;
    const struct nvdp_result_view *views; /**< NULL: none */
};

/** The library's tables.
 * @param i from 0.
 * @return NULL beyond the last. */
const struct nvdp_result_table *nvdp_result_table(size_t i);

/** One of them.
 * @param name such as "train".
 * @return NULL: there is none of that name. */
const struct nvdp_result_table *nvdp_result_table_find(const char *name);

/** A result as one JSON object.
 * @param ctx    records messages.
 * @param table  of the struct.
 * @param view   its name; NULL, or a name that the table does not have: all rows, null for NaN.
 * @param result the struct.
 * @param out    the text; free().
 * @return NVDP_ERR_NUMERIC for a number that must be finite and is not; NVDP_ERR_MEMORY. */
nvdp_status nvdp_result_json(struct nvdp_context *ctx, const struct nvdp_result_table *table,
                             const char *view, const void *result, char **out);

/** A result in lines for people, in the order of the view "terminal"; those of values that do not exist are left out.
 * @param ctx    records messages.
 * @param table  of the struct.
 * @param result the struct.
 * @param out    the text; free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_result_text(struct nvdp_context *ctx, const struct nvdp_result_table *table,
                             const void *result, char **out);

/** Writes a line of a row's `print`: a name, padded to the column of values, and its value.
 * @param to     as `print` gets it.
 * @param name   "" where the line goes on with the one above.
 * @param format as of printf(), with what follows. */
void nvdp_result_line(struct nvdp_result_lines *to, const char *name, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

NVDP_END_DECLS
#endif
