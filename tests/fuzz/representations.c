/* Opens any bytes as a file of token representations: an opened file has consistent rows and is
 * read to its end. */
#include "text/representations.h"
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp__representations_close) struct nvdp__representations *read = NULL;
    struct nvdp__representations_info info;
    nvdp_status status = nvdp__representations_open(in.ctx, in.path, &read, &info);
    if (status != NVDP_OK) {
        if (read != NULL) abort();
        return status;
    }
    if (info.offset[info.rows * info.columns] != (int64_t)info.tokens) abort();
    const size_t tokens = info.tokens < 16 ? info.tokens : 16;
    nvdp__autofree float *z = info.dim < 1 << 16 ? malloc(tokens * info.dim * sizeof *z) : NULL;
    return z == NULL ? NVDP_OK : nvdp__representations_read(read, info.tokens - tokens, tokens, z);
}
