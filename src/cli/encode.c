/* nvdp encode: plain hidden states, for analysis. */
#include "common.h"

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    size_t texts = 0;
    CLI_DO(cli, nvdp_encode(cli->ctx, cli->config, &texts));
    const char *out = nvdp_config_get(cli->config, "out");
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I}", "out", out, "texts", (json_int_t)texts));
    cli_row("texts", "%zu", texts);
    cli_row("file", "%s", out);
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
    .takes_precision = true,
    .run = run,
};
