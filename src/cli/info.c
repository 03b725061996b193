/* nvdp info: what a file or directory is. */
#include "common.h"

static int run(struct cli *cli) {
    CLI_TRY(cli_begin(cli, NULL));
    nvdp_status status = nvdp_describe(cli->ctx, cli->arg[0], cli->json, stdout);
    return status == NVDP_OK ? CLI_SUCCESS : cli_fail(cli, status);
}

const struct cli_command cli_command_info = {
    .name = "info",
    .summary = "tell what a file or directory is",
    .args = "FILE",
    .description = "Tells in a few lines what a file or directory is: safetensors, HDF5 of any "
                   "kind, a vocabulary, a model directory, a run directory.",
    .examples = "Examples:\n"
                "  nvdp info shared.h5\n"
                "  nvdp info run --json\n",
    .run = run,
};
