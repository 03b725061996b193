/* --config FILE.json: an object whose members are options. */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_of(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

static int wrong_kind(struct cli *cli, const char *path, const char *key, const char *expected,
                      const json_t *value) {
    return cli_usage(cli, "%s: key '%s': expected %s, found %s", path, key, expected,
                     kind_of(value));
}

/* The text that would stand on the command line; free(). */
static char *as_text(const json_t *value) {
    if (json_is_string(value)) return strdup(json_string_value(value));
    return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
}

static int add_value(struct cli *cli, const char *path, const char *key,
                     const struct cli_option *option, const json_t *value) {
    if (option->kind == CLI_FLAG) {
        if (!json_is_boolean(value)) return wrong_kind(cli, path, key, "true or false", value);
    } else if (!json_is_string(value) && !json_is_number(value)) {
        return wrong_kind(cli, path, key, "a string or a number", value);
    }
    return cli_setting_add(cli, option, as_text(value), path);
}

static int add_member(struct cli *cli, const char *path, const char *key, const json_t *value) {
    const struct cli_option *option = cli_option_find(cli, key);
    if (option == NULL || strcmp(option->name, "config") == 0)
        return cli_usage(cli, "%s: unknown key '%s'", path, key);
    if (!json_is_array(value)) return add_value(cli, path, key, option, value);
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        int code = add_value(cli, path, key, option, item);
        if (code != CLI_SUCCESS) return code;
    }
    return CLI_SUCCESS;
}

int cli_config_read(struct cli *cli, const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return cli_error(cli, CLI_FAILURE, "%s: %s", path, strerror(errno));
    json_error_t error;
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    (void)fclose(file);
    if (root == NULL)
        return cli_error(cli, CLI_BAD_INPUT, "%s:%d: %s", path, error.line, error.text);
    int code = CLI_SUCCESS;
    if (!json_is_object(root))
        code = cli_error(cli, CLI_BAD_INPUT, "%s: expected an object of options, found %s", path,
                         kind_of(root));
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (code == CLI_SUCCESS) code = add_member(cli, path, key, value);
    }
    json_decref(root);
    return code;
}
