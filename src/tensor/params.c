/* The parameter vector (tensor.h): declarations, memory, the gradients of a step, initial
 * values. */
#include "tensor/tensor.h"

#include "base/random.h"
#include "tensor/ops.h"
#include <stdlib.h>
#include <string.h>

enum { LINE = 16 }; /* floats in 64 bytes: every tensor starts on a cache line */

void nvdp__params_init(struct nvdp__params *params, struct nvdp_context *ctx) {
    *params = (struct nvdp__params){.ctx = ctx};
}

static void release_use(struct nvdp__row_use *use) {
    nvdp__memory_release(&use->memory);
    free(use);
}
NVDP__AUTOPTR(struct nvdp__row_use, release_use)

void nvdp__params_release(struct nvdp__params *params) {
    release_use_owned(&params->use);
    free(params->entry);
    free(params->value);
    free(params->grad);
    nvdp__params_init(params, params->ctx);
}

size_t nvdp__params_find(const struct nvdp__params *params, const char *name) {
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->entry[i].name, name) == 0) return i;
    return SIZE_MAX;
}

nvdp_status nvdp__params_add(struct nvdp__params *params, const char *name, int rank, size_t rows,
                             size_t cols, unsigned flags, size_t *index) {
    if (params->value != NULL)
        return nvdp__fail(params->ctx, NVDP_ERR_STATE,
                          "tensor %s: must be declared before the parameters are allocated", name);
    if (rank < 1 || rank > NVDP__PARAM_RANK)
        return nvdp__fail(params->ctx, NVDP_ERR_ARGUMENT,
                          "tensor %s: expected rank 1 or 2, found %d", name, rank);
    if (strlen(name) >= sizeof params->entry->name)
        return nvdp__fail(params->ctx, NVDP_ERR_ARGUMENT,
                          "tensor %s: expected a name of at most %zu bytes, found %zu", name,
                          sizeof params->entry->name - 1, strlen(name));
    if (nvdp__params_find(params, name) != SIZE_MAX)
        return nvdp__fail(params->ctx, NVDP_ERR_ARGUMENT, "tensor %s is declared twice", name);
    if (rank == 1) cols = 1;
    size_t count, end;
    size_t offset = flags & NVDP__PARAM_JOINED ? params->end : params->total;
    if (!nvdp__mul(rows, cols, &count) || __builtin_add_overflow(offset, count, &end) ||
        end > SIZE_MAX - LINE)
        return nvdp__fail(params->ctx, NVDP_ERR_MEMORY, "tensor %s: the size %zu x %zu overflows",
                          name, rows, cols);
    NVDP_TRY(nvdp__reserve(params->ctx, &params->entry, &params->capacity, params->count + 1,
                           sizeof *params->entry));
    struct nvdp__param *entry = &params->entry[params->count];
    *entry = (struct nvdp__param){
        .rank = rank, .shape = {rows, cols}, .offset = offset, .count = count, .flags = flags};
    memcpy(entry->name, name, strlen(name) + 1);
    params->end = end;
    params->total = (end + LINE - 1) / LINE * LINE;
    *index = params->count++;
    return NVDP_OK;
}

/* Allocates the tracking of the first table with NVDP__PARAM_ROWS, if there is one. */
static nvdp_status allocate_use(struct nvdp__params *params) {
    size_t table = 0;
    while (table < params->count && !(params->entry[table].flags & NVDP__PARAM_ROWS))
        table++;
    if (table == params->count) return NVDP_OK;
    size_t rows = params->entry[table].shape[0];
    nvdp__autoptr(release_use) struct nvdp__row_use *use = NULL;
    NVDP_TRY(NVDP__NEW(params->ctx, use, 1));
    use->table = table;
    NVDP_TRY(NVDP__ARRAYS(params->ctx, &use->memory, NVDP__ITEMS(use->row, rows),
                          NVDP__ITEMS(use->now, rows), NVDP__ITEMS(use->ever, rows)));
    return NVDP__HAND_OVER(&params->use, use);
}

nvdp_status nvdp__params_allocate(struct nvdp__params *params, bool with_grad) {
    nvdp__autofree float *value = NULL, *grad = NULL;
    if (params->value != NULL)
        return nvdp__fail(params->ctx, NVDP_ERR_STATE, "the parameters are already allocated");
    NVDP_TRY(NVDP__NEW(params->ctx, value, params->total));
    if (with_grad) {
        NVDP_TRY(NVDP__NEW(params->ctx, grad, params->total));
        NVDP_TRY(allocate_use(params));
    }
    NVDP__HAND_OVER(&params->value, value);
    return NVDP__HAND_OVER(&params->grad, grad);
}

float *nvdp__value(const struct nvdp__params *params, size_t index) {
    return params->value + params->entry[index].offset;
}

float *nvdp__grad(const struct nvdp__params *params, size_t index) {
    const struct nvdp__param *entry = &params->entry[index];
    const bool none = params->grad == NULL || (entry->flags & NVDP__PARAM_FROZEN) != 0;
    return none ? NULL : params->grad + entry->offset;
}

static void begin_rows(const struct nvdp__device *dev, const struct nvdp__params *params) {
    struct nvdp__row_use *use = params->use;
    const struct nvdp__param *entry = &params->entry[use->table];
    float *grad = nvdp__grad(params, use->table);
    if (!use->tracked || use->all) nvdp__zero(dev, entry->count, grad);
    for (size_t i = 0; i < use->count; i++) {
        size_t row = (size_t)use->row[i];
        if (!use->all) nvdp__zero(dev, entry->shape[1], grad + row * entry->shape[1]);
        use->now[row] = false;
    }
    use->tracked = true;
    use->all = false;
    use->count = 0;
}

void nvdp__grad_begin(const struct nvdp__device *dev, struct nvdp__params *params) {
    size_t from = 0; /* the gap [from, offset) is zeroed next */
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        bool frozen = (entry->flags & NVDP__PARAM_FROZEN) != 0;
        bool rows = !frozen && params->use != NULL && params->use->table == i;
        if (!rows && !frozen && !(entry->flags & NVDP__PARAM_SET)) continue;
        nvdp__zero(dev, entry->offset - from, params->grad + from);
        from = entry->offset + entry->count;
        if (rows) begin_rows(dev, params);
    }
    nvdp__zero(dev, params->total - from, params->grad + from);
}

void nvdp__grad_rows(const struct nvdp__params *params, size_t n, const int32_t *index) {
    struct nvdp__row_use *use = params->use;
    if (use == NULL || !use->tracked) return;
    if (index == NULL) {
        use->all = true;
        memset(use->ever, true, params->entry[use->table].shape[0] * sizeof *use->ever);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = (size_t)index[i];
        if (index[i] < 0 || use->now[row]) continue;
        use->now[row] = true;
        use->ever[row] = true;
        use->row[use->count++] = index[i];
    }
}

void nvdp__params_fill_part(const struct nvdp__device *dev, struct nvdp__params *params,
                            size_t index, size_t first, size_t n, float value) {
    (void)dev;
    float *x = nvdp__value(params, index) + first;
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

void nvdp__params_fill(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                       float value) {
    nvdp__params_fill_part(dev, params, index, 0, params->entry[index].count, value);
}

void nvdp__params_normal(const struct nvdp__device *dev, struct nvdp__params *params, size_t index,
                         double sd, uint64_t seed) {
    const struct nvdp__param *entry = &params->entry[index];
    struct nvdp__noise noise = {.seed = seed};
    uint64_t hash = NVDP__FNV1A;
    for (const char *at = entry->name; *at != '\0'; at++)
        hash = nvdp__fnv1a(hash, (unsigned char)*at);
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, hash);
    float *x = nvdp__value(params, index);
    nvdp__stream_normals(&stream, entry->count, x);
    nvdp__scale(dev, entry->count, (float)sd, x);
}

size_t nvdp__params_frozen(const struct nvdp__params *params) {
    size_t i = 0;
    while (i < params->count && (params->entry[i].flags & NVDP__PARAM_FROZEN) != 0)
        i++;
    return i < params->count ? params->entry[i].offset : params->total;
}

size_t nvdp__params_trainable(const struct nvdp__params *params) {
    size_t total = 0;
    for (size_t i = 0; i < params->count; i++)
        if ((params->entry[i].flags & NVDP__PARAM_FROZEN) == 0) total += params->entry[i].count;
    return total;
}
