/* Attackers that learn from public texts: a mechanism whose answer is known, then a trained run: what is seen without
 * noise, with it, and not at all.  Seeds are fixed. */
#include "attack/texts.h"
#include "base/random.h"
#include "tiny_task.h"

#include <criterion/criterion.h>
#include <math.h>
#include <nvdp/attack.h>
#include <stdlib.h>
#include <string.h>

/* Two Gaussians d apart are told apart with Phi(d/2) at best; logistic regression is that test.  What 6000 examples of ten
 * dimensions leave to be learned costs less than a hundredth; the rest are 4.4 standard deviations. */
Test(linear, tells_gaussians_apart_as_well_as_can_be) {
    enum { N = 6000, WIDTH = 11 };
    static const double apart[] = {0, 1, 3};
    struct nvdp_context *ctx = support_context();
    double *x = calloc(N * WIDTH, sizeof *x), *y = calloc(N * 2, sizeof *y);
    double *p = calloc(N * 2, sizeof *p), weight[2 * WIDTH];
    cr_assert(x != NULL && y != NULL && p != NULL);
    for (size_t c = 0; c < 3; c++)
        for (int softmax = 0; softmax < 2; softmax++) {
            const double want = erfc(-apart[c] / 2 * M_SQRT1_2) / 2;
            const size_t outputs = softmax ? 2 : 1;
            double right = 0;
            for (uint64_t part = 0; part < 2; part++) {
                const struct nvdp__noise noise = {.seed = 3};
                struct nvdp__stream stream =
                    nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, (uint32_t)c, part);
                nvdp__stream_normals_f64(&stream, N * WIDTH, x);
                memset(y, 0, 2 * N * sizeof *y);
                for (size_t i = 0; i < N; i++) {
                    x[i * WIDTH + 3] += i % 2 == 0 ? apart[c] : 0;
                    x[i * WIDTH + WIDTH - 1] = 1;
                    y[softmax ? 2 * i + i % 2 : i] = softmax ? 1 : i % 2 == 1;
                }
                if (part == 0)
                    cr_assert_eq(
                        nvdp__logistic_fit(ctx, N, WIDTH, x, outputs, y, softmax, 1e-4, weight),
                        NVDP_OK);
                nvdp__logistic_apply(N, WIDTH, x, outputs, weight, softmax, p);
            }
            for (size_t i = 0; i < N; i++)
                right += (p[softmax ? 2 * i + 1 : i] > .5) == (i % 2 == 1);
            const double sd = sqrt(want * (1 - want) / N);
            cr_expect_float_eq(right / N, want, 4.4 * sd + .01, "%g: %g, expected %g", apart[c],
                               right / N, want);
            cr_expect_leq(nvdp__logistic_loss(N, outputs, p, y, softmax), log(2) * 1.01);
        }
    free(x);
    free(y);
    free(p);
    nvdp_context_free(ctx);
}

static double score(const struct nvdp_text_attack *found, const char *observed, const char *metric,
                    bool high) {
    for (size_t i = 0; i < found->scores; i++)
        if (strcmp(found->score[i].observed, observed) == 0 &&
            strcmp(found->score[i].metric, metric) == 0) {
            const struct nvdp_text_score *s = &found->score[i];
            cr_expect(!(s->interval.low > s->value || s->value > s->interval.high));
            return high ? s->interval.high : s->value;
        }
    cr_assert_fail("no %s of %s", metric, observed);
    return NAN;
}

static nvdp_status attack(struct nvdp_context *ctx, enum nvdp_text_attacker attacker,
                          const char *run, const char *known, struct nvdp_text_attack *out) {
    struct nvdp_config *config = NULL;
    *out = (struct nvdp_text_attack)NVDP_RESULT(struct nvdp_text_attack);
    cr_assert_eq(nvdp_text_attack_config_create(ctx, &config), NVDP_OK);
    support_set(ctx, config, "run", run);
    support_set(ctx, config, "seeds", "2");
    if (known != NULL) support_set(ctx, config, "public", known);
    nvdp_status status = nvdp_attack_texts(ctx, attacker, config, out);
    nvdp_config_free(config);
    return status;
}

/* Of tokens with little noise most is read; frequencies alone say least. */
Test(texts, of_tokens_that_are_shared) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VTDP, .epochs = 1};
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL);
    char *known = strdup(support_scratch_path("data/train.tsv"));
    struct nvdp_text_attack found;
    cr_assert_eq(attack(ctx, NVDP_ATTACKER_NEAREST, run, known, &found), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    cr_expect_eq(found.texts, TASK_DEV);
    cr_expect_eq(found.public_texts, TASK_TRAIN);
    cr_expect_gt(score(&found, "states", "first", false), .8);
    cr_expect_gt(score(&found, "release", "first", false), score(&found, "prior", "first", true));
    cr_expect_gt(score(&found, "release", "set, F1", false), .8);
    cr_expect_gt(score(&found, "release", "set, precision", false), .8);
    cr_expect_lt(score(&found, "prior", "set, recall", true), .5);
    nvdp_text_attack_release(&found);
    cr_assert_eq(attack(ctx, NVDP_ATTACKER_BAG, run, known, &found), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    cr_expect_gt(score(&found, "states", "F1", false), score(&found, "prior", "F1", true));
    nvdp_text_attack_release(&found);
    cr_assert_eq(attack(ctx, NVDP_ATTACKER_ATTRIBUTE, run, known, &found), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    cr_expect_gt(score(&found, "states", "accuracy", false), .95);
    cr_expect_gt(score(&found, "release", "accuracy", false),
                 score(&found, "prior", "accuracy", true));
    cr_expect_gt(score(&found, "states", "AUC", false), .95);
    cr_expect_float_eq(score(&found, "prior", "AUC", false), .5, 1e-12);
    nvdp_text_attack_release(&found);

    cr_expect_eq(attack(ctx, NVDP_ATTACKER_BAG, run, NULL, &found), NVDP_ERR_ARGUMENT);
    support_contains(nvdp_context_error(ctx), "public: expected a file with the task's columns");
    free(known);
    nvdp_context_free(ctx);
}

/* One vector a text: its label is read off it, its tokens have none. */
Test(texts, of_one_vector) {
    static const struct run_choice choice = {.method = NVDP_METHOD_VIB_FIXED, .epochs = 4};
    struct nvdp_context *ctx = support_context();
    const char *run = task_run(ctx, "run", &choice, NULL);
    char *known = strdup(support_scratch_path("data/train.tsv"));
    struct nvdp_text_attack found;
    cr_expect_eq(attack(ctx, NVDP_ATTACKER_NEAREST, run, known, &found), NVDP_ERR_UNSUPPORTED);
    support_contains(nvdp_context_error(ctx), "a vector for each token, found vib-fixed");
    cr_assert_eq(attack(ctx, NVDP_ATTACKER_ATTRIBUTE, run, known, &found), NVDP_OK, "%s",
                 nvdp_context_error(ctx));
    cr_expect_gt(score(&found, "states", "accuracy", false), .9);
    nvdp_text_attack_release(&found);
    free(known);
    nvdp_context_free(ctx);
}
