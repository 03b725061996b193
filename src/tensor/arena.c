#include "tensor/device.h"

#include <assert.h>
#include <stdlib.h>

enum { LINE = 16 }; /* floats in 64 bytes */

float *nvdp__arena_take(struct nvdp__arena *arena, size_t n) {
    size_t start = arena->used;
    arena->used += (n + LINE - 1) / LINE * LINE;
    if (arena->base == NULL) return NULL;
    assert(arena->used <= arena->capacity);
    return arena->base + start;
}

nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena) {
    float *base = nvdp__calloc(ctx, arena->used, sizeof *base);
    if (base == NULL) return NVDP_ERR_MEMORY;
    arena->base = base;
    arena->capacity = arena->used;
    arena->used = 0;
    return NVDP_OK;
}

void nvdp__arena_release(struct nvdp__arena *arena) {
    free(arena->base);
    *arena = (struct nvdp__arena){0};
}
