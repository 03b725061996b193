/**
 * @file
 * BERT's configuration, as in a Hugging Face directory's config.json, and new models of it; also of
 * its kin DistilBERT and RoBERTa, which compute the same layers under other names.
 *
 * Devlin, Chang, Lee & Toutanova (2019), BERT: pre-training of deep bidirectional transformers.
 * Sanh, Debut, Chaumond & Wolf (2019), DistilBERT.  Liu et al. (2019), RoBERTa.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_BERT_H
#define NVDP_BERT_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** The inner layers' activation. */
enum nvdp_activation {
    NVDP_ACTIVATION_GELU,    /**< x Phi(x) (Hendrycks & Gimpel 2016): "gelu". */
    NVDP_ACTIVATION_GELU_NEW /**< Its tanh form: "gelu_new". */
};

/** config.json's "model_type": how tensors and members are named, and where the types differ.  Numbers of encoders; one
 * that is added has the next number. */
enum nvdp_model_type {
    NVDP_MODEL_BERT,       /**< "bert". */
    NVDP_MODEL_DISTILBERT, /**< "distilbert": no token types; its head's inner layer ends in ReLU. */
    NVDP_MODEL_ROBERTA,    /**< "roberta": positions are counted from pad_token_id + 1. */
    NVDP_MODEL_BILSTM /**< "bilstm": layers of an LSTM in both directions over word embeddings that
                                are never trained; a model of this library's, unknown to transformers. */
};

/** The members of config.json, under BERT's names. */
struct nvdp_bert_config {
    size_t hidden_size;                  /**< D, numbers per token's state; 1 to 65536.  Of a BiLSTM
                                              half of them are each direction's. */
    size_t num_hidden_layers;            /**< Layers; 1 to 1024. */
    size_t num_attention_heads;          /**< Heads per layer; a divisor of hidden_size. */
    size_t intermediate_size;            /**< Width of the inner layers; 1 to 1048576. */
    size_t vocab_size;                   /**< Pieces; 1 to 16777216. */
    size_t max_position_embeddings;      /**< The longest text, in tokens; 1 to 1048576.  RoBERTa's
                                              config.json has pad_token_id + 1 more. */
    size_t type_vocab_size;              /**< Segments; 1 to 1024.  DistilBERT tells none apart. */
    double layer_norm_eps;               /**< Added to LayerNorm's variances; 1e-30 to 1. */
    enum nvdp_activation hidden_act;     /**< The inner layers' activation. */
    double hidden_dropout_prob;          /**< Probability, on states; 0 to 0.99. */
    double attention_probs_dropout_prob; /**< Probability, on attention's weights; 0 to 0.99. */
    double initializer_range;            /**< Standard deviation of initial weights; 0 to 10. */
    int64_t pad_token_id;                /**< The piece that padding is; 0 to vocab_size - 1. */
    enum nvdp_model_type model_type;     /**< BERT's, or one of its kin. */
    size_t embedding_size; /**< Of a BiLSTM: numbers per word embedding; 1 to 65536. */
};

/**
 * BERT-base-uncased.
 *
 * @return its configuration.
 */
struct nvdp_bert_config nvdp_bert_config_default(void);

/**
 * One of Google's uncased sizes (Turc et al. 2019; Devlin et al. 2019).
 *
 * @param ctx where errors are recorded.
 * @param name "tiny", "mini", "small", "base" or "large".
 * @param out the configuration; untouched on error.
 * @return NVDP_ERR_ARGUMENT for another name; the message lists them.
 */
nvdp_status nvdp_bert_config_find(struct nvdp_context *ctx, const char *name,
                                  struct nvdp_bert_config *out);

/**
 * Whether a configuration is one that the encoder computes.
 *
 * @param ctx where errors are recorded.
 * @param config the configuration.
 * @return NVDP_ERR_ARGUMENT where a member is out of its range; the message names the member, the
 *         value and the range.
 */
nvdp_status nvdp_bert_config_check(struct nvdp_context *ctx, const struct nvdp_bert_config *config);

/**
 * A type's name.
 *
 * @param type one of enum nvdp_model_type.
 * @return config.json's "model_type": "bert", "distilbert", "roberta", "bilstm".
 */
const char *nvdp_model_type_name(enum nvdp_model_type type);

/**
 * Reads DIR/config.json.  Members that it lacks take BERT-base's values (RoBERTa's pad_token_id: 1),
 * except hidden_size, num_hidden_layers, num_attention_heads, intermediate_size and vocab_size, which
 * are required.
 *
 * @param ctx where errors are recorded.
 * @param directory a Hugging Face directory.
 * @param out the configuration; untouched on error.
 * @return NVDP_ERR_IO where the file cannot be read; NVDP_ERR_INPUT where it is no JSON, a member is
 *         missing or out of its range, its model_type is another (the message lists those that are
 *         read), or it describes a variant that shares BERT's tensor names but computes something
 *         else; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out);

/**
 * How many numbers the encoder has, with its pooler or what the type has in its place.
 *
 * @param config a configuration that nvdp_bert_config_check accepts.
 * @return elements of all tensors.
 */
size_t nvdp_bert_parameter_count(const struct nvdp_bert_config *config);

/**
 * Whether a directory's vocabulary and configuration fit each other.
 *
 * @param ctx where errors are recorded.
 * @param directory the directory, for the message.
 * @param config its configuration.
 * @param tokenizer_size pieces of its tokenizer.
 * @return NVDP_ERR_INPUT where the two numbers differ; the message has both.
 */
nvdp_status nvdp_bert_check_vocabulary(struct nvdp_context *ctx, const char *directory,
                                       const struct nvdp_bert_config *config,
                                       size_t tokenizer_size);

/**
 * Makes a Hugging Face directory of a BERT with random weights: config.json, model.safetensors
 * (float32) and, where a vocabulary is given, a copy of it as vocab.txt.  The same seed gives the
 * same weights.
 *
 * @param ctx where errors are recorded.
 * @param config the configuration.
 * @param seed of the weights: normal(0, initializer_range), biases 0, LayerNorm 1 and 0.
 * @param vocab_path a file of vocab_size lines; NULL: none.
 * @param directory new or empty.
 * @return NVDP_ERR_ARGUMENT for a configuration out of range or a directory that is not empty;
 *         NVDP_ERR_INPUT for a vocabulary of another size; NVDP_ERR_IO; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_bert_create_random(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                    uint64_t seed, const char *vocab_path, const char *directory);

NVDP_END_DECLS

#endif
