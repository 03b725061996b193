/* Tests private pretraining: norms of single windows' gradients, including that of the tied
 * table, then whole runs. */
#include "bert_sizes.h"
#include "killed.h"
#include "toy_corpus.h"

#include <ctype.h>

#include "test_context.h"

enum { PIECES = 23, LONGEST = 20, TEXTS = 4, MASKED = 12 };

struct bench {
    struct nvdp_context *ctx;
    struct nvdp__pretrain_model model;
    struct nvdp__per_example *each;
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
};

static const size_t lengths[TEXTS] = {5, LONGEST, 4, 13};
static const int32_t masked_rows[TEXTS][5] = {
    {1, 3, -1}, {0, 1, 7, 12, 19}, {2, -1}, {4, 5, 11, -1}};

/* Fills the batch with texts [first, first + texts); tokens and labels repeat. */
static void fill(struct bench *b, size_t first, size_t texts) {
    struct nvdp__batch *batch = b->batch;
    size_t at = 0;
    b->masked.count = 0;
    for (size_t t = 0; t < texts; t++) {
        size_t text = first + t;
        batch->offset[t] = (int32_t)at;
        batch->label[t] = text % 3 == 1;
        for (size_t k = 0; k < 5 && masked_rows[text][k] >= 0; k++) {
            b->masked.row[b->masked.count] = (int32_t)at + masked_rows[text][k];
            b->masked.label[b->masked.count++] = (int32_t)((text + 3 * k) % 7);
        }
        for (size_t i = 0; i < lengths[text]; i++, at++) {
            batch->ids[at] = (int32_t)((text + i * i) % 7);
            batch->types[at] = i > 2;
            batch->positions[at] = (int32_t)i;
        }
    }
    batch->offset[texts] = (int32_t)at;
    batch->texts = texts;
    batch->tokens = at;
    batch->longest = LONGEST;
}

static struct bench open_bench(enum nvdp_precision precision, enum nvdp__objective objective,
                               size_t frozen) {
    struct bench b = {.ctx = support_context()};
    struct nvdp_bert_config config = bert_of(.hidden = 32, .layers = 2, .heads = 1, .inner = 64,
                                             .pieces = PIECES, .longest = LONGEST);
    nvdp__allow_plain_bf16(b.ctx);
    nvdp_context_set_precision(b.ctx, precision);
    ok(nvdp__pretrain_model_create(b.ctx, &config, objective, true, &b.model));
    struct nvdp__params *params = &b.model.params;
    for (size_t i = 0; i < params->count; i++) {
        nvdp__params_normal(&b.model.dev, params, i, 0.3, 7);
        float *value = nvdp__value(params, i);
        bool norm = strstr(params->entry[i].name, "LayerNorm.weight") != NULL;
        for (size_t k = 0; norm && k < params->entry[i].count; k++)
            value[k] += 1;
    }
    if (frozen > 0) nvdp__pretrain_model_freeze(&b.model, frozen);
    b.model.per_example = true;
    ok(nvdp__pretrain_model_plan(&b.model, TEXTS, LONGEST, MASKED, NULL));
    ok(nvdp__per_example_create(&b.model.dev, &b.model.params, TEXTS, LONGEST, MASKED, &b.each));
    ok(nvdp__batch_create(b.ctx, TEXTS, LONGEST, &b.batch));
    ok(nvdp__masked_create(b.ctx, MASKED, &b.masked));
    support_keep_parts(b);
    return b;
}

static void step(struct bench *b, double divisor) {
    const struct nvdp__pass pass = {.training = true, .divisor = divisor};
    struct nvdp__pretrain_losses losses;
    nvdp__zero(&b->model.dev, b->model.params.total, b->model.params.grad);
    ok(nvdp__pretrain_model_step(&b->model, b->batch, &b->masked, &pass, &losses));
}

static double square_of(size_t n, const float *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* Compares each text with ordinary training on this text alone. Its loss is the mean over its
 * masked tokens, and with pairs the next-sentence loss. */
static void norms_agree(enum nvdp_precision precision, enum nvdp__objective objective,
                        size_t frozen) {
    struct bench b = open_bench(precision, objective, frozen);
    const struct nvdp__params *params = &b.model.params;
    float *alone[TEXTS];
    double square[TEXTS], norm[TEXTS];
    /* Sums of another batch may differ in their last bit, and an operand halfway between two bf16 numbers is then rounded
     * the other way, which moves gradients below it by up to 2^-8. */
    const double near = precision == NVDP_PRECISION_BF16 ? 0x1p-8 : 1e-5;
    for (size_t t = 0; t < TEXTS; t++) {
        fill(&b, t, 1);
        step(&b, 0);
        alone[t] = support_keep_copy(params->grad, params->total * sizeof(float));
    }
    size_t word = b.model.bert.word;
    /* All tensors first; then, if it is trained, only the tied table. */
    for (size_t t = 0; t < (frozen > 0 ? 1 : 2) * TEXTS; t++) {
        float weight[TEXTS] = {0};
        weight[t % TEXTS] = 1;
        for (size_t i = 0; i < params->count && t == TEXTS; i++)
            if (i != word) params->entry[i].flags |= NVDP__PARAM_FROZEN;
        fill(&b, 0, TEXTS);
        nvdp__per_example_begin(b.each, TEXTS);
        b.model.dev.per_example = b.each;
        step(&b, 1);
        ok(nvdp__per_example_norms(&b.model.dev, square, norm));
        const struct nvdp__param *table = &params->entry[word];
        double want = t < TEXTS ? square_of(params->total, alone[t])
                                : square_of(table->count, alone[t - TEXTS] + table->offset);
        cr_expect_leq(fabs(sqrt(square[t % TEXTS]) - sqrt(want)), near * sqrt(want), "%g of %g",
                      sqrt(square[t % TEXTS]), sqrt(want));
        if (t < TEXTS) nvdp__per_example_add(&b.model.dev, weight, true);
        b.model.dev.per_example = NULL;
        for (size_t i = 0; i < params->count && t < TEXTS; i++) {
            const struct nvdp__param *entry = &params->entry[i];
            const float *x = params->grad + entry->offset, *y = alone[t] + entry->offset;
            double error = 0;
            for (size_t k = 0; k < entry->count; k++)
                error += pow((double)x[k] - (double)y[k], 2);
            cr_expect_leq(sqrt(error), near * (sqrt(square_of(entry->count, y)) + .1 * sqrt(want)),
                          "%s, text %zu: %g of %g, all %g", entry->name, t, sqrt(error),
                          sqrt(square_of(entry->count, y)), sqrt(want));
        }
    }
}

Test(dp, norms_of_single_windows) {
    norms_agree(NVDP_PRECISION_F32, NVDP__OBJECTIVE_MLM, 0);
    norms_agree(NVDP_PRECISION_BF16, NVDP__OBJECTIVE_MLM, 0);
}

Test(dp, norms_of_single_pairs) {
    norms_agree(NVDP_PRECISION_F32, NVDP__OBJECTIVE_MLM_NSP, 0);
    norms_agree(NVDP_PRECISION_BF16, NVDP__OBJECTIVE_MLM_NSP, 0);
}

Test(dp, norms_above_frozen_layers) {
    norms_agree(NVDP_PRECISION_F32, NVDP__OBJECTIVE_MLM, 1);
    norms_agree(NVDP_PRECISION_BF16, NVDP__OBJECTIVE_MLM_NSP, 1);
    norms_agree(NVDP_PRECISION_F32, NVDP__OBJECTIVE_MLM, 2);
}

/* ---- whole runs ---- */

/* Returns a member of a JSON file in the folder of a run. */
static json_t *member_of(const char *run, const char *file, const char *name) {
    return json_object_get(support_json(support_path("%s/%s", run, file)), name);
}

Test(dp, a_run_states_what_holds_and_resumes_exactly) {
    const char *text[] = {toy_text("private.txt", 40, 3)};
    const char *whole = support_scratch_path("whole");
    const char *parts = support_scratch_path("parts");
    struct nvdp__pretrain_options config =
        toy_options(text, whole,
                    "optimizer sgd momentum 0.9 steps 12 batch 1 clip-norm 0 dp-sample-rate 0.2 "
                    "dp-clip 1 target-epsilon 3 insecure-seed 8");
    config.vocab = toy_vocabulary();
    cr_expect_eq(toy_train(ctx, &config).steps, 12);
    const json_t *dp = member_of(whole, "result.json", "dp");
    double epsilon = number_at(dp, "pld/epsilon");
    cr_expect(epsilon <= 3 && epsilon > 2.9, "%g", epsilon);
    cr_expect_not_null(strstr(text_at(dp, "statement"), "one window"));
    /* The record that is published with the weights has no digest of the texts. */
    const json_t *made = member_of(whole, "config.json", "nvdp_pretraining");
    cr_expect_not_null(json_object_get(made, "dp"));
    cr_expect_null(json_object_get(made, "text"));

    config.out = parts;
    toy_stop(ctx, &config, 9);
    support_contains(nvdp_context_error(ctx), "after step 0 of 12"); /* within the first step */
    config.resume = parts;
    toy_train(ctx, &config);
    cr_expect(support_same_file(whole, parts, "model.safetensors"));
}

static void refused(const struct nvdp__pretrain_options *config, const char *what) {
    fails(toy_status(ctx, config), NVDP_ERR_ARGUMENT, what);
}

static nvdp_status pretrain_on(struct nvdp_context *of, const void *config, const char *out,
                               bool resume) {
    struct nvdp__pretrain_options options = *(const struct nvdp__pretrain_options *)config;
    options.out = out;
    options.resume = resume ? out : NULL;
    options.overwrite = !resume;
    return toy_status(of, &options);
}

static void is_killed(uint64_t seed) {
    enum { STEPS = 80 };
    const char *text[] = {toy_text("private.txt", 40, 3)};
    struct nvdp__pretrain_options config = toy_options(
        text, "none",
        "optimizer adamw batch 4 clip-norm 0 log-every 1 save-every 8 checkpoint-seconds 1e6");
    config.vocab = toy_vocabulary();
    config.steps = STEPS;
    config.dp = (struct nvdp__dp_options){
        .sample_rate = 0.05, .clip = 1, .noise = 1, .insecure_seed = seed};
    killed_ends(&(struct killed_run){.record = "pretrain.json",
                                     .model = "model.safetensors",
                                     .train = pretrain_on,
                                     .config = &config,
                                     .steps = STEPS,
                                     .seeded = seed != 0},
                6);
}

Test(dp, killed_again_and_again_it_counts_every_step) {
    is_killed(11);
}

Test(dp, killed_again_and_again_no_noise_is_used_twice) {
    is_killed(0);
}

/* The budget and the statement cover vocabulary and training: for a vocabulary trained here, and
 * for a given one that states its privacy, at the start and after a resume. */
enum { VOCABULARY_WORDS = 6 };
static void vocabulary_is_counted(struct nvdp__private_words words) {
    const char *text[] = {toy_text("private.txt", 150, 3)};
    const char *both = support_scratch_path("both");
    const char *given = support_scratch_path("given");
    struct nvdp__pretrain_options config = toy_config(text, both);
    config.words = words;
    config.length = VOCABULARY_WORDS + 2;
    toy_set(&config, "optimizer adamw steps 8 clip-norm 0 dp-sample-rate 0.05 dp-clip 1 "
                     "target-epsilon 3 insecure-seed 8");
    const double epsilon = 1.5, delta = 3e-9;
    for (int run = 0; run < 3; run++) {
        if (run == 1) { /* the vocabulary of the first run, and a stop */
            config.words = (struct nvdp__private_words){.delta = 1e-7, .possible = 1000000};
            config.vocab = support_path("%s/vocab.txt", both);
            config.out = given;
            toy_stop(ctx, &config, 3);
            config.resume = given;
            continue;
        }
        toy_train(ctx, &config);
        const json_t *dp = member_of(config.out, "result.json", "dp");
        cr_expect_float_eq(number_at(dp, "vocabulary/0"), epsilon, 1e-12);
        cr_expect_float_eq(number_at(dp, "vocabulary/1"), delta, 1e-20);
        const struct nvdp_dp_steps phase = {number_at(dp, "noise"), 0.05, 8};
        const struct nvdp_dp_guarantee counting = {epsilon, delta};
        struct nvdp_account account = NVDP_RESULT(struct nvdp_account);
        ok(nvdp_account(ctx, &(struct nvdp_dp_run){&phase, 1, &counting, 1}, number_at(dp, "delta"),
                        &account));
        cr_expect_eq(number_at(dp, "pld/epsilon"), account.pld_epsilon);
        cr_expect_eq(number_at(dp, "rdp/epsilon"), account.rdp_epsilon);
        cr_expect(account.pld_epsilon <= 3 && account.pld_epsilon > 2.99, "%g",
                  account.pld_epsilon);
        support_contains(text_at(dp, "statement"),
                         "It includes epsilon 1.5 and delta 3e-09 of earlier computations",
                         "tokenized with the trained private vocabulary");
        const json_t *removed = member_of(config.out, "vocab_privacy.json", "window_removed");
        cr_expect_float_eq(number_at(removed, "epsilon"), epsilon, 1e-12);
    }
    config.resume = NULL;
    config.overwrite = true;
    config.dp.target_epsilon = 1.4;
    fails(toy_status(ctx, &config), NVDP_ERR_ARGUMENT,
          "expected more than the cost of the private vocabulary, 1.5");
    toy_set(&config, "target-epsilon 3 target-delta 2e-9");
    fails(toy_status(ctx, &config), NVDP_ERR_ARGUMENT,
          "expected more than the cost of the private vocabulary, 3e-09");
}

Test(dp, a_private_vocabulary_is_in_the_account) {
    vocabulary_is_counted((struct nvdp__private_words){.epsilon = 1.5 / VOCABULARY_WORDS * 2,
                                                       .delta = 6e-9 / VOCABULARY_WORDS,
                                                       .possible = 1000000});
}

Test(dp, a_vocabulary_with_gaussian_noise_is_in_the_account) {
    vocabulary_is_counted((struct nvdp__private_words){
        .epsilon = 1.5, .delta = 3e-9, .possible = 1000000, .noise = NVDP__COUNT_GAUSSIAN});
}

/* Uses pairs from a document's own text. With almost no noise both heads learn; a resume gives
 * the same bits. */
Test(dp, pairs) {
    const char *text[] = {toy_text("private.txt", 60, 3)};
    const char *whole = support_scratch_path("whole");
    const char *parts = support_scratch_path("parts");
    struct nvdp__pretrain_options config =
        toy_options(text, whole,
                    "objective mlm+nsp optimizer adamw steps 40 clip-norm 0 dp-sample-rate 0.2 "
                    "dp-clip 1 dp-noise 0.1 insecure-seed 8");
    config.vocab = toy_vocabulary();
    toy_train(ctx, &config);
    const char *path = support_path("%s/dp-statement.txt", whole);
    support_contains(support_read(path),
                     "An example is one pair of neighboring parts of one document");
    path = support_path("%s/metrics.jsonl", whole);
    FILE *file = fopen(path, "r");
    char line[2000];
    double loss[4] = {0}, next[4] = {0};
    for (int i = 0; i < 4 && fgets(line, sizeof line, file) != NULL; i++) {
        nvdp__autoptr(json_decref) json_t *object = json_loads(line, 0, NULL);
        loss[i] = number_at(object, "loss");
        next[i] = number_at(object, "next_loss");
    }
    fclose(file);
    cr_expect(loss[3] > 0 && loss[3] < 0.9 * loss[0], "%g, %g", loss[0], loss[3]);
    cr_expect(next[3] > 0 && next[3] < 0.75, "%g, %g", next[0], next[3]);
    config.out = parts;
    toy_stop(ctx, &config, 9);
    config.resume = parts;
    toy_train(ctx, &config);
    cr_expect(support_same_file(whole, parts, "model.safetensors"));
}

static void trained(struct nvdp__pretrain_options config, const char *out) {
    config.out = out;
    cr_assert_eq(toy_status(ctx, &config), NVDP_OK, "%s: %s", out, nvdp_context_error(ctx));
}

/* A window whose loss is not finite counts as 0 and does not stop the run. */
Test(dp, a_loss_that_is_no_number_does_not_stop_the_run) {
    const char *text[] = {toy_text("private.txt", 40, 3)};
    struct nvdp__pretrainer t = {.ctx = ctx,
                                 .config = toy_config(text, support_scratch_path("out"))};
    toy_set(&t.config, "optimizer adamw clip-norm 0 dp-sample-rate 1 dp-clip 1 dp-noise 1 "
                       "insecure-seed 8");
    t.config.vocab = toy_vocabulary();
    nvdp__pretrain_resolve(&t.config);
    ok(nvdp__pretrainer_open(&t));
    size_t shortest = SIZE_MAX, longer = 0;
    for (size_t i = 0; i < t.examples.count; i++)
        shortest = nvdp__min(shortest, nvdp__example_tokens(&t.examples.at[i]));
    for (size_t i = 0; i < t.examples.count; i++)
        longer += nvdp__example_tokens(&t.examples.at[i]) > shortest;
    cr_assert(longer > 0 && longer < t.examples.count);
    nvdp__value(&t.model.params, t.model.bert.position)[shortest * t.config.hidden] = NAN;
    nvdp__weights_changed(&t.model.dev);
    ok(nvdp__job_step(&t.job));
    cr_expect_eq(t.job.last.left_out, longer);
    cr_expect(isfinite(t.job.last.total));
    nvdp__pretrainer_close(&t);
}

/* A start model that saw these texts: if it was trained without privacy, however far back,
 * nothing is guaranteed; if with privacy, both trainings are counted. */
Test(dp, of_a_model_to_begin_from) {
    const char *secret[] = {toy_text("private.txt", 40, 3)},
               *open[] = {toy_text("public.txt", 40, 4)};
    const char *bare = support_scratch_path("bare");
    const char *later = support_scratch_path("later");
    const char *private = support_scratch_path("private");
    const char *next = support_scratch_path("next");
    struct nvdp__pretrain_options config =
        toy_options(secret, bare, "optimizer adamw steps 4 batch 4 clip-norm 0");
    config.vocab = toy_vocabulary();
    trained(config, bare);
    config.text = open;
    config.init = bare;
    config.vocab = NULL;
    trained(config, later);
    config.text = secret;
    config.out = next;
    toy_set(&config, "dp-sample-rate 0.2 dp-clip 1 dp-noise 1 insecure-seed 8");
    for (int i = 0; i < 2; i++) {
        config.init = i == 0 ? bare : later;
        refused(&config, "expected a model to begin from that did not see these texts");
    }
    /* also in another file, with capitals and one more line: all old lines were seen */
    char *lines = support_read(secret[0]);
    for (char *c = lines; *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    config.text =
        (const char *[]){support_file("capitals.txt", support_path("a line more\n\n%s", lines))};
    refused(&config, "expected a model to begin from that did not see these texts");
    support_contains(nvdp_context_error(ctx), "texts (the first is text 2) without privacy");
    config.text = secret;
    /* nor from their vocabulary alone */
    struct nvdp__pretrain_options words =
        toy_options(secret, support_scratch_path("words"), "steps 1 vocab-size 60");
    trained(words, words.out);
    config.init = NULL;
    config.vocab = support_path("%s/vocab.txt", words.out);
    refused(&config, "expected a model to begin from that did not see these texts");
    config.vocab = toy_vocabulary();
    trained(config, private);
    const json_t *dp = member_of(private, "result.json", "dp");
    const double epsilon = number_at(dp, "pld/epsilon"), delta = number_at(dp, "delta");
    config.init = private;
    config.vocab = NULL;
    refused(&config, "--target-delta: expected more than the cost of training the starting model");
    config.dp.target_delta = 1.9 * delta; /* delta is half of 1/N */
    config.overwrite = true;
    trained(config, next);
    dp = member_of(next, "result.json", "dp");
    cr_expect_float_eq(number_at(dp, "start/0"), epsilon, 1e-12 * epsilon);
    cr_expect_float_eq(number_at(dp, "start/1"), delta, 1e-12 * delta);
    cr_expect_gt(number_at(dp, "pld/epsilon"), epsilon);
}

Test(dp, what_tells_the_texts_otherwise_is_refused) {
    const char *text[] = {toy_text("private.txt", 10, 3)};
    struct nvdp__pretrain_options config = toy_config(text, support_scratch_path("refused"));
    toy_set(&config, "dp-sample-rate 0.2 dp-clip 1 dp-noise 1");
    config.vocab = NULL;
    refused(&config, "private training needs --init, --vocab or --vocab-dp-epsilon");
    toy_set(&config, "objective vanilla-mlm privatize santext eta 1");
    config.vocab = toy_vocabulary();
    config.init = "model";
    config.vocab = NULL;
    refused(&config, "objective: expected mlm or mlm+nsp");
}
