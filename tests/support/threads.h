/* Ranks as threads of a test: nvdp/ranks.h without a network. */
#ifndef NVDP_TESTS_SUPPORT_THREADS_H
#define NVDP_TESTS_SUPPORT_THREADS_H

#include "support.h"
#include <nvdp/ranks.h>

/* Calls work(ctx, rank, user) in `size` threads, each with a context of one thread and one rank.
 * After all threads have ended, fails the test if a call did not return NVDP_OK. */
void support_ranks(int size, nvdp_status (*work)(struct nvdp_context *ctx, int rank, void *user),
                   void *user);

/* Expects that two runs agree. Every step in metrics.jsonl is the same; losses and norms of
 * gradients agree within `tolerance` (relative to .01 for numbers below .01). The distance of the
 * two models (`model` in the folder of a run), relative to the norm of all parameters, is at most
 * `tolerance`. */
void support_same_runs(const char *a, const char *b, const char *model, double tolerance);

#endif
