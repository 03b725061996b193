/* Reads any bytes as a NumPy array: an array that is read has the stated shape and only finite
 * numbers. */
#include "attack/audit.h"
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    size_t shape[2] = {0};
    nvdp__autofree double *value = NULL;
    NVDP_TRY(nvdp__npy_read(in.ctx, in.path, shape, &value));
    if (shape[0] == 0 || shape[1] == 0 || shape[0] > in.size / 4 / shape[1]) abort();
    for (size_t i = 0; i < shape[0] * shape[1]; i++)
        if (!isfinite(value[i])) abort();
    return NVDP_OK;
}
