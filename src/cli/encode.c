/* nvdp encode: writes an encoder's hidden states of texts, without noise, for analysis. The library does the work. */
#include "common.h"

#include <string.h>

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    CLI_TRY(cli_need(cli));
    if (!cli_given(cli, "input") && !cli_given(cli, "jsonl"))
        return cli_usage(cli, "option --input is needed");
    struct nvdp_encoding done = NVDP_RESULT(struct nvdp_encoding);
    CLI_DO(cli, nvdp_encode(cli->ctx, cli->config, &done));
    const char *out = nvdp_config_get(cli->config, "out");
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I, s:I, s:s, s:b}", "out", out, "texts",
                                             (json_int_t)done.texts, "max_length",
                                             (json_int_t)done.max_length, "pooling", done.pooling,
                                             "normalized", done.normalized));
    cli_row("texts", "%zu, each of at most %zu tokens", done.texts, done.max_length);
    if (strcmp(done.pooling, "none") != 0)
        cli_row("sentence vectors", "%s%s%s", done.pooling,
                done.normalized ? ", of unit length" : "",
                cli_given(cli, "pool") ? "" : "  (modules.json)");
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
