/** @file context.h
 * The context: who to tell, whom to ask, how many threads.
 *
 * The library never prints and never exits.  Messages, progress and the wish to stop pass through
 * the callbacks installed here.  A context is used by one calling thread at a time; the library's
 * own worker threads work inside its calls alone.  Callbacks are called by the calling thread.
 *
 * After fork() the child calls the library on a thread that it makes itself: GNU's OpenMP keeps the
 * workers of the thread that forked, fork() does not copy them, and a call there would wait for them
 * without end.
 *
 * A program that handles signals must do so on an alternate stack (sigaltstack, SA_ONSTACK) or
 * block them in threads that call the library: oneDNN (to 3.11 at least) points its stack register
 * into the heap inside some products, where a handler's frame destroys memory.
 *
 * Numbers in options and files have a decimal point: a program that sets LC_NUMERIC to a locale with a comma calls the library
 * from threads whose own locale (uselocale) has a point.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_CONTEXT_H
#define NVDP_CONTEXT_H

#include <nvdp/export.h>
#include <nvdp/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

NVDP_BEGIN_DECLS

/** The context; opaque. */
struct nvdp_context;

/** How much a message matters. */
enum nvdp_log_level {
    NVDP_LOG_DEBUG,  /**< for those who work on the library */
    NVDP_LOG_INFO,   /**< what is being done */
    NVDP_LOG_NOTICE, /**< what the user should know: an initialised head, an unknown tensor */
    NVDP_LOG_WARNING /**< what may be wrong with the result */
};

/** The state of a long piece of work. */
struct nvdp_progress {
    const char *phase;      /**< "train", "encode", "pairs", ... */
    uint64_t done;          /**< how much is done, in `unit` */
    uint64_t total;         /**< of how much; 0 where unknown */
    const char *unit;       /**< what done and total count: "step", "text", "pair" */
    double rate;            /**< items of rate_unit per second, since the work began */
    const char *rate_unit;  /**< "token", "text", "pair", ... */
    double loss;            /**< of the last step; NaN where there is none */
    double accuracy;        /**< share predicted right; NaN where there is none */
    double elapsed_seconds; /**< since the work began */
    double eta_seconds;     /**< until its end, at the present rate; NaN where unknown */
    bool finished;          /**< the phase's last report */
};

/** Takes a message.
 * @param level   how much it matters
 * @param message one line, valid during the call
 * @param user    as installed */
typedef void (*nvdp_log_fn)(enum nvdp_log_level level, const char *message, void *user);

/** Takes a report, at most ten times per second and once at a phase's end.
 * @param progress valid during the call
 * @param user     as installed */
typedef void (*nvdp_progress_fn)(const struct nvdp_progress *progress, void *user);

/** Asked between steps, batches or files.
 * @param user as installed
 * @return true when the work should stop: what can be resumed is saved, and the call returns
 *         NVDP_ERR_CANCELLED */
typedef bool (*nvdp_cancel_fn)(void *user);

/** Takes text that is made piece by piece.
 * @param text not terminated
 * @param size its bytes
 * @param user the caller's own
 * @return false if the text could not be written: the call that makes it ends with NVDP_ERR_IO */
typedef bool (*nvdp_write_fn)(const char *text, size_t size, void *user);

/** Makes a context without callbacks and with as many threads as processors are available.
 * @param[out] out the context; nvdp_context_free()
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT where @p out is NULL; NVDP_ERR_UNSUPPORTED where
 *         libsodium finds no source of randomness */
nvdp_status nvdp_context_create(struct nvdp_context **out);

/** Releases a context.  What was made with it is released before.
 * @param ctx NULL is allowed */
void nvdp_context_free(struct nvdp_context *ctx);

/** Installs the callback for messages, in place of the one before.
 * @param ctx  context
 * @param fn   NULL: messages are dropped
 * @param user handed to @p fn */
void nvdp_context_set_log(struct nvdp_context *ctx, nvdp_log_fn fn, void *user);

/** Installs the callback for progress, in place of the one before.
 * @param ctx  context
 * @param fn   NULL: reports are dropped
 * @param user handed to @p fn */
void nvdp_context_set_progress(struct nvdp_context *ctx, nvdp_progress_fn fn, void *user);

/** Installs the callback that is asked whether to stop, in place of the one before.
 * @param ctx  context
 * @param fn   NULL: nobody is asked
 * @param user handed to @p fn */
void nvdp_context_set_cancel(struct nvdp_context *ctx, nvdp_cancel_fn fn, void *user);

/** Sets the number of threads that loops and matrix products take.  Sums may change their order
 * with it, and results their last bits.  The OpenMP setting of the
 * calling thread stays as it is: it is this number while a product runs, and restored after it.
 * @param ctx     context
 * @param threads 1 to 1024
 * @return NVDP_ERR_ARGUMENT beyond that range */
nvdp_status nvdp_context_set_threads(struct nvdp_context *ctx, int threads);

/** The number of threads.
 * @param ctx context
 * @return 1 to 1024 */
int nvdp_context_threads(const struct nvdp_context *ctx);

/** The last failure's message.
 * @param ctx context
 * @return one line of at most 2047 bytes, "" if there was no failure; valid until the next call on
 *         the context */
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
