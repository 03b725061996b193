/* Tests that training with several processes equals training with one, up to the rounding of
 * sums in another order. Here the processes are threads (support/threads.h);
 * tests/cli/test_mpi.c has real ones. */
#include "threads.h"
#include "train_test.h"

enum { BILSTM = 1 }; /* index in nvdp__encoder_choices */

static const char MODEL[] = "model/model.safetensors";

struct job {
    struct nvdp__train_options config;
    struct nvdp_train_result result[8];
    int calls; /* the last rank is cancelled after this many checks; 0: never */
};

static bool stop(void *user) {
    return --*(int *)user < 0;
}

static nvdp_status train(struct nvdp_context *ctx, int rank, void *user) {
    struct job *job = user;
    int calls = job->calls;
    if (calls > 0 && rank == (int)nvdp__rank_count(ctx) - 1)
        nvdp_context_set_cancel(ctx, stop, &calls);
    nvdp_status status = nvdp__train(ctx, &job->config, &job->result[rank]);
    support_keep(job->result[rank].test);
    if (job->calls == 0) return status;
    bool reported = strstr(nvdp_context_error(ctx), "--resume") != NULL;
    return status == NVDP_ERR_CANCELLED && reported ? NVDP_OK : NVDP_ERR_STATE;
}

static struct nvdp_train_result train_alone(const struct nvdp__train_options *config) {
    struct nvdp_context *ctx = support_context();
    nvdp_context_set_threads(ctx, 1);
    nvdp__allow_plain_bf16(ctx);
    return task_train(ctx, config);
}

static struct nvdp__train_options config_of(enum nvdp_method method, bool wide) {
    static struct task task;
    struct nvdp_context *ctx = support_context();
    task = wide ? task_make_wide(ctx) : task_make(ctx);
    struct nvdp__train_options config = task_config(&task, method, support_scratch_path("one"));
    task_set(&config, "lr 1e-3 epochs 2 log-every 1 overwrite true");
    return config;
}

/* A sum's rounding error is about 1e-7 per step. Adam divides by the size of gradients, which
 * may be small, and thirty steps amplify the error. */
static const double ROUNDING = 1e-5;

static void equals_one(struct nvdp__train_options config, double tolerance) {
    const char *one = config.out;
    struct nvdp_train_result expected = train_alone(&config);
    const char *many = support_scratch_path("many");
    for (int size = 2; size <= 3; size++) {
        struct job job = {.config = config};
        job.config.out = many;
        support_ranks(size, train, &job);
        support_same_runs(one, many, MODEL, tolerance);
        for (int r = 0; r < size; r++) {
            cr_expect_eq(job.result[r].steps, expected.steps);
            cr_expect_eq(job.result[r].test->n, expected.test->n);
            for (int k = 0; k < expected.test->metrics; k++) /* all processes have all scores */
                cr_expect_eq(job.result[r].test->mean[k], job.result[0].test->mean[k]);
        }
    }
}

Test(ranks, base_equals_one_process) {
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, false);
    equals_one(config, ROUNDING);
    config.dropout = 0.2; /* masks do not depend on the process */
    config.classifier_dropout = 0.2;
    config.batch = 7;      /* uneven parts, */
    config.holdout = 0.05; /* and a last batch of two texts */
    equals_one(config, ROUNDING);
}

Test(ranks, bottlenecks_equal_one_process) {
    equals_one(config_of(NVDP_METHOD_NVDP, false), ROUNDING);
    equals_one(config_of(NVDP_METHOD_VIB_LEARNED, false), ROUNDING);
    equals_one(config_of(NVDP_METHOD_VTDP, false), ROUNDING);
}

Test(ranks, frozen_layers_and_words_equal_one_process) {
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, false);
    config.freeze_words = true;
    equals_one(config, ROUNDING);
    config.cache = support_scratch_path("cache");
    task_set(&config, "freeze-words false freeze-layers 1");
    equals_one(config, ROUNDING);
}

Test(ranks, bilstm_equals_one_process) {
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, false);
    config.encoder = BILSTM;
    config.lstm_hidden = 8;
    equals_one(config, ROUNDING);
}

/* The other rows in a product's block may change how a text's sums round to bfloat16: 2^-8 of
 * some of them, and thousands are summed. */
Test(ranks, bf16_equals_one_process) {
    support_bf16(NULL);
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, true);
    config.precision = NVDP_PRECISION_BF16;
    equals_one(config, 1e-3);
}

/* Means over a batch's words, whose number differs between processes. */
Test(ranks, tags_equal_one_process) {
    static const char *const words[] = {"good", "cat", "bad", "sun", "one"};
    static const char *const tags[] = {"B-Q", "O", "I-Q", "O", "O"};
    static const char *const names[] = {"ner/train.tsv", "ner/devel.tsv"};
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, false);
    const char *data = support_scratch_path("ner");
    cr_assert_eq(system(support_path("mkdir -p %s", data)), 0);
    for (unsigned f = 0, seed = 7; f < 2; f++) {
        char text[16384] = "";
        for (unsigned s = 0; s < 40; s++) {
            for (unsigned w = 0; w < 1 + s % 6; w++, seed = seed * 1664525U + 1013904223U)
                sprintf(text + strlen(text), "%s\t%s\n", words[(seed >> 16) % 5],
                        tags[(seed >> 16) % 5]);
            strcat(text, "\n");
        }
        support_write_text(support_scratch_path(names[f]), text);
    }
    config.task = "ner";
    config.data = data;
    equals_one(config, ROUNDING);
}

/* A run that is stopped by a signal to one of three processes, continued by one, stopped, and
 * continued by two equals the run of one process. */
static void another_number_continues(struct nvdp__train_options config, int calls) {
    const char *one = config.out;
    struct job job = {.config = config, .calls = calls};
    const char *many = support_scratch_path("many");
    train_alone(&config);
    job.config.out = many;
    support_ranks(3, train, &job);
    job.config.resume = many;
    job.config.overwrite = false;
    job.calls = calls - 2;
    support_ranks(1, train, &job);
    job.calls = 0;
    support_ranks(2, train, &job);
    support_same_runs(one, many, MODEL, ROUNDING);
}

Test(ranks, another_number_continues_a_run) {
    another_number_continues(config_of(NVDP_METHOD_NVDP, false), 6);
}

/* If one process rank_fails, all fail with the same message. */
static nvdp_status rank_fails(struct nvdp_context *ctx, int rank, void *user) {
    struct job *job = user;
    struct nvdp__train_options config = job->config;
    if (rank == 1) config.data = "/nowhere";
    nvdp_status status = nvdp__train(ctx, &config, &job->result[rank]);
    bool reported = strstr(nvdp_context_error(ctx), "rank 1: ") != NULL &&
                    strstr(nvdp_context_error(ctx), "/nowhere") != NULL;
    return status == NVDP_ERR_IO && reported ? NVDP_OK : NVDP_ERR_STATE;
}

Test(ranks, one_failure_is_everybodys) {
    struct job job = {.config = config_of(NVDP_METHOD_BASE, false)};
    support_ranks(3, rank_fails, &job);
}

/* A process is lost at some sum: the operations of all others fail, and rank 0 saves the state. */
struct losing {
    struct nvdp_ranks real;
    int calls;
};

static nvdp_status sum_until_lost(void *user, double *values, size_t count) {
    struct losing *l = user;
    if (--l->calls < 0) return NVDP_ERR_IO;
    return l->real.sum(l->real.user, values, count);
}

static nvdp_status start_until_lost(void *user, float *values, size_t count) {
    struct losing *l = user;
    return l->calls < 0 ? NVDP_ERR_IO : l->real.sum_start(l->real.user, values, count);
}

static nvdp_status wait_until_lost(void *user) {
    struct losing *l = user;
    return l->calls < 0 ? NVDP_ERR_IO : l->real.sum_wait(l->real.user);
}

static nvdp_status broadcast_until_lost(void *user, int root, void *bytes, size_t count) {
    struct losing *l = user;
    return l->calls < 0 ? NVDP_ERR_IO : l->real.broadcast(l->real.user, root, bytes, count);
}

static nvdp_status train_until_lost(struct nvdp_context *ctx, int rank, void *user) {
    struct job *job = user;
    struct losing losing = {*nvdp__ranks(ctx), job->calls};
    const struct nvdp_ranks ranks = {.rank = rank,
                                     .size = losing.real.size,
                                     .user = &losing,
                                     .sum_start = start_until_lost,
                                     .sum_wait = wait_until_lost,
                                     .sum = sum_until_lost,
                                     .broadcast = broadcast_until_lost};
    nvdp_context_set_ranks(ctx, &ranks);
    nvdp_context_set_error(ctx, "rank 2 stopped");
    nvdp_status status = nvdp__train(ctx, &job->config, &job->result[rank]);
    support_keep(job->result[rank].test);
    bool kept = strstr(nvdp_context_error(ctx), "the state was saved; continue with") != NULL;
    return status == NVDP_ERR_IO && kept == (rank == 0) ? NVDP_OK : NVDP_ERR_STATE;
}

Test(ranks, what_was_done_before_a_process_was_lost_is_kept) {
    static const int calls[] = {16, 17, 39}; /* in a step, after it, in a later one */
    struct nvdp__train_options config = config_of(NVDP_METHOD_BASE, false);
    const char *one = config.out;
    const char *many = support_scratch_path("many");
    train_alone(&config);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct job job = {.config = config, .calls = calls[i]};
        job.config.out = many;
        job.config.overwrite = true;
        support_ranks(2, train_until_lost, &job);
        job.calls = 0;
        job.config.resume = many;
        job.config.overwrite = false;
        support_ranks(2, train, &job);
        support_same_runs(one, many, MODEL, ROUNDING);
    }
}

static nvdp_status differs(struct nvdp_context *ctx, int rank, void *user) {
    (void)user;
    float x[2] = {1, rank == 2 ? 2 : 3};
    if (nvdp__rank_same(ctx, "numbers", x, sizeof x[0]) != NVDP_OK) return NVDP_ERR_IO;
    nvdp_status status = nvdp__rank_same(ctx, "numbers", x, sizeof x);
    bool reported = strstr(nvdp_context_error(ctx),
                           "rank 2: numbers: this process has other values than rank 0") != NULL;
    return status == NVDP_ERR_STATE && reported ? NVDP_OK : NVDP_ERR_IO;
}

Test(ranks, parameters_that_drift_apart_are_found) {
    support_ranks(3, differs, NULL);
}

Test(ranks, stretches_cover_everything_once) {
    struct nvdp_context *ctx = support_context();
    fails(nvdp_context_set_ranks(ctx, &(struct nvdp_ranks){.size = 2}), NVDP_ERR_ARGUMENT,
          "a missing operation");
    const struct nvdp__range all = nvdp__rank_range(ctx, 10);
    cr_expect(all.first == 0 && all.count == 10);
}

/* Items of random weights are divided in order, none twice and none left out. No process has
 * more than twice the mean number of items. A process's weight differs from the mean by at most
 * one item's weight, if the limit on the number allows it. */
enum { THINGS = 24, HEAVIEST = 100 };

struct shares {
    size_t weight[THINGS];
    struct nvdp__range of[8];
};

static size_t weight_of(const void *user, size_t i) {
    return ((const struct shares *)user)->weight[i];
}

static nvdp_status share_out(struct nvdp_context *ctx, int rank, void *user) {
    struct shares *shares = user;
    shares->of[rank] = nvdp__rank_balanced(ctx, THINGS, weight_of, shares);
    return NVDP_OK;
}

Test(ranks, long_and_short_texts_are_shared_out_by_length) {
    struct shares shares;
    unsigned seed = 3;
    for (int size = 1; size <= 5; size++) {
        size_t total = 0, next = 0;
        for (size_t i = 0; i < THINGS; i++) {
            seed = seed * 1664525U + 1013904223U;
            total += shares.weight[i] = 30 + (seed >> 16) % (HEAVIEST - 29);
        }
        support_ranks(size, share_out, &shares);
        for (int r = 0; r < size; r++) {
            double own = 0;
            cr_expect_eq(shares.of[r].first, next);
            next += shares.of[r].count;
            for (size_t i = shares.of[r].first; i < next; i++)
                own += (double)shares.weight[i];
            cr_expect_leq(fabs(own - (double)total / size), HEAVIEST, "%d of %d: %g of %zu", r,
                          size, own, total);
        }
        cr_expect_eq(next, THINGS);
    }
    for (size_t i = 0; i < THINGS; i++) /* one item outweighs all others */
        shares.weight[i] = i == 0 ? 100 * HEAVIEST : 1;
    support_ranks(4, share_out, &shares);
    size_t next = 0;
    for (int r = 0; r < 4; r++) {
        cr_expect_eq(shares.of[r].first, next);
        cr_expect_leq(shares.of[r].count, 2 * THINGS / 4);
        next += shares.of[r].count;
    }
    cr_expect_eq(next, THINGS);
}

/* ---- private training ---- */

static struct nvdp__train_options private_config(enum nvdp_method method) {
    struct nvdp__train_options config = config_of(method, false);
    config.dp =
        (struct nvdp__dp_options){.batch = 9, .noise = 0.6, .clip = 0.1, .insecure_seed = 11};
    config.batch = 4; /* at a time */
    config.select = NVDP__SELECT_LAST;
    config.adamw.clip_norm = 0;
    return config;
}

/* The same examples are drawn, clipped and noised, and the account is the same. */
Test(ranks, private_training_equals_one_process) {
    struct nvdp__train_options config = private_config(NVDP_METHOD_BASE);
    equals_one(config, ROUNDING);
    config.dropout = 0.1;
    equals_one(config, ROUNDING);
    equals_one(private_config(NVDP_METHOD_VIB_LEARNED), ROUNDING);
}

/* If one of three processes leaves a step of eighteen batches, all do. */
Test(ranks, another_number_continues_a_private_run) {
    struct nvdp__train_options config = private_config(NVDP_METHOD_BASE);
    task_set(&config, "dp-batch 54 batch 1");
    another_number_continues(config, 30);
}

static json_t *statement_of(const char *run) {
    json_t *dp = support_at(support_json(support_path("%s/result.json", run)), "dp");
    cr_assert_not_null(dp);
    return dp;
}

/* Each of four processes adds noise .6, together 1.2, which is the noise in the account and the
 * statement. Another number of processes cannot continue the run. */
Test(ranks, noise_of_each_shard_is_accounted) {
    struct job job = {.config = private_config(NVDP_METHOD_BASE), .calls = 20};
    const char *many = support_scratch_path("many");
    job.config.out = many;
    job.config.dp.shards_noise = NVDP__NOISE_EACH;
    support_ranks(4, train, &job);
    struct nvdp_context *ctx = support_context();
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    job.config.resume = many;
    job.config.overwrite = false;
    fails(nvdp__train(ctx, &job.config, &result), NVDP_ERR_ARGUMENT, "needs the 4 processes");
    job.calls = 0;
    support_ranks(4, train, &job);
    json_t *each = statement_of(many);
    near(number_at(each, "noise"), 1.2, 1e-12);
    cr_expect_eq(integer_at(each, "shards"), 4);
    support_contains(text_at(each, "statement"), "added in floating point by 4 workers together.");
    struct nvdp__train_options alone = private_config(NVDP_METHOD_BASE);
    alone.dp.noise = 1.2;
    train_alone(&alone);
    json_t *one = statement_of(alone.out);
    cr_expect_eq(number_at(each, "pld/epsilon"), number_at(one, "pld/epsilon"));
    cr_expect_null(json_object_get(one, "shards"));
}

/* No example is drawn: the gradient is only noise, of sigma C / B, times sqrt(P) if each process
 * adds noise. Its squares are chi-square with as many degrees of freedom as parameters; the
 * tolerance is five standard deviations. */
struct noise {
    struct nvdp__train_options config;
    double square[8], parameters, sum[8];
};

static nvdp_status noise_step(struct nvdp_context *ctx, int rank, void *user) {
    struct noise *noise = user;
    struct nvdp__trainer t = {.ctx = ctx, .config = noise->config};
    nvdp_status status = nvdp__trainer_open(&t);
    if (status == NVDP_OK) status = nvdp__trainer_allocate(&t, true);
    if (status == NVDP_OK) status = nvdp__dp_share(t.job.dp);
    if (status == NVDP_OK) {
        nvdp__model_initialise(t.model, 3);
        t.job.dp->divisor = 4;
        t.job.steps = 1;
        status = nvdp__job_step(&t.job);
    }
    if (status == NVDP_OK) {
        const struct nvdp__params *params = &t.model->params;
        for (size_t i = 0; i < params->total; i++) {
            noise->square[rank] += (double)params->grad[i] * (double)params->grad[i];
            noise->sum[rank] += (double)params->grad[i];
        }
        noise->parameters = (double)nvdp__params_trainable(params);
    }
    nvdp__trainer_close(&t);
    return status;
}

static void noise_is(enum nvdp__shards_noise shards, uint64_t seed, int size, double sigma) {
    struct noise noise = {.config = private_config(NVDP_METHOD_BASE)};
    noise.config.dp = (struct nvdp__dp_options){
        .clip = 0.5, .noise = 2, .sample_rate = 1e-12, .insecure_seed = seed};
    noise.config.dp.shards_noise = shards;
    noise.config.protocol = NVDP_PROTOCOL_DEV;
    support_ranks(size, noise_step, &noise);
    double n = noise.parameters, square = noise.square[0] / pow(sigma * 0.5 / 4, 2);
    cr_expect_lt(fabs(square - n), 5 * sqrt(2 * n), "%d: %g of %g", size, square, n);
    for (int r = 1; r < size; r++)
        cr_expect(noise.square[r] == noise.square[0] && noise.sum[r] == noise.sum[0]);
}

Test(ranks, noise_is_added_once_or_by_each) {
    noise_is(NVDP__NOISE_ONCE, 9, 3, 2);
    noise_is(NVDP__NOISE_EACH, 9, 3, 2 * sqrt(3));
    noise_is(NVDP__NOISE_ONCE, 0, 3, 2); /* random numbers of the operating system */
    noise_is(NVDP__NOISE_EACH, 0, 4, 2 * 2);
}
