/* The table of encoders: one row per model_type. A row is defined in the file of its encoder;
 * encoders.inc lists the rows. The rest of the library names no encoder and reads its row. */
#ifndef NVDP_SRC_BERT_ROW_H
#define NVDP_SRC_BERT_ROW_H

#include "encoder/encoder.h"
#include <jansson.h>

/* Members of struct nvdp_bert_config that have keys in config.json. */
enum nvdp__config_key {
    NVDP__KEY_HIDDEN_SIZE,
    NVDP__KEY_LAYERS,
    NVDP__KEY_HEADS,
    NVDP__KEY_INTERMEDIATE_SIZE,
    NVDP__KEY_VOCAB_SIZE,
    NVDP__KEY_POSITIONS,
    NVDP__KEY_TYPES,
    NVDP__KEY_EMBEDDING_SIZE,
    NVDP__KEY_NORM_EPS,
    NVDP__KEY_HIDDEN_DROPOUT,
    NVDP__KEY_ATTENTION_DROPOUT,
    NVDP__KEY_INITIALIZER_RANGE,
    NVDP__KEY_ACTIVATION,
    NVDP__KEYS
};

/* The passes of an encoder. Arguments are those of nvdp__bert_... and nvdp__pooler_... in
 * encoder.h. */
struct nvdp__encoder_pass {
    bool lanes; /* threads may process separate texts (nvdp__bert_lanes) */
    /* Makes cache->own, which free() releases; NULL: the encoder needs none. */
    nvdp_status (*cache)(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                         struct nvdp__bert_cache *cache);
    void (*plan)(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t max_tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache);
    void (*forward)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
    void (*backward)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last);
    /* An additional layer on top of `below`: `extra` has below's row and one layer. forward and
     * backward run it if the cache is `above`. NULL: the encoder has none. */
    nvdp_status (*declare_extra)(struct nvdp__bert *extra, const struct nvdp__bert *below,
                                 const char *prefix, struct nvdp__params *params);
    void (*initialize_extra)(const struct nvdp__bert *extra, const struct nvdp__bert *below,
                             const struct nvdp__device *dev, struct nvdp__params *params);
    void (*pooler_plan)(const struct nvdp__bert *bert, size_t max_texts, bool training,
                        struct nvdp__arena *arena, struct nvdp__pooler *pooler);
    void (*pooler_forward)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const float *hidden, const struct nvdp__pooler *pooler);
    void (*pooler_backward)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const struct nvdp__pooler *pooler, float *d_pooled, float *d_last);
};

/* max_position_embeddings of an encoder without positions, which takes a text of any length. */
enum { NVDP__ANY_LENGTH = 1 << 20 };

/* The size of an encoder over the word embeddings of another model. Each row reads its own members. */
struct nvdp__over_words {
    size_t units;          /* per direction */
    size_t window, layers; /* words on either side of a word, lower layers of the model */
};

/* A member of config.json that must have this value, if present. */
struct nvdp__config_value {
    const char *key;
    const char *json; /* the value, as JSON */
};

struct nvdp__encoder_row {
    const char *title;                     /* "a BiLSTM": for messages */
    struct nvdp__names names;              /* of tensors, and of classes of transformers */
    const char *key[NVDP__KEYS];           /* in config.json; NULL: the type has no such member */
    int64_t pad_token_id;                  /* if config.json has none */
    const struct nvdp__config_value *only; /* the only values implemented; key NULL at the end */

    /* Capabilities. Options that need a missing one are refused, so a row must only claim what
     * its functions do. */
    bool token_types;        /* reads token types */
    bool position_vectors;   /* adds a trained vector per position to the word vectors */
    bool position_after_pad; /* counts positions from pad_token_id + 1 */
    bool attention_dropout;  /* applies dropout to the attention's output, before its LayerNorm */
    bool own_pooler;         /* its pretrained checkpoints contain the pooler */
    bool word_states;        /* gives a state per token, for classification of tokens */
    bool all_layers;         /* gives the states of every layer, not only of the last */
    bool bottleneck;         /* supports private methods */
    bool word_vectors;       /* reads batch->words, if given, instead of its table */
    bool per_example; /* its backward pass gives per-example gradients (tensor/per_example.h) */
    bool
        masked_lm; /* can be pretrained as a masked language model: has a dense pooler and per-example gradients */
    bool bf16; /* computes in bf16 if its sizes fit */
    /* Its texts have no special tokens, and may have no tokens at all: the mean alone pools them, and method word and
     * method sentence alone use them. */
    bool bare_texts;
    /* A word's state depends on this word, and config.window words on either side, alone; has no
     * pooler. */
    bool word_local;
    enum nvdp__act pooler_activation;
    /* Relative position biases: rows of their table (0: no biases), and the row of a distance
     * j - i from query i to key j. */
    size_t relative_buckets;
    int32_t (*relative_bucket)(int32_t distance);

    /* The number of tensors of the embeddings and the first `layers` layers (>= 1), which are
     * declared first, from the embeddings upward. NULL: lower layers cannot be frozen. */
    size_t (*tensors_below)(const struct nvdp__bert *bert, size_t layers);

    /* Set for an encoder over the word embeddings of another model, which is a value of the
     * option `encoder` or belongs to a method: returns its configuration over the words of
     * `from`; `units` returns the units of a configuration. NULL: it has none. */
    struct nvdp_bert_config (*over_words)(const struct nvdp_bert_config *from,
                                          const struct nvdp__over_words *how);
    size_t (*units)(const struct nvdp_bert_config *config);

    /* Sets the type's defaults and reads members without a place in `key`, before the others are
     * read; writes them (0, or -1 if jansson has no memory). NULL: there are none. */
    nvdp_status (*read)(struct nvdp_context *ctx, const char *path, const json_t *json,
                        struct nvdp_bert_config *config);
    int (*write)(json_t *json, const struct nvdp_bert_config *config);

    /* Checks relations between members; NULL: there are none. NVDP_ERR_ARGUMENT */
    nvdp_status (*check)(struct nvdp_context *ctx, const struct nvdp_bert_config *config);
    size_t (*parameter_count)(const struct nvdp_bert_config *config);
    /* Declares all tensors of `bert`, whose config, row and has_pooler are set. */
    nvdp_status (*declare)(struct nvdp__bert *bert, struct nvdp__params *params);
    /* Initializes all tensors, or only those that pretrained checkpoints lack (NULL: none). BERT's
     * family: normal(0, initializer_range), LayerNorm 1 / 0, biases 0. */
    void (*initialize)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed);
    void (*initialize_new)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed);
    const struct nvdp__encoder_pass *pass;
};

/* All rows, indexed by enum nvdp_model_type. NULL at the end. */
extern const struct nvdp__encoder_row *const nvdp__encoders[];
/* Values of the option `encoder`: "bert" (the model's own), then the rows with over_words. NULL
 * at the end. */
extern const char *const nvdp__encoder_choices[];

/* The row of a type; NULL if the table has none. */
const struct nvdp__encoder_row *nvdp__encoder_row(enum nvdp_model_type type);
/* The row of a model_type; NULL if the table has none. */
const struct nvdp__encoder_row *nvdp__encoder_find(const char *model_type);
/* Finds the type of a model_type. Returns false if the table has none. */
bool nvdp__encoder_type(const char *model_type, enum nvdp_model_type *out);
/* The row of a value of the option `encoder`; NULL: the model's own encoder. */
const struct nvdp__encoder_row *nvdp__encoder_choice(int choice);
enum { NVDP__ENCODER_LIST = 256 };
/* "bert, distilbert or roberta": the model types of all rows, for messages. */
const char *nvdp__encoder_list(char text[NVDP__ENCODER_LIST]);

#endif
