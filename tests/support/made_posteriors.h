/* Generated posteriors. */
#ifndef NVDP_TESTS_SUPPORT_MADE_POSTERIORS_H
#define NVDP_TESTS_SUPPORT_MADE_POSTERIORS_H

#include "support.h"
#include <jansson.h>
#include <nvdp/privacy.h>

/* Options of generated posteriors: number of texts, rows per text from 1 to `longest` (always
 * `longest` if `equal` is set), width dim, and spread about the prior. Tests give the first four
 * without names. The hidden length is longest + 2 unless lengths are public. */
struct made_texts {
    size_t texts, longest, dim;
    double spread;
    bool equal, with_alpha;
    enum nvdp_length_policy policy;
    int kappa;
    unsigned seed;
};
struct nvdp_posteriors *made_posteriors(struct nvdp_context *ctx, const struct made_texts *made);

/* Returns two texts whose rows are at the prior: `first` rows, and the rest of `rows`. Pseudo-counts are 0. */
struct nvdp_posteriors *made_two_texts(struct nvdp_context *ctx, size_t first, size_t rows,
                                       size_t dim, bool with_alpha);

/* Return uniform values on (0, 1), and approximately normal values (sums of twelve uniform values),
 * from the caller's seed. */
double made_uniform(unsigned *seed);
double made_normal(unsigned *seed);

#endif
