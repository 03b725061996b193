/* The model of the attacker that writes texts (invert.h): opening, memory, what it reads, a step, training. */
#include "attack/invert.h"
#include "base/random.h"
#include "bert/checkpoint.h"
#include "rdp/divergence.h"
#include "rdp/pairs.h"
#include "tensor/int8.h"

#include <math.h>
#include <stdlib.h>

enum {
    BATCH = 32,
    LENGTHS = 4, /* every fourth text also trains the guess of its length */
    SPREAD = 8,  /* rows of a sample's only vector */
    EPOCHS = 3,
    MIN_STEPS = 1000,
    CHECKS = 10,   /* times that the weights are compared on held-out texts */
    HELD_OUT = 10, /* one text of ten, at most MAX_HELD */
    MAX_HELD = 200,
    SPECIALS = 2,
    MAX_TOKENS = 512
};
static const double RATE = 5e-4, IN_RATE = 1e-3, MIN_LOG_WEIGHT = -20, START = .1;
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
    nvdp__int8_free(v->model.dev.int8); /* which is not for training */
    v->model.dev.int8 = NULL;
    v->length = a->options->tokens + SPECIALS;
    return nvdp__mlm_check_length(a->ctx, &v->bert, v->length);
}

void nvdp__inverter_release(struct nvdp__inverter *v) {
    for (size_t k = 0; k < 2; k++) {
        nvdp__optimizer_release(&v->optimizer[k]);
        free(v->best[k]);
    }
    nvdp__params_release(&v->params);
    nvdp__arena_release(&v->arena);
    if (v->model.ctx != NULL) nvdp__pretrain_model_release(&v->model);
    nvdp_tokenizer_free(v->tokenizer);
    nvdp_dataset_free(v->known);
    nvdp_dataset_free(v->attacked);
    nvdp__batch_free(v->batch);
    nvdp__masked_release(&v->masked);
    free(v->start);
    free(v->shift);
    free(v->host);
    free(v->place);
    free(v->z);
    free(v->order);
    free(v->ordinary);
    nvdp__piece_reader_release(&v->reader);
    nvdp__row_reader_release(&v->row_reader);
}

/* The lengths are public if every sample has as many vectors as its text has tokens. */
static bool hides_length(const struct nvdp__inverter *v) {
    const struct nvdp_posteriors *set = v->attack->known.set;
    if (set->policy != NVDP_LENGTH_PUBLIC || v->rows == 1) return true;
    for (size_t i = 0; i < set->texts; i++) {
        const size_t tokens = v->known->offset[i + 1] - v->known->offset[i];
        if (nvdp__min(nvdp__rows(set, i), v->length) != tokens) return true;
    }
    return false;
}

static size_t all_rows(const struct nvdp_posteriors *set, size_t i) {
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
    return nvdp__min(all_rows(sight->corpus->set, source(sight, i)), v->rows);
}

static void carve(struct nvdp__inverter *v, size_t vectors, size_t tokens) {
    const size_t dim = v->bert.hidden_size;
    v->x = nvdp__arena_take(&v->arena, vectors * v->inputs);
    v->out = nvdp__arena_take(&v->arena, vectors * v->spread * dim);
    v->words = nvdp__arena_take(&v->arena, tokens * dim);
}

static nvdp_status list_ordinary(struct nvdp__inverter *v) {
    struct nvdp__piece_table pieces = {0};
    const size_t count = nvdp_tokenizer_size(v->tokenizer);
    NVDP_TRY(NVDP__NEW(v->attack->ctx, v->ordinary, count));
    NVDP_TRY(nvdp__pieces_create(v->attack->ctx, v->tokenizer, &pieces));
    for (size_t k = 0; k < pieces.ordinary_count; k++)
        v->ordinary[pieces.ordinary[k]] = 1;
    nvdp__pieces_release(&pieces);
    return NVDP_OK;
}

nvdp_status nvdp__inverter_reserve(struct nvdp__inverter *v) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp_context *ctx = a->ctx;
    const struct nvdp_posteriors *sets[] = {a->known.set, a->attacked.set};
    const size_t dim = v->bert.hidden_size, p = sets[0]->dim;
    /* a guess may have more tokens than any text */
    const size_t max_rows = nvdp__max(nvdp__max_rows(a), (1 + MAX_TOKENS) * (size_t)sets[0]->kappa);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sets[s]->texts; i++)
            v->rows = nvdp__max(v->rows, all_rows(sets[s], i));
    v->rows = nvdp__min(v->rows, v->length);
    v->spread = v->rows == 1 ? SPREAD : 1;
    v->inputs = p + (sets[0]->alpha != NULL);
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
    NVDP_TRY(NVDP__NEW(ctx, v->start, v->model.params.total));
    NVDP_TRY(NVDP__NEW(ctx, v->best[0], v->model.params.total));
    NVDP_TRY(NVDP__NEW(ctx, v->best[1], v->params.total));
    NVDP_TRY(NVDP__NEW(ctx, v->shift, 2 * v->inputs));
    NVDP_TRY(NVDP__NEW(ctx, v->host, vectors * v->inputs));
    NVDP_TRY(NVDP__NEW(ctx, v->place, tokens + vectors * v->spread));
    NVDP_TRY(NVDP__NEW(ctx, v->z, max_rows * (p + 1)));
    NVDP_TRY(NVDP__NEW(ctx, v->order, v->known->count));
    NVDP_TRY(nvdp__piece_reader_create(ctx, v->inputs, v->bert.vocab_size, v->known, &v->reader));
    v->scale = v->shift + v->inputs;
    v->at = v->place + tokens;
    v->log_pi = v->z + max_rows * p;
    nvdp__copy(&v->model.dev, v->model.params.total, v->model.params.value, v->start);
    NVDP_TRY(nvdp__row_reader_create(v));
    return list_ordinary(v);
}

/* --- what the model reads --- */

void nvdp__inverter_observe(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                            float *x) {
    const struct nvdp_posteriors *set = sight->corpus->set;
    const size_t p = set->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const size_t rows = nvdp__inverter_rows(v, sight, i);
    memset(x, 0, rows * v->inputs * sizeof *x);
    nvdp__observe(
        sight->corpus,
        sight->observed == NVDP__OBSERVED_PRIOR ? NVDP__OBSERVED_RELEASE : sight->observed,
        sight->seed, sight->draw, source(sight, i), prior + rows * kappa, v->z, v->log_pi);
    for (size_t r = 0; r < rows; r++) {
        float *to = x + r * v->inputs;
        double share = 0;
        for (size_t k = prior + r * kappa, last = k + kappa; k < last; k++) {
            for (size_t d = 0; d < p; d++)
                to[d] += (float)(v->z[k * p + d] / (double)kappa);
            if (prior > 0) share += exp(v->log_pi[k]);
        }
        if (prior > 0) to[p] = (float)fmax(log(share), MIN_LOG_WEIGHT);
    }
}

void nvdp__inverter_mean(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i,
                         float *mean) {
    const size_t rows = nvdp__inverter_rows(v, sight, i);
    nvdp__inverter_observe(v, sight, i, v->host);
    for (size_t d = 0; d < v->inputs; d++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += (double)v->host[r * v->inputs + d] - v->shift[d];
        mean[d] = (float)(sum * v->scale[d] / (double)nvdp__max(rows, 1));
    }
}

/* Computes the shift and scale that standardize the vectors of the texts to learn from (Welford 1962). */
static void standardize(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    double count = 0;
    memset(v->shift, 0, 2 * v->inputs * sizeof *v->shift);
    for (size_t i = 0; i < v->known->count - v->held; i++) {
        nvdp__inverter_observe(v, sight, i, v->host);
        for (size_t r = 0; r < nvdp__inverter_rows(v, sight, i); r++) {
            count++;
            for (size_t d = 0; d < v->inputs; d++) {
                const double off = (double)v->host[r * v->inputs + d] - v->shift[d];
                v->shift[d] += off / count;
                v->scale[d] += off * off * (1 - 1 / count);
            }
        }
    }
    for (size_t d = 0; d < v->inputs; d++)
        v->scale[d] = v->scale[d] > 0 ? sqrt(count / v->scale[d]) : 0;
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

/* Puts the rows of a sample. */
static void put_sample(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i) {
    struct nvdp__batch *batch = v->batch;
    const size_t rows = nvdp__inverter_rows(v, sight, i);
    float *x = v->host + v->vectors * v->inputs;
    nvdp__inverter_observe(v, sight, i, x);
    for (size_t k = 0; k < rows * v->inputs; k++) {
        const size_t d = k % v->inputs;
        x[k] = (float)(((double)x[k] - v->shift[d]) * v->scale[d]);
    }
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

/* Masks a uniform number of the text's tokens, at least one, or with `all` every token, and asks for them. */
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

static void put_length(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t i) {
    const size_t n = v->known->offset[i + 1] - v->known->offset[i] - SPECIALS;
    nvdp__inverter_ask(v, nvdp__inverter_put(v, sight, i, 0, NULL), (int32_t)n);
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

static nvdp_status begin(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    const struct nvdp__device *dev = &v->model.dev;
    const double rate[] = {RATE, IN_RATE};
    const struct nvdp__params *params[] = {&v->model.params, &v->params};
    nvdp__copy(dev, v->model.params.total, v->start, v->model.params.value);
    nvdp__params_normal(dev, &v->params, v->in.weight, START / sqrt((double)v->inputs),
                        sight->seed);
    nvdp__params_normal(dev, &v->params, v->in.bias, START / 2, sight->seed + 1);
    nvdp__weights_changed(dev);
    for (size_t k = 0; k < 2; k++) {
        nvdp__optimizer_release(&v->optimizer[k]);
        v->optimizer[k] = (struct nvdp__optimizer){.adamw = {.lr = rate[k],
                                                             .beta1 = .9,
                                                             .beta2 = .999,
                                                             .adam_eps = 1e-8,
                                                             .weight_decay = .01,
                                                             .clip_norm = 1}};
        NVDP_TRY(nvdp__optimizer_create(v->attack->ctx, params[k], &v->optimizer[k]));
    }
    standardize(v, sight);
    NVDP_TRY(nvdp__piece_reader_fit(v, sight));
    return nvdp__row_reader_fit(v, sight);
}

size_t nvdp__inverter_steps(const struct nvdp__inverter *v) {
    const size_t given = v->attack->options->steps;
    const size_t each = (v->known->count - v->held + BATCH - 1) / BATCH;
    return given > 0 ? given : nvdp__max(EPOCHS * each, MIN_STEPS);
}

/* Keeps the weights if they fit held-out texts best so far. */
static nvdp_status check(struct nvdp__inverter *v, const struct nvdp__sight *sight, double *best) {
    double found;
    NVDP_TRY(held_out(v, sight, &found));
    if (!(found < *best)) return NVDP_OK;
    *best = found;
    nvdp__copy(&v->model.dev, v->model.params.total, v->model.params.value, v->best[0]);
    nvdp__copy(&v->model.dev, v->params.total, v->params.value, v->best[1]);
    return NVDP_OK;
}

nvdp_status nvdp__inverter_train(struct nvdp__inverter *v, enum nvdp__observed observed,
                                 size_t *done, struct nvdp__meter *meter) {
    struct nvdp__text_attack *a = v->attack;
    struct nvdp__sight sight = {&a->known, observed, a->options->seed, 0};
    const size_t texts = v->known->count - v->held, steps = nvdp__inverter_steps(v);
    const struct nvdp__noise noise = {.seed = a->options->seed};
    /* texts that are read only a few times need no dropout */
    const float dropout = steps * BATCH > EPOCHS * texts ? DROPOUT : 0;
    struct nvdp__pass pass = {.training = true,
                              .hidden_dropout = dropout,
                              .attention_dropout = dropout,
                              .seed = a->options->seed};
    double best = INFINITY, loss;
    size_t next = texts;
    uint32_t epoch = 0;
    NVDP_TRY(begin(v, &sight));
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
            if (v->guess_length && k % LENGTHS == 0) put_length(v, &sight, i);
        }
        NVDP_TRY(step(v, &pass, nvdp__lr_factor(pass.step, steps, .1), &loss));
        if ((pass.step + 1) * CHECKS / steps > pass.step * CHECKS / steps) {
            struct nvdp__sight held = sight;
            held.draw = 0;
            NVDP_TRY(check(v, &held, &best));
        }
        ++*done;
        nvdp__meter_update(meter, *done, (double)*done, "step", loss);
        NVDP_TRY(nvdp__check_cancelled(a->ctx, "attack: cancelled"));
    }
    nvdp__copy(&v->model.dev, v->model.params.total, v->best[0], v->model.params.value);
    nvdp__copy(&v->model.dev, v->params.total, v->best[1], v->params.value);
    nvdp__weights_changed(&v->model.dev);
    return NVDP_OK;
}
