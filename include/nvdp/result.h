/** @file result.h
 * Result tables: the numbers of a result struct, one row per number.
 *
 * To add a number to a result, add a member of the struct, a row of its table, and the code that computes it. JSON
 * (files and --json), the lines of the program, and nvdp_result_table_find() follow from the row; through the
 * latter, programs and Python read names, units and meanings. NVDP_RESULT_ROW() makes a row of a plain member; other
 * rows set the members of struct nvdp_result_row. A view describes how a file differs from the table: names, order,
 * NaN, omitted rows. Rows that a view does not name follow in the order of the table, so a new row is in every view.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_RESULT_H
#define NVDP_RESULT_H

#include <nvdp/context.h>
#include <nvdp/export.h>

#include <stdbool.h>
#include <stddef.h>

NVDP_BEGIN_DECLS

/** Type of a row's value. */
enum nvdp_result_type {
    NVDP_RESULT_REAL,  /**< double */
    NVDP_RESULT_COUNT, /**< an integer of 4 or 8 bytes */
    NVDP_RESULT_FLAG,  /**< bool, or an enum whose 1 is true */
    NVDP_RESULT_TEXT,  /**< const char * */
    NVDP_RESULT_CHARS, /**< char array in the struct */
    NVDP_RESULT_WORD,  /**< int, enum or bool; `word` returns its text */
    /** Two doubles, the upper end at `high`; absent if the lower end is NaN. */
    NVDP_RESULT_INTERVAL,
    NVDP_RESULT_TABLE, /**< one struct, with the table `of` */
    NVDP_RESULT_LIST,  /**< several structs */
    NVDP_RESULT_MAP /**< several structs; in JSON, the text of the first row is the key of each */
};

/** Scope of a value. */
enum nvdp_result_scope {
    NVDP_SCOPE_RUN,  /**< a run */
    NVDP_SCOPE_TEXT, /**< one text */
    NVDP_SCOPE_PAIR, /**< a pair of texts */
    NVDP_SCOPE_FILE, /**< a file */
    NVDP_SCOPE_MODEL /**< a model */
};

/** JSON representation of an absent value: NaN, no interval, or a row that is not `present`. */
enum nvdp_result_absent {
    /** As set at the next level: a key inherits from its row, a row from the view, a view from the enclosing table;
     * the default is null. */
    NVDP_ABSENT_INHERITED,
    NVDP_ABSENT_NULL,    /**< null */
    NVDP_ABSENT_NAN,     /**< "nan" for real numbers, else null */
    NVDP_ABSENT_OMITTED, /**< neither key nor value */
    NVDP_ABSENT_ERROR,   /**< an error, also for infinities: the number must be finite */
    NVDP_ABSENT_HIDDEN,  /**< the key is always omitted */
    NVDP_ABSENT_EACH     /**< [null, null] for an interval, else null */
};

/** Output of lines; opaque. */
struct nvdp_result_lines;

/** A row: one value of a result. */
struct nvdp_result_row {
    const char *name;             /**< name of the value, and its key; NULL ends a table */
    enum nvdp_result_type type;   /**< type of the value */
    const char *unit;             /**< "nats", "texts", "s"; NULL: none */
    enum nvdp_result_scope scope; /**< the object that the value describes */
    int better;                   /**< +1: larger is better; -1: smaller; 0: neither */
    const char *help;             /**< description */
    size_t offset;                /**< offset of the member */
    size_t width;                 /**< size of the member in bytes */
    /** Name in the text; NULL: no line, or `print` writes it. With `of`: the struct, or each of the list, is a line of a
     * grid, whose columns are the labelled rows of its table. */
    const char *label;
    int decimals;        /**< decimals of a real number in the text; 0: four digits */
    const char *after;   /**< text after the number; NULL: none */
    double scale;        /**< factor of the number in the text; 0: 1 */
    int bound;           /**< 1: upper bound, rounded up; -1: lower bound, down; scale 100: % */
    size_t error;        /**< offset of a standard error; 0: none */
    size_t array;        /**< numbers that JSON lists; 0: no list */
    size_t high;         /**< offset of an interval's upper end */
    size_t length;       /**< offset of a list's length */
    size_t length_width; /**< size of that length in bytes */
    bool indirect;       /**< the member is a pointer to the struct or list */
    enum nvdp_result_absent absent;     /**< of this row in all views */
    const struct nvdp_result_table *of; /**< the table of a struct or list */
    /** Returns the text of an enum's value; in lines also of a flag's. */
    const char *(*word)(int value);
    /** Computes a number that is not a member; needs no offset. */
    double (*real)(const void *result);
    bool (*present)(const void *result); /**< returns whether the value exists; NULL: always */
    /** Writes the row's lines with nvdp_result_line(). */
    void (*print)(const void *result, struct nvdp_result_lines *to);
};
/** Sets `offset` and `width` of a row for `member` of struct `type`. */
#define NVDP_RESULT_AT(type, member)                                                               \
    .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)
/** Makes a row of a plain member with the member's name. More members of the row may follow. */
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
/** Sets `length` and `length_width` of a row. */
#define NVDP_RESULT_LENGTH(type, member)                                                           \
    .length = offsetof(type, member), .length_width = sizeof(((type *)0)->member)

/** A row in a view. */
struct nvdp_result_key {
    const char *row;                /**< name of the row; NULL ends a list */
    const char *key;                /**< its key in the view; NULL: the row's name */
    enum nvdp_result_absent absent; /**< of the row in this view */
    const char *view;               /**< view of its table; NULL: the view of the same name */
};

/** A view: how a file, or "terminal", differs from the table. */
struct nvdp_result_view {
    const char *name;                   /**< name of the view; NULL ends a list */
    enum nvdp_result_absent absent;     /**< of rows that do not set their own */
    const struct nvdp_result_key *keys; /**< rows that come first, in this order; NULL: none */
};

/** The rows of a struct. */
struct nvdp_result_table {
    const char *name; /**< name of the table: "train" */
    const char *help; /**< description */
    /** The struct begins with its size (NVDP_RESULT()): members beyond that size are omitted. */
    bool sized;
    /** Size of an item in a list of structs; 0: every member of an item is an array of its own. */
    size_t size;
    const struct nvdp_result_row *rows;   /**< the rows */
    const struct nvdp_result_view *views; /**< views; NULL: none */
};

/** Returns a table of the library.
 * @param i index, from 0
 * @return NULL beyond the last */
const struct nvdp_result_table *nvdp_result_table(size_t i);

/** Finds a table by name.
 * @param name such as "train"
 * @return NULL if there is none */
const struct nvdp_result_table *nvdp_result_table_find(const char *name);

/** Writes a result as one JSON object.
 * @param ctx    records messages
 * @param table  table of the struct
 * @param view   name of the view; NULL, or a name that the table does not have: all rows, null for NaN
 * @param result the struct
 * @param out    the text; free()
 * @return NVDP_ERR_NUMERIC for a number that must be finite and is not; NVDP_ERR_MEMORY */
nvdp_status nvdp_result_json(struct nvdp_context *ctx, const struct nvdp_result_table *table,
                             const char *view, const void *result, char **out);

/** Writes a result as text, one line per value, in the order of the view "terminal". Omits absent values.
 * @param ctx    records messages
 * @param table  table of the struct
 * @param result the struct
 * @param out    the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_result_text(struct nvdp_context *ctx, const struct nvdp_result_table *table,
                             const void *result, char **out);

/** Writes a line of a row's `print`: a name, padded to the column of values, and its value.
 * @param to     the argument of `print`
 * @param name   "" for a continuation of the previous line
 * @param format as in printf(), with its arguments */
void nvdp_result_line(struct nvdp_result_lines *to, const char *name, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

NVDP_END_DECLS
#endif
