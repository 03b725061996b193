/* Method word: the bound per word on a real mechanism, gradients, and the same bits for a word
 * wherever it stands. */
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "rdp/word.h"
#include "support.h"
#include "text/tokenizer.h"
#include "vib/vib.h"

#include "test_context.h"

enum { WIDTH = 12, PIECES = 40, NUMBERS = 3, TEXTS = 8, LONGEST = 24, POSITIONS = 60 };

struct words {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__bert bert;
    struct nvdp__bert_cache cache;
    struct nvdp__params params;
    struct nvdp__nvib_config config;
    struct nvdp__arena arena;
    struct nvdp__batch *batch;
    void *self;
    float *d_hidden;
};

static const struct nvdp__mechanism *const word = &nvdp__mechanism_word;

/* The encoder over the words of a small model, with `window` words on either side of each; layers 0: its embeddings. */
static struct nvdp_bert_config encoder_of(size_t window, size_t layers, double dropout) {
    struct nvdp_bert_config base = nvdp__bert_config_default();
    const struct nvdp__over_words how = {.window = window, .layers = layers};
    base.hidden_size = WIDTH;
    base.num_attention_heads = 3;
    base.intermediate_size = 21; /* no multiple of a vector */
    base.max_position_embeddings = POSITIONS;
    base.vocab_size = PIECES;
    base.hidden_dropout_prob = base.attention_probs_dropout_prob = dropout;
    return nvdp__encoder_find(layers > 0 ? "word-windows" : "words")->over_words(&base, &how);
}

/* Both clips in standard deviations of the noise; `scale`: of the parameters. */
static struct words *build_dropout(int threads, const struct nvdp__word_clip *clip, size_t layers,
                                   double scale, double dropout) {
    const struct nvdp_bert_config config = encoder_of((size_t)clip->window, layers, dropout);
    struct words *w = support_keep(malloc(sizeof *w));
    *w = (struct words){.ctx = support_context()};
    ok(nvdp_context_set_threads(w->ctx, threads));
    w->config = nvdp__nvib_config_default();
    w->config.clip.word = clip->word;
    w->config.clip.sequence = clip->text;
    w->config.clip.window = config.window;
    w->config.stdev_tau = w->config.length = 1;
    w->config.latent_dim = NUMBERS;
    ok(nvdp__bert_device(w->ctx, &config, &w->dev));
    nvdp__params_init(&w->params, w->ctx);
    ok(nvdp__bert_declare(&w->bert, &config, false, &w->params));
    ok(word->create(word, w->ctx, &w->bert, &w->config, &w->params, &w->self));
    ok(nvdp__params_allocate(&w->params, true));
    for (size_t i = 0; i < w->params.count; i++)
        nvdp__params_normal(&w->dev, &w->params, i, scale, 7);
    ok(nvdp__bert_cache_create(w->ctx, &w->bert, NVDP__KEEP_TRAINING, &w->cache));
    for (int pass = 0; pass < 2; pass++) {
        const size_t tokens = TEXTS * LONGEST;
        nvdp__bert_plan(&w->bert, &w->dev, tokens, TEXTS, LONGEST, &w->arena, &w->cache);
        ok(word->plan(w->self, &w->dev, tokens, TEXTS, LONGEST, true, &w->arena));
        w->d_hidden = nvdp__arena_take(&w->arena, tokens * WIDTH);
        if (pass == 0) ok(nvdp__arena_allocate(w->ctx, &w->arena));
    }
    ok(nvdp__batch_create(w->ctx, TEXTS, LONGEST, &w->batch));
    nvdp__batch_clear(w->batch);
    return w;
}

static struct words *build_layers(int threads, const struct nvdp__word_clip *clip, size_t layers,
                                  double scale) {
    return build_dropout(threads, clip, layers, scale, 0);
}

/* With a layer for windows, else without. */
static struct words *build(int threads, const struct nvdp__word_clip *clip, double scale) {
    return build_layers(threads, clip, clip->window > 0 ? 1 : 0, scale);
}

static void clear(struct words *w) {
    nvdp__batch_clear(w->batch);
    memset(w->batch->types, 0, w->batch->token_capacity * sizeof *w->batch->types);
}

/* A text as numbers of words; word k < 30 is piece k, word k >= 30 the pieces k - 30, k and k. */
enum { SIMPLE = 30, WORDS = PIECES, BORDER = -1 };

static void put(struct words *w, int k) {
    const size_t at = w->batch->tokens;
    if (k == BORDER) {
        nvdp__batch_put(w->batch, 0);
        w->batch->types[at] = NVDP__WORD_BORDER;
        return;
    }
    nvdp__batch_put(w->batch, k < SIMPLE ? k : k - SIMPLE);
    for (int i = 0; k >= SIMPLE && i < 2; i++) {
        nvdp__batch_put(w->batch, k);
        w->batch->types[at + 1 + (size_t)i] = NVDP__WORD_CONTINUES;
    }
}

static void put_text(struct words *w, size_t n, const int *text) {
    for (size_t i = 0; i < n; i++)
        put(w, text[i]);
    nvdp__batch_end(w->batch, w->batch->texts);
}

static struct nvdp__encoded encoded(struct words *w, bool training) {
    const float dropout = (float)w->bert.config.hidden_dropout_prob;
    const struct nvdp__pass pass = {
        .training = training, .hidden_dropout = dropout, .attention_dropout = dropout};
    nvdp__bert_forward(&w->bert, &w->dev, &w->params, w->batch, &pass, &w->cache);
    return (struct nvdp__encoded){&w->dev, &w->params, w->batch,
                                  w->cache.hidden[w->bert.config.num_hidden_layers]};
}

/* The means of the batch's texts. */
static void means(struct words *w, double *mean) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *set = NULL;
    const struct nvdp__encoded in = encoded(w, false);
    ok(word->infer(w->self, &in));
    ok(nvdp_posteriors_create(w->ctx, w->batch->texts, w->batch->texts, NUMBERS, false, &set));
    for (size_t i = 0; i <= w->batch->texts; i++)
        set->offset[i] = i;
    ok(nvdp__posterior_store(w->ctx, word->view(w->self).posterior, 0, set));
    memcpy(mean, set->mu, w->batch->texts * NUMBERS * sizeof *mean);
}

static double distance(const double *a, const double *b) {
    double square = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        square += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(square);
}

/* ---- the bound ---- */

static size_t below(size_t n) {
    return (size_t)rand() % n;
}

static size_t append_words(int *text, size_t n, size_t count) {
    for (size_t i = 0; i < count; i++)
        text[n + i] = rand() % WORDS;
    return n + count;
}

/* Puts a random text, of one text or a pair, and the text after k adjacent words became `after` other words. */
static void put_change(struct words *w, size_t k, size_t after) {
    enum { PART = 3 };
    int text[2][2 * PART + 3];
    const size_t start = below(PART), end = below(PART),
                 border = below(8); /* 0, 1: in front of the change, behind it */
    size_t n = append_words(text[0], 0, start), m;
    if (border == 0) text[0][n++] = BORDER;
    n = append_words(text[0], n, below(2));
    memcpy(text[1], text[0], n * sizeof **text);
    m = append_words(text[1], n, after);
    n = append_words(text[0], n, k);
    const size_t tail = n;
    if (border == 1) text[0][n++] = BORDER;
    n = append_words(text[0], n, end);
    memcpy(text[1] + m, text[0] + tail, (n - tail) * sizeof **text);
    put_text(w, n, text[0]);
    put_text(w, m + n - tail, text[1]);
}

/* Random texts in which up to two adjacent words become up to two others, in half of the cases one word another one.
 * Most of the clips bind. */
static void change_words(double window, size_t changes) {
    static const double clip[][2] = {{0.1, 1000}, {0.1, 0.25}, {2, 3}, {1e-3, 10}, {5, 1e4}};
    const double scale[] = {0.05, 0.5, 3};
    size_t done = 0;
    srand(5);
    for (size_t i = 0; i < 15; i++) {
        const struct nvdp__word_clip bound = {clip[i % 5][0], clip[i % 5][1], window};
        double largest = 0;
        struct words *w = build(1, &bound, scale[i / 5]);
        for (; done < changes * (i + 1) / 15; done += TEXTS / 2) {
            double mean[TEXTS * NUMBERS], mu[TEXTS];
            clear(w);
            for (size_t pair = 0; pair < TEXTS; pair += 2) {
                const bool one = below(2) == 0;
                const size_t k = one ? 1 : below(3), after = one ? 1 : k == 0 ? 1 : below(3);
                put_change(w, k, after);
                mu[pair] = nvdp__word_mu(&bound, k, after, 1);
            }
            means(w, mean);
            for (size_t k = 0; k < TEXTS; k += 2)
                largest =
                    fmax(largest, distance(mean + k * NUMBERS, mean + (k + 1) * NUMBERS) / mu[k]);
        }
        cr_expect_leq(largest, 1, "clips %g and %g", bound.word, bound.text);
    }
}

Test(word, no_change_of_a_word_exceeds_the_bound) {
    change_words(0, 200000);
}

Test(word, no_change_of_a_word_in_windows_exceeds_the_bound) {
    for (int window = 1; window <= 3; window++)
        change_words(window, support_repeats("NVDP_TRIES", support_fewer(35000)));
}

/* Gradient ascent on all parameters, away from a text whose one word is replaced. */
static void ascend(double window, double share) {
    const struct nvdp__word_clip bound = {0.4, 20, window};
    double mean[2 * NUMBERS], reached = 0;
    struct words *w = build(1, &bound, 0.7);
    put_text(w, 9, (int[]){5, 8, 7, 1, 2, 31, 9, 6, 3});
    put_text(w, 9, (int[]){5, 8, 7, 1, 4, 31, 9, 6, 3});
    for (int step = 0; step < 300; step++) {
        double loss[2 * TEXTS];
        float eps[2 * NUMBERS] = {0}, d[2 * NUMBERS], *pooled;
        const struct nvdp__pass pass = {.training = true};
        const struct nvdp__penalty penalty = {0, 0, loss, loss + TEXTS};
        const struct nvdp__draw draw = {.eps = eps};
        struct nvdp__encoded in = encoded(w, true);
        nvdp__grad_begin(&w->dev, &w->params);
        ok(word->forward(w->self, &in, &draw, &pooled));
        means(w, mean);
        reached = distance(mean, mean + NUMBERS);
        cr_assert_leq(reached, nvdp__word_mu(&bound, 1, 1, 1));
        for (size_t i = 0; i < NUMBERS; i++) {
            d[i] = (float)((mean[i] - mean[NUMBERS + i]) / reached);
            d[NUMBERS + i] = -d[i];
        }
        word->backward(w->self, &in, &penalty, d, w->d_hidden);
        nvdp__bert_backward(&w->bert, &w->dev, &w->params, w->batch, &pass, &w->cache, w->d_hidden);
        for (size_t i = 0; i < w->params.count; i++)
            for (size_t k = 0; k < w->params.entry[i].count; k++)
                nvdp__value(&w->params, i)[k] += 0.5F * nvdp__grad(&w->params, i)[k];
    }
    cr_expect_geq(reached, share * nvdp__word_mu(&bound, 1, 1, 1), "window %g: %g", window,
                  reached);
}

Test(word, ascent_reaches_the_bound_and_no_more) {
    for (int window = 0; window <= 3; window++)
        ascend(window, 0.95);
}

/* ---- the same bits everywhere ---- */

static void same_bits(double window, double dropout) {
    const struct nvdp__word_clip clip = {0.3, 1.1, window};
    double alone[2][NUMBERS], mean[TEXTS * NUMBERS];
    static const int text[2][6] = {{3, 35, 7, 35, 12, 39}, {39, 7, 35, 3, 12, 35}};
    for (int threads = 1; threads <= 4; threads++) {
        struct words *w = build_dropout(threads, &clip, window > 0, 0.5, dropout);
        for (int k = 0; threads == 1 && k < 2; k++) {
            clear(w);
            put_text(w, 6, text[k]);
            means(w, alone[k]);
            cr_expect_gt(fabs(alone[k][0]), 0);
        }
        for (size_t place = 0; place < TEXTS; place++) {
            clear(w);
            for (size_t i = 0; i < TEXTS; i++)
                if (i == place)
                    put_text(w, 6, text[place % 2]);
                else
                    put_text(w, i % 5, (int[]){31, 2, 38, 4, 5});
            means(w, mean);
            cr_expect_arr_eq(mean + place * NUMBERS, alone[place % 2], sizeof *alone);
        }
    }
    /* without windows, the order of the words changes nothing */
    cr_expect_eq(memcmp(alone[0], alone[1], sizeof *alone) == 0, window == 0);
}

Test(word, a_text_has_the_same_bits_in_any_batch_and_team) {
    for (int window = 0; window <= 2; window++)
        same_bits(window, 0);
}

/* A release drops nothing: the model's dropout is that of training. */
Test(word, a_release_has_no_dropout) {
    const struct nvdp__word_clip clip = {0.3, 1.1, 1};
    const size_t size = 6 * WIDTH * sizeof(float);
    float state[2][6 * WIDTH];
    for (int window = 0; window <= 2; window++)
        same_bits(window, 0.1);
    for (int dropout = 0; dropout < 2; dropout++) {
        struct words *w = build_dropout(1, &clip, 1, 0.5, dropout ? 0.1 : 0);
        put_text(w, 6, (int[]){3, 5, 7, 5, 12, 9});
        memcpy(state[dropout], encoded(w, false).hidden, size);
        const float *trained = encoded(w, true).hidden;
        double off = 0;
        for (size_t k = 0; k < 6 * WIDTH; k++)
            off = fmax(off, fabs(trained[k] - state[dropout][k]));
        cr_expect_eq(off > 0.01, dropout, "%g", off);
    }
    cr_expect_arr_eq(state[0], state[1], size);
}

/* A token's state has the same bits while the words of its window stay, and other bits if one of them changes. The
 * border counts as a word. A neighbor counts with its first eight pieces. */
Test(word, a_state_depends_on_its_window_alone) {
    enum { LENGTH = 7, LONG = 11 };
    const size_t dim = WIDTH * sizeof(float);
    for (size_t window = 0; window <= 2; window++) {
        const struct nvdp__word_clip clip = {1, 10, (double)window};
        float state[LENGTH * WIDTH];
        static const int text[LENGTH] = {3, 7, BORDER, 4, 9, 12, 5};
        struct words *w = build_layers(1, &clip, 1, 0.5);
        put_text(w, LENGTH, text);
        memcpy(state, encoded(w, false).hidden, sizeof state);
        for (size_t changed = 0; changed < LENGTH; changed++) {
            if (text[changed] == BORDER) continue;
            w->batch->ids[changed] = 20;
            const float *now = encoded(w, false).hidden;
            w->batch->ids[changed] = text[changed];
            for (size_t i = 0; i < LENGTH; i++) {
                const bool near = (i > changed ? i - changed : changed - i) <= window;
                if (text[i] != BORDER)
                    cr_expect_eq(memcmp(now + i * WIDTH, state + i * WIDTH, dim) != 0, near,
                                 "word %zu after a change of %zu", i, changed);
            }
        }
        clear(w);
        put(w, 3);
        for (int k = 0; k < LONG; k++) {
            nvdp__batch_put(w->batch, 8 + k);
            w->batch->types[1 + k] = k > 0 ? NVDP__WORD_CONTINUES : NVDP__WORD_BEGINS;
        }
        nvdp__batch_end(w->batch, 0);
        memcpy(state, encoded(w, false).hidden, dim);
        w->batch->ids[9] = 30;
        cr_expect_arr_eq(encoded(w, false).hidden, state, dim);
        w->batch->ids[8] = 30;
        cr_expect_eq(memcmp(encoded(w, false).hidden, state, dim) != 0, window > 0);
    }
}

/* The states of a text of sizes at which attention and products take their fast paths and threads share the work, among
 * so many others that its windows are in several runs of the layers. */
static void states_of_many(int threads, size_t others, size_t place, float *states) {
    enum { WIDE = 64, WORDS_OF_A_TEXT = 16 };
    struct nvdp_bert_config base = nvdp__bert_config_default();
    const struct nvdp__over_words how = {.window = 2, .layers = 2};
    nvdp__auto(nvdp__device_release) struct nvdp__device dev;
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    nvdp__auto(nvdp__bert_release) struct nvdp__bert bert;
    nvdp__auto(nvdp__bert_cache_release) struct nvdp__bert_cache cache;
    struct nvdp__arena arena = {0};
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    const struct nvdp__pass pass = {0};
    base.hidden_size = WIDE;
    base.num_attention_heads = 4;
    base.intermediate_size = 2 * WIDE;
    base.vocab_size = PIECES;
    const struct nvdp_bert_config config =
        nvdp__encoder_find("word-windows")->over_words(&base, &how);
    ok(nvdp_context_set_threads(ctx, threads));
    ok(nvdp__bert_device(ctx, &config, &dev));
    nvdp__params_init(&params, ctx);
    ok(nvdp__bert_declare(&bert, &config, false, &params));
    ok(nvdp__params_allocate(&params, false));
    for (size_t i = 0; i < params.count; i++)
        nvdp__params_normal(&dev, &params, i, 0.2, 7);
    ok(nvdp__bert_cache_create(ctx, &bert, NVDP__KEEP_LAST, &cache));
    const size_t texts = others + 1, tokens = texts * WORDS_OF_A_TEXT;
    for (int part = 0; part < 2; part++) {
        nvdp__bert_plan(&bert, &dev, tokens, texts, WORDS_OF_A_TEXT, &arena, &cache);
        if (part == 0) ok(nvdp__arena_allocate(ctx, &arena));
    }
    ok(nvdp__batch_create(ctx, texts, WORDS_OF_A_TEXT, &batch));
    nvdp__batch_clear(batch);
    for (size_t t = 0; t < texts; t++) {
        for (size_t k = 0; k < WORDS_OF_A_TEXT; k++)
            nvdp__batch_put(batch, (int32_t)(t == place ? 7 * k % PIECES : (t + 3 * k) % PIECES));
        nvdp__batch_end(batch, t);
    }
    nvdp__bert_forward(&bert, &dev, &params, batch, &pass, &cache);
    memcpy(states, cache.hidden[config.num_hidden_layers] + place * WORDS_OF_A_TEXT * WIDE,
           WORDS_OF_A_TEXT * WIDE * sizeof *states);
    nvdp__arena_release(&arena);
}

Test(word, states_have_the_same_bits_among_many_texts) {
    static float alone[1024], among[1024];
    states_of_many(1, 0, 0, alone);
    for (int threads = 1; threads <= 3; threads++)
        for (size_t place = 0; place < 90; place += 29) {
            states_of_many(threads, 90, place, among);
            cr_expect_arr_eq(among, alone, sizeof alone, "%d threads, text %zu", threads, place);
        }
}

Test(word, empty_texts_borders_and_pieces) {
    for (int window = 0; window <= 2; window++) {
        double mean[4 * NUMBERS];
        struct words *w = build(2, &(struct nvdp__word_clip){0.3, 100, window}, 0.5);
        put_text(w, 0, NULL);
        put_text(w, 4, (int[]){3, 35, 4, 36});
        put_text(w, 5, (int[]){3, 35, BORDER, 4, 36});
        put_text(w, 1, (int[]){BORDER});
        means(w, mean);
        for (size_t i = 0; i < NUMBERS; i++) {
            cr_expect_eq(mean[i], 0);
            cr_expect_eq(mean[3 * NUMBERS + i], 0);
        }
        /* a border stands in windows, and has none of its own */
        cr_expect_eq(memcmp(mean + NUMBERS, mean + 2 * NUMBERS, NUMBERS * sizeof *mean) == 0,
                     window == 0);
    }
}

Test(word, numbers_that_are_not_finite_add_nothing) {
    double mean[2 * NUMBERS];
    struct words *w = build(1, &(struct nvdp__word_clip){0.3, 100, 0}, 0.5);
    put_text(w, 2, (int[]){3, 5});
    put_text(w, 1, (int[]){3});
    nvdp__value(&w->params, w->bert.word)[5 * WIDTH] = NAN;
    nvdp__weights_changed(&w->dev);
    means(w, mean);
    cr_expect_arr_eq(mean, mean + NUMBERS, NUMBERS * sizeof *mean);
    cr_expect_eq(word->replaced(w->self), 1);
}

/* ---- gradients ---- */

/* The rounded vector has a norm of at most 1, exactly: the sum of the squares is compared in
 * integers. */
Test(word, a_rounded_vector_stays_in_the_ball) {
    srand(9);
    for (int i = 0; i < 200000; i++) {
        double t[NUMBERS];
        int64_t grid[NUMBERS];
        __int128 square = 0;
        const double scale = pow(10, rand() % 13 - 6);
        for (size_t k = 0; k < NUMBERS; k++)
            t[k] = scale * (2.0 * rand() / RAND_MAX - 1);
        nvdp__word_round(NUMBERS, t, grid);
        for (size_t k = 0; k < NUMBERS; k++)
            square += (__int128)grid[k] * grid[k];
        cr_assert(square <= (__int128)1 << (2 * NVDP__WORD_BITS));
    }
}

Test(word, gradient_of_the_clip) {
    const double step = 1e-4;
    srand(3);
    for (int i = 0; i < 500; i++) {
        double t[NUMBERS], d[NUMBERS], dt[NUMBERS];
        int64_t grid[NUMBERS], up[NUMBERS], down[NUMBERS];
        for (size_t k = 0; k < NUMBERS; k++) {
            t[k] = (i % 2 == 0 ? 0.5 : 3) * (2.0 * rand() / RAND_MAX - 1);
            d[k] = dt[k] = 1.0 * rand() / RAND_MAX - 0.5;
        }
        const double factor = nvdp__word_round(NUMBERS, t, grid);
        if (fabs(factor - 1) < 0.01 && factor != 1) continue; /* at the edge */
        nvdp__word_clip_backward(NUMBERS, t, factor, dt);
        for (size_t k = 0; k < NUMBERS; k++) {
            double sum = 0, before = t[k];
            t[k] = before + step;
            const double one = nvdp__word_round(NUMBERS, t, up);
            t[k] = before - step;
            const double other = nvdp__word_round(NUMBERS, t, down);
            t[k] = before;
            if ((one == 1) != (other == 1)) continue;
            for (size_t j = 0; j < NUMBERS; j++)
                sum += d[j] * ldexp((double)(up[j] - down[j]), -NVDP__WORD_BITS) / (2 * step);
            near(dt[k], sum, 2e-5);
        }
    }
}

/* The whole mechanism and its encoder against central differences of a loss: both clips bind in
 * some texts and not in others. */
static void gradients(double clip, double text, double window) {
    float eps[4 * NUMBERS], d[4 * NUMBERS], direction[4 * NUMBERS], *pooled;
    double loss[2 * TEXTS];
    const struct nvdp__pass pass = {.training = true};
    const struct nvdp__penalty penalty = {0, 0, loss, loss + TEXTS};
    const struct nvdp__draw draw = {.eps = eps};
    const float step = 2e-3F;
    size_t checked = 0;
    struct words *w = build(1, &(struct nvdp__word_clip){clip, text, window}, 0.3);
    put_text(w, 4, (int[]){3, 35, 4, 3});
    put_text(w, 1, (int[]){36});
    put_text(w, 0, NULL);
    put_text(w, 5, (int[]){8, 35, BORDER, 4, 9});
    for (size_t i = 0; i < 4 * NUMBERS; i++) {
        eps[i] = (float)sin((double)i);
        d[i] = direction[i] = (float)cos(3 * (double)i);
    }
    struct nvdp__encoded in = encoded(w, true);
    nvdp__grad_begin(&w->dev, &w->params);
    ok(word->forward(w->self, &in, &draw, &pooled));
    word->backward(w->self, &in, &penalty, d, w->d_hidden);
    nvdp__bert_backward(&w->bert, &w->dev, &w->params, w->batch, &pass, &w->cache, w->d_hidden);
    for (size_t i = 0; i < w->params.count; i++)
        for (size_t k = 0; k < w->params.entry[i].count; k++) {
            float *value = nvdp__value(&w->params, i) + k, before = *value;
            double side[2] = {0};
            for (int s = 0; s < 2; s++) {
                *value = before + (s == 0 ? step : -step);
                in = encoded(w, true);
                ok(word->forward(w->self, &in, &draw, &pooled));
                for (size_t j = 0; j < 4 * NUMBERS; j++)
                    side[s] += (double)direction[j] * pooled[j];
            }
            *value = before;
            const double want = (side[0] - side[1]) / (2 * (double)step);
            const double got = nvdp__grad(&w->params, i)[k];
            /* float means, of about 1e-7, over the step */
            near(got, want, 2e-3 * clip + 1e-2 * fabs(want), "%s[%zu]", w->params.entry[i].name, k);
            checked += fabs(want) > 1e-3 * clip;
        }
    cr_expect_gt(checked, 40);
}

Test(word, gradients_within_the_clips) {
    gradients(0.5, 100, 0);
    gradients(0.5, 100, 1);
}

Test(word, gradients_of_the_projection) {
    gradients(0.5, 0.3, 0);
    gradients(0.5, 0.3, 2);
}

/* ---- what it refuses ---- */

Test(word, refusals) {
    struct nvdp_bert_config bert = nvdp__bert_config_default();
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    struct nvdp__params params;
    struct nvdp__bert encoder;
    void *self = NULL;
    bert.hidden_size = 8;
    bert.num_attention_heads = bert.num_hidden_layers = 1;
    bert.vocab_size = 10;
    config.length = 1;
    config.stdev_tau = 1;
    fails(word->resolve(word, ctx, &bert, &config), NVDP_ERR_ARGUMENT, "expected --word-epsilon E");
    config.clip.word = 1;
    ok(word->resolve(word, ctx, &bert, &config));
    cr_expect_eq(config.clip.sequence, nvdp__word_spare(1));
    nvdp__params_init(&params, ctx);
    ok(nvdp__bert_declare(&encoder, &bert, false, &params));
    fails(word->create(word, ctx, &encoder, &config, &params, &self), NVDP_ERR_ARGUMENT,
          "(words or word-windows), found a BERT");
    nvdp__bert_release(&encoder);
    nvdp__params_release(&params);
    nvdp__params_init(&params, ctx);
    bert = encoder_of(2, 1, 0);
    ok(nvdp__bert_declare(&encoder, &bert, false, &params));
    fails(word->create(word, ctx, &encoder, &config, &params, &self), NVDP_ERR_ARGUMENT,
          "expected --word-window 2, that of the model, found 0");
    nvdp__bert_release(&encoder);
    bert.window = 3;
    bert.window_positions = 6;
    fails(nvdp__bert_config_check(ctx, &bert), NVDP_ERR_ARGUMENT,
          "expected at most 2 words on either side for 6");
    bert.window_positions = 7;
    bert.window_type = NVDP_MODEL_MODERNBERT;
    fails(nvdp__bert_config_check(ctx, &bert), NVDP_ERR_ARGUMENT,
          "expected an encoder of BERT's family");
    nvdp__params_release(&params);
}
