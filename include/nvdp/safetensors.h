/**
 * @file
 * safetensors files: u64 header length, JSON header, raw little-endian data.
 *
 * The header is untrusted: its length, every offset, overlaps, dtype x shape = bytes are all checked
 * before a byte is used.  Errors name the file and the tensor.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_SAFETENSORS_H
#define NVDP_SAFETENSORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Sizes. */
enum {
    NVDP_SAFETENSORS_RANK = 8 /**< most dimensions of a tensor */
};

/** Element types of a file. */
enum nvdp_dtype {
    NVDP_DTYPE_F64,  /**< IEEE binary64. */
    NVDP_DTYPE_F32,  /**< IEEE binary32. */
    NVDP_DTYPE_F16,  /**< IEEE binary16. */
    NVDP_DTYPE_BF16, /**< bfloat16: the upper half of a binary32. */
    NVDP_DTYPE_I64,  /**< Signed integers of 64 bits. */
    NVDP_DTYPE_I32,  /**< Of 32 bits. */
    NVDP_DTYPE_I16,  /**< Of 16 bits. */
    NVDP_DTYPE_I8,   /**< Of 8 bits. */
    NVDP_DTYPE_U8,   /**< Unsigned integers of 8 bits. */
    NVDP_DTYPE_BOOL  /**< One byte: 0 or 1. */
};

/**
 * A type's name as in the files.
 *
 * @param dtype the type.
 * @return "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8" or "BOOL".
 */
const char *nvdp_dtype_name(enum nvdp_dtype dtype);

/**
 * A type's size.
 *
 * @param dtype the type.
 * @return bytes per element.
 */
size_t nvdp_dtype_size(enum nvdp_dtype dtype);

/** A tensor of an open file. */
struct nvdp_tensor_info {
    const char *name;                    /**< Its name; valid while the file is open. */
    enum nvdp_dtype dtype;               /**< Type of its elements in the file. */
    int rank;                            /**< Dimensions; 0: a scalar. */
    size_t shape[NVDP_SAFETENSORS_RANK]; /**< [rank] elements along each dimension. */
    size_t count;                        /**< Elements in all. */
    const void *data;                    /**< In the mapped file, maybe unaligned. */
};

/** An open file. */
struct nvdp_safetensors;

/**
 * Opens a file, maps it into memory and checks its header.
 *
 * @param ctx where errors are recorded; outlives the file.
 * @param path the file.
 * @param out the file; nvdp_safetensors_close.  Untouched on error.
 * @return NVDP_ERR_IO where it cannot be read; NVDP_ERR_INPUT where the header does not describe the
 *         data that follow it; NVDP_ERR_MEMORY.
 *
 * Time: O(n log n) for n tensors; the data are not read.
 */
nvdp_status nvdp_safetensors_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp_safetensors **out);

/**
 * Closes a file; names and data of its tensors are gone.
 *
 * @param file the file; NULL allowed.
 */
void nvdp_safetensors_close(struct nvdp_safetensors *file);

/**
 * How many tensors a file has.
 *
 * @param file the file.
 * @return their number.
 */
size_t nvdp_safetensors_count(const struct nvdp_safetensors *file);

/**
 * A tensor by its place, in the order of their bytes.
 *
 * @param file the file.
 * @param i from 0.
 * @return the tensor, valid while the file is open; NULL past the last.
 */
const struct nvdp_tensor_info *nvdp_safetensors_at(const struct nvdp_safetensors *file, size_t i);

/**
 * A tensor by its name.
 *
 * @param file the file.
 * @param name the name.
 * @return the tensor, valid while the file is open; NULL where there is none.
 */
const struct nvdp_tensor_info *nvdp_safetensors_find(const struct nvdp_safetensors *file,
                                                     const char *name);

/**
 * An entry of `__metadata__`.
 *
 * @param file the file.
 * @param key the entry's key.
 * @return its value, valid while the file is open; NULL where there is none.
 */
const char *nvdp_safetensors_metadata(const struct nvdp_safetensors *file, const char *key);

/**
 * All elements as float32: F64 and wide integers are rounded, BOOL is 0 or 1.
 *
 * @param info a tensor of an open file.
 * @param out [info->count] the elements, row-major.
 */
void nvdp_safetensors_read_f32(const struct nvdp_tensor_info *info, float *out);

/**
 * All elements as float64: I64 beyond 2^53 are rounded, BOOL is 0 or 1.
 *
 * @param info a tensor of an open file.
 * @param out [info->count] the elements, row-major.
 */
void nvdp_safetensors_read_f64(const struct nvdp_tensor_info *info, double *out);

/**
 * All elements as integers: real numbers are cut towards 0, those beyond the range of int64_t become
 * its nearest end, NaN becomes 0, BOOL is 0 or 1.
 *
 * @param info a tensor of an open file.
 * @param out [info->count] the elements, row-major.
 */
void nvdp_safetensors_read_i64(const struct nvdp_tensor_info *info, int64_t *out);

/** One tensor to be written. */
struct nvdp_tensor_source {
    const char *name;                    /**< Its name, UTF-8, unlike the others'. */
    enum nvdp_dtype dtype;               /**< In the file: F64, F32, F16, BF16, I64, I32 or I16. */
    int rank;                            /**< Dimensions, at most NVDP_SAFETENSORS_RANK. */
    size_t shape[NVDP_SAFETENSORS_RANK]; /**< [rank] elements along each dimension. */
    const void *data; /**< Row-major; float for F16 and BF16 too, else of the type itself. */
};

/**
 * Writes a file, atomically: a reader sees the old one or the whole new one.
 *
 * @param ctx where errors are recorded.
 * @param path the file.
 * @param count how many tensors.
 * @param tensors [count] they; F16 and BF16 are rounded to nearest.
 * @param metadata key, value, key, value, ..., NULL; or NULL: none.
 * @return NVDP_ERR_ARGUMENT for a type, rank, shape or name that cannot be written, or a finite value
 *         beyond the range of F16 or BF16; NVDP_ERR_IO; NVDP_ERR_MEMORY.
 */
nvdp_status nvdp_safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                   const struct nvdp_tensor_source *tensors,
                                   const char *const *metadata);

NVDP_END_DECLS

#endif
