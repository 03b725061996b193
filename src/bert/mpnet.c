/* MPNet (Song et al. 2020): BERT's layers with biases of attention by distance, which all layers
 * share. Positions are RoBERTa's; there are no token types. */
#include "bert/transformer.h"

/* The second half of the buckets is for keys after the query. In each half, the first NEAR buckets
 * are single distances; the others grow by sqrt(2) up to distance 128 (Raffel et al. 2020):
 *
 *     bucket(n) = n                              for n < NEAR = 8
 *     bucket(n) = min(15, 8 + floor(2 log2(n/8))) for larger n
 *
 * 2 log2(n/8) = log2(n^2) - 6, whose floor is a number of bits: no rounding. */
enum { BUCKETS = 32, SIDE = BUCKETS / 2, NEAR = SIDE / 2, NEAR_BITS = 6 };

static int32_t bucket(int32_t distance) {
    const int32_t side = distance > 0 ? SIDE : 0;
    const uint64_t n = (uint64_t)(distance > 0 ? distance : -(int64_t)distance);
    if (n < NEAR) return side + (int32_t)n;
    const int32_t bits = 63 - __builtin_clzll(n * n) - NEAR_BITS;
    return side + (bits < SIDE - NEAR ? NEAR + bits : SIDE - 1);
}

/* transformers computes with these values whatever config.json has. */
static const struct nvdp__config_value only[] = {
    {"relative_attention_num_buckets", "32"}, {"pad_token_id", "1"}, {NULL, NULL}};

const struct nvdp__encoder_row nvdp__encoder_mpnet = {
    .title = "an MPNet",
    .names = {.type = "mpnet",
              .encoder = "MPNetModel",
              .classification = "MPNetForSequenceClassification",
              .tagging = "MPNetForTokenClassification",
              .prefix = "mpnet",
              .layers = "encoder.layer",
              .query = "attention.attn.q",
              .key = "attention.attn.k",
              .value = "attention.attn.v",
              .attention_output = "attention.attn.o",
              .attention_norm = "attention.LayerNorm",
              .intermediate = "intermediate.dense",
              .output = "output.dense",
              .output_norm = "output.LayerNorm",
              .relative = "encoder.relative_attention_bias",
              .pooler = "classifier.dense",
              .classifier = "classifier.out_proj"},
    .key = {NVDP__UNTYPED_KEY_NAMES},
    .pad_token_id = 1,
    .only = only,
    .position_after_pad = true,
    .attention_dropout = true,
    .pooler_activation = NVDP__ACT_TANH,
    .relative_buckets = BUCKETS,
    .relative_bucket = bucket,
    NVDP__TRANSFORMER};
