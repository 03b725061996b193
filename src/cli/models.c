/* Commands that run a model on texts. nvdp encode: writes an encoder's hidden states, without noise, for analysis.
 * nvdp eval: scores a run on a split with fresh noise, and prints the scores as a table or JSON. nvdp predict: writes
 * predictions for a split, in the leaderboard's format, or for new texts. */
#include "common.h"

#include <stdlib.h>

/* ==== nvdp encode ==== */

static int encode(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    if (!cli_given(cli, "input") && !cli_given(cli, "jsonl"))
        return cli_usage(cli, "option --input is needed");
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    CLI_DO(cli, nvdp_encode(cli->ctx, cli->config, &done));
    const char *out = nvdp_config_get(cli->config, "out");
    CLI_TRY(cli_show(cli, json_pack("{s:s}", "out", out), "encoding", &done));
    if (!cli->json) cli_row("file", "%s", out);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_encode = {
    .name = "encode",
    .summary = "write plain hidden states (not private, for analysis)",
    .description = "Writes the encoder's hidden states of texts to a file (HDF5, NumPy, Parquet, "
                   "safetensors) and, "
                   "for models of "
                   "sentence-transformers, also their sentence embeddings. The values are not "
                   "private: use them for analysis and comparison, and do not give them away.",
    .examples = "Examples:\n"
                "  nvdp encode --model bert --input texts.jsonl --out hidden.h5 --all-layers\n"
                "  nvdp encode --model models/minilm --input reviews.csv --text-column review \\\n"
                "    --only-embeddings --out sentences.npz\n"
                "  grep -v '^#' texts.txt | nvdp encode --model bert --input - --out hidden.h5\n",
    .kinds = "encode",
    .heading = "Options:",
    .takes_precision = true,
    .run = encode,
};

/* ==== nvdp eval ==== */

/* A table with more classes is only in the JSON. */
enum { MAX_CLASSES = 50 };

struct classes {
    size_t count;
    struct nvdp_class_score *each;
};

static void release(const struct classes *classes) {
    free(classes->each);
}

static int evaluate(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    nvdp__autoresult struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    nvdp__auto(release) struct classes classes = {0};
    const struct nvdp_result_row rows[] = {
        {"classes", NVDP_RESULT_LIST, .of = nvdp_result_table_find("class_score"), .label = "",
         NVDP_RESULT_AT(struct classes, each), .indirect = true,
         NVDP_RESULT_LENGTH(struct classes, count)},
        {0}};
    const struct nvdp_result_table table = {.name = "classes", .rows = rows};
    CLI_DO(cli, nvdp_evaluate_classes(cli->ctx, cli->config, &evaluation, &classes.count,
                                      &classes.each));
    if (cli->json) {
        json_t *object = cli_add_result(json_object(), "evaluation", NULL, &evaluation);
        object = cli_add_result(object, "scores", NULL, evaluation.scores);
        return cli_print_json(cli, nvdp__result_put(object, &table, NULL, &classes));
    }
    cli_print_result("evaluation", &evaluation);
    cli_print_result("scores", evaluation.scores);
    if (classes.count <= MAX_CLASSES) cli_print_table(&table, &classes);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_eval = {
    .name = "eval",
    .summary = "score a run with fresh noise: mean and spread over draws",
    .args = "RUN",
    .description =
        "Scores a run on a split with fresh noise: prints the mean and standard deviation over "
        "draws, a 95 % bootstrap interval over texts, and the scores of each class.",
    .examples = "Examples:\n"
                "  nvdp eval run\n"
                "  nvdp eval run --split dev --draws 20 --json\n",
    .kinds = "evaluate",
    .heading = "Options:",
    .takes_precision = true,
    .run = evaluate,
};

/* ==== nvdp predict ==== */

/* A seed reproduces the predictions of a run, so the bottleneck's noise protects nobody in predictions. Predictions of a
 * summary's reader have no noise. */
static const char not_private[] =
    "none: a run's noise comes from --seed, so that everyone who has the run can repeat the noise, "
    "and a reader of a summary adds none; nvdp export writes samples to give away";

static int predict_texts(struct cli *cli) {
    static const char *const others[] = {"split", "data", "limit", NULL};
    const char *other = cli_given_one(cli, others, true),
               *out = nvdp_config_get(cli->config, "out");
    size_t texts = 0;
    if (other != NULL) return cli_usage(cli, "expected exactly one of --input and --%s", other);
    CLI_DO(cli, nvdp_predict_texts(cli->ctx, cli->config, cli_write, stdout, &texts));
    if (out == NULL) return CLI_SUCCESS; /* the predictions went to stdout, so no summary follows */
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I, s:b}", "out", out, "texts",
                                             (json_int_t)texts, "private", 0));
    cli_row("predictions", "%s, for %zu text%s", out, texts, texts == 1 ? "" : "s");
    cli_row("privacy", "%s", not_private);
    return CLI_SUCCESS;
}

static int predict(struct cli *cli) {
    static const char *const of_texts[] = {"samples", "probabilities", NULL};
    CLI_TRY(cli_begin(cli, NULL));
    const char *input = nvdp_config_get(cli->config, "input");
    const char *other = cli_given_one(cli, of_texts, true);
    if (input != NULL) return predict_texts(cli);
    if (other != NULL) return cli_usage(cli, "option --%s needs --input", other);
    nvdp__autofree char *written = NULL;
    CLI_DO(cli, nvdp_predict(cli->ctx, cli->config, &written));
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:s, s:b}", "split",
                                             nvdp_config_get(cli->config, "split"), "out", written,
                                             "private", 0));
    cli_row("predictions", "%s", written);
    cli_row("privacy", "%s", not_private);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_predict = {
    .name = "predict",
    .summary = "write a run's predictions for a split or for new texts",
    .args = "RUN|READER",
    .description =
        "Writes a run's predictions for a split: index and prediction, separated by a tab, in the "
        "format of GLUE's leaderboard; for task ner one word per line, with its tag and the "
        "predicted tag. With --input, predicts new texts: one JSON object per text with label and "
        "probability, or with the score. As in eval, the predictions pass through the bottleneck's "
        "noise; they are averaged over --samples draws. Predictions are not private: their noise "
        "comes from --seed, so that they can be repeated. READER is a reader of a summary (nvdp "
        "reuse): it predicts new texts from the encoder's embeddings, without noise.",
    .examples = "Examples:\n"
                "  nvdp predict run\n"
                "  nvdp predict run --split test-mismatched --out MNLI-mm.tsv\n"
                "  echo 'A lovely film.' | nvdp predict run --input - --probabilities\n"
                "  nvdp predict reader --model models/minilm --input texts.txt\n",
    .kinds = "predict",
    .heading = "Options:",
    .takes_precision = true,
    .run = predict,
};
