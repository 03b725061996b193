/* nvdp eval: scores a run with fresh noise. */
#include "common.h"

static json_t *evaluation_json(const struct nvdp_evaluation *evaluation) {
    const struct nvdp_scores *scores = &evaluation->scores;
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o}", "task", evaluation->task, "method",
                     evaluation->method, "split", evaluation->split, "protocol",
                     evaluation->protocol, "n", (json_int_t)scores->n, "draws",
                     (json_int_t)scores->draws, "metrics", cli_scores_json(scores), "majority",
                     cli_number(scores->majority));
}

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    struct nvdp_evaluation evaluation = NVDP_RESULT(struct nvdp_evaluation);
    CLI_DO(cli, nvdp_evaluate(cli->ctx, cli->config, &evaluation));
    if (cli->json) return cli_print_json(cli, evaluation_json(&evaluation));
    cli_row("task", "%s, %s split", evaluation.task, evaluation.split);
    cli_row("method", "%s", evaluation.method);
    cli_row("selected on", "%s", evaluation.protocol);
    cli_scores_print(&evaluation.scores);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_eval = {
    .name = "eval",
    .summary = "score a run with fresh noise: mean and spread over draws",
    .args = "RUN",
    .description = "Scores a run on a split with fresh noise: mean and standard deviation over "
                   "draws.",
    .examples = "Examples:\n"
                "  nvdp eval run\n"
                "  nvdp eval run --split dev --draws 20 --json\n",
    .create = nvdp_evaluate_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
