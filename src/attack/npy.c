/* Reads NPY files, for audits of samples. */
#include "base/npy.h"
#include "attack/audit.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static nvdp_status check(const struct nvdp__npy *h) {
    if (h->kind == 'O')
        return nvdp__fail(
            h->ctx, NVDP_ERR_INPUT,
            "%s: NPY header: expected float32 or float64, found an array of Python objects, which "
            "only Python can read; convert it with numpy.asarray(a, float)",
            h->path);
    if (h->order != '<' || h->kind != 'f' || (h->size != 4 && h->size != 8))
        return nvdp__npy_expected(h, h->descr,
                                  "descr '<f4' or '<f8' (little-endian float32 or float64)");
    if (h->fortran)
        return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                          "%s: NPY header: expected C order, found Fortran order; convert the "
                          "array with numpy.ascontiguousarray()",
                          h->path);
    if (h->rank == 2 && h->shape[0] > 0 && h->shape[1] > 0) return NVDP_OK;
    return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                      "%s: NPY header: expected a two-dimensional shape [samples, dimensions] "
                      "without zeros, found %zu dimension%s%s",
                      h->path, h->rank, h->rank == 1 ? "" : "s",
                      h->rank == 2 ? ", one of them 0" : "");
}

static nvdp_status read_values(const struct nvdp__npy *h, double *value) {
    const size_t count = h->shape[0] * h->shape[1];
    const bool wide = h->size == 8;
    size_t wanted;
    if (!nvdp__mul(count, h->size, &wanted) || wanted != h->bytes)
        return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                          "%s: expected %zu x %zu values of %zu bytes, found %zu bytes", h->path,
                          h->shape[0], h->shape[1], h->size, h->bytes);
    for (size_t i = 0; i < count; i++) {
        float narrow = 0;
        memcpy(wide ? (void *)&value[i] : (void *)&narrow, h->values + i * h->size, h->size);
        if (!wide) value[i] = (double)narrow;
        if (!(fabs(value[i]) <= NVDP__NPY_LARGEST))
            return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                              "%s: row %zu, column %zu: expected a number within +-%g, found %g",
                              h->path, i / h->shape[1], i % h->shape[1], NVDP__NPY_LARGEST,
                              value[i]);
    }
    return NVDP_OK;
}

nvdp_status nvdp__npy_read(struct nvdp_context *ctx, const char *path, size_t shape[2],
                           double **value) {
    const size_t limit = (size_t)1 << 33;
    struct nvdp__npy h;
    nvdp__autofree char *bytes = NULL;
    nvdp__autofree double *made = NULL;
    size_t size = 0, count;
    NVDP_TRY(nvdp__read_file(ctx, path, limit, &bytes, &size));
    NVDP_TRY(nvdp__npy_parse(ctx, path, bytes, size, &h));
    NVDP_TRY(check(&h));
    if (!nvdp__mul(h.shape[0], h.shape[1], &count) || count > size)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %zu x %zu values, found %zu bytes",
                          path, h.shape[0], h.shape[1], h.bytes);
    NVDP_TRY(NVDP__NEW(ctx, made, count));
    NVDP_TRY(read_values(&h, made));
    memcpy(shape, h.shape, sizeof h.shape);
    return NVDP__HAND_OVER(value, made);
}
