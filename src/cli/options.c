#include "common.h"

#include "base/sentence.h"
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_KEY = 0x1000, HELP_ROOM = 512 };

static const struct nvdp_option common_options[] = {
    {"precision", NVDP_OPTION_CHOICE, "P", "of matrix products: f32, bf16, or int8 in the encoder",
     NVDP_OPTION_AT(struct cli, precision), .choices = cli_precisions, .group = "Common options:"},
    /* the library's kinds of work have it themselves */
    {"threads", NVDP_OPTION_INTEGER, "N", "threads to compute with (default: all processors)",
     .min = 1, .max = 1024,
     .group = "Common options:", .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_NO_DEFAULT},
    {"quiet", NVDP_OPTION_FLAG, NULL,
     "no progress and no notes on stderr; warnings and errors stay",
     .group = "Common options:", .traits = NVDP_TRAIT_NO_EFFECT, NVDP_OPTION_AT(struct cli, quiet)},
    {"json", NVDP_OPTION_FLAG, NULL, "print one JSON object on stdout in place of tables",
     .traits = NVDP_TRAIT_NO_EFFECT, NVDP_OPTION_AT(struct cli, json)},
    {"config", NVDP_OPTION_LIST, "FILE.json",
     "read options from a JSON object, such as {\"seed\": 1}; options given here win",
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
        const char *name = nvdp_config_option(cli->config, i)->name;
        const char *const *known = names;
        if (is_common(name) || !cli_given(cli, name)) continue;
        while (*known != NULL && strcmp(*known, name) != 0)
            known++;
        if ((*known != NULL) == among) return name;
    }
    return NULL;
}

int cli_need(struct cli *cli) {
    const unsigned named = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_POSITIONAL;
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & named) != NVDP_TRAIT_REQUIRED) continue;
        if (nvdp_config_get(cli->config, option->name) == NULL)
            return cli_usage(cli, "option --%s is needed", option->name);
    }
    return CLI_SUCCESS;
}

/* --- what was given --- */

/* A fault in the options is one of usage, told with where to read more. */
static int refuse(struct cli *cli, nvdp_status status) {
    if (status == NVDP_ERR_ARGUMENT) return cli_usage(cli, "%s", nvdp_context_error(cli->ctx));
    if (status == NVDP_ERR_IO)
        return cli_error(cli, CLI_FAILURE, "%s", nvdp_context_error(cli->ctx));
    return cli_fail(cli, status);
}

/* A list's values are joined by commas. */
static int set(struct cli *cli, const struct cli_setting *setting) {
    const char *value = setting->value;
    char *joined = NULL;
    size_t size = 0;
    if (setting->option->type == NVDP_OPTION_LIST) {
        FILE *list = open_memstream(&joined, &size);
        if (list == NULL) return cli_error(cli, CLI_FAILURE, "out of memory");
        for (const struct cli_setting *s = cli->setting; s <= setting; s++)
            if (s->option == setting->option)
                fprintf(list, "%s%s", ftell(list) > 0 ? "," : "", s->value);
        if (fclose(list) != 0) return cli_error(cli, CLI_FAILURE, "out of memory");
        value = joined;
    }
    nvdp_status status = nvdp_config_set(cli->config, setting->option->name, value);
    free(joined);
    return status == NVDP_OK ? CLI_SUCCESS : refuse(cli, status);
}

static int apply(struct cli *cli) {
    int code = CLI_SUCCESS, place = 0;
    for (size_t i = 0; i < cli->settings && code == CLI_SUCCESS; i++)
        if (strcmp(cli->setting[i].option->name, "quiet") == 0) code = set(cli, &cli->setting[i]);
    for (size_t i = 0; i < cli->settings && code == CLI_SUCCESS; i++) {
        if (strcmp(cli->setting[i].option->name, "config") != 0) continue;
        nvdp_status status = nvdp_config_load(cli->config, cli->setting[i].value);
        if (status != NVDP_OK) return refuse(cli, status);
    }
    for (size_t i = 0; i < cli->settings && code == CLI_SUCCESS; i++)
        if (strcmp(cli->setting[i].option->name, "config") != 0) code = set(cli, &cli->setting[i]);
    for (size_t i = 0; i < nvdp_config_count(cli->config) && code == CLI_SUCCESS; i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & NVDP_TRAIT_POSITIONAL) == 0 || place == cli->args) continue;
        nvdp_status status = nvdp_config_set(cli->config, option->name, cli->arg[place++]);
        if (status != NVDP_OK) return refuse(cli, status);
    }
    return code;
}

/* --- argp --- */

/* getopt has named an option that is not there: says which one may have been meant. */
static void guess(const struct cli *cli, const char *option) {
    struct nvdp__guess meant = {0};
    char word[NVDP__GUESS_SIZE];
    if (strncmp(option, "--", 2) != 0) return;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(option + 2, "="), option + 2);
    meant.word = word;
    for (size_t i = 0; i < nvdp_config_count(cli->config); i++) {
        const struct nvdp_option *row = nvdp_config_option(cli->config, i);
        if (strcmp(row->name, word) == 0) return;
        nvdp__guess(&meant, row->name);
    }
    if (meant.text[0] != '\0') fprintf(stderr, "%s: %s\n", cli->name, meant.text + 2);
}

static error_t on_key(int key, char *value, struct argp_state *state) {
    struct cli *cli = state->input;
    if (key == ARGP_KEY_INIT) {
        /* getopt names the fault on stderr; argp's own hint and exit are replaced by ours. */
        state->err_stream = NULL;
        return 0;
    }
    if (key == ARGP_KEY_ERROR && state->next > 0) guess(cli, state->argv[state->next - 1]);
    if (key == ARGP_KEY_ARG) {
        const char *args = cli->command->args;
        if (args == NULL || (cli->args == 1 && strstr(args, "...") == NULL)) {
            cli->code = cli_usage(cli, "unexpected argument '%s'", value);
            return EINVAL;
        }
        cli->arg[cli->args++] = value;
        return 0;
    }
    if (key < FIRST_KEY || (size_t)(key - FIRST_KEY) >= nvdp_config_count(cli->config))
        return ARGP_ERR_UNKNOWN;
    cli->setting[cli->settings++] =
        (struct cli_setting){.option = nvdp_config_option(cli->config, (size_t)(key - FIRST_KEY)),
                             .value = value != NULL ? value : "true"};
    return 0;
}

static char *help_text(const struct nvdp_option *option) {
    char *help = NULL;
    bool told = option->default_value != NULL && option->type != NVDP_OPTION_FLAG &&
                (option->traits & NVDP_TRAIT_NO_DEFAULT) == 0 && option->sets == NULL;
    if (asprintf(&help, "%s%s%s%s", option->help, told ? " (default " : "",
                 told ? option->default_value : "", told ? ")" : "") < 0)
        return NULL;
    return help;
}

/* The group under this heading, whose row is added where there is none yet: kinds of work that are joined may have the same. */
static int group_of(struct argp_option *rows, size_t *used, const char *heading) {
    int groups = 0;
    for (size_t i = 0; i < *used; i++) {
        if (rows[i].name != NULL) continue;
        if (rows[i].doc != NULL && strcmp(rows[i].doc, heading) == 0) return rows[i].group;
        groups++;
    }
    rows[(*used)++] = (struct argp_option){.doc = strdup(heading), .group = groups + 1};
    return groups + 1;
}

/* argp's table, a row with the heading before the first option of each group; it ends with a zeroed
 * row.  NULL: out of memory. */
static struct argp_option *make_rows(const struct cli *cli) {
    size_t count = nvdp_config_count(cli->config), used = 0;
    const char *heading = NULL;
    int group = 0;
    struct argp_option *rows = calloc(2 * count + 1, sizeof *rows);
    for (size_t i = 0; i < count && rows != NULL; i++) {
        const struct nvdp_option *option = nvdp_config_option(cli->config, i);
        if ((option->traits & NVDP_TRAIT_POSITIONAL) != 0) continue;
        const char *above = option->group != NULL ? option->group : heading;
        if (above == NULL) above = cli->command->heading;
        if (above != NULL && (heading == NULL || strcmp(above, heading) != 0))
            group = group_of(rows, &used, heading = above);
        bool hidden = (option->traits & NVDP_TRAIT_HIDDEN) != 0;
        rows[used++] = (struct argp_option){.name = option->name,
                                            .key = FIRST_KEY + (int)i,
                                            .arg = option->placeholder,
                                            .flags = hidden ? OPTION_HIDDEN : 0,
                                            .doc = help_text(option),
                                            .group = group};
    }
    return rows;
}

static int parse_line(struct cli *cli) {
    struct argp_option *rows = make_rows(cli);
    char *doc = NULL;
    cli->setting = calloc((size_t)cli->argc + 1, sizeof *cli->setting);
    cli->arg = calloc((size_t)cli->argc + 1, sizeof *cli->arg);
    if (rows == NULL || cli->setting == NULL || cli->arg == NULL ||
        asprintf(&doc, "%s\v%s", cli->command->description, cli->command->examples) < 0) {
        doc = NULL;
        cli->code = cli_error(cli, CLI_FAILURE, "out of memory");
        goto cleanup;
    }
    const struct argp argp = {
        .options = rows, .parser = on_key, .args_doc = cli->command->args, .doc = doc};
    error_t err = argp_parse(&argp, cli->argc, cli->argv, 0, NULL, cli);
    if (err != 0 && cli->code == CLI_SUCCESS) cli->code = cli_usage(cli, NULL);
cleanup:
    for (size_t i = 0; rows != NULL && rows[i].doc != NULL; i++)
        free((char *)rows[i].doc);
    free(rows);
    free(doc);
    return cli->code;
}

int cli_make_options(struct cli *cli, void *values) {
    const struct cli_command *command = cli->command;
    nvdp_status status = command->create != NULL ? command->create(cli->ctx, &cli->config)
                                                 : nvdp_config_create(cli->ctx, &cli->config);
    for (size_t i = 0; i < 2 && command->more[i] != NULL && status == NVDP_OK; i++) {
        struct nvdp_config *more = NULL;
        status = command->more[i](cli->ctx, &more);
        if (status == NVDP_OK) status = nvdp_config_join(cli->config, more);
    }
    if (status == NVDP_OK && command->options != NULL)
        status = nvdp_config_add(cli->config, command->options, sizeof *command->options, values);
    for (const struct nvdp_option *row = common_options; row->name != NULL && status == NVDP_OK;
         row++) {
        const struct nvdp_option one[] = {*row, {0}};
        bool absent = (command->no_json && strcmp(row->name, "json") == 0) ||
                      (!command->takes_precision && strcmp(row->name, "precision") == 0);
        if (nvdp_config_get(cli->config, row->name) != NULL) absent = true; /* the library's */
        if (!absent) status = nvdp_config_add(cli->config, one, sizeof *one, cli);
    }
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
}

int cli_parse(struct cli *cli, void *values) {
    CLI_TRY(cli_make_options(cli, values));
    const struct cli_command *command = cli->command;
    int code = parse_line(cli);
    if (code == CLI_SUCCESS) code = apply(cli);
    if (code == CLI_SUCCESS && cli->args == 0 && command->args != NULL && command->args[0] != '[')
        code = cli_usage(cli, "expected %s", command->args);
    return code;
}
