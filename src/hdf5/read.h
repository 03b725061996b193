/* Reads HDF5 files without libhdf5, which crashes on damaged files. Supports the structures that
 * this library and h5py (with default settings) write; checks every address, size and count before
 * use (HDF5 File Format Specification 3.0).
 *
 * Supported: superblocks 0 to 3; object headers of versions 1 and 2; groups as symbol tables or
 * compact links; contiguous and compact data, and chunks under a B-tree of version 1, with
 * shuffle and deflate. Opening a file parses its whole structure; values are read on demand. */
#ifndef NVDP_SRC_HDF5_READ_H
#define NVDP_SRC_HDF5_READ_H

#include "base/base.h"
#include "hdf5/hdf5.h"

enum { NVDP__H5_MAX_RANK = 32 };

struct nvdp__h5_stored { /* The type of a stored value. */
    enum {
        NVDP__H5_INTEGER,  /* integers of 1, 2, 4 or 8 bytes */
        NVDP__H5_REAL,     /* binary16, 32 or 64 */
        NVDP__H5_TEXT,     /* string of fixed length */
        NVDP__H5_HEAPTEXT, /* string in a global heap */
        NVDP__H5_OTHER
    } kind;
    size_t size; /* size of a value in bytes */
    bool big_endian, is_signed;
    /* true if the value is stored as this library writes it: little-endian, signed, UTF-8 with a
     * NUL */
    bool plain;
};

struct nvdp__h5_space {
    int rank; /* 0 for one value */
    uint64_t shape[NVDP__H5_MAX_RANK];
    bool none; /* true if there is no value at all */
};

struct nvdp__h5_chunk {
    uint64_t place; /* index in the grid of chunks, in row-major order */
    uint64_t address;
    uint32_t bytes, skipped; /* stored size; bit mask of the filters that were not applied */
};

struct nvdp__h5_object { /* A dataset. */
    char *name;          /* path without the first '/' */
    struct nvdp__h5_stored stored;
    struct nvdp__h5_space space;
    size_t attributes; /* number of attributes of the dataset */
    /* reason why the values cannot be read; NULL if they can, unless is_too_large */
    const char *unreadable;
    uint64_t unpacked; /* bytes of all values */
    /* true if the unpacked bytes of this dataset and all earlier ones are too many for the size
     * of the file */
    bool is_too_large;
    enum { NVDP__H5_COMPACT, NVDP__H5_CONTIGUOUS, NVDP__H5_CHUNKED } layout;
    /* address and size of the values; address of the B-tree of chunks */
    uint64_t address, bytes;
    /* number of dimensions of a chunk, including the size of a value */
    int sides;
    uint32_t chunk[NVDP__H5_MAX_RANK]; /* [sides] extent of a chunk in each dimension */
    size_t chunk_bytes;
    bool shuffle, deflate;
    unsigned char fill[8]; /* value of the elements that were never written */
    /* index of chunks, set when values are first read */
    struct nvdp__h5_chunk *index;
    size_t chunks, chunk_capacity;
    unsigned char *held; /* [chunk_bytes] the chunk that was read last */
    size_t held_index;
};

struct nvdp__h5_attribute { /* An attribute of the root group. */
    char *name;
    struct nvdp__h5_stored stored;
    uint64_t count; /* number of values */
    const unsigned char *bytes;
};

struct nvdp__h5_range {
    uint64_t first, end;
};

struct nvdp__h5_image {
    struct nvdp_context *ctx;
    const char *path; /* path for messages; not owned */
    const unsigned char *at;
    size_t size;
    uint64_t expanded; /* total of unpacked bytes of all chunks whose index was read */
    /* number of structures that may still be visited; limits cycles and shared parts */
    uint64_t visits;
    struct nvdp__h5_object *object; /* sorted by name */
    size_t objects, object_capacity;
    struct nvdp__h5_attribute *attribute; /* sorted by name */
    size_t attributes, attribute_capacity;
    /* name of a member of the root group that is not a dataset; NULL if there is none */
    char *other;
    uint64_t end; /* end of the file according to the superblock */
    /* ranges of bytes that the reader understands, unsorted; recorded only in an audit */
    bool records;
    nvdp_status record_status;
    struct nvdp__h5_range *range;
    size_t ranges, range_capacity;
};

/* Parses the file `from`, which messages call `path`. Fails with NVDP_ERR_INPUT for anything not
 * supported above; the message has the structure and the address. */
nvdp_status nvdp__h5_image_open(struct nvdp_context *ctx, const char *from, const char *path,
                                struct nvdp__h5_image **out);
void nvdp__h5_image_free(struct nvdp__h5_image *image);
NVDP__AUTOPTR(struct nvdp__h5_image, nvdp__h5_image_free)
/* Find a dataset or an attribute by name; return NULL if it does not exist. */
struct nvdp__h5_object *nvdp__h5_image_find(const struct nvdp__h5_image *image, const char *name);
const struct nvdp__h5_attribute *nvdp__h5_image_attribute(const struct nvdp__h5_image *image,
                                                          const char *name);
/* Fails with the reason if the values of the dataset cannot be read. */
nvdp_status nvdp__h5_image_readable(const struct nvdp__h5_image *image,
                                    const struct nvdp__h5_object *object);
/* Reads the stored values of rows [first, first + rows), which must exist: rows x (values per
 * row) x stored.size bytes, a product that must not overflow. Fails with NVDP_ERR_CANCELLED if
 * the context is canceled. */
nvdp_status nvdp__h5_image_rows(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                uint64_t first, uint64_t rows, unsigned char *out);
/* Reads the string of an attribute with one value, up to the first NUL; the caller frees it with
 * free(). */
nvdp_status nvdp__h5_image_text(struct nvdp__h5_image *image,
                                const struct nvdp__h5_attribute *attribute, char **out);

/* --- for audit.c --- */

/* Parses the bytes at image->at; nvdp__h5_image_open() calls this first. */
nvdp_status nvdp__h5_image_parse(struct nvdp__h5_image *image);
/* Reads the index of a dataset's chunks; nvdp__h5_image_chunk() then reads one chunk into
 * object->held. */
nvdp_status nvdp__h5_image_index(struct nvdp__h5_image *image, struct nvdp__h5_object *object);
nvdp_status nvdp__h5_image_chunk(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                 size_t index);
/* Frees the parsed structures, but not the file. */
void nvdp__h5_image_forget(struct nvdp__h5_image *image);

/* --- shared by hdf5.c and values.c --- */

/* Returns the current contents of the file, which may still be being created; the file owns the
 * image. */
nvdp_status nvdp__h5_contents(struct nvdp__h5 *file, struct nvdp__h5_image **image);
nvdp_status nvdp__h5_outside(struct nvdp_context *ctx, const char *path, const char *name,
                             uint64_t there, size_t first, size_t rows);
#define NVDP__H5_INPUT_ERROR(file, kind, name, format, ...)                                        \
    NVDP__BAD_FILE(file, kind " '%s'" format, name, __VA_ARGS__)

#endif
