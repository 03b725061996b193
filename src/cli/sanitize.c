/* nvdp sanitize: privatizes texts token by token, or with --analyse examines the mechanism (analyse.c). */
#include "common.h"

#include "base/sentence.h"
#include <stdio.h>
#include <stdlib.h>

struct values {
    enum cli_analysis analyse;
    const char *split;
    size_t limit;
    size_t top;
    const char *mask_model;
    size_t max_length;
};

static const struct nvdp_option options[] = {
    {"analyse", NVDP_OPTION_CHOICE, "A",
     "analyze the mechanism and write no texts, for the tokens of --text or --task: geometry "
     "(distances to the k-th neighbor), deniability (N_w, S_w, S*_y and entropies; 1000 draws of "
     "1000 tokens), inversion (how often an attacker names the token, by the nearest neighbor and "
     "by the optimal guess), mask-inference (how often a masked language model names it from its "
     "context), replacements (the most frequent outputs of each token)",
     "none", NVDP_OPTION_AT(struct values, analyse), .choices = cli_analyses,
     .group = "Analyses:", .traits = NVDP_TRAIT_BASIC},
    {"split", NVDP_OPTION_TEXT, "NAME",
     "split of the task: train, dev, test, dev-mismatched or test-mismatched", "dev",
     NVDP_OPTION_AT(struct values, split)},
    {"limit", NVDP_OPTION_INTEGER, "N", "only use a seeded sample of N texts; 0: all", "0",
     NVDP_OPTION_AT(struct values, limit), .unit = "texts"},
    {"top", NVDP_OPTION_INTEGER, "N", "replacements: number of outputs listed per token", "10",
     NVDP_OPTION_AT(struct values, top), .min = 1, .max = 1 << 24},
    {"mask-model", NVDP_OPTION_TEXT, "DIR",
     "mask-inference: the attacker's model, a BERT with a masked-LM head",
     NVDP_OPTION_AT(struct values, mask_model)},
    {"max-length", NVDP_OPTION_INTEGER, "N",
     "mask-inference: maximum number of tokens that the model sees at once; 0: 128, or fewer if "
     "the model takes fewer",
     "0", NVDP_OPTION_AT(struct values, max_length), .unit = "tokens"},
    {0},
};

static int print(struct cli *cli, const struct nvdp_sanitize_result *result, FILE *to) {
    char *text = NULL;
    const char *out = nvdp_config_get(cli->config, "out");
    CLI_DO(cli, nvdp_result_text(cli->ctx, nvdp_result_table_find("sanitize"), result, &text));
    if (out != NULL) nvdp__print_row(to, "output", "%s", out);
    fputs(text, to);
    free(text);
    for (size_t i = 0; i < result->examples; i++)
        fprintf(to, "%s  - %s\n  + %s\n", i == 0 ? "\n" : "", result->before[i], result->after[i]);
    fprintf(to, "\n");
    nvdp__print_wrapped(to, result->statement);
    return CLI_SUCCESS;
}

static int run(struct cli *cli) {
    struct nvdp_sanitize_result result = NVDP_RESULT(struct nvdp_sanitize_result);
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    if (values.analyse != CLI_ANALYSE_NONE) return cli_analyse(cli, values.analyse);
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
    int code = CLI_SUCCESS;
    cli_meter_clear(&cli->meter);
    if (cli->json)
        code = cli_print_json(
            cli, cli_add_result(cli,
                                json_pack("{s:s?, s:I, s:I}", "out", out, "vocabulary",
                                          (json_int_t)result.sanitizer->tokens, "sensitive",
                                          (json_int_t)result.sanitizer->sensitive),
                                "sanitize", "json", &result));
    else if (out != NULL || !cli->quiet)
        code = print(cli, &result, out != NULL ? stdout : stderr);
    nvdp_sanitize_result_free(&result);
    return code;
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
    .create = nvdp_sanitize_config_create,
    .options = options,
    .takes_precision = true,
    .run = run,
};
