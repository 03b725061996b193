#include "text/dataset.h"

#include "base/file.h"
#include "text/rows.h"
#include "text/tokenizer.h"
#include "text/tokens_cache.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LENGTH = 3, MAX_LENGTH = 512, DEFAULT_LENGTH = 128 };
static const size_t FILE_LIMIT = (size_t)4 << 30; /* bytes */

struct nvdp_dataset_config nvdp_dataset_config_default(void) {
    return (struct nvdp_dataset_config){.max_length = DEFAULT_LENGTH};
}

/* ---- memory ---- */

nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labelled, bool has_id,
                                 struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = nvdp__calloc(ctx, 1, sizeof *dataset);
    if (dataset == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    struct nvdp__dataset_storage *storage = nvdp__calloc(ctx, 1, sizeof *storage);
    if (storage == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    dataset->storage = storage;
    dataset->count = count;
    storage->cut = nvdp__calloc(ctx, count, sizeof *storage->cut);
    dataset->offset = nvdp__calloc(ctx, count + 1, sizeof *dataset->offset);
    dataset->index = nvdp__calloc(ctx, count, sizeof *dataset->index);
    if (storage->cut == NULL || dataset->offset == NULL || dataset->index == NULL)
        NVDP_TRY(NVDP_ERR_MEMORY);
    if (labelled) {
        dataset->label = nvdp__calloc(ctx, count, sizeof *dataset->label);
        if (dataset->label == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    }
    if (has_id) {
        dataset->id = nvdp__calloc(ctx, count, sizeof *dataset->id);
        if (dataset->id == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    }
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    return status;
}

void nvdp_dataset_free(struct nvdp_dataset *dataset) {
    if (dataset == NULL) return;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    if (storage != NULL) {
        free(storage->labels);
        free(storage->id_text);
        free(storage->cut);
        free(storage);
    }
    free(dataset->offset);
    free(dataset->ids);
    free(dataset->types);
    free(dataset->label);
    free(dataset->index);
    free(dataset->id);
    free(dataset);
}

/* ---- tokens ---- */

struct text {
    const char *text, *pair; /* pair NULL: none */
    size_t text_size, pair_size;
};

/* The tokens of one thread's texts, end to end. */
struct part {
    size_t first, last; /* texts */
    int32_t *ids;
    size_t count, capacity;
    nvdp_status status;
};

/* Fills `part` with the tokens of its texts; offset[i + 1] becomes text i's count.  `first` keeps
 * how many tokens are of type 0. */
static nvdp_status encode_part(const struct nvdp_tokenizer *tokenizer, const struct text *texts,
                               size_t max_length, struct nvdp_dataset *dataset, uint16_t *first,
                               struct part *part) {
    nvdp_status status = NVDP_OK;
    struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    bool *cut = nvdp__dataset_storage(dataset)->cut;
    for (size_t i = part->first; i < part->last; i++) {
        const struct text *text = &texts[i];
        NVDP_TRY(nvdp__encode(&encoder, text->text, text->text_size, text->pair, text->pair_size,
                              max_length));
        NVDP_TRY(nvdp__reserve(NULL, &part->ids, &part->capacity, part->count + encoder.count,
                               sizeof *part->ids));
        memcpy(part->ids + part->count, encoder.ids, encoder.count * sizeof *encoder.ids);
        part->count += encoder.count;
        dataset->offset[i + 1] = encoder.count;
        first[i] = (uint16_t)encoder.first;
        cut[i] = encoder.truncated;
    }
cleanup:
    nvdp__encoder_release(&encoder);
    return status;
}

/* Turns counts into offsets and sums up. */
static void sum_up(struct nvdp_dataset *dataset) {
    const bool *cut = nvdp__dataset_storage(dataset)->cut;
    for (size_t i = 0; i < dataset->count; i++) {
        size_t tokens = dataset->offset[i + 1];
        if (tokens > dataset->longest) dataset->longest = tokens;
        dataset->truncated += cut[i];
        dataset->offset[i + 1] += dataset->offset[i];
    }
}

static nvdp_status join_parts(struct nvdp_context *ctx, const struct part *part, size_t parts,
                              const uint16_t *first, struct nvdp_dataset *dataset) {
    sum_up(dataset);
    size_t tokens = dataset->offset[dataset->count];
    dataset->ids = nvdp__calloc(ctx, tokens, sizeof *dataset->ids);
    dataset->types = nvdp__calloc(ctx, tokens, sizeof *dataset->types);
    if (dataset->ids == NULL || dataset->types == NULL) return NVDP_ERR_MEMORY;
    for (size_t p = 0; p < parts; p++) {
        if (part[p].count == 0) continue;
        memcpy(dataset->ids + dataset->offset[part[p].first], part[p].ids,
               part[p].count * sizeof *dataset->ids);
    }
    for (size_t i = 0; i < dataset->count; i++) {
        for (size_t at = dataset->offset[i] + first[i]; at < dataset->offset[i + 1]; at++) {
            dataset->types[at] = 1;
        }
    }
    return NVDP_OK;
}

/* Tokenizes all texts into the data set, each thread a stretch of them. */
static nvdp_status encode_texts(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct text *texts, size_t max_length,
                                struct nvdp_dataset *dataset) {
    nvdp_status status = NVDP_OK;
    size_t count = dataset->count;
    size_t parts = ctx != NULL ? (size_t)nvdp_context_threads(ctx) : 1;
    if (parts > count) parts = count > 0 ? count : 1;
    uint16_t *first = nvdp__calloc(ctx, count, sizeof *first);
    struct part *part = nvdp__calloc(ctx, parts, sizeof *part);
    if (first == NULL || part == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
#pragma omp parallel for num_threads((int)parts) schedule(static, 1)
    for (size_t p = 0; p < parts; p++) {
        part[p].first = count / parts * p + (p < count % parts ? p : count % parts);
        part[p].last = part[p].first + count / parts + (p < count % parts);
        part[p].status = encode_part(tokenizer, texts, max_length, dataset, first, &part[p]);
    }
    for (size_t p = 0; p < parts; p++) {
        if (part[p].status != NVDP_OK)
            NVDP_TRY(nvdp__fail(ctx, part[p].status, "out of memory while tokenizing"));
    }
    NVDP_TRY(join_parts(ctx, part, parts, first, dataset));
cleanup:
    for (size_t p = 0; part != NULL && p < parts; p++) {
        free(part[p].ids);
    }
    free(part);
    free(first);
    return status;
}

static nvdp_status check_length(struct nvdp_context *ctx, size_t max_length) {
    if (max_length >= MIN_LENGTH && max_length <= MAX_LENGTH) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "max_length: expected %d to %d, found %zu",
                      MIN_LENGTH, MAX_LENGTH, max_length);
}

/* ---- rows to data set ---- */

/* Leaves `limit` of the rows, in file order. */
static nvdp_status sample_rows(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__rows *rows) {
    if (config->limit == 0 || config->limit >= rows->count) return NVDP_OK;
    nvdp_status status = NVDP_OK;
    bool *chosen = nvdp__calloc(ctx, rows->count, sizeof *chosen);
    int64_t *scratch = nvdp__calloc(ctx, rows->count, sizeof *scratch);
    if (chosen == NULL || scratch == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    nvdp__sample_rows(config->limit_seed, rows->count, config->limit, scratch, chosen);
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (chosen[i]) rows->row[kept++] = rows->row[i];
    }
    rows->count = kept;
cleanup:
    free(scratch);
    free(chosen);
    return status;
}

static nvdp_status copy_ids(struct nvdp_context *ctx, const struct nvdp__rows *rows,
                            struct nvdp_dataset *dataset) {
    size_t bytes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        bytes += rows->row[i].id.size + 1;
    }
    char *text = nvdp__calloc(ctx, bytes, 1);
    if (text == NULL) return NVDP_ERR_MEMORY;
    nvdp__dataset_storage(dataset)->id_text = text;
    for (size_t i = 0; i < rows->count; i++) {
        struct nvdp__field id = rows->row[i].id;
        dataset->id[i] = text;
        memcpy(text, id.text, id.size);
        text += id.size + 1;
    }
    return NVDP_OK;
}

/* Takes the class names over from the rows. */
static nvdp_status build(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                         size_t max_length, struct nvdp__rows *rows, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    struct text *texts = nvdp__calloc(ctx, rows->count, sizeof *texts);
    if (texts == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__dataset_create(ctx, rows->count, rows->labelled, rows->has_id, &dataset));
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__row *row = &rows->row[i];
        texts[i] = (struct text){.text = row->text.text,
                                 .pair = rows->task.pair ? row->pair.text : NULL,
                                 .text_size = row->text.size,
                                 .pair_size = row->pair.size};
        dataset->index[i] = row->index;
        if (rows->labelled) dataset->label[i] = row->label;
    }
    if (rows->has_id) NVDP_TRY(copy_ids(ctx, rows, dataset));
    NVDP_TRY(encode_texts(ctx, tokenizer, texts, max_length, dataset));
    dataset->task = rows->task;
    dataset->bad_rows = rows->skipped;
    nvdp__dataset_storage(dataset)->labels = rows->labels;
    rows->labels = NULL;
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    free(texts);
    return status;
}

/* A file's bytes, parsed, sampled and tokenized. */
static nvdp_status read_texts(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                              const char *path, const char *bytes, size_t count,
                              struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__rows rows = {0};
    NVDP_TRY(nvdp__rows_parse(ctx, config, use, path, bytes, count, &rows));
    NVDP_TRY(sample_rows(ctx, config, &rows));
    NVDP_TRY(build(ctx, tokenizer, config->max_length, &rows, out));
cleanup:
    nvdp__rows_release(&rows);
    return status;
}

/* The same through the cache.  A file with skipped rows is not kept: their notice is to come again.
 */
static nvdp_status recall_texts(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                                const char *path, const char *bytes, size_t count,
                                struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    char *kept = NULL;
    NVDP_TRY(nvdp__tokens_path(ctx, tokenizer, config, use, bytes, count, &kept));
    NVDP_TRY(nvdp__tokens_load(ctx, kept, tokenizer, config, &dataset));
    if (dataset == NULL) {
        NVDP_TRY(read_texts(ctx, tokenizer, config, use, path, bytes, count, &dataset));
        if (dataset->bad_rows == 0) nvdp__tokens_save(ctx, config->cache, kept, dataset);
    }
    *out = dataset;
cleanup:
    free(kept);
    return status;
}

static nvdp_status load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                        const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                        const char *path, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(check_length(ctx, config->max_length));
    NVDP_TRY(nvdp__read_file(ctx, path, FILE_LIMIT, &bytes, &count));
    NVDP_TRY((config->cache != NULL ? recall_texts : read_texts)(ctx, tokenizer, config, use, path,
                                                                 bytes, count, out));
cleanup:
    free(bytes);
    return status;
}

/* GLUE hides its test labels; columns of that name in its test files hold fillers. */
static enum nvdp__label_use label_use(const struct nvdp_dataset_config *config,
                                      enum nvdp_split split) {
    if (split != NVDP_SPLIT_TEST && split != NVDP_SPLIT_TEST_MISMATCHED)
        return NVDP__LABELS_REQUIRED;
    return config->task == NVDP_TASK_TSV ? NVDP__LABELS_FOUND : NVDP__LABELS_IGNORED;
}

/* Classes are numbered by train; numbering another split by itself would mix them up. */
static nvdp_status check_labels_from(struct nvdp_context *ctx,
                                     const struct nvdp_dataset_config *config,
                                     enum nvdp_split split) {
    if (config->task != NVDP_TASK_TSV || split == NVDP_SPLIT_TRAIN || config->columns.regression ||
        config->columns.label_column == NULL)
        return NVDP_OK;
    if (config->labels_from != NULL && config->labels_from->labels != NULL) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "labels_from: expected the train split's task, found none");
}

nvdp_status nvdp_dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp_split split,
                              struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__layout layout;
    struct nvdp_dataset_config used = *config;
    const char *name = NULL;
    char *path = NULL;
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    NVDP_TRY(nvdp__task_file(ctx, &layout, split, &name));
    NVDP_TRY(check_labels_from(ctx, config, split));
    if (config->directory == NULL)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "directory: expected a path, found none"));
    path = nvdp__join(ctx, config->directory, name);
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (split == NVDP_SPLIT_TRAIN) used.labels_from = NULL;
    NVDP_TRY(load(ctx, tokenizer, &used, label_use(config, split), path, out));
cleanup:
    free(path);
    return status;
}

nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *config, const char *path,
                                   struct nvdp_dataset **out) {
    return load(ctx, tokenizer, config, NVDP__LABELS_FOUND, path, out);
}

nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    struct text *texts = NULL;
    NVDP_TRY(check_length(ctx, max_length));
    texts = nvdp__calloc(ctx, count, sizeof *texts);
    if (texts == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__dataset_create(ctx, count, false, false, &dataset));
    for (size_t i = 0; i < count; i++) {
        texts[i] = (struct text){.text = text[i], .text_size = strlen(text[i])};
        if (pair != NULL && pair[i] != NULL) {
            texts[i].pair = pair[i];
            texts[i].pair_size = strlen(pair[i]);
        }
        dataset->index[i] = (int64_t)i;
    }
    NVDP_TRY(encode_texts(ctx, tokenizer, texts, max_length, dataset));
    dataset->task = (struct nvdp_task){
        .id = NVDP_TASK_TSV, .name = nvdp__task_layout(NVDP_TASK_TSV)->task.name, .pair = pair};
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    free(texts);
    return status;
}

/* ---- selection ---- */

static nvdp_status copy_task(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                             struct nvdp_dataset *dataset) {
    dataset->task = from->task;
    if (nvdp__dataset_storage(from)->labels == NULL) return NVDP_OK;
    nvdp_status status = NVDP_OK;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    size_t count = (size_t)from->task.classes;
    struct nvdp__field *name = nvdp__calloc(ctx, count, sizeof *name);
    if (name == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        name[i] = (struct nvdp__field){from->task.labels[i], strlen(from->task.labels[i])};
    }
    NVDP_TRY(nvdp__labels_copy(ctx, count, name, &storage->labels));
    dataset->task.labels = storage->labels;
cleanup:
    free(name);
    return status;
}

static nvdp_status copy_selected_ids(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                     const size_t *rows, struct nvdp_dataset *dataset) {
    size_t bytes = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        bytes += strlen(from->id[rows[i]]) + 1;
    }
    char *text = nvdp__calloc(ctx, bytes, 1);
    if (text == NULL) return NVDP_ERR_MEMORY;
    nvdp__dataset_storage(dataset)->id_text = text;
    for (size_t i = 0; i < dataset->count; i++) {
        dataset->id[i] = text;
        text = stpcpy(text, from->id[rows[i]]) + 1;
    }
    return NVDP_OK;
}

static void copy_tokens(const struct nvdp_dataset *from, const size_t *rows,
                        struct nvdp_dataset *dataset) {
    for (size_t i = 0; i < dataset->count; i++) {
        size_t start = from->offset[rows[i]];
        size_t bytes = (from->offset[rows[i] + 1] - start) * sizeof *from->ids;
        memcpy(dataset->ids + dataset->offset[i], from->ids + start, bytes);
        memcpy(dataset->types + dataset->offset[i], from->types + start, bytes);
    }
}

nvdp_status nvdp_dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                                const size_t *rows, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= from->count)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "row %zu: expected less than %zu", rows[i],
                                from->count));
    }
    NVDP_TRY(nvdp__dataset_create(ctx, n, from->label != NULL, from->id != NULL, &dataset));
    for (size_t i = 0; i < n; i++) {
        size_t row = rows[i];
        dataset->offset[i + 1] = from->offset[row + 1] - from->offset[row];
        dataset->index[i] = from->index[row];
        if (from->label != NULL) dataset->label[i] = from->label[row];
        nvdp__dataset_storage(dataset)->cut[i] = nvdp__dataset_storage(from)->cut[row];
    }
    sum_up(dataset);
    dataset->ids = nvdp__calloc(ctx, dataset->offset[n], sizeof *dataset->ids);
    dataset->types = nvdp__calloc(ctx, dataset->offset[n], sizeof *dataset->types);
    if (dataset->ids == NULL || dataset->types == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    copy_tokens(from, rows, dataset);
    if (from->id != NULL) NVDP_TRY(copy_selected_ids(ctx, from, rows, dataset));
    NVDP_TRY(copy_task(ctx, from, dataset));
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    return status;
}
