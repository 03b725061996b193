/** @file ranks.h
 * Ranks: processes that train one model together, on one machine or several.
 *
 * Each process creates a context, sets its rank and the communication functions, and calls nvdp_train() or
 * nvdp_pretrain() with the same configuration. The batch of each step is split over the processes. Gradients are summed
 * over the processes while they are computed, and all processes take the same step. One process would get the same
 * result, except for the rounding of sums in another order. Only rank 0 writes files; all processes read the texts,
 * the model and the run directory.
 *
 * The library has no network code. It needs the four operations below. The program nvdp implements these operations
 * with MPI, a test implements them with threads. All processes call the operations in the same order.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_RANKS_H
#define NVDP_RANKS_H

#include <nvdp/context.h>

NVDP_BEGIN_DECLS

/** Maximum number of processes that train together. */
#define NVDP_MOST_RANKS 4096

/** The rank of a process, and its communication functions. A function that fails, for example because another
 * process has ended, records an error (nvdp_context_set_error()) and returns a status other than NVDP_OK. All later
 * calls then fail. */
struct nvdp_ranks {
    int rank;   /**< rank of this process, from 0 */
    int size;   /**< number of processes, 1 to NVDP_MOST_RANKS */
    void *user; /**< passed to the functions */
    /** Starts to replace `values` [count] by their sums over all processes, with the same bits in each. Returns as
     * soon as possible; the caller does not access `values` until sum_wait(). */
    nvdp_status (*sum_start)(void *user, float *values, size_t count);
    /** Waits for all sums that were started. */
    nvdp_status (*sum_wait)(void *user);
    /** Sums a few numbers over all processes, with the same bits in each. */
    nvdp_status (*sum)(void *user, double *values, size_t count);
    /** Copies `count` bytes from process `root` to all others. */
    nvdp_status (*broadcast)(void *user, int root, void *bytes, size_t count);
};

/** Makes a context one of several ranks, which then train together. Evaluation during training is split over the ranks,
 * too. Do not make other calls on such a context: every process would do all of the work.
 * @param ctx   context
 * @param ranks copied; NULL for a single process again
 * @return NVDP_ERR_ARGUMENT for a rank or size out of range and a missing function */
nvdp_status nvdp_context_set_ranks(struct nvdp_context *ctx, const struct nvdp_ranks *ranks);

NVDP_END_DECLS
#endif
