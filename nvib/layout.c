/* The rows of a sample: [prior][token 1]...[token n][padding up to L], kappa rows each. */
#include "nvib/nvib.h"

size_t nvdp__nvib_rows(const struct nvdp_nvib_config *config, size_t tokens, size_t texts) {
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    size_t components = hidden ? texts * (config->length + 1) : tokens + texts;
    return components * (size_t)config->kappa;
}

static nvdp_status check_batch(const struct nvdp__nvib *nvib, const struct nvdp__batch *batch) {
    if (batch->texts > nvib->max_texts || batch->tokens > nvib->max_tokens) {
        return nvdp__fail(nvib->ctx, NVDP_ERR_STATE,
                          "a batch of %zu texts and %zu tokens exceeds the plan of %zu and %zu",
                          batch->texts, batch->tokens, nvib->max_texts, nvib->max_tokens);
    }
    for (size_t b = 0; b < batch->texts; b++) {
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        bool hidden = nvib->config.length_policy == NVDP_LENGTH_HIDDEN;
        if (hidden && n > nvib->config.length) {
            return nvdp__fail(
                nvib->ctx, NVDP_ERR_ARGUMENT,
                "text %llu of the data set: expected at most length %zu tokens, found %zu: raise "
                "length or shorten the texts",
                (unsigned long long)batch->key[b], nvib->config.length, n);
        }
    }
    return NVDP_OK;
}

/* One component's kappa rows. */
static void put(struct nvdp__nvib *nvib, size_t *row, int32_t src, double base) {
    for (int k = 0; k < nvib->config.kappa; k++) {
        nvib->src[*row] = src;
        nvib->base[*row] = (float)base;
        (*row)++;
    }
}

nvdp_status nvdp__nvib_layout(struct nvdp__nvib *nvib, const struct nvdp__batch *batch) {
    NVDP_RETURN_IF_FAILED(check_batch(nvib, batch));
    bool hidden = nvib->config.length_policy == NVDP_LENGTH_HIDDEN;
    double pad_alpha = nvdp_nvib_pad_alpha(&nvib->config);
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        nvib->offset[b] = (int32_t)row;
        put(nvib, &row, -1, nvib->config.prior_alpha);
        for (int32_t t = batch->offset[b]; t < batch->offset[b + 1]; t++) {
            put(nvib, &row, t, 0);
        }
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        for (size_t i = n; hidden && i < nvib->config.length; i++) {
            put(nvib, &row, -1, pad_alpha);
        }
    }
    nvib->offset[batch->texts] = (int32_t)row;
    nvib->texts = batch->texts;
    nvib->tokens = batch->tokens;
    nvib->rows = row;
    nvib->token_offset = batch->offset;
    return NVDP_OK;
}
