/* Method sentence: an encoder's own sentence embedding, released without training.
 *
 *     s = pooled last states of the text                 mean, or the first token (pool first)
 *     v = A (s/|s| - m)                                  m, A from public texts; A the identity for p = D
 *     M = C v/|v|                                        0 for a text without tokens, and for v = 0
 *     z = M + N(0, I)
 *
 * With C the sequence clip, so the certificate is that of the clip (rdp/certificate.c): it holds for any two texts,
 * whatever the encoder, m and A are. For a query q with direction u = v(q)/|v(q)|, z.u/C is an unbiased estimate of
 * the cosine of v(x) and v(q), with variance 1/C^2 (share/search.c).
 *
 * Nothing is trained: the gradient ends at the sample. */
#include "vib/sentence.h"
#include "mechanism/method.h"
#include "nvib/nvib.h"
#include "tensor/vector.h"
#include "vib/vib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sentence {
    struct nvdp_context *ctx;
    struct nvdp__nvib_config config; /* resolved */
    struct nvdp__form form;
    size_t hidden_size, dim;   /* D, p */
    size_t center, map, empty; /* parameters [D], [p, D], [1]; map SIZE_MAX: the identity */
    struct nvdp__sample_rows rows;
    struct nvdp__posterior posterior; /* [texts, p] M */
    float *pooled_states;             /* [texts, D] s, then s/|s| - m */
    float *factor;                    /* [texts] of the sequence clip */
    float *z;                         /* [texts, p] */
};

static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config) {
    struct nvdp__nvib_config made = nvdp__without_weights(config);
    if (!nvdp__clips_sequence(&made.clip))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method %s: expected {clip-sequence} C, the norm to which embeddings are "
                          "scaled, or {certified-epsilon}, found neither",
                          mechanism->name);
    if (made.pool == NVDP_POOL_AUTO) made.pool = NVDP_POOL_MEAN;
    NVDP_TRY(nvdp__check_pool(ctx, mechanism, made.pool));
    if (made.latent_dim == 0) made.latent_dim = bert->hidden_size;
    if (made.latent_dim > bert->hidden_size)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{latent-dim}: expected at most %zu, the width of the embeddings, found "
                          "%zu",
                          bert->hidden_size, made.latent_dim);
    NVDP_TRY(nvdp__nvib_config_check(ctx, &made, NVDP__LEAST_DIM, bert->hidden_size,
                                     bert->num_attention_heads));
    *config = made;
    return NVDP_OK;
}

static void release(void *self) {
    struct sentence *sentence = self;
    if (sentence == NULL) return;
    nvdp__sample_rows_release(&sentence->rows);
    free(sentence);
}
NVDP__AUTOPTR(struct sentence, release)

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    const unsigned flags = NVDP__PARAM_OPTIONAL;
    struct nvdp__nvib_config resolved = *config;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(release) struct sentence *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    const size_t p = resolved.latent_dim, d = bert->config.hidden_size;
    *made = (struct sentence){.ctx = ctx,
                              .config = resolved,
                              .form = nvdp__form_of(&resolved, false, true),
                              .hidden_size = d,
                              .dim = p,
                              .map = SIZE_MAX};
    NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_CENTER, 1, d, 1, flags, &made->center));
    NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_EMPTY, 1, 1, 1, flags, &made->empty));
    if (p < d) NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_MAP, 2, p, d, flags, &made->map));
    NVDP__HAND_OVER(self, made);
    return NVDP_OK;
}

static struct nvdp__view view(const void *self) {
    const struct sentence *sentence = self;
    return (struct nvdp__view){sentence->dim, sentence->form, &sentence->posterior,
                               nvdp__sample_of(&sentence->rows, sentence->dim, sentence->z, NULL)};
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct sentence *sentence = self;
    const size_t values = max_texts * sentence->dim;
    (void)dev;
    (void)longest;
    (void)training;
    NVDP_TRY(nvdp__sample_rows_plan(sentence->ctx, &sentence->form, max_tokens, max_texts,
                                    &sentence->rows));
    sentence->pooled_states = nvdp__arena_take(arena, max_texts * sentence->hidden_size);
    sentence->posterior = (struct nvdp__posterior){.dim = sentence->dim,
                                                   .mu = nvdp__arena_take(arena, values),
                                                   .logvar = nvdp__arena_take(arena, values)};
    sentence->factor = nvdp__arena_take(arena, max_texts);
    sentence->z = nvdp__arena_take(arena, values);
    return NVDP_OK;
}

bool nvdp__sentence_direction(size_t d, size_t p, const float *center, const float *map, float *x,
                              float *v) {
    const double length = sqrt(nvdp__dot_f64(d, x, x));
    if (length == 0) return false;
    for (size_t i = 0; i < d; i++)
        x[i] = (float)(x[i] / length - center[i]);
    if (map == NULL) {
        memcpy(v, x, d * sizeof *v);
    } else {
        for (size_t j = 0; j < p; j++)
            v[j] = (float)nvdp__dot_f64(d, map + j * d, x);
    }
    const double norm = sqrt(nvdp__dot_f64(p, v, v));
    for (size_t j = 0; j < p; j++)
        v[j] = (float)(v[j] / norm);
    return norm != 0;
}

/* Sets M of text b, except the clip, which comes last: a NaN or an infinity is left to it. */
static void mean_of(const struct sentence *sentence, const struct nvdp__encoded *in, size_t b) {
    const size_t p = sentence->dim;
    const int32_t tokens = in->batch->offset[b + 1] - in->batch->offset[b];
    float *mu = sentence->posterior.mu + b * p;
    const double ball = nvdp__sequence_ball(sentence->config.clip.sequence);
    const bool there =
        tokens > *nvdp__value(in->params, sentence->empty) &&
        nvdp__sentence_direction(
            sentence->hidden_size, p, nvdp__value(in->params, sentence->center),
            sentence->map == SIZE_MAX ? NULL : nvdp__value(in->params, sentence->map),
            sentence->pooled_states + b * sentence->hidden_size, mu);
    for (size_t j = 0; j < p; j++)
        mu[j] = there ? (float)(mu[j] * ball) : 0;
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct sentence *sentence = self;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__batch *batch = in->batch;
    const size_t texts = batch->texts, d = sentence->hidden_size;
    NVDP_TRY(nvdp__sample_rows_fill(sentence->ctx, &sentence->form, batch, &sentence->rows));
    if (sentence->config.pool == NVDP_POOL_FIRST)
        nvdp__rows_gather(dev, texts, d, batch->offset, in->hidden, sentence->pooled_states);
    else
        nvdp__pool_forward(dev, texts, d, batch->offset, NULL, in->hidden, sentence->pooled_states);
    sentence->posterior.rows = texts;
    int team = nvdp__team(dev, texts * d * (sentence->dim + 1));
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++)
        mean_of(sentence, in, b);
    nvdp__clip_sequence_forward(dev, sentence->config.clip.sequence, texts,
                                sentence->rows.source_offset, &sentence->posterior,
                                sentence->factor);
    return NVDP_OK;
}

static nvdp_status forward(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled) {
    struct sentence *sentence = self;
    NVDP_TRY(infer(sentence, in));
    nvdp__gauss_sample(in->dev, draw, &sentence->rows, &sentence->posterior, sentence->z);
    *pooled = sentence->z; /* one row per text */
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct sentence *sentence = self;
    (void)params;
    NVDP_TRY(nvdp__sample_rows_check_single(sentence->ctx, &sentence->rows, sentence->dim, given));
    nvdp__copy(dev, given->rows * given->dim, given->z, sentence->z);
    *pooled = sentence->z;
    return NVDP_OK;
}

static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    const struct sentence *sentence = self;
    (void)d_pooled;
    for (size_t i = 0; i < in->batch->texts; i++)
        penalty->loss_g[i] = penalty->loss_d[i] = 0;
    nvdp__zero(in->dev, in->batch->tokens * sentence->hidden_size, d_hidden);
}

static size_t replaced(const void *self) {
    const struct sentence *sentence = self;
    static const struct nvdp__unclipped none;
    return nvdp__clip_replaced(&sentence->rows, sentence->dim, &none, sentence->factor);
}

const struct nvdp__mechanism nvdp__mechanism_sentence = {
    .name = "sentence",
    .private_ = true,
    .resolve = resolve,
    .create = create,
    .release = release,
    .plan = plan,
    .view = view,
    .forward = forward,
    .infer = infer,
    .forward_sample = forward_sample,
    .backward = backward,
    .replaced = replaced,
};

static bool always(const struct nvdp__nvib_config *config) {
    (void)config;
    return true;
}

const struct nvdp__method nvdp__method_row_sentence = {
    .mechanism = &nvdp__mechanism_sentence,
    .description =
        "an encoder's own sentence embedding, centered by public texts and scaled to one "
        "norm, with noise; the encoder is not trained, and the map only with the objective "
        "distill",
    .untrained = true,
    .single = always};
