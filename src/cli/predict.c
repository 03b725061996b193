/* nvdp predict: writes predictions for a split, in the leaderboard's format, or for new texts. */
#include "common.h"

#include <stdlib.h>

/* A seed reproduces the predictions, so the bottleneck's noise protects nobody in them. */
static const char not_private[] = "none: everyone who has the model can repeat the noise, because "
                                  "it comes from --seed; nvdp export writes samples to give away";

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

static int run(struct cli *cli) {
    static const char *const of_texts[] = {"samples", "probabilities", NULL};
    CLI_TRY(cli_begin(cli, NULL));
    const char *input = nvdp_config_get(cli->config, "input");
    const char *other = cli_given_one(cli, of_texts, true);
    if (input != NULL) return predict_texts(cli);
    if (other != NULL) return cli_usage(cli, "option --%s needs --input", other);
    char *written = NULL;
    CLI_DO(cli, nvdp_predict(cli->ctx, cli->config, &written));
    int code = CLI_SUCCESS;
    if (cli->json) {
        code = cli_print_json(cli, json_pack("{s:s, s:s, s:b}", "split",
                                             nvdp_config_get(cli->config, "split"), "out", written,
                                             "private", 0));
    } else {
        cli_row("predictions", "%s", written);
        cli_row("privacy", "%s", not_private);
    }
    free(written);
    return code;
}

const struct cli_command cli_command_predict = {
    .name = "predict",
    .summary = "write a run's predictions for a split or for new texts",
    .args = "RUN",
    .description =
        "Writes a run's predictions for a split: index and prediction, separated by a tab, in the "
        "format of GLUE's leaderboard; for task ner one word per line, with its tag and the "
        "predicted tag. With --input, predicts new texts: one JSON object per text with label and "
        "probability, or with the score. As in eval, the predictions pass through the bottleneck's "
        "noise; they are averaged over --samples draws. Predictions are not private: their noise "
        "comes from --seed, so that they can be repeated.",
    .examples = "Examples:\n"
                "  nvdp predict run\n"
                "  nvdp predict run --split test-mismatched --out MNLI-mm.tsv\n"
                "  echo 'A lovely film.' | nvdp predict run --input - --probabilities\n",
    .create = nvdp_predict_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
