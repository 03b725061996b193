/* The tokenizer: creation, queries, and encoding of texts by WordPiece or byte-level BPE. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SPECIALS = 4 }; /* <s> a </s></s> b </s> */

const char *const nvdp__special_keys[NVDP__SPECIALS] = {"pad_token", "unk_token", "cls_token",
                                                        "sep_token", "mask_token"};

/* ---- creation ---- */

nvdp_status nvdp__tokenizer_specials(struct nvdp_context *ctx, const char *path,
                                     const char *const special[NVDP__SPECIALS],
                                     struct nvdp_tokenizer *tokenizer) {
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        struct nvdp__field name = {special[i], strlen(special[i])};
        size_t id = nvdp__strings_find(&tokenizer->pieces, name.text, name.size);
        if (id == SIZE_MAX)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT, "%s: %s: expected %s among the %zu pieces, found none", path,
                nvdp__special_keys[i], nvdp__quote_field(name).text, tokenizer->pieces.count);
        tokenizer->special[i] = (int32_t)id;
    }
    return NVDP_OK;
}

nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__digest digest; /* of everything that affects the encoding of a text */
    struct nvdp_tokenizer *tokenizer = nvdp__calloc(ctx, 1, sizeof *tokenizer);
    if (tokenizer == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__vocabulary_parse(ctx, path, bytes, count, &tokenizer->pieces));
    nvdp__digest_begin(&digest);
    nvdp__digest_bytes(&digest, bytes, count);
    NVDP_TRY(nvdp__tokenizer_specials(ctx, path, special, tokenizer));
    for (int i = 0; i < NVDP__SPECIALS; i++)
        nvdp__digest_number(&digest, (uint64_t)tokenizer->special[i]);
    nvdp__digest_number(&digest, normalization->lower_case);
    nvdp__digest_number(&digest, normalization->strip_accents);
    nvdp__digest_number(&digest, normalization->chinese_characters);
    nvdp__digest_end(&digest, tokenizer->digest);
    tokenizer->rules = nvdp__word_rules(normalization);
    tokenizer->longest_word = NVDP__WORD_CHARACTERS;
    NVDP__HAND_OVER(out, tokenizer);
cleanup:
    nvdp_tokenizer_free(tokenizer);
    return status;
}

void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer) {
    if (tokenizer == NULL) return;
    nvdp__strings_release(&tokenizer->pieces);
    nvdp__bpe_free(tokenizer->bpe);
    free(tokenizer);
}

/* ---- queries ---- */

size_t nvdp_tokenizer_size(const struct nvdp_tokenizer *tokenizer) {
    return tokenizer->pieces.count;
}

const char *nvdp_tokenizer_piece(const struct nvdp_tokenizer *tokenizer, int32_t id) {
    if (id < 0 || (size_t)id >= tokenizer->pieces.count) return NULL;
    return tokenizer->pieces.text + tokenizer->pieces.start[id];
}

int32_t nvdp_tokenizer_find(const struct nvdp_tokenizer *tokenizer, const char *piece) {
    size_t id = nvdp__strings_find(&tokenizer->pieces, piece, strlen(piece));
    return id != SIZE_MAX ? (int32_t)id : -1;
}

int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which) {
    return (unsigned)which < NVDP__SPECIALS ? tokenizer->special[which] : -1;
}

size_t nvdp_tokenizer_specials(const struct nvdp_tokenizer *tokenizer, bool pair) {
    return pair ? (tokenizer->bpe != NULL ? 4 : 3) : 2;
}

/* ---- encoding ---- */

/* Greedy longest match (Wu et al. 2016, as published with BERT): from the start of the word,
 * then after each piece with "##" before the rest. A piece is valid UTF-8, so a match always
 * ends between characters. All prefix hashes take one pass. */
size_t nvdp__wordpiece(const struct nvdp_tokenizer *tokenizer, const char *word, size_t size,
                       int32_t *ids) {
    const struct nvdp__strings *pieces = &tokenizer->pieces;
    uint64_t hash[NVDP__WORD_BYTES + 1];
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        const char *rest = word + at;
        size_t length = nvdp__min(size - at, pieces->longest);
        size_t id = SIZE_MAX;
        hash[0] = NVDP__HASH_EMPTY;
        if (at > 0) hash[0] = nvdp__hash_byte(nvdp__hash_byte(hash[0], '#'), '#');
        for (size_t i = 0; i < length; i++)
            hash[i + 1] = nvdp__hash_byte(hash[i], rest[i]);
        for (; length > 0; length--) {
            id = nvdp__strings_lookup(pieces, hash[length], at > 0, rest, length);
            if (id != SIZE_MAX) break;
        }
        if (length == 0) {
            ids[0] = tokenizer->special[NVDP_TOKEN_UNK];
            return 1;
        }
        ids[count++] = (int32_t)id;
        at += length;
    }
    return count;
}

static nvdp_status reserve_ids(struct nvdp__encoder *encoder, size_t more) {
    return nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity, encoder->count + more,
                         sizeof *encoder->ids);
}

/* Adds the first `max` ids of one text (more may follow the end). */
static nvdp_status take_text(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t max) {
    size_t limit = encoder->count + max;
    if (encoder->tokenizer->bpe != NULL) {
        NVDP_RETURN_IF_FAILED(nvdp__bpe_encode(encoder, text, size, limit));
        if (encoder->count > limit) encoder->count = limit;
        return NVDP_OK;
    }
    struct nvdp__words *words = &encoder->words;
    const struct nvdp__word *word = &words->word;
    words->rules = &encoder->tokenizer->rules;
    words->ctx = encoder->ctx;
    nvdp__words_begin(words, text, size);
    while (encoder->count < limit) {
        bool found;
        NVDP_RETURN_IF_FAILED(nvdp__words_next(words, &found));
        if (!found) break;
        NVDP_RETURN_IF_FAILED(reserve_ids(encoder, NVDP__WORD_CHARACTERS));
        int32_t *end = encoder->ids + encoder->count;
        if (word->characters <= encoder->tokenizer->longest_word) {
            encoder->count += nvdp__wordpiece(encoder->tokenizer, word->bytes, word->size, end);
        } else {
            *end = encoder->tokenizer->special[NVDP_TOKEN_UNK];
            encoder->count++;
        }
    }
    if (encoder->count > limit) encoder->count = limit;
    return NVDP_OK;
}

void nvdp__shorten(size_t limit, size_t *a, size_t *b) {
    if (*a + *b <= limit) return;
    size_t middle = limit / 2;
    if (*b <= middle) {
        *a = limit - *b;
    } else if (*a <= limit - middle) {
        *b = limit - *a;
    } else { /* both are longer than half; the second gives way */
        *a = limit - middle;
        *b = middle;
    }
}

nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length) {
    const struct nvdp_tokenizer *tokenizer = encoder->tokenizer;
    const int32_t *special = tokenizer->special;
    size_t specials = nvdp_tokenizer_specials(tokenizer, pair != NULL);
    size_t limit = max_length - specials;
    /* One token too many shows that a text is too long; the ones after it do not matter. */
    size_t max = limit + 1;
    encoder->count = 0;
    NVDP_RETURN_IF_FAILED(reserve_ids(encoder, 1));
    encoder->ids[encoder->count++] = special[NVDP_TOKEN_CLS];
    NVDP_RETURN_IF_FAILED(take_text(encoder, text, text_size, max));
    size_t middle = encoder->count;
    if (pair != NULL) NVDP_RETURN_IF_FAILED(take_text(encoder, pair, pair_size, max));
    size_t a = middle - 1;
    size_t b = encoder->count - middle;
    encoder->truncated = a + b > limit;
    nvdp__shorten(limit, &a, &b);
    NVDP_RETURN_IF_FAILED(reserve_ids(encoder, MAX_SPECIALS));
    int32_t *ids = encoder->ids + 1 + a;
    size_t between = pair != NULL ? specials - 2 : 1; /* [SEP]s after the first text */
    if (pair != NULL) {
        memmove(ids + between, encoder->ids + middle, b * sizeof *ids);
        ids[between + b] = special[NVDP_TOKEN_SEP];
    }
    for (size_t i = 0; i < between; i++)
        ids[i] = special[NVDP_TOKEN_SEP];
    encoder->count = specials + a + b;
    /* RoBERTa distinguishes the two texts only by separators. */
    encoder->first = tokenizer->bpe != NULL ? encoder->count : 1 + a + between;
    return NVDP_OK;
}

void nvdp__encoder_release(struct nvdp__encoder *encoder) {
    free(encoder->ids);
    nvdp__words_release(&encoder->words);
    nvdp__bpe_work_release(&encoder->bpe);
    *encoder = (struct nvdp__encoder){0};
}

nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens) {
    size_t specials = nvdp_tokenizer_specials(tokenizer, pair != NULL);
    if (text == NULL || max_length < specials || max_length > PTRDIFF_MAX) return NVDP_ERR_ARGUMENT;
    nvdp_status status = NVDP_OK;
    struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    NVDP_TRY(nvdp__encode(&encoder, text, text_size, pair, pair_size, max_length));
    size_t capacity = tokens->capacity; /* of both arrays, in case the second one fails to grow */
    NVDP_TRY(nvdp__reserve(NULL, &tokens->ids, &capacity, encoder.count, sizeof *tokens->ids));
    NVDP_TRY(nvdp__reserve(NULL, &tokens->types, &tokens->capacity, encoder.count,
                           sizeof *tokens->types));
    tokens->count = encoder.count;
    memcpy(tokens->ids, encoder.ids, encoder.count * sizeof *tokens->ids);
    for (size_t i = 0; i < encoder.count; i++) {
        tokens->types[i] = i >= encoder.first;
    }
cleanup:
    nvdp__encoder_release(&encoder);
    return status;
}

void nvdp_tokens_free(struct nvdp_tokens *tokens) {
    free(tokens->ids);
    free(tokens->types);
    *tokens = (struct nvdp_tokens){0};
}
