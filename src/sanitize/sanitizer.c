/* Sanitizers: a table of vectors, the words or WordPieces of the table's rows, and a mechanism
 * over them. The file has first the tokenizing, drawing and writing of texts, then the choice of
 * sensitive tokens and the reading of tables. */
#include "encoder/safetensors.h"
#include "sanitize/sanitize.h"
#include "text/task.h"
#include "text/vectors.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "encoder/encode.h"
#include "encoder/encoder.h"
#include <stdlib.h>

void nvdp_sanitizer_free(struct nvdp_sanitizer *sanitizer) {
    if (sanitizer == NULL) return;
    nvdp_dchi_free(sanitizer->dchi);
    nvdp_vectors_free(sanitizer->vectors);
    nvdp__strings_release(&sanitizer->words);
    for (size_t i = 0; i < NVDP__PUBLIC_CHOICES; i++) {
        nvdp__public_texts_release(&sanitizer->public[i]);
        free(sanitizer->path[i]);
    }
    free(sanitizer->later[0]);
    free(sanitizer->later[1]);
    nvdp_tokenizer_free(sanitizer->own);
    free(sanitizer->sensitive);
    free(sanitizer->times);
    free(sanitizer->row);
    free(sanitizer->piece);
    free(sanitizer);
}

/* ---- description ---- */

nvdp_status nvdp_sanitizer_describe(const struct nvdp_sanitizer *sanitizer,
                                    struct nvdp_sanitizer_info *out) {
    const struct nvdp__sanitizer_options *options = &sanitizer->options;
    const enum nvdp_dchi_mechanism mechanism = nvdp__dchi_mechanism(options->mechanism);
    const bool plus = nvdp__dchi_row(mechanism)->uses_p;
    const struct nvdp_sanitizer_info info = {
        .struct_size = sizeof info,
        .mechanism = mechanism,
        .eta = options->eta,
        .p = options->p,
        .tokens = nvdp_vectors_count(sanitizer->vectors),
        .dim = nvdp_vectors_dim(sanitizer->vectors),
        .sensitive = plus ? sanitizer->sensitives : nvdp_vectors_count(sanitizer->vectors),
        .equal = sanitizer->equal,
        .equal_a = sanitizer->equal_pair[0],
        .equal_b = sanitizer->equal_pair[1],
        .pieces = sanitizer->tokenizer != NULL,
        .drops = options->oov == NVDP__OOV_DROP,
        .counting = sanitizer->dchi == NULL,
        .own_words = sanitizer->own_words,
        .table = sanitizer->table,
        .unmatched = sanitizer->unmatched,
    };
    NVDP_TRY(nvdp__can_give(NULL, out));
    return NVDP__GIVE(out, &info);
}

const struct nvdp_vectors *nvdp_sanitizer_vectors(const struct nvdp_sanitizer *sanitizer) {
    return sanitizer->vectors;
}

struct nvdp_dchi *nvdp_sanitizer_dchi(const struct nvdp_sanitizer *sanitizer) {
    return sanitizer->dchi;
}

/* ---- digests that identify a sanitizer ---- */

void nvdp__sanitizer_table_digest(const struct nvdp_sanitizer *sanitizer,
                                  char hex[NVDP__DIGEST_HEX]) {
    const size_t dim = nvdp_vectors_dim(sanitizer->vectors);
    struct nvdp__digest digest = nvdp__digest_begin();
    for (size_t x = 0; x < nvdp_vectors_count(sanitizer->vectors); x++) {
        double scratch[NVDP__ROW_WIDEST];
        nvdp__digest_text(&digest, nvdp_sanitizer_word(sanitizer, (int32_t)x));
        nvdp__digest_bytes(&digest, nvdp__row(sanitizer->vectors, x, scratch),
                           dim * sizeof(double));
    }
    nvdp__digest_end(&digest, hex);
}

void nvdp__sanitizer_sensitive_digest(const struct nvdp_sanitizer *sanitizer,
                                      char hex[NVDP__DIGEST_HEX]) {
    hex[0] = '\0';
    if (sanitizer->sensitive == NULL) return;
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_bytes(&digest, sanitizer->sensitive, nvdp_vectors_count(sanitizer->vectors));
    nvdp__digest_end(&digest, hex);
}

/* ---- words and pieces ---- */

static bool is_token(const struct nvdp_sanitizer *sanitizer, int32_t token) {
    return token >= 0 && (size_t)token < nvdp_vectors_count(sanitizer->vectors);
}

const char *nvdp_sanitizer_word(const struct nvdp_sanitizer *sanitizer, int32_t token) {
    if (token == NVDP_DCHI_UNKNOWN) return "[UNK]";
    if (!is_token(sanitizer, token)) return NULL;
    return sanitizer->tokenizer != NULL
               ? nvdp_tokenizer_piece(sanitizer->tokenizer, sanitizer->piece[token])
               : nvdp__string(&sanitizer->words, (size_t)token).text;
}

static int32_t find_word(const struct nvdp_sanitizer *sanitizer, const char *word, size_t size) {
    size_t index = nvdp__strings_find(&sanitizer->words, word, size);
    return index == SIZE_MAX ? NVDP_DCHI_UNKNOWN : (int32_t)index;
}

int32_t nvdp__sanitizer_token(const struct nvdp_sanitizer *sanitizer, int32_t id) {
    return sanitizer->tokenizer != NULL && id >= 0 &&
                   (size_t)id < nvdp_tokenizer_size(sanitizer->tokenizer)
               ? sanitizer->row[id]
               : NVDP_DCHI_UNKNOWN;
}

int32_t nvdp__sanitizer_piece(const struct nvdp_sanitizer *sanitizer, int32_t token) {
    return sanitizer->tokenizer != NULL && is_token(sanitizer, token) ? sanitizer->piece[token]
                                                                      : -1;
}

int32_t nvdp_sanitizer_find(const struct nvdp_sanitizer *sanitizer, const char *word) {
    return sanitizer->tokenizer != NULL
               ? nvdp__sanitizer_token(sanitizer, nvdp_tokenizer_find(sanitizer->tokenizer, word))
               : find_word(sanitizer, word, strlen(word));
}

/* ---- texts ---- */

static const char *const choices[] = {
    [NVDP__OF_VOCABULARY] = "{vocabulary-from}", [NVDP__OF_SENSITIVE] = "{sensitive-from}"};

nvdp_status nvdp__sanitizer_compare(struct nvdp_sanitizer *sanitizer, struct nvdp__field text,
                                    size_t row) {
    for (size_t i = 0; i < NVDP__PUBLIC_CHOICES; i++)
        NVDP_TRY(nvdp__public_texts_compare(&sanitizer->public[i], text.text, text.size, row));
    return NVDP_OK;
}

nvdp_status nvdp__sanitizer_check_public(const struct nvdp_sanitizer *sanitizer) {
    for (size_t i = 0; i < NVDP__PUBLIC_CHOICES; i++)
        NVDP_TRY(nvdp__public_texts_check(&sanitizer->public[i], choices[i]));
    return NVDP_OK;
}

void nvdp_token_list_free(struct nvdp_token_list *list) {
    free(list->token);
    *list = (struct nvdp_token_list){0};
}

static nvdp_status push(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                        int32_t token, struct nvdp_token_list *list) {
    list->unknown += token == NVDP_DCHI_UNKNOWN;
    if (token == NVDP_DCHI_UNKNOWN && sanitizer->options.oov == NVDP__OOV_DROP) return NVDP_OK;
    return NVDP__PUSH(ctx, list->token, list->count, list->capacity, token);
}

nvdp_status nvdp__sanitizer_tokenize(struct nvdp_context *ctx,
                                     const struct nvdp_sanitizer *sanitizer, const char *text,
                                     size_t size, struct nvdp_token_list *out) {
    out->count = out->unknown = 0;
    if (sanitizer->tokenizer != NULL) {
        nvdp__auto(nvdp__encoder_release) struct nvdp__encoder encoder = {
            .tokenizer = sanitizer->tokenizer, .ctx = ctx, .names_are_text = true};
        NVDP_TRY(nvdp__encode(&encoder, text, size, NULL, 0, PTRDIFF_MAX));
        for (size_t i = 1; i + 1 < encoder.count; i++)
            NVDP_TRY(push(ctx, sanitizer, sanitizer->row[encoder.ids[i]], out));
        return NVDP_OK;
    }
    nvdp__auto(nvdp__words_release) struct nvdp__words words = {.rules = &sanitizer->rules,
                                                                .ctx = ctx};
    nvdp__words_begin(&words, text, size);
    for (bool found = true;;) {
        NVDP_TRY(nvdp__words_next(&words, &found));
        if (!found) return NVDP_OK;
        NVDP_TRY(push(ctx, sanitizer,
                      words.word.characters > NVDP__WORD_CHARACTERS
                          ? NVDP_DCHI_UNKNOWN
                          : find_word(sanitizer, words.word.bytes, words.word.size),
                      out));
    }
}

nvdp_status nvdp_sanitizer_tokenize(struct nvdp_context *ctx,
                                    const struct nvdp_sanitizer *sanitizer, const char *text,
                                    size_t size, struct nvdp_token_list *out) {
    for (size_t i = 0; i < NVDP__PUBLIC_CHOICES; i++) {
        /* a copy, because other threads compare, too */
        struct nvdp__public_texts one = sanitizer->public[i];
        one.ctx = ctx;
        NVDP_TRY(nvdp__public_texts_compare(&one, text, size, 0));
        NVDP_TRY(nvdp__public_texts_check(&one, choices[i]));
    }
    return nvdp__sanitizer_tokenize(ctx, sanitizer, text, size, out);
}

nvdp_status nvdp_sanitizer_text(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                size_t n, const int32_t *token, char **out) {
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++) {
        if (!is_token(sanitizer, token[i]))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "text of tokens: token %d at position %zu: expected an id from 0 to %zu", token[i],
                i, nvdp_vectors_count(sanitizer->vectors) - 1);
        bytes += strlen(nvdp_sanitizer_word(sanitizer, token[i])) + 1;
    }
    char *text;
    NVDP_TRY(NVDP__NEW(ctx, text, bytes));
    char *at = text;
    for (size_t i = 0; i < n; i++) {
        const char *word = nvdp_sanitizer_word(sanitizer, token[i]);
        const bool tail =
            sanitizer->tokenizer != NULL && strncmp(word, "##", 2) == 0 && word[2] != 0;
        if (tail) word += 2;
        if (i > 0 && !tail) *at++ = ' ';
        at = stpcpy(at, word);
    }
    *out = text;
    return NVDP_OK;
}

/* ---- batches ---- */

nvdp_status nvdp__text_batch_add(struct nvdp_context *ctx, struct nvdp__text_batch *batch,
                                 struct nvdp__field text) {
    NVDP_TRY(
        nvdp__reserve(ctx, &batch->item, &batch->capacity, batch->texts + 1, sizeof *batch->item));
    NVDP_TRY(nvdp__reserve(ctx, &batch->offset, &batch->offset_capacity, batch->texts + 2,
                           sizeof *batch->offset));
    batch->item[batch->texts++].text = text;
    return NVDP_OK;
}

/* Records the first failure of threads that worked without a context. */
static nvdp_status recorded(struct nvdp_context *ctx, nvdp_status status) {
    return status == NVDP_OK ? NVDP_OK : nvdp__fail(ctx, status, "out of memory");
}

nvdp_status nvdp__text_batch_tokenize(struct nvdp_context *ctx,
                                      const struct nvdp_sanitizer *sanitizer,
                                      struct nvdp__text_batch *batch) {
    nvdp_status status = NVDP_OK;
#pragma omp parallel for schedule(dynamic, 64) num_threads(nvdp_context_threads(ctx))              \
    reduction(max                                                                                  \
              : status)
    for (size_t i = 0; i < batch->texts; i++) {
        struct nvdp__batch_text *item = &batch->item[i];
        nvdp_status own = nvdp__sanitizer_tokenize(NULL, sanitizer, item->text.text,
                                                   item->text.size, &item->list);
        status = own > status ? own : status;
    }
    NVDP_TRY(recorded(ctx, status));
    for (size_t i = 0; i < batch->texts; i++)
        batch->offset[i + 1] = batch->offset[i] + batch->item[i].list.count;
    NVDP_TRY(nvdp__reserve(ctx, &batch->token, &batch->token_capacity, batch->offset[batch->texts],
                           sizeof *batch->token));
    for (size_t i = 0; i < batch->texts; i++)
        if (batch->item[i].list.count > 0)
            memcpy(batch->token + batch->offset[i], batch->item[i].list.token,
                   batch->item[i].list.count * sizeof *batch->token);
    return NVDP_OK;
}

nvdp_status nvdp__text_batch_draw(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                  struct nvdp__text_batch *batch, const uint64_t *seed,
                                  uint64_t first) {
    nvdp_status status = NVDP_OK;
    NVDP_TRY(nvdp__reserve(ctx, &batch->drawn, &batch->drawn_capacity, batch->offset[batch->texts],
                           sizeof *batch->drawn));
    NVDP_TRY(nvdp_dchi_sample(ctx, sanitizer->dchi, batch->texts, batch->offset, batch->token, seed,
                              first, batch->drawn));
#pragma omp parallel for schedule(dynamic, 64) num_threads(nvdp_context_threads(ctx))              \
    reduction(max                                                                                  \
              : status)
    for (size_t i = 0; i < batch->texts; i++) {
        nvdp_status own = nvdp_sanitizer_text(NULL, sanitizer, batch->item[i].list.count,
                                              batch->drawn + batch->offset[i], &batch->item[i].out);
        status = own > status ? own : status;
    }
    return recorded(ctx, status);
}

void nvdp__text_batch_clear(struct nvdp__text_batch *batch) {
    for (size_t i = 0; i < batch->texts; i++) {
        free(batch->item[i].out);
        batch->item[i].out = NULL;
    }
    batch->texts = 0;
}

void nvdp__text_batch_release(struct nvdp__text_batch *batch) {
    nvdp__text_batch_clear(batch);
    for (size_t i = 0; i < batch->capacity; i++)
        nvdp_token_list_free(&batch->item[i].list);
    free(batch->item);
    free(batch->offset);
    free(batch->token);
    free(batch->drawn);
    *batch = (struct nvdp__text_batch){0};
}

/* ---- choice of sensitive tokens ---- */

void nvdp__sanitizer_count_tokens(struct nvdp_sanitizer *sanitizer, size_t n,
                                  const int32_t *token) {
    for (size_t i = 0; i < n && sanitizer->times != NULL; i++)
        if (is_token(sanitizer, token[i])) sanitizer->times[token[i]]++;
}

struct counted {
    uint64_t times;
    size_t token;
};

/* Chooses the sensitive tokens of Yue et al. 2021, section 4.3: the fraction w of the vocabulary
 * with the lowest counts. */
static nvdp_status choose_rare(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    const size_t count = nvdp_vectors_count(sanitizer->vectors);
    /* corrects the rounding of w V: .29 x 100 is below 29 in binary */
    const double share = sanitizer->options.sensitive * (double)count * (1 + 1e-12);
    const size_t max = share < (double)count ? (size_t)share : count;
    nvdp__autofree struct counted *order = NULL;
    if (max < 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "sensitive: expected a share that contains at least one token, found %g of %zu tokens",
            sanitizer->options.sensitive, count);
    NVDP_TRY(NVDP__NEW(ctx, order, count));
    for (size_t x = 0; x < count; x++)
        order[x] = (struct counted){sanitizer->times[x], x};
    NVDP__SORT(order, count, NVDP__UP(struct counted, times), NVDP__UP(struct counted, token));
    memset(sanitizer->sensitive, 0, count);
    for (size_t i = 0; i < max; i++)
        sanitizer->sensitive[order[i].token] = 1;
    return NVDP_OK;
}

static nvdp_status make_mechanism(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    const struct nvdp__sanitizer_options *options = &sanitizer->options;
    const size_t count = nvdp_vectors_count(sanitizer->vectors);
    sanitizer->sensitives = 0;
    for (size_t x = 0; x < count && sanitizer->sensitive != NULL; x++)
        sanitizer->sensitives += sanitizer->sensitive[x];
    return nvdp_dchi_create(ctx, sanitizer->vectors, nvdp__dchi_mechanism(options->mechanism),
                            options->eta, options->p, sanitizer->sensitive, &sanitizer->dchi);
}

/* Counts the words of a file that has one text per line. */
static nvdp_status count_corpus(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer,
                                size_t of, const char *path) {
    struct nvdp__public_texts *public = &sanitizer->public[of];
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    nvdp__auto(nvdp_token_list_free) struct nvdp_token_list list = {0};
    size_t known = 0;
    bool found;
    NVDP_TRY(nvdp__lines_open(ctx, path, &lines));
    for (;;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        if (lines.line % 1024 == 0 && nvdp_context_cancelled(ctx))
            return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "cancelled");
        NVDP_TRY(nvdp__sanitizer_tokenize(ctx, sanitizer, line.text, line.size, &list));
        nvdp__sanitizer_count_tokens(sanitizer, list.count, list.token);
        for (size_t i = 0; i < list.count && known == 0; i++)
            known += list.token[i] >= 0;
    }
    if (known == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a text that contains words of the vocabulary, found none",
                          path);
    if (sanitizer->options.public_independent) return NVDP_OK;
    NVDP_TRY(NVDP__MADE(sanitizer->path[of] = nvdp__strdup(ctx, path)));
    *public = (struct nvdp__public_texts){.ctx = ctx, .path = sanitizer->path[of]};
    return nvdp__public_texts_add_file(public, path);
}

static nvdp_status read_list(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer,
                             const char *path) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    nvdp__autofree char *word = NULL;
    size_t capacity = 0;
    bool found;
    NVDP_TRY(NVDP__NEW(ctx, sanitizer->sensitive, nvdp_vectors_count(sanitizer->vectors)));
    NVDP_TRY(nvdp__lines_open(ctx, path, &lines));
    for (;;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        const struct nvdp__field field = nvdp__trimmed(line, " \t");
        if (field.size == 0) continue;
        NVDP_TRY(nvdp__reserve(ctx, &word, &capacity, field.size + 1, 1));
        memcpy(word, field.text, field.size);
        word[field.size] = '\0';
        const int32_t token = nvdp_sanitizer_find(sanitizer, word);
        if (token < 0 && sanitizer->table > nvdp_vectors_count(sanitizer->vectors))
            continue; /* vocabulary-from excludes this word */
        if (token < 0)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s:%zu: sensitive token %s is not in the vocabulary of %zu tokens",
                              path, lines.line, nvdp__quote_field(field).text,
                              nvdp_vectors_count(sanitizer->vectors));
        sanitizer->sensitive[token] = 1;
        sanitizer->sensitives++;
    }
    if (sanitizer->sensitives == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected one token per line, found none", path);
    return make_mechanism(ctx, sanitizer);
}

/* ---- tables ---- */

/* Hashes of rows, sorted so that equal rows are adjacent. */
struct hashed {
    uint64_t hash;
    const struct nvdp_vectors *vectors;
    size_t token;
};

static int compare_vectors(const struct hashed *a, const struct hashed *b) {
    double memory[2][NVDP__ROW_WIDEST];
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    const double *left = nvdp__row(a->vectors, a->token, memory[0]);
    const double *right = nvdp__row(b->vectors, b->token, memory[1]);
    for (size_t k = 0; k < a->vectors->dim; k++)
        if (left[k] != right[k]) return left[k] < right[k] ? -1 : 1;
    return 0;
}

static int compare_rows(const void *left, const void *right) {
    const struct hashed *a = left, *b = right;
    const int order = compare_vectors(a, b);
    return order != 0 ? order : (a->token > b->token) - (a->token < b->token);
}

static nvdp_status find_equal(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    const struct nvdp_vectors *vectors = sanitizer->vectors;
    const size_t count = nvdp_vectors_count(vectors), dim = nvdp_vectors_dim(vectors);
    nvdp__autofree struct hashed *order = NULL;
    sanitizer->equal_pair[0] = sanitizer->equal_pair[1] = -1;
    NVDP_TRY(NVDP__NEW(ctx, order, count));
#pragma omp parallel for schedule(static) num_threads(nvdp__table_threads(ctx, count *dim))
    for (size_t x = 0; x < count; x++) {
        double scratch[NVDP__ROW_WIDEST];
        const double *row = nvdp__row(vectors, x, scratch);
        order[x] = (struct hashed){NVDP__HASH_EMPTY, vectors, x};
        for (size_t k = 0; k < dim; k++) {
            const double value = row[k] + 0.0; /* replaces -0 by 0 */
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            order[x].hash = (order[x].hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
            order[x].hash ^= order[x].hash >> 29;
        }
    }
    qsort(order, count, sizeof *order, compare_rows);
    for (size_t i = 0; i < count; i++) {
        const bool after = i > 0 && compare_vectors(&order[i - 1], &order[i]) == 0;
        const bool before = i + 1 < count && compare_vectors(&order[i], &order[i + 1]) == 0;
        if (before && sanitizer->equal == 0) {
            sanitizer->equal_pair[0] = (int32_t)order[i].token;
            sanitizer->equal_pair[1] = (int32_t)order[i + 1].token;
        }
        sanitizer->equal += after || before;
    }
    if (sanitizer->equal > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "word vectors: %zu of %zu tokens share their vector with another token, such as "
                  "'%s' and '%s'; no output can distinguish such tokens",
                  sanitizer->equal, count, nvdp_sanitizer_word(sanitizer, sanitizer->equal_pair[0]),
                  nvdp_sanitizer_word(sanitizer, sanitizer->equal_pair[1]));
    return NVDP_OK;
}

/* Counts the words that no text can contain, because texts are read in lower case, without
 * accents, with punctuation separated. */
static nvdp_status find_unmatched(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    nvdp__auto(nvdp__words_release) struct nvdp__words words = {.rules = &sanitizer->rules,
                                                                .ctx = ctx};
    const size_t count = sanitizer->words.count;
    const char *example = NULL;
    for (size_t x = 0; x < count; x++) {
        bool found, more = false;
        const struct nvdp__field word = nvdp__string(&sanitizer->words, x);
        nvdp__words_begin(&words, word.text, word.size);
        NVDP_TRY(nvdp__words_next(&words, &found));
        const struct nvdp__field read = {words.word.bytes, words.word.size};
        const bool same = found && words.word.characters <= NVDP__WORD_CHARACTERS &&
                          nvdp__by_field(&read, &word) == 0;
        if (same) NVDP_TRY(nvdp__words_next(&words, &more));
        if (same && !more) continue;
        if (example == NULL) example = word.text;
        sanitizer->unmatched++;
    }
    if (example != NULL)
        nvdp__log(
            ctx, NVDP_LOG_WARNING,
            "word vectors: %zu of %zu words, such as '%s', match no text but can still be drawn as "
            "output, because texts are read in lower case, without accents, and with punctuation "
            "as separate words; with {vocabulary-from} only the words of a text are drawn",
            sanitizer->unmatched, count, example);
    return NVDP_OK;
}

/* Completes a sanitizer that has everything except the mechanism. */
static nvdp_status finish(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    const struct nvdp__sanitizer_options options = sanitizer->options;
    sanitizer->options.sensitive_from = sanitizer->options.sensitive_list = NULL;
    NVDP_TRY(find_equal(ctx, sanitizer));
    if (sanitizer->tokenizer == NULL) NVDP_TRY(find_unmatched(ctx, sanitizer));
    if (!nvdp__token_row((int)options.mechanism)->uses_p) return make_mechanism(ctx, sanitizer);
    if (options.sensitive_list != NULL) return read_list(ctx, sanitizer, options.sensitive_list);
    /* true if the words were counted together with the vocabulary */
    const bool counted = sanitizer->times != NULL;
    if (!counted)
        NVDP_TRY(NVDP__NEW(ctx, sanitizer->times, nvdp_vectors_count(sanitizer->vectors)));
    if (options.sensitive_from_data && !counted) return NVDP_OK;
    if (!options.sensitive_from_data)
        NVDP_TRY(count_corpus(ctx, sanitizer, NVDP__OF_SENSITIVE, options.sensitive_from));
    return nvdp__sanitizer_choose(ctx, sanitizer);
}

static nvdp_status take_options(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer,
                                const struct nvdp__sanitizer_options *options) {
    sanitizer->options = *options;
    sanitizer->options.vectors = sanitizer->options.vocabulary_from = NULL;
    sanitizer->table = nvdp_vectors_count(sanitizer->vectors);
    if (options->vocabulary_from == NULL) return finish(ctx, sanitizer);
    NVDP_TRY(NVDP__NEW(ctx, sanitizer->times, sanitizer->table));
    sanitizer->uncounted = true;
    sanitizer->own_words =
        nvdp_task_find(NULL, options->vocabulary_from, &sanitizer->task) == NVDP_OK;
    if (!sanitizer->own_words) {
        NVDP_TRY(count_corpus(ctx, sanitizer, NVDP__OF_VOCABULARY, options->vocabulary_from));
        return nvdp__sanitizer_choose(ctx, sanitizer);
    }
    const char **const path[] = {&sanitizer->options.sensitive_from,
                                 &sanitizer->options.sensitive_list};
    for (size_t i = 0; i < 2; i++) {
        if (*path[i] == NULL) continue;
        NVDP_TRY(NVDP__MADE(*path[i] = sanitizer->later[i] = nvdp__strdup(ctx, *path[i])));
    }
    return NVDP_OK;
}

/* Keeps the counted words, in order, with their counts. */
static nvdp_status restrict_words(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    const size_t dim = nvdp_vectors_dim(sanitizer->vectors);
    nvdp__auto(nvdp__strings_release) struct nvdp__strings words = {.ctx = ctx};
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows rows = {.ctx = ctx, .dim = dim};
    struct nvdp_vectors *vectors = NULL;
    size_t count = 0, index;
    for (size_t x = 0; x < sanitizer->table; x++)
        count += sanitizer->times[x] > 0;
    if (count == 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "{vocabulary-from}: expected texts that contain words with vectors, found none");
    for (size_t x = 0; x < sanitizer->table; x++) {
        if (sanitizer->times[x] == 0) continue;
        const struct nvdp__field word = nvdp__string(&sanitizer->words, x);
        NVDP_TRY(nvdp__strings_add(&words, word.text, word.size, &index));
        NVDP_TRY(nvdp__vector_rows_copy(&rows, &sanitizer->vectors->rows, x));
        sanitizer->times[index] = sanitizer->times[x];
    }
    NVDP_TRY(nvdp__vectors_adopt(ctx, &rows, NVDP__FEW_NUMBERS, &vectors));
    nvdp_vectors_free(sanitizer->vectors);
    sanitizer->vectors = vectors;
    nvdp__strings_release(&sanitizer->words);
    return NVDP__HAND_OVER(&sanitizer->words, words);
}

nvdp_status nvdp__sanitizer_choose(struct nvdp_context *ctx, struct nvdp_sanitizer *sanitizer) {
    if (sanitizer->dchi != NULL) return NVDP_OK;
    if (sanitizer->uncounted) {
        NVDP_TRY(restrict_words(ctx, sanitizer));
        sanitizer->uncounted = false;
        if (!sanitizer->own_words || !sanitizer->options.sensitive_from_data) {
            free(sanitizer->times);
            sanitizer->times = NULL;
        }
        return finish(ctx, sanitizer);
    }
    if (sanitizer->sensitive == NULL)
        NVDP_TRY(NVDP__NEW(ctx, sanitizer->sensitive, nvdp_vectors_count(sanitizer->vectors)));
    NVDP_TRY(choose_rare(ctx, sanitizer));
    return make_mechanism(ctx, sanitizer);
}

static bool is_regular(const struct nvdp_tokenizer *tokenizer, int32_t id) {
    const char *piece = nvdp_tokenizer_piece(tokenizer, id);
    for (enum nvdp_special s = NVDP_TOKEN_PAD; s <= NVDP_TOKEN_MASK; s++)
        if (id == nvdp_tokenizer_special(tokenizer, s)) return false;
    if (*piece == '\0') return false; /* no piece has this id */
    return strncmp(piece, "[unused", 7) != 0 || piece[strlen(piece) - 1] != ']';
}

static nvdp_status of_table(struct nvdp_context *ctx, const struct nvdp__sanitizer_options *options,
                            const struct nvdp_tokenizer *tokenizer, size_t dim, const float *table,
                            struct nvdp_sanitizer *made) {
    const size_t pieces = nvdp_tokenizer_size(tokenizer);
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows rows = {.ctx = ctx, .dim = dim};
    size_t count = 0;
    made->tokenizer = tokenizer;
    if (tokenizer->row != &nvdp__wordpiece_row)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: expected an encoder with WordPieces, found one "
                          "with %s; use another model, or word vectors",
                          tokenizer->row->name);
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made->row, pieces), NVDP__ITEMS(made->piece, pieces)));
    for (size_t id = 0; id < pieces; id++) {
        const bool regular = is_regular(tokenizer, (int32_t)id);
        made->row[id] = regular ? (int32_t)count : NVDP_DCHI_UNKNOWN;
        if (regular) made->piece[count++] = (int32_t)id;
    }
    if (count == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "vocabulary: expected at least one regular token, found only %zu "
                          "special or unused tokens",
                          pieces);
    for (size_t x = 0; x < count; x++)
        NVDP_TRY(nvdp__vector_rows_add_floats(&rows, table + (size_t)made->piece[x] * dim));
    NVDP_TRY(nvdp__vectors_adopt(ctx, &rows, NVDP__FEW_NUMBERS, &made->vectors));
    return take_options(ctx, made, options);
}

nvdp_status nvdp__sanitizer_of_table(struct nvdp_context *ctx,
                                     const struct nvdp__sanitizer_options *options,
                                     const struct nvdp_tokenizer *tokenizer, size_t dim,
                                     const float *table, struct nvdp_sanitizer **out) {
    nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *made = NULL;
    NVDP_TRY(nvdp__sanitizer_check(ctx, options));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    NVDP_TRY(of_table(ctx, options, tokenizer, dim, table, made));
    return NVDP__HAND_OVER(out, made);
}

static nvdp_status of_model(struct nvdp_context *ctx, const struct nvdp__sanitizer_options *options,
                            const char *directory, struct nvdp_sanitizer *made) {
    struct nvdp_bert_config config;
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    nvdp__autofree float *table = NULL;
    char name[96];
    NVDP_TRY(nvdp__bert_config_read(ctx, directory, &config));
    NVDP_TRY(nvdp__encoder_tokenizer_load(ctx, directory, &config, &made->own));
    NVDP_TRY(nvdp__weights_open(ctx, directory, &weights));
    const struct nvdp__names *names = nvdp__names(config.model_type);
    nvdp__snprintf(name, sizeof name, "%s.%s.weight", names->prefix, nvdp__words_name(names));
    const struct nvdp__weight *found = nvdp__weights_find_tensor(weights, name);
    if (found == NULL) found = nvdp__weights_find_tensor(weights, name + strlen(names->prefix) + 1);
    if (found == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a tensor '%s', found none",
                          weights->path, name);
    const struct nvdp__tensor_info *info = &found->info;
    const size_t dim = nvdp__word_width(&config);
    if (info->rank != 2 || info->shape[0] != config.vocab_size || info->shape[1] != dim)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: tensor '%s': expected %zu x %zu numbers, found %zu of rank %d",
                          found->path, name, config.vocab_size, dim, info->count, info->rank);
    NVDP_TRY(NVDP__NEW(ctx, table, info->count));
    nvdp__weight_read_f32(found, 0, info->count, table);
    const nvdp_status status = of_table(ctx, options, made->own, dim, table, made);
    return status == NVDP_ERR_INPUT && made->vectors == NULL
               ? nvdp__fail_prefix(ctx, status, directory)
               : status;
}

nvdp_status nvdp__sanitizer_create(struct nvdp_context *ctx,
                                   const struct nvdp__sanitizer_options *options, const char *model,
                                   struct nvdp_sanitizer **out) {
    nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *made = NULL;
    NVDP_TRY(nvdp__sanitizer_check(ctx, options));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    made->rules = nvdp__word_rules(&(struct nvdp__normalization){true, true, true, false});
    if (options->vectors != NULL) {
        struct nvdp__vector_rows rows = {0};
        NVDP_TRY(nvdp__word_vectors_read(ctx, options->vectors, &made->words, &rows));
        NVDP_TRY(nvdp__vectors_adopt(ctx, &rows, NVDP__FEW_NUMBERS, &made->vectors));
        NVDP_TRY(take_options(ctx, made, options));
    } else {
        NVDP_TRY(of_model(ctx, options, model, made));
    }
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp_sanitizer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_sanitizer **out) {
    struct nvdp__sanitizer_config values;
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__sanitizer_schema, &values));
    return nvdp__sanitizer_create(ctx, &values.sanitizer, values.model, out);
}
