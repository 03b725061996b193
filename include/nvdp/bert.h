/* BERT's configuration, as in a Hugging Face directory's config.json. */
#ifndef NVDP_BERT_H
#define NVDP_BERT_H

#include <nvdp/context.h>

#ifdef __cplusplus
extern "C" {
#endif

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
/* NVDP_ERR_ARGUMENT naming the field, the value, the allowed range. */
nvdp_status nvdp_bert_config_check(struct nvdp_context *ctx, const struct nvdp_bert_config *config);
/* DIR/config.json; missing fields take BERT-base's defaults except hidden_size, num_hidden_layers,
 * num_attention_heads, intermediate_size and vocab_size, which are required. */
nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out);
/* Elements of the encoder with pooler. */
size_t nvdp_bert_parameter_count(const struct nvdp_bert_config *config);

#ifdef __cplusplus
}
#endif
#endif
