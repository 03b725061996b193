/* Internal base: errors, logging, checked memory, progress, facts about this process. Every other file of the library
 * includes this header.
 *
 * All of src/base except context.c uses only the public headers. The programs (src/cli, experiments) compile these
 * files, too. From the rest of the library, programs use only what include/nvdp/ declares. */
#ifndef NVDP_SRC_BASE_BASE_H
#define NVDP_SRC_BASE_BASE_H

#include <nvdp/context.h>
#include <nvdp/result.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVDP__MESSAGE_SIZE = 2048 };

/* A range of bytes in a string with another owner; not NUL-terminated. */
struct nvdp__field {
    const char *text;
    size_t size;
};

/* An option's name as the caller of ctx writes it: max-pairs is "--max-pairs" or "max_pairs"
 * (nvdp_context_set_option_style). */
struct nvdp__naming {
    char text[256];
};
struct nvdp__naming nvdp__as_option(const struct nvdp_context *ctx, const char *name);
/* Returns the text with {max-pairs} and similar replaced by the name of that option. */
struct nvdp__naming nvdp__with_options(const struct nvdp_context *ctx, const char *text);

/* Records the message (printf form) in ctx and returns status. ctx may be NULL. In the format, but not in the
 * arguments, {max-pairs} stands for the option of that name; this holds for all functions that record or log a
 * message. A format that begins with {max-pairs} or "option {max-pairs}" blames that option (below). */
nvdp_status nvdp__fail(struct nvdp_context *ctx, nvdp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Does what nvdp__fail() does, and appends ": strerror(err)". */
nvdp_status nvdp__fail_errno(struct nvdp_context *ctx, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records "option NAME" followed by the formatted text, and blames the option of that name. */
nvdp_status nvdp__fail_option(struct nvdp_context *ctx, nvdp_status status, const char *name,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Puts "prefix: " before the recorded message and returns status. */
nvdp_status nvdp__fail_prefix(struct nvdp_context *ctx, nvdp_status status, const char *prefix);

/* The option that the recorded message is about. The next message clears this struct. */
struct nvdp__blame {
    char option[64]; /* "" if no option is blamed */
    /* true if the message begins with the word option, so that the call is wrong */
    bool of_call;
};
struct nvdp__blame nvdp__blame(const struct nvdp_context *ctx);
/* The setter is absent from programs, which compile this header without the library's context. */
__attribute__((weak)) void nvdp__set_blame(struct nvdp_context *ctx, struct nvdp__blame blame);
/* Blames the option of this name for the recorded message, whose text is unchanged. Returns status. */
nvdp_status nvdp__blame_value(struct nvdp_context *ctx, const char *name, nvdp_status status);

/* Fails with NVDP_ERR_INPUT about the file of->path, recorded in of->ctx. */
#define NVDP__BAD_FILE(of, format, ...)                                                            \
    nvdp__fail((of)->ctx, NVDP_ERR_INPUT, "%s: " format, (of)->path, __VA_ARGS__)
/* Fails with NVDP_ERR_CANCELLED and `message` if the context is cancelled. */
nvdp_status nvdp__check_cancelled(struct nvdp_context *ctx, const char *message);

void nvdp__log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the status of expr from the calling function if expr fails. The objects that the function owns are
 * released at the end of their scope (below). */
#define NVDP_TRY(expr)                                                                             \
    do {                                                                                           \
        const nvdp_status nvdp_try_status_ = (expr);                                               \
        if (nvdp_try_status_ != NVDP_OK) return nvdp_try_status_;                                  \
    } while (0)
/* Jumps to `cleanup:` if expr fails; the function declares `nvdp_status status = NVDP_OK`. Only for functions that
 * do more than release what they own: for example, functions that undo what they wrote. */
#define NVDP_TRY_OR_CLEAN(expr)                                                                    \
    do {                                                                                           \
        status = (expr);                                                                           \
        if (status != NVDP_OK) goto cleanup;                                                       \
    } while (0)

/* Ownership by scope: the compiler releases an owner at every end of its scope, in reverse order of the declarations.
 * An owner is initialized where it is declared. NVDP__HAND_OVER passes the owned object to another owner; so does a
 * copy, if the first owner is then set to NULL.
 *     nvdp__autofree char *path            calls free(path)
 *     nvdp__autoptr(json_decref) json_t *x calls json_decref(x); NVDP__AUTOPTR defines it beside the declaration of json_decref
 *     nvdp__auto(lines_close) struct l x   calls lines_close(&x)
 *     nvdp__autoresult struct nvdp_linkage x calls nvdp_result_free(&x), for a result of any kind */
#define nvdp__autofree __attribute__((cleanup(nvdp__free_owned)))
#define nvdp__autoptr(release) __attribute__((cleanup(release##_owned)))
#define nvdp__auto(release) __attribute__((cleanup(release)))
#define nvdp__autoresult __attribute__((cleanup(nvdp_result_free)))
#define NVDP__AUTOPTR(type, release)                                                               \
    static inline void release##_owned(type **owner) {                                             \
        if (*owner != NULL) release(*owner);                                                       \
    }
NVDP__AUTOPTR(FILE, fclose)
static inline void nvdp__free_owned(void *owner) {
    void *memory = NULL;
    memcpy(&memory, owner, sizeof memory);
    free(memory);
}
void nvdp__close_owned(const int *fd); /* closes the descriptor unless it is negative */

/* Passes ownership to the caller: sets *out to `made` and zeroes `made`, so that the scope releases nothing. Yields
 * NVDP_OK, which a function can return. */
#define NVDP__HAND_OVER(out, made) ((void)(*(out) = (made)), nvdp__emptied(&(made), sizeof(made)))
static inline nvdp_status nvdp__emptied(void *owner, size_t size) {
    memset(owner, 0, size);
    return NVDP_OK;
}
/* Yields NVDP_ERR_MEMORY if one of the pointers is NULL. */
#define NVDP__MADE(...)                                                                            \
    nvdp__made((const void *const[]){__VA_ARGS__},                                                 \
               sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
nvdp_status nvdp__made(const void *const *pointer, size_t count);

/* Returns zeroed memory for count * size bytes, 64-byte aligned. On overflow or failure returns NULL and records the
 * error. count * size == 0 yields a valid pointer. The caller frees the memory with free(). */
void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size);
/* Allocates `count` zeroed items for a pointer, which is NULL on error. Yields a status. */
#define NVDP__NEW(ctx, pointer, count)                                                             \
    (((pointer) = nvdp__calloc(ctx, count, sizeof *(pointer))) != NULL ? NVDP_OK : NVDP_ERR_MEMORY)
/* Grows *array (*capacity items of `size` bytes) so that it holds `need` items; new items are
 * zero. */
nvdp_status nvdp__reserve(struct nvdp_context *ctx, void *array, size_t *capacity, size_t need,
                          size_t size);
/* Ascending order, for qsort and bsearch. */
int nvdp__by_double(const void *a, const void *b);
int nvdp__by_int32(const void *a, const void *b);
int nvdp__by_int64(const void *a, const void *b);
char *nvdp__strdup(struct nvdp_context *ctx, const char *text);
/* Formats as printf does, into new memory. On failure, returns NULL and records the error. */
char *nvdp__format(struct nvdp_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The standard functions of these names, but with a decimal point in every locale. */
double nvdp__strtod(const char *text, char **end);
int nvdp__snprintf(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int nvdp__vsnprintf(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int nvdp__fprintf(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int nvdp__vfprintf(FILE *to, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Formats a number with the smallest number of digits, 15 to 17, that reads back as the same number. Returns `text`. */
enum { NVDP__NUMBER_TEXT = 32, NVDP__REAL_DIGITS = 17 };
const char *nvdp__real_text(double value, char text[NVDP__NUMBER_TEXT]);
/* Computes a * b; false on overflow. */
bool nvdp__mul(size_t a, size_t b, size_t *out);
/* Allows bf16 on processors without bf16 instructions, where it is slow: for tests of bf16 results. Off by default. */
void nvdp__allow_plain_bf16(struct nvdp_context *ctx);
bool nvdp__plain_bf16(const struct nvdp_context *ctx);
/* Makes the k-th allocation from now fail (0: none), for tests of behavior out of memory. */
void nvdp__fail_allocation(struct nvdp_context *ctx, uint64_t k);
/* Returns true if the current allocation is the one that must fail. */
__attribute__((weak)) bool nvdp__allocation_fails(struct nvdp_context *ctx);

/* Seconds on a monotonic clock. */
double nvdp__now(void);

/* Progress of a long loop: rate-limited reports with an ETA through the context's callback. */
struct nvdp__meter {
    struct nvdp_context *ctx;
    struct nvdp_progress report; /* the caller may set the accuracy in the report */
    double started;
    double last;
    uint64_t done_at_start; /* resumed work does not count toward the rate */
};

void nvdp__meter_begin(struct nvdp__meter *meter, struct nvdp_context *ctx, const char *phase,
                       const char *unit, uint64_t done, uint64_t total);
/* Reports progress, at most ten times per second. For the rate, `work` counts the items of `rate_unit` since the
 * begin; loss may be NaN. */
void nvdp__meter_update(struct nvdp__meter *meter, uint64_t done, double work,
                        const char *rate_unit, double loss);
void nvdp__meter_end(struct nvdp__meter *meter);

static inline size_t nvdp__min(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t nvdp__max(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Returns the precision that was set.
 * ctx: the context
 * Returns the precision, even if it is unavailable */
enum nvdp_precision nvdp__context_precision(const struct nvdp_context *ctx);

/* --- this process and its machine --- */

/* Returns the seconds since the process started, in steps of clock ticks (10 ms); NaN without /proc. */
double nvdp__process_age(void);
/* Returns the peak resident memory in bytes; 0 if unknown. */
size_t nvdp__peak_rss(void);
/* Writes the processor's model name, truncated to `size`; "unknown" if /proc does not state the name. */
void nvdp__processor_name(size_t size, char *name);

#endif
