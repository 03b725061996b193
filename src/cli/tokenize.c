/* nvdp tokenize: prints the word pieces or ids of the lines on stdin. Input is plain lines or JSON lines. */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 20 };

struct values {
    const char *model, *input;
    size_t max_length;
    bool jsonl;
    bool special;
};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory with a vocabulary: vocab.txt, or vocab.json and merges.txt,\nor tokenizer.json",
     AT(model), .group = "Options:"},
    {"input", NVDP_OPTION_TEXT, "FILE", "file to read; -: standard input", "-", AT(input)},
    {"jsonl", NVDP_OPTION_FLAG, NULL,
     "each line is a JSON object with text, pair, max_length; print input_ids and types",
     AT(jsonl)},
    {"max-length", NVDP_OPTION_INTEGER, "N",
     "maximum number of tokens per text, unless its line has another", AT(max_length)},
    {"special", NVDP_OPTION_FLAG, NULL, "also print special tokens ([CLS], <s> ...)", AT(special)},
    {0},
};

struct tokenize {
    struct cli *cli;
    const struct values *values;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_tokens tokens;
    size_t line;
};

__attribute__((format(printf, 2, 3))) static int bad_line(const struct tokenize *work,
                                                          const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli_error(work->cli, CLI_BAD_INPUT, "%s:%zu: %s", work->values->input, work->line, text);
}

/* --- plain lines --- */

static int plain_line(struct tokenize *work, const char *text, size_t size) {
    const struct nvdp_tokenizer *tokenizer = work->tokenizer;
    struct nvdp_tokens *tokens = &work->tokens;
    CLI_DO(work->cli,
           nvdp_tokenizer_encode(tokenizer, text, size, NULL, 0, work->values->max_length, tokens));
    size_t first = work->values->special ? 0 : 1;
    size_t end = work->values->special ? tokens->count : tokens->count - 1;
    for (size_t i = first; i < end; i++)
        printf("%s%s", i > first ? " " : "", nvdp_tokenizer_piece(tokenizer, tokens->ids[i]));
    putchar('\n');
    return CLI_SUCCESS;
}

/* --- JSON lines --- */

struct text {
    const char *bytes; /* NULL: none; may hold NUL bytes */
    size_t size;
};

static int get_text(const struct tokenize *work, const json_t *object, const char *key,
                    struct text *out) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value)) return CLI_SUCCESS;
    if (!json_is_string(value)) return bad_line(work, "key '%s': expected a string", key);
    *out = (struct text){json_string_value(value), json_string_length(value)};
    return CLI_SUCCESS;
}

static int get_max_length(const struct tokenize *work, const json_t *object, bool pair,
                          size_t *out) {
    const int minimum = (int)nvdp_tokenizer_specials(work->tokenizer, pair);
    const json_t *value = json_object_get(object, "max_length");
    bool given = value != NULL && !json_is_null(value);
    json_int_t number = given ? json_integer_value(value) : (json_int_t)work->values->max_length;
    if ((given && !json_is_integer(value)) || number < minimum || number > MAX_TOKENS)
        return bad_line(work, "key 'max_length': expected a whole number from %d to %d", minimum,
                        MAX_TOKENS);
    *out = (size_t)number;
    return CLI_SUCCESS;
}

static void print_array(const char *name, const int32_t *values, size_t count) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i > 0 ? ", " : "", values[i]);
    putchar(']');
}

static int encode_object(struct tokenize *work, const json_t *object) {
    if (!json_is_object(object)) return bad_line(work, "expected an object with the key 'text'");
    struct text text = {0};
    struct text pair = {0};
    size_t max_length = 0;
    CLI_TRY(get_text(work, object, "text", &text));
    if (text.bytes == NULL) return bad_line(work, "key 'text' is missing");
    CLI_TRY(get_text(work, object, "pair", &pair));
    CLI_TRY(get_max_length(work, object, pair.bytes != NULL, &max_length));
    CLI_DO(work->cli, nvdp_tokenizer_encode(work->tokenizer, text.bytes, text.size, pair.bytes,
                                            pair.size, max_length, &work->tokens));
    putchar('{');
    print_array("input_ids", work->tokens.ids, work->tokens.count);
    fputs(", ", stdout);
    print_array("token_type_ids", work->tokens.types, work->tokens.count);
    fputs("}\n", stdout);
    return CLI_SUCCESS;
}

static int json_line(struct tokenize *work, const char *line, size_t size) {
    if (strspn(line, " \t\r") == size) return CLI_SUCCESS; /* an empty line, mostly the last */
    json_error_t error;
    json_t *object =
        json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) return bad_line(work, "%s", error.text);
    int code = encode_object(work, object);
    json_decref(object);
    return code;
}

static int all_lines(struct tokenize *work) {
    char *line = NULL;
    size_t room = 0;
    int code = CLI_SUCCESS;
    while (code == CLI_SUCCESS) {
        ssize_t read = getline(&line, &room, stdin);
        if (cli_interrupted()) {
            code = cli_fail(work->cli, NVDP_ERR_CANCELLED);
            break;
        }
        if (read < 0) {
            if (ferror(stdin))
                code = cli_error(work->cli, CLI_FAILURE, "%s: cannot read: %s", work->values->input,
                                 strerror(errno));
            break;
        }
        work->line++;
        size_t size = (size_t)read;
        if (size > 0 && line[size - 1] == '\n') line[--size] = '\0';
        code = work->values->jsonl ? json_line(work, line, size) : plain_line(work, line, size);
    }
    free(line);
    return code;
}

static int run(struct cli *cli) {
    struct values values = {.input = "-", .max_length = 512};
    CLI_TRY(cli_begin(cli, &values));
    if (values.model == NULL) return cli_usage(cli, "option --model is needed");
    if (values.max_length < 3 || values.max_length > MAX_TOKENS)
        return cli_usage(cli, "option --max-length: expected a whole number from 3 to %d",
                         MAX_TOKENS);
    if (strcmp(values.input, "-") == 0)
        values.input = "stdin";
    else if (freopen(values.input, "r", stdin) == NULL)
        return cli_error(cli, CLI_FAILURE, "%s: cannot read: %s", values.input, strerror(errno));
    struct tokenize work = {.cli = cli, .values = &values};
    CLI_DO(cli, nvdp_tokenizer_load(cli->ctx, values.model, &work.tokenizer));
    int code = all_lines(&work);
    nvdp_tokens_free(&work.tokens);
    nvdp_tokenizer_free(work.tokenizer);
    return code;
}

const struct cli_command cli_command_tokenize = {
    .name = "tokenize",
    .summary = "print the word pieces or ids of the lines of a file or of stdin",
    .description = "Prints the word pieces of every line of a file or of stdin, separated by "
                   "spaces; with --jsonl the ids and types of every object.",
    .examples = "Examples:\n"
                "  echo 'An unaffable text' | nvdp tokenize --model bert\n"
                "  echo '{\"text\": \"one\", \"pair\": \"two\", \"max_length\": 16}' | \\\n"
                "    nvdp tokenize --model bert --jsonl\n",
    .options = options,
    .no_json = true,
    .run = run,
};
