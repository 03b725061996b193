/* Scratch memory that one call reuses from batch to batch. */
#include "dchi/dchi.h"
#include "tensor/ops.h"

#include <stdlib.h>

void *nvdp__dchi_scratch(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                         enum nvdp__scratch_block block, size_t count, size_t size) {
    size_t bytes;
    const bool fits = nvdp__mul(count, size, &bytes) && bytes <= scratch->block[block].bytes;
    if (fits && scratch->block[block].at != NULL) return scratch->block[block].at;
    free(scratch->block[block].at);
    scratch->block[block].at = nvdp__calloc(ctx, count, size);
    scratch->block[block].bytes = scratch->block[block].at != NULL ? bytes : 0;
    return scratch->block[block].at;
}

void nvdp__dchi_scratch_release(struct nvdp__dchi_scratch *scratch) {
    for (int i = 0; i < NVDP__SCRATCH_BLOCKS; i++)
        free(scratch->block[i].at);
    nvdp__bf16_free(scratch->integers);
    nvdp__coarse_release(&scratch->coarse);
    *scratch = (struct nvdp__dchi_scratch){0};
}
