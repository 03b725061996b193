/* BERT's family in the table of encoders. The row of an encoder with the same computation under
 * other names, or without some parts, ends in NVDP__TRANSFORMER. */
#ifndef NVDP_SRC_BERT_TRANSFORMER_H
#define NVDP_SRC_BERT_TRANSFORMER_H

#include "bert/row.h"

extern const struct nvdp__encoder_pass nvdp__transformer_pass;
nvdp_status nvdp__transformer_check(struct nvdp_context *ctx,
                                    const struct nvdp_bert_config *config);
size_t nvdp__transformer_parameter_count(const struct nvdp_bert_config *config);
size_t nvdp__transformer_tensors_below(const struct nvdp__bert *bert, size_t layers);
nvdp_status nvdp__transformer_declare(struct nvdp__bert *bert, struct nvdp__params *params);
void nvdp__transformer_initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed);
void nvdp__transformer_initialize_pooler(const struct nvdp__bert *bert,
                                         const struct nvdp__device *dev,
                                         struct nvdp__params *params, uint64_t seed);

/* The functions and capabilities of the family. */
#define NVDP__TRANSFORMER                                                                          \
    .position_vectors = true, .word_states = true, .all_layers = true, .bottleneck = true,         \
    .word_vectors = true, .per_example = true, .bf16 = true,                                       \
    .tensors_below = nvdp__transformer_tensors_below, .check = nvdp__transformer_check,            \
    .parameter_count = nvdp__transformer_parameter_count, .declare = nvdp__transformer_declare,    \
    .initialize = nvdp__transformer_initialize,                                                    \
    .initialize_new = nvdp__transformer_initialize_pooler, .pass = &nvdp__transformer_pass

/* BERT's names of layers, for `names`, and its keys of config.json, with and without token types. */
#define NVDP__BERT_LAYERS                                                                          \
    .layers = "encoder.layer", .query = "attention.self.query", .key = "attention.self.key",       \
    .value = "attention.self.value", .attention_output = "attention.output.dense",                 \
    .attention_norm = "attention.output.LayerNorm", .intermediate = "intermediate.dense",          \
    .output = "output.dense", .output_norm = "output.LayerNorm"
#define NVDP__BERT_KEY_NAMES [NVDP__KEY_TYPES] = "type_vocab_size", NVDP__UNTYPED_KEY_NAMES
#define NVDP__BERT_KEYS                                                                            \
    { NVDP__BERT_KEY_NAMES }
#define NVDP__UNTYPED_KEY_NAMES                                                                    \
    [NVDP__KEY_POSITIONS] = "max_position_embeddings", NVDP__LAYER_KEY_NAMES
/* Those without positions. */
#define NVDP__LAYER_KEY_NAMES                                                                      \
    [NVDP__KEY_HIDDEN_SIZE] = "hidden_size", [NVDP__KEY_LAYERS] = "num_hidden_layers",             \
    [NVDP__KEY_HEADS] = "num_attention_heads",                                                     \
    [NVDP__KEY_INTERMEDIATE_SIZE] = "intermediate_size", [NVDP__KEY_VOCAB_SIZE] = "vocab_size",    \
    [NVDP__KEY_NORM_EPS] = "layer_norm_eps", [NVDP__KEY_HIDDEN_DROPOUT] = "hidden_dropout_prob",   \
    [NVDP__KEY_ATTENTION_DROPOUT] = "attention_probs_dropout_prob",                                \
    [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range", [NVDP__KEY_ACTIVATION] = "hidden_act"

/* Declares layer `index` of bert->layer as "<prefix>.attention.self.query.weight" and so on,
 * with the row's names. */
nvdp_status nvdp__layer_declare(struct nvdp__bert *bert, size_t index, const char *prefix,
                                unsigned flags, struct nvdp__params *params);

#endif
