/* Declarations shared by the writer of releases in Parquet, parquet.c, and the reader, parquet_read.c. */
#ifndef NVDP_SRC_SHARE_PARQUET_H
#define NVDP_SRC_SHARE_PARQUET_H

#include "base/array.h"
#include "base/parquet.h"
#include "share/release.h"

/* The columns of the table in order.  The last ones match nvdp__text_columns. */
enum nvdp__of {
    NVDP__OF_TEXT,
    NVDP__OF_SAMPLE,
    NVDP__OF_ROW,
    NVDP__OF_PI,
    NVDP__OF_Z,
    NVDP__OF_ID,
    NVDP__OF_SPLIT,
    NVDP__OF_LABEL,
    NVDP__OFS
};
struct nvdp__parquet_column {
    const char *name;
    enum nvdp__parquet_type type;
    size_t size; /* bytes per value */
};
extern const struct nvdp__parquet_column nvdp__parquet_columns[NVDP__OFS];

/* release->of, of a writer or of a reader. */
struct nvdp__parquet {
    size_t columns;
    enum nvdp__of column[NVDP__OFS];
    size_t group_rows, groups;
    /* state of a writer */
    struct nvdp__memory memory; /* the owner of table.chunk, sample, z and log_pi */
    struct nvdp__parquet_table table;
    struct nvdp__parquet_field field[NVDP__OFS];
    bool ended;   /* all rows are written */
    int64_t next; /* sample of the last row written */
    /* the current row group of a writer */
    size_t group, first, rows;
    int64_t *sample;  /* [rows] sample of each row */
    void *z, *log_pi; /* [rows p], [rows]: int32_t, or float on grid float16 */
    /* state of a reader */
    char *bytes; /* the whole file */
    size_t count, all_rows, capacity;
    struct page { /* pages of a row group */
        size_t rows;
        const char *values[NVDP__OFS]; /* NULL if the file lacks the column */
    } * page;
};

/* parquet_read.c */
nvdp_status nvdp__parquet_read(struct nvdp__release *release);
nvdp_status nvdp__parquet_rows(struct nvdp__release *release, size_t first, size_t n, void *z,
                               void *log_pi);
/* Returns the logarithm of a weight on the grid: in steps, or rounded to float16. */
double nvdp__parquet_log_pi(const struct nvdp__embeddings_shape *shape, double pi);

#endif
