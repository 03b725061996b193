/* Opens any bytes as a safetensors file: an opened file is read to its last element. */
#include "encoder/safetensors.h"
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    NVDP_TRY(nvdp__safetensors_open(in.ctx, in.path, &file));
    for (size_t i = 0; i < nvdp__safetensors_count(file); i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(file, i);
        if (nvdp__safetensors_find(file, info->name) != info || info->count > in.size) abort();
        nvdp__autofree void *values = malloc(info->count * 8 + 1);
        nvdp__safetensors_read_f32(info, values);
    }
    (void)nvdp__safetensors_metadata(file, "format");
    return NVDP_OK;
}
