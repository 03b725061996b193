/* Writing safetensors files from tensors that are fetched piece by piece. */
#ifndef NVDP_SRC_BERT_SAFETENSORS_WRITE_H
#define NVDP_SRC_BERT_SAFETENSORS_WRITE_H

#include "base/base.h"
#include <nvdp/safetensors.h>

/* Copies elements [first, first + n) of tensor `index` to `out`, in the type that its source's
 * dtype has in memory. */
typedef void (*nvdp__tensor_fetch)(size_t index, size_t first, size_t n, void *out, void *user);

/* nvdp_safetensors_write, with fetch in place of the sources' data. */
nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp_tensor_source *tensors,
                                    const char *const *metadata, nvdp__tensor_fetch fetch,
                                    void *user);

#endif
