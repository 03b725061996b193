/* Opens any bytes as a file of torch.save: all tensors of an opened file are read to their last element. */
#include "fuzz.h"

nvdp_status fuzz_use(struct fuzz_input in) {
    nvdp__autoptr(nvdp__torch_close) struct nvdp__torch_file *opened = NULL;
    size_t count;
    NVDP_TRY(nvdp__torch_open(in.ctx, in.path, &opened));
    const struct nvdp__weight *tensor = nvdp__torch_tensors(opened, &count);
    for (size_t i = 0; i < count; i++) {
        const size_t elements = tensor[i].info.count;
        float ends[2];
        if (i > 0 && strcmp(tensor[i - 1].info.name, tensor[i].info.name) >= 0) abort();
        if (elements == 0) continue;
        nvdp__weight_read_f32(&tensor[i], 0, 1, &ends[0]);
        nvdp__weight_read_f32(&tensor[i], elements - 1, 1, &ends[1]);
        for (size_t k = 0; k < elements && k < in.size; k++)
            nvdp__weight_read_f32(&tensor[i], k, 1, &ends[0]);
    }
    return NVDP_OK;
}
