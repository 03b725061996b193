/* Method word (vib.h): forward and backward passes, and the row of the method.
 *
 * A word's vector has the same bits in every text, batch and team of threads: all operations are in
 * a fixed order and read only the states of the word's own pieces. The sum over words is a sum of
 * integers, so the order of the words does not matter.
 *
 * Before weight and clip, the vector is A x + a, with x the sum of the states of the word's
 * pieces. Without layers, these are rows of the checkpoint's table, which is trained like A and
 * a (--freeze-words keeps it). A second learned table of p numbers per piece would add nothing
 * then: if the p <= D rows of A are independent, moving a piece's row by d with A d = t moves A
 * x by any t. */
#include "rdp/word.h"
#include "encoder/row.h"
#include "mechanism/mechanism.h"
#include "tensor/vector.h"
#include "text/tokenizer.h"
#include "vib/vib.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- the clip of a word's vector ---- */

/* The norm in double has a relative error of at most n 2^-53, n <= 2^20. A vector that is scaled
 * to the norm BALL, or left as it is below BALL, therefore has a norm of at most 1. */
static const double BALL = 1 - 0x1p-30;

static double vector_norm(size_t n, const double *t) {
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += t[i] * t[i];
    return sqrt(square);
}

double nvdp__word_round(size_t n, const double *t, int64_t *grid) {
    const double norm = vector_norm(n, t);
    const double factor = !isfinite(norm) ? NAN : norm > BALL ? BALL / norm : 1;
    for (size_t i = 0; i < n; i++)
        grid[i] = isnan(factor) ? 0 : (int64_t)ldexp(t[i] * factor, NVDP__WORD_BITS);
    return factor;
}

/* dt = s (dy - t <t, dy> / |t|^2) for y = s t with s = BALL/|t|; dt = dy inside the ball. */
void nvdp__word_clip_backward(size_t n, const double *t, double factor, double *dt) {
    const double norm = vector_norm(n, t);
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

/* Scratch buffers of one thread. */
struct room {
    float *x;       /* [D] sum of the states of a word's pieces */
    double *t, *dt; /* [p] the vector before the clip; the gradient of this vector */
    int64_t *v, *s; /* [p] the rounded vector; the sum over words */
};

struct word {
    struct nvdp__gauss gauss; /* the layer `mu` is A, a */
    struct nvdp__dense weight;
    struct nvdp__memory memory; /* owner of `room` and of the indices below */
    struct room *room;          /* [threads] scratch buffers */
    int32_t *word_offset;       /* [texts+1] first word of each text */
    int32_t *start;             /* [words] first token of each word */
    int32_t *word_of;           /* [tokens] word of each token; -1 for the border */
    bool *replaced;             /* [texts] true if the vector of some word was not finite */
    double *kept;               /* [words,p] v_w, for an attacker; NULL if not wanted */
    /* in training */
    float *x, *y, *g; /* [words,D], [words,p], [words]: sums of states, A x + a, g x + g_0 */
    float *d_y, *d_g, *d_x;
};

static const double MAX_CLIP = 1e6; /* above this clip, float rounds the noise away */

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
        return nvdp__blame_value(
            ctx, "pool",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "pool: method %s shares one vector per text: expected auto, found %s",
                       mechanism->name, nvdp__pool_names[made.pool]));
    made.pool = NVDP_POOL_FIRST;
    if (made.latent_dim == 0) made.latent_dim = 2;
    NVDP_TRY(nvdp__nvib_config_check(ctx, &made, 1, bert->hidden_size, bert->num_attention_heads));
    *config = made;
    return NVDP_OK;
}

static void release(void *self) {
    struct word *word = self;
    if (word == NULL) return;
    nvdp__memory_release(&word->memory);
    nvdp__gauss_release(word);
}
NVDP__AUTOPTR(struct word, release)

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    nvdp__autoptr(release) struct word *word = NULL;
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
    word->gauss =
        nvdp__gauss_make(mechanism, ctx, bert, &resolved, (struct nvdp__form){.single = true});
    NVDP_TRY(nvdp__means_declare(&word->gauss, params, "word.map"));
    NVDP_TRY(nvdp__declare_dense(params, "word.weight", 1, bert->config.hidden_size,
                                 NVDP__PARAM_OPTIONAL, &word->weight));
    return NVDP__HAND_OVER(self, word);
}

/* Initializes A by a random orthonormal map, and all weights by 1. */
static nvdp_status initialize(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    struct word *word = self;
    (void)rows;
    (void)hidden;
    nvdp__params_fill(dev, params, word->weight.weight, 0);
    nvdp__params_fill(dev, params, word->weight.bias, (float)log(expm1(1)));
    return nvdp__gauss_initialize(&word->gauss, dev, params, seed, 0, NULL);
}

/* ---- plan ---- */

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct word *word = self;
    struct nvdp__gauss *g = &word->gauss;
    const size_t p = g->dim, d = g->hidden_size, threads = (size_t)dev->threads;
    const size_t words = nvdp__padded_rows(dev, max_tokens);
    (void)longest;
    NVDP_TRY(nvdp__gauss_plan(g, dev, max_tokens, max_texts, training, arena));
    nvdp__memory_release(&word->memory);
    NVDP_TRY(NVDP__ARRAYS(
        g->ctx, &word->memory, NVDP__ITEMS(word->room, threads),
        NVDP__ITEMS(word->word_offset, max_texts + 1), NVDP__ITEMS(word->start, max_tokens),
        NVDP__ITEMS(word->word_of, max_tokens), NVDP__ITEMS(word->replaced, max_texts)));
    for (struct room *room = word->room; room < word->room + threads; room++)
        NVDP_TRY(NVDP__ARRAYS(g->ctx, &word->memory, NVDP__ITEMS(room->x, d),
                              NVDP__ITEMS(room->t, p), NVDP__ITEMS(room->dt, p),
                              NVDP__ITEMS(room->v, p), NVDP__ITEMS(room->s, p)));
    g->pooled = nvdp__arena_take(arena, max_texts * p);
    word->x = word->y = word->g = NULL; /* inference keeps no activations */
    if (!training) return NVDP_OK;
    nvdp__dense_plan(dev, arena, words, d, p);
    nvdp__dense_plan(dev, arena, words, d, 1);
    NVDP__TAKE(arena, {&word->x, words * d}, {&word->y, words * p}, {&word->g, words},
               {&word->d_y, words * p}, {&word->d_g, words}, {&word->d_x, words * d});
    return NVDP_OK;
}

/* ---- forward ---- */

/* Sets x to the sum of the states of the word's pieces and t to A x + a; returns g x + g_0. */
static double map_word(const struct word *word, const struct nvdp__encoded *in, size_t w,
                       int32_t end, float *x, double *t) {
    const size_t d = word->gauss.hidden_size;
    const float *map = nvdp__value(in->params, word->gauss.mu.weight);
    const float *bias = nvdp__value(in->params, word->gauss.mu.bias);
    memcpy(x, in->hidden + (size_t)word->start[w] * d, d * sizeof *x);
    for (int32_t k = word->start[w] + 1; k < end && word->word_of[k] == (int32_t)w; k++)
        for (size_t i = 0; i < d; i++)
            x[i] += in->hidden[(size_t)k * d + i];
    for (size_t j = 0; j < word->gauss.dim; j++)
        t[j] = nvdp__dot_f64(d, map + j * d, x) + (double)bias[j];
    return nvdp__dot_f64(d, nvdp__value(in->params, word->weight.weight), x) +
           (double)*nvdp__value(in->params, word->weight.bias);
}

/* Converts an integer coordinate to standard deviations of the noise. */
static double noise_units(const struct word *word, int64_t grid) {
    return word->gauss.config.clip.word * ldexp((double)grid, -NVDP__WORD_BITS);
}

/* Sets mu to S of text b. */
static void sum_words(const struct word *word, const struct nvdp__encoded *in, size_t b,
                      const struct room *room) {
    const size_t p = word->gauss.dim, d = word->gauss.hidden_size;
    float *mu = word->gauss.posterior.mu + b * p;
    memset(room->s, 0, p * sizeof *room->s);
    word->replaced[b] = false;
    for (size_t w = (size_t)word->word_offset[b]; w < (size_t)word->word_offset[b + 1]; w++) {
        float *x = word->x != NULL ? word->x + w * d : room->x;
        const double g = map_word(word, in, w, in->batch->offset[b + 1], x, room->t);
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
            word->kept[w * p + j] = noise_units(word, room->v[j]);
    }
    for (size_t j = 0; j < p; j++)
        mu[j] = (float)noise_units(word, room->s[j]);
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct word *word = self;
    struct nvdp__gauss *g = &word->gauss;
    const struct nvdp__batch *batch = in->batch;
    NVDP_TRY(nvdp__gauss_fill(g, batch));
    /* Numbers the words of a batch. */
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
    int team = nvdp__team(in->dev, batch->tokens * g->hidden_size * (g->dim + 1));
#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (size_t b = 0; b < batch->texts; b++)
        sum_words(word, in, b, &word->room[omp_get_thread_num()]);
    nvdp__gauss_clip(g, in->dev);
    return NVDP_OK;
}

/* ---- backward ---- */

/* Propagates dS = d.mu of text b to d_y and d_g of the text's words. */
static void words_backward(const struct word *word, size_t b, const struct room *room) {
    const size_t p = word->gauss.dim;
    const float *d_sum = word->gauss.d.mu + b * p;
    for (size_t w = (size_t)word->word_offset[b]; w < (size_t)word->word_offset[b + 1]; w++) {
        const float *y = word->y + w * p;
        const double g = word->g[w], weight = nvdp__softplus(g);
        double along = 0;
        for (size_t j = 0; j < p; j++) {
            room->t[j] = weight * (double)y[j];
            room->dt[j] = word->gauss.config.clip.word * (double)d_sum[j];
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
    struct nvdp__gauss *g = &word->gauss;
    const struct nvdp__device *dev = in->dev;
    const size_t texts = g->rows.texts, p = g->dim, d = g->hidden_size;
    const size_t words = (size_t)word->word_offset[texts];
    nvdp__gauss_backward(g, dev, d_pooled);
    nvdp__gauss_losses(g, dev, penalty);
    nvdp__gauss_clip_backward(g, dev);
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, 16 * words, p)) schedule(dynamic)
    for (size_t b = 0; b < texts; b++)
        words_backward(word, b, &word->room[omp_get_thread_num()]);
    struct nvdp__linear map = nvdp__dense_linear(in->params, &g->mu, words);
    struct nvdp__linear weight = nvdp__dense_linear(in->params, &word->weight, words);
    map.offset = weight.offset = word->word_offset;
    map.f32 = weight.f32 = true;
    const struct nvdp__tensor x = nvdp__f32(words, d, word->x), dx = nvdp__f32(words, d, word->d_x);
    nvdp__dense_backward(dev, &map, x, nvdp__f32(words, p, word->d_y), dx, false);
    nvdp__dense_backward(dev, &weight, x, nvdp__f32(words, 1, word->d_g), dx, true);
    nvdp__rows_gather(dev, in->batch->tokens, d, word->word_of, word->d_x, d_hidden);
}

static size_t replaced_count(const void *self) {
    const struct word *word = self;
    size_t texts = 0;
    for (size_t b = 0; b < word->gauss.rows.texts; b++)
        texts += word->replaced[b] || isnan(word->gauss.factor[b]);
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
                                                     .view = nvdp__gauss_view,
                                                     .forward = nvdp__pooled_forward,
                                                     .infer = infer,
                                                     .forward_sample = nvdp__single_forward_sample,
                                                     .backward = backward,
                                                     .replaced = replaced_count};

static void limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    limits->clip_word = isinf(config->clip.word) ? 0 : config->clip.word;
    limits->word_window = (double)config->clip.window;
}

/* Options that method word does not read: texts are read whole, and a sample is one vector
 * without weights or attention. */
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
    .single = nvdp__always_single,
    .limits = limits};
