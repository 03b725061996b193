/* BERT's encoder over packed batches: declare, initialise, plan, forward, backward. */
#ifndef NVDP_SRC_BERT_ENCODER_H
#define NVDP_SRC_BERT_ENCODER_H

#include "tensor/operand.h"
#include "tensor/params.h"
#include "text/batch.h"
#include <nvdp/bert.h>

/* Indices into the parameter table. */
struct nvdp__dense {
    size_t weight, bias;
};
struct nvdp__bert_layer {
    /* Declared one after the other, so that the three are one product of 3D outputs wherever a
     * tensor of D x D is whole cache lines (params.h). */
    struct nvdp__dense query, key, value;
    struct nvdp__dense attention_output, attention_norm, intermediate, output, output_norm;
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

/* Weight and bias (a LayerNorm's too) from one declared layer to another of its shape. */
void nvdp__dense_copy(const struct nvdp__device *dev, struct nvdp__params *params,
                      const struct nvdp__dense *from, const struct nvdp__dense *to);

/* A layer's tensors as "<prefix>.attention.self.query.weight" and so on. */
nvdp_status nvdp__layer_declare(struct nvdp__bert_layer *layer,
                                const struct nvdp_bert_config *config, const char *prefix,
                                unsigned flags, struct nvdp__params *params);

/* A declared dense layer for `rows` rows, its gradients where the table has any. */
struct nvdp__linear nvdp__dense_linear(const struct nvdp__params *params,
                                       const struct nvdp__dense *dense, size_t rows);

/* A device in the context's precision, for an encoder of this configuration: bf16 wants heads of
 * whole vectors (a multiple of 32; BERT's are 64); others get float32 and a notice. */
nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev);

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params);
void nvdp__bert_release(struct nvdp__bert *bert);
/* Normal(0, initializer_range), LayerNorm 1 / 0, biases 0. */
void nvdp__bert_initialise(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed);

/* Activations kept between forward and backward; for inference layers share buffers.  What products
 * read is an operand; the residual stream, LayerNorm's input and statistics are float32. */
struct nvdp__bert_layer_cache {
    nvdp__operand *qkv, *context;                           /* [T,3D], [T,D] */
    float *lse;                                             /* [T,heads] */
    float *attention_sum, *attention_mean, *attention_rstd; /* [T,D], [T], [T] */
    float *attention_out;                                   /* [T,D] after LayerNorm */
    nvdp__operand *attention_operand;                       /* the same, for products */
    nvdp__operand *inner, *activated;                       /* [T,I] before and after GELU */
    float *output_sum, *output_mean, *output_rstd;
};
struct nvdp__bert_cache {
    bool training;
    bool keep_hidden; /* all hidden states stay readable (encode --all-layers) */
    /* Set between create and plan: layers below are never trained.  They share buffers as in
     * inference, and a training forward's hidden[frozen] stays readable. */
    size_t frozen;
    /* Set likewise: there are no embeddings, hidden[0] and operands[0] are another encoder's. */
    bool above;
    float *embedding_sum, *embedding_mean, *embedding_rstd;
    /* Host arrays of layers+1; [0] is the embeddings' output.  After a training forward only the
     * last hidden state is readable, and only the operands are kept; in inference keep_hidden keeps
     * all. */
    float **hidden;           /* [T,D] */
    nvdp__operand **operands; /* the same, for products */
    struct nvdp__bert_layer_cache *layer;
    float *scratch; /* attention */
    /* backward */
    nvdp__operand *d_branch, *d_wide, *d_qkv, *d_context; /* [T,D], [T,I], [T,3D], [T,D] */
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
    /* Where the pass begins: cache->hidden[first_layer] is given, what lies below is not run and
     * gets no gradient.  0: at the embeddings. */
    size_t first_layer;
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
/* The embeddings and the first `layers` layers without dropout: cache->hidden[layers]. */
void nvdp__bert_prefix(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       const struct nvdp__params *params, const struct nvdp__batch *batch,
                       size_t layers, struct nvdp__bert_cache *cache);
/* cache->hidden[layers] is the last hidden state [T, D]. */
void nvdp__bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
/* Once after a forward pass, whose activations it overwrites.  d_last is the gradient of the last
 * hidden state [T, D], with room for nvdp__operand_rows(T) rows; overwritten.  Sets the gradients
 * of the layers' matrices (NVDP__PARAM_SET), adds to all others; none below pass->first_layer. */
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
