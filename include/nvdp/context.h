/* The context: who to tell, whom to ask, how many threads.
 *
 * The library never prints and never exits.  Messages, progress and the wish to stop pass
 * through the callbacks installed here.  A context is used by one calling thread at a time;
 * the library's own worker threads live inside its calls.
 *
 * A program that handles signals must do so on an alternate stack (sigaltstack, SA_ONSTACK) or
 * block them in threads that call the library: oneDNN (to 3.11 at least) points its stack register
 * into the heap inside some products, where a handler's frame destroys memory. */
#ifndef NVDP_CONTEXT_H
#define NVDP_CONTEXT_H

#include <nvdp/export.h>
#include <nvdp/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

NVDP_BEGIN_DECLS

struct nvdp_context;

enum nvdp_log_level {
    NVDP_LOG_DEBUG,
    NVDP_LOG_INFO,
    NVDP_LOG_NOTICE, /* something the user should know: an initialised head, an unknown tensor */
    NVDP_LOG_WARNING
};

/* A long piece of work's state.  `loss` and `accuracy` are NaN where there is none; `total` 0 where
 * unknown. */
struct nvdp_progress {
    const char *phase; /* "train", "encode", "pairs", ... */
    uint64_t done;
    uint64_t total;
    const char *unit; /* what done and total count: "step", "text", "pair" */
    double rate;      /* items of rate_unit a second */
    const char *rate_unit;
    double loss;
    double accuracy; /* share predicted right */
    double elapsed_seconds;
    double eta_seconds; /* NaN where unknown */
    bool finished;      /* the phase's last report */
};

typedef void (*nvdp_log_fn)(enum nvdp_log_level level, const char *message, void *user);
typedef void (*nvdp_progress_fn)(const struct nvdp_progress *progress, void *user);
/* Returns true when the work should stop; state is saved and NVDP_ERR_CANCELLED returned. */
typedef bool (*nvdp_cancel_fn)(void *user);

/* Creates a context with no callbacks and as many threads as processors are available. */
nvdp_status nvdp_context_create(struct nvdp_context **out);
void nvdp_context_free(struct nvdp_context *ctx); /* NULL is allowed */

void nvdp_context_set_log(struct nvdp_context *ctx, nvdp_log_fn fn, void *user);
void nvdp_context_set_progress(struct nvdp_context *ctx, nvdp_progress_fn fn, void *user);
void nvdp_context_set_cancel(struct nvdp_context *ctx, nvdp_cancel_fn fn, void *user);

/* 1..1024, else NVDP_ERR_ARGUMENT.  Applies to OpenMP loops and matrix products alike. */
nvdp_status nvdp_context_set_threads(struct nvdp_context *ctx, int threads);
int nvdp_context_threads(const struct nvdp_context *ctx);

/* The last failure's message, "" if none; valid until the next call on the context. */
const char *nvdp_context_error(const struct nvdp_context *ctx);

/** @name For a program's own work
 * A program that does long work of its own between calls of the library tells and asks through the
 * same context, so that its user meets one face.  In all of them @p ctx may be NULL: nothing
 * happens.
 * @{ */
/** Records a failure's message, as the library's functions do before they return.
 * @param ctx     context
 * @param message one line; control characters are replaced, and it ends after 2047 bytes */
void nvdp_context_set_error(struct nvdp_context *ctx, const char *message);
/** Gives a message to the log callback.
 * @param ctx     context
 * @param level   how much it matters
 * @param message one line; control characters are replaced, and it ends after 2047 bytes */
void nvdp_context_log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *message);
/** Gives a report to the progress callback.
 * @param ctx      context
 * @param progress read during the call alone */
void nvdp_context_report(struct nvdp_context *ctx, const struct nvdp_progress *progress);
/** Asks the cancel callback.
 * @param ctx context
 * @return whether the work should stop; false where there is no callback */
bool nvdp_context_cancelled(struct nvdp_context *ctx);
/** The cancel callback that is installed, for who puts another in its place for a while.
 * @param ctx       context, not NULL
 * @param[out] fn   the callback, NULL where there is none
 * @param[out] user what it is called with */
void nvdp_context_get_cancel(const struct nvdp_context *ctx, nvdp_cancel_fn *fn, void **user);
/** @} */

NVDP_END_DECLS
#endif
