/* BLAKE2b-256 over values of several kinds: names of cached files, and checksums. */
#ifndef NVDP_SRC_DIGEST_H
#define NVDP_SRC_DIGEST_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
