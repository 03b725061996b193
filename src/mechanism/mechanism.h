/* The interface of all mechanisms: hidden states -> posterior -> sample -> pooled vector. Also
 * what mechanisms share: the components of a text, the rows of a batch's sample, the initial map
 * of the means.
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
    bool weights;  /* rows have weights, and the prior has a component */
    bool single;   /* one vector per text, not per token: no length is visible; length is 1 */
    size_t length; /* tokens and padding; 0: no padding, so the sample reveals n */
    int kappa;     /* 1 without weights */
    double prior_alpha;
    double pad_alpha; /* A_p/K, K = length + 1 (docs/nvib.md, Length) */
    double delta;     /* added per token to the prior's pseudo-count A_p of its text */
};
enum { NVDP__PRIOR = -1, NVDP__PADDING = -2 };

/* Returns the form of a mechanism with this configuration. `of` says whether there are weights and a single vector. */
struct nvdp__form nvdp__form_of(const struct nvdp__nvib_config *config, struct nvdp__form of);
/* The same from stored posteriors. */
struct nvdp__form nvdp__form_of_posteriors(const struct nvdp_posteriors *posteriors);
/* Rows of the sample of a text with so many tokens. */
size_t nvdp__form_rows(const struct nvdp__form *form, size_t tokens);
/* The source of row r of that sample: the index of a token in its text, NVDP__PRIOR or
 * NVDP__PADDING. */
int64_t nvdp__form_source(const struct nvdp__form *form, size_t tokens, size_t row);
/* The pseudo-count of the prior or of padding. */
double nvdp__form_alpha(const struct nvdp__form *form, int64_t source);

/* ---- the rows of a batch's sample (nvib/gauss.c) ---- */

/* The rows of a batch's sample; arrays in host memory. Sources are the rows of the posterior:
 * tokens, or texts. */
struct nvdp__sample_rows {
    size_t texts, tokens, sources, rows;
    int32_t *offset; /* [texts+1] rows of each text */
    int32_t *src;    /* [rows] source, or NVDP__PRIOR or NVDP__PADDING */
    /* [texts+1] sources of each text; the batch's array if sources are tokens */
    const int32_t *source_offset;
    const uint64_t *key; /* [texts] of the batch */
    /* from the plan */
    size_t max_texts, max_tokens, max_sources, max_rows;
    size_t offset_capacity, src_capacity;
};

/* Gaussians of `rows` sources, with pseudo-counts if there are weights; or gradients of these.
 * Tensor memory. */
struct nvdp__posterior {
    size_t rows, dim;
    float *mu, *logvar; /* [rows, dim] */
    float *log_alpha;   /* [rows]; NULL without weights */
};
/* Copies the posterior to rows [first_row, +rows) of out; NVDP_ERR_ARGUMENT if out is of another
 * kind. */
nvdp_status nvdp__posterior_store(struct nvdp_context *ctx, const struct nvdp__posterior *posterior,
                                  size_t first_row, struct nvdp_posteriors *out);

/* ---- the interface ---- */

/* The source of a pass's noise. */
struct nvdp__draw {
    struct nvdp__noise noise;
    enum nvdp__purpose gauss, gamma;
    uint32_t epoch;         /* training: epoch; evaluation: index of the draw */
    const float *eps;       /* given noise [R, p], for tests; NULL: draw it */
    const float *log_gamma; /* given log g [R], for tests; NULL: draw it */
};

/* The shared sample of a batch: rows of all texts, concatenated. Tensor memory except `offset`. */
struct nvdp__sample {
    size_t texts;
    size_t rows;           /* R */
    size_t dim;            /* p */
    const int32_t *offset; /* [texts+1] */
    const float *z;        /* [R, p] */
    const float *log_pi;   /* [R]; NULL for mechanisms without weights */
};
/* A mechanism shows these. Only `width` is set without noise. */
struct nvdp__view {
    size_t width; /* of the pooled vector */
    struct nvdp__form form;
    const struct nvdp__posterior *posterior; /* of the last forward or infer */
    struct nvdp__sample sample;              /* of the last forward */
};

/* An encoded batch, the input of a mechanism. */
struct nvdp__encoded {
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const float *hidden; /* [T, D] output of the encoder */
};

/* The regularizers of a step: their weights lambda s_t / texts, and the unweighted losses of
 * each text (host, [texts]), which backward sets. */
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
    bool private_; /* has noise, a posterior, an export */
    int variant;   /* distinguishes mechanisms that share functions */
    /* Checks a configuration for an encoder and resolves "auto"; NULL: the mechanism has no
     * options. */
    nvdp_status (*resolve)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config);
    /* Declares parameters; `bert` outlives the bottleneck. */
    nvdp_status (*create)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self);
    void (*release)(void *self); /* NULL allowed */
    /* True if initialize reads `hidden`; NULL: it does not, and receives none. */
    bool (*wants_hidden)(const void *self);
    /* Sets initial values (NULL: none); `hidden` [rows, D] is a sample of encoder outputs
     * (tensor). Sets only parameters of the bottleneck. */
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
    /* Computes only the sealed part from a sample (bit-equal to forward for the same sample).
     * Inference only. */
    nvdp_status (*forward_sample)(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled);
    /* Overwrites d_pooled [texts, width]; SETS d_hidden [T, D] and the losses. */
    void (*backward)(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden);
    /* The number of texts in the last forward or infer whose posterior had a NaN or infinity
     * replaced (nvib/clip.c). */
    size_t (*replaced)(const void *self);
};

/* ---- initial values of Gaussians (pca.c) ---- */

/* `map` [p, D] (host), with orthonormal rows: the leading principal directions of `hidden`
 * [rows, D] (host) about its mean, in decreasing order; a random orthonormal map from `seed` if
 * rows < p. */
nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                          const float *hidden, uint64_t seed, float *map);
/* Initializes the layer [p, D] of the means: mu_tau times the identity, bias 0. For p < D: the
 * principal directions of `hidden` [rows, D] (tensor) about its mean, scaled by one factor such
 * that the means' coordinates have root mean square mu_tau on it. With fewer than p rows: mu_tau
 * times a random orthonormal map, bias 0. */
nvdp_status nvdp__means_initialize(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden);
/* 2 log(stdev_tau), moved inside the clip set if there is one: outside, a clamp has no gradient,
 * and the variance would never change. */
double nvdp__start_logvar(const struct nvdp__nvib_config *config);

/* ---- the table of methods ----
 *
 * One row for each value of the option "method".
 *
 * No other file depends on a method's name: it reads a property of the row. The rows are defined
 * with the mathematics (nvib/nvib.c, vib/vib.c, mechanism.c) and listed in members.inc. */

struct nvdp__method {
    const struct nvdp__mechanism *mechanism;
    const char *description; /* one line, for reports */
    bool weights;   /* samples have Dirichlet weights, unless the option weights is constant */
    bool own_noise; /* the noise scale belongs to the model and does not depend on the text */
    bool block;     /* a sealed block reads the sample and can be published without the encoder */
    /* Has a certificate per word: a text is a sequence of words, read whole by a word-local
     * encoder (nvdp__tokenizer_read_words, struct nvdp__encoder_row). */
    bool words;
    /* model_type of the only encoder that it takes, and of the one that runs layers over windows of
     * words; NULL: the model's own */
    const char *encoder, *window_encoder;
    /* Training options that this method does not read, NULL-terminated; NULL: none. A method without a bottleneck reads
     * none of a bottleneck. */
    const char *const *unread;
    /* Releases the encoder's own embedding: the encoder is not trained, and the map only with the objective distill.
     * Training for a task refuses it; nvdp export and the objective distill make its runs, whose files can be searched
     * (train/sentence_run.h, share/search.c). */
    bool untrained;
    bool (*single)(
        const struct nvdp__nvib_config *config); /* one vector per text; NULL: one per token */
    /* Narrows the limits that follow from the configuration alone; NULL: none do. */
    void (*limits)(const struct nvdp__nvib_config *config, struct nvdp_limits *limits);
    /* Narrows the limits that depend on trained parameters; NULL: none do. */
    nvdp_status (*trained_limits)(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, struct nvdp_limits *limits);
};

/* Returns the row of a method, or NULL if the value is no method. */
const struct nvdp__method *nvdp__method_row(enum nvdp_method method);
/* The same by name. */
const struct nvdp__method *nvdp__method_named(const char *name);
size_t nvdp__method_count(void);
/* True if samples under this configuration have weights; if they are one vector per text. */
bool nvdp__method_weighted(const struct nvdp__method *method,
                           const struct nvdp__nvib_config *config);
bool nvdp__method_single(const struct nvdp__method *method, const struct nvdp__nvib_config *config);
/* Upper bound, in nats at this order, for the samples of any two texts; +inf if no bound is
 * proven for everything that is shared. */
double nvdp__method_bound(enum nvdp_method method, const struct nvdp__nvib_config *config,
                          double order);
/* Loads the tokenizer of a model directory as a method reads texts: whole words for a method with a
 * certificate per word (nvdp__tokenizer_read_words). */
nvdp_status nvdp__method_tokenizer_load(struct nvdp_context *ctx, enum nvdp_method method,
                                        const char *directory, struct nvdp_tokenizer **out);
/* Checks the bottleneck's configuration for an encoder and resolves "auto"; does nothing for a
 * method without a bottleneck. */
nvdp_status nvdp__method_resolve(struct nvdp_context *ctx, enum nvdp_method method,
                                 const struct nvdp_bert_config *bert,
                                 struct nvdp__nvib_config *config);

#endif
