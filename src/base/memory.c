#include "base/base.h"
#include "base/context_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGNMENT = 64, /* a cache line, and the widest vector */
    LARGE = 4 << 20 /* bytes from which whole pages are given back rather than overwritten */
};

bool nvdp__mul(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* Whether the present allocation is the one a test wants to fail. */
static bool fails_on_purpose(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->fail_allocation > 0 && --ctx->fail_allocation == 0;
}

/* Memory of its own pages, zeroed.  The operating system replaces pages that are given back by
 * zeros when they are first touched: what a plan has room for and a run never uses costs nothing.
 */
static void *large_memory(size_t bytes) {
    long page = sysconf(_SC_PAGESIZE);
    if (page < ALIGNMENT) return NULL;
    size_t pages = bytes / (size_t)page * (size_t)page;
    char *memory = aligned_alloc((size_t)page, pages + (pages < bytes ? (size_t)page : 0));
    if (memory == NULL) return NULL;
    if (madvise(memory, pages, MADV_DONTNEED) != 0) pages = 0; /* locked memory, for one */
#ifdef MADV_HUGEPAGE
    madvise(memory, pages, MADV_HUGEPAGE); /* fewer faults; where it is refused nothing is lost */
#endif
    memset(memory + pages, 0, bytes - pages);
    return memory;
}

static void *small_memory(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, bytes);
    return memory == NULL ? NULL : memset(memory, 0, bytes);
}

void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu items of %zu bytes overflow", count,
                   size);
        return NULL;
    }
    size_t room = bytes > 0 ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = NULL;
    if (!fails_on_purpose(ctx)) memory = room >= LARGE ? large_memory(room) : small_memory(room);
    if (memory == NULL) nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu bytes", bytes);
    return memory;
}

nvdp_status nvdp__reserve(struct nvdp_context *ctx, void *array, size_t *capacity, size_t need,
                          size_t size) {
    if (need <= *capacity) return NVDP_OK;
    size_t grown = *capacity < SIZE_MAX / 2 ? *capacity * 2 : need;
    if (grown < need) grown = need;
    void *old;
    memcpy(&old, array, sizeof old); /* array points at a pointer of any type */
    void *fresh = nvdp__calloc(ctx, grown, size);
    if (fresh == NULL) return NVDP_ERR_MEMORY;
    if (old != NULL) memcpy(fresh, old, *capacity * size);
    free(old);
    memcpy(array, &fresh, sizeof fresh);
    *capacity = grown;
    return NVDP_OK;
}

char *nvdp__strdup(struct nvdp_context *ctx, const char *text) {
    size_t room = strlen(text) + 1;
    char *copy = nvdp__calloc(ctx, room, 1);
    if (copy != NULL) memcpy(copy, text, room);
    return copy;
}

char *nvdp__format(struct nvdp_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: a text could not be formatted");
        return NULL;
    }
    char *text = nvdp__calloc(ctx, (size_t)length + 1, 1);
    if (text == NULL) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
