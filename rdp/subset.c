/* Some of the texts of a set of posteriors. */
#include "rdp/subset.h"
#include "base/random.h"
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The first `texts` of a shuffle, in their order. */
static nvdp_status draw_texts(struct nvdp_context *ctx, size_t all, size_t texts, uint64_t seed,
                              size_t *index) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_TEXTS, 0);
    int64_t *order = nvdp__calloc(ctx, all, sizeof *order);
    if (order == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < all; i++) {
        order[i] = (int64_t)i;
    }
    nvdp__stream_shuffle(&stream, all, order);
    qsort(order, texts, sizeof *order, by_number);
    for (size_t i = 0; i < texts; i++) {
        index[i] = (size_t)order[i];
    }
    free(order);
    return NVDP_OK;
}

/* Returns how many rows it has. */
static size_t copy_text(const struct nvdp_posteriors *from, size_t i, size_t row,
                        struct nvdp_posteriors *to) {
    size_t first = from->offset[i];
    size_t rows = from->offset[i + 1] - first;
    size_t dim = from->dim;
    memcpy(to->mu + row * dim, from->mu + first * dim, rows * dim * sizeof *to->mu);
    memcpy(to->logvar + row * dim, from->logvar + first * dim, rows * dim * sizeof *to->logvar);
    if (from->alpha != NULL) {
        memcpy(to->alpha + row, from->alpha + first, rows * sizeof *to->alpha);
    }
    return rows;
}

nvdp_status nvdp__posteriors_draw(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, uint64_t seed, size_t *index,
                                  struct nvdp_posteriors **out) {
    struct nvdp_posteriors *made = NULL;
    size_t rows = 0;
    NVDP_RETURN_IF_FAILED(draw_texts(ctx, from->texts, texts, seed, index));
    for (size_t i = 0; i < texts; i++) {
        rows += from->offset[index[i] + 1] - from->offset[index[i]];
    }
    NVDP_RETURN_IF_FAILED(
        nvdp_posteriors_create(ctx, texts, rows, from->dim, from->alpha != NULL, &made));
    made->prior_alpha = from->prior_alpha;
    made->pad_alpha = from->pad_alpha;
    made->kappa = from->kappa;
    made->policy = from->policy;
    made->length = from->length;
    memcpy(made->method, from->method, sizeof made->method);
    for (size_t i = 0; i < texts; i++) {
        made->offset[i + 1] = made->offset[i] + copy_text(from, index[i], made->offset[i], made);
    }
    *out = made;
    return NVDP_OK;
}
