/* Any bytes as a file of embeddings. */
#include "fuzz.h"
#include "share/embeddings_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp__embeddings *embeddings = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    (void)nvdp__embeddings_read(file.ctx, file.path, &embeddings);
    nvdp__embeddings_free(embeddings);
    fuzz_close(&file);
    return 0;
}
