/** @file ranks.h
 * Several processes that train one model together, on one machine or on many.
 *
 * Each of them makes a context, tells it which of them it is and how they talk to one another, and
 * calls nvdp_train() or nvdp_pretrain() with the same configuration.  A step's batch is split over
 * them, their gradients are added up while they are being computed, and each takes the same step:
 * the result is that of one process, up to the rounding of sums taken in another order.  Rank 0
 * alone writes files; all read the texts, the model and the run directory.
 *
 * The library knows no network.  What it needs of one are the four operations below, which the
 * program nvdp takes from MPI and a test from threads.  Every process calls them in the same order.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_RANKS_H
#define NVDP_RANKS_H

#include <nvdp/context.h>

NVDP_BEGIN_DECLS

/** The most processes that may train together. */
#define NVDP_MOST_RANKS 4096

/** A process among others, and what they do together.  An operation that fails, because another
 * process is gone, say, records why (nvdp_context_set_error()) and returns a status other than
 * NVDP_OK; after that all of them fail. */
struct nvdp_ranks {
    int rank;   /**< which this is, from 0 */
    int size;   /**< how many there are, 1 to NVDP_MOST_RANKS */
    void *user; /**< handed to the operations */
    /** Begins to replace `values` [count] by their sums over all processes, the same bits in each,
     * and returns as soon as it can; until sum_wait() nobody else touches them. */
    nvdp_status (*sum_start)(void *user, float *values, size_t count);
    /** Waits for all that was started. */
    nvdp_status (*sum_wait)(void *user);
    /** Sums of a few numbers, the same bits in each process. */
    nvdp_status (*sum)(void *user, double *values, size_t count);
    /** `count` bytes of process `root` into every other one's. */
    nvdp_status (*broadcast)(void *user, int root, void *bytes, size_t count);
};

/** Tells a context that its process is one of several; from then on training is done by all.
 * Evaluation within training is split over them, too.  No other call should be made on such a
 * context, as every process would do all of its work.
 * @param ctx   context
 * @param ranks copied; NULL: this process is alone again
 * @return NVDP_ERR_ARGUMENT for a rank or size out of range and a missing operation */
nvdp_status nvdp_context_set_ranks(struct nvdp_context *ctx, const struct nvdp_ranks *ranks);

NVDP_END_DECLS
#endif
