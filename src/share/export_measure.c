/* What an export's statement says of divergences: measured over pairs of its texts. */
#include "share/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the seeded choice's rows of one part, in order. */
static nvdp_status choose_part(struct nvdp__export *export, const struct nvdp__export_part *part,
                               size_t first, const int64_t *chosen, size_t count,
                               struct nvdp_dataset **out) {
    size_t *rows = nvdp__calloc(export->ctx, part->data->count, sizeof *rows);
    if (rows == NULL) return NVDP_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t text = (size_t)chosen[i];
        if (text >= first && text < first + part->data->count) rows[n++] = text - first;
    }
    nvdp_status status = nvdp_dataset_select(export->ctx, part->data, n, rows, out);
    free(rows);
    return status;
}

/* Puts the posteriors of one part behind those that are there. */
static void append(struct nvdp_posteriors *all, const struct nvdp_posteriors *more) {
    size_t row = all->offset[all->texts];
    size_t rows = more->offset[more->texts];
    size_t values = rows * all->dim * sizeof(double);
    memcpy(all->mu + row * all->dim, more->mu, values);
    memcpy(all->logvar + row * all->dim, more->logvar, values);
    if (all->alpha != NULL) memcpy(all->alpha + row, more->alpha, rows * sizeof(double));
    for (size_t i = 0; i < more->texts; i++) {
        all->offset[all->texts + i + 1] = row + more->offset[i + 1];
    }
    all->texts += more->texts;
}

static nvdp_status join(struct nvdp__export *export, struct nvdp_posteriors *const *part,
                        size_t parts, struct nvdp_posteriors **out) {
    size_t texts = 0;
    size_t rows = 0;
    const struct nvdp_posteriors *any = NULL;
    for (size_t i = 0; i < parts; i++) {
        if (part[i] == NULL) continue;
        any = part[i];
        texts += any->texts;
        rows += any->offset[any->texts];
    }
    if (any == NULL) return nvdp__fail(export->ctx, NVDP_ERR_STATE, "no texts to measure");
    struct nvdp_posteriors *all = NULL;
    NVDP_RETURN_IF_FAILED(
        nvdp_posteriors_create(export->ctx, texts, rows, any->dim, any->alpha != NULL, &all));
    all->texts = 0;
    all->prior_alpha = any->prior_alpha;
    all->pad_alpha = any->pad_alpha;
    all->kappa = any->kappa;
    all->policy = any->policy;
    all->length = any->length;
    memcpy(all->method, any->method, sizeof all->method);
    for (size_t i = 0; i < parts; i++) {
        if (part[i] != NULL) append(all, part[i]);
    }
    *out = all;
    return NVDP_OK;
}

static nvdp_status measured_posteriors(struct nvdp__export *export, const int64_t *chosen,
                                       size_t count, struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *part[NVDP__EXPORT_PARTS] = {0};
    struct nvdp_dataset *subset = NULL;
    size_t first = 0;
    for (size_t i = 0; i < export->parts; i++) {
        NVDP_TRY(choose_part(export, &export->part[i], first, chosen, count, &subset));
        if (subset->count > 0)
            NVDP_TRY(nvdp_model_posteriors(export->ctx, export->run.model, subset,
                                           export->options->batch, &part[i]));
        first += export->part[i].data->count;
        nvdp_dataset_free(subset);
        subset = NULL;
    }
    NVDP_TRY(join(export, part, export->parts, out));
cleanup:
    nvdp_dataset_free(subset);
    for (size_t i = 0; i < NVDP__EXPORT_PARTS; i++) {
        nvdp_posteriors_free(part[i]);
    }
    return status;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The chance of a failing bound stays below a tenth of delta however many samples share it. */
static double gamma_of(double usual, double delta, size_t samples) {
    return fmin(usual, delta / 10) / (double)samples;
}

/* A seeded choice of at most measure_texts texts, and the report over its pairs. */
nvdp_status nvdp__export_measure(struct nvdp__export *export) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *posteriors = NULL;
    const struct nvdp__noise seeded = {.seed = export->options->seed};
    size_t count = export->options->measure_texts;
    if (count > export->texts) count = export->texts;
    if (count < 2) return NVDP_OK;
    int64_t *order = nvdp__calloc(export->ctx, export->texts, sizeof *order);
    if (order == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < export->texts; i++) {
        order[i] = (int64_t)i;
    }
    struct nvdp__stream stream = nvdp__stream_open(&seeded, NVDP__PURPOSE_MEASURE, 0, 0);
    if (count < export->texts) nvdp__stream_shuffle(&stream, export->texts, order);
    qsort(order, count, sizeof *order, by_value);
    NVDP_TRY(measured_posteriors(export, order, count, &posteriors));
    struct nvdp_privacy_config config = nvdp_privacy_config_default();
    config.pairs.order = export->options->order;
    config.bdp.delta = export->options->delta;
    config.bdp.releases = (int)export->options->samples;
    config.bdp.gamma = gamma_of(config.bdp.gamma, config.bdp.delta, export->options->samples);
    NVDP_TRY(nvdp_privacy_measure(export->ctx, posteriors, &config, &export->facts.privacy));
    export->facts.measured = true;
cleanup:
    nvdp_posteriors_free(posteriors);
    free(order);
    return status;
}
