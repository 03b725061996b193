#include "base/sentence.h"

#include <stdarg.h>
#include <stdio.h>

void nvdp__say(struct nvdp__writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(writer->out + writer->used, writer->size - writer->used, format, args);
    va_end(args);
    if (length < 0) return;
    size_t left = writer->size - writer->used - 1;
    writer->used += (size_t)length < left ? (size_t)length : left;
}
