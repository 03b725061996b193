/* Processes that train together (nvdp/ranks.h). If a context has no ranks or only one, these
 * functions do nothing. */
#ifndef NVDP_SRC_BASE_RANKS_H
#define NVDP_SRC_BASE_RANKS_H

#include "base/base.h"
#include <nvdp/ranks.h>

struct nvdp__release_key;

/* Returns the ranks of the context; NULL if this process is alone. */
const struct nvdp_ranks *nvdp__ranks(const struct nvdp_context *ctx);
static inline size_t nvdp__rank(const struct nvdp_context *ctx) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? 0 : (size_t)ranks->rank;
}
static inline size_t nvdp__rank_count(const struct nvdp_context *ctx) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? 1 : (size_t)ranks->size;
}

/* The range of n items that this process handles; items are divided in order and as evenly as
 * possible. */
struct nvdp__range {
    size_t first, count;
};
struct nvdp__range nvdp__rank_range(const struct nvdp_context *ctx, size_t n);
/* Divides the items by weight: weight(i) is the time that item i takes. All ranges take about
 * equal time, as far as at most nvdp__rank_max() items per process allow. */
struct nvdp__range nvdp__rank_balanced(const struct nvdp_context *ctx, size_t n,
                                       size_t (*weight)(const void *user, size_t i),
                                       const void *user);
/* Returns the max number of items of a process if n or fewer items are divided by weight: n, or
 * twice the process's share of n. */
size_t nvdp__rank_max(const struct nvdp_context *ctx, size_t n);

/* Sums over all processes in place. nvdp__rank_share() copies the bytes of rank 0 to all
 * processes. */
nvdp_status nvdp__rank_sum(struct nvdp_context *ctx, size_t n, double *values);
nvdp_status nvdp__rank_sum_floats(struct nvdp_context *ctx, size_t n, float *values);
nvdp_status nvdp__rank_share(struct nvdp_context *ctx, size_t bytes, void *of_rank_0);
/* Copies the bytes of rank 0's release key to all processes; does nothing if noise comes from a
 * seed. */
nvdp_status nvdp__rank_share_key(struct nvdp_context *ctx, struct nvdp__release_key *key);
/* Makes a failure of one process the failure of all processes, with the status and message of
 * the first rank that failed. */
nvdp_status nvdp__rank_agree(struct nvdp_context *ctx, nvdp_status status);
/* Sets *anywhere to true if `here` is true in any process. */
nvdp_status nvdp__rank_any(struct nvdp_context *ctx, bool here, bool *anywhere);
/* Fails with NVDP_ERR_STATE if the bytes differ from the bytes of rank 0; `what` is their name
 * in the message. */
nvdp_status nvdp__rank_same(struct nvdp_context *ctx, const char *what, const void *bytes,
                            size_t count);

/* Runs `work` in rank 0, then in the other ranks, which find the results of rank 0 in the cache.
 * Yields a status. */
#define NVDP__RANK_0_FIRST(ctx, status, work)                                                      \
    do {                                                                                           \
        const bool nvdp_first_ = nvdp__rank(ctx) == 0;                                             \
        (status) = nvdp__rank_agree(ctx, nvdp_first_ ? (work) : NVDP_OK);                          \
        if (!nvdp_first_ && (status) == NVDP_OK) (status) = (work);                                \
        (status) = nvdp__rank_agree(ctx, status);                                                  \
    } while (0)
/* Runs `work` only in rank 0. The other ranks wait, and fail if rank 0 fails. Yields a status. */
#define NVDP__RANK_0_ONLY(ctx, work) nvdp__rank_agree(ctx, nvdp__rank(ctx) == 0 ? (work) : NVDP_OK)

#endif
