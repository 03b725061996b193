/* Reads and writes ZIP archives (zip.h). */
#include "base/zip.h"
#include <string.h>

enum { LOCAL = 30, LISTED = 46, WIDE_END = 56, LOCATOR = 20, END = 22 }; /* bytes of the records */
enum { WIDE16 = 0xffff };                                                /* a longest comment */
static const uint64_t WIDE32 = UINT32_MAX; /* the number is in the extra field */
static const uint64_t LOCAL_MARK = 0x04034b50, LISTED_MARK = 0x02014b50, WIDE_END_MARK = 0x06064b50,
                      LOCATOR_MARK = 0x07064b50, END_MARK = 0x06054b50;

/* --- reading --- */

/* Returns `size` bytes at a position that begin with the mark of a record, or NULL. */
static const unsigned char *record(const struct nvdp__zip *zip, uint64_t at, size_t size,
                                   uint64_t mark) {
    return at <= zip->size && size <= zip->size - at && nvdp__little(zip->bytes + at, 4) == mark
               ? zip->bytes + at
               : NULL;
}

bool nvdp__zip_open(const void *bytes, size_t size, struct nvdp__zip *out) {
    struct nvdp__zip zip = {.bytes = bytes, .size = size};
    const unsigned char *end = NULL;
    for (size_t comment = 0; comment <= WIDE16 && comment + END <= size && end == NULL; comment++) {
        end = record(&zip, size - END - comment, END, END_MARK);
        if (end != NULL && nvdp__little(end + 20, 2) != comment) end = NULL;
    }
    if (end == NULL) return false;
    zip.members = nvdp__little(end + 10, 2);
    zip.next = nvdp__little(end + 16, 4);
    const uint64_t at = (uint64_t)(end - zip.bytes);
    const unsigned char *locator =
        at < LOCATOR ? NULL : record(&zip, at - LOCATOR, LOCATOR, LOCATOR_MARK);
    if (locator != NULL) {
        const unsigned char *wide =
            record(&zip, nvdp__little(locator + 8, 8), WIDE_END, WIDE_END_MARK);
        if (wide == NULL) return false;
        zip.members = nvdp__little(wide + 32, 8);
        zip.next = nvdp__little(wide + 48, 8);
    }
    *out = zip;
    return zip.members <= size / LISTED;
}

/* Takes numbers of 64 bits from the extra field 1, in this order, where the others are all ones. */
static bool take_wide(const unsigned char *extra, size_t size, struct nvdp__zip_member *member) {
    uint64_t *const wide[] = {&member->size, &member->packed, &member->local};
    const unsigned char *at = extra, *end = extra + size;
    while (end - at >= 4 && nvdp__little(at, 2) != 1)
        at += nvdp__min(4 + nvdp__little(at + 2, 2), (uint64_t)(end - at));
    if (end - at >= 4) at += 4;
    for (size_t i = 0; i < 3; i++) {
        if (*wide[i] != WIDE32) continue;
        if (end - at < 8) return false;
        *wide[i] = nvdp__little(at, 8);
        at += 8;
    }
    return true;
}

bool nvdp__zip_next(struct nvdp__zip *zip, struct nvdp__zip_member *out) {
    const unsigned char *from = record(zip, zip->next, LISTED, LISTED_MARK);
    if (from == NULL) return false;
    const size_t name = nvdp__little(from + 28, 2), extra = nvdp__little(from + 30, 2);
    const size_t whole = LISTED + name + extra + nvdp__little(from + 32, 2);
    if (whole > zip->size - zip->next) return false;
    zip->next += whole;
    *out = (struct nvdp__zip_member){.name = (const char *)from + LISTED,
                                     .length = name,
                                     .packed = nvdp__little(from + 20, 4),
                                     .size = nvdp__little(from + 24, 4),
                                     .local = nvdp__little(from + 42, 4),
                                     .checksum = (uint32_t)nvdp__little(from + 16, 4),
                                     .method = (unsigned)nvdp__little(from + 10, 2),
                                     .encrypted = from[8] & 1};
    return take_wide(from + LISTED + name, extra, out);
}

const unsigned char *nvdp__zip_packed(const struct nvdp__zip *zip,
                                      const struct nvdp__zip_member *of) {
    const unsigned char *local = record(zip, of->local, LOCAL, LOCAL_MARK);
    if (local == NULL) return NULL;
    const size_t skip = LOCAL + nvdp__little(local + 26, 2) + nvdp__little(local + 28, 2);
    const uint64_t left = zip->size - of->local;
    return left >= skip && left - skip >= of->packed ? local + skip : NULL;
}

/* --- writing --- */

enum { VERSION = 45 /* the first with 64 bits */, DAY = 1 << 5 | 1 /* 1980-01-01 */ };

/* Appends numbers, least significant byte first. */
struct number {
    size_t bytes;
    uint64_t value;
};
static unsigned char *put_numbers(unsigned char *to, const struct number *number) {
    for (; number->bytes > 0; number++)
        for (size_t i = 0; i < number->bytes; i++)
            *to++ = (unsigned char)(number->value >> 8 * i);
    return to;
}
#define NUMBERS(to, ...) put_numbers(to, (const struct number[]){__VA_ARGS__, {0, 0}})

size_t nvdp__zip_put_local(unsigned char *to, const struct nvdp__zip_member *of) {
    unsigned char *at =
        NUMBERS(to, {4, LOCAL_MARK}, {2, VERSION}, {2, 0}, {2, 0}, {2, 0}, {2, DAY},
                {4, of->checksum}, {4, WIDE32}, {4, WIDE32}, {2, of->length}, {2, 20});
    memcpy(at, of->name, of->length);
    at = NUMBERS(at + of->length, {2, 1}, {2, 16}, {8, of->size}, {8, of->size});
    return (size_t)(at - to);
}

size_t nvdp__zip_put_listed(unsigned char *to, const struct nvdp__zip_member *of) {
    unsigned char *at =
        NUMBERS(to, {4, LISTED_MARK}, {2, VERSION}, {2, VERSION}, {2, 0}, {2, 0}, {2, 0}, {2, DAY},
                {4, of->checksum}, {4, WIDE32}, {4, WIDE32}, {2, of->length}, {2, 28}, {2, 0},
                {2, 0}, {2, 0}, {4, 0}, {4, WIDE32});
    memcpy(at, of->name, of->length);
    at = NUMBERS(at + of->length, {2, 1}, {2, 24}, {8, of->size}, {8, of->size}, {8, of->local});
    return (size_t)(at - to);
}

void nvdp__zip_put_end(unsigned char *to, uint64_t members, uint64_t list, uint64_t end) {
    NUMBERS(to, {4, WIDE_END_MARK}, {8, WIDE_END - 12}, {2, VERSION}, {2, VERSION}, {4, 0}, {4, 0},
            {8, members}, {8, members}, {8, end - list}, {8, list}, /* where it is: */
            {4, LOCATOR_MARK}, {4, 0}, {8, end}, {4, 1},            /* the end: */
            {4, END_MARK}, {2, 0}, {2, 0}, {2, WIDE16}, {2, WIDE16}, {4, WIDE32}, {4, WIDE32},
            {2, 0});
}
