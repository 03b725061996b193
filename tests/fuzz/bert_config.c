/* Any bytes as a config.json: what is read passes the checks of a configuration. */
#include "bert/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct nvdp_context *ctx = NULL;
    struct nvdp_bert_config config;
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || nvdp_context_create(&ctx) != NVDP_OK) abort();
    if (write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    nvdp_status status = nvdp__bert_config_read_file(ctx, path, &config);
    if (status == NVDP_OK) {
        if (nvdp_bert_config_check(ctx, &config) != NVDP_OK) abort();
    } else if (status != NVDP_ERR_INPUT || nvdp_context_error(ctx)[0] == '\0') {
        abort();
    }
    nvdp_context_free(ctx);
    close(fd);
    return 0;
}
