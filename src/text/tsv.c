#include "text/tsv.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_ROOM = 64, LIST_ROOM = 512 };

void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv) {
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t size = sizeof mark - 1;
    size_t skip = count >= size && memcmp(bytes, mark, size) == 0 ? size : 0;
    *tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .at = bytes + skip, .end = bytes + count};
}

bool nvdp__tsv_more(const struct nvdp__tsv *tsv) {
    return tsv->at < tsv->end;
}

nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv) {
    const char *at = tsv->at;
    size_t left = (size_t)(tsv->end - at);
    const char *stop = memchr(at, '\n', left);
    tsv->at = stop != NULL ? stop + 1 : tsv->end;
    tsv->line++;
    tsv->fields = 0;
    if (stop == NULL) stop = tsv->end;
    if (stop > at && stop[-1] == '\r') stop--;
    if (stop - at > NVDP__LINE_LIMIT)
        return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected a line of at most %d bytes, found %td", tsv->path,
                          tsv->line, NVDP__LINE_LIMIT, stop - at);
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(stop - at));
        const char *end = tab != NULL ? tab : stop;
        NVDP_RETURN_IF_FAILED(nvdp__reserve(tsv->ctx, &tsv->field, &tsv->capacity, tsv->fields + 1,
                                            sizeof *tsv->field));
        tsv->field[tsv->fields++] = (struct nvdp__field){at, (size_t)(end - at)};
        if (tab == NULL) return NVDP_OK;
        at = tab + 1;
    }
}

void nvdp__tsv_release(struct nvdp__tsv *tsv) {
    free(tsv->field);
    *tsv = (struct nvdp__tsv){0};
}

bool nvdp__field_is(struct nvdp__field field, const char *text) {
    return field.size == strlen(text) && memcmp(field.text, text, field.size) == 0;
}

nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column) {
    size_t found = tsv->fields;
    for (size_t i = 0; i < tsv->fields; i++) {
        if (!nvdp__field_is(tsv->field[i], name)) continue;
        if (found < tsv->fields)
            return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected one column '%s', found it as %zu and %zu",
                              tsv->path, tsv->line, name, found + 1, i + 1);
        found = i;
    }
    *column = found;
    return NVDP_OK;
}

nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name) {
    char list[LIST_ROOM] = "";
    size_t used = 0;
    for (size_t i = 0; i < tsv->fields; i++) {
        struct nvdp__quote quote = nvdp__quote_field(tsv->field[i]);
        if (used + strlen(quote.text) + sizeof ", , ..." > sizeof list) {
            strcpy(list + used, ", ...");
            break;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 quote.text);
    }
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT, "%s:%zu: missing column '%s': found columns %s",
                      tsv->path, tsv->line, name, list);
}

bool nvdp__field_number(struct nvdp__field field, double *number) {
    char text[NUMBER_ROOM];
    if (field.size == 0 || field.size >= sizeof text) return false;
    memcpy(text, field.text, field.size);
    text[field.size] = '\0';
    /* Decimal digits only: strtod would also take spaces, hexadecimal, "inf" and "nan". */
    if (strspn(text, "0123456789+-.eE") != field.size) return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return false;
    char *end = NULL;
    double value = strtod_l(text, &end, plain);
    freelocale(plain);
    if (end != text + field.size || !isfinite(value)) return false;
    *number = value;
    return true;
}
