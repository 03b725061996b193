/* nvdp sanitize --analyse: geometry, deniability, and attacks (inversion, mask inference) of a mechanism on words. */
#ifndef NVDP_SRC_CLI_ANALYSE_H
#define NVDP_SRC_CLI_ANALYSE_H

#include "common.h"

enum cli_analysis {
    CLI_ANALYSE_NONE,
    CLI_ANALYSE_GEOMETRY,
    CLI_ANALYSE_DENIABILITY,
    CLI_ANALYSE_INVERSION,
    CLI_ANALYSE_MASK
};
extern const char *const cli_analyses[];
/* Runs the analysis with the command's configuration. Prints a table, or JSON with --json. */
int cli_analyse(struct cli *cli, enum cli_analysis which);

#endif
