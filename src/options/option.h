/* One option, which a row tells: its value from text and from JSON, and as both.  Beneath schema.c, which fills structs, and
 * config.c. */
#ifndef NVDP_SRC_OPTIONS_OPTION_H
#define NVDP_SRC_OPTIONS_OPTION_H

#include "options/schema.h"

enum { NVDP__NUMBER_SIZE = 32, NVDP__EXPECTED_SIZE = 512, NVDP__REAL_DIGITS = 17 };

/* A value of any type. */
union nvdp__value {
    bool flag;
    int whole;
    size_t size;
    uint64_t seed;
    double real;
    const char *text;
};

bool nvdp__option_is_text(const struct nvdp_option *row);
/* '_' counts as '-'. */
bool nvdp__option_same(const char *name, const char *given);
/* The row's key in files: its own, or the name with '_' for '-'. */
void nvdp__option_key(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]);
/* Bytes of a value: the row's where it fills a struct. */
size_t nvdp__option_width(const struct nvdp_option *row);
/* The type's zero where the row tells no default. */
union nvdp__value nvdp__option_default(const struct nvdp_option *row);
union nvdp__value nvdp__option_at(const struct nvdp_option *row, const void *at);

/* The value that `text` says; false where it says none. */
bool nvdp__option_parse(const struct nvdp_option *row, const char *text, union nvdp__value *value);
/* What that takes, for messages; `separator` stands between choices. */
const char *nvdp__option_expected(const struct nvdp_option *row, const char *separator,
                                  char text[NVDP__EXPECTED_SIZE]);
/* Its range.  `prefix` (NULL: none) stands before the message: the file that says so. */
nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value);
/* Numbers in as few digits as give the same bits again. */
const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_SIZE]);

json_t *nvdp__option_json(const struct nvdp_option *row, const union nvdp__value *value);
/* Whether a file's value can be one of the row's; `status` is for messages. */
nvdp_status nvdp__option_check_json(struct nvdp_context *ctx, nvdp_status status, const char *path,
                                    const char *key, const struct nvdp_option *row,
                                    const json_t *value);
nvdp_status nvdp__option_read(struct nvdp_context *ctx, const char *path, const json_t *member,
                              const struct nvdp__place *place, void *to);
/* The text that would stand on the command line; where `list`, a single string is one item,
 * whatever commas it has.  NULL: out of memory. */
char *nvdp__option_text(const json_t *value, bool list);
const char *nvdp__json_type(const json_t *value); /* "a number" */

#endif
