/* Writes tables as Parquet (parquet-format 2.x, the subset that all readers support): each column has one data page
 * of version 1 per row group, in encoding PLAIN, not compressed. Metadata are in Thrift's compact protocol. */
#ifndef NVDP_SRC_BASE_PARQUET_H
#define NVDP_SRC_BASE_PARQUET_H

#include "base/base.h"

/* The type codes of Thrift's compact protocol. */
enum {
    NVDP__T_STOP = 0,
    NVDP__T_TRUE = 1,
    NVDP__T_FALSE = 2,
    NVDP__T_BYTE = 3,
    NVDP__T_I32 = 5,
    NVDP__T_I64 = 6,
    NVDP__T_DOUBLE = 7,
    NVDP__T_BINARY = 8,
    NVDP__T_LIST = 9,
    NVDP__T_SET = 10,
    NVDP__T_MAP = 11,
    NVDP__T_STRUCT = 12
};

enum nvdp__parquet_type { NVDP__INT32 = 1, NVDP__INT64 = 2, NVDP__FLOAT = 4, NVDP__DOUBLE = 5 };

/* Bytes to be written, and the state of Thrift's compact protocol. */
struct nvdp__thrift_bytes {
    struct nvdp_context *ctx;
    unsigned char *at;
    size_t count, capacity;
    nvdp_status status; /* status of the first failure */
    int field;          /* number of the last field of the current struct */
};

/* Appends bytes; after a failure, does nothing. */
void nvdp__parquet_put(struct nvdp__thrift_bytes *to, size_t count, const void *bytes);

struct nvdp__parquet_field {
    const char *name;
    enum nvdp__parquet_type type;
    bool list; /* true if each row has a list of values, false if each row has one value */
};

/* The values of a column in a row group. */
struct nvdp__parquet_chunk {
    uint64_t offset, bytes, values;
    size_t rows;
};

/* A table to be written. The caller owns `field` and `chunk`. */
struct nvdp__parquet_table {
    struct nvdp_context *ctx;
    /* writes bytes to the file */
    nvdp_status (*put)(void *user, uint64_t at, size_t count, const void *bytes);
    void *user;
    const struct nvdp__parquet_field *field; /* [columns] names and types of the columns */
    struct nvdp__parquet_chunk *chunk;       /* [groups][columns] chunks of values */
    size_t columns, groups, rows;            /* rows of all groups together */
    uint64_t written;                        /* number of bytes of the file so far */
    struct nvdp__thrift_bytes body, head;    /* `body` has the values of the next page */
};

/* Writes the first bytes of the file. */
nvdp_status nvdp__parquet_begin(struct nvdp__parquet_table *table);
/* Puts the levels of `rows` lists of `width` values each into the empty table->body, in front of the values. */
void nvdp__parquet_lists(struct nvdp__parquet_table *table, size_t rows, size_t width);
/* Writes table->body as the page of a column in a group, and empties it. The pages may come in any order. */
nvdp_status nvdp__parquet_page(struct nvdp__parquet_table *table, size_t group, size_t column,
                               size_t rows, size_t values);
/* Writes the end of the file, from table->written on. table->written does not change, so a second call replaces the
 * end. metadata: key, value, key, value, ..., NULL */
nvdp_status nvdp__parquet_end(struct nvdp__parquet_table *table, const char *const *metadata);
void nvdp__parquet_release(struct nvdp__parquet_table *table);

#endif
