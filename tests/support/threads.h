/* Processes that train together, as threads of a test: nvdp/ranks.h without a network. */
#ifndef NVDP_TESTS_SUPPORT_THREADS_H
#define NVDP_TESTS_SUPPORT_THREADS_H

#include "support.h"
#include <nvdp/ranks.h>

/* Calls work(ctx, rank, user) in `size` threads, each with a context of one thread that is one of so many
 * ranks; fails the test, after all have ended, where one does not return NVDP_OK. */
void support_ranks(int size, nvdp_status (*work)(struct nvdp_context *ctx, int rank, void *user),
                   void *user);

/* Two runs' metrics.jsonl tell the same of every step, losses and norms of gradients within `tolerance` of
 * each other (for numbers below .01: of .01), and their models (`model`, beneath each run's folder) are so far apart at most, relative to
 * the norm of all parameters. */
void support_same_runs(const char *a, const char *b, const char *model, double tolerance);

#endif
