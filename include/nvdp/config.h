/** @file config.h
 * Options by name: one configuration object for every kind of work.
 *
 * A constructor per kind of work (nvdp_train_config_create() and its siblings) makes a configuration
 * that holds the defaults; nvdp_config_set() gives an option its value as text, as on the command
 * line of `nvdp`; the function that does the work takes the configuration.
 *
 *     struct nvdp_config *config = NULL;
 *     nvdp_train_config_create(ctx, &config);
 *     nvdp_config_set(config, "task", "mrpc");
 *     nvdp_config_set(config, "lambda-g", "1e-3");
 *     nvdp_train(ctx, config, &result);
 *     nvdp_config_free(config);
 *
 * Which options there are is asked with nvdp_config_count() and nvdp_config_option(): name, type,
 * unit, range, choices, default and help text.  In names '_' counts as '-'.  Infinity is "inf".
 *
 * A program can add options of its own (nvdp_config_add()); they are then set, listed and loaded
 * from files with the library's, which looks at none of them.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_CONFIG_H
#define NVDP_CONFIG_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Initialiser of a result struct, whose first member is its size:
 * `struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);`
 * The library fills as much of a result as the caller's struct has room for, so that a program
 * compiled against an older header goes on working. */
#ifdef __cplusplus
#define NVDP_RESULT(type)                                                                          \
    { sizeof(type) }
#else
#define NVDP_RESULT(type)                                                                          \
    { .struct_size = sizeof(type) }
#endif

/** What an option's value is. */
enum nvdp_option_type {
    NVDP_OPTION_FLAG,    /**< "true" or "false"; bool */
    NVDP_OPTION_INTEGER, /**< a whole number of at least 0; size_t or int */
    NVDP_OPTION_SEED,    /**< a whole number from 0 to 2^64-1; uint64_t */
    NVDP_OPTION_REAL,    /**< a number, "inf" or "-inf"; double */
    NVDP_OPTION_TEXT,    /**< any text, or none; const char * */
    NVDP_OPTION_LIST,    /**< texts joined by commas, or none; a comma within a text is
                              written "\,"; const char * */
    NVDP_OPTION_CHOICE   /**< one of `choices`; an enum, the choice's place in the list */
};

/** What else there is to say of an option; members of `traits`. */
enum nvdp_option_trait {
    NVDP_TRAIT_NO_EFFECT = 1,   /**< no result depends on it: names of outputs, intervals of saving.
                                     Options without this trait affect results. */
    NVDP_TRAIT_BOTTLENECK = 2,  /**< only models with a bottleneck have it */
    NVDP_TRAIT_REQUIRED = 4,    /**< the work cannot begin without it */
    NVDP_TRAIT_POSITIONAL = 8,  /**< a command line has it as an argument, without its name */
    NVDP_TRAIT_HIDDEN = 16,     /**< a synonym that help leaves out */
    NVDP_TRAIT_NO_DEFAULT = 32, /**< help does not tell its default */
    NVDP_TRAIT_NEGATIVE = 64,   /**< any negative number is taken too, and stands for "none" */
    NVDP_TRAIT_UNSAVED = 128,   /**< says how one call works, not what is done: not in files */
    NVDP_TRAIT_PRESET = 256     /**< names a preset: values for the options that are not given */
};

/** One option.  A row of the library's tables and of a program's own. */
struct nvdp_option {
    const char *name;           /**< as on the command line: "lambda-g"; NULL ends a table */
    enum nvdp_option_type type; /**< what its value is */
    const char *placeholder;    /**< what help calls the value: "X", "DIR"; NULL for flags */
    const char *help;           /**< a line for help */
    const char *default_value;  /**< as text; NULL: false, 0, the first choice, no text, or, in a
                                       program's own row, what its struct holds */
    const char *unit;           /**< "nats", "tokens", "s", ...; NULL: none */
    double min;                 /**< least value of a number */
    double max;                 /**< largest value; min and max both 0: all of the type's */
    const char *const *choices; /**< names, NULL at the end; NULL for other types */
    const char *group;          /**< heading in help; NULL: that of the option before */
    const char *after;          /**< program's own rows: the option to stand behind; NULL: last */
    unsigned traits;            /**< of enum nvdp_option_trait */
    const char *const *sets;    /**< a synonym's options, NULL at the end, to which its value is
                                       given; NULL: it has a value of its own */
    const char *parent;         /**< object in files in which it stands; NULL: the outermost */
    const char *key;            /**< its key in files; NULL: the name with '_' for '-' */
    size_t offset;              /**< of its value in the struct that it fills */
    size_t width;               /**< bytes of that value; 0: kept in the configuration only */
};
/** Members `offset` and `width` of a row that fills `member` of struct `type`. */
#define NVDP_OPTION_AT(type, member)                                                               \
    .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)

/** Options with their values; opaque. */
struct nvdp_config;

/** Makes a configuration without options, for nvdp_config_add().
 * @param ctx records messages; outlives the configuration.
 * @param out the configuration; nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Makes a configuration of the same kind with the same values; options that a program added are
 * left out.
 * @param config what is copied.
 * @param out the copy; nvdp_config_free().
 * @return NVDP_ERR_MEMORY. */
nvdp_status nvdp_config_copy(const struct nvdp_config *config, struct nvdp_config **out);

/** Moves all options of one configuration to another, for a program that does two kinds of work with
 * the same options.  An option that both have gets the value that `config` has, and is set in both
 * from then on.
 * @param config behind whose options the others stand.
 * @param other freed, on error too.
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT for more than five kinds of work. */
nvdp_status nvdp_config_join(struct nvdp_config *config, struct nvdp_config *other);

/** Releases a configuration and the texts that it gave out.
 * @param config NULL is allowed. */
void nvdp_config_free(struct nvdp_config *config);

/** Adds a program's own options.
 * @param config takes copies of the rows; the texts they point to stay the program's.
 * @param rows the options, a row without a name at the end.
 * @param row_size sizeof *rows.
 * @param values the struct that the rows' offsets are of; what it holds are the defaults of rows
 *     that tell none.  Kept up to date by nvdp_config_set(); texts stay the configuration's.
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT for a row that contradicts itself. */
nvdp_status nvdp_config_add(struct nvdp_config *config, const struct nvdp_option *rows,
                            size_t row_size, void *values);

/** Gives an option its value.  Defaults that follow from it (method "reg" implies dropout, for
 * example) change with it, as far as they were not given themselves.  Option "preset" takes the name
 * of a preset (nvdp_preset()), or the path of a file as nvdp_config_load() reads it, with a '/' or
 * ".json" at its end: options that are not given, before or after, have the preset's values.
 * @param config unchanged on error.
 * @param name with '-' or '_'; a synonym such as "lambda" sets its options.  Where it stands for one
 *     option, as "epsilon" for "eta", that is given under one of the names, not under both; what a
 *     file has may be given again under either.
 * @param value as text; NULL: back to the default.
 * @return NVDP_ERR_ARGUMENT for an unknown name, a text that is no such value, a value out of
 *     its range, or a second name of an option; of a preset's file what nvdp_config_load() returns; NVDP_ERR_MEMORY. */
nvdp_status nvdp_config_set(struct nvdp_config *config, const char *name, const char *value);

/** The present value as text: numbers in as few digits as give the same bits again.
 * @param config not NULL.
 * @param name with '-' or '_'.
 * @return valid until the next nvdp_config_set(), nvdp_config_load() or nvdp_config_free(); NULL
 *     for an unknown name, a text without a value, and a synonym whose options differ. */
const char *nvdp_config_get(const struct nvdp_config *config, const char *name);

/** Whether the option was given, by nvdp_config_set() or a file.
 * @param config not NULL.
 * @param name with '-' or '_'; a synonym is set where one of its options is.
 * @return false for unknown names too. */
bool nvdp_config_is_set(const struct nvdp_config *config, const char *name);

/** Whether the option's value is the preset's: it was not given itself.
 * @param config not NULL.
 * @param name with '-' or '_'; of a synonym all options must be the preset's.
 * @return false for unknown names too. */
bool nvdp_config_is_preset(const struct nvdp_config *config, const char *name);

/** The presets that come with the library.
 * @param i from 0.
 * @param text the preset as a JSON object of options, in which "description" tells its purpose; NULL:
 *     not wanted.
 * @return its name; NULL beyond the last. */
const char *nvdp_preset(size_t i, const char **text);

/** Gives options the values of a file: a JSON object such as {"seed": 1, "lambda-g": 1e-3}.  What
 * nvdp_config_json() writes is read as well.  A text "description" is passed over.
 * @param config options before the faulty one are set on error.
 * @param path the file.
 * @return NVDP_ERR_IO where it cannot be read; NVDP_ERR_INPUT where it is no JSON object;
 *     NVDP_ERR_ARGUMENT, naming file and key, for an unknown key or a value that does not fit. */
nvdp_status nvdp_config_load(struct nvdp_config *config, const char *path);

/** Gives options the values of a JSON object, as nvdp_config_load() those of a file.
 * @param config options before the faulty one are set on error.
 * @param source where the text is from, for messages.
 * @param text a JSON object.
 * @return as nvdp_config_load(). */
nvdp_status nvdp_config_load_text(struct nvdp_config *config, const char *source, const char *text);

/** What the work would refuse before it begins: options that are missing or do not go together.
 * @param config not NULL.
 * @return NVDP_ERR_ARGUMENT, naming the option. */
nvdp_status nvdp_config_check(const struct nvdp_config *config);

/** The library's options and their values as one JSON object, in the form of run.json's "config"
 * (docs/formats.md).
 * @param config not NULL.
 * @param out the text; free().
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT, naming the option, for a text that is not UTF-8. */
nvdp_status nvdp_config_json(const struct nvdp_config *config, char **out);

/** The number of options, synonyms and a program's own included.
 * @param config not NULL.
 * @return 0 for a configuration without options. */
size_t nvdp_config_count(const struct nvdp_config *config);

/** One option.  Later versions of the library may append members to the struct.
 * @param config not NULL.
 * @param i from 0 to nvdp_config_count() - 1, in the order of help.
 * @return owned by the configuration, valid until nvdp_config_add() or nvdp_config_free(); NULL
 *     beyond the last. */
const struct nvdp_option *nvdp_config_option(const struct nvdp_config *config, size_t i);

NVDP_END_DECLS
#endif
