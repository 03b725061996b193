#include "base/philox.h"

#include "base/random.h"

/* Philox4x32-10: Salmon, Moraes, Dror & Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3",
 * section 3.3 and table 2.  One round, on counter c and key k:
 *
 *     (hi0, lo0) = M0 c0,  (hi1, lo1) = M1 c2   (32 x 32 -> 64 bits)
 *     c' = (hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0)
 *
 * and the key grows by the Weyl constants (W0, W1) between rounds. */
#define M0 UINT64_C(0xD2511F53)
#define M1 UINT64_C(0xCD9E8D57)
#define W0 UINT32_C(0x9E3779B9)
#define W1 UINT32_C(0xBB67AE85)

enum { ROUNDS = 10, LANES = 16 };

#define INLINE static inline __attribute__((always_inline))

/* LANES blocks side by side, so that the compiler makes vectors of them. */
INLINE void lanes(const uint32_t counter[4], const uint32_t key[2], size_t first,
                  uint32_t *restrict words) {
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    for (int i = 0; i < LANES; i++) {
        c0[i] = counter[0] + (uint32_t)first + (uint32_t)i;
        c1[i] = counter[1];
        c2[i] = counter[2];
        c3[i] = counter[3];
    }
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp simd
        for (int i = 0; i < LANES; i++) {
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
    for (int i = 0; i < LANES; i++) {
        words[4 * i] = c0[i];
        words[4 * i + 1] = c1[i];
        words[4 * i + 2] = c2[i];
        words[4 * i + 3] = c3[i];
    }
}

INLINE void run(const uint32_t counter[4], const uint32_t key[2], size_t count, uint32_t *words) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes(counter, key, i, words + 4 * i);
    }
    for (; i < count; i++) {
        const uint32_t at[4] = {counter[0] + (uint32_t)i, counter[1], counter[2], counter[3]};
        nvdp__philox(at, key, words + 4 * i);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
run_avx2(const uint32_t counter[4], const uint32_t key[2], size_t count, uint32_t *words) {
    run(counter, key, count, words);
}
#endif

void nvdp__philox_run(const uint32_t counter[4], const uint32_t key[2], size_t count,
                      uint32_t *words) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        run_avx2(counter, key, count, words);
        return;
    }
#endif
    run(counter, key, count, words);
}

void nvdp__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = M0 * c0;
        uint64_t p1 = M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += W0;
        k1 += W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
