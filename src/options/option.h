/* One option, described by a row: its value from text and from JSON, and as both.  schema.c, which fills structs,
 * and config.c use it. */
#ifndef NVDP_SRC_OPTIONS_OPTION_H
#define NVDP_SRC_OPTIONS_OPTION_H

#include "options/schema.h"

enum { NVDP__NUMBER_SIZE = NVDP__NUMBER_TEXT, NVDP__EXPECTED_SIZE = 512 };

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
/* Treats '_' and '-' as equal. */
bool nvdp__option_same(const char *name, const char *given);
/* Returns the row's key in files: its own, or the name with '_' for '-'. */
void nvdp__option_key(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]);
/* Returns the size of a value: that of the row if it fills a struct. */
size_t nvdp__option_width(const struct nvdp_option *row);
/* Returns the default, or the zero of the type if the row has none. */
union nvdp__value nvdp__option_default(const struct nvdp_option *row);
union nvdp__value nvdp__option_at(const struct nvdp_option *row, const void *at);

/* Parses `text`.  Returns false if it is not a valid value. */
bool nvdp__option_parse(const struct nvdp_option *row, const char *text, union nvdp__value *value);
/* Describes the valid values, for messages.  `separator` is put between choices. */
const char *nvdp__option_expected(const struct nvdp_option *row, const char *separator,
                                  char text[NVDP__EXPECTED_SIZE]);
/* Checks the range.  `prefix` (NULL: none) precedes the message: the file that has the value. */
nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value);
/* Formats numbers in the fewest digits that restore the same bits. */
const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_SIZE]);

json_t *nvdp__option_json(const struct nvdp_option *row, const union nvdp__value *value);
/* Checks that a value in a file can be one of the row's.  `status` is the status of a failure. */
nvdp_status nvdp__option_check_json(struct nvdp_context *ctx, nvdp_status status, const char *path,
                                    const char *key, const struct nvdp_option *row,
                                    const json_t *value);
nvdp_status nvdp__option_read(struct nvdp_context *ctx, const char *path, const json_t *member,
                              const struct nvdp__place *place, void *to);
/* Returns the text as it would be on the command line.  With `list`, a single string is one item, whatever commas it
 * has. NULL: out of memory. */
char *nvdp__option_text(const json_t *value, bool list);
const char *nvdp__json_type(const json_t *value); /* for example "a number" */

#endif
