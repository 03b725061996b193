/* Opens any bytes as a safetensors file: an opened file is read to its last element. */
#include "fuzz.h"
#include <nvdp/safetensors.h>

static void read_all(const struct nvdp_safetensors *file, size_t size) {
    for (size_t i = 0; i < nvdp_safetensors_count(file); i++) {
        const struct nvdp_tensor_info *info = nvdp_safetensors_at(file, i);
        if (nvdp_safetensors_find(file, info->name) != info || info->count > size) abort();
        void *values = malloc(info->count * 8 + 1);
        nvdp_safetensors_read_f32(info, values);
        nvdp_safetensors_read_f64(info, values);
        nvdp_safetensors_read_i64(info, values);
        free(values);
    }
    (void)nvdp_safetensors_metadata(file, "format");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_safetensors *opened = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    nvdp_status status = nvdp_safetensors_open(file.ctx, file.path, &opened);
    if (status == NVDP_OK) {
        read_all(opened, size);
    } else {
        fuzz_refused(file.ctx, status);
    }
    nvdp_safetensors_close(opened);
    fuzz_close(&file);
    return 0;
}
