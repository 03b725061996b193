/* Processes that mpirun started to train together.  mpi.c has them where the build has MPI; else
 * ranks_none.c, in which every process is alone. */
#ifndef NVDP_SRC_CLI_RANKS_H
#define NVDP_SRC_CLI_RANKS_H

#include "common.h"
#include <stdarg.h>

/* Joins the others where there are any, and tells the context of them; rank 0 alone then prints. */
int cli_ranks_begin(struct cli *cli);
/* False where the message is held back until it is known whether rank 0 has one. */
bool cli_ranks_say(struct cli *cli, const char *format, va_list args);
/* Leaves them: the exit code.  Where others are still at work, theirs ends too. */
int cli_ranks_end(struct cli *cli, int code);

#endif
