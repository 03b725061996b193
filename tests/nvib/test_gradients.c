/* Compares every gradient of the mechanism with central differences of a plain version in double
 * (reference.c), for the pools, kappa, a narrow latent space, clipping, regularizers, policies
 * and clean queries.
 *
 * Tolerances: the reference's differences with step 1e-5 are accurate to about 1e-9, so the
 * library's float32 dominates: forward 1e-5, gradients 1e-4 relative to each tensor's norm
 * (floor 0.1: the key bias has gradient 0). */
#include "gradient.h"
#include "reference.h"

enum { WIDTH = 6, HEADS = 2, INNER = 16, TEXTS = 3 };
static const int32_t lengths[TEXTS] = {3, 1, 4};

struct run {
    struct fixture *f;
    struct reference ref;
    double *theta, *x;
    float *eps, *log_gamma, *d_pooled, *pooled;
};

static struct run *start(const struct nvdp__nvib_config *config, uint64_t seed) {
    struct fixture *f = fixture_create(config, WIDTH, HEADS, INNER, TEXTS, lengths, seed);
    const size_t p = f->nvib->gauss.dim, rows = f->nvib->gauss.rows.max_rows;
    cr_assert_leq(rows, REFERENCE_ROWS);
    struct run *run = support_keep(malloc(sizeof *run));
    *run = (struct run){.f = f,
                        .theta = calloc(f->params.total, sizeof *run->theta),
                        .x = calloc(f->batch.tokens * WIDTH, sizeof *run->x),
                        .eps = calloc(rows * p, sizeof *run->eps),
                        .log_gamma = calloc(rows, sizeof *run->log_gamma),
                        .d_pooled = calloc(TEXTS * p, sizeof *run->d_pooled)};
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 1, 0);
    nvdp__stream_normals(&stream, rows * p, run->eps);
    nvdp__stream_normals(&stream, rows, run->log_gamma);
    nvdp__stream_normals(&stream, TEXTS * p, run->d_pooled);
    struct nvdp__draw draw = {.eps = run->eps, .log_gamma = run->log_gamma};
    run->pooled = fixture_pooled(f, &draw);
    for (size_t i = 0; i < f->params.total; i++)
        run->theta[i] = f->params.value[i];
    for (size_t i = 0; i < f->batch.tokens * WIDTH; i++)
        run->x[i] = f->hidden[i];
    run->ref = (struct reference){
        .f = f, .eps = run->eps, .log_gamma = run->log_gamma, .weight_g = 0.7, .weight_d = 0.3};
    for (size_t i = 0; i < TEXTS * p; i++)
        run->ref.proj[i] = run->d_pooled[i];
    reference_linearize(&run->ref, run->theta, run->x);
    return run;
}

static void check_forward(struct run *run, const double *loss_g, const double *loss_d) {
    reference_loss(&run->ref, run->theta, run->x);
    cr_expect_lt(support_norm_error(TEXTS * run->f->nvib->gauss.dim, run->pooled, run->ref.pooled),
                 1e-5);
    for (size_t b = 0; b < TEXTS; b++) {
        cr_expect_lt(support_relative(loss_g[b], run->ref.loss_g[b], 1e-2), 1e-5);
        cr_expect_lt(support_relative(loss_d[b], run->ref.loss_d[b], 1e-2), 1e-5);
    }
}

static double loss_of(void *user) {
    struct run *run = user;
    return reference_loss(&run->ref, run->theta, run->x);
}

static void check(const struct nvdp__nvib_config *config, uint64_t seed) {
    struct run *run = start(config, seed);
    struct fixture *f = run->f;
    double loss_g[2][TEXTS], loss_d[2][TEXTS];
    fixture_losses(f, loss_g[0], loss_d[0]);
    check_forward(run, loss_g[0], loss_d[0]);
    const struct nvdp__penalty penalty = {run->ref.weight_g, run->ref.weight_d, loss_g[1],
                                          loss_d[1]};
    fixture_backward(f, &penalty, run->d_pooled);
    cr_expect_arr_eq(loss_g[0], loss_g[1], sizeof loss_g[0], "the same with gradients");
    cr_expect_arr_eq(loss_d[0], loss_d[1], sizeof loss_d[0], "the same with gradients");
    for (size_t i = 0; i < f->params.count; i++) {
        const struct nvdp__param *entry = &f->params.entry[i];
        support_expect_gradient(entry->name, loss_of, run, entry->count, nvdp__grad(&f->params, i),
                                run->theta + entry->offset, 1e-4);
    }
    support_expect_gradient("hidden states", loss_of, run, f->batch.tokens * WIDTH, f->d_hidden,
                            run->x, 1e-4);
}

Test(gradients, pools_and_policies) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        for (int policy = 0; policy < 2; policy++) {
            struct nvdp__nvib_config config = fixture_config(5);
            config.pool = pool;
            config.length_policy = policy == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            check(&config, 1 + (uint64_t)pool);
        }
    }
}

Test(gradients, kappa) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        struct nvdp__nvib_config config = fixture_config(4);
        config.kappa = 2;
        config.pool = pool;
        config.delta = 1;
        config.regularizer =
            pool == NVDP_POOL_MEAN ? NVDP__REGULARIZER_KL : NVDP__REGULARIZER_PUBLISHED;
        check(&config, 10 + (uint64_t)pool);
    }
}

Test(gradients, narrow_latent) {
    for (size_t p = 3; p <= 4; p++) { /* one head, then two */
        struct nvdp__nvib_config config = fixture_config(4);
        config.latent_dim = p;
        config.delta = 0.5;
        check(&config, 20 + p);
    }
}

Test(gradients, exact_regularizer) {
    for (int policy = 0; policy < 2; policy++) {
        for (int delta = 0; delta < 2; delta++) {
            struct nvdp__nvib_config config = fixture_config(6);
            config.latent_dim = 4;
            config.delta = delta;
            config.prior_alpha = 1.5;
            config.regularizer = NVDP__REGULARIZER_KL;
            config.length_policy = policy == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            check(&config, 30 + (uint64_t)(2 * policy + delta));
        }
    }
}

/* Some of the random posteriors exceed the bounds and some do not. No value lies within a step
 * of a bound, where the difference would straddle the kink. */
Test(gradients, clipping) {
    for (uint64_t seed = 40; seed < 44; seed++) {
        struct nvdp__nvib_config config = fixture_config(4);
        config.clip = fixture_clip(1.5, -0.5, 0.4, 0.7, 1.8);
        config.regularizer = seed % 2 == 0 ? NVDP__REGULARIZER_KL : NVDP__REGULARIZER_PUBLISHED;
        check(&config, seed);
    }
}

/* Uses a radius that every text exceeds, one that some exceed and one that none does; padding
 * follows. With learned weights, within their bounds, the prior's row comes first. */
Test(gradients, sequence_clip) {
    static const double radius[] = {0.4, 3, 100};
    for (int choice = 0; choice < 12; choice++) {
        struct nvdp__nvib_config config = fixture_sequence(5, radius[choice % 3]);
        config.pool = choice / 3 % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
        config.regularizer = choice % 2 == 0 ? NVDP__REGULARIZER_KL : NVDP__REGULARIZER_PUBLISHED;
        if (choice >= 6) {
            config.weights = NVDP__WEIGHTS_LEARNED;
            config.clip.alpha_min = 0.7;
            config.clip.alpha_max = 1.8;
        }
        check(&config, 70 + (uint64_t)choice);
    }
}

/* Without weights there is no prior; variances are still learned. */
Test(gradients, constant_weights) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_MEAN; pool++) {
        for (int policy = 0; policy < 2; policy++) {
            struct nvdp__nvib_config config = fixture_config(5);
            config.weights = NVDP__WEIGHTS_CONSTANT;
            config.pool = pool;
            config.length_policy = policy == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            config.regularizer = policy == 0 ? NVDP__REGULARIZER_KL : NVDP__REGULARIZER_PUBLISHED;
            check(&config, 90 + (uint64_t)pool);
        }
    }
}

Test(gradients, row_index) {
    for (int choice = 0; choice < 4; choice++) {
        struct nvdp__nvib_config config = fixture_sequence(5, choice % 2 == 0 ? 1 : 100);
        if (choice >= 2) { /* with weights, kappa rows per token */
            config = fixture_config(4);
            config.kappa = 2;
            config.clip.mu_radius = 1.5;
        }
        config.row_index = NVDP__ROW_INDEX_TRAINED;
        config.pool = choice % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
        check(&config, 94 + (uint64_t)choice);
    }
}

Test(gradients, clean_query) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        struct nvdp__nvib_config config = fixture_config(4);
        config.query = NVDP__QUERY_CLEAN;
        config.pool = pool;
        config.kappa = pool == NVDP_POOL_MEAN ? 2 : 1;
        check(&config, 50 + (uint64_t)pool);
    }
}

/* Without gradients of z (a reader of samples), the parameters' gradients are the same, bit for
 * bit. */
Test(gradients, parameters_alone) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        struct nvdp__nvib_config config = fixture_config(4);
        config.pool = pool;
        struct run *run = start(&config, 60);
        struct fixture *f = run->f;
        struct nvdp__sample sample = fixture_sample(f);
        nvdp__block_backward(&f->nvib->block, &f->dev, &f->params, &sample, run->d_pooled,
                             f->nvib->gauss.d_z, f->nvib->d_log_pi);
        nvdp__autofree float *kept = calloc(f->params.total, sizeof *kept);
        for (size_t i = 0; i < f->params.total; i++) {
            kept[i] = f->params.grad[i];
            f->params.grad[i] = 0;
        }
        nvdp__block_backward(&f->nvib->block, &f->dev, &f->params, &sample, run->d_pooled, NULL,
                             NULL);
        for (size_t i = 0; i < f->params.total; i++)
            cr_assert_eq(kept[i], f->params.grad[i]);
    }
}
