/* Only the sample passes the bottleneck. */
#include "fixture.h"
#include "support.h"

enum { WIDTH = 24, HEADS = 3, INNER = 40, TEXTS = 3, LENGTH = 9 };
static const int32_t lengths[TEXTS] = {5, 2, 9};

static float *forward(struct fixture *f, const struct nvdp__draw *draw) {
    float *pooled = NULL;
    ok(fixture_forward(f, draw, &pooled));
    return support_keep(pooled);
}

struct kept {
    struct nvdp__sample sample;
    int32_t offset[TEXTS + 1];
    float *z, *log_pi, *pooled;
};

/* A copy of the last forward's sample, as a receiver has it. */
static struct kept keep(struct fixture *f, const float *pooled) {
    struct kept kept = {0};
    size_t p = f->nvib->gauss.dim;
    kept.sample = nvdp__mechanism_nvdp.view(f->nvib).sample;
    size_t rows = kept.sample.rows;
    kept.z = malloc(rows * p * sizeof *kept.z);
    kept.pooled = malloc(TEXTS * p * sizeof *kept.pooled);
    memcpy(kept.z, kept.sample.z, rows * p * sizeof *kept.z);
    if (kept.sample.log_pi != NULL) {
        kept.log_pi = malloc(rows * sizeof *kept.log_pi);
        memcpy(kept.log_pi, kept.sample.log_pi, rows * sizeof *kept.log_pi);
    }
    memcpy(kept.pooled, pooled, TEXTS * p * sizeof *kept.pooled);
    memcpy(kept.offset, kept.sample.offset, sizeof kept.offset);
    return kept;
}

static void point(struct kept *kept) {
    kept->sample.offset = kept->offset;
    kept->sample.z = kept->z;
    kept->sample.log_pi = kept->log_pi;
}

static void drop(struct kept *kept) {
    free(kept->z);
    free(kept->log_pi);
    free(kept->pooled);
}

/* Two different batches with the same sample give the same pooled vectors, bit for bit: the second
 * has other hidden states and, under the hidden policy, other numbers of tokens. */
static void check_sealed_config(const struct nvdp__nvib_config *config) {
    enum nvdp_pool pool = config->pool;
    enum nvdp_length_policy policy = config->length_policy;
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(config, WIDTH, HEADS, INNER, TEXTS, lengths, 5);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(1, 0);
    struct kept kept = keep(&f, forward(&f, &draw));
    point(&kept);
    for (size_t i = 0; i < f.batch.tokens * WIDTH; i++)
        f.hidden[i] = -0.5f * f.hidden[i] + 1;
    if (policy == NVDP_LENGTH_HIDDEN) {
        f.offset[1] = 7; /* 7, 0, 9 tokens */
    }
    float *other = forward(&f, &draw);
    cr_expect_neq(memcmp(other, kept.pooled, TEXTS * WIDTH * sizeof *other), 0);
    float *pooled = NULL;
    ok(nvdp__mechanism_nvdp.forward_sample(f.nvib, &f.dev, &f.params, &kept.sample, &pooled));
    cr_expect_eq(memcmp(pooled, kept.pooled, TEXTS * WIDTH * sizeof *pooled), 0, "pool %d", pool);
    drop(&kept);
}

static void check_sealed(enum nvdp_pool pool, enum nvdp_length_policy policy, int kappa) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    config.pool = pool;
    config.length_policy = policy;
    config.kappa = kappa;
    check_sealed_config(&config);
}

Test(sealed, pooled_depends_on_the_sample_alone) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        check_sealed(pool, NVDP_LENGTH_HIDDEN, 1);
        check_sealed(pool, NVDP_LENGTH_PUBLIC, 1);
        check_sealed(pool, NVDP_LENGTH_HIDDEN, 3);
    }
}

/* Only vectors, within a ball; the residual comes from the sample, not from the encoder's
 * states. */
Test(sealed, pooled_depends_on_the_sample_alone_without_weights) {
    for (int choice = 0; choice < 4; choice++) {
        struct nvdp__nvib_config config = fixture_sequence(LENGTH, 2);
        config.pool = choice % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
        if (choice >= 2) config.row_index = NVDP__ROW_INDEX_TRAINED;
        check_sealed_config(&config);
    }
}

/* Under the hidden policy every text of a batch has the same number of rows. */
Test(sealed, hidden_policy_shows_one_length) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    config.kappa = 2;
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, TEXTS, lengths, 6);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(2, 0);
    forward(&f, &draw);
    struct nvdp__sample sample = nvdp__mechanism_nvdp.view(f.nvib).sample;
    cr_expect_eq(sample.rows, TEXTS * (LENGTH + 1) * 2);
    for (size_t b = 0; b < TEXTS; b++) {
        cr_expect_eq(sample.offset[b + 1] - sample.offset[b], (LENGTH + 1) * 2);
        double total = 0;
        for (int32_t r = sample.offset[b]; r < sample.offset[b + 1]; r++) {
            cr_expect(isfinite(sample.log_pi[r]));
            total += exp(sample.log_pi[r]);
        }
        near(total, 1, 1e-5); /* float32 logarithms of 20 weights */
    }
}

Test(sealed, clean_queries_are_refused_from_samples) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    config.query = NVDP__QUERY_CLEAN;
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, TEXTS, lengths, 7);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(2, 0);
    forward(&f, &draw);
    struct nvdp__sample sample = nvdp__mechanism_nvdp.view(f.nvib).sample;
    float *pooled = NULL;
    fails(nvdp__mechanism_nvdp.forward_sample(f.nvib, &f.dev, &f.params, &sample, &pooled),
          NVDP_ERR_ARGUMENT, "query clean");
}

Test(sealed, too_long_a_text_is_refused_by_number) {
    static const int32_t long_text[1] = {11};
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, 1, long_text, 7);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(2, 0);
    float *pooled = NULL;
    fails(fixture_forward(&f, &draw, &pooled), NVDP_ERR_ARGUMENT, "length 9");
    cr_expect_not_null(strstr(nvdp_context_error(f.ctx), "found 11"));
}

Test(sealed, samples_outside_the_plan_are_refused) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, TEXTS, lengths, 8);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(2, 0);
    forward(&f, &draw);
    struct nvdp__sample good, bad;
    good = nvdp__mechanism_nvdp.view(f.nvib).sample;
    float *pooled = NULL;
    bad = good;
    bad.texts++;
    cr_expect_eq(nvdp__mechanism_nvdp.forward_sample(f.nvib, &f.dev, &f.params, &bad, &pooled),
                 NVDP_ERR_ARGUMENT);
    bad = good;
    bad.dim--;
    cr_expect_eq(nvdp__mechanism_nvdp.forward_sample(f.nvib, &f.dev, &f.params, &bad, &pooled),
                 NVDP_ERR_ARGUMENT);
    static const int32_t prior_alone[2] = {0, 1};
    bad = good;
    bad.texts = 1;
    bad.rows = 1;
    bad.offset = prior_alone;
    cr_expect_eq(nvdp__mechanism_nvdp.forward_sample(f.nvib, &f.dev, &f.params, &bad, &pooled),
                 NVDP_ERR_ARGUMENT);
    cr_expect_null(pooled);
}

/* The sample has the same bits on any number of threads (the texts are so long that threads
 * share the loops). Later steps use matrix products, which BLAS may round otherwise: 1e-5. */
Test(sealed, threads_do_not_matter) {
    enum { LONG = 500, ROWS = TEXTS * (LONG + 1), TOTAL = 8192 };
    static float z[ROWS * WIDTH], log_pi[ROWS], grad[TOTAL];
    static double kept[TOTAL];
    struct nvdp__nvib_config config = fixture_config(LONG);
    config.pool = NVDP_POOL_WEIGHTED;
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, TEXTS, lengths, 9);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(3, 1);
    float d_pooled[TEXTS * WIDTH];
    double loss_g[TEXTS], loss_d[TEXTS];
    cr_assert_leq(f.params.total, TOTAL);
    for (int threads = 1; threads <= 2; threads++) {
        struct nvdp__sample sample;
        f.dev.threads = threads;
        forward(&f, &draw);
        sample = nvdp__mechanism_nvdp.view(f.nvib).sample;
        for (size_t i = 0; i < TEXTS * WIDTH; i++)
            d_pooled[i] = 1.0f / (float)(i + 1);
        nvdp__zero(&f.dev, f.params.total, f.params.grad);
        fixture_backward(&f, &(struct nvdp__penalty){0.1, 0.1, loss_g, loss_d}, d_pooled);
        if (threads == 1) {
            memcpy(z, sample.z, sizeof z);
            memcpy(log_pi, sample.log_pi, sizeof log_pi);
            for (size_t i = 0; i < f.params.total; i++)
                kept[i] = f.params.grad[i];
            continue;
        }
        cr_expect_eq(memcmp(z, sample.z, sizeof z), 0);
        cr_expect_eq(memcmp(log_pi, sample.log_pi, sizeof log_pi), 0);
        memcpy(grad, f.params.grad, f.params.total * sizeof *grad);
        cr_expect_lt(support_norm_error(f.params.total, grad, kept), 1e-5);
    }
}

/* Forward, losses and backward allocate nothing: the next allocation would fail, and none
 * happens. */
static void step(struct nvdp__nvib_config config) {
    nvdp__auto(fixture_free) struct fixture f =
        fixture_create(&config, WIDTH, HEADS, INNER, TEXTS, lengths, 9);
    fixture_point(&f);
    struct nvdp__draw draw = fixture_draw(3, 1);
    nvdp__fail_allocation(f.ctx, 1);
    forward(&f, &draw);
    double loss_g[TEXTS], loss_d[TEXTS];
    float d_pooled[TEXTS * WIDTH] = {1};
    fixture_backward(&f, &(struct nvdp__penalty){1, 1, loss_g, loss_d}, d_pooled);
    cr_expect_null(nvdp__calloc(f.ctx, 1, 1), "the failure was still to come");
}

Test(sealed, a_step_allocates_nothing) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    config.clip.mu_radius = 3;
    config.query = NVDP__QUERY_CLEAN;
    step(config);
    config = fixture_sequence(LENGTH, 2);
    config.row_index = NVDP__ROW_INDEX_TRAINED;
    step(config);
}
