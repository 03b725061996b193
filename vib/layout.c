/* The rows of a sample: one of a single mechanism; else [token 1]...[token n][padding up to L]. */
#include "vib/vib.h"

static bool hidden_length(const struct nvdp__vib *vib) {
    return !vib->single && vib->config.length_policy == NVDP_LENGTH_HIDDEN;
}

static nvdp_status check_batch(const struct nvdp__vib *vib, const struct nvdp__batch *batch) {
    if (batch->texts > vib->max_texts || batch->tokens > vib->max_tokens) {
        return nvdp__fail(vib->ctx, NVDP_ERR_STATE,
                          "a batch of %zu texts and %zu tokens exceeds the plan of %zu and %zu",
                          batch->texts, batch->tokens, vib->max_texts, vib->max_tokens);
    }
    for (size_t b = 0; b < batch->texts && hidden_length(vib); b++) {
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        if (n <= vib->config.length) continue;
        return nvdp__fail(
            vib->ctx, NVDP_ERR_ARGUMENT,
            "text %llu of the data set: expected at most length %zu tokens, found %zu: raise "
            "length or shorten the texts",
            (unsigned long long)batch->key[b], vib->config.length, n);
    }
    return NVDP_OK;
}

/* Text b's rows from `row` on; returns where they end. */
static size_t put_text(struct nvdp__vib *vib, const struct nvdp__batch *batch, size_t b,
                       size_t row) {
    vib->offset[b] = (int32_t)row;
    if (vib->single) {
        vib->src[row] = (int32_t)b;
        return row + 1;
    }
    for (int32_t t = batch->offset[b]; t < batch->offset[b + 1]; t++) {
        vib->src[row++] = t;
    }
    while (hidden_length(vib) && row < (size_t)vib->offset[b] + vib->config.length) {
        vib->src[row++] = -1;
    }
    return row;
}

nvdp_status nvdp__vib_layout(struct nvdp__vib *vib, const struct nvdp__batch *batch) {
    NVDP_RETURN_IF_FAILED(check_batch(vib, batch));
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        row = put_text(vib, batch, b, row);
    }
    vib->offset[batch->texts] = (int32_t)row;
    vib->texts = batch->texts;
    vib->tokens = batch->tokens;
    vib->sources = vib->single ? batch->texts : batch->tokens;
    vib->rows = row;
    vib->source_offset = vib->single ? vib->offset : batch->offset;
    return NVDP_OK;
}
