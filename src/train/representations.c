/* Trains from token representations (representations.h): finds the rows of each split, builds a
 * data set whose tokens are [UNK], and reads the vectors of each batch. Opening comes last. */
#include "text/representations.h"
#include "encoder/checkpoint.h"
#include "train/run.h"

#include "base/array.h"
#include "base/own.h"
#include "encoder/encoder.h"
#include "text/dataset.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include <math.h>
#include <nvdp/sanitize.h>
#include <stdlib.h>
#include <string.h>

struct place {
    enum nvdp_split split;
    int64_t id;
    size_t row; /* row of the file */
};

struct nvdp__token_file {
    struct nvdp__representations *file;
    struct nvdp__representations_info info;
    struct nvdp_task task;
    struct place *place; /* [rows], sorted */
};

void nvdp__token_file_close(struct nvdp__token_file *given) {
    if (given == NULL) return;
    nvdp__representations_close(given->file);
    free(given->place);
    free(given);
}

static int compare_place(const void *left, const void *right) {
    return nvdp__compare(left, right,
                         NVDP__KEYS(NVDP__UP(struct place, split), NVDP__UP(struct place, id)));
}

/* ---- the texts ---- */

/* Computes the number of tokens that remain of each text of a row after the cut. */
static void lengths(const struct nvdp__token_file *given, size_t row, size_t limit, size_t *a,
                    size_t *b) {
    const int64_t *offset = given->info.offset + row * given->info.columns;
    *a = (size_t)(offset[1] - offset[0]);
    *b = given->info.columns > 1 ? (size_t)(offset[2] - offset[1]) : 0;
    nvdp__shorten(limit, a, b);
}

static void write_text(const struct nvdp_tokenizer *tokenizer, size_t a, size_t b, bool pair,
                       int32_t *ids, int32_t *types) {
    size_t at = 0;
    ids[at++] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS);
    for (size_t i = 0; i < a; i++)
        ids[at++] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    for (size_t i = 0; i < (pair ? tokenizer->separators : 1); i++)
        ids[at++] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
    const size_t first = at;
    for (size_t i = 0; i < b; i++)
        ids[at++] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    if (pair) ids[at++] = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
    for (size_t i = 0; i < at; i++)
        types[i] = tokenizer->types && i >= first;
}

/* Sets *from to the split's first place and returns the number of its places. */
static size_t find_split(const struct nvdp__token_file *given, enum nvdp_split split,
                         const struct place **from) {
    size_t first = 0, n = 0;
    while (first < given->info.rows && given->place[first].split < split)
        first++;
    while (first + n < given->info.rows && given->place[first + n].split == split)
        n++;
    *from = given->place + first;
    return n;
}

nvdp_status nvdp__token_file_texts(struct nvdp_context *ctx, const struct nvdp__token_file *given,
                                   const struct nvdp_tokenizer *tokenizer, size_t max_length,
                                   enum nvdp_split split, size_t limit, uint64_t seed,
                                   struct nvdp_dataset **out) {
    const bool pair = given->info.columns > 1;
    const size_t specials = nvdp_tokenizer_specials(tokenizer, pair);
    const struct place *from;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *made = NULL;
    nvdp__autofree bool *chosen = NULL;
    size_t n = find_split(given, split, &from), count = limit > 0 && limit < n ? limit : n, k = 0;
    if (n == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "representations: expected rows of split %d, found none", (int)split);
    NVDP_TRY(nvdp__choose_rows(ctx, seed, n, limit, &chosen));
    const bool labelled = given->info.label != NULL && !isnan(given->info.label[from->row]);
    NVDP_TRY(nvdp__dataset_create(ctx, count, labelled, &made));
    for (size_t i = 0; i < n; i++) {
        size_t a, b;
        if (!chosen[i]) continue;
        lengths(given, from[i].row, SIZE_MAX, &a, &b);
        nvdp__dataset_storage(made)->cut[k] = a + b > max_length - specials;
        nvdp__shorten(max_length - specials, &a, &b);
        made->offset[k + 1] = a + b + specials;
        made->index[k] = from[i].id;
        if (labelled) made->label[k] = given->info.label[from[i].row];
        k++;
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, made));
    for (size_t i = 0, text = 0; i < n; i++) {
        size_t a, b;
        if (!chosen[i]) continue;
        lengths(given, from[i].row, max_length - specials, &a, &b);
        write_text(tokenizer, a, b, pair, made->ids + made->offset[text],
                   made->types + made->offset[text]);
        text++;
    }
    nvdp__dataset_storage(made)->task = given->task;
    made->split = split;
    return NVDP__HAND_OVER(out, made);
}

/* ---- the vectors ---- */

/* Reads the vectors of the first text after [CLS], and those of the second text after the first
 * [SEP]. */
static nvdp_status read_words(void *reader, const struct nvdp__batch *batch, float *words) {
    struct nvdp__token_file *given = reader;
    const size_t columns = given->info.columns, dim = given->info.dim;
    for (size_t t = 0; t < batch->texts; t++) {
        const struct place key = {batch->split, (int64_t)batch->key[t], 0};
        const struct place *at =
            bsearch(&key, given->place, given->info.rows, sizeof key, compare_place);
        const size_t first = (size_t)batch->offset[t],
                     tokens = (size_t)batch->offset[t + 1] - first;
        const size_t specials = columns + 1;
        size_t a, b;
        if (at == NULL) continue; /* not a text of this file, so its vectors are not needed */
        lengths(given, at->row, tokens - specials, &a, &b);
        const int64_t *offset = given->info.offset + at->row * columns;
        NVDP_TRY(nvdp__representations_read(given->file, (size_t)offset[0], a,
                                            words + (first + 1) * dim));
        if (b > 0)
            NVDP_TRY(nvdp__representations_read(given->file, (size_t)offset[1], b,
                                                words + (first + a + 2) * dim));
    }
    return NVDP_OK;
}

/* ---- opening ---- */

/* Checks the file, and sorts its rows by split and number. */
static nvdp_status find_places(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                               const struct nvdp_tokenizer *tokenizer, size_t dim,
                               struct nvdp__token_file *given) {
    const char *path = options->representations;
    enum nvdp_task_id id;
    if (tokenizer->row != &nvdp__wordpiece_row)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: expected an encoder with WordPieces, found one with %s; use another "
                          "model",
                          options->model, tokenizer->row->name);
    if (strcmp(given->info.task, options->task) != 0 || given->info.split == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected token representations of task %s, found %s", path,
                          options->task, given->info.task);
    if (given->info.dim != dim)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected vectors of %zu numbers, the width of %s, found %zu", path,
                          dim, options->model, given->info.dim);
    NVDP_TRY(nvdp_task_find(ctx, options->task, &id));
    given->task = nvdp__task_layout(id)->task;
    const struct nvdp__representations_info *info = &given->info;
    NVDP_TRY(NVDP__NEW(ctx, given->place, info->rows));
    for (size_t i = 0; i < info->rows; i++)
        given->place[i] = (struct place){(enum nvdp_split)info->split[i], info->id[i], i};
    qsort(given->place, info->rows, sizeof *given->place, compare_place);
    for (size_t i = 1; i < info->rows; i++)
        if (compare_place(&given->place[i - 1], &given->place[i]) == 0)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: dataset 'id': expected a different number for every row of a "
                              "split, found %lld twice",
                              path, (long long)given->place[i].id);
    return NVDP_OK;
}

nvdp_status nvdp__token_file_open(struct nvdp_context *ctx,
                                  const struct nvdp__train_options *options,
                                  const struct nvdp_tokenizer *tokenizer,
                                  struct nvdp__token_file **out, struct nvdp__token_noise **noise) {
    struct nvdp_bert_config config;
    nvdp__autoptr(nvdp__token_file_close) struct nvdp__token_file *made = NULL;
    struct nvdp__token_noise *reads = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    NVDP_TRY(nvdp__bert_config_read(ctx, options->model, &config));
    NVDP_TRY(nvdp__representations_open(ctx, options->representations, &made->file, &made->info));
    size_t dim = nvdp__word_width(&config);
    NVDP_TRY(find_places(ctx, options, tokenizer, dim, made));
    NVDP_TRY(nvdp__token_noise_given(ctx, dim, read_words, made, &reads));
    *noise = reads;
    return NVDP__HAND_OVER(out, made);
}
