/* The elements of a tensor of a safetensors file, as double and as integers, because golden files have values that
 * float32 cannot represent. */
#ifndef NVDP_TESTS_SUPPORT_TENSOR_VALUES_H
#define NVDP_TESTS_SUPPORT_TENSOR_VALUES_H

#include "encoder/safetensors.h"
#include <stdlib.h>
#include <string.h>

static inline void support_read_f64(const struct nvdp__tensor_info *info, double *out) {
    if (info->dtype == NVDP__DTYPE_F64) {
        memcpy(out, info->data, info->count * sizeof *out);
        return;
    }
    float *narrow = malloc((info->count + 1) * sizeof *narrow);
    nvdp__safetensors_read_f32(info, narrow);
    for (size_t i = 0; i < info->count; i++)
        out[i] = narrow[i];
    free(narrow);
}

/* Reads a tensor of integers of 32 or 64 bits. */
static inline void support_read_i64(const struct nvdp__tensor_info *info, int64_t *out) {
    const size_t size = nvdp__dtype_size(info->dtype);
    for (size_t i = 0; i < info->count; i++) {
        int32_t narrow;
        const void *from = (const char *)info->data + i * size;
        memcpy(&narrow, from, sizeof narrow);
        out[i] = narrow;
        if (size == sizeof *out) memcpy(&out[i], from, size);
    }
}

#endif
