/* Guesses the token of each vector from all vectors of the sample, with one transformer layer (Vaswani et al. 2017, as
 * in BERT) and a softmax over the tokens of the public texts.  The layer is trained on samples of public texts, with
 * fresh noise in each epoch, and the epoch that fits held-out public texts best is kept.  The initial output is the
 * frequencies of tokens, which remains if nothing better can be learned.  If the attacked file states a label, the
 * probability of a token is multiplied by P(label | token)/P(label). */
#include "attack/texts.h"
#include "base/random.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "job/optimizer.h"

#include <math.h>
#include <stdlib.h>

enum {
    EPOCHS = 10,
    MIN_STEPS = 1000,
    BATCH = 16,
    HEADS = 4,
    WIDTH_STEP = 16,
    MAX_WIDTH = 128,
    ROWS = 256
};
static const double RATE = 3e-3;

struct layer {
    struct nvdp__text_attack *attack;
    struct nvdp__tokens known;
    size_t inputs, width; /* p, plus 1 if there are weights; width of the layer */
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert; /* its word embeddings are the output of `in` */
    struct nvdp__bert_cache cache;
    struct nvdp__dense in, out;
    struct nvdp__optimizer optimizer;
    float *best; /* the best parameters */
    struct nvdp__arena arena;
    float *x, *words, *d;              /* [tokens, inputs], [tokens, width] twice */
    float *rows, *d_rows, *logits;     /* [ROWS, width] twice, [ROWS, count] */
    struct nvdp__batch *batch;         /* a batch of at most BATCH texts */
    double *z, *log_pi;                /* of one sample */
    float *host;                       /* [tokens, inputs] */
    struct nvdp__scale scale;          /* scale of the inputs */
    int32_t *row, *label, *id, *first; /* [tokens] vectors to name, their labels; [ROWS] */
    double *nll, *score;               /* [ROWS], [count] */
    float *answer;                     /* [ROWS, count] logits on the host */
    int64_t *order;                    /* [texts] */
};

static void release(struct layer *l) {
    nvdp__optimizer_release(&l->optimizer);
    nvdp__bert_cache_release(&l->cache);
    nvdp__bert_release(&l->bert);
    nvdp__params_release(&l->params);
    nvdp__arena_release(&l->arena);
    nvdp__batch_free(l->batch);
}

/* --- the network --- */

static void carve(struct layer *l, size_t tokens, size_t longest) {
    NVDP__TAKE(&l->arena, {&l->x, tokens * l->inputs}, {&l->words, tokens * l->width},
               {&l->d, tokens * l->width}, {&l->rows, ROWS * l->width},
               {&l->d_rows, ROWS * l->width}, {&l->logits, ROWS * l->known.count});
    nvdp__bert_plan(&l->bert, &l->dev, tokens, BATCH, longest, &l->arena, &l->cache);
}

static nvdp_status reserve(struct layer *l) {
    struct nvdp__text_attack *a = l->attack;
    const size_t longest = nvdp__max_token_count(a), max_rows = nvdp__max_rows(a);
    const size_t p = a->known.set->dim, tokens = BATCH * longest;
    l->dev = nvdp__device_cpu(a->ctx);
    l->inputs = l->scale.inputs = p + (a->known.set->alpha != NULL);
    l->width = nvdp__min((p + WIDTH_STEP - 1) / WIDTH_STEP * WIDTH_STEP, MAX_WIDTH);
    NVDP_TRY(nvdp__tokens_count(a, "token", &l->known));
    struct nvdp_bert_config config = nvdp__bert_config_default();
    config.hidden_size = l->width;
    config.num_hidden_layers = 1;
    config.num_attention_heads = HEADS;
    config.intermediate_size = 4 * l->width;
    config.vocab_size = config.type_vocab_size = 1;
    config.max_position_embeddings = longest;
    nvdp__params_init(&l->params, a->ctx);
    NVDP_TRY(nvdp__declare_dense(&l->params, "input", l->width, l->inputs, 0, &l->in));
    NVDP_TRY(nvdp__bert_declare(&l->bert, &config, false, &l->params));
    NVDP_TRY(nvdp__declare_dense(&l->params, "output", l->known.count, l->width, 0, &l->out));
    NVDP_TRY(nvdp__params_allocate(&l->params, true));
    NVDP_TRY(nvdp__bert_cache_create(a->ctx, &l->bert, NVDP__KEEP_TRAINING, &l->cache));
    NVDP_TRY(nvdp__batch_create(a->ctx, BATCH, longest, &l->batch));
    carve(l, tokens, longest);
    NVDP_TRY(nvdp__arena_allocate(a->ctx, &l->arena));
    carve(l, tokens, longest);
    NVDP_TRY(nvdp__arena_check(a->ctx, &l->arena));
    return NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(l->best, l->params.total), NVDP__ITEMS(l->z, max_rows * p),
        NVDP__ITEMS(l->log_pi, max_rows), NVDP__ITEMS(l->host, tokens * l->inputs),
        NVDP__ITEMS(l->scale.shift, l->inputs), NVDP__ITEMS(l->scale.by, l->inputs),
        NVDP__ITEMS(l->row, tokens), NVDP__ITEMS(l->label, tokens), NVDP__ITEMS(l->id, tokens),
        NVDP__ITEMS(l->first, ROWS), NVDP__ITEMS(l->nll, ROWS),
        NVDP__ITEMS(l->score, l->known.count), NVDP__ITEMS(l->answer, ROWS * l->known.count),
        NVDP__ITEMS(l->order, a->known.data->count));
}

/* Sets random weights with which the output is the tokens' frequencies. */
static void initialize(struct layer *l, uint64_t seed) {
    l->bert.row->initialize(&l->bert, &l->dev, &l->params, seed);
    nvdp__params_normal(&l->dev, &l->params, l->in.weight, 1 / sqrt((double)l->inputs), seed);
    nvdp__params_fill(&l->dev, &l->params, l->in.bias, 0);
    nvdp__params_fill(&l->dev, &l->params, l->out.weight, 0);
    for (size_t k = 0; k < l->known.count; k++)
        nvdp__params_fill_part(&l->dev, &l->params, l->out.bias, k, 1,
                               (float)log(l->known.times[k]));
}

/* --- the observations --- */

/* Adds one sample of each of n texts to the batch and to l->host, unscaled.  `rows` selects the texts, or `first` the
 * first of consecutive texts. */
static void observe(struct layer *l, const struct nvdp__texts *corpus, enum nvdp__observed observed,
                    uint64_t seed, uint32_t draw, const int64_t *rows, size_t first, size_t n) {
    nvdp__batch_fill(l->batch, corpus->data, rows, first, n);
    memset(l->batch->types, 0, l->batch->tokens * sizeof *l->batch->types);
    for (size_t i = 0; i < n; i++) {
        const size_t start = (size_t)l->batch->offset[i], end = (size_t)l->batch->offset[i + 1];
        nvdp__observe_tokens(corpus, observed, seed, draw,
                             rows != NULL ? (size_t)rows[i] : first + i, end - start, l->z,
                             l->log_pi, l->host + start * l->inputs);
    }
}

/* Returns the last hidden state [tokens, width] of the observed batch. */
static const float *forward(struct layer *l, const struct nvdp__pass *pass) {
    const size_t tokens = l->batch->tokens;
    const struct nvdp__linear in = nvdp__dense_linear(&l->params, &l->in, tokens);
    nvdp__scale_apply(&l->scale, tokens, l->host);
    nvdp__upload(&l->dev, tokens * l->inputs, l->host, l->x);
    nvdp__dense_forward(&l->dev, &in, nvdp__f32(tokens, l->inputs, l->x),
                        nvdp__f32(tokens, l->width, l->words));
    l->batch->words = l->words;
    nvdp__bert_forward(&l->bert, &l->dev, &l->params, l->batch, pass, &l->cache);
    return l->cache.hidden[1];
}

/* Computes the logits of rows `index` [n <= ROWS]. */
static struct nvdp__linear head(struct layer *l, const float *hidden, size_t n,
                                const int32_t *index) {
    const struct nvdp__linear out = nvdp__dense_linear(&l->params, &l->out, n);
    nvdp__rows_gather(&l->dev, n, l->width, index, hidden, l->rows);
    nvdp__dense_forward(&l->dev, &out, nvdp__f32(n, l->width, l->rows),
                        nvdp__f32(n, l->known.count, l->logits));
    return out;
}

/* Returns the sum of -log p over the tokens of the observed public texts, and adds their number to *tokens.  In
 * training, computes the gradients of the mean in l->d and the head. */
static double loss(struct layer *l, const struct nvdp__pass *pass, double *tokens) {
    const float *hidden = forward(l, pass);
    size_t n = 0;
    double sum = 0;
    for (size_t r = 0; r < l->batch->tokens; r++) {
        const size_t place = l->known.place[l->batch->ids[r]];
        if (place == 0) continue;
        l->row[n] = (int32_t)r;
        l->label[n++] = (int32_t)(place - 1);
    }
    if (pass->training) nvdp__zero(&l->dev, l->batch->tokens * l->width, l->d);
    for (size_t at = 0; at < n; at += ROWS) {
        const size_t rows = nvdp__min(n - at, ROWS);
        const struct nvdp__linear out = head(l, hidden, rows, l->row + at);
        nvdp__softmax_loss(&l->dev, rows, l->known.count, l->logits, 1, l->label + at,
                           pass->training ? 1 / (double)n : 0, l->nll, l->first);
        for (size_t r = 0; r < rows; r++)
            sum += l->nll[r];
        if (!pass->training) continue;
        nvdp__dense_backward(&l->dev, &out, nvdp__f32(rows, l->width, l->rows),
                             nvdp__f32(rows, l->known.count, l->logits),
                             nvdp__f32(rows, l->width, l->d_rows), false);
        nvdp__rows_scatter_add(&l->dev, rows, l->width, l->row + at, l->d_rows, l->d);
    }
    *tokens += (double)n;
    return sum;
}

/* --- training --- */

static nvdp_status step(struct layer *l, const struct nvdp__pass *pass, double factor) {
    const size_t tokens = l->batch->tokens;
    double count = 0, norm;
    nvdp__grad_begin(&l->dev, &l->params);
    const double sum = loss(l, pass, &count);
    nvdp__bert_backward(&l->bert, &l->dev, &l->params, l->batch, pass, &l->cache, l->d);
    const struct nvdp__linear in = nvdp__dense_linear(&l->params, &l->in, tokens);
    nvdp__dense_backward(&l->dev, &in, nvdp__f32(tokens, l->inputs, l->x),
                         nvdp__f32(tokens, l->width, l->d), NVDP__NO_TENSOR, false);
    NVDP_TRY(nvdp__optimizer_step(&l->optimizer, &l->dev, &l->params, factor, &norm));
    return nvdp__attack_advance(l->attack, 1, sum / count);
}

/* Returns the mean -log p over held-out public texts. */
static double held_out(struct layer *l, enum nvdp__observed observed, uint64_t seed) {
    static const struct nvdp__pass pass = {.training = false};
    const size_t end = l->attack->known.data->count;
    double sum = 0, tokens = 0;
    for (size_t i = l->known.texts; i < end; i += BATCH) {
        observe(l, &l->attack->known, observed, seed, 0, NULL, i, nvdp__min(end - i, BATCH));
        sum += loss(l, &pass, &tokens);
    }
    return sum / tokens;
}

/* Returns the number of epochs: ten, or more if there are few texts. */
static size_t epoch_count(const struct layer *l, size_t *steps) {
    const size_t each = (l->known.texts + BATCH - 1) / BATCH;
    const size_t epochs = nvdp__max(EPOCHS, (MIN_STEPS + each - 1) / each);
    *steps = epochs * each;
    return epochs;
}

static nvdp_status train(struct layer *l, enum nvdp__observed observed, uint64_t seed) {
    size_t steps;
    const size_t texts = l->known.texts, epochs = epoch_count(l, &steps);
    struct nvdp__pass pass = {.training = true, .hidden_dropout = .1F, .seed = seed};
    NVDP_TRY(
        nvdp__adamw_create(l->attack->ctx, &l->params, RATE, NVDP__ATTACK_DECAY, &l->optimizer));
    nvdp__scale_begin(&l->scale);
    for (size_t i = 0; i < texts; i++) {
        observe(l, &l->attack->known, observed, seed, 0, NULL, i, 1);
        nvdp__scale_add(&l->scale, l->batch->tokens, l->host);
    }
    nvdp__scale_end(&l->scale);
    initialize(l, seed);
    double smallest = held_out(l, observed, seed);
    nvdp__copy(&l->dev, l->params.total, l->params.value, l->best);
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        nvdp__epoch_order(seed, epoch, texts, l->order);
        for (size_t i = 0; i < texts; i += BATCH, pass.step++) {
            observe(l, &l->attack->known, observed, seed, epoch + 1, l->order + i, 0,
                    nvdp__min(texts - i, BATCH));
            NVDP_TRY(step(l, &pass, nvdp__lr_factor(pass.step, steps, .1)));
        }
        const double found = held_out(l, observed, seed);
        if (!(found < smallest)) continue;
        smallest = found;
        nvdp__copy(&l->dev, l->params.total, l->params.value, l->best);
    }
    nvdp__copy(&l->dev, l->params.total, l->best, l->params.value);
    nvdp__weights_changed(&l->dev);
    return NVDP_OK;
}

/* --- the attack --- */

/* Guesses the tokens of text i and counts the result for `text`.  Without an observation, uses frequencies alone. */
static void guess(struct layer *l, enum nvdp__observed observed, uint64_t seed, size_t i,
                  size_t text, const struct nvdp__correct *hits) {
    static const struct nvdp__pass pass = {.training = false};
    const struct nvdp__texts *attacked = &l->attack->attacked;
    const struct nvdp_dataset *data = attacked->data;
    const size_t count = l->known.count;
    const bool blind = observed == NVDP__OBSERVED_PRIOR;
    const double *lift = nvdp__tokens_lift(&l->known, attacked, i);
    size_t n = 0;
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
        if (!nvdp__token_counts(l->attack, data->ids[r])) continue;
        l->row[n] = (int32_t)(r - data->offset[i]);
        l->id[n++] = data->ids[r];
    }
    if (!blind) observe(l, attacked, observed, seed, 0, NULL, i, 1);
    const float *hidden = blind ? NULL : forward(l, &pass);
    for (size_t at = 0; at < n; at += ROWS) {
        const size_t rows = nvdp__min(n - at, ROWS);
        if (!blind) {
            head(l, hidden, rows, l->row + at);
            nvdp__download(&l->dev, rows * count, l->logits, l->answer);
        }
        for (size_t r = 0; r < rows; r++) {
            for (size_t k = 0; k < count; k++)
                l->score[k] = (blind ? log(l->known.times[k]) : (double)l->answer[r * count + k]) +
                              (lift != NULL ? lift[k] : 0);
            nvdp__count_guess(&l->known, text, l->id[at + r], l->score, hits);
        }
    }
    nvdp__count_guessed_set(&l->known, l->attack, data, i, text, hits);
}

static nvdp_status attack_token(struct nvdp__text_attack *a) {
    const size_t n = a->attacked.data->count;
    size_t steps;
    nvdp__auto(release) struct layer l = {.attack = a};
    struct nvdp__correct hits;
    NVDP_TRY(reserve(&l));
    NVDP_TRY(nvdp__correct_create(a->ctx, &a->memory, a->options->seeds * n, &hits));
    epoch_count(&l, &steps);
    nvdp__attack_begin(
        a, "token", "step",
        (nvdp__draw_count(a, NVDP__OBSERVED_RELEASE) + a->options->seeds) * (steps + n) + n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds =
            observed == NVDP__OBSERVED_STATES ? a->options->seeds : nvdp__draw_count(a, observed);
        nvdp__correct_clear(a->options->seeds * n, &hits);
        for (size_t s = 0; s < seeds; s++) {
            if (observed != NVDP__OBSERVED_PRIOR)
                NVDP_TRY(train(&l, observed, a->options->seed + s));
            for (size_t i = 0; i < n; i++) {
                guess(&l, observed, a->options->seed + s, i, s * n + i, &hits);
                NVDP_TRY(nvdp__attack_advance(a, 1, NAN));
            }
        }
        NVDP_TRY(nvdp__add_hits(a, observed, seeds, &l.known, &hits));
    }
    nvdp__meter_end(&a->meter);
    return NVDP_OK;
}

const struct nvdp__attack nvdp__attack_row_token = {
    .learn = attack_token, .options = nvdp__learner_options, NVDP__LEARNER};
