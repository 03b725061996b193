/* Messages, checked memory, progress, and facts about this process. The file uses only the public context, so that
 * programs can compile it too. */
#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    ALIGNMENT = 64, /* bytes of a cache line, and of the widest vector */
    /* from this number of bytes on, whole pages are returned to the system instead of zeroed */
    LARGE = 4 << 20
};
static const double REPORT_INTERVAL = 0.1; /* seconds between two reports */

/* --- messages --- */

/* Returns the length of {name} if the text begins with an option's name in braces, else 0. */
static size_t option_length(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t length = *text == '{' ? strspn(text + 1, letters) : 0;
    return length > 0 && text[1 + length] == '}' ? length : 0;
}

/* Writes the text, cut to `size`, and replaces each {name} of an option by the name as the context's caller writes
 * it. */
static void name_options(const struct nvdp_context *ctx, const char *text, size_t size, char *out) {
    const bool dashes = nvdp_context_option_style(ctx) == NVDP_OPTION_STYLE_DASHES;
    size_t used = 0;
    while (*text != '\0' && used + 1 < size) {
        const size_t length = option_length(text);
        if (length == 0) {
            out[used++] = *text++;
            continue;
        }
        for (size_t i = 0; dashes && i < 2 && used + 1 < size; i++)
            out[used++] = '-';
        for (size_t i = 1; i <= length && used + 1 < size; i++)
            out[used++] = text[i] == '-' && !dashes ? '_' : text[i];
        text += length + 2;
    }
    out[used] = '\0';
}

struct nvdp__naming nvdp__with_options(const struct nvdp_context *ctx, const char *text) {
    struct nvdp__naming words;
    name_options(ctx, text, sizeof words.text, words.text);
    return words;
}

struct nvdp__naming nvdp__as_option(const struct nvdp_context *ctx, const char *name) {
    const bool dashes = nvdp_context_option_style(ctx) == NVDP_OPTION_STYLE_DASHES;
    struct nvdp__naming words;
    nvdp__snprintf(words.text, sizeof words.text, "%s%s", dashes ? "--" : "", name);
    for (char *c = words.text; !dashes && *c != '\0'; c++)
        if (*c == '-') *c = '_';
    return words;
}

/* Formats the arguments after `format` into `text`, which is an array. */
#define FORMAT(ctx, text, format)                                                                  \
    do {                                                                                           \
        char named[NVDP__MESSAGE_SIZE];                                                            \
        va_list args;                                                                              \
        name_options(ctx, format, sizeof named, named);                                            \
        va_start(args, format);                                                                    \
        if (nvdp__vsnprintf(text, sizeof(text), named, args) < 0) (text)[0] = '\0';                \
        va_end(args);                                                                              \
    } while (0)

static void blame(struct nvdp_context *ctx, const char *name, size_t length, bool of_call) {
    struct nvdp__blame made = {.of_call = of_call};
    nvdp__snprintf(made.option, sizeof made.option, "%.*s", (int)length, name);
    if (nvdp__set_blame != NULL) nvdp__set_blame(ctx, made);
}

nvdp_status nvdp__fail(struct nvdp_context *ctx, nvdp_status status, const char *format, ...) {
    static const char word[] = "option ";
    char text[NVDP__MESSAGE_SIZE];
    FORMAT(ctx, text, format);
    nvdp_context_set_error(ctx, text);
    const bool of_call = strncmp(format, word, strlen(word)) == 0;
    if (of_call) format += strlen(word);
    blame(ctx, format + 1, option_length(format), of_call);
    return status;
}

nvdp_status nvdp__fail_option(struct nvdp_context *ctx, nvdp_status status, const char *name,
                              const char *format, ...) {
    char text[NVDP__MESSAGE_SIZE];
    FORMAT(ctx, text, format);
    nvdp__fail(ctx, status, "option %s%s", nvdp__as_option(ctx, name).text, text);
    blame(ctx, name, strlen(name), true);
    return status;
}

nvdp_status nvdp__blame_value(struct nvdp_context *ctx, const char *name, nvdp_status status) {
    blame(ctx, name, strlen(name), false);
    return status;
}

nvdp_status nvdp__fail_errno(struct nvdp_context *ctx, int err, const char *format, ...) {
    char text[NVDP__MESSAGE_SIZE], reason[256];
    FORMAT(ctx, text, format);
    return nvdp__fail(ctx, NVDP_ERR_IO, "%s: %s", text, strerror_r(err, reason, sizeof reason));
}

nvdp_status nvdp__check_cancelled(struct nvdp_context *ctx, const char *message) {
    return nvdp_context_cancelled(ctx) ? nvdp__fail(ctx, NVDP_ERR_CANCELLED, "%s", message)
                                       : NVDP_OK;
}

nvdp_status nvdp__fail_prefix(struct nvdp_context *ctx, nvdp_status status, const char *prefix) {
    if (ctx == NULL) return status;
    const char *message = nvdp_context_error(ctx);
    return nvdp__fail(ctx, status, "%s: %s", prefix,
                      message[0] != '\0' ? message : nvdp_status_text(status));
}

void nvdp__log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *format, ...) {
    char text[NVDP__MESSAGE_SIZE];
    FORMAT(ctx, text, format);
    nvdp_context_log(ctx, level, text);
}

/* --- memory --- */

bool nvdp__mul(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* Returns zeroed memory on separate pages. The operating system replaces returned pages by zeros on first access, so
 * memory that a plan reserves but a run never uses costs nothing. */
static void *large_memory(size_t bytes) {
    long page = sysconf(_SC_PAGESIZE);
    if (page < ALIGNMENT) return NULL;
    size_t pages = bytes / (size_t)page * (size_t)page;
    char *memory = aligned_alloc((size_t)page, pages + (pages < bytes ? (size_t)page : 0));
    if (memory == NULL) return NULL;
    /* madvise() fails, for example, for locked memory */
    if (madvise(memory, pages, MADV_DONTNEED) != 0) pages = 0;
#ifdef MADV_HUGEPAGE
    madvise(memory, pages, MADV_HUGEPAGE); /* fewer page faults; optional */
#endif
    memset(memory + pages, 0, bytes - pages);
    return memory;
}

static void *small_memory(size_t bytes) {
    void *memory = aligned_alloc(ALIGNMENT, bytes);
    return memory == NULL ? NULL : memset(memory, 0, bytes);
}

void nvdp__close_owned(const int *fd) {
    if (*fd >= 0) (void)close(*fd);
}

void *nvdp__calloc(struct nvdp_context *ctx, size_t count, size_t size) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > PTRDIFF_MAX - ALIGNMENT) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu items of %zu bytes overflow", count,
                   size);
        return NULL;
    }
    size_t padded = bytes > 0 ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = NULL;
    /* Only the library has this hook; programs that compile this file do not. */
    bool fails = nvdp__allocation_fails != NULL && nvdp__allocation_fails(ctx);
    if (!fails) memory = padded >= LARGE ? large_memory(padded) : small_memory(padded);
    if (memory == NULL) nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory: %zu bytes", bytes);
    return memory;
}

nvdp_status nvdp__reserve(struct nvdp_context *ctx, void *array, size_t *capacity, size_t need,
                          size_t size) {
    if (need <= *capacity) return NVDP_OK;
    size_t grown = *capacity < SIZE_MAX / 2 ? *capacity * 2 : need;
    if (grown < need) grown = need;
    void *old;
    memcpy(&old, array, sizeof old); /* array points to a pointer of any type */
    void *fresh = nvdp__calloc(ctx, grown, size);
    if (fresh == NULL) return NVDP_ERR_MEMORY;
    if (old != NULL) memcpy(fresh, old, *capacity * size);
    free(old);
    memcpy(array, &fresh, sizeof fresh);
    *capacity = grown;
    return NVDP_OK;
}

nvdp_status nvdp__made(const void *const *pointer, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (pointer[i] == NULL) return NVDP_ERR_MEMORY;
    }
    return NVDP_OK;
}

int nvdp__by_double(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int nvdp__by_int32(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int nvdp__by_int64(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

char *nvdp__strdup(struct nvdp_context *ctx, const char *text) {
    return nvdp__format(ctx, "%s", text);
}

char *nvdp__format(struct nvdp_context *ctx, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = nvdp__vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory while a text was formatted");
        return NULL;
    }
    char *text = nvdp__calloc(ctx, (size_t)length + 1, 1);
    if (text == NULL) return NULL;
    va_start(args, format);
    nvdp__vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

/* --- time and progress --- */

double nvdp__now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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
    nvdp_context_report(meter->ctx, &meter->report);
}

void nvdp__meter_end(struct nvdp__meter *meter) {
    meter->report.elapsed_seconds = nvdp__now() - meter->started;
    meter->report.eta_seconds = 0;
    meter->report.finished = true;
    nvdp_context_report(meter->ctx, &meter->report);
}

/* --- this process and its machine, read from /proc --- */

enum { LINE_SIZE = 4096, START_FIELD = 22, AFTER_NAME = 3 };

/* Reads field 22 of /proc/self/stat: clock ticks after boot. Field 2, the name in parentheses, may contain anything,
 * so parsing starts after the last ')'. */
static double start_ticks(const char *stat) {
    const char *at = strrchr(stat, ')');
    for (int field = AFTER_NAME; at != NULL && field <= START_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    unsigned long long ticks;
    return at != NULL && sscanf(at, "%llu", &ticks) == 1 ? (double)ticks : NAN;
}

double nvdp__process_age(void) {
    char line[LINE_SIZE] = "";
    nvdp__autoptr(fclose) FILE *file = fopen("/proc/self/stat", "re");
    bool read = file != NULL && fgets(line, sizeof line, file) != NULL;
    struct timespec now;
    long ticks = sysconf(_SC_CLK_TCK);
    if (!read || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return NAN;
    double age =
        (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - start_ticks(line) / (double)ticks;
    return age < 0 ? 0 : age; /* the rounding of a tick may give a negative age; NaN stays NaN */
}

size_t nvdp__peak_rss(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (size_t)usage.ru_maxrss * 1024; /* ru_maxrss is in kibibytes on Linux */
}

void nvdp__processor_name(size_t size, char *name) {
    char line[LINE_SIZE];
    nvdp__snprintf(name, size, "unknown");
    nvdp__autoptr(fclose) FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        nvdp__snprintf(name, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        return;
    }
}
