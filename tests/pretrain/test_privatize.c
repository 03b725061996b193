/* Tests privacy-adaptive pretraining: the privatized batch, its targets, whole runs. */
#include "toy_corpus.h"

#include "sanitize/sanitize.h"
#include <gsl/gsl_cdf.h>

enum { DIM = 6, TEXTS = 8, LENGTH = 24 };
static const double SHARE = 0.3;

struct bench {
    struct toy toy;
    float *table; /* [pieces, DIM] */
    struct nvdp__examples windows;
    struct nvdp__batcher batcher;
    struct nvdp__privatizer privatizer;
    const struct nvdp__masked *targets;
    int32_t before[TEXTS * LENGTH]; /* the masked batch */
};

static struct bench *open_bench(enum nvdp__token_mechanism mechanism,
                                enum nvdp__objective objective, double eta) {
    struct bench *b = calloc(1, sizeof *b);
    b->toy = toy_open(50);
    struct nvdp_context *ctx = b->toy.ctx;
    const size_t pieces = b->toy.pieces.count;
    const struct nvdp__noise noise = {.seed = 17};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    const struct nvdp__sanitizer_options options = {
        .mechanism = mechanism, .eta = mechanism == NVDP__TOKENS_RANDOM ? 0 : eta};
    b->table = calloc(pieces * DIM, sizeof *b->table);
    nvdp__stream_normals(&stream, pieces * DIM, b->table);
    b->windows.ctx = ctx;
    ok(nvdp__examples_windows(&b->windows, &b->toy.corpus, &b->toy.pieces, LENGTH, NULL, 0));
    ok(nvdp__batcher_create(ctx, &b->toy.corpus, &b->toy.pieces, TEXTS, LENGTH, SHARE, false,
                            &b->batcher));
    ok(nvdp__privatizer_create(ctx, &options, objective, b->toy.tokenizer, &b->toy.pieces, DIM,
                               b->table, TEXTS, LENGTH, nvdp__batcher_masked(TEXTS, LENGTH, SHARE),
                               &b->privatizer));
    return support_keep(b);
}

/* Fills the batch with windows first .. first + n, masked as in `step` and drawn by `key`. */
static void fill(struct bench *b, size_t first, size_t n, const struct nvdp__privacy_key *key) {
    const struct nvdp__mask_key mask = {
        .seed = 3, .purpose = NVDP__PURPOSE_MASK, .number = key->evaluation ? 0 : key->step};
    nvdp__batcher_fill(&b->batcher, &b->windows, NULL, first, n, &mask);
    memcpy(b->before, b->batcher.batch->ids, b->batcher.batch->tokens * sizeof *b->before);
    ok(nvdp__privatize(&b->privatizer, b->batcher.batch, &b->batcher.masked, key, &b->targets));
}

static const enum nvdp__token_mechanism mechanisms[] = {
    NVDP__TOKENS_LAPLACE, NVDP__TOKENS_LAPLACE_NEAREST, NVDP__TOKENS_SANTEXT, NVDP__TOKENS_RANDOM};

/* Finds the nearest regular piece by brute force. */
static int32_t nearest_piece(const struct bench *b, const float *vector) {
    double smallest = INFINITY;
    int32_t found = -1;
    for (size_t id = 0; id < b->toy.pieces.count; id++) {
        double square = 0;
        if (nvdp__sanitizer_token(b->privatizer.sanitizer, (int32_t)id) < 0) continue;
        for (size_t k = 0; k < DIM; k++)
            square += pow((double)vector[k] - (double)b->table[id * DIM + k], 2);
        if (square < smallest) found = (int32_t)id;
        smallest = fmin(smallest, square);
    }
    return found;
}

/* Special tokens stay and all others are drawn, including those left unchanged and those
 * replaced by random pieces. Targets follow the objective. */
Test(privatize, input_and_targets) {
    for (size_t m = 0; m < sizeof mechanisms / sizeof *mechanisms; m++)
        for (int objective = NVDP__OBJECTIVE_VANILLA; objective <= NVDP__OBJECTIVE_DENOISING;
             objective += 2) {
            struct bench *b = open_bench(mechanisms[m], (enum nvdp__objective)objective, 1);
            const struct nvdp__piece_table *pieces = &b->toy.pieces;
            const struct nvdp__batch *batch = b->batcher.batch;
            const struct nvdp__masked *masked = &b->batcher.masked;
            size_t tokens = 0, changed = 0, left = 0, elsewhere = 0;
            for (uint32_t step = 0; step < 20; step++) {
                fill(b, (size_t)step % 3, TEXTS,
                     &(struct nvdp__privacy_key){.seed = 1, .step = step});
                cr_assert_eq(batch->words != NULL, mechanisms[m] == NVDP__TOKENS_LAPLACE);
                for (size_t i = 0; i < batch->tokens; i++) {
                    const int32_t id = b->before[i];
                    const float *vector = batch->words != NULL ? batch->words + i * DIM : NULL;
                    const float *own = b->table + (size_t)id * DIM;
                    if (pieces->special[id] || vector != NULL) cr_assert_eq(batch->ids[i], id);
                    if (!pieces->special[id]) tokens++;
                    if (vector != NULL && pieces->special[id])
                        cr_assert_arr_eq(vector, own, DIM * sizeof *own);
                    else if (vector != NULL)
                        for (size_t k = 0; k < DIM; k++)
                            cr_assert_neq(vector[k], own[k]);
                    else
                        cr_assert(pieces->special[id] || !pieces->special[batch->ids[i]]);
                    changed += vector == NULL && batch->ids[i] != id;
                }
                cr_assert_eq(b->targets->count, masked->count);
                if (objective == NVDP__OBJECTIVE_DENOISING) {
                    cr_assert_eq(b->targets, masked);
                    continue;
                }
                cr_assert_eq(b->targets->labels, objective == NVDP__OBJECTIVE_PROB ? 10 : 1);
                for (size_t i = 0; i < masked->count * b->targets->labels; i++) {
                    const size_t row = (size_t)masked->row[i / b->targets->labels];
                    const int32_t label = b->targets->label[i];
                    cr_assert(label >= 0 && (size_t)label < pieces->count &&
                              !pieces->special[label]);
                    cr_assert_eq(b->targets->row[i / b->targets->labels], (int32_t)row);
                    const bool kept = b->before[row] == masked->label[i / b->targets->labels];
                    if (objective != NVDP__OBJECTIVE_VANILLA) continue;
                    left += kept;
                    elsewhere += !kept && label != masked->label[i];
                    if (kept && batch->words == NULL) cr_assert_eq(label, batch->ids[row]);
                    if (kept && batch->words != NULL)
                        cr_assert_eq(label, nearest_piece(b, batch->words + row * DIM));
                }
            }
            if (mechanisms[m] != NVDP__TOKENS_LAPLACE) cr_expect_gt(changed, tokens / 3);
            if (objective == NVDP__OBJECTIVE_VANILLA) {
                cr_expect_gt(left, 20);
                cr_expect_gt(elsewhere, 200);
            }
        }
}

Test(privatize, a_second_step_allocates_nothing) {
    for (size_t m = 0; m < sizeof mechanisms / sizeof *mechanisms; m++)
        for (int objective = NVDP__OBJECTIVE_VANILLA; objective <= NVDP__OBJECTIVE_DENOISING;
             objective += 2) {
            struct bench *b = open_bench(mechanisms[m], (enum nvdp__objective)objective, 1);
            fill(b, 0, TEXTS, &(struct nvdp__privacy_key){.seed = 1, .step = 3});
            nvdp__fail_allocation(b->toy.ctx, 1);
            fill(b, 0, TEXTS, &(struct nvdp__privacy_key){.seed = 1, .step = 3});
            nvdp__fail_allocation(b->toy.ctx, 0);
        }
}

/* Ten draws per label have the mechanism's exact distribution (chi-square over all labels of one
 * token, 1e-6), in the input, for unchanged tokens, and in the targets. */
Test(privatize, draws_have_the_distribution) {
    struct bench *b = open_bench(NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB, 2);
    const struct nvdp_sanitizer *sanitizer = b->privatizer.sanitizer;
    const size_t count = nvdp_vectors_count(nvdp_sanitizer_vectors(sanitizer));
    const int32_t x = nvdp__sanitizer_token(sanitizer, nvdp__corpus_id(&b->toy.corpus, 0));
    double *seen[2] = {calloc(count, sizeof **seen), calloc(count, sizeof **seen)};
    nvdp__autofree double *log_p = calloc(count, sizeof *log_p);
    double total[2] = {0};
    for (uint32_t step = 0; step < 150; step++) {
        fill(b, step % 5, TEXTS, &(struct nvdp__privacy_key){.seed = 5, .step = step});
        for (size_t i = 0; i < b->batcher.batch->tokens; i++) {
            if (b->before[i] != nvdp__sanitizer_piece(sanitizer, x)) continue;
            seen[0][nvdp__sanitizer_token(sanitizer, b->batcher.batch->ids[i])]++;
            total[0]++;
        }
        for (size_t i = 0; i < b->targets->count * 10; i++) {
            if (b->batcher.masked.label[i / 10] != nvdp__sanitizer_piece(sanitizer, x)) continue;
            seen[1][nvdp__sanitizer_token(sanitizer, b->targets->label[i])]++;
            total[1]++;
        }
    }
    ok(nvdp_dchi_log_probabilities(b->toy.ctx, nvdp_sanitizer_dchi(sanitizer), 1, &x, log_p));
    for (size_t k = 0; k < 2; k++) {
        double square = 0, rest = 0, rest_seen = 0, cells = 0;
        cr_assert_gt(total[k], 300);
        for (size_t y = 0; y < count; y++) {
            const double expected = total[k] * exp(log_p[y]);
            const bool few = expected < 5;
            rest += few ? expected : 0;
            rest_seen += few ? seen[k][y] : 0;
            square += few ? 0 : pow(seen[k][y] - expected, 2) / expected;
            cells += !few;
        }
        if (rest > 0) square += pow(rest_seen - rest, 2) / rest;
        cr_expect_gt(gsl_cdf_chisq_Q(square, fmax(cells + (rest > 0) - 1, 1)), 1e-6);
    }
    free(seen[0]);
    free(seen[1]);
}

/* The draws are the same on one thread and on two, and differ in another step. Draws of an
 * evaluation are the same in any batch, and differ from training's. */
Test(privatize, draws_have_their_keys) {
    for (size_t m = 0; m < 3; m++) {
        struct bench *b = open_bench(mechanisms[m], NVDP__OBJECTIVE_PROB, 1);
        const size_t labels = nvdp__batcher_masked(TEXTS, LENGTH, SHARE) * 10;
        int32_t ids[TEXTS * LENGTH];
        nvdp__autofree int32_t *first = calloc(labels, sizeof *first);
        nvdp__autofree float *words = calloc((size_t)TEXTS * LENGTH * DIM, sizeof *words);
        struct nvdp__privacy_key key = {.seed = 1, .step = 4};
        for (int variant = 0; variant < 5; variant++) {
            /* the first, on one thread, another step, another seed, evaluation */
            nvdp_context_set_threads(b->toy.ctx, variant == 1 ? 1 : 2);
            key.step = variant == 2 ? 5 : 4;
            key.seed = variant == 3 ? 2 : 1;
            key.evaluation = variant == 4;
            if (variant == 4) key.step = 0;
            fill(b, 0, TEXTS, &key);
            const struct nvdp__batch *batch = b->batcher.batch;
            const size_t n = batch->tokens;
            const bool same_input = batch->words != NULL
                                        ? memcmp(words, batch->words, n * DIM * sizeof *words) == 0
                                        : memcmp(ids, batch->ids, n * sizeof *ids) == 0;
            const bool same_targets =
                memcmp(first, b->targets->label, b->targets->count * 10 * sizeof *first) == 0;
            if (variant > 0) cr_expect_eq(same_input, variant == 1);
            if (variant > 0) cr_expect_eq(same_targets, variant == 1);
            if (variant > 0 && variant < 4) continue;
            memcpy(first, b->targets->label, b->targets->count * 10 * sizeof *first);
            memcpy(ids, batch->ids, n * sizeof *ids);
            if (batch->words != NULL) memcpy(words, batch->words, n * DIM * sizeof *words);
        }
        size_t at = (size_t)b->batcher.batch->offset[2], label = 0;
        while ((size_t)b->targets->row[label] < at)
            label++;
        key.first = 2;
        fill(b, 2, 1, &key);
        cr_expect_arr_eq(b->batcher.batch->ids, ids + at, b->batcher.batch->tokens * sizeof *ids);
        cr_expect_arr_eq(b->targets->label, first + label * 10,
                         b->targets->count * 10 * sizeof *first);
    }
}

/* ---- runs ---- */

/* Pretrains a small model to start from. */
static const char *start_from(struct nvdp_context *ctx, const char *const *text, size_t steps) {
    static char path[512];
    snprintf(path, sizeof path, "%s", support_scratch_path("init"));
    struct nvdp__pretrain_options config =
        toy_options(text, path, "hidden 32 batch 32 overwrite true");
    config.steps = steps;
    toy_train(ctx, &config);
    return path;
}

static struct nvdp__pretrain_options adaptive(const char *const *text, const char *init,
                                              enum nvdp__token_mechanism mechanism,
                                              enum nvdp__objective objective, double eta) {
    struct nvdp__pretrain_options config =
        toy_options(text, support_scratch_path("adaptive"), "overwrite true");
    config.init = init;
    config.objective = objective;
    config.sanitizer.mechanism = mechanism;
    config.sanitizer.eta = eta;
    return config;
}

static float *words_of(struct nvdp_context *ctx, const char *directory, size_t *count) {
    static const char name[] = "bert.embeddings.word_embeddings.weight";
    struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, support_path("%s/model.safetensors", directory), &file));
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    float *words = calloc(info->count, sizeof *words);
    nvdp__safetensors_read_f32(info, words);
    *count = info->count;
    nvdp__safetensors_close(file);
    return support_keep(words);
}

/* Returns the held-out loss on text that is privatized as in training. */
static double held_out(struct nvdp_context *ctx, struct nvdp__pretrain_options config,
                       const char *const *held, size_t steps) {
    config.steps = steps;
    config.eval_text = held;
    config.eval_texts = 1;
    const struct nvdp_pretrain_result result = toy_train(ctx, &config);
    if (steps > 0) cr_expect_float_eq(result.eval->nll, result.loss, 0.5);
    return result.eval->nll;
}

/* A model of plain text learns privatized text with every objective, and the word embeddings
 * neither change nor decay. */
Test(privatize, learns_and_leaves_the_words_alone) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 200, 1), *held = toy_text("held.txt", 60, 2);
    const char *init = start_from(ctx, &text, 300);
    size_t count, same;
    float *before = words_of(ctx, init, &count);
    static const struct {
        enum nvdp__token_mechanism mechanism;
        enum nvdp__objective objective;
        double eta;
    } runs[] = {{NVDP__TOKENS_LAPLACE, NVDP__OBJECTIVE_VANILLA, 20},
                {NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB, 4},
                {NVDP__TOKENS_LAPLACE_NEAREST, NVDP__OBJECTIVE_DENOISING, 8}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct nvdp__pretrain_options config =
            adaptive(&text, init, runs[i].mechanism, runs[i].objective, runs[i].eta);
        toy_set(&config, "batch 32 weight-decay 0.1");
        const double at_first = held_out(ctx, config, &held, 0);
        const double then = held_out(ctx, config, &held, 150);

        cr_expect_lt(then, at_first - 0.2, "%zu: %g %g", i, at_first, then);
        float *after = words_of(ctx, config.out, &same);
        cr_assert_eq(count, same);
        cr_expect_arr_eq(before, after, count * sizeof *before);
        nvdp__autoptr(json_decref) json_t *json = NULL;
        ok(nvdp__json_read(ctx, support_scratch_path("adaptive/config.json"), &json));
        const json_t *record = support_at(json, "nvdp_pretraining/privatize");
        cr_expect_str_eq(text_at(record, "mechanism"),
                         nvdp__token_mechanism_names[runs[i].mechanism]);
        cr_expect_eq(number_at(record, "eta"), runs[i].eta);
    }
}

static bool stop_at_once(void *user) {
    size_t *calls = user;
    return ++*calls % 7 == 0;
}

/* A run that is stopped every few steps and continued ends with the same bits. */
Test(privatize, resumes_to_the_same_bits) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1);
    const char *init = start_from(ctx, &text, 3);
    static const struct {
        enum nvdp__token_mechanism mechanism;
        enum nvdp__objective objective;
    } runs[] = {{NVDP__TOKENS_LAPLACE, NVDP__OBJECTIVE_VANILLA_NSP},
                {NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB},
                {NVDP__TOKENS_LAPLACE_NEAREST, NVDP__OBJECTIVE_DENOISING}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct nvdp__pretrain_options config =
            adaptive(&text, init, runs[i].mechanism, runs[i].objective, 100);
        const char *whole = support_scratch_path("whole");
        const char *parts = support_scratch_path("parts");
        config.steps = 20;
        config.out = whole;
        const double loss = toy_train(ctx, &config).loss;
        struct nvdp_pretrain_result result;
        size_t calls = 0, stops = 0;
        config.out = parts;
        nvdp_context_set_cancel(ctx, stop_at_once, &calls);
        while (toy_try(ctx, &config, &result) == NVDP_ERR_CANCELLED) {
            config = (struct nvdp__pretrain_options){.resume = parts};
            stops++;
        }
        nvdp_context_set_cancel(ctx, NULL, NULL);
        cr_expect_geq(stops, 2);
        cr_expect_eq(result.loss, loss);
        cr_assert(support_same_file(whole, parts, "model.safetensors"));
    }
    /* The start model has changed. */
    start_from(ctx, &text, 4);
    const struct nvdp__pretrain_options variant = {.resume = support_scratch_path("parts")};
    fails(toy_status(ctx, &variant), NVDP_ERR_INPUT,
          "expected the same word embeddings as at the beginning of the run");
}

Test(privatize, bad_configurations_are_refused) {
    struct nvdp_context *ctx = toy_context();
    const char *text = toy_text("train.txt", 30, 1);
    const struct nvdp__pretrain_options good =
        adaptive(&text, "x", NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB, 1);
    const struct {
        struct nvdp__pretrain_options config;
        const char *message;
    } bad[] = {
        {adaptive(&text, "x", NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_MLM, 1),
         "objective: expected vanilla-mlm, prob-mlm or denoising-mlm with privatize santext, found "
         "mlm"},
        {adaptive(&text, "x", NVDP__TOKENS_AS_THEY_ARE, NVDP__OBJECTIVE_PROB_NSP, 1),
         "objective: expected mlm or mlm+nsp with privatize none, found prob-mlm+nsp"},
        {adaptive(&text, NULL, NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB, 1),
         "init: privatize needs"},
        {adaptive(&text, "x", NVDP__TOKENS_SANTEXT, NVDP__OBJECTIVE_PROB, 0), "needs a finite"},
        {adaptive(&text, "x", NVDP__TOKENS_SANTEXT_PLUS, NVDP__OBJECTIVE_PROB, 1),
         "--sensitive-from"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(toy_status(ctx, &bad[i].config), NVDP_ERR_ARGUMENT, bad[i].message);
    cr_expect_neq(toy_status(ctx, &good), NVDP_ERR_ARGUMENT);
    /* a private line among the public ones; their owner declares them */
    struct nvdp__pretrain_options public =
        adaptive(&text, "x", NVDP__TOKENS_SANTEXT_PLUS, NVDP__OBJECTIVE_PROB, 1);
    public.sanitizer.sensitive_from = text;
    fails(toy_status(ctx, &public), NVDP_ERR_ARGUMENT, "private texts among them");
    public.sanitizer.public_independent = true;
    cr_expect_neq(toy_status(ctx, &public), NVDP_ERR_ARGUMENT);
    cr_expect(!nvdp__exists(good.out));
}
