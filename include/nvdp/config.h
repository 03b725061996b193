/** @file config.h
 * Options by name: one configuration object for every kind of work.
 *
 * nvdp_config_create() makes a configuration with the defaults of a kind of work. nvdp_config_set() sets an option
 * from text, as on the command line of `nvdp`. The function that does the work takes the configuration.
 *
 *     struct nvdp_config *config = NULL;
 *     nvdp_config_create(ctx, "train", &config);
 *     nvdp_config_set(config, "task", "mrpc");
 *     nvdp_config_set(config, "lambda-g", "1e-3");
 *     nvdp_train(ctx, config, &result);
 *     nvdp_config_free(config);
 *
 * nvdp_config_count() and nvdp_config_option() list the options: name, type, unit, range, choices, default and help
 * text. In names, '_' is the same as '-'. Infinity is "inf". Every kind of work has the option "threads". If this
 * option is given, the context takes the number when the work begins.
 *
 * A program can add its own options (nvdp_config_add()). They are set, listed and loaded from files like the
 * library's options; the library itself ignores them.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_CONFIG_H
#define NVDP_CONFIG_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Initializer of a struct whose first member is its size, such as a result: `struct nvdp_scores scores =
 * NVDP_RESULT(struct nvdp_scores);` The library fills and reads a struct up to this size, so programs that were
 * compiled with an older header keep working. */
#ifdef __cplusplus
#define NVDP_RESULT(type)                                                                          \
    { sizeof(type) }
#else
#define NVDP_RESULT(type)                                                                          \
    { .struct_size = sizeof(type) }
#endif

/** Type of an option's value. */
enum nvdp_option_type {
    NVDP_OPTION_FLAG,    /**< "true" or "false"; bool */
    NVDP_OPTION_INTEGER, /**< an integer >= 0; size_t or int */
    NVDP_OPTION_SEED,    /**< an integer from 0 to 2^64-1; uint64_t */
    NVDP_OPTION_REAL,    /**< a number, "inf" or "-inf"; double */
    NVDP_OPTION_TEXT,    /**< any text, or none; const char * */
    /** Strings joined by commas, or none. A comma within a string is written "\,"; const char *. */
    NVDP_OPTION_LIST,
    NVDP_OPTION_CHOICE /**< one of `choices`; an enum, the index of the choice */
};

/** Flags of `traits`. */
enum nvdp_option_trait {
    /** No result depends on the option, such as a name of an output or an interval of saving. Options without this
     * trait affect results. */
    NVDP_TRAIT_NO_EFFECT = 1,
    NVDP_TRAIT_BOTTLENECK = 2,  /**< the option applies only to models with a bottleneck */
    NVDP_TRAIT_REQUIRED = 4,    /**< the option must be set */
    NVDP_TRAIT_POSITIONAL = 8,  /**< an argument without a name on the command line */
    NVDP_TRAIT_HIDDEN = 16,     /**< a synonym that help leaves out */
    NVDP_TRAIT_NO_DEFAULT = 32, /**< help does not show the default */
    NVDP_TRAIT_NEGATIVE = 64,   /**< negative numbers are accepted too, and mean "none" */
    NVDP_TRAIT_UNSAVED = 128,   /**< the option is about a single call, so files leave it out */
    NVDP_TRAIT_PRESET = 256,    /**< a preset: values for the options that are not set */
    NVDP_TRAIT_BASIC = 512      /**< most uses need the option, so short help lists it */
};

/** One option: a row of the library's tables or of a program's own. */
struct nvdp_option {
    const char *name;           /**< as on the command line: "lambda-g"; NULL ends a table */
    enum nvdp_option_type type; /**< type of the value */
    const char *placeholder;    /**< name of the value in help: "X", "DIR"; NULL for flags */
    const char *help;           /**< help text, one line */
    /** Default as text. NULL means false, 0, the first choice or no text. In a row that a program adds, NULL means the
     * value in the program's struct. */
    const char *default_value;
    const char *unit;           /**< "nats", "tokens", "s", ..., or NULL */
    double min;                 /**< minimum of a number */
    double max;                 /**< maximum; if min and max are 0, the type sets the range */
    const char *const *choices; /**< names, terminated by NULL; NULL for other types */
    const char *group;          /**< heading in help; NULL for the heading of the previous option */
    /** For a row that a program adds: the option after which the row is listed; NULL for the end of the list. */
    const char *after;
    unsigned traits; /**< flags of enum nvdp_option_trait */
    /** For a synonym: the options that receive the value, terminated by NULL; NULL if the option is no synonym. */
    const char *const *sets;
    const char *parent; /**< parent object in files; NULL for the top level */
    const char *key;    /**< key in files; NULL for the name with '_' in place of '-' */
    size_t offset;      /**< offset of the value in the options struct */
    size_t width;       /**< size of the value in bytes; 0 if no options struct has the value */
};
/** Sets `offset` and `width` of a row for `member` of struct `type`. */
#define NVDP_OPTION_AT(type, member)                                                               \
    .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)

/** Options with their values; opaque. */
struct nvdp_config;

/** Creates a configuration with the options of a kind of work and their defaults.
 *
 *     train, pretrain           nvdp_train(), nvdp_pretrain()
 *     mlm                       nvdp_mlm_evaluate()
 *     run                       nvdp_run_posteriors()
 *     evaluate, predict         nvdp_evaluate(); nvdp_predict(), nvdp_predict_texts()
 *     encoder, encode           nvdp_encoder_load(), nvdp_encode()
 *     privacy                   nvdp_privacy_measure(), nvdp_renyi_pairs(), nvdp_certify()
 *     sanitizer, sanitize       nvdp_sanitizer_create(), nvdp_sanitize()
 *     text-privacy              nvdp_text_privacy()
 *     token-texts               the texts that nvdp_analyse() reads
 *     attack                    nvdp_attack()
 *     export, reuse             nvdp_export(), nvdp_reuse()
 *     gate                      nvdp_gate()
 *
 * Several kinds, joined by commas, share one configuration: "run,privacy". If two kinds have the same option, the
 * option has the default of the first kind, and setting the option sets it for both kinds.
 * @param ctx   records messages; outlives the configuration
 * @param kinds the names, with '-' or '_'; NULL to start without options, for nvdp_config_add()
 * @param out   the configuration, freed with nvdp_config_free()
 * @return NVDP_ERR_ARGUMENT for an unknown kind, or for more than five tables of options; NVDP_ERR_MEMORY */
nvdp_status nvdp_config_create(struct nvdp_context *ctx, const char *kinds,
                               struct nvdp_config **out);

/** Copies a configuration, without options that a program added.
 * @param config the original
 * @param out    the copy, freed with nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_config_copy(const struct nvdp_config *config, struct nvdp_config **out);

/** Frees a configuration and the strings that it returned.
 * @param config may be NULL */
void nvdp_config_free(struct nvdp_config *config);

/** Adds a program's own options.
 * @param config   copies the rows; the program remains the owner of the strings that the rows point to
 * @param rows     the options, terminated by a row without a name
 * @param row_size sizeof *rows
 * @param values   the struct that the rows' offsets refer to. A row without a default takes its default from this
 *                 struct. nvdp_config_set() updates the struct; the configuration owns the strings in it
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT for a row that contradicts itself */
nvdp_status nvdp_config_add(struct nvdp_config *config, const struct nvdp_option *rows,
                            size_t row_size, void *values);

/** Sets an option. Defaults that depend on it change too, unless they were set: for example, method "reg" implies
 * dropout.
 *
 * Option "preset" takes the name of a preset (nvdp_preset()), or the path of a file as for nvdp_config_load(). A value
 * that contains '/' or ends with ".json" is a path. Options that are never set, before or after, have the preset's
 * values.
 * @param config unchanged on error
 * @param name   with '-' or '_'; a synonym such as "lambda" sets its options. If a synonym stands for one option, as
 *               "epsilon" for "eta", only one of the names may be set; a value from a file may be set again under
 *               either name
 * @param value  the value as text; NULL restores the default
 * @return NVDP_ERR_ARGUMENT for an unknown name, an invalid value, a value out of its range, or a second name of an
 *         option; for a preset's file as nvdp_config_load(); NVDP_ERR_MEMORY */
nvdp_status nvdp_config_set(struct nvdp_config *config, const char *name, const char *value);

/** Returns the current value as text. A number has the fewest digits that restore the same bits.
 * @param config not NULL
 * @param name   with '-' or '_'
 * @return valid until the next nvdp_config_set(), nvdp_config_load() or nvdp_config_free(); NULL for an unknown
 *         name, a text without a value, and a synonym whose options differ */
const char *nvdp_config_get(const struct nvdp_config *config, const char *name);

/** Returns true if the option was set, by nvdp_config_set() or a file.
 * @param config not NULL
 * @param name   with '-' or '_'; a synonym is set if one of its options is
 * @return false also for unknown names */
bool nvdp_config_is_set(const struct nvdp_config *config, const char *name);

/** Returns true if the option's value is from the preset, and was not set.
 * @param config not NULL
 * @param name   with '-' or '_'; for a synonym, all options must be from the preset
 * @return false also for unknown names */
bool nvdp_config_is_preset(const struct nvdp_config *config, const char *name);

/** Returns a preset of the library.
 * @param i    index, from 0
 * @param text receives the preset as a JSON object of options, whose "description" states the purpose; may be NULL
 * @return name of the preset, or NULL beyond the last preset */
const char *nvdp_preset(size_t i, const char **text);

/** Sets options from a file: a JSON object such as {"seed": 1, "lambda-g": 1e-3}, or the output of
 * nvdp_config_json(). Skips the key "description".
 * @param config on error, options before the invalid one are set
 * @param path   the file
 * @return NVDP_ERR_IO if it cannot be read; NVDP_ERR_INPUT if it is not a JSON object; NVDP_ERR_ARGUMENT, whose
 *         message names file and key, for an unknown key or an invalid value */
nvdp_status nvdp_config_load(struct nvdp_config *config, const char *path);

/** Sets options from a JSON object in memory, as nvdp_config_load() does from a file.
 * @param config on error, options before the invalid one are set
 * @param source origin of the text, for messages
 * @param text   a JSON object
 * @return as nvdp_config_load() */
nvdp_status nvdp_config_load_text(struct nvdp_config *config, const char *source, const char *text);

/** Checks for errors that the work would report before it begins: missing options, and options that exclude each
 * other.
 * @param config not NULL
 * @return NVDP_ERR_ARGUMENT, whose message names the option */
nvdp_status nvdp_config_check(const struct nvdp_config *config);

/** Writes the library's options and their values as one JSON object, like "config" in run.json (docs/formats.md).
 * @param config not NULL
 * @param out    the text, which the caller frees with free()
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT, whose message names the option, for a text that is not UTF-8 */
nvdp_status nvdp_config_json(const struct nvdp_config *config, char **out);

/** Returns the number of options, including synonyms and the options that a program added.
 * @param config not NULL
 * @return 0 for a configuration without options */
size_t nvdp_config_count(const struct nvdp_config *config);

/** Returns one option. Later versions of the library may append members to the struct.
 * @param config not NULL
 * @param i      from 0 to nvdp_config_count() - 1, in the order of help
 * @return owned by the configuration, valid until nvdp_config_add() or nvdp_config_free(); NULL beyond the last */
const struct nvdp_option *nvdp_config_option(const struct nvdp_config *config, size_t i);

NVDP_END_DECLS
#endif
