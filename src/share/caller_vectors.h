/* Files of vectors that another program computed, with columns of their rows: NumPy (.npy, .npz), HDF5, safetensors. */
#ifndef NVDP_SRC_SHARE_CALLER_VECTORS_H
#define NVDP_SRC_SHARE_CALLER_VECTORS_H

#include "base/base.h"

/* The names of the arrays in a file; NULL if the file has no such column. */
struct nvdp__vector_names {
    const char *vectors; /* NULL for the only array of two dimensions with floats */
    const char *id, *label, *person;
};

/* A column of one string per row. Numbers are stored as text, and a missing number is "". */
struct nvdp__string_column {
    const char **text; /* [rows]; NULL if the caller did not ask for the column */
    char *bytes;
};

struct nvdp__vectors_file;
struct nvdp__caller_vectors {
    size_t count, width;             /* of the file */
    struct nvdp__vectors_file *file; /* the open file */
    size_t rows;                     /* number of rows that are in memory */
    float *x;                        /* [rows, width] every row is finite */
    size_t capacity;                 /* of x */
    size_t
        zeroed; /* rows that were set to 0, because a number is not finite in float32; since row 0 was read */
    struct nvdp__string_column id, label, person;
};

/* Opens a file, and checks the arrays. The names must outlive the file.
 * NVDP_ERR_INPUT for another format, no array of a given name, vectors that are not float16, float32 or float64,
 * columns that are not integers or strings (labels may be floats), shapes that do not agree. */
nvdp_status nvdp__caller_vectors_open(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out);
/* Reads the rows [first, first + n) in place of other rows. Memory: n x width floats; arrays that are packed in .npz are
 * in memory as long as the file is open. The result of a row does not depend on other rows.
 * NVDP_ERR_INPUT for an id that is empty. */
nvdp_status nvdp__caller_vectors_rows(struct nvdp__caller_vectors *of, size_t first, size_t n);
/* Reads all rows, and closes the file. */
nvdp_status nvdp__caller_vectors_read(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out);
void nvdp__caller_vectors_release(struct nvdp__caller_vectors *vectors);

#endif
