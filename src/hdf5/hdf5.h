/* HDF5: written by libhdf5, with atomic creation; read by our own reader (hdf5_read.h), which trusts nothing.
 *
 * Datasets are written in chunks with shuffle + deflate; every file carries the attribute
 * `nvdp_format` = "<kind>/<version>".  Errors name file, dataset, expected, found.  Rows (the
 * first dimension) may be written and read in slices, so that nothing needs to fit in memory. */
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

struct nvdp__h5;
enum { NVDP__H5_RANK = 4 }; /* at most, of a dataset */

/* Creates beside `path`; nothing is under the final name before nvdp__h5_commit. */
nvdp_status nvdp__h5_create(struct nvdp_context *ctx, const char *path, const char *format,
                            struct nvdp__h5 **out);
/* Closes a file that was created: what it has can be read, and one text replaced by another of the same length, until it is
 * committed.  So its bytes can be signed before anybody sees them. */
nvdp_status nvdp__h5_finish(struct nvdp__h5 *file);
nvdp_status nvdp__h5_replace_text(struct nvdp__h5 *file, const char *name, const char *value);
/* Closes; the object is still to be freed.  Not `replace`: NVDP_ERR_ARGUMENT where a file of that name, not empty, is there
 * meanwhile. */
nvdp_status nvdp__h5_commit(struct nvdp__h5 *file, bool replace);
/* Opens for reading; `kind` NULL takes any, else "posteriors" accepts "posteriors/<versions>"
 * where the highest known version is `version`; others are refused by name. */
nvdp_status nvdp__h5_open(struct nvdp_context *ctx, const char *path, const char *kind, int version,
                          struct nvdp__h5 **out);
void nvdp__h5_free(struct nvdp__h5 *file); /* NULL allowed; an uncommitted file disappears */

/* Makes a dataset of the given shape. */
nvdp_status nvdp__h5_dataset(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                             int rank, const size_t *shape);
/* Writes rows [first, first + rows) of an existing dataset from memory of the memory type.  Floats
 * round to nearest even in f16; a finite one beyond its range is NVDP_ERR_NUMERIC. */
nvdp_status nvdp__h5_write_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                size_t first, size_t rows, const void *data);
/* Dataset and all rows at once. */
nvdp_status nvdp__h5_write(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, const size_t *shape, const void *data);
/* One dimension of sizes, as i64. */
nvdp_status nvdp__h5_write_sizes(struct nvdp__h5 *file, const char *name, size_t count,
                                 const size_t *sizes);

bool nvdp__h5_has(struct nvdp__h5 *file, const char *name);
/* Rank must be `rank`; shape[] is filled. The class (float or integer) must fit `type`. */
nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape);
/* An integer that does not fit the memory type is NVDP_ERR_INPUT. */
nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data);
/* All of a dataset of one value a row, which has so many; *column, a pointer, is made: free(). */
nvdp_status nvdp__h5_read_column(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                 size_t rows, void *column);
/* Calls visit for every dataset: name, rank, shape, type text such as "f32", "i64", "f16". */
nvdp_status nvdp__h5_list(struct nvdp__h5 *file,
                          void (*visit)(const char *name, int rank, const size_t *shape,
                                        const char *type, void *user),
                          void *user);

/* Attributes of the root group. */
nvdp_status nvdp__h5_set_string(struct nvdp__h5 *file, const char *name, const char *value);
nvdp_status nvdp__h5_set_real(struct nvdp__h5 *file, const char *name, double value);
nvdp_status nvdp__h5_set_int(struct nvdp__h5 *file, const char *name, int64_t value);
bool nvdp__h5_has_attribute(struct nvdp__h5 *file, const char *name);
bool nvdp__h5_is_number(struct nvdp__h5 *file, const char *name); /* false where it is not there */
bool nvdp__h5_is_text(struct nvdp__h5 *file, const char *name);   /* the same */
nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value); /* free() */
nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value);
nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value);
/* Prints a number with as many digits as reading it back needs; free(). */
char *nvdp__h5_real_text(struct nvdp_context *ctx, double value);
/* Calls visit for every attribute with its value printed. */
nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file,
                                     void (*visit)(const char *name, const char *value, void *user),
                                     void *user);

/* Counts of what an HDF5 file holds beside the attributes of its root group, datasets and HDF5's own structures. */
struct nvdp__h5_audit {
    uint64_t size, unused; /* bytes of the file; of them without a use, all zero */
    char fault[128];       /* the first thing that should not be there; "": nothing */
};
/* Reads the whole file again, in memory that does not depend on its datasets' size.  NVDP_ERR_INPUT for a damaged file. */
nvdp_status nvdp__h5_audit(struct nvdp__h5 *file, struct nvdp__h5_audit *out);

/* SHA-256 of all datasets and attributes but `except` (NULL: none), by their names, types, shapes and values,
 * whatever the layout on disk (docs/formats.md, "What is signed"); also of a file that is being created.
 * NVDP_ERR_INPUT where it has anything else: groups, links, attributes of datasets, other types. */
enum { NVDP__H5_DIGEST = 32 };
nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]);
/* SHA-256 of the bytes of a file that was opened or finished, with a digit 0 in the place of every byte of the text `except`,
 * which must be stored with a fixed length; else NVDP_ERR_INPUT. */
nvdp_status nvdp__h5_file_digest(struct nvdp__h5 *file, const char *except,
                                 unsigned char digest[NVDP__H5_DIGEST]);

#endif
