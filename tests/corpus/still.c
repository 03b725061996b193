/* Makes a process repeatable, for the corpus (corpus.py): preloaded, it replaces the clocks and the random generator of
 * the operating system, and can let one allocation fail.
 *
 *   NVDP_STILL_FAIL=K  the K-th call of aligned_alloc() fails, K = 1, 2, ...  Our library allocates with it alone.
 *   NVDP_STILL_COUNT=FILE  writes the number of calls of aligned_alloc() to FILE when the process ends. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>

enum { START = 1767225600 }; /* 2026-01-01, 00:00 UTC */

/* --- clocks: every reading is a millisecond later than the one before --- */

int clock_gettime(clockid_t clock, struct timespec *out) {
    static atomic_long readings;
    const long ms = atomic_fetch_add(&readings, 1);
    (void)clock;
    *out = (struct timespec){.tv_sec = START + ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return 0;
}

time_t time(time_t *out) {
    if (out != NULL) *out = START;
    return START;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    *out = (struct timeval){.tv_sec = START};
    return 0;
}

/* --- random bytes: SplitMix64 from a fixed state (Steele, Lea & Flood 2014) --- */

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
    static atomic_uint_fast64_t state;
    unsigned char *to = buffer;
    (void)flags;
    for (size_t i = 0; i < size; i++) {
        uint64_t z = atomic_fetch_add(&state, UINT64_C(0x9e3779b97f4a7c15));
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        to[i] = (unsigned char)(z >> 56);
    }
    return (ssize_t)size;
}

int getentropy(void *buffer, size_t size) {
    return getrandom(buffer, size, 0) < 0;
}

/* --- allocations --- */

static atomic_long allocations;

void *aligned_alloc(size_t alignment, size_t size) {
    static void *(*next)(size_t, size_t);
    const char *fail = getenv("NVDP_STILL_FAIL");
    if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "aligned_alloc");
    if (atomic_fetch_add(&allocations, 1) + 1 == (fail != NULL ? atol(fail) : 0)) {
        errno = ENOMEM;
        return NULL;
    }
    return next(alignment, size);
}

__attribute__((destructor)) static void write_count(void) {
    const char *path = getenv("NVDP_STILL_COUNT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%ld\n", atomic_load(&allocations));
    fclose(file);
}
