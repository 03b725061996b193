#include "base/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void nvdp__say(struct nvdp__writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(writer->out + writer->used, writer->size - writer->used, format, args);
    va_end(args);
    if (length < 0) return;
    size_t left = writer->size - writer->used - 1;
    writer->used += (size_t)length < left ? (size_t)length : left;
}

nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL) print(of, to);
    const bool whole = to != NULL && ferror(to) == 0;
    if (to == NULL || fclose(to) != 0 || !whole) {
        free(text);
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    }
    *out = text;
    return NVDP_OK;
}
