/* BERT's configuration, as in a Hugging Face directory's config.json. */
#ifndef NVDP_BERT_H
#define NVDP_BERT_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

enum nvdp_activation { NVDP_GELU, NVDP_GELU_NEW };

struct nvdp_bert_config {
    size_t hidden_size;
    size_t num_hidden_layers;
    size_t num_attention_heads;
    size_t intermediate_size;
    size_t vocab_size;
    size_t max_position_embeddings;
    size_t type_vocab_size;
    double layer_norm_eps;
    enum nvdp_activation hidden_act;
    double hidden_dropout_prob;
    double attention_probs_dropout_prob;
    double initializer_range;
    int64_t pad_token_id;
};

/* BERT-base-uncased. */
struct nvdp_bert_config nvdp_bert_config_default(void);
/* One of Google's uncased sizes: "tiny", "mini", "small", "base", "large" (Turc et al. 2019; Devlin
 * et al. 2019).  NVDP_ERR_ARGUMENT for another name; the message lists them. */
nvdp_status nvdp_bert_config_find(struct nvdp_context *ctx, const char *name,
                                  struct nvdp_bert_config *out);
/* NVDP_ERR_ARGUMENT naming the field, the value, the allowed range. */
nvdp_status nvdp_bert_config_check(struct nvdp_context *ctx, const struct nvdp_bert_config *config);
/* DIR/config.json; missing fields take BERT-base's defaults except hidden_size, num_hidden_layers,
 * num_attention_heads, intermediate_size and vocab_size, which are required. */
nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out);
/* Elements of the encoder with pooler. */
size_t nvdp_bert_parameter_count(const struct nvdp_bert_config *config);
/* NVDP_ERR_INPUT where DIR's vocab.txt has another number of pieces than config.json says. */
nvdp_status nvdp_bert_check_vocabulary(struct nvdp_context *ctx, const char *directory,
                                       const struct nvdp_bert_config *config,
                                       size_t tokenizer_size);
/* Makes a Hugging Face directory of a BERT with random weights: config.json, model.safetensors
 * (F32) and, where vocab_path is not NULL, a copy of that vocab.txt, which must have vocab_size
 * lines. The same seed gives the same weights.  A directory that is not empty is NVDP_ERR_ARGUMENT.
 */
nvdp_status nvdp_bert_create_random(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                    uint64_t seed, const char *vocab_path, const char *directory);

NVDP_END_DECLS
#endif
