/* Base, internal: errors, logging, checked allocation.  Everything above includes this. */
#ifndef NVDP_SRC_BASE_H
#define NVDP_SRC_BASE_H

#include <nvdp/context.h>

/* Records the message (printf form) in ctx and returns status.  ctx may be NULL. */
nvdp_status nvdp__fail(struct nvdp_context *ctx, nvdp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with ": strerror(err)" appended. */
nvdp_status nvdp__fail_errno(struct nvdp_context *ctx, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before the recorded message and returns status. */
nvdp_status nvdp__fail_prefix(struct nvdp_context *ctx, nvdp_status status, const char *prefix);

void nvdp__log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool nvdp__cancelled(struct nvdp_context *ctx);

/* Returns from the calling function on failure; for functions with nothing to release. */
#define NVDP_RETURN_IF_FAILED(expr)                                                                \
    do {                                                                                           \
        nvdp_status nvdp_try_status_ = (expr);                                                     \
        if (nvdp_try_status_ != NVDP_OK) return nvdp_try_status_;                                  \
    } while (0)
/* Jumps to `cleanup:` on failure; the function declares `nvdp_status status = NVDP_OK`. */
#define NVDP_TRY(expr)                                                                             \
    do {                                                                                           \
        status = (expr);                                                                           \
        if (status != NVDP_OK) goto cleanup;                                                       \
    } while (0)

/* Zeroed memory for count * size bytes, 64-byte aligned; NULL with the error recorded when it
 * overflows or fails.  count * size == 0 yields a valid pointer.  Release with free(). */
void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size);
/* Grows *array (of *capacity items of `size` bytes) so that it holds `need` items; new items
 * zeroed. */
nvdp_status nvdp__reserve(struct nvdp_context *ctx, void *array, size_t *capacity, size_t need,
                          size_t size);
char *nvdp__strdup(struct nvdp_context *ctx, const char *text);
/* printf into fresh memory; NULL with the error recorded. */
char *nvdp__format(struct nvdp_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* a * b, or false on overflow. */
bool nvdp__mul(size_t a, size_t b, size_t *out);

/* Seconds on a monotonic clock. */
double nvdp__now(void);

#endif
