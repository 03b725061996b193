/* Data-set measures on top of divergences: Bayesian DP (Triastcyn & Faltings 2020, Theorem 2) and
 * the full report of a set of posteriors. */
#ifndef NVDP_PRIVACY_H
#define NVDP_PRIVACY_H

#include <nvdp/export.h>
#include <nvdp/rdp.h>
#include <stdio.h>

NVDP_BEGIN_DECLS

struct nvdp_bdp_config {
    double delta;            /* delta_mu, default 1e-5 */
    double gamma;            /* failure mass of the Student-t bound, default 1e-6 */
    int releases;            /* T: samples given away of the same text, default 1 */
    double published_moment; /* k of the published column, default 1.1 (its order is k+1) */
};
struct nvdp_bdp_config nvdp_bdp_config_default(void);

/* The cost of one text at one moment, with everything that enters it. */
struct nvdp_bdp_cost {
    double moment;   /* k */
    double cost;     /* c(k), +inf where any divergence is */
    double epsilon;  /* [T cost - log(delta - spent)] / k */
    size_t m;        /* population */
    double t;        /* Student's t quantile */
    double log_mean; /* log M */
    double log_sd;   /* log S, -inf where all are equal */
    double max;      /* max X */
};

/* Cost and epsilon from the m symmetrised divergences d[j] = max(D_{k+1}(P||Q_j), D_{k+1}(Q_j||P))
 * of one text; m >= 2. spec: X_j = T k d_j.  NVDP_ERR_ARGUMENT where delta <= 1-(1-gamma)^T. */
nvdp_status nvdp_bdp(struct nvdp_context *ctx, const struct nvdp_bdp_config *config, double moment,
                     size_t m, const double *d, struct nvdp_bdp_cost *out);
/* Poisson-subsampled form for integer moments k: cost = log E_x E_{j ~ Binomial(k+1, q)} e^{(j-1)
 * D_j} with the same confidence bound; d is [k+2][m]: row j holds the divergences of order j (rows
 * 0 and 1 are not read). */
nvdp_status nvdp_bdp_subsampled(struct nvdp_context *ctx, const struct nvdp_bdp_config *config,
                                int moment, double rate, size_t m, const double *const *d,
                                struct nvdp_bdp_cost *out);

struct nvdp_privacy_config {
    struct nvdp_pairs_config pairs;
    struct nvdp_bdp_config bdp;
    const double *moments; /* grid of k for the `best` column; NULL: the default grid */
    size_t moment_count;
};
struct nvdp_privacy_config nvdp_privacy_config_default(void);

struct nvdp_bdp_column {
    struct nvdp_bdp_cost worst; /* of the text with the largest epsilon */
    double mean_epsilon;        /* over texts; +inf where any is */
    size_t worst_text;
    double floor; /* log(1/delta)/k at the worst text's k: what the best data would print */
    size_t infinite_texts;
};

/* Quantiles at these levels are in a spread. */
#define NVDP_SPREAD_QUANTILES 5
extern const double nvdp_spread_level[NVDP_SPREAD_QUANTILES]; /* .05 .25 .5 .75 .95 */

/* Of a number that every text has; NaN where there is none. */
struct nvdp_spread {
    double mean;
    double quantile[NVDP_SPREAD_QUANTILES]; /* nearest rank */
};

/* Bins of log10 of the tokens' pseudo-counts, 0.25 wide; bin b begins at -8 + b/4. */
#define NVDP_ALPHA_BINS 48
extern const double nvdp_alpha_first; /* -8 */
extern const double nvdp_alpha_width; /* .25 */

/* What posteriors look like, for people who train them: it promises nothing.  A sample has the
 * vectors r = 1..R of all its components (prior, tokens, padding; kappa each) with the expected
 * weights p_r = (alpha_i/kappa) / sum of all alpha. */
struct nvdp_posterior_summary {
    size_t texts, tokens;
    bool weighted;              /* false: a Gaussian mechanism; what rests on alpha is NaN or 0 */
    struct nvdp_spread vectors; /* exp(-sum p_r log p_r): 1 (one vector has all) to R (all alike) */
    struct nvdp_spread vectors_l2;  /* 1 / sum p_r^2, the same bounds, at most `vectors` */
    struct nvdp_spread token_share; /* the tokens' part of all alpha */
    double mean_abs_mu;             /* over all entries of the tokens' means; NaN without tokens */
    double mean_sigma;              /* likewise, of the standard deviations */
    size_t alpha_bin[NVDP_ALPHA_BINS];
    size_t alpha_below, alpha_above; /* tokens outside the bins */
};
/* O(rows x dim). Invalid posteriors give what they give: check them first. */
nvdp_status nvdp_posteriors_summarize(struct nvdp_context *ctx,
                                      const struct nvdp_posteriors *posteriors,
                                      struct nvdp_posterior_summary *out);

struct nvdp_privacy_report {
    struct nvdp_pairs_summary pairs;
    struct nvdp_posterior_summary posterior;
    struct nvdp_bdp_config bdp;
    struct nvdp_bdp_column published;
    struct nvdp_bdp_column best;
    size_t bdp_texts;      /* fewer than pairs.texts where pairs were drawn: drawn as well */
    bool small_population; /* m < 64: the bound is not to be trusted */
    size_t components;     /* of the longest sample */
    size_t dim;
    int kappa;
    enum nvdp_length_policy policy;
    char method[32];
};

/* The whole report.  One pass over all pairs an order of the grid.  With pairs.max_pairs Bayesian
 * DP is that of drawn texts, as many as have so many pairs among themselves. */
nvdp_status nvdp_privacy_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 const struct nvdp_privacy_config *config,
                                 struct nvdp_privacy_report *out);
/* The report as one JSON object (docs/formats.md); free() the text. */
nvdp_status nvdp_privacy_report_json(struct nvdp_context *ctx,
                                     const struct nvdp_privacy_report *report, char **out);
/* The report for people: aligned table, units and scope said. */
void nvdp_privacy_report_print(const struct nvdp_privacy_report *report, FILE *to);

NVDP_END_DECLS
#endif
