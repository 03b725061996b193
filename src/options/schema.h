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
 *     and `nvdp_measure_config_create(ctx, out)`, which is nvdp__config_create() with this schema;
 *   - the function that does the work begins with nvdp__config_open(), which checks the values and
 *     fills the struct, and ends with NVDP__GIVE, which copies the result into the caller's.
 * A subcommand names the constructor in its struct cli_command and keeps only its own rows (src/cli/common.h). */
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

nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out);
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
/* Copies `result`, of type *out, up to the size of the caller's struct. */
void nvdp__give(void *out, const void *result, size_t size);
#define NVDP__GIVE(out, result) nvdp__give(out, result, sizeof *(result))

#endif
