/* Processes that train together (nvdp/ranks.h), as the code that is split over them sees it.  Where a
 * context has no ranks, or one, the functions do nothing. */
#ifndef NVDP_SRC_BASE_RANKS_H
#define NVDP_SRC_BASE_RANKS_H

#include "base/base.h"
#include <nvdp/ranks.h>

struct nvdp__release_key;

/* NULL: this process is alone. */
const struct nvdp_ranks *nvdp__ranks(const struct nvdp_context *ctx);
static inline size_t nvdp__rank(const struct nvdp_context *ctx) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? 0 : (size_t)ranks->rank;
}
static inline size_t nvdp__rank_count(const struct nvdp_context *ctx) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? 1 : (size_t)ranks->size;
}

/* This process's stretch of n things: they are shared out in order, as evenly as can be. */
struct nvdp__range {
    size_t first, count;
};
struct nvdp__range nvdp__rank_range(const struct nvdp_context *ctx, size_t n);
/* The same by weight, which tells how long thing i takes: stretches take equally long, as far as that goes with
 * nvdp__rank_most things for each. */
struct nvdp__range nvdp__rank_balanced(const struct nvdp_context *ctx, size_t n,
                                       size_t (*weight)(const void *user, size_t i),
                                       const void *user);
/* The most that a process has of n or fewer things shared out by weight: all, or twice its share of n. */
size_t nvdp__rank_most(const struct nvdp_context *ctx, size_t n);

/* Sums over all processes in place; bytes of rank 0's in all. */
nvdp_status nvdp__rank_sum(struct nvdp_context *ctx, size_t n, double *values);
nvdp_status nvdp__rank_sum_floats(struct nvdp_context *ctx, size_t n, float *values);
nvdp_status nvdp__rank_share(struct nvdp_context *ctx, size_t bytes, void *of_rank_0);
/* A release key's bytes; seeded, there is none. */
nvdp_status nvdp__rank_share_key(struct nvdp_context *ctx, struct nvdp__release_key *key);
/* One process's failure is everybody's: the status and the message of the first that has one. */
nvdp_status nvdp__rank_agree(struct nvdp_context *ctx, nvdp_status status);
/* Whether it is so in any of them. */
nvdp_status nvdp__rank_any(struct nvdp_context *ctx, bool here, bool *anywhere);
/* NVDP_ERR_STATE where the bytes are not rank 0's; `what` they are. */
nvdp_status nvdp__rank_same(struct nvdp_context *ctx, const char *what, const void *bytes,
                            size_t count);

/* `work` by rank 0, then by the others, which find in the cache what it has left there: a status. */
#define NVDP__RANK_0_FIRST(ctx, status, work)                                                      \
    do {                                                                                           \
        const bool nvdp_first_ = nvdp__rank(ctx) == 0;                                             \
        (status) = nvdp__rank_agree(ctx, nvdp_first_ ? (work) : NVDP_OK);                          \
        if (!nvdp_first_ && (status) == NVDP_OK) (status) = (work);                                \
        (status) = nvdp__rank_agree(ctx, status);                                                  \
    } while (0)
/* `work` by rank 0 alone; the others wait, and fail where it does: a status. */
#define NVDP__RANK_0_ONLY(ctx, work) nvdp__rank_agree(ctx, nvdp__rank(ctx) == 0 ? (work) : NVDP_OK)

#endif
