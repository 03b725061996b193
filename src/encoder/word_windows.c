/* Windows of words as an encoder, for method word: the state of a token comes from the lower layers of a transformer
 * over the token's word and r >= 0 words on either side, and from nothing else.
 *
 * The layers see each window as a separate text: the word and its neighbors, fewer at the ends of a text. Positions
 * count from the first piece of the window, and there is no [CLS]. The border of a pair of sentences is a neighbor as a
 * word is, but no window is centered on the border. A window contains only the first pieces of a neighbor (NEIGHBOR),
 * and as many pieces of the word as the positions leave room for.
 *
 * Outside training, the rows of products do not depend on each other (nvdp__rowwise_create()), so a window has the
 * same bits in every text, batch and team of threads. The guarantee per word needs this (rdp/word.h). */
#include "encoder/transformer.h"
#include "text/tokenizer.h"

#include "base/json.h"
#include <stdlib.h>
#include <string.h>

#define PREFIX "word_windows"
enum { WIDEST = 16, NEIGHBOR = 8, LONGEST_WORD = 128, TOGETHER = 2048 };

/* Returns the configuration of the transformer. */
static struct nvdp_bert_config layers_config(const struct nvdp_bert_config *config) {
    struct nvdp_bert_config made = *config;
    made.model_type = config->window_type;
    made.max_position_embeddings = config->window_positions;
    return made;
}

/* Returns the transformer, whose parameters are parameters of `bert`. */
static struct nvdp__bert window_transformer(const struct nvdp__bert *bert) {
    struct nvdp__bert made = *bert;
    made.config = layers_config(&bert->config);
    made.row = nvdp__encoder_row(made.config.model_type);
    return made;
}

/* Return the max number of pieces of a neighbor, of all neighbors of a window, and of the window's word. */
static size_t neighbor_room(const struct nvdp_bert_config *config) {
    return nvdp__min(config->window_positions / (2 * config->window + 1), NEIGHBOR);
}

static size_t neighbors_room(const struct nvdp_bert_config *config) {
    return 2 * config->window * neighbor_room(config);
}

static size_t word_room(const struct nvdp_bert_config *config) {
    return nvdp__min(config->window_positions - neighbors_room(config), LONGEST_WORD);
}

/* ---- configuration ---- */

static struct nvdp_bert_config over_words(const struct nvdp_bert_config *from,
                                          const struct nvdp__over_words *how) {
    struct nvdp_bert_config config = *from;
    config.model_type = NVDP_MODEL_WORD_WINDOWS;
    config.window = how->window;
    config.window_type = from->model_type;
    config.window_positions = from->max_position_embeddings;
    config.num_hidden_layers = nvdp__min(how->layers, from->num_hidden_layers);
    config.embedding_size = nvdp__word_width(from);
    config.max_position_embeddings = NVDP__ANY_LENGTH; /* windows have positions, texts have none */
    return config;
}

static nvdp_status read_config(struct nvdp_context *ctx, const char *path, const json_t *json,
                               struct nvdp_bert_config *config) {
    const char *type;
    int64_t window, positions;
    NVDP_TRY(nvdp__json_int_required(ctx, path, json, "window", 0, WIDEST, &window));
    NVDP_TRY(nvdp__json_int_required(ctx, path, json, "window_positions", 1, 1 << 20, &positions));
    NVDP_TRY(nvdp__json_string(ctx, path, json, "window_type", "bert", &type));
    config->window = (size_t)window;
    config->window_positions = (size_t)positions;
    config->max_position_embeddings = NVDP__ANY_LENGTH;
    if (nvdp__encoder_type(type, &config->window_type)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: 'window_type': expected a model type, found '%.100s'", path, type);
}

static int write_config(json_t *json, const struct nvdp_bert_config *config) {
    const char *type = nvdp__encoder_row(config->window_type)->names.type;
    return json_object_set_new(json, "window", json_integer((json_int_t)config->window)) |
           json_object_set_new(json, "window_positions",
                               json_integer((json_int_t)config->window_positions)) |
           json_object_set_new(json, "window_type", json_string(type));
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_bert_config *config) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->window_type);
    if (row == NULL || row->pass != &nvdp__transformer_pass)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "windows of words: expected an encoder of BERT's family, whose lower "
                          "layers can read a window alone, found %s; {word-window} 0 needs none",
                          row == NULL ? "another type" : row->title);
    if (config->window > WIDEST)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'window': expected 0 to %d, found %zu", WIDEST,
                          config->window);
    if (neighbor_room(config) == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'window': expected at most %zu words on either side for %zu positions, "
                          "found %zu",
                          (config->window_positions - 1) / 2, config->window_positions,
                          config->window);
    const struct nvdp_bert_config layers = layers_config(config);
    return row->check(ctx, &layers);
}

static size_t parameter_count(const struct nvdp_bert_config *config) {
    const struct nvdp_bert_config layers = layers_config(config);
    const size_t d = config->hidden_size, pooler = d * d + d;
    return nvdp__transformer_parameter_count(&layers) - pooler;
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    struct nvdp__bert layers = window_transformer(bert);
    const nvdp_status status = layers.row->declare(&layers, params);
    const struct nvdp_bert_config config = bert->config;
    const struct nvdp__encoder_row *row = bert->row;
    *bert = layers; /* keeps the parameters, even if declaring failed halfway */
    bert->config = config;
    bert->row = row;
    return status;
}

static void initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed) {
    const struct nvdp__bert layers = window_transformer(bert);
    layers.row->initialize(&layers, dev, params, seed);
}

/* ---- activations ---- */

/* Windows that the layers process together. */
struct together {
    struct nvdp__bert_cache cache;
    struct nvdp__batch batch;
    size_t tokens; /* room for tokens */
    /* [tokens] token of the text whose state this is; -1 for the token of a neighbor */
    int32_t *token_of;
};

/* cache->own */
struct windows {
    struct nvdp__device dev; /* device with products whose rows do not depend on each other */
    struct together fixed;   /* windows outside training */
    struct together all;     /* windows of a training batch */
    int32_t *row_of;         /* [tokens of a batch] row of the token's state; -1 if there is none */
    float *d;                /* [all.tokens, D] gradient of the states */
};

static void release_cache(struct nvdp__bert_cache *cache) {
    struct windows *w = cache->own;
    nvdp__bert_cache_release(&w->fixed.cache);
    nvdp__bert_cache_release(&w->all.cache);
    free(w->dev.rowwise);
}

static nvdp_status create_cache(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                struct nvdp__bert_cache *cache) {
    const struct nvdp__bert layers = window_transformer(bert);
    const size_t widest = nvdp__max(bert->config.hidden_size, bert->config.intermediate_size);
    struct windows *made;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    cache->own = made;
    cache->release_own = release_cache;
    made->dev = nvdp__device_cpu(ctx);
    NVDP_TRY(nvdp__rowwise_create(&made->dev, nvdp__max(widest, bert->config.embedding_size),
                                  &made->dev.rowwise));
    NVDP_TRY(nvdp__bert_cache_create(ctx, &layers, NVDP__KEEP_LAST, &made->fixed.cache));
    return cache->training
               ? nvdp__bert_cache_create(ctx, &layers, NVDP__KEEP_TRAINING, &made->all.cache)
               : NVDP_OK;
}

static void plan_together(const struct nvdp__bert *layers, const struct nvdp__device *dev,
                          size_t tokens, size_t windows, size_t longest, struct nvdp__arena *arena,
                          struct together *t) {
    nvdp__bert_plan(layers, dev, tokens, windows, longest, arena, &t->cache);
    t->tokens = tokens;
    NVDP__TAKE(arena, {&t->batch.offset, windows + 1}, {&t->batch.ids, tokens},
               {&t->batch.types, tokens}, {&t->batch.positions, tokens}, {&t->token_of, tokens});
}

static void plan(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t max_tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache) {
    struct windows *w = cache->own;
    const struct nvdp_bert_config *config = &bert->config;
    const struct nvdp__bert layers = window_transformer(bert);
    const size_t width = 2 * config->window + 1, most = width * max_tokens,
                 room = nvdp__min(neighbors_room(config) + word_room(config), most),
                 some = nvdp__min(nvdp__max(room, TOGETHER), most);
    (void)max_texts;
    (void)longest;
    NVDP__TAKE(arena, {&cache->hidden[config->num_hidden_layers], max_tokens * config->hidden_size},
               {&w->row_of, max_tokens});
    plan_together(&layers, &w->dev, some, nvdp__min(some, max_tokens), room, arena, &w->fixed);
    if (!cache->training) return;
    plan_together(&layers, dev, most, max_tokens, room, arena, &w->all);
    w->d = nvdp__arena_take(arena, nvdp__padded_rows(dev, most) * config->hidden_size);
}

/* ---- windows ---- */

/* Returns the first token of the word, or border, before the word that begins at t; returns t at the start of the
 * text. */
static size_t word_before(const struct nvdp__batch *batch, size_t t, size_t from) {
    if (t == from) return t;
    t--;
    while (t > from && batch->types[t] == NVDP__WORD_CONTINUES)
        t--;
    return t;
}

static void add_pieces(struct together *t, const struct nvdp__batch *batch, size_t from, size_t to,
                       size_t room, struct windows *center) {
    struct nvdp__batch *made = &t->batch;
    const size_t first = (size_t)made->offset[made->texts];
    for (size_t k = from; k < to; k++) {
        if (k >= from + room) {
            if (center != NULL) center->row_of[k] = -1;
            continue;
        }
        const size_t at = made->tokens++;
        made->ids[at] = batch->ids[k];
        made->types[at] = 0;
        made->positions[at] = (int32_t)(at - first);
        t->token_of[at] = center != NULL ? (int32_t)k : -1;
        if (center != NULL) center->row_of[k] = (int32_t)at;
    }
}

/* Adds the window of the word [word, end) of the text [from, to). */
static void add_window(struct windows *w, struct together *t, const struct nvdp_bert_config *config,
                       const struct nvdp__batch *batch, size_t from, size_t to, size_t word,
                       size_t end) {
    size_t start = word, neighbor = end;
    for (size_t k = 0; k < config->window; k++)
        start = word_before(batch, start, from);
    for (size_t k = start, next; k < word; k = next) {
        next = nvdp__word_end(batch->types, k, to);
        add_pieces(t, batch, k, next, neighbor_room(config), NULL);
    }
    add_pieces(t, batch, word, end, word_room(config), w);
    for (size_t k = 0; k < config->window && neighbor < to; k++) {
        const size_t next = nvdp__word_end(batch->types, neighbor, to);
        add_pieces(t, batch, neighbor, next, neighbor_room(config), NULL);
        neighbor = next;
    }
    t->batch.offset[++t->batch.texts] = (int32_t)t->batch.tokens;
    t->batch.longest =
        nvdp__max(t->batch.longest, t->batch.tokens - (size_t)t->batch.offset[t->batch.texts - 1]);
}

static void clear(struct together *t) {
    t->batch.texts = t->batch.tokens = t->batch.longest = 0;
    t->batch.offset[0] = 0;
}

/* Runs the layers over the windows so far, and writes the states of tokens [from, to) of the batch. */
static void run(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                const struct nvdp__params *params, const struct nvdp__pass *pass,
                const struct windows *w, struct together *t, size_t from, size_t to,
                float *states) {
    const struct nvdp__bert layers = window_transformer(bert);
    const size_t dim = bert->config.hidden_size;
    if (t->batch.texts > 0) nvdp__bert_forward(&layers, dev, params, &t->batch, pass, &t->cache);
    nvdp__rows_gather(dev, to - from, dim, w->row_of + from,
                      t->cache.hidden[layers.config.num_hidden_layers], states + from * dim);
}

static struct nvdp__pass window_pass(const struct nvdp__bert *bert, const struct nvdp__pass *pass) {
    struct nvdp__pass made = *pass;
    made.part.tokens *= 2 * bert->config.window + 1; /* the max number of tokens of all windows */
    return made;
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    struct windows *w = cache->own;
    const struct nvdp_bert_config *config = &bert->config;
    const struct nvdp__pass own = window_pass(bert, pass);
    struct together *t = cache->training && pass->training ? &w->all : &w->fixed;
    const struct nvdp__device *with = t == &w->all ? dev : &w->dev;
    float *states = cache->hidden[config->num_hidden_layers];
    const size_t room = neighbors_room(config) + word_room(config);
    size_t done = 0;
    clear(t);
    for (size_t b = 0; b < batch->texts; b++) {
        const size_t from = (size_t)batch->offset[b], to = (size_t)batch->offset[b + 1];
        for (size_t word = from, end; word < to; word = end) {
            end = nvdp__word_end(batch->types, word, to);
            if (batch->types[word] == NVDP__WORD_BORDER) {
                w->row_of[word] = -1;
                continue;
            }
            if (t == &w->fixed && t->batch.tokens + nvdp__min(room, t->tokens) > t->tokens) {
                run(bert, with, params, &own, w, t, done, word, states);
                clear(t);
                done = word;
            }
            add_window(w, t, config, batch, from, to, word, end);
        }
    }
    run(bert, with, params, &own, w, t, done, batch->tokens, states);
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    struct windows *w = cache->own;
    const struct nvdp__bert layers = window_transformer(bert);
    const struct nvdp__pass own = window_pass(bert, pass);
    (void)batch;
    nvdp__rows_gather(dev, w->all.batch.tokens, bert->config.hidden_size, w->all.token_of, d_last,
                      w->d);
    nvdp__bert_backward(&layers, dev, params, &w->all.batch, &own, &w->all.cache, w->d);
}

static const struct nvdp__encoder_pass windows_pass = {
    .cache = create_cache, .plan = plan, .forward = forward, .backward = backward};

const struct nvdp__encoder_row nvdp__encoder_word_windows = {
    .title = "an encoder of windows of words",
    .names = {.type = "word-windows",
              .encoder = "WordWindows",
              .classification = "WordWindowsForSequenceClassification",
              .tagging = "WordWindowsForTokenClassification",
              .prefix = PREFIX,
              .classifier = "classifier"},
    .key = {[NVDP__KEY_TYPES] = "type_vocab_size",
            [NVDP__KEY_EMBEDDING_SIZE] = "embedding_size",
            NVDP__LAYER_KEY_NAMES},
    .bottleneck = true,
    .word_local = true,
    .over_words = over_words,
    .read = read_config,
    .write = write_config,
    .check = check,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .pass = &windows_pass};
