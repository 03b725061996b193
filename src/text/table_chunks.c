/* Tables of any size, piece by piece: the rows that reading the whole file would give. */
#include "text/task.h"

#include "base/file.h"
#include <stdlib.h>
#include <string.h>

/* No row is longer: the last of its fields begins within the limit, and ends within another. */
enum { PIECE = 1 << 19, LONGEST_ROW = 2 * NVDP__LINE_LIMIT + 4 };

static bool is_quoted(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV || format == NVDP__TABLE_QUOTED_TSV;
}

nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *pieces) {
    *pieces = (struct nvdp__table_chunks){.ctx = ctx};
    pieces->tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .format = format};
    return nvdp__input_open(ctx, path, &pieces->input);
}

void nvdp__table_chunks_close(struct nvdp__table_chunks *pieces) {
    nvdp__input_close(pieces->input);
    nvdp__tsv_release(&pieces->tsv);
    nvdp__pool_release(&pieces->names);
    free(pieces->bytes);
    *pieces = (struct nvdp__table_chunks){0};
}

nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *pieces, bool *more) {
    struct nvdp__tsv *tsv = &pieces->tsv;
    const size_t left = (size_t)(tsv->end - tsv->at);
    const bool first = pieces->bytes == NULL;
    nvdp__pool_release(&tsv->pool);
    if (left > 0) memmove(pieces->bytes, tsv->at, left);
    if (2 * left >= pieces->capacity)
        NVDP_RETURN_IF_FAILED(nvdp__reserve(pieces->ctx, &pieces->bytes, &pieces->capacity,
                                            left > 0 ? 2 * left : PIECE, 1));
    size_t have = left;
    while (!pieces->ended && have < pieces->capacity) {
        size_t count;
        NVDP_RETURN_IF_FAILED(
            nvdp__input_read(pieces->input, pieces->capacity - have, pieces->bytes + have, &count));
        pieces->ended = count == 0;
        pieces->read += count;
        have += count;
    }
    tsv->at = pieces->bytes;
    tsv->end = pieces->bytes + have;
    if (first) tsv->at += nvdp__byte_order_mark(pieces->bytes, have);
    *more = tsv->at < tsv->end;
    return NVDP_OK;
}

/* A row that ends where the piece does may go on in the next one, and one that does not end may be whole there. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *pieces, bool *row) {
    struct nvdp__tsv *tsv = &pieces->tsv;
    *row = false;
    if (!nvdp__tsv_more(tsv)) return NVDP_OK;
    const char *const start = tsv->at;
    const size_t line = tsv->line, more_lines = tsv->more_lines;
    const bool quoted = tsv->quoted, needs_quotes = tsv->needs_quotes;
    const bool final = pieces->ended || tsv->end - start > LONGEST_ROW;
    const bool tried = !final && is_quoted(tsv->format);
    if (!final && !tried && memchr(start, '\n', (size_t)(tsv->end - start)) == NULL) return NVDP_OK;
    tsv->ctx = tried || pieces->quiet ? NULL : pieces->ctx;
    nvdp_status status = nvdp__tsv_next(tsv);
    tsv->ctx = pieces->ctx;
    if (tried && status != NVDP_ERR_MEMORY && (status != NVDP_OK || tsv->at == tsv->end)) {
        tsv->at = start;
        tsv->line = line;
        tsv->more_lines = more_lines;
        tsv->quoted = quoted;
        tsv->needs_quotes = needs_quotes;
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(status);
    if (tsv->names != NULL && pieces->names.blocks == 0) { /* longer than a piece */
        pieces->names = tsv->pool;
        tsv->pool = (struct nvdp__pool){0};
    }
    pieces->row = (struct nvdp__field){start, (size_t)(tsv->at - start)};
    while (pieces->row.size > 0 &&
           (start[pieces->row.size - 1] == '\n' || start[pieces->row.size - 1] == '\r'))
        pieces->row.size--;
    *row = true;
    return NVDP_OK;
}

/* As nvdp__tsv_is_quoted. */
static nvdp_status find_quotes(struct nvdp_context *ctx, const char *path, bool *quoted) {
    nvdp_status status = NVDP_OK;
    struct nvdp__table_chunks pieces = {0};
    const struct nvdp__tsv *tsv = &pieces.tsv;
    bool more = true, row, told = false, sound = true;
    size_t columns = 0;
    NVDP_TRY(nvdp__table_chunks_open(ctx, path, NVDP__TABLE_QUOTED_TSV, &pieces));
    pieces.quiet = true;
    while (sound && more) {
        NVDP_TRY(nvdp__table_chunks_read(&pieces, &more));
        for (row = more; sound && row;) {
            status = nvdp__table_chunks_next(&pieces, &row);
            if (status == NVDP_ERR_MEMORY) goto cleanup;
            sound = status == NVDP_OK && (!row || columns == 0 || tsv->fields == columns);
            status = NVDP_OK;
            if (!row || !sound) continue;
            if (columns == 0) told = tsv->quoted;
            columns = tsv->fields;
        }
    }
    *quoted = sound && (told || tsv->needs_quotes);
cleanup:
    nvdp__table_chunks_close(&pieces);
    return status;
}

nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format) {
    bool quoted = false;
    *format = NVDP__TABLE_TSV;
    if (layout->task.id != NVDP_TASK_TSV) return NVDP_OK;
    *format = nvdp__table_format_of(path);
    if (*format != NVDP__TABLE_TSV) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(find_quotes(ctx, path, &quoted));
    if (quoted) *format = NVDP__TABLE_QUOTED_TSV;
    if (quoted) nvdp__table_tell_quotes(ctx, path);
    return NVDP_OK;
}
