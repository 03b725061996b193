/* Encoders over packed batches: declare, initialize, plan, forward, backward. Each function calls the function of
 * the encoder's row (row.h). */
#ifndef NVDP_SRC_BERT_ENCODER_H
#define NVDP_SRC_BERT_ENCODER_H

#include "base/array.h"
#include "tensor/ops.h"
#include "tensor/tensor.h"
#include "text/batch.h"
#include <nvdp/bert.h>

/* The sizes of BERT by name (Turc et al. 2019; Devlin et al. 2019): layers, hidden size. Heads have 64 dimensions;
 * inner layers are four times as wide. */
#define NVDP__BERT_SIZES(SIZE)                                                                     \
    SIZE(tiny, 2, 128)                                                                             \
    SIZE(mini, 4, 256)                                                                             \
    SIZE(small, 4, 512)                                                                            \
    SIZE(base, 12, 768)                                                                            \
    SIZE(large, 24, 1024)

/* Returns the activation of inner layers as an operation. */
enum nvdp__act nvdp__activation_operation(enum nvdp_activation activation);
/* Returns the activation's name in config.json. */
const char *nvdp__activation_name(enum nvdp_activation activation);
/* Finds an activation by one of its names in the library transformers. Fails with NVDP_ERR_INPUT; the message has
 * the file and the key. */
nvdp_status nvdp__activation_find(struct nvdp_context *ctx, const char *path, const char *key,
                                  const char *name, enum nvdp_activation *out);

/* The names of the parts of one type of checkpoint. */
struct nvdp__names {
    const char *type; /* model_type in config.json */
    /* classes in the library transformers: `architectures` */
    const char *encoder, *classification, *tagging;
    const char *prefix; /* prefix of the encoder's tensors; optional in a file */
    const char *layers; /* name after the prefix, before ".N." */
    const char *query, *key, *value, *attention_output, *attention_norm;
    const char *intermediate, *output, *output_norm;
    const char *words; /* name after the prefix; NULL: "embeddings.word_embeddings" */
    /* name after the prefix; NULL if there are no relative position biases */
    const char *relative;
    /* name after the prefix of the projection of the embeddings; NULL if there is none */
    const char *projection;
    const char *pooler, *classifier; /* whole names, without prefix */
};
const struct nvdp__names *nvdp__names(enum nvdp_model_type type);
/* Returns the name, after the prefix, of the table of word embeddings. */
const char *nvdp__words_name(const struct nvdp__names *names);
/* Returns the position of a text's first token. */
size_t nvdp__first_position(const struct nvdp_bert_config *config);
/* Returns the number of values per word embedding. */
size_t nvdp__word_width(const struct nvdp_bert_config *config);

/* Indices into the parameter table; `bias` is NVDP__NO_BIAS if there is no bias. */
#define NVDP__NO_BIAS SIZE_MAX
struct nvdp__dense {
    size_t weight, bias;
};
/* A layer of a transformer. A part of zeros is not declared, because tensor 0 is the table of word embeddings. */
enum { NVDP__LAYER_PARTS = 8 };
struct nvdp__bert_layer {
    union {
        struct {
            /* Declared one after the other, so that the three form one product with 3D outputs if the size of a D x
             * D tensor is a multiple of cache lines (params.h). ModernBERT declares all three as `query`. */
            struct nvdp__dense query, key, value;
            struct nvdp__dense attention_output, attention_norm, intermediate, output, output_norm;
        };
        struct nvdp__dense part[NVDP__LAYER_PARTS];
    };
    bool local; /* true if the layer attends only to near tokens */
};
static inline bool nvdp__declared(const struct nvdp__dense *part) {
    return part->weight != 0;
}
/* An encoder. Set it to zero before nvdp__bert_declare(); it can be released even if nvdp__bert_declare() failed. */
struct nvdp__bert {
    const struct nvdp__encoder_row *row;
    struct nvdp_bert_config config;
    size_t word, position, type; /* `type` is not declared if the row has no token types */
    struct nvdp__dense norm;
    struct nvdp__dense projection; /* projection of the embeddings, if has_projection */
    bool has_projection;
    size_t relative; /* table of relative position biases, if the row has them */
    struct nvdp__bert_layer *layer;
    struct nvdp__dense last_norm, head_norm; /* norms after the last layer, and after the pooler */
    /* indices of an encoder without transformer layers; the encoder's file allocates them, and they are freed with
     * free() */
    void *own;
    struct nvdp__dense pooler;
    bool has_pooler;
};

/* A dense layer, or a LayerNorm if `in` is 0, to be declared as "<prefix>.<name>". */
struct nvdp__part_row {
    const char *name;
    size_t out, in;
    bool biased;
    struct nvdp__dense *part;
};
nvdp_status nvdp__declare_parts(struct nvdp__params *params, const char *prefix, unsigned flags,
                                const struct nvdp__part_row *row, size_t rows);
/* Declares "<prefix>.weight" [out, in], or [out] of a LayerNorm if `in` is 0; if `biased`, also "<prefix>.bias"
 * [out]. */
nvdp_status nvdp__declare_part(struct nvdp__params *params, const char *prefix, size_t out,
                               size_t in, bool biased, unsigned flags, struct nvdp__dense *part);
/* Sets initial values: normal(0, sd), or 1 for a LayerNorm; biases are 0. */
void nvdp__dense_initialize(const struct nvdp__device *dev, struct nvdp__params *params,
                            const struct nvdp__dense *dense, double sd, uint64_t seed);
/* Declares "<prefix>.weight" [out, in] and "<prefix>.bias" [out]. */
nvdp_status nvdp__declare_dense(struct nvdp__params *params, const char *prefix, size_t out,
                                size_t in, unsigned flags, struct nvdp__dense *dense);

/* Copies weight and bias from one declared layer, or LayerNorm, to another of the same shape. */
void nvdp__dense_copy(const struct nvdp__device *dev, struct nvdp__params *params,
                      const struct nvdp__dense *from, const struct nvdp__dense *to);

/* Returns a declared dense layer for `rows` rows, with gradients if the table has any. */
struct nvdp__linear nvdp__dense_linear(const struct nvdp__params *params,
                                       const struct nvdp__dense *dense, size_t rows);
/* Returns a declared LayerNorm, with gradients if the table has any, and without dropout and texts. `beta` is NULL
 * if the layer has no bias. */
struct nvdp__norm nvdp__dense_norm(const struct nvdp__params *params,
                                   const struct nvdp__dense *norm, float eps, float *mean,
                                   float *rstd);

/* Creates a device in the context's precision for an encoder of this configuration. bf16 needs an encoder that
 * supports bf16, with heads of whole vectors (a multiple of 32; BERT's heads have 64). Other encoders get float32
 * and a notice. */
nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev);

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params);
void nvdp__bert_release(struct nvdp__bert *bert);
/* Freezes the embeddings and the first `layers` layers (>= 1), for rows with tensors_below. If all layers are
 * frozen, so is a LayerNorm of the last state. */
void nvdp__bert_freeze(const struct nvdp__bert *bert, size_t layers, struct nvdp__params *params);

/* Activations that are kept between forward and backward pass; in inference, the layers share buffers. Operands of
 * products have the device's product type; the residual stream, and input and statistics of LayerNorm, are float32. */
struct nvdp__bert_layer_cache {
    struct nvdp__tensor attention_in; /* [T,D] LN(h) of a pre-LN layer */
    /* [T,3D] queries, keys and values; [T,D] output of the attention */
    struct nvdp__tensor qkv, context;
    /* [T,heads]; NULL if there is no backward pass */
    float *lse;
    /* [T,D] input of the LayerNorm after the attention; [T] its mean and inverse deviation */
    float *attention_sum, *attention_mean, *attention_rstd;
    float *attention_out; /* [T,D] after LayerNorm */
    /* attention_out in the type of products */
    struct nvdp__tensor attention_state;
    /* [T,I or 2I] before the activation, [T,I] after it */
    struct nvdp__tensor inner, activated;
    /* [T,D] input of the last LayerNorm of the layer; [T] its mean and inverse deviation */
    float *output_sum, *output_mean, *output_rstd;
};
struct nvdp__pooler {
    float *first, *pooled; /* [B,D] states of the first tokens; act(W first + b) */
    float *inner;          /* [B,D] W first + b, if the derivative of act needs it */
    float *d_first;        /* [B,D] gradient of `first` */
    /* for a head that ends in a LayerNorm: input [B,D], statistics [B], and zeros [D] */
    float *normed, *mean, *rstd, *zeros;
    int32_t *ends; /* [2B] rows of a BiLSTM's states; a BiLSTM uses only `ends` and `pooled` */
};
struct nvdp__bert_cache {
    bool training;
    bool keep_hidden; /* true to keep all hidden states readable (encode --all-layers) */
    /* Set between create and plan: number of frozen layers, which are not trained. These layers share buffers as in
     * inference, and a training forward keeps hidden[frozen] readable. */
    size_t frozen;
    /* Set between create and plan: true if backward passes compute per-example gradients (tensor/per_example.h). */
    bool per_example;
    /* Set between create and plan: true if the encoder has no embeddings, because another encoder fills hidden[0]. */
    bool above;
    float *embedding_sum, *embedding_mean, *embedding_rstd;
    int32_t *positions; /* [T] rows of the position table, if positions skip padding; else NULL */
    float *last_sum, *last_mean,
        *last_rstd; /* [T,D], [T], [T] of the LayerNorm after the last layer */
    float *zeros;   /* [D] biases for a LayerNorm without biases */
    /* [T,D] output of a pre-LN layer's LayerNorm, if products read a rounded copy; else NULL */
    float *normal;
    float *cosine[2],
        /* [longest, head size / 2] rotary positions: for layers with all tokens, and with near tokens */
        *sine[2];
    /* [T,E] before the projection; [T,D] gradient of the projection, or scratch buffer */
    float *embedded, *d_embedded;
    struct nvdp__relative relative; /* relative position biases, or the window of near tokens */
    float *d_relative;              /* [B, buckets, heads] gradients of these biases */
    /* Arrays of layers+1 hidden states, in host memory; [0] is the output of the embeddings. After a training
     * forward, only the last hidden state is readable, and only the inputs of products are kept; in inference,
     * keep_hidden keeps all. */
    float **hidden;              /* [T,D] per state */
    struct nvdp__tensor *states; /* `hidden` in the type of products */
    struct nvdp__bert_layer_cache *layer;
    struct nvdp__memory memory; /* owner of the arrays in host memory */
    /* activations of an encoder without transformer layers, made by the encoder's file (row.h); freed with free() */
    void *own;
    /* Releases the objects to which `own` refers; NULL if there are none. */
    void (*release_own)(struct nvdp__bert_cache *cache);
    float *scratch; /* scratch buffer of attention */
    size_t lanes;   /* 0, or the number of threads: see nvdp__bert_lanes() */
    struct nvdp__lane *lane;
    /* in the backward pass */
    /* [T,D], [T,I or 2I], [T,3D], [T,D] gradients of a branch, the inner layer, qkv and context */
    struct nvdp__tensor d_branch, d_wide, d_qkv, d_context;
    struct nvdp__tensor d_activated; /* [T,I] for a gated inner layer */
    float *branch;                   /* [T,D] gradient of a branch of a pre-LN layer */
    struct nvdp__pooler pooler;
};
/* The part of a batch that one thread processes. */
struct nvdp__lane {
    struct nvdp__device dev;
    struct nvdp__bert_cache cache;
    size_t first, texts; /* first text and number of texts in the batch */
    /* [texts + 1] first token of each text, relative to the lane's first text */
    int32_t *offset;
};
/* Options of a pass. Dropout rates come from the configuration or are overridden; without training, dropout is off.
 * The encoder's dropout sites have the numbers 0 to 3 times the number of layers; the sites of the heads have larger
 * numbers. */
struct nvdp__pass {
    bool training;
    float hidden_dropout, attention_dropout;
    uint64_t seed;
    uint32_t step;
    /* First layer of the pass: cache->hidden[first_layer] is given; lower layers do not run and get no gradients. 0:
     * the pass begins at the embeddings. */
    size_t first_layer;
    /* The pass ends after this many layers; 0: after all layers. Only for rows with tensors_below, without training. */
    size_t layers;
    /* Divisor of the sum of the texts' gradients; 0: the number of texts in the batch. */
    double divisor;
    struct nvdp__part part; /* the position of this batch in a larger batch */
};

/* Selects what a cache keeps beyond the last hidden state: nothing, what a backward pass reads, or all hidden
 * states. */
enum nvdp__cache_use { NVDP__KEEP_LAST, NVDP__KEEP_TRAINING, NVDP__KEEP_HIDDEN };
nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    enum nvdp__cache_use use, struct nvdp__bert_cache *cache);
void nvdp__bert_cache_release(struct nvdp__bert_cache *cache);
/* Plans lanes, for inference; called between create and plan. Each thread of `dev` then processes separate texts of
 * a batch, if the batch can be divided evenly. Threads then synchronize once per batch instead of at each operation. */
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
/* Computes the gradients once after a forward pass, and overwrites the activations of that pass. d_last is the
 * gradient of the last hidden state [T, D], with room for nvdp__padded_rows(T) rows. d_last is overwritten; if
 * batch->words is given, by the gradient of batch->words. Sets the gradients of the layers' matrices
 * (NVDP__PARAM_SET) and adds to all other gradients; parameters below pass->first_layer get no gradients. */
void nvdp__bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last);

/* The pooler. BERT's family: pooled [B, D] = act(W h_first + b), with h_first the last hidden state of a text's
 * first token, and act the row's pooler_activation. BiLSTM: the last token's forward state and the first token's
 * backward state. */
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
