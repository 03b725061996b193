/* nvdp encode: writes an encoder's hidden states of texts, without noise, for analysis. The library does the work. */
#include "common.h"

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    if (!cli_given(cli, "input") && !cli_given(cli, "jsonl"))
        return cli_usage(cli, "option --input is needed");
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    CLI_DO(cli, nvdp_encode(cli->ctx, cli->config, &done));
    const char *out = nvdp_config_get(cli->config, "out");
    if (cli->json)
        return cli_print_json(
            cli, cli_add_result(cli, json_pack("{s:s}", "out", out), "encoding", NULL, &done));
    cli_print_result(cli, "encoding", &done);
    cli_row("file", "%s", out);
    return CLI_SUCCESS;
}

const struct cli_command cli_command_encode = {
    .name = "encode",
    .summary = "write plain hidden states (not private, for analysis)",
    .description = "Writes the encoder's hidden states of texts to an HDF5 file and, for models of "
                   "sentence-transformers, also their sentence embeddings. The values are not "
                   "private: use them for analysis and comparison, and do not give them away.",
    .examples = "Examples:\n"
                "  nvdp encode --model bert --input texts.jsonl --out hidden.h5 --all-layers\n"
                "  nvdp encode --model models/minilm --input reviews.csv --text-column review \\\n"
                "    --out sentences.h5\n"
                "  grep -v '^#' texts.txt | nvdp encode --model bert --input - --out hidden.h5\n",
    .create = nvdp_encode_config_create,
    .heading = "Options:",
    .takes_precision = true,
    .run = run,
};
