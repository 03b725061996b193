/* The configuration of a BERT of given sizes. */
#ifndef NVDP_TESTS_SUPPORT_BERT_SIZES_H
#define NVDP_TESTS_SUPPORT_BERT_SIZES_H

#include "encoder/checkpoint.h"

struct bert_sizes {
    size_t hidden, layers, heads, inner, pieces, longest; /* inner: of the feed-forward layers */
};

static inline struct nvdp_bert_config bert_of_sizes(struct bert_sizes of) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    config.hidden_size = of.hidden;
    config.num_hidden_layers = of.layers;
    config.num_attention_heads = of.heads;
    config.intermediate_size = of.inner;
    config.vocab_size = of.pieces;
    config.max_position_embeddings = of.longest;
    return config;
}

/* Returns a configuration: bert_of(.hidden = 16, .layers = 1, ...). */
#define bert_of(...) bert_of_sizes((struct bert_sizes){__VA_ARGS__})

#endif
