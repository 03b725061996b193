/* Reads and verifies any bytes as a file of embeddings. */
#include "fuzz.h"
#include "share/release.h"
#include <nvdp/share.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_shared *embeddings = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    (void)nvdp_shared_read(file.ctx, file.path, &embeddings);
    nvdp_shared_free(embeddings);
    struct nvdp_verification found = NVDP_RESULT(struct nvdp_verification);
    (void)nvdp_verify(file.ctx, file.path, NULL, &found);
    fuzz_close(&file);
    return 0;
}
