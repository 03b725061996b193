/* Compares every number for all pairs of texts under a mechanism with one pair at a time. */
#include "made_tables.h"

static struct nvdp__privacy_options options_of(struct nvdp_context *ctx,
                                               const struct nvdp_config *config) {
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    if (config != NULL) ok(nvdp__config_values(ctx, config, &nvdp__privacy_schema, &options));
    return options;
}

enum { WORDS = 90, DIM = 4, TEXTS = 26 };

struct made {
    struct nvdp_context *ctx;
    struct nvdp_vectors *vectors;
    unsigned char sensitive[WORDS];
    size_t offset[TEXTS + 1], first[TEXTS];
    int32_t tokens[TEXTS * 4];
    struct nvdp__token_texts texts;
};

/* Makes texts of 1 to 4 words; with `unknown`, some are not in the table. */
static void make(struct made *made, bool unknown) {
    *made = (struct made){.ctx = support_context()};
    double rows[WORDS * DIM];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = sin(1.0 + 3.7 * (double)i) + cos(0.1 * (double)(i * i));
    made->vectors = vectors_of(made->ctx, WORDS, DIM, rows);
    for (size_t i = 0; i < WORDS; i++)
        made->sensitive[i] = i % 9 != 4;
    for (size_t i = 0; i < TEXTS; i++) {
        made->offset[i + 1] = made->offset[i] + 1 + i * i % 4 + i % 2;
        made->first[i] = i % 3 == 0 ? 1 : 0;
        for (size_t k = made->offset[i]; k < made->offset[i + 1]; k++)
            made->tokens[k] = unknown && k % 11 == 5 ? NVDP_DCHI_UNKNOWN
                                                     : (int32_t)((k * k * 7 + 13 * i) % WORDS);
    }
    made->texts = (struct nvdp__token_texts){TEXTS, made->offset, made->tokens, made->first, 0};
}

static double number(double got, double want) {
    return isinf(want) || isinf(got) ? (got == want ? 0 : INFINITY)
                                     : fabs(got - want) / fmax(want, .01);
}

/* A divergence is a sum of at most 4, each with an absolute error of 1e-13/(l-1), with l - 1 at
 * least .05. */
static const double tolerance = 1e-9;

static void compare(enum nvdp_dchi_mechanism mechanism, double eta, bool unknown, bool pairs,
                    const char *order, const char *moments) {
    struct made made;
    make(&made, unknown);
    if (!pairs) made.texts.first = NULL;
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    struct nvdp_dchi *dchi = dchi_of(made.ctx, made.vectors, mechanism, eta, made.sensitive);
    struct nvdp_config *config = support_config(made.ctx, "privacy", NULL);
    ok(nvdp_config_set(config, "order", order));
    ok(nvdp_config_set(config, "moments", moments));
    ok(nvdp_config_set(config, "releases", "2"));
    double *matrix = calloc(TEXTS * TEXTS, sizeof *matrix);
    const struct nvdp__privacy_options options = options_of(made.ctx, config);
    ok(nvdp__dchi_privacy(made.ctx, dchi, &made.texts, &options, matrix, &report));
    double ks[32], largest = 0, largest_same = 0, sum_same = 0, largest_epsilon = 0, low = 0,
                   high = 0;
    size_t n = 0, equal = 0, other = 0, infinite = 0;
    for (const char *at = moments; *at != '\0'; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
        ks[n++] = strtod(at, NULL);
    ks[n++] = 1.1;
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t j = 0; j < TEXTS; j++) {
            if (i == j) continue;
            const size_t length = made.offset[i + 1] - made.offset[i];
            const int32_t *a = made.tokens + made.offset[i], *b = made.tokens + made.offset[j];
            const double l = strtod(order, NULL);
            double want = INFINITY, smallest = INFINITY;
            if (length != made.offset[j + 1] - made.offset[j] ||
                (pairs && made.first[i] != made.first[j])) {
                cr_expect_eq(matrix[i * TEXTS + j], INFINITY);
                other++;
                largest = INFINITY;
                continue;
            }
            equal++;
            ok(nvdp_dchi_divergence(made.ctx, dchi, 1, &l, length, a, length, b, &want));
            cr_expect_leq(number(matrix[i * TEXTS + j], want), tolerance,
                          "%d, %zu and %zu: %.15g, expected %.15g", (int)mechanism, i, j,
                          matrix[i * TEXTS + j], want);
            largest_same = fmax(largest_same, want);
            infinite += isinf(want);
            sum_same += isinf(want) ? 0 : want;
            for (size_t k = 0; k < n; k++) {
                const double at = ks[k] + 1;
                ok(nvdp_dchi_divergence(made.ctx, dchi, 1, &at, length, a, length, b, &want));
                smallest = fmin(smallest, nvdp_renyi_epsilon(at, 2 * want, 1e-5));
            }
            largest_epsilon = fmax(largest_epsilon, smallest);
            int32_t twice[2][16];
            for (size_t k = 0; k < 2 * length; k++) {
                twice[0][k] = a[k % length];
                twice[1][k] = b[k % length];
            }
            struct nvdp_interval exact;
            if (i < 3) { /* some of them suffice */
                ok(nvdp_dchi_epsilon(made.ctx, dchi, 1e-5, 2 * length, twice[0], 2 * length,
                                     twice[1], &exact));
                low = fmax(low, exact.low);
                high = fmax(high, exact.high);
            }
        }
    }
    cr_expect(report.equal_length == equal && report.other_length == other && other > 0);
    cr_expect_eq(report.pairs->pairs->sum.max, largest);
    cr_expect_eq(report.pairs->pairs->infinite, other + infinite);
    cr_expect_eq(report.pairs->pairs->pairs, equal + other);
    cr_expect_eq(report.same->pairs->pairs, equal);
    cr_expect_eq(report.same->pairs->infinite, infinite);
    cr_expect_leq(number(report.same->pairs->sum.max, largest_same), tolerance);
    cr_expect_leq(
        number(report.same->pairs->sum.mean_finite, sum_same / (double)(equal - infinite)),
        tolerance);
    cr_expect_leq(number(report.same->epsilon->sum.max, largest_epsilon), tolerance);
    cr_expect_eq(report.same->epsilon->releases, 2);
    if (mechanism != NVDP_DCHI_LAPLACE_NEAREST)
        cr_expect(report.epsilon.high >= low * (1 - 1e-9), "%g, %g", report.epsilon.high, low);
    cr_expect(report.epsilon.low <= report.epsilon.high &&
              report.epsilon.high <= largest_epsilon * (1 + 1e-9));
    if (mechanism == NVDP_DCHI_SANTEXT &&
        strlen(moments) > 20) /* with fewer orders the conversions exclude few pairs */
        cr_expect(report.epsilon.high - report.epsilon.low <= .02 * report.epsilon.high);
    cr_expect_eq(report.pairs->bdp.published->worst.epsilon, INFINITY);
    cr_expect(report.worst->bound >= report.worst->finite && report.worst->inputs > 0);
    cr_expect_eq(report.tokens, made.offset[TEXTS]);
    cr_expect_eq(report.unknown > 0, unknown);
    free(matrix);
    nvdp_result_free(&report);
}

/* All outputs have one distribution. The largest epsilon is 0 for any number of pairs, and not
 * the conversion of a divergence of 0. */
Test(privacy, random_tells_nothing) {
    enum { MANY = 20, LENGTH = 12 };
    struct made made;
    make(&made, false);
    size_t offset[MANY + 1];
    int32_t tokens[MANY * LENGTH];
    for (size_t i = 0; i <= MANY; i++)
        offset[i] = i * LENGTH;
    for (size_t k = 0; k < MANY * LENGTH; k++)
        tokens[k] = (int32_t)(k * k % WORDS);
    const struct nvdp__token_texts texts = {MANY, offset, tokens, NULL, 0};
    nvdp__autoresult struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    struct nvdp_dchi *dchi = dchi_of(made.ctx, made.vectors, NVDP_DCHI_RANDOM, NAN, NULL);
    const struct nvdp__privacy_options options = nvdp__privacy_defaults();
    ok(nvdp__dchi_privacy(made.ctx, dchi, &texts, &options, NULL, &report));
    cr_expect_eq(report.same->pairs->sum.max, 0);
    cr_expect(report.epsilon.low == 0 && report.epsilon.high == 0, "%g to %g", report.epsilon.low,
              report.epsilon.high);
    cr_expect_eq(report.epsilon_pairs, 1);
}

static const char usual[] = "0.05,0.1,0.25,0.5,1,1.1,1.5,2,3,4,6,8,12,16,24,32,48,64";

Test(privacy, santext) {
    compare(NVDP_DCHI_SANTEXT, 2, false, false, "1.1", usual);
    compare(NVDP_DCHI_SANTEXT, 9, true, true, "1", usual);
    compare(NVDP_DCHI_SANTEXT, .3, false, true, "inf", ".7,2");
}

/* Powers of a weight leave double's range, so exponentials of quotients are used. */
Test(privacy, santext_far) {
    compare(NVDP_DCHI_SANTEXT, 100, false, false, "64", "24,48");
}

Test(privacy, santext_plus) {
    compare(NVDP_DCHI_SANTEXT_PLUS, 2, false, false, "1.1", usual);
    compare(NVDP_DCHI_SANTEXT_PLUS, 2, true, true, ".5", "1,2");
}

/* A token that is not sensitive and far from all sensitive ones: its weights e^(-29/2 eta) are
 * subnormal from eta = 49 on, 0 from 52 on. In the order inf, at the output `good`,
 *
 *   D(good || the)  =  eta/2 + log(1 + e^(-eta/2) + e^(-eta/2 (sqrt 901 - 29))) - log(1 + 2 e^(-eta/2)) - log p;
 *
 * other orders are compared with a single pair's, within the rounding of distances: 30 eta/2 in
 * a difference, times 1/(l-1). */
Test(privacy, santext_plus_far) {
    enum { FOUR = 4 };
    static const double rows[2 * FOUR] = {0, 0, 1, 0, 0, 1, 30, 0};
    static const unsigned char sensitive[FOUR] = {1, 1, 1, 0};
    static const double etas[] = {1, 48, 49.5, 51, 51.3, 52, 100, 1e4, 1e6};
    static const char *const orders[] = {"inf", "1", "1.1", "2", "64"};
    const size_t offset[FOUR + 1] = {0, 1, 2, 3, 4};
    const int32_t tokens[FOUR] = {0, 1, 2, 3};
    const struct nvdp__token_texts texts = {FOUR, offset, tokens, NULL, 0};
    struct nvdp_context *ctx = support_context();
    struct nvdp_vectors *vectors = vectors_of(ctx, FOUR, 2, rows);
    for (size_t e = 0; e < sizeof etas / sizeof *etas; e++) {
        const double eta = etas[e],
                     closed = eta / 2 + log1p(exp(-eta / 2) + exp(-eta / 2 * (sqrt(901) - 29))) -
                              log1p(2 * exp(-eta / 2)) - log(.3);
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT_PLUS, eta, sensitive);
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            nvdp__autoresult struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
            const double order = strtod(orders[o], NULL);
            double matrix[FOUR * FOUR], largest = 0;
            struct nvdp_config *config = support_config(ctx, "privacy", NULL);
            ok(nvdp_config_set(config, "order", orders[o]));
            ok(nvdp_config_set(config, "moments", "1,2"));
            const struct nvdp__privacy_options options = options_of(ctx, config);
            ok(nvdp__dchi_privacy(ctx, dchi, &texts, &options, matrix, &report));
            for (int32_t i = 0; i < FOUR; i++) {
                for (int32_t j = 0; j < FOUR; j++) {
                    double want, got = matrix[i * FOUR + j];
                    ok(nvdp_dchi_divergence(ctx, dchi, 1, &order, 1, &i, 1, &j, &want));
                    cr_expect_leq(number(got, want), 1e-9, "eta %g, order %s, %d and %d: %g, %g",
                                  eta, orders[o], i, j, got, want);
                    if (isfinite(want)) largest = fmax(largest, want);
                }
            }
            if (o == 0) cr_expect_leq(number(matrix[3], closed), 1e-12);
            cr_expect_leq(number(report.pairs->pairs->sum.max_finite, largest), 1e-9);
        }
    }
}

Test(privacy, laplace) {
    compare(NVDP_DCHI_LAPLACE, 4, false, false, "1.1", usual);
    compare(NVDP_DCHI_LAPLACE, 4, true, true, "inf", "1,2");
    compare(NVDP_DCHI_LAPLACE_NEAREST, 4, true, false, ".4", usual);
}
