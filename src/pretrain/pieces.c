#include "pretrain/pieces.h"

#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__pieces_create(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                struct nvdp__pieces *pieces) {
    nvdp_status status = NVDP_OK;
    size_t count = nvdp_tokenizer_size(tokenizer);
    struct nvdp__pieces made = {
        .count = count,
        .cls = tokenizer->special[NVDP_TOKEN_CLS],
        .sep = tokenizer->special[NVDP_TOKEN_SEP],
        .mask = tokenizer->special[NVDP_TOKEN_MASK],
        .continues = nvdp__calloc(ctx, count, sizeof *made.continues),
        .special = nvdp__calloc(ctx, count, sizeof *made.special),
        .ordinary = nvdp__calloc(ctx, count, sizeof *made.ordinary),
    };
    if (made.continues == NULL || made.special == NULL || made.ordinary == NULL)
        NVDP_TRY(NVDP_ERR_MEMORY);
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        made.special[tokenizer->special[i]] = 1;
    }
    for (size_t id = 0; id < count; id++) {
        const char *text = nvdp_tokenizer_piece(tokenizer, (int32_t)id);
        made.continues[id] = strncmp(text, "##", 2) == 0 && text[2] != '\0';
        if (!made.special[id]) made.ordinary[made.ordinary_count++] = (int32_t)id;
    }
    if (made.ordinary_count == 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "vocab.txt: expected pieces beyond the special tokens, found none"));
    *pieces = made;
    made = (struct nvdp__pieces){0};
cleanup:
    nvdp__pieces_release(&made);
    return status;
}

void nvdp__pieces_release(struct nvdp__pieces *pieces) {
    free(pieces->continues);
    free(pieces->special);
    free(pieces->ordinary);
    *pieces = (struct nvdp__pieces){0};
}
