/* What the subcommands share: the invocation, the context, exit codes, messages. */
#ifndef NVDP_SRC_CLI_COMMON_H
#define NVDP_SRC_CLI_COMMON_H

#include "base/json.h"
#include "base/sentence.h"
#include "sweep/sweep.h"
#include <jansson.h>
#include <nvdp.h>

/* The program's exit codes; scripts rely on them. */
enum {
    CLI_SUCCESS = 0,
    CLI_FAILURE = 1,
    CLI_USAGE = 2,
    CLI_BAD_INPUT = 3,
    CLI_INTERRUPTED = 130,
};

extern const char *const cli_precisions[]; /* f32, bf16, int8 */
struct cli;

struct cli_command {
    const char *name;
    const char *summary; /* the line in nvdp --help */
    /* Positional arguments as shown in usage: "RUN", "[RUN]" where it may be missing, "[FILE...]"
     * where there may be many; NULL: none. */
    const char *args;
    const char *description; /* above the options in --help */
    const char *examples;    /* below them */
    /* Makes the configuration of the library's kind of work; NULL: none. */
    nvdp_status (*create)(struct nvdp_context *ctx, struct nvdp_config **out);
    nvdp_status (*more[2])(struct nvdp_context *ctx, struct nvdp_config **out); /* joined to it */
    const char *heading;               /* above options that have none */
    const struct nvdp_option *options; /* of its own; ends with a zeroed row; NULL: none */
    bool takes_precision, no_json;     /* of the common options */
    bool together;                     /* done by all processes that mpirun started */
    int (*run)(struct cli *cli);       /* returns the exit code */
};

/* Progress on stderr. */
struct cli_meter {
    bool terminal;
    bool drawn;         /* a bar is on the terminal's current line */
    int lines;          /* of a table drawn above the current line; 0: none */
    double last_update; /* seconds on a monotonic clock */
    bool told_eta;      /* a sweep's line had one */
};

/* One option given on the command line. */
struct cli_setting {
    const struct nvdp_option *option;
    const char *value;
};

struct cli_ranks; /* ranks.h */

/* One invocation. */
struct cli {
    const struct cli_command *command;
    char *name; /* "nvdp train": before every message */
    int argc;
    char **argv;
    struct nvdp_config *config; /* all options */
    struct cli_setting *setting;
    size_t settings;
    int code; /* of a fault found while reading the command line */
    /* common options */
    bool quiet;
    bool json;
    enum nvdp_precision precision;
    /* positional arguments */
    int args;
    char **arg;
    struct nvdp_context *ctx;
    struct cli_meter meter;
    json_t *told;            /* notes and warnings: none is printed twice */
    struct cli_ranks *ranks; /* NULL: this process is alone */
};

/* Reads the options into *values (which holds the defaults), then makes the context. Returns
 * CLI_SUCCESS or the code to exit with, the message printed. */
int cli_begin(struct cli *cli, void *values);
void cli_end(struct cli *cli);

/* "nvdp train: message" and, on the next line, where to read more; returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a message and returns `code`. */
int cli_error(struct cli *cli, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the context's message and returns the exit code that stands for `status`. */
int cli_fail(struct cli *cli, nvdp_status status);
/* Return from the subcommand where a code is one to exit with, or a call of the library failed. */
#define CLI_TRY(expression)                                                                        \
    do {                                                                                           \
        int code_ = (expression);                                                                  \
        if (code_ != CLI_SUCCESS) return code_;                                                    \
    } while (0)
#define CLI_DO(cli, expression)                                                                    \
    do {                                                                                           \
        nvdp_status status_ = (expression);                                                        \
        if (status_ != NVDP_OK) return cli_fail(cli, status_);                                     \
    } while (0)
/* What --cache and --no-cache mean: the option "cache" as given, else the usual folder
 * ($XDG_CACHE_HOME/nvdp, ~/.cache/nvdp) where there is one and it is wanted.  Returns CLI_SUCCESS or
 * CLI_USAGE. */
int cli_resolve_cache(struct cli *cli, bool no_cache);
/* The options in a folder's run.json; json_decref().  NULL: none of nvdp train's runs. */
json_t *cli_run_config(const char *directory);
/* Refuses where not exactly one of a file of posteriors and a run is given, or options of a run with a file. */
int cli_check_source(struct cli *cli, const char *path);
/* Of the file, or where `path` is NULL of the run that is the one argument. */
int cli_posteriors(struct cli *cli, const char *path, struct nvdp_posteriors **posteriors);
/* Prints a text, which is freed.  CLI_FAILURE, with a message: it cannot be written. */
int cli_put(char *text);
/* nvdp_write_fn() for a stream. */
bool cli_write(const char *text, size_t size, void *stream);
/* Prints the first line about a run's privacy (nvdp/guarantee.h), and the proven guess bounds if there are any.  Prints nothing
 * for a folder without such records. */
void cli_print_guarantee(struct cli *cli, const char *run);
/* The same line as a JSON string; null for a folder without such records. */
json_t *cli_guarantee_json(struct cli *cli, const char *run);
/* What is proven of the run's mechanism; config: of nvdp_privacy_config_create(). */
int cli_certificate(struct cli *cli, const struct nvdp_config *config,
                    struct nvdp_certificate *certificate);
/* A first signal of this kind asks the work to stop. */
void cli_catch(int number);
/* Whether SIGINT or SIGTERM arrived. */
bool cli_interrupted(void);

/* --- options.c ---
 * Options of a subcommand: the library's for its kind of work and its own, as one configuration
 * (nvdp/config.h), filled from the command line by argp and from --config FILE.json.
 *
 * To port a subcommand to a kind of work of the library: name the constructor in its struct
 * cli_command (`.create = nvdp_train_config_create`), move the library's rows from its table to the
 * library's, and pass cli->config to the function that does the work.  Rows that stay name with
 * `.after` the option that they stand behind in --help. */

/* Makes cli->config: the command's options with `values` behind its own rows; reads cli->argv and
 * the files it names.  The files' values come first, so that flags win. */
int cli_parse(struct cli *cli, void *values);
/* The first half of that: cli->config, of the command's own options and the common ones. */
int cli_make_options(struct cli *cli, void *values);
/* Whether the option was given, on the command line or in a file. */
bool cli_given(const struct cli *cli, const char *name);
/* The first option that was given and is in `names` (`among`) or is not (else); NULL: none.  Common
 * options do not count. */
const char *cli_given_one(const struct cli *cli, const char *const *names, bool among);
/* Refuses where an option that is needed is missing. */
int cli_need(struct cli *cli);

/* Shows a sweep's state: a table that stays in its place on a terminal, a line every half a minute
 * elsewhere. */
void cli_sweep_show(struct cli *cli, const struct sweep_state *state);

/* --- output.c --- */
void cli_meter_open(struct cli_meter *meter);
void cli_meter_show(struct cli_meter *meter, const struct cli *cli,
                    const struct nvdp_progress *progress);
/* Takes the bar, or the table, off the screen so that a message can stand there. */
void cli_meter_clear(struct cli_meter *meter);
/* "1:02:03", "2:03" */
enum { CLI_DURATION_ROOM = 32 };
void cli_duration(double seconds, char text[CLI_DURATION_ROOM]);

/* --- training.c --- */

/* How private a training was: its line and what it means; as a part of an object of --json.  Of a private one. */
void cli_training_print(const struct nvdp_training_privacy *training);
json_t *cli_training_json(const struct nvdp_training_privacy *training);
/* What it means alone. */
void cli_risk_print(const struct nvdp_account_risk *risk);
json_t *cli_risk_json(const struct nvdp_account_risk *risk);

/* Prints the one object of --json and releases it (NULL: out of memory); returns the exit code. */
int cli_print_json(struct cli *cli, json_t *object);
#define cli_number nvdp__json_known
/* Adds a result's keys (nvdp/result.h) to an object of --json and returns it; NULL, with the object released: they could not be
 * made. */
json_t *cli_add_result(struct cli *cli, json_t *object, const char *table, const char *view,
                       const void *result);
/* Prints a result's lines. */
void cli_print_result(struct cli *cli, const char *table, const void *result);
#define cli_row(...) nvdp__print_row(stdout, __VA_ARGS__)
/* Writes text and a line end beside `path`, then renames it into place. */
int cli_write_text(struct cli *cli, const char *path, const char *text);

extern const struct cli_command cli_command_pretrain, cli_command_train, cli_command_eval,
    cli_command_predict, cli_command_privacy, cli_command_sanitize, cli_command_export,
    cli_command_reuse, cli_command_sweep, cli_command_encode, cli_command_tokenize,
    cli_command_info, cli_command_bench, cli_command_report, cli_command_account,
    cli_command_attack, cli_command_audit, cli_command_verify, cli_command_explain,
    cli_command_manual;
extern const char cli_purpose[], cli_exit_codes[]; /* as --help and the man page tell them */
/* All, in the order of nvdp --help; NULL ends them. */
const struct cli_command *const *cli_commands(void);

/* ---- nvdp sanitize --analyse (analyse.c): what a mechanism does to a vocabulary, and what an attacker makes of it ---- */

enum cli_analysis {
    CLI_ANALYSE_NONE,
    CLI_ANALYSE_GEOMETRY,
    CLI_ANALYSE_DENIABILITY,
    CLI_ANALYSE_INVERSION,
    CLI_ANALYSE_MASK
};
extern const char *const cli_analyses[];
/* Of the command's configuration: prints a table, or JSON. */
int cli_analyse(struct cli *cli, enum cli_analysis which);

#endif
