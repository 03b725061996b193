/* Special and added tokens (tokenizer.h): names in a text that become tokens before the text is split into words,
 * and the files that list these tokens: tokenizer_config.json, special_tokens_map.json, added_tokens.json,
 * tokenizer.json. */
#include "text/tokenizer.h"

#include "base/own.h"
#include "text/tokenizer_maker.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* ==== names in a text ==== */

nvdp_status nvdp__added_put(struct nvdp_context *ctx, struct nvdp__added *added,
                            const struct nvdp__added_token *token) {
    struct nvdp__added_token made = *token;
    size_t at = 0;
    NVDP_TRY(nvdp__reserve(ctx, &added->token, &added->capacity, added->count + 1,
                           sizeof *added->token));
    NVDP_TRY(NVDP__NEW(ctx, made.name, made.size + 1));
    memcpy(made.name, token->name, made.size);
    while (at < added->count && added->token[at].id != made.id)
        at++;
    if (at < added->count)
        free(added->token[at].name);
    else
        added->count++;
    added->token[at] = made;
    added->normalized = 0;
    memset(added->begins, 0, sizeof added->begins);
    for (size_t i = 0; i < added->count; i++) {
        const struct nvdp__added_token *one = &added->token[i];
        added->normalized += one->normalized;
        if (one->size > 0) added->begins[one->normalized][(unsigned char)one->name[0]] = true;
    }
    for (int n = 0; n < 2; n++) {
        const bool *begins = added->begins[n];
        const bool *first = memchr(begins, true, NVDP__BYTE_VALUES);
        const bool *last = memrchr(begins, true, NVDP__BYTE_VALUES);
        added->only[n] = first != NULL && first == last ? (int)(first - begins) : -1;
    }
    return NVDP_OK;
}

void nvdp__added_release(struct nvdp__added *added) {
    for (size_t i = 0; i < added->count; i++)
        free(added->token[i].name);
    free(added->token);
    *added = (struct nvdp__added){0};
}

/* Returns the token with the longest name at the start of text[0..size); NULL if there is none. */
static const struct nvdp__added_token *longest(const struct nvdp__added *added, bool normalized,
                                               const char *text, size_t size) {
    const struct nvdp__added_token *found = NULL;
    for (size_t i = 0; i < added->count; i++) {
        const struct nvdp__added_token *token = &added->token[i];
        if (token->normalized != normalized || token->size == 0 || token->size > size ||
            (found != NULL && token->size <= found->size) ||
            memcmp(text, token->name, token->size) != 0)
            continue;
        found = token;
    }
    return found;
}

/* Returns the first place in text[at..size) where a name may begin. */
static size_t next_place(const struct nvdp__added *added, bool normalized, const char *text,
                         size_t size, size_t at) {
    if (added->only[normalized] >= 0) {
        const char *place = memchr(text + at, added->only[normalized], size - at);
        return place != NULL ? (size_t)(place - text) : size;
    }
    while (at < size && !added->begins[normalized][(unsigned char)text[at]])
        at++;
    return at;
}

/* Returns true for characters of words: letters, marks, digits, connectors such as _, and joiners. */
static bool is_word(int32_t rune) {
    return rune >= 0 &&
           (nvdp__has_category(rune, NVDP__LETTERS | NVDP__IN(MN) | NVDP__IN(MC) | NVDP__IN(ME) |
                                         NVDP__IN(ND) | NVDP__IN(NL) | NVDP__IN(PC)) ||
            nvdp__is_enclosed_letter(rune) || rune == 0x200C || rune == 0x200D);
}

/* Returns true if a character of a word stands directly before or after text[from..to). */
static bool touches_word(const char *text, size_t size, size_t from, size_t to) {
    size_t bytes;
    return (from > 0 && is_word(nvdp__last_rune(text, from, &bytes))) ||
           (to < size && is_word(nvdp__decode(text + to, size - to, &bytes)));
}

const struct nvdp__added_token *nvdp__added_find(const struct nvdp__added *added, bool normalized,
                                                 bool ordinary, const char *text, size_t size,
                                                 size_t start, size_t *at, size_t *end,
                                                 size_t *next) {
    size_t bytes;
    for (size_t place = next_place(added, normalized, text, size, *at); place < size;) {
        const struct nvdp__added_token *token =
            longest(added, normalized, text + place, size - place);
        *next = place + (token != NULL ? token->size : 1);
        if (token == NULL || (ordinary && token->special) ||
            (token->single_word && touches_word(text, size, place, *next))) {
            place = next_place(added, normalized, text, size, *next);
            continue;
        }
        *at = place;
        *end = *next;
        while (token->left_spaces && *at > start &&
               nvdp__is_white_space(nvdp__last_rune(text, *at, &bytes)))
            *at -= bytes;
        while (token->right_spaces && *end < size) {
            if (!nvdp__is_white_space(nvdp__decode(text + *end, size - *end, &bytes))) break;
            *end += bytes;
        }
        return token;
    }
    return NULL;
}

/* ==== special and added tokens of a folder ==== */

enum { MAX_NAMES = 1 << 16 };

static const char *const name_keys[NVDP__NAMES] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
/* The name of each special token of enum nvdp_special. */
static const enum nvdp__name name_of[NVDP__SPECIALS] = {[NVDP_TOKEN_PAD] = NVDP__PAD,
                                                        [NVDP_TOKEN_UNK] = NVDP__UNK,
                                                        [NVDP_TOKEN_CLS] = NVDP__CLS,
                                                        [NVDP_TOKEN_SEP] = NVDP__SEP,
                                                        [NVDP_TOKEN_MASK] = NVDP__MASK};

enum nvdp__tokenizer_file nvdp__vocabulary_file(const struct nvdp__maker *m) {
    if (m->source->json[NVDP__FILE_TOKENIZER] != NULL) return NVDP__FILE_TOKENIZER;
    return m->source->text[NVDP__FILE_TOKENIZER_MODEL] != NULL ? NVDP__FILE_TOKENIZER_MODEL
                                                               : m->class->vocabulary;
}

static nvdp_status no_memory(const struct nvdp__maker *m, enum nvdp__tokenizer_file file) {
    return nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "%s: out of memory", nvdp__file_path(m, file));
}

/* Reads a token: a string, which is special, or an object. `value` owns the name. */
static nvdp_status read_token(const struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                              const char *key, const json_t *value, bool special,
                              struct nvdp__added_token *out) {
    const json_t *content = json_is_object(value) ? json_object_get(value, "content") : value;
    struct nvdp__added_token token = {.special = special};
    if (!json_is_string(content) && json_is_object(value))
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected a string as its 'content'",
                          nvdp__file_path(m, file), key);
    if (!json_is_string(content) || json_string_length(content) == 0)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected the text of a token",
                          nvdp__file_path(m, file), key);
    token.name = (char *)json_string_value(content); /* the name is only read */
    token.size = json_string_length(content);
    if (json_is_object(value)) {
        const char *path = nvdp__file_path(m, file);
        if (!special)
            NVDP_TRY(nvdp__json_bool(m->ctx, path, value, "special", false, &token.special));
        NVDP_TRY(
            nvdp__json_bool(m->ctx, path, value, "normalized", !token.special, &token.normalized));
        NVDP_TRY(nvdp__json_bool(m->ctx, path, value, "single_word", false, &token.single_word));
        NVDP_TRY(nvdp__json_bool(m->ctx, path, value, "lstrip", false, &token.left_spaces));
        NVDP_TRY(nvdp__json_bool(m->ctx, path, value, "rstrip", false, &token.right_spaces));
    }
    *out = token;
    return NVDP_OK;
}

/* Adds a token, with a new id if the vocabulary lacks the token. `id` is the id in the file; negative if the file
 * has none. */
static nvdp_status add_token(struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                             struct nvdp__added_token token, int64_t id) {
    struct nvdp__strings *pieces = &m->made->pieces;
    size_t found = nvdp__strings_find(pieces, token.name, token.size);
    const struct nvdp__field name = {token.name, token.size};
    if (found != SIZE_MAX && id >= 0 && (size_t)id != found)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: added token %s: expected the id that the vocabulary has, found "
                          "%lld instead of %zu",
                          nvdp__file_path(m, file), nvdp__quote_field(name).text, (long long)id,
                          found);
    if (found == SIZE_MAX) {
        found = nvdp__max(m->last, m->distinct);
        if ((id >= 0 && (size_t)id != found) || found < pieces->count || found >= NVDP__MAX_PIECES)
            return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                              "%s: added token %s: expected the next id after the %zu pieces, "
                              "found %lld",
                              nvdp__file_path(m, file), nvdp__quote_field(name).text, pieces->count,
                              id >= 0 ? (long long)id : (long long)found);
        while (pieces->count < found)
            NVDP_TRY(nvdp__strings_append(pieces, "", 0));
        NVDP_TRY(nvdp__strings_append(pieces, token.name, token.size));
        m->last = found + 1;
        m->made->plain = false;
    }
    token.id = (int32_t)found;
    nvdp__auto(nvdp__normalized_release) struct nvdp__normalized normal = {0};
    if (token.normalized) {
        NVDP_TRY(nvdp__tokenizer_normalize(m->ctx, m->made, token.name, token.size, &normal));
        if (normal.size == 0)
            return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                              "%s: added token %s: expected a text of which the normalizer leaves "
                              "something, found one that becomes empty",
                              nvdp__file_path(m, file), nvdp__quote_field(name).text);
        token.name = normal.text;
        token.size = normal.size;
    }
    return nvdp__added_put(m->ctx, &m->made->added, &token);
}

/* An entry of a list of added tokens. */
struct entry {
    int64_t id;
    size_t place; /* place in the list */
};

/* Adds the entries of a list, by increasing id if `sorted`. An entry has an id and the members of a token. */
static nvdp_status add_list(struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                            const json_t *list, bool sorted) {
    const size_t count = json_array_size(list);
    nvdp__autofree struct entry *entry = NULL;
    if (count == 0) return NVDP_OK;
    if (count > MAX_NAMES)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: expected at most %d added tokens, found %zu",
                          nvdp__file_path(m, file), MAX_NAMES, count);
    NVDP_TRY(NVDP__NEW(m->ctx, entry, count));
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i), *id = json_object_get(one, "id");
        entry[i] = (struct entry){json_integer_value(id), i};
        if (json_is_integer(id) && entry[i].id >= 0 &&
            json_is_string(json_object_get(one, "content")))
            continue;
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: 'added_tokens': entry %zu: expected an 'id' and a 'content', found "
                          "none",
                          nvdp__file_path(m, file), i);
    }
    if (sorted) NVDP__SORT(entry, count, NVDP__UP(struct entry, id), NVDP__UP(struct entry, place));
    for (size_t i = 0; i < count; i++) {
        struct nvdp__added_token token;
        NVDP_TRY(read_token(m, file, "added_tokens", json_array_get(list, entry[i].place), false,
                            &token));
        NVDP_TRY(add_token(m, file, token, entry[i].id));
    }
    return NVDP_OK;
}

/* Returns the token under a key. special_tokens_map.json takes precedence over tokenizer_config.json, unless
 * tokenizer_config.json has added_tokens_decoder. Returns NULL if no file has the key. */
static const json_t *named(const struct nvdp__maker *m, const char *key,
                           enum nvdp__tokenizer_file *file) {
    const json_t *config = nvdp__file_root(m, NVDP__FILE_CONFIG), *value = NULL;
    *file = NVDP__FILE_SPECIALS;
    if (json_object_get(config, "added_tokens_decoder") == NULL)
        value = json_object_get(nvdp__file_root(m, *file), key);
    if (value != NULL) return value;
    *file = NVDP__FILE_CONFIG;
    return json_object_get(config, key);
}

static bool has_text(const json_t *token, const char *text) {
    const json_t *content = json_is_object(token) ? json_object_get(token, "content") : token;
    return json_is_string(content) && strcmp(json_string_value(content), text) == 0;
}

/* Returns true if a file gives a special token this name. */
static bool is_special_name(const struct nvdp__maker *m, const char *name) {
    static const char *const lists[] = {"extra_special_tokens", "additional_special_tokens"};
    enum nvdp__tokenizer_file file;
    for (int i = 0; i < NVDP__NAMES; i++) {
        if (has_text(named(m, name_keys[i], &file), name)) return true;
    }
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        size_t i;
        const json_t *value;
        json_array_foreach(named(m, lists[k], &file), i, value) {
            if (has_text(value, name)) return true;
        }
    }
    return false;
}

/* Adds the tokens of added_tokens_decoder, or of added_tokens.json and tokenizer.json. */
static nvdp_status add_listed(struct nvdp__maker *m) {
    const json_t *decoder =
        json_object_get(nvdp__file_root(m, NVDP__FILE_CONFIG), "added_tokens_decoder");
    const json_t *added = nvdp__file_root(m, NVDP__FILE_ADDED);
    const json_t *own = json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "added_tokens");
    const char *key;
    json_t *value;
    nvdp__autoptr(json_decref) json_t *list = json_array();
    if (list == NULL) return no_memory(m, NVDP__FILE_CONFIG);
    if (decoder == NULL || m->class->backend)
        NVDP_TRY(add_list(m, NVDP__FILE_TOKENIZER, own, !m->class->backend));
    json_object_foreach((json_t *)(uintptr_t)decoder, key, value) {
        char *end;
        long long id = strtoll(key, &end, 10);
        if (*key < '0' || *key > '9' || *end != '\0' || !json_is_object(value))
            return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                              "%s: 'added_tokens_decoder': expected ids with objects, found "
                              "'%.100s'",
                              nvdp__file_path(m, NVDP__FILE_CONFIG), key);
        nvdp__autoptr(json_decref) json_t *entry = json_copy(value);
        if (entry == NULL || json_object_set_new(entry, "id", json_integer(id)) != 0 ||
            json_array_append(list, entry) != 0)
            return no_memory(m, NVDP__FILE_CONFIG);
    }
    NVDP_TRY(add_list(m, NVDP__FILE_CONFIG, list, true));
    if (decoder != NULL || added == NULL) return NVDP_OK;
    json_array_clear(list);
    json_object_foreach((json_t *)(uintptr_t)added, key, value) {
        size_t i;
        bool have = false;
        const json_t *one;
        json_array_foreach(own, i, one) {
            have = have || json_equal(json_object_get(one, "id"), value);
        }
        if (have) continue; /* the list of tokenizer.json takes precedence */
        const bool special = is_special_name(m, key);
        if (json_array_append_new(list, json_pack("{s:s, s:O, s:b, s:b}", "content", key, "id",
                                                  value, "special", (int)special, "normalized",
                                                  (int)!special)) != 0)
            return no_memory(m, NVDP__FILE_ADDED);
    }
    return add_list(m, NVDP__FILE_ADDED, list, true);
}

/* Adds a special token, unless a file lists it among the added tokens. The last statement of the token's rules takes
 * precedence. */
static nvdp_status add_special(struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                               const struct nvdp__added_token *token) {
    size_t id = nvdp__strings_find(&m->made->pieces, token->name, token->size);
    for (size_t i = 0; i < m->listed; i++) {
        if ((size_t)m->made->added.token[i].id == id) return NVDP_OK;
    }
    return add_token(m, file, *token, -1);
}

/* Adds the tokens of a list or an object. */
static nvdp_status add_extra(struct nvdp__maker *m, const char *key) {
    enum nvdp__tokenizer_file file;
    const json_t *list = named(m, key, &file);
    struct nvdp__added_token token;
    const char *name;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)list, name, value) {
        NVDP_TRY(read_token(m, file, key, value, true, &token));
        NVDP_TRY(add_special(m, file, &token));
    }
    json_array_foreach(list, i, value) {
        NVDP_TRY(read_token(m, file, key, value, true, &token));
        NVDP_TRY(add_special(m, file, &token));
    }
    return NVDP_OK;
}

nvdp_status nvdp__special_name(const struct nvdp__maker *m, enum nvdp__name which,
                               const char **out) {
    enum nvdp__tokenizer_file file;
    struct nvdp__added_token token = {0};
    const json_t *value = named(m, name_keys[which], &file);
    *out = m->class->usual[which];
    if (value == NULL && *out != NULL) return NVDP_OK;
    NVDP_TRY(read_token(m, file, name_keys[which], value, true, &token));
    *out = token.name;
    return NVDP_OK;
}

/* Adds the tokens that the vocabulary contains as special tokens, unless a file lists others. They are special if
 * they are among the `names`. */
static nvdp_status add_named(struct nvdp__maker *m, const json_t *list,
                             const struct nvdp__added_token names[NVDP__NAMES]) {
    enum nvdp__tokenizer_file file;
    struct nvdp__added_token token;
    const json_t *value;
    size_t i;
    if (json_is_array(named(m, "extra_special_tokens", &file)) ||
        json_is_array(named(m, "additional_special_tokens", &file)))
        return NVDP_OK;
    file = nvdp__vocabulary_file(m);
    json_array_foreach(list, i, value) {
        NVDP_TRY(read_token(m, file, "pieces", value, false, &token));
        for (int n = 0; n < NVDP__NAMES; n++)
            token.special |= names[n].name != NULL && strcmp(names[n].name, token.name) == 0;
        NVDP_TRY(add_special(m, file, &token));
    }
    return NVDP_OK;
}

/* The tokens with a role, such as mask_token: as the files state, else the default of the tokenizer class. */
struct named_tokens {
    /* the name of a token is NULL if there is no such token */
    struct nvdp__added_token token[NVDP__NAMES];
    enum nvdp__tokenizer_file file[NVDP__NAMES]; /* the file that states the token */
};

static nvdp_status read_named(struct nvdp__maker *m, struct named_tokens *out) {
    for (int i = 0; i < NVDP__NAMES; i++) {
        struct nvdp__added_token *token = &out->token[i];
        const json_t *value = named(m, name_keys[i], &out->file[i]);
        const char *usual = m->class->usual[i];
        if (value != NULL && !json_is_null(value)) {
            NVDP_TRY(read_token(m, out->file[i], name_keys[i], value, true, token));
            token->left_spaces |=
                i == NVDP__MASK && m->class->spaces_before_mask && json_is_string(value);
        } else if (value == NULL && usual != NULL) {
            *token = (struct nvdp__added_token){.name = (char *)usual,
                                                .size = strlen(usual),
                                                .special = true,
                                                .left_spaces = m->class->spaces_before_mask &&
                                                               i == NVDP__MASK};
            out->file[i] = nvdp__vocabulary_file(m);
        }
    }
    return NVDP_OK;
}

/* Sets the tokens that encoding needs. If the files do not state a token, takes the first default name of the class
 * that the vocabulary contains. */
static nvdp_status choose_specials(struct nvdp__maker *m, const struct named_tokens *named_tokens) {
    const struct nvdp__strings *pieces = &m->made->pieces;
    const char *special[NVDP__SPECIALS];
    for (int s = 0; s < NVDP__SPECIALS; s++) {
        const enum nvdp__name name = name_of[s];
        special[s] = named_tokens->token[name].name;
        for (const struct nvdp__class *c = nvdp__classes; special[s] == NULL && c->name != NULL;
             c++) {
            const char *guess = c->usual[name];
            if (guess != NULL && nvdp__strings_find(pieces, guess, strlen(guess)) != SIZE_MAX)
                special[s] = guess;
        }
        /* a table of vectors needs no special tokens, and its vocabulary often has only the first two */
        if (m->class->bare && name == NVDP__SEP) m->made->separators = special[s] != NULL;
        if (special[s] == NULL && m->class->bare)
            special[s] = s > 0 ? special[0] : nvdp__string(pieces, 0).text;
        if (special[s] == NULL) special[s] = nvdp__classes[NVDP__CLASS_BERT].usual[name];
    }
    return nvdp__tokenizer_specials(m->ctx, nvdp__file_path(m, nvdp__vocabulary_file(m)), special,
                                    m->made);
}

/* Adds the tokens under other keys of tokenizer_config.json that end in _token. */
static nvdp_status add_other_keys(struct nvdp__maker *m) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)nvdp__file_root(m, NVDP__FILE_CONFIG), key, value) {
        const size_t size = strlen(key);
        bool known = size < 6 || strcmp(key + size - 6, "_token") != 0;
        for (int i = 0; i < NVDP__NAMES; i++)
            known = known || strcmp(key, name_keys[i]) == 0;
        if (known || !json_is_string(value)) continue;
        struct nvdp__added_token other;
        NVDP_TRY(read_token(m, NVDP__FILE_CONFIG, key, value, true, &other));
        NVDP_TRY(add_special(m, NVDP__FILE_CONFIG, &other));
    }
    return NVDP_OK;
}

nvdp_status nvdp__add_tokens(struct nvdp__maker *m, const json_t *named_by_vocabulary) {
    struct named_tokens of = {0};
    NVDP_TRY(read_named(m, &of));
    NVDP_TRY(add_listed(m));
    m->listed = m->made->added.count;
    NVDP_TRY(choose_specials(m, &of));
    for (int i = 0; i < NVDP__NAMES; i++) {
        if (of.token[i].name != NULL) NVDP_TRY(add_special(m, of.file[i], &of.token[i]));
    }
    NVDP_TRY(add_other_keys(m));
    NVDP_TRY(add_named(m, named_by_vocabulary, of.token));
    NVDP_TRY(add_extra(m, "extra_special_tokens"));
    NVDP_TRY(add_extra(m, "additional_special_tokens"));
    for (size_t i = 0; i < m->made->added.count; i++) {
        for (int s = 0; s < NVDP__SPECIALS; s++)
            m->made->added.token[i].special |= m->made->added.token[i].id == m->made->special[s];
    }
    return NVDP_OK;
}
