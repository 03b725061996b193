/* Random streams: Philox for seeds, XChaCha20 for releases; then uniforms, normals and integers
 * from both. */
#include "base/random.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/* Compiles one version per instruction set; the loader chooses one. */
#if defined NVDP_SANITIZED || !defined __x86_64__ || (defined __clang__ && __clang_major__ < 14)
#define CLONES
#else
#define CLONES __attribute__((target_clones("avx2", "default")))
#endif
/* No fused multiply-add, so that all processors give the same bits. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#define NO_CONTRACTION
#else
#define NO_CONTRACTION __attribute__((optimize("fp-contract=off")))
#endif

enum {
    ROUNDS = 10, /* rounds of Philox */
    /* number of blocks, or of pairs of normals, that are computed together */
    LANES = 16,
    BLOCK_WORDS = 16,                           /* words per buffer; one block of ChaCha20 */
    PHILOX_WORDS = 4,                           /* words per Philox block */
    PHILOX_BLOCKS = BLOCK_WORDS / PHILOX_WORDS, /* Philox blocks per buffer */
    CHUNK_PAIRS = 256                           /* pairs of normals per call */
};

/* --- Philox --- */

/* Philox4x32-10: Salmon, Moraes, Dror & Shaw (2011), "Parallel random numbers: as easy as 1, 2,
 * 3", section 3.3 and table 2. One round, on counter c and key k:
 *
 *     (hi0, lo0) = M0 c0,  (hi1, lo1) = M1 c2       (32 x 32 -> 64 bits)
 *     c' = (hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0)
 *
 * Between rounds, the Weyl constants (W0, W1) are added to the key. */
#define M0 UINT64_C(0xD2511F53)
#define M1 UINT64_C(0xCD9E8D57)
#define W0 UINT32_C(0x9E3779B9)
#define W1 UINT32_C(0xBB67AE85)

/* Computes `count` <= LANES blocks together, in a form that compilers vectorize. */
INLINE void philox_lanes(int count, const uint32_t counter[4], const uint32_t key[2], size_t first,
                         uint32_t *restrict words) {
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    for (int i = 0; i < count; i++) {
        c0[i] = counter[0] + (uint32_t)first + (uint32_t)i;
        c1[i] = counter[1];
        c2[i] = counter[2];
        c3[i] = counter[3];
    }
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp simd
        for (int i = 0; i < count; i++) {
            uint64_t p0 = M0 * c0[i];
            uint64_t p1 = M1 * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)p1;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)p0;
        }
        k0 += W0;
        k1 += W1;
    }
#pragma omp simd
    for (int i = 0; i < count; i++) {
        words[4 * i] = c0[i];
        words[4 * i + 1] = c1[i];
        words[4 * i + 2] = c2[i];
        words[4 * i + 3] = c3[i];
    }
}

CLONES static void philox_run(const uint32_t counter[4], const uint32_t key[2], size_t count,
                              uint32_t *words) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        philox_lanes(LANES, counter, key, i, words + 4 * i);
    }
    for (; i + 4 <= count; i += 4) { /* four blocks are the size of a stream's buffer */
        philox_lanes(4, counter, key, i, words + 4 * i);
    }
    for (; i < count; i++) {
        philox_lanes(1, counter, key, i, words + 4 * i);
    }
}

/* --- standard normals --- */

/* Box & Muller (1958):
 *
 *     z0 = sqrt(-2 log u) cos(2 pi v)
 *     z1 = sqrt(-2 log u) sin(2 pi v),    u, v in (0, 1)
 *
 * u and v are odd multiples of 2^-53, so the logarithm is finite and |z| <= 8.57. The code has
 * no branches, so that compilers vectorize it, and no fused multiply-add. */
INLINE double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint64_t to_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns (2j + 1) / 2^53, where j is the high 52 bits of the word. j is used as the mantissa of
 * a number in [1, 2). */
INLINE double open_uniform(uint32_t low, uint32_t high) {
    uint64_t word = (uint64_t)high << 32 | low;
    return from_bits(word >> 12 | UINT64_C(0x3FF0000000000000)) - (1 - 0x1p-53);
}

/* log x for normal x > 0. x = 2^e m with m in (sqrt(1/2), sqrt(2)], and with s = (m-1)/(m+1) log
 * m = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.1716. The omitted terms are below 1e-17 of the
 * result. */
INLINE double log_positive(double x) {
    uint64_t bits = to_bits(x);
    double m = from_bits((bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000));
    /* The exponent as a double: 2^52 + e has e in the low bits. */
    double e = from_bits(bits >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double half = m > 1.4142135623730951 ? 0.5 : 1.0;
    double carry = m > 1.4142135623730951 ? 1.0 : 0.0;
    m *= half;
    e += carry;
    double s = (m - 1) / (m + 1);
    double q = s * s;
    double sum = 1.0 / 21;
    sum = sum * q + 1.0 / 19;
    sum = sum * q + 1.0 / 17;
    sum = sum * q + 1.0 / 15;
    sum = sum * q + 1.0 / 13;
    sum = sum * q + 1.0 / 11;
    sum = sum * q + 1.0 / 9;
    sum = sum * q + 1.0 / 7;
    sum = sum * q + 1.0 / 5;
    sum = sum * q + 1.0 / 3;
    double log_m = 2 * (s + s * q * sum);
    return e * 0.6931471805599453 + log_m;
}

/* cos(2 pi v) and sin(2 pi v) for v in (0,1). 4v = k + r with integer k and |r| <= 1/2 (exact).
 * Taylor's series in t = r pi/2, |t| <= pi/4, omits less than 1e-17; k rotates by quarter turns. */
INLINE void cosine_and_sine(double v, double *cosine, double *sine) {
    double shifted = 4 * v + 0x1.8p52; /* rounds to an integer in the low bits */
    uint64_t k = to_bits(shifted);
    double t = (4 * v - (shifted - 0x1.8p52)) * 1.5707963267948966;
    double q = t * t;
    double s = -1.0 / 1307674368000;
    s = s * q + 1.0 / 6227020800;
    s = s * q - 1.0 / 39916800;
    s = s * q + 1.0 / 362880;
    s = s * q - 1.0 / 5040;
    s = s * q + 1.0 / 120;
    s = s * q - 1.0 / 6;
    s = t + t * q * s;
    double c = 1.0 / 20922789888000;
    c = c * q - 1.0 / 87178291200;
    c = c * q + 1.0 / 479001600;
    c = c * q - 1.0 / 3628800;
    c = c * q + 1.0 / 40320;
    c = c * q - 1.0 / 720;
    c = c * q + 1.0 / 24;
    c = c * q - 1.0 / 2;
    c = 1 + c * q;
    uint64_t odd = -(k & 1); /* all ones if sine and cosine are swapped */
    uint64_t s_bits = to_bits(s);
    uint64_t c_bits = to_bits(c);
    uint64_t swap = (s_bits ^ c_bits) & odd;
    *sine = from_bits((s_bits ^ swap) ^ (k & 2) << 62);
    *cosine = from_bits((c_bits ^ swap) ^ ((k + 1) & 2) << 62);
}

INLINE void box_muller_lanes(int count, const uint32_t *restrict words, double *restrict out) {
#pragma omp simd
    for (int i = 0; i < count; i++) {
        /* nvdp__stream_words() wrote all words: NOLINTBEGIN(clang-analyzer-core.CallAndMessage) */
        double u = open_uniform(words[4 * i], words[4 * i + 1]);
        double v = open_uniform(words[4 * i + 2], words[4 * i + 3]);
        /* NOLINTEND(clang-analyzer-core.CallAndMessage) */
        double radius = sqrt(-2 * log_positive(u));
        double cosine, sine;
        cosine_and_sine(v, &cosine, &sine);
        out[2 * i] = radius * cosine;
        out[2 * i + 1] = radius * sine;
    }
}

CLONES NO_CONTRACTION static void box_muller(size_t pairs, const uint32_t *words, double *out) {
    size_t i = 0;
    for (; i + LANES <= pairs; i += LANES) {
        box_muller_lanes(LANES, words + 4 * i, out + 2 * i);
    }
    if (i < pairs) box_muller_lanes((int)(pairs - i), words + 4 * i, out + 2 * i);
}

/* Wrappers, because the versions per instruction set would be exported if other files could see
 * the functions. */
void nvdp__philox_run(const uint32_t counter[4], const uint32_t key[2], size_t count,
                      uint32_t *words) {
    philox_run(counter, key, count, words);
}

void nvdp__box_muller(size_t pairs, const uint32_t *words, double *out) {
    box_muller(pairs, words, out);
}

/* --- streams --- */

_Static_assert(NVDP__RELEASE_KEY_BYTES == crypto_stream_xchacha20_KEYBYTES, "an encryption key");

nvdp_status nvdp__release_key_create(struct nvdp_context *ctx, struct nvdp__release_key *key) {
    if (sodium_init() < 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "release key: libsodium failed to initialize");
    key->bytes = sodium_malloc(NVDP__RELEASE_KEY_BYTES);
    if (key->bytes == NULL)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "release key: cannot allocate protected memory");
    randombytes_buf(key->bytes, NVDP__RELEASE_KEY_BYTES);
    (void)sodium_mprotect_readonly(key->bytes);
    return NVDP_OK;
}

void nvdp__release_key_wipe(struct nvdp__release_key *key) {
    sodium_free(key->bytes);
    key->bytes = NULL;
}

void nvdp__warn_insecure_seed(struct nvdp_context *ctx) {
    nvdp__log(
        ctx, NVDP_LOG_WARNING,
        "{insecure-seed}: the noise comes from a seed, so everyone who knows the seed can "
        "remove it; use this for tests and experiments only, never for data that you give away");
}

void nvdp__warn_seeded_draws(struct nvdp_context *ctx, const char *folder) {
    nvdp__log(ctx, NVDP_LOG_WARNING,
              "%s: the noise was drawn from a seed, and everyone who knows the seed can undo the "
              "draws; the report holds for draws of the operating system's generator, as in nvdp "
              "sanitize",
              folder);
}

/* The finalizer of SplitMix64 (Steele, Lea & Flood 2014, figure 15): a bijection of 64 bits in
 * which every input bit affects every output bit. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static const uint64_t GOLDEN = UINT64_C(0x9E3779B97F4A7C15); /* odd, 2^64 / golden ratio */

struct nvdp__stream nvdp__stream_open(const struct nvdp__noise *noise, enum nvdp__purpose purpose,
                                      uint32_t epoch, uint64_t text) {
    /* For a fixed seed, the key is an injective function of the purpose; for a fixed purpose, an
     * injective function of the seed. */
    uint64_t key = mix(mix(noise->seed + GOLDEN) + (uint64_t)purpose * GOLDEN);
    return (struct nvdp__stream){
        .key = noise->release != NULL ? (uint64_t)purpose : key,
        .counter = {0, epoch, (uint32_t)text, (uint32_t)(text >> 32)},
        .release = noise->release,
    };
}

void nvdp__stream_seek(struct nvdp__stream *stream, uint32_t block) {
    stream->block = block;
    stream->used = 0;
    stream->have = 0;
}

/* Philox counts 2^32 Philox blocks, which are a quarter as many blocks of 16 words. Beyond, the
 * carry selects another key, so that a stream does not repeat itself. */
static void philox_blocks(struct nvdp__stream *stream, size_t blocks, uint32_t *words) {
    while (blocks > 0) {
        uint64_t first = stream->block * PHILOX_BLOCKS;
        uint64_t carry = first >> 32;
        uint64_t key = carry == 0 ? stream->key : mix(stream->key + carry * GOLDEN);
        const uint32_t halves[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
        uint64_t left = ((UINT64_C(1) << 32) - (uint32_t)first) / PHILOX_BLOCKS;
        size_t now = blocks < left ? blocks : (size_t)left;
        stream->counter[0] = (uint32_t)first;
        philox_run(stream->counter, halves, now * PHILOX_BLOCKS, words);
        stream->block += now;
        words += now * BLOCK_WORDS;
        blocks -= now;
    }
}

/* XChaCha20 under the release key. The nonce is (purpose, epoch, text), so no two streams of a
 * release share a keystream; the block counter has 64 bits. */
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

/* Returns the next n words: the rest of the buffer, whole blocks, and the beginning of one more
 * block. */
void nvdp__stream_words(struct nvdp__stream *stream, size_t n, void *to) {
    uint32_t *words = to;
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

/* Returns (2j + 1) / 2^53 for j of 52 bits, which is exact, symmetric about 1/2, and never 0 or
 * 1. */
double nvdp__stream_uniform(struct nvdp__stream *stream) {
    return (double)(nvdp__stream_u64(stream) >> 11 | 1) * 0x1p-53;
}

double nvdp__stream_normal(struct nvdp__stream *stream) {
    uint32_t words[4];
    double pair[2];
    nvdp__stream_words(stream, 4, words);
    box_muller(1, words, pair);
    return pair[0];
}

/* Writes at most CHUNK_PAIRS pairs of normals to out; returns the number of normals. */
static size_t some_normals(struct nvdp__stream *stream, size_t left, double *out) {
    uint32_t words[4 * CHUNK_PAIRS];
    size_t pairs = left / 2 + left % 2;
    if (pairs > CHUNK_PAIRS) pairs = CHUNK_PAIRS;
    nvdp__stream_words(stream, 4 * pairs, words);
    box_muller(pairs, words, out);
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

/* Uses Lemire (2019), "Fast random integer generation in an interval": the high half of a 64 x
 * 64 bit product is uniform if products whose low half is below 2^64 mod n are rejected. */
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

void nvdp__stream_permutation(struct nvdp__stream *stream, size_t n, int64_t *items) {
    for (size_t i = 0; i < n; i++)
        items[i] = (int64_t)i;
    nvdp__stream_shuffle(stream, n, items);
}
