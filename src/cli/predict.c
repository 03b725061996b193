/* nvdp predict: the leaderboard's file of a split. */
#include "common.h"
#include "run_options.h"

#include <stdlib.h>

struct values {
    struct nvdp_run_config run;
    enum nvdp_precision precision;
    const char *out;
};

static const struct cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Options:"},
    CLI_RUN_OPTIONS(struct values),
    CLI_OPTION("out", "FILE", "file to write (default RUN/predictions_SPLIT.tsv)", CLI_TEXT,
               offsetof(struct values, out)),
    CLI_PRECISION(struct values),
    {0},
};

static int run(struct cli *cli) {
    struct values values = {.run = nvdp_run_config_default()};
    values.run.split = "test";
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    values.run.run = cli->arg[0];
    nvdp_context_set_precision(cli->ctx, values.precision);
    char *written = NULL;
    nvdp_status status = nvdp_predict(cli->ctx, &values.run, values.out, &written);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) {
        code =
            cli_print_json(cli, json_pack("{s:s, s:s}", "split", values.run.split, "out", written));
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
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
