/* Writes named arrays, row by row, to a file. The suffix of the name selects the format: HDF5, NumPy, Parquet or
 * safetensors. */
#ifndef NVDP_SRC_ENCODER_ARRAYS_FILE_H
#define NVDP_SRC_ENCODER_ARRAYS_FILE_H

#include "base/base.h"
#include "hdf5/hdf5.h"

struct nvdp__arrays;

/* The array of the embeddings of texts, the only array in a .npy file. */
#define NVDP__SENTENCES "sentence_embedding"

/* Opens a file, which gets its final name at the commit. Fails with NVDP_ERR_ARGUMENT if the suffix belongs to no
 * format; the message has the option {out}. format: the attribute nvdp_format only: the only array to write; NULL:
 * all */
nvdp_status nvdp__arrays_open(struct nvdp_context *ctx, const char *path, const char *format,
                              const char *only, struct nvdp__arrays **out);
/* Returns the name of the only array that the file takes, or NULL if it takes all. */
const char *nvdp__arrays_only(const struct nvdp__arrays *file);

/* Set attributes, which NumPy files do not have. `name` is a literal. */
nvdp_status nvdp__arrays_set_text(struct nvdp__arrays *file, const char *name, const char *value);
nvdp_status nvdp__arrays_set_int(struct nvdp__arrays *file, const char *name, size_t value);
/* Adds an array of NVDP__H5_F32 or NVDP__H5_I64, [rows, width], or [rows] if width is 0. An array that the file does
 * not take is skipped. A table takes only arrays of floats with one row per text. */
nvdp_status nvdp__arrays_add(struct nvdp__arrays *file, const char *name, enum nvdp__h5_type type,
                             size_t rows, size_t width, bool per_text);
/* Writes everything but rows: called once, after the attributes and arrays and before the rows. */
nvdp_status nvdp__arrays_begin(struct nvdp__arrays *file);
bool nvdp__arrays_has(const struct nvdp__arrays *file, const char *name);
/* Writes rows [first, first + rows). The rows of an array must come in order. */
nvdp_status nvdp__arrays_write(struct nvdp__arrays *file, const char *name, size_t first,
                               size_t rows, const void *data);
/* Gives the complete file its name; replaces a file of that name. */
nvdp_status nvdp__arrays_commit(struct nvdp__arrays *file);
/* NULL is allowed; removes an uncommitted file */
void nvdp__arrays_free(struct nvdp__arrays *file);

NVDP__AUTOPTR(struct nvdp__arrays, nvdp__arrays_free)

#endif
