/* Reading HDF5 without libhdf5, which faults on damaged files: the structures that our own writer and h5py's
 * defaults use, every address, size and count checked before it is believed (HDF5 File Format Specification 3.0).
 *
 * Superblocks 0 to 3, object headers of versions 1 and 2, groups as symbol tables or compact links, data contiguous,
 * compact, or in chunks under a B-tree of version 1, with shuffle and deflate.  The whole of what a file says is taken
 * in when it is opened; values are read when they are asked for. */
#ifndef NVDP_SRC_HDF5_READ_H
#define NVDP_SRC_HDF5_READ_H

#include "hdf5/hdf5.h"

enum { NVDP__H5_MOST_RANK = 32 };

struct nvdp__h5_stored { /* how a value is stored */
    enum {
        NVDP__H5_WHOLE,    /* integers of 1, 2, 4, 8 bytes */
        NVDP__H5_REAL,     /* binary16, 32, 64 */
        NVDP__H5_TEXT,     /* of fixed length */
        NVDP__H5_HEAPTEXT, /* in a global heap */
        NVDP__H5_OTHER
    } kind;
    size_t size; /* bytes */
    bool big_endian, is_signed;
    bool plain; /* as we write it: little-endian, signed, UTF-8 with a NUL */
};

struct nvdp__h5_space {
    int rank; /* 0: one value */
    uint64_t shape[NVDP__H5_MOST_RANK];
    bool none; /* not even one */
};

struct nvdp__h5_chunk {
    uint64_t place; /* its number in the grid of chunks, row by row */
    uint64_t address;
    uint32_t bytes, skipped; /* as stored; filters that were not applied, a bit each */
};

struct nvdp__h5_object { /* a dataset */
    char *name;          /* its path, without the first '/' */
    struct nvdp__h5_stored stored;
    struct nvdp__h5_space space;
    size_t attributes;      /* of its own */
    const char *unreadable; /* why its values cannot be had; NULL: they can, unless is_too_large */
    uint64_t unpacked;      /* bytes of all values */
    bool is_too_large;      /* unpacked and the datasets before it, for the size of the file */
    enum { NVDP__H5_COMPACT, NVDP__H5_CONTIGUOUS, NVDP__H5_CHUNKED } layout;
    uint64_t address, bytes;            /* of its values, or of its B-tree */
    int sides;                          /* of a chunk: the rank, and the size of a value */
    uint32_t chunk[NVDP__H5_MOST_RANK]; /* [sides] */
    size_t chunk_bytes;
    bool shuffle, deflate;
    unsigned char fill[8]; /* of what was never written */
    /* taken in when values are first read */
    struct nvdp__h5_chunk *index;
    size_t chunks, chunk_capacity;
    unsigned char *held; /* [chunk_bytes] the chunk that was read last */
    size_t held_index;
};

struct nvdp__h5_attribute { /* an attribute of the root group */
    char *name;
    struct nvdp__h5_stored stored;
    uint64_t count; /* of its values */
    const unsigned char *bytes;
};

struct nvdp__h5_range {
    uint64_t first, end;
};

struct nvdp__h5_image {
    struct nvdp_context *ctx;
    const char *path; /* for messages; the caller's */
    const unsigned char *at;
    size_t size;
    uint64_t expanded; /* bytes of all chunks whose index was read, unpacked */
    uint64_t visits;   /* of parts, left: what is reached in many ways is not taken in for ever */
    struct nvdp__h5_object *object; /* by name */
    size_t objects, object_capacity;
    struct nvdp__h5_attribute *word; /* by name */
    size_t words, word_capacity;
    char *other;  /* a member of the root group that is no dataset; NULL: none */
    uint64_t end; /* of the file, as its superblock says */
    /* what an audit records: bytes that the reader understands, in no order */
    bool records;
    nvdp_status record_status;
    struct nvdp__h5_range *range;
    size_t ranges, range_capacity;
};

/* Takes in the file `from`, which messages call `path`.  NVDP_ERR_INPUT, with what and where, for what is not
 * allowed above. */
nvdp_status nvdp__h5_image_open(struct nvdp_context *ctx, const char *from, const char *path,
                                struct nvdp__h5_image **out);
void nvdp__h5_image_free(struct nvdp__h5_image *image);
/* By name; NULL: there is none. */
struct nvdp__h5_object *nvdp__h5_image_find(const struct nvdp__h5_image *image, const char *name);
const struct nvdp__h5_attribute *nvdp__h5_image_word(const struct nvdp__h5_image *image,
                                                     const char *name);
/* Fails if the dataset's values cannot be had, with the reason. */
nvdp_status nvdp__h5_image_readable(const struct nvdp__h5_image *image,
                                    const struct nvdp__h5_object *object);
/* Values of rows [first, first + rows), which must be there, as they are stored: rows x (values of a row) x
 * stored.size bytes, which must not overflow.  NVDP_ERR_CANCELLED where the context is. */
nvdp_status nvdp__h5_image_rows(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                uint64_t first, uint64_t rows, unsigned char *out);
/* A text of one value: up to its first NUL; free(). */
nvdp_status nvdp__h5_image_text(struct nvdp__h5_image *image, const struct nvdp__h5_attribute *word,
                                char **out);

/* --- for an audit: hdf5_audit.c --- */

/* Takes in what image->at holds, on its own: the first thing that nvdp__h5_image_open does. */
nvdp_status nvdp__h5_image_parse(struct nvdp__h5_image *image);
/* Reads the index of a dataset in chunks; then one chunk's values into object->held. */
nvdp_status nvdp__h5_image_index(struct nvdp__h5_image *image, struct nvdp__h5_object *object);
nvdp_status nvdp__h5_image_chunk(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                 size_t index);
/* Releases what was taken in, but not the file. */
void nvdp__h5_image_forget(struct nvdp__h5_image *image);

/* --- hdf5.c, hdf5_values.c: between them --- */

/* What is in the file, of one that is being created by now; the file's. */
nvdp_status nvdp__h5_look(struct nvdp__h5 *file, struct nvdp__h5_image **image);
nvdp_status nvdp__h5_outside(struct nvdp_context *ctx, const char *path, const char *name,
                             uint64_t there, size_t first, size_t rows);
#define NVDP__H5_INPUT_ERROR(file, kind, name, format, ...)                                        \
    NVDP__BAD_FILE(file, kind " '%s'" format, name, __VA_ARGS__)

#endif
