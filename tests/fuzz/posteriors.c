/* Any bytes as a posteriors file. */
#include <nvdp/posteriors.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_context *ctx = NULL;
    struct nvdp_posteriors *set = NULL;
    char path[64];
    int fd = memfd_create("posteriors", 0);
    if (fd < 0 || nvdp_context_create(&ctx) != NVDP_OK) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        (void)nvdp_posteriors_read(ctx, path, &set);
    }
    nvdp_posteriors_free(set);
    nvdp_context_free(ctx);
    close(fd);
    return 0;
}
