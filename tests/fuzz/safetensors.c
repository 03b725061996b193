/* Opens any bytes as a safetensors file: an opened file is read to its last element. */
#include "encoder/safetensors.h"
#include "fuzz.h"

static void read_all(const struct nvdp__safetensors *file, size_t size) {
    for (size_t i = 0; i < nvdp__safetensors_count(file); i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(file, i);
        if (nvdp__safetensors_find(file, info->name) != info || info->count > size) abort();
        void *values = malloc(info->count * 8 + 1);
        nvdp__safetensors_read_f32(info, values);
        free(values);
    }
    (void)nvdp__safetensors_metadata(file, "format");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp__safetensors *opened = NULL;
    struct fuzz_file file = fuzz_open(data, size);
    nvdp_status status = nvdp__safetensors_open(file.ctx, file.path, &opened);
    if (status == NVDP_OK) {
        read_all(opened, size);
    } else {
        fuzz_refused(file.ctx, status);
    }
    nvdp__safetensors_close(opened);
    fuzz_close(&file);
    return 0;
}
