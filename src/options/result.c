/* The list of result tables, and what programs and Python do with a table (nvdp/result.h). The engine is in
 * base/result.c. */
#include "options/result.h"

#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct nvdp_result_table *nvdp_result_table(size_t i) {
#define RESULT(name) &nvdp__result_##name,
    static const struct nvdp_result_table *const tables[] = {
#include "options/results.inc"
    };
#undef RESULT
    return i < sizeof tables / sizeof *tables ? tables[i] : NULL;
}

const struct nvdp_result_table *nvdp_result_table_find(const char *name) {
    const struct nvdp_result_table *table;
    for (size_t i = 0; (table = nvdp_result_table(i)) != NULL; i++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

void nvdp_result_line(struct nvdp_result_lines *to, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    nvdp__print_row_args((FILE *)to, name, format, args);
    va_end(args);
}

nvdp_status nvdp_result_json(struct nvdp_context *ctx, const void *result, const char *view,
                             char **out) {
    json_t *object = NULL;
    NVDP_TRY(nvdp__result_pack(ctx, result, view, &object));
    return nvdp__json_text(ctx, object, nvdp__result_kind(result)->name, out);
}

/* Prints the lines of a result whose kind has no function for its text. */
static void print_rows(const void *result, FILE *to) {
    nvdp__result_print(nvdp__result_kind(result)->rows, result, to);
}

nvdp_status nvdp_result_text(struct nvdp_context *ctx, const void *result, const char *view,
                             char **out) {
    const struct nvdp_result_kind *kind = nvdp__result_kind(result);
    const bool summary = view != NULL && strcmp(view, "summary") == 0;
    if (kind != NULL && kind->rows != NULL && kind->print == NULL && !summary)
        return nvdp__printed(ctx, print_rows, result, out);
    if (kind == NULL || (summary ? kind->summary : kind->print) == NULL)
        return nvdp__result_refuse(ctx, kind, summary ? "summary" : "text");
    return nvdp__printed(ctx, summary ? kind->summary : kind->print, result, out);
}

/* Frees the memory to which the pointer at `offset` of a result points, as a result if `is_result`, and sets the
 * pointer to NULL. */
static void free_member(void *result, size_t offset, bool is_result) {
    void *memory, *const none = NULL;
    memcpy(&memory, (char *)result + offset, sizeof memory);
    memcpy((char *)result + offset, &none, sizeof none);
    if (is_result) nvdp_result_free(memory);
    free(memory);
}

void nvdp_result_free(void *result) {
    const struct nvdp_result_kind *kind = nvdp__result_kind(result), *const none = NULL;
    if (kind == NULL) return;
    if (kind->release != NULL) kind->release(result);
    for (const size_t *at = kind->results; at != NULL && *at > 0; at++)
        free_member(result, *at, true);
    for (const size_t *at = kind->memory; at != NULL && *at > 0; at++)
        free_member(result, *at, false);
    memcpy((char *)result + offsetof(struct nvdp__result, kind), &none, sizeof none);
}
