/* Reads any bytes as a NumPy array: an array that is read has the stated shape and only finite
 * numbers. */
#include "attack/audit.h"
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t shape[2] = {0};
    double *value = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    nvdp_status status = nvdp__npy_read(file.ctx, file.path, shape, &value);
    if (status == NVDP_OK) {
        if (shape[0] == 0 || shape[1] == 0 || shape[0] > size / 4 / shape[1]) abort();
        for (size_t i = 0; i < shape[0] * shape[1]; i++)
            if (!isfinite(value[i])) abort();
    } else {
        fuzz_refused(file.ctx, status);
    }
    free(value);
    fuzz_close(&file);
    return 0;
}
