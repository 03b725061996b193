/** @file context.h
 * The context: callbacks and number of threads.
 *
 * The library never prints and never exits. Messages, progress and cancel requests pass through the callbacks
 * installed here. One calling thread at a time uses a context. Worker threads of the library run only during a call.
 * The calling thread runs the callbacks.
 *
 * After fork(), the child must call the library from a new thread. GNU's OpenMP keeps the workers of the forking
 * thread, but fork() does not copy these workers, so a call from the forked thread would wait for them forever.
 *
 * A program that handles signals must use an alternate stack (sigaltstack, SA_ONSTACK), or block signals in threads
 * that call the library. Inside some products, oneDNN (at least up to 3.11) points its stack register into the heap,
 * where the stack frame of a handler would overwrite memory.
 *
 * Numbers in options, files and messages have a decimal point, whatever the caller's locale.
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

/** Severity of a message. */
enum nvdp_log_level {
    NVDP_LOG_DEBUG, /**< for developers of the library */
    NVDP_LOG_INFO,  /**< current activity */
    /** Information for the user: an initialized head, an unknown tensor. */
    NVDP_LOG_NOTICE,
    NVDP_LOG_WARNING /**< a possible problem of the result */
};

/** Notation of options in messages. */
enum nvdp_option_style {
    NVDP_OPTION_STYLE_NAME,  /**< `max_pairs`: a key of JSON, an argument in Python */
    NVDP_OPTION_STYLE_DASHES /**< `--max-pairs`: as on a command line */
};

/** Progress of a long computation. */
struct nvdp_progress {
    const char *phase;      /**< "train", "encode", "pairs", ... */
    uint64_t done;          /**< finished amount, in `unit` */
    uint64_t total;         /**< total amount; 0 if unknown */
    const char *unit;       /**< unit of done and total: "step", "text", "pair" */
    double rate;            /**< items of rate_unit per second, since the start */
    const char *rate_unit;  /**< "token", "text", "pair", ... */
    double loss;            /**< loss of the last step; NaN if there is none */
    double accuracy;        /**< top-1 accuracy; NaN if there is none */
    double elapsed_seconds; /**< seconds since the start */
    double eta_seconds;     /**< seconds until the end, at the current rate; NaN if unknown */
    bool finished;          /**< last report of the phase */
};

/** Receives a message.
 * @param level   severity
 * @param message one line, valid during the call
 * @param user    as installed */
typedef void (*nvdp_log_fn)(enum nvdp_log_level level, const char *message, void *user);

/** Receives a report, at most ten times per second and once at the end of a phase.
 * @param progress valid during the call
 * @param user     as installed */
typedef void (*nvdp_progress_fn)(const struct nvdp_progress *progress, void *user);

/** Returns whether to stop. The library calls this function between steps, batches or files.
 * @param user as installed
 * @return true to stop: resumable state is saved, and the call returns NVDP_ERR_CANCELLED */
typedef bool (*nvdp_cancel_fn)(void *user);

/** Receives output in parts.
 * @param text not terminated
 * @param size size in bytes
 * @param user pointer that the caller passed with the function
 * @return false if the text could not be written: the calling function then returns NVDP_ERR_IO */
typedef bool (*nvdp_write_fn)(const char *text, size_t size, void *user);

/** Creates a context without callbacks, with as many threads as available processors.
 * @param[out] out the context, freed with nvdp_context_free()
 * @return NVDP_ERR_MEMORY; NVDP_ERR_ARGUMENT if @p out is NULL; NVDP_ERR_UNSUPPORTED if libsodium finds no source of
 *         randomness */
nvdp_status nvdp_context_create(struct nvdp_context **out);

/** Frees a context. Free the objects that were created with it first.
 * @param ctx may be NULL */
void nvdp_context_free(struct nvdp_context *ctx);

/** Sets the callback for messages; replaces the previous one.
 * @param ctx  context
 * @param fn   NULL: messages are dropped
 * @param user passed to @p fn */
void nvdp_context_set_log(struct nvdp_context *ctx, nvdp_log_fn fn, void *user);

/** Sets the callback for progress; replaces the previous one.
 * @param ctx  context
 * @param fn   NULL: reports are dropped
 * @param user passed to @p fn */
void nvdp_context_set_progress(struct nvdp_context *ctx, nvdp_progress_fn fn, void *user);

/** Sets the callback for cancel requests; replaces the previous one.
 * @param ctx  context
 * @param fn   NULL: never cancel
 * @param user passed to @p fn */
void nvdp_context_set_cancel(struct nvdp_context *ctx, nvdp_cancel_fn fn, void *user);

/** Sets the notation of options in messages: in errors and in the messages of the log callback. nvdp_config_set() takes
 * a name in either notation, but without the two leading dashes.
 * @param ctx   context
 * @param style NVDP_OPTION_STYLE_NAME in a new context */
void nvdp_context_set_option_style(struct nvdp_context *ctx, enum nvdp_option_style style);

/** Returns the notation of options in messages.
 * @param ctx context; NULL for the notation of a new context
 * @return the style */
enum nvdp_option_style nvdp_context_option_style(const struct nvdp_context *ctx);

/** Sets the number of threads of loops and matrix products. Another number can change the order of sums, and so the
 * last bits of results. The OpenMP setting of the calling thread is changed during a product, and restored after
 * it.
 * @param ctx     context
 * @param threads 1 to 1024
 * @return NVDP_ERR_ARGUMENT outside of that range */
nvdp_status nvdp_context_set_threads(struct nvdp_context *ctx, int threads);

/** Returns the number of threads.
 * @param ctx context
 * @return 1 to 1024 */
int nvdp_context_threads(const struct nvdp_context *ctx);

/** Returns the message of the last failure.
 * @param ctx context
 * @return one line of at most 2047 bytes, "" without a failure; valid until the next call on the context */
const char *nvdp_context_error(const struct nvdp_context *ctx);

/** Returns the option that the caller used wrongly, if the message of the last failure begins with "option NAME".
 * @param ctx context
 * @return the name, such as "max-pairs", valid until the next call on the context; NULL if there is none */
const char *nvdp_context_wrong_option(const struct nvdp_context *ctx);

/** @name For a program's own work
 * A program that does long work between calls of the library can report through the same context, so that the user
 * sees one interface. In all of these functions, @p ctx may be NULL: nothing happens.
 * @{ */
/** Records an error message, as the library's functions do before they return.
 * @param ctx     context
 * @param message one line; control characters are replaced, and the line is cut at 2047 bytes */
void nvdp_context_set_error(struct nvdp_context *ctx, const char *message);
/** Sends a message to the log callback.
 * @param ctx     context
 * @param level   severity
 * @param message one line; control characters are replaced, and the line is cut at 2047 bytes */
void nvdp_context_log(struct nvdp_context *ctx, enum nvdp_log_level level, const char *message);
/** Sends a report to the progress callback.
 * @param ctx      context
 * @param progress read only during the call */
void nvdp_context_report(struct nvdp_context *ctx, const struct nvdp_progress *progress);
/** Calls the cancel callback.
 * @param ctx context
 * @return true to stop; false without a callback */
bool nvdp_context_cancelled(struct nvdp_context *ctx);
/** Returns the installed cancel callback, for callers that replace it temporarily.
 * @param ctx       context, not NULL
 * @param[out] fn   the callback, or NULL
 * @param[out] user argument of the callback */
void nvdp_context_get_cancel(const struct nvdp_context *ctx, nvdp_cancel_fn *fn, void **user);
/** @} */

NVDP_END_DECLS
#endif
