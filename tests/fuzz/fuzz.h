/* What the fuzz entries share: libFuzzer's prototype, bytes as a file, how an input may be refused.
 */
#ifndef NVDP_TESTS_FUZZ_H
#define NVDP_TESTS_FUZZ_H

#include <nvdp/context.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a file in memory, and a context to read it with. */
struct fuzz_file {
    struct nvdp_context *ctx;
    int fd;
    char path[64];
};

static inline struct fuzz_file fuzz_open(const uint8_t *data, size_t size) {
    struct fuzz_file file = {.fd = memfd_create("input", MFD_CLOEXEC)};
    if (file.fd < 0 || nvdp_context_create(&file.ctx) != NVDP_OK) abort();
    if (write(file.fd, data, size) != (ssize_t)size) abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

static inline void fuzz_close(struct fuzz_file *file) {
    nvdp_context_free(file->ctx);
    close(file->fd);
}

/* Whatever is not read is the input's fault, and a message says which. */
static inline void fuzz_refused(const struct nvdp_context *ctx, nvdp_status status) {
    if (status != NVDP_ERR_INPUT || nvdp_context_error(ctx)[0] == '\0') abort();
}

#endif
