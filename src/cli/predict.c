/* nvdp predict: writes predictions for a split, in the leaderboard's format, or for new texts. */
#include "common.h"

#include <stdlib.h>

/* A seed reproduces the predictions, so the bottleneck's noise protects nobody in them. */
static const char not_private[] =
    "none: whoever has the model can repeat the noise, which comes from --seed; nvdp export writes "
    "samples to give away";

static int predict_texts(struct cli *cli) {
    static const char *const others[] = {"split", "data", "limit", NULL};
    const char *other = cli_given_one(cli, others, true),
               *out = nvdp_config_get(cli->config, "out");
    size_t texts = 0;
    if (other != NULL) return cli_usage(cli, "expected either --input or --%s", other);
    CLI_DO(cli, nvdp_predict_texts(cli->ctx, cli->config, cli_write, stdout, &texts));
    if (out == NULL) return CLI_SUCCESS; /* the predictions went to stdout, so no summary follows */
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I, s:b}", "out", out, "texts",
                                             (json_int_t)texts, "private", 0));
    cli_row("predictions", "%s, of %zu text%s", out, texts, texts == 1 ? "" : "s");
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
    .summary = "a run's predictions of a split, or of new texts",
    .args = "RUN",
    .description =
        "Writes a run's predictions for a split: index and prediction, separated by a "
        "tab, as GLUE's leaderboard takes them; of task ner the words with their "
        "tags and the predicted ones, one word per line. With --input, predicts new texts: "
        "a JSON object a line with label and probability, or score, through the "
        "bottleneck's noise as eval does, averaged over --samples draws of it. Predictions "
        "are not private: their noise comes from --seed, so that they can be repeated.",
    .examples = "Examples:\n"
                "  nvdp predict run\n"
                "  nvdp predict run --split test-mismatched --out MNLI-mm.tsv\n"
                "  echo 'A lovely film.' | nvdp predict run --input - --probabilities\n",
    .create = nvdp_predict_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
