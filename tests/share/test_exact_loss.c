/* Tests the exact privacy loss of a trained model's texts against losses of drawn samples.  NVDP_SAMPLES is their
 * number per pair; make long draws 1,000,000. */
#include "sampled_loss.h"
#include "tiny_task.h"

#include "test_context.h"

enum { PAIRS = 100, PILOT = 200 };

static struct nvdp_posteriors *trained(const struct run_choice *choice) {
    struct nvdp_posteriors *set = NULL;
    struct nvdp_config *config =
        support_config(ctx, "run", "run", task_run(ctx, "run", choice, NULL), NULL);
    ok(nvdp_run_posteriors(ctx, config, &set));
    return support_keep(set);
}

/* Lists all components of a sample of the text, prior and padding included, each vector and weight once (kappa 1). */
static void lay_out(const struct nvdp_posteriors *set, size_t text, double *mu, double *var,
                    double *alpha) {
    const size_t rows = set->offset[text + 1] - set->offset[text];
    alpha[0] = set->prior_alpha;
    for (size_t t = 0; t < set->length; t++) {
        const size_t row = set->offset[text] + t;
        alpha[t + 1] = t < rows ? set->alpha[row] : set->pad_alpha;
        for (size_t i = 0; i < set->dim; i++) {
            mu[t * set->dim + i] = t < rows ? set->mu[row * set->dim + i] : 0;
            var[t * set->dim + i] = t < rows ? exp(set->logvar[row * set->dim + i]) : 1;
        }
    }
}

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Compares at three epsilons, below which lie a tenth, a half and nine tenths of a pilot's losses.  Returns false if
 * an estimate is four standard errors off. */
static bool sample_agrees(const struct nvdp_posteriors *set, size_t p, size_t q, size_t count,
                          uint64_t number) {
    const size_t n = set->length * set->dim, m = set->length + 1;
    double *value = malloc((4 * n + 2 * m + PILOT + count) * sizeof *value);
    struct nvdp_exact *exact = NULL;
    struct drawn_pair pair = {.n = n, .m = m};
    bool same = value != NULL && nvdp_exact_texts(NULL, set, p, q, 1, &exact) == NVDP_OK;
    if (same) {
        for (int side = 0; side < 2; side++) {
            double *at = value + (size_t)side * (2 * n + m);
            lay_out(set, side == 0 ? p : q, at, at + n, at + 2 * n);
            pair.mu[side] = at;
            pair.var[side] = at + n;
            pair.alpha[side] = at + 2 * n;
        }
        const struct nvdp__noise noise = {.seed = 4};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, number);
        double *pilot = value + 4 * n + 2 * m, *loss = pilot + PILOT;
        sampled_losses(&pair, &stream, PILOT, pilot);
        qsort(pilot, PILOT, sizeof *pilot, ascending);
        sampled_losses(&pair, &stream, count, loss);
        for (size_t k = 1; k <= 9; k += 4) {
            struct nvdp_exact_point point;
            same &= nvdp_exact_delta(NULL, exact, pilot[k * PILOT / 10], &point) == NVDP_OK &&
                    sampled_losses_agree(&point, count, loss, 0);
        }
    }
    nvdp_exact_free(exact);
    free(value);
    return same;
}

/* 600 estimates per model within four standard errors: one false alarm in 26 seeds if they were independent.  The
 * seed is fixed. */
static void check(const struct run_choice *choice) {
    struct nvdp_posteriors *set = trained(choice);
    const size_t count = support_repeats("NVDP_SAMPLES", 1000);
    const struct nvdp__noise noise = {.seed = 3};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    size_t pair[PAIRS][2];
    int wrong = 0;
    cr_assert(set->length == TASK_LENGTH && set->kappa == 1 && set->alpha != NULL);
    for (size_t k = 0; k < PAIRS; k++) {
        do {
            pair[k][0] = nvdp__stream_below(&stream, set->texts);
            pair[k][1] = nvdp__stream_below(&stream, set->texts);
        } while (
            !(nvdp_renyi_texts(2, set, pair[k][0], pair[k][1]) > 1e-9)); /* skips equal texts */
    }
#pragma omp parallel for schedule(dynamic) reduction(+ : wrong) num_threads(2)
    for (size_t k = 0; k < PAIRS; k++)
        wrong += !sample_agrees(set, pair[k][0], pair[k][1], count, k);
    cr_expect_eq(wrong, 0, "%d of %d pairs", wrong, PAIRS);
}

Test(exact_loss, samples_of_a_trained_model_agree) {
    check(&(struct run_choice){.method = NVDP_METHOD_NVDP, .latent_dim = 8, .epochs = 3});
}
