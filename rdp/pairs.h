/* All ordered pairs of a set of posteriors, at one order after the other. */
#ifndef NVDP_RDP_PAIRS_H
#define NVDP_RDP_PAIRS_H

#include "base/base.h"
#include "rdp/layout.h"
#include "rdp/weights.h"

/* What does not depend on the order, computed once. */
struct nvdp__pairs {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    struct nvdp__layout layout;
    double *var;    /* [T, p] exp(logvar) */
    double *logs;   /* [T, pieces] log product of the variances, from the block's begin on */
    double *most;   /* [N] largest variance */
    double *spread; /* [N] largest |logvar| */
    struct nvdp__weights weights;
    size_t shortest;  /* rows of the shortest text */
    double *to_pad;   /* [T] at the current order: D(rows from this one on || padding), summed;
                         only from row `shortest` of a text on */
    double *from_pad; /* [T] the other direction */
};

nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out);
void nvdp__pairs_free(struct nvdp__pairs *pairs);

bool nvdp__adjacent(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency, size_t i,
                    size_t j);

struct nvdp__pass {
    double order; /* > 0 */
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    /* The matrix holds a pass at a smaller order: what is +inf there stays so (a divergence does
     * not decrease in its order). */
    bool keep_infinite;
    const bool *settled; /* [N] or NULL: pairs of two settled texts are left as they are */
};
/* Fills matrix[i * N + j] = D(i || j); 0 on the diagonal, NaN where two texts are not adjacent.
 * Every entry is computed by itself in a fixed order: the same bits on any number of threads. */
nvdp_status nvdp__pairs_pass(struct nvdp__pairs *pairs, const struct nvdp__pass *pass,
                             double *matrix);

/* After a pass of fast arithmetic: the entries that may be the largest finite ones, of any unit of
 * the summary, in exact arithmetic. */
nvdp_status nvdp__pairs_refine(const struct nvdp__pairs *pairs, const struct nvdp__pass *pass,
                               double *matrix);

/* The largest N: an N x N matrix of doubles is 3.2 GB. */
enum { NVDP__PAIRS_TEXTS = 20000 };

nvdp_status nvdp__pairs_check(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                              const struct nvdp_pairs_config *config);

#endif
