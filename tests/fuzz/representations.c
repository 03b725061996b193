/* Opens any bytes as a file of token representations: an opened file has consistent rows and is
 * read to its end. */
#include "fuzz.h"
#include <math.h>
#include <nvdp/sanitize.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_file file = fuzz_open(data, size);
    struct nvdp_representations *read = NULL;
    nvdp_status status = nvdp_representations_open(file.ctx, file.path, &read);
    if (status != NVDP_OK) {
        if (read != NULL) abort();
        fuzz_refused(file.ctx, status);
    } else {
        struct nvdp_representations_info info = NVDP_RESULT(struct nvdp_representations_info);
        if (nvdp_representations_describe(read, &info) != NVDP_OK) abort();
        if (info.offset[info.rows * info.columns] != (int64_t)info.tokens) abort();
        const size_t tokens = info.tokens < 16 ? info.tokens : 16;
        float *z = info.dim < 1 << 16 ? malloc(tokens * info.dim * sizeof *z) : NULL;
        if (z != NULL) {
            status = nvdp_representations_read(read, info.tokens - tokens, tokens, z);
            if (status != NVDP_OK) fuzz_refused(file.ctx, status);
        }
        free(z);
    }
    nvdp_representations_close(read);
    fuzz_close(&file);
    return 0;
}
