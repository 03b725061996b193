/* Processes that mpirun started together for training. mpi.c implements this if the build has MPI; otherwise
 * ranks_none.c, in which every process is alone. */
#ifndef NVDP_SRC_CLI_RANKS_H
#define NVDP_SRC_CLI_RANKS_H

#include "common.h"
#include <stdarg.h>

/* Joins the other processes, if any, and sets the ranks of the context. Only rank 0 prints. */
int cli_ranks_begin(struct cli *cli);
/* Returns false if the message is withheld until it is known whether rank 0 has one. */
bool cli_ranks_say(struct cli *cli, const char *format, va_list args);
/* Leaves the job and returns the exit code. Ends the other processes if they are still working. */
int cli_ranks_end(struct cli *cli, int code);

#endif
