/* Ranks for builds without MPI: every process is alone. */
#include "common.h"

int cli_ranks_begin(struct cli *cli) {
    (void)cli;
    return CLI_SUCCESS;
}

bool cli_ranks_say(struct cli *cli, const char *format, va_list args) {
    (void)cli;
    (void)format;
    (void)args;
    return true;
}

int cli_ranks_end(struct cli *cli, int code) {
    (void)cli;
    return code;
}
