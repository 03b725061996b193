#include "options.h"

#include "common.h"
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_KEY = 0x1000, HELP_ROOM = 512 };

/* Values of these lie in struct cli itself. */
static const struct cli_option common_options[] = {
    {.kind = CLI_HEADING, .help = "Common options:"},
    CLI_OPTION("threads", "N", "threads to compute with (default: all processors)", CLI_SIZE,
               offsetof(struct cli, threads), .no_default = true),
    CLI_OPTION("quiet", NULL, "no progress and no notes on stderr; warnings and errors stay",
               CLI_FLAG, offsetof(struct cli, quiet)),
    CLI_OPTION("json", NULL, "print one JSON object on stdout in place of tables", CLI_FLAG,
               offsetof(struct cli, json)),
    CLI_OPTION("config", "FILE.json",
               "read options from a JSON object, such as {\"seed\": 1}; options given here win",
               CLI_TEXT, 0, .no_default = true),
    {0},
};

static bool applies(const struct cli *cli, const struct cli_option *option) {
    return (cli->command->takes & CLI_TAKES_JSON) != 0 || option->kind == CLI_HEADING ||
           strcmp(option->name, "json") != 0;
}

static bool is_common(const struct cli_option *option) {
    const size_t rows = sizeof common_options / sizeof *common_options;
    return option >= common_options && option < common_options + rows;
}

static bool same_name(const char *option, const char *key) {
    for (; *option != '\0' && *key != '\0'; option++, key++) {
        if (*option != (*key == '_' ? '-' : *key)) return false;
    }
    return *option == *key;
}

static const struct cli_option *find_in(const struct cli *cli, const struct cli_option *table,
                                        const char *name) {
    for (const struct cli_option *option = table; option->kind != CLI_END; option++) {
        if (option->kind != CLI_HEADING && applies(cli, option) && same_name(option->name, name))
            return option;
    }
    return NULL;
}

const struct cli_option *cli_option_find(const struct cli *cli, const char *name) {
    const struct cli_option *found = find_in(cli, cli->command->options, name);
    return found != NULL ? found : find_in(cli, common_options, name);
}

bool cli_given(const struct cli *cli, const char *name) {
    for (size_t i = 0; i < cli->settings.count; i++) {
        if (strcmp(cli->settings.item[i].option->name, name) == 0) return true;
    }
    return false;
}

/* --- settings --- */

static int out_of_memory(struct cli *cli) {
    return cli_error(cli, CLI_FAILURE, "out of memory");
}

int cli_setting_add(struct cli *cli, const struct cli_option *option, char *value,
                    const char *file) {
    struct cli_settings *settings = &cli->settings;
    if (value == NULL) return out_of_memory(cli);
    if (settings->count == settings->capacity) {
        size_t capacity = settings->capacity * 2 + 16;
        struct cli_setting *item = realloc(settings->item, capacity * sizeof *item);
        if (item == NULL) {
            free(value);
            return out_of_memory(cli);
        }
        settings->item = item;
        settings->capacity = capacity;
    }
    settings->item[settings->count++] =
        (struct cli_setting){.option = option, .value = value, .file = file};
    return CLI_SUCCESS;
}

void cli_settings_release(struct cli_settings *settings) {
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->item[i].value);
    }
    free(settings->item);
    free(settings->file);
    *settings = (struct cli_settings){0};
}

static int refuse(struct cli *cli, const struct cli_setting *setting, const char *expected) {
    if (setting->file == NULL)
        return cli_usage(cli, "option --%s: expected %s, found '%s'", setting->option->name,
                         expected, setting->value);
    return cli_usage(cli, "%s: key '%s': expected %s, found '%s'", setting->file,
                     setting->option->name, expected, setting->value);
}

static int set_real(struct cli *cli, const struct cli_setting *setting, void *target) {
    char *end;
    double value = strtod(setting->value, &end);
    if (end == setting->value || *end != '\0' || isnan(value))
        return refuse(cli, setting, "a number");
    memcpy(target, &value, sizeof value);
    return CLI_SUCCESS;
}

static bool read_whole(const char *text, uint64_t limit, uint64_t *value) {
    if (*text < '0' || *text > '9') return false; /* strtoull would take signs and spaces */
    char *end;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || read > limit) return false;
    *value = read;
    return true;
}

static int set_whole(struct cli *cli, const struct cli_setting *setting, void *target) {
    uint64_t value;
    switch (setting->option->kind) {
    case CLI_SEED:
        if (!read_whole(setting->value, UINT64_MAX, &value))
            return refuse(cli, setting, "a whole number from 0 to 2^64-1");
        memcpy(target, &value, sizeof value);
        return CLI_SUCCESS;
    case CLI_SIZE:
        if (!read_whole(setting->value, SIZE_MAX, &value))
            return refuse(cli, setting, "a whole number of at least 0");
        memcpy(target, &(size_t){(size_t)value}, sizeof(size_t));
        return CLI_SUCCESS;
    default:
        if (!read_whole(setting->value, INT32_MAX, &value))
            return refuse(cli, setting, "a whole number of at least 0");
        memcpy(target, &(int){(int)value}, sizeof(int));
        return CLI_SUCCESS;
    }
}

static int set_choice(struct cli *cli, const struct cli_setting *setting, void *target) {
    char expected[HELP_ROOM] = "one of";
    for (const struct cli_choice *choice = setting->option->choices; choice->name != NULL;
         choice++) {
        if (strcmp(choice->name, setting->value) == 0) {
            memcpy(target, &choice->value, sizeof choice->value);
            return CLI_SUCCESS;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, " %s", choice->name);
    }
    return refuse(cli, setting, expected);
}

/* The i-th setting and the earlier ones of its option from the same source, joined by commas. */
static char *join(const struct cli *cli, size_t i) {
    const struct cli_setting *last = &cli->settings.item[i];
    char *text = strdup("");
    for (size_t k = 0; k <= i && text != NULL; k++) {
        const struct cli_setting *setting = &cli->settings.item[k];
        if (setting->option != last->option || setting->file != last->file) continue;
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", text, *text != '\0' ? "," : "", setting->value) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    return text;
}

static int set_list(struct cli *cli, size_t i, void *target) {
    char *text = join(cli, i);
    /* Kept as a setting of its own, so that it is released with the others. */
    int code = cli_setting_add(cli, cli->settings.item[i].option, text, "");
    if (code == CLI_SUCCESS) memcpy(target, &text, sizeof text);
    return code;
}

static int set_at(struct cli *cli, size_t i, void *target) {
    const struct cli_setting *setting = &cli->settings.item[i];
    switch (setting->option->kind) {
    case CLI_FLAG:
        memcpy(target, &(bool){strcmp(setting->value, "false") != 0}, sizeof(bool));
        return CLI_SUCCESS;
    case CLI_TEXT:
        memcpy(target, &setting->value, sizeof setting->value);
        return CLI_SUCCESS;
    case CLI_LIST:
        return set_list(cli, i, target);
    case CLI_REAL:
        return set_real(cli, setting, target);
    case CLI_CHOICE:
        return set_choice(cli, setting, target);
    default:
        return set_whole(cli, setting, target);
    }
}

static int apply(struct cli *cli, size_t i, void *values) {
    const struct cli_option *option = cli->settings.item[i].option;
    char *base = is_common(option) ? (char *)cli : values;
    int code = set_at(cli, i, base + option->offset);
    if (code == CLI_SUCCESS && option->also != 0) code = set_at(cli, i, base + option->also);
    return code;
}

/* --- argp --- */

struct parse {
    struct cli *cli;
    const struct cli_option **by_key; /* option of key FIRST_KEY + i */
    size_t options;
    int code;
};

static int add_config(struct cli *cli, char *path) {
    char **file = realloc(cli->settings.file, (cli->settings.files + 1) * sizeof *file);
    if (file == NULL) return out_of_memory(cli);
    cli->settings.file = file;
    file[cli->settings.files++] = path;
    return CLI_SUCCESS;
}

static int take_option(struct parse *parse, const struct cli_option *option, char *value) {
    if (is_common(option) && strcmp(option->name, "config") == 0)
        return add_config(parse->cli, value);
    return cli_setting_add(parse->cli, option, strdup(value != NULL ? value : "true"), NULL);
}

static error_t on_key(int key, char *value, struct argp_state *state) {
    struct parse *parse = state->input;
    if (key == ARGP_KEY_INIT) {
        /* getopt names the fault on stderr; argp's own hint and exit are replaced by ours. */
        state->err_stream = NULL;
        return 0;
    }
    if (key == ARGP_KEY_ARG) {
        struct cli *cli = parse->cli;
        if (cli->args == cli->command->args_max) {
            parse->code = cli_usage(cli, "unexpected argument '%s'", value);
            return EINVAL;
        }
        cli->arg[cli->args++] = value;
        return 0;
    }
    if (key < FIRST_KEY || (size_t)(key - FIRST_KEY) >= parse->options) return ARGP_ERR_UNKNOWN;
    parse->code = take_option(parse, parse->by_key[key - FIRST_KEY], value);
    return parse->code == CLI_SUCCESS ? 0 : EINVAL;
}

static void append_default(char *help, const struct cli_option *option, const void *values) {
    const char *at = (const char *)values + option->offset;
    size_t used = strlen(help);
    char *end = help + used;
    size_t room = HELP_ROOM - used;
    const char *text;
    int choice;
    switch (option->kind) {
    case CLI_TEXT:
    case CLI_LIST:
        memcpy(&text, at, sizeof text);
        if (text != NULL) snprintf(end, room, " (default %s)", text);
        return;
    case CLI_REAL:
        snprintf(end, room, " (default %g)", *(const double *)(const void *)at);
        return;
    case CLI_SIZE:
        snprintf(end, room, " (default %zu)", *(const size_t *)(const void *)at);
        return;
    case CLI_INT:
        snprintf(end, room, " (default %d)", *(const int *)(const void *)at);
        return;
    case CLI_SEED:
        snprintf(end, room, " (default %llu)",
                 (unsigned long long)*(const uint64_t *)(const void *)at);
        return;
    case CLI_CHOICE:
        memcpy(&choice, at, sizeof choice);
        for (const struct cli_choice *c = option->choices; c->name != NULL; c++) {
            if (c->value == choice) snprintf(end, room, " (default %s)", c->name);
        }
        return;
    default:
        return;
    }
}

static char *help_text(const struct cli_option *option, const void *values) {
    char *help = calloc(1, HELP_ROOM);
    if (help == NULL) return NULL;
    snprintf(help, HELP_ROOM, "%s", option->help);
    if (!option->no_default && !is_common(option)) append_default(help, option, values);
    return help;
}

/* argp's table, with the texts it points to. */
struct argp_table {
    struct argp_option *row;
    size_t rows;
    const struct cli_option **by_key;
    size_t options;
};

static void free_table(struct argp_table *table) {
    for (size_t i = 0; table->row != NULL && i < table->rows; i++) {
        free((char *)table->row[i].doc);
    }
    free(table->row);
    free(table->by_key);
}

static bool add_rows(struct argp_table *table, const struct cli *cli,
                     const struct cli_option *option, const void *values, int *group) {
    for (; option->kind != CLI_END; option++) {
        if (!applies(cli, option)) continue;
        struct argp_option *row = &table->row[table->rows++];
        row->doc = help_text(option, values);
        if (row->doc == NULL) return false;
        if (option->kind == CLI_HEADING) {
            row->group = ++*group;
            continue;
        }
        row->name = option->name;
        row->arg = option->arg;
        row->group = *group;
        row->flags = option->hidden ? OPTION_HIDDEN : 0;
        row->key = FIRST_KEY + (int)table->options;
        table->by_key[table->options++] = option;
    }
    return true;
}

static size_t count_rows(const struct cli_option *option) {
    size_t rows = 0;
    while (option[rows].kind != CLI_END) {
        rows++;
    }
    return rows;
}

static bool make_table(const struct cli *cli, const void *values, struct argp_table *table) {
    size_t rows = count_rows(cli->command->options) + count_rows(common_options) + 1;
    int group = 0;
    *table = (struct argp_table){.row = calloc(rows, sizeof *table->row),
                                 .by_key = calloc(rows, sizeof(const struct cli_option *))};
    return table->row != NULL && table->by_key != NULL &&
           add_rows(table, cli, cli->command->options, values, &group) &&
           add_rows(table, cli, common_options, values, &group);
}

static int parse_line(struct cli *cli, const void *values) {
    int code = CLI_FAILURE;
    struct argp_table table;
    char *doc = NULL;
    if (!make_table(cli, values, &table) ||
        asprintf(&doc, "%s\v%s", cli->command->description, cli->command->examples) < 0) {
        doc = NULL;
        code = out_of_memory(cli);
        goto cleanup;
    }
    struct parse parse = {.cli = cli, .by_key = table.by_key, .options = table.options};
    const struct argp argp = {
        .options = table.row, .parser = on_key, .args_doc = cli->command->args, .doc = doc};
    error_t err = argp_parse(&argp, cli->argc, cli->argv, 0, NULL, &parse);
    code = parse.code;
    if (err != 0 && code == CLI_SUCCESS) code = cli_usage(cli, NULL);
cleanup:
    free(doc);
    free_table(&table);
    return code;
}

int cli_parse(struct cli *cli, void *values) {
    int code = parse_line(cli, values);
    size_t flags = cli->settings.count;
    for (size_t i = 0; i < cli->settings.files && code == CLI_SUCCESS; i++) {
        code = cli_config_read(cli, cli->settings.file[i]);
    }
    size_t all = cli->settings.count;
    for (size_t i = flags; i < all && code == CLI_SUCCESS; i++) {
        code = apply(cli, i, values);
    }
    for (size_t i = 0; i < flags && code == CLI_SUCCESS; i++) {
        code = apply(cli, i, values);
    }
    if (code == CLI_SUCCESS && cli->args < cli->command->args_min)
        code = cli_usage(cli, "expected %s", cli->command->args);
    return code;
}
