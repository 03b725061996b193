#include "base/base.h"
#include "base/context_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* a cache line, and the widest vector */

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

void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu items of %zu bytes overflow", count,
                   size);
        return NULL;
    }
    size_t room = bytes > 0 ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = fails_on_purpose(ctx) ? NULL : aligned_alloc(ALIGNMENT, room);
    if (memory == NULL) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    return memset(memory, 0, room);
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
