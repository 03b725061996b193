/* Only the sample passes the bottleneck. */
#include "fixture.h"

enum { WIDTH = 24, HEADS = 3, INNER = 40, TEXTS = 3, LENGTH = 9 };
static const int32_t lengths[TEXTS] = {5, 2, 9};

static struct fixture *opened(const struct nvdp__nvib_config *config, uint64_t seed) {
    return fixture_create(config, WIDTH, HEADS, INNER, TEXTS, lengths, seed);
}

static void *copy_of(const void *bytes, size_t count) {
    return bytes != NULL ? support_keep(memcpy(malloc(count), bytes, count)) : NULL;
}

/* A copy of the last forward's sample, as a receiver has it. */
static struct nvdp__sample kept_sample(const struct fixture *f) {
    struct nvdp__sample sample = fixture_sample(f);
    const size_t rows = sample.rows;
    sample.offset = copy_of(sample.offset, (TEXTS + 1) * sizeof *sample.offset);
    sample.z = copy_of(sample.z, rows * f->nvib->gauss.dim * sizeof *sample.z);
    sample.log_pi = copy_of(sample.log_pi, rows * sizeof *sample.log_pi);
    return sample;
}

/* Two different batches with the same sample give the same pooled vectors, bit for bit: the second
 * has other hidden states and, under the hidden policy, other numbers of tokens. */
static void check_sealed_config(const struct nvdp__nvib_config *config) {
    struct fixture *f = opened(config, 5);
    struct nvdp__draw draw = fixture_draw(1, 0);
    const size_t bytes = TEXTS * WIDTH * sizeof(float);
    const float *sent = copy_of(fixture_pooled(f, &draw), bytes);
    const struct nvdp__sample sample = kept_sample(f);
    for (size_t i = 0; i < f->batch.tokens * WIDTH; i++)
        f->hidden[i] = -0.5f * f->hidden[i] + 1;
    if (config->length_policy == NVDP_LENGTH_HIDDEN) f->offset[1] = 7; /* 7, 0, 9 tokens */
    cr_expect_arr_neq(fixture_pooled(f, &draw), sent, bytes);
    float *pooled = NULL;
    ok(nvdp__mechanism_nvdp.forward_sample(f->nvib, &f->dev, &f->params, &sample, &pooled));
    cr_expect_arr_eq(pooled, sent, bytes, "pool %d", config->pool);
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
    struct fixture *f = opened(&config, 6);
    struct nvdp__draw draw = fixture_draw(2, 0);
    fixture_pooled(f, &draw);
    struct nvdp__sample sample = fixture_sample(f);
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
    struct fixture *f = opened(&config, 7);
    struct nvdp__draw draw = fixture_draw(2, 0);
    fixture_pooled(f, &draw);
    struct nvdp__sample sample = fixture_sample(f);
    float *pooled = NULL;
    fails(nvdp__mechanism_nvdp.forward_sample(f->nvib, &f->dev, &f->params, &sample, &pooled),
          NVDP_ERR_ARGUMENT, "query clean");
}

Test(sealed, too_long_a_text_is_refused_by_number) {
    static const int32_t long_text[1] = {11};
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    struct fixture *f = fixture_create(&config, WIDTH, HEADS, INNER, 1, long_text, 7);
    struct nvdp__draw draw = fixture_draw(2, 0);
    float *pooled = NULL;
    fails(fixture_forward(f, &draw, &pooled), NVDP_ERR_ARGUMENT, "length 9");
    support_contains(nvdp_context_error(f->ctx), "found 11");
}

Test(sealed, samples_outside_the_plan_are_refused) {
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    struct fixture *f = opened(&config, 8);
    struct nvdp__draw draw = fixture_draw(2, 0);
    fixture_pooled(f, &draw);
    const struct nvdp__sample good = fixture_sample(f);
    static const int32_t prior_alone[2] = {0, 1};
    struct nvdp__sample bad[] = {good, good, good};
    bad[0].texts++;
    bad[1].dim--;
    bad[2].texts = bad[2].rows = 1;
    bad[2].offset = prior_alone;
    float *pooled = NULL;
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(
            nvdp__mechanism_nvdp.forward_sample(f->nvib, &f->dev, &f->params, &bad[i], &pooled),
            NVDP_ERR_ARGUMENT, "%zu", i);
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
    struct fixture *f = opened(&config, 9);
    struct nvdp__draw draw = fixture_draw(3, 1);
    float d_pooled[TEXTS * WIDTH];
    double loss_g[TEXTS], loss_d[TEXTS];
    cr_assert_leq(f->params.total, TOTAL);
    for (int threads = 1; threads <= 2; threads++) {
        f->dev.threads = threads;
        fixture_pooled(f, &draw);
        const struct nvdp__sample sample = fixture_sample(f);
        for (size_t i = 0; i < TEXTS * WIDTH; i++)
            d_pooled[i] = 1.0f / (float)(i + 1);
        nvdp__zero(&f->dev, f->params.total, f->params.grad);
        fixture_backward(f, &(struct nvdp__penalty){0.1, 0.1, loss_g, loss_d}, d_pooled);
        if (threads == 1) {
            memcpy(z, sample.z, sizeof z);
            memcpy(log_pi, sample.log_pi, sizeof log_pi);
            for (size_t i = 0; i < f->params.total; i++)
                kept[i] = f->params.grad[i];
            continue;
        }
        cr_expect_arr_eq(z, sample.z, sizeof z);
        cr_expect_arr_eq(log_pi, sample.log_pi, sizeof log_pi);
        memcpy(grad, f->params.grad, f->params.total * sizeof *grad);
        cr_expect_lt(support_norm_error(f->params.total, grad, kept), 1e-5);
    }
}

/* Forward, losses and backward allocate nothing: the next allocation would fail, and none
 * happens. */
static void step(struct nvdp__nvib_config config) {
    struct fixture *f = opened(&config, 9);
    struct nvdp__draw draw = fixture_draw(3, 1);
    nvdp__fail_allocation(f->ctx, 1);
    fixture_pooled(f, &draw);
    double loss_g[TEXTS], loss_d[TEXTS];
    float d_pooled[TEXTS * WIDTH] = {1};
    fixture_backward(f, &(struct nvdp__penalty){1, 1, loss_g, loss_d}, d_pooled);
    cr_expect_null(nvdp__calloc(f->ctx, 1, 1), "the failure was still to come");
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
