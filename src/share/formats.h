/* A shared file in the layouts of other programs, and its dataset card: the values and words of its HDF5 form
 * (docs/formats.md, "embeddings/2 as safetensors and Parquet"). */
#ifndef NVDP_SRC_SHARE_FORMATS_H
#define NVDP_SRC_SHARE_FORMATS_H

#include "base/file.h"
#include "share/embeddings_file.h"
#include "share/statement.h"

enum nvdp__shared_format { NVDP__SHARED_HDF5, NVDP__SHARED_SAFETENSORS, NVDP__SHARED_PARQUET };
/* By the name's ending; HDF5 whatever else it is. */
enum nvdp__shared_format nvdp__shared_format_of(const char *path);

/* A whole file of embeddings, open, which may not be committed yet. */
struct nvdp__shared {
    struct nvdp_context *ctx;
    struct nvdp__h5 *file;
    const struct nvdp__embeddings_shape *shape;
    const int64_t *offset; /* [N S + 1] rows of the samples, also where lengths are hidden */
};

/* Its bytes in another format than HDF5. */
nvdp_status nvdp__shared_put(const struct nvdp__shared *shared, enum nvdp__shared_format format,
                             struct nvdp__output *to);
/* Writes a dataset card, which describes `name` to people who see it in a collection.  Its first line is that of the guarantee
 * (nvdp__release_guarantee).  To be committed when the file is there. */
nvdp_status nvdp__card_write(const struct nvdp__shared *shared, const char *name, const char *path,
                             const struct nvdp__release_facts *facts, struct nvdp__output *output);

/* --- between them --- */

/* One value of a dataset after the other, whatever its dimensions. */
struct nvdp__column {
    const char *name;
    enum nvdp__h5_type type;
    size_t width, count; /* values of a row of the file; of all */
    /* read last: rows [first, first + rows) */
    void *buffer; /* of the memory type */
    size_t first, rows, most;
};
nvdp_status nvdp__column_open(const struct nvdp__shared *shared, const char *name,
                              enum nvdp__h5_type type, size_t width, size_t count,
                              struct nvdp__column *column);
void nvdp__column_close(struct nvdp__column *column);
/* Values [first, first + n), as they are stored. */
nvdp_status nvdp__column_read(const struct nvdp__shared *shared, struct nvdp__column *column,
                              size_t first, size_t n, void *out);

/* What may be told of every text, one value each. */
enum { NVDP__TEXT_COLUMNS = 3 };
struct nvdp__text_column {
    const char *name;
    enum nvdp__h5_type type;
};
extern const struct nvdp__text_column nvdp__text_columns[NVDP__TEXT_COLUMNS];

/* Attributes as texts: name, value, ..., NULL; one list. */
struct nvdp__sayings {
    struct nvdp_context *ctx;
    char **text;
    size_t count, capacity;
    nvdp_status status;
};
/* "" where nothing is said. */
const char *nvdp__sayings_find(const struct nvdp__sayings *words, const char *name);
nvdp_status nvdp__sayings_add(struct nvdp__sayings *words, const char *name, const char *value);
nvdp_status nvdp__sayings_read(const struct nvdp__shared *shared, struct nvdp__sayings *words);
void nvdp__sayings_release(struct nvdp__sayings *words);

/* safetensors.c, parquet.c */
nvdp_status nvdp__tensors_put(const struct nvdp__shared *shared, const struct nvdp__sayings *words,
                              struct nvdp__output *to);
nvdp_status nvdp__parquet_put(const struct nvdp__shared *shared, const struct nvdp__sayings *words,
                              struct nvdp__output *to);

#endif
