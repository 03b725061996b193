/** @file
 * safetensors files: u64 header length, JSON header, raw little-endian data.
 *
 * The header is untrusted: its length, every offset, overlaps, and dtype x shape = bytes are checked before any data
 * are used. Errors name the file and the tensor.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_SAFETENSORS_H
#define NVDP_SAFETENSORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Limits. */
enum {
    NVDP_SAFETENSORS_RANK = 8 /**< maximum number of dimensions of a tensor */
};

/** Element types of a file. */
enum nvdp_dtype {
    NVDP_DTYPE_F64,  /**< IEEE binary64 */
    NVDP_DTYPE_F32,  /**< IEEE binary32 */
    NVDP_DTYPE_F16,  /**< IEEE binary16 */
    NVDP_DTYPE_BF16, /**< bfloat16: the upper half of a binary32 */
    NVDP_DTYPE_I64,  /**< signed 64-bit integer */
    NVDP_DTYPE_I32,  /**< signed 32-bit integer */
    NVDP_DTYPE_I16,  /**< signed 16-bit integer */
    NVDP_DTYPE_I8,   /**< signed 8-bit integer */
    NVDP_DTYPE_U8,   /**< unsigned 8-bit integer */
    NVDP_DTYPE_BOOL  /**< one byte: 0 or 1 */
};

/** Returns the name of a type in files.
 * @param dtype the type
 * @return "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8" or "BOOL" */
const char *nvdp_dtype_name(enum nvdp_dtype dtype);

/** Returns the size of a type.
 * @param dtype the type
 * @return bytes per element */
size_t nvdp_dtype_size(enum nvdp_dtype dtype);

/** A tensor of an open file. */
struct nvdp_tensor_info {
    const char *name;                    /**< name; valid while the file is open */
    enum nvdp_dtype dtype;               /**< type of the elements in the file */
    int rank;                            /**< number of dimensions; 0: a scalar */
    size_t shape[NVDP_SAFETENSORS_RANK]; /**< [rank] elements along each dimension */
    size_t count;                        /**< total number of elements */
    const void *data;                    /**< in the mapped file; may be unaligned */
};

/** An open file. */
struct nvdp_safetensors;

/** Opens a file, maps it into memory and checks its header. O(n log n) for n tensors; does not read the data.
 * @param ctx  records errors; outlives the file
 * @param path the file
 * @param out  the file; nvdp_safetensors_close(); untouched on error
 * @return NVDP_ERR_IO if it cannot be read; NVDP_ERR_INPUT if the header does not match the data; NVDP_ERR_MEMORY */
nvdp_status nvdp_safetensors_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp_safetensors **out);

/** Closes a file. Names and data of its tensors become invalid.
 * @param file the file; may be NULL */
void nvdp_safetensors_close(struct nvdp_safetensors *file);

/** Returns the number of tensors in a file.
 * @param file the file
 * @return number of tensors */
size_t nvdp_safetensors_count(const struct nvdp_safetensors *file);

/** Returns a tensor by its index, in the order of the data.
 * @param file the file
 * @param i    index, from 0
 * @return the tensor, valid while the file is open; NULL beyond the last */
const struct nvdp_tensor_info *nvdp_safetensors_at(const struct nvdp_safetensors *file, size_t i);

/** Finds a tensor by name.
 * @param file the file
 * @param name the name
 * @return the tensor, valid while the file is open; NULL if there is none */
const struct nvdp_tensor_info *nvdp_safetensors_find(const struct nvdp_safetensors *file,
                                                     const char *name);

/** Returns an entry of `__metadata__`.
 * @param file the file
 * @param key  the entry's key
 * @return its value, valid while the file is open; NULL if there is none */
const char *nvdp_safetensors_metadata(const struct nvdp_safetensors *file, const char *key);

/** Reads all elements as float32: F64 and wide integers are rounded, BOOL is 0 or 1.
 * @param info a tensor of an open file
 * @param out  [info->count] the elements, row-major */
void nvdp_safetensors_read_f32(const struct nvdp_tensor_info *info, float *out);

/** Reads all elements as float64: I64 beyond 2^53 are rounded, BOOL is 0 or 1.
 * @param info a tensor of an open file
 * @param out  [info->count] the elements, row-major */
void nvdp_safetensors_read_f64(const struct nvdp_tensor_info *info, double *out);

/** Reads all elements as integers: real numbers are truncated towards 0 and clamped to the range of int64_t, NaN
 * becomes 0, BOOL is 0 or 1.
 * @param info a tensor of an open file
 * @param out  [info->count] the elements, row-major */
void nvdp_safetensors_read_i64(const struct nvdp_tensor_info *info, int64_t *out);

/** A tensor to write. */
struct nvdp_tensor_source {
    const char *name;      /**< unique name, UTF-8 */
    enum nvdp_dtype dtype; /**< type in the file: F64, F32, F16, BF16, I64, I32 or I16 */
    int rank;              /**< number of dimensions, at most NVDP_SAFETENSORS_RANK */
    size_t shape[NVDP_SAFETENSORS_RANK]; /**< [rank] elements along each dimension */
    const void *data; /**< row-major; float for F16 and BF16, else the type itself */
};

/** Writes a file atomically: readers see the old file or the complete new one.
 * @param ctx      records errors
 * @param path     the file
 * @param count    number of tensors
 * @param tensors  [count] the tensors; F16 and BF16 are rounded to nearest
 * @param metadata key, value, key, value, ..., NULL; or NULL: none
 * @return NVDP_ERR_ARGUMENT for an unsupported type, rank, shape or name, or a finite value beyond the range of F16
 *         or BF16; NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                   const struct nvdp_tensor_source *tensors,
                                   const char *const *metadata);

NVDP_END_DECLS

#endif
