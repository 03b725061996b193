/* The pass of BERT's family, for its rows and for encoders that compute the same under other names. */
#ifndef NVDP_SRC_BERT_TRANSFORMER_H
#define NVDP_SRC_BERT_TRANSFORMER_H

#include "bert/row.h"

extern const struct nvdp__encoder_pass nvdp__transformer_pass;

/* Declares layer `index` of bert->layer as "<prefix>.attention.self.query.weight" and so on, by the row's names. */
nvdp_status nvdp__layer_declare(struct nvdp__bert *bert, size_t index, const char *prefix,
                                unsigned flags, struct nvdp__params *params);

#endif
