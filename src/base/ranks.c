/* Collective operations of processes that train together (ranks.h): shares of work, sums, and
 * agreement on failures. */
#include "base/ranks.h"

#include "base/cache.h"
#include "base/random.h"
#include <sodium.h>

enum { CHUNK = 1 << 20 }; /* number of floats per call of a sum */

struct nvdp__range nvdp__rank_range(const struct nvdp_context *ctx, size_t n) {
    const size_t rank = nvdp__rank(ctx), size = nvdp__rank_count(ctx);
    const size_t each = n / size, more = n % size;
    return (struct nvdp__range){rank * each + nvdp__min(rank, more), each + (rank < more)};
}

size_t nvdp__rank_max(const struct nvdp_context *ctx, size_t n) {
    const size_t size = nvdp__rank_count(ctx), share = n / size + (n % size > 0);
    return 2 * share < n ? 2 * share : n;
}

struct nvdp__range nvdp__rank_balanced(const struct nvdp_context *ctx, size_t n,
                                       size_t (*weight)(const void *user, size_t i),
                                       const void *user) {
    const size_t rank = nvdp__rank(ctx), size = nvdp__rank_count(ctx);
    const size_t max = nvdp__rank_max(ctx, n);
    size_t begin = 0, end = 0, total = 0;
    double before = 0; /* total weight of the items before `end` */
    for (size_t i = 0; i < n && size > 1; i++)
        total += weight(user, i);
    for (size_t r = 0; r <= rank; r++) {
        const size_t others = (size - 1 - r) * max;
        /* number of items that later ranks cannot take */
        const size_t min = n > others ? n - others : 0;
        const double until = (double)total * (double)(r + 1) / (double)size;
        begin = end;
        for (; end < n && end - begin < max; end++) {
            double next = size > 1 ? (double)weight(user, end) : 0;
            if (end >= min && before + next / 2 > until) break;
            before += next;
        }
    }
    return (struct nvdp__range){begin, end - begin};
}

nvdp_status nvdp__rank_sum(struct nvdp_context *ctx, size_t n, double *values) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? NVDP_OK : ranks->sum(ranks->user, values, n);
}

nvdp_status nvdp__rank_sum_floats(struct nvdp_context *ctx, size_t n, float *values) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    if (ranks == NULL) return NVDP_OK;
    for (size_t at = 0; at < n; at += CHUNK)
        NVDP_TRY(ranks->sum_start(ranks->user, values + at, nvdp__min(n - at, CHUNK)));
    return ranks->sum_wait(ranks->user);
}

nvdp_status nvdp__rank_share(struct nvdp_context *ctx, size_t bytes, void *of_rank_0) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    return ranks == NULL ? NVDP_OK : ranks->broadcast(ranks->user, 0, of_rank_0, bytes);
}

nvdp_status nvdp__rank_share_key(struct nvdp_context *ctx, struct nvdp__release_key *key) {
    if (key->bytes == NULL) return NVDP_OK;
    (void)sodium_mprotect_readwrite(key->bytes);
    nvdp_status status = nvdp__rank_share(ctx, NVDP__RELEASE_KEY_BYTES, key->bytes);
    (void)sodium_mprotect_readonly(key->bytes);
    return status;
}

nvdp_status nvdp__rank_agree(struct nvdp_context *ctx, nvdp_status status) {
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    double code[NVDP_MOST_RANKS];
    if (ranks == NULL) return status;
    memset(code, 0, sizeof code);
    code[ranks->rank] = status;
    char message[NVDP__MESSAGE_SIZE] = "";
    memcpy(message, nvdp_context_error(ctx), sizeof message);
    const struct nvdp__blame blame = nvdp__blame(ctx);
    nvdp_status own = ranks->sum(ranks->user, code, (size_t)ranks->size);
    for (int r = 0; r < ranks->size && own == NVDP_OK; r++) {
        if (code[r] == 0) continue;
        own = ranks->broadcast(ranks->user, r, message, sizeof message);
        if (own != NVDP_OK) break;
        message[sizeof message - 1] = '\0';
        if (r == 0 || (nvdp_status)code[r] == NVDP_ERR_CANCELLED) {
            nvdp__fail(ctx, (nvdp_status)code[r], "%s", message);
            if (r == ranks->rank) nvdp__set_blame(ctx, blame);
            return (nvdp_status)code[r];
        }
        return nvdp__fail(ctx, (nvdp_status)code[r], "rank %d: %s", r, message);
    }
    if (status == NVDP_OK || own == NVDP_OK) return own;
    /* the callback failed, so the other ranks do not learn of it */
    nvdp__fail(ctx, status, "%s", message);
    nvdp__set_blame(ctx, blame);
    return status;
}

nvdp_status nvdp__rank_any(struct nvdp_context *ctx, bool here, bool *anywhere) {
    double count = here;
    NVDP_TRY(nvdp__rank_sum(ctx, 1, &count));
    *anywhere = count > 0;
    return NVDP_OK;
}

nvdp_status nvdp__rank_same(struct nvdp_context *ctx, const char *what, const void *bytes,
                            size_t count) {
    unsigned char own[NVDP__DIGEST_BYTES], of_rank_0[NVDP__DIGEST_BYTES];
    if (nvdp__ranks(ctx) == NULL) return NVDP_OK;
    nvdp__checksum(bytes, count, own);
    memcpy(of_rank_0, own, sizeof own);
    NVDP_TRY(nvdp__rank_share(ctx, sizeof own, of_rank_0));
    nvdp_status status = NVDP_OK;
    if (memcmp(own, of_rank_0, sizeof own) != 0)
        status = nvdp__fail(ctx, NVDP_ERR_STATE,
                            "%s: this process has other values than rank 0; run all processes with "
                            "the same build on processors of the same kind",
                            what);
    return nvdp__rank_agree(ctx, status);
}
