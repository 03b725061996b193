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
    const struct nvdp_option *row; /* ended by a row without a name */
    size_t offset;
    /* object in files for rows that set no parent; NULL for the outermost object */
    const char *parent;
    /* heading above the first row, unless the row has one; NULL if there is no heading */
    const char *group;
};

/* An implied default: if `when` has the value `is` (NULL: any value but its default), then `option` has the value
 * `value`, unless the caller gave it. */
struct nvdp__implied {
    const char *when, *is, *option, *value;
};

struct nvdp__schema {
    const char *kind; /* name such as "train", for messages */
    size_t size;      /* size of the plain struct */
    const struct nvdp__section *section;
    size_t sections;
    const struct nvdp__implied *implied;
    size_t implications;
    /* Checks what ranges cannot express; NULL if there is nothing to check. Returns NVDP_ERR_ARGUMENT on failure. */
    nvdp_status (*check)(struct nvdp_context *ctx, const void *values);
};

/* Sets the defaults of all members that have a row, and all other members to zero. */
void nvdp__schema_default(const struct nvdp__schema *schema, void *values);
/* Checks the values, then calls schema->check. Fails with NVDP_ERR_ARGUMENT for the first number out of range or
 * missing string; the message has key, range and value. */
nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values);
/* Fails with NVDP_ERR_ARGUMENT if a string to be saved is not UTF-8, because JSON cannot hold it. */
nvdp_status nvdp__schema_check_texts(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                     const void *values);
/* Returns every saved option as an object in the form of files; NULL if memory is exhausted. */
json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values);
/* Reads options from `object` of the file `path`. Options that are missing in the object keep their values; unknown
 * keys are ignored. The object still owns the strings. Returns NVDP_ERR_INPUT on failure. */
nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values);

/* Splits a list into the items that NVDP_OPTION_LIST joined; NULL has no items. The list is one block, which the
 * caller frees with free(). */
nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count);

/* A row and its place in files. */
enum { NVDP__KEY_SIZE = 64 };
struct nvdp__place {
    const struct nvdp_option *row;
    const char *parent;       /* object that contains the key; NULL for the outermost object */
    const char *group;        /* heading in the help; NULL for the heading of the previous option */
    char key[NVDP__KEY_SIZE]; /* key within the parent */
    size_t offset;            /* offset in the whole struct */
};
/* Finds the i-th row. Returns false after the last row. */
bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place);

/* A file of options that is part of the library. */
struct nvdp__preset {
    const char *name, *text;
};
extern const struct nvdp__preset nvdp__presets[];  /* ended by a row without a name */
extern const struct nvdp__preset nvdp__policies[]; /* the policies of gates, in the same form */

/* --- configurations: config.c --- */

/* A kind of work of nvdp_config_create(). */
enum { NVDP__CONFIG_PARTS = 5 };
struct nvdp__kind {
    const char *name; /* such as "text-privacy" */
    /* schemas whose options are joined; ended by NULL */
    const struct nvdp__schema *part[NVDP__CONFIG_PARTS];
};
#define KIND(name) extern const struct nvdp__kind nvdp__kind_##name;
#include "options/kinds.inc"
#undef KIND
extern const struct nvdp__kind *const nvdp__kinds[]; /* ended by NULL */

/* Creates a configuration of one schema; schema NULL gives a configuration without options. */
nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out);
/* Moves all options of `other` to `config`, after the options of `config`, and frees `other`, also on error. An
 * option that is in both takes the value from `config`, and later settings apply to both kinds of work. Fails with
 * NVDP_ERR_ARGUMENT for more than NVDP__CONFIG_PARTS schemas. */
nvdp_status nvdp__config_join(struct nvdp_config *config, struct nvdp_config *other);
/* Fills the plain struct `values` of the schema from a configuration of this kind, and sets the context's number of
 * threads to the option `threads`. The strings in `values` live as long as the configuration. */
nvdp_status nvdp__config_values(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp__schema *schema, void *values);
/* Calls nvdp__config_values() and checks the values. */
nvdp_status nvdp__config_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                              const struct nvdp__schema *schema, void *values);
/* Rewrites the message of a failure (NVDP_ERR_ARGUMENT) to which a preset contributed: the message names the option
 * that the preset sets and the given option that conflicts with it. Returns `status`. */
nvdp_status nvdp__config_blame(const struct nvdp_config *config, nvdp_status status);
/* Continues earlier work, whose options are `values`. Given options that affect no result replace the earlier
 * options. Fails with NVDP_ERR_ARGUMENT if a given option that affects the result differs. */
nvdp_status nvdp__config_continue(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  const struct nvdp__schema *schema, void *values);
/* Takes over values that the library resolved: "auto", or 0 for the encoder's value. */
nvdp_status nvdp__config_take(struct nvdp_config *config, const struct nvdp__schema *schema,
                              const void *values);

/* --- results --- */

/* Fails with NVDP_ERR_ARGUMENT if the caller did not set the size of the struct. To be called before the work
 * begins. */
nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out);
/* Copies `result`, of the type of *out, up to the size of the caller's struct. Returns NVDP_OK. */
nvdp_status nvdp__give(void *out, const void *result, size_t size);
#define NVDP__GIVE(out, result) nvdp__give(out, result, sizeof *(result))

/* ---- one option (schema.c): parsing a value from text and from JSON, and formatting it ---- */

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
/* Compares two names; '_' and '-' are equal. */
bool nvdp__option_same(const char *name, const char *given);
/* Sets the row's key in files: the key that the row sets, or the name with '_' in place of '-'. */
void nvdp__option_key(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]);
/* Returns the size of a value: the row's size if the row fills a struct. */
size_t nvdp__option_width(const struct nvdp_option *row);
/* Returns the default; if the row has no default, returns the zero of the type. */
union nvdp__value nvdp__option_default(const struct nvdp_option *row);
union nvdp__value nvdp__option_at(const struct nvdp_option *row, const void *at);

/* Parses `text`. Returns false if `text` is not a valid value. */
bool nvdp__option_parse(const struct nvdp_option *row, const char *text, union nvdp__value *value);
/* A description of valid values, for messages. */
struct nvdp__expected {
    char text[512];
};
/* Describes the valid values; choices are joined by `separator`. */
struct nvdp__expected nvdp__option_expected(const struct nvdp_option *row, const char *separator);
/* Checks the range. `prefix` precedes the message: the file that has the value; NULL if there is none. */
nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value);
/* Formats numbers with the smallest number of digits that restores the same bits. */
const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_TEXT]);

/* Returns the first option, in the order of the configuration, that is in `names` and was given under its own name;
 * NULL if there is none. `names` ends with NULL. */
const char *nvdp__config_given(const struct nvdp_config *config, const char *const *names);

/* Checks that a value in a file is valid for the row. `status` is returned on failure. */
nvdp_status nvdp__option_check_json(struct nvdp_context *ctx, nvdp_status status, const char *path,
                                    const char *key, const struct nvdp_option *row,
                                    const json_t *value);
/* Returns the value as text, in the form of the command line. If `list`, a single string is one item, even if it
 * contains commas. Returns NULL if memory is exhausted. */
char *nvdp__option_text(const json_t *value, bool list);
const char *nvdp__json_type(const json_t *value); /* returns for example "a number" */

#endif
