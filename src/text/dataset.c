/* Data sets in memory: allocation, tokenization in parallel, selection of rows, and splits
 * (holdout, sample, folds). */
#include "text/dataset.h"

#include "base/own.h"
#include "base/random.h"
#include "options/schema.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LENGTH = 512,
    DEFAULT_LENGTH = 128,
    QUANTILE_BINS = 10,
    /* The uses of NVDP__PURPOSE_SPLIT streams, in place of the epoch of other streams. */
    HOLDOUT_STREAMS = 0, /* further keyed by stratum */
    SAMPLE_STREAM = 1,
    FOLD_STREAM = 2,
    CONTENT_STREAMS = 3 /* further keyed by the text's content */
};

struct nvdp_dataset_config nvdp__dataset_config_default(void) {
    return (struct nvdp_dataset_config){.struct_size = sizeof(struct nvdp_dataset_config),
                                        .max_length = DEFAULT_LENGTH};
}

nvdp_status nvdp_dataset_config_default(struct nvdp_context *ctx, struct nvdp_dataset_config *out) {
    const struct nvdp_dataset_config made = nvdp__dataset_config_default();
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

void nvdp__set_columns(struct nvdp_dataset_config *config, const struct nvdp__columns *columns) {
    config->text_column = columns->text_column;
    config->text_pair_column = columns->text_pair_column;
    config->label_column = columns->label_column;
    config->regression = columns->regression;
}

nvdp_status nvdp__find_split(struct nvdp_context *ctx, const char *name, const char *also,
                             enum nvdp_split *out) {
    for (int i = 0; nvdp__split_names[i] != NULL; i++) {
        if (strcmp(name, nvdp__split_names[i]) != 0) continue;
        *out = (enum nvdp_split)i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "split '%s': expected train, %sdev, test, dev-mismatched or test-mismatched",
                      name, also);
}

/* ---- memory ---- */

nvdp_status nvdp__dataset_create(struct nvdp_context *ctx, size_t count, bool labeled,
                                 struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset =
        nvdp__calloc(ctx, 1, sizeof *dataset);
    if (dataset == NULL) return NVDP_ERR_MEMORY;
    struct nvdp__dataset_storage *storage = nvdp__calloc(ctx, 1, sizeof *storage);
    if (storage == NULL) return NVDP_ERR_MEMORY;
    dataset->storage = storage;
    dataset->task = &storage->task;
    dataset->count = count;
    storage->cut = nvdp__calloc(ctx, count, sizeof *storage->cut);
    dataset->offset = nvdp__calloc(ctx, count + 1, sizeof *dataset->offset);
    dataset->index = nvdp__calloc(ctx, count, sizeof *dataset->index);
    NVDP_TRY(NVDP__MADE(storage->cut, dataset->offset, dataset->index));
    if (labeled) {
        dataset->label = nvdp__calloc(ctx, count, sizeof *dataset->label);
        if (dataset->label == NULL) return NVDP_ERR_MEMORY;
    }
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
}

void nvdp_dataset_free(struct nvdp_dataset *dataset) {
    if (dataset == NULL) return;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    if (storage != NULL) {
        free(storage->labels);
        free(storage->cut);
        free(storage->continues);
        free(storage->group);
        free(storage);
    }
    free(dataset->offset);
    free(dataset->ids);
    free(dataset->types);
    free(dataset->label);
    free(dataset->tag);
    free(dataset->index);
    free(dataset->id);
    free(dataset);
}

size_t nvdp__dataset_outputs(const struct nvdp_dataset *dataset) {
    size_t words = 0;
    if (dataset->tag == NULL) return dataset->count;
    for (size_t k = 0; k < dataset->offset[dataset->count]; k++)
        words += dataset->tag[k] != NVDP_TAG_NONE;
    return words;
}

bool nvdp__dataset_labeled(const struct nvdp_dataset *dataset) {
    if (dataset->tag == NULL) return dataset->label != NULL;
    for (size_t k = 0; k < dataset->offset[dataset->count]; k++)
        if (dataset->tag[k] == NVDP_TAG_UNKNOWN) return false;
    return true;
}

/* ---- tokens ---- */

/* The tokens of one thread's texts, concatenated. */
struct part {
    size_t first, last; /* texts */
    int32_t *ids;
    size_t count, capacity;
    nvdp_status status;
};

/* Fills `part` with the tokens of its texts and sets offset[i + 1] to the number of tokens of
 * text i; `first` receives the number of tokens of type 0. */
static nvdp_status encode_part(const struct nvdp_tokenizer *tokenizer,
                               const struct nvdp__text *texts, size_t max_length,
                               struct nvdp_dataset *dataset, uint16_t *first, struct part *part) {
    nvdp__auto(nvdp__encoder_release) struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    bool *cut = nvdp__dataset_storage(dataset)->cut;
    for (size_t i = part->first; i < part->last; i++) {
        const struct nvdp__text *text = &texts[i];
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
    return NVDP_OK;
}

nvdp_status nvdp__dataset_lay_out(struct nvdp_context *ctx, struct nvdp_dataset *dataset) {
    const bool *cut = nvdp__dataset_storage(dataset)->cut;
    for (size_t i = 0; i < dataset->count; i++) {
        size_t tokens = dataset->offset[i + 1];
        if (tokens > dataset->longest) dataset->longest = tokens;
        dataset->truncated += cut[i];
        dataset->offset[i + 1] += dataset->offset[i];
    }
    size_t tokens = dataset->offset[dataset->count];
    dataset->ids = nvdp__calloc(ctx, tokens, sizeof *dataset->ids);
    dataset->types = nvdp__calloc(ctx, tokens, sizeof *dataset->types);
    return NVDP__MADE(dataset->ids, dataset->types);
}

nvdp_status nvdp__dataset_encode(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct nvdp__text *texts, size_t max_length,
                                 struct nvdp_dataset *dataset) {
    nvdp_status status = NVDP_OK;
    size_t count = dataset->count;
    size_t parts = ctx != NULL ? (size_t)nvdp_context_threads(ctx) : 1;
    if (parts > count) parts = count > 0 ? count : 1;
    uint16_t *first = nvdp__calloc(ctx, count, sizeof *first);
    struct part *part = nvdp__calloc(ctx, parts, sizeof *part);
    if (first == NULL || part == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
#pragma omp parallel for num_threads((int)parts) schedule(static, 1)
    for (size_t p = 0; p < parts; p++) {
        part[p].first = count / parts * p + (p < count % parts ? p : count % parts);
        part[p].last = part[p].first + count / parts + (p < count % parts);
        part[p].status = encode_part(tokenizer, texts, max_length, dataset, first, &part[p]);
    }
    for (size_t p = 0; p < parts; p++) {
        if (part[p].status != NVDP_OK)
            NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, part[p].status, "out of memory while tokenizing"));
    }
    NVDP_TRY_OR_CLEAN(nvdp__dataset_lay_out(ctx, dataset));
    for (size_t p = 0; p < parts; p++) {
        if (part[p].count > 0)
            memcpy(dataset->ids + dataset->offset[part[p].first], part[p].ids,
                   part[p].count * sizeof *dataset->ids);
    }
    for (size_t i = 0; i < count && !tokenizer->words; i++) {
        for (size_t at = dataset->offset[i] + first[i]; at < dataset->offset[i + 1]; at++)
            dataset->types[at] = 1;
    }
    if (tokenizer->words)
        nvdp__mark_words(tokenizer, dataset->offset[count], dataset->ids, dataset->types);
cleanup:
    for (size_t p = 0; part != NULL && p < parts; p++) {
        free(part[p].ids);
    }
    free(part);
    free(first);
    return status;
}

nvdp_status nvdp__check_length(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               size_t max_length) {
    size_t min = nvdp_tokenizer_specials(tokenizer, true);
    if (tokenizer->words) return NVDP_OK; /* texts are whole */
    if (max_length >= min && max_length <= MAX_LENGTH) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{max-length}: expected %zu to %d, found %zu", min,
                      MAX_LENGTH, max_length);
}

nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp__autofree struct nvdp__text *texts = NULL;
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, max_length));
    texts = nvdp__calloc(ctx, count, sizeof *texts);
    if (texts == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__dataset_create(ctx, count, false, &dataset));
    for (size_t i = 0; i < count; i++) {
        texts[i] = (struct nvdp__text){.text = text[i], .text_size = strlen(text[i])};
        if (pair != NULL && pair[i] != NULL) {
            texts[i].pair = pair[i];
            texts[i].pair_size = strlen(pair[i]);
        }
        dataset->index[i] = (int64_t)i;
    }
    NVDP_TRY(nvdp__dataset_encode(ctx, tokenizer, texts, max_length, dataset));
    nvdp__dataset_storage(dataset)->task = (struct nvdp_task){
        .id = NVDP_TASK_TSV, .name = nvdp__task_layout(NVDP_TASK_TSV)->task.name, .pair = pair};
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
}

/* ---- selection ---- */

nvdp_status nvdp_dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                                const size_t *rows, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= from->count)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "row %zu: expected less than %zu", rows[i],
                              from->count);
    }
    NVDP_TRY(nvdp__dataset_create(ctx, n, from->label != NULL, &dataset));
    for (size_t i = 0; i < n; i++) {
        size_t row = rows[i];
        dataset->offset[i + 1] = from->offset[row + 1] - from->offset[row];
        dataset->index[i] = from->index[row];
        if (from->label != NULL) dataset->label[i] = from->label[row];
        nvdp__dataset_storage(dataset)->cut[i] = nvdp__dataset_storage(from)->cut[row];
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, dataset));
    for (size_t i = 0; i < n; i++) {
        size_t start = from->offset[rows[i]];
        size_t bytes = (from->offset[rows[i] + 1] - start) * sizeof *from->ids;
        memcpy(dataset->ids + dataset->offset[i], from->ids + start, bytes);
        memcpy(dataset->types + dataset->offset[i], from->types + start, bytes);
    }
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    if (nvdp__dataset_storage(from)->group != NULL) {
        NVDP_TRY(NVDP__NEW(ctx, storage->group, n));
        for (size_t i = 0; i < n; i++)
            storage->group[i] = nvdp__dataset_storage(from)->group[rows[i]];
    }
    if (from->tag != NULL) {
        NVDP_TRY(NVDP__NEW(ctx, dataset->tag, dataset->offset[n]));
        NVDP_TRY(NVDP__NEW(ctx, storage->continues, n));
        for (size_t i = 0; i < n; i++) {
            memcpy(dataset->tag + dataset->offset[i], from->tag + from->offset[rows[i]],
                   (dataset->offset[i + 1] - dataset->offset[i]) * sizeof *from->tag);
            storage->continues[i] = i > 0 && rows[i] == rows[i - 1] + 1 &&
                                    nvdp__dataset_storage(from)->continues[rows[i]];
        }
    }
    if (from->id != NULL) NVDP_TRY(nvdp__names_of(ctx, n, from->id, rows, &dataset->id));
    nvdp__dataset_storage(dataset)->task = *from->task;
    dataset->split = from->split;
    if (nvdp__dataset_storage(from)->labels != NULL) {
        storage->more_labels = nvdp__dataset_storage(from)->more_labels;
        NVDP_TRY(nvdp__names_of(ctx, (size_t)from->task->classes + storage->more_labels,
                                from->task->labels, NULL, &storage->labels));
        nvdp__dataset_storage(dataset)->task.labels = storage->labels;
    }
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
}

/* ---- sampling, and holding out a part ---- */

static struct nvdp__stream split_stream(uint64_t seed, uint32_t what, size_t stratum) {
    struct nvdp__noise noise = {.seed = seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_SPLIT, what, stratum);
}

nvdp_status nvdp__sample_rows(struct nvdp_context *ctx, uint64_t seed, size_t count, size_t n,
                              bool *chosen) {
    struct nvdp__stream stream = split_stream(seed, SAMPLE_STREAM, 0);
    int64_t *order = nvdp__calloc(ctx, count, sizeof *order);
    if (order == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = (int64_t)i;
    nvdp__stream_shuffle(&stream, count, order);
    for (size_t i = 0; i < n; i++)
        chosen[order[i]] = true;
    free(order);
    return NVDP_OK;
}

/* Items sorted by a number in ascending order, equal ones by index. */
struct ranked {
    double by;
    size_t item;
};

static int compare_ranked(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    if (a->by != b->by) return a->by < b->by ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Assigns bins of equal size by rank of the score. */
static nvdp_status bin_scores(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                              size_t *stratum) {
    struct ranked *score = nvdp__calloc(ctx, from->count, sizeof *score);
    if (score == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        score[i] = (struct ranked){from->label[i], i};
    }
    qsort(score, from->count, sizeof *score, compare_ranked);
    for (size_t rank = 0; rank < from->count; rank++) {
        stratum[score[rank].item] = rank * QUANTILE_BINS / from->count;
    }
    free(score);
    return NVDP_OK;
}

/* Groups texts by stratum: rows of stratum s are order[start[s]..start[s + 1]), in file order. */
static void group(size_t count, const size_t *stratum, size_t strata, size_t *start,
                  int64_t *order) {
    for (size_t i = 0; i < count; i++) {
        start[stratum[i] + 1]++;
    }
    for (size_t s = 0; s < strata; s++) {
        start[s + 1] += start[s];
    }
    for (size_t i = 0; i < count; i++) {
        order[start[stratum[i]]++] = (int64_t)i;
    }
    for (size_t s = strata; s > 0; s--) {
        start[s] = start[s - 1];
    }
    start[0] = 0;
}

/* Number of texts from each stratum, `total` together: the proportional share rounded down, plus
 * one for the largest remainders. */
static nvdp_status apportion(struct nvdp_context *ctx, size_t strata, const size_t *start,
                             size_t total, size_t *take) {
    /* sorted by minus the remainder */
    struct ranked *lost = nvdp__calloc(ctx, strata, sizeof *lost);
    if (lost == NULL) return NVDP_ERR_MEMORY;
    double fraction = (double)total / (double)start[strata];
    size_t taken = 0;
    for (size_t s = 0; s < strata; s++) {
        double exact = fraction * (double)(start[s + 1] - start[s]);
        take[s] = (size_t)floor(exact);
        lost[s] = (struct ranked){floor(exact) - exact, s};
        taken += take[s];
    }
    qsort(lost, strata, sizeof *lost, compare_ranked);
    for (size_t i = 0; taken < total; i = (i + 1) % strata) {
        size_t s = lost[i].item;
        if (take[s] == start[s + 1] - start[s]) continue;
        take[s]++;
        taken++;
    }
    free(lost);
    return NVDP_OK;
}

/* Marks the texts of the validation side. */
static nvdp_status choose(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t total,
                          uint64_t seed, bool *chosen) {
    size_t count = from->count;
    size_t strata = 1;
    if (from->label != NULL)
        strata = from->task->regression ? QUANTILE_BINS : (size_t)from->task->classes;
    nvdp__autofree size_t *stratum = nvdp__calloc(ctx, count, sizeof *stratum);
    nvdp__autofree size_t *start = nvdp__calloc(ctx, strata + 1, sizeof *start);
    nvdp__autofree size_t *take = nvdp__calloc(ctx, strata, sizeof *take);
    nvdp__autofree int64_t *order = nvdp__calloc(ctx, count, sizeof *order);
    NVDP_TRY(NVDP__MADE(stratum, start, take, order));
    if (from->label != NULL && from->task->regression) {
        NVDP_TRY(bin_scores(ctx, from, stratum));
    } else if (from->label != NULL) {
        for (size_t i = 0; i < count; i++) {
            stratum[i] = (size_t)from->label[i];
        }
    }
    group(count, stratum, strata, start, order);
    NVDP_TRY(apportion(ctx, strata, start, total, take));
    for (size_t s = 0; s < strata; s++) {
        struct nvdp__stream stream = split_stream(seed, HOLDOUT_STREAMS, s);
        nvdp__stream_shuffle(&stream, start[s + 1] - start[s], order + start[s]);
        for (size_t i = 0; i < take[s]; i++) {
            chosen[order[start[s] + i]] = true;
        }
    }
    return NVDP_OK;
}

/* A text by a hash of its content, including its label. */
struct content {
    uint64_t key;
    size_t item;
};

static int compare_content(const void *left, const void *right) {
    const struct content *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Hash of the tokens and labels of text i. */
static uint64_t key_of(const struct nvdp_dataset *from, size_t i) {
    uint64_t key = NVDP__FNV1A;
    uint32_t label = 0;
    for (size_t k = from->offset[i]; k < from->offset[i + 1]; k++) {
        key = nvdp__fnv1a(key, (uint64_t)from->ids[k]);
        if (from->tag != NULL) key = nvdp__fnv1a(key, (uint32_t)from->tag[k]);
    }
    if (from->label != NULL) memcpy(&label, &from->label[i], sizeof label);
    return nvdp__fnv1a(key, label);
}

/* Marks the texts of the validation side, each independently. Among texts with the same content,
 * the first, the second and so on have a draw each. */
static nvdp_status choose_each(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               double fraction, bool *chosen, size_t *total) {
    struct content *content = nvdp__calloc(ctx, from->count, sizeof *content);
    struct nvdp__stream stream = {0};
    if (content == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++)
        content[i] = (struct content){key_of(from, i), i};
    qsort(content, from->count, sizeof *content, compare_content);
    *total = 0;
    for (size_t i = 0; i < from->count; i++) {
        if (i == 0 || content[i].key != content[i - 1].key)
            stream = split_stream(0, CONTENT_STREAMS, content[i].key);
        const bool falls = nvdp__stream_uniform(&stream) < fraction;
        chosen[content[i].item] = falls;
        *total += falls;
    }
    free(content);
    return NVDP_OK;
}

static nvdp_status check_split(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               double fraction) {
    if (!(fraction > 0 && fraction < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "fraction: expected between 0 and 1, found %g",
                          fraction);
    if (from->count >= 2) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "validation split: expected at least 2 texts, found %zu",
                      from->count);
}

/* Selects the two sides, in file order. */
static nvdp_status divide(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                          const bool *chosen, size_t total, struct nvdp_dataset **train,
                          struct nvdp_dataset **validation) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *kept = NULL, *held = NULL;
    const size_t count = from->count;
    nvdp__autofree size_t *rows = NULL;
    NVDP_TRY(NVDP__NEW(ctx, rows, count));
    /* Validation fills the front of the array, train the back. */
    for (size_t i = 0, front = 0, back = total; i < count; i++) {
        rows[chosen[i] ? front++ : back++] = i;
    }
    NVDP_TRY(nvdp_dataset_select(ctx, from, total, rows, &held));
    NVDP_TRY(nvdp_dataset_select(ctx, from, count - total, rows + total, &kept));
    NVDP__HAND_OVER(train, kept);
    NVDP__HAND_OVER(validation, held);
    return NVDP_OK;
}

nvdp_status nvdp_dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 double fraction, uint64_t seed, struct nvdp_dataset **train,
                                 struct nvdp_dataset **validation) {
    nvdp__autofree bool *chosen = NULL;
    const size_t count = from->count;
    NVDP_TRY(check_split(ctx, from, fraction));
    size_t total = (size_t)llround(fraction * (double)count);
    if (total < 1) total = 1;
    if (total > count - 1) total = count - 1;
    NVDP_TRY(NVDP__NEW(ctx, chosen, count));
    NVDP_TRY(choose(ctx, from, total, seed, chosen));
    return divide(ctx, from, chosen, total, train, validation);
}

nvdp_status nvdp__dataset_holdout_each(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                       double fraction, struct nvdp_dataset **train,
                                       struct nvdp_dataset **validation) {
    nvdp__autofree bool *chosen = NULL;
    size_t total = 0;
    NVDP_TRY(check_split(ctx, from, fraction));
    NVDP_TRY(NVDP__NEW(ctx, chosen, from->count));
    NVDP_TRY(choose_each(ctx, from, fraction, chosen, &total));
    if (total == 0 || total == from->count)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "validation split: expected texts on both sides, found %zu of %zu held "
                          "out (of private training each text falls by itself, with probability "
                          "{holdout}; {protocol} dev takes the dev file)",
                          total, from->count);
    return divide(ctx, from, chosen, total, train, validation);
}

nvdp_status nvdp__dataset_fold(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               size_t folds, size_t fold, bool held, struct nvdp_dataset **out) {
    nvdp_status status = NVDP_OK;
    const size_t *group = nvdp__dataset_storage(from)->group;
    const size_t count = from->count;
    struct nvdp__stream stream = split_stream(0, FOLD_STREAM, 0);
    size_t groups = 0, n = 0, groups_bound = 0;
    int64_t *place = NULL; /* random order of the groups */
    /* number of each group that occurs: a sample may lack some */
    size_t *number = NULL, *rows = NULL;
    for (size_t i = 0; i < count; i++)
        groups_bound = nvdp__max(groups_bound, (group == NULL ? i : group[i]) + 1);
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, number, groups_bound + 1));
    for (size_t i = 0; i < count; i++)
        number[group == NULL ? i : group[i]] = 1;
    for (size_t g = 0; g < groups_bound; g++)
        if (number[g] > 0) number[g] = groups++;
    if (groups == 0 || groups < folds) {
        status = nvdp__fail(ctx, NVDP_ERR_INPUT, "folds: expected at most the %zu %s, found %zu",
                            groups, group == NULL ? "texts" : "documents or sentences", folds);
        goto cleanup;
    }
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, place, groups));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, rows, count));
    for (size_t g = 0; g < groups; g++)
        place[g] = (int64_t)g;
    nvdp__stream_shuffle(&stream, groups, place);
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)place[number[group == NULL ? i : group[i]]];
        if ((at * folds / groups + 1 == fold) == held) rows[n++] = i;
    }
    NVDP_TRY_OR_CLEAN(nvdp_dataset_select(ctx, from, n, rows, out));
cleanup:
    free(place);
    free(number);
    free(rows);
    return status;
}

nvdp_status nvdp__dataset_keep_fold(struct nvdp_context *ctx, size_t folds, size_t fold, bool held,
                                    struct nvdp_dataset **dataset) {
    struct nvdp_dataset *part = NULL;
    if (folds == 0) return NVDP_OK;
    nvdp_status status = nvdp__dataset_fold(ctx, *dataset, folds, fold, held, &part);
    nvdp_dataset_free(*dataset);
    *dataset = part;
    return status;
}

/* ---- texts in both ---- */

int64_t nvdp__dataset_key(const struct nvdp_dataset *data, size_t i) {
    uint64_t key = NVDP__FNV1A;
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++)
        key = nvdp__fnv1a(key, (uint64_t)data->ids[r]);
    return (int64_t)key;
}

/* Makes a sorted key for each text from its tokens. */
static nvdp_status make_keys(struct nvdp_context *ctx, const struct nvdp_dataset *data,
                             int64_t **out) {
    NVDP_TRY(NVDP__NEW(ctx, *out, data->count));
    for (size_t i = 0; i < data->count; i++)
        (*out)[i] = nvdp__dataset_key(data, i);
    qsort(*out, data->count, sizeof **out, nvdp__by_int64);
    return NVDP_OK;
}

nvdp_status nvdp__dataset_overlap(struct nvdp_context *ctx, const struct nvdp_dataset *of,
                                  const struct nvdp_dataset *among, size_t *count) {
    nvdp__autofree int64_t *key = NULL, *known = NULL;
    *count = 0;
    NVDP_TRY(make_keys(ctx, of, &key));
    NVDP_TRY(make_keys(ctx, among, &known));
    for (size_t i = 0; i < of->count; i++)
        *count += bsearch(&key[i], known, among->count, sizeof *known, nvdp__by_int64) != NULL;
    return NVDP_OK;
}
