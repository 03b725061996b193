/* Tests that pretraining with several processes equals pretraining with one, up to the rounding
 * of sums in another order. */
#include "threads.h"
#include "toy_corpus.h"

static const char MODEL[] = "model.safetensors";
/* As in tests/train/test_ranks.c; at learning rate 1e-3. */
static const double ROUNDING = 1e-5;

struct job {
    struct nvdp__pretrain_options config;
    struct nvdp_pretrain_result result[8];
    int calls; /* the last rank is cancelled after this many checks; 0: never */
};

static bool stop(void *user) {
    return --*(int *)user < 0;
}

static nvdp_status pretrain(struct nvdp_context *ctx, int rank, void *user) {
    struct job *job = user;
    const struct nvdp_ranks *ranks = nvdp__ranks(ctx);
    int calls = job->calls;
    if (calls > 0 && rank == (ranks == NULL ? 0 : ranks->size - 1))
        nvdp_context_set_cancel(ctx, stop, &calls);
    nvdp_status status = toy_try(ctx, &job->config, &job->result[rank]);
    if (job->calls == 0) return status;
    return status == NVDP_ERR_CANCELLED ? NVDP_OK : NVDP_ERR_STATE;
}

static void pretrain_alone(const struct nvdp__pretrain_options *config) {
    struct nvdp_context *ctx = support_context();
    nvdp_context_set_threads(ctx, 1);
    toy_train(ctx, config);
}

static struct nvdp__pretrain_options config_of(enum nvdp__objective objective) {
    static const char *text[1];
    static char one[512];
    text[0] = toy_text("text.txt", 30, 1);
    snprintf(one, sizeof one, "%s", support_scratch_path("one"));
    struct nvdp__pretrain_options config = toy_config(text, one); /* uneven parts */

    toy_set(&config, "eval-every 10 steps 20 lr 1e-3 log-every 1 overwrite true");
    config.eval_text = text;
    config.eval_texts = 1;
    config.objective = objective;
    config.batch = 7;
    return config;
}

static void equals_one(struct nvdp__pretrain_options config) {
    const char *one = config.out;
    pretrain_alone(&config);
    const char *many = support_scratch_path("many");
    config.out = many;
    for (int size = 2; size <= 3; size++) {
        struct job job = {.config = config};
        support_ranks(size, pretrain, &job);
        support_same_runs(one, many, MODEL, ROUNDING);
        cr_expect(support_same_file(one, many, "vocab.txt"));
        for (int r = 1; r < size && config.eval_texts > 0; r++)
            cr_expect_eq(job.result[r].eval->nll, job.result[0].eval->nll);
    }
}

Test(ranks, windows_and_pairs_equal_one_process) {
    struct nvdp__pretrain_options config = config_of(NVDP__OBJECTIVE_MLM);
    config.dropout = 0.1;
    equals_one(config);
    toy_set(&config, "objective mlm+nsp optimizer muon whole-word true");
    equals_one(config);
}

/* With more processes than windows in a batch, some have no window. */
Test(ranks, processes_without_a_window) {
    struct nvdp__pretrain_options config = config_of(NVDP__OBJECTIVE_MLM);
    config.batch = 2;
    equals_one(config);
}

Test(ranks, what_starts_from_a_model_equals_one_process) {
    struct nvdp__pretrain_options config = config_of(NVDP__OBJECTIVE_MLM);
    const char *init = support_scratch_path("init");
    config.out = init;
    pretrain_alone(&config);
    config = config_of(NVDP__OBJECTIVE_PROB_NSP);
    toy_set(&config, "privatize laplace eta 300");
    config.init = init;
    equals_one(config);
    config = config_of(NVDP__OBJECTIVE_MLM);
    config.init = init;
    config.freeze_layers = 1;
    equals_one(config);
}

Test(ranks, private_pretraining_equals_one_process) {
    struct nvdp__pretrain_options config = config_of(NVDP__OBJECTIVE_MLM);
    config.eval_texts = 0;
    config.vocab = toy_vocabulary();
    config.adamw.clip_norm = 0;
    toy_set(&config, "dp-batch 9 dp-noise 0.6 dp-clip 0.1 insecure-seed 11");
    equals_one(config);
}

/* All processes use the vocabulary that rank 0 draws. */
Test(ranks, a_private_vocabulary_is_drawn_once) {
    struct job job = {.config = config_of(NVDP__OBJECTIVE_MLM)};
    toy_set(&job.config, "vocab-dp-epsilon 6 vocab-dp-delta 1e-8");
    support_ranks(3, pretrain, &job);
    for (int r = 0; r < 3; r++)
        cr_expect_eq(job.result[r].vocab_size, job.result[0].vocab_size);
}

Test(ranks, another_number_continues_a_run) {
    struct job job = {.config = config_of(NVDP__OBJECTIVE_MLM)};
    const char *one = job.config.out;
    const char *many = support_scratch_path("many");
    job.config.eval_every = 0;
    pretrain_alone(&job.config);
    job.config.out = many;
    job.calls = 6;
    support_ranks(3, pretrain, &job);
    job.config.resume = many;
    job.config.overwrite = false;
    job.calls = 4;
    support_ranks(1, pretrain, &job);
    job.calls = 0;
    support_ranks(2, pretrain, &job);
    support_same_runs(one, many, MODEL, ROUNDING);
}
