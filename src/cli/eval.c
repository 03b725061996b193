/* nvdp eval: scores a run with fresh noise. */
#include "common.h"

struct values {
    enum nvdp_precision precision;
};

static const struct nvdp_option options[] = {CLI_PRECISION(struct values), {0}};

static json_t *evaluation_json(const struct nvdp_evaluation *evaluation) {
    const struct nvdp_scores *scores = &evaluation->scores;
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "task", evaluation->task, "method",
                     evaluation->method, "split", evaluation->split, "protocol",
                     evaluation->protocol, "n", (json_int_t)scores->n, "draws",
                     (json_int_t)scores->draws, "metrics", cli_scores_json(scores), "majority",
                     cli_number(scores->majority));
}

static int run(struct cli *cli) {
    struct values values = {0};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    nvdp_context_set_precision(cli->ctx, values.precision);
    struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    nvdp_status status = nvdp_evaluate(cli->ctx, cli->config, &evaluation);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return cli_print_json(cli, evaluation_json(&evaluation));
    cli_row(stdout, "task", "%s, %s split", evaluation.task, evaluation.split);
    cli_row(stdout, "method", "%s", evaluation.method);
    cli_row(stdout, "selected on", "%s", evaluation.protocol);
    cli_scores_print(&evaluation.scores, stdout);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_eval = {
    .name = "eval",
    .summary = "score a run with fresh noise: mean and spread over draws",
    .args = "RUN",
    .args_min = 1,
    .args_max = 1,
    .description = "Scores a run on a split with fresh noise: mean and standard deviation over "
                   "draws.",
    .examples = "Examples:\n"
                "  nvdp eval run\n"
                "  nvdp eval run --split dev --draws 20 --json\n",
    .create = nvdp_evaluate_config_create,
    .heading = "Options:",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
