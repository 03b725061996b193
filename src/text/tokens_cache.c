/* The bytes of a cached data set: a head of numbers, then arrays end to end.
 *
 *   u64 texts, tokens, labelled, class names, bytes of their text, bytes of the ids' text
 *   u32 tokens a text; u32 of these of type 0; u8 whether it was cut; i64 row in the file
 *   f32 label (where labelled); i32 token ids; names and ids, each ending with a NUL */
#include "text/tokens_cache.h"

#include "base/cache.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

static const char kind[] = "tokens";
enum { VERSION = 1 };

struct head {
    uint64_t texts, tokens, labelled, names, name_bytes, id_bytes;
};

/* --- the name --- */

nvdp_status nvdp__tokens_path(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, enum nvdp__label_use use,
                              const char *bytes, size_t count, char **path) {
    char hex[NVDP__DIGEST_HEX];
    struct nvdp__digest digest;
    const struct nvdp_task *from = config->labels_from;
    nvdp__digest_begin(&digest);
    nvdp__digest_text(&digest, NVDP_VERSION);
    nvdp__digest_number(&digest, VERSION);
    nvdp__digest_bytes(&digest, bytes, count);
    nvdp__digest_text(&digest, tokenizer->digest);
    nvdp__digest_number(&digest, config->max_length);
    nvdp__digest_number(&digest, (uint64_t)config->task);
    nvdp__digest_text(&digest, config->columns.text_column);
    nvdp__digest_text(&digest, config->columns.text_pair_column);
    nvdp__digest_text(&digest, config->columns.label_column);
    nvdp__digest_number(&digest, config->columns.regression);
    nvdp__digest_number(&digest, (uint64_t)use);
    nvdp__digest_number(&digest, config->limit);
    nvdp__digest_number(&digest, config->limit > 0 ? config->limit_seed : 0);
    for (int i = 0; from != NULL && from->labels != NULL && i < from->classes; i++) {
        nvdp__digest_text(&digest, from->labels[i]);
    }
    nvdp__digest_end(&digest, hex);
    *path = nvdp__cache_path(ctx, config->cache, kind, hex);
    return *path == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

/* --- reading --- */

/* Takes arrays off the front of the bytes. */
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
           take(&cursor, a->head.labelled != 0 ? n : 0, sizeof(float), &a->label) &&
           take(&cursor, a->head.tokens, sizeof(int32_t), &a->ids) &&
           take(&cursor, a->head.name_bytes, 1, &a->names) &&
           take(&cursor, a->head.id_bytes, 1, &a->id_text) && cursor.left == 0;
}

static uint32_t u32_at(const char *array, size_t i) {
    uint32_t value;
    memcpy(&value, array + i * sizeof value, sizeof value);
    return value;
}

/* Whether there are exactly `count` texts, each ending with a NUL, in the bytes. */
static bool holds_texts(const char *bytes, size_t size, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < size; i++) {
        found += bytes[i] == '\0';
    }
    return found == count && (size == 0 || bytes[size - 1] == '\0');
}

/* The checksum tells damage; this tells a file that somebody else made. */
static bool is_sound(const struct arrays *a, size_t vocabulary, size_t max_length) {
    uint64_t tokens = 0;
    for (size_t i = 0; i < a->head.texts; i++) {
        size_t length = u32_at(a->length, i);
        if (length == 0 || length > max_length || u32_at(a->first, i) > length) return false;
        tokens += length;
    }
    for (size_t i = 0; i < a->head.tokens; i++) {
        if (u32_at(a->ids, i) >= vocabulary) return false; /* a negative one is large */
    }
    return tokens == a->head.tokens && a->head.names <= INT32_MAX &&
           holds_texts(a->names, a->head.name_bytes, a->head.names) &&
           (a->head.id_bytes == 0 || holds_texts(a->id_text, a->head.id_bytes, a->head.texts));
}

/* Labels that are classes of the task, or scores in its range. */
static bool labels_fit(const struct nvdp_dataset *dataset) {
    const struct nvdp_task *task = &dataset->task;
    for (size_t i = 0; dataset->label != NULL && i < dataset->count; i++) {
        double label = dataset->label[i];
        bool fits = task->regression ? label >= task->label_min && label <= task->label_max
                                     : label >= 0 && label < task->classes && label == floor(label);
        if (!fits) return false;
    }
    return true;
}

static void fill_tokens(const struct arrays *a, struct nvdp_dataset *dataset) {
    for (size_t i = 0; i < dataset->count; i++) {
        size_t length = u32_at(a->length, i);
        size_t end = dataset->offset[i] + length;
        for (size_t t = dataset->offset[i] + u32_at(a->first, i); t < end; t++) {
            dataset->types[t] = 1;
        }
        dataset->offset[i + 1] = end;
        if (length > dataset->longest) dataset->longest = length;
        bool cut = a->cut[i] != 0;
        nvdp__dataset_storage(dataset)->cut[i] = cut;
        dataset->truncated += cut;
    }
    memcpy(dataset->ids, a->ids, a->head.tokens * sizeof *dataset->ids);
    memcpy(dataset->index, a->index, dataset->count * sizeof *dataset->index);
    if (dataset->label != NULL)
        memcpy(dataset->label, a->label, dataset->count * sizeof *dataset->label);
}

static nvdp_status fill_names(struct nvdp_context *ctx, const struct arrays *a,
                              struct nvdp_dataset *dataset) {
    nvdp_status status = NVDP_OK;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    struct nvdp__field *name = nvdp__calloc(ctx, a->head.names, sizeof *name);
    if (name == NULL) return NVDP_ERR_MEMORY;
    const char *at = a->names;
    for (size_t i = 0; i < a->head.names; i++) {
        name[i] = (struct nvdp__field){at, strlen(at)};
        at += name[i].size + 1;
    }
    NVDP_TRY(nvdp__labels_copy(ctx, a->head.names, name, &storage->labels));
    dataset->task.labels = storage->labels;
    dataset->task.classes = (int)a->head.names;
cleanup:
    free(name);
    return status;
}

static nvdp_status fill_ids(struct nvdp_context *ctx, const struct arrays *a,
                            struct nvdp_dataset *dataset) {
    char *text = nvdp__calloc(ctx, a->head.id_bytes, 1);
    if (text == NULL) return NVDP_ERR_MEMORY;
    memcpy(text, a->id_text, a->head.id_bytes);
    nvdp__dataset_storage(dataset)->id_text = text;
    for (size_t i = 0; i < dataset->count; i++) {
        dataset->id[i] = text;
        text += strlen(text) + 1;
    }
    return NVDP_OK;
}

static nvdp_status build(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                         const struct arrays *a, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    struct nvdp__layout layout;
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    NVDP_TRY(nvdp__dataset_create(ctx, a->head.texts, a->head.labelled != 0, a->head.id_bytes > 0,
                                  &dataset));
    dataset->task = layout.task;
    dataset->ids = nvdp__calloc(ctx, a->head.tokens, sizeof *dataset->ids);
    dataset->types = nvdp__calloc(ctx, a->head.tokens, sizeof *dataset->types);
    if (dataset->ids == NULL || dataset->types == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    fill_tokens(a, dataset);
    if (a->head.names > 0) NVDP_TRY(fill_names(ctx, a, dataset));
    if (dataset->id != NULL) NVDP_TRY(fill_ids(ctx, a, dataset));
    *out = dataset;
    dataset = NULL;
cleanup:
    nvdp_dataset_free(dataset);
    return status;
}

nvdp_status nvdp__tokens_unpack(struct nvdp_context *ctx, const char *bytes, size_t count,
                                size_t vocabulary, const struct nvdp_dataset_config *config,
                                struct nvdp_dataset **out) {
    struct arrays arrays = {0};
    struct nvdp_dataset *dataset = NULL;
    if (!find_arrays(bytes, count, &arrays) || !is_sound(&arrays, vocabulary, config->max_length))
        return NVDP_OK;
    NVDP_RETURN_IF_FAILED(build(ctx, config, &arrays, &dataset));
    if (labels_fit(dataset)) {
        *out = dataset;
    } else {
        nvdp_dataset_free(dataset);
    }
    return NVDP_OK;
}

nvdp_status nvdp__tokens_load(struct nvdp_context *ctx, const char *path,
                              const struct nvdp_tokenizer *tokenizer,
                              const struct nvdp_dataset_config *config, struct nvdp_dataset **out) {
    char *bytes = NULL;
    size_t count = 0;
    struct nvdp_dataset *dataset = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__cache_read(ctx, path, kind, VERSION, &bytes, &count));
    if (bytes == NULL) return NVDP_OK;
    nvdp_status status =
        nvdp__tokens_unpack(ctx, bytes, count, nvdp_tokenizer_size(tokenizer), config, &dataset);
    free(bytes);
    if (status == NVDP_OK && dataset == NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: not what it should hold; it is made again", path);
    *out = dataset;
    return status;
}

/* --- writing --- */

/* The file's bytes while they are put together. */
struct block {
    char *bytes;
    size_t used;
};

static void put(struct block *block, const void *bytes, size_t count) {
    if (count > 0) memcpy(block->bytes + block->used, bytes, count);
    block->used += count;
}

static void put_u32(struct block *block, size_t value) {
    uint32_t narrow = (uint32_t)value; /* tokens of a text */
    put(block, &narrow, sizeof narrow);
}

static size_t first_part(const struct nvdp_dataset *dataset, size_t text) {
    size_t first = 0;
    for (size_t t = dataset->offset[text]; t < dataset->offset[text + 1]; t++) {
        first += dataset->types[t] == 0;
    }
    return first;
}

static struct head head_of(const struct nvdp_dataset *dataset) {
    const struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    struct head head = {.texts = dataset->count,
                        .tokens = dataset->offset[dataset->count],
                        .labelled = dataset->label != NULL,
                        .names = storage->labels != NULL ? (uint64_t)dataset->task.classes : 0};
    for (size_t i = 0; i < head.names; i++) {
        head.name_bytes += strlen(dataset->task.labels[i]) + 1;
    }
    for (size_t i = 0; dataset->id != NULL && i < dataset->count; i++) {
        head.id_bytes += strlen(dataset->id[i]) + 1;
    }
    return head;
}

static size_t room_of(const struct head *head) {
    size_t text = 2 * sizeof(uint32_t) + 1 + sizeof(int64_t) + sizeof(float);
    return sizeof *head + head->texts * text + head->tokens * sizeof(int32_t) + head->name_bytes +
           head->id_bytes;
}

static void put_texts(struct block *block, const struct nvdp_dataset *dataset) {
    size_t n = dataset->count;
    for (size_t i = 0; i < n; i++) {
        put_u32(block, dataset->offset[i + 1] - dataset->offset[i]);
    }
    for (size_t i = 0; i < n; i++) {
        put_u32(block, first_part(dataset, i));
    }
    for (size_t i = 0; i < n; i++) {
        put(block, nvdp__dataset_storage(dataset)->cut[i] ? "\1" : "\0", 1);
    }
    put(block, dataset->index, n * sizeof *dataset->index);
    if (dataset->label != NULL) put(block, dataset->label, n * sizeof *dataset->label);
    put(block, dataset->ids, dataset->offset[n] * sizeof *dataset->ids);
}

static nvdp_status save(struct nvdp_context *ctx, const char *directory, const char *path,
                        const struct nvdp_dataset *dataset) {
    struct head head = head_of(dataset);
    struct block block = {.bytes = nvdp__calloc(ctx, room_of(&head), 1)};
    if (block.bytes == NULL) return NVDP_ERR_MEMORY;
    put(&block, &head, sizeof head);
    put_texts(&block, dataset);
    for (size_t i = 0; i < head.names; i++) {
        put(&block, dataset->task.labels[i], strlen(dataset->task.labels[i]) + 1);
    }
    for (size_t i = 0; head.id_bytes > 0 && i < dataset->count; i++) {
        put(&block, dataset->id[i], strlen(dataset->id[i]) + 1);
    }
    nvdp_status status = nvdp__cache_make(ctx, directory);
    if (status == NVDP_OK)
        status = nvdp__cache_write(ctx, path, kind, VERSION, block.bytes, block.used);
    free(block.bytes);
    return status;
}

void nvdp__tokens_save(struct nvdp_context *ctx, const char *directory, const char *path,
                       const struct nvdp_dataset *dataset) {
    nvdp_status status = save(ctx, directory, path, dataset);
    if (status != NVDP_OK && ctx != NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "tokens are not kept for other runs: %s",
                  nvdp_context_error(ctx));
}
