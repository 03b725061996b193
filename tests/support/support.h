/* Helpers for all tests: contexts, reference data, scratch directories, files, numbers. The result of a helper lives
 * until the test's process ends (support_keep). It includes the headers of C's library and of POSIX that most tests need. */
#ifndef NVDP_TESTS_SUPPORT_SUPPORT_H
#define NVDP_TESTS_SUPPORT_SUPPORT_H

#include "base/own.h"
#include "base/random.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <nvdp/config.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct nvdp__schema;

/* Returns a context with the default number of threads (at most 2), whose messages write options as the program does.
 * Fails the test if there is no context. */
struct nvdp_context *support_context(void);
/* Fails the test unless the call succeeds; prints the message of the thread's newest context that has one. */
#define ok(call) support_ok(call, #call, __FILE__, __LINE__)
void support_ok(nvdp_status status, const char *call, const char *file, int line);
/* Fails the test unless the call fails with this status and with a message that contains `words`. */
#define fails(call, status, words) support_fails(call, status, words, #call, __FILE__, __LINE__)
void support_fails(nvdp_status found, nvdp_status expected, const char *words, const char *call,
                   const char *file, int line);
/* Makes a context compute in bf16, even if the processor lacks the instructions. Skips the running test if bf16 is not
 * available at all. If ctx is NULL, only skips. */
void support_bf16(struct nvdp_context *ctx);

/* Returns the path of a file or folder of tests/golden (described in its README). */
const char *support_golden(const char *name);

/* Returns a path in the folder of texts and checkpoints that the repository cannot contain ($NVDP_SHARED, else
 * ../shared beside the source tree). Skips the running test with a message if the path is missing. */
const char *support_shared(const char *relative);
bool support_has_shared(const char *relative);

/* Returns a formatted text. */
const char *support_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns a text of JSON with double quotes in place of single quotes. A text with double quotes is returned
 * unchanged. */
const char *support_quoted(const char *text);
/* Returns a new scratch directory under the system's temporary directory, which is removed at exit. */
const char *support_scratch(void);
/* Returns the path of `name` in the scratch directory. */
const char *support_scratch_path(const char *name);
void support_write(const char *path, const void *bytes, size_t count);
void support_write_text(const char *path, const char *text);
/* Write a file, or a folder of files (given by names and texts), into the scratch directory. Return the path. */
const char *support_file(const char *name, const char *text);
#define support_folder(name, ...) support_folder_of(name, (const char *const[]){__VA_ARGS__, NULL})
const char *support_folder_of(const char *name, const char *const *files);
/* Return the content of a file, NUL-terminated, and the size of the content. */
char *support_read(const char *path);
size_t support_size(const char *path);

/* Sets a locale with a decimal comma, either an installed locale or a locale made by localedef. Skips the running test
 * if there is neither. */
void support_decimal_comma(void);

/* Returns whether two files of two directories have the same bytes. */
bool support_same_file(const char *directory_a, const char *directory_b, const char *name);

/* Fail the test if one of the parts is missing from the text, or, for the second macro, present in the text. */
#define support_contains(text, ...)                                                                \
    support_contains_all(text, (const char *const[]){__VA_ARGS__, NULL})
#define support_lacks(text, ...) support_lacks_all(text, (const char *const[]){__VA_ARGS__, NULL})
void support_contains_all(const char *text, const char *const *parts);
void support_lacks_all(const char *text, const char *const *parts);

/* Reads a file, or a text with single or double quotes. */
json_t *support_json(const char *path);
json_t *support_parsed(const char *text);
/* Fails the test unless the object has these values at these paths, such as "{'task': 'sst2', 'test/n': 40}". */
void support_has(const json_t *root, const char *members);
/* Reads a file of tests/golden. */
json_t *support_golden_json(const char *name);
/* Returns the value at a path of keys and indices, such as "bdp/rows/0"; NULL if there is none. */
json_t *support_at(const json_t *root, const char *path);
/* Return the number or integer at a path, 0 if there is none, or the text at a path, NULL if there is none. */
double number_at(const json_t *root, const char *path);
json_int_t integer_at(const json_t *root, const char *path);
const char *text_at(const json_t *root, const char *path);
/* Returns a number, which may be stored as text or "inf". */
double support_number(const json_t *value);
/* Returns an array of numbers. */
double *support_numbers(const json_t *array, size_t *count);

/* Return a result as text and as JSON in a view (include/nvdp/result.h), or the whole result if the view is NULL. */
const char *support_result_text(struct nvdp_context *ctx, const void *result, const char *view);
json_t *support_result_json(struct nvdp_context *ctx, const void *result, const char *view);

/* Returns a configuration with these options: names and values, then NULL. */
struct nvdp_config *support_config(struct nvdp_context *ctx, const char *kind, ...)
    __attribute__((sentinel));
/* Expect that a number differs from the wanted number by at most `tolerance` times the wanted number (agrees), or by at
 * most `tolerance` (near). Equal infinities pass. The message of a failure has both numbers, and the printf arguments
 * after the tolerance, which are optional. */
#define agrees(got, want, tolerance, ...)                                                          \
    support_agrees(got, want, tolerance, #got, __FILE__, __LINE__, " " __VA_ARGS__)
#define near(got, want, tolerance, ...)                                                            \
    support_near(got, want, tolerance, #got, __FILE__, __LINE__, " " __VA_ARGS__)
void support_agrees(double got, double want, double tolerance, const char *what, const char *file,
                    int line, const char *format, ...) __attribute__((format(printf, 7, 8)));
void support_near(double got, double want, double tolerance, const char *what, const char *file,
                  int line, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Sets options from a formatted text of names and values with spaces between them: "seeds 2 run PATH". */
void support_options(struct nvdp_context *ctx, struct nvdp_config *config, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets options, given as names and values, then NULL. A value of NULL restores the default. */
void support_set_all(struct nvdp_context *ctx, struct nvdp_config *config, ...)
    __attribute__((sentinel));
void support_set_list(struct nvdp_context *ctx, struct nvdp_config *config, va_list options);
/* Sets options of a plain struct from names and values, as support_options() does. */
void support_values(const struct nvdp__schema *schema, void *values, const char *options);
/* Set an option, which must succeed, or must be refused with a message that contains `part`. */
void support_set(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                 const char *value);
void support_refused(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                     const char *value, const char *part);

/* Returns the number of repetitions in the environment variable (`make long` sets it), else `usual`. */
size_t support_repeats(const char *variable, size_t usual);
/* Returns `usual`, or a quarter of it under sanitizers, which check memory and not statistics. */
size_t support_fewer(size_t usual);
/* Returns the random stream of a seed and a text number. Different text numbers have different streams. */
struct nvdp__stream support_stream(uint64_t seed, uint64_t text);
/* Returns a seed of random repetitions: the time if the environment variable is set, else 1. */
unsigned support_seed(const char *variable);

/* Makes a system call fail with `error` in this process from now on, if the argument has all bits of `bits`. */
void support_lose(int call, int argument, unsigned bits, int error);
/* Make every allocation of a repeated call fail in turn, until the call succeeds:
 *     uint64_t k = support_fail_first(ctx);
 *     while (support_failed(ctx, &k, call()))
 *         checks of a failure;
 * The loop ends after the first call without a failure, which is call number k. Fails the test if a call fails for
 * another reason. */
uint64_t support_fail_first(struct nvdp_context *ctx);
bool support_failed(struct nvdp_context *ctx, uint64_t *k, nvdp_status status);
/* Makes files without a name (O_TMPFILE) unavailable, as on a file system that lacks them. */
void support_lose_unnamed(void);

/* Returns |got - want| / max(|want|, floor). */
double support_relative(double got, double want, double floor);
/* Returns norm(got - want) / norm(want) over n items; norm(got) if want is zero. */
double support_norm_error(size_t n, const float *got, const double *want);

/* Keeps the memory of a helper's result until the test's process ends, and returns it. */
void *support_keep(void *memory);
/* Keeps the memory that a struct points to. The struct itself may end with its scope. */
#define support_keep_parts(object) support_keep_parts_of(&(object), sizeof(object))
void support_keep_parts_of(const void *object, size_t size);
/* Copies memory and keeps the copy until the test's process ends. */
void *support_keep_copy(const void *memory, size_t size);
/* Calls `function`, which frees the memory of a result, when the variable goes out of scope. */
#define FREED(function) __attribute__((cleanup(function)))

#endif
