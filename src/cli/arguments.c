/* Options of a subcommand: common options, given values, help, and parsing by argp. cli_parse() at the end is the entry
 * point. */
#include "common.h"

#include "base/file.h"
#include "base/sentence.h"
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command with more options than LIST_LIMIT has a short help of the basic options. */
enum { FIRST_KEY = 0x1000, HELP_KEY = 0x800, USAGE_KEY, LIST_LIMIT = 32 };

static const struct nvdp_option common_options[] = {
    {"precision", NVDP_OPTION_CHOICE, "P",
     "precision of matrix products: f32, bf16, or int8 (encoder only)",
     NVDP_OPTION_AT(struct cli, precision), .choices = cli_precisions, .group = "Common options:"},
    /* Left out if the library's kind of work has this option. */
    {"threads", NVDP_OPTION_INTEGER, "N", "number of threads (default: all processors)", .min = 1,
     .max = 1024,
     .group = "Common options:", .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_NO_DEFAULT},
    {"quiet", NVDP_OPTION_FLAG, NULL,
     "print no progress and no notes to stderr, only warnings and errors",
     .group = "Common options:", .traits = NVDP_TRAIT_NO_EFFECT, NVDP_OPTION_AT(struct cli, quiet)},
    {"json", NVDP_OPTION_FLAG, NULL, "print one JSON object in place of tables",
     .traits = NVDP_TRAIT_NO_EFFECT, NVDP_OPTION_AT(struct cli, json)},
    {"config", NVDP_OPTION_LIST, "FILE.json",
     "read options from this JSON file, such as {\"seed\": 1}; options on the command line take "
     "precedence",
     .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_NO_DEFAULT | NVDP_TRAIT_UNSAVED},
    {0},
};

static bool is_common(const char *name) {
    for (const struct nvdp_option *row = common_options; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0) return true;
    return false;
}

bool cli_given(const struct cli *cli, const char *name) {
    return nvdp_config_is_set(cli->config, name);
}

const char *cli_given_one(const struct cli *cli, const char *const *names, bool among) {
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        const char *name = option->name;
        const char *const *known = names;
        /* a second name of an option. */
        if (option->sets != NULL && option->sets[1] == NULL) continue;
        if (is_common(name) || !cli_given(cli, name)) continue;
        while (*known != NULL && strcmp(*known, name) != 0)
            known++;
        if ((*known != NULL) == among) return name;
    }
    return NULL;
}

/* Returns the length of the first clause: up to a semicolon outside parentheses. */
static size_t clause(const char *text) {
    int depth = 0;
    size_t length = 0;
    for (; text[length] != '\0' && (depth > 0 || text[length] != ';'); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

int cli_need(struct cli *cli) {
    const unsigned named = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL;
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & named) != NVDP_TRAIT_REQUIRED) continue;
        if (nvdp_config_get(cli->config, option->name) == NULL)
            return cli_usage(cli, "option --%s is needed: %.*s", option->name,
                             (int)clause(option->help), option->help);
    }
    return CLI_SUCCESS;
}

/* --- given values --- */

/* Reports an invalid option as a usage error, which mentions --help. */
static int refuse(struct cli *cli, nvdp_status status) {
    if (status == NVDP_OK) return CLI_SUCCESS;
    if (status == NVDP_ERR_ARGUMENT) return cli_usage(cli, "%s", nvdp_context_error(cli->ctx));
    if (status == NVDP_ERR_IO)
        return cli_error(cli, CLI_FAILURE, "%s", nvdp_context_error(cli->ctx));
    return cli_fail(cli, status);
}

/* Sets an option. Joins the values of a list by commas. */
static int set(struct cli *cli, const struct cli_setting *setting) {
    nvdp__autofree char *joined = NULL;
    size_t size = 0;
    if (setting->option->type == NVDP_OPTION_LIST) {
        FILE *list = open_memstream(&joined, &size);
        if (list == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
        for (const struct cli_setting *s = cli->setting; s <= setting; s++)
            if (s->option == setting->option)
                fprintf(list, "%s%s", ftell(list) > 0 ? "," : "", s->value);
        if (fclose(list) != 0) return cli_error(cli, CLI_FAILURE, "out of memory");
    }
    return refuse(cli, nvdp_config_set(cli->config, setting->option->name,
                                       joined != NULL ? joined : setting->value));
}

static int apply(struct cli *cli) {
    int place = 0;
    for (size_t i = 0; i < cli->settings; i++)
        if (strcmp(cli->setting[i].option->name, "quiet") == 0) CLI_TRY(set(cli, &cli->setting[i]));
    for (size_t i = 0; i < cli->settings; i++)
        if (strcmp(cli->setting[i].option->name, "config") == 0)
            CLI_TRY(refuse(cli, nvdp_config_load(cli->config, cli_file(cli->setting[i].value))));
    for (size_t i = 0; i < cli->settings; i++)
        if (strcmp(cli->setting[i].option->name, "config") != 0)
            CLI_TRY(set(cli, &cli->setting[i]));
    for (size_t i = 0; i < nvdp_config_count(cli->config) && place < cli->args; i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & NVDP_TRAIT_POSITIONAL) != 0)
            CLI_TRY(refuse(cli, nvdp_config_set(cli->config, option->name, cli->arg[place++])));
    }
    return CLI_SUCCESS;
}

/* --- argp --- */

/* Suggests a similar name after getopt reported an unknown option. */
static void guess(const struct cli *cli, const char *option) {
    struct nvdp__guess meant = {0};
    char word[NVDP__GUESS_SIZE], part[NVDP__GUESS_SIZE + 1];
    if (strncmp(option, "--", 2) != 0) return;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(option + 2, "="), option + 2);
    meant.word = word;
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *row = nvdp_config_option(cli->config, i);
        if (strcmp(row->name, word) == 0) return;
        nvdp__guess(&meant, row->name);
    }
    if (meant.text[0] != '\0') {
        fprintf(stderr, "%s: %s\n", cli->name, meant.text + 2);
        return;
    }
    size_t longer =
        0; /* options of which the word is the last part, as epsilon is of budget-epsilon */
    snprintf(part, sizeof part, "-%s", word);
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const char *name = nvdp_config_option(cli->config, i)->name;
        if (!nvdp__ends_with(name, part)) continue;
        if (longer == 0) fprintf(stderr, "%s: did you mean", cli->name);
        fprintf(stderr, "%s --%s", longer++ > 0 ? "," : "", name);
    }
    if (longer > 0) fputs("?\n", stderr);
}

/* Writes the first `length` bytes of the help text and the default. Leaves the default out if only the rest of the text
 * explains it ("; 0: none"). */
static char *help_text(const struct nvdp_option *option, size_t length) {
    char *help = NULL, meaning[64];
    bool shown = option->default_value != NULL && option->type != NVDP_OPTION_FLAG &&
                 (option->traits & NVDP_TRAIT_NO_DEFAULT) == 0 && option->sets == NULL;
    if (shown) {
        snprintf(meaning, sizeof meaning, "; %s: ", option->default_value);
        shown = strstr(option->help + length, meaning) == NULL;
    }
    if (asprintf(&help, "%.*s%s%s%s", (int)length, option->help, shown ? " (default " : "",
                 shown ? option->default_value : "", shown ? ")" : "") < 0)
        return NULL;
    return help;
}

/* Returns the number of the group with this heading. Adds a row for a new group. Several kinds of work may have the
 * same heading. */
static int group_number(struct argp_option *rows, size_t *used, const char *heading) {
    int groups = 0;
    for (size_t i = 0; i < *used; i++) {
        if (rows[i].name != NULL) continue;
        if (rows[i].doc != NULL && strcmp(rows[i].doc, heading) == 0) return rows[i].group;
        groups++;
    }
    rows[(*used)++] = (struct argp_option){.doc = strdup(heading), .group = groups + 1};
    return groups + 1;
}

static void free_rows(struct argp_option *rows) {
    for (size_t i = 0; rows[i].doc != NULL; i++)
        free((char *)rows[i].doc);
    free(rows);
}
NVDP__AUTOPTR(struct argp_option, free_rows)

/* Makes argp's table, which ends with a zeroed row. Each group begins with a row for its heading. `basic` selects the
 * basic and the common options, without headings, in the order of their tables: argp sorts by group, then by name.
 * Returns NULL if out of memory. */
static struct argp_option *make_rows(const struct cli *cli, bool basic) {
    size_t count = nvdp_config_count(cli->config), used = 0;
    const char *heading = NULL;
    int group = 0;
    struct argp_option *rows = nvdp__calloc(cli->ctx, 2 * count + 4, sizeof *rows);
    if (rows == NULL) return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & NVDP_TRAIT_POSITIONAL) != 0) continue;
        const bool hidden = (option->traits & NVDP_TRAIT_HIDDEN) != 0;
        const char *above = option->group != NULL ? option->group : heading;
        if (above == NULL) above = cli->command->heading;
        if (basic) {
            if (hidden || ((option->traits & NVDP_TRAIT_BASIC) == 0 && !is_common(option->name)))
                continue;
            group++;
        } else if (above != NULL && (heading == NULL || strcmp(above, heading) != 0)) {
            group = group_number(rows, &used, heading = above);
        }
        rows[used++] = (struct argp_option){
            .name = option->name,
            .key = FIRST_KEY + (int)i,
            .arg = option->placeholder,
            .flags = hidden ? OPTION_HIDDEN : 0,
            .doc = help_text(option, basic ? clause(option->help) : strlen(option->help)),
            .group = group};
    }
    rows[used++] = (struct argp_option){"help",
                                        basic ? HELP_KEY : '?',
                                        "all",
                                        OPTION_ARG_OPTIONAL,
                                        strdup("Give this help list, or a list of all options"),
                                        -1};
    if (basic) return rows;
    rows[used++] =
        (struct argp_option){"usage", USAGE_KEY, NULL, 0, strdup("Give a short usage message"), -1};
    rows[used++] =
        (struct argp_option){"version", 'V', NULL, 0, strdup("Print program version"), -1};
    return rows;
}

/* Returns the number of options that help shows: of one group, or of all groups if `group` is 0. */
static int count_shown(const struct argp_option *rows, int group) {
    int shown = 0;
    for (; rows->doc != NULL; rows++)
        shown += rows->name != NULL && rows->flags != OPTION_HIDDEN && rows->group > 0 &&
                 (group == 0 || rows->group == group);
    return shown;
}

static bool has_basic(const struct cli *cli) {
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++)
        if ((nvdp_config_option(cli->config, i)->traits & NVDP_TRAIT_BASIC) != 0) return true;
    return false;
}

/* Removes argp's note about arguments of short options: only -? has one. */
static char *filter_help(int key, const char *text, void *input) {
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

/* Prints the basic options, then the groups of all options. */
static bool print_short_help(const struct cli *cli, const struct argp_option *all) {
    const struct cli_command *command = cli->command;
    nvdp__autoptr(free_rows) struct argp_option *rows = make_rows(cli, true);
    nvdp__autofree char *doc = NULL;
    size_t size = 0;
    nvdp__autoptr(fclose) FILE *to = open_memstream(&doc, &size);
    if (rows == NULL || to == NULL) return false;
    fprintf(to,
            "%s Only the most common options are listed here:\v%s\nAll groups, with their "
            "number of options: ",
            command->description, command->examples);
    for (const struct argp_option *row = all; row->doc != NULL; row++)
        if (row->name == NULL)
            fprintf(to, "%s%.*s (%d)", row > all ? "; " : "", (int)strcspn(row->doc, ":"), row->doc,
                    count_shown(all, row->group));
    fprintf(to, ".\n%s --help=all shows all %d options.\n", cli->name, count_shown(all, 0));
    if (fflush(to) != 0) return false;
    const struct argp argp = {
        .options = rows, .args_doc = command->args, .doc = doc, .help_filter = filter_help};
    argp_help(&argp, stdout, ARGP_HELP_STD_HELP, cli->name);
    return true;
}

/* Ends the program after help. Fails if the help could not be written. */
_Noreturn static void end(const struct cli *cli) {
    exit(cli_flush(cli->name, CLI_SUCCESS));
}

static error_t print_help(struct cli *cli, const char *value, struct argp_state *state) {
    const struct argp_option *all = state->root_argp->options;
    if (value != NULL && strcmp(value, "all") != 0) {
        cli->code = cli_usage(cli, "option --help: expected no value, or all, found '%s'", value);
        return EINVAL;
    }
    if (value == NULL && count_shown(all, 0) > LIST_LIMIT && has_basic(cli)) {
        if (print_short_help(cli, all)) end(cli);
        cli->code = cli_error(cli, CLI_FAILURE, "out of memory");
        return ENOMEM;
    }
    argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
    end(cli);
}

/* Counts the arguments that a command takes, which are separated by spaces. */
static int count_words(const char *args) {
    int words = 1;
    for (; *args != '\0'; args++)
        words += *args == ' ';
    return words;
}

static error_t on_key(int key, char *value, struct argp_state *state) {
    struct cli *cli = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        /* getopt prints the error on stderr. The code below replaces argp's hint and exit. */
        state->err_stream = NULL;
        return 0;
    case ARGP_KEY_ERROR:
        if (state->next > 0) guess(cli, state->argv[state->next - 1]);
        return ARGP_ERR_UNKNOWN;
    case ARGP_KEY_ARG: {
        const char *args = cli->command->args;
        if (args == NULL || (cli->args == count_words(args) && strstr(args, "...") == NULL)) {
            cli->code = cli_usage(cli, "unexpected argument '%s'", value);
            return EINVAL;
        }
        cli->arg[cli->args++] = value;
        return 0;
    }
    case '?':
        return print_help(cli, value, state);
    case USAGE_KEY:
        argp_state_help(state, stdout, ARGP_HELP_USAGE);
        end(cli);
    case 'V':
        argp_program_version_hook(stdout, state);
        end(cli);
    default:
        break;
    }
    if (key < FIRST_KEY || (size_t)(key - FIRST_KEY) >= nvdp_config_count(cli->config))
        return ARGP_ERR_UNKNOWN;
    cli->setting[cli->settings++] =
        (struct cli_setting){.option = nvdp_config_option(cli->config, (size_t)(key - FIRST_KEY)),
                             .value = value != NULL ? value : "true"};
    return 0;
}

int cli_make_options(struct cli *cli, void *values) {
    const struct cli_command *command = cli->command;
    CLI_DO(cli, nvdp_config_create(cli->ctx, command->kinds, &cli->config));
    if (command->options != NULL)
        CLI_DO(cli,
               nvdp_config_add(cli->config, command->options, sizeof *command->options, values));
    for (const struct nvdp_option *row = common_options; row->name != NULL; row++) {
        const struct nvdp_option one[] = {*row, {0}};
        bool absent = (command->no_json && strcmp(row->name, "json") == 0) ||
                      (!command->takes_precision && strcmp(row->name, "precision") == 0);
        if (nvdp_config_get(cli->config, row->name) != NULL) absent = true; /* the library has it */
        if (!absent) CLI_DO(cli, nvdp_config_add(cli->config, one, sizeof *one, cli));
    }
    return CLI_SUCCESS;
}

int cli_parse(struct cli *cli, void *values) {
    CLI_TRY(cli_make_options(cli, values));
    const struct cli_command *command = cli->command;
    nvdp__autoptr(free_rows) struct argp_option *rows = make_rows(cli, false);
    nvdp__autofree char *doc =
        nvdp__format(cli->ctx, "%s\v%s", command->description, command->examples);
    cli->setting = calloc((size_t)cli->argc + 1, sizeof *cli->setting);
    cli->arg = calloc((size_t)cli->argc + 1, sizeof *cli->arg);
    if (rows == NULL || cli->setting == NULL || cli->arg == NULL || doc == NULL)
        return cli_error(cli, CLI_FAILURE, "out of memory");
    const struct argp argp = {.options = rows,
                              .parser = on_key,
                              .args_doc = command->args,
                              .doc = doc,
                              .help_filter = filter_help};
    const error_t err = argp_parse(&argp, cli->argc, cli->argv, ARGP_NO_HELP, NULL, cli);
    CLI_TRY(err != 0 && cli->code == CLI_SUCCESS ? cli_usage(cli, NULL) : cli->code);
    CLI_TRY(apply(cli));
    if (cli->args == 0 && command->args != NULL && command->args[0] != '[')
        return cli_usage(cli, "expected %s", command->args);
    return CLI_SUCCESS;
}
