/* Opens any bytes as a file of token representations: an opened file has consistent rows and is
 * read to its end. */
#include "text/representations.h"
#include "fuzz.h"
#include <math.h>
#include <nvdp/sanitize.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_file file = fuzz_open(data, size);
    struct nvdp__representations *read = NULL;
    struct nvdp__representations_info info;
    nvdp_status status = nvdp__representations_open(file.ctx, file.path, &read, &info);
    if (status != NVDP_OK) {
        if (read != NULL) abort();
        fuzz_refused(file.ctx, status);
    } else {
        if (info.offset[info.rows * info.columns] != (int64_t)info.tokens) abort();
        const size_t tokens = info.tokens < 16 ? info.tokens : 16;
        float *z = info.dim < 1 << 16 ? malloc(tokens * info.dim * sizeof *z) : NULL;
        if (z != NULL) {
            status = nvdp__representations_read(read, info.tokens - tokens, tokens, z);
            if (status != NVDP_OK) fuzz_refused(file.ctx, status);
        }
        free(z);
    }
    nvdp__representations_close(read);
    fuzz_close(&file);
    return 0;
}
