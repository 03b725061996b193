/* nvdp export: writes noisy embeddings of texts to a file to give away, and prints what the file reveals. The library
 * does the work; this file parses options and prints the result. */
#include "common.h"

#include "base/sentence.h"
#include <math.h>
#include <stdlib.h>

static int print_json(struct cli *cli, const struct nvdp_export_result *result) {
    json_t *privacy = json_null();
    if (result->privacy != NULL) {
        char *text = NULL;
        CLI_DO(cli, nvdp_privacy_report_json(cli->ctx, result->privacy, &text));
        privacy = json_loads(text, 0, NULL);
        free(text);
    }
    json_t *spent = result->spent_samples == 0
                        ? json_null()
                        : json_pack("{s:I, s:o, s:o}", "samples", (json_int_t)result->spent_samples,
                                    "epsilon", cli_number(result->spent_epsilon), "delta",
                                    cli_number(result->spent_delta));
    return cli_print_json(
        cli, json_pack("{s:s, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:o, s:o, s:I}",
                       "guarantee", result->guarantee, "useful", result->useful, "training_texts",
                       result->training_texts, "out", nvdp_config_get(cli->config, "out"), "texts",
                       (json_int_t)result->texts, "samples", (json_int_t)result->samples,
                       "components", (json_int_t)result->components, "dim", (json_int_t)result->dim,
                       "bytes", (json_int_t)result->bytes, "insecure_seed",
                       cli_given(cli, "insecure-seed"), "statement", result->statement, "privacy",
                       privacy, "spent", spent, "replaced", (json_int_t)result->replaced));
}

static void print_ledger(const struct nvdp_config *config,
                         const struct nvdp_export_result *result) {
    const char *ledger = nvdp_config_get(config, "ledger");
    char bound[NVDP__BOUND_TEXT], proven[80] = ", without a proven guarantee";
    if (result->spent_samples == 0) {
        cli_row("ledger", "none: samples of these texts in other files are not counted");
        return;
    }
    if (isfinite(result->spent_epsilon))
        snprintf(proven, sizeof proven, ", epsilon %s at delta %g",
                 nvdp__bound(bound, result->spent_epsilon), result->spent_delta);
    cli_row("ledger", "%s%s: in total at most %llu sample%s of a text%s",
            ledger != NULL ? ledger : nvdp_config_get(config, "run"),
            ledger != NULL ? "" : "/ledger", (unsigned long long)result->spent_samples,
            result->spent_samples == 1 ? "" : "s", proven);
}

static int print(struct cli *cli, const struct nvdp_export_result *result) {
    const struct nvdp_config *config = cli->config;
    char *text = NULL;
    const char *model = nvdp_config_get(config, "model-out");
    nvdp__print_wrapped(stdout, result->guarantee);
    cli_row("file", "%s  (%.1f MiB)", nvdp_config_get(config, "out"),
            (double)result->bytes / (1 << 20));
    cli_row("texts", "%zu with %zu sample%s each, at most %zu component%s per sample, width %zu",
            result->texts, result->samples, result->samples == 1 ? "" : "s", result->components,
            result->components == 1 ? "" : "s", result->dim);
    if (model != NULL) cli_row("public model", "%s", model);
    print_ledger(config, result);
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
    CLI_DO(cli, nvdp_export(cli->ctx, cli->config, &result));
    const int code = cli->json ? print_json(cli, &result) : print(cli, &result);
    nvdp_export_result_free(&result);
    return code;
}

const struct cli_command cli_command_export = {
    .name = "export",
    .summary = "write noisy embeddings to a file to give away",
    .args = "RUN",
    .description =
        "Draws samples of texts with randomness from the operating system and writes them to a "
        "file to give away. The file has nothing else that is derived from the texts. Prints what "
        "the file reveals. The run's ledger counts the samples of each text; a second export of a "
        "text is refused unless --budget-samples allows it.",
    .examples = "Examples:\n"
                "  nvdp export run --input texts.tsv --out shared.h5\n"
                "  nvdp export run --split train,dev --with-labels --out shared.h5 \\\n"
                "    --model-out shared-model\n"
                "  nvdp export run --input texts.tsv --out again.h5 --budget-samples 2\n",
    .create = nvdp_export_config_create,
    .takes_precision = true,
    .run = run,
};
