/* Renyi divergences between what two texts share.  Natural logarithms: nats.  Order l > 0, l != 1:
 * D_l(P||Q) = 1/(l-1) log int P^l Q^(1-l);  l == 1 is Kullback-Leibler, l == INFINITY the
 * max-divergence (orders >= 1e100 count as INFINITY).  +inf is a value, returned as it is.  Invalid
 * parameters (variance or pseudo-count not > 0, anything not finite, order <= 0) give NaN. */
#ifndef NVDP_RDP_H
#define NVDP_RDP_H

#include <nvdp/export.h>
#include <nvdp/posteriors.h>

NVDP_BEGIN_DECLS

/* Diagonal Gaussians N(mu, var) of dimension n (van Erven & Harremoes 2014, Eq. 10). O(n).
 * Order infinity is finite only where every var_p < var_q (or both are equal in a dimension). */
double nvdp_renyi_gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q);
/* Dirichlets over m weights. O(m).  m < 2 gives 0.  Order infinity is finite only where every
 * alpha_p >= alpha_q. */
double nvdp_renyi_dirichlet(double order, size_t m, const double *alpha_p, const double *alpha_q);
/* Samples of two texts of a set of posteriors (i, j), summed over everything that is shared: NVDP
 * paper Eq. 7 in its correct direction.  O(components x dim). */
double nvdp_renyi_texts(double order, const struct nvdp_posteriors *posteriors, size_t i, size_t j);
/* Components of the sample of text i (prior and padding included). */
size_t nvdp_sample_components(const struct nvdp_posteriors *posteriors, size_t i);

/* Over all ordered pairs (i, j), i != j, of a data set. */
enum nvdp_adjacency { NVDP_ADJACENT_ALL, NVDP_ADJACENT_SAME_LENGTH };

/* How accurate each divergence is; infinities are the same in both. */
enum nvdp_pairs_arithmetic {
    NVDP_PAIRS_FAST, /* within 1e-6 of its value, the reported maxima within 1e-12 */
    NVDP_PAIRS_EXACT /* within 1e-12 */
};

struct nvdp_pairs_config {
    double order;                          /* default 1.1 */
    enum nvdp_adjacency adjacency;         /* default all */
    enum nvdp_pairs_arithmetic arithmetic; /* default fast */
    /* 0: every pair.  Where there are more ordered pairs than this (at least 2): the largest is
     * found by bounds, exactly, and mean, quantiles and the share of infinite pairs are estimated
     * from so many pairs, drawn uniformly.  No N x N memory, N beyond 20000; matrix must be NULL.
     */
    size_t max_pairs;
    uint64_t seed;  /* of the drawn pairs, default 1 */
    double *matrix; /* [N, N] row P, column Q, diagonal 0, NaN where two texts are not
                       adjacent; NULL: not kept */
};
struct nvdp_pairs_config nvdp_pairs_config_default(void);

/* Quantiles at these levels are in the summary (of all pairs, infinite ones included). */
#define NVDP_PAIR_QUANTILES 5
extern const double nvdp_pair_quantile_level[NVDP_PAIR_QUANTILES]; /* .5 .9 .95 .99 .999 */

struct nvdp_divergence_summary {
    double max;        /* +inf where any pair is infinite */
    double mean;       /* +inf where any pair is infinite */
    double max_finite; /* over the finite pairs; NaN where none, and where pairs were drawn and some
                          is infinite: for comparison, not a privacy statement */
    double mean_finite;
    double quantile[NVDP_PAIR_QUANTILES];
    size_t max_p, max_q; /* the pair that attains max */
};

struct nvdp_interval {
    double low, high;
};

/* What stands on drawn pairs, and how well.  The intervals are of the sum; the other units' are
 * theirs divided likewise. */
struct nvdp_pairs_sample {
    size_t drawn;      /* ordered pairs, uniformly, with replacement; 0: every pair was computed */
    size_t summed;     /* pairs whose full sum the search for the largest computed */
    double confidence; /* .95, of each interval by itself */
    struct nvdp_interval mean;       /* of mean_finite, Student's t: trusts a near normal mean */
    struct nvdp_interval mean_bound; /* the same, empirical Bernstein: holds for any distribution
                                        up to the exact maximum; NaN where some pair is infinite */
    struct nvdp_interval quantile[NVDP_PAIR_QUANTILES]; /* by order statistics */
    struct nvdp_interval infinite_share;                /* Clopper-Pearson */
};

struct nvdp_pairs_summary {
    double order;
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    size_t texts;
    size_t pairs;
    size_t infinite; /* pairs whose divergence is +inf; of the drawn ones where pairs were drawn */
    struct nvdp_pairs_sample sample;
    struct nvdp_divergence_summary sum;               /* what is shared: the privacy statement */
    struct nvdp_divergence_summary per_component;     /* sum / components of the pair's samples */
    struct nvdp_divergence_summary per_component_dim; /* as in the published tables; no guarantee */
};

/* All ordered pairs on the context's threads; reports progress, honours cancel.
 * O(N^2 x components x dim), both directions of a pair at once; identical components (padding
 * against padding) are skipped exactly.  The same bits on any number of threads.  Memory: 2 N^2
 * doubles and one a stored mean; 2 <= N <= 20000, else an argument error.  With max_pairs: O(N^2)
 * additions, and O(components x dim) for every drawn pair and every pair no bound rules out;
 * memory O(N + max_pairs). */
nvdp_status nvdp_renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             const struct nvdp_pairs_config *config,
                             struct nvdp_pairs_summary *out);

NVDP_END_DECLS
#endif
