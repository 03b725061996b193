/* What the tests of divergences share: made-up posteriors, golden files. */
#ifndef NVDP_TESTS_RDP_RIG_H
#define NVDP_TESTS_RDP_RIG_H

#include "support.h"
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <nvdp/privacy.h>
#include <stdlib.h>
#include <string.h>

/* Made-up posteriors: texts of 1..longest rows (all `longest` where `equal`), width dim, spread
 * about the prior.  Hidden length longest + 2 unless public. */
struct rig {
    size_t texts, longest, dim;
    double spread;
    bool equal, with_alpha;
    enum nvdp_length_policy policy;
    int kappa;
    unsigned seed;
};
struct nvdp_posteriors *rig_posteriors(struct nvdp_context *ctx, const struct rig *rig);

/* Uniform on (0, 1) and about normal (a sum of twelve), from a seed of one's own. */
double rig_uniform(unsigned *seed);
double rig_normal(unsigned *seed);

json_t *rig_golden(const char *file);
/* A number, or "inf". */
double rig_number(const json_t *value);
/* An array of numbers; free(). */
double *rig_numbers(const json_t *array, size_t *count);

#endif
