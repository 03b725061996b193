/* Byte-level byte-pair encoding (tokenizer.h): splitting into words, reading merges, merging, and
 * encoding of texts. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { NO_SYMBOL = -1, NO_PIECE = -1 };

/* ---- words ---- */

enum rune_kind { SPACE, LETTER, NUMBER, OTHER };

/* Returns the kind of a character of Unicode 15.1 and 16, which utf8proc may lack. */
static enum rune_kind newer_kind(int32_t rune) {
    static const struct {
        int32_t first, last;
        enum rune_kind kind;
    } rows[] = {
        {0x1C89, 0x1C8A, LETTER},   {0xA7CB, 0xA7CD, LETTER},   {0xA7DA, 0xA7DC, LETTER},
        {0x105C0, 0x105F3, LETTER}, {0x10D40, 0x10D49, NUMBER}, {0x10D4A, 0x10D65, LETTER},
        {0x10D6F, 0x10D85, LETTER}, {0x10EC2, 0x10EC4, LETTER}, {0x11380, 0x113B7, LETTER},
        {0x113D1, 0x113D1, LETTER}, {0x113D3, 0x113D3, LETTER}, {0x116D0, 0x116E3, NUMBER},
        {0x11BC0, 0x11BE0, LETTER}, {0x11BF0, 0x11BF9, NUMBER}, {0x13460, 0x143FA, LETTER},
        {0x16100, 0x1611D, LETTER}, {0x16130, 0x16139, NUMBER}, {0x16D40, 0x16D6C, LETTER},
        {0x16D70, 0x16D79, NUMBER}, {0x18CFF, 0x18CFF, LETTER}, {0x1CCF0, 0x1CCF9, NUMBER},
        {0x1E5D0, 0x1E5F0, LETTER}, {0x1E5F1, 0x1E5FA, NUMBER}, {0x2EBF0, 0x2EE5D, LETTER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rune >= rows[i].first; i++)
        if (rune <= rows[i].last) return rows[i].kind;
    return OTHER;
}

/* Returns the kind of the character at the start of text[0..size), size > 0; sets its number of bytes. Invalid UTF-8
 * counts as U+FFFD, which is OTHER. */
static enum rune_kind kind_at(const char *text, size_t size, size_t *bytes) {
    int32_t rune = (unsigned char)*text;
    *bytes = 1;
    if (rune < 0x80) {
        int32_t lower = rune | 0x20;
        if (lower >= 'a' && lower <= 'z') return LETTER;
        if (rune >= '0' && rune <= '9') return NUMBER;
        return rune == ' ' || (rune >= '\t' && rune <= '\r') ? SPACE : OTHER;
    }
    rune = nvdp__decode(text, size, bytes);
    if (rune < 0) return OTHER;
    if (nvdp__has_category(rune, NVDP__LETTERS)) return LETTER;
    if (nvdp__has_category(rune, NVDP__IN(ND) | NVDP__IN(NL) | NVDP__IN(NO))) return NUMBER;
    return nvdp__is_white_space(rune) ? SPACE : newer_kind(rune);
}

/* Returns the end of the characters of this kind from `at` on; *last is the start of the last character. */
static size_t run_end(const char *text, size_t size, size_t at, enum rune_kind kind, size_t *last) {
    while (at < size) {
        size_t bytes;
        if (kind_at(text + at, size - at, &bytes) != kind) break;
        *last = at;
        at += bytes;
    }
    return at;
}

/* Returns the number of bytes of 's|'t|'re|'ve|'m|'ll|'d at the start; 0 if there is no contraction. */
static size_t contraction(const char *text, size_t size) {
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (*text != '\'') return 0;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(endings[i]);
        if (size > length && memcmp(text + 1, endings[i], length) == 0) return 1 + length;
    }
    return 0;
}

size_t nvdp__bpe_word(const char *text, size_t size) {
    size_t end = contraction(text, size);
    if (end > 0) return end;
    size_t bytes, last = 0;
    enum rune_kind kind = kind_at(text, size, &bytes);
    if (kind != SPACE) return run_end(text, size, bytes, kind, &last);
    if (*text == ' ' && size > 1) { /* one space before a word belongs to the word */
        kind = kind_at(text + 1, size - 1, &bytes);
        if (kind != SPACE) return run_end(text, size, 1 + bytes, kind, &last);
    }
    /* takes all spaces at the end of a text; before a word, all but the last space, or a single space */
    end = run_end(text, size, 0, SPACE, &last);
    return end == size || last == 0 ? end : last;
}

/* ---- creation ---- */

/* Writes the character that represents a byte in files, as UTF-8; returns the number of its bytes. */
static size_t byte_name(int byte, char name[4]) {
    int32_t rune = 0x100;
    for (int b = 0; b <= byte; b++) {
        bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
        if (b < byte)
            rune += !itself;
        else if (itself)
            rune = b;
    }
    return (size_t)utf8proc_encode_char(rune, (utf8proc_uint8_t *)name);
}

struct key {
    int32_t left, right;
};

/* A line of merges.txt, for messages. */
struct location {
    struct nvdp_context *ctx;
    const char *path;
    size_t line;
};

static nvdp_status find_piece(const struct location *location, const struct nvdp__strings *pieces,
                              struct nvdp__field name, int32_t *id) {
    size_t found = nvdp__strings_find(pieces, name.text, name.size);
    if (found == SIZE_MAX)
        return nvdp__fail(location->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected pieces of the vocabulary, found %s", location->path,
                          location->line, nvdp__quote_field(name).text);
    *id = (int32_t)found;
    return NVDP_OK;
}

/* Adds a merge; `joined` has room for the line. */
static nvdp_status add_merge(const struct location *location, const struct nvdp__strings *pieces,
                             struct nvdp__field line, char *joined, struct nvdp__bpe *bpe) {
    const char *space = memchr(line.text, ' ', line.size);
    size_t left = space != NULL ? (size_t)(space - line.text) : 0;
    size_t right = space != NULL ? line.size - left - 1 : 0;
    if (left == 0 || right == 0 || memchr(space + 1, ' ', right) != NULL)
        return nvdp__fail(location->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected two pieces with a space between them, found %s",
                          location->path, location->line, nvdp__quote_field(line).text);
    struct key key;
    int32_t merged = NO_PIECE;
    size_t rank;
    memcpy(joined, line.text, left);
    memcpy(joined + left, space + 1, right);
    struct nvdp__field a = {line.text, left}, b = {space + 1, right}, ab = {joined, left + right};
    NVDP_TRY(find_piece(location, pieces, a, &key.left));
    NVDP_TRY(find_piece(location, pieces, b, &key.right));
    NVDP_TRY(find_piece(location, pieces, ab, &merged));
    size_t count = bpe->merges.count;
    NVDP_TRY(nvdp__strings_add(&bpe->merges, (const char *)&key, sizeof key, &rank));
    if (rank < count)
        return nvdp__fail(location->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected another pair, found %s, which is merge %zu already",
                          location->path, location->line, nvdp__quote_field(line).text, rank + 1);
    bpe->merged[rank] = merged;
    return NVDP_OK;
}

static void free_bpe(void *model) {
    struct nvdp__bpe *bpe = model;
    if (bpe == NULL) return;
    nvdp__strings_release(&bpe->merges);
    free(bpe->merged);
    free(bpe);
}
NVDP__AUTOPTR(struct nvdp__bpe, free_bpe)

nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out) {
    static const char version[] = "#version";
    nvdp__autoptr(free_bpe) struct nvdp__bpe *bpe = NULL;
    nvdp__autofree char *joined = NULL;
    struct location location = {.ctx = ctx, .path = path};
    size_t lines = 1;
    NVDP_TRY(NVDP__NEW(ctx, bpe, 1));
    bpe->merges.ctx = ctx;
    for (int byte = 0; byte < NVDP__BYTE_VALUES; byte++) {
        char name[4];
        size_t size = byte_name(byte, name);
        size_t id = nvdp__strings_find(pieces, name, size);
        /* UTF-8 never has these bytes, and published vocabularies lack them */
        const bool unused = byte == 0xC0 || byte == 0xC1 || byte >= 0xF5;
        if (id == SIZE_MAX && !unused)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected a piece for every byte, found none for 0x%02x: '%.*s'",
                              vocabulary, byte, (int)size, name);
        bpe->byte[byte] = id == SIZE_MAX ? NO_PIECE : (int32_t)id;
    }
    for (size_t i = 0; i < count; i++)
        lines += bytes[i] == '\n';
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(joined, count + 1), NVDP__ITEMS(bpe->merged, lines)));
    for (struct nvdp__field rest = {bytes, count}; rest.size > 0;) {
        struct nvdp__field line = nvdp__take_part(&rest, '\n');
        if (line.size > 0 && line.text[line.size - 1] == '\r') line.size--;
        bool head = ++location.line == 1 && line.size >= sizeof version - 1 &&
                    memcmp(line.text, version, sizeof version - 1) == 0;
        if (!head) NVDP_TRY(add_merge(&location, pieces, line, joined, bpe));
    }
    return NVDP__HAND_OVER(out, bpe);
}

/* ---- merging ---- */

struct nvdp__bpe_symbol {
    int32_t id; /* NO_PIECE if merged into the previous symbol */
    int32_t before, behind;
};
/* Splits the bytes of a word into symbols; returns the number of symbols. */
static size_t split_symbols(const struct nvdp__bpe *bpe, const char *word, size_t size,
                            struct nvdp__bpe_symbol *symbol) {
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        size_t bytes = 1;
        const char *from = word + at;
        bool sound = (unsigned char)*from < 0x80 || nvdp__decode(from, size - at, &bytes) >= 0;
        at += bytes;
        if (!sound) {
            from = replacement;
            bytes = sizeof replacement - 1;
        }
        for (size_t i = 0; i < bytes; i++, count++)
            symbol[count] = (struct nvdp__bpe_symbol){bpe->byte[(unsigned char)from[i]],
                                                      (int32_t)count - 1, (int32_t)count + 1};
    }
    symbol[count - 1].behind = NO_SYMBOL;
    return count;
}

/* Adds the pair of two symbols to the heap if there is a merge for it. Another merge may make a pair outdated. Pairs
 * are ordered by the rank of the merge, then by position. */
static void offer(const struct nvdp__bpe *bpe, struct nvdp__bpe_work *work, int32_t at,
                  size_t *heaped) {
    const struct key key = {work->symbol[at].id, work->symbol[work->symbol[at].behind].id};
    const size_t rank = nvdp__strings_find(&bpe->merges, (const char *)&key, sizeof key);
    const struct nvdp__heap_item item = {.first = (uint64_t)rank << 32 | (uint32_t)at,
                                         .second = (uint64_t)(uint32_t)key.left << 32 |
                                                   (uint32_t)key.right};
    if (rank != SIZE_MAX) nvdp__heap_push(work->heap, heaped, item);
}

/* Merges work->symbol[0..count). Every merge removes a symbol and adds at most two pairs, so the heap holds at most
 * 3 entries per symbol; O(n log n). */
static void merge(const struct nvdp__bpe *bpe, struct nvdp__bpe_work *work, size_t count) {
    struct nvdp__bpe_symbol *symbol = work->symbol;
    size_t heaped = 0;
    for (size_t i = 0; i + 1 < count; i++)
        offer(bpe, work, (int32_t)i, &heaped);
    while (heaped > 0) {
        const struct nvdp__heap_item best = nvdp__heap_pop(work->heap, &heaped);
        const int32_t at = (int32_t)best.first;
        struct nvdp__bpe_symbol *left = &symbol[at];
        if (left->id != (int32_t)(best.second >> 32) || left->behind == NO_SYMBOL ||
            symbol[left->behind].id != (int32_t)best.second)
            continue;
        struct nvdp__bpe_symbol *right = &symbol[left->behind];
        left->id = bpe->merged[best.first >> 32];
        left->behind = right->behind;
        right->id = NO_PIECE;
        if (left->behind != NO_SYMBOL) {
            symbol[left->behind].before = at;
            offer(bpe, work, at, &heaped);
        }
        if (left->before != NO_SYMBOL) offer(bpe, work, left->before, &heaped);
    }
}

/* ---- texts ---- */

static nvdp_status encode(struct nvdp__encoder *encoder, const char *text, size_t size,
                          size_t limit) {
    const struct nvdp__bpe *bpe = encoder->tokenizer->model;
    struct nvdp__bpe_work *work = &encoder->bpe;
    if (encoder->tokenizer->prefix_space && *text != ' ') {
        NVDP_TRY(
            nvdp__reserve(encoder->ctx, &encoder->spaced, &encoder->spaced_capacity, size + 1, 1));
        encoder->spaced[0] = ' ';
        memcpy(encoder->spaced + 1, text, size++);
        text = encoder->spaced;
    }
    for (size_t at = 0, word; at < size && encoder->count < limit; at += word) {
        word = nvdp__bpe_word(text + at, size - at);
        const size_t max_symbols = 3 * word; /* reached if no byte is valid UTF-8 */
        if (word > INT32_MAX / 3)
            return nvdp__fail(encoder->ctx, NVDP_ERR_UNSUPPORTED, "a word of %zu bytes", word);
        NVDP_TRY(nvdp__reserve(encoder->ctx, &work->symbol, &work->symbol_capacity, max_symbols,
                               sizeof *work->symbol));
        NVDP_TRY(nvdp__reserve(encoder->ctx, &work->heap, &work->heap_capacity, 3 * max_symbols,
                               sizeof *work->heap));
        NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity,
                               encoder->count + max_symbols, sizeof *encoder->ids));
        merge(bpe, work, split_symbols(bpe, text + at, word, work->symbol));
        for (int32_t s = 0; s != NO_SYMBOL; s = work->symbol[s].behind)
            encoder->ids[encoder->count++] = work->symbol[s].id;
    }
    return NVDP_OK;
}

static void digest(const struct nvdp_tokenizer *tokenizer, struct nvdp__digest *digest) {
    const struct nvdp__bpe *bpe = tokenizer->model;
    if (bpe->merges.count == 0) return;
    nvdp__digest_bytes(digest, bpe->merges.text, bpe->merges.start[bpe->merges.count]);
    nvdp__digest_bytes(digest, (const char *)bpe->merged, bpe->merges.count * sizeof *bpe->merged);
}

const struct nvdp__tokenizer_row nvdp__bpe_row = {.name = "byte-level BPE",
                                                  .spaced_words = true,
                                                  .encode = encode,
                                                  .digest = digest,
                                                  .free = free_bpe};
