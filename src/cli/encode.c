/* nvdp encode: plain hidden states, for analysis. */
#include "common.h"

struct values {
    struct nvdp_encode_config config;
    enum nvdp_precision precision;
};

#define AT(field) NVDP_OPTION_AT(struct values, config.field)

static const struct nvdp_option options[] = {

    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory in Hugging Face layout, or RUN/model of a base run", AT(model),
     .group = "Options:"},
    {"jsonl", NVDP_OPTION_TEXT, "F.jsonl",
     "JSON lines with text, pair, max_length, or with input_ids, token_type_ids", AT(input)},
    {"input", NVDP_OPTION_TEXT, "F.jsonl", "the same as --jsonl",
     .sets = (const char *const[]){"jsonl", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"out", NVDP_OPTION_TEXT, "FILE.h5", "file to write", AT(out)},
    {"all-layers", NVDP_OPTION_FLAG, NULL, "write the hidden states of every layer",
     AT(all_layers)},
    {"max-length", NVDP_OPTION_INTEGER, "N", "tokens a text is cut to where its line does not say",
     AT(max_length)},
    {"batch", NVDP_OPTION_INTEGER, "N", "texts a batch", AT(batch)},
    CLI_PRECISION(struct values),
    {0},
};

static int run(struct cli *cli) {
    struct values values = {.config = nvdp_encode_config_default()};
    int code = cli_begin(cli, &values);
    if (code != CLI_SUCCESS) return code;
    const struct nvdp_encode_config *config = &values.config;
    if (config->model == NULL) return cli_usage(cli, "option --model is needed");
    if (config->input == NULL) return cli_usage(cli, "option --jsonl is needed");
    if (config->out == NULL) return cli_usage(cli, "option --out is needed");
    size_t texts = 0;
    nvdp_context_set_precision(cli->ctx, values.precision);
    nvdp_status status = nvdp_encode(cli->ctx, config, &texts);
    if (status != NVDP_OK) return cli_fail(cli, status);
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:s, s:I}", "out", config->out, "texts", (json_int_t)texts));
    cli_row(stdout, "texts", "%zu", texts);
    cli_row(stdout, "file", "%s", config->out);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_encode = {
    .name = "encode",
    .summary = "write plain hidden states (not private, for analysis)",
    .description = "Writes BERT's hidden states of texts to an HDF5 file. They are not private: "
                   "for analysis and comparison, not for giving away.",
    .examples = "Examples:\n"
                "  nvdp encode --model bert --jsonl texts.jsonl --out hidden.h5\n"
                "  nvdp encode --model bert --jsonl texts.jsonl --out hidden.h5 --all-layers\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
