/* Who is for training, who for validation, who for scoring. */
#include "share/reuse.h"

#include <math.h>
#include <stdlib.h>

enum { HELD_OUT = 10, ANY = -1, TRAIN = 0, DEV = 1 };

/* Labelled texts of a split. */
static nvdp_status choose(struct nvdp__reuse *reuse, const struct nvdp__embeddings *file,
                          const struct nvdp__labels *labels, int split,
                          struct nvdp__reuse_texts *out) {
    out->file = file;
    out->labels = labels;
    out->count = 0;
    free(out->row);
    out->row = nvdp__calloc(reuse->ctx, labels->count, sizeof *out->row);
    if (out->row == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < labels->count; i++) {
        bool wanted = split == ANY || file->split == NULL || file->split[i] == split;
        if (wanted && !isnan(labels->value[i])) out->row[out->count++] = i;
    }
    return NVDP_OK;
}

struct labelled {
    float label;
    size_t place; /* in a seeded order */
    size_t row;
};

static int by_label(const void *left, const void *right) {
    const struct labelled *a = left;
    const struct labelled *b = right;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int by_row(const void *left, const void *right) {
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    return (a > b) - (a < b);
}

/* Every tenth text of those sorted by label moves from `from` to `to`: each class, each range of
 * scores gives its share. */
static nvdp_status hold_out(struct nvdp__reuse *reuse, uint32_t purpose,
                            struct nvdp__reuse_texts *from, struct nvdp__reuse_texts *to) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__noise noise = {.seed = reuse->options->seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_READER, UINT32_MAX - purpose, 0);
    size_t n = from->count;
    struct labelled *sorted = nvdp__calloc(reuse->ctx, n, sizeof *sorted);
    int64_t *order = nvdp__calloc(reuse->ctx, n, sizeof *order);
    *to = (struct nvdp__reuse_texts){.file = from->file, .labels = from->labels};
    to->row = nvdp__calloc(reuse->ctx, n, sizeof *to->row);
    if (sorted == NULL || order == NULL || to->row == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < n; i++) {
        order[i] = (int64_t)i;
    }
    nvdp__stream_shuffle(&stream, n, order);
    for (size_t i = 0; i < n; i++) {
        sorted[i] =
            (struct labelled){from->labels->value[from->row[i]], (size_t)order[i], from->row[i]};
    }
    qsort(sorted, n, sizeof *sorted, by_label);
    from->count = 0;
    for (size_t i = 0; i < n; i++) {
        struct nvdp__reuse_texts *side = i % HELD_OUT == HELD_OUT / 2 ? to : from;
        side->row[side->count++] = sorted[i].row;
    }
    qsort(from->row, from->count, sizeof *from->row, by_row);
    qsort(to->row, to->count, sizeof *to->row, by_row);
cleanup:
    free(sorted);
    free(order);
    return status;
}

/* Training texts: those of the train split, or, where the file has none, all. */
static nvdp_status choose_training(struct nvdp__reuse *reuse) {
    NVDP_RETURN_IF_FAILED(choose(reuse, reuse->file, &reuse->labels, TRAIN, &reuse->train));
    if (reuse->train.count > 0) return NVDP_OK;
    return choose(reuse, reuse->file, &reuse->labels, ANY, &reuse->train);
}

/* Texts to score on: another file's, or this file's dev split beside its train split, or a tenth.
 */
static nvdp_status choose_test(struct nvdp__reuse *reuse, bool has_train) {
    if (reuse->eval_file != NULL)
        return choose(reuse, reuse->eval_file, &reuse->eval_labels, ANY, &reuse->test);
    if (has_train) {
        NVDP_RETURN_IF_FAILED(choose(reuse, reuse->file, &reuse->labels, DEV, &reuse->test));
        if (reuse->test.count > 0) return NVDP_OK;
        free(reuse->test.row);
    }
    return hold_out(reuse, 0, &reuse->train, &reuse->test);
}

static bool has_train_split(const struct nvdp__embeddings *file) {
    for (size_t i = 0; file->split != NULL && i < file->shape.texts; i++) {
        if (file->split[i] == TRAIN) return true;
    }
    return false;
}

nvdp_status nvdp__reuse_divide(struct nvdp__reuse *reuse) {
    NVDP_RETURN_IF_FAILED(choose_training(reuse));
    NVDP_RETURN_IF_FAILED(choose_test(reuse, has_train_split(reuse->file)));
    NVDP_RETURN_IF_FAILED(hold_out(reuse, 1, &reuse->train, &reuse->validation));
    if (reuse->train.count > 0 && reuse->validation.count > 0 && reuse->test.count > 0)
        return NVDP_OK;
    return nvdp__fail(reuse->ctx, NVDP_ERR_INPUT,
                      "%s: too few labelled texts: %zu for training, %zu for validation, %zu for "
                      "scoring",
                      reuse->options->file, reuse->train.count, reuse->validation.count,
                      reuse->test.count);
}
