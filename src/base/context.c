/* The context: callbacks, threads, the recorded message. Only this file accesses the members of
 * the struct. */
#include "base/base.h"
#include "base/ranks.h"
#include "base/sentence.h"

#include <nvdp/precision.h>
#include <nvdp/version.h>
#include <sched.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 1024 };

struct nvdp_context {
    nvdp_log_fn log;
    void *log_user;
    nvdp_progress_fn progress;
    void *progress_user;
    nvdp_cancel_fn cancel;
    void *cancel_user;
    enum nvdp_option_style option_style;
    int threads;
    enum nvdp_precision precision;
    bool plain_bf16;
    struct nvdp_ranks ranks;  /* size is 0 if the process is alone */
    uint64_t fail_allocation; /* number of allocations until one fails; 0 if none shall fail */
    char error[NVDP__MESSAGE_SIZE];
    struct nvdp__blame blame; /* the option that `error` is about */
};

/* --- status and version --- */

static const struct {
    const char *name, *text;
} statuses[] = {
#define STATUS(name, text) [NVDP_##name] = {#name, text},
    NVDP_STATUS_MAP(STATUS)
#undef STATUS
};

const char *nvdp_status_name(nvdp_status status) {
    return (unsigned)status < NVDP_STATUS_COUNT ? statuses[status].name : "UNKNOWN";
}

const char *nvdp_status_text(nvdp_status status) {
    return (unsigned)status < NVDP_STATUS_COUNT ? statuses[status].text : "unknown status";
}

const char *nvdp_version(void) {
    return NVDP_VERSION;
}

/* --- life and settings --- */

static int available_processors(void) {
    cpu_set_t set;
    /* fails if the set is too small for the number of processors */
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    long count = known ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1) return 1;
    return count < MAX_THREADS ? (int)count : MAX_THREADS;
}

nvdp_status nvdp_context_create(struct nvdp_context **out) {
    if (out == NULL) return NVDP_ERR_ARGUMENT;
    if (sodium_init() < 0) return NVDP_ERR_UNSUPPORTED;
    struct nvdp_context *ctx = calloc(1, sizeof *ctx);
    if (ctx == NULL) return NVDP_ERR_MEMORY;
    *out = ctx;
    /* the number of processors is in the range */
    return nvdp_context_set_threads(ctx, available_processors());
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

void nvdp_context_set_option_style(struct nvdp_context *ctx, enum nvdp_option_style style) {
    ctx->option_style = style;
}

enum nvdp_option_style nvdp_context_option_style(const struct nvdp_context *ctx) {
    return ctx != NULL ? ctx->option_style : NVDP_OPTION_STYLE_NAME;
}

nvdp_status nvdp_context_set_threads(struct nvdp_context *ctx, int threads) {
    if (threads < 1 || threads > MAX_THREADS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "threads: expected 1 to %d, found %d",
                          MAX_THREADS, threads);
    ctx->threads = threads;
    return NVDP_OK;
}

int nvdp_context_threads(const struct nvdp_context *ctx) {
    return ctx->threads;
}

void nvdp_context_set_precision(struct nvdp_context *ctx, enum nvdp_precision precision) {
    ctx->precision = precision;
}

enum nvdp_precision nvdp__context_precision(const struct nvdp_context *ctx) {
    return ctx->precision;
}

const char *nvdp_context_error(const struct nvdp_context *ctx) {
    return ctx->error;
}

/* Copies `message`, which may be the recorded message itself, onto one line. Text quoted from
 * files must not break the line or control a terminal. */
static void copy_line(const char *message, char text[NVDP__MESSAGE_SIZE]) {
    char line[NVDP__MESSAGE_SIZE];
    const size_t length = strnlen(message, sizeof line - 1);
    memcpy(line, message, length);
    line[length] = '\0';
    for (char *c = line; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\t' || *c == '\r') *c = ' ';
    }
    nvdp__show_into(text, NVDP__MESSAGE_SIZE, line);
}

void nvdp_context_set_error(struct nvdp_context *ctx, const char *message) {
    if (ctx == NULL) return;
    copy_line(message, ctx->error);
    ctx->blame.option[0] = '\0';
}

const char *nvdp_context_wrong_option(const struct nvdp_context *ctx) {
    return ctx->blame.of_call && ctx->blame.option[0] != '\0' ? ctx->blame.option : NULL;
}

struct nvdp__blame nvdp__blame(const struct nvdp_context *ctx) {
    return ctx->blame;
}

void nvdp__set_blame(struct nvdp_context *ctx, struct nvdp__blame blame) {
    if (ctx != NULL) ctx->blame = blame;
}

void nvdp_context_log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *message) {
    if (ctx == NULL || ctx->log == NULL) return;
    char text[NVDP__MESSAGE_SIZE];
    copy_line(message, text);
    ctx->log(level, text, ctx->log_user);
}

void nvdp_context_report(struct nvdp_context *ctx, const struct nvdp_progress *progress) {
    if (ctx != NULL && ctx->progress != NULL) ctx->progress(progress, ctx->progress_user);
}

bool nvdp_context_cancelled(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->cancel != NULL && ctx->cancel(ctx->cancel_user);
}

void nvdp_context_get_cancel(const struct nvdp_context *ctx, nvdp_cancel_fn *fn, void **user) {
    *fn = ctx->cancel;
    *user = ctx->cancel_user;
}

nvdp_status nvdp_context_set_ranks(struct nvdp_context *ctx, const struct nvdp_ranks *ranks) {
    static const struct nvdp_ranks alone = {0};
    if (ranks == NULL) ranks = &alone;
    const bool whole = ranks->sum_start != NULL && ranks->sum_wait != NULL && ranks->sum != NULL &&
                       ranks->broadcast != NULL;
    if (ranks != &alone && (ranks->size < 1 || ranks->size > NVDP_MOST_RANKS || ranks->rank < 0 ||
                            ranks->rank >= ranks->size || !whole))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "ranks: expected a rank below the size, a size from 1 to %d, and four "
                          "operations, found rank %d of %d%s",
                          NVDP_MOST_RANKS, ranks->rank, ranks->size,
                          whole ? "" : " with a missing operation");
    ctx->ranks = *ranks;
    return NVDP_OK;
}

const struct nvdp_ranks *nvdp__ranks(const struct nvdp_context *ctx) {
    return ctx->ranks.size > 1 ? &ctx->ranks : NULL;
}

void nvdp__allow_plain_bf16(struct nvdp_context *ctx) {
    ctx->plain_bf16 = true;
}

bool nvdp__plain_bf16(const struct nvdp_context *ctx) {
    return ctx->plain_bf16;
}

void nvdp__fail_allocation(struct nvdp_context *ctx, uint64_t k) {
    ctx->fail_allocation = k;
}

bool nvdp__allocation_fails(struct nvdp_context *ctx) {
    return ctx != NULL && ctx->fail_allocation > 0 && --ctx->fail_allocation == 0;
}
