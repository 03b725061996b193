/* JSON through jansson; errors name the file and the key. */
#ifndef NVDP_SRC_BASE_JSON_H
#define NVDP_SRC_BASE_JSON_H

#include "base/base.h"
#include "base/file.h"
#include <jansson.h>

/* Reads one object; a message about a syntax error names file and line. */
nvdp_status nvdp__json_read(struct nvdp_context *ctx, const char *path, json_t **out);
/* Reads one array in the same way. */
nvdp_status nvdp__json_read_array(struct nvdp_context *ctx, const char *path, json_t **out);
/* Reads DIRECTORY/name; *out stays NULL if the file does not exist. */
nvdp_status nvdp__json_read_optional(struct nvdp_context *ctx, const char *directory,
                                     const char *name, json_t **out);
/* Writes atomically, indented, with 17 digits for real numbers. */
nvdp_status nvdp__json_write(struct nvdp_context *ctx, const char *path, const json_t *value);
/* Writes the same text to *out, which the caller frees with free(), and releases the value. If value is NULL, fails
 * with "WHAT: out of memory". */
nvdp_status nvdp__json_text(struct nvdp_context *ctx, json_t *value, const char *what, char **out);
/* Parses a text of the public interface and frees the text. Returns NULL if memory is exhausted or the text is NULL. */
json_t *nvdp__json_taken(char *text);
/* Writes to an open output, without committing it. */
nvdp_status nvdp__json_put(struct nvdp__output *out, const json_t *value);

/* Read members of `object`, which was read from `path` (for messages). A missing or null key gives `fallback`; the
 * `_required` forms fail. A value of the wrong type or outside [min, max] fails with NVDP_ERR_INPUT. */
nvdp_status nvdp__json_int(struct nvdp_context *ctx, const char *path, const json_t *object,
                           const char *key, int64_t fallback, int64_t min, int64_t max,
                           int64_t *out);
nvdp_status nvdp__json_int_required(struct nvdp_context *ctx, const char *path,
                                    const json_t *object, const char *key, int64_t min, int64_t max,
                                    int64_t *out);
nvdp_status nvdp__json_real(struct nvdp_context *ctx, const char *path, const json_t *object,
                            const char *key, double fallback, double min, double max, double *out);
nvdp_status nvdp__json_bool(struct nvdp_context *ctx, const char *path, const json_t *object,
                            const char *key, bool fallback, bool *out);
/* The string is owned by `object`. */
nvdp_status nvdp__json_string(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const char *key, const char *fallback, const char **out);
/* Returns a finite number, or one of the strings "inf", "-inf" and "nan", because JSON has no infinities. */
json_t *nvdp__json_number(double value);
/* Returns the same as nvdp__json_number(), but null for NaN, which means that the value does not exist. */
json_t *nvdp__json_known(double value);
/* Returns a finite number as JSON, else null. */
json_t *nvdp__json_finite(double value);
/* Writes the current time, or $SOURCE_DATE_EPOCH, in UTC. Fails with NVDP_ERR_ARGUMENT if the variable is no time;
 * `out` is then the current time. */
nvdp_status nvdp__creation_date(struct nvdp_context *ctx, char out[32]);
/* Returns the current time in UTC, in ISO 8601. */
json_t *nvdp__now_json(void);

#endif
