/* A folder of files that can be made again: DIR/KIND-HASH, each under the hash of all that it
 * depends on.  Several processes may share it: files appear whole or not at all, and who finds a
 * damaged one makes it anew.  It holds what texts become, so the folder is made for its owner
 * alone. */
#ifndef NVDP_SRC_BASE_CACHE_H
#define NVDP_SRC_BASE_CACHE_H

#include "base/file.h"
#include <sodium.h>

/* --- BLAKE2b-256 over values of several kinds: names of cached files, and checksums --- */

enum { NVDP__DIGEST_BYTES = 32, NVDP__DIGEST_HEX = 65 };

struct nvdp__digest {
    crypto_generichash_state state;
};

void nvdp__digest_begin(struct nvdp__digest *digest);
/* Every value is preceded by its length: no two lists of values are the same bytes. */
void nvdp__digest_bytes(struct nvdp__digest *digest, const void *bytes, size_t count);
void nvdp__digest_text(struct nvdp__digest *digest, const char *text); /* NULL is not "" */
void nvdp__digest_number(struct nvdp__digest *digest, uint64_t number);
/* As hexadecimal digits. */
void nvdp__digest_end(struct nvdp__digest *digest, char hex[NVDP__DIGEST_HEX]);

/* Of one stretch of bytes, without its length. */
void nvdp__checksum(const void *bytes, size_t count, unsigned char sum[NVDP__DIGEST_BYTES]);

/* --- files --- */

/* At the start of every file. */
struct nvdp__cache_header {
    char kind[16]; /* "nvdp tokens", ends with NULs */
    uint32_t version, zero;
    uint64_t bytes;                             /* after the header */
    unsigned char checksum[NVDP__DIGEST_BYTES]; /* of them, or of what the kind says */
};
struct nvdp__cache_header nvdp__cache_header(const char *kind, uint32_t version, uint64_t bytes);

/* The folder, where it does not exist, readable by its owner alone; its parents as usual. */
nvdp_status nvdp__cache_make(struct nvdp_context *ctx, const char *directory);
/* "DIRECTORY/KIND-HEX" */
char *nvdp__cache_path(struct nvdp_context *ctx, const char *directory, const char *kind,
                       const char *hex);

/* What nvdp__cache_write wrote there.  *bytes is NULL where there is no file, and, after a notice,
 * where it is damaged; free(). */
nvdp_status nvdp__cache_read(struct nvdp_context *ctx, const char *path, const char *kind,
                             uint32_t version, char **bytes, size_t *count);
nvdp_status nvdp__cache_write(struct nvdp_context *ctx, const char *path, const char *kind,
                              uint32_t version, const char *bytes, size_t count);

#endif
