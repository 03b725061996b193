/* Loads a split: either the tokens that an earlier load cached under the hash of everything they
 * depend on (docs/formats.md, Cache), or the file's rows, sampled and tokenized. Start with
 * load(). */
#include "options/schema.h"
#include "text/dataset.h"

#include "base/cache.h"
#include "base/own.h"
#include "text/conll.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

/* ---- the cache ---- */

/* The bytes of a cached data set: a head of numbers, then concatenated arrays.
 *
 *     u64  texts, tokens, labeled, class names, bytes of their text, bytes of the ids' text
 *     u32  tokens per text; u32 of these of type 0; u8 truncated; i64 row in the file
 *     f32  label (if labeled); i32 token ids; names and ids, each ending with a NUL */
static const char kind[] = "tokens";
enum { VERSION = 4 };

struct head {
    uint64_t texts, tokens, labeled, names, name_bytes, id_bytes;
};

/* ---- the name ---- */

/* The path of a cached data set: its name is the hash of the file's bytes and of everything else
 * that affects the result. */
static nvdp_status cache_path(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                              const char *path, const char *bytes, size_t count, char **kept) {
    char hex[NVDP__DIGEST_HEX];
    struct nvdp__digest digest;
    const struct nvdp_task *from = config->labels_from;
    nvdp__digest_begin(&digest);
    nvdp__digest_text(&digest, NVDP_VERSION);
    nvdp__digest_number(&digest, VERSION);
    nvdp__digest_number(&digest, (uint64_t)(nvdp__is_table(path) ? nvdp__table_format_of(path)
                                                                 : NVDP__TABLE_LINES));
    nvdp__digest_bytes(&digest, bytes, count);
    nvdp__digest_text(&digest, tokenizer->digest);
    nvdp__digest_number(&digest, config->max_length);
    nvdp__digest_number(&digest, (uint64_t)config->task);
    nvdp__digest_text(&digest, config->text_column);
    nvdp__digest_text(&digest, config->text_pair_column);
    nvdp__digest_text(&digest, config->label_column);
    nvdp__digest_number(&digest, config->regression);
    nvdp__digest_number(&digest, (uint64_t)use);
    nvdp__digest_number(&digest, config->limit);
    nvdp__digest_number(&digest, config->limit > 0 ? config->limit_seed : 0);
    for (int i = 0; from != NULL && from->labels != NULL && i < from->classes; i++) {
        nvdp__digest_text(&digest, from->labels[i]);
    }
    if (config->id_column != NULL) nvdp__digest_text(&digest, config->id_column);
    nvdp__digest_end(&digest, hex);
    *kept = nvdp__cache_path(ctx, config->cache, kind, hex);
    return *kept == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

/* ---- reading ---- */

/* Takes arrays from the front of the bytes. */
struct cursor {
    const char *at;
    size_t left;
};

static bool take(struct cursor *cursor, size_t count, size_t size, const char **out) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > cursor->left) return false;
    *out = cursor->at;
    cursor->at += bytes;
    cursor->left -= bytes;
    return true;
}

struct arrays {
    struct head head;
    const char *length, *first, *cut, *index, *label, *ids, *names, *id_text;
};

static bool find_arrays(const char *bytes, size_t count, struct arrays *a) {
    struct cursor cursor = {bytes, count};
    const char *head = NULL;
    if (!take(&cursor, 1, sizeof a->head, &head)) return false;
    memcpy(&a->head, head, sizeof a->head);
    size_t n = a->head.texts;
    return take(&cursor, n, sizeof(uint32_t), &a->length) &&
           take(&cursor, n, sizeof(uint32_t), &a->first) && take(&cursor, n, 1, &a->cut) &&
           take(&cursor, n, sizeof(int64_t), &a->index) &&
           take(&cursor, a->head.labeled != 0 ? n : 0, sizeof(float), &a->label) &&
           take(&cursor, a->head.tokens, sizeof(int32_t), &a->ids) &&
           take(&cursor, a->head.name_bytes, 1, &a->names) &&
           take(&cursor, a->head.id_bytes, 1, &a->id_text) && cursor.left == 0;
}

static uint32_t u32_at(const char *array, size_t i) {
    uint32_t value;
    memcpy(&value, array + i * sizeof value, sizeof value);
    return value;
}

/* True if the bytes are exactly `count` texts, each ending with a NUL. */
static bool holds_texts(const char *bytes, size_t size, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < size; i++) {
        found += bytes[i] == '\0';
    }
    return found == count && (size == 0 || bytes[size - 1] == '\0');
}

/* Checks the values. The checksum detects damage; this detects files from another writer. */
static bool is_sound(const struct arrays *a, size_t vocabulary, size_t max_length) {
    uint64_t tokens = 0;
    for (size_t i = 0; i < a->head.texts; i++) {
        size_t length = u32_at(a->length, i);
        if ((length == 0 && max_length < SIZE_MAX) || length > max_length ||
            u32_at(a->first, i) > length)
            return false;
        tokens += length;
    }
    for (size_t i = 0; i < a->head.tokens; i++) {
        if (u32_at(a->ids, i) >= vocabulary) return false; /* a negative id is large */
    }
    return tokens == a->head.tokens && a->head.names <= INT32_MAX &&
           holds_texts(a->names, a->head.name_bytes, a->head.names) &&
           (a->head.id_bytes == 0 || holds_texts(a->id_text, a->head.id_bytes, a->head.texts));
}

/* True if labels are classes of the task, or scores in its range. */
static bool labels_fit(const struct nvdp_dataset *dataset) {
    const struct nvdp_task *task = dataset->task;
    for (size_t i = 0; dataset->label != NULL && i < dataset->count; i++) {
        double label = dataset->label[i];
        bool fits = task->regression ? label >= task->label_min && label <= task->label_max
                                     : label >= 0 && label < task->classes && label == floor(label);
        if (!fits) return false;
    }
    return true;
}

/* Reads `count` texts, each ending with a NUL. */
static nvdp_status unpack_names(struct nvdp_context *ctx, size_t count, const char *bytes,
                                const char ***out) {
    const char **name = nvdp__calloc(ctx, count, sizeof *name);
    if (name == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        name[i] = bytes;
        bytes += strlen(bytes) + 1;
    }
    nvdp_status status = nvdp__names_of(ctx, count, name, NULL, out);
    free(name);
    return status;
}

static nvdp_status dataset_of_arrays(struct nvdp_context *ctx,
                                     const struct nvdp_dataset_config *config,
                                     const struct arrays *a, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp__layout layout;
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    NVDP_TRY(nvdp__dataset_create(ctx, a->head.texts, a->head.labeled != 0, &dataset));
    nvdp__dataset_storage(dataset)->task = layout.task;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    for (size_t i = 0; i < dataset->count; i++) {
        dataset->offset[i + 1] = u32_at(a->length, i);
        storage->cut[i] = a->cut[i] != 0;
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, dataset));
    for (size_t i = 0; i < dataset->count; i++) {
        for (size_t t = dataset->offset[i] + u32_at(a->first, i); t < dataset->offset[i + 1]; t++)
            dataset->types[t] = 1;
    }
    memcpy(dataset->ids, a->ids, a->head.tokens * sizeof *dataset->ids);
    memcpy(dataset->index, a->index, dataset->count * sizeof *dataset->index);
    if (dataset->label != NULL)
        memcpy(dataset->label, a->label, dataset->count * sizeof *dataset->label);
    if (a->head.names > 0) {
        NVDP_TRY(unpack_names(ctx, a->head.names, a->names, &storage->labels));
        storage->task.labels = storage->labels;
        storage->task.classes = (int)a->head.names;
    }
    if (a->head.id_bytes > 0) NVDP_TRY(unpack_names(ctx, a->head.texts, a->id_text, &dataset->id));
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
}

nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out) {
    struct arrays arrays = {0};
    struct nvdp_dataset *dataset = NULL;
    if (!find_arrays(bytes, count, &arrays) || !is_sound(&arrays, vocabulary, config->max_length))
        return NVDP_OK;
    NVDP_TRY(dataset_of_arrays(ctx, config, &arrays, &dataset));
    if (labels_fit(dataset)) {
        *out = dataset;
    } else {
        nvdp_dataset_free(dataset);
    }
    return NVDP_OK;
}

static nvdp_status recall(struct nvdp_context *ctx, const char *path,
                          const struct nvdp_tokenizer *tokenizer,
                          const struct nvdp_dataset_config *config, struct nvdp_dataset **out) {
    char *bytes = NULL;
    size_t count = 0;
    struct nvdp_dataset *dataset = NULL;
    NVDP_TRY(nvdp__cache_read(ctx, path, kind, VERSION, &bytes, &count));
    if (bytes == NULL) return NVDP_OK;
    struct nvdp_dataset_config whole = *config;
    if (tokenizer->words) whole.max_length = SIZE_MAX;
    nvdp_status status =
        nvdp__tokens_unpack(ctx, bytes, count, nvdp_tokenizer_size(tokenizer), &whole, &dataset);
    free(bytes);
    if (dataset != NULL && tokenizer->words)
        nvdp__mark_words(tokenizer, dataset->offset[dataset->count], dataset->ids, dataset->types);
    if (status == NVDP_OK && dataset == NULL)
        nvdp__log(
            ctx, NVDP_LOG_NOTICE,
            "%s: the cache file is damaged or has other contents; nvdp computes its contents again",
            path);
    *out = dataset;
    return status;
}

/* ---- writing ---- */

/* The file's bytes being assembled; NULL: they are only counted. */
struct block {
    char *bytes;
    size_t used;
};

static void put(struct block *block, const void *bytes, size_t count) {
    if (block->bytes != NULL && count > 0) memcpy(block->bytes + block->used, bytes, count);
    block->used += count;
}

static void put_u32(struct block *block, size_t value) {
    uint32_t narrow = (uint32_t)value; /* tokens of a text */
    put(block, &narrow, sizeof narrow);
}

static size_t put_names(struct block *block, size_t count, const char *const *name) {
    size_t start = block->used;
    for (size_t i = 0; i < count; i++)
        put(block, name[i], strlen(name[i]) + 1);
    return block->used - start;
}

static void put_dataset(struct block *block, const struct nvdp_dataset *dataset) {
    const struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    const size_t n = dataset->count;
    const size_t ids = dataset->id != NULL ? n : 0;
    struct block counted = {0};
    struct head head = {.texts = n,
                        .tokens = dataset->offset[n],
                        .labeled = dataset->label != NULL,
                        .names = storage->labels != NULL ? (uint64_t)dataset->task->classes : 0};
    head.name_bytes = put_names(&counted, head.names, dataset->task->labels);
    head.id_bytes = put_names(&counted, ids, dataset->id);
    put(block, &head, sizeof head);
    for (size_t i = 0; i < n; i++)
        put_u32(block, dataset->offset[i + 1] - dataset->offset[i]);
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        for (size_t t = dataset->offset[i]; t < dataset->offset[i + 1]; t++)
            first += dataset->types[t] == 0;
        put_u32(block, first);
    }
    for (size_t i = 0; i < n; i++)
        put(block, storage->cut[i] ? "\1" : "\0", 1);
    put(block, dataset->index, n * sizeof *dataset->index);
    if (dataset->label != NULL) put(block, dataset->label, n * sizeof *dataset->label);
    put(block, dataset->ids, dataset->offset[n] * sizeof *dataset->ids);
    put_names(block, head.names, dataset->task->labels);
    put_names(block, ids, dataset->id);
}

/* Writes the cached file and makes the folder if necessary. A failure is logged as a notice. */
static void keep(struct nvdp_context *ctx, const char *directory, const char *path,
                 const struct nvdp_dataset *dataset) {
    nvdp_status status = NVDP_ERR_MEMORY;
    struct block block = {0};
    put_dataset(&block, dataset);
    block = (struct block){.bytes = nvdp__calloc(ctx, block.used, 1)};
    if (block.bytes == NULL) goto cleanup;
    put_dataset(&block, dataset);
    NVDP_TRY_OR_CLEAN(nvdp__cache_make(ctx, directory));
    NVDP_TRY_OR_CLEAN(nvdp__cache_write(ctx, path, kind, VERSION, block.bytes, block.used));
cleanup:
    free(block.bytes);
    if (status != NVDP_OK && ctx != NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "tokens are not kept for other runs: %s",
                  nvdp_context_error(ctx));
}

/* ---- rows to data set ---- */

/* Reduces the rows to `limit` of them, in file order. */
static nvdp_status sample_rows(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__rows *rows) {
    if (config->limit == 0 || config->limit >= rows->count) return NVDP_OK;
    nvdp__autofree bool *chosen = nvdp__calloc(ctx, rows->count, sizeof *chosen);
    if (chosen == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__sample_rows(ctx, config->limit_seed, rows->count, config->limit, chosen));
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (chosen[i]) rows->row[kept++] = rows->row[i];
    }
    rows->count = kept;
    return NVDP_OK;
}

/* Takes ownership of the class names of the rows. */
static nvdp_status dataset_of_rows(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   size_t max_length, struct nvdp__rows *rows,
                                   struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp__autofree struct nvdp__text *texts = nvdp__calloc(ctx, rows->count, sizeof *texts);
    if (texts == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__dataset_create(ctx, rows->count, rows->labeled, &dataset));
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__text_row *row = &rows->row[i];
        texts[i] = (struct nvdp__text){.text = row->text.text,
                                       .pair = rows->task.pair ? row->pair.text : NULL,
                                       .text_size = row->text.size,
                                       .pair_size = row->pair.size};
        dataset->index[i] = row->index;
        if (rows->labeled) dataset->label[i] = row->label;
    }
    if (rows->has_id)
        NVDP_TRY(nvdp__names_copy(ctx, rows->count, &rows->row[0].id, sizeof rows->row[0],
                                  &dataset->id));
    NVDP_TRY(nvdp__dataset_encode(ctx, tokenizer, texts, max_length, dataset));
    nvdp__dataset_storage(dataset)->task = rows->task;
    dataset->bad_rows = rows->skipped;
    nvdp__dataset_storage(dataset)->labels = rows->labels;
    rows->labels = NULL;
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
}

/* ---- notices about the texts ---- */

/* A larger share of unknown tokens is reported. */
static const double MANY_UNKNOWN = .2;

void nvdp__log_truncated(struct nvdp_context *ctx, const char *path,
                         const struct nvdp_dataset *dataset) {
    const size_t n = dataset->count;
    if (dataset->truncated > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s: %zu of %zu texts (%.1f %%) are cut to %zu tokens ({max-length})", path,
                  dataset->truncated, n, 100 * (double)dataset->truncated / (double)n,
                  dataset->longest);
}

/* Logs one line per finding. */
static void log_findings(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                         const char *path, size_t not_utf8, const struct nvdp_dataset *dataset) {
    const int32_t unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    const size_t n = dataset->count,
                 specials = nvdp_tokenizer_specials(tokenizer, dataset->task->pair);
    const size_t tokens = dataset->offset[n] > n * specials ? dataset->offset[n] - n * specials : 0;
    size_t empty = 0, unknowns = 0;
    for (size_t i = 0; i < n; i++)
        empty += dataset->offset[i + 1] - dataset->offset[i] <= specials;
    for (size_t k = 0; unknown >= 0 && k < dataset->offset[n]; k++)
        unknowns += dataset->ids[k] == unknown;
    nvdp__table_log_texts(ctx, path, not_utf8, empty, n);
    if ((double)unknowns > MANY_UNKNOWN * (double)tokens)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: %.0f %% of the tokens are not in the vocabulary: is the model one for this "
                  "language and script?",
                  path, 100 * (double)unknowns / (double)tokens);
    nvdp__log_truncated(ctx, path, dataset);
}

/* Compares the texts of the rows with the public ones. */
static nvdp_status compare_rows(const struct nvdp__rows *rows, struct nvdp__public_texts *public) {
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__text_row *row = &rows->row[i];
        const size_t index = (size_t)row->index;
        NVDP_TRY(nvdp__public_texts_compare(public, row->text.text, row->text.size, index));
        if (rows->task.pair)
            NVDP_TRY(nvdp__public_texts_compare(public, row->pair.text, row->pair.size, index));
    }
    return NVDP_OK;
}

/* Does the same for the sentences of a file of words with tags. */
static nvdp_status compare_sentences(struct nvdp_context *ctx, const char *path,
                                     struct nvdp__public_texts *public) {
    nvdp__auto(nvdp__conll_release) struct nvdp__conll conll = {0};
    nvdp__autofree char *text = NULL;
    size_t size = 0, capacity = 0;
    NVDP_TRY(nvdp__conll_open(ctx, path, &conll));
    for (size_t i = 0; i < conll.sentences; i++) {
        NVDP_TRY(nvdp__conll_sentence(ctx, &conll, i, &text, &capacity, &size));
        NVDP_TRY(nvdp__public_texts_compare(public, text, size, i));
    }
    return NVDP_OK;
}

/* Loads through the cache, if there is one. A file with skipped or unusual rows, or of lines, is not
 * cached, so that their notices appear again. Texts that are compared with `public` are read from the file. */
static nvdp_status load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                        const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                        const char *path, struct nvdp__public_texts *public,
                        struct nvdp_dataset **out) {
    if (config->task == NVDP_TASK_NER && config->id_column != NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "%s: expected a table with a column '%s', found a file of words with tags", path,
            config->id_column);
    if (config->task == NVDP_TASK_NER && public != NULL)
        NVDP_TRY(compare_sentences(ctx, path, public));
    if (config->task == NVDP_TASK_NER)
        return nvdp__conll_dataset(ctx, tokenizer, config, path, out);
    struct nvdp_dataset *dataset = NULL;
    nvdp__auto(nvdp__rows_release) struct nvdp__rows rows = {0};
    nvdp__autofree char *bytes = NULL, *kept = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config->max_length));
    NVDP_TRY(nvdp__read_stream(ctx, path, NVDP__DATA_LIMIT, &bytes, &count));
    if (config->cache != NULL && public == NULL) {
        NVDP_TRY(cache_path(ctx, tokenizer, config, use, path, bytes, count, &kept));
        NVDP_TRY(recall(ctx, kept, tokenizer, config, &dataset));
    }
    if (dataset == NULL) {
        NVDP_TRY(nvdp__rows_parse(ctx, config, use, path, bytes, count, &rows));
        NVDP_TRY(sample_rows(ctx, config, &rows));
        if (public != NULL) NVDP_TRY(compare_rows(&rows, public));
        NVDP_TRY(dataset_of_rows(ctx, tokenizer, config->max_length, &rows, &dataset));
        if (kept != NULL && dataset->bad_rows + rows.not_utf8 == 0 && !rows.lines)
            keep(ctx, config->cache, kept, dataset);
    }
    log_findings(ctx, tokenizer, path, rows.not_utf8, dataset);
    *out = dataset;
    return NVDP_OK;
}

/* GLUE hides its test labels: a label column in its test files holds placeholders. */
static enum nvdp__label_use label_use(const struct nvdp_dataset_config *config,
                                      enum nvdp_split split) {
    if (split != NVDP_SPLIT_TEST && split != NVDP_SPLIT_TEST_MISMATCHED)
        return NVDP__LABELS_REQUIRED;
    return config->task == NVDP_TASK_TSV ? NVDP__LABELS_FOUND : NVDP__LABELS_IGNORED;
}

/* Classes are numbered by the train split; numbering another split separately could give other
 * numbers. */
static nvdp_status check_labels_from(struct nvdp_context *ctx,
                                     const struct nvdp_dataset_config *config,
                                     enum nvdp_split split) {
    if (config->task != NVDP_TASK_TSV || split == NVDP_SPLIT_TRAIN || config->regression ||
        config->label_column == NULL)
        return NVDP_OK;
    if (config->labels_from != NULL && config->labels_from->labels != NULL) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "labels_from: expected the train split's task, found none");
}

/* Copies the caller's options. Those that the caller's struct does not have get their defaults. */
static nvdp_status take_config(struct nvdp_context *ctx, const struct nvdp_dataset_config *given,
                               struct nvdp_dataset_config *out) {
    NVDP_TRY(nvdp__can_give(ctx, given));
    *out = nvdp__dataset_config_default();
    nvdp__give(out, given, given->struct_size);
    return NVDP_OK;
}

nvdp_status nvdp__dataset_load_private(struct nvdp_context *ctx,
                                       const struct nvdp_tokenizer *tokenizer,
                                       const struct nvdp_dataset_config *given,
                                       enum nvdp_split split, struct nvdp__public_texts *public,
                                       struct nvdp_dataset **out) {
    struct nvdp__layout layout;
    struct nvdp_dataset_config used, *config = &used;
    nvdp__autofree char *path = NULL;
    NVDP_TRY(take_config(ctx, given, &used));
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    NVDP_TRY(check_labels_from(ctx, config, split));
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config->max_length));
    if (config->directory == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "directory: expected a path, found none");
    if (layout.task.tags) {
        NVDP_TRY(nvdp__conll_file(ctx, config->directory, split, &path));
    } else {
        NVDP_TRY(nvdp__task_path(ctx, &layout, config->directory, split, &path));
    }
    if (split == NVDP_SPLIT_TRAIN) used.labels_from = NULL;
    NVDP_TRY(load(ctx, tokenizer, &used, label_use(config, split), path, public, out));
    (*out)->split = split;
    return NVDP_OK;
}

nvdp_status nvdp_dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp_split split,
                              struct nvdp_dataset **out) {
    return nvdp__dataset_load_private(ctx, tokenizer, config, split, NULL, out);
}

nvdp_status nvdp__dataset_load_private_file(struct nvdp_context *ctx,
                                            const struct nvdp_tokenizer *tokenizer,
                                            const struct nvdp_dataset_config *given,
                                            const char *path, struct nvdp__public_texts *public,
                                            struct nvdp_dataset **out) {
    struct nvdp_dataset_config config;
    NVDP_TRY(take_config(ctx, given, &config));
    return load(ctx, tokenizer, &config, NVDP__LABELS_FOUND, path, public, out);
}

nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *config, const char *path,
                                   struct nvdp_dataset **out) {
    return nvdp__dataset_load_private_file(ctx, tokenizer, config, path, NULL, out);
}

nvdp_status nvdp__dataset_load_texts(struct nvdp_context *ctx,
                                     const struct nvdp_tokenizer *tokenizer,
                                     const struct nvdp_dataset_config *config, const char *path,
                                     struct nvdp_dataset **out) {
    return load(ctx, tokenizer, config, NVDP__LABELS_IGNORED, path, NULL, out);
}

nvdp_status nvdp__dataset_load_tagged(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                      size_t limit, uint64_t seed, const char *path, size_t *texts,
                                      struct nvdp_dataset **out) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *all = NULL;
    nvdp__autofree bool *chosen = NULL;
    nvdp__autofree size_t *row = NULL;
    size_t n = 0;
    config.task = NVDP_TASK_NER;
    config.max_length = max_length;
    NVDP_TRY(nvdp_dataset_load_file(ctx, tokenizer, &config, path, &all));
    NVDP_TRY(NVDP__NEW(ctx, chosen, all->count));
    NVDP_TRY(NVDP__NEW(ctx, row, all->count));
    const bool draws = limit > 0 && limit < all->count;
    if (draws) NVDP_TRY(nvdp__sample_rows(ctx, seed, all->count, limit, chosen));
    for (size_t i = 0; i < all->count; i++) {
        all->index[i] = (int64_t)i;
        if (!draws || chosen[i]) row[n++] = i;
    }
    NVDP_TRY(nvdp_dataset_select(ctx, all, n, row, out));
    *texts = all->count;
    return NVDP_OK;
}
