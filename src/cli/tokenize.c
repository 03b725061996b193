/* nvdp tokenize: prints the word pieces or ids of texts. Input is plain lines, JSON lines or a table. */
#include "common.h"

#include "base/file.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 20 };

struct values {
    const char *model, *input, *text_column, *text_pair_column;
    size_t max_length;
    bool jsonl;
    bool special;
};

#define AT(field) NVDP_OPTION_AT(struct values, field)

static const struct nvdp_option options[] = {
    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory with a vocabulary: vocab.txt, or vocab.json and merges.txt,\nor "
     "sentencepiece.bpe.model, or tokenizer.json",
     AT(model), .group = "Options:"},
    {"input", NVDP_OPTION_TEXT, "FILE",
     "file with one text per line, or a table (.tsv, .csv, .json, .jsonl) with --text-column; also "
     ".gz or .xz; -: standard input",
     "-", AT(input)},
    {"text-column", NVDP_OPTION_TEXT, "NAME", "header of the table's column with the text", "text",
     AT(text_column)},
    {"text-pair-column", NVDP_OPTION_TEXT, "NAME", "header of the second text's column",
     AT(text_pair_column)},
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

static void release(struct tokenize *work) {
    nvdp_tokens_free(&work->tokens);
    nvdp_tokenizer_free(work->tokenizer);
}

/* --- word pieces --- */

static void print_pieces(const struct tokenize *work, size_t count, const int32_t *ids) {
    const size_t first = work->values->special ? 0 : 1,
                 end = work->values->special ? count : count - 1;
    for (size_t i = first; i < end; i++)
        printf("%s%s", i > first ? " " : "", nvdp_tokenizer_piece(work->tokenizer, ids[i]));
    putchar('\n');
}

/* --- tables --- */

static int table(struct tokenize *work) {
    struct nvdp_dataset_config config = NVDP_RESULT(struct nvdp_dataset_config);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *texts = NULL;
    CLI_DO(work->cli, nvdp_dataset_config_default(work->cli->ctx, &config));
    config.task = NVDP_TASK_TSV;
    config.max_length = work->values->max_length;
    config.text_column = work->values->text_column;
    config.text_pair_column = work->values->text_pair_column;
    CLI_DO(work->cli, nvdp_dataset_load_file(work->cli->ctx, work->tokenizer, &config,
                                             work->values->input, &texts));
    for (size_t i = 0; i < texts->count; i++)
        print_pieces(work, texts->offset[i + 1] - texts->offset[i], texts->ids + texts->offset[i]);
    return CLI_SUCCESS;
}

/* --- JSON lines --- */

/* Gets a text, which may contain NUL bytes. out->text stays NULL if the object has no such text. */
static int get_text(const struct tokenize *work, const json_t *object, const char *key,
                    struct nvdp__field *out) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value)) return CLI_SUCCESS;
    if (!json_is_string(value)) return bad_line(work, "key '%s': expected a string", key);
    *out = (struct nvdp__field){json_string_value(value), json_string_length(value)};
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
    struct nvdp__field text = {0}, pair = {0};
    size_t max_length = 0;
    CLI_TRY(get_text(work, object, "text", &text));
    if (text.text == NULL) return bad_line(work, "key 'text' is missing");
    CLI_TRY(get_text(work, object, "pair", &pair));
    CLI_TRY(get_max_length(work, object, pair.text != NULL, &max_length));
    CLI_DO(work->cli, nvdp_tokenizer_encode(work->tokenizer, text.text, text.size, pair.text,
                                            pair.size, max_length, &work->tokens));
    putchar('{');
    print_array("input_ids", work->tokens.ids, work->tokens.count);
    fputs(", ", stdout);
    print_array("token_type_ids", work->tokens.types, work->tokens.count);
    fputs("}\n", stdout);
    return CLI_SUCCESS;
}

static int json_line(struct tokenize *work, const char *line, size_t size) {
    size_t blank = 0; /* the line does not end with a NUL */
    while (blank < size && (line[blank] == ' ' || line[blank] == '\t' || line[blank] == '\r'))
        blank++;
    if (blank == size) return CLI_SUCCESS; /* a blank line, usually the last line */
    json_error_t error;
    nvdp__autoptr(json_decref) json_t *object =
        json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    return object == NULL ? bad_line(work, "%s", error.text) : encode_object(work, object);
}

static int all_lines(struct tokenize *work, const char *path) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    CLI_DO(work->cli, nvdp__lines_open(work->cli->ctx, path, &lines));
    for (bool found;;) {
        CLI_DO(work->cli,
               cli_interrupted() ? NVDP_ERR_CANCELLED : nvdp__lines_next(&lines, &line, &found));
        if (!found) return CLI_SUCCESS;
        work->line = lines.line;
        if (work->values->jsonl) {
            CLI_TRY(json_line(work, line.text, line.size));
            continue;
        }
        CLI_DO(work->cli, nvdp_tokenizer_encode(work->tokenizer, line.text, line.size, NULL, 0,
                                                work->values->max_length, &work->tokens));
        print_pieces(work, work->tokens.count, work->tokens.ids);
    }
}

/* Returns true if the name of the file has the ending of a table. */
static bool is_table(const char *path) {
    static const char *const ends[] = {".tsv", ".csv", ".json", ".jsonl", ".ndjson"};
    static const char *const packed[] = {"", ".gz", ".xz"};
    char end[16];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t k = 0; k < sizeof packed / sizeof *packed; k++) {
            snprintf(end, sizeof end, "%s%s", ends[i], packed[k]);
            if (nvdp__ends_with(path, end)) return true;
        }
    return false;
}

static int run(struct cli *cli) {
    struct values values = {.input = "-", .max_length = 512, .text_column = "text"};
    CLI_TRY(cli_begin(cli, &values));
    if (values.model == NULL) return cli_usage(cli, "option --model is needed");
    if (values.max_length < 3 || values.max_length > MAX_TOKENS)
        return cli_usage(cli, "option --max-length: expected a whole number from 3 to %d",
                         MAX_TOKENS);
    const char *path = cli_file(values.input);
    if (path != values.input) values.input = "stdin";
    nvdp__auto(release) struct tokenize work = {.cli = cli, .values = &values};
    CLI_DO(cli, nvdp_tokenizer_load(cli->ctx, values.model, &work.tokenizer));
    return !values.jsonl && is_table(path) ? table(&work) : all_lines(&work, path);
}

const struct cli_command cli_command_tokenize = {
    .name = "tokenize",
    .summary = "print the word pieces or ids of the texts of a file or of stdin",
    .description = "Prints the word pieces of every line of a file or of stdin, separated by "
                   "spaces, or of every text of a table; with --jsonl the ids and types of every "
                   "object.",
    .examples = "Examples:\n"
                "  echo 'An unaffable text' | nvdp tokenize --model bert\n"
                "  nvdp tokenize --model bert --input reviews.csv --text-column review\n"
                "  echo '{\"text\": \"one\", \"pair\": \"two\", \"max_length\": 16}' | \\\n"
                "    nvdp tokenize --model bert --jsonl\n",
    .options = options,
    .no_json = true,
    .run = run,
};
