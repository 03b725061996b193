#include "text/dataset.h"

#include "base/random.h"
#include <math.h>
#include <stdlib.h>

enum {
    QUANTILE_BINS = 10,
    /* What a stream of NVDP__PURPOSE_SPLIT is for stands where other streams have the epoch. */
    HOLDOUT_STREAMS = 0, /* keyed further by stratum */
    SAMPLE_STREAM = 1
};

static struct nvdp__stream split_stream(uint64_t seed, uint32_t what, size_t stratum) {
    struct nvdp__noise noise = {.seed = seed};
    return nvdp__stream_open(&noise, NVDP__PURPOSE_SPLIT, what, stratum);
}

void nvdp__sample_rows(uint64_t seed, size_t count, size_t n, int64_t *scratch, bool *chosen) {
    struct nvdp__stream stream = split_stream(seed, SAMPLE_STREAM, 0);
    for (size_t i = 0; i < count; i++) {
        scratch[i] = (int64_t)i;
    }
    nvdp__stream_shuffle(&stream, count, scratch);
    for (size_t i = 0; i < n; i++) {
        chosen[scratch[i]] = true;
    }
}

struct score {
    float value;
    size_t row;
};

static int compare_scores(const void *left, const void *right) {
    const struct score *a = left;
    const struct score *b = right;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Bins of equal size by rank of the score. */
static nvdp_status bin_scores(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                              size_t *stratum) {
    struct score *score = nvdp__calloc(ctx, from->count, sizeof *score);
    if (score == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        score[i] = (struct score){from->label[i], i};
    }
    qsort(score, from->count, sizeof *score, compare_scores);
    for (size_t rank = 0; rank < from->count; rank++) {
        stratum[score[rank].row] = rank * QUANTILE_BINS / from->count;
    }
    free(score);
    return NVDP_OK;
}

/* Texts by stratum: rows of stratum s are order[start[s]..start[s + 1]), in file order. */
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

struct share {
    double rest; /* what rounding down took */
    size_t stratum;
};

static int compare_shares(const void *left, const void *right) {
    const struct share *a = left;
    const struct share *b = right;
    if (a->rest != b->rest) return a->rest > b->rest ? -1 : 1;
    return (a->stratum > b->stratum) - (a->stratum < b->stratum);
}

/* How many texts each stratum gives, `total` together: its proportion rounded down, and one more
 * where most was lost by that (largest remainders). */
static nvdp_status apportion(struct nvdp_context *ctx, size_t strata, const size_t *start,
                             size_t total, size_t *take) {
    struct share *share = nvdp__calloc(ctx, strata, sizeof *share);
    if (share == NULL) return NVDP_ERR_MEMORY;
    double fraction = (double)total / (double)start[strata];
    size_t taken = 0;
    for (size_t s = 0; s < strata; s++) {
        double exact = fraction * (double)(start[s + 1] - start[s]);
        take[s] = (size_t)floor(exact);
        share[s] = (struct share){exact - floor(exact), s};
        taken += take[s];
    }
    qsort(share, strata, sizeof *share, compare_shares);
    for (size_t i = 0; taken < total; i = (i + 1) % strata) {
        size_t s = share[i].stratum;
        if (take[s] == start[s + 1] - start[s]) continue;
        take[s]++;
        taken++;
    }
    free(share);
    return NVDP_OK;
}

/* Marks the texts of the validation side. */
static nvdp_status choose(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t total,
                          uint64_t seed, bool *chosen) {
    nvdp_status status = NVDP_OK;
    size_t count = from->count;
    size_t strata = 1;
    if (from->label != NULL)
        strata = from->task.regression ? QUANTILE_BINS : (size_t)from->task.classes;
    size_t *stratum = nvdp__calloc(ctx, count, sizeof *stratum);
    size_t *start = nvdp__calloc(ctx, strata + 1, sizeof *start);
    size_t *take = nvdp__calloc(ctx, strata, sizeof *take);
    int64_t *order = nvdp__calloc(ctx, count, sizeof *order);
    if (stratum == NULL || start == NULL || take == NULL || order == NULL)
        NVDP_TRY(NVDP_ERR_MEMORY);
    if (from->label != NULL && from->task.regression) {
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
cleanup:
    free(order);
    free(take);
    free(start);
    free(stratum);
    return status;
}

nvdp_status nvdp_dataset_holdout(struct nvdp_context *ctx, const struct nvdp_dataset *from,
                                 double fraction, uint64_t seed, struct nvdp_dataset **train,
                                 struct nvdp_dataset **validation) {
    nvdp_status status = NVDP_OK;
    struct nvdp_dataset *kept = NULL;
    struct nvdp_dataset *held = NULL;
    bool *chosen = NULL;
    size_t *rows = NULL;
    size_t count = from->count;
    if (!(fraction > 0 && fraction < 1))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "fraction: expected between 0 and 1, found %g",
                            fraction));
    if (count < 2)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "validation split: expected at least 2 texts, found %zu", count));
    size_t total = (size_t)llround(fraction * (double)count);
    if (total < 1) total = 1;
    if (total > count - 1) total = count - 1;
    chosen = nvdp__calloc(ctx, count, sizeof *chosen);
    rows = nvdp__calloc(ctx, count, sizeof *rows);
    if (chosen == NULL || rows == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(choose(ctx, from, total, seed, chosen));
    /* Validation fills the array's front and train its back, both in file order. */
    for (size_t i = 0, front = 0, back = total; i < count; i++) {
        rows[chosen[i] ? front++ : back++] = i;
    }
    NVDP_TRY(nvdp_dataset_select(ctx, from, total, rows, &held));
    NVDP_TRY(nvdp_dataset_select(ctx, from, count - total, rows + total, &kept));
    *train = kept;
    *validation = held;
    kept = NULL;
    held = NULL;
cleanup:
    nvdp_dataset_free(kept);
    nvdp_dataset_free(held);
    free(rows);
    free(chosen);
    return status;
}
