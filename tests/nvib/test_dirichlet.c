/* The weights of a sample, and their gradient. */
#include "fixture.h"

/* Three texts of 4, 1 and 3 tokens; kappa rows per component; two padding components in the
 * first. */
enum { TEXTS = 3, TOKENS = 8, ROWS_MAX = 26 };
struct layout {
    int32_t offset[TEXTS + 1], src[ROWS_MAX];
    float log_alpha[TOKENS];
    uint64_t key[TEXTS];
    size_t rows;
};

static void add(struct layout *lay, int kappa, int32_t src) {
    for (int k = 0; k < kappa; k++)
        lay->src[lay->rows++] = src;
}

static struct layout layout_of(int kappa) {
    static const int tokens[TEXTS] = {4, 1, 3};
    struct layout lay = {.log_alpha = {-2, 0.5f, 1.5f, -10, 0.1f, 10, 2, -0.7f}, .key = {3, 9, 11}};
    int32_t t = 0;
    for (int b = 0; b < TEXTS; b++) {
        lay.offset[b] = (int32_t)lay.rows;
        add(&lay, kappa, NVDP__PRIOR);
        for (int i = 0; i < tokens[b]; i++)
            add(&lay, kappa, t++);
        for (int i = 0; b == 0 && i < 2; i++)
            add(&lay, kappa, NVDP__PADDING);
    }
    lay.offset[TEXTS] = (int32_t)lay.rows;
    return lay;
}

static struct nvdp__device device(int threads) {
    return (struct nvdp__device){.threads = threads};
}

static struct nvdp__form form(int kappa) {
    return (struct nvdp__form){
        .weights = true, .kappa = kappa, .prior_alpha = 1, .pad_alpha = 0.2f};
}

static struct nvdp__sample_rows rows_of(const struct layout *lay) {
    return (struct nvdp__sample_rows){.texts = TEXTS,
                                      .rows = lay->rows,
                                      .offset = (int32_t *)lay->offset,
                                      .src = (int32_t *)lay->src,
                                      .key = lay->key};
}

static void sample(const struct layout *lay, int kappa, int threads, const float *log_gamma,
                   uint32_t epoch, float *log_pi, float *dlogg) {
    struct nvdp__device dev = device(threads);
    struct nvdp__draw draw = {.noise = {.seed = 31},
                              .gamma = NVDP__PURPOSE_GAMMA,
                              .epoch = epoch,
                              .log_gamma = log_gamma};
    struct nvdp__form of = form(kappa);
    struct nvdp__sample_rows rows = rows_of(lay);
    nvdp__dirichlet_sample(&dev, &draw, &of, &rows, lay->log_alpha, log_pi, dlogg);
}

Test(dirichlet, given_draws) {
    struct layout lay = layout_of(2);
    float log_gamma[ROWS_MAX], log_pi[ROWS_MAX], dlogg[ROWS_MAX];
    for (size_t r = 0; r < lay.rows; r++)
        log_gamma[r] = (float)sin((double)r) * 4 - 1;
    sample(&lay, 2, 2, log_gamma, 0, log_pi, dlogg);
    for (size_t b = 0; b < TEXTS; b++) {
        double sum = 0;
        for (int32_t r = lay.offset[b]; r < lay.offset[b + 1]; r++)
            sum += exp(log_gamma[r]);
        for (int32_t r = lay.offset[b]; r < lay.offset[b + 1]; r++) {
            near(log_pi[r], log_gamma[r] - log(sum), 1e-6);
            double alpha = lay.src[r] < 0 ? 0 : exp(lay.log_alpha[lay.src[r]]) / 2;
            double want = alpha > 0 ? nvdp__gamma_implicit_log_gradient(alpha, log_gamma[r]) : 0;
            cr_expect_lt(support_relative(dlogg[r], want, 1e-6), 1e-6);
        }
    }
}

/* Zeros among the draws, and pseudo-counts at the ends of float's range, leave logarithms
 * finite. */
Test(dirichlet, never_minus_infinity) {
    struct layout lay = layout_of(1);
    float log_gamma[ROWS_MAX] = {0}, log_pi[ROWS_MAX], dlogg[ROWS_MAX];
    log_gamma[1] = -INFINITY;
    sample(&lay, 1, 1, log_gamma, 0, log_pi, dlogg);
    cr_expect(isfinite(log_pi[1]) && log_pi[1] < -1e29f);
    cr_expect(isfinite(dlogg[1]));
    for (size_t t = 0; t < TOKENS; t++)
        lay.log_alpha[t] = -80;
    lay.log_alpha[3] = 80;
    sample(&lay, 1, 1, NULL, 0, log_pi, dlogg);
    for (size_t r = 0; r < lay.rows; r++)
        cr_expect(isfinite(log_pi[r]) && isfinite(dlogg[r]), "row %zu: %g, %g", r, log_pi[r],
                  dlogg[r]);
    float d_log_pi[ROWS_MAX], d_log_alpha[TOKENS] = {0};
    for (size_t r = 0; r < lay.rows; r++)
        d_log_pi[r] = r == 2;
    struct nvdp__device dev = device(1);
    struct nvdp__sample_rows rows = rows_of(&lay);
    nvdp__dirichlet_sample_backward(&dev, &rows, log_pi, dlogg, d_log_pi, d_log_alpha);
    for (size_t t = 0; t < TOKENS; t++)
        cr_expect(isfinite(d_log_alpha[t]));
}

Test(dirichlet, streams) {
    struct layout lay = layout_of(2);
    float one[ROWS_MAX], two[ROWS_MAX], dlogg[ROWS_MAX];
    sample(&lay, 2, 1, NULL, 5, one, dlogg);
    sample(&lay, 2, 2, NULL, 5, two, NULL);
    cr_expect_arr_eq(one, two, lay.rows * sizeof *one, "threads, or the wish for gradients");
    sample(&lay, 2, 2, NULL, 6, two, NULL);
    cr_expect_neq(memcmp(one, two, lay.rows * sizeof *one), 0);
    /* The last text alone gets the same bits. */
    int32_t offset[2] = {0, lay.offset[3] - lay.offset[2]};
    struct nvdp__device dev = device(1);
    struct nvdp__draw draw = {.noise = {.seed = 31}, .gamma = NVDP__PURPOSE_GAMMA, .epoch = 5};
    struct nvdp__form of = form(2);
    struct nvdp__sample_rows rows = {.texts = 1,
                                     .rows = (size_t)offset[1],
                                     .offset = offset,
                                     .src = lay.src + lay.offset[2],
                                     .key = lay.key + 2};
    nvdp__dirichlet_sample(&dev, &draw, &of, &rows, lay.log_alpha, two, NULL);
    cr_expect_arr_eq(one + lay.offset[2], two, (size_t)offset[1] * sizeof *one);
}

/* Returns E[pi^k] of a Beta(a, s - a) marginal. */
static double moment(double a, double s, int k) {
    double m = 1;
    for (int i = 0; i < k; i++)
        m *= (a + i) / (s + i);
    return m;
}

/* Compares means of rho and rho^2 of each component over 20000 draws with the Dirichlet's
 * moments, each within 5 of its own (known) standard errors: 6e-7 per comparison, 3e-5 in all.
 * With kappa 2 the component's two weights are added: their sum is Dirichlet over components,
 * each share Dirichlet(a/2, a/2). */
Test(dirichlet, moments) {
    enum { N = 20000, COMPONENTS = 7 };
    for (int kappa = 1; kappa <= 2; kappa++) {
        struct layout lay = layout_of(kappa);
        lay.log_alpha[3] = -4; /* e^-10 is too rare for a mean over 20000 draws */
        double alpha[COMPONENTS] = {1, exp(-2), exp(0.5), exp(1.5), exp(-4), 0.2f, 0.2f};
        double total = 0, first[COMPONENTS] = {0}, second[COMPONENTS] = {0}, within = 0;
        for (size_t i = 0; i < COMPONENTS; i++)
            total += alpha[i];
        for (uint32_t n = 0; n < N; n++) {
            float log_pi[ROWS_MAX];
            sample(&lay, kappa, 1, NULL, n, log_pi, NULL);
            for (size_t i = 0; i < COMPONENTS; i++) {
                double rho = 0;
                for (int k = 0; k < kappa; k++)
                    rho += exp(log_pi[i * (size_t)kappa + (size_t)k]);
                first[i] += rho / N;
                second[i] += rho * rho / N;
                if (i == 3) within += exp(log_pi[i * (size_t)kappa]) / rho / N;
            }
        }
        for (size_t i = 0; i < COMPONENTS; i++) {
            double m1 = moment(alpha[i], total, 1), m2 = moment(alpha[i], total, 2);
            double m4 = moment(alpha[i], total, 4);
            cr_expect_lt(fabs(first[i] - m1), 5 * sqrt((m2 - m1 * m1) / N), "mean %zu", i);
            cr_expect_lt(fabs(second[i] - m2), 5 * sqrt((m4 - m2 * m2) / N), "square %zu", i);
        }
        /* Beta(a/2, a/2) has mean 1/2 and variance 1/(4 (a + 1)). */
        if (kappa == 2) cr_expect_lt(fabs(within - 0.5), 5 * 0.5 / sqrt((alpha[3] + 1) * N));
    }
}

/* Computes sum_r c_r log pi_r in double, where log g_r = given + slope (log alpha - log
 * alpha_0). */
static double loss(const struct layout *lay, const float *log_gamma, const float *slope,
                   const double *log_alpha, const float *c) {
    double total = 0;
    for (size_t b = 0; b < TEXTS; b++) {
        double sum = 0, weighted = 0, weight = 0;
        for (int32_t r = lay->offset[b]; r < lay->offset[b + 1]; r++) {
            int32_t s = lay->src[r];
            double g = log_gamma[r];
            if (s >= 0) g += slope[r] * (log_alpha[s] - lay->log_alpha[s]);
            sum += exp(g);
            weighted += c[r] * g;
            weight += c[r];
        }
        total += weighted - weight * log(sum);
    }
    return total;
}

Test(dirichlet, gradient) {
    struct layout lay = layout_of(2);
    float log_gamma[ROWS_MAX], log_pi[ROWS_MAX], dlogg[ROWS_MAX], c[ROWS_MAX];
    for (size_t r = 0; r < lay.rows; r++) {
        log_gamma[r] = (float)sin((double)r) * 2;
        c[r] = (float)cos(2.0 * (double)r);
    }
    sample(&lay, 2, 1, log_gamma, 0, log_pi, dlogg);
    float got[TOKENS] = {0};
    double want[TOKENS], log_alpha[TOKENS];
    for (size_t t = 0; t < TOKENS; t++)
        log_alpha[t] = lay.log_alpha[t];
    struct nvdp__device dev = device(2);
    struct nvdp__sample_rows rows = rows_of(&lay);
    nvdp__dirichlet_sample_backward(&dev, &rows, log_pi, dlogg, c, got);
    for (size_t t = 0; t < TOKENS; t++) {
        const double step = 1e-6;
        log_alpha[t] += step;
        double up = loss(&lay, log_gamma, dlogg, log_alpha, c);
        log_alpha[t] -= 2 * step;
        double down = loss(&lay, log_gamma, dlogg, log_alpha, c);
        log_alpha[t] += step;
        want[t] = (up - down) / (2 * step);
    }
    cr_expect_lt(support_norm_error(TOKENS, got, want), 1e-5); /* float32 */
}

/* Has enough texts for the loops to use threads. */
Test(dirichlet, threads) {
    enum { MANY = 200, EACH = 30 };
    static int32_t offset[MANY + 1], src[MANY * EACH];
    static uint64_t key[MANY];
    static float log_alpha[MANY * EACH], log_pi[2][MANY * EACH], dlogg[2][MANY * EACH];
    static float d[2][MANY * EACH];
    for (int32_t r = 0; r < MANY * EACH; r++) {
        src[r] = r;
        log_alpha[r] = (float)(6 * sin(r));
        offset[r / EACH + 1] = r + 1;
        key[r / EACH] = (uint64_t)(r / EACH);
    }
    for (int k = 0; k < 2; k++) {
        struct nvdp__device dev = device(1 + 2 * k);
        struct nvdp__draw draw = {.noise = {.seed = 31}, .gamma = NVDP__PURPOSE_GAMMA};
        struct nvdp__form of = form(1);
        struct nvdp__sample_rows rows = {
            .texts = MANY, .rows = MANY * EACH, .offset = offset, .src = src, .key = key};
        nvdp__dirichlet_sample(&dev, &draw, &of, &rows, log_alpha, log_pi[k], dlogg[k]);
        nvdp__dirichlet_sample_backward(&dev, &rows, log_pi[k], dlogg[k], log_pi[k], d[k]);
    }
    cr_expect_arr_eq(log_pi[0], log_pi[1], sizeof log_pi[0]);
    cr_expect_arr_eq(dlogg[0], dlogg[1], sizeof dlogg[0]);
    cr_expect_arr_eq(d[0], d[1], sizeof d[0]);
}
