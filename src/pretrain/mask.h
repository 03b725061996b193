/* Which tokens are to be predicted, and what stands in their places (Devlin et al. 2019): a share
 * of a row's tokens is drawn without replacement; of those, 80 % become [MASK], 10 % a random
 * ordinary piece, 10 % stay.  Special tokens are never drawn.  With whole words, words are drawn
 * until the share is reached; one that would pass it is left out. */
#ifndef NVDP_SRC_PRETRAIN_MASK_H
#define NVDP_SRC_PRETRAIN_MASK_H

#include "base/random.h"
#include "pretrain/pieces.h"

/* The masked tokens of a batch, in ascending order of rows. */
struct nvdp__masked {
    size_t count, capacity;
    int32_t *row;   /* among the batch's tokens */
    int32_t *label; /* the token that stood there */
};

struct nvdp__masker {
    const struct nvdp__pieces *pieces;
    double share;
    bool whole_words;
    /* of one text of at most `longest` tokens */
    size_t longest;
    int32_t *unit;        /* [longest] first tokens of what is drawn: tokens or words */
    unsigned char *drawn; /* [longest] */
};

nvdp_status nvdp__masked_create(struct nvdp_context *ctx, size_t capacity,
                                struct nvdp__masked *masked);
void nvdp__masked_release(struct nvdp__masked *masked);
nvdp_status nvdp__masker_create(struct nvdp_context *ctx, const struct nvdp__pieces *pieces,
                                double share, bool whole_words, size_t longest,
                                struct nvdp__masker *masker);
void nvdp__masker_release(struct nvdp__masker *masker);
/* Most tokens masked in a text of `tokens` tokens, special ones not counted: the share rounded, at
 * least 1. */
size_t nvdp__mask_most(double share, size_t tokens);
/* Masks ids[0..count), the batch's tokens from first_row on, and appends what it masked. */
void nvdp__mask_text(struct nvdp__masker *masker, struct nvdp__stream *stream, size_t count,
                     int32_t *ids, size_t first_row, struct nvdp__masked *masked);

#endif
