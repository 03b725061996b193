/* Text output (sentence.h): appended, aligned and wrapped. */
#include "base/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN = 18, WIDTH = 78 };

void nvdp__append(struct nvdp__writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length =
        nvdp__vsnprintf(writer->out + writer->used, writer->size - writer->used, format, args);
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

void nvdp__print_row_args(FILE *to, const char *name, const char *format, va_list args) {
    nvdp__fprintf(to, "%-*s", COLUMN, name);
    nvdp__vfprintf(to, format, args);
    putc('\n', to);
}

void nvdp__print_row(FILE *to, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    nvdp__print_row_args(to, name, format, args);
    va_end(args);
}

void nvdp__print_wrapped(FILE *to, const char *text) {
    size_t column = 0;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (column > 0) {
            bool fits = column + 1 + length <= WIDTH;
            putc(fits ? ' ' : '\n', to);
            column = fits ? column + 1 : 0;
        }
        nvdp__fprintf(to, "%.*s", (int)length, word);
        column += length;
        word += length;
    }
    putc('\n', to);
}
