/* Sums gradients over processes while the backward pass is still running (grad_sum.h), for job.c. A step calls
 * nvdp__grad_sum_begin(), then on_complete() for each finished part, then nvdp__grad_sum_finish(). */
#include "job/job.h"

#include "tensor/ops.h"

#include <stdlib.h>

/* Floats per message: small enough that the first message leaves early, and large enough that the time depends on
 * the bytes, not on the number of messages. */
enum { BUCKET = 1 << 20 };

struct nvdp__grad_sum {
    struct nvdp_context *ctx;
    struct nvdp__params *params;
    size_t from, end; /* the range grad[from..end) is not yet being summed */
    size_t sent;      /* floats sent in this step */
    bool under_way;   /* true if some sums have started and are not yet complete */
    nvdp_status status;
    float *row; /* [max_rows, dim] copies of the tracked rows, one after another */
    size_t max_rows;
    uint64_t steps;
    double waited; /* seconds of waiting */
};

nvdp_status nvdp__grad_sum_create(struct nvdp_context *ctx, struct nvdp__params *params,
                                  size_t max_rows, struct nvdp__grad_sum **out) {
    const struct nvdp__row_use *use = params->use;
    *out = NULL;
    if (nvdp__ranks(ctx) == NULL) return NVDP_OK;
    if (use == NULL || max_rows > params->entry[use->table].shape[0] / 2) max_rows = 0;
    nvdp__autofree struct nvdp__grad_sum *made = nvdp__calloc(ctx, 1, sizeof *made);
    NVDP_TRY(NVDP__MADE(made));
    *made = (struct nvdp__grad_sum){.ctx = ctx, .params = params, .max_rows = max_rows};
    if (max_rows > 0)
        NVDP_TRY(NVDP__NEW(ctx, made->row, max_rows * params->entry[use->table].shape[1]));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__grad_sum_free(struct nvdp__grad_sum *sum) {
    if (sum == NULL) return;
    const struct nvdp_ranks *ranks = nvdp__ranks(sum->ctx);
    /* waits, because the vector is about to be released */
    if (sum->under_way) (void)ranks->sum_wait(ranks->user);
    sum->params->complete = NULL;
    free(sum->row);
    free(sum);
}

static void start(struct nvdp__grad_sum *sum, float *values, size_t count) {
    const struct nvdp_ranks *ranks = nvdp__ranks(sum->ctx);
    if (sum->status == NVDP_OK) sum->status = ranks->sum_start(ranks->user, values, count);
    sum->under_way = true;
    sum->sent += count;
}

/* Starts the sums of grad[complete..end) in whole buckets; if `all`, includes the remainder. */
static void start_from(struct nvdp__grad_sum *sum, size_t complete, bool all) {
    if (complete < sum->from) complete = sum->from;
    while (sum->end > complete && (all || sum->end - complete >= BUCKET)) {
        size_t count = nvdp__min(sum->end - complete, BUCKET);
        sum->end -= count;
        start(sum, sum->params->grad + sum->end, count);
    }
}

static void on_complete(void *user, size_t from) {
    start_from(user, from, false);
}

/* Returns the tracked table if few of its rows have a gradient and no tensor before the table has a gradient; else
 * NULL. */
static const struct nvdp__param *few_rows(const struct nvdp__grad_sum *sum) {
    const struct nvdp__params *params = sum->params;
    const struct nvdp__row_use *use = params->use;
    if (sum->max_rows == 0 || !use->tracked || use->all || use->count > sum->max_rows) return NULL;
    const struct nvdp__param *table = &params->entry[use->table];
    return table->offset == nvdp__params_frozen(params) ? table : NULL;
}

void nvdp__grad_sum_begin(struct nvdp__grad_sum *sum, bool overlapped) {
    if (sum == NULL) return;
    const struct nvdp__param *rows = few_rows(sum);
    sum->status = NVDP_OK;
    sum->sent = 0;
    sum->end = sum->params->total;
    sum->from = rows != NULL ? rows->offset + rows->count : nvdp__params_frozen(sum->params);
    sum->params->complete = overlapped ? on_complete : NULL;
    sum->params->complete_user = sum;
}

nvdp_status nvdp__grad_sum_finish(struct nvdp__grad_sum *sum, const struct nvdp__device *dev) {
    if (sum == NULL) return NVDP_OK;
    const struct nvdp__row_use *use = sum->params->use;
    const struct nvdp__param *rows = few_rows(sum);
    const struct nvdp_ranks *ranks = nvdp__ranks(sum->ctx);
    const size_t dim = rows != NULL ? rows->shape[1] : 0;
    float *grad = rows != NULL ? sum->params->grad + rows->offset : NULL;
    double start_wait = nvdp__now();
    start_from(sum, 0, true);
    if (rows != NULL) nvdp__rows_gather(dev, use->count, dim, use->row, grad, sum->row);
    for (size_t at = 0; rows != NULL && at < use->count * dim; at += BUCKET)
        start(sum, sum->row + at, use->count * dim - at < BUCKET ? use->count * dim - at : BUCKET);
    if (sum->status == NVDP_OK) sum->status = ranks->sum_wait(ranks->user);
    sum->under_way = false;
    for (size_t i = 0; rows != NULL && i < use->count; i++)
        nvdp__copy(dev, dim, sum->row + i * dim, grad + (size_t)use->row[i] * dim);
    sum->waited += nvdp__now() - start_wait;
    sum->steps++;
    return sum->status;
}

json_t *nvdp__grad_sum_json(const struct nvdp__grad_sum *sum) {
    if (sum == NULL) return NULL;
    return json_pack("{s:I, s:I, s:I, s:f}", "processes", (json_int_t)nvdp__rank_count(sum->ctx),
                     "bytes", (json_int_t)(sum->sent * sizeof(float)), "steps",
                     (json_int_t)sum->steps, "wait_seconds", sum->waited);
}

nvdp_status nvdp__params_share(struct nvdp_context *ctx, const struct nvdp__params *params) {
    return nvdp__rank_share(ctx, params->total * sizeof *params->value, params->value);
}

nvdp_status nvdp__params_same(struct nvdp_context *ctx, const struct nvdp__params *params) {
    return nvdp__rank_same(ctx, "parameters", params->value, params->total * sizeof *params->value);
}
