/* Reads any bytes as a posteriors file. */
#include "fuzz.h"
#include <nvdp/posteriors.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_posteriors *set = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    (void)nvdp_posteriors_read(file.ctx, file.path, &set);
    nvdp_posteriors_free(set);
    fuzz_close(&file);
    return 0;
}
