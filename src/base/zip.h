/* ZIP archives (APPNOTE.TXT 6.3.10), with sizes of 64 bits: members of an archive in memory, and the records around
 * members that are stored without compression. */
#ifndef NVDP_SRC_BASE_ZIP_H
#define NVDP_SRC_BASE_ZIP_H

#include "base/base.h"

/* Returns the number in `count` bytes, least significant byte first. */
static inline uint64_t nvdp__little(const unsigned char *at, size_t count) {
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | at[count];
    return value;
}

struct nvdp__zip_member {
    const char *name; /* [length], without a terminator */
    size_t length;
    uint64_t packed, size; /* bytes in the archive, and of the content */
    uint64_t local;        /* position of the member's local header */
    uint32_t checksum;     /* CRC-32 of the content */
    unsigned method;       /* NVDP__ZIP_STORED or another one */
    bool encrypted;
};

enum { NVDP__ZIP_STORED = 0, NVDP__ZIP_DEFLATE = 8 };

/* An archive, whose bytes outlive the struct. */
struct nvdp__zip {
    const unsigned char *bytes;
    size_t size;
    uint64_t members; /* according to the archive's end; at most size / 46 */
    uint64_t next;    /* position of the next member in the list of members */
};

/* Finds the list of members. Returns false if the bytes are no archive, or a part of one. */
bool nvdp__zip_open(const void *bytes, size_t size, struct nvdp__zip *out);
/* Reads the next member of the list. Returns false for a damaged list. */
bool nvdp__zip_next(struct nvdp__zip *zip, struct nvdp__zip_member *out);
/* Returns the packed bytes of a member, or NULL if they are not in the archive. */
const unsigned char *nvdp__zip_packed(const struct nvdp__zip *zip,
                                      const struct nvdp__zip_member *of);

/* Bytes beside the name of a member in front of its content, and in the list; bytes behind the list. */
enum { NVDP__ZIP_LOCAL = 30 + 20, NVDP__ZIP_LISTED = 46 + 28, NVDP__ZIP_END = 56 + 20 + 22 };
/* Write the record in front of a stored member, the member's line of the list, and the end of an archive whose list is
 * at [list, end). The first two functions return the number of bytes. */
size_t nvdp__zip_put_local(unsigned char *to, const struct nvdp__zip_member *of);
size_t nvdp__zip_put_listed(unsigned char *to, const struct nvdp__zip_member *of);
void nvdp__zip_put_end(unsigned char *to, uint64_t members, uint64_t list, uint64_t end);

#endif
