/* BERT's encoder over packed batches: declare, initialise, plan, forward, backward. */
#ifndef NVDP_SRC_BERT_ENCODER_H
#define NVDP_SRC_BERT_ENCODER_H

#include "tensor/ops.h"
#include "tensor/params.h"
#include "text/batch.h"
#include <nvdp/bert.h>

/* Indices into the parameter table. */
struct nvdp__dense {
    size_t weight, bias;
};
struct nvdp__bert_layer {
    struct nvdp__dense query, key, value, attention_output, attention_norm, intermediate, output,
        output_norm;
};
/* Zeroed before it is declared; released also where declaring failed. */
struct nvdp__bert {
    struct nvdp_bert_config config;
    size_t word, position, type;
    struct nvdp__dense norm;
    struct nvdp__bert_layer *layer;
    struct nvdp__dense pooler;
    bool has_pooler;
};

/* Adds "<prefix>.weight" [out, in] and "<prefix>.bias" [out]. */
nvdp_status nvdp__declare_dense(struct nvdp__params *params, const char *prefix, size_t out,
                                size_t in, unsigned flags, struct nvdp__dense *dense);
/* Adds "<prefix>.weight" and "<prefix>.bias" [dim], no decay. */
nvdp_status nvdp__declare_norm(struct nvdp__params *params, const char *prefix, size_t dim,
                               unsigned flags, struct nvdp__dense *norm);

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params);
void nvdp__bert_release(struct nvdp__bert *bert);
/* Normal(0, initializer_range), LayerNorm 1 / 0, biases 0. */
void nvdp__bert_initialise(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed);

/* Activations kept between forward and backward; for inference layers share buffers. */
struct nvdp__bert_layer_cache {
    float *query, *key, *value, *context, *lse;             /* [T,D] x4, [T,heads] */
    float *attention_sum, *attention_mean, *attention_rstd; /* [T,D], [T], [T] */
    float *attention_out;                                   /* [T,D] after LayerNorm */
    float *inner, *activated;                               /* [T,I] before and after GELU */
    float *output_sum, *output_mean, *output_rstd, *output; /* output [T,D]: hidden state l+1 */
};
struct nvdp__bert_cache {
    bool training;
    bool keep_hidden; /* all hidden states stay readable (encode --all-layers) */
    float *embedding_sum, *embedding_mean, *embedding_rstd;
    float **hidden; /* [layers+1] pointers; hidden[0] the embeddings' output (host array, released
                       below) */
    struct nvdp__bert_layer_cache *layer;
    float *scratch;                                                   /* attention */
    float *d_hidden, *d_wide, *d_query, *d_key, *d_value, *d_context; /* backward */
    /* pooler */
    float *first, *pooled; /* [B,D] */
    float *d_first;        /* [B,D] */
};
/* Dropout of a pass: rates from the configuration or overridden; not applied unless training.  The
 * encoder's dropout sites are 0 to 3 layers; the heads' lie above. */
struct nvdp__pass {
    bool training;
    float hidden_dropout, attention_dropout;
    uint64_t seed;
    uint32_t step;
};

nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    bool training, bool keep_hidden,
                                    struct nvdp__bert_cache *cache);
void nvdp__bert_cache_release(struct nvdp__bert_cache *cache);
/* Takes everything from the arena for at most max_tokens tokens, max_texts texts of at most
 * `longest`. */
void nvdp__bert_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     size_t max_tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                     struct nvdp__bert_cache *cache);
/* cache->hidden[layers] is the last hidden state [T, D]. */
void nvdp__bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
/* d_last [T, D] is the gradient of the last hidden state; overwritten.  Adds to params->grad. */
void nvdp__bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last);
/* cache->pooled [B, D] = tanh(W h_first + b). */
void nvdp__pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          struct nvdp__bert_cache *cache);
/* d_pooled [B, D] overwritten; d_last [T, D] is SET (zero but at first tokens). */
void nvdp__pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           struct nvdp__bert_cache *cache, float *d_pooled, float *d_last);

#endif
