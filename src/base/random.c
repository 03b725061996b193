#include "base/random.h"

#include "base/philox.h"
#include <sodium.h>
#include <string.h>

enum {
    BLOCK_WORDS = 16,                           /* a buffer; one block of ChaCha20 */
    PHILOX_WORDS = 4,                           /* words of one Philox block */
    PHILOX_BLOCKS = BLOCK_WORDS / PHILOX_WORDS, /* Philox blocks of one buffer */
    CHUNK_PAIRS = 256                           /* pairs of normals made at once */
};

nvdp_status nvdp__release_key_create(struct nvdp_context *ctx, struct nvdp__release_key *key) {
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "release key: libsodium is not usable");
    randombytes_buf(key->bytes, sizeof key->bytes);
    return NVDP_OK;
}

void nvdp__release_key_wipe(struct nvdp__release_key *key) {
    sodium_memzero(key->bytes, sizeof key->bytes);
}

/* The finaliser of SplitMix64 (Steele, Lea & Flood 2014, figure 15): a bijection of 64 bits in
 * which every input bit moves every output bit. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static const uint64_t GOLDEN = UINT64_C(0x9E3779B97F4A7C15); /* odd, 2^64 / golden ratio */

/* For a given seed the key is injective in the purpose, and for a given purpose in the seed. */
static uint64_t mix_key(uint64_t seed, uint64_t purpose) {
    return mix(mix(seed + GOLDEN) + purpose * GOLDEN);
}

struct nvdp__stream nvdp__stream_open(const struct nvdp__noise *noise, enum nvdp__purpose purpose,
                                      uint32_t epoch, uint64_t text) {
    return (struct nvdp__stream){
        .key = noise->release != NULL ? (uint64_t)purpose : mix_key(noise->seed, (uint64_t)purpose),
        .counter = {0, epoch, (uint32_t)text, (uint32_t)(text >> 32)},
        .release = noise->release,
    };
}

void nvdp__stream_seek(struct nvdp__stream *stream, uint32_t block) {
    stream->block = block;
    stream->used = 0;
    stream->have = 0;
}

/* Philox counts 2^32 of its blocks, a quarter of the blocks of 16 words.  Past that the carry
 * chooses another key, so that a stream goes on instead of repeating itself. */
static void philox_blocks(struct nvdp__stream *stream, size_t blocks, uint32_t *words) {
    while (blocks > 0) {
        uint64_t first = stream->block * PHILOX_BLOCKS;
        uint64_t carry = first >> 32;
        uint64_t key = carry == 0 ? stream->key : mix(stream->key + carry * GOLDEN);
        const uint32_t halves[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
        uint64_t left = ((UINT64_C(1) << 32) - (uint32_t)first) / PHILOX_BLOCKS;
        size_t now = blocks < left ? blocks : (size_t)left;
        stream->counter[0] = (uint32_t)first;
        nvdp__philox_run(stream->counter, halves, now * PHILOX_BLOCKS, words);
        stream->block += now;
        words += now * BLOCK_WORDS;
        blocks -= now;
    }
}

/* XChaCha20 under the release key; the nonce is (purpose, epoch, text), so no two streams of a
 * release share a keystream, and the block counter has 64 bits. */
static void release_blocks(struct nvdp__stream *stream, size_t blocks, uint32_t *words) {
    unsigned char nonce[crypto_stream_xchacha20_NONCEBYTES] = {0};
    uint32_t purpose = (uint32_t)stream->key;
    memcpy(nonce, &purpose, 4);
    memcpy(nonce + 4, stream->counter + 1, 12);
    memset(words, 0, blocks * BLOCK_WORDS * sizeof *words);
    unsigned char *bytes = (unsigned char *)words;
    crypto_stream_xchacha20_xor_ic(bytes, bytes, blocks * BLOCK_WORDS * sizeof *words, nonce,
                                   stream->block, stream->release->bytes);
    stream->block += blocks;
}

static void make_blocks(struct nvdp__stream *stream, size_t blocks, uint32_t *words) {
    if (stream->release != NULL) {
        release_blocks(stream, blocks, words);
    } else {
        philox_blocks(stream, blocks, words);
    }
}

uint32_t nvdp__stream_u32(struct nvdp__stream *stream) {
    if (stream->used == stream->have) {
        make_blocks(stream, 1, stream->buffer);
        stream->used = 0;
        stream->have = BLOCK_WORDS;
    }
    return stream->buffer[stream->used++];
}

/* The next n words: what is buffered, whole blocks, and the head of a last one. */
static void take_words(struct nvdp__stream *stream, size_t n, uint32_t *words) {
    while (n > 0 && stream->used < stream->have) {
        *words++ = stream->buffer[stream->used++];
        n--;
    }
    size_t blocks = n / BLOCK_WORDS;
    if (blocks > 0) make_blocks(stream, blocks, words);
    for (size_t i = blocks * BLOCK_WORDS; i < n; i++) {
        words[i] = nvdp__stream_u32(stream);
    }
}

uint64_t nvdp__stream_u64(struct nvdp__stream *stream) {
    uint64_t low = nvdp__stream_u32(stream);
    uint64_t high = nvdp__stream_u32(stream);
    return high << 32 | low;
}

/* (2j + 1) / 2^53 for j of 52 bits: symmetric about 1/2, never 0 or 1, exact. */
double nvdp__stream_uniform(struct nvdp__stream *stream) {
    return (double)(nvdp__stream_u64(stream) >> 11 | 1) * 0x1p-53;
}

double nvdp__stream_normal(struct nvdp__stream *stream) {
    uint32_t words[4];
    double pair[2];
    take_words(stream, 4, words);
    nvdp__box_muller(1, words, pair);
    return pair[0];
}

/* Hands at most CHUNK_PAIRS pairs to the caller's array of doubles; returns how many normals. */
static size_t some_normals(struct nvdp__stream *stream, size_t left, double *out) {
    uint32_t words[4 * CHUNK_PAIRS];
    size_t pairs = left / 2 + left % 2;
    if (pairs > CHUNK_PAIRS) pairs = CHUNK_PAIRS;
    take_words(stream, 4 * pairs, words);
    nvdp__box_muller(pairs, words, out);
    return left < 2 * pairs ? left : 2 * pairs;
}

void nvdp__stream_normals(struct nvdp__stream *stream, size_t n, float *out) {
    double chunk[2 * CHUNK_PAIRS];
    for (size_t done = 0; done < n;) {
        size_t count = some_normals(stream, n - done, chunk);
        for (size_t i = 0; i < count; i++) {
            out[done + i] = (float)chunk[i];
        }
        done += count;
    }
}

void nvdp__stream_normals_f64(struct nvdp__stream *stream, size_t n, double *out) {
    double chunk[2 * CHUNK_PAIRS];
    for (size_t done = 0; done < n;) {
        size_t count = some_normals(stream, n - done, chunk);
        memcpy(out + done, chunk, count * sizeof *out);
        done += count;
    }
}

/* Lemire (2019), "Fast random integer generation in an interval": the high half of a 64 x 64 bit
 * product is uniform once the products whose low half is below 2^64 mod n are thrown back. */
uint64_t nvdp__stream_below(struct nvdp__stream *stream, uint64_t n) {
    unsigned __int128 product = (unsigned __int128)nvdp__stream_u64(stream) * n;
    if ((uint64_t)product < n) {
        uint64_t threshold = -n % n;
        while ((uint64_t)product < threshold) {
            product = (unsigned __int128)nvdp__stream_u64(stream) * n;
        }
    }
    return (uint64_t)(product >> 64);
}

void nvdp__stream_shuffle(struct nvdp__stream *stream, size_t n, int64_t *items) {
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)nvdp__stream_below(stream, i);
        int64_t swapped = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swapped;
    }
}
