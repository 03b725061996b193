/* Any bytes as a file of embeddings. */
#include "share/embeddings_file.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct nvdp_context *ctx = NULL;
    struct nvdp__embeddings *embeddings = NULL;
    char path[64];
    int fd = memfd_create("embeddings", 0);
    if (fd < 0 || nvdp_context_create(&ctx) != NVDP_OK) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        (void)nvdp__embeddings_read(ctx, path, &embeddings);
    }
    nvdp__embeddings_free(embeddings);
    nvdp_context_free(ctx);
    close(fd);
    return 0;
}
