/* safetensors files: u64 header length, JSON header, raw little-endian data.
 *
 * The header is untrusted: its length, every offset, overlaps, dtype x shape = bytes are all
 * checked before a byte is used.  Errors name the file and the tensor. */
#ifndef NVDP_SAFETENSORS_H
#define NVDP_SAFETENSORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

enum { NVDP_SAFETENSORS_RANK = 8 };

enum nvdp_dtype {
    NVDP_F64,
    NVDP_F32,
    NVDP_F16,
    NVDP_BF16,
    NVDP_I64,
    NVDP_I32,
    NVDP_I16,
    NVDP_I8,
    NVDP_U8,
    NVDP_BOOL
};
const char *nvdp_dtype_name(enum nvdp_dtype dtype); /* "F32", ... */
size_t nvdp_dtype_size(enum nvdp_dtype dtype);

struct nvdp_tensor_info {
    const char *name;
    enum nvdp_dtype dtype;
    int rank;
    size_t shape[NVDP_SAFETENSORS_RANK];
    size_t count;     /* elements */
    const void *data; /* in the mapped file, maybe unaligned */
};

struct nvdp_safetensors;

nvdp_status nvdp_safetensors_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp_safetensors **out);
void nvdp_safetensors_close(struct nvdp_safetensors *file);
size_t nvdp_safetensors_count(const struct nvdp_safetensors *file);
const struct nvdp_tensor_info *nvdp_safetensors_at(const struct nvdp_safetensors *file, size_t i);
/* NULL where there is none. */
const struct nvdp_tensor_info *nvdp_safetensors_find(const struct nvdp_safetensors *file,
                                                     const char *name);
/* The `__metadata__` value, NULL where there is none. */
const char *nvdp_safetensors_metadata(const struct nvdp_safetensors *file, const char *key);

/* All elements converted; F64 to F32 rounds. Integer types are allowed too. */
void nvdp_safetensors_read_f32(const struct nvdp_tensor_info *info, float *out);
void nvdp_safetensors_read_f64(const struct nvdp_tensor_info *info, double *out);
void nvdp_safetensors_read_i64(const struct nvdp_tensor_info *info, int64_t *out);

/* One tensor to be written; f32 data is converted where dtype is F16 or BF16. */
struct nvdp_tensor_source {
    const char *name;
    enum nvdp_dtype dtype; /* F32, F16, BF16 (data: float) or F64, I64, I32 (data: that type) */
    int rank;
    size_t shape[NVDP_SAFETENSORS_RANK];
    const void *data;
};
/* Writes atomically; metadata: key, value, key, value, ..., NULL (or NULL). */
nvdp_status nvdp_safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                   const struct nvdp_tensor_source *tensors,
                                   const char *const *metadata);

NVDP_END_DECLS
#endif
