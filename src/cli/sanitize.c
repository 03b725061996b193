/* nvdp sanitize: privatizes texts token by token. With --analyse, examines how a mechanism changes a vocabulary, and
 * what an attacker infers from the mechanism's outputs. The library analyzes; this file has the tables that show an
 * analysis. */
#include "common.h"

#include "base/sentence.h"
#include <math.h>
#include <nvdp/analysis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== --analyse ==== */

const char *const cli_analyses[] = {"none",           "geometry",     "deniability", "inversion",
                                    "mask-inference", "replacements", NULL};

/* An analysis, and the analyzed texts. It begins with a result, so nvdp_result_free() frees it. */
struct shown {
    struct nvdp_analysis found;
    struct origin {
        const char *text, *task, *split; /* NULL if not given */
        size_t texts;
    } texts, *of; /* NULL for the vocabulary alone */
};

#define ORIGIN(member, ...)                                                                        \
    NVDP_RESULT_ROW(struct origin, member, NULL, NVDP_SCOPE_FILE, 0, __VA_ARGS__,                  \
                    .absent = NVDP_ABSENT_OMITTED)
static const struct nvdp_result_table origin_table = {
    .name = "origin",
    .rows = (const struct nvdp_result_row[]){ORIGIN(text, "file of the texts"),
                                             ORIGIN(task, "task of the texts"),
                                             ORIGIN(split, "split of the task"),
                                             ORIGIN(texts, "number of texts"),
                                             {0}}};

static void print_vocabulary(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_analysis *a = result;
    nvdp_result_line(to, "vocabulary", "%zu %s, %zu dimensions", a->vocabulary,
                     a->pieces ? "WordPieces" : "words", a->dim);
    if (a->texts > 0)
        nvdp_result_line(to, "texts", "%zu, %zu tokens, of which %zu have no vector", a->texts,
                         a->text_tokens, a->text_unknown);
    if (a->distances != NULL || a->deniability != NULL)
        nvdp_result_line(to, "measured", "%zu tokens of the %s", a->tokens,
                         a->texts > 0 ? "texts" : "vocabulary");
}

#define FOUND(member, ...)                                                                         \
    NVDP_RESULT_ROW(struct nvdp_analysis, member, NULL, NVDP_SCOPE_FILE, 0, __VA_ARGS__)
static const struct nvdp_result_table analysis_table = {
    .name = "analysis",
    .rows = (const struct nvdp_result_row[]){
        FOUND(analysis, "kind of analysis"),
        FOUND(mechanism, "mechanism; none: the vectors, or the texts as they are"),
        FOUND(eta, "nats per unit of distance"),
        FOUND(vocabulary, "tokens with a vector", .print = print_vocabulary),
        FOUND(dim, "length of a vector"),
        FOUND(tokens, "analyzed tokens"),
        {"of", NVDP_RESULT_TABLE, .help = "the texts", NVDP_RESULT_AT(struct shown, of),
         .indirect = true, .of = &origin_table},
        FOUND(text_tokens, "tokens of the texts"),
        FOUND(text_unknown, "words without a vector"),
        FOUND(seed, "seed of the draws"),
        {0}}};

#define OUTPUT(struct_, member, ...)                                                               \
    NVDP_RESULT_ROW(struct_, member, NULL, NVDP_SCOPE_FILE, 0, __VA_ARGS__)
static const struct nvdp_result_table output_table = {
    .name = "output",
    .size = sizeof(struct nvdp_replaced),
    .rows =
        (const struct nvdp_result_row[]){{"token", NVDP_RESULT_TEXT, .help = "the output",
                                          NVDP_RESULT_AT(struct nvdp_replaced, token)},
                                         OUTPUT(struct nvdp_replaced, share, "share of the draws"),
                                         {0}}};
static const struct nvdp_result_table replacement_table = {
    .name = "replacement",
    .size = sizeof(struct nvdp_replacement),
    .rows = (const struct nvdp_result_row[]){
        {"token", NVDP_RESULT_TEXT, .help = "the token",
         NVDP_RESULT_AT(struct nvdp_replacement, token)},
        OUTPUT(struct nvdp_replacement, count, "occurrences in the texts"),
        OUTPUT(struct nvdp_replacement, outputs, "different outputs"),
        {"most_frequent", NVDP_RESULT_LIST, .help = "the most frequent outputs",
         NVDP_RESULT_AT(struct nvdp_replacement, most_frequent), .indirect = true,
         .of = &output_table, NVDP_RESULT_LENGTH(struct nvdp_replacement, listed)},
        {0}}};
static const struct nvdp_result_table replacements_table = {
    .name = "replacements",
    .rows = (const struct nvdp_result_row[]){
        {"replacements", NVDP_RESULT_LIST, .help = "outputs of each token",
         NVDP_RESULT_AT(struct nvdp_analysis, replacement), .indirect = true,
         .of = &replacement_table, NVDP_RESULT_LENGTH(struct nvdp_analysis, replacements)},
        FOUND(draws, "draws of each token"),
        {0}}};

static void print_replacements(const struct nvdp_analysis *a) {
    printf("%-18s%7s  most frequent\n", "token", "outputs");
    for (size_t i = 0; i < a->replacements; i++) {
        const struct nvdp_replacement *of = &a->replacement[i];
        printf("%-18s%7zu", of->token, of->outputs);
        for (size_t j = 0; j < of->listed; j++)
            printf("  %s %.1f %%", of->most_frequent[j].token, 100 * of->most_frequent[j].share);
        putchar('\n');
    }
}

/* Prints a part of the analysis, or adds it to the JSON object. Returns the object. */
static json_t *give(struct cli *cli, json_t *object, const struct nvdp_result_table *table,
                    const void *found) {
    if (cli->json) return nvdp__result_put(object, table, NULL, found);
    cli_print_table(table, found);
    return object;
}

int cli_analyse(struct cli *cli) {
    nvdp__autoresult struct shown shown = {.found = NVDP_RESULT(struct nvdp_analysis),
                                           .texts = {.text = nvdp_config_get(cli->config, "text")}};
    const struct nvdp_analysis *a = &shown.found;
    const char *mask_model = nvdp_config_get(cli->config, "mask-model");
    CLI_DO(cli, nvdp_analyse(cli->ctx, cli->config, &shown.found));
    const struct {
        const char *table;
        const void *found;
    } parts[] = {{"distances", a->distances},
                 {"deniability", a->deniability},
                 {"inversion", a->inversion},
                 {"mask_inference", a->mask_inference}};
    cli_meter_clear(&cli->meter);
    shown.texts.texts = a->texts;
    if (shown.texts.text == NULL) {
        shown.texts.task = nvdp_config_get(cli->config, "task");
        shown.texts.split = nvdp_config_get(cli->config, "split");
    }
    if (a->texts > 0) shown.of = &shown.texts;
    json_t *object = give(cli, json_object(), &analysis_table, &shown);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].found != NULL)
            object = give(cli, object, nvdp_result_table_find(parts[i].table), parts[i].found);
    if (a->replacement != NULL && !cli->json)
        print_replacements(a);
    else if (a->replacement != NULL)
        object = give(cli, object, &replacements_table, a);
    if (a->mask_inference != NULL)
        json_object_set_new(object, "mask_model", json_string(mask_model));
    if (!isnan(a->noise)) json_object_set_new(object, "noise", cli_number(a->noise));
    if (cli->json) return cli_print_json(cli, object);
    json_decref(object);
    if (!isnan(a->noise)) cli_row("noise, mean norm", "%.4g", a->noise);
    return CLI_SUCCESS;
}

/* ==== nvdp sanitize ==== */

struct values {
    int analyse; /* index in cli_analyses */
};

static const struct nvdp_option options[] = {
    {"analyse", NVDP_OPTION_CHOICE, "A",
     "analyze the mechanism and write no texts, for the tokens of --text or --task: geometry "
     "(distances to the k-th neighbor), deniability (N_w, S_w, S*_y and entropies; 1000 draws of "
     "1000 tokens), inversion (how often an attacker guesses the token, by the nearest neighbor "
     "and by the optimal guess), mask-inference (how often a masked language model guesses the "
     "token from its context), replacements (the most frequent outputs of each token)",
     "none", NVDP_OPTION_AT(struct values, analyse), .choices = cli_analyses,
     .group = "Analyses:", .traits = NVDP_TRAIT_BASIC},
    {"split", NVDP_OPTION_TEXT, "NAME",
     "split of the task: train, dev, test, dev-mismatched or test-mismatched", "dev", .min = 0},
    {"limit", NVDP_OPTION_INTEGER, "N", "only use a seeded sample of N texts; 0: all", "0",
     .unit = "texts"},
    {"top", NVDP_OPTION_INTEGER, "N", "replacements: number of outputs listed per token", "10",
     .min = 1, .max = 1 << 24},
    {"mask-model", NVDP_OPTION_TEXT, "DIR",
     "mask-inference: the attacker's model, a BERT with a masked-LM head", .default_value = NULL},
    {"max-length", NVDP_OPTION_INTEGER, "N",
     "mask-inference: maximum number of tokens that the model sees at once; 0: 128, or fewer if "
     "the model takes fewer",
     "0", .unit = "tokens"},
    {0},
};

static void print(struct cli *cli, const struct nvdp_sanitize_result *result, FILE *to) {
    const char *out = nvdp_config_get(cli->config, "out");
    if (out != NULL) nvdp__print_row(to, "output", "%s", out);
    nvdp__result_print(nvdp_result_table_find("sanitize"), result, to);
    for (size_t i = 0; i < result->examples; i++)
        fprintf(to, "%s  - %s\n  + %s\n", i == 0 ? "\n" : "", result->before[i], result->after[i]);
    fprintf(to, "\n");
    nvdp__print_wrapped(to, result->statement);
}

static int run(struct cli *cli) {
    nvdp__autoresult struct nvdp_sanitize_result result = NVDP_RESULT(struct nvdp_sanitize_result);
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (values.analyse > 0) return cli_analyse(cli);
    static const char *const of_analyses[] = {"split",      "limit",      "top",
                                              "mask-model", "max-length", NULL};
    const char *name =
        cli_given(cli, "precision") ? "precision" : cli_given_one(cli, of_analyses, true);
    if (name != NULL) return cli_usage(cli, "option --%s needs --analyse", name);
    if (cli_given(cli, "seed"))
        return cli_usage(
            cli, "option --seed needs --analyse; texts are always drawn from the operating "
                 "system's generator, except with --insecure-seed N for tests and experiments");
    const bool task = nvdp_config_get(cli->config, "task") != NULL;
    const char *out = nvdp_config_get(cli->config, "out");
    if (nvdp_config_get(cli->config, "text") == NULL && !task) {
        if (nvdp_config_get(cli->config, "data") != NULL)
            return cli_usage(cli, "option --task is needed with --data");
        CLI_DO(cli, nvdp_config_set(cli->config, "text", "/dev/stdin"));
    }
    if (cli->json && out == NULL)
        return cli_usage(cli, "--json needs --out: without it the texts go to standard output");
    CLI_DO(cli, nvdp_sanitize(cli->ctx, cli->config, cli_write, stdout, &result));
    cli_meter_clear(&cli->meter);
    if (cli->json)
        return cli_print_json(
            cli, cli_add_result(json_pack("{s:s?, s:I, s:I}", "out", out, "vocabulary",
                                          (json_int_t)result.sanitizer->tokens, "sensitive",
                                          (json_int_t)result.sanitizer->sensitive),
                                "sanitize", "json", &result));
    if (out != NULL || !cli->quiet) print(cli, &result, out != NULL ? stdout : stderr);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_sanitize = {
    .name = "sanitize",
    .summary = "privatize texts token by token (SanText and d_chi mechanisms)",
    .description = "Writes a task's files in their own layout, or one text per line, with every "
                   "token drawn by a mechanism of text privatization; labels and other columns "
                   "stay unchanged. Without --task and --text it reads standard input. Draws come "
                   "from the operating system's generator, so two calls never give the same texts. "
                   "What this protects and what not: docs/text-privatization.md.",
    .examples = "Examples:\n"
                "  nvdp sanitize --task sst2 --data SST-2 --mechanism santext --epsilon 2 \\\n"
                "    --vectors glove.6B.300d.txt --out SST-2-santext\n"
                "  nvdp sanitize --text mail.txt --mechanism laplace-nearest --eta 100 \\\n"
                "    --model bert-base-uncased --out mail-private.txt\n"
                "  nvdp sanitize --task sst2 --data SST-2 --mechanism laplace --eta 100 \\\n"
                "    --model bert-base-uncased --out representations.h5\n"
                "  nvdp sanitize --analyse inversion --text mail.txt --mechanism santext \\\n"
                "    --epsilon 2 --vectors glove.6B.300d.txt --json\n"
                "  nvdp sanitize --analyse mask-inference --task sst2 --data SST-2 \\\n"
                "    --mechanism santext --epsilon 14 --model bert-base-uncased \\\n"
                "    --mask-model bert-base-uncased --precision bf16\n",
    .kinds = "sanitize",
    .options = options,
    .takes_precision = true,
    .run = run,
};
