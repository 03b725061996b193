/* The interface of all mechanisms: hidden states -> posterior -> sample -> pooled vector. The file also declares what
 * mechanisms share: the components of a text, the rows of a batch's sample, and the initial map of the means.
 *
 * Order of calls: create (declares parameters) -> [allocate params] -> initialize -> plan
 * (twice: count, assign memory) -> per step: forward, backward. A new mechanism is one file and
 * one row in src/mechanism/members.inc. */
#ifndef NVDP_SRC_MECHANISM_MECHANISM_H
#define NVDP_SRC_MECHANISM_MECHANISM_H

#include "base/random.h"
#include "encoder/encoder.h"
#include "mechanism/bottleneck_options.h"
#include "text/tokenizer.h"
#include <nvdp/certificate.h>
#include <nvdp/method.h>

/* ---- the components per text (mechanism.c) ---- */

/* The components of posterior and sample for a text of n tokens, in this order, with `kappa` adjacent rows each:
 *
 *     component             mean, log variance   pseudo-count
 *     the prior             0, 0                 prior_alpha      if there are weights
 *     tokens 1..n           of the token         of the token     `single`: one per text
 *     padding n+1..length   0, 0                 pad_alpha        if length > 0 */
struct nvdp__form {
    bool weights; /* true if rows have weights; then the prior has a component */
    /* true if a text has one vector, not one per token: `length` is 1, and no length is visible */
    bool single;
    /* number of tokens and padding; 0 if there is no padding, so that the sample reveals n */
    size_t length;
    int kappa; /* 1 if there are no weights */
    double prior_alpha;
    double pad_alpha; /* A_p/K, K = length + 1 (docs/nvib.md, Length) */
    double delta;     /* added to the prior's pseudo-count A_p of a text for each token */
};
enum { NVDP__PRIOR = -1, NVDP__PADDING = -2 };

/* Returns the form of a mechanism with this configuration. `of` has the members `weights` and `single`. */
struct nvdp__form nvdp__make_form(const struct nvdp__nvib_config *config, struct nvdp__form of);
/* Returns the form of stored posteriors. */
struct nvdp__form nvdp__form_of_posteriors(const struct nvdp_posteriors *posteriors);
/* Returns the number of rows in the sample of a text with this number of tokens. */
size_t nvdp__form_rows(const struct nvdp__form *form, size_t tokens);
/* Returns the source of row r of this sample: the index of a token in its text, NVDP__PRIOR or NVDP__PADDING. */
int64_t nvdp__form_source(const struct nvdp__form *form, size_t tokens, size_t row);
/* Returns the pseudo-count of the prior or of padding. */
double nvdp__form_alpha(const struct nvdp__form *form, int64_t source);

/* ---- the rows of a batch's sample (nvib/gauss.c) ---- */

/* The rows of a batch's sample; arrays in host memory. Sources are the rows of the posterior:
 * tokens, or texts. */
struct nvdp__sample_rows {
    size_t texts, tokens, sources, rows;
    int32_t *offset; /* [texts+1] first row of each text */
    int32_t *src;    /* [rows] source, or NVDP__PRIOR or NVDP__PADDING */
    /* [texts+1] first source of each text; the array of the batch if sources are tokens */
    const int32_t *source_offset;
    const uint64_t *key; /* [texts] keys of the texts of the batch */
    /* sizes from the plan */
    size_t max_texts, max_tokens, max_sources, max_rows;
    size_t offset_capacity, src_capacity;
};

/* Gaussians of `rows` sources, with pseudo-counts if there are weights; or the gradients of these numbers. Tensor
 * memory. */
struct nvdp__posterior {
    size_t rows, dim;
    float *mu, *logvar; /* [rows, dim] */
    float *log_alpha;   /* [rows]; NULL if there are no weights */
};
/* Copies the posterior to rows [first_row, +rows) of out; fails with NVDP_ERR_ARGUMENT if out is of another kind. */
nvdp_status nvdp__posterior_store(struct nvdp_context *ctx, const struct nvdp__posterior *posterior,
                                  size_t first_row, struct nvdp_posteriors *out);

/* ---- the interface ---- */

/* The source of the noise in a pass. */
struct nvdp__draw {
    struct nvdp__noise noise;
    enum nvdp__purpose gauss, gamma;
    uint32_t epoch;         /* in training, the epoch; in evaluation, the index of the draw */
    const float *eps;       /* given noise [R, p], for tests; NULL to draw the noise */
    const float *log_gamma; /* given log g [R], for tests; NULL to draw it */
};

/* The shared sample of a batch: rows of all texts, concatenated. Tensor memory except `offset`. */
struct nvdp__sample {
    size_t texts;
    size_t rows;           /* R, the number of rows */
    size_t dim;            /* p, the width of a row */
    const int32_t *offset; /* [texts+1] first row of each text */
    const float *z;        /* [R, p] vectors */
    const float *log_pi;   /* [R]; NULL for mechanisms without weights */
};
/* The results that a mechanism shows. Without noise, only `width` is set. */
struct nvdp__view {
    size_t width; /* width of the pooled vector */
    struct nvdp__form form;
    const struct nvdp__posterior *posterior; /* posterior of the last forward or infer */
    struct nvdp__sample sample;              /* sample of the last forward */
};

/* An encoded batch, the input of a mechanism. */
struct nvdp__encoded {
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const float *hidden; /* [T, D] output of the encoder */
};

/* The regularizers of a step: the weights lambda s_t / texts, and the unweighted losses of each text (host,
 * [texts]), which the backward pass sets. */
struct nvdp__penalty {
    double weight_g, weight_d;
    double *loss_g, *loss_d;
};

struct nvdp__bottleneck {
    const struct nvdp__mechanism *mechanism;
    void *self;
};

struct nvdp__mechanism {
    const char *name;
    bool private_; /* true if the mechanism has noise, a posterior and an export */
    int variant;   /* distinguishes mechanisms that share functions */
    /* Checks a configuration for an encoder and resolves "auto"; NULL if the mechanism has no options. */
    nvdp_status (*resolve)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config);
    /* Declares the bottleneck's parameters; `bert` must live longer than the bottleneck. */
    nvdp_status (*create)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self);
    void (*release)(void *self); /* frees `self`, which may be NULL */
    /* Returns true if initialize() reads `hidden`. NULL if initialize() of the mechanism never reads `hidden`. */
    bool (*wants_hidden)(const void *self);
    /* Sets the initial values of the bottleneck's parameters; NULL if there are none. hidden [rows, D] is a sample
     * of encoder outputs (tensor). */
    nvdp_status (*initialize)(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden);
    nvdp_status (*plan)(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena);
    struct nvdp__view (*view)(const void *self);
    /* Computes posterior, sample and sealed block; *pooled [texts, width] is valid until the
     * next call. */
    nvdp_status (*forward)(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled);
    /* Computes only the posterior, without noise. */
    nvdp_status (*infer)(void *self, const struct nvdp__encoded *in);
    /* Computes only the sealed part from a sample; the bits are those of forward() for the same sample. For
     * inference only. */
    nvdp_status (*forward_sample)(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled);
    /* Computes the gradients: overwrites d_pooled [texts, width]; SETS d_hidden [T, D] and the losses. */
    void (*backward)(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden);
    /* Returns the number of texts in the last forward or infer whose posterior had a NaN or an infinity replaced
     * (nvib/clip.c). */
    size_t (*replaced)(const void *self);
};

/* ---- initial values of Gaussians (pca.c) ---- */

/* Sets map [p, D] (host) to orthonormal rows: the leading principal directions of hidden [rows, D] (host) about its
 * mean, in decreasing order of variance. If rows < p, sets map to a random orthonormal map from `seed`. */
nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                          const float *hidden, uint64_t seed, float *map);
/* Initializes the layer [p, D] of the means: mu_tau times the identity, bias 0. For p < D, the layer gets the
 * principal directions of hidden [rows, D] (tensor) about the mean of its rows. One factor scales the directions
 * such that the coordinates of the resulting means have root mean square mu_tau. With fewer than p rows, the layer
 * gets mu_tau times a random orthonormal map, and bias 0. */
nvdp_status nvdp__means_initialize(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden);
/* Returns 2 log(stdev_tau), moved inside the clip set if there is one: outside, a clamp has no gradient, and the
 * variance would never change. */
double nvdp__start_logvar(const struct nvdp__nvib_config *config);

/* ---- the table of methods ----
 *
 * One row for each value of the option "method".
 *
 * No other file depends on the name of a method: other files read a property of the row. The rows are defined with
 * the mathematics (nvib/nvib.c, vib/vib.c, mechanism.c) and listed in members.inc. */

struct nvdp__method {
    const struct nvdp__mechanism *mechanism;
    const char *description; /* one line, for reports */
    /* true if samples have Dirichlet weights, unless the option `weights` is constant */
    bool weights;
    /* true if the scale of the noise belongs to the model and does not depend on the text */
    bool own_noise;
    /* true if a sealed block reads the sample, which can be published without the encoder */
    bool block;
    /* True if the method has a certificate per word: a text is a sequence of words, read whole by a word-local
     * encoder (nvdp__tokenizer_read_words(), struct nvdp__encoder_row). */
    bool words;
    /* model_type of the only encoder that the method accepts, and of the encoder that runs layers over windows of
     * words; NULL: the type of the model */
    const char *encoder, *window_encoder;
    /* Training options that this method does not read, NULL-terminated; NULL if the method reads all. A method
     * without a bottleneck reads no option of a bottleneck. */
    const char *const *unread;
    /* True if the method releases the encoder's sentence embedding: the encoder is not trained, and the map is
     * trained only with the objective distill. Training for a task refuses such a method; nvdp export and the
     * objective distill make the runs, whose files can be searched (train/sentence_run.h, share/search.c). */
    bool untrained;
    bool (*single)(
        /* returns true for one vector per text; NULL for one vector per token */
        const struct nvdp__nvib_config *config);
    /* Narrows the limits that follow from the configuration alone; NULL if there are no such limits. */
    void (*limits)(const struct nvdp__nvib_config *config, struct nvdp_limits *limits);
    /* Narrows the limits that depend on trained parameters; NULL if there are no such limits. */
    nvdp_status (*trained_limits)(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, struct nvdp_limits *limits);
};

/* Returns the row of a method; NULL if the value is no method. */
const struct nvdp__method *nvdp__method_row(enum nvdp_method method);
/* Returns the row of the method with this name; NULL if there is none. */
const struct nvdp__method *nvdp__method_named(const char *name);
size_t nvdp__method_count(void);
/* Return true if samples under this configuration have weights; if samples are one vector per text. */
bool nvdp__method_weighted(const struct nvdp__method *method,
                           const struct nvdp__nvib_config *config);
bool nvdp__method_single(const struct nvdp__method *method, const struct nvdp__nvib_config *config);
/* Returns an upper bound of the divergence, in nats at this order, for the samples of any two texts; +inf if no
 * bound is proven for everything that is shared. */
double nvdp__method_bound(enum nvdp_method method, const struct nvdp__nvib_config *config,
                          double order);
/* Loads the tokenizer of a model directory in the form in which a method reads texts: whole words for a method with
 * a certificate per word (nvdp__tokenizer_read_words()). */
nvdp_status nvdp__method_tokenizer_load(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *directory, struct nvdp_tokenizer **out);
/* Checks the bottleneck's configuration for an encoder and resolves "auto"; does nothing for a
 * method without a bottleneck. */
nvdp_status nvdp__method_resolve(struct nvdp_context *ctx, enum nvdp_method method,
                                 const struct nvdp_bert_config *bert,
                                 struct nvdp__nvib_config *config);

#endif
