/* Arrays in the NPY format: versions 1.0 and 2.0 are read, and version 1.0 is written, as numpy.save does; files of several
 * arrays, .npz, are read. */
#ifndef NVDP_SRC_BASE_NPY_H
#define NVDP_SRC_BASE_NPY_H

#include "base/array.h"
#include "base/base.h"

/* A parsed header. The caller decides which types, orders and shapes are accepted. */
struct nvdp__npy {
    struct nvdp_context *ctx;
    const char *path;
    const char *at, *end; /* cursor and end of the header */
    bool seen[3];         /* true once descr, fortran_order, shape were read */
    const char *descr;    /* points to the quoted type, for messages */
    /* order is '<', '>' or '|'; kind is 'f', 'i', 'u', 'b', 'S', 'U', 'O' or another letter */
    char order, kind;
    size_t size; /* bytes of a value; for kind 'U', number of characters */
    bool fortran;
    size_t rank, shape[2];
    const char *values; /* first byte after the header */
    size_t bytes;       /* number of bytes from `values` to the end of the file */
};

/* Parses the header in the bytes of a file, which messages call `path`. Fails with NVDP_ERR_INPUT for anything but
 * an NPY header. */
nvdp_status nvdp__npy_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                            size_t size, struct nvdp__npy *out);
/* Always fails: the message has `what`, which was expected, and the header's text from `at` on, which was found. */
nvdp_status nvdp__npy_expected(const struct nvdp__npy *h, const char *at, const char *what);

/* Writes the header of values of a type such as "<f4", [rows, width], or [rows] if width is 0. */
enum { NVDP__NPY_HEAD = 128 };
void nvdp__npy_put_head(char to[NVDP__NPY_HEAD], const char *descr, size_t rows, size_t width);

/* Fails unless the values are in C order and all there. For arrays of at most two dimensions without Python objects. */
nvdp_status nvdp__npy_check_values(const struct nvdp__npy *h);
/* Returns the bytes of a value. */
size_t nvdp__npy_value_size(const struct nvdp__npy *h);
/* Returns the bits of a value of at most 8 bytes. `swapped`: the first byte is the most significant one. */
uint64_t nvdp__npy_bits(const unsigned char *at, size_t size, bool swapped);
/* Returns the float of 2, 4 or 8 bytes that has these bits. */
double nvdp__npy_real(uint64_t bits, size_t size);

/* The arrays of a file, as numpy.savez and numpy.savez_compressed write it. */
struct nvdp__npz {
    struct nvdp_context *ctx;
    const char *path;
    char *bytes; /* [size] the file, which is mapped */
    size_t size;
    uint64_t unpacked;          /* bytes */
    struct nvdp__memory memory; /* owner of unpacked arrays */
    struct nvdp__npz_array {
        struct nvdp__field name;
        struct nvdp__npy npy;
    } * array;
    size_t count, capacity;
};

/* Maps a file, which the caller releases, and unpacks its packed arrays. NVDP_ERR_INPUT for another kind of file or a damaged one. */
nvdp_status nvdp__npz_read(struct nvdp_context *ctx, const char *path, struct nvdp__npz *out);
void nvdp__npz_release(struct nvdp__npz *npz);

#endif
