#include "experiments/report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct nvdp__table nvdp__table_begin(struct nvdp_context *ctx, const char *name,
                                     const char *title) {
    return (struct nvdp__table){.ctx = ctx, .name = name, .title = title};
}

/* Makes room for one more; false after a failure. */
static bool grow(struct nvdp__table *table, void *array, size_t *room, size_t count, size_t size) {
    if (table->status == NVDP_OK)
        table->status = nvdp__reserve(table->ctx, array, room, count + 1, size);
    return table->status == NVDP_OK;
}

static char *copy(struct nvdp__table *table, const char *text) {
    char *made = nvdp__strdup(table->ctx, text);
    if (made == NULL) table->status = NVDP_ERR_MEMORY;
    return made;
}

void nvdp__table_column(struct nvdp__table *table, bool number, const char *name,
                        const char *unit) {
    if (!grow(table, &table->column, &table->column_room, table->columns, sizeof *table->column))
        return;
    char *text = nvdp__format(table->ctx, "%s%s%s", name, *unit != '\0' ? " " : "", unit);
    if (text == NULL) {
        table->status = NVDP_ERR_MEMORY;
        return;
    }
    table->column[table->columns++] =
        (struct nvdp__column){.name = text, .head = strlen(name), .number = number};
}

void nvdp__table_row(struct nvdp__table *table) {
    if (!grow(table, &table->row, &table->row_room, table->rows, sizeof *table->row)) return;
    struct nvdp__cell *cell = nvdp__calloc(table->ctx, table->columns + 1, sizeof *cell);
    if (cell == NULL) {
        table->status = NVDP_ERR_MEMORY;
        return;
    }
    table->row[table->rows++] = (struct nvdp__row){.cell = cell};
    table->filled = 0;
}

void nvdp__table_cell(struct nvdp__table *table, const char *text) {
    if (table->status != NVDP_OK || table->filled == table->columns) return;
    table->row[table->rows - 1].cell[table->filled++].text = copy(table, text);
}

void nvdp__table_heading(struct nvdp__table *table, const char *text) {
    nvdp__table_row(table);
    nvdp__table_cell(table, text);
    if (table->status == NVDP_OK) table->row[table->rows - 1].heading = true;
}

void nvdp__table_strong(struct nvdp__table *table, size_t row, size_t column) {
    if (table->status == NVDP_OK && row < table->rows && column < table->columns)
        table->row[row].cell[column].strong = true;
}

void nvdp__table_note(struct nvdp__table *table, const char *format, ...) {
    if (!grow(table, &table->note, &table->note_room, table->notes, sizeof *table->note)) return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        table->status = nvdp__fail(table->ctx, NVDP_ERR_MEMORY, "out of memory");
    } else {
        table->note[table->notes++] = text;
    }
}

void nvdp__table_release(struct nvdp__table *table) {
    for (size_t i = 0; i < table->rows; i++) {
        for (size_t k = 0; k < table->columns; k++) {
            free(table->row[i].cell[k].text);
        }
        free(table->row[i].cell);
    }
    for (size_t k = 0; k < table->columns; k++) {
        free(table->column[k].name);
    }
    for (size_t k = 0; k < table->notes; k++) {
        free(table->note[k]);
    }
    free(table->row);
    free(table->column);
    free(table->note);
    *table = (struct nvdp__table){0};
}
