/* nvdp info: what a file or directory is. */
#include "common.h"

static const struct nvdp_option options[] = {{0}};

static int run(struct cli *cli) {
    int code = cli_begin(cli, NULL);
    if (code != CLI_SUCCESS) return code;
    nvdp_status status = nvdp_describe(cli->ctx, cli->arg[0], cli->json, stdout);
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
}

const struct cli_command cli_command_info = {
    .name = "info",
    .summary = "tell what a file or directory is",
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .description = "Tells in a few lines what a file or directory is: safetensors, HDF5 of any "
                   "kind, a vocabulary, a model directory, a run directory.",
    .examples = "Examples:\n"
                "  nvdp info shared.h5\n"
                "  nvdp info run --json\n",
    .options = options,
    .takes = CLI_TAKES_JSON,
    .run = run,
};
