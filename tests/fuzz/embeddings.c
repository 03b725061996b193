/* Reads and verifies any bytes as a file of embeddings. */
#include "fuzz.h"
#include "share/release.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *embeddings = NULL;
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    (void)nvdp_shared_read(in.ctx, in.path, &embeddings);
    (void)nvdp_verify(in.ctx, in.path, NULL, &found);
    return NVDP_OK;
}
