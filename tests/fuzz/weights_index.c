/* Reads any bytes as an index of shards beside two shards with the tensors a, b and c, d. If the
 * index is accepted, the tensors of the shards that it names are found. */
#include "fuzz.h"

static const char *const names[] = {"model.safetensors.index.json", "1.safetensors",
                                    "2.safetensors", NULL};

static void write_shard(struct nvdp_context *ctx, const char *folder, const char *file,
                        const char *first, const char *second) {
    static const float value = 1;
    const struct nvdp__tensor_source source[] = {{first, NVDP__DTYPE_F32, 1, {1}, &value},
                                                 {second, NVDP__DTYPE_F32, 1, {1}, &value}};
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (nvdp__safetensors_write(ctx, path, 2, source, NULL) != NVDP_OK) abort();
}

nvdp_status fuzz_use(struct fuzz_input in) {
    char folder[] = "/tmp/nvdp-fuzz-weights-XXXXXX";
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    if (mkdtemp(folder) == NULL) abort();
    write_shard(in.ctx, folder, names[1], "a", "b");
    write_shard(in.ctx, folder, names[2], "c", "d");
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, names[0]);
    FILE *file = fopen(path, "wbe");
    if (file == NULL || fwrite(in.data, 1, in.size, file) != in.size || fclose(file) != 0) abort();
    nvdp_status status = nvdp__weights_open(in.ctx, folder, &weights);
    if (status == NVDP_OK && weights->count != 2 && weights->count != 4) abort();
    for (size_t i = 0; status == NVDP_OK && i < weights->count; i++) {
        const struct nvdp__weight *weight = &weights->tensor[i];
        if (nvdp__weights_find_tensor(weights, weight->info.name) != weight) abort();
    }
    fuzz_remove(folder, names);
    return status;
}
