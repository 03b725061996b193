/* Reads NPY arrays and ZIP files of them, and writes the header of an array.  Layout: \x93NUMPY, version (two bytes), length of the header (u16 in 1.0,
 * u32 in 2.0), the header, the values.  The header is a Python dictionary with exactly three keys in any order,
 * followed by blanks and a line end:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 8), }
 *
 * No other Python literals are accepted. */
#include "base/npy.h"

#include "base/f16.h"
#include "base/file.h"
#include "base/own.h"
#include "base/zip.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

enum { MAGIC = 6, MAX_RANK = 32, EXCERPT = 40 };

nvdp_status nvdp__npy_expected(const struct nvdp__npy *h, const char *at, const char *what) {
    char found[EXCERPT + 1];
    size_t n = 0;
    for (; at < h->end && *at != '\n' && n < EXCERPT; at++)
        found[n++] = *at >= ' ' && *at <= '~' ? *at : '?';
    found[n] = '\0';
    return nvdp__fail(h->ctx, NVDP_ERR_INPUT, "%s: NPY header: expected %s, found %s%s%s", h->path,
                      what, n > 0 ? "\"" : "the end of the header", found, n > 0 ? "\"" : "");
}

static nvdp_status expected(const struct nvdp__npy *h, const char *what) {
    return nvdp__npy_expected(h, h->at, what);
}

/* Skips blanks, then `text` if it follows. Returns true if `text` was skipped. */
static bool take(struct nvdp__npy *h, const char *text) {
    const size_t size = strlen(text);
    while (h->at < h->end && *h->at == ' ')
        h->at++;
    if ((size_t)(h->end - h->at) < size || memcmp(h->at, text, size) != 0) return false;
    h->at += size;
    return true;
}

/* Reads digits; returns false if there are no digits or the number is too large. */
static bool take_number(struct nvdp__npy *h, size_t *out) {
    const char *first = h->at;
    for (*out = 0; h->at < h->end && isdigit((unsigned char)*h->at); h->at++)
        if (!nvdp__mul(*out, 10, out) || __builtin_add_overflow(*out, (size_t)(*h->at - '0'), out))
            return false;
    return h->at > first;
}

/* Reads a type such as '<f4'. A type of records is a list. */
static nvdp_status read_descr(struct nvdp__npy *h) {
    (void)take(h, "");
    h->descr = h->at;
    h->order = '|';
    bool good = take(h, "'") && h->end - h->at >= 2;
    if (good && strchr("<>|=", *h->at) != NULL) h->order = *h->at++;
    good = good && isalpha((unsigned char)*h->at);
    if (good) h->kind = *h->at++;
    if (good && h->kind != 'O') good = take_number(h, &h->size);
    return good && take(h, "'")
               ? NVDP_OK
               : nvdp__npy_expected(h, h->descr,
                                    "descr '<f4' or '<f8' (little-endian float32 or float64)");
}

static nvdp_status read_order(struct nvdp__npy *h) {
    h->fortran = take(h, "True");
    return h->fortran || take(h, "False") ? NVDP_OK : expected(h, "fortran_order: False");
}

static nvdp_status read_shape(struct nvdp__npy *h) {
    if (!take(h, "(")) return expected(h, "a shape (rows, columns)");
    for (h->rank = 0; !take(h, ")"); h->rank++) {
        size_t side = 0;
        if (h->rank == MAX_RANK || h->at == h->end || !isdigit((unsigned char)*h->at))
            return expected(h, "a number in the shape");
        if (!take_number(h, &side))
            return expected(h, "a number in the shape that fits into memory");
        if (h->rank < 2) h->shape[h->rank] = side;
        if (!take(h, ",")) {
            h->rank++;
            if (!take(h, ")")) return expected(h, "a comma or the end of the shape");
            break;
        }
    }
    return NVDP_OK;
}

static nvdp_status read_header(struct nvdp__npy *h) {
    static const char *const key[] = {"'descr'", "'fortran_order'", "'shape'"};
    static nvdp_status (*const read[])(struct nvdp__npy *) = {read_descr, read_order, read_shape};
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

nvdp_status nvdp__npy_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                            size_t size, struct nvdp__npy *out) {
    struct nvdp__npy h = {.ctx = ctx, .path = path};
    size_t length = 0, start = MAGIC + 4;
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
    h.values = h.end;
    h.bytes = size - start - length;
    *out = h;
    return NVDP_OK;
}

void nvdp__npy_put_head(char to[NVDP__NPY_HEAD], const char *descr, size_t rows, size_t width) {
    char shape[48];
    nvdp__snprintf(shape, sizeof shape, width > 0 ? "%zu, %zu" : "%zu,", rows, width);
    memset(to, ' ', NVDP__NPY_HEAD);
    memcpy(to, "\x93NUMPY\1\0", MAGIC + 2);
    to[MAGIC + 2] = NVDP__NPY_HEAD - 10;
    to[MAGIC + 3] = '\0';
    const int n =
        nvdp__snprintf(to + 10, NVDP__NPY_HEAD - 10,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    to[10 + n] = ' '; /* in place of the terminator */
    to[NVDP__NPY_HEAD - 1] = '\n';
}

/* ---- values ---- */

size_t nvdp__npy_value_size(const struct nvdp__npy *h) {
    return h->kind == 'U' ? 4 * h->size : h->size;
}

nvdp_status nvdp__npy_check_values(const struct nvdp__npy *h) {
    size_t count = 1, wanted;
    if (h->fortran && h->rank > 1)
        return nvdp__fail(h->ctx, NVDP_ERR_INPUT,
                          "%s: NPY header: expected C order, found Fortran order; convert the "
                          "array with numpy.ascontiguousarray()",
                          h->path);
    for (size_t i = 0; i < nvdp__min(h->rank, 2); i++)
        if (!nvdp__mul(count, h->shape[i], &count)) count = SIZE_MAX;
    if (h->size <= SIZE_MAX / 4 && nvdp__mul(count, nvdp__npy_value_size(h), &wanted) &&
        wanted == h->bytes)
        return NVDP_OK;
    return NVDP__BAD_FILE(h, "expected %zu values of %zu bytes, found %zu bytes", count,
                          nvdp__npy_value_size(h), h->bytes);
}

uint64_t nvdp__npy_bits(const unsigned char *at, size_t size, bool swapped) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[swapped ? i : size - 1 - i];
    return value;
}

double nvdp__npy_real(uint64_t bits, size_t size) {
    const uint16_t half = (uint16_t)bits;
    const uint32_t low = (uint32_t)bits;
    float single;
    double whole;
    memcpy(&single, &low, sizeof single);
    memcpy(&whole, &bits, sizeof whole);
    return size == 2 ? (double)nvdp__f16_to_float(half) : size == 4 ? (double)single : whole;
}

/* ---- files of several arrays ---- */

static nvdp_status bad_zip(const struct nvdp__npz *of, const char *what) {
    return NVDP__BAD_FILE(of, "expected arrays written by numpy.savez (.npz), found %s", what);
}

static bool inflate_to(const unsigned char *from, uint64_t packed, uint64_t whole,
                       unsigned char *to) {
    z_stream stream = {0};
    if (packed > UINT32_MAX || whole > UINT32_MAX || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    stream.next_in = (unsigned char *)(uintptr_t)from;
    stream.avail_in = (unsigned)packed;
    stream.next_out = to;
    stream.avail_out = (unsigned)whole;
    const bool done = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return done;
}

/* Computes the checksum of a member, and frees the memory of the file's pages meanwhile. */
static uint64_t checksum_of(const struct nvdp__npz *of, const unsigned char *data, uint64_t size) {
    enum { PIECE = 1 << 20 };
    uint64_t sum = crc32_z(0, NULL, 0);
    for (uint64_t at = 0; at < size; at += PIECE) {
        sum = crc32_z(sum, data + at, nvdp__min(size - at, PIECE));
        (void)madvise(of->bytes, of->size, MADV_DONTNEED);
    }
    return sum;
}

/* Adds a member if it is an array. */
static nvdp_status push_member(struct nvdp__npz *of, const struct nvdp__zip *zip,
                               const struct nvdp__zip_member *m) {
    if (m->length < 5 || memcmp(m->name + m->length - 4, ".npy", 4) != 0) return NVDP_OK;
    const unsigned char *data = nvdp__zip_packed(zip, m);
    const bool deflated = m->method == NVDP__ZIP_DEFLATE;
    if (m->encrypted || (m->method != NVDP__ZIP_STORED && !deflated))
        return bad_zip(of, "a member that is encrypted or packed in another way than deflate");
    of->unpacked =
        deflated && m->size < SIZE_MAX - of->unpacked ? of->unpacked + m->size : of->unpacked;
    if (data == NULL ||
        (deflated ? !nvdp__may_unpack(of->size, of->unpacked) : m->packed != m->size))
        return bad_zip(of, "a member that lies outside the file, or would be too large");
    if (deflated) {
        unsigned char *made = NULL;
        NVDP_TRY(NVDP__ARRAYS(of->ctx, &of->memory, NVDP__ITEMS(made, m->size)));
        if (!inflate_to(data, m->packed, m->size, made)) return bad_zip(of, "damaged data");
        data = made;
    }
    if (checksum_of(of, data, m->size) != m->checksum)
        return bad_zip(of, "a member with another checksum");
    struct nvdp__npz_array array = {.name = {m->name, m->length - 4}};
    NVDP_TRY(nvdp__npy_parse(of->ctx, of->path, (const char *)data, m->size, &array.npy));
    return NVDP__PUSH(of->ctx, of->array, of->count, of->capacity, array);
}

static nvdp_status map(struct nvdp__npz *of) {
    nvdp__auto(nvdp__close_owned) int fd = -1;
    struct stat info;
    NVDP_TRY(nvdp__open_regular(of->ctx, of->path, &fd));
    if (fstat(fd, &info) != 0 || info.st_size <= 0) return bad_zip(of, "an empty file");
    void *made = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (made == MAP_FAILED) return nvdp__fail_errno(of->ctx, errno, "%s: cannot map", of->path);
    of->bytes = made;
    of->size = (size_t)info.st_size;
    return NVDP_OK;
}

/* Maps the file, and reads all of its members. */
static nvdp_status read_members(struct nvdp__npz *of) {
    struct nvdp__zip zip;
    struct nvdp__zip_member member;
    NVDP_TRY(map(of));
    if (!nvdp__zip_open(of->bytes, of->size, &zip)) return bad_zip(of, "another kind of file");
    for (uint64_t i = 0; i < zip.members; i++) {
        if (!nvdp__zip_next(&zip, &member)) return bad_zip(of, "a damaged list of members");
        NVDP_TRY(push_member(of, &zip, &member));
    }
    return NVDP_OK;
}

nvdp_status nvdp__npz_read(struct nvdp_context *ctx, const char *path, struct nvdp__npz *out) {
    nvdp__auto(nvdp__npz_release) struct nvdp__npz npz = {.ctx = ctx, .path = path};
    NVDP_TRY(read_members(&npz));
    return NVDP__HAND_OVER(out, npz);
}

void nvdp__npz_release(struct nvdp__npz *npz) {
    if (npz->bytes != NULL) munmap(npz->bytes, npz->size);
    free(npz->array);
    nvdp__memory_release(&npz->memory);
    *npz = (struct nvdp__npz){0};
}
