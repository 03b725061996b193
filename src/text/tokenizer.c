/* The tokenizer: creation, queries, WordPiece, and encoding of texts by the model in the tokenizer's row. */
#include "text/tokenizer.h"
#include "base/own.h"

#include <stdlib.h>
#include <string.h>

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

void nvdp__tokenizer_finish(struct nvdp_tokenizer *tokenizer) {
    const struct nvdp__strings *pieces = &tokenizer->pieces;
    const struct nvdp__normalization *rules = &tokenizer->rules.normalization;
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_bytes(&digest, pieces->text, pieces->start[pieces->count]);
    for (int i = 0; i < NVDP__SPECIALS; i++)
        nvdp__digest_number(&digest, (uint64_t)tokenizer->special[i]);
    NVDP__DIGEST_NUMBERS(&digest, rules->lower_case, rules->strip_accents,
                         rules->chinese_characters, rules->published, tokenizer->normalizer.count,
                         tokenizer->prefix_space, tokenizer->longest_word, tokenizer->separators,
                         tokenizer->types, tokenizer->names_are_text);
    if (tokenizer->words) nvdp__digest_text(&digest, "words");
    if (tokenizer->bare)
        NVDP__DIGEST_NUMBERS(&digest, (uint64_t)tokenizer->dropped, tokenizer->characters);
    for (size_t i = 0; i < tokenizer->added.count; i++) {
        const struct nvdp__added_token *token = &tokenizer->added.token[i];
        nvdp__digest_bytes(&digest, token->name, token->size);
        NVDP__DIGEST_NUMBERS(&digest, (uint64_t)token->id,
                             (uint64_t)(token->special + 2 * token->normalized +
                                        4 * token->single_word + 8 * token->left_spaces +
                                        16 * token->right_spaces));
    }
    if (tokenizer->row->digest != NULL) tokenizer->row->digest(tokenizer, &digest);
    nvdp__digest_end(&digest, tokenizer->digest);
}

void nvdp__tokenizer_read_names_as_text(struct nvdp_tokenizer *tokenizer) {
    tokenizer->names_are_text = true;
    nvdp__tokenizer_finish(tokenizer);
}

/* Refuses added tokens that are not special and steps that change the text first, because both may reach over words. */
nvdp_status nvdp__tokenizer_read_words(struct nvdp_context *ctx, const char *directory,
                                       struct nvdp_tokenizer *tokenizer) {
    if (!tokenizer->row->word_local)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: a certificate per word needs a WordPiece tokenizer, whose pieces of a "
            "word depend on this word alone, found %s",
            directory, tokenizer->row->name);
    if (tokenizer->normalizer.count > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: a certificate per word needs a tokenizer without a normalizer of its "
            "own, found one of %zu steps that reads the whole text",
            directory, tokenizer->normalizer.count);
    for (size_t i = 0; i < tokenizer->added.count; i++) {
        const struct nvdp__added_token *token = &tokenizer->added.token[i];
        if (token->special) continue;
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: a certificate per word needs a tokenizer without added tokens, which "
            "may reach over words, found %s",
            directory, nvdp__quote_field((struct nvdp__field){token->name, token->size}).text);
    }
    tokenizer->words = true;
    /* the form of a sigma depends on other words */
    tokenizer->rules.normalization.published = false;
    nvdp__tokenizer_read_names_as_text(tokenizer);
    return NVDP_OK;
}

nvdp_status nvdp__tokenizer_create(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, const char *const special[NVDP__SPECIALS],
                                   const struct nvdp__normalization *normalization,
                                   struct nvdp_tokenizer **out) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    NVDP_TRY(NVDP__NEW(ctx, tokenizer, 1));
    *tokenizer = (struct nvdp_tokenizer){.row = &nvdp__wordpiece_row,
                                         .rules = nvdp__word_rules(normalization),
                                         .longest_word = NVDP__USUAL_WORD_CHARACTERS,
                                         .separators = 1,
                                         .types = true,
                                         .plain = true};
    NVDP_TRY(nvdp__vocabulary_parse(ctx, path, bytes, count, &tokenizer->pieces));
    tokenizer->vocabulary = tokenizer->pieces.count;
    NVDP_TRY(nvdp__tokenizer_specials(ctx, path, special, tokenizer));
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        const struct nvdp__field name =
            nvdp__string(&tokenizer->pieces, (size_t)tokenizer->special[i]);
        const struct nvdp__added_token token = {.name = (char *)name.text,
                                                .size = name.size,
                                                .id = tokenizer->special[i],
                                                .special = true};
        NVDP_TRY(nvdp__added_put(ctx, &tokenizer->added, &token));
    }
    nvdp__tokenizer_finish(tokenizer);
    return NVDP__HAND_OVER(out, tokenizer);
}

void nvdp_tokenizer_free(struct nvdp_tokenizer *tokenizer) {
    if (tokenizer == NULL) return;
    nvdp__strings_release(&tokenizer->pieces);
    nvdp__added_release(&tokenizer->added);
    nvdp__normalizer_release(&tokenizer->normalizer);
    if (tokenizer->model != NULL) tokenizer->row->free(tokenizer->model);
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
    return *piece != '\0' && id != SIZE_MAX ? (int32_t)id : -1;
}

int32_t nvdp_tokenizer_special(const struct nvdp_tokenizer *tokenizer, enum nvdp_special which) {
    return (unsigned)which < NVDP__SPECIALS ? tokenizer->special[which] : -1;
}

size_t nvdp_tokenizer_specials(const struct nvdp_tokenizer *tokenizer, bool pair) {
    if (tokenizer->words) return pair; /* the border word */
    if (tokenizer->bare) return 0;
    return pair ? 2 + tokenizer->separators : 2;
}

/* ---- encoding ---- */

/* Finds the pieces of a word by greedy longest match (Wu et al. 2016, as published with BERT): from the start of the
 * word, then after each piece, with "##" before the rest. A piece is valid UTF-8, so a match always ends between
 * characters. All prefix hashes take one pass. */
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
            if (id < tokenizer->vocabulary) break;
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

/* Only a piece after the first begins with "##", because the basic tokenizer makes '#' a separate word. */
void nvdp__mark_words(const struct nvdp_tokenizer *tokenizer, size_t n, const int32_t *ids,
                      int32_t *mark) {
    const int32_t border = tokenizer->separators > 0 ? tokenizer->special[NVDP_TOKEN_SEP] : -1;
    for (size_t i = 0; i < n; i++) {
        const struct nvdp__field piece = nvdp__string(&tokenizer->pieces, (size_t)ids[i]);
        const bool continues = piece.size > 2 && memcmp(piece.text, "##", 2) == 0;
        mark[i] = ids[i] == border ? NVDP__WORD_BORDER
                  : continues      ? NVDP__WORD_CONTINUES
                                   : NVDP__WORD_BEGINS;
    }
}

size_t nvdp__word_end(const int32_t *mark, size_t t, size_t n) {
    size_t end = t + 1;
    while (mark[t] != NVDP__WORD_BORDER && end < n && mark[end] == NVDP__WORD_CONTINUES)
        end++;
    return end;
}

static nvdp_status add_id(struct nvdp__encoder *encoder, int32_t id) {
    return NVDP__PUSH(encoder->ctx, encoder->ids, encoder->count, encoder->capacity, id);
}

static nvdp_status take_words(struct nvdp__encoder *encoder, const char *text, size_t size,
                              size_t limit) {
    struct nvdp__words *words = &encoder->words;
    const struct nvdp__word *word = &words->word;
    words->rules = &encoder->tokenizer->rules;
    words->ctx = encoder->ctx;
    nvdp__words_begin(words, text, size);
    while (encoder->count < limit) {
        bool found;
        NVDP_TRY(nvdp__words_next(words, &found));
        if (!found) break;
        if (word->characters > encoder->tokenizer->longest_word) {
            NVDP_TRY(add_id(encoder, encoder->tokenizer->special[NVDP_TOKEN_UNK]));
            continue;
        }
        NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity,
                               encoder->count + NVDP__WORD_CHARACTERS, sizeof *encoder->ids));
        encoder->count += nvdp__wordpiece(encoder->tokenizer, word->bytes, word->size,
                                          encoder->ids + encoder->count);
    }
    return NVDP_OK;
}

const struct nvdp__tokenizer_row nvdp__wordpiece_row = {
    .name = "WordPiece", .folds = true, .word_local = true, .encode = take_words};

/* ---- texts ---- */

nvdp_status nvdp__tokenizer_normalize(struct nvdp_context *ctx,
                                      const struct nvdp_tokenizer *tokenizer, const char *text,
                                      size_t size, struct nvdp__normalized *out) {
    if (!tokenizer->row->folds)
        return nvdp__normalizer_apply(ctx, &tokenizer->normalizer, text, size, out);
    return nvdp__normalize(ctx, &tokenizer->rules.normalization, text, size, out);
}

/* Adds the ids of text[0..size) until there are `limit` or more ids. Added tokens whose names are not normalized are
 * found first; the text between them is normalized and searched for the other added tokens. */
static nvdp_status take_range(struct nvdp__encoder *encoder, bool normalized, const char *text,
                              size_t size, size_t limit) {
    const struct nvdp_tokenizer *tokenizer = encoder->tokenizer;
    const struct nvdp__added *added = &tokenizer->added;
    const bool names_are_text = encoder->names_are_text || tokenizer->names_are_text;
    const bool begins = !normalized || encoder->at_start;
    /* `start` is the beginning of the text that is not encoded yet */
    size_t start = 0, at = 0, end = 0, next = 0;
    while (encoder->count < limit && start < size) {
        const struct nvdp__added_token *token = nvdp__added_find(
            added, normalized, names_are_text, text, size, start, &at, &end, &next);
        if (token == NULL) at = size;
        const bool whole =
            /* true if the text is normalized as a whole in any case */
            tokenizer->normalizer.count > 0;
        encoder->at_start = begins && start == 0;
        if (at > start && (normalized || (added->normalized == 0 && !whole))) {
            NVDP_TRY(tokenizer->row->encode(encoder, text + start, at - start, limit));
        } else if (at > start && !whole && !tokenizer->row->folds) {
            NVDP_TRY(take_range(encoder, true, text + start, at - start, limit));
        } else if (at > start) {
            struct nvdp__normalized *made = &encoder->normalized;
            NVDP_TRY(
                nvdp__tokenizer_normalize(encoder->ctx, tokenizer, text + start, at - start, made));
            NVDP_TRY(take_range(encoder, true, made->text, made->size, limit));
        }
        if (token == NULL) break;
        NVDP_TRY(add_id(encoder, token->id));
        start = end;
        at = next;
    }
    return NVDP_OK;
}

/* Adds the first `max` ids of one text; more ids may follow the end. */
static nvdp_status take_text(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t max) {
    size_t limit = encoder->count + max;
    NVDP_TRY(take_range(encoder, false, text, size, limit));
    if (encoder->count > limit) encoder->count = limit;
    return NVDP_OK;
}

void nvdp__shorten(size_t limit, size_t *a, size_t *b) {
    if (*a + *b <= limit) return;
    const bool first_is_longer = *a > *b;
    size_t *shorter = first_is_longer ? b : a, *longer = first_is_longer ? a : b;
    *shorter = nvdp__min(*shorter, limit / 2);
    *longer = limit - *shorter;
}

/* Shortens a pair as published with BERT: the longer text loses one token at a time, the second text on a tie. An
 * odd token remains in the first text. */
static void shorten_as_published(size_t limit, size_t *a, size_t *b) {
    if (*a + *b <= limit) return;
    const size_t first = nvdp__max(limit - nvdp__min(*b, limit), (limit + 1) / 2);
    *a = nvdp__min(*a, first);
    *b = nvdp__min(*b, limit - *a);
}

/* Sets encoder->ids to [CLS], at most `max` ids of the first text, and at most `max` ids of the second text; *middle
 * is the index at which the second text begins. */
static nvdp_status take_texts(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                              const char *pair, size_t pair_size, size_t max, size_t *middle) {
    encoder->count = 0;
    NVDP_TRY(add_id(encoder, encoder->tokenizer->special[NVDP_TOKEN_CLS]));
    NVDP_TRY(take_text(encoder, text, text_size, max));
    *middle = encoder->count;
    return pair != NULL ? take_text(encoder, pair, pair_size, max) : NVDP_OK;
}

/* Encodes all words of the texts, with the border word between the texts. */
static nvdp_status encode_words(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                                const char *pair, size_t pair_size) {
    if (pair != NULL && encoder->tokenizer->separators == 0) return NVDP_ERR_UNSUPPORTED;
    encoder->count = 0;
    NVDP_TRY(take_words(encoder, text, text_size, SIZE_MAX));
    if (pair != NULL) NVDP_TRY(add_id(encoder, encoder->tokenizer->special[NVDP_TOKEN_SEP]));
    if (pair != NULL) NVDP_TRY(take_words(encoder, pair, pair_size, SIZE_MAX));
    encoder->first = encoder->count;
    encoder->truncated = false;
    return NVDP_OK;
}

/* Returns the bytes of the first `most` characters of a text. */
static size_t first_characters(const char *text, size_t size, size_t most) {
    size_t at = 0;
    if (size <= most) return size;
    while (at < size && (!nvdp__begins_character(text[at]) || most-- > 0))
        at++;
    return at;
}

/* Encodes the texts without special tokens: cuts them, then removes the tokens that texts lose. */
static nvdp_status encode_bare(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                               const char *pair, size_t pair_size, size_t max_length) {
    const size_t most = encoder->tokenizer->characters;
    size_t kept = 0;
    encoder->count = 0;
    if (most > 0 && max_length <= SIZE_MAX / most) {
        text_size = first_characters(text, text_size, most * max_length);
        if (pair != NULL) pair_size = first_characters(pair, pair_size, most * max_length);
    }
    NVDP_TRY(take_text(encoder, text, text_size, max_length + 1));
    if (pair != NULL) NVDP_TRY(take_text(encoder, pair, pair_size, max_length + 1));
    encoder->truncated = encoder->count > max_length;
    for (size_t i = 0; i < nvdp__min(encoder->count, max_length); i++)
        if (encoder->ids[i] != encoder->tokenizer->dropped) encoder->ids[kept++] = encoder->ids[i];
    encoder->count = encoder->first = kept;
    return NVDP_OK;
}

nvdp_status nvdp__encode(struct nvdp__encoder *encoder, const char *text, size_t text_size,
                         const char *pair, size_t pair_size, size_t max_length) {
    const struct nvdp_tokenizer *tokenizer = encoder->tokenizer;
    if (tokenizer->words) return encode_words(encoder, text, text_size, pair, pair_size);
    if (tokenizer->bare) return encode_bare(encoder, text, text_size, pair, pair_size, max_length);
    const int32_t *special = tokenizer->special;
    size_t specials = nvdp_tokenizer_specials(tokenizer, pair != NULL);
    size_t limit = max_length - specials, middle;
    /* Tokens after the first superfluous token do not matter, so the texts are not encoded to their ends. But if
     * both texts are too long, their lengths decide which text keeps an odd token. */
    NVDP_TRY(take_texts(encoder, text, text_size, pair, pair_size, limit + 1, &middle));
    if (limit % 2 == 1 && middle - 1 > limit && encoder->count - middle > limit)
        NVDP_TRY(take_texts(encoder, text, text_size, pair, pair_size, PTRDIFF_MAX, &middle));
    size_t a = middle - 1;
    size_t b = encoder->count - middle;
    encoder->truncated = a + b > limit;
    if (pair != NULL && tokenizer->rules.normalization.published)
        shorten_as_published(limit, &a, &b);
    else if (pair != NULL)
        nvdp__shorten(limit, &a, &b);
    else
        a = nvdp__min(a, limit);
    NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity,
                           encoder->count + specials, sizeof *encoder->ids));
    int32_t *ids = encoder->ids + 1 + a;
    /* number of [SEP]s after the first text */
    size_t between = pair != NULL ? tokenizer->separators : 1;
    if (pair != NULL) {
        memmove(ids + between, encoder->ids + middle, b * sizeof *ids);
        ids[between + b] = special[NVDP_TOKEN_SEP];
    }
    for (size_t i = 0; i < between; i++)
        ids[i] = special[NVDP_TOKEN_SEP];
    encoder->count = specials + a + b;
    encoder->first = tokenizer->types ? 1 + a + between : encoder->count;
    return NVDP_OK;
}

void nvdp__encoder_release(struct nvdp__encoder *encoder) {
    free(encoder->ids);
    free(encoder->spaced);
    free(encoder->unigram.node);
    nvdp__words_release(&encoder->words);
    nvdp__normalized_release(&encoder->normalized);
    free(encoder->bpe.symbol);
    free(encoder->bpe.heap);
    *encoder = (struct nvdp__encoder){0};
}

nvdp_status nvdp_tokenizer_encode(const struct nvdp_tokenizer *tokenizer, const char *text,
                                  size_t text_size, const char *pair, size_t pair_size,
                                  size_t max_length, struct nvdp_tokens *tokens) {
    size_t specials = nvdp_tokenizer_specials(tokenizer, pair != NULL);
    if (text == NULL || max_length < specials || max_length > PTRDIFF_MAX) return NVDP_ERR_ARGUMENT;
    nvdp__auto(nvdp__encoder_release) struct nvdp__encoder encoder = {.tokenizer = tokenizer};
    NVDP_TRY(nvdp__encode(&encoder, text, text_size, pair, pair_size, max_length));
    /* capacity of both arrays, for the case that the second array cannot grow */
    size_t capacity = tokens->capacity;
    NVDP_TRY(nvdp__reserve(NULL, &tokens->ids, &capacity, encoder.count, sizeof *tokens->ids));
    NVDP_TRY(nvdp__reserve(NULL, &tokens->types, &tokens->capacity, encoder.count,
                           sizeof *tokens->types));
    tokens->count = encoder.count;
    for (size_t i = 0; i < encoder.count; i++) {
        tokens->ids[i] = encoder.ids[i];
        tokens->types[i] = i >= encoder.first;
    }
    return NVDP_OK;
}

void nvdp_tokens_free(struct nvdp_tokens *tokens) {
    free(tokens->ids);
    free(tokens->types);
    *tokens = (struct nvdp_tokens){0};
}
