/* Implements nvdp privacy for sanitizers: measures what a sanitizer reveals about the texts of a data set. The file
 * has, in this order, options, texts, the folder that nvdp sanitize wrote, and the report. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "base/sentence.h"
#include "dchi/token_options.h"
#include "rdp/report.h"
#include "sanitize/sanitize.h"
#include "text/dataset.h"
#include "text/task.h"

#include <stdlib.h>

/* ---- options ---- */

struct texts {
    struct nvdp__sanitize_source source;
    const char *split;
    size_t limit;
    uint64_t seed;
};

struct options {
    const char *model, *sanitized;
    struct texts texts;
    struct nvdp__sanitizer_options sanitizer;
};

#define AT(member) NVDP_OPTION_AT(struct texts, member)

static const struct nvdp_option sample_rows[] = {
    {"split", NVDP_OPTION_TEXT, "NAME",
     "split to measure: train, dev, test, dev-mismatched or test-mismatched", "dev", AT(split)},
    NVDP__LIMIT_ROW(AT(limit)),
    NVDP__SEED_ROW(AT(seed)),
    {0},
};

static nvdp_status check_texts(struct nvdp_context *ctx, const void *texts) {
    return nvdp__sanitize_source_check(ctx, &((const struct texts *)texts)->source);
}

/* clang-format off */
#define TEXTS(at)                                                                                  \
    {.row = nvdp__sanitize_source_rows, .offset = (at) + offsetof(struct texts, source)},          \
    {.row = sample_rows, .offset = (at)}
/* clang-format on */
static const struct nvdp__section texts_sections[] = {TEXTS(0)};
static const struct nvdp__schema texts_schema = {.kind = "texts",
                                                 .size = sizeof(struct texts),
                                                 .section = texts_sections,
                                                 .sections = 2,
                                                 .check = check_texts};

const struct nvdp__kind nvdp__kind_token_texts = {"token-texts", {&texts_schema}};

#undef AT
#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option mechanism_rows[] = {
    {"sanitizer", NVDP_OPTION_CHOICE, "M",
     "measure texts under this mechanism in place of a run: santext, santext-plus, "
     "laplace-nearest, laplace or random",
     NULL, AT(sanitizer.mechanism), .choices = nvdp__token_mechanism_names,
     .group = "Text privatization:", .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_DEFAULT},
    {"mechanism", NVDP_OPTION_CHOICE, "M", "another name of --sanitizer",
     .sets = (const char *const[]){"sanitizer", NULL}, .choices = nvdp__token_mechanism_names,
     .traits = NVDP_TRAIT_HIDDEN},
    {"sanitized", NVDP_OPTION_TEXT, "DIR",
     "measure texts under the mechanism, eta, p, oov and sensitive tokens of this folder, which "
     "nvdp sanitize wrote; the vectors must be the same; also writes the report to "
     "DIR/measured.json",
     NULL, AT(sanitized)},
    NVDP__WORDS_MODEL_ROW(AT(model)),
    {0},
};
static const struct nvdp__section sections[] = {
    {.row = mechanism_rows},
    {.row = nvdp__sanitizer_rows, .offset = offsetof(struct options, sanitizer)},
    {.row = nvdp__sanitizer_table_rows, .offset = offsetof(struct options, sanitizer)},
    TEXTS(offsetof(struct options, texts)),
};

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct options *options = values;
    if (options->sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE)
        return NVDP_OK; /* the option is for a run, or is not yet read from the folder */
    if ((options->model == NULL) == (options->sanitizer.vectors == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{model} or {vectors}: expected exactly one of these options, found %s",
                          options->model == NULL ? "neither" : "both");
    NVDP_TRY(check_texts(ctx, &options->texts));
    return nvdp__sanitizer_check(ctx, &options->sanitizer);
}

static const struct nvdp__schema schema = {.kind = "sanitizer's measures",
                                           .size = sizeof(struct options),
                                           .section = sections,
                                           .sections = sizeof sections / sizeof *sections,
                                           .check = check};

const struct nvdp__kind nvdp__kind_text_privacy = {"text-privacy",
                                                   {&schema, &nvdp__privacy_schema}};

/* ---- texts ---- */

struct tokens {
    size_t *offset, *first;
    int32_t *token;
    size_t count, capacity, unknown;
};

static void release_tokens(struct tokens *tokens) {
    free(tokens->offset);
    free(tokens->first);
    free(tokens->token);
}

/* Adds a text of a row, and compares it with the public texts of the sanitizer. */
static nvdp_status append(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer, size_t row,
                          struct nvdp__field field, struct nvdp_token_list *list,
                          struct tokens *tokens) {
    NVDP_TRY(nvdp__sanitizer_compare(sanitizer, field, row));
    NVDP_TRY(nvdp__sanitizer_tokenize(ctx, sanitizer, field.text, field.size, list));
    tokens->unknown += list->unknown;
    return NVDP__PUSH_ALL(ctx, tokens->token, tokens->count, tokens->capacity, list->count,
                          list->token);
}

/* Tokenizes a sample of `limit` rows; all rows if limit is 0. */
static nvdp_status read_rows(struct nvdp_context *ctx, const struct texts *options,
                             const struct nvdp__rows *rows, struct nvdp_sanitizer *sanitizer,
                             struct nvdp__token_texts *out) {
    nvdp__auto(nvdp_token_list_free) struct nvdp_token_list list = {0};
    nvdp__auto(release_tokens) struct tokens made = {0};
    nvdp__autofree bool *chosen = NULL;
    size_t n = 0;
    NVDP_TRY(nvdp__choose_rows(ctx, options->seed, rows->count, options->limit, &chosen));
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made.offset, rows->count + 1),
                          NVDP__ITEMS(made.first, rows->count)));
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__text_row *row = &rows->row[i];
        const size_t begin = made.count;
        if (!chosen[i]) continue;
        NVDP_TRY(append(ctx, sanitizer, i, row->text, &list, &made));
        made.first[n] = made.count - begin;
        if (rows->task.pair) NVDP_TRY(append(ctx, sanitizer, i, row->pair, &list, &made));
        made.offset[++n] = made.count;
    }
    *out = (struct nvdp__token_texts){.texts = n,
                                      .offset = made.offset,
                                      .tokens = made.token,
                                      .first = rows->task.pair ? made.first : NULL,
                                      .unknown = made.unknown};
    if (!rows->task.pair) free(made.first);
    made = (struct tokens){0};
    return NVDP_OK;
}

static nvdp_status read_texts(struct nvdp_context *ctx, const struct texts *options,
                              struct nvdp_sanitizer *sanitizer, struct nvdp__token_texts *out) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    struct nvdp__layout layout;
    nvdp__auto(nvdp__rows_release) struct nvdp__rows rows = {0};
    enum nvdp_split split = NVDP_SPLIT_DEV;
    const char *name = options->source.text;
    nvdp__autofree char *path = NULL, *bytes = NULL;
    size_t size = 0;
    if (options->source.task != NULL) {
        NVDP_TRY(nvdp_task_find(ctx, options->source.task, &config.task));
        nvdp__set_columns(&config, &options->source.columns);
        NVDP_TRY(nvdp__find_split(ctx, options->split, "", &split));
        NVDP_TRY(nvdp__task_resolve(ctx, &config, &layout));
        NVDP_TRY(nvdp__task_path(ctx, &layout, options->source.data, split, &path));
    }
    if (path == NULL && nvdp__is_table(name)) {
        config = nvdp__sanitize_table(&options->source);
        NVDP_TRY(NVDP__MADE(path = nvdp__strdup(ctx, name)));
    }
    if (nvdp_sanitizer_dchi(sanitizer) == NULL) { /* V_S depends on all texts of nvdp sanitize */
        NVDP_TRY(nvdp__sanitize_count(ctx, &options->source, sanitizer));
        NVDP_TRY(nvdp__sanitizer_choose(ctx, sanitizer));
    }
    NVDP_TRY(nvdp__read_stream(ctx, path != NULL ? path : name, NVDP__DATA_LIMIT, &bytes, &size));
    if (path != NULL)
        NVDP_TRY(nvdp__rows_parse(ctx, &config, NVDP__LABELS_IGNORED, path, bytes, size, &rows));
    /* splits the bytes into lines */
    for (struct nvdp__field rest = {bytes, path != NULL ? 0 : size}; rest.size > 0;)
        NVDP_TRY(NVDP__PUSH(ctx, rows.row, rows.count, rows.capacity,
                            (struct nvdp__text_row){.text = nvdp__take_part(&rest, '\n')}));
    return read_rows(ctx, options, &rows, sanitizer, out);
}

nvdp_status nvdp__token_texts_read(struct nvdp_context *ctx, const struct nvdp_config *config,
                                   struct nvdp_sanitizer *sanitizer,
                                   struct nvdp__token_texts *out) {
    struct texts options;
    NVDP_TRY(nvdp__config_open(ctx, config, &texts_schema, &options));
    return read_texts(ctx, &options, sanitizer, out);
}

void nvdp__token_texts_free(struct nvdp__token_texts *texts) {
    free((void *)texts->offset);
    free((void *)texts->tokens);
    free((void *)texts->first);
    *texts = (struct nvdp__token_texts){0};
}

/* ---- the folder that nvdp sanitize wrote ---- */

struct folder {
    const char *path; /* path of DIR/privacy.json */
    const json_t *privacy;
};

/* Takes an option from the folder. Fails if the caller gave another value. */
static nvdp_status take(struct nvdp_context *ctx, const struct folder *folder, const char *option,
                        const json_t *value, struct nvdp_config *config) {
    char number[32];
    if (value == NULL || json_is_null(value)) return NVDP_OK;
    nvdp__snprintf(number, sizeof number, "%.17g", json_number_value(value));
    const char *text = json_is_string(value) ? json_string_value(value) : number;
    if (!nvdp_config_is_set(config, option))
        return nvdp_config_set(config, option, text) == NVDP_OK ? NVDP_OK : NVDP_ERR_INPUT;
    const char *given = nvdp_config_get(config, option);
    if (json_is_string(value) ? strcmp(given, text) == 0
                              : nvdp__strtod(given, NULL) == json_number_value(value))
        return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected the recorded value, %s %s, found %s %s",
                      folder->path, option, text, nvdp__as_option(ctx, option).text, given);
}

/* Fails because the folder was made with a file, and the caller does not give this file. */
static nvdp_status lacks_file(struct nvdp_context *ctx, const struct folder *folder,
                              const char *option) {
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: the folder was made with %s FILE; give the same file", folder->path,
                      nvdp__as_option(ctx, option).text);
}

/* Takes the options of the folder. The folder may name a task as the source of the vocabulary; a file must be given
 * again, and is checked by the digest of the table. */
static nvdp_status take_folder(struct nvdp_context *ctx, const struct folder *folder,
                               struct nvdp_config *config) {
    static const char *const key[] = {"mechanism", "eta", "p", "oov"};
    static const char *const option[] = {"sanitizer", "eta", "p", "oov"};
    static const char *const from[] = {"sensitive-from-data", "sensitive-from", "sensitive-list"};
    static const char vocabulary[] = "vocabulary-from";
    const json_t *words = json_object_get(json_object_get(folder->privacy, "vocabulary"), "from");
    enum nvdp_task_id task;
    const json_t *sensitive = json_object_get(folder->privacy, "sensitive");
    const char *chosen = json_string_value(json_object_get(sensitive, "from"));
    bool given = false;
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        NVDP_TRY(take(ctx, folder, option[i], json_object_get(folder->privacy, key[i]), config));
    NVDP_TRY(take(ctx, folder, "sensitive", json_object_get(sensitive, "share"), config));
    if (json_is_string(words) && nvdp_task_find(NULL, json_string_value(words), &task) == NVDP_OK)
        NVDP_TRY(take(ctx, folder, vocabulary, words, config));
    else if (json_is_string(words) && !nvdp_config_is_set(config, vocabulary))
        return lacks_file(ctx, folder, vocabulary);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        given = given || nvdp_config_is_set(config, from[i]);
    if (given || chosen == NULL) return NVDP_OK;
    return strcmp(chosen, from[0]) == 0 ? nvdp_config_set(config, from[0], "true")
                                        : lacks_file(ctx, folder, chosen);
}

/* Checks that the table is the folder's table. Distances belong to the mechanism, so another table is another
 * mechanism. */
static nvdp_status check_table(struct nvdp_context *ctx, const struct folder *folder,
                               const struct nvdp_sanitizer *sanitizer) {
    const json_t *vocabulary = json_object_get(folder->privacy, "vocabulary");
    const char *source = json_string_value(json_object_get(vocabulary, "source"));
    const char *expected = json_string_value(json_object_get(vocabulary, "digest"));
    char found[NVDP__DIGEST_HEX];
    if (expected == NULL) {
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: written by an older version without digests, so nvdp cannot check that "
                  "these are the same vectors and sensitive tokens",
                  folder->path);
        return NVDP_OK;
    }
    nvdp__sanitizer_table_digest(sanitizer, found);
    if (strcmp(found, expected) == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected the tokens and vectors of %s (digest %s), from which the "
                      "folder was made, found others (digest %s), which make another mechanism",
                      folder->path, source != NULL ? source : "unnamed", expected, found);
}

/* Checks that V_S is the folder's V_S. A token that is not sensitive is infinitely far from all other tokens, so
 * another V_S is another mechanism. */
static nvdp_status check_sensitive(struct nvdp_context *ctx, const struct folder *folder,
                                   const struct nvdp_sanitizer *sanitizer) {
    const json_t *sensitive = json_object_get(folder->privacy, "sensitive");
    const char *from = json_string_value(json_object_get(sensitive, "from"));
    const char *expected = json_string_value(json_object_get(sensitive, "digest"));
    char found[NVDP__DIGEST_HEX];
    nvdp__sanitizer_sensitive_digest(sanitizer, found);
    if (expected == NULL || strcmp(found, expected) == 0) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT,
        "%s: expected the same sensitive tokens as the folder's, from %s (digest %s), found others "
        "(digest %s); give the same %s",
        folder->path, nvdp__as_option(ctx, from != NULL ? from : "sensitive-from").text, expected,
        found,
        from != NULL && strcmp(from, "sensitive-from-data") == 0 ? "texts, with every split"
                                                                 : "file");
}

/* Returns a flag of the folder; false if there is no folder. */
static bool recorded(const struct folder *folder, const char *object, const char *key) {
    return folder != NULL &&
           json_is_true(json_object_get(json_object_get(folder->privacy, object), key));
}

static bool seeded(const struct folder *folder) {
    const char *generator = json_string_value(json_object_get(folder->privacy, "generator"));
    return generator != NULL && strcmp(generator, "os") != 0;
}

/* Measures the divergences. The mechanism must be the mechanism of `folder`; NULL allows any mechanism. */
static nvdp_status measure(struct nvdp_context *ctx, const struct nvdp_config *config,
                           const struct folder *folder, double **matrix,
                           struct nvdp_dchi_report *out) {
    nvdp__autofree double *made = NULL;
    struct options options;
    struct nvdp__privacy_options measures;
    nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *sanitizer = NULL;
    nvdp__auto(nvdp__token_texts_free) struct nvdp__token_texts texts = {0};
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &options));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__privacy_schema, &measures));
    if (options.sanitizer.mechanism == NVDP__TOKENS_AS_THEY_ARE)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "sanitizer: expected a mechanism, found none");
    NVDP_TRY(nvdp__privacy_check_source(ctx, &measures));
    NVDP_TRY(nvdp__sanitizer_create(ctx, &options.sanitizer, options.model, &sanitizer));
    NVDP_TRY(read_texts(ctx, &options.texts, sanitizer, &texts));
    if (folder != NULL) NVDP_TRY(check_table(ctx, folder, sanitizer));
    if (folder != NULL) NVDP_TRY(check_sensitive(ctx, folder, sanitizer));
    if (matrix != NULL) NVDP_TRY(NVDP__NEW(ctx, made, texts.texts * texts.texts));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(
        nvdp__dchi_privacy(ctx, nvdp_sanitizer_dchi(sanitizer), &texts, &measures, made, &report));
    /* The files of the folder may be published, so the report states what the folder records. */
    report.own_words = (folder == NULL && sanitizer->public[NVDP__OF_VOCABULARY].found > 0) ||
                       sanitizer->own_words || recorded(folder, "vocabulary", "own_words");
    report.insecure_seed = folder != NULL && seeded(folder);
    report.own_choice = (folder == NULL && sanitizer->public[NVDP__OF_SENSITIVE].found > 0) ||
                        options.sanitizer.sensitive_from_data ||
                        recorded(folder, "sensitive", "own_choice");
    NVDP__GIVE(out, &report);
    if (matrix != NULL) NVDP__HAND_OVER(matrix, made);
    return NVDP_OK;
}

nvdp_status nvdp_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                              double **matrix, struct nvdp_dchi_report *out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *own = NULL;
    nvdp__autoptr(json_decref) json_t *privacy = NULL;
    const char *directory = nvdp_config_get(config, "sanitized");
    if (directory == NULL) return measure(ctx, config, NULL, matrix, out);
    const struct nvdp__path path = nvdp__path(directory, "privacy.json");
    NVDP_TRY(nvdp__json_read_optional(ctx, directory, "privacy.json", &privacy));
    const struct folder folder = {path.text, privacy};
    const char *kind = json_string_value(json_object_get(privacy, "nvdp_format"));
    if (kind == NULL || strcmp(kind, "sanitized/1") != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a file that nvdp sanitize wrote (sanitized/1), found %s",
                          path.text,
                          privacy == NULL ? "no such file"
                          : kind == NULL  ? "another kind"
                                          : kind);
    NVDP_TRY(nvdp_config_copy(config, &own));
    NVDP_TRY(take_folder(ctx, &folder, own));
    if (seeded(&folder)) nvdp__warn_seeded_draws(ctx, directory);
    return measure(ctx, own, &folder, matrix, out);
}

/* ---- the report ---- */

#define number nvdp__json_number

static struct nvdp_dchi_report whole(const struct nvdp_dchi_report *report) {
    struct nvdp_dchi_report made = {0};
    memcpy(&made, report, report->struct_size < sizeof made ? report->struct_size : sizeof made);
    return made;
}

/* Packs the results for pairs of equal length; null if there are no such pairs. */
static json_t *pack_equal(const struct nvdp_dchi_report *from) {
    static const char *const same[] = {"method",        "units",      "scope",      "adjacency",
                                       "length_policy", "dim",        "components", "kappa",
                                       "order",         "arithmetic", "n",          "sample",
                                       "bound",         "posterior",  "exact"};
    if (from->equal_length == 0) return json_null();
    json_t *object = nvdp__privacy_report_pack(from->same);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        json_object_del(object, same[i]);
    json_t *exact =
        json_pack("{s:o, s:o, s:o, s:[I,I], s:I}", "delta", number(from->same->bdp.delta), "low",
                  number(from->epsilon.low), "high", number(from->epsilon.high), "argmax",
                  (json_int_t)from->epsilon_p, (json_int_t)from->epsilon_q, "evaluated",
                  (json_int_t)from->epsilon_pairs);
    json_object_set_new(object, "largest_epsilon", exact);
    return object;
}

enum { DIVERGENCES = 64 };
/* Returns a description of the divergences. If the mechanism has no probabilities, they are upper bounds for an
 * unknown token. */
static const char *divergences(const struct nvdp_dchi_report *from, char text[DIVERGENCES]) {
    const struct nvdp__token_row *row = nvdp__dchi_row(from->mechanism);
    if (row->bound_of != NULL)
        nvdp__snprintf(text, DIVERGENCES, "those of %s, which bound the exact ones", row->bound_of);
    else
        nvdp__snprintf(text, DIVERGENCES, "exact%s",
                       !row->exact && from->unknown > 0
                           ? ", but upper bounds for words without a vector"
                           : "");
    return text;
}

json_t *nvdp__dchi_report_pack(const void *report) {
    const struct nvdp_dchi_report made = whole(report), *from = &made;
    const struct nvdp_dchi_worst *worst = from->worst;
    const struct nvdp__token_row *row = nvdp__dchi_row(from->mechanism);
    char of[DIVERGENCES];
    json_t *object = nvdp__privacy_report_pack(from->pairs);
    json_t *more = json_pack(
        "{s:{s:s, s:s, s:o, s:o, s:I, s:I, s:b, s:b, s:b}, s:{s:I, s:I, s:I}, s:I, s:I, s:o, "
        "s:{s:o, "
        "s:o, "
        "s:o, "
        "s:[I,I], s:o, s:I}}",
        "sanitizer", "mechanism", from->pairs->shape.method, "divergences", divergences(from, of),
        "eta", row->uses_eta ? number(from->eta) : json_real(0), "p",
        row->uses_p ? number(from->p) : json_null(), "vocabulary", (json_int_t)from->vocabulary,
        "vector_dim", (json_int_t)from->dim, "own_words", from->own_words, "own_choice",
        from->own_choice, "insecure_seed", from->insecure_seed, "tokens", "all",
        (json_int_t)from->tokens, "not_sensitive", (json_int_t)from->left, "unknown",
        (json_int_t)from->unknown, "pairs_of_equal_length", (json_int_t)from->equal_length,
        "pairs_of_other_length", (json_int_t)from->other_length, "equal_length", pack_equal(from),
        "vocabulary_worst", "value", number(worst->value), "finite", number(worst->finite),
        "infinite_share", number(worst->infinite), "argmax", (json_int_t)worst->x,
        (json_int_t)worst->x2, "bound", number(worst->bound), "tokens", (json_int_t)worst->inputs);
    if (json_object_update_new(object, more) == 0) return object;
    json_decref(object);
    return NULL;
}

static double percent(size_t part, size_t all) {
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void print_head(const struct nvdp_dchi_report *from, FILE *to) {
    const struct nvdp_dchi_worst *worst = from->worst;
    const struct nvdp__token_row *row = nvdp__dchi_row(from->mechanism);
    const size_t pairs = from->equal_length + from->other_length;
    char of[DIVERGENCES];
    nvdp__fprintf(to, "Privacy of %zu texts with %zu tokens under %s", from->pairs->pairs->texts,
                  from->tokens, from->pairs->shape.method);
    if (row->uses_eta) nvdp__fprintf(to, ", eta %g", from->eta);
    if (row->uses_p) nvdp__fprintf(to, ", p %g", from->p);
    nvdp__fprintf(to, "\nThe vocabulary has %zu tokens with vectors of %zu dimensions. ",
                  from->vocabulary, from->dim);
    nvdp__fprintf(to, "The divergences are %s.\n", divergences(from, of));
    if (row->uses_p)
        nvdp__fprintf(to,
                      "%.1f %% of the tokens are not sensitive and may stay unchanged, so they can "
                      "be told apart.\n",
                      percent(from->left, from->tokens));
    if (from->own_choice)
        fputs(
            "Which tokens are sensitive was counted on these texts: that choice is not private.\n",
            to);
    if (from->unknown > 0)
        nvdp__fprintf(to, "%.1f %% of the tokens have no vector.\n",
                      percent(from->unknown, from->tokens));
    if (from->own_words)
        fputs("The vocabulary comes from these texts, which is not private: a word in the output "
              "shows that\nsome text contains it. No number here covers that.\n",
              to);
    nvdp__fprintf(to, "Measured on the given texts; not a bound over all texts.\n");
    if (worst->infinite > 0)
        nvdp__fprintf(
            to,
            "For %.3g %% of all pairs of words with vectors, those whose first word is not "
            "sensitive, the log ratio\nis inf. For all others",
            100 * worst->infinite);
    else
        fputs("For any two words with vectors", to);
    nvdp__fprintf(
        to,
        ", measured or not, the log ratio is at most %s nats per position (largest found: "
        "%g, %zu tokens searched).\n",
        nvdp__bound(worst->bound).text, worst->finite, worst->inputs);
    nvdp__fprintf(to, "Lengths are public: they alone distinguish %.1f %% of the pairs.\n\n",
                  percent(from->other_length, pairs));
}

static void print_report(const void *report, FILE *to) {
    const struct nvdp_dchi_report from = whole(report);
    const bool all = from.pairs->pairs->adjacency == NVDP_ADJACENT_ALL;
    print_head(&from, to);
    if (all) nvdp__privacy_report_tables(from.pairs, NULL, to);
    if (from.equal_length == 0) return;
    if (all) fputs("\nFor pairs of equal length:\n\n", to);
    nvdp__privacy_report_tables(from.same, NULL, to);
    const bool bounded = from.epsilon.low == 0; /* no lower bound is known */
    nvdp__fprintf(to, "%s at delta %g of the largest pair of equal length, %s: %s%s%s.\n",
                  bounded ? "Epsilon" : "Exact epsilon", from.same->bdp.delta,
                  nvdp__samples_text(from.same->bdp.releases).text,
                  bounded ? "at most" : nvdp__bound_below(from.epsilon.low).text,
                  bounded ? " " : " to ", nvdp__bound(from.epsilon.high).text);
}

/* Frees both reports, which are in one block that begins at `pairs`. */
static void release_reports(void *of) {
    const struct nvdp_dchi_report *report = of;
    nvdp_result_free(report->same);
    nvdp_result_free(report->pairs);
}

const struct nvdp_result_kind nvdp__dchi_report_kind = {
    .name = "privacy report",
    .pack = nvdp__dchi_report_pack,
    .print = print_report,
    .release = release_reports,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_dchi_report, pairs))};
