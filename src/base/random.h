/* Random streams.
 *
 * Training and measurement draw from counter-based streams (Philox4x32-10, Salmon, Moraes, Dror
 * & Shaw 2011) keyed by (seed, purpose, epoch, text). The draws of a text thus do not depend on
 * the batch, on threads, or on earlier draws. A release draws from libsodium's ChaCha20 under a
 * key from the operating system, through the same interface. */
#ifndef NVDP_SRC_BASE_RANDOM_H
#define NVDP_SRC_BASE_RANDOM_H

#include "base/base.h"

enum nvdp__purpose {
    NVDP__PURPOSE_INIT = 1,    /* initial parameters */
    NVDP__PURPOSE_SHUFFLE = 2, /* order of an epoch */
    NVDP__PURPOSE_SPLIT = 3,   /* validation split */
    NVDP__PURPOSE_DROPOUT = 4,
    NVDP__PURPOSE_GAUSS = 5, /* normals of the bottleneck */
    NVDP__PURPOSE_GAMMA = 6, /* Gammas of the bottleneck */
    NVDP__PURPOSE_EVAL_GAUSS = 7,
    NVDP__PURPOSE_EVAL_GAMMA = 8,
    NVDP__PURPOSE_MEASURE = 9,
    NVDP__PURPOSE_READER = 10,
    NVDP__PURPOSE_DEMO = 11,
    NVDP__PURPOSE_EXACT = 12,   /* exact normals of a release */
    NVDP__PURPOSE_SUMMARY = 13, /* exact normals of a summary */
    NVDP__PURPOSE_WINDOW = 20,  /* pretraining: where an epoch splits its documents */
    NVDP__PURPOSE_PAIR = 21,    /* next-sentence pairs */
    NVDP__PURPOSE_MASK = 22,    /* masked positions */
    NVDP__PURPOSE_EVAL_MASK = 23,
    NVDP__PURPOSE_WORD = 24,      /* counts of words, for a private vocabulary */
    NVDP__PURPOSE_PLANT = 25,     /* planted secrets; the epoch encodes which number is drawn */
    NVDP__PURPOSE_CANDIDATE = 26, /* word pieces among which a secret is ranked */
    NVDP__PURPOSE_TOKEN = 30,     /* privatized tokens; the epoch is the position */
    /* private training: membership in a batch; the epoch is the step */
    NVDP__PURPOSE_DP_SAMPLE = 40,
    NVDP__PURPOSE_DP_NOISE = 41 /* private training: noise */
};

enum { NVDP__RELEASE_KEY_BYTES = 32 };
/* A 256-bit release key from the operating system. The key lies in separate memory between guard
 * pages, which is locked if the system allows, and wiped at the end. */
struct nvdp__release_key {
    unsigned char *bytes; /* NULL if there is no key */
};
nvdp_status nvdp__release_key_create(struct nvdp_context *ctx, struct nvdp__release_key *key);
/* Overwrites and frees the key; streams that point to it must not be used any more. */
void nvdp__release_key_wipe(struct nvdp__release_key *key);

/* Warns that the noise of a release comes from a seed. */
void nvdp__warn_insecure_seed(struct nvdp_context *ctx);

/* Warns that a report on these outputs holds only for draws that do not come from a seed. */
void nvdp__warn_seeded_draws(struct nvdp_context *ctx, const char *folder);

/* The source of streams: a seed (reproducible), or a release key (not reproducible). */
struct nvdp__noise {
    uint64_t seed;
    const struct nvdp__release_key *release; /* NULL if streams come from the seed */
};

struct nvdp__stream {
    uint64_t key;        /* mixed from seed and purpose; in a release, only the purpose */
    uint32_t counter[4]; /* [0] is set from `block`, [1] is the epoch, [2..3] is the text */
    uint64_t block;      /* the next block of 16 words; wide enough never to wrap around */
    const struct nvdp__release_key *release;
    uint32_t buffer[16];
    int used; /* number of words of the buffer that were used */
    int have; /* number of words in the buffer */
};

struct nvdp__stream nvdp__stream_open(const struct nvdp__noise *noise, enum nvdp__purpose purpose,
                                      uint32_t epoch, uint64_t text);
/* Computes a `text` key from several parts, starting from NVDP__FNV1A (FNV-1a, 64 bits). */
#define NVDP__FNV1A UINT64_C(0xcbf29ce484222325)
static inline uint64_t nvdp__fnv1a(uint64_t key, uint64_t part) {
    return (key ^ part) * UINT64_C(0x100000001b3);
}
/* Jumps to an absolute position, in blocks of 16 words, and drops the buffer. */
void nvdp__stream_seek(struct nvdp__stream *stream, uint32_t block);
uint32_t nvdp__stream_u32(struct nvdp__stream *stream);
uint64_t nvdp__stream_u64(struct nvdp__stream *stream);
/* Returns the next n words of 32 bits: the same words as n calls of nvdp__stream_u32(). */
void nvdp__stream_words(struct nvdp__stream *stream, size_t n, void *words);
/* Returns a uniform number in the open interval (0,1), with 53 bits. */
double nvdp__stream_uniform(struct nvdp__stream *stream);
/* Returns a standard normal in double (Box-Muller, cosine branch). */
double nvdp__stream_normal(struct nvdp__stream *stream);
/* Fills out[0..n) with standard normals computed in double (both Box-Muller branches). Two
 * normals take 4 words, so block b of a new stream holds normals 8b to 8b+7. Several calls for
 * even counts give the same numbers as one call. */
void nvdp__stream_normals(struct nvdp__stream *stream, size_t n, float *out);
void nvdp__stream_normals_f64(struct nvdp__stream *stream, size_t n, double *out);
/* Returns a uniform integer below n (n > 0), without modulo bias. */
uint64_t nvdp__stream_below(struct nvdp__stream *stream, uint64_t n);
/* Shuffles the items (Fisher-Yates). */
void nvdp__stream_shuffle(struct nvdp__stream *stream, size_t n, int64_t *items);
/* Writes a random order of 0..n-1. */
void nvdp__stream_permutation(struct nvdp__stream *stream, size_t n, int64_t *items);

/* Turns words into normals by Box-Muller: pair p = 0..n-1 takes words 4p..4p+3 and gives
 * out[2p], out[2p+1]. */
void nvdp__box_muller(size_t pairs, const uint32_t *words, double *out);

/* Computes blocks of Philox4x32-10: words[4i..4i+3] = Philox(counter with i added to [0], key)
 * for i < count. counter[0] + count must not exceed 2^32. */
void nvdp__philox_run(const uint32_t counter[4], const uint32_t key[2], size_t count,
                      uint32_t *words);

#endif
