/* HDF5 files: written by libhdf5, with atomic creation; read by our own reader (read.h), which
 * checks everything.
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

/* Creates a temporary file beside `path`; the final name exists only after nvdp__h5_commit. */
nvdp_status nvdp__h5_create(struct nvdp_context *ctx, const char *path, const char *format,
                            struct nvdp__h5 **out);
/* Closes a file being created. Until it is committed, its contents can be read, and one text can
 * be replaced by another of the same length. Its bytes can thus be signed before anybody sees
 * them. */
nvdp_status nvdp__h5_finish(struct nvdp__h5 *file);
nvdp_status nvdp__h5_replace_text(struct nvdp__h5 *file, const char *name, const char *value);
/* True if the file being created has no name and never had one. */
bool nvdp__h5_is_unnamed(const struct nvdp__h5 *file);
/* Closes and renames the file; the object must still be freed. Without `replace`, fails with
 * NVDP_ERR_ARGUMENT if a nonempty file of that name exists by then. */
nvdp_status nvdp__h5_commit(struct nvdp__h5 *file, bool replace);
/* Opens for reading. `kind` "posteriors" accepts "posteriors/<n>" for n up to `version` and
 * refuses other files by name; NULL accepts any file. */
nvdp_status nvdp__h5_open(struct nvdp_context *ctx, const char *path, const char *kind, int version,
                          struct nvdp__h5 **out);
/* Does the same check of an open file. */
nvdp_status nvdp__h5_check(struct nvdp__h5 *file, const char *kind, int version);
void nvdp__h5_free(struct nvdp__h5 *file); /* NULL allowed; removes an uncommitted file */
NVDP__AUTOPTR(struct nvdp__h5, nvdp__h5_free)

/* Creates a dataset of the given shape. */
nvdp_status nvdp__h5_dataset(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                             int rank, const size_t *shape);
/* Writes rows [first, first + rows) of an existing dataset. f16 rounds to nearest, ties to even;
 * a finite value beyond its range fails with NVDP_ERR_NUMERIC. */
nvdp_status nvdp__h5_write_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                size_t first, size_t rows, const void *data);
/* Creates a dataset and writes all its rows. */
nvdp_status nvdp__h5_write(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, const size_t *shape, const void *data);
/* Writes a one-dimensional dataset of sizes, as i64. */
nvdp_status nvdp__h5_write_sizes(struct nvdp__h5 *file, const char *name, size_t count,
                                 const size_t *sizes);

bool nvdp__h5_has(struct nvdp__h5 *file, const char *name);
/* Fills shape[]. Fails unless the rank is `rank` and the class (float or integer) fits `type`. */
nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape);
/* Fails with NVDP_ERR_INPUT for an integer that does not fit the memory type. */
nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data);
/* Reads a dataset with one value per row and `rows` rows into new memory; *column is a pointer,
 * free() it. */
nvdp_status nvdp__h5_read_column(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                 size_t rows, void *column);
/* Calls visit for every dataset with its name, rank, shape and type, such as "f32", "i64",
 * "f16". */
nvdp_status nvdp__h5_list(struct nvdp__h5 *file,
                          void (*visit)(const char *name, int rank, const size_t *shape,
                                        const char *type, void *user),
                          void *user);

/* Attributes of the root group. */
nvdp_status nvdp__h5_set_string(struct nvdp__h5 *file, const char *name, const char *value);
nvdp_status nvdp__h5_set_real(struct nvdp__h5 *file, const char *name, double value);
nvdp_status nvdp__h5_set_int(struct nvdp__h5 *file, const char *name, int64_t value);
bool nvdp__h5_has_attribute(struct nvdp__h5 *file, const char *name);
nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value); /* free() */
nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value);
nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value);
/* Prints a number with all digits needed to read it back; free() the result. */
char *nvdp__h5_real_text(struct nvdp_context *ctx, double value);
/* An attribute, and its value: `text` for every type. */
struct nvdp__h5_value {
    const char *name, *text;
    enum {
        NVDP__H5_VALUE_NONE, /* not a single value, or of another type */
        NVDP__H5_VALUE_TEXT,
        NVDP__H5_VALUE_WHOLE,
        NVDP__H5_VALUE_REAL
    } type;
    int64_t whole;
    double real; /* of both types of numbers */
};
typedef nvdp_status nvdp__h5_visit_value(const struct nvdp__h5_value *value, void *user);
/* Calls visit for every attribute, until it fails. */
nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file, nvdp__h5_visit_value *visit,
                                     void *user);

/* Result of an audit: contents other than attributes of the root group, datasets and HDF5's own
 * structures. */
struct nvdp__h5_audit {
    uint64_t size, unused; /* bytes of the file; unused bytes, which are all zero */
    char fault[128];       /* the first unexpected content; "": none */
};
/* Reads the whole file again, in memory independent of the datasets' size. NVDP_ERR_INPUT for a
 * damaged file. */
nvdp_status nvdp__h5_audit(struct nvdp__h5 *file, struct nvdp__h5_audit *out);

/* SHA-256 of the names, types, shapes and values of all datasets and attributes except `except`
 * (NULL: none). It does not depend on the layout on disk (docs/formats.md, "What is signed") and
 * also works on a file being created. NVDP_ERR_INPUT for any other content: groups, links,
 * attributes of datasets, other types. */
enum { NVDP__H5_DIGEST = 32 };
nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]);
/* SHA-256 of the bytes of an opened or finished file, with every byte of the text `except`
 * replaced by a digit 0. NVDP_ERR_INPUT unless that text is stored with a fixed length. */
nvdp_status nvdp__h5_file_digest(struct nvdp__h5 *file, const char *except,
                                 unsigned char digest[NVDP__H5_DIGEST]);

#endif
