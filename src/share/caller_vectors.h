/* Files of vectors that another program computed, with columns of their rows: NumPy (.npy, .npz), HDF5, safetensors. */
#ifndef NVDP_SRC_SHARE_CALLER_VECTORS_H
#define NVDP_SRC_SHARE_CALLER_VECTORS_H

#include "base/base.h"

/* The names of the arrays in a file; NULL: no such column. */
struct nvdp__vector_names {
    const char *vectors; /* NULL: the only array of two dimensions with floats */
    const char *id, *label, *person;
};

/* A column: one string per row; numbers as text. A missing number is "". */
struct nvdp__string_column {
    const char **text; /* [count]; NULL: not asked for */
    char *bytes;
};

struct nvdp__caller_vectors {
    size_t count, width;
    float *x;      /* [count, width] every row is finite */
    size_t zeroed; /* rows with a number that is not finite in float32: such a row is 0 */
    struct nvdp__string_column id, label, person;
};

/* Reads a file. It holds the whole file while it reads, and count x width floats afterwards. A row is read
 * without regard to the other rows.
 * NVDP_ERR_INPUT: another format, no array of a given name, vectors that are not float16, float32 or float64, columns
 * that are not integers or strings (labels may be floats), shapes that do not agree, an id that is empty. */
nvdp_status nvdp__caller_vectors_read(struct nvdp_context *ctx, const char *path,
                                      const struct nvdp__vector_names *names,
                                      struct nvdp__caller_vectors *out);
void nvdp__caller_vectors_release(struct nvdp__caller_vectors *vectors);

#endif
