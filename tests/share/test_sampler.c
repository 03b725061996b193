/* Tests the sampler: the mechanism's streams and layout, the right distribution, the right grid. */
#include "fixture.h"
#include <float.h>

#include "test_context.h"

/* --- against the mechanism --- */

/* The posteriors of the first texts of the run's dev split, and the mechanism's own sample of them. */
struct both {
    struct nvdp_model *model;
    struct nvdp_dataset *data;
    struct nvdp__batch *batch;
    struct nvdp_posteriors *posteriors;
    struct nvdp__sample sample;
};

static struct both open_both(const struct run_choice *choice, uint64_t seed, uint32_t draw) {
    struct both both;
    enum { TEXTS = 6 };
    const char *path = support_path("%s/model", task_run(ctx, "run", choice, NULL));
    ok(nvdp_model_load(ctx, path, &both.model));
    static const char *const text[TEXTS] = {"good cat", "bad",          "sun sea red blue one",
                                            "two",      "dog good one", "cat cat cat"};
    ok(nvdp_dataset_from_texts(ctx, nvdp_model_tokenizer(both.model), TASK_LENGTH, TEXTS, text,
                               NULL, &both.data));
    ok(nvdp_model_posteriors(ctx, both.model, both.data, TEXTS, &both.posteriors));
    const struct nvdp__pass pass = {0};
    struct nvdp__draw noise = nvdp__draw_evaluation(seed, draw);
    ok(nvdp__batch_create(ctx, TEXTS, TASK_LENGTH, &both.batch));
    nvdp__batch_fill(both.batch, both.data, NULL, 0, TEXTS);
    ok(nvdp__model_forward(both.model, both.batch, &pass, &noise, 0));
    support_keep(both.model);
    support_keep(both.data);
    support_keep(both.posteriors);
    support_keep(both.batch);
    both.sample = both.model->bottleneck.mechanism->view(both.model->bottleneck.self).sample;
    return both;
}

/* With the same streams, samples are equal up to float32 rounding: of z (2^-24 relative) and of log alpha, whose
 * error a small pseudo-count multiplies in log g. */
static void same_sample(const struct run_choice *choice) {
    const struct nvdp__noise noise = {.seed = 77};
    struct both both = open_both(choice, 77, 3);
    const struct nvdp__sampler sampler = {both.posteriors, noise, 3};
    size_t dim = both.sample.dim;
    for (size_t i = 0; i < both.sample.texts; i++) {
        size_t first = (size_t)both.sample.offset[i];
        size_t rows = (size_t)both.sample.offset[i + 1] - first;
        cr_assert_eq(nvdp__release_rows(both.posteriors, i), rows);
        nvdp__autofree double *z = calloc(rows * dim, sizeof *z), *log_pi = NULL;
        if (both.sample.log_pi != NULL) log_pi = calloc(rows, sizeof *log_pi);
        nvdp__sampler_draw(&sampler, i, both.batch->key[i], SIZE_MAX, z, log_pi);
        for (size_t k = 0; k < rows * dim; k++) {
            double got = both.sample.z[first * dim + k];
            cr_assert_lt(support_relative(z[k], got, 1), 1e-5, "text %zu, value %zu: %g, %g", i, k,
                         z[k], got);
        }
        for (size_t r = 0; log_pi != NULL && r < rows; r++) {
            double got = both.sample.log_pi[first + r];
            cr_assert_lt(support_relative(log_pi[r], got, 1), 1e-4, "text %zu, row %zu: %g, %g", i,
                         r, log_pi[r], got);
        }
    }
}

Test(sampler, equals_the_mechanism_with_hidden_lengths) {
    same_sample(
        &(struct run_choice){NVDP_METHOD_NVDP, NVDP_LENGTH_HIDDEN, .kappa = 1, .epochs = 1});
}

Test(sampler, equals_the_mechanism_with_public_lengths) {
    same_sample(
        &(struct run_choice){NVDP_METHOD_NVDP, NVDP_LENGTH_PUBLIC, .kappa = 1, .epochs = 1});
}

Test(sampler, equals_the_mechanism_without_weights) {
    static const struct run_choice choices[] = {
        {.method = NVDP_METHOD_VIB_FIXED, .epochs = 1},
        {.method = NVDP_METHOD_VIB_LEARNED, .latent_dim = 4, .epochs = 1},
        {.method = NVDP_METHOD_VTDP, .epochs = 1},
        {.method = NVDP_METHOD_VTDP, .policy = NVDP_LENGTH_PUBLIC, .latent_dim = 4, .epochs = 1},
        {.method = NVDP_METHOD_VTDP, .vtdp_pool = NVDP__VTDP_POOL_FIRST, .epochs = 1},
        {.method = NVDP_METHOD_VTDP, .clip_sequence = 2, .epochs = 1},
        {.method = NVDP_METHOD_NVDP, .clip_sequence = 2, .latent_dim = 4, .epochs = 1}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        same_sample(&choices[i]);
}

Test(sampler, equals_the_mechanism_with_several_vectors_a_component) {
    same_sample(&(struct run_choice){NVDP_METHOD_NVDP, NVDP_LENGTH_HIDDEN, .kappa = 3,
                                     .latent_dim = 4, .epochs = 1});
    same_sample(&(struct run_choice){NVDP_METHOD_NVDP, NVDP_LENGTH_PUBLIC, .kappa = 2,
                                     .latent_dim = 2, .epochs = 1});
}

/* --- against the definition --- */

/* Makes one text of two tokens, width 2, hidden length 3, kappa 1. */
static struct nvdp_posteriors *two_tokens(void) {
    struct nvdp_posteriors *set = NULL;
    ok(nvdp_posteriors_create(ctx, 1, 2, 2, true, &set));
    set->offset[1] = 2;
    set->alpha[0] = 2;
    set->alpha[1] = 0.25;
    const double mu[] = {1, -2, 10, 0};
    const double logvar[] = {0, log(4), log(0.25), -10};
    memcpy(set->mu, mu, sizeof mu);
    memcpy(set->logvar, logvar, sizeof logvar);
    set->prior_alpha = 1;
    set->pad_alpha = 0.5;
    set->kappa = 1;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 3;
    return support_keep(set);
}

enum { DRAWS = 20000, ROWS = 4, DIM = 2 };
static const double means[ROWS][DIM] = {{0, 0}, {1, -2}, {10, 0}, {0, 0}};

/* Sums over the draws of that text. */
struct moments {
    double sum[ROWS][DIM], square[ROWS][DIM], weight[ROWS];
};

static void add_value(struct moments *moments, int r, int d, double value) {
    moments->sum[r][d] += value;
    moments->square[r][d] += pow(value - means[r][d], 2);
}

/* Compares means and variances over the draws with those of the Gaussians and the Dirichlet, each within 5 standard
 * errors: with 20 numbers one false alarm in 80,000 seeds.  The seed is fixed. */
static void check_moments(const struct moments *moments) {
    const double variance[ROWS][DIM] = {{1, 1}, {1, 4}, {0.25, exp(-10)}, {1, 1}};
    static const double alpha[ROWS] = {1, 2, 0.25, 0.5};
    static const double total = 3.75;
    for (int r = 0; r < ROWS; r++) {
        double share = alpha[r] / total;
        double spread = sqrt(share * (1 - share) / (total + 1) / DRAWS);
        double found = moments->weight[r] / DRAWS;
        cr_assert_lt(fabs(found - share), 5 * spread, "weight %d: %g", r, found);
        for (int d = 0; d < DIM; d++) {
            double error = sqrt(variance[r][d] / DRAWS);
            cr_assert_lt(fabs(moments->sum[r][d] / DRAWS - means[r][d]), 5 * error);
            cr_assert_lt(fabs(moments->square[r][d] / DRAWS / variance[r][d] - 1),
                         5 * sqrt(2.0 / DRAWS));
        }
    }
}

Test(sampler, has_the_posteriors_moments) {
    struct nvdp_posteriors *set = two_tokens();
    struct moments moments = {0};
    struct nvdp__sampler sampler = {set, {.seed = 5}, 0};
    for (uint64_t n = 0; n < DRAWS; n++) {
        double z[ROWS * DIM], log_pi[ROWS], whole = 0;
        nvdp__sampler_draw(&sampler, 0, n, SIZE_MAX, z, log_pi);
        for (int r = 0; r < ROWS; r++) {
            cr_assert(isfinite(log_pi[r]));
            moments.weight[r] += exp(log_pi[r]);
            whole += exp(log_pi[r]);
            for (int d = 0; d < DIM; d++)
                add_value(&moments, r, d, z[r * DIM + d]);
        }
        cr_assert_lt(fabs(whole - 1), 1e-12);
    }
    check_moments(&moments);
}

/* No two samples of a text, and no two texts, share their noise, whether it comes from a seed or a key. */
static void streams_differ(const struct nvdp__noise *noise) {
    struct nvdp_posteriors *set = two_tokens();
    double z[4][8], log_pi[4][4];
    for (int k = 0; k < 4; k++) {
        struct nvdp__sampler sampler = {set, *noise, (uint32_t)(k / 2)};
        nvdp__sampler_draw(&sampler, 0, (uint64_t)(k % 2), SIZE_MAX, z[k], log_pi[k]);
        for (int j = 0; j < k; j++) {
            for (int i = 0; i < 8; i++)
                cr_assert_neq(z[j][i], z[k][i]);
            cr_assert_neq(log_pi[j][1], log_pi[k][1]);
        }
    }
}

Test(sampler, never_uses_a_stream_twice) {
    struct nvdp__release_key key;
    ok(nvdp__release_key_create(NULL, &key));
    streams_differ(&(struct nvdp__noise){.seed = 1});
    streams_differ(&(struct nvdp__noise){.release = &key});
    nvdp__release_key_wipe(&key);
}

Test(sampler, gives_gaussian_mechanisms_their_own_rows) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    double z[3 * 2];
    ok(nvdp_posteriors_create(ctx, 2, 3, 2, false, &set));
    set->offset[1] = 1;
    set->offset[2] = 3;
    set->kappa = 1;
    set->policy = NVDP_LENGTH_PUBLIC;
    for (int k = 0; k < 6; k++) {
        set->mu[k] = 100 * k;
        set->logvar[k] = -20;
    }
    cr_assert_eq(nvdp__release_rows(set, 0), 1);
    cr_assert_eq(nvdp__release_rows(set, 1), 2);
    struct nvdp__sampler sampler = {set, {.seed = 1}, 0};
    nvdp__sampler_draw(&sampler, 1, 0, SIZE_MAX, z, NULL);
    for (int k = 0; k < 4; k++)
        cr_assert_lt(fabs(z[k] - 100 * (k + 2)), 1e-3);
    set->policy = NVDP_LENGTH_HIDDEN; /* padded with standard normals */
    set->length = 3;
    cr_assert_eq(nvdp__release_rows(set, 1), 3);
    nvdp__sampler_draw(&sampler, 1, 0, SIZE_MAX, z, NULL);
    cr_assert_lt(fabs(z[0] - 200), 1e-3);
    cr_assert_lt(fabs(z[4]), 10);
}

/* --- the grid --- */

Test(sampler, rounds_onto_float16) {
    static const double z[] = {0,    1.0 / 3, 65504, 65519, 1e5,  -1e300,
                               1e-3, -5e-8,   1e-12, 2049,  2051, 0x1p-24};
    enum { N = sizeof z / sizeof *z };
    float out[N];
    nvdp__round_f16(N, z, NVDP__LARGEST_F16, out);
    for (int i = 0; i < N; i++) {
        cr_assert_eq(out[i], nvdp__f16_to_float(nvdp__f16_from_float(out[i])), "%g is no half",
                     (double)out[i]);
        double bound = fmax(fmin(fabs(z[i]), 65504) * 0x1p-11, 0x1p-25);
        double kept = fmax(-65504, fmin(65504, z[i]));
        cr_assert_leq(fabs(out[i] - kept), bound, "%g became %g", z[i], (double)out[i]);
    }
    cr_assert_eq(out[4], 65504);
    cr_assert_eq(out[5], -65504);
    cr_assert_eq(out[9], 2048); /* ties to even */
    cr_assert_eq(out[10], 2052);
}

Test(sampler, keeps_log_weights_finite) {
    static const double log_pi[] = {-1e-9, 0, 1e-16, -3.3, -65504, -7e5, -1e300};
    float out[7];
    nvdp__round_f16(7, log_pi, 0, out);
    for (int i = 0; i < 7; i++) {
        cr_assert(out[i] <= 0 && out[i] >= -65504);
        cr_assert_eq(out[i], nvdp__f16_to_float(nvdp__f16_from_float(out[i])));
    }
    cr_assert_eq(out[2], 0);
    cr_assert_eq(out[5], -65504);
    cr_assert_eq(out[6], -65504);
}

/* --- exact draws --- */

/* The same moments.  All values are whole steps. */
Test(sampler, fixed_has_the_posteriors_moments) {
    struct nvdp_posteriors *set = two_tokens();
    const struct nvdp__release_grids grids = nvdp__release_grids(0);
    struct moments moments = {0};
    struct nvdp__sampler sampler = {set, {.seed = 6}, 0};
    nvdp__autofree void *scratch = calloc(1, nvdp__sampler_bytes(ROWS, DIM));
    ok(nvdp__release_fits(ctx, set, &grids));
    for (uint64_t n = 0; n < DRAWS; n++) {
        int32_t z[ROWS * DIM], log_pi[ROWS];
        nvdp__sampler_draw_fixed(&sampler, &grids, 0, n, scratch, z, log_pi);
        for (int r = 0; r < ROWS; r++) {
            cr_assert(log_pi[r] <= 0 && log_pi[r] >= -INT16_MAX);
            moments.weight[r] += exp(ldexp(log_pi[r], -8));
            for (int d = 0; d < DIM; d++)
                add_value(&moments, r, d, ldexp(z[r * DIM + d], -12));
        }
    }
    check_moments(&moments);
    set->logvar[3] = -60; /* e^-30, below 2^-42 */
    fails(nvdp__release_fits(ctx, set, &grids), NVDP_ERR_ARGUMENT, "use grid float16");
    set->logvar[3] = 0;
    set->alpha[0] = 2e6;
    fails(nvdp__release_fits(ctx, set, &grids), NVDP_ERR_ARGUMENT, "pseudo-counts");
}

/* Released means have norm at most C in integer arithmetic, whatever float32 made of the clip. */
Test(sampler, means_stay_within_the_clip_exactly) {
    enum { WIDTH = 768 };
    const double radius = 1.45;
    const struct nvdp__release_grids grids = nvdp__release_grids(radius);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    struct nvdp__noise noise = {.seed = 9};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    ok(nvdp_posteriors_create(ctx, 1, 1, WIDTH, false, &set));
    set->offset[1] = 1;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 2;
    set->clip_sequence = radius;
    for (int run = 0; run < 200; run++) {
        double square = 0, longer = 1 + (run % 5 - 1) * 1e-7;
        nvdp__stream_normals_f64(&stream, WIDTH, set->mu);
        for (int d = 0; d < WIDTH; d++)
            square += set->mu[d] * set->mu[d];
        unsigned __int128 whole = 0;
        for (int d = 0; d < WIDTH; d++)
            set->mu[d] *= radius * longer / sqrt(square);
        double factor = nvdp__release_factor(set, 0);
        cr_assert(factor <= 1 && factor > 1 - 1e-6);
        for (int d = 0; d < WIDTH; d++) {
            __int128 mean = nvdp__grid_mean(&grids.z, factor * set->mu[d]);
            whole += (unsigned __int128)(mean * mean);
        }
        __int128 limit = (__int128)ldexp(radius, 42); /* rounded down */
        cr_assert(whole <= (unsigned __int128)(limit * limit), "run %d", run);
        cr_assert_gt((double)whole, 0.999999 * (double)limit * (double)limit);
    }
}

/* A far mean and noise of standard deviation 1: int16 holds both, and larger values are clamped. */
Test(sampler, fixed_draws_of_a_clip_are_of_unit_noise) {
    enum { N = 2000 };
    const struct nvdp__release_grids grids = nvdp__release_grids(2);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    double sum = 0, square = 0;
    ok(nvdp_posteriors_create(ctx, 1, 1, 1, false, &set));
    set->offset[1] = 1;
    set->mu[0] = 1.25;
    set->policy = NVDP_LENGTH_HIDDEN;
    set->length = 1;
    set->clip_sequence = 2;
    nvdp__autofree void *scratch = calloc(1, nvdp__sampler_bytes(1, 1));
    for (uint64_t n = 0; n < N; n++) {
        int32_t z;
        struct nvdp__sampler sampler = {set, {.seed = 10}, (uint32_t)n};
        nvdp__sampler_draw_fixed(&sampler, &grids, 0, n, scratch, &z, NULL);
        sum += z / 1024.0;
        square += pow(z / 1024.0 - 1.25, 2);
    }
    cr_assert_lt(fabs(sum / N - 1.25), 5 / sqrt(N));
    cr_assert_lt(fabs(square / N - 1), 5 * sqrt(2.0 / N));
}
