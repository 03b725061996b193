#include "share/reader.h"

#include "base/f16.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIM = 1 << 16,
    MAX_OUTPUTS = 1 << 16,
    MAX_KAPPA = 1000,
    SITE_HEAD = 1 /* the reader's one dropout */
};

static const double INITIAL_SD = 0.02;

/* --- life --- */

static nvdp_status check_shape(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape) {
    const struct {
        const char *name;
        size_t value, max;
    } sizes[] = {{"dim", shape->dim, MAX_DIM},
                 {"heads", shape->heads, shape->dim},
                 {"inner", shape->inner, MAX_DIM},
                 {"outputs", shape->outputs, MAX_OUTPUTS},
                 {"kappa", (size_t)shape->kappa, MAX_KAPPA}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value >= 1 && sizes[i].value <= sizes[i].max) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected 1 to %zu, found %zu", sizes[i].name,
                          sizes[i].max, sizes[i].value);
    }
    if (shape->dim % shape->heads != 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "heads: expected a divisor of the vectors' width %zu, found %zu",
                          shape->dim, shape->heads);
    return NVDP_OK;
}

static nvdp_status declare(struct nvdp__reader *reader) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    struct nvdp__block *block = &reader->block;
    block->dim = shape->dim;
    block->heads = shape->heads;
    block->inner = shape->inner;
    block->act = shape->act;
    block->eps = (float)shape->eps;
    block->pool = shape->pool;
    block->kappa = shape->kappa;
    NVDP_RETURN_IF_FAILED(nvdp__block_declare(block, &reader->params));
    return nvdp__declare_dense(&reader->params, "classifier", shape->outputs, shape->dim, 0,
                               &reader->classifier);
}

nvdp_status nvdp__reader_create(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape,
                                bool with_grad, struct nvdp__reader **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__reader *reader = NULL;
    NVDP_TRY(check_shape(ctx, shape));
    reader = nvdp__calloc(ctx, 1, sizeof *reader);
    if (reader == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    reader->ctx = ctx;
    reader->dev = nvdp__device_cpu(ctx);
    reader->shape = *shape;
    nvdp__params_init(&reader->params, ctx);
    NVDP_TRY(declare(reader));
    NVDP_TRY(nvdp__params_allocate(&reader->params, with_grad));
    *out = reader;
    reader = NULL;
cleanup:
    nvdp__reader_free(reader);
    return status;
}

static void release_plan(struct nvdp__reader *reader) {
    nvdp__arena_release(&reader->arena);
    free(reader->offset);
    free(reader->host);
    reader->offset = NULL;
    reader->host = NULL;
    reader->max_texts = 0;
    reader->max_rows = 0;
}

void nvdp__reader_free(struct nvdp__reader *reader) {
    if (reader == NULL) return;
    release_plan(reader);
    nvdp__block_release(&reader->block);
    nvdp__params_release(&reader->params);
    free(reader);
}

void nvdp__reader_initialise(struct nvdp__reader *reader, uint64_t seed) {
    nvdp__block_initialise(&reader->block, &reader->dev, &reader->params, INITIAL_SD, seed);
    nvdp__params_normal(&reader->dev, &reader->params, reader->classifier.weight, INITIAL_SD, seed);
    nvdp__params_fill(&reader->dev, &reader->params, reader->classifier.bias, 0);
}

size_t nvdp__reader_adopt(struct nvdp__reader *reader, const struct nvdp__params *from) {
    size_t adopted = 0;
    for (size_t i = 0; i < reader->params.count; i++) {
        const struct nvdp__param *to = &reader->params.entry[i];
        size_t k = nvdp__params_find(from, to->name);
        if (k == SIZE_MAX || from->entry[k].rank != to->rank ||
            memcmp(from->entry[k].shape, to->shape, (size_t)to->rank * sizeof to->shape[0]) != 0)
            continue;
        nvdp__copy(&reader->dev, to->count, nvdp__value(from, k), nvdp__value(&reader->params, i));
        adopted++;
    }
    return adopted;
}

/* --- memory --- */

static nvdp_status carve(struct nvdp__reader *reader, size_t longest) {
    struct nvdp__arena *arena = &reader->arena;
    size_t rows = reader->max_rows;
    size_t texts = reader->max_texts;
    size_t dim = reader->shape.dim;
    NVDP_RETURN_IF_FAILED(nvdp__block_plan(&reader->block, &reader->dev, rows, texts, longest,
                                           reader->training, arena));
    reader->z = nvdp__arena_take(arena, rows * dim);
    reader->log_pi = nvdp__arena_take(arena, rows);
    reader->head = nvdp__arena_take(arena, texts * dim);
    reader->logits = nvdp__arena_take(arena, texts * reader->shape.outputs);
    if (reader->training) {
        reader->d_logits = nvdp__arena_take(arena, texts * reader->shape.outputs);
        reader->d_head = nvdp__arena_take(arena, texts * dim);
    }
    return NVDP_OK;
}

nvdp_status nvdp__reader_plan(struct nvdp__reader *reader, size_t texts, size_t longest,
                              bool training) {
    size_t rows;
    if (!nvdp__mul(texts, longest, &rows) || rows > INT32_MAX)
        return nvdp__fail(reader->ctx, NVDP_ERR_ARGUMENT,
                          "batch: %zu texts of %zu rows are too many for one batch", texts,
                          longest);
    release_plan(reader);
    reader->max_rows = rows;
    reader->max_texts = texts;
    reader->training = training;
    NVDP_RETURN_IF_FAILED(carve(reader, longest));
    NVDP_RETURN_IF_FAILED(nvdp__arena_allocate(reader->ctx, &reader->arena));
    NVDP_RETURN_IF_FAILED(carve(reader, longest));
    reader->offset = nvdp__calloc(reader->ctx, texts + 1, sizeof *reader->offset);
    reader->host = nvdp__calloc(reader->ctx, rows * reader->shape.dim, sizeof *reader->host);
    return reader->offset != NULL && reader->host != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

/* --- batches --- */

static void fill_vectors(struct nvdp__reader *reader, const struct nvdp__embeddings *from, size_t n,
                         const size_t *samples) {
    size_t dim = reader->shape.dim;
#pragma omp parallel for num_threads(reader->dev.threads) if (reader->rows * dim > 1 << 14)
    for (size_t i = 0; i < n; i++) {
        size_t first = (size_t)from->offset[samples[i]] * dim;
        size_t count = (size_t)from->offset[samples[i] + 1] * dim - first;
        float *to = reader->host + (size_t)reader->offset[i] * dim;
        for (size_t k = 0; k < count; k++) {
            to[k] = nvdp__f16_to_float(from->z[first + k]);
        }
    }
    nvdp__upload(&reader->dev, reader->rows * dim, reader->host, reader->z);
}

/* A mechanism without weights counts every row of a text alike. */
static void fill_weights(struct nvdp__reader *reader, const struct nvdp__embeddings *from, size_t n,
                         const size_t *samples) {
    for (size_t i = 0; i < n; i++) {
        size_t first = (size_t)from->offset[samples[i]];
        size_t count = (size_t)from->offset[samples[i] + 1] - first;
        float *to = reader->host + reader->offset[i];
        float even = -logf((float)count);
        for (size_t k = 0; k < count; k++) {
            to[k] = from->log_pi != NULL ? from->log_pi[first + k] : even;
        }
    }
    nvdp__upload(&reader->dev, reader->rows, reader->host, reader->log_pi);
}

void nvdp__reader_fill(struct nvdp__reader *reader, const struct nvdp__embeddings *from, size_t n,
                       const size_t *samples) {
    reader->texts = n;
    reader->offset[0] = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t rows = from->offset[samples[i] + 1] - from->offset[samples[i]];
        reader->offset[i + 1] = reader->offset[i] + (int32_t)rows;
    }
    reader->rows = (size_t)reader->offset[n];
    fill_vectors(reader, from, n, samples);
    fill_weights(reader, from, n, samples);
}

/* --- passes --- */

static struct nvdp__sample batch_sample(const struct nvdp__reader *reader) {
    return (struct nvdp__sample){.texts = reader->texts,
                                 .rows = reader->rows,
                                 .dim = reader->shape.dim,
                                 .offset = reader->offset,
                                 .z = reader->z,
                                 .log_pi = reader->log_pi};
}

nvdp_status nvdp__reader_forward(struct nvdp__reader *reader, const struct nvdp__dropout *dropout) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    struct nvdp__sample sample = batch_sample(reader);
    struct nvdp__dropout drop = *dropout;
    drop.site = SITE_HEAD;
    NVDP_RETURN_IF_FAILED(nvdp__block_forward(&reader->block, &reader->dev, &reader->params,
                                              &sample, NULL, &reader->pooled));
    nvdp__copy(&reader->dev, reader->texts * shape->dim, reader->pooled, reader->head);
    nvdp__dropout_apply(&reader->dev, &drop, reader->texts * shape->dim, reader->head);
    nvdp__linear_forward(&reader->dev, reader->texts, shape->dim, shape->outputs, reader->head,
                         nvdp__value(&reader->params, reader->classifier.weight),
                         nvdp__value(&reader->params, reader->classifier.bias), reader->logits);
    return NVDP_OK;
}

void nvdp__reader_backward(struct nvdp__reader *reader, const struct nvdp__dropout *dropout,
                           const float *label, double *loss) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    struct nvdp__sample sample = batch_sample(reader);
    struct nvdp__dropout drop = *dropout;
    drop.site = SITE_HEAD;
    *loss = shape->regression ? nvdp__mean_squared(&reader->dev, reader->texts, reader->logits,
                                                   label, 1, reader->d_logits)
                              : nvdp__cross_entropy(&reader->dev, reader->texts, shape->outputs,
                                                    reader->logits, label, 1, reader->d_logits);
    nvdp__linear_backward(&reader->dev, reader->texts, shape->dim, shape->outputs, reader->head,
                          nvdp__value(&reader->params, reader->classifier.weight), reader->d_logits,
                          reader->d_head, false,
                          nvdp__grad(&reader->params, reader->classifier.weight),
                          nvdp__grad(&reader->params, reader->classifier.bias));
    nvdp__dropout_apply(&reader->dev, &drop, reader->texts * shape->dim, reader->d_head);
    nvdp__block_backward(&reader->block, &reader->dev, &reader->params, &sample, reader->d_head,
                         NULL, NULL);
}
