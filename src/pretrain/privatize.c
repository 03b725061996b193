/* Privatizes the input of a batch and draws its targets for the adaptive objectives (model.h).
 * nvdp__privatize(), the last function, calls the parts in order. */
#include "pretrain/model.h"

#include "base/array.h"
#include "sanitize/sanitize.h"
#include <stdlib.h>

/* Purposes of the draws of a step. */
enum purpose { OF_INPUT, OF_TARGET, OF_EVALUATION = 2 };

/* Combines the step, the purpose and the number of the row (and of the draw) into the number of
 * a text; no two draws have the same number. */
static uint64_t first_text(const struct nvdp__privacy_key *key, unsigned purpose, size_t draws) {
    if (key->evaluation) purpose += OF_EVALUATION;
    return ((uint64_t)key->step << 32 | (uint64_t)purpose << 30) + (uint64_t)(key->first * draws);
}

nvdp_status nvdp__privatizer_create(struct nvdp_context *ctx,
                                    const struct nvdp__sanitizer_options *options,
                                    enum nvdp__objective objective,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp__piece_table *pieces, size_t dim,
                                    const float *table, size_t texts, size_t length, size_t masked,
                                    struct nvdp__privatizer *privatizer) {
    const size_t draws = objective / 2 == NVDP__OBJECTIVE_PROB / 2 ? NVDP__PROB_DRAWS : 1;
    const size_t tokens = texts * length;
    const size_t drawn = nvdp__max(tokens, masked * draws);
    const struct nvdp__token_row *row = nvdp__token_row((int)options->mechanism);
    nvdp__auto(nvdp__privatizer_release) struct nvdp__privatizer made = {
        .ctx = ctx,
        .dev = nvdp__device_cpu(ctx),
        .objective = objective,
        .pieces = pieces,
        .table = table,
        .unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK),
        .dim = dim,
        .targets = {.capacity = masked, .labels = draws}};
    NVDP_TRY(nvdp__sanitizer_of_table(ctx, options, tokenizer, dim, table, &made.sanitizer));
    made.tokens = nvdp_sanitizer_dchi(made.sanitizer);
    NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.offset, texts * draws + 1),
                          NVDP__ITEMS(made.token, drawn), NVDP__ITEMS(made.row, tokens),
                          NVDP__ITEMS(made.left, masked),
                          NVDP__ITEMS(made.targets.label, masked * draws)));
    if (row->gives_vectors) {
        NVDP_TRY(nvdp_dchi_create(ctx, nvdp_sanitizer_vectors(made.sanitizer), row->nearest,
                                  options->eta, 0, NULL, &made.nearest));
        made.tokens = made.nearest;
        NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.points, tokens * dim),
                              NVDP__ITEMS(made.words, tokens * dim)));
    }
    return NVDP__HAND_OVER(privatizer, made);
}

void nvdp__privatizer_release(struct nvdp__privatizer *p) {
    nvdp_dchi_free(p->nearest);
    nvdp_sanitizer_free(p->sanitizer);
    nvdp__memory_release(&p->memory);
    nvdp__dchi_scratch_release(&p->scratch);
    *p = (struct nvdp__privatizer){0};
}

size_t nvdp__privatizer_bytes(const struct nvdp__sanitizer_options *options, size_t pieces,
                              size_t dim, size_t texts, size_t length) {
    const size_t vectors =
        nvdp__token_row((int)options->mechanism)->gives_vectors ? texts * length : 0;
    return (pieces + vectors) * dim * (sizeof(double) + sizeof(float));
}

/* ---- the input ---- */

/* Fills p->token, p->row and p->offset with the tokens to draw; returns the number of these
 * tokens. */
static size_t gather_input(struct nvdp__privatizer *p, const struct nvdp__batch *batch) {
    size_t n = 0;
    for (size_t t = 0; t < batch->texts; t++) {
        p->offset[t] = n;
        for (int32_t i = batch->offset[t]; i < batch->offset[t + 1]; i++) {
            const int32_t id = batch->ids[i];
            if (p->pieces->special[id] && id != p->unknown) continue;
            p->token[n] = nvdp__sanitizer_token(p->sanitizer, id);
            p->row[n++] = i;
        }
    }
    p->offset[batch->texts] = n;
    return n;
}

static nvdp_status draw_input(struct nvdp__privatizer *p, struct nvdp__batch *batch, uint64_t seed,
                              uint64_t first, size_t n) {
    if (p->points != NULL) {
        NVDP_TRY(nvdp__dchi_perturb_texts(p->ctx, nvdp_sanitizer_dchi(p->sanitizer), &p->scratch,
                                          batch->texts, p->offset, p->token, &seed, first,
                                          p->points));
        nvdp__rows_gather(&p->dev, batch->tokens, p->dim, batch->ids, p->table, p->words);
        nvdp__rows_place(&p->dev, n, p->dim, p->row, p->points, p->words);
        batch->words = p->words;
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__dchi_sample(p->ctx, p->tokens, &p->scratch, batch->texts, p->offset, p->token,
                               &seed, first, p->token));
    for (size_t i = 0; i < n; i++)
        batch->ids[p->row[i]] = nvdp__sanitizer_piece(p->sanitizer, p->token[i]);
    return NVDP_OK;
}

/* ---- the targets ---- */

/* Draws all labels of a text one after the other, then the labels of the next text. */
static nvdp_status draw_targets(struct nvdp__privatizer *p, const struct nvdp__batch *batch,
                                const struct nvdp__masked *masked, uint64_t seed, uint64_t first) {
    const size_t draws = p->targets.labels;
    size_t n = 0;
    for (size_t t = 0, from = 0, end = 0; t < batch->texts; t++, from = end) {
        while (end < masked->count && masked->row[end] < batch->offset[t + 1])
            end++;
        for (size_t k = 0; k < draws; k++) {
            p->offset[t * draws + k] = n;
            for (size_t i = from; i < end; i++)
                p->token[n++] = nvdp__sanitizer_token(p->sanitizer, masked->label[i]);
        }
    }
    p->offset[batch->texts * draws] = n;
    NVDP_TRY(nvdp__dchi_sample(p->ctx, p->tokens, &p->scratch, batch->texts * draws, p->offset,
                               p->token, &seed, first, p->token));
    for (size_t t = 0, from = 0; t < batch->texts; t++) {
        const int32_t *drawn = p->token + p->offset[t * draws];
        const size_t labels = p->offset[t * draws + 1] - p->offset[t * draws];
        for (size_t i = 0; i < labels; i++, from++)
            for (size_t k = 0; k < draws; k++)
                p->targets.label[from * draws + k] =
                    nvdp__sanitizer_piece(p->sanitizer, drawn[k * labels + i]);
    }
    return NVDP_OK;
}

/* Sets the target of each token that masking left unchanged to the privatized token in the
 * input. The input has n drawn tokens. */
static nvdp_status copy_input(struct nvdp__privatizer *p, const struct nvdp__batch *batch,
                              size_t n) {
    const struct nvdp__masked *targets = &p->targets;
    size_t left = 0;
    for (size_t i = 0, at = 0; i < targets->count; i++) {
        if (!p->left[i]) continue;
        targets->label[i] = batch->ids[targets->row[i]];
        while (at < n && p->row[at] != targets->row[i])
            at++;
        if (p->points != NULL) /* overwrites points that are no longer needed */
            memmove(p->points + left++ * p->dim, p->points + at * p->dim,
                    p->dim * sizeof *p->points);
    }
    if (left == 0) return NVDP_OK;
    NVDP_TRY(nvdp__vectors_nearest_reusing(p->ctx, nvdp_sanitizer_vectors(p->sanitizer),
                                           &p->scratch, left, p->points, p->token));
    for (size_t i = 0, at = 0; i < targets->count; i++)
        if (p->left[i]) targets->label[i] = nvdp__sanitizer_piece(p->sanitizer, p->token[at++]);
    return NVDP_OK;
}

nvdp_status nvdp__privatize(struct nvdp__privatizer *p, struct nvdp__batch *batch,
                            const struct nvdp__masked *masked, const struct nvdp__privacy_key *key,
                            const struct nvdp__masked **targets) {
    const bool vanilla = p->objective / 2 == NVDP__OBJECTIVE_VANILLA / 2;
    const size_t n = gather_input(p, batch), draws = p->targets.labels;
    p->targets.row = masked->row;
    p->targets.count = masked->count;
    for (size_t i = 0; i < masked->count; i++)
        p->left[i] = batch->ids[masked->row[i]] == masked->label[i];
    NVDP_TRY(draw_input(p, batch, key->seed, first_text(key, OF_INPUT, 1), n));
    *targets = masked;
    if (p->objective / 2 == NVDP__OBJECTIVE_DENOISING / 2) return NVDP_OK;
    NVDP_TRY(draw_targets(p, batch, masked, key->seed, first_text(key, OF_TARGET, draws)));
    if (vanilla) NVDP_TRY(copy_input(p, batch, n));
    *targets = &p->targets;
    return NVDP_OK;
}
