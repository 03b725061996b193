/* The model of the attacker that writes texts (invert.h): opening, memory, texts, inputs, a step, training. */
#include "attack/invert.h"
#include "base/random.h"
#include "encoder/checkpoint.h"
#include "rdp/divergence.h"
#include "rdp/pairs.h"
#include "tensor/int8.h"

#include <math.h>
#include <stdlib.h>

enum {
    BATCH = 32,
    LENGTHS = 4, /* every fourth text also trains the guess of its length */
    SPREAD = 8,  /* number of rows into which the only vector of a sample is spread */
    EPOCHS = 3,
    MIN_STEPS = 1000,
    CHECKS = 10,   /* number of comparisons of the weights on held-out texts */
    HELD_OUT = 10, /* holds out one text of ten, at most MAX_HELD */
    MAX_HELD = 200,
    SPECIALS = 2,
    MAX_TOKENS = 512
};
static const double RATE = 5e-4, IN_RATE = 1e-3, START = .1;
static const float DROPOUT = .1F;

/* --- opening --- */

nvdp_status nvdp__inverter_open(struct nvdp__inverter *v) {
    struct nvdp__text_attack *a = v->attack;
    const char *directory = a->options->prior;
    if (directory == NULL)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "{prior}: expected the directory of a masked language model, such as "
                          "models/compact, which the attacker trains; found none");
    NVDP_TRY(nvdp__mlm_open(a->ctx, directory, true, &v->bert, &v->tokenizer, &v->model));
    nvdp__int8_free(v->model.dev.int8); /* int8 weights cannot be trained */
    v->model.dev.int8 = NULL;
    v->length = a->options->tokens + SPECIALS;
    return nvdp__mlm_check_length(a->ctx, &v->bert, v->length);
}

void nvdp__inverter_release(struct nvdp__inverter *v) {
    for (size_t k = 0; k < 2; k++)
        nvdp__optimizer_release(&v->optimizer[k]);
    nvdp__params_release(&v->params);
    nvdp__arena_release(&v->arena);
    if (v->model.ctx != NULL) nvdp__pretrain_model_release(&v->model);
    nvdp_tokenizer_free(v->tokenizer);
    nvdp_dataset_free(v->known);
    nvdp_dataset_free(v->attacked);
    nvdp__batch_free(v->batch);
    nvdp__masked_release(&v->masked);
}

/* Returns false if the lengths are public: then every sample has as many vectors as its text has tokens. */
static bool hides_length(const struct nvdp__inverter *v) {
    const struct nvdp_posteriors *set = v->attack->known.set;
    if (set->policy != NVDP_LENGTH_PUBLIC || v->rows == 1) return true;
    for (size_t i = 0; i < set->texts; i++) {
        const size_t tokens = v->known->offset[i + 1] - v->known->offset[i];
        if (nvdp__min(nvdp__row_count(set, i), v->length) != tokens) return true;
    }
    return false;
}

static size_t row_count(const struct nvdp_posteriors *set, size_t i) {
    return nvdp__release_rows(set, i) / (size_t)set->kappa - (set->alpha != NULL);
}

/* Returns the text whose sample is read beside text i. */
static size_t source(const struct nvdp__sight *sight, size_t i) {
    const size_t n = sight->corpus->set->texts;
    if (sight->observed != NVDP__OBSERVED_PRIOR) return i;
    return (i + n / 2 + (size_t)sight->draw % nvdp__max(n / 4, 1)) % n;
}

size_t nvdp__inverter_rows(const struct nvdp__inverter *v, const struct nvdp__sight *sight,
                           size_t i) {
    return nvdp__min(row_count(sight->corpus->set, source(sight, i)), v->rows);
}

static void carve(struct nvdp__inverter *v, size_t vectors, size_t tokens) {
    const size_t dim = v->bert.hidden_size;
    NVDP__TAKE(&v->arena, {&v->x, vectors * v->inputs}, {&v->out, vectors * v->spread * dim},
               {&v->words, tokens * dim});
}

nvdp_status nvdp__inverter_reserve(struct nvdp__inverter *v) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp_context *ctx = a->ctx;
    struct nvdp__piece_table pieces = {0};
    const struct nvdp_posteriors *sets[] = {a->known.set, a->attacked.set};
    const size_t dim = v->bert.hidden_size, p = sets[0]->dim;
    /* A guess may have more tokens than any text. */
    const size_t max_rows = nvdp__max(nvdp__max_rows(a), (1 + MAX_TOKENS) * (size_t)sets[0]->kappa);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sets[s]->texts; i++)
            v->rows = nvdp__max(v->rows, row_count(sets[s], i));
    v->rows = nvdp__min(v->rows, v->length);
    v->spread = v->rows == 1 ? SPREAD : 1;
    v->inputs = v->scale.inputs = p + (sets[0]->alpha != NULL);
    v->guess_length = hides_length(v);
    v->held = nvdp__min(v->known->count / HELD_OUT, MAX_HELD);
    if (v->length >= nvdp_tokenizer_size(v->tokenizer) ||
        v->rows * v->spread > v->bert.max_position_embeddings)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "tokens: expected fewer than the %zu pieces and %zu positions of %s, "
                          "found %zu",
                          nvdp_tokenizer_size(v->tokenizer), v->bert.max_position_embeddings,
                          a->options->prior, a->options->tokens);
    const size_t texts = BATCH + BATCH / LENGTHS, longest = v->length + v->rows * v->spread;
    const size_t tokens = texts * longest, vectors = texts * v->rows, asked = texts * v->length;
    nvdp__params_init(&v->params, ctx);
    NVDP_TRY(nvdp__declare_dense(&v->params, "sample", v->spread * dim, v->inputs, 0, &v->in));
    NVDP_TRY(nvdp__params_allocate(&v->params, true));
    NVDP_TRY(nvdp__pretrain_model_plan(&v->model, texts, longest, asked, NULL));
    NVDP_TRY(nvdp__batch_create(ctx, texts, longest, &v->batch));
    NVDP_TRY(nvdp__masked_create(ctx, asked, &v->masked));
    carve(v, vectors, tokens);
    NVDP_TRY(nvdp__arena_allocate(ctx, &v->arena));
    carve(v, vectors, tokens);
    NVDP_TRY(nvdp__arena_check(ctx, &v->arena));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(v->start, v->model.params.total),
        NVDP__ITEMS(v->best[0], v->model.params.total), NVDP__ITEMS(v->best[1], v->params.total),
        NVDP__ITEMS(v->scale.shift, v->inputs), NVDP__ITEMS(v->scale.by, v->inputs),
        NVDP__ITEMS(v->host, vectors * v->inputs), NVDP__ITEMS(v->place, tokens),
        NVDP__ITEMS(v->at, vectors * v->spread), NVDP__ITEMS(v->z, max_rows * p),
        NVDP__ITEMS(v->log_pi, max_rows), NVDP__ITEMS(v->order, v->known->count),
        NVDP__ITEMS(v->ordinary, nvdp_tokenizer_size(v->tokenizer))));
    nvdp__copy(&v->model.dev, v->model.params.total, v->model.params.value, v->start);
    NVDP_TRY(nvdp__pieces_create(ctx, v->tokenizer, &pieces));
    for (size_t k = 0; k < pieces.ordinary_count; k++)
        v->ordinary[pieces.ordinary[k]] = 1;
    nvdp__pieces_release(&pieces);
    return NVDP_OK;
}

/* --- texts --- */

const char *nvdp__letters(const struct nvdp_tokenizer *tokenizer, int32_t id, bool *continues) {
    const char *piece = nvdp_tokenizer_piece(tokenizer, id);
    if (id == nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS) ||
        id == nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP))
        return NULL;
    *continues = *continues && strncmp(piece, "##", 2) == 0;
    return piece + (*continues ? 2 : 0);
}

nvdp_status nvdp__spell(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer, size_t n,
                        const int32_t *id, const char *prompt, struct nvdp__guess_strings *to) {
    size_t need = to->used + (prompt != NULL ? strlen(prompt) : 0) + 1;
    for (size_t k = 0; k < n; k++)
        need += strlen(nvdp_tokenizer_piece(tokenizer, id[k])) + 1;
    NVDP_TRY(nvdp__reserve(ctx, &to->text, &to->capacity, need, 1));
    char *at = to->text + to->used;
    if (prompt != NULL) at = stpcpy(at, prompt);
    const char *first = at;
    for (size_t k = 0; k < n; k++) {
        bool continues = at > first;
        const char *letters = nvdp__letters(tokenizer, id[k], &continues);
        if (letters == NULL) continue;
        if (!continues && at > first) *at++ = ' ';
        at = stpcpy(at, letters);
    }
    *at++ = '\0';
    to->used = (size_t)(at - to->text);
    return NVDP_OK;
}

static void release_strings(struct nvdp__guess_strings *strings) {
    free(strings->text);
}

nvdp_status nvdp__reread(struct nvdp_context *ctx, const struct nvdp_tokenizer *from,
                         const struct nvdp_dataset *data, const char *prompt,
                         const struct nvdp_tokenizer *to, size_t length,
                         struct nvdp_dataset **out) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    nvdp__auto(release_strings) struct nvdp__guess_strings all = {0};
    const char **text;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(all.start, data->count),
                          NVDP__ITEMS(text, data->count)));
    for (size_t i = 0; i < data->count; i++) {
        all.start[i] = all.used;
        NVDP_TRY(nvdp__spell(ctx, from, data->offset[i + 1] - data->offset[i],
                             data->ids + data->offset[i], prompt, &all));
    }
    for (size_t i = 0; i < data->count; i++)
        text[i] = all.text + all.start[i];
    return nvdp_dataset_from_texts(ctx, to, length, data->count, text, NULL, out);
}

/* --- what the model reads --- */

void nvdp__inverter_observe(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                            float *x) {
    nvdp__observe_tokens(sight->corpus,
                         sight->observed == NVDP__OBSERVED_PRIOR ? NVDP__OBSERVED_RELEASE
                                                                 : sight->observed,
                         sight->seed, sight->draw, source(sight, i),
                         nvdp__inverter_rows(v, sight, i), v->z, v->log_pi, x);
}

void nvdp__inverter_mean(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                         float *mean) {
    const size_t rows = nvdp__inverter_rows(v, sight, i);
    nvdp__inverter_observe(v, sight, i, v->host);
    for (size_t d = 0; d < v->inputs; d++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += (double)v->host[r * v->inputs + d] - v->scale.shift[d];
        mean[d] = (float)(sum * v->scale.by[d] / (double)nvdp__max(rows, 1));
    }
}

/* --- batches --- */

void nvdp__inverter_clear(struct nvdp__inverter *v) {
    nvdp__batch_clear(v->batch);
    v->masked.count = v->vectors = 0;
}

static void put(struct nvdp__inverter *v, int32_t id) {
    v->place[v->batch->tokens] = -1;
    nvdp__batch_put(v->batch, id);
}

/* Adds the rows of a sample to the batch. */
static void put_sample(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i) {
    struct nvdp__batch *batch = v->batch;
    const size_t rows = nvdp__inverter_rows(v, sight, i);
    float *x = v->host + v->vectors * v->inputs;
    nvdp__inverter_observe(v, sight, i, x);
    nvdp__scale_apply(&v->scale, rows, x);
    for (size_t k = 0; k < rows * v->spread; k++) {
        const size_t at = batch->tokens, row = v->vectors * v->spread + k;
        nvdp__batch_put(batch, -1);
        batch->positions[at] = (int32_t)k;
        batch->types[at] = v->bert.type_vocab_size > 1;
        v->place[at] = (int32_t)row;
        v->at[row] = (int32_t)at;
    }
    v->vectors += rows;
}

size_t nvdp__inverter_put(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                          size_t n, const int32_t *piece) {
    const size_t start = v->batch->tokens;
    put(v, nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_CLS));
    for (size_t k = 0; piece != NULL && k < n; k++)
        put(v, piece[k]);
    if (piece != NULL) put(v, nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_SEP));
    put_sample(v, sight, i);
    nvdp__batch_end(v->batch, i);
    return start;
}

void nvdp__inverter_ask(struct nvdp__inverter *v, size_t row, int32_t label) {
    v->masked.row[v->masked.count] = (int32_t)row;
    v->masked.label[v->masked.count++] = label;
}

nvdp_status nvdp__inverter_run(struct nvdp__inverter *v, const struct nvdp__pass *pass,
                               struct nvdp__pretrain_losses *losses) {
    const struct nvdp__device *dev = &v->model.dev;
    const size_t dim = v->bert.hidden_size, rows = v->vectors * v->spread;
    struct nvdp__linear in = nvdp__dense_linear(&v->params, &v->in, v->vectors);
    const struct nvdp__tensor x = nvdp__f32(v->vectors, v->inputs, v->x),
                              out = nvdp__f32(v->vectors, v->spread * dim, v->out);
    in.f32 = true;
    nvdp__upload(dev, v->vectors * v->inputs, v->host, v->x);
    nvdp__dense_forward(dev, &in, x, out);
    nvdp__rows_gather(dev, v->batch->tokens, dim, v->place, v->out, v->words);
    v->batch->words = v->words;
    v->batch->mixed = true;
    NVDP_TRY(nvdp__pretrain_model_step(&v->model, v->batch, &v->masked, pass, losses));
    if (!pass->training) return NVDP_OK;
    nvdp__grad_begin(dev, &v->params);
    nvdp__rows_gather(dev, rows, dim, v->at, v->model.d_last, v->out);
    nvdp__dense_backward(dev, &in, x, out, NVDP__NO_TENSOR, false);
    return NVDP_OK;
}

/* --- training --- */

/* Masks a uniformly drawn number of the text's tokens, at least one, or with `all` every token, and asks for them. */
static void put_masked(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                       struct nvdp__stream *stream, bool all) {
    const int32_t *piece = v->known->ids + v->known->offset[i] + 1;
    const size_t n = v->known->offset[i + 1] - v->known->offset[i] - SPECIALS;
    const int32_t mask = nvdp_tokenizer_special(v->tokenizer, NVDP_TOKEN_MASK);
    size_t left = all || n == 0 ? n : 1 + nvdp__stream_below(stream, n);
    const size_t start = nvdp__inverter_put(v, sight, i, n, piece);
    for (size_t k = 0; k < n; k++) { /* each of the remaining tokens with equal probability */
        if (!all && nvdp__stream_below(stream, n - k) >= left) continue;
        left--;
        nvdp__inverter_ask(v, start + 1 + k, piece[k]);
        v->batch->ids[start + 1 + k] = mask;
    }
}

static nvdp_status step(struct nvdp__inverter *v, const struct nvdp__pass *pass, double factor,
                        double *loss) {
    struct nvdp__pretrain_losses losses;
    double norm;
    *loss = NAN;
    if (v->masked.count == 0) return NVDP_OK;
    NVDP_TRY(nvdp__inverter_run(v, pass, &losses));
    *loss = losses.nll / (double)v->masked.count;
    NVDP_TRY(
        nvdp__optimizer_step(&v->optimizer[0], &v->model.dev, &v->model.params, factor, &norm));
    return nvdp__optimizer_step(&v->optimizer[1], &v->model.dev, &v->params, factor, &norm);
}

/* Computes the mean -log p of the tokens of held-out public texts, all masked. */
static nvdp_status held_out(struct nvdp__inverter *v, const struct nvdp__sight *sight,
                            double *out) {
    static const struct nvdp__pass pass = {.training = false};
    struct nvdp__pretrain_losses losses;
    double sum = 0, tokens = 0;
    const size_t end = v->known->count;
    for (size_t i = end - v->held; i < end;) {
        nvdp__inverter_clear(v);
        for (size_t last = nvdp__min(i + BATCH, end); i < last; i++)
            put_masked(v, sight, i, NULL, true);
        if (v->masked.count == 0) continue;
        NVDP_TRY(nvdp__inverter_run(v, &pass, &losses));
        sum += losses.nll;
        tokens += (double)v->masked.count;
    }
    *out = tokens > 0 ? sum / tokens : 0;
    return NVDP_OK;
}

nvdp_status nvdp__inverter_begin(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    const struct nvdp__device *dev = &v->model.dev;
    nvdp__copy(dev, v->model.params.total, v->start, v->model.params.value);
    nvdp__params_normal(dev, &v->params, v->in.weight, START / sqrt((double)v->inputs),
                        sight->seed);
    nvdp__params_normal(dev, &v->params, v->in.bias, START / 2, sight->seed + 1);
    nvdp__weights_changed(dev);
    NVDP_TRY(nvdp__adamw_create(v->attack->ctx, &v->model.params, RATE, NVDP__ATTACK_DECAY,
                                &v->optimizer[0]));
    NVDP_TRY(nvdp__adamw_create(v->attack->ctx, &v->params, IN_RATE, NVDP__ATTACK_DECAY,
                                &v->optimizer[1]));
    nvdp__scale_begin(&v->scale);
    for (size_t i = 0; i < v->known->count - v->held; i++) {
        nvdp__inverter_observe(v, sight, i, v->host);
        nvdp__scale_add(&v->scale, nvdp__inverter_rows(v, sight, i), v->host);
    }
    nvdp__scale_end(&v->scale);
    return NVDP_OK;
}

size_t nvdp__inverter_steps(const struct nvdp__inverter *v) {
    const size_t given = v->attack->options->steps;
    const size_t each = (v->known->count - v->held + BATCH - 1) / BATCH;
    return given > 0 ? given : nvdp__max(EPOCHS * each, MIN_STEPS);
}

nvdp_status nvdp__inverter_train(struct nvdp__inverter *v, const struct nvdp__sight *known) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__sight sight = *known;
    const size_t texts = v->known->count - v->held, steps = nvdp__inverter_steps(v);
    const struct nvdp__noise noise = {.seed = a->options->seed};
    /* texts that are read only a few times need no dropout */
    const float dropout = steps * BATCH > EPOCHS * texts ? DROPOUT : 0;
    struct nvdp__pass pass = {.training = true,
                              .hidden_dropout = dropout,
                              .attention_dropout = dropout,
                              .seed = a->options->seed};
    double best = INFINITY, error = INFINITY, loss;
    size_t next = texts;
    uint32_t epoch = 0;
    for (; pass.step < steps; pass.step++) {
        nvdp__inverter_clear(v);
        for (size_t k = 0; k < BATCH && (k == 0 || next < texts); k++, next++) {
            if (next == texts) {
                nvdp__epoch_order(a->options->seed, epoch++, texts, v->order);
                sight.draw = epoch; /* 0 standardized */
                next = 0;
            }
            const size_t i = (size_t)v->order[next];
            struct nvdp__stream stream =
                nvdp__stream_open(&noise, NVDP__PURPOSE_MASK, pass.step, i);
            put_masked(v, &sight, i, &stream, false);
            if (v->guess_length && k % LENGTHS == 0) {
                const size_t n = v->known->offset[i + 1] - v->known->offset[i] - SPECIALS;
                nvdp__inverter_ask(v, nvdp__inverter_put(v, &sight, i, 0, NULL), (int32_t)n);
            }
        }
        NVDP_TRY(step(v, &pass, nvdp__lr_factor(pass.step, steps, .1), &loss));
        const bool checks = (pass.step + 1) * CHECKS / steps > pass.step * CHECKS / steps;
        if (checks) NVDP_TRY(held_out(v, known, &error));
        if (checks && error < best) { /* the weights fit held-out texts best so far */
            best = error;
            nvdp__copy(&v->model.dev, v->model.params.total, v->model.params.value, v->best[0]);
            nvdp__copy(&v->model.dev, v->params.total, v->params.value, v->best[1]);
        }
        NVDP_TRY(nvdp__attack_advance(a, 1, loss));
    }
    nvdp__copy(&v->model.dev, v->model.params.total, v->best[0], v->model.params.value);
    nvdp__copy(&v->model.dev, v->params.total, v->best[1], v->params.value);
    nvdp__weights_changed(&v->model.dev);
    return NVDP_OK;
}
