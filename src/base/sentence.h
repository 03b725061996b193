/* Text output: sentences appended to a buffer, aligned rows, wrapped lines. */
#ifndef NVDP_SRC_BASE_SENTENCE_H
#define NVDP_SRC_BASE_SENTENCE_H

#include "base/base.h"
#include <stdarg.h>
#include <stdio.h>

/* Text that grows in a buffer of `size` bytes. nvdp__append() truncates what does not fit. */
struct nvdp__writer {
    char *out;
    size_t size, used;
};
__attribute__((format(printf, 2, 3))) void nvdp__append(struct nvdp__writer *writer,
                                                        const char *format, ...);

/* Returns the text that `print` writes about `of`; free() it. Fails with NVDP_ERR_MEMORY. */
nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out);

/* Writes a line with a name, padded to the common column of values, and its value. */
__attribute__((format(printf, 3, 4))) void nvdp__print_row(FILE *to, const char *name,
                                                           const char *format, ...);
__attribute__((format(printf, 3, 0))) void nvdp__print_row_args(FILE *to, const char *name,
                                                                const char *format, va_list args);
/* Writes a text, broken at spaces into lines of at most 78 characters. */
void nvdp__print_wrapped(FILE *to, const char *text);

#endif
