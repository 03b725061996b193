/* Reads tables of any size in parts, with the same rows as reading the whole file. */
#include "text/task.h"

#include "base/file.h"
#include <stdlib.h>
#include <string.h>

/* Upper bound of a row: its last field begins within the limit and ends within another. */
enum { PIECE = 1 << 19, LONGEST_ROW = 2 * NVDP__LINE_LIMIT + 4 };

static bool is_quoted(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV || format == NVDP__TABLE_QUOTED_TSV;
}

nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *chunks) {
    *chunks = (struct nvdp__table_chunks){.ctx = ctx};
    chunks->tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .format = format};
    return nvdp__input_open(ctx, path, &chunks->input);
}

void nvdp__table_chunks_adopt(struct nvdp__lines *lines, enum nvdp__table_format format,
                              struct nvdp__table_chunks *chunks) {
    *chunks = (struct nvdp__table_chunks){.ctx = lines->ctx,
                                          .read = lines->read,
                                          .input = lines->input,
                                          .bytes = lines->buffer,
                                          .capacity = lines->capacity,
                                          .ended = lines->ended};
    chunks->tsv = (struct nvdp__tsv){.ctx = lines->ctx,
                                     .path = lines->path,
                                     .format = format,
                                     .at = lines->buffer + lines->used,
                                     .end = lines->buffer + lines->have};
    chunks->tsv.at += nvdp__byte_order_mark(chunks->tsv.at, lines->have - lines->used);
    *lines = (struct nvdp__lines){0};
}

void nvdp__table_chunks_close(struct nvdp__table_chunks *chunks) {
    nvdp__input_close(chunks->input);
    nvdp__tsv_release(&chunks->tsv);
    nvdp__pool_release(&chunks->names);
    free(chunks->bytes);
    *chunks = (struct nvdp__table_chunks){0};
}

nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *chunks, bool *more) {
    struct nvdp__tsv *tsv = &chunks->tsv;
    const size_t left = (size_t)(tsv->end - tsv->at);
    const bool first = chunks->bytes == NULL;
    nvdp__pool_release(&tsv->pool);
    if (left > 0) memmove(chunks->bytes, tsv->at, left);
    if (2 * left >= chunks->capacity)
        NVDP_TRY(nvdp__reserve(chunks->ctx, &chunks->bytes, &chunks->capacity,
                               left > 0 ? 2 * left : PIECE, 1));
    size_t have = left;
    while (!chunks->ended && have < chunks->capacity) {
        size_t count;
        NVDP_TRY(
            nvdp__input_read(chunks->input, chunks->capacity - have, chunks->bytes + have, &count));
        chunks->ended = count == 0;
        if (chunks->ended && !chunks->quiet) nvdp__input_log(chunks->input);
        chunks->read += count;
        have += count;
    }
    tsv->at = chunks->bytes;
    tsv->end = chunks->bytes + have;
    if (first) tsv->at += nvdp__byte_order_mark(chunks->bytes, have);
    *more = tsv->at < tsv->end;
    return NVDP_OK;
}

/* A row that ends at the end of the part may continue in the next part; an unfinished row may be
 * complete there. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *chunks, bool *row) {
    struct nvdp__tsv *tsv = &chunks->tsv;
    *row = false;
    if (!nvdp__tsv_more(tsv)) return NVDP_OK;
    const struct nvdp__tsv before = *tsv;
    const char *const start = tsv->at;
    const bool final = chunks->ended || tsv->end - start > LONGEST_ROW;
    const bool tried = !final && (is_quoted(tsv->format) || nvdp__tsv_in_array(tsv));
    if (!final && !tried && memchr(start, '\n', (size_t)(tsv->end - start)) == NULL) return NVDP_OK;
    tsv->ctx = tried || chunks->quiet ? NULL : chunks->ctx;
    nvdp_status status = nvdp__tsv_next(tsv);
    tsv->ctx = chunks->ctx;
    if (tried && status != NVDP_ERR_MEMORY && (status != NVDP_OK || tsv->at == tsv->end)) {
        tsv->at = start;
        tsv->line = before.line;
        tsv->more_lines = before.more_lines;
        tsv->quoted = before.quoted;
        tsv->needs_quotes = before.needs_quotes;
        tsv->array = before.array;
        tsv->closed = before.closed;
        tsv->header_is_row = before.header_is_row;
        return NVDP_OK;
    }
    NVDP_TRY(status);
    if (tsv->names != NULL && chunks->names.blocks == 0) { /* must outlive the part */
        chunks->names = tsv->pool;
        tsv->pool = (struct nvdp__pool){0};
    }
    chunks->row = tsv->format == NVDP__TABLE_JSONL
                      ? tsv->object
                      : (struct nvdp__field){start, (size_t)(tsv->at - start)};
    while (chunks->row.size > 0 && (chunks->row.text[chunks->row.size - 1] == '\n' ||
                                    chunks->row.text[chunks->row.size - 1] == '\r'))
        chunks->row.size--;
    *row = true;
    return NVDP_OK;
}

/* Like nvdp__tsv_is_quoted. */
static nvdp_status find_quotes(struct nvdp_context *ctx, const char *path, bool *quoted) {
    nvdp_status status = NVDP_OK;
    struct nvdp__table_chunks chunks = {0};
    struct nvdp__tsv *tsv = &chunks.tsv;
    bool more = true, row, names_quoted = false, sound = true;
    size_t columns = 0;
    NVDP_TRY_OR_CLEAN(nvdp__table_chunks_open(ctx, path, NVDP__TABLE_QUOTED_TSV, &chunks));
    chunks.quiet = true;
    while (sound && more) {
        NVDP_TRY_OR_CLEAN(nvdp__table_chunks_read(&chunks, &more));
        for (row = more; sound && row;) {
            status = nvdp__table_chunks_next(&chunks, &row);
            if (status == NVDP_ERR_MEMORY) goto cleanup;
            sound = status == NVDP_OK && (!row || columns == 0 || tsv->fields == columns);
            status = NVDP_OK;
            if (!row || !sound) continue;
            if (columns == 0) names_quoted = tsv->quoted;
            columns = tsv->fields;
            tsv->needs_quotes |= nvdp__tsv_needs_quotes(chunks.row.text, chunks.row.size, columns);
        }
    }
    *quoted = sound && (names_quoted || tsv->needs_quotes);
cleanup:
    nvdp__table_chunks_close(&chunks);
    return status;
}

nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format) {
    bool quoted = false;
    *format = NVDP__TABLE_TSV;
    if (layout->task.id != NVDP_TASK_TSV) return NVDP_OK;
    *format = nvdp__table_format_of(path);
    if (*format != NVDP__TABLE_TSV) return NVDP_OK;
    NVDP_TRY(find_quotes(ctx, path, &quoted));
    if (quoted) *format = NVDP__TABLE_QUOTED_TSV;
    if (quoted) nvdp__table_log_quotes(ctx, path);
    return NVDP_OK;
}
