/* Writes releases as Parquet: one table with a row per vector, in row groups of a few MB.
 *
 * The order of this file: columns, values, row groups, the end of the file, the row for the table of formats. */
#include "share/parquet.h"
#include "base/own.h"

#include <math.h>
#include <stdlib.h>

/* --- the columns --- */

enum { GROUP_VALUES = 1 << 21 };

const struct nvdp__parquet_column nvdp__parquet_columns[] = {
    {"text", NVDP__INT64, 8},  {"sample", NVDP__INT32, 4}, {"row", NVDP__INT32, 4},
    {"pi", NVDP__DOUBLE, 8},   {"z", NVDP__FLOAT, 4},      {"id", NVDP__INT64, 8},
    {"split", NVDP__INT32, 4}, {"label", NVDP__FLOAT, 4}};

static nvdp_status put_bytes(void *user, uint64_t at, size_t count, const void *bytes) {
    return nvdp__release_put(user, at, count, bytes);
}

static nvdp_status open_table(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp_context *ctx = release->ctx;
    struct nvdp__parquet *table = release->of;
    for (enum nvdp__of of = NVDP__OF_TEXT; of < NVDP__OFS; of++)
        if (of >= NVDP__OF_ID ? release->column[of - NVDP__OF_ID] != NULL
                              : of != NVDP__OF_PI || shape->weights)
            table->column[table->columns++] = of;
    for (size_t c = 0; c < table->columns; c++) {
        const struct nvdp__parquet_column *column = &nvdp__parquet_columns[table->column[c]];
        table->field[c] = (struct nvdp__parquet_field){column->name, column->type,
                                                       table->column[c] == NVDP__OF_Z};
    }
    table->group_rows = shape->dim < GROUP_VALUES ? GROUP_VALUES / shape->dim : 1;
    if (table->group_rows > shape->rows && shape->rows > 0) table->group_rows = shape->rows;
    table->groups = (shape->rows + table->group_rows - 1) / table->group_rows;
    struct nvdp__parquet_table *to = &table->table;
    *to = (struct nvdp__parquet_table){.ctx = ctx,
                                       .put = put_bytes,
                                       .user = release,
                                       .field = table->field,
                                       .columns = table->columns,
                                       .groups = table->groups,
                                       .rows = shape->rows};
    NVDP_TRY(NVDP__ARRAYS(ctx, &table->memory,
                          NVDP__ITEMS(to->chunk, table->groups * table->columns),
                          NVDP__ITEMS(table->sample, table->group_rows),
                          {&table->z, table->group_rows * shape->dim, sizeof(float)},
                          {&table->log_pi, table->group_rows, sizeof(float)}));
    return nvdp__parquet_begin(to);
}

/* --- values of the columns --- */

/* Writes a per-text column, or the text, sample or row index of every row. */
static void put_place(struct nvdp__release *release, struct nvdp__parquet *table,
                      enum nvdp__of of) {
    const size_t samples = release->shape.samples, size = nvdp__parquet_columns[of].size;
    const char *values = of >= NVDP__OF_ID ? release->column[of - NVDP__OF_ID] : NULL;
    for (size_t r = 0; r < table->rows; r++) {
        const int64_t k = table->sample[r], text = k / (int64_t)samples,
                      sample = k % (int64_t)samples;
        const int64_t row = (int64_t)(table->first + r) - release->offset[k];
        const int64_t value = of == NVDP__OF_TEXT ? text : of == NVDP__OF_SAMPLE ? sample : row;
        /* little-endian: the first bytes are the narrower number */
        nvdp__parquet_put(&table->table.body, size,
                          values != NULL ? values + (size_t)text * size : (const char *)&value);
    }
}

static void put_weights(struct nvdp__release *release, struct nvdp__parquet *table) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const bool f16 = shape->grid == NVDP__H5_F16;
    for (size_t r = 0; r < table->rows; r++) {
        const double stored =
            f16 ? ((const float *)table->log_pi)[r] : ((const int32_t *)table->log_pi)[r];
        const double log_pi = f16 ? stored : ldexp(stored, shape->log_pi_exponent);
        const double pi = (double)expl(log_pi); /* the same on every processor */
        nvdp__parquet_put(&table->table.body, sizeof pi, &pi);
        if (!(pi > 0 && nvdp__parquet_log_pi(shape, pi) == stored)) release->lossy = true;
    }
}

static void put_vectors(struct nvdp__release *release, struct nvdp__parquet *table) {
    enum { BUFFER = 1024 };
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t n = table->rows * shape->dim;
    const double step = ldexp(1, shape->z_exponent);
    float buffer[BUFFER];
    nvdp__parquet_lists(&table->table, table->rows, shape->dim);
    if (shape->grid == NVDP__H5_F16) {
        nvdp__parquet_put(&table->table.body, n * sizeof(float), table->z);
        return;
    }
    for (size_t first = 0; first < n; first += BUFFER) {
        const size_t count = nvdp__min(n - first, BUFFER);
        const int32_t *steps = (const int32_t *)table->z + first;
        for (size_t i = 0; i < count; i++) {
            const double value = steps[i] * step; /* exact */
            buffer[i] = (float)value;
            if (buffer[i] != value) release->lossy = true;
        }
        nvdp__parquet_put(&table->table.body, count * sizeof(float), buffer);
    }
}

/* --- row groups --- */

/* Writes the buffered rows as one row group. */
static nvdp_status write_group(struct nvdp__release *release) {
    struct nvdp__parquet *table = release->of;
    table->table.user = release;
    for (size_t r = 0; r < table->rows; r++) {
        while ((int64_t)(table->first + r) >= release->offset[table->next + 1]) {
            ++table->next;
        }
        table->sample[r] = table->next;
    }
    for (size_t c = 0; c < table->columns; c++) {
        const enum nvdp__of of = table->column[c];
        const size_t values = table->rows * (of == NVDP__OF_Z ? release->shape.dim : 1);
        if (of == NVDP__OF_Z)
            put_vectors(release, table);
        else if (of == NVDP__OF_PI)
            put_weights(release, table);
        else
            put_place(release, table, of);
        NVDP_TRY(nvdp__parquet_page(&table->table, table->group, c, table->rows, values));
    }
    table->group++;
    table->first += table->rows;
    table->rows = 0;
    return NVDP_OK;
}

static nvdp_status append(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi) {
    struct nvdp__parquet *table = release->of;
    const size_t vector = release->shape.dim * sizeof(float); /* float or int32_t */
    (void)first;
    for (size_t done = 0; done < rows;) {
        const size_t n = nvdp__min(rows - done, table->group_rows - table->rows);
        memcpy((char *)table->z + table->rows * vector, (const char *)z + done * vector,
               n * vector);
        if (release->shape.weights)
            memcpy((float *)table->log_pi + table->rows, (const float *)log_pi + done,
                   n * sizeof(float));
        table->rows += n;
        done += n;
        if (table->rows == table->group_rows) NVDP_TRY(write_group(release));
    }
    return NVDP_OK;
}

/* --- the end of the file --- */

static nvdp_status finish(struct nvdp__release *release) {
    struct nvdp__parquet *table = release->of;
    nvdp__autofree const char **words = NULL;
    NVDP_TRY(nvdp__attributes_words(&release->attributes, &words));
    if (!table->ended && table->rows > 0) NVDP_TRY(write_group(release));
    table->ended = true;
    table->table.user = release;
    return nvdp__parquet_end(&table->table, words);
}

/* --- the row for the table of formats --- */

static bool is_parquet(const char *path, const unsigned char *first, size_t count) {
    (void)path;
    return count >= NVDP__FORMAT_HEAD && memcmp(first, "PAR1", 4) == 0;
}

static void close_file(struct nvdp__release *release) {
    struct nvdp__parquet *of = release->of;
    nvdp__memory_release(&of->memory);
    nvdp__parquet_release(&of->table);
    free(of->bytes);
    free(of->page);
}

static nvdp_status example(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name) {
    return nvdp__output_printf(to,
                               "```python\nimport pandas as pd\ntable = "
                               "pd.read_parquet(%s)  # a row per vector: text, "
                               "sample, row, z%s\n```\n",
                               name, shape->weights ? ", pi" : "");
}

extern const struct nvdp__format nvdp__format_parquet; /* used in release.c */
const struct nvdp__format nvdp__format_parquet = {.name = "Parquet",
                                                  .extension = ".parquet",
                                                  .state = sizeof(struct nvdp__parquet),
                                                  .detect = is_parquet,
                                                  .covers = NVDP__SIGNED_VALUES,
                                                  .canonical = true,
                                                  .table = true,
                                                  .open = open_table,
                                                  .append = append,
                                                  .finish = finish,
                                                  .read = nvdp__parquet_read,
                                                  .rows = nvdp__parquet_rows,
                                                  .close = close_file,
                                                  .example = example};
