/* nvdp info: identifies a file or directory and prints its metadata. */
#include "common.h"

struct values {
    bool all;
};

static const struct nvdp_option options[] = {
    {"all", NVDP_OPTION_FLAG, NULL, "print everything that is known, not only the first lines",
     NVDP_OPTION_AT(struct values, all)},
    {0}};

static int run(struct cli *cli) {
    struct values values = {0};
    CLI_TRY(cli_begin(cli, &values));
    const enum nvdp_description how = cli->json    ? NVDP_DESCRIPTION_JSON
                                      : values.all ? NVDP_DESCRIPTION_ALL
                                                   : NVDP_DESCRIPTION_BRIEF;
    char *text = NULL;
    CLI_DO(cli, nvdp_describe(cli->ctx, cli->arg[0], how, &text));
    return cli_put(text);
}

const struct cli_command cli_command_info = {
    .name = "info",
    .summary = "describe a file or directory",
    .args = "FILE",
    .description = "Describes a file or directory in a few lines: safetensors, HDF5, Parquet "
                   "written by nvdp export, a vocabulary, a key, a ledger; the folder of a model, "
                   "a run, a sweep, a cross validation, sanitized texts, or the files of one "
                   "release.",
    .examples = "Examples:\n"
                "  nvdp info shared.h5\n"
                "  nvdp info run --all\n"
                "  nvdp info run --json\n",
    .options = options,
    .run = run,
};
