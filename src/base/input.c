#include "base/input.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKED_ROOM = 1 << 16, MAGIC_ROOM = 6 };
static const uint64_t UNPACK_MEMORY = UINT64_C(1) << 30; /* xz -9 takes 65 MiB */

struct nvdp__input {
    struct nvdp_context *ctx;
    char *path;
    FILE *file;
    bool packed;
    bool ended; /* nothing is left */
    lzma_stream xz;
    uint8_t *buffer; /* [PACKED_ROOM] what the file holds, as it is */
    size_t used, have;
};

static const struct magic {
    const char *name;
    const char *bytes;
    size_t size;
} magics[] = {
    {"gzip", "\x1F\x8B", 2},
    {"bzip2", "BZh", 3},
    {"zstd", "\x28\xB5\x2F\xFD", 4},
    {"zip", "PK\x03\x04", 4},
};
static const char XZ_MAGIC[MAGIC_ROOM] = "\xFD\x37\x7A\x58\x5A"; /* and a NUL */

static nvdp_status fill(struct nvdp__input *input) {
    input->used = 0;
    input->have = fread(input->buffer, 1, PACKED_ROOM, input->file);
    if (ferror(input->file))
        return nvdp__fail_errno(input->ctx, errno, "%s: cannot read", input->path);
    return NVDP_OK;
}

static nvdp_status recognise(struct nvdp__input *input) {
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (input->have >= magics[i].size &&
            memcmp(input->buffer, magics[i].bytes, magics[i].size) == 0)
            return nvdp__fail(input->ctx, NVDP_ERR_INPUT,
                              "%s: expected text, plain or compressed by xz, found %s data",
                              input->path, magics[i].name);
    }
    input->packed = input->have >= MAGIC_ROOM && memcmp(input->buffer, XZ_MAGIC, MAGIC_ROOM) == 0;
    if (!input->packed) return NVDP_OK;
    if (lzma_stream_decoder(&input->xz, UNPACK_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    return NVDP_OK;
}

nvdp_status nvdp__input_open(struct nvdp_context *ctx, const char *path, struct nvdp__input **out) {
    nvdp_status status = NVDP_OK;
    struct stat info;
    struct nvdp__input *input = nvdp__calloc(ctx, 1, sizeof *input);
    if (input == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    input->ctx = ctx;
    input->xz = (lzma_stream)LZMA_STREAM_INIT;
    input->path = nvdp__strdup(ctx, path);
    input->buffer = nvdp__calloc(ctx, PACKED_ROOM, 1);
    if (input->path == NULL || input->buffer == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    input->file = fopen(path, "rbe");
    if (input->file == NULL) NVDP_TRY(nvdp__fail_errno(ctx, errno, "%s: cannot read", path));
    if (fstat(fileno(input->file), &info) == 0 && S_ISDIR(info.st_mode))
        NVDP_TRY(nvdp__fail_errno(ctx, EISDIR, "%s: cannot read", path));
    NVDP_TRY(fill(input));
    NVDP_TRY(recognise(input));
    *out = input;
    input = NULL;
cleanup:
    nvdp__input_close(input);
    return status;
}

void nvdp__input_close(struct nvdp__input *input) {
    if (input == NULL) return;
    lzma_end(&input->xz);
    if (input->file != NULL) fclose(input->file);
    free(input->buffer);
    free(input->path);
    free(input);
}

static nvdp_status damaged(const struct nvdp__input *input, lzma_ret found) {
    const char *what = "damaged data";
    switch (found) {
    case LZMA_MEM_ERROR:
        return nvdp__fail(input->ctx, NVDP_ERR_MEMORY, "%s: out of memory", input->path);
    case LZMA_MEMLIMIT_ERROR:
        what = "a dictionary of more than 1 GiB";
        break;
    case LZMA_OPTIONS_ERROR:
        what = "options of a later version of xz";
        break;
    case LZMA_BUF_ERROR:
        what = "an end too early";
        break;
    default:
        break;
    }
    return nvdp__fail(input->ctx, NVDP_ERR_INPUT, "%s: expected a whole xz file, found %s",
                      input->path, what);
}

static nvdp_status unpack(struct nvdp__input *input, size_t room, char *bytes, size_t *count) {
    lzma_stream *xz = &input->xz;
    xz->next_out = (uint8_t *)bytes;
    xz->avail_out = room;
    while (xz->avail_out > 0 && !input->ended) {
        if (input->used == input->have) NVDP_RETURN_IF_FAILED(fill(input));
        xz->next_in = input->buffer + input->used;
        xz->avail_in = input->have - input->used;
        lzma_ret found = lzma_code(xz, input->have == 0 ? LZMA_FINISH : LZMA_RUN);
        input->used = input->have - xz->avail_in;
        if (found != LZMA_OK && found != LZMA_STREAM_END) return damaged(input, found);
        input->ended = found == LZMA_STREAM_END;
    }
    *count = room - xz->avail_out;
    return NVDP_OK;
}

nvdp_status nvdp__input_read(struct nvdp__input *input, size_t room, char *bytes, size_t *count) {
    if (input->packed) return unpack(input, room, bytes, count);
    if (input->used == input->have) NVDP_RETURN_IF_FAILED(fill(input));
    size_t left = input->have - input->used;
    *count = left < room ? left : room;
    memcpy(bytes, input->buffer + input->used, *count);
    input->used += *count;
    return NVDP_OK;
}
