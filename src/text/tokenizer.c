#include "text/tokenizer.h"

#include "base/file.h"
#include "base/json.h"
#include "text/quote.h"
#include <stdlib.h>
#include <string.h>

enum {
    VOCABULARY_LIMIT = 1 << 30, /* bytes */
    SINGLE_SPECIALS = 2,        /* [CLS] a [SEP] */
    PAIR_SPECIALS = 3           /* [CLS] a [SEP] b [SEP] */
};

const char *const nvdp__special_names[NVDP__SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                         "[MASK]"};
static const char *const special_keys[NVDP__SPECIALS] = {"pad_token", "unk_token", "cls_token",
                                                         "sep_token", "mask_token"};

/* ---- creation ---- */

/* Of everything that decides what a text becomes. */
static void fill_digest(struct nvdp_tokenizer *tokenizer, const char *bytes, size_t count) {
    const struct nvdp__normalization *normalization = &tokenizer->rules.normalization;
    struct nvdp__digest digest;
    nvdp__digest_begin(&digest);
    nvdp__digest_bytes(&digest, bytes, count);
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        nvdp__digest_number(&digest, (uint64_t)tokenizer->special[i]);
    }
    nvdp__digest_number(&digest, normalization->lower_case);
    nvdp__digest_number(&digest, normalization->strip_accents);
    nvdp__digest_number(&digest, normalization->chinese_characters);
    nvdp__digest_end(&digest, tokenizer->digest);
}

nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_tokenizer *tokenizer = nvdp__calloc(ctx, 1, sizeof *tokenizer);
    if (tokenizer == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__vocabulary_parse(ctx, path, bytes, count, &tokenizer->vocabulary));
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        struct nvdp__field name = {special[i], strlen(special[i])};
        tokenizer->special[i] = nvdp__vocabulary_find(tokenizer->vocabulary, name.text, name.size);
        if (tokenizer->special[i] < 0)
            NVDP_TRY(nvdp__fail(
                ctx, NVDP_ERR_INPUT, "%s: %s: expected %s among the %zu pieces, found none", path,
                special_keys[i], nvdp__quote_field(name).text, tokenizer->vocabulary->count));
    }
    tokenizer->rules = nvdp__word_rules(normalization);
    fill_digest(tokenizer, bytes, count);
    *out = tokenizer;
    tokenizer = NULL;
cleanup:
    nvdp_tokenizer_free(tokenizer);
    return status;
}

/* A special token in tokenizer_config.json: its text, or an object that has it as "content". */
static nvdp_status read_special(struct nvdp_context *ctx, const char *path, const json_t *config,
                                int which, const char **name) {
    const char *key = special_keys[which];
    const json_t *value = json_object_get(config, key);
    const char *text = nvdp__special_names[which];
    if (json_is_object(value)) {
        const json_t *content = json_object_get(value, "content");
        if (!json_is_string(content))
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected a string as its 'content'",
                              path, key);
        text = json_string_value(content);
    } else {
        NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, config, key, text, &text));
    }
    *name = text;
    return NVDP_OK;
}

/* Names point into `config` or are the defaults. */
static nvdp_status read_config(struct nvdp_context *ctx, const char *path, const json_t *config,
                               struct nvdp__normalization *normalization,
                               const char *special[NVDP__SPECIALS]) {
    NVDP_RETURN_IF_FAILED(
        nvdp__json_bool(ctx, path, config, "do_lower_case", true, &normalization->lower_case));
    /* Not given (or null), accents go with capitals. */
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, config, "strip_accents",
                                          normalization->lower_case,
                                          &normalization->strip_accents));
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, config, "tokenize_chinese_chars", true,
                                          &normalization->chinese_characters));
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        NVDP_RETURN_IF_FAILED(read_special(ctx, path, config, i, &special[i]));
    }
    return NVDP_OK;
}

nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__normalization normalization = {true, true, true};
    const char *special[NVDP__SPECIALS];
    memcpy(special, nvdp__special_names, sizeof special);
    json_t *config = NULL;
    char *bytes = NULL;
    size_t count = 0;
    char *vocabulary_path = nvdp__join(ctx, directory, "vocab.txt");
    char *config_path =
        vocabulary_path == NULL ? NULL : nvdp__join(ctx, directory, "tokenizer_config.json");
    if (config_path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (nvdp__exists(config_path)) {
        NVDP_TRY(nvdp__json_read(ctx, config_path, &config));
        NVDP_TRY(read_config(ctx, config_path, config, &normalization, special));
    }
    NVDP_TRY(nvdp__read_file(ctx, vocabulary_path, VOCABULARY_LIMIT, &bytes, &count));
    NVDP_TRY(
        nvdp__tokenizer_create(ctx, vocabulary_path, bytes, count, special, &normalization, out));
cleanup:
    free(bytes);
    json_decref(config);
    free(config_path);
    free(vocabulary_path);
    return status;
}

void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer) {
    if (tokenizer == NULL) return;
    nvdp__vocabulary_free(tokenizer->vocabulary);
    free(tokenizer);
}

/* ---- questions ---- */

size_t nvdp_tokenizer_size(const struct nvdp_tokenizer *tokenizer) {
    return tokenizer->vocabulary->count;
}

const char *nvdp_tokenizer_piece(const struct nvdp_tokenizer *tokenizer, int32_t id) {
    const struct nvdp__vocabulary *vocabulary = tokenizer->vocabulary;
    if (id < 0 || (size_t)id >= vocabulary->count) return NULL;
    return vocabulary->text + vocabulary->start[id];
}

int32_t nvdp_tokenizer_find(const struct nvdp_tokenizer *tokenizer, const char *piece) {
    return nvdp__vocabulary_find(tokenizer->vocabulary, piece, strlen(piece));
}

int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which) {
    return (unsigned)which < NVDP__SPECIALS ? tokenizer->special[which] : -1;
}

/* ---- encoding ---- */

static nvdp_status reserve_ids(struct nvdp__encoder *encoder, size_t more) {
    return nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity, encoder->count + more,
                         sizeof *encoder->ids);
}

/* The word's pieces join the ids. */
static nvdp_status take_word(struct nvdp__encoder *encoder) {
    const struct nvdp__word *word = &encoder->words.word;
    NVDP_RETURN_IF_FAILED(reserve_ids(encoder, NVDP__WORD_CHARACTERS));
    const struct nvdp_tokenizer *tokenizer = encoder->tokenizer;
    int32_t unknown = tokenizer->special[NVDP_UNK];
    int32_t *end = encoder->ids + encoder->count;
    if (word->characters > NVDP__WORD_CHARACTERS) {
        *end = unknown;
        encoder->count++;
    } else {
        encoder->count +=
            nvdp__wordpiece(tokenizer->vocabulary, unknown, word->bytes, word->size, end);
    }
    return NVDP_OK;
}

/* Adds the ids of one side, `most` of them (more may lie behind the end). */
static nvdp_status take_text(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t most) {
    size_t limit = encoder->count + most;
    struct nvdp__words *words = &encoder->words;
    words->rules = &encoder->tokenizer->rules;
    words->ctx = encoder->ctx;
    nvdp__words_begin(words, text, size);
    while (encoder->count < limit) {
        bool found;
        NVDP_RETURN_IF_FAILED(nvdp__words_next(words, &found));
        if (!found) break;
        NVDP_RETURN_IF_FAILED(take_word(encoder));
    }
    if (encoder->count > limit) encoder->count = limit;
    return NVDP_OK;
}

/* Both lengths after tokens were dropped from the longer side, one at a time, from the second on a
 * tie, until `room` are left. */
static void shorten(size_t room, size_t *a, size_t *b) {
    if (*a + *b <= room) return;
    size_t half = room / 2;
    if (*b <= half) {
        *a = room - *b;
    } else if (*a <= room - half) {
        *b = room - *a;
    } else { /* both reach the tie, where the second gives way */
        *a = room - half;
        *b = half;
    }
}

nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length) {
    const int32_t *special = encoder->tokenizer->special;
    size_t room = max_length - (pair != NULL ? PAIR_SPECIALS : SINGLE_SPECIALS);
    /* One token too many shows that a side is too long; which ones follow does not matter. */
    size_t most = room + 1;
    encoder->count = 0;
    NVDP_RETURN_IF_FAILED(reserve_ids(encoder, 1));
    encoder->ids[encoder->count++] = special[NVDP_CLS];
    NVDP_RETURN_IF_FAILED(take_text(encoder, text, text_size, most));
    size_t middle = encoder->count;
    if (pair != NULL) NVDP_RETURN_IF_FAILED(take_text(encoder, pair, pair_size, most));
    size_t a = middle - 1;
    size_t b = encoder->count - middle;
    encoder->truncated = a + b > room;
    shorten(room, &a, &b);
    NVDP_RETURN_IF_FAILED(reserve_ids(encoder, PAIR_SPECIALS));
    int32_t *ids = encoder->ids;
    encoder->first = 1 + a + 1;
    if (pair != NULL) memmove(ids + encoder->first, ids + middle, b * sizeof *ids);
    ids[1 + a] = special[NVDP_SEP];
    encoder->count = encoder->first;
    if (pair != NULL) {
        encoder->count += b + 1;
        ids[encoder->count - 1] = special[NVDP_SEP];
    }
    return NVDP_OK;
}

void nvdp__encoder_release(struct nvdp__encoder *encoder) {
    free(encoder->ids);
    nvdp__words_release(&encoder->words);
    *encoder = (struct nvdp__encoder){0};
}

/* Both arrays grow together or not at all. */
static nvdp_status reserve_tokens(struct nvdp_tokens *tokens, size_t need) {
    if (need <= tokens->capacity) return NVDP_OK;
    int32_t *ids = nvdp__calloc(NULL, need, sizeof *ids);
    int32_t *types = nvdp__calloc(NULL, need, sizeof *types);
    if (ids == NULL || types == NULL) {
        free(ids);
        free(types);
        return NVDP_ERR_MEMORY;
    }
    free(tokens->ids);
    free(tokens->types);
    tokens->ids = ids;
    tokens->types = types;
    tokens->capacity = need;
    return NVDP_OK;
}

nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens) {
    size_t specials = pair != NULL ? PAIR_SPECIALS : SINGLE_SPECIALS;
    if (text == NULL || max_length < specials || max_length > PTRDIFF_MAX) return NVDP_ERR_ARGUMENT;
    nvdp_status status = NVDP_OK;
    struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    NVDP_TRY(nvdp__encode(&encoder, text, text_size, pair, pair_size, max_length));
    NVDP_TRY(reserve_tokens(tokens, encoder.count));
    tokens->count = encoder.count;
    memcpy(tokens->ids, encoder.ids, encoder.count * sizeof *tokens->ids);
    for (size_t i = 0; i < encoder.count; i++) {
        tokens->types[i] = i >= encoder.first;
    }
cleanup:
    nvdp__encoder_release(&encoder);
    return status;
}

void nvdp_tokens_release(struct nvdp_tokens *tokens) {
    free(tokens->ids);
    free(tokens->types);
    *tokens = (struct nvdp_tokens){0};
}
