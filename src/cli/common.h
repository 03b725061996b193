/* Declarations that the subcommands share: the invocation, exit codes, messages, options and output. Read struct
 * cli_command and struct cli first. main.c calls the subcommand; common.c, arguments.c and output.c implement the
 * functions below. */
#ifndef NVDP_SRC_CLI_COMMON_H
#define NVDP_SRC_CLI_COMMON_H

#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/result.h"
#include "base/sentence.h"
#include "sweep/sweep.h"
#include <jansson.h>
#include <nvdp.h>
#include <stdarg.h>

/* Exit codes of the program; scripts depend on them. */
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
    /* Positional arguments as usage shows them: "RUN"; "[RUN]" if optional; "[FILE...]" if repeatable; NULL if there
     * is none. */
    const char *args;
    const char *description; /* text above the options in --help */
    const char *examples;    /* text below the options */
    const char *kinds;       /* kinds of work for nvdp_config_create(), or NULL */
    const char *heading;     /* heading of options without a heading */
    /* The options of the command itself, ended by a zeroed row, or NULL. */
    const struct nvdp_option *options;
    bool takes_precision, no_json; /* whether common options apply */
    bool together;                 /* the command runs in all processes that mpirun started */
    int (*run)(struct cli *cli);   /* returns the exit code */
};

/* Progress on stderr. */
struct cli_meter {
    bool terminal;
    bool drawn;         /* a bar is on the terminal's current line */
    int lines;          /* lines of the table above the current line; 0 if there is none */
    double last_update; /* monotonic clock, in seconds */
    bool told_eta;      /* a sweep's line has shown an ETA */
};

/* One option given on the command line. */
struct cli_setting {
    const struct nvdp_option *option;
    const char *value;
};

struct cli_ranks; /* mpi.c or ranks_none.c */

/* One invocation. */
struct cli {
    const struct cli_command *command;
    char *name; /* prefix of messages: "nvdp train" */
    int argc;
    char **argv;
    struct nvdp_config *config; /* all options */
    struct cli_setting *setting;
    size_t settings;
    int code; /* exit code after an error on the command line */
    /* common options */
    bool quiet;
    bool json;
    enum nvdp_precision precision;
    /* positional arguments */
    int args;
    char **arg;
    struct nvdp_context *ctx;
    struct cli_meter meter;
    json_t *printed;         /* printed notes and warnings, so that each is printed once */
    struct cli_ranks *ranks; /* NULL if this process is alone */
};

/* Creates the context, reads the options into *values (which has the defaults) and prepares signals and progress.
 * Returns CLI_SUCCESS, or the exit code after printing a message. */
int cli_begin(struct cli *cli, void *values);
void cli_end(struct cli *cli);

/* Prints "nvdp train: message" and a line that mentions --help. Returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a message and returns `code`. */
int cli_error(struct cli *cli, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the context's message. Returns the exit code for `status`. */
int cli_fail(struct cli *cli, nvdp_status status);
/* Return from the subcommand if the code is not CLI_SUCCESS, or if a library call failed. */
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
/* Sets the option "cache" to the usual folder ($XDG_CACHE_HOME/nvdp or ~/.cache/nvdp), if there is one, unless --cache
 * or --no-cache was given. Returns CLI_SUCCESS or CLI_USAGE. */
int cli_resolve_cache(struct cli *cli, bool no_cache);
/* Copies the options in `names`, which ends with NULL, to another configuration. With `given`, copies only options that
 * were given. */
nvdp_status cli_copy_options(const struct cli *cli, const char *const *names, bool given,
                             struct nvdp_config *to);
/* Returns the options in a folder's run.json, which the caller releases with json_decref(). Returns NULL if the folder
 * is not a run of nvdp train. */
json_t *cli_run_config(const char *directory);
/* Prints the result's table `name`. With --json, adds the keys of the table to the object, whose ownership it takes,
 * and prints the object. Returns the exit code. */
int cli_show(struct cli *cli, json_t *object, const char *name, const void *result);
/* Prints a text and frees it. Returns CLI_FAILURE if it cannot be written. */
int cli_put(char *text);
/* Prints the first line about a run's privacy (nvdp/guarantee.h), and the proven guess bounds if there are any. Prints
 * nothing for a folder without such records. */
void cli_print_guarantee(struct cli *cli, const char *run);
/* Returns the line of cli_print_guarantee() as a JSON string, or null for a folder without such records. */
json_t *cli_guarantee_json(struct cli *cli, const char *run);
/* Makes the first signal of this number, or, with `always`, every signal of this number, request a stop. */
void cli_catch(int number, bool always);
/* Returns true after SIGINT or SIGTERM. */
bool cli_interrupted(void);
/* Returns the path of a file of the user; the path of standard input for "-". */
const char *cli_file(const char *name);

/* --- arguments.c ---
 * A subcommand has the library's options for a kind of work, and options of the command itself, in one configuration
 * (nvdp/config.h). argp fills the configuration from the command line; --config FILE.json adds values from files.
 *
 * To use a kind of work of the library in a subcommand, set the kind in its struct cli_command (`.kinds = "train"`),
 * move the library's rows from the command's table to the library's table, and pass cli->config to the function that
 * does the work. In the rows of the command, `.after` is the preceding option in --help. */

/* Creates cli->config, in which the command's rows store into `values`. Reads cli->argv and the files of --config.
 * Options on the command line override files. */
int cli_parse(struct cli *cli, void *values);
/* Creates cli->config without reading the command line. */
int cli_make_options(struct cli *cli, void *values);
/* Returns true if the option was given on the command line or in a file. */
bool cli_given(const struct cli *cli, const char *name);
/* Returns the first given option that is in `names` (if `among` is set) or not in `names` (otherwise); NULL if there is
 * none. Ignores common options. */
const char *cli_given_one(const struct cli *cli, const char *const *names, bool among);
/* Fails if a required option is missing. */
int cli_need(struct cli *cli);

/* Shows a sweep's state: on a terminal, a table that is redrawn in place; otherwise, a line every half minute. `user`
 * is the invocation. */
void cli_sweep_show(const struct sweep_state *state, void *user);

/* --- streams.c --- */

/* Makes stdout and stderr show untrusted text. Returns false if memory is short. */
bool cli_streams_open(void);
/* Prints control sequences on stderr. */
__attribute__((format(printf, 1, 2))) void cli_control(const char *format, ...);
/* Implements nvdp_write_fn() for data on stdout. Writes data unchanged, except on a terminal. */
bool cli_write(const char *text, size_t size, void *stream);

/* --- output.c --- */
void cli_meter_open(struct cli_meter *meter);
void cli_meter_show(struct cli_meter *meter, const struct cli *cli,
                    const struct nvdp_progress *progress);
/* Removes the bar or the table from the screen before a message is printed. */
void cli_meter_clear(struct cli_meter *meter);
/* Formats a duration: "1:02:03", "2:03". */
enum { CLI_DURATION_ROOM = 32 };
void cli_duration(double seconds, char text[CLI_DURATION_ROOM]);

/* --- privacy of training texts --- */

/* Print the privacy of a private training and its consequences, as lines or as part of a --json object. */
void cli_training_print(const struct nvdp_training_privacy *training);
/* Ends the output of a training: prints the privacy of `out` if the training was private. With --json, adds the privacy
 * to the object and prints the object. Returns the exit code. */
int cli_end_training(struct cli *cli, const char *out, json_t *object);

/* Prints the --json object, which is NULL if memory is short, and releases it. Returns the exit code. */
int cli_print_json(struct cli *cli, json_t *object);
#define cli_number nvdp__json_known
/* Adds the keys of a result to a --json object, as nvdp__result_put() does, by the name of a table of the library. */
#define cli_add_result(object, name, view, result)                                                 \
    nvdp__result_put(object, nvdp_result_table_find(name), view, result)
/* Prints a result's lines. */
#define cli_print_table(table, result) nvdp__result_print(table, result, stdout)
#define cli_print_result(name, result) cli_print_table(nvdp_result_table_find(name), result)
#define cli_row(...) nvdp__print_row(stdout, __VA_ARGS__)

extern const struct cli_command cli_command_pretrain, cli_command_train, cli_command_eval,
    cli_command_predict, cli_command_privacy, cli_command_sanitize, cli_command_export,
    cli_command_summarize, cli_command_reuse, cli_command_sweep, cli_command_encode,
    cli_command_tokenize, cli_command_info, cli_command_bench, cli_command_report,
    cli_command_account, cli_command_attack, cli_command_audit, cli_command_verify,
    cli_command_explain, cli_command_search, cli_command_gate, cli_command_manual;
extern const char cli_purpose[], cli_exit_codes[]; /* texts of --help and the man page */
extern const struct cli_command
    *const cli_commands[]; /* in the order of nvdp --help, ended by NULL */

/* --- sanitize.c --- */

extern const char *const cli_analyses[]; /* names of analyses; the first is "none", the last NULL */
/* Does nvdp sanitize --analyse: analyzes with the configuration of the command, and prints tables or JSON. */
int cli_analyse(struct cli *cli);

/* --- mpi.c or ranks_none.c --- */

/* Processes that mpirun started together for training. mpi.c implements this if the build has MPI; otherwise
 * ranks_none.c, in which every process is alone. */

/* Joins the other processes, if any, and sets the ranks of the context. Only rank 0 prints. */
int cli_ranks_begin(struct cli *cli);
/* Returns false if the message is withheld until it is known whether rank 0 has a message. */
bool cli_ranks_say(struct cli *cli, const char *format, va_list args);
/* Leaves the job and returns the exit code. Ends the other processes if they are still working. */
int cli_ranks_end(struct cli *cli, int code);
/* Fails if output could not be written, for example to a full disk, even after success. */
int cli_flush(const char *name, int code);

#endif
