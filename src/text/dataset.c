/* Data sets in memory: allocation, tokenization in parallel, selection of rows, and splits
 * (holdout, sample, folds). */
#include "text/dataset.h"

#include "base/array.h"
#include "base/own.h"
#include "base/random.h"
#include "options/schema.h"
#include "text/batch.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    BARE_LENGTH =
        1 << 20, /* max tokens of a text without special tokens, for encoders without positions */
    DEFAULT_LENGTH = 128,
    QUANTILE_BINS = 10,
    /* The uses of NVDP__PURPOSE_SPLIT streams, in place of the epoch of other streams. */
    HOLDOUT_STREAMS = 0, /* also keyed by the stratum */
    SAMPLE_STREAM = 1,
    FOLD_STREAM = 2,
    CONTENT_STREAMS = 3 /* also keyed by the content of the text */
};

struct nvdp_dataset_config nvdp__dataset_config_default(void) {
    return (struct nvdp_dataset_config){.struct_size = sizeof(struct nvdp_dataset_config),
                                        .max_length = DEFAULT_LENGTH};
}

nvdp_status nvdp_dataset_config_default(struct nvdp_context *ctx, struct nvdp_dataset_config *out) {
    const struct nvdp_dataset_config made = nvdp__dataset_config_default();
    NVDP_TRY(nvdp__can_give(ctx, out));
    return NVDP__GIVE(out, &made);
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
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp__dataset_storage *storage;
    NVDP_TRY(NVDP__NEW(ctx, dataset, 1));
    NVDP_TRY(NVDP__NEW(ctx, storage, 1));
    *dataset = (struct nvdp_dataset){.storage = storage, .task = &storage->task, .count = count};
    NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(storage->cut, count),
                          NVDP__ITEMS(dataset->offset, count + 1),
                          NVDP__ITEMS(dataset->index, count)));
    if (labeled) NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(dataset->label, count)));
    return NVDP__HAND_OVER(out, dataset);
}

void nvdp_dataset_free(struct nvdp_dataset *dataset) {
    if (dataset == NULL) return;
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    if (storage != NULL) {
        nvdp__memory_release(&storage->memory);
        free(storage->labels);
        free(storage->answer);
        free(storage);
    }
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
    size_t first, last; /* range of texts */
    int32_t *ids;
    size_t count, capacity;
    nvdp_status status;
};

/* Fills `part` with the tokens of its texts, and sets offset[i + 1] to the number of tokens of
 * text i. `first` receives the number of tokens of type 0. */
static nvdp_status encode_part(const struct nvdp_tokenizer *tokenizer,
                               const struct nvdp__text *texts, size_t max_length,
                               struct nvdp_dataset *dataset, uint32_t *first, struct part *part) {
    nvdp__auto(nvdp__encoder_release) struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    bool *cut = nvdp__dataset_storage(dataset)->cut;
    for (size_t i = part->first; i < part->last; i++) {
        const struct nvdp__text *text = &texts[i];
        NVDP_TRY(nvdp__encode(&encoder, text->text, text->text_size, text->pair, text->pair_size,
                              max_length));
        NVDP_TRY(NVDP__PUSH_ALL(NULL, part->ids, part->count, part->capacity, encoder.count,
                                encoder.ids));
        dataset->offset[i + 1] = encoder.count;
        first[i] = (uint32_t)encoder.first;
        cut[i] = encoder.truncated;
    }
    return NVDP_OK;
}

nvdp_status nvdp__dataset_lay_out(struct nvdp_context *ctx, struct nvdp_dataset *dataset) {
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    for (size_t i = 0; i < dataset->count; i++) {
        dataset->longest = nvdp__max(dataset->longest, dataset->offset[i + 1]);
        dataset->truncated += storage->cut[i];
        dataset->offset[i + 1] += dataset->offset[i];
    }
    const size_t tokens = dataset->offset[dataset->count];
    return NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(dataset->ids, tokens),
                        NVDP__ITEMS(dataset->types, tokens));
}

nvdp_status nvdp__dataset_encode(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                 const struct nvdp__text *texts, size_t max_length,
                                 struct nvdp_dataset *dataset) {
    nvdp_status status = NVDP_OK;
    size_t count = dataset->count;
    size_t parts = ctx != NULL ? (size_t)nvdp_context_threads(ctx) : 1;
    if (parts > count) parts = count > 0 ? count : 1;
    nvdp__autofree uint32_t *first = NULL;
    nvdp__autofree struct part *part = NULL;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(first, count), NVDP__ITEMS(part, parts)));
#pragma omp parallel for num_threads((int)parts) schedule(static, 1)
    for (size_t p = 0; p < parts; p++) {
        part[p].first = count / parts * p + (p < count % parts ? p : count % parts);
        part[p].last = part[p].first + count / parts + (p < count % parts);
        part[p].status = encode_part(tokenizer, texts, max_length, dataset, first, &part[p]);
    }
    for (size_t p = 0; p < parts && status == NVDP_OK; p++)
        if (part[p].status != NVDP_OK)
            status = nvdp__fail(ctx, part[p].status, "out of memory while tokenizing");
    if (status == NVDP_OK) status = nvdp__dataset_lay_out(ctx, dataset);
    for (size_t p = 0; p < parts; p++) {
        if (status == NVDP_OK && part[p].count > 0)
            memcpy(dataset->ids + dataset->offset[part[p].first], part[p].ids,
                   part[p].count * sizeof *dataset->ids);
        free(part[p].ids);
    }
    NVDP_TRY(status);
    for (size_t i = 0; i < count && !tokenizer->words; i++) {
        for (size_t at = dataset->offset[i] + first[i]; at < dataset->offset[i + 1]; at++)
            dataset->types[at] = 1;
    }
    if (tokenizer->words)
        nvdp__mark_words(tokenizer, dataset->offset[count], dataset->ids, dataset->types);
    return NVDP_OK;
}

nvdp_status nvdp__check_length(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                               size_t max_length) {
    size_t min = nvdp_tokenizer_specials(tokenizer, true);
    if (tokenizer->words) return NVDP_OK; /* texts are not cut */
    const size_t max = tokenizer->bare ? BARE_LENGTH : NVDP__TEXT_TOKENS;
    if (max_length >= min && max_length <= max) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{max-length}: expected %zu to %zu, found %zu", min,
                      max, max_length);
}

nvdp_status nvdp_dataset_from_texts(struct nvdp_context *ctx,
                                    const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                    size_t count, const char *const *text, const char *const *pair,
                                    struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    nvdp__autofree struct nvdp__text *texts = NULL;
    NVDP_TRY(nvdp__check_length(ctx, tokenizer, max_length));
    NVDP_TRY(NVDP__NEW(ctx, texts, count));
    NVDP_TRY(nvdp__dataset_create(ctx, count, false, &dataset));
    for (size_t i = 0; i < count; i++) {
        const char *second = pair != NULL ? pair[i] : NULL;
        texts[i] = (struct nvdp__text){.text = text[i],
                                       .pair = second,
                                       .text_size = strlen(text[i]),
                                       .pair_size = second != NULL ? strlen(second) : 0};
        dataset->index[i] = (int64_t)i;
    }
    NVDP_TRY(nvdp__dataset_encode(ctx, tokenizer, texts, max_length, dataset));
    nvdp__dataset_storage(dataset)->task = (struct nvdp_task){
        .id = NVDP_TASK_TSV, .name = nvdp__task_layout(NVDP_TASK_TSV)->task.name, .pair = pair};
    return NVDP__HAND_OVER(out, dataset);
}

/* ---- selection ---- */

nvdp_status nvdp__dataset_select(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 size_t n, const size_t *rows, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= from->count)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "row %zu: expected less than %zu", rows[i],
                              from->count);
    }
    NVDP_TRY(nvdp__dataset_create(ctx, n, from->label != NULL, &dataset));
    const struct nvdp__dataset_storage *source = nvdp__dataset_storage(from);
    struct nvdp__dataset_storage *storage = nvdp__dataset_storage(dataset);
    if (source->group != NULL)
        NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(storage->group, n)));
    if (from->tag != NULL)
        NVDP_TRY(NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(storage->continues, n)));
    for (size_t i = 0; i < n; i++) {
        const size_t row = rows[i];
        dataset->offset[i + 1] = from->offset[row + 1] - from->offset[row];
        dataset->index[i] = from->index[row];
        storage->cut[i] = source->cut[row];
        if (from->label != NULL) dataset->label[i] = from->label[row];
        if (source->group != NULL) storage->group[i] = source->group[row];
        if (from->tag != NULL)
            storage->continues[i] = i > 0 && row == rows[i - 1] + 1 && source->continues[row];
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, dataset));
    if (from->tag != NULL)
        NVDP_TRY(
            NVDP__ARRAYS(ctx, &storage->memory, NVDP__ITEMS(dataset->tag, dataset->offset[n])));
    for (size_t i = 0; i < n; i++) {
        const size_t start = from->offset[rows[i]], to = dataset->offset[i];
        const size_t bytes = (from->offset[rows[i] + 1] - start) * sizeof *from->ids;
        memcpy(dataset->ids + to, from->ids + start, bytes);
        memcpy(dataset->types + to, from->types + start, bytes);
        if (from->tag != NULL) memcpy(dataset->tag + to, from->tag + start, bytes);
    }
    if (from->id != NULL) NVDP_TRY(nvdp__names_select(ctx, n, from->id, rows, &dataset->id));
    storage->task = *from->task;
    dataset->split = from->split;
    if (source->labels != NULL) {
        storage->more_labels = source->more_labels;
        NVDP_TRY(nvdp__names_select(ctx, (size_t)from->task->classes + storage->more_labels,
                                    from->task->labels, NULL, &storage->labels));
        storage->task.labels = storage->labels;
    }
    return NVDP__HAND_OVER(out, dataset);
}

/* ---- sampling, and holding out a part ---- */

static struct nvdp__stream split_stream(uint64_t seed, uint32_t what, size_t stratum) {
    struct nvdp__noise noise = {.seed = seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_SPLIT, what, stratum);
}

nvdp_status nvdp__choose_rows(struct nvdp_context *ctx, uint64_t seed, size_t count, size_t limit,
                              bool **chosen) {
    struct nvdp__stream stream = split_stream(seed, SAMPLE_STREAM, 0);
    const bool all = limit == 0 || limit >= count;
    nvdp__autofree int64_t *order = NULL;
    NVDP_TRY(NVDP__NEW(ctx, *chosen, count));
    memset(*chosen, all, count);
    if (all) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, order, count));
    nvdp__stream_permutation(&stream, count, order);
    for (size_t i = 0; i < limit; i++)
        (*chosen)[order[i]] = true;
    return NVDP_OK;
}

/* Items sorted by a number in ascending order; items with equal numbers are sorted by index. */
struct ranked {
    double by;
    size_t item;
};

/* Assigns bins of equal size by rank of the score. */
static nvdp_status bin_scores(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                              size_t *stratum) {
    nvdp__autofree struct ranked *score = NULL;
    NVDP_TRY(NVDP__NEW(ctx, score, from->count));
    for (size_t i = 0; i < from->count; i++)
        score[i] = (struct ranked){from->label[i], i};
    NVDP__SORT(score, from->count, NVDP__UP(struct ranked, by), NVDP__UP(struct ranked, item));
    for (size_t rank = 0; rank < from->count; rank++)
        stratum[score[rank].item] = rank * QUANTILE_BINS / from->count;
    return NVDP_OK;
}

/* Groups texts by stratum: the rows of stratum s are order[start[s]..start[s + 1]), in file
 * order. */
static void group(size_t count, const size_t *stratum, size_t strata, size_t *start,
                  int64_t *order) {
    for (size_t i = 0; i < count; i++)
        start[stratum[i] + 1]++;
    for (size_t s = 0; s < strata; s++)
        start[s + 1] += start[s];
    for (size_t i = 0; i < count; i++)
        order[start[stratum[i]]++] = (int64_t)i;
    memmove(start + 1, start, strata * sizeof *start);
    start[0] = 0;
}

/* Computes the number of texts from each stratum, `total` together: the proportional share
 * rounded down, plus one for the largest remainders. */
static nvdp_status apportion(struct nvdp_context *ctx, size_t strata, const size_t *start,
                             size_t total, size_t *take) {
    /* sorted by minus the remainder */
    nvdp__autofree struct ranked *lost = NULL;
    NVDP_TRY(NVDP__NEW(ctx, lost, strata));
    double fraction = (double)total / (double)start[strata];
    size_t taken = 0;
    for (size_t s = 0; s < strata; s++) {
        double exact = fraction * (double)(start[s + 1] - start[s]);
        take[s] = (size_t)floor(exact);
        lost[s] = (struct ranked){floor(exact) - exact, s};
        taken += take[s];
    }
    NVDP__SORT(lost, strata, NVDP__UP(struct ranked, by), NVDP__UP(struct ranked, item));
    for (size_t i = 0; taken < total; i = (i + 1) % strata) {
        size_t s = lost[i].item;
        if (take[s] == start[s + 1] - start[s]) continue;
        take[s]++;
        taken++;
    }
    return NVDP_OK;
}

/* Marks the texts of the validation side. */
static nvdp_status choose(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t total,
                          uint64_t seed, bool *chosen) {
    const size_t count = from->count;
    size_t strata = 1;
    nvdp__autofree size_t *stratum = NULL, *start = NULL, *take = NULL;
    nvdp__autofree int64_t *order = NULL;
    if (from->label != NULL)
        strata = from->task->regression ? QUANTILE_BINS : (size_t)from->task->classes;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(stratum, count), NVDP__ITEMS(start, strata + 1),
                          NVDP__ITEMS(take, strata), NVDP__ITEMS(order, count)));
    if (from->label != NULL && from->task->regression)
        NVDP_TRY(bin_scores(ctx, from, stratum));
    else
        for (size_t i = 0; i < count && from->label != NULL; i++)
            stratum[i] = (size_t)from->label[i];
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

/* A text, and a hash of its content, including the label. */
struct content {
    uint64_t key;
    size_t item;
};

/* Returns a hash of the tokens and labels of text i. */
static uint64_t text_hash(const struct nvdp_dataset *from, size_t i) {
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
 * each has a separate draw, by its number among them. */
static nvdp_status choose_each(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               double fraction, bool *chosen, size_t *total) {
    nvdp__autofree struct content *content = NULL;
    struct nvdp__stream stream = {0};
    NVDP_TRY(NVDP__NEW(ctx, content, from->count));
    for (size_t i = 0; i < from->count; i++)
        content[i] = (struct content){text_hash(from, i), i};
    NVDP__SORT(content, from->count, NVDP__UP(struct content, key), NVDP__UP(struct content, item));
    *total = 0;
    for (size_t i = 0; i < from->count; i++) {
        if (i == 0 || content[i].key != content[i - 1].key)
            stream = split_stream(0, CONTENT_STREAMS, content[i].key);
        const bool falls = nvdp__stream_uniform(&stream) < fraction;
        chosen[content[i].item] = falls;
        *total += falls;
    }
    return NVDP_OK;
}

nvdp_status nvdp__dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                  double fraction, const uint64_t *seed,
                                  struct nvdp_dataset **train, struct nvdp_dataset **validation) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *kept = NULL, *held = NULL;
    nvdp__autofree bool *chosen = NULL;
    nvdp__autofree size_t *rows = NULL;
    const size_t count = from->count;
    size_t total = (size_t)llround(fmin(fmax(fraction, 0), 1) * (double)count);
    if (!(fraction > 0 && fraction < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "fraction: expected between 0 and 1, found %g",
                          fraction);
    if (count < 2)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "validation split: expected at least 2 texts, found %zu", count);
    total = nvdp__min(nvdp__max(total, 1), count - 1);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(chosen, count), NVDP__ITEMS(rows, count)));
    NVDP_TRY(seed != NULL ? choose(ctx, from, total, *seed, chosen)
                          : choose_each(ctx, from, fraction, chosen, &total));
    if (total == 0 || total == count)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "validation split: expected texts on both sides, found %zu of %zu held "
                          "out (of private training each text falls by itself, with probability "
                          "{holdout}; {protocol} dev takes the dev file)",
                          total, count);
    /* validation fills the array from the front and train from the back, each in file order */
    for (size_t i = 0, front = 0, back = total; i < count; i++)
        rows[chosen[i] ? front++ : back++] = i;
    NVDP_TRY(nvdp__dataset_select(ctx, from, total, rows, &held));
    NVDP_TRY(nvdp__dataset_select(ctx, from, count - total, rows + total, &kept));
    NVDP__HAND_OVER(train, kept);
    return NVDP__HAND_OVER(validation, held);
}

nvdp_status nvdp__dataset_fold(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                               size_t folds, size_t fold, bool held, struct nvdp_dataset **out) {
    const size_t *group = nvdp__dataset_storage(from)->group;
    const size_t count = from->count;
    struct nvdp__stream stream = split_stream(0, FOLD_STREAM, 0);
    size_t groups = 0, n = 0, groups_bound = 0;
    nvdp__autofree int64_t *place = NULL; /* the groups in random order */
    /* number of each group that occurs, because a sample may lack some groups */
    nvdp__autofree size_t *number = NULL, *rows = NULL;
    for (size_t i = 0; i < count; i++)
        groups_bound = nvdp__max(groups_bound, (group == NULL ? i : group[i]) + 1);
    NVDP_TRY(NVDP__NEW(ctx, number, groups_bound + 1));
    for (size_t i = 0; i < count; i++)
        number[group == NULL ? i : group[i]] = 1;
    for (size_t g = 0; g < groups_bound; g++)
        if (number[g] > 0) number[g] = groups++;
    if (groups == 0 || groups < folds)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "folds: expected at most the %zu %s, found %zu",
                          groups, group == NULL ? "texts" : "documents or sentences", folds);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(place, groups), NVDP__ITEMS(rows, count)));
    nvdp__stream_permutation(&stream, groups, place);
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)place[number[group == NULL ? i : group[i]]];
        if ((at * folds / groups + 1 == fold) == held) rows[n++] = i;
    }
    return nvdp__dataset_select(ctx, from, n, rows, out);
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

/* ---- texts that two data sets have in common ---- */

int64_t nvdp__dataset_key(const struct nvdp_dataset *data, size_t i) {
    uint64_t key = NVDP__FNV1A;
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++)
        key = nvdp__fnv1a(key, (uint64_t)data->ids[r]);
    return (int64_t)key;
}

/* Makes a sorted array of keys, one key per text from the text's tokens. */
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

/* ==== packed batches ==== */

nvdp_status nvdp__batch_create(struct nvdp_context *ctx, size_t texts, size_t longest,
                               struct nvdp__batch **out) {
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    size_t tokens;
    if (!nvdp__mul(texts, longest, &tokens) || tokens > INT32_MAX || texts >= INT32_MAX)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "batch: expected at most %d tokens, found %zu texts of %zu", INT32_MAX,
                          texts, longest);
    NVDP_TRY(NVDP__NEW(ctx, batch, 1));
    *batch = (struct nvdp__batch){.text_capacity = texts, .token_capacity = tokens};
    NVDP_TRY(NVDP__ARRAYS(ctx, &batch->memory, NVDP__ITEMS(batch->offset, texts + 1),
                          NVDP__ITEMS(batch->ids, tokens), NVDP__ITEMS(batch->types, tokens),
                          NVDP__ITEMS(batch->positions, tokens), NVDP__ITEMS(batch->label, texts),
                          NVDP__ITEMS(batch->key, texts), NVDP__ITEMS(batch->tag_row, tokens),
                          NVDP__ITEMS(batch->tag, tokens),
                          NVDP__ITEMS(batch->tag_offset, texts + 1)));
    return NVDP__HAND_OVER(out, batch);
}

void nvdp__batch_free(struct nvdp__batch *batch) {
    if (batch == NULL) return;
    nvdp__memory_release(&batch->memory);
    free(batch);
}

void nvdp__batch_fill(struct nvdp__batch *batch, const struct nvdp_dataset *dataset,
                      const int64_t *rows, size_t first, size_t n) {
    size_t used = 0;
    batch->longest = batch->tagged = 0;
    batch->split = dataset->split;
    for (size_t i = 0; i < n; i++) {
        size_t row = rows != NULL ? (size_t)rows[i] : first + i;
        size_t start = dataset->offset[row];
        size_t tokens = dataset->offset[row + 1] - start;
        batch->offset[i] = (int32_t)used;
        memcpy(batch->ids + used, dataset->ids + start, tokens * sizeof *batch->ids);
        memcpy(batch->types + used, dataset->types + start, tokens * sizeof *batch->types);
        for (size_t t = 0; t < tokens; t++) {
            batch->positions[used + t] = (int32_t)t;
        }
        for (size_t t = 0; dataset->tag != NULL && t < tokens; t++) {
            if (dataset->tag[start + t] == NVDP_TAG_NONE) continue;
            batch->tag_row[batch->tagged] = (int32_t)(used + t);
            batch->tag[batch->tagged++] = (float)dataset->tag[start + t];
        }
        batch->tag_offset[i + 1] = (int32_t)batch->tagged;
        batch->label[i] = dataset->label != NULL ? dataset->label[row] : NAN;
        batch->key[i] = (uint64_t)dataset->index[row];
        if (tokens > batch->longest) batch->longest = tokens;
        used += tokens;
    }
    batch->offset[n] = (int32_t)used;
    batch->texts = n;
    batch->tokens = used;
}

struct nvdp__batch nvdp__batch_part(const struct nvdp__batch *batch, size_t first, size_t n,
                                    size_t dim, int32_t *offset) {
    const size_t start = (size_t)batch->offset[first];
    struct nvdp__batch part = {.texts = n,
                               .tokens = (size_t)batch->offset[first + n] - start,
                               .offset = offset,
                               .ids = batch->ids + start,
                               .types = batch->types + start,
                               .positions = batch->positions + start,
                               .words = batch->words != NULL ? batch->words + start * dim : NULL,
                               .mixed = batch->mixed,
                               .split = batch->split};
    for (size_t i = 0; i <= n; i++)
        offset[i] = batch->offset[first + i] - (int32_t)start;
    for (size_t i = 0; i < n; i++)
        part.longest = nvdp__max(part.longest, (size_t)(offset[i + 1] - offset[i]));
    return part;
}

void nvdp__batch_clear(struct nvdp__batch *batch) {
    batch->texts = batch->tokens = batch->longest = batch->tagged = 0;
    batch->offset[0] = 0;
}

void nvdp__batch_put(struct nvdp__batch *batch, int32_t id) {
    const size_t at = batch->tokens++;
    batch->ids[at] = id;
    batch->types[at] = 0;
    batch->positions[at] = (int32_t)at - batch->offset[batch->texts];
}

void nvdp__batch_end(struct nvdp__batch *batch, uint64_t key) {
    const size_t length = batch->tokens - (size_t)batch->offset[batch->texts];
    batch->longest = nvdp__max(length, batch->longest);
    batch->label[batch->texts] = 0;
    batch->key[batch->texts] = key;
    batch->offset[++batch->texts] = (int32_t)batch->tokens;
}

void nvdp__epoch_order(uint64_t seed, uint32_t epoch, size_t n, int64_t *rows) {
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_SHUFFLE, epoch, 0);
    nvdp__stream_permutation(&stream, n, rows);
}
