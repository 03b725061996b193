/* Method sentence: an encoder's own sentence embedding, released without training.
 *
 *     s = pooled last states of the text                 mean, or the first token (pool first)
 *     v = A (s/|s| - m)                                  m, A from public texts; A the identity for p = D
 *     M = C v/|v|                                        0 for a text without tokens, and for v = 0
 *     z = M + N(0, I)
 *
 * C is the sequence clip, so the certificate is the one of the clip (rdp/certificate.c): it holds for any two texts and
 * for every encoder, m and A. For a query q with direction u = v(q)/|v(q)|, z.u/C is an unbiased estimate of the cosine
 * of v(x) and v(q), with variance 1/C^2 (share/search.c).
 *
 * Nothing is trained: the gradient ends at the sample. */
#include "mechanism/mechanism.h"
#include "nvib/nvib.h"
#include "tensor/vector.h"
#include "vib/vib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sentence {
    struct nvdp__gauss gauss;
    /* parameters m [D], A [p, D] and the number of tokens of an empty text [1]; `map` is SIZE_MAX if A is the
     * identity */
    size_t center, map, empty;
    float *pooled_states; /* [texts, D] first s, then s/|s| - m */
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

NVDP__AUTOPTR(struct sentence, nvdp__gauss_release)

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    const unsigned flags = NVDP__PARAM_OPTIONAL;
    struct nvdp__nvib_config resolved = *config;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(nvdp__gauss_release) struct sentence *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    const size_t p = resolved.latent_dim, d = bert->config.hidden_size;
    made->gauss =
        nvdp__gauss_make(mechanism, ctx, bert, &resolved, (struct nvdp__form){.single = true});
    made->map = SIZE_MAX;
    NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_CENTER, 1, d, 1, flags, &made->center));
    NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_EMPTY, 1, 1, 1, flags, &made->empty));
    if (p < d) NVDP_TRY(nvdp__params_add(params, NVDP__SENTENCE_MAP, 2, p, d, flags, &made->map));
    return NVDP__HAND_OVER(self, made);
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct sentence *sentence = self;
    struct nvdp__gauss *g = &sentence->gauss;
    (void)longest;
    (void)training;
    NVDP_TRY(nvdp__gauss_plan(g, dev, max_tokens, max_texts, false, arena));
    NVDP__TAKE(arena, {&sentence->pooled_states, max_texts * g->hidden_size},
               {&g->pooled, max_texts * g->dim});
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

/* Sets M of text b without the clip, which comes last and also handles a NaN or an infinity. */
static void set_mean(const struct sentence *sentence, const struct nvdp__encoded *in, size_t b) {
    const struct nvdp__gauss *g = &sentence->gauss;
    const size_t p = g->dim, d = g->hidden_size;
    const int32_t tokens = in->batch->offset[b + 1] - in->batch->offset[b];
    float *mu = g->posterior.mu + b * p;
    const double ball = nvdp__sequence_ball(g->config.clip.sequence);
    const bool there =
        tokens > *nvdp__value(in->params, sentence->empty) &&
        nvdp__sentence_direction(d, p, nvdp__value(in->params, sentence->center),
                                 sentence->map == SIZE_MAX ? NULL
                                                           : nvdp__value(in->params, sentence->map),
                                 sentence->pooled_states + b * d, mu);
    for (size_t j = 0; j < p; j++)
        mu[j] = there ? (float)(mu[j] * ball) : 0;
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct sentence *sentence = self;
    struct nvdp__gauss *g = &sentence->gauss;
    const struct nvdp__batch *batch = in->batch;
    const size_t texts = batch->texts, d = g->hidden_size;
    NVDP_TRY(nvdp__gauss_fill(g, batch));
    nvdp__pool_rows(in->dev, g->config.pool == NVDP_POOL_FIRST, texts, d, batch->offset, in->hidden,
                    sentence->pooled_states);
    int team = nvdp__team(in->dev, texts * d * (g->dim + 1));
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++)
        set_mean(sentence, in, b);
    nvdp__gauss_clip(g, in->dev);
    return NVDP_OK;
}

static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    const struct sentence *sentence = self;
    (void)d_pooled;
    for (size_t i = 0; i < in->batch->texts; i++)
        penalty->loss_g[i] = penalty->loss_d[i] = 0;
    nvdp__zero(in->dev, in->batch->tokens * sentence->gauss.hidden_size, d_hidden);
}

const struct nvdp__mechanism nvdp__mechanism_sentence = {
    .name = "sentence",
    .private_ = true,
    .resolve = resolve,
    .create = create,
    .release = nvdp__gauss_release,
    .plan = plan,
    .view = nvdp__gauss_view,
    .forward = nvdp__pooled_forward,
    .infer = infer,
    .forward_sample = nvdp__single_forward_sample,
    .backward = backward,
    .replaced = nvdp__gauss_replaced,
};

const struct nvdp__method nvdp__method_row_sentence = {
    .mechanism = &nvdp__mechanism_sentence,
    .description =
        "an encoder's own sentence embedding, centered by public texts and scaled to one "
        "norm, with noise; the encoder is not trained, and the map only with the objective "
        "distill",
    .untrained = true,
    .single = nvdp__always_single};
