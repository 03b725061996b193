/* ELECTRA (Clark et al. 2020): BERT's layers over word embeddings that may be narrower than the
 * states; a dense layer then widens them. Its discriminators are the encoders, without a pooler;
 * the head of classification ends in GELU. */
#include "bert/transformer.h"

const struct nvdp__encoder_row nvdp__encoder_electra = {
    .title = "an ELECTRA",
    .names = {.type = "electra",
              .encoder = "ElectraModel",
              .classification = "ElectraForSequenceClassification",
              .tagging = "ElectraForTokenClassification",
              .prefix = "electra",
              NVDP__BERT_LAYERS,
              .projection = "embeddings_project",
              .pooler = "classifier.dense",
              .classifier = "classifier.out_proj"},
    .key = {[NVDP__KEY_EMBEDDING_SIZE] = "embedding_size", NVDP__BERT_KEY_NAMES},
    .token_types = true,
    .attention_dropout = true,
    .pooler_activation = NVDP__ACT_GELU,
    NVDP__TRANSFORMER};
