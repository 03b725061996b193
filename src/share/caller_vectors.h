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
    const char **text; /* [count]; NULL if the caller did not ask for the column */
    char *bytes;
};

struct nvdp__caller_vectors {
    size_t count, width;
    float *x;      /* [count, width] every row is finite */
    size_t zeroed; /* rows that were set to 0, because a number is not finite in float32 */
    struct nvdp__string_column id, label, person;
};

/* Reads a file. Memory: the whole file during the call, and count x width floats afterwards. The result of a row does
 * not depend on other rows.
 * NVDP_ERR_INPUT for another format, no array of a given name, vectors that are not float16, float32 or float64,
 * columns that are not integers or strings (labels may be floats), shapes that do not agree, an id that is empty. */
nvdp_status nvdp__caller_vectors_read(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out);
void nvdp__caller_vectors_release(struct nvdp__caller_vectors *vectors);

#endif
