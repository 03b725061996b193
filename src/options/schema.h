/* Options: tables of rows (include/nvdp/config.h), and what follows from them.
 *
 * A row tells one option: name, type, help, default, unit, range, choices, and which member of a
 * plain struct it fills.  From the rows come the struct's defaults and checks, help, files, and the
 * public configuration; the code that does the work reads the struct.
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
 *     gives out the struct, and ends with NVDP__GIVE, which copies the result into the caller's.
 * A subcommand names the constructor in its struct cli_command and keeps only the rows that are its
 * own (src/cli/common.h). */
#ifndef NVDP_SRC_OPTIONS_SCHEMA_H
#define NVDP_SRC_OPTIONS_SCHEMA_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/config.h>

/* Rows, and where the struct that they fill lies in the whole one. */
struct nvdp__section {
    const struct nvdp_option *row; /* a row without a name ends them */
    size_t offset;
    const char *parent; /* of rows that name none; NULL: none */
    const char *group;  /* heading above the first row, if that names none; NULL: none */
};

/* A default that follows from another option: where `when` is `is` (NULL: anything but its default),
 * `option` is `value`, unless it was given itself. */
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
    /* What no range can say; NULL: nothing.  NVDP_ERR_ARGUMENT. */
    nvdp_status (*check)(struct nvdp_context *ctx, const void *values);
};

/* Defaults of all members that have a row; the others are zero. */
void nvdp__schema_default(const struct nvdp__schema *schema, void *values);
/* NVDP_ERR_ARGUMENT, naming key, range and value, for the first number out of its range or text
 * that is missing; then schema->check. */
nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values);
/* NVDP_ERR_ARGUMENT for a text to be saved that JSON cannot hold: one that is not UTF-8. */
nvdp_status nvdp__schema_check_texts(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                     const void *values);
/* Every option that is saved, as files have it; NULL: out of memory. */
json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values);
/* The reverse, from `object` of the file `path`: what it does not name keeps its value, keys that
 * are no options are passed over.  Texts stay owned by the object.  NVDP_ERR_INPUT. */
nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values);

/* The items of a list, as NVDP_OPTION_LIST joins them; of NULL none.  One block for free(). */
nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count);

/* An option's row and its place in files. */
enum { NVDP__KEY_SIZE = 64 };
struct nvdp__place {
    const struct nvdp_option *row;
    const char *parent;       /* NULL: the outermost object */
    const char *group;        /* heading in help; NULL: that of the option before */
    char key[NVDP__KEY_SIZE]; /* in it */
    size_t offset;            /* in the whole struct */
};
/* The i-th row; false beyond the last. */
bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place);

/* A file of options that comes with the library. */
struct nvdp__preset {
    const char *name, *text;
};
extern const struct nvdp__preset nvdp__presets[]; /* ends with a row without a name */

/* --- configurations: config.c --- */

nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out);
/* Fills the schema's plain struct `values` from a configuration of this kind, and gives the context the `threads` that were
 * asked for.  Its texts live as long as the configuration. */
nvdp_status nvdp__config_values(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp__schema *schema, void *values);
/* The same, checked. */
nvdp_status nvdp__config_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                              const struct nvdp__schema *schema, void *values);
/* A fault that the preset has a part in (status NVDP_ERR_ARGUMENT, its message recorded) is told as the preset's: what
 * it sets, and which option that was given does not go with it.  Returns `status`. */
nvdp_status nvdp__config_blame(const struct nvdp_config *config, nvdp_status status);
/* For work that was begun earlier: `values` are the options it was begun with.  What is given and
 * affects no result replaces them; what affects the result and differs is NVDP_ERR_ARGUMENT. */
nvdp_status nvdp__config_continue(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  const struct nvdp__schema *schema, void *values);
/* Takes over what the library resolved: "auto", 0 for the encoder's. */
nvdp_status nvdp__config_take(struct nvdp_config *config, const struct nvdp__schema *schema,
                              const void *values);

/* --- results --- */

/* NVDP_ERR_ARGUMENT where the caller's result does not tell its size: before the work begins. */
nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out);
/* Copies `result`, whose type is *out's, as far as the caller's struct reaches. */
void nvdp__give(void *out, const void *result, size_t size);
#define NVDP__GIVE(out, result) nvdp__give(out, result, sizeof *(result))

#endif
