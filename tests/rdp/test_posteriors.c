/* The checks of a set of posteriors. */
#include "made_posteriors.h"

#include "test_context.h"

static const struct made_texts ordinary = {
    4, 3, 2, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};

static void expect(const struct nvdp_posteriors *set, const char *what) {
    fails(nvdp_posteriors_check(ctx, set, "F.h5"), NVDP_ERR_INPUT, what);
    cr_expect(strncmp(nvdp_context_error(ctx), "F.h5: ", 6) == 0);
}

Test(posteriors, check_names_what_is_wrong) {
    struct nvdp_posteriors *set = made_posteriors(ctx, &ordinary);
    ok(nvdp_posteriors_check(ctx, set, ""));
    const struct {
        double *at, value;
        const char *words;
    } bad[] = {{&set->alpha[1], 0, "dataset alpha, row 1: expected a pseudo-count > 0"},
               {&set->alpha[1], -2, "dataset alpha, row 1: expected a pseudo-count > 0"},
               {&set->alpha[1], NAN, "dataset alpha, row 1: expected a pseudo-count > 0"},
               {&set->alpha[1], INFINITY, "dataset alpha, row 1: expected a pseudo-count > 0"},
               {&set->alpha[1], 1e-200, "dataset alpha, row 1: expected a pseudo-count > 0"},
               {&set->mu[3], NAN, "dataset mu, row 1, column 1: expected a finite number, found"},
               {&set->logvar[4], -INFINITY, "dataset logvar, row 2, column 0"},
               {&set->logvar[4], 301, "dataset logvar, row 2, column 0"},
               {&set->prior_alpha, 0, "attribute prior_alpha"},
               {&set->pad_alpha, NAN, "attribute pad_alpha"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const double kept = *bad[i].at;
        *bad[i].at = bad[i].value;
        expect(set, bad[i].words);
        *bad[i].at = kept;
    }
    set->kappa = 0;
    expect(set, "attribute kappa");
    set->kappa = 1;
    set->length = 0;
    expect(set, "attribute length");
    set->length = 1;
    expect(set, "expected at most 1 rows per text");
    size_t last = set->offset[1];
    set->offset[1] = set->offset[2] + 1;
    set->length = 50;
    expect(set, "dataset offset, row 2: expected at least");
    set->offset[1] = last;
    set->offset[0] = 1;
    expect(set, "dataset offset, row 0: expected 0, found 1");
    set->offset[0] = 0;
    memset(set->method, 'x', sizeof set->method);
    expect(set, "attribute method");
}

Test(posteriors, create) {
    struct nvdp_posteriors *set = NULL;
    cr_expect_eq(nvdp_posteriors_create(ctx, 1, 1, 0, true, &set), NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_posteriors_create(ctx, 1, SIZE_MAX / 4, 8, true, &set), NVDP_ERR_MEMORY);
    cr_expect_eq(nvdp_posteriors_create(ctx, SIZE_MAX, 0, 8, true, &set), NVDP_ERR_MEMORY);
    cr_expect_null(set);
    ok(nvdp_posteriors_create(ctx, 0, 0, 3, true, &set));
    ok(nvdp_posteriors_check(ctx, set, NULL));
    nvdp_posteriors_free(set);
    nvdp_posteriors_free(NULL);
    set = NULL;
    uint64_t k = support_fail_first(ctx);
    while (support_failed(ctx, &k, nvdp_posteriors_create(ctx, 2, 3, 4, true, &set)))
        cr_expect_null(set);
    cr_expect_not_null(set);
    nvdp_posteriors_free(set);
}
