/* Compares the layer, losses and all gradients with float64 values of independent code for the
 * same noise (golden/nvib_block.safetensors). Its loss pools u by the mean over the token rows
 * (neither the prior nor padding); LayerNorm's epsilon is 1e-12. */
#include "fixture.h"
#include "tensor_values.h"

enum { TEXTS = 3, LONGEST = 6, WIDTH = 16, TOKENS = 12, ROWS = 15 };
static const int32_t lengths[TEXTS] = {6, 4, 2};

static double *read_tensor(const struct nvdp__safetensors *golden, const char *name,
                           size_t *count) {
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(golden, name);
    cr_assert_not_null(info, "no %s", name);
    double *values = support_keep(calloc(info->count, sizeof *values));
    support_read_f64(info, values);
    if (count != NULL) *count = info->count;
    return values;
}

/* Packs padded [texts, longest + extra, width] into consecutive rows. */
static void pack(const double *padded, size_t extra, size_t width, double *out) {
    size_t row = 0;
    for (size_t b = 0; b < TEXTS; b++) {
        for (size_t i = 0; i < (size_t)lengths[b] + extra; i++, row++)
            memcpy(out + row * width, padded + (b * (LONGEST + extra) + i) * width,
                   width * sizeof *out);
    }
}

static void to_float(size_t n, const double *x, float *y) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i];
}

struct run {
    struct nvdp__safetensors *golden;
    struct fixture *f;
    float eps[ROWS * WIDTH], log_gamma[ROWS];
    struct nvdp__draw draw;
    float *pooled;
};

static struct run *start(enum nvdp_pool pool, double delta) {
    struct nvdp__nvib_config config = fixture_config(0);
    config.length_policy = NVDP_LENGTH_PUBLIC;
    config.pool = pool;
    config.delta = delta;
    struct run *run = support_keep(calloc(1, sizeof *run));
    const char *path = support_golden("nvib_block.safetensors");
    run->f = fixture_create(&config, WIDTH, 4, 64, TEXTS, lengths, 1);
    ok(nvdp__safetensors_open(run->f->ctx, path, &run->golden));
    for (size_t i = 0; i < run->f->params.count; i++) {
        size_t count;
        const double *want = read_tensor(run->golden, run->f->params.entry[i].name, &count);
        cr_assert_eq(count, run->f->params.entry[i].count);
        to_float(count, want, nvdp__value(&run->f->params, i));
    }
    double rows[ROWS * WIDTH];
    pack(read_tensor(run->golden, "x", NULL), 0, WIDTH, rows);
    to_float(TOKENS * WIDTH, rows, run->f->hidden);
    pack(read_tensor(run->golden, "eps", NULL), 1, WIDTH, rows);
    to_float(ROWS * WIDTH, rows, run->eps);
    pack(read_tensor(run->golden, "gamma", NULL), 1, 1, rows);
    for (size_t r = 0; r < ROWS; r++)
        run->log_gamma[r] = (float)log(rows[r]);
    run->draw = (struct nvdp__draw){.eps = run->eps, .log_gamma = run->log_gamma};
    run->pooled = fixture_pooled(run->f, &run->draw);
    return run;
}

/* float32 sums of a few tens of terms: 1e-6; the LayerNorms may multiply that by a few. */
static const double FORWARD = 1e-5;

Test(golden, sample) {
    struct run *run = start(NVDP_POOL_MEAN, 0);
    struct nvdp__sample sample = fixture_sample(run->f);
    cr_assert_eq(sample.rows, ROWS);
    double rows[ROWS * WIDTH];
    pack(read_tensor(run->golden, "out.z", NULL), 1, WIDTH, rows);
    cr_expect_lt(support_norm_error(ROWS * WIDTH, sample.z, rows), FORWARD);
    pack(read_tensor(run->golden, "out.pi", NULL), 1, 1, rows);
    for (size_t r = 0; r < ROWS; r++)
        agrees(exp(sample.log_pi[r]), rows[r], FORWARD);
}

/* Computes, for each pool, the pooled vectors that the golden rows u imply. */
static void implied(struct run *run, enum nvdp_pool pool, double *pooled) {
    double u[ROWS * WIDTH], pi[ROWS];
    pack(read_tensor(run->golden, "out.y", NULL), 1, WIDTH, u);
    pack(read_tensor(run->golden, "out.pi", NULL), 1, 1, pi);
    memset(pooled, 0, TEXTS * WIDTH * sizeof *pooled);
    size_t row = 0;
    for (size_t b = 0; b < TEXTS; b++) {
        size_t n = (size_t)lengths[b];
        for (size_t i = 0; i <= n; i++, row++) {
            double weight = pi[row];
            if (pool == NVDP_POOL_FIRST) weight = i == 1;
            if (pool == NVDP_POOL_MEAN) weight = i == 0 ? 0 : 1.0 / (double)n;
            for (size_t k = 0; k < WIDTH; k++)
                pooled[b * WIDTH + k] += weight * u[row * WIDTH + k];
        }
    }
}

Test(golden, pooled) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        struct run *run = start(pool, 0);
        double want[TEXTS * WIDTH];
        implied(run, pool, want);
        cr_expect_lt(support_norm_error(TEXTS * WIDTH, run->pooled, want), FORWARD, "pool %d",
                     pool);
    }
}

Test(golden, losses) {
    for (int delta = 0; delta <= 1; delta++) {
        struct run *run = start(NVDP_POOL_MEAN, delta);
        double loss_g[TEXTS], loss_d[TEXTS];
        fixture_losses(run->f, loss_g, loss_d);
        double want[TEXTS];
        memcpy(want, read_tensor(run->golden, "out.kl_gaussian", NULL), sizeof want);
        for (size_t b = 0; b < TEXTS; b++)
            cr_expect_lt(support_relative(loss_g[b], want[b], 1e-3), FORWARD);
        const char *name = delta == 0 ? "out.kl_dirichlet_delta0" : "out.kl_dirichlet_delta1";
        memcpy(want, read_tensor(run->golden, name, NULL), sizeof want);
        for (size_t b = 0; b < TEXTS; b++)
            cr_expect_lt(support_relative(loss_d[b], want[b], 1e-3), FORWARD);
    }
}

/* Returns the error relative to the norm, but at least to 0.1: the key bias has gradient 0
 * (softmax ignores a shift of all its arguments), of which float32 leaves about 1e-6. */
static double gradient_error(size_t n, const float *got, const double *want) {
    double norm = 0;
    for (size_t i = 0; i < n; i++)
        norm += want[i] * want[i];
    return support_norm_error(n, got, want) * fmin(1, sqrt(norm) / 0.1);
}

/* loss = sum_b pooled_b . proj + 0.7 mean(L_G) + 0.3 mean(L_D) */
Test(golden, gradients) {
    struct run *run = start(NVDP_POOL_MEAN, 1);
    const double *proj = read_tensor(run->golden, "proj", NULL);
    float d_pooled[TEXTS * WIDTH];
    double loss = 0;
    for (size_t i = 0; i < TEXTS * WIDTH; i++) {
        d_pooled[i] = (float)proj[i % WIDTH];
        loss += run->pooled[i] * proj[i % WIDTH];
    }
    double loss_g[TEXTS], loss_d[TEXTS];
    fixture_losses(run->f, loss_g, loss_d);
    for (size_t b = 0; b < TEXTS; b++)
        loss += (0.7 * loss_g[b] + 0.3 * loss_d[b]) / TEXTS;
    agrees(loss, *read_tensor(run->golden, "out.loss", NULL), FORWARD);
    fixture_backward(run->f, &(struct nvdp__penalty){0.7 / TEXTS, 0.3 / TEXTS, loss_g, loss_d},
                     d_pooled);
    double worst = 0;
    for (size_t i = 0; i < run->f->params.count; i++) {
        const char *name = support_path("grad.%s", run->f->params.entry[i].name);
        const double *want = read_tensor(run->golden, name, NULL);
        double error =
            gradient_error(run->f->params.entry[i].count, nvdp__grad(&run->f->params, i), want);
        worst = fmax(worst, error);
        cr_expect_lt(error, 1e-4, "%s: %g", name, error);
    }
    double rows[TOKENS * WIDTH];
    pack(read_tensor(run->golden, "grad.x", NULL), 0, WIDTH, rows);
    double error = support_norm_error(TOKENS * WIDTH, run->f->d_hidden, rows);
    cr_expect_lt(error, 1e-4);
    cr_log_info("worst relative gradient error: %.2g; x: %.2g", worst, error);
}
