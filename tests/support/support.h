/* What tests share: where the reference data lies, scratch directories, files, numbers. */
#ifndef NVDP_TESTS_SUPPORT_SUPPORT_H
#define NVDP_TESTS_SUPPORT_SUPPORT_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/config.h>
#include <stddef.h>

/* A context with default threads (2 at most), whose messages name options as the program does; fails the test when it cannot
 * be made. */
struct nvdp_context *support_context(void);
/* Contexts that are told so compute in bf16 also where the processor lacks its instructions; skips
 * the running test where even that is not to be had.  ctx NULL: only skips. */
void support_bf16(struct nvdp_context *ctx);

/* Path of a file or folder of tests/golden (its README says what they are). */
const char *support_golden(const char *name);

/* Path of texts and checkpoints that the repository cannot hold ($NVDP_SHARED, else ../shared
 * beside the source tree).
 * Skips the running test with a message where it is missing.  Static buffer ring of 64. */
const char *support_shared(const char *relative);
bool support_has_shared(const char *relative);

/* A fresh scratch directory under the system's temporary directory; removed at exit. */
const char *support_scratch(void);
/* Path of `name` in the scratch directory (static ring of 64). */
const char *support_scratch_path(const char *name);
void support_write(const char *path, const void *bytes, size_t count);
void support_write_text(const char *path, const char *text);
/* The whole file, NUL-terminated; free(). */
char *support_read(const char *path);

/* Sets a locale with a decimal comma, an installed one or one that localedef makes here; skips the
 * running test where there is neither. */
void support_decimal_comma(void);

/* Whether two files of two directories have the same bytes. */
bool support_same_file(const char *directory_a, const char *directory_b, const char *name);

/* Fails the test where `part` is not (is) in the text. */
void support_contains(const char *text, const char *part);
void support_lacks(const char *text, const char *part);

/* A file of tests/golden; json_decref(). */
json_t *support_golden_json(const char *name);
/* A number, also as text, or "inf". */
double support_number(const json_t *value);
/* An array of numbers; free(). */
double *support_numbers(const json_t *array, size_t *count);

/* Gives an option its value; it must fit, or must be refused with a message that holds `part`. */
void support_set(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                 const char *value);
void support_refused(struct nvdp_context *ctx, struct nvdp_config *config, const char *name,
                     const char *value, const char *part);

/* |got - want| / max(|want|, floor) */
double support_relative(double got, double want, double floor);
/* norm(got - want) / norm(want) over n items; norm(got) where want is zero. */
double support_norm_error(size_t n, const float *got, const double *want);

#endif
