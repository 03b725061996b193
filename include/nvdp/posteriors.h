/* Posteriors: the distributions a bottleneck assigns to texts, as plain arrays.
 *
 * An NVDP sample of a text with n tokens has components 0 (the prior: mu 0, logvar 0, alpha
 * prior_alpha), 1..n (tokens), and under the hidden length policy n+1..length (padding: mu 0,
 * logvar 0, alpha pad_alpha).  Only the tokens are stored.  Gaussian mechanisms (vib, vtdp) have no
 * alpha. */
#ifndef NVDP_POSTERIORS_H
#define NVDP_POSTERIORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

enum nvdp_length_policy {
    NVDP_LENGTH_HIDDEN, /* every text is padded to `length` components; all are sampled, shared */
    NVDP_LENGTH_PUBLIC  /* n is released; divergence between different lengths is +inf */
};

struct nvdp_posteriors {
    size_t texts;   /* N */
    size_t dim;     /* p */
    size_t *offset; /* [N+1]: text i's rows are offset[i]..offset[i+1] */
    double *alpha;  /* [T] pseudo-counts > 0, or NULL (Gaussian mechanisms) */
    double *mu;     /* [T, p] */
    double *logvar; /* [T, p] */
    int64_t *id;    /* [N] or NULL */
    double prior_alpha;
    double pad_alpha; /* hidden policy only */
    int kappa;        /* vectors a component */
    enum nvdp_length_policy policy;
    size_t length;   /* L: hidden policy only; every text has at most L rows */
    char method[32]; /* "nvdp", "vtdp", "vib-fixed", ... */
};

/* Allocates arrays for N texts and T rows of width p; with_alpha false leaves alpha NULL. */
nvdp_status nvdp_posteriors_create(struct nvdp_context *ctx, size_t texts, size_t rows, size_t dim,
                                   bool with_alpha, struct nvdp_posteriors **out);
void nvdp_posteriors_free(struct nvdp_posteriors *posteriors);

/* Offsets monotone from 0, everything finite, alpha > 0 (1e-100 to 1e100), |logvar| <= 300, rows <=
 * length under the hidden policy: else NVDP_ERR_INPUT naming `source` (a path or ""), the dataset,
 * the row, what was found. */
nvdp_status nvdp_posteriors_check(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors, const char *source);

/* Reads and writes files of kind posteriors/1 (docs/formats.md). Reading checks everything. */
nvdp_status nvdp_posteriors_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_posteriors **out);
nvdp_status nvdp_posteriors_write(struct nvdp_context *ctx, const char *path,
                                  const struct nvdp_posteriors *posteriors);

NVDP_END_DECLS
#endif
