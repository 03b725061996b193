/* Options: tables of rows (include/nvdp/config.h), and everything that is derived from them.
 *
 * A row describes one option: name, type, help, default, unit, range, choices, and the member of a plain struct that it
 * fills.  The rows determine the defaults and checks of the struct, help, files and the public configuration.  The code
 * that does the work reads the struct.
 *
 * To add an option: a member of the struct, a row in the table, and the code that uses it.
 *
 * To add a kind of work, say "measure":
 *   - rdp/options.h: `struct nvdp__measure_options`, the plain struct;
 *   - rdp/options.c: its rows, ended by {0}; sections (tables shared with other kinds of work,
 *     such as the run to open, are sections of their own, with the offset of their struct);
 *         const struct nvdp__schema nvdp__measure_schema = {
 *             .kind = "measure", .size = sizeof(struct nvdp__measure_options),
 *             .section = sections, .sections = 2, .implied = ..., .check = ...};
 *         const struct nvdp__kind nvdp__kind_measure = {"measure", {&nvdp__measure_schema}};
 *   - src/options/kinds.inc: the line KIND(measure);
 *   - the function that does the work begins with nvdp__config_open(), which checks the values and
 *     fills the struct, and ends with NVDP__GIVE, which copies the result into the caller's.
 * A subcommand names the kind in its struct cli_command and keeps only its own rows (src/cli/common.h). */
#ifndef NVDP_SRC_OPTIONS_SCHEMA_H
#define NVDP_SRC_OPTIONS_SCHEMA_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/config.h>

/* Rows, and the offset of the struct that they fill. */
struct nvdp__section {
    const struct nvdp_option *row; /* a row without a name ends them */
    size_t offset;
    const char *parent; /* of rows that name none; NULL: none */
    const char *group;  /* heading above the first row, unless that names one; NULL: none */
};

/* An implied default: if `when` is `is` (NULL: anything but its default), `option` is `value`, unless it was given. */
struct nvdp__implied {
    const char *when, *is, *option, *value;
};

struct nvdp__schema {
    const char *kind; /* "train": for messages */
    size_t size;      /* of the plain struct */
    const struct nvdp__section *section;
    size_t sections;
    const struct nvdp__implied *implied;
    size_t implications;
    /* Checks what ranges cannot express; NULL: nothing.  Returns NVDP_ERR_ARGUMENT on failure. */
    nvdp_status (*check)(struct nvdp_context *ctx, const void *values);
};

/* Sets the defaults of all members that have a row, and the others to zero. */
void nvdp__schema_default(const struct nvdp__schema *schema, void *values);
/* NVDP_ERR_ARGUMENT, naming key, range and value, for the first number out of range or missing text.  Then calls
 * schema->check. */
nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values);
/* NVDP_ERR_ARGUMENT if a text to be saved is not UTF-8, which JSON cannot hold. */
nvdp_status nvdp__schema_check_texts(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                     const void *values);
/* Returns every saved option in the form of files, or NULL if memory is short. */
json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values);
/* Reads options from `object` of the file `path`.  Options that it does not name keep their values; unknown keys are
 * ignored.  Texts stay owned by the object.  NVDP_ERR_INPUT on failure. */
nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values);

/* Splits a list as NVDP_OPTION_LIST joins it; NULL has no items.  One block for free(). */
nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count);

/* A row and its place in files. */
enum { NVDP__KEY_SIZE = 64 };
struct nvdp__place {
    const struct nvdp_option *row;
    const char *parent;       /* NULL: the outermost object */
    const char *group;        /* heading in the help; NULL: that of the previous option */
    char key[NVDP__KEY_SIZE]; /* in the parent */
    size_t offset;            /* in the whole struct */
};
/* Finds the i-th row.  Returns false after the last one. */
bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place);

/* A file of options that is part of the library. */
struct nvdp__preset {
    const char *name, *text;
};
extern const struct nvdp__preset nvdp__presets[];  /* ends with a row without a name */
extern const struct nvdp__preset nvdp__policies[]; /* of gates; the same */

/* --- configurations: config.c --- */

/* A kind of work of nvdp_config_create(). */
enum { NVDP__CONFIG_PARTS = 5 };
struct nvdp__kind {
    const char *name; /* "text-privacy" */
    const struct nvdp__schema
        *part[NVDP__CONFIG_PARTS]; /* whose options are joined; NULL: no more */
};
#define KIND(name) extern const struct nvdp__kind nvdp__kind_##name;
#include "options/kinds.inc"
#undef KIND
extern const struct nvdp__kind *const nvdp__kinds[]; /* ended by NULL */

/* Creates a configuration of one schema; NULL: without options. */
nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out);
/* Moves all options of `other` to `config`, after its own, and frees `other`, also on error.  An option that both have
 * takes its value from `config`, and later settings apply to both.  NVDP_ERR_ARGUMENT for more than NVDP__CONFIG_PARTS
 * schemas. */
nvdp_status nvdp__config_join(struct nvdp_config *config, struct nvdp_config *other);
/* Fills the plain struct `values` of the schema from a configuration of this kind, and sets the context's number of
 * threads to the option `threads`.  Its texts live as long as the configuration. */
nvdp_status nvdp__config_values(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp__schema *schema, void *values);
/* Calls nvdp__config_values() and checks the values. */
nvdp_status nvdp__config_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                              const struct nvdp__schema *schema, void *values);
/* Rewrites the message of a failure (NVDP_ERR_ARGUMENT) that a preset contributed to: names the option that the
 * preset sets and the given option that conflicts with it.  Returns `status`. */
nvdp_status nvdp__config_blame(const struct nvdp_config *config, nvdp_status status);
/* Continues earlier work, whose options are `values`.  Options that were given and affect no result replace them.
 * Given options that affect the result and differ are NVDP_ERR_ARGUMENT. */
nvdp_status nvdp__config_continue(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  const struct nvdp__schema *schema, void *values);
/* Takes values that the library resolved: "auto", or 0 for the encoder's. */
nvdp_status nvdp__config_take(struct nvdp_config *config, const struct nvdp__schema *schema,
                              const void *values);

/* --- results --- */

/* NVDP_ERR_ARGUMENT if the caller did not set the size of the struct.  Call it before the work begins. */
nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out);
/* Copies `result`, of type *out, up to the size of the caller's struct. Returns NVDP_OK. */
nvdp_status nvdp__give(void *out, const void *result, size_t size);
#define NVDP__GIVE(out, result) nvdp__give(out, result, sizeof *(result))

/* ---- one option (schema.c): its value from text and from JSON, and as both ---- */

/* A value of any type. */
union nvdp__value {
    bool flag;
    int whole;
    size_t size;
    uint64_t seed;
    double real;
    const char *text;
};

bool nvdp__option_is_text(const struct nvdp_option *row);
/* Treats '_' and '-' as equal. */
bool nvdp__option_same(const char *name, const char *given);
/* Returns the row's key in files: its own, or the name with '_' for '-'. */
void nvdp__option_key(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]);
/* Returns the size of a value: that of the row if it fills a struct. */
size_t nvdp__option_width(const struct nvdp_option *row);
/* Returns the default, or the zero of the type if the row has none. */
union nvdp__value nvdp__option_default(const struct nvdp_option *row);
union nvdp__value nvdp__option_at(const struct nvdp_option *row, const void *at);

/* Parses `text`.  Returns false if it is not a valid value. */
bool nvdp__option_parse(const struct nvdp_option *row, const char *text, union nvdp__value *value);
/* A description of valid values, for messages. */
struct nvdp__expected {
    char text[512];
};
/* Describes the valid values.  `separator` is put between choices. */
struct nvdp__expected nvdp__option_expected(const struct nvdp_option *row, const char *separator);
/* Checks the range.  `prefix` (NULL: none) precedes the message: the file that has the value. */
nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value);
/* Formats numbers in the fewest digits that restore the same bits. */
const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_TEXT]);

/* Returns the first of the named options, in the order of the configuration, that was given under its own name; `names`
 * ends with NULL. NULL: none. */
const char *nvdp__config_given(const struct nvdp_config *config, const char *const *names);

/* Checks that a value in a file can be one of the row's.  `status` is the status of a failure. */
nvdp_status nvdp__option_check_json(struct nvdp_context *ctx, nvdp_status status, const char *path,
                                    const char *key, const struct nvdp_option *row,
                                    const json_t *value);
/* Returns the text as it would be on the command line.  With `list`, a single string is one item, whatever commas it
 * has. NULL: out of memory. */
char *nvdp__option_text(const json_t *value, bool list);
const char *nvdp__json_type(const json_t *value); /* for example "a number" */

#endif
