/* nvdp export: noisy embeddings to give away. */
#include "common.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    struct nvdp_export_config config;
};

#define AT(field) NVDP_OPTION_AT(struct values, config.field)

static const struct nvdp_option options[] = {

    {"input", NVDP_OPTION_TEXT, "F.tsv", "a file with the task's text columns", AT(input),
     .group = "Texts:"},
    {"split", NVDP_OPTION_LIST, "NAMES", "splits of the task's data, such as train,dev",
     AT(splits)},
    {"data", NVDP_OPTION_TEXT, "DIR", "the task's folder, where it has moved since training",
     AT(data)},
    {"limit", NVDP_OPTION_INTEGER, "N", "at most N texts a split; 0: all", AT(limit)},

    {"out", NVDP_OPTION_TEXT, "FILE.h5", "file to write", AT(out), .group = "Release:"},
    {"model-out", NVDP_OPTION_TEXT, "DIR",
     "also write the public part of the model, to start readers from", AT(model_out)},
    {"samples", NVDP_OPTION_INTEGER, "S",
     "samples a text; each is a release and adds to the divergence", AT(samples)},
    {"with-labels", NVDP_OPTION_FLAG, NULL, "write the labels into the file", AT(with_labels)},
    {"overwrite", NVDP_OPTION_FLAG, NULL, "replace existing output", AT(overwrite)},
    {"batch", NVDP_OPTION_INTEGER, "N", "texts a batch", AT(batch)},
    {"insecure-seed", NVDP_OPTION_SEED, "N",
     "noise from a seed instead of the operating system: for tests only, the file says so",
     AT(seed), .traits = NVDP_TRAIT_NO_DEFAULT},

    {"order", NVDP_OPTION_REAL, "X", "order of the Renyi divergence", AT(order),
     .group = "Privacy summary:"},
    {"delta", NVDP_OPTION_REAL, "X", "failure probability of the Bayesian DP statement", AT(delta)},
    {"measure-texts", NVDP_OPTION_INTEGER, "N", "measure on a seeded sample of at most N texts",
     AT(measure_texts)},
    {0},
};

static int print_json(struct cli *cli, const struct nvdp_export_config *config,
                      const struct nvdp_export_result *result) {
    json_t *privacy = json_null();
    if (result->measured) {
        char *text = NULL;
        nvdp_status status = nvdp_privacy_report_json(cli->ctx, &result->privacy, &text);
        if (status != NVDP_OK) return cli_fail(cli, status);
        privacy = json_loads(text, 0, NULL);
        free(text);
    }
    return cli_print_json(
        cli,
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "out", config->out, "texts",
                  (json_int_t)result->texts, "samples", (json_int_t)result->samples, "components",
                  (json_int_t)result->components, "dim", (json_int_t)result->dim, "bytes",
                  (json_int_t)result->bytes, "statement", result->statement, "privacy", privacy));
}

/* Text broken into lines at its blanks. */
static void print_wrapped(const char *text) {
    enum { WIDTH = 78 };
    size_t column = 0;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (column > 0) {
            bool fits = column + 1 + length <= WIDTH;
            putchar(fits ? ' ' : '\n');
            column = fits ? column + 1 : 0;
        }
        printf("%.*s", (int)length, word);
        column += length;
        word += length;
    }
    putchar('\n');
}

static void print(const struct nvdp_export_config *config,
                  const struct nvdp_export_result *result) {
    cli_row(stdout, "file", "%s  (%.1f MiB)", config->out, (double)result->bytes / (1 << 20));
    cli_row(stdout, "texts", "%zu, %zu sample%s each of %zu components, width %zu", result->texts,
            result->samples, result->samples == 1 ? "" : "s", result->components, result->dim);
    if (config->model_out != NULL) cli_row(stdout, "public model", "%s", config->model_out);
    putchar('\n');
    print_wrapped(result->statement);
    if (result->measured) {
        putchar('\n');
        nvdp_privacy_report_print(&result->privacy, stdout);
    }
}

static int run(struct cli *cli) {
    struct values values = {.config = nvdp_export_config_default()};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    struct nvdp_export_config *config = &values.config;
    config->run = cli->arg[0];
    config->insecure_seed = cli_given(cli, "insecure-seed");
    if (config->out == NULL) return cli_usage(cli, "option --out is needed");
    if (config->input != NULL && cli_given(cli, "split"))
        return cli_usage(cli, "expected either --input or --split");
    if (config->input == NULL && config->splits == NULL)
        return cli_usage(cli, "option --input or --split is needed");
    struct nvdp_export_result result;
    nvdp_status status = nvdp_export(cli->ctx, config, &result);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json) return print_json(cli, config, &result);
    print(config, &result);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_export = {
    .name = "export",
    .summary = "write noisy embeddings to a file to give away",
    .args = "RUN",
    .args_min = 1,
    .args_max = 1,
    .description = "Draws samples of texts with randomness from the operating system and writes "
                   "them, and nothing else derived from the texts, to a file to give away. Says "
                   "what the file reveals.",
    .examples = "Examples:\n"
                "  nvdp export run --input texts.tsv --out shared.h5\n"
                "  nvdp export run --split train,dev --with-labels --out shared.h5 \\\n"
                "    --model-out shared-model\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
