/* nvdp predict: the leaderboard's file of a split. */
#include "common.h"

#include <stdlib.h>

struct values {
    enum nvdp_precision precision;
};

static const struct nvdp_option options[] = {CLI_PRECISION(struct values), {0}};

static int run(struct cli *cli) {
    struct values values = {0};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    nvdp_context_set_precision(cli->ctx, values.precision);
    char *written = NULL;
    nvdp_status status = nvdp_predict(cli->ctx, cli->config, &written);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) {
        code =
            cli_print_json(cli, json_pack("{s:s, s:s}", "split",
                                          nvdp_config_get(cli->config, "split"), "out", written));
    } else {
        cli_row(stdout, "predictions", "%s", written);
    }
    free(written);
    return code;
}

const struct cli_command cli_command_predict = {
    .name = "predict",
    .summary = "write a run's predictions in the leaderboard's format",
    .args = "RUN",
    .args_min = 1,
    .args_max = 1,
    .description = "Writes a run's predictions for a split: index and prediction, separated by a "
                   "tab, as GLUE's leaderboard takes them.",
    .examples = "Examples:\n"
                "  nvdp predict run\n"
                "  nvdp predict run --split test-mismatched --out MNLI-mm.tsv\n",
    .create = nvdp_predict_config_create,
    .heading = "Options:",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
