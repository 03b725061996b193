/* What `encode` reads: JSON lines with texts or token ids, checked against an encoder's limits. */
#ifndef NVDP_SRC_SHARE_ENCODE_H
#define NVDP_SRC_SHARE_ENCODE_H

#include "base/base.h"
#include <nvdp/bert.h>
#include <nvdp/dataset.h>

/* All lines as a data set without labels; `index` numbers the texts from 0. */
struct nvdp__encode_input {
    struct nvdp_dataset data;
    size_t text_capacity, id_capacity, type_capacity, index_capacity;
};

struct nvdp__encode_limits {
    const struct nvdp_bert_config *config;
    size_t max_length;     /* of texts that do not say; at most max_position_embeddings */
    const char *directory; /* of the tokenizer, which is loaded for the first line with a text */
};

/* Reads a whole file: one JSON object per line, blank lines are passed over.
 *   {"text": "...", "pair": "..." | null, "max_length": 128}    pair, max_length optional
 *   {"input_ids": [...], "token_type_ids": [...]}               types optional, 0
 * Other members are ignored; token ids win over a text.  Errors name PATH:LINE. */
nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out);
void nvdp__encode_input_release(struct nvdp__encode_input *input);

#endif
