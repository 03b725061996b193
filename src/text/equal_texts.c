/* Equal texts, recognized by digests. First private texts among public texts, by the digests of their words and of
 * the tokens that a model reads; then texts that repeat. */
#include "text/dataset.h"

#include "base/file.h"
#include "text/task.h"
#include "text/vocabulary.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Compares private texts with public ones by digests of their words and of the tokens that a model reads
 * (dataset.h). */

enum { KEY = 16, KEYS = 3 };

/* The digests of a text: of its words, of its tokens, and of the tokens of its words. */
struct keys {
    size_t count;
    char key[KEYS][KEY];
};

static void hash(char kind, const void *bytes, size_t size, char key[KEY]) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, KEY);
    crypto_generichash_update(&state, (const unsigned char *)&kind, 1);
    if (size > 0) crypto_generichash_update(&state, bytes, size);
    crypto_generichash_final(&state, (unsigned char *)key, KEY);
}

/* Adds the digest of the tokens that are not special; changes `ids`. */
static void add_ids(const struct nvdp_tokenizer *tokenizer, size_t n, int32_t *ids,
                    struct keys *keys) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (ids[i] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS) &&
            ids[i] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP) &&
            ids[i] != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_PAD))
            ids[kept++] = ids[i];
    hash('t', ids, kept * sizeof *ids, keys->key[keys->count++]);
}

static nvdp_status add_tokens(struct nvdp_context *ctx, const struct nvdp__public_texts *public,
                              const char *text, size_t size, size_t max_length, struct keys *keys) {
    nvdp__auto(nvdp__encoder_release) struct nvdp__encoder encoder = {
        .tokenizer = public->tokenizer, .ctx = ctx};
    NVDP_TRY(nvdp__encode(&encoder, text, size, NULL, 0, max_length));
    add_ids(public->tokenizer, encoder.count, encoder.ids, keys);
    return NVDP_OK;
}

/* Replaces punctuation by spaces, unless a text has nothing but punctuation. */
static void drop_punctuation(struct nvdp__runes *runes) {
    bool words = false;
    for (size_t i = 0; i < runes->count && !words; i++)
        words = !nvdp__is_punctuation(runes->at[i]) && !nvdp__is_white_space(runes->at[i]);
    for (size_t i = 0; i < runes->count && words; i++)
        if (nvdp__is_punctuation(runes->at[i])) runes->at[i] = ' ';
}

/* Writes the words of a text, folded, each followed by a space. */
static nvdp_status fold(struct nvdp_context *ctx, const char *text, size_t size, char **out,
                        size_t *out_size) {
    static const struct nvdp__normalization folded = {true, true, true, false};
    const struct nvdp__word_rules rules = nvdp__word_rules(&folded);
    nvdp__auto(nvdp__words_release) struct nvdp__words words = {.rules = &rules, .ctx = ctx};
    nvdp__auto(nvdp__normalized_release) struct nvdp__normalized normal = {0};
    nvdp__autofree char *made = NULL;
    size_t used = 0, capacity = 0;
    NVDP_TRY(nvdp__runes_read(ctx, text, size, &normal.run));
    NVDP_TRY(
        nvdp__normal_form(ctx, &normal.run, NVDP__COMPATIBLE | NVDP__COMPOSED, &normal.folded));
    drop_punctuation(&normal.folded);
    NVDP_TRY(nvdp__runes_write(ctx, &normal.folded, &normal));
    nvdp__words_begin(&words, normal.text, normal.size);
    for (bool found = true;;) {
        NVDP_TRY(nvdp__words_next(&words, &found));
        if (!found) break;
        NVDP_TRY(nvdp__reserve(ctx, &made, &capacity, used + words.word.size + 1, 1));
        memcpy(made + used, words.word.bytes, words.word.size);
        used += words.word.size;
        made[used++] = ' ';
    }
    *out_size = used;
    return NVDP__HAND_OVER(out, made);
}

static nvdp_status compute_keys(struct nvdp_context *ctx, const struct nvdp__public_texts *public,
                                const char *text, size_t size, size_t max_length,
                                struct keys *keys) {
    nvdp__autofree char *words = NULL;
    size_t used = 0;
    keys->count = 0;
    NVDP_TRY(fold(ctx, text, size, &words, &used));
    if (used > 0 || public->tokenizer != NULL) hash('w', words, used, keys->key[keys->count++]);
    if (public->tokenizer == NULL) return NVDP_OK;
    NVDP_TRY(add_tokens(ctx, public, text, size, max_length, keys));
    return add_tokens(ctx, public, used > 0 ? words : "", used, max_length, keys);
}

static nvdp_status keep(struct nvdp__public_texts *public, const struct keys *keys) {
    size_t index;
    public->keys.ctx = public->ctx;
    for (size_t i = 0; i < keys->count; i++)
        NVDP_TRY(nvdp__strings_add(&public->keys, keys->key[i], KEY, &index));
    return NVDP_OK;
}

/* --- the public texts --- */

nvdp_status nvdp__public_texts_add(struct nvdp__public_texts *public, const char *text, size_t size,
                                   size_t max_length) {
    struct keys keys;
    NVDP_TRY(compute_keys(public->ctx, public, text, size, max_length, &keys));
    return keep(public, &keys);
}

nvdp_status nvdp__public_texts_add_ids(struct nvdp__public_texts *public, size_t n,
                                       const int32_t *ids) {
    const int32_t border = nvdp_tokenizer_special(public->tokenizer, NVDP_TOKEN_SEP);
    nvdp__autofree int32_t *copy = NULL;
    NVDP_TRY(NVDP__NEW(public->ctx, copy, n));
    for (size_t start = 0, end = 0; start < n; start = ++end) { /* a pair has two texts */
        while (end < n && ids[end] != border)
            end++;
        struct keys keys = {0};
        if (end > start) memcpy(copy, ids + start, (end - start) * sizeof *copy);
        add_ids(public->tokenizer, end - start, copy, &keys);
        NVDP_TRY(keep(public, &keys));
    }
    return NVDP_OK;
}

static nvdp_status add_field(struct nvdp__public_texts *public, struct nvdp__field field) {
    return field.text == NULL
               ? NVDP_OK
               : nvdp__public_texts_add(public, field.text, field.size, public->max_length);
}

nvdp_status nvdp__public_texts_add_file(struct nvdp__public_texts *public, const char *path) {
    nvdp__auto(nvdp__table_chunks_close) struct nvdp__table_chunks chunks = {0};
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__field line;
    enum nvdp__table_format format = NVDP__TABLE_TSV;
    NVDP_TRY(nvdp__check_regular(public->ctx, path)); /* the file was read before */
    if (nvdp__is_table(path))
        NVDP_TRY(nvdp__table_chunks_format(NULL, nvdp__task_layout(NVDP_TASK_TSV), path, &format));
    const bool table = format != NVDP__TABLE_TSV;
    NVDP_TRY(table ? nvdp__table_chunks_open(public->ctx, path, format, &chunks)
                   : nvdp__lines_open(public->ctx, path, &lines));
    for (bool row = table; row;) {
        NVDP_TRY(nvdp__table_chunks_find(&chunks, &row));
        for (size_t c = 0; row && c < chunks.tsv.fields; c++)
            NVDP_TRY(add_field(public, chunks.tsv.field[c]));
    }
    for (bool found = !table; found;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        NVDP_TRY(add_field(public, line));
        const bool cells = memchr(line.text, '\t', line.size) != NULL;
        while (cells && line.text != NULL)
            NVDP_TRY(add_field(public, nvdp__take_part(&line, '\t')));
    }
    return NVDP_OK;
}

/* --- the private texts --- */

nvdp_status nvdp__public_texts_have(const struct nvdp__public_texts *public,
                                    struct nvdp_context *ctx, const char *text, size_t size,
                                    bool *found) {
    struct keys keys;
    *found = false;
    if (public->keys.count == 0) return NVDP_OK;
    NVDP_TRY(compute_keys(ctx, public, text, size, public->max_length, &keys));
    for (size_t i = 0; i < keys.count; i++)
        *found |= nvdp__strings_find(&public->keys, keys.key[i], KEY) != SIZE_MAX;
    return NVDP_OK;
}

nvdp_status nvdp__public_texts_compare(struct nvdp__public_texts *public, const char *text,
                                       size_t size, size_t row) {
    bool found;
    NVDP_TRY(nvdp__public_texts_have(public, public->ctx, text, size, &found));
    public->compared++;
    if (!found) return NVDP_OK;
    if (public->found == 0) public->first_row = row;
    public->found++;
    return NVDP_OK;
}

nvdp_status nvdp__public_texts_check(const struct nvdp__public_texts *public, const char *what) {
    if (public->found == 0) return NVDP_OK;
    return nvdp__fail(
        public->ctx, NVDP_ERR_ARGUMENT,
        "%s: %s: expected public texts, found %zu of the %zu private texts among them, the first "
        "in row %zu; the release would show numbers computed from them without noise. Use other "
        "public texts, and do not remove these alone: what is missing would show which texts are "
        "private. If the file was chosen independently of the private texts, declare it with "
        "{public-independent}. This refusal depends on the private texts: do not pass it on",
        nvdp__with_options(public->ctx, what).text, public->path, public->found, public->compared,
        public->first_row + 1);
}

void nvdp__public_texts_release(struct nvdp__public_texts *public) {
    nvdp__strings_release(&public->keys);
}

/* ==== texts that repeat ==== */

void nvdp__text_digest(const unsigned char key[NVDP__TEXT_KEY], size_t n, const int32_t *ids,
                       const int32_t *types, unsigned char digest[NVDP__TEXT_DIGEST]) {
    const uint64_t count = n;
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, NVDP__TEXT_KEY, NVDP__TEXT_DIGEST);
    crypto_generichash_update(&state, (const unsigned char *)&count, sizeof count);
    crypto_generichash_update(&state, (const unsigned char *)ids, n * sizeof *ids);
    crypto_generichash_update(&state, (const unsigned char *)types, n * sizeof *types);
    crypto_generichash_final(&state, digest, NVDP__TEXT_DIGEST);
    sodium_memzero(&state, sizeof state);
}

/* Lists how many texts occur how often: texts[k] texts occur k times, for k up to `most`. The last item covers a
 * range if there is no room for more items. */
static void list(const size_t *texts, size_t most, char text[NVDP__REPEATS_TEXT]) {
    enum { MAX_ITEMS = 4 };
    size_t items = 0;
    for (size_t k = 2, last; k <= most; k = last + 1) {
        const size_t used = strlen(text), room = NVDP__REPEATS_TEXT - used;
        size_t count = texts[k], more = 0;
        last = k;
        if (count == 0) continue;
        for (size_t m = k + 1; items + 1 == MAX_ITEMS && m <= most; m++)
            more += texts[m];
        if (more > 0) last = most;
        count += more;
        const char *noun = items > 0    ? ""
                           : count == 1 ? " text"
                                        : " texts",
                   *s = count == 1 ? "s" : "";
        if (last > k)
            nvdp__snprintf(text + used, room, ", %zu stand %zu to %zu times", count, k, last);
        else if (k == 2)
            nvdp__snprintf(text + used, room, "%zu%s stand%s twice", count, noun, s);
        else
            nvdp__snprintf(text + used, room, "%s%zu%s stand%s %zu times", items > 0 ? ", " : "",
                           count, noun, s, k);
        items++;
    }
}

void nvdp__content_add(struct nvdp__content *content, const struct nvdp_dataset *data) {
    if (!content->begun) content->digest = nvdp__digest_begin();
    content->begun = true;
    for (size_t i = 0; i < data->count; i++) {
        const size_t at = data->offset[i], n = data->offset[i + 1] - at;
        nvdp__digest_bytes(&content->digest, data->ids + at, n * sizeof *data->ids);
        nvdp__digest_text(&content->digest, data->id != NULL ? data->id[i] : NULL);
    }
}

bool nvdp__content_end(struct nvdp__content *content) {
    char digest[NVDP__DIGEST_HEX] = "";
    if (content->begun) nvdp__digest_end(&content->digest, digest);
    if (!content->known) memcpy(content->first, digest, sizeof digest);
    content->begun = false;
    content->known = true;
    return strcmp(digest, content->first) == 0;
}

nvdp_status nvdp__text_digests_add(struct nvdp__text_digests *digests,
                                   const struct nvdp_dataset *data) {
    /* the key is random, so equal digests of different texts are left to chance: about 2^-64 for 2^32 texts */
    if (digests->count == 0) randombytes_buf(digests->key, sizeof digests->key);
    NVDP_TRY(nvdp__reserve(digests->ctx, &digests->digest, &digests->capacity,
                           digests->count + data->count, sizeof *digests->digest));
    for (size_t i = 0; i < data->count; i++) {
        const size_t at = data->offset[i], n = data->offset[i + 1] - at;
        nvdp__text_digest(digests->key, n, data->ids + at, data->types + at,
                          digests->digest[digests->count++]);
    }
    return NVDP_OK;
}

void nvdp__text_digests_release(struct nvdp__text_digests *digests) {
    free(digests->digest);
    *digests = (struct nvdp__text_digests){.ctx = digests->ctx};
}

/* Digests are sorted and counted in blocks, by their first bytes, so that sorting needs little memory. */
nvdp_status nvdp__repeats_count(const struct nvdp__text_digests *digests,
                                struct nvdp__repeats *out) {
    enum { BLOCK = 1 << 15 };
    const struct nvdp__key by_bytes = {.size = NVDP__TEXT_DIGEST, .kind = NVDP__KEY_MEMORY};
    nvdp__auto(nvdp__text_digests_release) struct nvdp__text_digests block = {.ctx = digests->ctx};
    nvdp__autofree size_t *texts = NULL; /* number of texts by their number of rows */
    struct nvdp__repeats made = {.most = 0};
    const size_t blocks = digests->count / BLOCK + 1;
    size_t capacity = 0;
    for (size_t b = 0; b < blocks; b++) {
        block.count = 0;
        for (size_t i = 0; i < digests->count; i++) {
            const unsigned char *of = digests->digest[i];
            if (((size_t)of[0] << 16 | (size_t)of[1] << 8 | of[2]) * blocks >> 24 != b) continue;
            NVDP_TRY(nvdp__reserve(block.ctx, &block.digest, &block.capacity, block.count + 1,
                                   sizeof *block.digest));
            memcpy(block.digest[block.count++], of, sizeof *block.digest);
        }
        nvdp__sort(block.digest, block.count, sizeof *block.digest, &by_bytes, 1);
        for (size_t i = 0, end; i < block.count; i = end) {
            for (end = i + 1; end < block.count && memcmp(block.digest[i], block.digest[end],
                                                          sizeof *block.digest) == 0;)
                end++;
            made.most = nvdp__max(made.most, end - i);
            NVDP_TRY(nvdp__reserve(block.ctx, &texts, &capacity, made.most + 1, sizeof *texts));
            texts[end - i]++;
        }
    }
    list(texts, made.most, made.text);
    *out = made;
    return NVDP_OK;
}
