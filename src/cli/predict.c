/* nvdp predict: the leaderboard's file of a split. */
#include "common.h"

#include <stdlib.h>

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    char *written = NULL;
    CLI_DO(cli, nvdp_predict(cli->ctx, cli->config, &written));
    int code = CLI_SUCCESS;
    if (cli->json) {
        code =
            cli_print_json(cli, json_pack("{s:s, s:s}", "split",
                                          nvdp_config_get(cli->config, "split"), "out", written));
    } else {
        cli_row("predictions", "%s", written);
    }
    free(written);
    return code;
}

const struct cli_command cli_command_predict = {
    .name = "predict",
    .summary = "write a run's predictions in the leaderboard's format",
    .args = "RUN",
    .description = "Writes a run's predictions for a split: index and prediction, separated by a "
                   "tab, as GLUE's leaderboard takes them; of task ner the words with their "
                   "tags and the predicted ones, a word a line.",
    .examples = "Examples:\n"
                "  nvdp predict run\n"
                "  nvdp predict run --split test-mismatched --out MNLI-mm.tsv\n",
    .create = nvdp_predict_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
