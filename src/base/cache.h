/* Digests, and a folder of files that can be recreated: DIR/KIND-HASH, where HASH is the hash of everything that the
 * file depends on. Several processes may share it: files appear complete or not at all, and the next reader of a
 * damaged file recreates it. Cached files contain processed texts, so only the owner can read the folder. */
#ifndef NVDP_SRC_BASE_CACHE_H
#define NVDP_SRC_BASE_CACHE_H

#include "base/file.h"
#include <sodium.h>
#include <stdint.h>
#include <string.h>

/* --- BLAKE2b-256 over values of several types: names of cached files, and checksums --- */

enum { NVDP__DIGEST_BYTES = 32, NVDP__DIGEST_HEX = 65 };

struct nvdp__digest {
    crypto_generichash_state state;
};

struct nvdp__digest nvdp__digest_begin(void);
/* Adds the length of the value, then the bytes of the value, so that different lists of values give different
 * digests. */
void nvdp__digest_bytes(struct nvdp__digest *digest, const void *bytes, size_t count);
/* Adds a string; NULL differs from "" */
void nvdp__digest_text(struct nvdp__digest *digest, const char *text);
void nvdp__digest_number(struct nvdp__digest *digest, uint64_t number);
/* Adds each of several numbers. */
#define NVDP__DIGEST_NUMBERS(digest, ...)                                                          \
    nvdp__digest_numbers(digest, (const uint64_t[]){__VA_ARGS__},                                  \
                         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
void nvdp__digest_numbers(struct nvdp__digest *digest, const uint64_t *number, size_t count);
/* Ends the digest and writes it as hexadecimal digits. */
void nvdp__digest_end(struct nvdp__digest *digest, char hex[NVDP__DIGEST_HEX]);

/* Computes the digest of one range of bytes, without the length. */
void nvdp__checksum(const void *bytes, size_t count, unsigned char sum[NVDP__DIGEST_BYTES]);

/* --- files --- */

/* The header of every cached file. */
struct nvdp__cache_header {
    char kind[16]; /* such as "nvdp tokens", padded with NULs */
    uint32_t version, zero;
    uint64_t bytes; /* number of bytes after the header */
    /* checksum of these bytes, or of the part of them that the kind defines */
    unsigned char checksum[NVDP__DIGEST_BYTES];
};
struct nvdp__cache_header nvdp__cache_header(const char *kind, uint32_t version, uint64_t bytes);

/* Number of bytes that the folder keeps when another large file is written. */
#define NVDP__CACHE_LIMIT ((uint64_t)20 << 30)

/* Makes the folder if it does not exist, readable only by its owner; parent folders get the
 * usual permissions. */
nvdp_status nvdp__cache_make(struct nvdp_context *ctx, const char *directory);
/* Returns "DIRECTORY/KIND-HEX". */
char *nvdp__cache_path(struct nvdp_context *ctx, const char *directory, const char *kind,
                       const char *hex);
/* Returns the same path with the digits of a digest, which this function ends. */
char *nvdp__cache_digest_path(struct nvdp_context *ctx, const char *directory, const char *kind,
                              struct nvdp__digest *digest);

/* Removes the cached files that were used longest ago until the remaining files have at most `limit` bytes. Other
 * files of the folder, and files that are being written, stay. A process that is reading a removed file can read it
 * to its end. */
void nvdp__cache_trim(struct nvdp_context *ctx, const char *directory, uint64_t limit);
/* Notes that a cached file is used now. */
void nvdp__cache_use(const char *path);

/* Reads a file of nvdp__cache_write(). *bytes is NULL if the file does not exist, or if it is damaged, which a
 * notice reports. The caller frees *bytes with free(). */
nvdp_status nvdp__cache_read(struct nvdp_context *ctx, const char *path, const char *kind,
                             uint32_t version, char **bytes, size_t *count);
nvdp_status nvdp__cache_write(struct nvdp_context *ctx, const char *path, const char *kind,
                              uint32_t version, const char *bytes, size_t count);
/* Returns true if `bytes` [count] are a header of this kind and version, followed by bytes that have the header's
 * checksum. */
bool nvdp__cache_is_whole(const char *bytes, size_t count, const char *kind, uint32_t version);
/* Writes the header and the bytes to an open output, and gives the file its name. */
nvdp_status nvdp__cache_finish(struct nvdp__output *output, const char *kind, uint32_t version,
                               const char *bytes, size_t count);

/* --- SHA-256 of values and names, the same on every machine --- */

/* Adds a number as eight bytes, least significant byte first. */
static inline void nvdp__sha256_number(crypto_hash_sha256_state *sha, uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    crypto_hash_sha256_update(sha, bytes, sizeof bytes);
}

/* Adds the length of a string, then the bytes of the string. */
static inline void nvdp__sha256_text(crypto_hash_sha256_state *sha, const char *text) {
    nvdp__sha256_number(sha, strlen(text));
    crypto_hash_sha256_update(sha, (const unsigned char *)text, strlen(text));
}

#endif
