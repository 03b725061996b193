/* The engine of result tables (nvdp/result.h): prints a struct as JSON and as lines, for the library and for
 * programs. */
#ifndef NVDP_SRC_BASE_RESULT_H
#define NVDP_SRC_BASE_RESULT_H

#include "base/base.h"

#include <jansson.h>
#include <nvdp/result.h>
#include <stdio.h>

/* The kind of a result. A result struct begins with its size and a pointer to its kind (struct nvdp__result). */
struct nvdp_result_kind {
    const char *name; /* name in messages */
    /* table of the numbers; NULL if `pack` writes the numbers, or if there are none */
    const struct nvdp_result_table *rows;
    /* Returns the JSON of the result; NULL if a string is not UTF-8 or memory is exhausted. If `pack` is NULL, the
     * rows give the JSON. */
    json_t *(*pack)(const void *result);
    void (*print)(const void *result, FILE *to); /* prints the text; NULL if the rows print it */
    /* prints the view "summary"; NULL if there is no such view */
    void (*summary)(const void *result, FILE *to);
    /* Releases the objects that the lists below do not contain, and is called before the lists are released. NULL if
     * there are no such objects. */
    void (*release)(void *result);
    /* offsets of pointers to owned results, then 0; NULL if there are none */
    const size_t *results;
    /* offsets of pointers to owned memory that has no owners inside, then 0; NULL if there are none */
    const size_t *memory;
};
struct nvdp__result {
    size_t struct_size;
    const struct nvdp_result_kind *kind;
};
/* Initializes a result whose kind is known. */
#define NVDP__RESULT(type, kind_)                                                                  \
    { .struct_size = sizeof(type), .kind = &(kind_) }
#define NVDP__OFFSETS(...)                                                                         \
    (const size_t[]) {                                                                             \
        __VA_ARGS__, 0                                                                             \
    }

/* Adds the keys of a view to an object. Returns the object. If the object is NULL, a number that must be finite is
 * not, or memory is exhausted, releases the object and returns NULL. */
json_t *nvdp__result_put(json_t *object, const struct nvdp_result_table *table, const char *view,
                         const void *result);
/* Returns the keys of a view as a new object, or NULL on failure. */
json_t *nvdp__result_json(const struct nvdp_result_table *table, const char *view,
                          const void *result);
/* Returns the kind that the library set when it filled the result; NULL if the result was not filled. */
const struct nvdp_result_kind *nvdp__result_kind(const void *result);
/* Sets *out to a new object with the JSON of a filled result. Fails in the same cases as nvdp_result_json(). */
nvdp_status nvdp__result_pack(struct nvdp_context *ctx, const void *result, const char *view,
                              json_t **out);
/* Fails for a result that has no JSON, text or summary; `what` names the missing form. */
nvdp_status nvdp__result_refuse(struct nvdp_context *ctx, const struct nvdp_result_kind *kind,
                                const char *what);
/* Prints the lines that nvdp_result_text() returns. */
void nvdp__result_print(const struct nvdp_result_table *table, const void *result, FILE *to);

#endif
