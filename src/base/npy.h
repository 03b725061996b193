/* The header of an array in the NPY format, versions 1.0 and 2.0, as numpy.save writes it. */
#ifndef NVDP_SRC_BASE_NPY_H
#define NVDP_SRC_BASE_NPY_H

#include "base/base.h"

/* A parsed file. The caller decides which types, orders and shapes it takes. */
struct nvdp__npy {
    struct nvdp_context *ctx;
    const char *path;
    const char *at, *end; /* cursor and end of the header */
    bool seen[3];         /* descr, fortran_order, shape */
    const char *descr;    /* at the quoted type, for messages */
    char order, kind;     /* '<', '>' or '|'; 'f', 'i', 'u', 'b', 'S', 'U', 'O' or another letter */
    size_t size;          /* bytes of a value; characters of kind 'U' */
    bool fortran;
    size_t rank, shape[2];
    const char *values; /* behind the header */
    size_t bytes;       /* from there to the end of the file */
};

/* Parses the header of the file's bytes, called `path` in messages. NVDP_ERR_INPUT for anything but an NPY header. */
nvdp_status nvdp__npy_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                            size_t size, struct nvdp__npy *out);
/* Always fails: expected `what`, found the header's text from `at` on. */
nvdp_status nvdp__npy_expected(const struct nvdp__npy *h, const char *at, const char *what);

#endif
