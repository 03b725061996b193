/* nvdp export: writes noisy embeddings of texts to a file to give away, and prints what the file reveals. The library
 * does the work; this file parses options and prints the result. */
#include "common.h"

#include <stdlib.h>

static int print_json(struct cli *cli, const struct nvdp_export_result *result) {
    json_t *privacy = json_null();
    if (result->privacy != NULL) {
        char *text = NULL;
        CLI_DO(cli, nvdp_privacy_report_json(cli->ctx, result->privacy, &text));
        privacy = json_loads(text, 0, NULL);
        free(text);
    }
    json_t *object =
        json_pack("{s:s, s:b, s:o}", "out", nvdp_config_get(cli->config, "out"), "insecure_seed",
                  cli_given(cli, "insecure-seed"), "privacy", privacy);
    return cli_print_json(cli, cli_add_result(cli, object, "export", NULL, result));
}

static int print(struct cli *cli, const struct nvdp_export_result *result) {
    const struct nvdp_config *config = cli->config;
    char *text = NULL;
    const char *model = nvdp_config_get(config, "model-out"),
               *ledger = nvdp_config_get(config, "ledger");
    nvdp__print_wrapped(stdout, result->guarantee);
    cli_row("file", "%s", nvdp_config_get(config, "out"));
    if (nvdp_config_get(config, "model") != NULL) cli_row("run", "%s", result->run);
    if (model != NULL) cli_row("public model", "%s", model);
    if (result->spent_samples == 0)
        cli_row("ledger", "none: samples of these texts in other files are not counted");
    else
        cli_row("ledger", "%s%s", ledger != NULL ? ledger : result->run,
                ledger != NULL ? "" : "/ledger");
    cli_print_result(cli, "export", result);
    putchar('\n');
    nvdp__print_wrapped(stdout, result->statement);
    if (result->privacy == NULL) return CLI_SUCCESS;
    putchar('\n');
    CLI_DO(cli, nvdp_privacy_report_summary(cli->ctx, result->privacy, &text));
    CLI_TRY(cli_put(text));
    puts("All numbers: --json");
    return CLI_SUCCESS;
}

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    bool input = nvdp_config_get(cli->config, "input") != NULL;
    bool split = nvdp_config_get(cli->config, "split") != NULL;
    if (input && split) return cli_usage(cli, "expected exactly one of --input and --split");
    if (!input && !split) return cli_usage(cli, "option --input or --split is needed");
    struct nvdp_export_result result = NVDP_RESULT(struct nvdp_export_result);
    cli_catch_pipe(); /* an export that is killed stays counted */
    CLI_DO(cli, nvdp_export(cli->ctx, cli->config, &result));
    const int code = cli->json ? print_json(cli, &result) : print(cli, &result);
    nvdp_export_result_free(&result);
    return code;
}

const struct cli_command cli_command_export = {
    .name = "export",
    .summary = "write noisy embeddings to a file to give away",
    .args = "[RUN]",
    .description =
        "Draws samples of texts with randomness from the operating system and writes them to a "
        "file to give away. Without --publish-measured nothing else in the file is derived from "
        "the "
        "content of the texts; their number, order, row numbers and splits are public. Prints what "
        "the file reveals. The run's ledger counts the samples of each text; a second export of a "
        "text is refused unless --budget-samples allows it. So are texts that stand several times "
        "and "
        "together exceed what the run was certified for, unless --duplicates each allows them. "
        "Refusals, warnings and this output are for the owner of the texts.",
    .examples = "Examples:\n"
                "  nvdp export run --input texts.tsv --out shared.h5\n"
                "  nvdp export run --split train,dev --with-labels --out shared.h5 \\\n"
                "    --model-out shared-model\n"
                "  nvdp export run --input texts.tsv --out again.h5 --budget-samples 2\n"
                "  nvdp export --model models/minilm --center public.txt \\\n"
                "    --certified-epsilon 92 --input texts.tsv --out shared.h5\n",
    .create = nvdp_export_config_create,
    .takes_precision = true,
    .run = run,
};
