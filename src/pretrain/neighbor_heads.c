/* Initial weights with which attention looks at neighboring tokens. The comment derives them;
 * the code below follows it.
 *
 * From small normal weights masked-LM training first learns how frequent pieces are. Then the
 * loss stalls until some heads have learned about positions, one pair of positions at a time.
 * Here heads have this knowledge from the start (initializing by imitation: Trockman & Kolter
 * 2023). Position embeddings are sinusoids in the last 2K dimensions, in which word embeddings
 * begin at 0. In the dimensions of wave k
 *   p_t = a (cos w_k t, sin w_k t),   k < K,
 * so that a shift by d positions is a rotation by w_k d (Vaswani et al. 2017, section 3.5).
 * Suppose that a head's query rotates the waves by d and its key copies them, both with gain g.
 * Then the score of token u for token t is
 *   s(t, u) = g^2 a'^2 / sqrt(D_h)  sum_k cos w_k (t + d - u)
 *          <= g^2 a'^2 K / sqrt(D_h),                 with equality at u = t + d,
 * and about 0 elsewhere, as the frequencies have no common period: the head attends to the token
 * d positions ahead. a' is the amplitude after the embeddings' LayerNorm. With words of standard
 * deviation sd in the other dimensions and r = 2K / D
 *   a'  = a / sqrt((1 - r) sd^2 + r a^2 / 2),
 *   g^2 = SCORE sqrt(D_h) / (K a'^2).
 * Only initial values differ: the model is an ordinary BERT, and everything is trained. For the
 * gain see experiments/results/pretraining.md. */
#include "pretrain/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 4 };
/* Relative positions to which the heads attend. */
static const int offset[LAYERS][HEADS] = {{-1, 1, -2, 2}, {-1, 1, -3, 3}};
/* A position's amplitude in units of the word embeddings' standard deviation. */
static const double AMPLITUDE = 2.5;
/* Score of the position to which a head attends; other positions have scores about 0. */
static const double SCORE = 6;
/* Factor for the normal part of the heads' queries and keys. */
static const float KEPT = 0.3F;

struct setting {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    struct nvdp__params *params;
    float *stage; /* host memory for the largest tensor */
    uint64_t seed;
    size_t dim, head, waves; /* D, D/heads, K */
};

static float *fetch(const struct setting *s, size_t index) {
    nvdp__download(s->dev, s->params->entry[index].count, nvdp__value(s->params, index), s->stage);
    return s->stage;
}

static void store(const struct setting *s, size_t index) {
    nvdp__upload(s->dev, s->params->entry[index].count, s->stage, nvdp__value(s->params, index));
}

/* Returns one of K frequencies that fill (0, pi) evenly and have no common period: frac((k+1)
 * phi) pi. */
static double frequency(size_t k) {
    const double golden = 0.6180339887498949;
    double x = (double)(k + 1) * golden;
    return M_PI * (x - floor(x));
}

/* Sets the positions' dimensions to 0. */
static void place_words(const struct setting *s, size_t index) {
    size_t own = s->dim - 2 * s->waves;
    float *table = fetch(s, index);
    for (size_t r = 0; r < s->params->entry[index].shape[0]; r++)
        memset(table + r * s->dim + own, 0, 2 * s->waves * sizeof *table);
    store(s, index);
}

static void place_positions(const struct setting *s, double amplitude) {
    size_t own = s->dim - 2 * s->waves;
    float *table = fetch(s, s->bert->position);
    for (size_t t = 0; t < s->params->entry[s->bert->position].shape[0]; t++) {
        float *row = table + t * s->dim;
        memset(row, 0, own * sizeof *row);
        for (size_t k = 0; k < s->waves; k++) {
            double angle = frequency(k) * (double)t;
            row[own + k] = (float)(amplitude * cos(angle));
            row[own + s->waves + k] = (float)(amplitude * sin(angle));
        }
    }
    store(s, s->bert->position);
}

/* Adds gain * (the positions' waves, each rotated by `shift` positions) to the head's rows of a
 * projection. */
static void add_waves(const struct setting *s, size_t index, size_t head, int shift, double gain) {
    size_t own = s->dim - 2 * s->waves;
    float *weight = fetch(s, index) + head * s->head * s->dim;
    for (size_t i = 0; i < s->head * s->dim; i++)
        weight[i] *= KEPT;
    for (size_t k = 0; k < s->waves; k++) {
        float *even = weight + k * s->dim + own + k;
        float *odd = weight + (s->waves + k) * s->dim + own + k;
        float c = (float)(gain * cos(frequency(k) * shift));
        float d = (float)(gain * sin(frequency(k) * shift));
        even[0] += c;
        even[s->waves] -= d;
        odd[0] += d;
        odd[s->waves] += c;
    }
    store(s, index);
}

static void place_heads(const struct setting *s, size_t number, double gain) {
    const struct nvdp__bert_layer *layer = &s->bert->layer[number];
    size_t heads = s->bert->config.num_attention_heads;
    for (size_t h = 0; h < heads && h < HEADS; h++) {
        add_waves(s, layer->query.weight, h, offset[number][h], gain);
        add_waves(s, layer->key.weight, h, 0, gain);
    }
    double sd = 1 / sqrt((double)s->dim);
    nvdp__params_normal(s->dev, s->params, layer->value.weight, sd, s->seed);
    nvdp__params_normal(s->dev, s->params, layer->attention_output.weight, sd, s->seed);
}

/* Also sets the heads' values and outputs to normals with variance 1/D. */
nvdp_status nvdp__initialize_neighbor_heads(const struct nvdp__bert *bert,
                                            const struct nvdp__device *dev,
                                            struct nvdp__params *params, uint64_t seed) {
    const struct nvdp_bert_config *config = &bert->config;
    struct setting s = {.bert = bert, .dev = dev, .params = params, .seed = seed};
    s.dim = config->hidden_size;
    s.head = s.dim / config->num_attention_heads;
    s.waves = s.head / 2 < s.dim / 4 ? s.head / 2 : s.dim / 4;
    size_t rows = config->vocab_size > config->max_position_embeddings
                      ? config->vocab_size
                      : config->max_position_embeddings;
    s.stage = nvdp__calloc(dev->ctx, nvdp__max(rows, s.dim) * s.dim, sizeof *s.stage);
    if (s.stage == NULL) return NVDP_ERR_MEMORY;
    double sd = config->initializer_range, amplitude = AMPLITUDE * sd;
    double share = 2 * (double)s.waves / (double)s.dim;
    double normed = amplitude / sqrt((1 - share) * sd * sd + share * amplitude * amplitude / 2);
    double gain = sqrt(SCORE * sqrt((double)s.head) / ((double)s.waves * normed * normed));
    place_words(&s, bert->word);
    place_words(&s, bert->type);
    place_positions(&s, amplitude);
    for (size_t i = 0; i < LAYERS && i < config->num_hidden_layers; i++)
        place_heads(&s, i, gain);
    free(s.stage);
    return NVDP_OK;
}
