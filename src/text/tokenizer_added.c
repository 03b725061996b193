/* Special and added tokens (tokenizer_maker.h): tokenizer_config.json, special_tokens_map.json,
 * added_tokens.json and tokenizer.json. */
#include "base/own.h"
#include "text/tokenizer_maker.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1 << 16 };

static const char *const name_keys[NVDP__NAMES] = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
/* The name of each special token of enum nvdp_special. */
static const enum nvdp__name name_of[NVDP__SPECIALS] = {[NVDP_TOKEN_PAD] = NVDP__PAD,
                                                        [NVDP_TOKEN_UNK] = NVDP__UNK,
                                                        [NVDP_TOKEN_CLS] = NVDP__CLS,
                                                        [NVDP_TOKEN_SEP] = NVDP__SEP,
                                                        [NVDP_TOKEN_MASK] = NVDP__MASK};

static nvdp_status no_memory(const struct nvdp__maker *m, enum nvdp__tokenizer_file file) {
    return nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "%s: out of memory", nvdp__path_of(m, file));
}

/* Reads a token: a string, which is special, or an object. The name is owned by `value`. */
static nvdp_status read_token(const struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                              const char *key, const json_t *value, bool special,
                              struct nvdp__added_token *out) {
    const json_t *content = json_is_object(value) ? json_object_get(value, "content") : value;
    struct nvdp__added_token token = {.special = special};
    if (!json_is_string(content) && json_is_object(value))
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected a string as its 'content'",
                          nvdp__path_of(m, file), key);
    if (!json_is_string(content) || json_string_length(content) == 0)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected the text of a token",
                          nvdp__path_of(m, file), key);
    token.name = (char *)json_string_value(content); /* only read */
    token.size = json_string_length(content);
    if (json_is_object(value)) {
        const char *path = nvdp__path_of(m, file);
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

/* Adds a token, with a new id if the vocabulary lacks it. `id` is what the file states; negative:
 * nothing. */
static nvdp_status add_token(struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                             struct nvdp__added_token token, int64_t id) {
    struct nvdp__strings *pieces = &m->made->pieces;
    size_t found = nvdp__strings_find(pieces, token.name, token.size);
    const struct nvdp__field name = {token.name, token.size};
    if (found != SIZE_MAX && id >= 0 && (size_t)id != found)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: added token %s: expected the id that the vocabulary has, found "
                          "%lld instead of %zu",
                          nvdp__path_of(m, file), nvdp__quote_field(name).text, (long long)id,
                          found);
    if (found == SIZE_MAX) {
        found = nvdp__max(m->last, m->distinct);
        if ((id >= 0 && (size_t)id != found) || found < pieces->count || found >= NVDP__MAX_PIECES)
            return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                              "%s: added token %s: expected the next id after the %zu pieces, "
                              "found %lld",
                              nvdp__path_of(m, file), nvdp__quote_field(name).text, pieces->count,
                              id >= 0 ? (long long)id : (long long)found);
        while (pieces->count < found)
            NVDP_TRY(nvdp__strings_append(pieces, "", 0));
        NVDP_TRY(nvdp__strings_append(pieces, token.name, token.size));
        m->last = found + 1;
        m->made->plain = false;
    }
    token.id = (int32_t)found;
    struct nvdp__normalized normal = {0};
    nvdp_status status = NVDP_OK;
    if (token.normalized) {
        status = nvdp__tokenizer_normalize(m->ctx, m->made, token.name, token.size, &normal);
        if (status == NVDP_OK && normal.size == 0)
            status =
                nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                           "%s: added token %s: expected a text of which the normalizer leaves "
                           "something, found one that becomes empty",
                           nvdp__path_of(m, file), nvdp__quote_field(name).text);
        token.name = normal.text;
        token.size = normal.size;
    }
    if (status == NVDP_OK) status = nvdp__added_put(m->ctx, &m->made->added, &token);
    nvdp__normalized_release(&normal);
    return status;
}

static int compare_ids(const void *left, const void *right) {
    const json_int_t a = json_integer_value(json_object_get(*(json_t *const *)left, "id"));
    const json_int_t b = json_integer_value(json_object_get(*(json_t *const *)right, "id"));
    return (a > b) - (a < b);
}

/* Adds the entries of a list, by increasing id if `sorted`. An entry has an id and the members of
 * a token. */
static nvdp_status add_list(struct nvdp__maker *m, enum nvdp__tokenizer_file file,
                            const json_t *list, bool sorted) {
    const size_t count = json_array_size(list);
    nvdp__autofree const json_t **entry = NULL;
    if (count == 0) return NVDP_OK;
    if (count > MAX_NAMES)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: expected at most %d added tokens, found %zu", nvdp__path_of(m, file),
                          MAX_NAMES, count);
    NVDP_TRY(NVDP__NEW(m->ctx, entry, count));
    for (size_t i = 0; i < count; i++) {
        entry[i] = json_array_get(list, i);
        const json_t *id = json_object_get(entry[i], "id");
        if (json_is_integer(id) && json_integer_value(id) >= 0 &&
            json_is_string(json_object_get(entry[i], "content")))
            continue;
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: 'added_tokens': entry %zu: expected an 'id' and a 'content', found "
                          "none",
                          nvdp__path_of(m, file), i);
    }
    if (sorted) qsort(entry, count, sizeof *entry, compare_ids);
    for (size_t i = 0; i < count; i++) {
        struct nvdp__added_token token;
        NVDP_TRY(read_token(m, file, "added_tokens", entry[i], false, &token));
        NVDP_TRY(add_token(m, file, token, json_integer_value(json_object_get(entry[i], "id"))));
    }
    return NVDP_OK;
}

/* The token that a key names: special_tokens_map.json counts before tokenizer_config.json, except
 * where the latter has added_tokens_decoder. NULL: no file has the key. */
static const json_t *named(const struct nvdp__maker *m, const char *key,
                           enum nvdp__tokenizer_file *file) {
    const json_t *config = nvdp__root_of(m, NVDP__FILE_CONFIG), *value = NULL;
    *file = NVDP__FILE_SPECIALS;
    if (json_object_get(config, "added_tokens_decoder") == NULL)
        value = json_object_get(nvdp__root_of(m, *file), key);
    if (value != NULL) return value;
    *file = NVDP__FILE_CONFIG;
    return json_object_get(config, key);
}

static bool has_text(const json_t *token, const char *text) {
    const json_t *content = json_is_object(token) ? json_object_get(token, "content") : token;
    return json_is_string(content) && strcmp(json_string_value(content), text) == 0;
}

/* True if a file names a special token so. */
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
        json_object_get(nvdp__root_of(m, NVDP__FILE_CONFIG), "added_tokens_decoder");
    const json_t *added = nvdp__root_of(m, NVDP__FILE_ADDED);
    const json_t *own = json_object_get(nvdp__root_of(m, NVDP__FILE_TOKENIZER), "added_tokens");
    const char *key;
    json_t *value;
    nvdp__autoptr(json_decref) json_t *list = json_array(), *entry = NULL;
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
                              nvdp__path_of(m, NVDP__FILE_CONFIG), key);
        entry = json_copy(value);
        if (entry == NULL || json_object_set_new(entry, "id", json_integer(id)) != 0 ||
            json_array_append(list, entry) != 0)
            NVDP_TRY(no_memory(m, NVDP__FILE_CONFIG));
        json_decref(entry);
        entry = NULL;
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
        if (have) continue; /* tokenizer.json counts */
        const bool special = is_special_name(m, key);
        entry = json_pack("{s:s, s:O, s:b, s:b}", "content", key, "id", value, "special",
                          (int)special, "normalized", (int)!special);
        if (entry == NULL || json_array_append(list, entry) != 0)
            NVDP_TRY(no_memory(m, NVDP__FILE_ADDED));
        json_decref(entry);
        entry = NULL;
    }
    return add_list(m, NVDP__FILE_ADDED, list, true);
}

/* Adds a special token, unless a file lists it among the added tokens. The last statement of its rules
 * counts. */
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

/* Adds the tokens that the vocabulary names, unless a file lists others. They are special if they are
 * among the `names`. */
static nvdp_status add_named(struct nvdp__maker *m, const json_t *list,
                             const struct nvdp__added_token names[NVDP__NAMES]) {
    enum nvdp__tokenizer_file file;
    struct nvdp__added_token token;
    const json_t *value;
    size_t i;
    if (json_is_array(named(m, "extra_special_tokens", &file)) ||
        json_is_array(named(m, "additional_special_tokens", &file)))
        return NVDP_OK;
    file = nvdp__vocabulary_of(m);
    json_array_foreach(list, i, value) {
        NVDP_TRY(read_token(m, file, "pieces", value, false, &token));
        for (int n = 0; n < NVDP__NAMES; n++)
            token.special |= names[n].name != NULL && strcmp(names[n].name, token.name) == 0;
        NVDP_TRY(add_special(m, file, &token));
    }
    return NVDP_OK;
}

/* The tokens with a role, such as mask_token: as the files name them, or else as the class usually does. */
struct named_tokens {
    struct nvdp__added_token token[NVDP__NAMES]; /* name NULL: none */
    enum nvdp__tokenizer_file file[NVDP__NAMES]; /* that names the token */
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
            out->file[i] = nvdp__vocabulary_of(m);
        }
    }
    return NVDP_OK;
}

/* Sets the tokens that encoding needs. If the files do not name one, takes the first name that a class usually has and
 * the vocabulary contains. */
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
        if (special[s] == NULL) special[s] = nvdp__classes[NVDP__CLASS_BERT].usual[name];
    }
    return nvdp__tokenizer_specials(m->ctx, nvdp__path_of(m, nvdp__vocabulary_of(m)), special,
                                    m->made);
}

/* Adds the tokens under other keys of tokenizer_config.json that end in _token. */
static nvdp_status add_other_keys(struct nvdp__maker *m) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)nvdp__root_of(m, NVDP__FILE_CONFIG), key, value) {
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
