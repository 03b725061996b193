/* Generated posteriors. */
#ifndef NVDP_TESTS_SUPPORT_MADE_POSTERIORS_H
#define NVDP_TESTS_SUPPORT_MADE_POSTERIORS_H

#include "support.h"
#include <jansson.h>
#include <nvdp/privacy.h>

/* Options of generated posteriors: texts of 1..longest rows (all `longest` if `equal`), width
 * dim, spread about the prior. The hidden length is longest + 2 unless public. */
struct made_texts {
    size_t texts, longest, dim;
    double spread;
    bool equal, with_alpha;
    enum nvdp_length_policy policy;
    int kappa;
    unsigned seed;
};
struct nvdp_posteriors *made_posteriors(struct nvdp_context *ctx, const struct made_texts *made);

/* Return uniform values on (0, 1), and approximately normal ones (a sum of twelve), from the
 * caller's seed. */
double made_uniform(unsigned *seed);
double made_normal(unsigned *seed);

#endif
