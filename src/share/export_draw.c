/* The samples of an export: posteriors batch by batch, drawn, rounded, written, forgotten. */
#include "base/base.h"
#include "share/export.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { SLICE_VALUES = 1 << 22 };

/* --- shapes and memory --- */

static nvdp_status plan_offsets(struct nvdp__export *export) {
    size_t samples = export->options->samples;
    size_t count;
    if (!nvdp__mul(export->texts, samples, &count) || count >= INT32_MAX)
        return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                          "samples: %zu of %zu texts are too many for one file", samples,
                          export->texts);
    export->offset = nvdp__calloc(export->ctx, count + 1, sizeof *export->offset);
    if (export->offset == NULL) return NVDP_ERR_MEMORY;
    size_t k = 0;
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        for (size_t i = 0; i < data->count; i++) {
            size_t own = export->form.single ? 1 : data->offset[i + 1] - data->offset[i];
            size_t rows = nvdp__release_sample_rows(&export->like, export->form.weights, own);
            if (rows > export->longest_rows) export->longest_rows = rows;
            for (size_t s = 0; s < samples; s++, k++) {
                export->offset[k + 1] = export->offset[k] + (int64_t)rows;
            }
        }
    }
    return NVDP_OK;
}

static void describe_shape(struct nvdp__export *export) {
    const struct nvdp_posteriors *like = &export->like;
    bool hidden = like->policy == NVDP_LENGTH_HIDDEN;
    export->shape = (struct nvdp__embeddings_shape){
        .texts = export->texts,
        .samples = export->options->samples,
        .dim = like->dim,
        .kappa = like->kappa,
        .policy = like->policy,
        .length = hidden ? like->length : 0,
        .sample_rows = hidden ? export->longest_rows : 0,
        .rows = (size_t) export->offset[export->texts * export->options->samples],
        .weights = export->form.weights,
    };
}

static size_t longest_text(const struct nvdp__export *export) {
    size_t longest = 0;
    for (size_t p = 0; p < export->parts; p++) {
        if (export->part[p].data->longest > longest) longest = export->part[p].data->longest;
    }
    return longest;
}

/* A batch of texts whose samples fill memory is cut down, to one text at least. */
static size_t batch_texts(const struct nvdp__export *export) {
    size_t a_text = export->longest_rows * export->shape.dim * export->shape.samples;
    size_t fits = SLICE_VALUES / (a_text > 0 ? a_text : 1);
    size_t batch = export->options->batch;
    if (fits < 1) fits = 1;
    return batch < fits ? batch : fits;
}

nvdp_status nvdp__export_allocate(struct nvdp__export *export) {
    size_t batch = batch_texts(export);
    export->batch_texts = batch;
    struct nvdp_context *ctx = export->ctx;
    size_t longest = longest_text(export);
    size_t dim = export->shape.dim;
    size_t threads = (size_t)nvdp_context_threads(ctx);
    size_t rows = batch * export->shape.samples * export->longest_rows;
    NVDP_RETURN_IF_FAILED(nvdp__model_plan(export->run.model, batch, longest, false));
    NVDP_RETURN_IF_FAILED(nvdp__batch_create(ctx, batch, longest, &export->batch));
    NVDP_RETURN_IF_FAILED(nvdp_posteriors_create(ctx, batch,
                                                 batch * (export->form.single ? 1 : longest), dim,
                                                 export->form.weights, &export->posteriors));
    export->wide = nvdp__calloc(ctx, threads * export->longest_rows * dim, sizeof(double));
    export->log_weights = nvdp__calloc(ctx, threads * export->longest_rows, sizeof(double));
    export->z = nvdp__calloc(ctx, rows * dim, sizeof(float));
    export->log_pi = nvdp__calloc(ctx, rows, sizeof(float));
    export->first_row = nvdp__calloc(ctx, batch + 1, sizeof(size_t));
    if (export->wide == NULL || export->log_weights == NULL || export->z == NULL ||
        export->log_pi == NULL || export->first_row == NULL)
        return NVDP_ERR_MEMORY;
    nvdp__model_describe(export->run.model, export->posteriors);
    return NVDP_OK;
}

nvdp_status nvdp__export_plan(struct nvdp__export *export) {
    export->form = nvdp__model_form(export->run.model);
    export->like.dim = nvdp_model_info(export->run.model)->nvib.latent_dim;
    nvdp__model_describe(export->run.model, &export->like);
    NVDP_RETURN_IF_FAILED(plan_offsets(export));
    describe_shape(export);
    return NVDP_OK;
}

/* --- the samples --- */

/* Posteriors of part's texts [first, first + n). */
static nvdp_status infer(struct nvdp__export *export, const struct nvdp__export_part *part,
                         size_t first, size_t n) {
    struct nvdp_model *model = export->run.model;
    struct nvdp_posteriors *posteriors = export->posteriors;
    const struct nvdp__pass pass = {0};
    struct nvdp__draw draw = nvdp__draw_evaluation(0, 0); /* a sample nobody looks at */
    nvdp__batch_fill(export->batch, part->data, NULL, first, n);
    NVDP_RETURN_IF_FAILED(nvdp__model_forward(model, export->batch, &pass, &draw, 0));
    posteriors->texts = n;
    for (size_t i = 0; i <= n; i++) {
        posteriors->offset[i] = export->form.single ? i : (size_t) export->batch->offset[i];
    }
    NVDP_RETURN_IF_FAILED(model->bottleneck.mechanism->posterior(
        model->bottleneck.self, &model->dev, export->batch, 0, posteriors));
    return nvdp_posteriors_check(export->ctx, posteriors, export->options->run);
}

/* Draws sample s of the batch's text i, whose number in the file is `text`. */
static void draw_one(struct nvdp__export *export, size_t i, size_t s, size_t text) {
    size_t thread = (size_t)omp_get_thread_num();
    size_t rows = nvdp__release_rows(export->posteriors, i);
    size_t at = export->first_row[i] + s * rows;
    size_t dim = export->shape.dim;
    double *z = export->wide + thread * export->longest_rows * dim;
    double *log_pi = export->log_weights + thread * export->longest_rows;
    const struct nvdp__release release = {export->posteriors, export->noise, (uint32_t)s};
    nvdp__release_draw(&release, i, text, z, log_pi);
    nvdp__grid_vectors(rows * dim, z, export->z + at * dim);
    nvdp__grid_log_weights(rows, log_pi, export->log_pi + at);
}

/* A batch from posterior to file; `text` numbers its first text in the file. */
static nvdp_status release_batch(struct nvdp__export *export, const struct nvdp__export_part *part,
                                 size_t first, size_t n, size_t text) {
    size_t samples = export->shape.samples;
    NVDP_RETURN_IF_FAILED(infer(export, part, first, n));
    for (size_t i = 0; i < n; i++) {
        export->first_row[i + 1] =
            export->first_row[i] + samples * nvdp__release_rows(export->posteriors, i);
    }
#pragma omp parallel for schedule(dynamic) num_threads(nvdp_context_threads(export->ctx))
    for (size_t k = 0; k < n * samples; k++) {
        draw_one(export, k / samples, k % samples, text + k / samples);
    }
    return nvdp__embeddings_write(&export->writer, text, n, (size_t) export->offset[text * samples],
                                  export->first_row[n], export->z, export->log_pi);
}

nvdp_status nvdp__export_release(struct nvdp__export *export) {
    struct nvdp__meter meter;
    size_t done = 0;
    size_t batch = export->batch_texts;
    nvdp__meter_begin(&meter, export->ctx, "export", "text", 0, export->texts);
    for (size_t p = 0; p < export->parts; p++) {
        size_t count = export->part[p].data->count;
        for (size_t first = 0; first < count; first += batch) {
            size_t n = count - first < batch ? count - first : batch;
            if (nvdp__cancelled(export->ctx))
                return nvdp__fail(export->ctx, NVDP_ERR_CANCELLED, "export: cancelled");
            NVDP_RETURN_IF_FAILED(release_batch(export, &export->part[p], first, n, done));
            done += n;
            nvdp__meter_update(&meter, done, (double)done, "text", NAN);
        }
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}
