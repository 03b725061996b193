/* Encoders over packed batches: declare, initialize, plan, forward, backward. Each function
 * calls that of the encoder's row (row.h). */
#ifndef NVDP_SRC_BERT_ENCODER_H
#define NVDP_SRC_BERT_ENCODER_H

#include "base/array.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "text/batch.h"
#include <nvdp/bert.h>

/* BERT's sizes by name (Turc et al. 2019; Devlin et al. 2019): layers, hidden size. Heads have
 * 64 dimensions; inner layers are four times as wide. */
#define NVDP__BERT_SIZES(SIZE)                                                                     \
    SIZE(tiny, 2, 128)                                                                             \
    SIZE(mini, 4, 256)                                                                             \
    SIZE(small, 4, 512)                                                                            \
    SIZE(base, 12, 768)                                                                            \
    SIZE(large, 24, 1024)

/* The activation of inner layers as an operation. */
enum nvdp__act nvdp__act_of(enum nvdp_activation activation);
/* Its name in config.json. */
const char *nvdp__activation_name(enum nvdp_activation activation);
/* Finds an activation by one of its names in transformers. NVDP_ERR_INPUT names file and key. */
nvdp_status nvdp__activation_find(struct nvdp_context *ctx, const char *path, const char *key,
                                  const char *name, enum nvdp_activation *out);

/* The names of the parts of one type of checkpoint. */
struct nvdp__names {
    const char *type;                               /* config.json's model_type */
    const char *encoder, *classification, *tagging; /* classes of transformers: `architectures` */
    const char *prefix; /* of the encoder's tensors; optional in a file */
    const char *layers; /* after the prefix, before ".N." */
    const char *query, *key, *value, *attention_output, *attention_norm;
    const char *intermediate, *output, *output_norm;
    const char *words;               /* after the prefix; NULL: "embeddings.word_embeddings" */
    const char *relative;            /* after the prefix; NULL: no relative position biases */
    const char *projection;          /* after the prefix, of the embeddings; NULL: none */
    const char *pooler, *classifier; /* whole names */
};
const struct nvdp__names *nvdp__names(enum nvdp_model_type type);
/* The name of the table of word embeddings after the prefix. */
const char *nvdp__words_name(const struct nvdp__names *names);
/* The position of a text's first token. */
size_t nvdp__first_position(const struct nvdp_bert_config *config);
/* Numbers per word embedding. */
size_t nvdp__word_width(const struct nvdp_bert_config *config);

/* Indices into the parameter table; bias NVDP__NO_BIAS: none. */
#define NVDP__NO_BIAS SIZE_MAX
struct nvdp__dense {
    size_t weight, bias;
};
/* A layer of a transformer. A part of zeros is not declared: tensor 0 is the table of word embeddings. */
enum { NVDP__LAYER_PARTS = 8 };
struct nvdp__bert_layer {
    union {
        struct {
            /* Declared one after the other, so that the three form one product of 3D outputs if a D x D
             * tensor is a multiple of cache lines (params.h). ModernBERT declares all three as `query`. */
            struct nvdp__dense query, key, value;
            struct nvdp__dense attention_output, attention_norm, intermediate, output, output_norm;
        };
        struct nvdp__dense part[NVDP__LAYER_PARTS];
    };
    bool local; /* attends to near tokens alone */
};
static inline bool nvdp__declared(const struct nvdp__dense *part) {
    return part->weight != 0;
}
/* Zero it before nvdp__bert_declare; releasing it is safe if that failed. */
struct nvdp__bert {
    const struct nvdp__encoder_row *row;
    struct nvdp_bert_config config;
    size_t word, position, type; /* a row without token types declares none */
    struct nvdp__dense norm;
    struct nvdp__dense projection; /* of the embeddings, if has_projection */
    bool has_projection;
    size_t relative; /* relative position biases, if the row has them */
    struct nvdp__bert_layer *layer;
    struct nvdp__dense last_norm, head_norm; /* after the last layer, and after the pooler */
    void *own; /* indices of an encoder without these layers; released with free() */
    struct nvdp__dense pooler;
    bool has_pooler;
};

/* A dense layer, or with `in` 0 a LayerNorm, to declare as "<prefix>.<name>". */
struct nvdp__part_row {
    const char *name;
    size_t out, in;
    bool biased;
    struct nvdp__dense *part;
};
nvdp_status nvdp__declare_parts(struct nvdp__params *params, const char *prefix, unsigned flags,
                                const struct nvdp__part_row *row, size_t rows);
/* Adds "<prefix>.weight" [out, in], or with `in` 0 the [out] of a LayerNorm, and with `biased` "<prefix>.bias" [out]. */
nvdp_status nvdp__declare_part(struct nvdp__params *params, const char *prefix, size_t out,
                               size_t in, bool biased, unsigned flags, struct nvdp__dense *part);
/* Sets initial values: normal(0, sd), or 1 of a LayerNorm, and biases 0. */
void nvdp__dense_initialize(const struct nvdp__device *dev, struct nvdp__params *params,
                            const struct nvdp__dense *dense, double sd, uint64_t seed);
/* Adds "<prefix>.weight" [out, in] and "<prefix>.bias" [out]. */
nvdp_status nvdp__declare_dense(struct nvdp__params *params, const char *prefix, size_t out,
                                size_t in, unsigned flags, struct nvdp__dense *dense);

/* Copies weight and bias from one declared layer, or LayerNorm, to another of the same shape. */
void nvdp__dense_copy(const struct nvdp__device *dev, struct nvdp__params *params,
                      const struct nvdp__dense *from, const struct nvdp__dense *to);

/* Returns a declared dense layer for `rows` rows, with its gradients if the table has any. */
struct nvdp__linear nvdp__dense_linear(const struct nvdp__params *params,
                                       const struct nvdp__dense *dense, size_t rows);
/* Returns a declared LayerNorm, with its gradients if the table has any, and without dropout and
 * texts. `beta` is NULL if the layer has no bias. */
struct nvdp__norm nvdp__dense_norm(const struct nvdp__params *params,
                                   const struct nvdp__dense *norm, float eps, float *mean,
                                   float *rstd);

/* Creates a device in the context's precision for an encoder of this configuration. bf16 needs an
 * encoder that computes in it and heads of whole vectors (a multiple of 32; BERT's are 64); others
 * get float32 and a notice. */
nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev);

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params);
void nvdp__bert_release(struct nvdp__bert *bert);
/* Freezes the embeddings and the first `layers` layers (>= 1), for rows with tensors_below. With all layers, a
 * LayerNorm of the last state is frozen too. */
void nvdp__bert_freeze(const struct nvdp__bert *bert, size_t layers, struct nvdp__params *params);

/* Activations kept between forward and backward; in inference the layers share buffers. Operands
 * of products have the device's product type; the residual stream and LayerNorm's input and
 * statistics are float32. */
struct nvdp__bert_layer_cache {
    struct nvdp__tensor attention_in;                       /* [T,D] LN(h) of a pre-LN layer */
    struct nvdp__tensor qkv, context;                       /* [T,3D], [T,D] */
    float *lse;                                             /* [T,heads]; NULL: no backward */
    float *attention_sum, *attention_mean, *attention_rstd; /* [T,D], [T], [T] */
    float *attention_out;                                   /* [T,D] after LayerNorm */
    struct nvdp__tensor attention_state;                    /* the same, for products */
    struct nvdp__tensor inner, activated;          /* [T,I or 2I] before act, [T,I] after */
    float *output_sum, *output_mean, *output_rstd; /* [T,D], [T], [T] */
};
struct nvdp__pooler {
    float *first, *pooled; /* [B,D] states of the first tokens; act(W first + b) */
    float *inner;          /* [B,D] W first + b, if act' needs it */
    float *d_first;        /* [B,D] */
    /* of a head that ends in a LayerNorm: its input [B,D], statistics [B], and zeros [D] */
    float *normed, *mean, *rstd, *zeros;
    int32_t *ends; /* [2B] a BiLSTM's rows of states; a BiLSTM uses only `ends` and `pooled` */
};
struct nvdp__bert_cache {
    bool training;
    bool keep_hidden; /* keep all hidden states readable (encode --all-layers) */
    /* Set between create and plan: layers below are not trained. They share buffers as in
     * inference, and a training forward keeps hidden[frozen] readable. */
    size_t frozen;
    /* Set between create and plan: backward passes compute per-example gradients
     * (tensor/per_example.h). */
    bool per_example;
    /* Set between create and plan: the encoder has no embeddings of its own; another encoder fills
     * hidden[0]. */
    bool above;
    float *embedding_sum, *embedding_mean, *embedding_rstd;
    int32_t *positions; /* [T] rows of the position table, if they skip padding; else NULL */
    float *last_sum, *last_mean,
        *last_rstd; /* [T,D], [T], [T] of the LayerNorm after the last layer */
    float *zeros;   /* [D] biases of a LayerNorm without biases */
    /* [T,D] output of a pre-LN layer's LayerNorm, if products read a rounded copy; else NULL */
    float *normal;
    float *cosine[2],
        *sine[2]; /* [longest, head size / 2] rotary positions: all tokens, near ones */
    float *embedded, *d_embedded; /* [T,E] before the projection; [T,D] its gradient, or scratch */
    struct nvdp__relative relative; /* relative position biases, or the window of near tokens */
    float *d_relative;              /* [B, buckets, heads] their gradients */
    /* Host arrays of layers+1; [0] is the output of the embeddings. After a training forward,
     * only the last hidden state is readable, and only the inputs of products are kept; in
     * inference, keep_hidden keeps all. */
    float **hidden;              /* [T,D] */
    struct nvdp__tensor *states; /* the same, for products */
    struct nvdp__bert_layer_cache *layer;
    struct nvdp__memory memory; /* of the arrays on the host */
    void *own; /* activations of an encoder without these layers (row.h); released with free() */
    /* Releases what `own` refers to; NULL: it refers to nothing that is owned. */
    void (*release_own)(struct nvdp__bert_cache *cache);
    float *scratch; /* attention */
    size_t lanes;   /* 0, or the number of threads: see nvdp__bert_lanes */
    struct nvdp__lane *lane;
    /* backward */
    struct nvdp__tensor d_branch, d_wide, d_qkv, d_context; /* [T,D], [T,I or 2I], [T,3D], [T,D] */
    struct nvdp__tensor d_activated;                        /* [T,I] of a gated inner layer */
    float *branch; /* [T,D] gradient of a branch of a pre-LN layer */
    struct nvdp__pooler pooler;
};
/* The part of a batch that one thread processes. */
struct nvdp__lane {
    struct nvdp__device dev;
    struct nvdp__bert_cache cache;
    size_t first, texts; /* in the batch */
    int32_t *offset;     /* [texts + 1] relative to the first text's */
};
/* Options of a pass. Dropout rates come from the configuration or are overridden; without
 * training they are not applied. The encoder's dropout sites are 0 to 3 layers; those of the
 * heads are above. */
struct nvdp__pass {
    bool training;
    float hidden_dropout, attention_dropout;
    uint64_t seed;
    uint32_t step;
    /* First layer of the pass: cache->hidden[first_layer] is given, and lower layers are neither
     * run nor get gradients. 0: the pass begins at the embeddings. */
    size_t first_layer;
    /* The pass ends after this many layers; 0: after all. For rows with tensors_below, without training. */
    size_t layers;
    /* Divisor of the sum of the texts' gradients; 0: the batch's number of texts. */
    double divisor;
    struct nvdp__part part; /* the position of this batch in a larger one */
};

/* Says what a cache keeps beyond the last hidden state: nothing, what a backward pass reads, or all hidden states. */
enum nvdp__cache_use { NVDP__KEEP_LAST, NVDP__KEEP_TRAINING, NVDP__KEEP_HIDDEN };
nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    enum nvdp__cache_use use, struct nvdp__bert_cache *cache);
void nvdp__bert_cache_release(struct nvdp__bert_cache *cache);
/* Call between create and plan, for inference. Each thread of `dev` then processes its own texts
 * of a batch, if the batch can be split evenly. Threads then synchronize once per batch instead
 * of at each operation. */
nvdp_status nvdp__bert_lanes(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                             struct nvdp__bert_cache *cache);
/* Takes all memory from the arena, for at most max_tokens tokens and max_texts texts of at most
 * `longest` tokens. */
void nvdp__bert_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     size_t max_tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                     struct nvdp__bert_cache *cache);
/* Runs the embeddings and the first `layers` layers without dropout, into cache->hidden[layers]. */
void nvdp__bert_prefix(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       const struct nvdp__params *params, const struct nvdp__batch *batch,
                       size_t layers, struct nvdp__bert_cache *cache);
/* Sets cache->hidden[layers], the last hidden state [T, D]. */
void nvdp__bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
/* Call once after a forward pass, whose activations it overwrites. d_last is the gradient of the
 * last hidden state [T, D], with room for nvdp__padded_rows(T) rows. It is overwritten: with the
 * gradient of batch->words if these are given. Sets the gradients of the layers' matrices
 * (NVDP__PARAM_SET) and adds to all others; parameters below pass->first_layer get none. */
void nvdp__bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last);

/* BERT's family: pooled [B, D] = act(W h_first + b), with h_first the last hidden state of a
 * text's first token, and act the row's pooler_activation. BiLSTM: the last token's forward
 * state and the first token's backward state. */
void nvdp__pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                       struct nvdp__arena *arena, struct nvdp__pooler *pooler);
void nvdp__pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          const float *hidden, const struct nvdp__pooler *pooler);
/* Overwrites d_pooled [B, D] and sets d_last [T, D]. */
void nvdp__pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__pooler *pooler, float *d_pooled, float *d_last);

/* Checks that the vocabulary of a directory has the size in its configuration.
 * ctx: records errors
 * directory: the directory, for the message
 * config: its configuration
 * tokenizer_size: number of pieces of its tokenizer
 * Returns NVDP_ERR_INPUT if the two sizes differ; the message has both */
nvdp_status nvdp__bert_check_vocabulary(struct nvdp_context *ctx, const char *directory,
                                        const struct nvdp_bert_config *config,
                                        size_t tokenizer_size);

/* Checks that the encoder supports a configuration.
 * ctx: records errors
 * config: the configuration
 * Returns NVDP_ERR_ARGUMENT if a member is out of its range (the message names the member, the value and the range)
 *         or the struct has no size */
nvdp_status nvdp__bert_config_check(struct nvdp_context *ctx,
                                    const struct nvdp_bert_config *config);

/* Returns the number of parameters of the encoder, including its pooler or the equivalent of its type.
 * config: a configuration that passes nvdp__bert_config_check()
 * Returns number of elements of all tensors; 0 for a struct without its size */
size_t nvdp__bert_parameter_count(const struct nvdp_bert_config *config);

/* Returns the name of a model type.
 * type: one of enum nvdp_model_type
 * Returns "model_type" in config.json: "bert", "distilbert", "roberta", "bilstm", "mpnet", "electra", "xlm-roberta",
 *         "modernbert", "words", "word-windows", "static-embedding", "model2vec" */
const char *nvdp__model_type_name(enum nvdp_model_type type);

#endif
