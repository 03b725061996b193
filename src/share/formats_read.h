/* What is told by a file in another program's format: its words and values, of which formats_read.c makes the HDF5 form. */
#ifndef NVDP_SRC_SHARE_FORMATS_READ_H
#define NVDP_SRC_SHARE_FORMATS_READ_H

#include "share/formats.h"

struct nvdp__source {
    struct nvdp_context *ctx;
    const char *path;
    const struct nvdp__shared_reader *reader;
    void *of; /* what the reader holds */
    struct nvdp__sayings words;
    struct nvdp__embeddings_shape shape;
    int64_t *offset;                  /* [N S + 1] */
    void *column[NVDP__TEXT_COLUMNS]; /* [N] of nvdp__text_columns; NULL: not there */
    struct nvdp__h5 *form;            /* made of it */
};

struct nvdp__shared_reader {
    enum nvdp__shared_format format;
    /* Fills all that the source tells but z and log_pi. */
    nvdp_status (*open)(struct nvdp__source *source);
    /* Rows [first, first + n): z [n, p] and log_pi [n], float where the grid is float16, else int32_t. */
    nvdp_status (*rows)(struct nvdp__source *source, size_t first, size_t n, void *z, void *log_pi);
    void (*close)(void *of); /* also NULL */
};
extern const struct nvdp__shared_reader nvdp__safetensors_reader, nvdp__parquet_reader;

/* The shape as the words say it, of `rows` vectors of `dim` numbers, with weights or without. */
nvdp_status nvdp__source_shape(struct nvdp__source *source, size_t rows, size_t dim, bool weights);

#endif
