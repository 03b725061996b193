/* The table of encoders: one row per model_type. A row is defined in the file of the encoder; encoders.inc lists the
 * rows. The rest of the library depends on no encoder's name, but reads the row. */
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

/* The passes of an encoder. The arguments are those of nvdp__bert_... and nvdp__pooler_... in encoder.h. */
struct nvdp__encoder_pass {
    bool lanes; /* true if threads may process separate texts (nvdp__bert_lanes()) */
    /* Makes cache->own, which free() releases; NULL if the encoder needs none. */
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
    /* Declares an additional layer on top of `below`: `extra` has the row of `below` and one layer. forward and
     * backward run this layer if the cache is `above`. NULL if the encoder has none. */
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

/* max_position_embeddings of an encoder without positions, which accepts texts of any length. */
enum { NVDP__ANY_LENGTH = 1 << 20 };

/* The size of an encoder over the word embeddings of another model. Each row reads only the members that it needs. */
struct nvdp__over_words {
    size_t units; /* units per direction */
    /* number of words on either side of a word; number of lower layers of the model */
    size_t window, layers;
};

/* A member of config.json that must have this value if it is present. */
struct nvdp__config_value {
    const char *key;
    const char *json; /* the value, as JSON */
};

struct nvdp__encoder_row {
    const char *title; /* such as "a BiLSTM", for messages */
    /* names of tensors, and of classes in the library transformers */
    struct nvdp__names names;
    /* keys in config.json; NULL if the type has no such member */
    const char *key[NVDP__KEYS];
    int64_t pad_token_id; /* default if config.json has none */
    /* the only values that are implemented; key NULL at the end */
    const struct nvdp__config_value *only;

    /* Capabilities. Options that need a missing capability are refused, so a row must only claim what its functions
     * do. */
    bool token_types; /* true if the encoder reads token types */
    /* true if a trained vector per position is added to the word vectors */
    bool position_vectors;
    bool position_after_pad; /* true if positions are counted from pad_token_id + 1 */
    /* true if dropout is applied to the attention's output, before the LayerNorm */
    bool attention_dropout;
    bool own_pooler;  /* true if pretrained checkpoints contain the pooler */
    bool word_states; /* true if there is a state per token, for classification of tokens */
    /* true if the states of every layer can be read, not only of the last layer */
    bool all_layers;
    bool bottleneck; /* true if private methods are supported */
    /* true if the encoder reads batch->words, if given, instead of its table */
    bool word_vectors;
    /* true if the backward pass gives per-example gradients (tensor/per_example.h) */
    bool per_example;
    /* true if the encoder can be pretrained as a masked language model: it has a dense pooler and per-example
     * gradients */
    bool masked_lm;
    bool bf16; /* true if the encoder supports bf16, if its sizes fit */
    /* True if texts have no special tokens and may have no tokens at all. Only the mean pools such texts, and only
     * method word and method sentence use them. */
    bool bare_texts;
    /* True if the state of a word depends only on this word and config.window words on either side. Such an encoder
     * has no pooler. */
    bool word_local;
    enum nvdp__act pooler_activation;
    /* Relative position biases: number of rows of the table (0: no biases), and the row of a distance j - i from
     * query i to key j. */
    size_t relative_buckets;
    int32_t (*relative_bucket)(int32_t distance);

    /* Returns the number of tensors of the embeddings and the first `layers` layers (>= 1), which are declared
     * first, from the embeddings upward. NULL if lower layers cannot be frozen. */
    size_t (*tensors_below)(const struct nvdp__bert *bert, size_t layers);

    /* Set for an encoder over the word embeddings of another model, which is a value of the option `encoder` or
     * belongs to a method: returns the configuration over the words of `from`. `units` returns the units of a
     * configuration; NULL if there are none. */
    struct nvdp_bert_config (*over_words)(const struct nvdp_bert_config *from,
                                          const struct nvdp__over_words *how);
    size_t (*units)(const struct nvdp_bert_config *config);

    /* `read` sets the type's defaults and reads members without a place in `key`, before the other members are read.
     * `write` writes these members; it returns 0, or -1 if jansson has no memory. NULL if there are no such members. */
    nvdp_status (*read)(struct nvdp_context *ctx, const char *path, const json_t *json,
                        struct nvdp_bert_config *config);
    int (*write)(json_t *json, const struct nvdp_bert_config *config);

    /* Checks relations between members; NULL if there are none. Fails with NVDP_ERR_ARGUMENT. */
    nvdp_status (*check)(struct nvdp_context *ctx, const struct nvdp_bert_config *config);
    size_t (*parameter_count)(const struct nvdp_bert_config *config);
    /* Declares all tensors of `bert`, whose config, row and has_pooler are set. */
    nvdp_status (*declare)(struct nvdp__bert *bert, struct nvdp__params *params);
    /* Initialize all tensors, or only the tensors that pretrained checkpoints lack (NULL if there are none). BERT's
     * family: normal(0, initializer_range), LayerNorm 1 / 0, biases 0. */
    void (*initialize)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed);
    void (*initialize_new)(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed);
    const struct nvdp__encoder_pass *pass;
};

/* All rows, indexed by enum nvdp_model_type; NULL at the end. */
extern const struct nvdp__encoder_row *const nvdp__encoders[];
/* Values of the option `encoder`: "bert" (the model's encoder), then the rows with over_words; NULL at the end. */
extern const char *const nvdp__encoder_choices[];

/* Returns the row of a type; NULL if the table has none. */
const struct nvdp__encoder_row *nvdp__encoder_row(enum nvdp_model_type type);
/* Returns the row of a model_type; NULL if the table has none. */
const struct nvdp__encoder_row *nvdp__encoder_find(const char *model_type);
/* Finds the type of a model_type. Returns false if the table has none. */
bool nvdp__encoder_type(const char *model_type, enum nvdp_model_type *out);
/* Returns the row of a value of the option `encoder`; NULL for the model's encoder. */
const struct nvdp__encoder_row *nvdp__encoder_choice(int choice);
enum { NVDP__ENCODER_LIST = 256 };
/* Writes "bert, distilbert or roberta": the model types of all rows, for messages. */
const char *nvdp__encoder_list(char text[NVDP__ENCODER_LIST]);

#endif
