#include "bert/encoder.h"

#include "tensor/attention_half.h"

nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev) {
    size_t head = config->hidden_size / config->num_attention_heads;
    if (nvdp_context_precision(ctx) == NVDP_PRECISION_F32 || nvdp__attention_half_fits(head))
        return nvdp__device_create(ctx, dev);
    nvdp__log(ctx, NVDP_LOG_NOTICE,
              "precision bf16: expected heads of a multiple of 32 dimensions, found %zu; computing "
              "in f32",
              head);
    *dev = nvdp__device_cpu(ctx);
    return NVDP_OK;
}
