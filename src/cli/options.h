/* Options: one table a subcommand, read by argp from the command line and by jansson from
 * --config FILE.json.  Both give settings (option, text); the files' are applied first, so that
 * flags win. */
#ifndef NVDP_CLI_OPTIONS_H
#define NVDP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct cli;

enum cli_kind {
    CLI_END,     /* a zeroed row ends a table */
    CLI_HEADING, /* `help` is a title in --help */
    CLI_FLAG,    /* bool */
    CLI_TEXT,    /* const char * */
    CLI_LIST,    /* const char *: repeated values, joined by commas */
    CLI_REAL,    /* double */
    CLI_SIZE,    /* size_t */
    CLI_INT,     /* int */
    CLI_SEED,    /* uint64_t */
    CLI_CHOICE,  /* an enum; `choices` names its values */
};

struct cli_choice {
    const char *name; /* NULL ends the list */
    int value;
};

struct cli_option {
    const char *name;
    const char *arg; /* what --help calls the value */
    const char *help;
    enum cli_kind kind;
    size_t offset; /* of the value in the subcommand's struct */
    const struct cli_choice *choices;
    size_t also;     /* of a second value set to the same, 0: none */
    bool no_default; /* --help does not print the value before parsing */
    bool hidden;     /* an alias that --help leaves out */
};

/* A row; after the offset may follow designated members. */
#define CLI_OPTION(name_, arg_, help_, kind_, ...)                                                 \
    { .name = (name_), .arg = (arg_), .help = (help_), .kind = (kind_), .offset = __VA_ARGS__ }

/* One option given, with its text and where it came from. */
struct cli_setting {
    const struct cli_option *option;
    char *value;
    const char *file; /* NULL: the command line */
};

struct cli_settings {
    struct cli_setting *item;
    size_t count;
    size_t capacity;
    char **file; /* the --config files, in order */
    size_t files;
};

/* Reads cli->argv and the files it names into *values and the common fields of *cli. */
int cli_parse(struct cli *cli, void *values);
/* Whether the option was given, on the command line or in a file. */
bool cli_given(const struct cli *cli, const char *name);
void cli_settings_release(struct cli_settings *settings);

/* --- config_file.c --- */
/* Appends the members of the JSON object in `path` as settings. */
int cli_config_read(struct cli *cli, const char *path);

/* --- options.c, for config_file.c --- */
/* Appends one setting; takes ownership of value (NULL: out of memory). */
int cli_setting_add(struct cli *cli, const struct cli_option *option, char *value,
                    const char *file);
/* The option called `name` in the subcommand's or the common table; '_' counts as '-'. */
const struct cli_option *cli_option_find(const struct cli *cli, const char *name);

#endif
