/* Tests exports of models without weights: one vector per text, or one per token. */
#include "fixture.h"

#include "test_context.h"

static const struct run_choice choices[] = {
    {.method = NVDP_METHOD_VIB_FIXED, .epochs = 10},
    {.method = NVDP_METHOD_VIB_LEARNED, .epochs = 10},
    {.method = NVDP_METHOD_VTDP, .epochs = 10},
    {.method = NVDP_METHOD_VTDP, .policy = NVDP_LENGTH_PUBLIC, .epochs = 10},
    {.method = NVDP_METHOD_VTDP, .vtdp_pool = NVDP__VTDP_POOL_FIRST, .epochs = 10},
    {.method = NVDP_METHOD_VIB_FIXED, .clip_sequence = 4, .epochs = 10},
    {.method = NVDP_METHOD_VTDP, .clip_sequence = 4, .epochs = 10},
    {.method = NVDP_METHOD_NVDP, .clip_sequence = 4, .epochs = 10}};
enum { CHOICES = sizeof choices / sizeof *choices };

static bool single(size_t i) { /* one vector per text */
    return i != 2 && i != 3 && i < 6;
}

struct shared {
    struct nvdp_context *ctx;
    const char *file;
    double accuracy;
    struct nvdp_export_result result;
};

static struct shared make(size_t i) {
    struct shared shared = {.ctx = support_context(), .file = support_scratch_path("shared.h5")};
    const char *run = task_run(shared.ctx, "run", &choices[i], &shared.accuracy);
    shared.result =
        share_exported(shared.ctx, "run", run, "out", shared.file, "split", "train,dev", "samples",
                       "2", "batch", "7", "with-labels", "true", "measure-texts", "30", "overwrite",
                       "true", "insecure-seed", "1", "no-ledger", "true", NULL);
    return shared;
}

static void check_file(const struct shared *shared, size_t i) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *file = NULL;
    ok(nvdp_shared_read(shared->ctx, shared->file, &file));
    const struct nvdp__embeddings_shape *shape = &file->shape;
    bool hidden = choices[i].policy == NVDP_LENGTH_HIDDEN;
    cr_expect_null(file->log_pi);
    cr_expect_not(shape->weights);
    cr_expect_str_eq(file->method, nvdp_method_name(choices[i].method));
    cr_expect_eq(shape->kappa, 1);
    cr_expect_eq(shape->dim, 16);
    cr_expect_eq(shape->samples, 2);
    cr_expect_eq(shape->policy, choices[i].policy);
    if (hidden) cr_expect_eq(shape->length, single(i) ? 1 : TASK_LENGTH);
    for (size_t k = 0; k < 2 * shape->texts && hidden; k++)
        cr_expect_eq(file->offset[k + 1] - file->offset[k], single(i) ? 1 : TASK_LENGTH);
    bool clipped = choices[i].clip_sequence > 0, block = choices[i].method == NVDP_METHOD_NVDP;
    cr_expect_eq(file->pool, single(i) ? NVDP_POOL_AUTO
                             : clipped ? NVDP_POOL_FIRST
                                       : NVDP_POOL_MEAN);
    cr_expect_eq(file->row_index, clipped && !single(i));
    cr_expect_eq(file->heads > 0, block);
    for (size_t k = 0; k < shape->rows * shape->dim; k++) {
        float value;
        nvdp__embeddings_values(file, k, 1, &value);
        cr_assert(isfinite(value));
    }
    cr_expect_eq(shape->grid, clipped ? NVDP__H5_I16 : NVDP__H5_I32);
    cr_expect_eq(file->z_step, clipped ? 0x1p-10 : 0x1p-12);
}

static void check_statement(const struct shared *shared, size_t i) {
    const char *text = shared->result.statement;
    support_contains(text, nvdp_method_name(choices[i].method));
    support_lacks(text, "weight");
    const char *length = single(i) ? "one vector, whatever the length of the text"
                         : choices[i].policy == NVDP_LENGTH_HIDDEN ? "hidden up to 10 tokens"
                                                                   : "Lengths are public";
    support_contains(text, length);
    cr_assert_not_null(shared->result.privacy);
    cr_expect_eq(shared->result.privacy->pairs->texts, 30);
    cr_expect_eq(shared->result.dim, 16);
    if (single(i)) cr_expect_eq(shared->result.privacy->pairs->infinite, 0);
    const struct nvdp_privacy_report *report = shared->result.privacy;
    double bound = nvdp_renyi_sequence_bound(1.1, choices[i].clip_sequence); /* 35.2 */
    bool clipped = choices[i].clip_sequence > 0;
    cr_expect_eq(report->bound.clip_sequence, choices[i].clip_sequence);
    cr_expect_eq(report->bound.sum, clipped ? bound : INFINITY);
    if (clipped) cr_expect_leq(report->pairs->sum.max, bound);
    support_contains(
        text,
        clipped
            ? "generator, no two texts are more than 35.2 nats apart in one sample, at order 1.1: "
            : "No guarantee");
}

/* One word decides the class and survives the noise: a reader of the file alone recognizes the classes, as the
 * sender's own classifier does. */
static void check_reader(const struct shared *shared, size_t i) {
    FREED(nvdp_result_free)
    struct nvdp_reuse_result result = NVDP_RESULT(struct nvdp_reuse_result);
    struct nvdp_config *config = support_config(shared->ctx, "reuse", "file", shared->file, NULL);
    ok(nvdp_reuse(shared->ctx, config, &result));
    cr_expect_gt(shared->accuracy, 0.9, "choice %zu", i);
    cr_expect_gt(result.scores->mean[0], 0.8, "choice %zu: accuracy %g", i, result.scores->mean[0]);
}

Test(gaussian, methods_without_weights_are_given_away_and_read) {
    for (size_t i = 0; i < CHOICES; i++) {
        const struct shared shared = make(i);
        check_file(&shared, i);
        check_statement(&shared, i);
        check_reader(&shared, i);
    }
}

/* Returns the posteriors of a run that is trained for one epoch. */
static struct nvdp_posteriors *posteriors_of(struct run_choice choice) {
    struct nvdp_posteriors *set = NULL;
    choice.epochs = 1;
    const char *run = task_run(ctx, "run", &choice, NULL);
    ok(nvdp_run_posteriors(ctx, support_config(ctx, "run", "run", run, NULL), &set));
    return support_keep(set);
}

/* The divergence of two texts under vib-fixed is l |mu - mu'|^2 / (2 sigma^2) (NVDP paper, Eq. 9); under vib-learned
 * it has one sigma per dimension.  The runs' sigmas are float32. */
Test(gaussian, divergences_are_the_closed_forms) {
    for (size_t c = 0; c < 2; c++) {
        struct nvdp_posteriors *set = posteriors_of(choices[c]);
        cr_assert_eq(set->texts, TASK_DEV);
        cr_assert_eq(set->offset[TASK_DEV], TASK_DEV);
        cr_assert_eq(set->length, 1);
        cr_assert_null(set->alpha);
        cr_assert_eq(nvdp__sample_components(set, 0), 1);
        for (size_t j = 1; j < TASK_DEV; j++) {
            double want = 0;
            for (size_t i = 0; i < 16; i++) {
                double difference = set->mu[i] - set->mu[j * 16 + i];
                cr_expect_eq(set->logvar[i], set->logvar[j * 16 + i]);
                if (c == 0) near(set->logvar[i], 2 * log(0.55), 1e-7);
                want += 1.1 * difference * difference / (2 * exp(set->logvar[i]));
            }
            cr_expect_lt(support_relative(nvdp_renyi_texts(1.1, set, 0, j), want, 1e-9), 1e-10);
        }
    }
}

/* vtdp: the sum over tokens; missing tokens are padding with mu 0, variance 1. */
Test(gaussian, divergences_of_tokens_add_up) {
    struct nvdp_posteriors *set = posteriors_of(choices[2]);
    cr_assert_eq(set->length, TASK_LENGTH);
    for (size_t r = 0; r < set->offset[TASK_DEV] * 16; r++) {
        set->logvar[r] = fmax(set->logvar[r], -2); /* close to the variance of the padding */
    }
    for (size_t j = 1; j < TASK_DEV; j++) {
        double zero[16] = {0}, one[16], want = 0;
        for (size_t t = 0; t < TASK_LENGTH; t++) {
            const double *mu[2] = {zero, zero};
            double var[2][16];
            for (size_t side = 0; side < 2; side++) {
                size_t text = side == 0 ? 0 : j;
                size_t row = set->offset[text] + t;
                bool token = row < set->offset[text + 1];
                if (token) mu[side] = set->mu + row * 16;
                for (size_t i = 0; i < 16; i++)
                    one[i] = token ? exp(set->logvar[row * 16 + i]) : 1;
                memcpy(var[side], one, sizeof one);
            }
            want += nvdp_renyi_gaussian(1.1, 16, mu[0], var[0], mu[1], var[1]);
        }
        cr_expect_lt(support_relative(nvdp_renyi_texts(1.1, set, 0, j), want, 1e-9), 1e-10);
    }
}

/* The sealed block is the public part of a model; these methods have none. */
Test(gaussian, has_no_public_part) {
    struct run_choice choice = choices[0];
    choice.epochs = 1;
    const char *model = support_scratch_path("public");
    struct nvdp_config *config =
        support_config(ctx, "export", "run", task_run(ctx, "run", &choice, NULL), "out",
                       support_scratch_path("none.h5"), "split", "dev", "model-out", model, NULL);
    fails(nvdp_export(ctx, config, NULL), NVDP_ERR_ARGUMENT,
          "method vib-fixed has no sealed block");
}
