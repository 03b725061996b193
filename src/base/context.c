#include "base/context_private.h"

#include "base/base.h"
#include <cblas.h>
#include <omp.h>
#include <sched.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 1024 };

static int available_processors(void) {
    cpu_set_t set;
    long count = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = CPU_COUNT(&set);
    } else { /* more processors than a cpu_set_t holds */
        count = sysconf(_SC_NPROCESSORS_ONLN);
    }
    if (count < 1) return 1;
    return count < MAX_THREADS ? (int)count : MAX_THREADS;
}

nvdp_status nvdp_context_create(struct nvdp_context **out) {
    if (out == NULL) return NVDP_ERR_ARGUMENT;
    if (sodium_init() < 0) return NVDP_ERR_UNSUPPORTED;
    struct nvdp_context *ctx = calloc(1, sizeof *ctx);
    if (ctx == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp_context_set_threads(ctx, available_processors());
    if (status != NVDP_OK) {
        free(ctx);
        return status;
    }
    *out = ctx;
    return NVDP_OK;
}

void nvdp_context_free(struct nvdp_context *ctx) {
    free(ctx);
}

void nvdp_context_set_log(struct nvdp_context *ctx, nvdp_log_fn fn, void *user) {
    ctx->log = fn;
    ctx->log_user = user;
}

void nvdp_context_set_progress(struct nvdp_context *ctx, nvdp_progress_fn fn, void *user) {
    ctx->progress = fn;
    ctx->progress_user = user;
}

void nvdp_context_set_cancel(struct nvdp_context *ctx, nvdp_cancel_fn fn, void *user) {
    ctx->cancel = fn;
    ctx->cancel_user = user;
}

nvdp_status nvdp_context_set_threads(struct nvdp_context *ctx, int threads) {
    if (threads < 1 || threads > MAX_THREADS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "threads: expected 1 to %d, found %d",
                          MAX_THREADS, threads);
    ctx->threads = threads;
    omp_set_num_threads(threads);
    openblas_set_num_threads(threads);
    return NVDP_OK;
}

int nvdp_context_threads(const struct nvdp_context *ctx) {
    return ctx->threads;
}

void nvdp_context_set_precision(struct nvdp_context *ctx, enum nvdp_precision precision) {
    ctx->precision = precision;
}

enum nvdp_precision nvdp_context_precision(const struct nvdp_context *ctx) {
    return ctx->precision;
}

const char *nvdp_context_error(const struct nvdp_context *ctx) {
    return ctx->error;
}

void nvdp_context_fail_allocation(struct nvdp_context *ctx, uint64_t k) {
    ctx->fail_allocation = k;
}

/* Messages are one line: text quoted from files must neither break it nor steer a terminal. */
static void keep_one_line(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t' || *c == '\r') *c = ' ';
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
}

/* An argument may be the recorded message itself, so the new text is made beside it. */
static void record(struct nvdp_context *ctx, const char *format, va_list args) {
    char text[NVDP__MESSAGE_ROOM];
    if (vsnprintf(text, sizeof text, format, args) < 0) text[0] = '\0';
    keep_one_line(text);
    memcpy(ctx->error, text, sizeof text);
}

nvdp_status nvdp__fail(struct nvdp_context *ctx, nvdp_status status, const char *format, ...) {
    if (ctx == NULL) return status;
    va_list args;
    va_start(args, format);
    record(ctx, format, args);
    va_end(args);
    return status;
}

nvdp_status nvdp__fail_errno(struct nvdp_context *ctx, int err, const char *format, ...) {
    if (ctx == NULL) return NVDP_ERR_IO;
    va_list args;
    va_start(args, format);
    record(ctx, format, args);
    va_end(args);
    char reason[256];
    return nvdp__fail(ctx, NVDP_ERR_IO, "%s: %s", ctx->error,
                      strerror_r(err, reason, sizeof reason));
}

nvdp_status nvdp__fail_prefix(struct nvdp_context *ctx, nvdp_status status, const char *prefix) {
    if (ctx == NULL) return status;
    const char *message = ctx->error[0] != '\0' ? ctx->error : nvdp_status_text(status);
    return nvdp__fail(ctx, status, "%s: %s", prefix, message);
}

void nvdp__log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *format, ...) {
    if (ctx == NULL || ctx->log == NULL) return;
    char text[NVDP__MESSAGE_ROOM];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return;
    keep_one_line(text);
    ctx->log(level, text, ctx->log_user);
}

bool nvdp__cancelled(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->cancel != NULL && ctx->cancel(ctx->cancel_user);
}

double nvdp__now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
