/* Loads a split. An earlier load may have cached the tokens, under the hash of everything that they depend on
 * (docs/formats.md, Cache). Else the rows of the file are sampled and tokenized. Start with
 * nvdp__dataset_load_rows(). */
#include "options/schema.h"
#include "text/dataset.h"

#include "base/cache.h"
#include "base/own.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the cache ---- */

/* The bytes of a cached data set: a head of numbers, then concatenated arrays.
 *
 *     u64  texts, tokens, labeled, class names, bytes of the class names, bytes of the ids
 *     u32  tokens per text; u32 tokens of type 0 per text; u8 truncated; i64 row in the file
 *     f32  label (if labeled); i32 token ids; names and ids, each ending with a NUL */
static const char kind[] = "tokens";
enum { VERSION = 4 };

struct head {
    uint64_t texts, tokens, labeled, names, name_bytes, id_bytes;
};

/* ---- the name ---- */

/* Returns the path of a cached data set. The name is the hash of the file's bytes and of everything else that
 * affects the result. */
static nvdp_status cache_path(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                              const char *path, const char *bytes, size_t count, char **kept) {
    const struct nvdp_task *from = config->labels_from;
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_text(&digest, NVDP_VERSION);
    NVDP__DIGEST_NUMBERS(
        &digest, VERSION,
        (uint64_t)(nvdp__is_table(path) ? nvdp__path_table_format(path) : NVDP__TABLE_LINES));
    nvdp__digest_bytes(&digest, bytes, count);
    nvdp__digest_text(&digest, tokenizer->digest);
    NVDP__DIGEST_NUMBERS(&digest, config->max_length, (uint64_t)config->task);
    nvdp__digest_text(&digest, config->text_column);
    nvdp__digest_text(&digest, config->text_pair_column);
    nvdp__digest_text(&digest, config->label_column);
    NVDP__DIGEST_NUMBERS(&digest, config->regression, (uint64_t)use, config->limit,
                         config->limit > 0 ? config->limit_seed : 0);
    for (int i = 0; from != NULL && from->labels != NULL && i < from->classes; i++) {
        nvdp__digest_text(&digest, from->labels[i]);
    }
    if (config->id_column != NULL) nvdp__digest_text(&digest, config->id_column);
    *kept = nvdp__cache_digest_path(ctx, config->cache, kind, &digest);
    return NVDP__MADE(*kept);
}

/* ---- reading ---- */

/* Takes an array from the front of the bytes that are left. */
static bool take(struct nvdp__field *left, size_t count, size_t size, const char **out) {
    size_t bytes;
    if (!nvdp__mul(count, size, &bytes) || bytes > left->size) return false;
    *out = left->text;
    *left = (struct nvdp__field){left->text + bytes, left->size - bytes};
    return true;
}

struct arrays {
    struct head head;
    const char *length, *first, *cut, *index, *label, *ids, *names, *id_text;
};

static bool find_arrays(const char *bytes, size_t count, struct arrays *a) {
    struct nvdp__field left = {bytes, count};
    const char *head = NULL;
    if (!take(&left, 1, sizeof a->head, &head)) return false;
    memcpy(&a->head, head, sizeof a->head);
    size_t n = a->head.texts;
    return take(&left, n, sizeof(uint32_t), &a->length) &&
           take(&left, n, sizeof(uint32_t), &a->first) && take(&left, n, 1, &a->cut) &&
           take(&left, n, sizeof(int64_t), &a->index) &&
           take(&left, a->head.labeled != 0 ? n : 0, sizeof(float), &a->label) &&
           take(&left, a->head.tokens, sizeof(int32_t), &a->ids) &&
           take(&left, a->head.name_bytes, 1, &a->names) &&
           take(&left, a->head.id_bytes, 1, &a->id_text) && left.size == 0;
}

static uint32_t u32_at(const char *array, size_t i) {
    uint32_t value;
    memcpy(&value, array + i * sizeof value, sizeof value);
    return value;
}

/* Returns true if the bytes are exactly `count` strings, each of which ends with a NUL. */
static bool holds_texts(const char *bytes, size_t size, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < size; i++) {
        found += bytes[i] == '\0';
    }
    return found == count && (size == 0 || bytes[size - 1] == '\0');
}

/* Checks the values. The checksum detects damage; this function detects files of another writer. */
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
        /* a negative id is a large unsigned number */
        if (u32_at(a->ids, i) >= vocabulary) return false;
    }
    return tokens == a->head.tokens && a->head.names <= INT32_MAX &&
           holds_texts(a->names, a->head.name_bytes, a->head.names) &&
           (a->head.id_bytes == 0 || holds_texts(a->id_text, a->head.id_bytes, a->head.texts));
}

/* Reads `count` strings, each of which ends with a NUL. */
static nvdp_status unpack_names(struct nvdp_context *ctx, size_t count, const char *bytes,
                                const char ***out) {
    nvdp__autofree const char **name = NULL;
    NVDP_TRY(NVDP__NEW(ctx, name, count));
    for (size_t i = 0; i < count; i++) {
        name[i] = bytes;
        bytes += strlen(bytes) + 1;
    }
    return nvdp__names_select(ctx, count, name, NULL, out);
}

static nvdp_status dataset_of_arrays(struct nvdp_context *ctx,
                                     const struct nvdp_dataset_config *config,
                                     const struct arrays *a, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp__layout layout;
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    NVDP_TRY(nvdp__dataset_create(ctx, a->head.texts, a->head.labeled != 0, &dataset));
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    storage->task = layout.task;
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
    return NVDP__HAND_OVER(out, dataset);
}

nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out) {
    struct arrays arrays = {0};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    if (!find_arrays(bytes, count, &arrays) || !is_sound(&arrays, vocabulary, config->max_length))
        return NVDP_OK;
    NVDP_TRY(dataset_of_arrays(ctx, config, &arrays, &dataset));
    const struct nvdp_task *task = dataset->task;
    for (size_t i = 0; dataset->label != NULL && i < dataset->count; i++) {
        const double label = dataset->label[i];
        if (task->regression ? !(label >= task->label_min && label <= task->label_max)
                             : !(label >= 0 && label < task->classes && label == floor(label)))
            return NVDP_OK; /* labels are classes of the task, or scores in the task's range */
    }
    return NVDP__HAND_OVER(out, dataset);
}

static nvdp_status recall(struct nvdp_context *ctx, const char *path,
                          const struct nvdp_tokenizer *tokenizer,
                          const struct nvdp_dataset_config *config, struct nvdp_dataset **out) {
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__cache_read(ctx, path, kind, VERSION, &bytes, &count));
    if (bytes == NULL) return NVDP_OK;
    struct nvdp_dataset_config whole = *config;
    if (tokenizer->words) whole.max_length = SIZE_MAX;
    NVDP_TRY(nvdp__tokens_unpack(ctx, bytes, count, nvdp_tokenizer_size(tokenizer), &whole, out));
    if (*out == NULL)
        nvdp__log(
            ctx, NVDP_LOG_NOTICE,
            "%s: the cache file is damaged or has other contents; nvdp computes its contents again",
            path);
    else if (tokenizer->words)
        nvdp__mark_words(tokenizer, (*out)->offset[(*out)->count], (*out)->ids, (*out)->types);
    return NVDP_OK;
}

/* ---- writing ---- */

/* The bytes of the file that are being assembled; NULL if they are only counted. */
struct block {
    char *bytes;
    size_t used;
};

static void put(struct block *block, const void *bytes, size_t count) {
    if (block->bytes != NULL && count > 0) memcpy(block->bytes + block->used, bytes, count);
    block->used += count;
}

static void put_u32(struct block *block, size_t value) {
    uint32_t narrow = (uint32_t)value; /* number of tokens of a text */
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

/* Writes the cached file, and makes the folder if necessary. */
static nvdp_status keep(struct nvdp_context *ctx, const char *directory, const char *path,
                        const struct nvdp_dataset *dataset) {
    nvdp__autofree char *bytes = NULL;
    struct block block = {0};
    put_dataset(&block, dataset);
    NVDP_TRY(NVDP__NEW(ctx, bytes, block.used));
    block = (struct block){.bytes = bytes};
    put_dataset(&block, dataset);
    NVDP_TRY(nvdp__cache_make(ctx, directory));
    return nvdp__cache_write(ctx, path, kind, VERSION, bytes, block.used);
}

/* ---- rows to data set ---- */

/* Reduces the rows to the chosen ones, and compares their texts with the public texts; NULL if there are none. */
static nvdp_status keep_chosen(const bool *chosen, struct nvdp__public_texts *public,
                               struct nvdp__rows *rows) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__text_row row = rows->row[i];
        const size_t index = (size_t)row.index;
        if (chosen != NULL && !chosen[i]) continue;
        rows->row[kept++] = row;
        if (public == NULL) continue;
        NVDP_TRY(nvdp__public_texts_compare(public, row.text.text, row.text.size, index));
        if (rows->task.pair)
            NVDP_TRY(nvdp__public_texts_compare(public, row.pair.text, row.pair.size, index));
    }
    rows->count = kept;
    return NVDP_OK;
}

/* Reduces the rows to `limit` rows, in file order, and compares their texts with the public texts. */
static nvdp_status choose_rows(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__public_texts *public, struct nvdp__rows *rows) {
    nvdp__autofree bool *chosen = NULL;
    NVDP_TRY(nvdp__choose_rows(ctx, config->limit_seed, rows->count, config->limit, &chosen));
    return keep_chosen(chosen, public, rows);
}

/* Takes ownership of the class names of the rows. */
static nvdp_status dataset_of_rows(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   size_t max_length, struct nvdp__rows *rows,
                                   struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp__autofree struct nvdp__text *texts = NULL;
    NVDP_TRY(NVDP__NEW(ctx, texts, rows->count));
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
    if (rows->answered)
        NVDP_TRY(nvdp__names_copy(ctx, rows->count, &rows->row[0].label_text, sizeof rows->row[0],
                                  &nvdp__dataset_storage(dataset)->answer));
    NVDP_TRY(nvdp__dataset_encode(ctx, tokenizer, texts, max_length, dataset));
    nvdp__dataset_storage(dataset)->task = rows->task;
    dataset->bad_rows = rows->skipped;
    NVDP__HAND_OVER(&nvdp__dataset_storage(dataset)->labels, rows->labels);
    return NVDP__HAND_OVER(out, dataset);
}

/* ---- notices about the texts ---- */

/* A share of unknown tokens above this is reported. */
static const double MANY_UNKNOWN = .2;

/* Adds the findings in a part of a file. */
static void add_findings(const struct nvdp_tokenizer *tokenizer, const struct nvdp_dataset *dataset,
                         struct nvdp__findings *to) {
    const int32_t unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    const size_t n = dataset->count,
                 specials = nvdp_tokenizer_specials(tokenizer, dataset->task->pair);
    to->texts += n;
    to->tokens += dataset->offset[n] > n * specials ? dataset->offset[n] - n * specials : 0;
    to->truncated += dataset->truncated;
    to->longest = nvdp__max(to->longest, dataset->longest);
    for (size_t i = 0; i < n; i++)
        to->empty += dataset->offset[i + 1] - dataset->offset[i] <= specials;
    for (size_t k = 0; unknown >= 0 && k < dataset->offset[n]; k++)
        to->unknown += dataset->ids[k] == unknown;
}

static void log_truncated(struct nvdp_context *ctx, const char *path,
                          const struct nvdp__findings *of) {
    if (of->truncated > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s: %zu of %zu texts (%.1f %%) are cut to %zu tokens ({max-length})", path,
                  of->truncated, of->texts, 100 * (double)of->truncated / (double)of->texts,
                  of->longest);
}

void nvdp__log_truncated(struct nvdp_context *ctx, const char *path,
                         const struct nvdp_dataset *dataset) {
    log_truncated(ctx, path,
                  &(struct nvdp__findings){.texts = dataset->count,
                                           .truncated = dataset->truncated,
                                           .longest = dataset->longest});
}

/* Logs one line per finding. */
static void log_findings(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                         const struct nvdp__findings *of) {
    nvdp__table_log_texts(ctx, path, not_utf8, of->empty, of->texts);
    if ((double)of->unknown > MANY_UNKNOWN * (double)of->tokens)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: %.0f %% of the tokens are not in the vocabulary: is the model one for this "
                  "language and script?",
                  path, 100 * (double)of->unknown / (double)of->tokens);
    log_truncated(ctx, path, of);
}

/* Compares the sentences of a file of words with tags with the public texts. */
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

/* Loads through the cache, if there is one. A file with skipped or unusual rows, or a file of lines, is not cached,
 * so that the notices about it appear again. Texts that are compared with `public` are read from the file. */
nvdp_status nvdp__dataset_load_rows(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp_dataset_config *config,
                                    enum nvdp__label_use use, const char *path,
                                    struct nvdp__public_texts *public, struct nvdp_dataset **out) {
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
    struct nvdp__findings findings = {0};
    nvdp__auto(nvdp__rows_release) struct nvdp__rows rows = {0};
    nvdp__autofree char *bytes = NULL, *kept = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config->max_length));
    NVDP_TRY(nvdp__read_stream(ctx, path, NVDP__DATA_LIMIT, &bytes, &count));
    if (config->cache != NULL && public == NULL && use != NVDP__LABELS_AS_TEXT) {
        NVDP_TRY(cache_path(ctx, tokenizer, config, use, path, bytes, count, &kept));
        NVDP_TRY(recall(ctx, kept, tokenizer, config, &dataset));
    }
    if (dataset == NULL) {
        NVDP_TRY(nvdp__rows_parse(ctx, config, use, path, bytes, count, &rows));
        NVDP_TRY(choose_rows(ctx, config, public, &rows));
        NVDP_TRY(dataset_of_rows(ctx, tokenizer, config->max_length, &rows, &dataset));
        if (kept != NULL && dataset->bad_rows + rows.not_utf8 + rows.odd == 0 && !rows.lines &&
            keep(ctx, config->cache, kept, dataset) != NVDP_OK && ctx != NULL)
            nvdp__log(ctx, NVDP_LOG_NOTICE, "tokens are not kept for other runs: %s",
                      nvdp_context_error(ctx));
    }
    add_findings(tokenizer, dataset, &findings);
    log_findings(ctx, path, rows.not_utf8, &findings);
    *out = dataset;
    return NVDP_OK;
}

/* ---- a file in parts ---- */

enum { WHOLE = 4 << 20 }; /* max bytes of a file that is read as a whole */

static bool is_packed(const char *path) {
    return nvdp__ends_with(path, ".gz") || nvdp__ends_with(path, ".xz");
}

bool nvdp__dataset_has_parts(const struct nvdp_dataset_config *config, const char *path) {
    struct stat info;
    return config->task != NVDP_TASK_NER && !config->skip_bad_rows && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && (info.st_size > WHOLE || is_packed(path));
}

nvdp_status nvdp__dataset_parts_open(struct nvdp_context *ctx,
                                     const struct nvdp_tokenizer *tokenizer,
                                     const struct nvdp_dataset_config *config,
                                     enum nvdp__label_use use, const char *path,
                                     struct nvdp__public_texts *public,
                                     struct nvdp__dataset_parts *out) {
    *out = (struct nvdp__dataset_parts){.ctx = ctx,
                                        .tokenizer = tokenizer,
                                        .config = *config,
                                        .use = use,
                                        .path = path,
                                        .public = public,
                                        .max_rows = SIZE_MAX};
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config->max_length));
    NVDP_TRY(nvdp__rows_format(ctx, config, use, path, &out->format));
    if (config->limit == 0) return NVDP_OK;
    NVDP_TRY(nvdp__rows_count(ctx, config, use, path, out->format, &out->max_rows));
    return nvdp__choose_rows(ctx, config->limit_seed, out->max_rows, config->limit, &out->chosen);
}

static nvdp_status changed(const struct nvdp__dataset_parts *parts, nvdp_status status) {
    return nvdp__fail(parts->ctx, status == NVDP_ERR_MEMORY ? status : NVDP_ERR_INPUT,
                      "%s: expected the same texts whenever the file is read, found others or an "
                      "error: the file changed meanwhile",
                      parts->path);
}

/* Returns the context that records the messages of a pass: NULL after the first pass, which had them. */
static struct nvdp_context *listener(const struct nvdp__dataset_parts *parts) {
    return parts->content.known ? NULL : parts->ctx;
}

/* Ends a pass: the first pass logs its findings, and a further pass must have found the same texts. */
static nvdp_status end_pass(struct nvdp__dataset_parts *parts, const struct nvdp__rows *rows) {
    const bool first = !parts->content.known;
    if (!nvdp__content_end(&parts->content)) return changed(parts, NVDP_OK);
    if (first) {
        parts->max_rows = parts->read;
        nvdp__rows_log_skipped(parts->ctx, parts->path, rows->skipped);
        if (parts->format == NVDP__TABLE_LINES)
            nvdp__table_log_lines(parts->ctx, parts->path, parts->read);
        log_findings(parts->ctx, parts->path, rows->not_utf8, &parts->findings);
    }
    nvdp__dataset_parts_rewind(parts);
    return NVDP_OK;
}

/* Makes a data set of those of the rows that are chosen, which may be none. */
static nvdp_status make_part(struct nvdp__dataset_parts *parts, const struct nvdp__rows *from,
                             struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    struct nvdp__rows rows = *from; /* the class names stay with the reader */
    rows.labels = NULL;
    NVDP_TRY(keep_chosen(parts->chosen != NULL ? parts->chosen + parts->read : NULL,
                         parts->content.known ? NULL : parts->public, &rows));
    parts->read += from->count;
    if (rows.count == 0) return NVDP_OK;
    NVDP_TRY(dataset_of_rows(parts->ctx, parts->tokenizer, parts->config.max_length, &rows, &data));
    nvdp__content_add(&parts->content, data);
    if (!parts->content.known) add_findings(parts->tokenizer, data, &parts->findings);
    return NVDP__HAND_OVER(out, data);
}

nvdp_status nvdp__dataset_parts_next(struct nvdp__dataset_parts *parts,
                                     struct nvdp_dataset **data) {
    const struct nvdp__rows *rows = NULL;
    nvdp_status status = NVDP_OK;
    nvdp_dataset_free(*data);
    *data = NULL;
    if (parts->rows == NULL) {
        status = nvdp__row_chunks_open(listener(parts), &parts->config, parts->use, parts->path,
                                       NULL, parts->format, &parts->rows);
    }
    while (status == NVDP_OK && *data == NULL) {
        status = nvdp__row_chunks_next(parts->rows, &rows);
        if (status != NVDP_OK) break;
        if (rows->count == 0) return end_pass(parts, rows);
        if (rows->count > parts->max_rows - parts->read) return changed(parts, NVDP_OK);
        NVDP_TRY(make_part(parts, rows, data));
    }
    return status != NVDP_OK && parts->content.known ? changed(parts, status) : status;
}

void nvdp__dataset_parts_rewind(struct nvdp__dataset_parts *parts) {
    nvdp__row_chunks_close(parts->rows);
    parts->rows = NULL;
    parts->read = 0;
    parts->content.begun = false;
}

void nvdp__dataset_parts_close(struct nvdp__dataset_parts *parts) {
    nvdp__dataset_parts_rewind(parts);
    free(parts->chosen);
}

/* Copies the caller's options. Options that the caller's struct lacks get their defaults. */
static nvdp_status take_config(struct nvdp_context *ctx, const struct nvdp_dataset_config *given,
                               struct nvdp_dataset_config *out) {
    NVDP_TRY(nvdp__can_give(ctx, given));
    *out = nvdp__dataset_config_default();
    nvdp__give(out, given, given->struct_size);
    return NVDP_OK;
}

nvdp_status nvdp__dataset_load(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               const struct nvdp_dataset_config *given, enum nvdp_split split,
                               struct nvdp__public_texts *public, struct nvdp_dataset **out) {
    struct nvdp__layout layout;
    struct nvdp_dataset_config config;
    nvdp__autofree char *path = NULL;
    NVDP_TRY(take_config(ctx, given, &config));
    NVDP_TRY(nvdp__task_resolve(ctx, &config, &layout));
    const struct nvdp_task *from = config.labels_from;
    /* classes are numbered by the train split, because numbering another split separately could give other numbers */
    if (config.task == NVDP_TASK_TSV && split != NVDP_SPLIT_TRAIN && !config.regression &&
        config.label_column != NULL && (from == NULL || from->labels == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "labels_from: expected the train split's task, found none");
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, config.max_length));
    if (config.directory == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "directory: expected a path, found none");
    NVDP_TRY(layout.task.tags ? nvdp__conll_file(ctx, config.directory, split, &path)
                              : nvdp__task_path(ctx, &layout, config.directory, split, &path));
    if (split == NVDP_SPLIT_TRAIN) config.labels_from = NULL;
    NVDP_TRY(nvdp__dataset_load_rows(ctx, tokenizer, &config, nvdp__label_use(config.task, split),
                                     path, public, out));
    (*out)->split = split;
    return NVDP_OK;
}

nvdp_status nvdp_dataset_load_file(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                   const struct nvdp_dataset_config *given, const char *path,
                                   struct nvdp_dataset **out) {
    struct nvdp_dataset_config config;
    NVDP_TRY(take_config(ctx, given, &config));
    return nvdp__dataset_load_rows(ctx, tokenizer, &config, NVDP__LABELS_FOUND, path, NULL, out);
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
    NVDP_TRY(nvdp__choose_rows(ctx, seed, all->count, limit, &chosen));
    NVDP_TRY(NVDP__NEW(ctx, row, all->count));
    for (size_t i = 0; i < all->count; i++) {
        all->index[i] = (int64_t)i;
        if (chosen[i]) row[n++] = i;
    }
    NVDP_TRY(nvdp__dataset_select(ctx, all, n, row, out));
    *texts = all->count;
    return NVDP_OK;
}
