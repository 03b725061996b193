/* HDF5 files. libhdf5 writes them, and they appear only when complete. The reader of read.h reads
 * them and checks everything.
 *
 * Datasets are written in chunks with shuffle and deflate. Every file has the attribute
 * `nvdp_format` = "<kind>/<version>". Errors name the file, the dataset, what was expected and
 * what was found. Rows (the first dimension) may be written and read in slices, so that nothing
 * needs to fit in memory. */
#ifndef NVDP_SRC_HDF5_HDF5_H
#define NVDP_SRC_HDF5_HDF5_H

#include "base/base.h"

enum nvdp__h5_type {
    NVDP__H5_F16, /* IEEE binary16 in the file; float in memory */
    NVDP__H5_F32, /* float in memory */
    NVDP__H5_F64, /* double in memory */
    NVDP__H5_I64, /* int64_t in memory */
    NVDP__H5_I32, /* int32_t in memory */
    NVDP__H5_I16  /* 16 bits in the file; int32_t in memory */
};

static inline bool nvdp__h5_is_integer(enum nvdp__h5_type type) {
    return type == NVDP__H5_I64 || type == NVDP__H5_I32 || type == NVDP__H5_I16;
}

/* Return the size of a value in the file, and in memory. */
static inline size_t nvdp__h5_stored_size(enum nvdp__h5_type type) {
    static const size_t sizes[] = {[NVDP__H5_F16] = 2, [NVDP__H5_F32] = 4, [NVDP__H5_F64] = 8,
                                   [NVDP__H5_I64] = 8, [NVDP__H5_I32] = 4, [NVDP__H5_I16] = 2};
    return sizes[type];
}
static inline size_t nvdp__h5_memory_size(enum nvdp__h5_type type) {
    return type == NVDP__H5_F64 || type == NVDP__H5_I64 ? 8 : 4;
}

struct nvdp__h5;
enum { NVDP__H5_RANK = 4 }; /* max rank of a dataset */

/* Creates a temporary file beside `path`; the final name exists only after nvdp__h5_commit(). */
nvdp_status nvdp__h5_create(struct nvdp_context *ctx, const char *path, const char *format,
                            struct nvdp__h5 **out);
/* Closes a file being created. Until the commit, the contents can be read, and one string can be
 * replaced by a string of the same length. The bytes can thus be signed before the file appears. */
nvdp_status nvdp__h5_finish(struct nvdp__h5 *file);
nvdp_status nvdp__h5_replace_text(struct nvdp__h5 *file, const char *name, const char *value);
/* Returns true if the file being created has no name and never had one. */
bool nvdp__h5_is_unnamed(const struct nvdp__h5 *file);
/* Closes and renames the file; the object must still be freed. Without `replace`, fails with
 * NVDP_ERR_ARGUMENT if a nonempty file of that name exists by then. */
nvdp_status nvdp__h5_commit(struct nvdp__h5 *file, bool replace);
/* Opens a file for reading. `kind` "posteriors" accepts "posteriors/<n>" for n up to `version`,
 * and refuses other files by their kind; NULL accepts any file. */
nvdp_status nvdp__h5_open(struct nvdp_context *ctx, const char *path, const char *kind, int version,
                          struct nvdp__h5 **out);
/* Checks kind and version of an open file in the same way. */
nvdp_status nvdp__h5_check(struct nvdp__h5 *file, const char *kind, int version);
void nvdp__h5_free(struct nvdp__h5 *file); /* NULL is allowed; removes an uncommitted file */
NVDP__AUTOPTR(struct nvdp__h5, nvdp__h5_free)

/* Creates a dataset of the given shape. */
nvdp_status nvdp__h5_dataset(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                             int rank, const size_t *shape);
/* Writes rows [first, first + rows) of an existing dataset. For f16, values are rounded to
 * nearest, ties to even; a finite value beyond the range of f16 fails with NVDP_ERR_NUMERIC. */
nvdp_status nvdp__h5_write_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                size_t first, size_t rows, const void *data);
/* Creates a dataset and writes all its rows. */
nvdp_status nvdp__h5_write(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, const size_t *shape, const void *data);
/* Writes a one-dimensional dataset of sizes, as i64. */
nvdp_status nvdp__h5_write_sizes(struct nvdp__h5 *file, const char *name, size_t count,
                                 const size_t *sizes);

bool nvdp__h5_has(struct nvdp__h5 *file, const char *name);
/* Fills shape[]. Fails unless the dataset has this rank and its class (float or integer) fits
 * `type`. */
nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape);
/* Reads rows [first, first + rows). Fails with NVDP_ERR_INPUT for an integer that does not fit
 * the type in memory. */
nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data);
/* Reads a dataset with one value per row and `rows` rows into new memory, which the caller frees
 * with free(); *column is a pointer. */
nvdp_status nvdp__h5_read_column(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                 size_t rows, void *column);
/* Calls `visit` for every dataset with the name, rank, shape and type of the dataset; a type is
 * a word such as "f32", "i64" or "f16". */
nvdp_status nvdp__h5_list(struct nvdp__h5 *file,
                          void (*visit)(const char *name, int rank, const size_t *shape,
                                        const char *type, void *user),
                          void *user);

/* Attributes of the root group. */
nvdp_status nvdp__h5_set_string(struct nvdp__h5 *file, const char *name, const char *value);
nvdp_status nvdp__h5_set_real(struct nvdp__h5 *file, const char *name, double value);
nvdp_status nvdp__h5_set_int(struct nvdp__h5 *file, const char *name, int64_t value);
bool nvdp__h5_has_attribute(struct nvdp__h5 *file, const char *name);
/* the caller frees *value with free() */
nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value);
nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value);
nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value);
/* Formats a number with all digits that are needed to read the same number again; the caller
 * frees the result with free(). */
char *nvdp__h5_real_text(struct nvdp_context *ctx, double value);
/* An attribute and its value; `text` is set for every type. */
struct nvdp__h5_value {
    const char *name, *text;
    enum {
        NVDP__H5_VALUE_NONE, /* an array, or a value of another type */
        NVDP__H5_VALUE_TEXT,
        NVDP__H5_VALUE_WHOLE,
        NVDP__H5_VALUE_REAL
    } type;
    int64_t whole;
    double real; /* set for both types of numbers */
};
typedef nvdp_status nvdp__h5_visit_value(const struct nvdp__h5_value *value, void *user);
/* Calls `visit` for every attribute until `visit` fails. */
nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file, nvdp__h5_visit_value *visit,
                                     void *user);

/* The result of an audit: contents other than attributes of the root group, datasets and HDF5's
 * own structures. */
struct nvdp__h5_audit {
    uint64_t size, unused; /* bytes of the file; number of unused bytes, which are all zero */
    char fault[128];       /* the first unexpected content; "" if there is none */
};
/* Reads the whole file again, in an amount of memory that does not depend on the datasets' size.
 * Fails with NVDP_ERR_INPUT for a damaged file. */
nvdp_status nvdp__h5_audit(struct nvdp__h5 *file, struct nvdp__h5_audit *out);

/* Computes the SHA-256 of the names, types, shapes and values of all datasets and attributes
 * except the attribute `except` (NULL: no exception). The digest does not depend on the layout
 * on disk (docs/formats.md, "What is signed"); the file may still be being created. Fails with
 * NVDP_ERR_INPUT for any other content: groups, links, attributes of datasets, other types. */
enum { NVDP__H5_DIGEST = 32 };
nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]);
/* Computes the SHA-256 of the bytes of an opened or finished file, with every byte of the string
 * `except` replaced by a digit 0. Fails with NVDP_ERR_INPUT unless that string is stored with a
 * fixed length. */
nvdp_status nvdp__h5_file_digest(struct nvdp__h5 *file, const char *except,
                                 unsigned char digest[NVDP__H5_DIGEST]);

#endif
