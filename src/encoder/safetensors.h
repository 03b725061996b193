/* safetensors files: u64 header length, JSON header, raw little-endian data.
 *
 * The header is untrusted: its length, every offset, overlaps, and dtype x shape = bytes are checked before any data
 * are used. Errors name the file and the tensor. */
#ifndef NVDP_SRC_BERT_SAFETENSORS_H
#define NVDP_SRC_BERT_SAFETENSORS_H

#include "base/base.h"

/* Limits. */
enum {
    NVDP__SAFETENSORS_RANK = 8 /* maximum number of dimensions of a tensor */
};

/* Element types of a file. */
enum nvdp__dtype {
    NVDP__DTYPE_F64,  /* IEEE binary64 */
    NVDP__DTYPE_F32,  /* IEEE binary32 */
    NVDP__DTYPE_F16,  /* IEEE binary16 */
    NVDP__DTYPE_BF16, /* bfloat16: the upper half of a binary32 */
    NVDP__DTYPE_I64,  /* signed 64-bit integer */
    NVDP__DTYPE_I32,  /* signed 32-bit integer */
    NVDP__DTYPE_I16,  /* signed 16-bit integer */
    NVDP__DTYPE_I8,   /* signed 8-bit integer */
    NVDP__DTYPE_U8,   /* unsigned 8-bit integer */
    NVDP__DTYPE_BOOL  /* one byte: 0 or 1 */
};

/* Returns the name of a type in files.
 * dtype: the type
 * Returns "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8" or "BOOL" */
const char *nvdp__dtype_name(enum nvdp__dtype dtype);

/* Returns the size of a type.
 * dtype: the type
 * Returns bytes per element */
size_t nvdp__dtype_size(enum nvdp__dtype dtype);

/* A tensor of an open file. */
struct nvdp__tensor_info {
    const char *name;                     /* name; valid while the file is open */
    enum nvdp__dtype dtype;               /* type of the elements in the file */
    int rank;                             /* number of dimensions; 0: a scalar */
    size_t shape[NVDP__SAFETENSORS_RANK]; /* [rank] elements along each dimension */
    size_t count;                         /* total number of elements */
    const void *data;                     /* address in the mapped file; may be unaligned */
};

/* An open file. */
struct nvdp__safetensors;

/* Opens a file, maps it into memory and checks its header. O(n log n) for n tensors; does not read the data.
 * ctx: records errors; outlives the file
 * path: the file
 * out: the file; nvdp__safetensors_close(); untouched on error
 * Returns NVDP_ERR_IO if it cannot be read; NVDP_ERR_INPUT if the header does not match the data; NVDP_ERR_MEMORY */
nvdp_status nvdp__safetensors_open(struct nvdp_context *ctx, const char *path,
                                   struct nvdp__safetensors **out);

/* Frees the memory of the file's pages, which the system reads again when they are used. */
void nvdp__safetensors_forget(struct nvdp__safetensors *file);
/* Closes a file. Names and data of its tensors become invalid.
 * file: the file; may be NULL */
void nvdp__safetensors_close(struct nvdp__safetensors *file);

/* Returns the number of tensors in a file.
 * file: the file
 * Returns number of tensors */
size_t nvdp__safetensors_count(const struct nvdp__safetensors *file);

/* Returns a tensor by its index, in the order of the data.
 * file: the file
 * i: index, from 0
 * Returns the tensor, valid while the file is open; NULL beyond the last */
const struct nvdp__tensor_info *nvdp__safetensors_at(const struct nvdp__safetensors *file,
                                                     size_t i);

/* Finds a tensor by name.
 * file: the file
 * name: the name
 * Returns the tensor, valid while the file is open; NULL if there is none */
const struct nvdp__tensor_info *nvdp__safetensors_find(const struct nvdp__safetensors *file,
                                                       const char *name);

/* Returns an entry of `__metadata__`.
 * file: the file
 * key: the entry's key
 * Returns its value, valid while the file is open; NULL if there is none */
const char *nvdp__safetensors_metadata(const struct nvdp__safetensors *file, const char *key);

/* Reads all elements as float32: F64 and wide integers are rounded, BOOL is 0 or 1.
 * info: a tensor of an open file
 * out: [info->count] the elements, row-major */
void nvdp__safetensors_read_f32(const struct nvdp__tensor_info *info, float *out);

/* A tensor to write. */
struct nvdp__tensor_source {
    const char *name;       /* unique name, UTF-8 */
    enum nvdp__dtype dtype; /* type in the file: F64, F32, F16, BF16, I64, I32 or I16 */
    int rank;               /* number of dimensions, at most NVDP__SAFETENSORS_RANK */
    size_t shape[NVDP__SAFETENSORS_RANK]; /* [rank] elements along each dimension */
    const void *data; /* row-major; float for F16 and BF16, else the type itself */
};

/* Writes a file atomically: readers see the old file or the complete new one.
 * ctx: records errors
 * path: the file
 * count: number of tensors
 * tensors: [count] the tensors; F16 and BF16 are rounded to nearest
 * metadata: key, value, key, value, ..., NULL; or NULL: none
 * Returns NVDP_ERR_ARGUMENT for an unsupported type, rank, shape or name, or a finite value beyond the range of F16
 *         or BF16; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp__tensor_source *tensors,
                                    const char *const *metadata);

NVDP__AUTOPTR(struct nvdp__safetensors, nvdp__safetensors_close)

#endif
