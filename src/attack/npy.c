/* Reads NPY files, for audits of samples.  Layout: \x93NUMPY, version (two bytes), length of the header (u16 in 1.0,
 * u32 in 2.0), the header, the values.  The header is a Python dictionary with exactly three keys in any order,
 * followed by blanks and a line end:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 8), }
 *
 * No other Python literals are accepted. */
#include "attack/audit.h"
#include "base/file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 6, MAX_RANK = 32, EXCERPT = 40 };

struct header {
    struct nvdp_context *ctx;
    const char *path, *at, *end;
    bool seen[3]; /* descr, fortran_order, shape */
    bool wide;    /* float64 */
    size_t rank, shape[2];
};

/* Fails with the text at the cursor in the message. */
static nvdp_status expected(struct header *h, const char *what) {
    char found[EXCERPT + 1];
    size_t n = 0;
    for (const char *at = h->at; at < h->end && *at != '\n' && n < EXCERPT; at++)
        found[n++] = *at >= ' ' && *at <= '~' ? *at : '?';
    found[n] = '\0';
    return nvdp__fail(h->ctx, NVDP_ERR_INPUT, "%s: NPY header: expected %s, found %s%s%s", h->path,
                      what, n > 0 ? "\"" : "the end of the header", found, n > 0 ? "\"" : "");
}

/* Skips blanks, then `text` if it follows.  Returns true if it did. */
static bool take(struct header *h, const char *text) {
    const size_t size = strlen(text);
    while (h->at < h->end && *h->at == ' ')
        h->at++;
    if ((size_t)(h->end - h->at) < size || memcmp(h->at, text, size) != 0) return false;
    h->at += size;
    return true;
}

static nvdp_status read_descr(struct header *h) {
    h->wide = take(h, "'<f8'");
    if (h->wide || take(h, "'<f4'")) return NVDP_OK;
    if (take(h, "'|O'") || take(h, "'O'"))
        return nvdp__fail(
            h->ctx, NVDP_ERR_INPUT,
            "%s: NPY header: expected float32 or float64, found an array of Python objects, which "
            "only Python can read; convert it with numpy.asarray(a, float)",
            h->path);
    return expected(h, "descr '<f4' or '<f8' (little-endian float32 or float64)");
}

static nvdp_status read_order(struct header *h) {
    if (take(h, "False")) return NVDP_OK;
    if (take(h, "True"))
        return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                          "%s: NPY header: expected C order, found Fortran order; convert the "
                          "array with numpy.ascontiguousarray()",
                          h->path);
    return expected(h, "fortran_order: False");
}

static nvdp_status read_shape(struct header *h) {
    if (!take(h, "(")) return expected(h, "a shape (rows, columns)");
    for (h->rank = 0; !take(h, ")"); h->rank++) {
        size_t side = 0;
        if (h->rank == MAX_RANK || h->at == h->end || !isdigit((unsigned char)*h->at))
            return expected(h, "a number in the shape");
        for (; h->at < h->end && isdigit((unsigned char)*h->at); h->at++)
            if (!nvdp__mul(side, 10, &side) ||
                __builtin_add_overflow(side, (size_t)(*h->at - '0'), &side))
                return expected(h, "a number in the shape that fits into memory");
        if (h->rank < 2) h->shape[h->rank] = side;
        if (!take(h, ",")) {
            h->rank++;
            if (!take(h, ")")) return expected(h, "a comma or the end of the shape");
            break;
        }
    }
    if (h->rank == 2 && h->shape[0] > 0 && h->shape[1] > 0) return NVDP_OK;
    return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                      "%s: NPY header: expected a two-dimensional shape [samples, dimensions] "
                      "without zeros, found %zu dimension%s%s",
                      h->path, h->rank, h->rank == 1 ? "" : "s",
                      h->rank == 2 ? ", one of them 0" : "");
}

static nvdp_status read_header(struct header *h) {
    static const char *const key[] = {"'descr'", "'fortran_order'", "'shape'"};
    static nvdp_status (*const read[])(struct header *) = {read_descr, read_order, read_shape};
    if (!take(h, "{")) return expected(h, "'{'");
    while (!take(h, "}")) {
        size_t k = 0;
        while (k < 3 && !take(h, key[k]))
            k++;
        if (k == 3 || h->seen[k])
            return expected(h, "each of the keys descr, fortran_order and shape once");
        h->seen[k] = true;
        if (!take(h, ":")) return expected(h, "':'");
        NVDP_TRY(read[k](h));
        if (take(h, ",")) continue;
        if (!take(h, "}")) return expected(h, "',' or '}'");
        break;
    }
    if (!(h->seen[0] && h->seen[1] && h->seen[2]))
        return expected(h, "the keys descr, fortran_order and shape");
    if (!take(h, "\n") || h->at != h->end) return expected(h, "a line end after the dictionary");
    return NVDP_OK;
}

static nvdp_status read_values(const struct header *h, const char *bytes, size_t size,
                               double *value) {
    const size_t count = h->shape[0] * h->shape[1], width = h->wide ? 8 : 4;
    size_t wanted;
    if (!nvdp__mul(count, width, &wanted) || wanted != size)
        return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                          "%s: expected %zu x %zu values of %zu bytes, found %zu bytes", h->path,
                          h->shape[0], h->shape[1], width, size);
    for (size_t i = 0; i < count; i++) {
        float narrow = 0;
        memcpy(h->wide ? (void *)&value[i] : (void *)&narrow, bytes + i * width, width);
        if (!h->wide) value[i] = (double)narrow;
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
    struct header h = {.ctx = ctx, .path = path};
    nvdp__autofree char *bytes = NULL;
    nvdp__autofree double *made = NULL;
    size_t size = 0, length = 0, start = MAGIC + 4, count;
    NVDP_TRY(nvdp__read_file(ctx, path, limit, &bytes, &size));
    const unsigned char *head = (const unsigned char *)bytes;
    if (size < MAGIC + 6 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected an array written by numpy.save (.npy), found another kind of file", path);
    if ((head[MAGIC] != 1 && head[MAGIC] != 2) || head[MAGIC + 1] != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected version 1.0 or 2.0 of the NPY format, found %d.%d", path,
                          head[MAGIC], head[MAGIC + 1]);
    length = head[8] | (size_t)head[9] << 8;
    if (head[MAGIC] == 2) {
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
        start += 2;
    }
    if (length > size - start)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected a header of %zu bytes, found only %zu bytes to the end of the file", path,
            length, size - start);
    h.at = bytes + start;
    h.end = h.at + length;
    NVDP_TRY(read_header(&h));
    if (!nvdp__mul(h.shape[0], h.shape[1], &count) || count > size)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %zu x %zu values, found %zu bytes",
                          path, h.shape[0], h.shape[1], size - start - length);
    NVDP_TRY(NVDP__NEW(ctx, made, count));
    NVDP_TRY(read_values(&h, h.end, size - start - length, made));
    memcpy(shape, h.shape, sizeof h.shape);
    return NVDP__HAND_OVER(value, made);
}
