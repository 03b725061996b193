/* Method word (word.h): forward and backward passes, and the row of the method.
 *
 * A word's vector is the same bits in every text, batch and team of threads: all its operations
 * are in a fixed order and read the states of the word's own pieces. The sum over words is one of
 * integers, so that its order does not matter.
 *
 * Before its weight and its clip, the vector is A x + a, with x the sum of the states of the word's
 * pieces. Without layers, these are rows of the checkpoint's table, which is trained like A and a
 * (--freeze-words keeps it). A second learned table of p numbers per piece would add nothing then:
 * if the p <= D rows of A are independent, moving a piece's row by d with A d = t moves A x by any
 * t. */
#include "vib/word.h"
#include "bert/row.h"
#include "mechanism/method.h"
#include "rdp/word.h"
#include "tensor/vector.h"
#include "text/tokenizer.h"
#include "vib/vib.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clip of a word's vector ---- */

/* The norm in double has a relative error of at most n 2^-53, n <= 2^20, so a vector scaled to
 * this norm, or left as it is below it, has a norm of at most 1. */
static const double BALL = 1 - 0x1p-30;

static double norm_of(size_t n, const double *t) {
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += t[i] * t[i];
    return sqrt(square);
}

double nvdp__word_round(size_t n, const double *t, int64_t *grid) {
    const double norm = norm_of(n, t);
    const double factor = !isfinite(norm) ? NAN : norm > BALL ? BALL / norm : 1;
    for (size_t i = 0; i < n; i++)
        grid[i] = isnan(factor) ? 0 : (int64_t)ldexp(t[i] * factor, NVDP__WORD_BITS);
    return factor;
}

/* dt = s (dy - t <t, dy> / |t|^2) for y = s t with s = BALL/|t|; dy inside the ball. */
void nvdp__word_clip_backward(size_t n, const double *t, double factor, double *dt) {
    const double norm = norm_of(n, t);
    double along = 0;
    if (factor == 1) return;
    if (isnan(factor)) {
        memset(dt, 0, n * sizeof *dt);
        return;
    }
    for (size_t i = 0; i < n; i++)
        along += t[i] / norm * dt[i];
    for (size_t i = 0; i < n; i++)
        dt[i] = factor * (dt[i] - along * t[i] / norm);
}

/* ---- the bottleneck ---- */

/* Memory of a thread. */
struct room {
    float *x;       /* [D] */
    double *t, *dt; /* [p] */
    int64_t *v, *s; /* [p] */
};

struct word {
    struct nvdp_context *ctx;
    struct nvdp__nvib_config config; /* resolved */
    struct nvdp__form form;
    size_t hidden_size, dim; /* D, p */
    struct nvdp__dense map, weight;
    struct nvdp__sample_rows rows;
    size_t max_tokens;
    void *memory; /* of `room` and the indices below */
    struct room *room;
    int32_t *word_offset;             /* [texts+1] words of each text */
    int32_t *start;                   /* [words] first token */
    int32_t *word_of;                 /* [tokens] word; -1 for the border */
    struct nvdp__posterior posterior; /* [texts,p] M */
    float *factor;                    /* [texts] of the sequence clip */
    bool *replaced;                   /* [texts] a word's vector was not finite */
    double *kept;                     /* [words,p] v_w, for an attacker; NULL: not kept */
    float *z, *pooled;                /* [texts,p] */
    /* training */
    float *x, *y, *g; /* [words,D], [words,p], [words] sums of states, A x + a, g x + g_0 */
    struct nvdp__posterior d;
    float *d_z, *d_y, *d_g, *d_x;
};

static const double MAX_CLIP = 1e6; /* above it, float rounds the noise away */

static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config) {
    struct nvdp__nvib_config made = nvdp__without_weights(config);
    if (isinf(made.clip.word))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method %s: expected {word-epsilon} E, the privacy of one word, or "
                          "{clip-word}, found neither",
                          mechanism->name);
    if (made.clip.word > MAX_CLIP)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{clip-word}: expected at most %g, found %g",
                          MAX_CLIP, made.clip.word);
    if (made.length_policy != NVDP_LENGTH_HIDDEN)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{length-policy}: method %s shares one vector per text: expected hidden, "
                          "found public",
                          mechanism->name);
    if (isinf(made.clip.sequence)) made.clip.sequence = nvdp__word_spare(made.clip.word);
    if (made.pool != NVDP_POOL_AUTO && made.pool != NVDP_POOL_FIRST)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pool: method %s shares one vector per text: expected auto, found %s",
                          mechanism->name, nvdp__pool_names[made.pool]);
    made.pool = NVDP_POOL_FIRST;
    if (made.latent_dim == 0) made.latent_dim = 2;
    NVDP_TRY(nvdp__nvib_config_check(ctx, &made, 1, bert->hidden_size, bert->num_attention_heads));
    *config = made;
    return NVDP_OK;
}

static void release(void *self) {
    struct word *word = self;
    if (word == NULL) return;
    nvdp__sample_rows_release(&word->rows);
    free(word->memory);
    free(word);
}
NVDP__AUTOPTR(struct word, release)

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    nvdp__autoptr(release) struct word *word = NULL;
    const unsigned flags = NVDP__PARAM_OPTIONAL;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    if (!bert->row->word_local)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method %s: expected an encoder whose state of a word depends on at most "
                          "{word-window} words on either side (words or word-windows), found %s",
                          mechanism->name, bert->row->title);
    if (bert->config.window != resolved.clip.window)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method %s: expected {word-window} %zu, that of the model, found %zu",
                          mechanism->name, bert->config.window, resolved.clip.window);
    word = nvdp__calloc(ctx, 1, sizeof *word);
    if (word == NULL) return NVDP_ERR_MEMORY;
    *word = (struct word){.ctx = ctx,
                          .config = resolved,
                          .form = nvdp__form_of(&resolved, false, true),
                          .hidden_size = bert->config.hidden_size,
                          .dim = resolved.latent_dim};
    NVDP_TRY(
        nvdp__declare_dense(params, "word.map", word->dim, word->hidden_size, flags, &word->map));
    NVDP_TRY(
        nvdp__declare_dense(params, "word.weight", 1, word->hidden_size, flags, &word->weight));
    NVDP__HAND_OVER(self, word);
    return NVDP_OK;
}

/* A random orthonormal map, and weights of 1. */
static nvdp_status initialize(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    struct word *word = self;
    (void)rows;
    (void)hidden;
    nvdp__params_fill(dev, params, word->weight.weight, 0);
    nvdp__params_fill(dev, params, word->weight.bias, (float)log(expm1(1)));
    return nvdp__means_initialize(word->ctx, dev, params, &word->map, word->config.mu_tau, seed, 0,
                                  NULL);
}

static struct nvdp__view view(const void *self) {
    const struct word *word = self;
    return (struct nvdp__view){word->dim, word->form, &word->posterior,
                               nvdp__sample_of(&word->rows, word->dim, word->z, NULL)};
}

/* ---- plan ---- */

/* Takes the next n values of `size` bytes from the block, or counts them; all begin at a multiple
 * of 64 bytes. */
static void *take(char *block, size_t *used, size_t n, size_t size) {
    void *at = block != NULL ? block + *used : NULL;
    *used += (n * size + 63) / 64 * 64;
    return at;
}

static void lay_out(struct word *word, size_t threads, size_t texts, size_t tokens, char *block,
                    size_t *used) {
    *used = 0;
    word->room = take(block, used, threads, sizeof *word->room);
    word->word_offset = take(block, used, texts + 1, sizeof *word->word_offset);
    word->start = take(block, used, tokens, sizeof *word->start);
    word->word_of = take(block, used, tokens, sizeof *word->word_of);
    word->replaced = take(block, used, texts, sizeof *word->replaced);
    for (size_t i = 0; i < threads; i++) {
        const struct room room = {.x = take(block, used, word->hidden_size, sizeof(float)),
                                  .t = take(block, used, word->dim, sizeof(double)),
                                  .dt = take(block, used, word->dim, sizeof(double)),
                                  .v = take(block, used, word->dim, sizeof(int64_t)),
                                  .s = take(block, used, word->dim, sizeof(int64_t))};
        if (block != NULL) word->room[i] = room;
    }
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct word *word = self;
    const size_t p = word->dim, d = word->hidden_size, threads = (size_t)dev->threads;
    const size_t words = nvdp__padded_rows(dev, max_tokens);
    size_t bytes;
    (void)longest;
    NVDP_TRY(nvdp__sample_rows_plan(word->ctx, &word->form, max_tokens, max_texts, &word->rows));
    free(word->memory);
    lay_out(word, threads, max_texts, max_tokens, NULL, &bytes);
    word->memory = nvdp__calloc(word->ctx, bytes, 1);
    if (word->memory == NULL) return NVDP_ERR_MEMORY;
    lay_out(word, threads, max_texts, max_tokens, word->memory, &bytes);
    word->max_tokens = max_tokens;
    word->posterior = (struct nvdp__posterior){.dim = p,
                                               .mu = nvdp__arena_take(arena, max_texts * p),
                                               .logvar = nvdp__arena_take(arena, max_texts * p)};
    word->factor = nvdp__arena_take(arena, max_texts);
    word->z = nvdp__arena_take(arena, max_texts * p);
    word->pooled = nvdp__arena_take(arena, max_texts * p);
    word->x = word->y = word->g = NULL; /* inference keeps none */
    if (!training) return NVDP_OK;
    nvdp__dense_plan(dev, arena, words, d, p);
    nvdp__dense_plan(dev, arena, words, d, 1);
    word->x = nvdp__arena_take(arena, words * d);
    word->y = nvdp__arena_take(arena, words * p);
    word->g = nvdp__arena_take(arena, words);
    word->d = (struct nvdp__posterior){.dim = p,
                                       .mu = nvdp__arena_take(arena, max_texts * p),
                                       .logvar = nvdp__arena_take(arena, max_texts * p)};
    word->d_z = nvdp__arena_take(arena, max_texts * p);
    word->d_y = nvdp__arena_take(arena, words * p);
    word->d_g = nvdp__arena_take(arena, words);
    word->d_x = nvdp__arena_take(arena, words * d);
    return NVDP_OK;
}

/* ---- forward ---- */

/* Numbers the words of a batch. */
static void find_words(struct word *word, const struct nvdp__batch *batch) {
    int32_t words = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        const size_t to = (size_t)batch->offset[b + 1];
        word->word_offset[b] = words;
        for (size_t t = (size_t)batch->offset[b], end; t < to; t = end) {
            const bool border = batch->types[t] == NVDP__WORD_BORDER;
            end = nvdp__word_end(batch->types, t, to);
            for (size_t k = t; k < end; k++)
                word->word_of[k] = border ? -1 : words;
            if (!border) word->start[words++] = (int32_t)t;
        }
    }
    word->word_offset[batch->texts] = words;
}

/* Sets x to the sum of the states of the word's pieces, t to A x + a, and returns g x + g_0. */
static double vector_of(const struct word *word, const struct nvdp__encoded *in, size_t w,
                        int32_t end, float *x, double *t) {
    const size_t d = word->hidden_size;
    const float *map = nvdp__value(in->params, word->map.weight);
    const float *bias = nvdp__value(in->params, word->map.bias);
    memcpy(x, in->hidden + (size_t)word->start[w] * d, d * sizeof *x);
    for (int32_t k = word->start[w] + 1; k < end && word->word_of[k] == (int32_t)w; k++)
        for (size_t i = 0; i < d; i++)
            x[i] += in->hidden[(size_t)k * d + i];
    for (size_t j = 0; j < word->dim; j++)
        t[j] = nvdp__dot_f64(d, map + j * d, x) + (double)bias[j];
    return nvdp__dot_f64(d, nvdp__value(in->params, word->weight.weight), x) +
           (double)*nvdp__value(in->params, word->weight.bias);
}

/* An integer coordinate, in standard deviations of the noise. */
static double units(const struct word *word, int64_t grid) {
    return word->config.clip.word * ldexp((double)grid, -NVDP__WORD_BITS);
}

/* Sets mu to S of text b. */
static void sum_words(const struct word *word, const struct nvdp__encoded *in, size_t b,
                      const struct room *room) {
    const size_t p = word->dim, d = word->hidden_size;
    float *mu = word->posterior.mu + b * p;
    memset(room->s, 0, p * sizeof *room->s);
    word->replaced[b] = false;
    for (size_t w = (size_t)word->word_offset[b]; w < (size_t)word->word_offset[b + 1]; w++) {
        float *x = word->x != NULL ? word->x + w * d : room->x;
        const double g = vector_of(word, in, w, in->batch->offset[b + 1], x, room->t);
        const double weight = nvdp__softplus(g);
        if (word->y != NULL) {
            for (size_t j = 0; j < p; j++)
                word->y[w * p + j] = (float)room->t[j];
            word->g[w] = (float)g;
        }
        for (size_t j = 0; j < p; j++)
            room->t[j] *= weight;
        word->replaced[b] |= isnan(nvdp__word_round(p, room->t, room->v));
        for (size_t j = 0; j < p; j++)
            room->s[j] += room->v[j];
        for (size_t j = 0; word->kept != NULL && j < p; j++)
            word->kept[w * p + j] = units(word, room->v[j]);
    }
    for (size_t j = 0; j < p; j++)
        mu[j] = (float)units(word, room->s[j]);
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct word *word = self;
    const struct nvdp__batch *batch = in->batch;
    NVDP_TRY(nvdp__sample_rows_fill(word->ctx, &word->form, batch, &word->rows));
    find_words(word, batch);
    word->posterior.rows = batch->texts;
    int team = nvdp__team(in->dev, batch->tokens * word->hidden_size * (word->dim + 1));
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (size_t b = 0; b < batch->texts; b++)
        sum_words(word, in, b, &word->room[omp_get_thread_num()]);
    nvdp__clip_sequence_forward(in->dev, word->config.clip.sequence, batch->texts,
                                word->rows.source_offset, &word->posterior, word->factor);
    return NVDP_OK;
}

static nvdp_status forward(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled) {
    struct word *word = self;
    NVDP_TRY(infer(word, in));
    nvdp__gauss_sample(in->dev, draw, &word->rows, &word->posterior, word->z);
    nvdp__copy(in->dev, word->rows.texts * word->dim, word->z, word->pooled);
    *pooled = word->pooled;
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct word *word = self;
    (void)params;
    NVDP_TRY(nvdp__sample_rows_check_single(word->ctx, &word->rows, word->dim, given));
    nvdp__copy(dev, given->rows * word->dim, given->z, word->pooled);
    *pooled = word->pooled;
    return NVDP_OK;
}

/* ---- backward ---- */

/* Propagates dS = d.mu of text b to d_y and d_g of its words. */
static void words_backward(const struct word *word, size_t b, const struct room *room) {
    const size_t p = word->dim;
    const float *d_sum = word->d.mu + b * p;
    for (size_t w = (size_t)word->word_offset[b]; w < (size_t)word->word_offset[b + 1]; w++) {
        const float *y = word->y + w * p;
        const double g = word->g[w], weight = nvdp__softplus(g);
        double along = 0;
        for (size_t j = 0; j < p; j++) {
            room->t[j] = weight * (double)y[j];
            room->dt[j] = word->config.clip.word * (double)d_sum[j];
        }
        const double factor = nvdp__word_round(p, room->t, room->v);
        nvdp__word_clip_backward(p, room->t, factor, room->dt);
        for (size_t j = 0; j < p; j++) {
            word->d_y[w * p + j] = isnan(factor) ? 0 : (float)(weight * room->dt[j]);
            along += (double)y[j] * room->dt[j];
        }
        word->d_g[w] = isnan(factor) ? 0 : (float)(along / (1 + exp(-g)));
    }
}

static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct word *word = self;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__sample_rows *layout = &word->rows;
    const size_t texts = layout->texts, p = word->dim, d = word->hidden_size;
    const size_t words = (size_t)word->word_offset[texts];
    const bool exact = word->config.regularizer == NVDP__REGULARIZER_KL;
    word->d.rows = texts;
    nvdp__zero(dev, texts * p, word->d.mu);
    nvdp__zero(dev, texts * p, word->d.logvar);
    nvdp__gauss_sample_backward(dev, layout, &word->posterior, word->z, d_pooled, &word->d);
    nvdp__gaussian_losses(dev, exact ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED, penalty->weight_g,
                          texts, layout->source_offset, &word->posterior, &word->d,
                          penalty->loss_g);
    memset(penalty->loss_d, 0, texts * sizeof *penalty->loss_d);
    nvdp__clip_sequence_backward(dev, texts, layout->source_offset, &word->posterior, word->factor,
                                 &word->d);
    int team = nvdp__team(dev, 16 * words * p);
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (size_t b = 0; b < texts; b++)
        words_backward(word, b, &word->room[omp_get_thread_num()]);
    struct nvdp__linear map = nvdp__dense_linear(in->params, &word->map, words);
    struct nvdp__linear weight = nvdp__dense_linear(in->params, &word->weight, words);
    map.offset = weight.offset = word->word_offset;
    map.f32 = weight.f32 = true;
    const struct nvdp__tensor x = nvdp__f32(words, d, word->x), dx = nvdp__f32(words, d, word->d_x);
    nvdp__dense_backward(dev, &map, x, nvdp__f32(words, p, word->d_y), dx, false);
    nvdp__dense_backward(dev, &weight, x, nvdp__f32(words, 1, word->d_g), dx, true);
    nvdp__rows_gather(dev, in->batch->tokens, d, word->word_of, word->d_x, d_hidden);
}

static size_t replaced(const void *self) {
    const struct word *word = self;
    size_t texts = 0;
    for (size_t b = 0; b < word->rows.texts; b++)
        texts += word->replaced[b] || isnan(word->factor[b]);
    return texts;
}

void nvdp__word_keep(void *self, double *vectors) {
    struct word *word = self;
    word->kept = vectors;
}

const struct nvdp__mechanism nvdp__mechanism_word = {.name = "word",
                                                     .private_ = true,
                                                     .resolve = resolve,
                                                     .create = create,
                                                     .release = release,
                                                     .initialize = initialize,
                                                     .plan = plan,
                                                     .view = view,
                                                     .forward = forward,
                                                     .infer = infer,
                                                     .forward_sample = forward_sample,
                                                     .backward = backward,
                                                     .replaced = replaced};

static bool always(const struct nvdp__nvib_config *config) {
    (void)config;
    return true;
}

static void limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    limits->clip_word = isinf(config->clip.word) ? 0 : config->clip.word;
    limits->word_window = (double)config->clip.window;
}

/* Texts are read whole, and a sample is one vector without weights or attention. */
static const char *const unread[] = {
    "encoder",        "max-length",     "latent-heads", "kappa",       "query",
    "weights",        "row-index",      "alpha-tau",    "prior-alpha", "delta",
    "clip-alpha-min", "clip-alpha-max", "vtdp-pool",    "vib-sigma",   NULL};

const struct nvdp__method nvdp__method_row_word = {
    .mechanism = &nvdp__mechanism_word,
    .description = "a sum of clipped word vectors per text, with Gaussian noise; private per word",
    .own_noise = true,
    .words = true,
    .encoder = "words",
    .window_encoder = "word-windows",
    .unread = unread,
    .single = always,
    .limits = limits};
