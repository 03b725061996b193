/* What tests share: where the reference data lies, tolerances, scratch directories. */
#ifndef NVDP_TESTS_SUPPORT_H
#define NVDP_TESTS_SUPPORT_H

#include "base/base.h"
#include <stddef.h>

/* A context with default threads (2 at most); fails the test when it cannot be made. */
struct nvdp_context *support_context(void);

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

/* |got - want| / max(|want|, floor) */
double support_relative(double got, double want, double floor);
/* norm(got - want) / norm(want) over n items; norm(got) where want is zero. */
double support_norm_error(size_t n, const float *got, const double *want);

/* Runs argv of the built `nvdp` program (args is a shell-quoted string), captures stdout and
 * stderr, returns the exit status.  Its cache is in the scratch directory.  *out and *err are
 * free()d by the caller; NULL to drop. */
int support_run(const char *args, char **out, char **err);

#endif
