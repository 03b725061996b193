/* Element types of safetensors files and their conversions. */
#include "base/f16.h"
#include "tensor/bf16.h"

#include <math.h>
#include <nvdp/safetensors.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's bytes are used as they are");

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [NVDP_F64] = {"F64", 8},   [NVDP_F32] = {"F32", 4}, [NVDP_F16] = {"F16", 2},
    [NVDP_BF16] = {"BF16", 2}, [NVDP_I64] = {"I64", 8}, [NVDP_I32] = {"I32", 4},
    [NVDP_I16] = {"I16", 2},   [NVDP_I8] = {"I8", 1},   [NVDP_U8] = {"U8", 1},
    [NVDP_BOOL] = {"BOOL", 1},
};

const char *nvdp_dtype_name(enum nvdp_dtype dtype) {
    return dtypes[dtype].name;
}

size_t nvdp_dtype_size(enum nvdp_dtype dtype) {
    return dtypes[dtype].size;
}

/* NaN becomes 0; what is beyond the range of int64_t becomes its nearest end. */
static int64_t to_integer(double value) {
    if (isnan(value)) return 0;
    if (value >= 0x1p63) return INT64_MAX;
    if (value < -0x1p63) return INT64_MIN;
    return (int64_t)value;
}

static float bool_value(uint8_t byte) {
    return byte != 0;
}

/* Elements may lie unaligned in the file, so each is copied out before it is converted. */
#define CONVERT(type, expression)                                                                  \
    for (size_t i = 0; i < info->count; i++) {                                                     \
        type x;                                                                                    \
        memcpy(&x, bytes + i * sizeof x, sizeof x);                                                \
        out[i] = expression;                                                                       \
    }

void nvdp_safetensors_read_f32(const struct nvdp_tensor_info *info, float *out) {
    const unsigned char *bytes = info->data;
    switch (info->dtype) {
    case NVDP_F64:
        CONVERT(double, (float)x)
        break;
    case NVDP_F32:
        if (info->count > 0) memcpy(out, bytes, info->count * sizeof *out);
        break;
    case NVDP_F16:
        CONVERT(uint16_t, nvdp__f16_to_float(x))
        break;
    case NVDP_BF16:
        CONVERT(uint16_t, nvdp__bfloat16_to_float(x))
        break;
    case NVDP_I64:
        CONVERT(int64_t, (float)x)
        break;
    case NVDP_I32:
        CONVERT(int32_t, (float)x)
        break;
    case NVDP_I16:
        CONVERT(int16_t, (float)x)
        break;
    case NVDP_I8:
        CONVERT(int8_t, (float)x)
        break;
    case NVDP_U8:
        CONVERT(uint8_t, (float)x)
        break;
    case NVDP_BOOL:
        CONVERT(uint8_t, bool_value(x))
        break;
    }
}

void nvdp_safetensors_read_f64(const struct nvdp_tensor_info *info, double *out) {
    const unsigned char *bytes = info->data;
    switch (info->dtype) {
    case NVDP_F64:
        if (info->count > 0) memcpy(out, bytes, info->count * sizeof *out);
        break;
    case NVDP_F32:
        CONVERT(float, x)
        break;
    case NVDP_F16:
        CONVERT(uint16_t, nvdp__f16_to_float(x))
        break;
    case NVDP_BF16:
        CONVERT(uint16_t, nvdp__bfloat16_to_float(x))
        break;
    case NVDP_I64:
        CONVERT(int64_t, (double)x)
        break;
    case NVDP_I32:
        CONVERT(int32_t, x)
        break;
    case NVDP_I16:
        CONVERT(int16_t, x)
        break;
    case NVDP_I8:
        CONVERT(int8_t, x)
        break;
    case NVDP_U8:
        CONVERT(uint8_t, x)
        break;
    case NVDP_BOOL:
        CONVERT(uint8_t, bool_value(x))
        break;
    }
}

void nvdp_safetensors_read_i64(const struct nvdp_tensor_info *info, int64_t *out) {
    const unsigned char *bytes = info->data;
    switch (info->dtype) {
    case NVDP_F64:
        CONVERT(double, to_integer(x))
        break;
    case NVDP_F32:
        CONVERT(float, to_integer(x))
        break;
    case NVDP_F16:
        CONVERT(uint16_t, to_integer(nvdp__f16_to_float(x)))
        break;
    case NVDP_BF16:
        CONVERT(uint16_t, to_integer(nvdp__bfloat16_to_float(x)))
        break;
    case NVDP_I64:
        if (info->count > 0) memcpy(out, bytes, info->count * sizeof *out);
        break;
    case NVDP_I32:
        CONVERT(int32_t, x)
        break;
    case NVDP_I16:
        CONVERT(int16_t, x)
        break;
    case NVDP_I8:
        CONVERT(int8_t, x)
        break;
    case NVDP_U8:
        CONVERT(uint8_t, x)
        break;
    case NVDP_BOOL:
        CONVERT(uint8_t, x != 0)
        break;
    }
}
