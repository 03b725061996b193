/* Compares the largest divergence by bounds with all pairs. */
#include "rdp_test.h"

#include "test_context.h"

enum { TEXTS = 24 };

static const size_t everyone[TEXTS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                       12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

struct plain {
    double largest;
    bool infinite;
};

/* Finds the largest by the plain form; every bound must be above its pair. */
static struct plain plain_of(const struct nvdp_posteriors *set, double order, size_t n,
                             const struct nvdp__bounds *bounds) {
    struct plain made = {.largest = 0};
    double gaussian[TEXTS], weights[TEXTS];
    for (size_t i = 0; i < n; i++) {
        if (bounds != NULL) nvdp__bounds_row(bounds, i, false, gaussian, weights);
        for (size_t j = 0; j < n; j++) {
            if (i == j) continue;
            double value = nvdp_renyi_texts(order, set, i, j);
            made.largest = fmax(made.largest, value);
            made.infinite = made.infinite || isinf(value);
            if (bounds == NULL) continue;
            cr_expect_geq(gaussian[j] + weights[j], value, "order %g (%zu, %zu): %.17g %.17g",
                          order, i, j, gaussian[j] + weights[j], value);
        }
    }
    return made;
}

static void compare(const struct made_texts *made, double order) {
    struct nvdp_posteriors *set = made_posteriors(ctx, made);
    nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *pairs = NULL;
    struct nvdp__adjacent_texts group = {.text = everyone, .n = made->texts};
    struct nvdp__largest got;
    struct nvdp__bounds bounds;
    bool infinite = false;
    size_t p = 0, q = 0;
    ok(nvdp__pairs_create(ctx, set, &pairs));
    ok(nvdp__group_infinite(pairs, order, &group, &infinite, &p, &q));
    ok(nvdp__pairs_largest(pairs, order, &group, &got));
    struct plain want;
    if (infinite || isinf(order)) {
        want = plain_of(set, order, made->texts, NULL);
    } else {
        ok(nvdp__bounds_create(pairs, order, &group, &bounds));
        want = plain_of(set, order, made->texts, &bounds);
        nvdp__bounds_free(&bounds);
    }
    cr_expect_eq(infinite, want.infinite, "order %g spread %g", order, made->spread);
    agrees(got.value, want.largest, 1e-12, "order %g spread %g", order, made->spread);
    cr_expect_neq(got.p, got.q);
    agrees(nvdp_renyi_texts(order, set, got.p, got.q), got.value, 1e-12);
}

/* Orders below, at and above 1; texts nearly equal, far apart, and partly infinitely so. */
Test(search, finds_the_largest) {
    static const double orders[] = {0.1, 0.5, 0.999, 1, 1 + 1e-9, 1.001, 1.1, 1.5, 3, 40, INFINITY};
    static const double spreads[] = {1e-5, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
            struct made_texts made = {TEXTS,
                                      4,
                                      1 + 5 * (s % 3),
                                      spreads[s],
                                      .equal = (s + o) % 2 == 0,
                                      .with_alpha = s % 4 != 0,
                                      .kappa = 1 + (int)(o % 2),
                                      .policy = NVDP_LENGTH_HIDDEN,
                                      .seed = (unsigned)(o * 7 + s)};
            if (made.equal && o % 3 == 0) made.policy = NVDP_LENGTH_PUBLIC;
            compare(&made, orders[o]);
        }
    }
}

/* Weights far apart, where only the bounds of the weights matter. */
Test(search, weights_alone) {
    for (unsigned seed = 0; seed < 6; seed++) {
        struct made_texts made = {
            TEXTS,       6, 1, 0.1 + 0.05 * seed, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN,
            .seed = seed};
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        size_t rows = set->offset[TEXTS];
        struct nvdp__adjacent_texts group = {.text = everyone, .n = TEXTS};
        nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *pairs = NULL;
        struct nvdp__largest got;
        for (size_t r = 0; r < rows; r++) {
            set->mu[r] = set->logvar[r] = 0;
            set->alpha[r] *= seed % 2 ? 1e4 : 1;
        }
        set->pad_alpha = seed % 2 ? 1e4 : 1;
        ok(nvdp__pairs_create(ctx, set, &pairs));
        ok(nvdp__pairs_largest(pairs, 1.2, &group, &got));
        struct plain want = plain_of(set, 1.2, TEXTS, NULL);
        agrees(got.value, want.largest, 1e-12);
    }
}

/* A few outliers among many texts: almost no pair is summed, for any number of threads. */
Test(search, rules_out_most_pairs) {
    struct made_texts made = {600, 5, 8, 0.1, .with_alpha = true, .policy = NVDP_LENGTH_HIDDEN};
    size_t all[600];
    struct nvdp__adjacent_texts group = {.text = all, .n = 600};
    struct nvdp__largest got[2];
    for (size_t i = 0; i < 600; i++)
        all[i] = i;
    for (int threads = 1; threads <= 2; threads++) {
        ok(nvdp_context_set_threads(ctx, threads));
        struct nvdp_posteriors *set = made_posteriors(ctx, &made);
        for (size_t i = 0; i < 600; i += 100)
            for (size_t k = set->offset[i] * 8; k < set->offset[i + 1] * 8; k++)
                set->mu[k] *= 3;
        nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *pairs = NULL;
        ok(nvdp__pairs_create(ctx, set, &pairs));
        ok(nvdp__pairs_largest(pairs, 1.1, &group, &got[threads - 1]));
    }
    cr_expect_eq(memcmp(&got[0], &got[1], sizeof got[0]), 0);
    cr_expect_lt(got[0].summed, 600 * 599 / 20, "%zu", got[0].summed);
}
