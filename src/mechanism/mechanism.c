/* Shared by mechanisms: the components of a text, the rows of a batch's sample, export of
 * posteriors. */
#include "mechanism/mechanism.h"

#include <math.h>
#include <stdlib.h>

struct nvdp__form nvdp__form_of(const struct nvdp__nvib_config *config, bool weights, bool single) {
    const double length = (double)config->length;
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    return (struct nvdp__form){.weights = weights,
                               .single = single,
                               .length = single   ? 1
                                         : hidden ? config->length
                                                  : 0,
                               .kappa = config->kappa,
                               .prior_alpha = config->prior_alpha,
                               .pad_alpha =
                                   (config->prior_alpha + config->delta * length) / (length + 1),
                               .delta = config->delta};
}

struct nvdp__form nvdp__form_of_posteriors(const struct nvdp_posteriors *posteriors) {
    bool hidden = posteriors->policy == NVDP_LENGTH_HIDDEN;
    return (struct nvdp__form){.weights = posteriors->alpha != NULL,
                               .length = hidden ? posteriors->length : 0,
                               .kappa = posteriors->alpha != NULL ? posteriors->kappa : 1,
                               .prior_alpha = posteriors->prior_alpha,
                               .pad_alpha = posteriors->pad_alpha};
}

size_t nvdp__form_rows(const struct nvdp__form *form, size_t tokens) {
    size_t components = (form->weights ? 1 : 0) + (form->length > 0 ? form->length : tokens);
    return components * (size_t)form->kappa;
}

int64_t nvdp__form_source(const struct nvdp__form *form, size_t tokens, size_t row) {
    size_t component = row / (size_t)form->kappa;
    if (form->weights && component-- == 0) return NVDP__PRIOR;
    return component < tokens ? (int64_t)component : NVDP__PADDING;
}

double nvdp__form_alpha(const struct nvdp__form *form, int64_t source) {
    return source == NVDP__PRIOR ? form->prior_alpha : form->pad_alpha;
}

/* ---- layout ---- */

nvdp_status nvdp__sample_rows_plan(struct nvdp_context *ctx, const struct nvdp__form *form,
                                   size_t max_tokens, size_t max_texts,
                                   struct nvdp__sample_rows *layout) {
    size_t sources = form->single ? max_texts : max_tokens;
    size_t padded = form->length > 0 ? max_texts * form->length : sources;
    layout->max_texts = max_texts;
    layout->max_tokens = max_tokens;
    layout->max_sources = sources;
    layout->max_rows = ((form->weights ? max_texts : 0) + padded) * (size_t)form->kappa;
    layout->texts = 0;
    if (layout->max_rows > INT32_MAX || max_tokens > INT32_MAX)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "batch: %zu texts: expected at most %d sample rows, found %zu; use a smaller batch",
            max_texts, INT32_MAX, layout->max_rows);
    NVDP_TRY(nvdp__reserve(ctx, &layout->offset, &layout->offset_capacity, max_texts + 1,
                           sizeof *layout->offset));
    return nvdp__reserve(ctx, &layout->src, &layout->src_capacity, layout->max_rows,
                         sizeof *layout->src);
}

struct nvdp__sample nvdp__sample_of(const struct nvdp__sample_rows *layout, size_t dim,
                                    const float *z, const float *log_pi) {
    return (struct nvdp__sample){.texts = layout->texts,
                                 .rows = layout->rows,
                                 .dim = dim,
                                 .offset = layout->offset,
                                 .z = z,
                                 .log_pi = log_pi};
}

nvdp_status nvdp__sample_rows_check_single(struct nvdp_context *ctx,
                                           const struct nvdp__sample_rows *layout, size_t dim,
                                           const struct nvdp__sample *given) {
    if (given->dim == dim && given->texts <= layout->max_texts && given->rows == given->texts)
        return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "sample: expected one vector of width %zu for each of at most %zu texts, "
                      "found width %zu and %zu vectors for %zu texts",
                      dim, layout->max_texts, given->dim, given->rows, given->texts);
}

nvdp_status nvdp__sample_rows_fill(struct nvdp_context *ctx, const struct nvdp__form *form,
                                   const struct nvdp__batch *batch,
                                   struct nvdp__sample_rows *layout) {
    if (batch->texts > layout->max_texts || batch->tokens > layout->max_tokens)
        return nvdp__fail(
            ctx, NVDP_ERR_STATE,
            "batch: %zu texts and %zu tokens exceed the planned maximum of %zu and %zu",
            batch->texts, batch->tokens, layout->max_texts, layout->max_tokens);
    for (size_t b = 0; b < batch->texts && form->length > 0 && !form->single; b++) {
        size_t tokens = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        if (tokens <= form->length) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text %llu of the data set: expected at most length %zu tokens, found "
                          "%zu; raise length, or shorten the texts",
                          (unsigned long long)batch->key[b], form->length, tokens);
    }
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        int32_t first = form->single ? (int32_t)b : batch->offset[b];
        size_t tokens = form->single ? 1 : (size_t)(batch->offset[b + 1] - first);
        size_t rows = nvdp__form_rows(form, tokens);
        layout->offset[b] = (int32_t)row;
        for (size_t r = 0; r < rows; r++) {
            int64_t source = nvdp__form_source(form, tokens, r);
            layout->src[row++] = (int32_t)(source < 0 ? source : first + source);
        }
    }
    layout->offset[batch->texts] = (int32_t)row;
    layout->texts = batch->texts;
    layout->tokens = batch->tokens;
    layout->sources = form->single ? batch->texts : batch->tokens;
    layout->rows = row;
    layout->source_offset = form->single ? layout->offset : batch->offset;
    layout->key = batch->key;
    return NVDP_OK;
}

void nvdp__sample_rows_release(struct nvdp__sample_rows *layout) {
    free(layout->offset);
    free(layout->src);
}

/* ---- export of posteriors ---- */

nvdp_status nvdp__posterior_store(struct nvdp_context *ctx, const struct nvdp__posterior *posterior,
                                  size_t first_row, struct nvdp_posteriors *out) {
    size_t rows = out->offset[out->texts];
    bool weights = posterior->log_alpha != NULL;
    if (out->dim != posterior->dim || (out->alpha != NULL) != weights || first_row > rows ||
        rows - first_row < posterior->rows)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "posteriors: expected arrays with %spseudo-counts, width %zu and room "
                          "for %zu rows from row %zu, found width %zu and %zu rows",
                          weights ? "" : "no ", posterior->dim, posterior->rows, first_row,
                          out->dim, rows);
    for (size_t t = 0; t < posterior->rows && weights; t++)
        out->alpha[first_row + t] = exp((double)posterior->log_alpha[t]);
    for (size_t i = 0; i < posterior->rows * posterior->dim; i++) {
        out->mu[first_row * posterior->dim + i] = posterior->mu[i];
        out->logvar[first_row * posterior->dim + i] = posterior->logvar[i];
    }
    return NVDP_OK;
}
