/* Sentences that are appended to a buffer. */
#ifndef NVDP_SRC_BASE_SENTENCE_H
#define NVDP_SRC_BASE_SENTENCE_H

#include "base/base.h"
#include <stdio.h>

/* Text that grows in a buffer of `size` bytes.  nvdp__say() cuts what does not fit. */
struct nvdp__writer {
    char *out;
    size_t size, used;
};
__attribute__((format(printf, 2, 3))) void nvdp__say(struct nvdp__writer *writer,
                                                     const char *format, ...);

/* Gives what `print` writes about `of`; free().  NVDP_ERR_MEMORY. */
nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out);

#endif
