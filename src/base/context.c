/* The context: callbacks, threads, the recorded message; checked memory; progress. */
#include "base/base.h"

#include <math.h>
#include <nvdp/precision.h>
#include <nvdp/version.h>
#include <omp.h>
#include <sched.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1024,
    MESSAGE_SIZE = 2048,
    ALIGNMENT = 64, /* a cache line, and the widest vector */
    LARGE = 4 << 20 /* bytes from which whole pages are given back rather than overwritten */
};
static const double REPORT_INTERVAL = 0.1; /* seconds */

struct nvdp_context {
    nvdp_log_fn log;
    void *log_user;
    nvdp_progress_fn progress;
    void *progress_user;
    nvdp_cancel_fn cancel;
    void *cancel_user;
    int threads;
    enum nvdp_precision precision;
    uint64_t fail_allocation; /* allocations until the one that fails; 0: none does */
    char error[MESSAGE_SIZE];
};

/* --- status and version --- */

const char *nvdp_status_name(nvdp_status status) {
    switch (status) {
#define NVDP_STATUS_CASE(name, text)                                                               \
    case NVDP_##name:                                                                              \
        return #name;
        NVDP_STATUS_MAP(NVDP_STATUS_CASE)
#undef NVDP_STATUS_CASE
    default:
        return "UNKNOWN";
    }
}

const char *nvdp_status_text(nvdp_status status) {
    switch (status) {
#define NVDP_STATUS_CASE(name, text)                                                               \
    case NVDP_##name:                                                                              \
        return text;
        NVDP_STATUS_MAP(NVDP_STATUS_CASE)
#undef NVDP_STATUS_CASE
    default:
        return "unknown status";
    }
}

const char *nvdp_version(void) {
    return NVDP_VERSION;
}

/* --- life and settings --- */

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

/* --- messages --- */

/* Messages are one line: text quoted from files must neither break it nor steer a terminal. */
static void keep_one_line(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t' || *c == '\r') *c = ' ';
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
}

/* An argument may be the recorded message itself, so the new text is made beside it. */
static void record(struct nvdp_context *ctx, const char *format, va_list args) {
    char text[MESSAGE_SIZE];
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
    char text[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return;
    keep_one_line(text);
    ctx->log(level, text, ctx->log_user);
}

/* --- memory --- */

bool nvdp__mul(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

void nvdp__fail_allocation(struct nvdp_context *ctx, uint64_t k) {
    ctx->fail_allocation = k;
}

/* Whether the present allocation is the one a test wants to fail. */
static bool fails_on_purpose(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->fail_allocation > 0 && --ctx->fail_allocation == 0;
}

/* Memory of its own pages, zeroed.  The operating system replaces pages that are given back by
 * zeros when they are first touched: what a plan has room for and a run never uses costs nothing.
 */
static void *large_memory(size_t bytes) {
    long page = sysconf(_SC_PAGESIZE);
    if (page < ALIGNMENT) return NULL;
    size_t pages = bytes / (size_t)page * (size_t)page;
    char *memory = aligned_alloc((size_t)page, pages + (pages < bytes ? (size_t)page : 0));
    if (memory == NULL) return NULL;
    if (madvise(memory, pages, MADV_DONTNEED) != 0) pages = 0; /* locked memory, for one */
#ifdef MADV_HUGEPAGE
    madvise(memory, pages, MADV_HUGEPAGE); /* fewer faults; where it is refused nothing is lost */
#endif
    memset(memory + pages, 0, bytes - pages);
    return memory;
}

static void *small_memory(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, bytes);
    return memory == NULL ? NULL : memset(memory, 0, bytes);
}

void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu items of %zu bytes overflow", count,
                   size);
        return NULL;
    }
    size_t room = bytes > 0 ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = NULL;
    if (!fails_on_purpose(ctx)) memory = room >= LARGE ? large_memory(room) : small_memory(room);
    if (memory == NULL) nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu bytes", bytes);
    return memory;
}

nvdp_status nvdp__reserve(struct nvdp_context *ctx, void *array, size_t *capacity, size_t need,
                          size_t size) {
    if (need <= *capacity) return NVDP_OK;
    size_t grown = *capacity < SIZE_MAX / 2 ? *capacity * 2 : need;
    if (grown < need) grown = need;
    void *old;
    memcpy(&old, array, sizeof old); /* array points at a pointer of any type */
    void *fresh = nvdp__calloc(ctx, grown, size);
    if (fresh == NULL) return NVDP_ERR_MEMORY;
    if (old != NULL) memcpy(fresh, old, *capacity * size);
    free(old);
    memcpy(array, &fresh, sizeof fresh);
    *capacity = grown;
    return NVDP_OK;
}

char *nvdp__strdup(struct nvdp_context *ctx, const char *text) {
    size_t room = strlen(text) + 1;
    char *copy = nvdp__calloc(ctx, room, 1);
    if (copy != NULL) memcpy(copy, text, room);
    return copy;
}

char *nvdp__format(struct nvdp_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: a text could not be formatted");
        return NULL;
    }
    char *text = nvdp__calloc(ctx, (size_t)length + 1, 1);
    if (text == NULL) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

/* --- time, progress and the wish to stop --- */

double nvdp__now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool nvdp__cancelled(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->cancel != NULL && ctx->cancel(ctx->cancel_user);
}

void nvdp__cancel_callback(const struct nvdp_context *ctx, nvdp_cancel_fn *fn, void **user) {
    *fn = ctx->cancel;
    *user = ctx->cancel_user;
}

void nvdp__meter_begin(struct nvdp__meter *meter, struct nvdp_context *ctx, const char *phase,
                       const char *unit, uint64_t done, uint64_t total) {
    double now = nvdp__now();
    *meter = (struct nvdp__meter){
        .ctx = ctx,
        .report = {.phase = phase,
                   .done = done,
                   .total = total,
                   .unit = unit,
                   .rate_unit = unit,
                   .loss = NAN,
                   .accuracy = NAN,
                   .eta_seconds = NAN},
        .started = now,
        .last = now - REPORT_INTERVAL,
        .done_at_start = done,
    };
}

static void send(struct nvdp__meter *meter) {
    const struct nvdp_context *ctx = meter->ctx;
    if (ctx != NULL && ctx->progress != NULL) ctx->progress(&meter->report, ctx->progress_user);
}

static double remaining_seconds(const struct nvdp__meter *meter) {
    const struct nvdp_progress *report = &meter->report;
    if (report->total == 0 || report->done <= meter->done_at_start) return NAN;
    if (report->done >= report->total) return 0;
    double advanced = (double)(report->done - meter->done_at_start);
    return report->elapsed_seconds * (double)(report->total - report->done) / advanced;
}

void nvdp__meter_update(struct nvdp__meter *meter, uint64_t done, double work,
                        const char *rate_unit, double loss) {
    struct nvdp_progress *report = &meter->report;
    double now = nvdp__now();
    report->done = done;
    report->rate_unit = rate_unit;
    report->loss = loss;
    report->elapsed_seconds = now - meter->started;
    report->rate = report->elapsed_seconds > 0 ? work / report->elapsed_seconds : 0;
    report->eta_seconds = remaining_seconds(meter);
    if (now - meter->last < REPORT_INTERVAL) return;
    meter->last = now;
    send(meter);
}

void nvdp__meter_accuracy(struct nvdp__meter *meter, double accuracy) {
    meter->report.accuracy = accuracy;
}

void nvdp__meter_end(struct nvdp__meter *meter) {
    meter->report.elapsed_seconds = nvdp__now() - meter->started;
    meter->report.eta_seconds = 0;
    meter->report.finished = true;
    send(meter);
}
