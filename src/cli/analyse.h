/* nvdp sanitize --analyse: what a mechanism does to a vocabulary, and what an attacker makes of it. */
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
/* Of the command's configuration: prints a table, or JSON. */
int cli_analyse(struct cli *cli, enum cli_analysis which);

#endif
