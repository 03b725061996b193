/* Samples: what passes the bottleneck, what a sample depends on, what it shows of a text. */
#include "fixture.h"

enum { ROWS = TEXTS * LENGTH };

struct kept {
    struct nvdp__sample sample;
    int32_t offset[TEXTS + 1];
    float z[ROWS * WIDTH], pooled[TEXTS * WIDTH];
};

/* A copy of the last forward's sample, as a receiver has it. */
static void keep(struct fixture *fixture, const float *pooled, struct kept *kept) {
    kept->sample = fixture->mechanism->view(fixture->vib).sample;
    memcpy(kept->z, kept->sample.z, kept->sample.rows * WIDTH * sizeof *kept->z);
    memcpy(kept->offset, kept->sample.offset, sizeof kept->offset);
    memcpy(kept->pooled, pooled, sizeof kept->pooled);
    kept->sample.z = kept->z;
    kept->sample.offset = kept->offset;
}

/* Two different batches with the same sample give the same pooled vectors, bit for bit: the second
 * has other hidden states and, under the hidden policy, other numbers of tokens. */
static void check_sealed(const struct kind *kind, enum nvdp_pool pool,
                         enum nvdp_length_policy policy) {
    struct nvdp__nvib_config config = fixture_config(kind);
    config.pool = pool;
    config.length_policy = policy;
    struct kept kept;
    struct fixture *fixture = fixture_build(kind, &config, 5);
    struct nvdp__draw draw = fixture_draw(1, 0);
    keep(fixture, fixture_forward(fixture, &draw), &kept);
    cr_expect_null(kept.sample.log_pi);
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        fixture->hidden[i] = -0.5f * fixture->hidden[i] + 1;
    if (policy == NVDP_LENGTH_HIDDEN) fixture->offset[1] = 2; /* 2, 2, 4 tokens */
    float *other = fixture_forward(fixture, &draw);
    cr_expect_neq(memcmp(other, kept.pooled, sizeof kept.pooled), 0);
    float *pooled = NULL;
    ok(fixture->mechanism->forward_sample(fixture->vib, &fixture->dev, &fixture->params,
                                          &kept.sample, &pooled));
    cr_expect_eq(memcmp(pooled, kept.pooled, sizeof kept.pooled), 0, "%s, pool %d",
                 fixture->mechanism->name, (int)pool);
}

Test(sample, pooled_depends_on_the_sample_alone) {
    for (size_t k = 0; k < KINDS; k++) {
        for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_MEAN; pool++) {
            check_sealed(&kinds[k], pool, NVDP_LENGTH_HIDDEN);
            check_sealed(&kinds[k], pool, NVDP_LENGTH_PUBLIC);
        }
    }
}

/* A text shows one vector, or as many as the hidden length; under public lengths, its number of
 * tokens. */
Test(sample, what_shows_of_a_length) {
    for (size_t k = 0; k < KINDS; k++) {
        for (int policy = 0; policy < 2; policy++) {
            struct nvdp__nvib_config config = fixture_config(&kinds[k]);
            config.length_policy = policy == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            struct fixture *fixture = fixture_build(&kinds[k], &config, 6);
            struct nvdp__draw draw = fixture_draw(2, 0);
            struct nvdp__sample sample;
            fixture_forward(fixture, &draw);
            sample = fixture->mechanism->view(fixture->vib).sample;
            cr_expect_not(fixture->mechanism->view(fixture->vib).form.weights);
            cr_expect_eq(fixture->mechanism->view(fixture->vib).form.single, k != 2);
            for (size_t b = 0; b < TEXTS; b++) {
                int32_t n = fixture->offset[b + 1] - fixture->offset[b];
                int32_t want = k != 2 ? 1 : policy == 0 ? LENGTH : n;
                cr_expect_eq(sample.offset[b + 1] - sample.offset[b], want);
            }
        }
    }
}

/* Padding is drawn from the prior: mean and variance of 3000 draws lie within 5 standard errors
 * (6e-7 each). */
Test(sample, padding_is_the_prior) {
    enum { N = 3000 / (LENGTH - 1) / WIDTH + 1 };
    struct nvdp__nvib_config config = fixture_config(&kinds[2]);
    struct fixture *fixture = fixture_build(&kinds[2], &config, 6);
    double sum = 0, squares = 0, count = 0;
    for (uint32_t epoch = 0; epoch < N; epoch++) {
        struct nvdp__draw draw = fixture_draw(2, epoch);
        fixture_forward(fixture, &draw);
        /* the second text has one token */
        const float *z = fixture->vib->gauss.z + (LENGTH + 1) * WIDTH;
        for (size_t i = 0; i < (LENGTH - 1) * WIDTH; i++) {
            sum += z[i];
            squares += (double)z[i] * z[i];
            count++;
        }
    }
    cr_expect_lt(fabs(sum / count), 5 / sqrt(count));
    cr_expect_lt(fabs(squares / count - 1), 5 * sqrt(2 / count));
}

/* A text draws the same numbers alone and in a batch, and on any number of threads. Zero states
 * make posteriors the same in both, because products of other shapes may round otherwise. */
Test(sample, batch_layout_and_threads_do_not_matter) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        struct kept kept;
        struct fixture *fixture = fixture_build(&kinds[k], &config, 4);
        memset(fixture->hidden, 0, sizeof fixture->hidden);
        struct nvdp__draw draw = fixture_draw(8, 2);
        fixture->dev.threads = 1;
        keep(fixture, fixture_forward(fixture, &draw), &kept);
        fixture->dev.threads = 2;
        struct nvdp__sample sample;
        fixture_forward(fixture, &draw);
        sample = fixture->mechanism->view(fixture->vib).sample;
        cr_expect_eq(memcmp(kept.z, sample.z, sample.rows * WIDTH * sizeof *kept.z), 0);
        /* The last text, alone. */
        static const int32_t alone[2] = {0, 4};
        fixture->batch.texts = 1;
        fixture->batch.tokens = 4;
        fixture->batch.offset = (int32_t *)alone;
        fixture->batch.key = fixture->key + 2;
        fixture_forward(fixture, &draw);
        sample = fixture->mechanism->view(fixture->vib).sample;
        cr_expect_eq(memcmp(kept.z + (size_t)kept.offset[2] * WIDTH, sample.z,
                            sample.rows * WIDTH * sizeof *kept.z),
                     0, "%s", fixture->mechanism->name);
    }
}

/* Another seed, purpose, epoch or text gives other numbers. */
Test(sample, streams_are_apart) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        struct fixture *fixture = fixture_build(&kinds[k], &config, 4);
        struct nvdp__draw draw = fixture_draw(8, 2);
        float base = fixture_forward(fixture, &draw)[0];
        cr_expect_eq(base, fixture_forward(fixture, &draw)[0]);
        struct nvdp__draw other = draw;
        other.epoch++;
        cr_expect_neq(base, fixture_forward(fixture, &other)[0]);
        other = draw;
        other.noise.seed++;
        cr_expect_neq(base, fixture_forward(fixture, &other)[0]);
        other = draw;
        other.gauss = NVDP__PURPOSE_EVAL_GAUSS;
        cr_expect_neq(base, fixture_forward(fixture, &other)[0]);
        fixture->key[0]++;
        cr_expect_neq(base, fixture_forward(fixture, &draw)[0]);
    }
}

Test(sample, too_long_a_text_is_refused_by_number) {
    struct nvdp__nvib_config config = fixture_config(&kinds[2]);
    config.length = 3;
    struct fixture *fixture = fixture_build(&kinds[2], &config, 7);
    struct nvdp__draw draw = fixture_draw(2, 0);
    float *pooled = NULL;
    fails(fixture_try_forward(fixture, &draw, &pooled), NVDP_ERR_ARGUMENT, "length 3");
    support_contains(nvdp_context_error(fixture->ctx), "text 114");
}

static void refused(struct fixture *fixture, const struct nvdp__sample *sample, const char *words) {
    float *pooled = NULL;
    fails(fixture->mechanism->forward_sample(fixture->vib, &fixture->dev, &fixture->params, sample,
                                             &pooled),
          NVDP_ERR_ARGUMENT, words);
    cr_expect_null(pooled);
}

Test(sample, samples_outside_the_plan_are_refused) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        struct fixture *fixture = fixture_build(&kinds[k], &config, 8);
        struct nvdp__draw draw = fixture_draw(2, 0);
        struct nvdp__sample good, bad;
        fixture_forward(fixture, &draw);
        good = fixture->mechanism->view(fixture->vib).sample;
        bad = good;
        bad.texts++;
        refused(fixture, &bad, "at most 3 texts");
        bad = good;
        bad.dim--;
        refused(fixture, &bad, "width 8");
        const int32_t empty[2] = {0, 0}, two[2] = {0, 2};
        bad = good;
        bad.texts = 1;
        bad.offset = empty;
        refused(fixture, &bad, "found 0 rows");
        bad.offset = two;
        if (k != 2) refused(fixture, &bad, "expected one row, found 2");
    }
}

/* The posterior written is the clipped one, from which the sample was drawn. */
Test(sample, posterior) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.clip.mu_radius = 1;
        config.clip.logvar_min = -1.3;
        config.clip.logvar_max = -0.2;
        struct fixture *fixture = fixture_build(&kinds[k], &config, 4);
        struct nvdp__draw draw = fixture_draw(8, 2);
        fixture_forward(fixture, &draw);
        size_t rows = fixture->vib->gauss.rows.sources;
        nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *out = NULL;
        ok(nvdp_posteriors_create(fixture->ctx, 2, 1 + rows, WIDTH, false, &out));
        out->offset[1] = 1;
        out->offset[2] = 1 + rows;
        ok(nvdp__posterior_store(fixture->ctx, fixture->mechanism->view(fixture->vib).posterior, 1,
                                 out));
        int clipped = 0;
        for (size_t r = 1; r <= rows; r++) {
            double norm = 0;
            for (size_t i = 0; i < WIDTH; i++) {
                norm += out->mu[r * WIDTH + i] * out->mu[r * WIDTH + i];
                cr_expect_eq(out->mu[r * WIDTH + i],
                             fixture->vib->gauss.posterior.mu[(r - 1) * WIDTH + i]);
                cr_expect(out->logvar[r * WIDTH + i] >= -1.3 && out->logvar[r * WIDTH + i] <= -0.2);
            }
            cr_expect(norm <= 1, "%.17g", norm);
            if (norm > 0.999) clipped++;
        }
        cr_expect_gt(clipped, 0);
        cr_expect_eq(out->mu[0], 0, "row 0 belongs to another batch");
        cr_expect_eq(nvdp__posterior_store(
                         fixture->ctx, fixture->mechanism->view(fixture->vib).posterior, 2, out),
                     NVDP_ERR_ARGUMENT);
        nvdp_posteriors_free(out);
        ok(nvdp_posteriors_create(fixture->ctx, 2, 1 + rows, WIDTH, true, &out));
        out->offset[2] = 1 + rows;
        cr_expect_eq(nvdp__posterior_store(
                         fixture->ctx, fixture->mechanism->view(fixture->vib).posterior, 1, out),
                     NVDP_ERR_ARGUMENT);
    }
}

/* All means of a text together lie in the ball, never outside by rounding, and on its surface
 * where they were outside. Every variance is 1 without a parameter. Means inside do not change. */
Test(sample, posterior_of_a_sequence_clip) {
    for (size_t k = 0; k < KINDS; k++) {
        for (int choice = 0; choice < 3; choice++) {
            struct nvdp__nvib_config config = fixture_sequence(&kinds[k], choice);
            struct fixture *fixture = fixture_build(&kinds[k], &config, 4);
            struct nvdp__draw draw = fixture_draw(8, 2);
            fixture_forward(fixture, &draw);
            const struct nvdp__posterior *posterior = &fixture->vib->gauss.posterior;
            const int32_t *offset = fixture->vib->gauss.rows.source_offset;
            int surface = 0;
            for (size_t b = 0; b < TEXTS; b++) {
                double square = 0;
                for (size_t i = (size_t)offset[b] * WIDTH; i < (size_t)offset[b + 1] * WIDTH; i++) {
                    square += (double)posterior->mu[i] * posterior->mu[i];
                    cr_expect_eq(posterior->logvar[i], 0);
                }
                cr_expect_leq(sqrt(square), config.clip.sequence);
                surface += sqrt(square) > config.clip.sequence * (1 - 1e-6);
            }
            cr_expect(choice == 0   ? surface == TEXTS
                      : choice == 1 ? surface > 0 && surface < TEXTS
                                    : surface == 0,
                      "%s, C %g: %d", fixture->mechanism->name, config.clip.sequence, surface);
            cr_expect_eq(nvdp__params_find(&fixture->params, "vib.rho"), SIZE_MAX);
            cr_expect_eq(nvdp__params_find(&fixture->params, "vib.rho.weight"), SIZE_MAX);
        }
    }
}

/* Forward, losses and backward allocate nothing: the next allocation would fail, and none
 * happens. */
Test(sample, a_step_allocates_nothing) {
    for (size_t choice = 0; choice < 2 * KINDS; choice++) {
        size_t k = choice / 2;
        bool sequence = choice % 2 != 0;
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.clip.mu_radius = 3;
        if (sequence) config = fixture_sequence(&kinds[k], 1);
        struct fixture *fixture = fixture_build(&kinds[k], &config, 9);
        struct nvdp__draw draw = fixture_draw(3, 1);
        nvdp__fail_allocation(fixture->ctx, 1);
        fixture_forward(fixture, &draw);
        double loss_g[TEXTS], loss_d[TEXTS];
        float d_pooled[TEXTS * WIDTH] = {1};
        fixture_backward(fixture, &(struct nvdp__penalty){1, 1, loss_g, loss_d}, d_pooled);
        cr_expect_null(nvdp__calloc(fixture->ctx, 1, 1), "the failure was still to come");
    }
}

/* Every allocation of creating, planning and initializing fails in turn: each is reported,
 * nothing leaks. */
Test(sample, failed_allocations_are_reported) {
    for (size_t k = 0; k < KINDS; k++) {
        int failures = 0;
        for (uint64_t nth = 1;; nth++) {
            struct nvdp__nvib_config config = fixture_config(&kinds[k]);
            config.latent_dim = 4;
            struct fixture *fixture = fixture_build(&kinds[k], &config, 9);
            struct nvdp__params params;
            struct nvdp__arena arena = {0};
            void *self = NULL;
            nvdp__params_init(&params, fixture->ctx);
            nvdp__fail_allocation(fixture->ctx, nth);
            nvdp_status status = fixture->mechanism->create(
                fixture->mechanism, fixture->ctx, &fixture->bert, &config, &params, &self);
            if (status == NVDP_OK)
                status = fixture->mechanism->plan(self, &fixture->dev, TOKENS, TEXTS, LENGTH, true,
                                                  &arena);
            if (status == NVDP_OK)
                status = fixture->mechanism->initialize(
                    fixture->vib, &fixture->dev, &fixture->params, 1, TOKENS, fixture->hidden);
            nvdp__fail_allocation(fixture->ctx, 0);
            fixture->mechanism->release(self);
            nvdp__params_release(&params);
            if (status == NVDP_OK) break;
            cr_assert_eq(status, NVDP_ERR_MEMORY);
            failures++;
        }
        cr_expect_geq(failures, 5);
    }
}
