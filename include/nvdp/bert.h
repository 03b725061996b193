/** @file
 * BERT configurations, as in config.json of a Hugging Face directory, and new models with random weights. Covers
 * DistilBERT, RoBERTa, XLM-RoBERTa, MPNet, ELECTRA and ModernBERT, too.
 *
 * Devlin, Chang, Lee & Toutanova (2019), BERT: pre-training of deep bidirectional transformers. Sanh, Debut,
 * Chaumond & Wolf (2019), DistilBERT. Liu et al. (2019), RoBERTa. Conneau et al. (2020), XLM-RoBERTa. Song et al.
 * (2020), MPNet. Clark et al. (2020), ELECTRA. Warner et al. (2024), ModernBERT.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_BERT_H
#define NVDP_BERT_H

#include <nvdp/config.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Activation function of the inner layers. */
enum nvdp_activation {
    NVDP_ACTIVATION_GELU, /**< x Phi(x) (Hendrycks & Gimpel 2016): "gelu", "gelu_python" */
    /** tanh approximation of GELU: "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh" */
    NVDP_ACTIVATION_GELU_NEW,
    NVDP_ACTIVATION_RELU,      /**< max(x, 0): "relu" */
    NVDP_ACTIVATION_SILU,      /**< x / (1 + exp(-x)): "silu", "swish" */
    NVDP_ACTIVATION_QUICK_GELU /**< x / (1 + exp(-1.702 x)): "quick_gelu" */
};

/** Model types, "model_type" in config.json. The type sets the names of tensors and members, and details of the
 * computation. A new encoder gets the next number. */
enum nvdp_model_type {
    NVDP_MODEL_BERT, /**< "bert" */
    /** "distilbert": no token types; the inner layer of the head ends in ReLU. */
    NVDP_MODEL_DISTILBERT,
    NVDP_MODEL_ROBERTA, /**< "roberta": positions are counted from pad_token_id + 1 */
    /** "bilstm": bidirectional LSTM layers over word embeddings that are never trained; only in this library, not in
     * transformers. */
    NVDP_MODEL_BILSTM,
    NVDP_MODEL_MPNET,       /**< "mpnet": no token types; relative position biases */
    NVDP_MODEL_ELECTRA,     /**< "electra": word embeddings of another width than the states */
    NVDP_MODEL_XLM_ROBERTA, /**< "xlm-roberta": RoBERTa over 100 languages */
    /** "modernbert": LayerNorm before the layers, rotary positions, gated inner layers, local attention */
    NVDP_MODEL_MODERNBERT,
    /** "words": the word embeddings alone, for method word; only in this library, not in transformers. */
    NVDP_MODEL_WORDS,
    /** "word-windows": the lower layers of another model over windows of words, for method word; only in this
     * library, not in transformers. */
    NVDP_MODEL_WORD_WINDOWS,
    /** "static-embedding": a table of vectors, one per token; StaticEmbedding of sentence-transformers. */
    NVDP_MODEL_STATIC_EMBEDDING,
    /** "model2vec": such a table in the format of Model2Vec; unknown tokens of a text are dropped. */
    NVDP_MODEL_MODEL2VEC
};

/** Members of config.json, with BERT's names. nvdp_bert_config_default(), nvdp_bert_config_find() and
 * nvdp_bert_config_read() fill the struct up to struct_size; members beyond this size have their defaults. */
struct nvdp_bert_config {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    /** D, length of a token's state; 1 to 65536. Each direction of a BiLSTM has D/2 values. */
    size_t hidden_size;
    size_t num_hidden_layers;   /**< number of layers; 1 to 1024 */
    size_t num_attention_heads; /**< heads per layer; divides hidden_size */
    size_t intermediate_size;   /**< width of the inner layers; 1 to 1048576 */
    size_t vocab_size;          /**< number of pieces; 1 to 16777216 */
    /** Maximum length of a text in tokens; 1 to 1048576. RoBERTa's config.json has pad_token_id + 1 more. */
    size_t max_position_embeddings;
    size_t type_vocab_size; /**< number of token types; 1 to 1024; unused by DistilBERT and MPNet */
    double layer_norm_eps;  /**< constant added to the variances of LayerNorm; 1e-30 to 1 */
    enum nvdp_activation hidden_act;     /**< activation function of the inner layers */
    double hidden_dropout_prob;          /**< dropout probability of states; 0 to 0.99 */
    double attention_probs_dropout_prob; /**< dropout probability of attention weights; 0 to 0.99 */
    double initializer_range;            /**< standard deviation of initial weights; 0 to 10 */
    int64_t pad_token_id;                /**< padding piece; 0 to vocab_size - 1 */
    enum nvdp_model_type model_type;     /**< model type */
    /** Length of a word embedding, for a BiLSTM and ELECTRA; 1 to 65536; at most ELECTRA's hidden_size. */
    size_t embedding_size;
    double global_rope_theta; /**< ModernBERT: base of rotary positions in global layers; over 1 */
    double local_rope_theta;  /**< ModernBERT: base of rotary positions in local layers; over 1 */
    size_t local_attention;   /**< ModernBERT: tokens that a local layer attends to; 1 to 1048576 */
    /** ModernBERT: layers 0, n, 2n, ... attend to all tokens; 1 to 1024. */
    size_t global_attn_every_n_layers;
    bool norm_bias;       /**< ModernBERT: LayerNorms have biases */
    bool attention_bias;  /**< ModernBERT: attention has biases */
    bool mlp_bias;        /**< ModernBERT: inner layers have biases */
    bool classifier_bias; /**< ModernBERT: the head's dense layer has a bias */
    bool classifier_mean; /**< ModernBERT: the head reads the mean of the states, not the first */
    /** word-windows: number of words on either side of a word on which the word's state depends; 0 to 16. */
    size_t window;
    size_t window_positions;          /**< word-windows: number of positions of the layers */
    enum nvdp_model_type window_type; /**< word-windows: model type of the layers */
};

/** Fills in the configuration of BERT-base-uncased.
 * @param ctx         records errors; may be NULL
 * @param[in,out] out the configuration
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_bert_config_default(struct nvdp_context *ctx, struct nvdp_bert_config *out);

/** Returns the configuration of one of Google's uncased sizes (Turc et al. 2019; Devlin et al. 2019).
 * @param ctx  records errors
 * @param name "tiny", "mini", "small", "base" or "large"
 * @param[in,out] out the configuration; untouched on error
 * @return NVDP_ERR_ARGUMENT for another name (the message lists the names) or a struct without struct_size */
nvdp_status nvdp_bert_config_find(struct nvdp_context *ctx, const char *name,
                                  struct nvdp_bert_config *out);

/** Reads DIR/config.json. Missing members have the values of BERT-base. A missing pad_token_id of RoBERTa, XLM-RoBERTa
 * and MPNet is 1. hidden_size, num_hidden_layers, num_attention_heads, intermediate_size and vocab_size are required.
 * @param ctx       records errors
 * @param directory a Hugging Face directory
 * @param[in,out] out the configuration; untouched on error
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size; NVDP_ERR_IO if the file cannot be read; NVDP_ERR_INPUT
 *         if the file is not JSON, a member is missing or out of range, the model_type is unknown (the message lists
 *         the known types), or the file describes a variant with BERT's tensor names that computes something else;
 *         NVDP_ERR_MEMORY */
nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out);

/** Creates a Hugging Face directory of a BERT with random weights: config.json, model.safetensors (float32) and,
 * if a vocabulary is given, a copy of the vocabulary as vocab.txt. The same seed gives the same weights.
 * @param ctx        records errors
 * @param config     the configuration
 * @param seed       seed of the weights: normal(0, initializer_range), biases 0, LayerNorm 1 and 0
 * @param vocab_path a file of vocab_size lines, or NULL
 * @param directory  a new or empty directory
 * @return NVDP_ERR_ARGUMENT for a configuration out of range or a directory that is not empty; NVDP_ERR_INPUT for a
 *         vocabulary of another size; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_bert_create_random(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                    uint64_t seed, const char *vocab_path, const char *directory);

NVDP_END_DECLS

#endif
