/* The HDF5 reader of read.h, from bytes up: parts of messages, messages, object headers, groups,
 * datasets, the whole file; then chunks and strings, which are read on demand. Every address,
 * size and count is checked before use. Start with nvdp__h5_image_parse(). */
#include "hdf5/read.h"

#include "base/file.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    MAX_VISITS = 1 << 20,
    MAX_DEPTH = 16,
    MAX_BLOCKS = 1024, /* max continuation blocks of an object header */
    LONGEST_NAME = 1023,
    LARGEST_TEXT = 1 << 24,
    LARGEST_CHUNK = 1 << 26
};
static const uint64_t NOWHERE = UINT64_MAX;

/* --- bytes and ranges --- */

static const unsigned char *bytes_at(const struct nvdp__h5_image *image, uint64_t address,
                                     uint64_t count) {
    return address <= image->size && count <= image->size - address ? image->at + address : NULL;
}

/* Records, for an audit, that the reader understands these bytes. Bytes without a record must be
 * zero. */
static void record(struct nvdp__h5_image *image, const unsigned char *at, uint64_t count) {
    if (!image->records || count == 0) return;
    const uint64_t first = (uint64_t)(at - image->at);
    struct nvdp__h5_range *last = image->ranges > 0 ? &image->range[image->ranges - 1] : NULL;
    if (last != NULL && last->end == first) {
        last->end += count;
    } else if (image->record_status == NVDP_OK) {
        image->record_status = nvdp__reserve(image->ctx, &image->range, &image->range_capacity,
                                             image->ranges + 1, sizeof *image->range);
        if (image->record_status == NVDP_OK)
            image->range[image->ranges++] = (struct nvdp__h5_range){first, first + count};
    }
}

static uint64_t number(const unsigned char *at, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

static uint16_t u16(const unsigned char *at) {
    return (uint16_t)number(at, 2);
}

static uint32_t u32(const unsigned char *at) {
    return (uint32_t)number(at, 4);
}

static uint64_t u64(const unsigned char *at) {
    return number(at, 8);
}

static nvdp_status damaged(const struct nvdp__h5_image *image, const char *what, uint64_t address) {
    return nvdp__fail(image->ctx, NVDP_ERR_INPUT,
                      "%s: expected a complete HDF5 file, found a damaged one: %s at byte %llu; "
                      "copy or write the file again",
                      image->path, what, (unsigned long long)address);
}

static nvdp_status not_taken(const struct nvdp__h5_image *image, const char *what) {
    return nvdp__fail(image->ctx, NVDP_ERR_INPUT,
                      "%s: expected an HDF5 file as nvdp or h5py writes it, found %s, which nvdp "
                      "cannot read; try to convert the file with h5repack",
                      image->path, what);
}

static nvdp_status visit(struct nvdp__h5_image *image, uint64_t address) {
    if (image->visits-- > 0) return NVDP_OK;
    image->visits = 0;
    return damaged(image, "parts that refer to each other in a cycle", address);
}

/* The unread bytes of a message or another structure. */
struct part {
    struct nvdp__h5_image *image;
    const unsigned char *at;
    size_t left;
};

/* Skips `count` bytes and returns their address; NULL if fewer bytes are left. */
static const unsigned char *pass(struct part *part, uint64_t count) {
    const unsigned char *at = part->at;
    if (count > part->left) return NULL;
    part->at += count;
    part->left -= (size_t)count;
    return at;
}

/* Skips bytes as pass() does, and records them as understood. */
static const unsigned char *take(struct part *part, uint64_t count) {
    const unsigned char *at = pass(part, count);
    if (at != NULL) record(part->image, at, count);
    return at;
}

/* Skips an address that must be undefined, and records it if it is; returns false if fewer bytes
 * are left. */
static bool take_nowhere(struct part *part) {
    const unsigned char *at = pass(part, 8);
    if (at != NULL && number(at, 8) == NOWHERE) record(part->image, at, 8);
    return at != NULL;
}

static bool take_number(struct part *part, size_t size, uint64_t *out) {
    const unsigned char *at = take(part, size);
    if (at != NULL) *out = number(at, size);
    return at != NULL;
}

/* --- messages: types, extents, fill values, layouts, filters --- */

/* Returns true if the fields (sign, position and size of exponent and mantissa, bias) describe
 * an IEEE float. */
static bool is_ieee(const unsigned char *field, const unsigned char *p, size_t size) {
    static const struct {
        unsigned char size, sign, exponent, exponent_bits, mantissa_bits;
        uint32_t bias;
    } known[] = {{2, 15, 10, 5, 10, 15}, {4, 31, 23, 8, 23, 127}, {8, 63, 52, 11, 52, 1023}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (size == known[i].size)
            return u16(p) == 0 && u16(p + 2) == 8 * size && field[1] == known[i].sign &&
                   (field[0] & 0x70) == 0x20 && p[4] == known[i].exponent &&
                   p[5] == known[i].exponent_bits && p[6] == 0 && p[7] == known[i].mantissa_bits &&
                   u32(p + 8) == known[i].bias;
    }
    return false;
}

static bool parse_type(struct part part, struct nvdp__h5_stored *out) {
    const unsigned char *head = take(&part, 8);
    const unsigned char *p = NULL;
    *out = (struct nvdp__h5_stored){.kind = NVDP__H5_OTHER};
    if (head == NULL || head[0] >> 4 < 1 || head[0] >> 4 > 3) return false;
    const unsigned char *field = head + 1; /* bit field of 24 bits */
    const uint32_t size = u32(head + 4);
    if (size == 0) return false;
    out->size = size;
    out->big_endian = (field[0] & 1) != 0;
    switch (head[0] & 0x0f) {
    case 0: /* class of integers */
        if ((p = take(&part, 4)) == NULL) return false;
        out->is_signed = (field[0] & 8) != 0;
        if (u16(p) == 0 && u16(p + 2) == 8 * (uint64_t)size &&
            (size == 1 || size == 2 || size == 4 || size == 8))
            out->kind = NVDP__H5_INTEGER;
        out->plain =
            out->kind == NVDP__H5_INTEGER && field[0] == 8 && field[1] == 0 && field[2] == 0;
        return true;
    case 1: /* class of floats */
        if ((p = take(&part, 12)) == NULL) return false;
        if (is_ieee(field, p, size)) out->kind = NVDP__H5_REAL;
        out->plain = out->kind == NVDP__H5_REAL && field[0] == 0x20 && field[2] == 0;
        return true;
    case 3: /* string: NUL-terminated, UTF-8 */
        out->kind = NVDP__H5_TEXT;
        out->plain = field[0] == 0x10 && field[1] == 0 && field[2] == 0;
        return true;
    case 9: /* variable length */
        if ((field[0] & 0x0f) == 1 && size == 16) out->kind = NVDP__H5_HEAPTEXT;
        p = take(&part, 8); /* skips the type of the characters */
        if (p != NULL && (p[0] & 0x0f) == 0) (void)take(&part, 4);
        return true;
    default:
        return true;
    }
}

static bool parse_space(struct part part, struct nvdp__h5_space *out) {
    const unsigned char *head = take(&part, 4);
    *out = (struct nvdp__h5_space){0};
    if (head == NULL || head[0] < 1 || head[0] > 2 || head[1] > NVDP__H5_MAX_RANK) return false;
    if (head[0] == 1 && pass(&part, 4) == NULL) return false;
    if (head[0] == 2 && (head[3] > 2 || (head[3] != 1 && head[1] > 0))) return false;
    out->none = head[0] == 2 && head[3] == 2;
    out->rank = head[1];
    for (int d = 0; d < out->rank; d++) {
        if (!take_number(&part, 8, &out->shape[d])) return false;
    }
    for (int d = 0; (head[2] & 1) && d < out->rank; d++) { /* max extent */
        const unsigned char *maximum = pass(&part, 8);
        if (maximum != NULL && (u64(maximum) == out->shape[d] || u64(maximum) == UINT64_MAX))
            record(part.image, maximum, 8);
    }
    return true;
}

/* Computes the number of values from dimension `from` on; returns false on overflow. */
static bool count_values(const struct nvdp__h5_space *space, int from, uint64_t *out) {
    *out = !space->none;
    for (int d = from; d < space->rank; d++) {
        if (__builtin_mul_overflow(*out, space->shape[d], out)) return false;
    }
    return true;
}

/* Parses fill values of versions 1 to 3. */
static bool parse_fill(struct part part, struct nvdp__h5_object *to) {
    const unsigned char *head = take(&part, 2);
    if (head == NULL || head[0] < 1 || head[0] > 3) return false;
    const unsigned char *rest = head[0] < 3 ? take(&part, 2) : head;
    if (rest == NULL) return false;
    const bool defined = head[0] == 1 || (head[0] == 2 ? rest[1] != 0 : (head[1] & 0x20) != 0);
    uint64_t size = 0;
    if (!defined) return true;
    if (!take_number(&part, 4, &size)) return false;
    const unsigned char *value = size < UINT32_MAX ? pass(&part, size) : NULL;
    if (size == 0 || size == UINT32_MAX) return true; /* no fill value */
    if (value == NULL) return false;
    if (size <= sizeof to->fill) record(part.image, value, size);
    if (size <= sizeof to->fill && size == to->stored.size) memcpy(to->fill, value, (size_t)size);
    return true;
}

/* Parses the layout. Type and extent of a dataset may follow the layout, so check_dataset()
 * checks the sizes at the end. */
static bool parse_layout(const struct nvdp__h5_image *image, struct part part,
                         struct nvdp__h5_object *to) {
    const unsigned char *head = take(&part, 2);
    uint64_t rank = 0, side = 0;
    if (head == NULL) return false;
    if (head[0] == 4 && head[1] == 3)
        to->unreadable = ": expected data in the file itself, found a reference to another file";
    /* version 4 has other indexes of chunks */
    else if (head[0] != 3 && (head[0] != 4 || head[1] > 1))
        to->unreadable =
            ": expected a layout of version 3, found another one; convert the file with h5repack";
    if (to->unreadable != NULL) return true;
    switch (head[1]) {
    case 0:
        to->layout = NVDP__H5_COMPACT;
        if (!take_number(&part, 2, &to->bytes)) return false;
        to->address = (uint64_t)(part.at - image->at);
        return pass(&part, to->bytes) != NULL;
    case 1:
        to->layout = NVDP__H5_CONTIGUOUS;
        return take_number(&part, 8, &to->address) && take_number(&part, 8, &to->bytes);
    case 2:
        to->layout = NVDP__H5_CHUNKED;
        if (!take_number(&part, 1, &rank) || rank < 2 || rank > NVDP__H5_MAX_RANK ||
            !take_number(&part, 8, &to->address))
            return false;
        to->sides = (int)rank;
        to->chunk_bytes = 1;
        for (uint64_t d = 0; d < rank; d++) {
            if (!take_number(&part, 4, &side) || side == 0 ||
                !nvdp__mul(to->chunk_bytes, (size_t)side, &to->chunk_bytes))
                return false;
            to->chunk[d] = (uint32_t)side;
        }
        return true;
    default:
        return false;
    }
}

/* Parses the filters: shuffle, deflate, or shuffle followed by deflate. */
static bool parse_filters(struct part part, struct nvdp__h5_object *to) {
    static const char *const names[] = {[1] = "deflate", [2] = "shuffle"};
    const unsigned char *head = take(&part, 2);
    if (head == NULL || head[0] < 1 || head[0] > 2) return false;
    if (head[0] == 1 && pass(&part, 6) == NULL) return false;
    for (int i = 0; i < head[1]; i++) {
        uint64_t id = 0, length = 0, flags = 0, values = 0;
        if (!take_number(&part, 2, &id)) return false;
        if ((head[0] == 1 || id >= 256) && !take_number(&part, 2, &length)) return false;
        if (!take_number(&part, 2, &flags) || !take_number(&part, 2, &values)) return false;
        const unsigned char *name = pass(&part, length), *value = pass(&part, 4 * values);
        if (name == NULL || value == NULL) return false;
        if (head[0] == 1 && values % 2 == 1 && pass(&part, 4) == NULL) return false;
        if ((id == 1 || id == 2) && length >= 8 && memcmp(name, names[id], 8) == 0)
            record(part.image, name, 8);
        if (values == 1) record(part.image, value, 4);
        if (id == 2 && i == 0)
            to->shuffle = true;
        else if (id == 1 && !to->deflate)
            to->deflate = true;
        else
            to->unreadable = ": expected only the filters shuffle and deflate, found another one; "
                             "convert the file with h5repack";
    }
    return true;
}

/* --- object headers --- */

/* The contents of an object header's messages. */
struct header {
    struct nvdp__h5_object dataset; /* the dataset, whose name is not set yet */
    bool type, space, layout;
    bool group;
    uint64_t tree, heap; /* addresses of a symbol table; NOWHERE if there is none */
    int depth;
    const char *path; /* path of the group; "" for the root */
};

static nvdp_status take_link(struct nvdp__h5_image *image, const char *path, int depth,
                             const char *name, size_t length, uint64_t address);

static bool is_name(const unsigned char *at, uint64_t length) {
    return length > 0 && length <= LONGEST_NAME && memchr(at, '/', (size_t)length) == NULL &&
           memchr(at, '\0', (size_t)length) == NULL;
}

static char *copy_text(struct nvdp_context *ctx, const unsigned char *at, size_t length) {
    char *copy = nvdp__calloc(ctx, length + 1, 1);
    if (copy != NULL) memcpy(copy, at, length);
    return copy;
}

static nvdp_status note_other(struct nvdp__h5_image *image, const char *path,
                              const unsigned char *name, size_t length) {
    if (*path != '\0' || image->other != NULL) return NVDP_OK;
    image->other = copy_text(image->ctx, name, length);
    return image->other != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static nvdp_status parse_link(struct nvdp__h5_image *image, struct part part,
                              const struct header *header, uint64_t address) {
    static const char what[] = "a link";
    const unsigned char *head = take(&part, 2);
    uint64_t type = 0, length = 0, target = 0;
    if (head == NULL || head[0] != 1) return damaged(image, what, address);
    if ((head[1] & 8) && !take_number(&part, 1, &type)) return damaged(image, what, address);
    if ((head[1] & 4) && take(&part, 8) == NULL) return damaged(image, what, address);
    if ((head[1] & 16) && take(&part, 1) == NULL) return damaged(image, what, address);
    if (!take_number(&part, (size_t)1 << (head[1] & 3), &length))
        return damaged(image, what, address);
    const unsigned char *name = take(&part, length);
    if (name == NULL || !is_name(name, length)) return damaged(image, what, address);
    if (type != 0) return note_other(image, header->path, name, (size_t)length);
    if (!take_number(&part, 8, &target)) return damaged(image, what, address);
    return take_link(image, header->path, header->depth, (const char *)name, (size_t)length,
                     target);
}

static size_t padded_size(uint64_t size, bool pad) {
    return (size_t)(pad ? (size + 7) / 8 * 8 : size);
}

static nvdp_status parse_attribute(struct nvdp__h5_image *image, struct part part,
                                   uint64_t address) {
    static const char what[] = "an invalid attribute";
    struct nvdp__h5_attribute attribute = {0};
    struct nvdp__h5_space space = {0};
    uint64_t bytes = 0;
    const unsigned char *head = take(&part, 8);
    if (head == NULL || head[0] < 1 || head[0] > 3) return damaged(image, what, address);
    if (head[0] > 1 && head[1] != 0) return not_taken(image, "an attribute with a shared type");
    const bool is_padded = head[0] == 1;
    const uint64_t sizes[] = {u16(head + 2), u16(head + 4), u16(head + 6)};
    if (head[0] == 3 && take(&part, 1) == NULL) return damaged(image, what, address);
    const unsigned char *name = pass(&part, padded_size(sizes[0], is_padded));
    const unsigned char *type = pass(&part, padded_size(sizes[1], is_padded));
    const unsigned char *extent = pass(&part, padded_size(sizes[2], is_padded));
    if (name == NULL || type == NULL || extent == NULL || sizes[0] < 2 ||
        name[sizes[0] - 1] != '\0' || name[0] == '\0' || sizes[0] > LONGEST_NAME + 1)
        return damaged(image, what, address);
    const size_t length = strlen((const char *)name);
    record(image, name, length + 1);
    if (!parse_type((struct part){image, type, (size_t)sizes[1]}, &attribute.stored) ||
        !parse_space((struct part){image, extent, (size_t)sizes[2]}, &space) ||
        !count_values(&space, 0, &attribute.count) ||
        __builtin_mul_overflow(attribute.count, attribute.stored.size, &bytes))
        return damaged(image, what, address);
    attribute.bytes = pass(&part, bytes);
    if (attribute.bytes == NULL) return damaged(image, what, address);
    if (attribute.count == 1 && attribute.stored.kind != NVDP__H5_OTHER)
        record(image, attribute.bytes,
               attribute.stored.kind == NVDP__H5_TEXT
                   ? strnlen((const char *)attribute.bytes, bytes)
                   : bytes);
    NVDP_TRY(nvdp__reserve(image->ctx, &image->attribute, &image->attribute_capacity,
                           image->attributes + 1, sizeof *image->attribute));
    attribute.name = copy_text(image->ctx, name, length);
    if (attribute.name == NULL) return NVDP_ERR_MEMORY;
    image->attribute[image->attributes++] = attribute;
    return NVDP_OK;
}

static nvdp_status parse_message(struct nvdp__h5_image *image, int type, struct part part,
                                 struct header *to, uint64_t address) {
    uint64_t heap = NOWHERE;
    const unsigned char *head;
    switch (type) {
    case 0x01:
        to->space = true;
        return parse_space(part, &to->dataset.space) ? NVDP_OK
                                                     : damaged(image, "an invalid shape", address);
    case 0x03:
        to->type = true;
        return parse_type(part, &to->dataset.stored) ? NVDP_OK
                                                     : damaged(image, "an invalid type", address);
    case 0x05:
        return parse_fill(part, &to->dataset) ? NVDP_OK
                                              : damaged(image, "an invalid fill value", address);
    case 0x07:
        to->dataset.unreadable =
            ": expected data in the file itself, found a reference to another file";
        return NVDP_OK;
    case 0x08:
        to->layout = true;
        return parse_layout(image, part, &to->dataset)
                   ? NVDP_OK
                   : damaged(image, "an invalid layout", address);
    case 0x0b:
        return parse_filters(part, &to->dataset) ? NVDP_OK
                                                 : damaged(image, "invalid filters", address);
    case 0x02: /* index of links: fails below if the index uses a heap */
    case 0x15: /* index of attributes */
        to->group = to->group || type == 0x02;
        head = take(&part, 2);
        if (head == NULL) return damaged(image, "an invalid attribute index", address);
        if ((head[1] & 1) && take(&part, type == 0x02 ? 8 : 2) == NULL)
            return damaged(image, "an invalid attribute index", address);
        if (!take_number(&part, 8, &heap))
            return damaged(image, "an invalid attribute index", address);
        for (int i = 0; i < 1 + (head[1] >> 1 & 1); i++) /* B-trees by name and by creation order */
            (void)take_nowhere(&part);
        return heap == NOWHERE ? NVDP_OK
                               : not_taken(image, "links or attributes in a fractal heap");
    case 0x06:
        to->group = true;
        return parse_link(image, part, to, address);
    case 0x0c:
        to->dataset.attributes++;
        return to->depth == 0 ? parse_attribute(image, part, address) : NVDP_OK;
    case 0x11:
        to->group = true;
        return take_number(&part, 8, &to->tree) && take_number(&part, 8, &to->heap)
                   ? NVDP_OK
                   : damaged(image, "an invalid symbol table", address);
    case 0x0a: /* group info */
        head = take(&part, 2);
        if (head != NULL) (void)take(&part, 4 * (uint64_t)((head[1] & 1) + (head[1] >> 1 & 1)));
        return NVDP_OK;
    case 0x12: /* modification time */
        if (take(&part, 1) != NULL && pass(&part, 3) != NULL) (void)take(&part, 4);
        return NVDP_OK;
    case 0x16: /* number of hard links */
        (void)take(&part, 5);
        return NVDP_OK;
    default:
        return NVDP_OK; /* comments, free space */
    }
}

/* The format of the messages in the blocks of a header. */
struct form {
    int version;
    size_t head;       /* bytes before each message */
    uint32_t messages; /* messages left; unknown in version 2 */
};

/* Parses a block and its continuations, which are blocks, too. */
static nvdp_status parse_block(struct nvdp__h5_image *image, uint64_t address, uint64_t size,
                               struct header *to, struct form *form, int depth) {
    const unsigned char *at = bytes_at(image, address, size);
    if (at == NULL || depth > MAX_BLOCKS)
        return damaged(image, "an invalid object header", address);
    struct part part = {image, at, (size_t)size};
    const bool first = form->version == 1;
    if (!first && depth > 0) { /* a continuation begins with a signature and ends with a checksum */
        if (size < 8 || memcmp(at, "OCHK", 4) != 0)
            return damaged(image, "an invalid continuation", address);
        record(image, at, 4);
        record(image, at + size - 4, 4);
        part = (struct part){image, at + 4, (size_t)size - 8};
    }
    for (const unsigned char *head;
         form->messages > 0 && (head = pass(&part, form->head)) != NULL;) {
        const struct part body = {image, part.at, u16(head + (first ? 2 : 1))};
        record(image, head, first ? 5 : form->head);
        const uint64_t place = (uint64_t)(head - image->at);
        const int type = first ? u16(head) : head[0];
        const int flags = head[first ? 4 : 3];
        form->messages--;
        NVDP_TRY(visit(image, place));
        if (pass(&part, body.left) == NULL)
            return damaged(image, "an invalid object header", place);
        if ((flags & 2) && type != 0) return not_taken(image, "a shared header message");
        if (type != 0x10) {
            NVDP_TRY(parse_message(image, type, body, to, place));
            continue;
        }
        if (body.left < 16) return damaged(image, "an invalid continuation", place);
        record(image, body.at, 16);
        NVDP_TRY(parse_block(image, u64(body.at), u64(body.at + 8), to, form, depth + 1));
    }
    return NVDP_OK;
}

static nvdp_status parse_header_2(struct nvdp__h5_image *image, uint64_t address,
                                  struct header *to) {
    struct part part = {image, image->at + address, image->size - (size_t)address};
    const unsigned char *head = take(&part, 6);
    uint64_t size = 0;
    if (head == NULL || head[4] != 2 || ((head[5] & 32) && take(&part, 16) == NULL) ||
        ((head[5] & 16) && take(&part, 4) == NULL) ||
        !take_number(&part, (size_t)1 << (head[5] & 3), &size))
        return damaged(image, "an invalid object header", address);
    struct form form = {2, head[5] & 4 ? 6 : 4, UINT32_MAX};
    if (size <= part.left && part.left - size >= 4) record(image, part.at + size, 4); /* checksum */
    return parse_block(image, (uint64_t)(part.at - image->at), size, to, &form, 0);
}

static nvdp_status parse_header(struct nvdp__h5_image *image, uint64_t address, struct header *to) {
    const unsigned char *head = bytes_at(image, address, 16);
    NVDP_TRY(visit(image, address));
    to->tree = to->heap = NOWHERE;
    if (head != NULL && memcmp(head, "OHDR", 4) == 0) return parse_header_2(image, address, to);
    if (head == NULL || head[0] != 1) return damaged(image, "an invalid object header", address);
    record(image, head, 1);
    record(image, head + 2, 10);
    struct form form = {1, 8, u16(head + 2)};
    NVDP_TRY(parse_block(image, address + 16, u32(head + 8), to, &form, 0));
    return form.messages == 0 ? NVDP_OK : damaged(image, "an invalid object header", address);
}

/* --- groups --- */

struct names {
    const unsigned char *at;
    size_t size;
};

static nvdp_status open_names(struct nvdp__h5_image *image, uint64_t address, struct names *out) {
    const unsigned char *head = bytes_at(image, address, 32);
    if (head == NULL || memcmp(head, "HEAP", 4) != 0 || head[4] != 0)
        return damaged(image, "an invalid table of names", address);
    *out = (struct names){bytes_at(image, u64(head + 24), u64(head + 8)), (size_t)u64(head + 8)};
    if (out->at == NULL) return damaged(image, "an invalid table of names", address);
    record(image, head, 5);
    record(image, head + 8, 24);
    /* free blocks: each has the offset of the next free block (1 after the last one), and a size */
    for (uint64_t at = u64(head + 16); at != 1 && at < out->size && out->size - at >= 16;
         at = u64(out->at + at)) {
        NVDP_TRY(visit(image, address));
        record(image, out->at + at, 16);
    }
    return NVDP_OK;
}

/* Takes the members of a symbol table node. */
static nvdp_status take_members(struct nvdp__h5_image *image, const struct header *group,
                                const struct names *names, uint64_t address) {
    const unsigned char *head = bytes_at(image, address, 8);
    NVDP_TRY(visit(image, address));
    if (head == NULL || memcmp(head, "SNOD", 4) != 0 || head[4] != 1)
        return damaged(image, "invalid group members", address);
    const size_t count = u16(head + 6);
    const unsigned char *entry = bytes_at(image, address + 8, count * 40);
    if (entry == NULL) return damaged(image, "invalid group members", address);
    record(image, head, 5);
    record(image, head + 6, 2);
    for (size_t i = 0; i < count; i++, entry += 40) {
        const uint64_t offset = u64(entry);
        const unsigned char *name = offset < names->size ? names->at + offset : NULL;
        const unsigned char *end =
            name != NULL ? memchr(name, '\0', names->size - (size_t)offset) : NULL;
        if (end == NULL || !is_name(name, (uint64_t)(end - name)))
            return damaged(image, "an invalid member name", (uint64_t)(entry - image->at));
        const size_t length = (size_t)(end - name);
        record(image, name, length);
        record(image, entry, 20);
        NVDP_TRY(u32(entry + 16) == 2 /* symbolic link */
                     ? note_other(image, group->path, name, length)
                     : take_link(image, group->path, group->depth, (const char *)name, length,
                                 u64(entry + 8)));
    }
    return NVDP_OK;
}

/* Checks the head of a B-tree node; `level` is -1 for any level. */
static const unsigned char *open_node(struct nvdp__h5_image *image, uint64_t address, int type,
                                      int level, size_t key, size_t *count) {
    const unsigned char *head = bytes_at(image, address, 24);
    if (head == NULL || memcmp(head, "TREE", 4) != 0 || head[4] != type || head[5] > MAX_DEPTH ||
        (level >= 0 && head[5] != level))
        return NULL;
    *count = u16(head + 6);
    const size_t size = *count * (key + 8) + key;
    if (bytes_at(image, address + 24, size) == NULL) return NULL;
    record(image, head, 24 + size);
    return head;
}

static nvdp_status take_tree(struct nvdp__h5_image *image, const struct header *group,
                             const struct names *names, uint64_t address, int level) {
    size_t count = 0;
    const unsigned char *head = open_node(image, address, 0, level, 8, &count);
    NVDP_TRY(visit(image, address));
    if (head == NULL) return damaged(image, "an invalid group tree", address);
    for (size_t i = 0; i < count; i++) {
        const uint64_t child = u64(head + 24 + 16 * i + 8);
        NVDP_TRY(head[5] > 0 ? take_tree(image, group, names, child, head[5] - 1)
                             : take_members(image, group, names, child));
    }
    return NVDP_OK;
}

/* Takes the members of a symbol table. Members stored as link messages were taken with the
 * header. */
static nvdp_status take_group(struct nvdp__h5_image *image, const struct header *group) {
    struct names names = {0};
    if (group->tree == NOWHERE) return NVDP_OK;
    NVDP_TRY(open_names(image, group->heap, &names));
    return take_tree(image, group, &names, group->tree, -1);
}

/* --- datasets --- */

/* Checks the sizes that several messages determine together. */
static nvdp_status check_dataset(struct nvdp__h5_image *image, struct nvdp__h5_object *to,
                                 uint64_t address) {
    uint64_t values, bytes;
    if (!count_values(&to->space, 0, &values) ||
        __builtin_mul_overflow(values, to->stored.size, &bytes))
        return damaged(image, "an invalid shape", address);
    if (to->stored.size > sizeof to->fill && to->stored.kind != NVDP__H5_TEXT &&
        to->unreadable == NULL)
        to->unreadable = ": expected numbers, found values of another type";
    to->unpacked = bytes;
    if (to->layout == NVDP__H5_CHUNKED) {
        const int rank = to->sides - 1;
        if (rank != to->space.rank || to->chunk[rank] != to->stored.size)
            return damaged(image, "an invalid layout", address);
        if (to->chunk_bytes > LARGEST_CHUNK && to->unreadable == NULL)
            to->unreadable = ": expected chunks of at most 64 MiB, found larger ones; convert the "
                             "file with h5repack";
        return NVDP_OK;
    }
    if (to->unreadable != NULL) return NVDP_OK;
    if (to->shuffle || to->deflate)
        return damaged(image, "filters of a dataset without chunks", address);
    if (bytes == 0 || (to->layout == NVDP__H5_CONTIGUOUS && to->address == NOWHERE)) return NVDP_OK;
    const unsigned char *value = bytes_at(image, to->address, bytes);
    if (bytes > to->bytes || value == NULL)
        return damaged(image, "values that lie outside the file", address);
    record(image, value, bytes);
    return NVDP_OK;
}

static nvdp_status take_dataset(struct nvdp__h5_image *image, const struct header *header,
                                const char *path, uint64_t address) {
    struct nvdp__h5_object object = header->dataset;
    NVDP_TRY(check_dataset(image, &object, address));
    NVDP_TRY(nvdp__reserve(image->ctx, &image->object, &image->object_capacity, image->objects + 1,
                           sizeof *image->object));
    object.name = nvdp__strdup(image->ctx, path);
    if (object.name == NULL) return NVDP_ERR_MEMORY;
    object.held_index = SIZE_MAX;
    image->object[image->objects++] = object;
    return NVDP_OK;
}

static nvdp_status take_link(struct nvdp__h5_image *image, const char *path, int depth,
                             const char *name, size_t length, uint64_t address) {
    if (depth >= MAX_DEPTH) return damaged(image, "too deeply nested groups", address);
    nvdp__autofree char *whole =
        nvdp__format(image->ctx, "%s%s%.*s", path, *path != '\0' ? "/" : "", (int)length, name);
    if (whole == NULL) return NVDP_ERR_MEMORY;
    struct header header = {.depth = depth + 1, .path = whole};
    NVDP_TRY(parse_header(image, address, &header));
    if (header.type && header.space && header.layout && !header.group) {
        NVDP_TRY(take_dataset(image, &header, whole, address));
    } else {
        NVDP_TRY(note_other(image, path, (const unsigned char *)name, length));
        NVDP_TRY(take_group(image, &header));
    }
    return NVDP_OK;
}

/* --- the whole file --- */

static int by_object(const void *a, const void *b) {
    return strcmp(((const struct nvdp__h5_object *)a)->name,
                  ((const struct nvdp__h5_object *)b)->name);
}

static int by_attribute(const void *a, const void *b) {
    return strcmp(((const struct nvdp__h5_attribute *)a)->name,
                  ((const struct nvdp__h5_attribute *)b)->name);
}

/* Limits the total of unpacked bytes, and thus memory and time: a small file may declare
 * enormous datasets, even under many names. */
static void limit_unpacked(struct nvdp__h5_image *image) {
    uint64_t total = 0;
    for (size_t i = 0; i < image->objects; i++) {
        struct nvdp__h5_object *object = &image->object[i];
        if (__builtin_add_overflow(total, object->unpacked, &total)) total = UINT64_MAX;
        object->is_too_large = !nvdp__may_unpack(image->size, total);
    }
}

/* Sorts datasets and attributes by name, and refuses duplicate names, because readers could
 * choose different ones. */
static nvdp_status sort_all(struct nvdp__h5_image *image) {
    if (image->objects > 1) qsort(image->object, image->objects, sizeof *image->object, by_object);
    if (image->attributes > 1)
        qsort(image->attribute, image->attributes, sizeof *image->attribute, by_attribute);
    for (size_t i = 1; i < image->objects; i++) {
        if (by_object(&image->object[i - 1], &image->object[i]) == 0)
            return damaged(image, "two datasets with the same name", 0);
    }
    limit_unpacked(image);
    for (size_t i = 1; i < image->attributes; i++) {
        if (by_attribute(&image->attribute[i - 1], &image->attribute[i]) == 0)
            return damaged(image, "two attributes with the same name", 0);
    }
    return NVDP_OK;
}

/* Records the superblock. Old and new superblocks differ before `rest` and in the entry of the
 * root. */
static void record_superblock(struct nvdp__h5_image *image, const unsigned char *rest,
                              const struct header *root) {
    const unsigned char *at = image->at;
    const bool old = at[8] < 2;
    record(image, at, 9);
    record(image, old ? at + 13 : at + 9, 2);
    if (old) record(image, at + 16, 4); /* sizes of B-tree nodes */
    if (at[8] == 1) record(image, at + 24, 2);
    record(image, rest, 8);
    /* address of free space, or of an extension */
    if (u64(rest + 8) == NOWHERE) record(image, rest + 8, 8);
    record(image, rest + 16, old ? 16 : 20);
    if (!old) return;
    record(image, rest + 40, 12);
    if (u32(rest + 48) == 1 && u64(rest + 56) == root->tree && u64(rest + 64) == root->heap)
        record(image, rest + 56, 16);
}

nvdp_status nvdp__h5_image_parse(struct nvdp__h5_image *image) {
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    const unsigned char *at = bytes_at(image, 0, 24);
    if (image->size < sizeof signature || memcmp(image->at, signature, sizeof signature) != 0)
        return nvdp__fail(image->ctx, NVDP_ERR_INPUT,
                          "%s: expected an HDF5 file, found another kind", image->path);
    if (at == NULL) return damaged(image, "an invalid superblock", 0);
    if (at[8] > 3) return not_taken(image, "a superblock of a later version");
    const bool old = at[8] < 2; /* old versions have the same fields in another order */
    const unsigned char *size = old ? at + 13 : at + 9;
    if (size[0] != 8 || size[1] != 8)
        return not_taken(image, "addresses of a size other than 8 bytes");
    const unsigned char *rest = bytes_at(image, old ? 24 + 4 * (uint64_t)at[8] : 12, old ? 72 : 36);
    if (rest == NULL) return damaged(image, "an invalid superblock", 0);
    image->visits = MAX_VISITS;
    const uint64_t base = u64(rest), end = u64(rest + 16), driver = old ? u64(rest + 24) : NOWHERE;
    const uint64_t top = u64(rest + (old ? 40 : 24)); /* address of the root's header */
    if (base != 0 || driver != NOWHERE) return not_taken(image, "a base address or a file driver");
    if (end > image->size) return damaged(image, "a missing end", image->size);
    image->end = end;
    struct header root = {.path = ""};
    NVDP_TRY(parse_header(image, top, &root));
    if (!root.group) return damaged(image, "a root object that is not a group", top);
    NVDP_TRY(take_group(image, &root));
    record_superblock(image, rest, &root);
    return sort_all(image);
}

nvdp_status nvdp__h5_image_open(struct nvdp_context *ctx, const char *from, const char *path,
                                struct nvdp__h5_image **out) {
    nvdp__autoptr(nvdp__h5_image_free) struct nvdp__h5_image *image = NULL;
    struct stat info;
    nvdp__auto(nvdp__close_owned) int fd = -1;
    NVDP_TRY(nvdp__open_regular(ctx, from, &fd));
    NVDP_TRY(NVDP__NEW(ctx, image, 1));
    *image = (struct nvdp__h5_image){.ctx = ctx, .path = path};
    if (fstat(fd, &info) != 0) return nvdp__fail(ctx, NVDP_ERR_IO, "%s: cannot read", path);
    image->size = (size_t)info.st_size;
    void *map = image->size > 0 ? mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (map == MAP_FAILED) {
        image->size = 0;
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    }
    image->at = map;
    NVDP_TRY(nvdp__h5_image_parse(image));
    NVDP__HAND_OVER(out, image);
    return NVDP_OK;
}

void nvdp__h5_image_forget(struct nvdp__h5_image *image) {
    for (size_t i = 0; i < image->objects; i++) {
        free(image->object[i].name);
        free(image->object[i].index);
        free(image->object[i].held);
    }
    for (size_t i = 0; i < image->attributes; i++) {
        free(image->attribute[i].name);
    }
    free(image->object);
    free(image->attribute);
    free(image->other);
    free(image->range);
}

void nvdp__h5_image_free(struct nvdp__h5_image *image) {
    if (image == NULL) return;
    nvdp__h5_image_forget(image);
    if (image->size > 0) munmap((void *)image->at, image->size);
    free(image);
}

struct nvdp__h5_object *nvdp__h5_image_find(const struct nvdp__h5_image *image, const char *name) {
    const struct nvdp__h5_object key = {.name = (char *)name};
    return image->objects == 0
               ? NULL
               : bsearch(&key, image->object, image->objects, sizeof *image->object, by_object);
}

const struct nvdp__h5_attribute *nvdp__h5_image_attribute(const struct nvdp__h5_image *image,
                                                          const char *name) {
    const struct nvdp__h5_attribute key = {.name = (char *)name};
    return image->attributes == 0 ? NULL
                                  : bsearch(&key, image->attribute, image->attributes,
                                            sizeof *image->attribute, by_attribute);
}

/* --- chunks --- */

static nvdp_status cannot_read(const struct nvdp__h5_image *image,
                               const struct nvdp__h5_object *object, const char *why) {
    return nvdp__fail(image->ctx, NVDP_ERR_INPUT, "%s: dataset '%s': cannot read: %s", image->path,
                      object->name, why);
}

static uint64_t chunks_along(const struct nvdp__h5_object *object, int d) {
    return object->space.shape[d] / object->chunk[d] +
           (object->space.shape[d] % object->chunk[d] != 0);
}

/* Adds the chunk that a key of the tree describes; skips chunks beyond the extent. */
static nvdp_status take_chunk(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                              const unsigned char *key, uint64_t address) {
    struct nvdp__h5_chunk chunk = {.address = address, .bytes = u32(key), .skipped = u32(key + 4)};
    for (int d = 0; d < object->space.rank; d++) {
        const uint64_t at = u64(key + 8 + 8 * (size_t)d);
        if (at % object->chunk[d] != 0) return cannot_read(image, object, "a chunk's place");
        if (at >= object->space.shape[d]) return NVDP_OK;
        if (__builtin_mul_overflow(chunk.place, chunks_along(object, d), &chunk.place) ||
            __builtin_add_overflow(chunk.place, at / object->chunk[d], &chunk.place))
            return cannot_read(image, object, "it has too many chunks");
    }
    const unsigned char *bytes = bytes_at(image, address, chunk.bytes);
    if (bytes == NULL) return cannot_read(image, object, "a chunk lies past the end of the file");
    record(image, bytes, chunk.bytes);
    if (object->chunks > image->size / 16)
        return cannot_read(image, object, "it has too many chunks");
    NVDP_TRY(nvdp__reserve(image->ctx, &object->index, &object->chunk_capacity, object->chunks + 1,
                           sizeof chunk));
    object->index[object->chunks++] = chunk;
    return NVDP_OK;
}

static nvdp_status take_chunks(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                               uint64_t address, int level, uint64_t *nodes) {
    const size_t key = 8 + 8 * ((size_t)object->space.rank + 1);
    size_t count = 0;
    const unsigned char *head = open_node(image, address, 1, level, key, &count);
    if (head == NULL || (*nodes)-- == 0)
        return cannot_read(image, object, "its chunk index is damaged");
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = head + 24 + i * (key + 8);
        NVDP_TRY(head[5] > 0 ? take_chunks(image, object, u64(at + key), head[5] - 1, nodes)
                             : take_chunk(image, object, at, u64(at + key)));
    }
    return NVDP_OK;
}

static int by_chunk(const void *a, const void *b) {
    const struct nvdp__h5_chunk *p = a, *q = b;
    return p->place < q->place ? -1 : p->place > q->place;
}

nvdp_status nvdp__h5_image_index(struct nvdp__h5_image *image, struct nvdp__h5_object *object) {
    if (object->held != NULL) return NVDP_OK;
    uint64_t nodes = image->size / 24 + 1;
    object->chunks = 0;
    if (object->address != NOWHERE)
        NVDP_TRY(take_chunks(image, object, object->address, -1, &nodes));
    if (object->chunks > 1) qsort(object->index, object->chunks, sizeof *object->index, by_chunk);
    for (size_t i = 1; i < object->chunks; i++) {
        if (by_chunk(&object->index[i - 1], &object->index[i]) == 0)
            return cannot_read(image, object, "a chunk is listed twice");
    }
    if (__builtin_add_overflow(image->expanded, object->chunks * object->chunk_bytes,
                               &image->expanded) ||
        !nvdp__may_unpack(image->size, image->expanded))
        return cannot_read(image, object, "its chunks are much larger than the file");
    object->held = nvdp__calloc(image->ctx, object->chunks > 0 ? object->chunk_bytes : 1, 1);
    return object->held != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static void *allocate(void *ctx, uInt count, uInt size) {
    return nvdp__calloc(ctx, count, size);
}

static void release(void *ctx, void *memory) {
    (void)ctx;
    free(memory);
}

/* Inflates the input. Returns Z_OK if the input gives exactly `wanted` bytes; after Z_MEM_ERROR,
 * it is unknown if it would. */
static int inflate_to(struct nvdp_context *ctx, const unsigned char *from, size_t size,
                      unsigned char *to, size_t wanted) {
    z_stream stream = {.next_in = (unsigned char *)from,
                       .avail_in = (uInt)size,
                       .next_out = to,
                       .avail_out = (uInt)wanted,
                       .zalloc = allocate,
                       .zfree = release,
                       .opaque = ctx};
    int found = inflateInit(&stream);
    if (found != Z_OK) return found;
    found = inflate(&stream, Z_FINISH);
    if (found == Z_STREAM_END)
        found = stream.total_out == wanted && stream.avail_in == 0 ? Z_OK : Z_DATA_ERROR;
    inflateEnd(&stream);
    return found;
}

/* Reverses HDF5's shuffle filter, which groups bytes of equal significance; a remainder stays at
 * the end. */
static void unshuffle(const unsigned char *from, size_t bytes, size_t size, unsigned char *to) {
    const size_t items = bytes / size;
    for (size_t b = 0; b < size; b++) {
        for (size_t i = 0; i < items; i++) {
            to[i * size + b] = from[b * items + i];
        }
    }
    memcpy(to + items * size, from + items * size, bytes - items * size);
}

nvdp_status nvdp__h5_image_chunk(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                 size_t index) {
    const struct nvdp__h5_chunk *chunk = &object->index[index];
    const unsigned char *stored = image->at + chunk->address;
    const size_t bytes = object->chunk_bytes;
    nvdp__autofree unsigned char *shuffled_bytes = NULL;
    if (object->held_index == index) return NVDP_OK;
    object->held_index = SIZE_MAX;
    /* filters are listed in the order in which they were applied */
    const bool shuffled = object->shuffle && !(chunk->skipped & 1);
    const bool packed = object->deflate && !(chunk->skipped >> object->shuffle & 1);
    if (shuffled) NVDP_TRY(NVDP__NEW(image->ctx, shuffled_bytes, bytes));
    unsigned char *whole = shuffled ? shuffled_bytes : object->held;
    const int unpacked = packed ? inflate_to(image->ctx, stored, chunk->bytes, whole, bytes)
                         : chunk->bytes == bytes ? Z_OK
                                                 : Z_DATA_ERROR;
    if (unpacked == Z_MEM_ERROR) return NVDP_ERR_MEMORY;
    if (unpacked != Z_OK)
        NVDP_TRY(cannot_read(image, object, "a chunk does not decompress to its size"));
    if (!packed) memcpy(whole, stored, bytes);
    if (shuffled) unshuffle(shuffled_bytes, bytes, object->stored.size, object->held);
    object->held_index = index;
    return NVDP_OK;
}

/* Writes the fill value, for a value that was never written; a string is empty. */
static void put_fill(const struct nvdp__h5_object *object, unsigned char *to) {
    if (object->stored.size <= sizeof object->fill)
        memcpy(to, object->fill, object->stored.size);
    else
        memset(to, 0, object->stored.size);
}

/* Copies, line by line, the part of the chunk at grid position `at` that lies in rows [first,
 * first + rows). `held` is NULL if the chunk was never written; then fill values are copied. */
static void copy_lines(const struct nvdp__h5_object *object, const uint64_t *at, uint64_t first,
                       uint64_t rows, const unsigned char *held, unsigned char *out) {
    const int rank = object->space.rank;
    const size_t size = object->stored.size;
    uint64_t from[NVDP__H5_MAX_RANK], end[NVDP__H5_MAX_RANK], i[NVDP__H5_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        const uint64_t low = d == 0 ? first : 0;
        const uint64_t high = d == 0 ? first + rows : object->space.shape[d];
        from[d] = at[d] * object->chunk[d];
        end[d] = from[d] + object->chunk[d] < high ? from[d] + object->chunk[d] : high;
        i[d] = from[d] > low ? from[d] : low;
        from[d] = i[d];
    }
    for (;;) {
        uint64_t to = 0, source = 0;
        for (int d = 0; d < rank; d++) {
            to = to * (d == 0 ? rows : object->space.shape[d]) + (i[d] - (d == 0 ? first : 0));
            source = source * object->chunk[d] + (i[d] - at[d] * object->chunk[d]);
        }
        const size_t count = (size_t)(end[rank - 1] - i[rank - 1]);
        if (held != NULL) memcpy(out + to * size, held + source * size, count * size);
        for (size_t k = 0; k < count && held == NULL; k++) {
            put_fill(object, out + (to + k) * size);
        }
        int d = rank - 2; /* advances to the next line */
        while (d >= 0 && ++i[d] == end[d]) {
            i[d] = from[d];
            d--;
        }
        if (d < 0) return;
    }
}

static nvdp_status read_chunks(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                               uint64_t first, uint64_t rows, unsigned char *out) {
    const int rank = object->space.rank;
    const uint64_t low = first / object->chunk[0], high = (first + rows - 1) / object->chunk[0];
    uint64_t at[NVDP__H5_MAX_RANK] = {low};
    NVDP_TRY(nvdp__h5_image_index(image, object));
    for (;;) {
        struct nvdp__h5_chunk key = {0};
        for (int d = 0; d < rank; d++) {
            key.place = key.place * chunks_along(object, d) + at[d];
        }
        const struct nvdp__h5_chunk *found =
            object->chunks > 0 ? bsearch(&key, object->index, object->chunks, sizeof key, by_chunk)
                               : NULL;
        if (found != NULL)
            NVDP_TRY(nvdp__h5_image_chunk(image, object, (size_t)(found - object->index)));
        copy_lines(object, at, first, rows, found != NULL ? object->held : NULL, out);
        int d = rank - 1;
        while (d >= 0 && ++at[d] == (d == 0 ? high + 1 : chunks_along(object, d))) {
            at[d] = d == 0 ? low : 0;
            d--;
        }
        if (d < 0) return NVDP_OK;
    }
}

nvdp_status nvdp__h5_image_readable(const struct nvdp__h5_image *image,
                                    const struct nvdp__h5_object *object) {
    if (object->is_too_large)
        return NVDP__H5_INPUT_ERROR(
            image, "dataset", object->name,
            ": expected datasets that decompress to at most 16 MiB, or to %d times the %zu bytes "
            "of the file, found %" PRIu64
            " bytes for this one; store the data uncompressed with h5repack -f NONE",
            NVDP__MAX_UNPACK_RATIO, image->size, object->unpacked);
    if (object->unreadable != NULL)
        return NVDP__H5_INPUT_ERROR(image, "dataset", object->name, "%s", object->unreadable);
    return NVDP_OK;
}

nvdp_status nvdp__h5_image_rows(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                uint64_t first, uint64_t rows, unsigned char *out) {
    uint64_t values = 0;
    NVDP_TRY(nvdp__h5_image_readable(image, object));
    if (nvdp_context_cancelled(image->ctx))
        return nvdp__fail(image->ctx, NVDP_ERR_CANCELLED, "%s: cancelled", image->path);
    if (!count_values(&object->space, 1, &values) || values == 0 || rows == 0) return NVDP_OK;
    if (object->layout == NVDP__H5_CHUNKED) return read_chunks(image, object, first, rows, out);
    const size_t size = object->stored.size;
    /* the data are within the file: check_dataset() checked this */
    if (object->address != NOWHERE) {
        memcpy(out, image->at + object->address + first * values * size, rows * values * size);
        return NVDP_OK;
    }
    for (uint64_t k = 0; k < rows * values; k++) {
        put_fill(object, out + k * size);
    }
    return NVDP_OK;
}

/* --- strings --- */

/* Returns object `index` of the global heap collection at `address`. */
static const unsigned char *heap_object(struct nvdp__h5_image *image, uint64_t address,
                                        uint32_t index, uint64_t *size) {
    const unsigned char *head = bytes_at(image, address, 16);
    if (head == NULL || memcmp(head, "GCOL", 4) != 0 || head[4] != 1) return NULL;
    const unsigned char *whole = bytes_at(image, address, u64(head + 8));
    if (whole == NULL || u64(head + 8) < 16) return NULL;
    const unsigned char *found = NULL;
    struct part part = {image, whole + 16, (size_t)u64(head + 8) - 16};
    record(image, head, 16);
    for (const unsigned char *at; (at = take(&part, 16)) != NULL && u16(at) != 0;) {
        if (visit(image, address) != NVDP_OK) return NULL;
        const uint64_t bytes = u64(at + 8);
        if (bytes > part.left) return NULL;
        if (u16(at) == index) {
            found = part.at;
            *size = bytes;
            if (!image->records) return found;
            record(image, found, bytes);
        }
        if (pass(&part, padded_size(bytes, true)) == NULL) return NULL;
    }
    return found;
}

nvdp_status nvdp__h5_image_text(struct nvdp__h5_image *image,
                                const struct nvdp__h5_attribute *attribute, char **out) {
    const unsigned char *text = attribute->bytes;
    uint64_t length = attribute->stored.size, size = 0;
    if (attribute->stored.kind == NVDP__H5_HEAPTEXT) {
        length = u32(attribute->bytes);
        text =
            u64(attribute->bytes + 4) == 0 || length == 0
                ? attribute->bytes
                : heap_object(image, u64(attribute->bytes + 4), u32(attribute->bytes + 12), &size);
        if (u64(attribute->bytes + 4) == 0) length = 0;
        if (text == NULL || (length > 0 && length > size)) length = UINT64_MAX;
    }
    if (length > LARGEST_TEXT)
        return nvdp__fail(image->ctx, NVDP_ERR_INPUT, "%s: attribute '%s': cannot read: %s",
                          image->path, attribute->name, "its text lies outside the file");
    *out = copy_text(image->ctx, text, (size_t)length);
    return *out != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}
