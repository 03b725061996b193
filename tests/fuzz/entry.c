/* The function that libFuzzer and the replay of a corpus call: gives every entry a context and its input as a file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_file file = fuzz_open(data, size);
    const nvdp_status status = fuzz_use((struct fuzz_input){file.ctx, file.path, data, size});
    if (status != NVDP_OK) fuzz_refused(file.ctx, status);
    fuzz_close(&file);
    return 0;
}
