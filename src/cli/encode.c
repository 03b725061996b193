/* nvdp encode: plain hidden states, for analysis. */
#include "common.h"

struct values {
    enum nvdp_precision precision;
};

static const struct nvdp_option options[] = {CLI_PRECISION(struct values), {0}};

static int run(struct cli *cli) {
    struct values values = {0};
    int code = cli_begin(cli, &values);
    if (code == CLI_SUCCESS) code = cli_need(cli);
    if (code != CLI_SUCCESS) return code;
    size_t texts = 0;
    nvdp_context_set_precision(cli->ctx, values.precision);
    nvdp_status status = nvdp_encode(cli->ctx, cli->config, &texts);
    if (status != NVDP_OK) return cli_fail(cli, status);
    const char *out = nvdp_config_get(cli->config, "out");
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I}", "out", out, "texts", (json_int_t)texts));
    cli_row(stdout, "texts", "%zu", texts);
    cli_row(stdout, "file", "%s", out);
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
    .create = nvdp_encode_config_create,
    .heading = "Options:",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
