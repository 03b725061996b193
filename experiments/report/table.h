/* A table as text, before it takes a format. */
#ifndef NVDP_EXPERIMENTS_REPORT_TABLE_H
#define NVDP_EXPERIMENTS_REPORT_TABLE_H

#include "base/base.h"
#include <stdio.h>

struct nvdp__cell {
    char *text;
    bool strong; /* the best of its column */
};

/* A row with a heading has one cell, over all columns. */
struct nvdp__row {
    struct nvdp__cell *cell; /* [columns] */
    bool heading;
};

struct nvdp__column {
    char *name;  /* both lines: "RD max [nats]" */
    size_t head; /* bytes of the first line */
    bool number; /* right-aligned */
};

struct nvdp__table {
    struct nvdp_context *ctx;
    const char *name;  /* of its files: "table1" */
    const char *title; /* one line */
    struct nvdp__column *column;
    size_t columns, column_room;
    struct nvdp__row *row;
    size_t rows, row_room;
    size_t filled; /* cells of the last row */
    char **note;   /* below the table, in words */
    size_t notes, note_room;
    nvdp_status status; /* of building: the first failure */
};

/* Building: failures are kept in `status` and everything after them does nothing. */
struct nvdp__table nvdp__table_begin(struct nvdp_context *ctx, const char *name, const char *title);
/* `unit`, which may be "", stands below the name where there is room for two lines. */
void nvdp__table_column(struct nvdp__table *table, bool number, const char *name, const char *unit);
void nvdp__table_heading(struct nvdp__table *table, const char *text);
void nvdp__table_row(struct nvdp__table *table);
/* The next cell of the last row. */
void nvdp__table_cell(struct nvdp__table *table, const char *text);
void nvdp__table_strong(struct nvdp__table *table, size_t row, size_t column);
void nvdp__table_note(struct nvdp__table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nvdp__table_release(struct nvdp__table *table);

/* The formats; none checks its writes: the caller does so with ferror. */
void nvdp__table_text(const struct nvdp__table *table, FILE *to);
/* The same without notes, and one note. */
void nvdp__table_body(const struct nvdp__table *table, FILE *to);
void nvdp__table_put_note(const char *note, FILE *to);
/* Every row has the heading it stands under in its first column; no notes. */
void nvdp__table_csv(const struct nvdp__table *table, FILE *to);
void nvdp__table_markdown(const struct nvdp__table *table, FILE *to);
/* A table environment that compiles with or without booktabs. */
void nvdp__table_latex(const struct nvdp__table *table, FILE *to);
void nvdp__table_html(const struct nvdp__table *table, FILE *to);

#endif
