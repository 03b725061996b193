/* Any bytes as a safetensors file: opened or refused; what is opened is read to its last element.
 */
#include <nvdp/safetensors.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    char path[64];
    struct nvdp_context *ctx = NULL;
    struct nvdp_safetensors *file = NULL;
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || nvdp_context_create(&ctx) != NVDP_OK) abort();
    if (write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    nvdp_status status = nvdp_safetensors_open(ctx, path, &file);
    if (status == NVDP_OK) {
        read_all(file, size);
    } else if (status != NVDP_ERR_INPUT || nvdp_context_error(ctx)[0] == '\0') {
        abort();
    }
    nvdp_safetensors_close(file);
    nvdp_context_free(ctx);
    close(fd);
    return 0;
}
