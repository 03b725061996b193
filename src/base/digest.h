/* SHA-256 of values and names, the same on every machine. */
#ifndef NVDP_SRC_BASE_DIGEST_H
#define NVDP_SRC_BASE_DIGEST_H

#include <sodium.h>
#include <stdint.h>
#include <string.h>

/* Adds a number as eight bytes, least significant byte first. */
static inline void nvdp__sha256_number(crypto_hash_sha256_state *sha, uint64_t number) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
    crypto_hash_sha256_update(sha, bytes, sizeof bytes);
}

/* Adds the length of a text, then its bytes. */
static inline void nvdp__sha256_text(crypto_hash_sha256_state *sha, const char *text) {
    nvdp__sha256_number(sha, strlen(text));
    crypto_hash_sha256_update(sha, (const unsigned char *)text, strlen(text));
}

#endif
