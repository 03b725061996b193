/* Any bytes as a grid.json: what is read names runs of its own, each with options in their ranges.
 */
#include "experiments/sweep/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct nvdp_context *ctx, const struct nvdp__grid *grid) {
    if (grid->count == 0) abort();
    for (size_t i = 0; i < grid->count; i++) {
        struct nvdp__train_options config = grid->run[i].config;
        config.out = "runs";
        if (nvdp__schema_check(ctx, &nvdp__train_schema, &config) != NVDP_OK) abort();
        if (i > 0 && grid->run[i].round < grid->run[i - 1].round) abort();
        if (strchr(grid->run[i].name, '/') != NULL) abort();
        for (size_t k = 0; k < i && i < 50; k++) {
            if (strcmp(grid->run[k].name, grid->run[i].name) == 0) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct nvdp_context *ctx = NULL;
    struct nvdp__grid grid;
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || nvdp_context_create(&ctx) != NVDP_OK) abort();
    if (write(fd, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    nvdp_status status = nvdp__grid_read(ctx, path, &grid);
    if (status == NVDP_OK) {
        check(ctx, &grid);
        nvdp__grid_release(&grid);
    } else if (status != NVDP_ERR_INPUT || nvdp_context_error(ctx)[0] == '\0') {
        abort();
    }
    nvdp_context_free(ctx);
    close(fd);
    return 0;
}
