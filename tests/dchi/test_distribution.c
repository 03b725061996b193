/* Compares exact distributions and divergences with values computed elsewhere. */
#include "made_tables.h"

#include "test_context.h"

/* The golden values have 16 digits of a double computation; 1e-9 is required, and they agree to
 * 1e-12. */
static const double tolerance = 1e-12;

struct golden {
    struct nvdp_context *ctx;
    json_t *root;
    struct nvdp_vectors *vectors;
    unsigned char *sensitive;
    double *prior;
    size_t count;
};

static struct golden open_golden(void) {
    struct golden g = {.ctx = support_context(), .root = support_golden_json("santext.json")};
    json_t *embedding = json_object_get(g.root, "embedding"), *value;
    g.count = json_array_size(embedding);
    size_t dim = json_array_size(json_array_get(embedding, 0)), index;
    nvdp__autofree double *rows = calloc(g.count * dim, sizeof *rows);
    for (size_t i = 0; i < g.count; i++)
        for (size_t k = 0; k < dim; k++)
            rows[i * dim + k] = json_number_value(json_array_get(json_array_get(embedding, i), k));
    g.vectors = vectors_of(g.ctx, g.count, dim, rows);
    g.sensitive = support_keep(calloc(g.count, 1));
    json_array_foreach(json_object_get(g.root, "sensitive"), index, value)
        g.sensitive[json_integer_value(value)] = 1;
    size_t n;
    g.prior = support_numbers(json_object_get(g.root, "prior"), &n);
    cr_assert_eq(n, g.count);
    return g;
}

static struct nvdp_dchi *made(struct golden *g, enum nvdp_dchi_mechanism mechanism, double eta) {
    struct nvdp_dchi *dchi = NULL;
    ok(nvdp_dchi_create(g->ctx, g->vectors, mechanism, eta, number_at(g->root, "p"), g->sensitive,
                        &dchi));
    return support_keep(dchi);
}

static void same(double got, double want, const char *what) {
    if (isinf(want))
        cr_expect_eq(got, want, "%s: %g", what, got);
    else
        cr_expect_leq(support_relative(got, want, 1e-3), tolerance, "%s: %.17g, expected %.17g",
                      what, got, want);
}

static double number(const json_t *object, const char *key) {
    return support_number(json_object_get(object, key));
}

static int32_t *tokens_of(const json_t *array, size_t *n) {
    *n = json_array_size(array);
    int32_t *tokens = calloc(*n, sizeof *tokens);
    for (size_t i = 0; i < *n; i++)
        tokens[i] = (int32_t)json_integer_value(json_array_get(array, i));
    return support_keep(tokens);
}

static void compare_rows(struct golden *g, const struct nvdp_dchi *dchi, json_t *rows) {
    nvdp__autofree double *log_p = calloc(g->count, sizeof *log_p);
    const char *key;
    json_t *want;
    json_object_foreach(rows, key, want) {
        int32_t token = atoi(key);
        ok(nvdp_dchi_log_probabilities(g->ctx, dchi, 1, &token, log_p));
        double sum = 0;
        for (size_t y = 0; y < g->count; y++) {
            double p = support_number(json_array_get(want, y));
            sum += exp(log_p[y]);
            cr_expect_leq(support_relative(exp(log_p[y]), p, 1e-300), tolerance,
                          "P(%zu|%s) = %.17g, expected %.17g", y, key, exp(log_p[y]), p);
        }
        near(sum, 1, 1e-14);
    }
}

static void compare_divergences(struct golden *g, const struct nvdp_dchi *dchi, const json_t *item,
                                size_t n, const int32_t *a, const int32_t *b) {
    const char *key;
    json_t *want;
    double got, largest = INFINITY;
    json_object_foreach(json_object_get(item, "renyi"), key, want) {
        double order = atof(key);
        ok(nvdp_dchi_divergence(g->ctx, dchi, 1, &order, n, a, n, b, &got));
        same(got, support_number(want), key);
    }
    ok(nvdp_dchi_divergence(g->ctx, dchi, 1, &largest, n, a, n, b, &got));
    same(got, number(item, "max_log_ratio"), "max_log_ratio");
}

Test(distribution, golden) {
    struct golden g = open_golden();
    size_t c, k, n;
    json_t *want, *item;
    json_array_foreach(json_object_get(g.root, "cases"), c, want) {
        double epsilon = number(want, "epsilon");
        struct nvdp_dchi *dchi = made(&g, NVDP_DCHI_SANTEXT, epsilon);
        struct nvdp_dchi *plus = made(&g, NVDP_DCHI_SANTEXT_PLUS, epsilon);
        compare_rows(&g, dchi, json_object_get(want, "rows"));
        compare_rows(&g, plus, json_object_get(want, "plus_rows"));
        json_array_foreach(json_object_get(want, "token_pairs"), k, item) {
            int32_t x = (int32_t)integer_at(item, "x"), x2 = (int32_t)integer_at(item, "x2");
            compare_divergences(&g, dchi, item, 1, &x, &x2);
            double largest = INFINITY, got;
            ok(nvdp_dchi_divergence(g.ctx, plus, 1, &largest, 1, &x, 1, &x2, &got));
            same(got, number(item, "plus_max_log_ratio"), "plus_max_log_ratio");
        }
        json_array_foreach(json_object_get(want, "text_pairs"), k, item) {
            int32_t *a = tokens_of(json_object_get(item, "a"), &n);
            int32_t *b = tokens_of(json_object_get(item, "b"), &n);
            compare_divergences(&g, dchi, item, n, a, b);
        }
    }
}

/* Checks all rows: the probability that a token stays the same, and the Bayes-optimal guess of
 * the input. */
Test(distribution, golden_inversion) {
    struct golden g = open_golden();
    size_t c, n;
    json_t *want;
    nvdp__autofree int32_t *all = calloc(g.count, sizeof *all);
    double *log_p = calloc(g.count * g.count, sizeof *log_p);
    for (size_t x = 0; x < g.count; x++)
        all[x] = (int32_t)x;
    json_array_foreach(json_object_get(g.root, "cases"), c, want) {
        struct nvdp_dchi *dchi = made(&g, NVDP_DCHI_SANTEXT, number(want, "epsilon"));
        double *same_out = support_numbers(json_object_get(want, "n_x"), &n), right = 0;
        ok(nvdp_dchi_log_probabilities(g.ctx, dchi, g.count, all, log_p));
        for (size_t y = 0; y < g.count; y++) {
            double largest = 0;
            for (size_t x = 0; x < g.count; x++)
                largest = fmax(largest, g.prior[x] * exp(log_p[x * g.count + y]));
            right += largest;
            same(exp(log_p[y * g.count + y]), same_out[y], "n_x");
        }
        same(right, number(want, "bayes_inversion"), "bayes_inversion");
    }
    free(log_p);
}

Test(distribution, golden_worst) {
    struct golden g = open_golden();
    size_t c;
    json_t *item;
    json_array_foreach(json_object_get(g.root, "cases"), c, item) {
        json_t *want = json_object_get(item, "worst_log_ratio");
        struct nvdp_dchi *dchi = made(&g, NVDP_DCHI_SANTEXT, number(item, "epsilon"));
        struct nvdp_dchi *plus = made(&g, NVDP_DCHI_SANTEXT_PLUS, number(item, "epsilon"));
        struct nvdp_dchi *laplace = made(&g, NVDP_DCHI_LAPLACE, number(item, "epsilon"));
        struct nvdp_dchi_worst worst = NVDP_RESULT(struct nvdp_dchi_worst), some = worst;
        ok(nvdp_dchi_worst(g.ctx, dchi, 0, 0, &worst));
        same(worst.value, number(want, "value"), "worst");
        same(worst.bound, number(want, "bound"), "bound");
        cr_expect_eq(worst.x, (size_t)integer_at(want, "x"));
        cr_expect_eq(worst.x2, (size_t)integer_at(want, "x2"));
        cr_expect_eq(worst.infinite, 0);
        cr_expect_eq(worst.inputs, g.count);

        ok(nvdp_dchi_worst(g.ctx, dchi, 9, 5, &some));
        cr_expect_eq(some.inputs, 9);
        cr_expect(some.value <= worst.value && some.value > 0 && some.bound >= worst.bound);

        /* Compares sensitive words with all others, one by one; tokens that stay as they are
         * count separately. */
        ok(nvdp_dchi_worst(g.ctx, plus, 0, 0, &some));
        double largest = 0, order = INFINITY, got, longest = 0, bound = 0;
        const double eta0 = -log(number_at(g.root, "p"));
        size_t infinite = 0;
        for (int32_t x = 0; x < (int32_t)g.count; x++) {
            for (int32_t y = 0; y < (int32_t)g.count; y++) {
                if (x == y) continue;
                ok(nvdp_dchi_divergence(g.ctx, laplace, 1, &order, 1, &x, 1, &y, &got));
                longest = fmax(longest, got);
                if (g.sensitive[x] != 0) bound = fmax(bound, got + (g.sensitive[y] ? 0 : eta0));
                ok(nvdp_dchi_divergence(g.ctx, plus, 1, &order, 1, &x, 1, &y, &got));
                infinite += isinf(got);
                cr_expect_eq(isinf(got), g.sensitive[x] == 0);
                if (isfinite(got)) largest = fmax(largest, got);
            }
        }
        same(some.bound, bound, "bound of santext-plus");
        cr_expect_eq((double)infinite / (double)(g.count * (g.count - 1)), some.infinite);
        const int32_t x = (int32_t)some.x, x2 = (int32_t)some.x2;
        ok(nvdp_dchi_divergence(g.ctx, plus, 1, &order, 1, &x, 1, &x2, &got));
        cr_expect_eq(got, largest);
        same(some.finite, largest, "santext-plus");
        cr_expect_eq(some.value, INFINITY);
        near(some.infinite, 6.0 / 24, 1e-15);
        double exact = some.finite;
        ok(nvdp_dchi_worst(g.ctx, plus, 5, 3, &some));
        cr_expect_eq(some.inputs, 5);
        cr_expect(some.finite > 0 && some.finite <= exact && some.bound >= bound);
        near(some.infinite, 6.0 / 24, 1e-15);
        ok(nvdp_dchi_worst(g.ctx, laplace, 0, 0, &some));
        same(some.value, longest, "laplace");
        cr_expect_eq(some.bound, some.value);
    }
}

/* A word without a vector becomes a uniform draw. Its log ratio to a word's own draw never
 * exceeds eta/2 times the diameter, and two words far apart come near that. */
Test(distribution, a_uniform_draw_beside_a_word) {
    enum { V = 12, D = 3 };
    double values[V * D], log_p[V], nearest = 0;
    for (int i = 0; i < V * D; i++)
        values[i] = sin(37. * i) * (i < D ? 9 : 1); /* one word is far from the others */
    for (int e = 0; e < 4; e++) {
        const double eta = (const double[]){.01, .5, 3, 40}[e];
        double diameter = 0;
        struct nvdp_vectors *vectors = vectors_of(ctx, V, D, values);
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, eta, NULL);
        for (int i = 0; i < V * V; i++) {
            const double *a = values + i / V * D, *b = values + i % V * D;
            diameter = fmax(diameter, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
        }
        for (int32_t x = 0; x < V; x++) {
            ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, &x, log_p));
            for (int y = 0; y < V; y++) {
                const double loss = fabs(log_p[y] + log(V)) / (eta / 2 * diameter);
                cr_expect_leq(loss, 1 + 1e-12, "eta %g, %d to %d: %g", eta, x, y, loss);
                nearest = fmax(nearest, loss);
            }
        }
    }
    cr_expect_gt(nearest, .9);
}

/* Distances 0, 1, 2.5 at epsilon 2, by hand: probabilities 1, e^-1, e^-2.5 over their sum. */
Test(distribution, three_words) {
    double log_p[3], got[3], sum = 1 + exp(-1) + exp(-2.5);
    struct nvdp_vectors *vectors = vectors_of(ctx, 3, 1, (double[]){0, -1, 2.5});
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 2, NULL);
    ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, (int32_t[]){0}, log_p));
    near(exp(log_p[0]), .6896720861, 5e-11);
    near(log_p[1], -1 - log(sum), 1e-15);
    near(log_p[2], -2.5 - log(sum), 1e-15);
    /* Divergence of texts: the sum for one length, infinite for two lengths, 0 for a text with
     * itself. */
    const double orders[3] = {.5, 1, INFINITY};
    ok(nvdp_dchi_divergence(ctx, dchi, 3, orders, 2, (int32_t[]){0, 1}, 1, (int32_t[]){0}, got));
    cr_expect(isinf(got[0]) && isinf(got[1]) && isinf(got[2]));
    ok(nvdp_dchi_divergence(ctx, dchi, 3, orders, 2, (int32_t[]){2, 1}, 2, (int32_t[]){2, 1}, got));
    cr_expect(got[0] == 0 && got[1] == 0 && got[2] == 0);
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_RANDOM, NAN, NULL);
    ok(nvdp_dchi_divergence(ctx, dchi, 3, orders, 1, (int32_t[]){0}, 1, (int32_t[]){1}, got));
    cr_expect(got[0] == 0 && got[1] == 0 && got[2] == 0);
}

Test(distribution, refusals) {
    nvdp__autoptr(nvdp_vectors_free) struct nvdp_vectors *vectors = NULL;
    nvdp__autoptr(nvdp_dchi_free) struct nvdp_dchi *dchi = NULL;
    double order = 2, out = -1;
    fails(nvdp_vectors_create(ctx, 2, 2, (double[]){0, 1, 2, NAN}, &vectors), NVDP_ERR_INPUT,
          "token 1, dimension 1");
    cr_expect_eq(nvdp_vectors_create(ctx, 0, 2, NULL, &vectors), NVDP_ERR_ARGUMENT);
    ok(nvdp_vectors_create(ctx, 2, 1, (double[]){0, 1}, &vectors));
    const double wrong[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(nvdp_dchi_create(ctx, vectors, NVDP_DCHI_LAPLACE, wrong[i], 0, NULL, &dchi),
                     NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_dchi_create(ctx, vectors, NVDP_DCHI_SANTEXT_PLUS, 1, .3,
                                  (const unsigned char[]){0, 0}, &dchi),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_dchi_create(ctx, vectors, NVDP_DCHI_SANTEXT_PLUS, 1, 1,
                                  (const unsigned char[]){0, 1}, &dchi),
                 NVDP_ERR_ARGUMENT);
    ok(nvdp_dchi_create(ctx, vectors, NVDP_DCHI_LAPLACE, 1, 0, NULL, &dchi));
    cr_expect_eq(nvdp_dchi_log_probabilities(ctx, dchi, 1, (int32_t[]){0}, &out),
                 NVDP_ERR_UNSUPPORTED);
    order = INFINITY;
    cr_expect_eq(
        nvdp_dchi_divergence(ctx, dchi, 1, &order, 1, (int32_t[]){0}, 1, (int32_t[]){2}, &out),
        NVDP_ERR_ARGUMENT);
    order = 0;
    cr_expect_eq(
        nvdp_dchi_divergence(ctx, dchi, 1, &order, 1, (int32_t[]){0}, 1, (int32_t[]){1}, &out),
        NVDP_ERR_ARGUMENT);
    cr_expect_eq(out, -1);
}

/* Two outcomes by hand; both forms must agree near order 1; supports that differ. */
Test(distribution, renyi_discrete) {
    const double p[2] = {log(.25), log(.75)}, q[2] = {log(.5), log(.5)};
    const double kl = .25 * log(.5) + .75 * log(1.5);
    near(nvdp_renyi_discrete(1, 2, p, q), kl, 1e-15);
    near(nvdp_renyi_discrete(2, 2, p, q), log(.0625 / .5 + .5625 / .5), 1e-15);
    near(nvdp_renyi_discrete(INFINITY, 2, p, q), log(1.5), 1e-15);
    /* D's derivative in the order is below 1/2 max t^2 = .24 */
    near(nvdp_renyi_discrete(1 + 1e-9, 2, p, q), kl, 1e-9);
    double low = nvdp_renyi_discrete(1 + .5 / log(2) - 1e-12, 2, p, q);
    double high = nvdp_renyi_discrete(1 + .5 / log(2) + 1e-12, 2, p, q);
    near(low, high, 1e-11);
    const double sure[2] = {0, -INFINITY}, other[2] = {-INFINITY, 0};
    cr_expect_eq(nvdp_renyi_discrete(1, 2, q, sure), INFINITY);
    cr_expect_eq(nvdp_renyi_discrete(2, 2, q, sure), INFINITY);
    near(nvdp_renyi_discrete(.5, 2, q, sure), log(2), 1e-15);
    near(nvdp_renyi_discrete(2, 2, sure, q), log(2), 1e-15);
    cr_expect_eq(nvdp_renyi_discrete(.5, 2, sure, other), INFINITY);
    cr_expect_eq(nvdp_renyi_discrete(.5, 2, sure, sure), 0);
    cr_expect(isnan(nvdp_renyi_discrete(0, 2, p, q)));
    /* In far tails: e^-2000 against e^-1000. */
    const double far[2] = {-2000, 0}, near[2] = {-1000, 0};
    near(nvdp_renyi_discrete(3, 2, near, far), 500, 1e-9);
}
