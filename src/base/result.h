/* The engine of result tables (nvdp/result.h): a struct as JSON and as lines, for the library and for programs. */
#ifndef NVDP_SRC_BASE_RESULT_H
#define NVDP_SRC_BASE_RESULT_H

#include "base/base.h"

#include <jansson.h>
#include <nvdp/result.h>
#include <stdio.h>

/* The kind of a result. Its struct begins with its size and a pointer to its kind (struct nvdp__result). */
struct nvdp_result_kind {
    const char *name;                     /* in messages */
    const struct nvdp_result_table *rows; /* its numbers; NULL: none, or `pack` writes them */
    /* Returns the JSON of the result, or NULL for a text that is not UTF-8 or without memory. NULL: the rows. */
    json_t *(*pack)(const void *result);
    void (*print)(const void *result, FILE *to);   /* prints the text; NULL: the rows print it */
    void (*summary)(const void *result, FILE *to); /* prints the view "summary"; NULL: none */
    /* Frees what the lists below do not name, before them. NULL: nothing */
    void (*release)(void *result);
    const size_t *results; /* offsets of pointers to owned results, then 0; NULL: none */
    const size_t
        *memory; /* offsets of pointers to owned memory without owners, then 0; NULL: none */
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

/* Adds the keys of a view to an object.  Returns the object, or NULL after releasing it if it is NULL, a number that must be
 * finite is not, or memory is short. */
json_t *nvdp__result_put(json_t *object, const struct nvdp_result_table *table, const char *view,
                         const void *result);
/* Returns the keys of a view as a new object, or NULL on failure. */
json_t *nvdp__result_json(const struct nvdp_result_table *table, const char *view,
                          const void *result);
/* Returns the kind that the library has set when it filled the result; NULL if it has not. */
const struct nvdp_result_kind *nvdp__result_kind(const void *result);
/* Sets *out to a new object with the JSON of a filled result. Fails as nvdp_result_json(). */
nvdp_status nvdp__result_pack(struct nvdp_context *ctx, const void *result, const char *view,
                              json_t **out);
/* Refuses a result that has no JSON, text or summary, which `what` names. */
nvdp_status nvdp__result_refuse(struct nvdp_context *ctx, const struct nvdp_result_kind *kind,
                                const char *what);
/* Prints the lines of nvdp_result_text(). */
void nvdp__result_print(const struct nvdp_result_table *table, const void *result, FILE *to);

#endif
