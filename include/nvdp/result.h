/** @file result.h
 * Result tables: the numbers of a result struct, one row per number.
 *
 * To add a number to a result, add a member of the struct, a row of its table, and the code that computes it. JSON
 * (files and --json), the lines of the program, and nvdp_result_table_find() follow from the row. Programs and Python
 * read names, units and meanings with nvdp_result_table_find(). NVDP_RESULT_ROW() makes a row of a plain member; other
 * rows set the members of struct nvdp_result_row. A view describes how a file differs from the table: names, order,
 * NaN, omitted rows. Rows that a view does not list follow in the order of the table, so a new row is in every view.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_RESULT_H
#define NVDP_RESULT_H

#include <nvdp/context.h>
#include <nvdp/export.h>

#include <stdbool.h>
#include <stddef.h>

NVDP_BEGIN_DECLS

/** A JSON value of the library jansson. */
struct json_t;

/** The kind of a result: how the library prints and frees it; opaque. */
struct nvdp_result_kind;

/** Type of a row's value. */
enum nvdp_result_type {
    NVDP_RESULT_REAL,  /**< double */
    NVDP_RESULT_COUNT, /**< an integer of 4 or 8 bytes */
    NVDP_RESULT_FLAG,  /**< bool, or an enum whose 1 is true */
    NVDP_RESULT_TEXT,  /**< const char * */
    NVDP_RESULT_CHARS, /**< char array in the struct */
    NVDP_RESULT_ENUM,  /**< int, enum or bool, whose text `words` has or `word` returns */
    /** Two doubles, where `high` is the offset of the upper end; absent if the lower end is NaN. */
    NVDP_RESULT_INTERVAL,
    NVDP_RESULT_TABLE, /**< one struct, with the table `of` */
    NVDP_RESULT_LIST,  /**< several structs */
    NVDP_RESULT_MAP    /**< several structs; in JSON, the first row of a struct is its key */
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
    /** Inherited from the next level: a key inherits from the row, a row from the view, a view from the enclosing
     * table. The default is null. */
    NVDP_ABSENT_INHERITED,
    NVDP_ABSENT_NULL,    /**< null */
    NVDP_ABSENT_NAN,     /**< "nan" for real numbers and ends of intervals, else null */
    NVDP_ABSENT_OMITTED, /**< neither key nor value */
    NVDP_ABSENT_ERROR,   /**< an error, also for infinities: the number must be finite */
    NVDP_ABSENT_HIDDEN,  /**< the key is always omitted */
    NVDP_ABSENT_EACH     /**< [null, null] for an interval, else null */
};

/** Output of lines; opaque. */
struct nvdp_result_lines;

/** A row: one value of a result. */
struct nvdp_result_row {
    const char *name;             /**< name and key of the value; NULL ends a table */
    enum nvdp_result_type type;   /**< type of the value */
    const char *unit;             /**< "nats", "texts", "s"; NULL if there is none */
    enum nvdp_result_scope scope; /**< the object that the value describes */
    int better;                   /**< +1 if larger is better, -1 if smaller is better, else 0 */
    const char *help;             /**< description */
    size_t offset;                /**< offset of the member */
    size_t width;                 /**< size of the member in bytes */
    /** Name in the text; NULL if the value has no line or `print` writes the line. With `of`, every struct is a line of
     * a grid, whose columns are the rows of the table `of` that have labels. */
    const char *label;
    int decimals;      /**< decimals of a real number in the text; 0 for four digits */
    const char *after; /**< text after the number; NULL if there is none */
    double scale;      /**< factor of the number in the text; 0 means 1, and 100 means % */
    int bound;         /**< 1 for an upper bound, rounded up; -1 for a lower bound, rounded down */
    size_t error;      /**< offset of a standard error; 0 if there is none */
    size_t array;      /**< length of the array that JSON lists; 0 if the value is no array */
    /** [array] Levels of quantiles: JSON is an object with a key per level, a grid has a column per level. NULL if the
     * value has no quantiles. */
    const double *levels;
    const char *text; /**< [TEXT] the text, if it is the same for every result */
    /** [TABLE] Text that JSON adds to the struct under the key "note"; NULL if there is none. */
    const char *note;
    size_t high;         /**< offset of an interval's upper end */
    size_t length;       /**< offset of a list's length */
    size_t length_width; /**< size in bytes of the member with the length */
    bool indirect;       /**< the member is a pointer to the value */
    size_t within; /**< [indirect] offset of the value in the struct that the pointer leads to */
    enum nvdp_result_absent absent;     /**< representation of an absent value in all views */
    const struct nvdp_result_table *of; /**< the table of a struct or list */
    /** Texts of the values of an enum, from 0, or of a flag in lines. NULL if `word` returns the text of an enum. */
    const char *const *words;
    const char *(*word)(int value); /**< returns the text of an enum's value */
    /** Computes a number that is not a member; needs no offset. */
    double (*real)(const void *result);
    /** Returns whether the value exists; NULL if it always does. */
    bool (*present)(const void *result);
    /** Offset of a number or flag: the value exists only if it is above 0. The offset is within the struct of the
     * table, or, if `indirect`, within the struct that the pointer leads to. */
    size_t positive;
    size_t positive_width; /**< size in bytes of that number or flag; 0 if there is none */
    bool positive_real;    /**< that number is a double */
    /** Writes the row's lines with nvdp_result_line(). */
    void (*print)(const void *result, struct nvdp_result_lines *to);
    /** Returns the JSON of the given value, for values that no type describes. */
    struct json_t *(*json)(const void *value);
};
/** Sets `offset` and `width` of a row for `member` of struct `type`. */
#define NVDP_RESULT_AT(type, member)                                                               \
    .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)
/** Sets `positive` of a row: the value exists if `member`, a number or flag of struct `type`, is above 0. */
#define NVDP_RESULT_IF(type, member)                                                               \
    .positive = offsetof(type, member), .positive_width = sizeof(((type *)0)->member),             \
    .positive_real = _Generic(((type *)0)->member, double                                          \
                              : true, default                                                      \
                              : false)
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
    const char *key;                /**< key in the view; NULL for the row's name */
    enum nvdp_result_absent absent; /**< representation of an absent value in this view */
    /** View of the table `of`; NULL for the view of the same name. */
    const char *view;
};

/** A view: how a file, or "terminal", differs from the table. */
struct nvdp_result_view {
    const char *name; /**< name of the view; NULL ends a list */
    /** Representation of absent values, unless a row sets another. */
    enum nvdp_result_absent absent;
    /** Rows that come first, in this order; NULL if there is none. */
    const struct nvdp_result_key *keys;
};

/** The rows of a struct. */
struct nvdp_result_table {
    const char *name; /**< name of the table: "train" */
    const char *help; /**< description */
    /** The struct begins with struct_size (NVDP_RESULT()): members beyond that size are omitted. */
    bool sized;
    /** Size of an item in a list of structs; 0 if every member of an item is a separate array. */
    size_t size;
    const struct nvdp_result_row *rows;   /**< the rows */
    const struct nvdp_result_view *views; /**< views; NULL if there is none */
};

/** Returns a table of the library.
 * @param i index, from 0
 * @return NULL beyond the last */
const struct nvdp_result_table *nvdp_result_table(size_t i);

/** Finds a table by name.
 * @param name such as "train"
 * @return NULL if there is none */
const struct nvdp_result_table *nvdp_result_table_find(const char *name);

/** Writes a result as one JSON object (docs/formats.md).
 * @param ctx    records messages; may be NULL
 * @param result a struct with a member `kind`, or a result of nvdp_attack(), filled by the library
 * @param view   "file" for the keys of the result's file; NULL for all keys
 * @param out    the text; the caller frees it with free()
 * @return NVDP_ERR_ARGUMENT if the library did not fill the struct, or if its kind has no JSON; NVDP_ERR_NUMERIC for a
 *         number that must be finite and is not, or for a text that is not UTF-8; NVDP_ERR_MEMORY */
nvdp_status nvdp_result_json(struct nvdp_context *ctx, const void *result, const char *view,
                             char **out);

/** Writes a result as text, as the program prints it: aligned, with units; upper bounds are rounded up.
 * @param ctx    records messages; may be NULL
 * @param result as in nvdp_result_json()
 * @param view   "summary" for the few lines that matter most, which a nvdp_privacy_report has; NULL for all lines
 * @param out    the text; the caller frees it with free()
 * @return NVDP_ERR_ARGUMENT if the library did not fill the struct, or if its kind has no such text; NVDP_ERR_MEMORY */
nvdp_status nvdp_result_text(struct nvdp_context *ctx, const void *result, const char *view,
                             char **out);

/** Frees the memory that a result owns, and sets the pointers to it to NULL. Numbers and text arrays stay.
 * @param result a struct with a member `kind`. Does nothing if it is NULL, or if no function filled it */
void nvdp_result_free(void *result);

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
