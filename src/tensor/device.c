#include "tensor/device.h"

#include "tensor/half.h"
#include <string.h>

const char *nvdp_precision_name(enum nvdp_precision precision) {
    return precision == NVDP_PRECISION_BF16 ? "bf16" : "f32";
}

struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx) {
    return (struct nvdp__device){.ctx = ctx, .threads = nvdp_context_threads(ctx)};
}

nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev) {
    *dev = nvdp__device_cpu(ctx);
    if (nvdp_context_precision(ctx) != NVDP_PRECISION_BF16) return NVDP_OK;
    const char *missing = nvdp_bf16_missing();
    if (missing != NULL) {
        nvdp__log(ctx, NVDP_LOG_NOTICE, "precision bf16: %s; computing in f32", missing);
        return NVDP_OK;
    }
    return nvdp__half_create(ctx, &dev->half);
}

void nvdp__device_release(struct nvdp__device *dev) {
    nvdp__half_free(dev->half);
    dev->half = NULL;
}

void nvdp__weights_changed(const struct nvdp__device *dev) {
    if (dev->half != NULL) nvdp__half_weights_changed(dev->half);
}

nvdp_status nvdp__device_status(const struct nvdp__device *dev) {
    return dev->half != NULL ? nvdp__half_status(dev->half) : NVDP_OK;
}

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor) {
    (void)dev;
    if (n > 0) memcpy(tensor, host, n * sizeof *tensor);
}

void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host) {
    (void)dev;
    if (n > 0) memcpy(host, tensor, n * sizeof *host);
}
