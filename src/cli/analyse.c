/* The analyses of nvdp sanitize --analyse: reads the texts, calls the library's analysis, prints its numbers. One
 * function per analysis (geometry() to replacements()); cli_analyse() at the end selects. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

const char *const cli_analyses[] = {[CLI_ANALYSE_NONE] = "none",
                                    [CLI_ANALYSE_GEOMETRY] = "geometry",
                                    [CLI_ANALYSE_DENIABILITY] = "deniability",
                                    [CLI_ANALYSE_INVERSION] = "inversion",
                                    [CLI_ANALYSE_MASK] = "mask-inference",
                                    [CLI_ANALYSE_REPLACEMENTS] = "replacements",
                                    NULL};

enum { TOKENS = 1000, DRAWS = 1000, INVERSIONS = 10000 };

struct analysis {
    struct cli *cli;
    enum cli_analysis which;
    struct nvdp_sanitizer *sanitizer;
    struct nvdp_sanitizer_info info;
    struct nvdp_text_mechanism_info mechanism;
    const struct nvdp_vectors *vectors;
    struct nvdp_dchi *dchi;
    bool bare; /* no mechanism: analyzes the vectors, or the texts as they are */
    size_t n, draws;
    uint64_t seed;
    int32_t *token; /* tokens of the privatized texts */
    size_t *offset; /* offsets of the texts in `token` */
    double *prior;  /* [V] token counts of the texts; NULL if there are no texts */
    struct nvdp_token_texts texts;
    size_t seen; /* tokens of the texts, including words without a vector */
    json_t *object;
};

static const char *get(const struct analysis *a, const char *name) {
    return nvdp_config_get(a->cli->config, name);
}

/* Returns an option's number if it was given, else `otherwise`: defaults of analyses differ from those of sanitize. */
static size_t number(const struct analysis *a, const char *name, size_t otherwise) {
    return cli_given(a->cli, name) ? strtoull(get(a, name), NULL, 10) : otherwise;
}

/* ---- inputs ---- */

/* Copies those of the named options that were set. `names` ends with NULL. */
static nvdp_status take_options(const struct analysis *a, const char *const *names,
                                struct nvdp_config *to) {
    nvdp_status status = NVDP_OK;
    for (; status == NVDP_OK && *names != NULL; names++)
        if (nvdp_config_is_set(a->cli->config, *names))
            status = nvdp_config_set(to, *names, get(a, *names));
    return status;
}

/* Updates the description. It is called again after reading texts, because the vocabulary may come from them. */
static nvdp_status describe(struct analysis *a) {
    a->info = (struct nvdp_sanitizer_info)NVDP_RESULT(struct nvdp_sanitizer_info);
    a->vectors = nvdp_sanitizer_vectors(a->sanitizer);
    return nvdp_sanitizer_describe(a->sanitizer, &a->info);
}

/* Creates the sanitizer from the command's options. An analysis without a mechanism ("bare") needs only its vectors, so
 * it takes "random". */
static nvdp_status make_sanitizer(struct analysis *a) {
    static const char *const names[] = {
        "mechanism", "model",          "vectors",        "vocabulary-from",     "oov", "eta", "p",
        "sensitive", "sensitive-from", "sensitive-list", "sensitive-from-data", NULL};
    struct nvdp_context *ctx = a->cli->ctx;
    struct nvdp_config *config = NULL;
    nvdp_status status = nvdp_sanitizer_config_create(ctx, &config);
    if (status == NVDP_OK) status = take_options(a, names, config);
    if (status == NVDP_OK && a->bare) status = nvdp_config_set(config, "mechanism", "random");
    if (status == NVDP_OK) status = nvdp_sanitizer_create(ctx, config, &a->sanitizer);
    nvdp_config_free(config);
    return status != NVDP_OK ? status : describe(a);
}

/* Reads the texts that the options name and counts their tokens. */
static int read_texts(struct analysis *a) {
    static const char *const names[] = {
        "task", "data", "text", "split", "text-column", "text-pair-column", "limit", "seed", NULL};
    struct nvdp_context *ctx = a->cli->ctx;
    struct nvdp_config *config = NULL;
    nvdp_status status = nvdp_token_texts_config_create(ctx, &config);
    if (status == NVDP_OK) status = take_options(a, names, config);
    if (status == NVDP_OK) status = nvdp_token_texts_read(ctx, config, a->sanitizer, &a->texts);
    if (status == NVDP_OK) status = describe(a);
    nvdp_config_free(config);
    if (status != NVDP_OK) return cli_fail(a->cli, status);
    a->prior = calloc(a->info.tokens, sizeof *a->prior);
    if (a->prior == NULL) return cli_error(a->cli, CLI_FAILURE, "out of memory");
    a->seen = nvdp_token_texts_count(&a->texts, a->info.tokens, a->prior);
    if (a->seen == 0)
        return cli_error(a->cli, CLI_BAD_INPUT,
                         "%s: expected a text with words that have vectors, found none",
                         get(a, get(a, "text") != NULL ? "text" : "data"));
    a->seen += a->texts.unknown;
    return CLI_SUCCESS;
}

/* ---- output ---- */

/* Adds a result to the JSON object, or prints it. */
static int give(struct analysis *a, const char *table, const void *found) {
    if (!a->cli->json)
        cli_print_result(a->cli, table, found);
    else
        a->object = cli_add_result(a->cli, a->object, table, NULL, found);
    return a->object != NULL ? CLI_SUCCESS : cli_error(a->cli, CLI_FAILURE, "out of memory");
}

static int geometry(struct analysis *a) {
    struct nvdp_distances found = NVDP_RESULT(struct nvdp_distances);
    CLI_DO(a->cli,
           nvdp_distances_measure(a->cli->ctx, a->vectors, a->prior, a->n, a->seed, &found));
    CLI_TRY(give(a, "distances", &found));
    if (a->bare || a->mechanism.exact) return CLI_SUCCESS;
    const double noise = (double)a->info.dim / a->info.eta;
    json_object_set_new(a->object, "noise", cli_number(noise));
    if (!a->cli->json) cli_row("noise, mean norm", "%.4g", noise);
    return CLI_SUCCESS;
}

static int deniability(struct analysis *a) {
    struct nvdp_deniability found = NVDP_RESULT(struct nvdp_deniability);
    CLI_DO(a->cli, nvdp_deniability_measure(a->cli->ctx, a->dchi, a->prior, a->n, a->draws, a->seed,
                                            &found));
    return give(a, "deniability", &found);
}

static int inversion(struct analysis *a) {
    struct nvdp_inversion found = NVDP_RESULT(struct nvdp_inversion);
    CLI_DO(a->cli, nvdp_dchi_inversion(a->cli->ctx, a->dchi, a->prior, a->draws, a->seed, &found));
    return give(a, "inversion", &found);
}

/* Returns the origin of the texts: file, or task and split. Returns null for an analysis of the vocabulary alone. */
static json_t *texts_json(const struct analysis *a) {
    if (a->prior == NULL) return json_null();
    return get(a, "text") != NULL ? json_pack("{s:s, s:I}", "text", get(a, "text"), "texts",
                                              (json_int_t)a->texts.texts)
                                  : json_pack("{s:s, s:s, s:I}", "task", get(a, "task"), "split",
                                              get(a, "split"), "texts", (json_int_t)a->texts.texts);
}

/* Checks the options of the analyses that draw the output of given texts. */
static int check_outputs(const struct analysis *a, bool texts) {
    const char *name = cli_analyses[a->which];
    if (!texts) return cli_usage(a->cli, "option --text or --task is needed with %s", name);
    if (a->mechanism.gives_vectors)
        return cli_usage(a->cli,
                         "option --mechanism: %s needs a mechanism that outputs texts, such as "
                         "laplace-nearest, found %s, which outputs vectors",
                         name, a->mechanism.name);
    if (a->which != CLI_ANALYSE_MASK) return CLI_SUCCESS;
    if (get(a, "mask-model") == NULL)
        return cli_usage(a->cli, "option --mask-model is needed with mask-inference");
    if (strcmp(get(a, "precision"), "int8") == 0)
        return cli_usage(a->cli, "option --precision: expected f32 or bf16, found int8");
    return CLI_SUCCESS;
}

static int check(const struct analysis *a, bool texts) {
    static const char *const none[] = {"out", "overwrite", "insecure-seed", NULL};
    static const char *const of_task[] = {"data", "split", NULL};
    static const char *const of_texts[] = {"data", "split", "limit", NULL};
    static const char *const of_mask[] = {"mask-model", "max-length", NULL};
    const char *name = cli_given_one(a->cli, none, true);
    if (name != NULL) return cli_usage(a->cli, "option --%s does not apply to --analyse", name);
    name = cli_given_one(a->cli, texts ? of_task : of_texts, true);
    if (name != NULL && get(a, "task") == NULL)
        return cli_usage(a->cli, "option --task is needed with --%s", name);
    name = cli_given(a->cli, "precision") ? "precision" : cli_given_one(a->cli, of_mask, true);
    if (name != NULL && a->which != CLI_ANALYSE_MASK)
        return cli_usage(a->cli, "option --%s needs --analyse mask-inference", name);
    if (cli_given(a->cli, "top") && a->which != CLI_ANALYSE_REPLACEMENTS)
        return cli_usage(a->cli, "option --top needs --analyse replacements");
    if (a->which >= CLI_ANALYSE_MASK) CLI_TRY(check_outputs(a, texts));
    if (!texts && a->which == CLI_ANALYSE_INVERSION)
        return cli_usage(
            a->cli, "option --text or --task is needed: its word counts are the attacker's prior");
    return CLI_SUCCESS;
}

/* Privatizes every text once, as nvdp sanitize does, and attacks the result. Both texts of a pair are separate
 * inputs. */
static int mask_inference(struct analysis *a) {
    struct nvdp_mask_inference found = NVDP_RESULT(struct nvdp_mask_inference);
    const struct nvdp_token_texts *texts = &a->texts;
    const size_t parts = texts->first != NULL ? 2 : 1, count = texts->offset[texts->texts];
    a->offset = calloc(parts * texts->texts + 1, sizeof *a->offset);
    a->token = calloc(count + 1, sizeof *a->token);
    if (a->offset == NULL || a->token == NULL)
        return cli_error(a->cli, CLI_FAILURE, "out of memory");
    for (size_t i = 0; i < texts->texts; i++) {
        if (parts == 2) a->offset[2 * i + 1] = texts->offset[i] + texts->first[i];
        a->offset[parts * (i + 1)] = texts->offset[i + 1];
    }
    if (!a->bare)
        CLI_DO(a->cli, nvdp_dchi_sample(a->cli->ctx, a->dchi, parts * texts->texts, a->offset,
                                        texts->tokens, &a->seed, 0, a->token));
    CLI_DO(a->cli, nvdp_mask_inference(a->cli->ctx, get(a, "mask-model"), a->sanitizer,
                                       parts * texts->texts, a->offset, texts->tokens,
                                       a->bare ? texts->tokens : a->token,
                                       strtoull(get(a, "max-length"), NULL, 10), &found));
    cli_meter_clear(&a->cli->meter);
    CLI_TRY(give(a, "mask_inference", &found));
    json_object_set_new(a->object, "mask_model", json_string(get(a, "mask-model")));
    return CLI_SUCCESS;
}

/* An output of a token and how often it was drawn. */
struct output {
    int32_t token;
    size_t count;
};

static int by_count(const void *x, const void *y) {
    const struct output *a = x, *b = y;
    return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
                                : (a->token > b->token) - (a->token < b->token);
}

static int by_token(const void *x, const void *y) {
    return by_count(&(struct output){*(const int32_t *)x, 0},
                    &(struct output){*(const int32_t *)y, 0});
}

/* Draws `draws` outputs of a token, whose number is `first`, and lists the most frequent ones. `token` is [2, draws],
 * `output` is [draws]. */
static int list_outputs(struct analysis *a, int32_t input, uint64_t first, int32_t *token,
                        struct output *output, json_t *rows) {
    const size_t top = strtoull(get(a, "top"), NULL, 10);
    int32_t *drawn = token + a->draws;
    size_t outputs = 0;
    json_t *list = json_array();
    for (size_t k = 0; k < a->draws; k++)
        token[k] = input;
    CLI_DO(a->cli, nvdp_dchi_sample(a->cli->ctx, a->dchi, 1, (size_t[]){0, a->draws}, token,
                                    &a->seed, first, drawn));
    qsort(drawn, a->draws, sizeof *drawn, by_token);
    for (size_t k = 0; k < a->draws; k++) {
        if (k == 0 || drawn[k] != drawn[k - 1]) output[outputs++] = (struct output){drawn[k], 0};
        output[outputs - 1].count++;
    }
    qsort(output, outputs, sizeof *output, by_count);
    const char *word = nvdp_sanitizer_word(a->sanitizer, input);
    if (!a->cli->json) printf("%-18s%7zu", word, outputs);
    for (size_t j = 0; j < outputs && j < top; j++) {
        const char *other = nvdp_sanitizer_word(a->sanitizer, output[j].token);
        const double share = (double)output[j].count / (double)a->draws;
        json_array_append_new(list, json_pack("{s:s, s:f}", "token", other, "share", share));
        if (!a->cli->json) printf("  %s %.1f %%", other, 100 * share);
    }
    if (!a->cli->json) putchar('\n');
    json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:o}", "token", word, "count",
                                          (json_int_t)a->prior[input], "outputs",
                                          (json_int_t)outputs, "most_frequent", list));
    return CLI_SUCCESS;
}

/* Lists the outputs of the first n distinct tokens of the texts, in the order of the texts (Qu et al. 2021, Table 2). */
static int replacements(struct analysis *a) {
    json_t *rows = json_array();
    json_object_set_new(a->object, "replacements", rows);
    json_object_set_new(a->object, "draws", json_integer((json_int_t)a->draws));
    a->token = calloc(2 * a->draws + 1, sizeof *a->token);
    struct output *output = calloc(a->draws + 1, sizeof *output);
    bool *listed = calloc(a->info.tokens + 1, sizeof *listed);
    int code = CLI_SUCCESS;
    size_t n = 0;
    if (a->token == NULL || output == NULL || listed == NULL) {
        code = cli_error(a->cli, CLI_FAILURE, "out of memory");
        goto cleanup;
    }
    if (!a->cli->json) printf("%-18s%7s  most frequent\n", "token", "outputs");
    for (size_t i = 0; n < a->n && code == CLI_SUCCESS; i++) {
        const int32_t token = a->texts.tokens[i];
        if (token < 0 || listed[token]) continue;
        listed[token] = true;
        code = list_outputs(a, token, n++, a->token, output, rows);
    }
cleanup:
    free(output);
    free(listed);
    return code;
}

static int work(struct analysis *a) {
    a->bare = (a->which == CLI_ANALYSE_GEOMETRY || a->which == CLI_ANALYSE_MASK) &&
              !nvdp_config_is_set(a->cli->config, "mechanism");
    const bool texts = get(a, "text") != NULL || get(a, "task") != NULL;
    if (get(a, "mechanism") != NULL) {
        a->mechanism =
            (struct nvdp_text_mechanism_info)NVDP_RESULT(struct nvdp_text_mechanism_info);
        CLI_DO(a->cli,
               nvdp_text_mechanism_describe(a->cli->ctx, get(a, "mechanism"), &a->mechanism));
    }
    CLI_TRY(check(a, texts));
    CLI_DO(a->cli, make_sanitizer(a));
    if (!texts && a->info.counting)
        return cli_usage(
            a->cli,
            "option --text or --task is needed, because an option takes the words from the texts");
    if (texts) CLI_TRY(read_texts(a));
    a->dchi = nvdp_sanitizer_dchi(a->sanitizer);
    a->seed = strtoull(get(a, "seed"), NULL, 10);
    a->draws = number(a, "draws", a->which == CLI_ANALYSE_INVERSION ? INVERSIONS : DRAWS);
    a->n = a->which == CLI_ANALYSE_MASK ? a->seen : number(a, "measure-tokens", TOKENS);
    if (a->n == 0)
        return cli_usage(a->cli, "option --measure-tokens: expected at least 1, found 0");
    size_t distinct = texts ? 0 : a->info.tokens;
    for (size_t x = 0; x < a->info.tokens && texts; x++)
        distinct += a->prior[x] > 0;
    if ((!texts || a->which == CLI_ANALYSE_REPLACEMENTS) && a->n > distinct)
        a->n = distinct; /* each token at most once */
    a->object = json_pack("{s:s, s:s, s:f, s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "analysis",
                          cli_analyses[a->which], "mechanism", a->bare ? "none" : a->mechanism.name,
                          "eta", a->info.eta, "vocabulary", (json_int_t)a->info.tokens, "dim",
                          (json_int_t)a->info.dim, "tokens", (json_int_t)a->n, "of", texts_json(a),
                          "text_tokens", (json_int_t)a->seen, "text_unknown",
                          (json_int_t)a->texts.unknown, "seed", (json_int_t)a->seed);
    if (!a->cli->json) {
        cli_row("vocabulary", "%zu %s, %zu dimensions", a->info.tokens,
                a->info.pieces ? "WordPieces" : "words", a->info.dim);
        if (texts)
            cli_row("texts", "%zu, %zu tokens, of which %zu have no vector", a->texts.texts,
                    a->seen, a->texts.unknown);
        if (a->which <= CLI_ANALYSE_DENIABILITY)
            cli_row("measured", "%zu tokens of the %s", a->n, texts ? "texts" : "vocabulary");
    }
    return a->which == CLI_ANALYSE_GEOMETRY      ? geometry(a)
           : a->which == CLI_ANALYSE_DENIABILITY ? deniability(a)
           : a->which == CLI_ANALYSE_INVERSION   ? inversion(a)
           : a->which == CLI_ANALYSE_MASK        ? mask_inference(a)
                                                 : replacements(a);
}

int cli_analyse(struct cli *cli, enum cli_analysis which) {
    struct analysis a = {.cli = cli, .which = which};
    int code = work(&a);
    if (code == CLI_SUCCESS && cli->json) code = cli_print_json(cli, json_incref(a.object));
    json_decref(a.object);
    nvdp_sanitizer_free(a.sanitizer);
    nvdp_token_texts_free(&a.texts);
    free(a.token);
    free(a.offset);
    free(a.prior);
    return code;
}
