/* Generates posteriors for tests (made_posteriors.h) from a small linear congruential generator. */
#include "made_posteriors.h"

double made_uniform(unsigned *seed) {
    *seed = *seed * 1664525U + 1013904223U;
    return ((*seed >> 8) + 0.5) / 16777216.0;
}

double made_normal(unsigned *seed) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += made_uniform(seed);
    }
    return sum;
}

struct nvdp_posteriors *made_posteriors(struct nvdp_context *ctx, const struct made_texts *made) {
    unsigned seed = made->seed + 1;
    enum { MAX_TEXTS = 1024 };
    size_t offset[MAX_TEXTS + 1];
    cr_assert_leq(made->texts, MAX_TEXTS);
    offset[0] = 0;
    for (size_t i = 0; i < made->texts; i++) {
        size_t rows = 1 + (size_t)(made_uniform(&seed) * (double)made->longest);
        offset[i + 1] = offset[i] + (made->equal ? made->longest : rows);
    }
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, made->texts, offset[made->texts], made->dim, made->with_alpha,
                              &set));
    memcpy(set->offset, offset, (made->texts + 1) * sizeof *offset);
    for (size_t k = 0; k < offset[made->texts] * made->dim; k++) {
        set->mu[k] = made->spread * made_normal(&seed);
        set->logvar[k] = made->spread * made_normal(&seed);
    }
    for (size_t r = 0; made->with_alpha && r < offset[made->texts]; r++) {
        set->alpha[r] = exp(made->spread * made_normal(&seed));
    }
    set->policy = made->policy;
    set->length = made->policy == NVDP_LENGTH_HIDDEN ? made->longest + 2 : 0;
    set->pad_alpha = 1;
    set->kappa = made->kappa > 0 ? made->kappa : 1;
    snprintf(set->method, sizeof set->method, "%s", made->with_alpha ? "nvdp" : "vtdp");
    return support_keep(set);
}

struct nvdp_posteriors *made_two_texts(struct nvdp_context *ctx, size_t first, size_t rows,
                                       size_t dim, bool with_alpha) {
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, 2, rows, dim, with_alpha, &set));
    set->offset[1] = first;
    set->offset[2] = rows;
    return support_keep(set);
}
