/* Gaussian mechanisms without weights (docs/vib.md): hidden states -> sources -> one Gaussian
 * per source -> sample -> pooled vector.
 *
 * Sources are [S, D]. A `single` mechanism has one source per text, pooled from the states of the text's tokens. The
 * other mechanisms have one source per token. The sample of a text has one row, or rows 1..n (the tokens) and, under
 * the hidden length policy, rows n+1..L (padding). */
#ifndef NVDP_VIB_VIB_H
#define NVDP_VIB_VIB_H

#include "base/base.h"
#include "encoder/encoder.h"
#include "nvib/nvib.h"
#include "tensor/tensor.h"
#include <math.h>

/* The forms differ in what gets noise (tokens, or one vector per text), in an additional encoder
 * layer, and in the origin of the standard deviations. */
enum nvdp__vib_form { NVDP__VIB_FIXED, NVDP__VIB_LEARNED, NVDP__VIB_VTDP, NVDP__VIB_FORMS };

extern const struct nvdp__mechanism nvdp__mechanisms_vib[NVDP__VIB_FORMS];

/* An additional layer on top of the encoder, with separate weights and without dropout. */
struct nvdp__extra {
    struct nvdp__bert bert; /* one layer without embeddings */
    struct nvdp__bert_cache cache;
};

struct nvdp__vib {
    struct nvdp__gauss gauss; /* `pooled` is the vector that the classifier reads */
    enum nvdp__vib_form which;
    struct nvdp__extra extra; /* for vtdp */
    struct nvdp__dense rho;   /* for vtdp */
    size_t rho_vector;        /* for vib-learned */
    float *pooled_states;     /* [S,D] for `single` */
    float *rho_out;           /* [S,p] for vtdp, [p] for vib-learned: gradients */
    float *d_x;               /* [S,D] for `single`, in training */

    /* inputs of the last forward pass */
    const float *states; /* [T,D] states of the encoder or of the additional layer */
    const float *x;      /* [S,D] sources */
};

/* Returns the configuration without the weights' options, because these mechanisms have no weights. */
struct nvdp__nvib_config nvdp__without_weights(const struct nvdp__nvib_config *config);
/* Returns true: the property `single` of methods that always share one vector per text. */
bool nvdp__always_single(const struct nvdp__nvib_config *config);
/* Fails if the pool is weighted, which needs weights. */
nvdp_status nvdp__check_pool(struct nvdp_context *ctx, const struct nvdp__mechanism *mechanism,
                             enum nvdp_pool pool);

/* Sets y [texts, dim] to one vector per text: the first of the text's rows of x, or the mean of these rows. */
void nvdp__pool_rows(const struct nvdp__device *dev, bool first, size_t texts, size_t dim,
                     const int32_t *offset, const float *x, float *y);
/* The passes of mechanisms whose sample is only pooled: call the mechanism's infer(), then draw a sample and pool
 * it. */
nvdp_status nvdp__pooled_forward(void *self, const struct nvdp__encoded *in,
                                 const struct nvdp__draw *draw, float **pooled);
/* Reads a sample that is one vector per text. */
nvdp_status nvdp__single_forward_sample(void *self, const struct nvdp__device *dev,
                                        const struct nvdp__params *params,
                                        const struct nvdp__sample *given, float **pooled);

/* log(1 + e^x) */
static inline double nvdp__softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
/* logvar = 2 log sigma with sigma = softplus(rho). */
void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar);
/* Sets drho from dlogvar; the two may share memory. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho);

/* ==== method sentence ==== */

/* Method sentence: an encoder's sentence embedding with noise, without training. The parameters are set once, from
 * public texts (train/sentence_run.c). */

extern const struct nvdp__mechanism nvdp__mechanism_sentence;

/* Names of the parameters: m [D]; A [p, D], which exists only for p < D; the number of tokens of an empty text [1]. */
#define NVDP__SENTENCE_CENTER "sentence.center"
#define NVDP__SENTENCE_MAP "sentence.map"
#define NVDP__SENTENCE_EMPTY "sentence.empty"

/* Sets v [p] to the unit vector of A (x/|x| - m); overwrites x [d]. `map` is NULL if A is the identity. Returns
 * false, with undefined v, if x or the result is 0. Numbers that are not finite remain in v. */
bool nvdp__sentence_direction(size_t d, size_t p, const float *center, const float *map, float *x,
                              float *v);

/* ==== method word ==== */

/* Method word: a text's sum of clipped word vectors, with Gaussian noise (rdp/word.h has the
 * certificate per word).
 *
 *     x_w = sum of the states of the word's pieces    from encoder/words.c or, with layers, word_windows.c
 *     t_w = softplus(g . x_w + g_0) (A x_w + a)                       weight and vector
 *     v_w = c t_w min(1, 1/|t_w|)                                     the clip comes last: |v_w| <= c
 *     S   = sum of v_w over the words,   M = S min(1, C/|S|),   z = M + N(0, I)
 *
 * C is the sequence clip. A text without words has M = 0. The border word of a pair has no vector. v_w depends only
 * on the word and on r words on either side. */

extern const struct nvdp__mechanism nvdp__mechanism_word;

/* Number of units per c in a coordinate of a word's vector: 2^31. Sums of up to 2^31 words fit int64. */
enum { NVDP__WORD_BITS = 31 };

/* Clips t [n] to norm 1 and rounds each coordinate towards zero to a multiple of 2^-31: |grid| 2^-31 <= 1 holds
 * exactly. Returns the factor of the clip; if t is not finite, returns NaN and sets grid to zeros. */
double nvdp__word_round(size_t n, const double *t, int64_t *grid);
/* Turns dt in place from the gradient of the clipped vector into the gradient of t: the full derivative of the clip.
 * `factor` is the result of nvdp__word_round(). */
void nvdp__word_clip_backward(size_t n, const double *t, double factor, double *dt);

/* Makes all later passes also write v_w [words, p] of the batch's words, in order, to `vectors`; NULL ends this.
 * `self` is a bottleneck of method word. */
void nvdp__word_keep(void *self, double *vectors);

/* ==== the objective distill ==== */

/* The objective distill trains a linear map and a linear decoder between which the geometry of sentence embeddings
 * survives the noise of method sentence. It needs no labels; the texts are public. */

/* The arrays of one step over n texts. */
struct nvdp__distill {
    size_t max_texts, width, dim;  /* D and p: width of the embeddings and of the samples */
    double clip;                   /* C, the norm of the means */
    double temperature, cosine;    /* tau; weight of the cosine loss */
    float *x, *target;             /* [n, D] s/|s| - m, set by the caller; t = x/|x| */
    float *e[2];                   /* [n, p] standard normals, set by the caller */
    float *u[2], *du[2];           /* [n, D] y/|y|; gradients of u, later of y */
    float *z[2], *dz[2];           /* [n, p] the two samples; gradients of the samples */
    float *mu, *d_mu;              /* [n, p] v/|v|; gradients of M, later of v */
    float *length_v, *length_y[2]; /* [n] lengths of v and of y */
    float *logits;                 /* [n, n] similarities of the contrastive loss */
    float *label;                  /* [n] labels of the contrastive loss */
};

/* Takes the arrays from the arena (tensor.h). */
void nvdp__distill_plan(struct nvdp__distill *step, struct nvdp__arena *arena);
/* Returns y [n, D], decoded from one sample of each of the first n texts, with the noise e[0]. */
const float *nvdp__distill_decode(const struct nvdp__device *dev, struct nvdp__distill *step,
                                  size_t n, const float *map, const float *decoder);
/* Returns the loss of the first n texts, and sets the gradients of map [p, D] and decoder [D, p], unless they are
 * NULL. */
double nvdp__distill_step(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                          const float *map, const float *decoder, float *d_map, float *d_decoder);

#endif
