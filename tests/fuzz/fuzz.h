/* Shared by the fuzz entries: their prototype, bytes as a file, permitted refusals. */
#ifndef NVDP_TESTS_FUZZ_FUZZ_H
#define NVDP_TESTS_FUZZ_FUZZ_H

#include "base/base.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/context.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input, as a file too. */
struct fuzz_input {
    struct nvdp_context *ctx;
    const char *path;
    const uint8_t *data;
    size_t size;
};
/* An entry is one file with this function, which aborts if a property is violated. It returns the status of reading the
 * input: a failure must blame the input. */
nvdp_status fuzz_use(struct fuzz_input in);

/* The input as a file in memory, and a context to read it. */
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

/* Writes the input as files of an existing folder. `names` ends with NULL; the files' contents
 * are separated by a NUL byte. */
static inline void fuzz_write(const char *folder, const char *const *names, const uint8_t *data,
                              size_t size) {
    char path[256];
    for (; *names != NULL; names++) {
        const uint8_t *end = memchr(data, 0, size);
        size_t count = end != NULL ? (size_t)(end - data) : size;
        snprintf(path, sizeof path, "%s/%s", folder, *names);
        FILE *file = fopen(path, "wbe");
        if (file == NULL || fwrite(data, 1, count, file) != count || fclose(file) != 0) abort();
        if (end == NULL) return;
        data += count + 1;
        size -= count + 1;
    }
}

/* Removes those files of `names` that exist, and the folder. */
static inline void fuzz_remove(const char *folder, const char *const *names) {
    char path[256];
    for (; *names != NULL; names++) {
        snprintf(path, sizeof path, "%s/%s", folder, *names);
        (void)unlink(path);
    }
    if (rmdir(folder) != 0) abort();
}

/* Checks that a refusal blames the input and has a message. */
static inline void fuzz_refused(const struct nvdp_context *ctx, nvdp_status status) {
    if (status != NVDP_ERR_INPUT || nvdp_context_error(ctx)[0] == '\0') abort();
}

#endif
