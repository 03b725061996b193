#include "base/digest.h"

#include <string.h>

void nvdp__digest_begin(struct nvdp__digest *digest) {
    crypto_generichash_init(&digest->state, NULL, 0, NVDP__DIGEST_BYTES);
}

void nvdp__digest_bytes(struct nvdp__digest *digest, const void *bytes, size_t count) {
    uint64_t length = count;
    crypto_generichash_update(&digest->state, (const unsigned char *)&length, sizeof length);
    if (count > 0) crypto_generichash_update(&digest->state, bytes, count);
}

void nvdp__digest_text(struct nvdp__digest *digest, const char *text) {
    nvdp__digest_number(digest, text != NULL);
    if (text != NULL) nvdp__digest_bytes(digest, text, strlen(text));
}

void nvdp__digest_number(struct nvdp__digest *digest, uint64_t number) {
    nvdp__digest_bytes(digest, &number, sizeof number);
}

void nvdp__digest_end(struct nvdp__digest *digest, char hex[NVDP__DIGEST_HEX]) {
    unsigned char sum[NVDP__DIGEST_BYTES];
    crypto_generichash_final(&digest->state, sum, sizeof sum);
    sodium_bin2hex(hex, NVDP__DIGEST_HEX, sum, sizeof sum);
}

void nvdp__checksum(const void *bytes, size_t count, unsigned char sum[NVDP__DIGEST_BYTES]) {
    crypto_generichash(sum, NVDP__DIGEST_BYTES, bytes, count, NULL, 0);
}
