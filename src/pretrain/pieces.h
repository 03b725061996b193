/* What pretraining asks about a vocabulary's pieces. */
#ifndef NVDP_SRC_PRETRAIN_PIECES_H
#define NVDP_SRC_PRETRAIN_PIECES_H

#include "text/tokenizer.h"

struct nvdp__pieces {
    size_t count;
    int32_t cls, sep, mask;
    unsigned char *continues; /* [count] whether the piece goes on in a word ("##...") */
    unsigned char *special;   /* [count] */
    int32_t *ordinary;        /* [ordinary_count] ids of all but the special tokens */
    size_t ordinary_count;
};
nvdp_status nvdp__pieces_create(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                struct nvdp__pieces *pieces);
void nvdp__pieces_release(struct nvdp__pieces *pieces);

#endif
