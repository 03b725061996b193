/* Makes a tokenizer from the files of a Hugging Face folder, with the token ids that AutoTokenizer of
 * transformers 5 gives. The tokenizer class decides which file counts:
 *
 *     PreTrainedTokenizerFast        tokenizer.json alone
 *     BertTokenizer, MPNetTokenizer  the vocabulary and the added tokens of tokenizer.json, else vocab.txt;
 *                                    the other rules are those of the class and tokenizer_config.json
 *     RobertaTokenizer               the same with merges, else vocab.json and merges.txt
 *
 * Everything else is refused by file, key and value. In order: classes, special and added
 * tokens, WordPiece, byte-level BPE, tokenizer.json's frame of a text, the folder. Start with
 * nvdp_tokenizer_load at the end. */
#include "text/tokenizer.h"

#include "base/file.h"
#include "base/json.h"
#include "text/sentence.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30 /* bytes */, MAX_PIECES = 1 << 24, MAX_NAMES = 1 << 16 };

const char *const nvdp__tokenizer_file_names[NVDP__TOKENIZER_FILES] = {
    [NVDP__FILE_TOKENIZER] = "tokenizer.json",
    [NVDP__FILE_VOCAB_TXT] = "vocab.txt",
    [NVDP__FILE_VOCAB_JSON] = "vocab.json",
    [NVDP__FILE_MERGES] = "merges.txt",
    [NVDP__FILE_CONFIG] = "tokenizer_config.json",
    [NVDP__FILE_SPECIALS] = "special_tokens_map.json",
    [NVDP__FILE_ADDED] = "added_tokens.json",
    [NVDP__FILE_SENTENCE] = "sentence_bert_config.json",
    [NVDP__FILE_MODEL] = "config.json"};

/* ---- classes ---- */

enum kind { NO_KIND, BERT, MPNET, ROBERTA, BACKEND /* of tokenizer.json alone */ };

struct row {
    const char *names; /* each between spaces */
    enum kind kind;
};

/* Tokenizer classes, without "Fast" at the end. */
static const struct row classes[] = {
    {" BertTokenizer DistilBertTokenizer ElectraTokenizer MobileBertTokenizer SqueezeBertTokenizer "
     "LayoutLMTokenizer LxmertTokenizer ",
     BERT},
    {" MPNetTokenizer ", MPNET},
    {" RobertaTokenizer LongformerTokenizer BartTokenizer ", ROBERTA},
    {" PreTrainedTokenizer TokenizersBackend PythonBackend ", BACKEND}};
/* The class of a model_type. */
static const struct row types[] = {
    {" bert distilbert electra nomic_bert mobilebert squeezebert megatron-bert ernie ", BERT},
    {" mpnet ", MPNET},
    {" roberta roberta-prelayernorm longformer data2vec-text ", ROBERTA},
    {" modernbert ", BACKEND}};

static enum kind find_kind(const struct row *rows, size_t count, const char *name, size_t size) {
    for (size_t i = 0; i < count && size > 0; i++) {
        for (const char *at = rows[i].names; (at = strchr(at, ' ')) != NULL; at++) {
            if (strncmp(at + 1, name, size) == 0 && at[1 + size] == ' ') return rows[i].kind;
        }
    }
    return NO_KIND;
}

/* The names of special tokens without a statement, in the order in which they are added. */
enum name { BOS, EOS, UNK, SEP, PAD, CLS, MASK, NAMES };
static const char *const name_keys[NAMES] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                             "pad_token", "cls_token", "mask_token"};
static const char *const usual_names[][NAMES] = {
    [NO_KIND] = {NULL},
    [BERT] = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
    [MPNET] = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
    [ROBERTA] = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
    [BACKEND] = {NULL}};
/* The name of each special token of enum nvdp_special. */
static const enum name name_of[NVDP__SPECIALS] = {[NVDP_TOKEN_PAD] = PAD,
                                                  [NVDP_TOKEN_UNK] = UNK,
                                                  [NVDP_TOKEN_CLS] = CLS,
                                                  [NVDP_TOKEN_SEP] = SEP,
                                                  [NVDP_TOKEN_MASK] = MASK};

/* A tokenizer in the making. */
struct maker {
    struct nvdp_context *ctx;
    const struct nvdp__tokenizer_source *source;
    enum kind kind;
    bool bpe;
    struct nvdp_tokenizer *made;
    size_t distinct; /* pieces of the vocabulary, the empty one included */
    size_t last;     /* id after the last added token that is not in the vocabulary; 0: none */
};

static const json_t *root_of(const struct maker *m, enum nvdp__tokenizer_file file) {
    return m->source->json[file];
}

static const char *path_of(const struct maker *m, enum nvdp__tokenizer_file file) {
    return m->source->path[file];
}

/* Fails because a value is not supported. */
static nvdp_status refuse(const struct maker *m, enum nvdp__tokenizer_file file, const char *key,
                          const char *expected, const json_t *found) {
    char *text = found != NULL ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    nvdp_status status =
        nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: '%s': expected %s, found %.100s",
                   path_of(m, file), key, expected, text != NULL ? text : "none");
    free(text);
    return status;
}

/* Sets m->kind, and *class to the class for messages. */
static nvdp_status find_class(struct maker *m, const char **class) {
    static const char *const key = "tokenizer_class";
    enum nvdp__tokenizer_file file = NVDP__FILE_CONFIG;
    const char *type = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(m->ctx, path_of(m, NVDP__FILE_MODEL),
                                            root_of(m, NVDP__FILE_MODEL), "model_type", NULL,
                                            &type));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(m->ctx, path_of(m, file), root_of(m, file), key, NULL, class));
    if (*class == NULL) {
        file = NVDP__FILE_MODEL;
        NVDP_RETURN_IF_FAILED(
            nvdp__json_string(m->ctx, path_of(m, file), root_of(m, file), key, NULL, class));
    }
    if (type != NULL)
        m->kind = find_kind(types, sizeof types / sizeof types[0], type, strlen(type));
    if (*class == NULL || m->kind == BACKEND) return NVDP_OK;
    size_t size = strlen(*class);
    if (size > 4 && strcmp(*class + size - 4, "Fast") == 0) size -= 4;
    m->kind = find_kind(classes, sizeof classes / sizeof classes[0], *class, size);
    if (m->kind != NO_KIND) return NVDP_OK;
    return refuse(m, file, key,
                  "BertTokenizer, DistilBertTokenizer, ElectraTokenizer, MPNetTokenizer, "
                  "RobertaTokenizer or PreTrainedTokenizerFast",
                  json_object_get(root_of(m, file), key));
}

/* ---- special and added tokens ---- */

static nvdp_status no_memory(const struct maker *m, enum nvdp__tokenizer_file file) {
    return nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path_of(m, file));
}

/* Reads a token: a string, which is special, or an object. The name is owned by `value`. */
static nvdp_status read_token(const struct maker *m, enum nvdp__tokenizer_file file,
                              const char *key, const json_t *value, bool special,
                              struct nvdp__added_token *out) {
    const json_t *content = json_is_object(value) ? json_object_get(value, "content") : value;
    struct nvdp__added_token token = {.special = special};
    if (!json_is_string(content) && json_is_object(value))
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected a string as its 'content'",
                          path_of(m, file), key);
    if (!json_is_string(content) || json_string_length(content) == 0)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT, "%s: '%s': expected the text of a token",
                          path_of(m, file), key);
    token.name = (char *)json_string_value(content); /* only read */
    token.size = json_string_length(content);
    if (json_is_object(value)) {
        const char *path = path_of(m, file);
        if (!special)
            NVDP_RETURN_IF_FAILED(
                nvdp__json_bool(m->ctx, path, value, "special", false, &token.special));
        NVDP_RETURN_IF_FAILED(
            nvdp__json_bool(m->ctx, path, value, "normalized", !token.special, &token.normalized));
        NVDP_RETURN_IF_FAILED(
            nvdp__json_bool(m->ctx, path, value, "single_word", false, &token.single_word));
        NVDP_RETURN_IF_FAILED(
            nvdp__json_bool(m->ctx, path, value, "lstrip", false, &token.left_spaces));
        NVDP_RETURN_IF_FAILED(
            nvdp__json_bool(m->ctx, path, value, "rstrip", false, &token.right_spaces));
    }
    *out = token;
    return NVDP_OK;
}

/* Adds a token, with a new id if the vocabulary lacks it. `id` is what the file states; negative:
 * nothing. */
static nvdp_status add_token(struct maker *m, enum nvdp__tokenizer_file file,
                             struct nvdp__added_token token, int64_t id) {
    struct nvdp__strings *pieces = &m->made->pieces;
    size_t found = nvdp__strings_find(pieces, token.name, token.size);
    const struct nvdp__field name = {token.name, token.size};
    if (found != SIZE_MAX && id >= 0 && (size_t)id != found)
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: added token %s: expected the id that the vocabulary has, found "
                          "%lld instead of %zu",
                          path_of(m, file), nvdp__quote_field(name).text, (long long)id, found);
    if (found == SIZE_MAX) {
        found = nvdp__max(m->last, m->distinct);
        if ((id >= 0 && (size_t)id != found) || found < pieces->count || found >= MAX_PIECES)
            return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                              "%s: added token %s: expected the next id after the %zu pieces, "
                              "found %lld",
                              path_of(m, file), nvdp__quote_field(name).text, pieces->count,
                              id >= 0 ? (long long)id : (long long)found);
        while (pieces->count < found)
            NVDP_RETURN_IF_FAILED(nvdp__strings_append(pieces, "", 0));
        NVDP_RETURN_IF_FAILED(nvdp__strings_append(pieces, token.name, token.size));
        m->last = found + 1;
        m->made->plain = false;
    }
    token.id = (int32_t)found;
    struct nvdp__normalized normal = {0};
    nvdp_status status = NVDP_OK;
    if (token.normalized && (!m->bpe || m->made->compose)) {
        status = nvdp__normalize(m->ctx, nvdp__normalization_of(m->made), token.name, token.size,
                                 &normal);
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
static nvdp_status add_list(struct maker *m, enum nvdp__tokenizer_file file, const json_t *list,
                            bool sorted) {
    nvdp_status status = NVDP_OK;
    const size_t count = json_array_size(list);
    const json_t **entry = NULL;
    if (count == 0) return NVDP_OK;
    if (count > MAX_NAMES)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: expected at most %d added tokens, found %zu", path_of(m, file),
                          MAX_NAMES, count);
    NVDP_TRY(NVDP__NEW(m->ctx, entry, count));
    for (size_t i = 0; i < count; i++) {
        entry[i] = json_array_get(list, i);
        const json_t *id = json_object_get(entry[i], "id");
        if (json_is_integer(id) && json_integer_value(id) >= 0 &&
            json_is_string(json_object_get(entry[i], "content")))
            continue;
        NVDP_TRY(
            nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                       "%s: 'added_tokens': entry %zu: expected an 'id' and a 'content', found "
                       "none",
                       path_of(m, file), i));
    }
    if (sorted) qsort(entry, count, sizeof *entry, compare_ids);
    for (size_t i = 0; i < count; i++) {
        struct nvdp__added_token token;
        NVDP_TRY(read_token(m, file, "added_tokens", entry[i], false, &token));
        NVDP_TRY(add_token(m, file, token, json_integer_value(json_object_get(entry[i], "id"))));
    }
cleanup:
    free(entry);
    return status;
}

/* The token that a key names: special_tokens_map.json counts before tokenizer_config.json, except
 * where the latter has added_tokens_decoder. NULL: no file has the key. */
static const json_t *named(const struct maker *m, const char *key,
                           enum nvdp__tokenizer_file *file) {
    const json_t *config = root_of(m, NVDP__FILE_CONFIG), *value = NULL;
    *file = NVDP__FILE_SPECIALS;
    if (json_object_get(config, "added_tokens_decoder") == NULL)
        value = json_object_get(root_of(m, *file), key);
    if (value != NULL) return value;
    *file = NVDP__FILE_CONFIG;
    return json_object_get(config, key);
}

static bool has_text(const json_t *token, const char *text) {
    const json_t *content = json_is_object(token) ? json_object_get(token, "content") : token;
    return json_is_string(content) && strcmp(json_string_value(content), text) == 0;
}

/* True if a file names a special token so. */
static bool is_special_name(const struct maker *m, const char *name) {
    static const char *const lists[] = {"extra_special_tokens", "additional_special_tokens"};
    enum nvdp__tokenizer_file file;
    for (int i = 0; i < NAMES; i++) {
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
static nvdp_status add_listed(struct maker *m) {
    nvdp_status status = NVDP_OK;
    const json_t *decoder = json_object_get(root_of(m, NVDP__FILE_CONFIG), "added_tokens_decoder");
    const json_t *added = root_of(m, NVDP__FILE_ADDED);
    const json_t *own = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), "added_tokens");
    const char *key;
    json_t *value, *list = json_array(), *entry = NULL;
    if (list == NULL) return no_memory(m, NVDP__FILE_CONFIG);
    if (decoder == NULL || m->kind == BACKEND)
        NVDP_TRY(add_list(m, NVDP__FILE_TOKENIZER, own, m->kind != BACKEND));
    json_object_foreach((json_t *)(uintptr_t)decoder, key, value) {
        char *end;
        long long id = strtoll(key, &end, 10);
        if (*key < '0' || *key > '9' || *end != '\0' || !json_is_object(value))
            NVDP_TRY(nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                                "%s: 'added_tokens_decoder': expected ids with objects, found "
                                "'%.100s'",
                                path_of(m, NVDP__FILE_CONFIG), key));
        entry = json_copy(value);
        if (entry == NULL || json_object_set_new(entry, "id", json_integer(id)) != 0 ||
            json_array_append(list, entry) != 0)
            NVDP_TRY(no_memory(m, NVDP__FILE_CONFIG));
        json_decref(entry);
        entry = NULL;
    }
    NVDP_TRY(add_list(m, NVDP__FILE_CONFIG, list, true));
    if (decoder != NULL || added == NULL) goto cleanup;
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
    NVDP_TRY(add_list(m, NVDP__FILE_ADDED, list, true));
cleanup:
    json_decref(entry);
    json_decref(list);
    return status;
}

/* Adds a special token, unless its name is an added token already. */
static nvdp_status add_special(struct maker *m, enum nvdp__tokenizer_file file,
                               const struct nvdp__added_token *token) {
    size_t id = nvdp__strings_find(&m->made->pieces, token->name, token->size);
    for (size_t i = 0; i < m->made->added.count; i++) {
        if ((size_t)m->made->added.token[i].id == id) return NVDP_OK;
    }
    return add_token(m, file, *token, -1);
}

/* Adds the tokens of a list or an object. */
static nvdp_status add_extra(struct maker *m, const char *key) {
    enum nvdp__tokenizer_file file;
    const json_t *list = named(m, key, &file);
    struct nvdp__added_token token;
    const char *name;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)list, name, value) {
        NVDP_RETURN_IF_FAILED(read_token(m, file, key, value, true, &token));
        NVDP_RETURN_IF_FAILED(add_special(m, file, &token));
    }
    json_array_foreach(list, i, value) {
        NVDP_RETURN_IF_FAILED(read_token(m, file, key, value, true, &token));
        NVDP_RETURN_IF_FAILED(add_special(m, file, &token));
    }
    return NVDP_OK;
}

/* Finds the special tokens and adds all tokens that texts may name. */
static nvdp_status add_tokens(struct maker *m) {
    const enum nvdp__tokenizer_file from =
        m->source->text[NVDP__FILE_VOCAB_TXT] != NULL    ? NVDP__FILE_VOCAB_TXT
        : m->source->json[NVDP__FILE_VOCAB_JSON] != NULL ? NVDP__FILE_VOCAB_JSON
                                                         : NVDP__FILE_TOKENIZER;
    static const enum kind guesses[] = {BERT, MPNET, ROBERTA};
    const struct nvdp__strings *pieces = &m->made->pieces;
    const char *special[NVDP__SPECIALS];
    struct nvdp__added_token token[NAMES] = {0};
    enum nvdp__tokenizer_file file[NAMES];
    for (int i = 0; i < NAMES; i++) {
        const json_t *value = named(m, name_keys[i], &file[i]);
        const char *usual = usual_names[m->kind][i];
        if (value != NULL && !json_is_null(value)) {
            NVDP_RETURN_IF_FAILED(read_token(m, file[i], name_keys[i], value, true, &token[i]));
        } else if (value == NULL && usual != NULL) {
            token[i] = (struct nvdp__added_token){.name = (char *)usual,
                                                  .size = strlen(usual),
                                                  .special = true,
                                                  .left_spaces = m->kind == MPNET && i == MASK};
            file[i] = from;
        }
    }
    if (m->kind == MPNET && json_is_string(named(m, name_keys[MASK], &file[MASK])))
        token[MASK].left_spaces = true;
    NVDP_RETURN_IF_FAILED(add_listed(m));
    for (int s = 0; s < NVDP__SPECIALS; s++) {
        const enum name name = name_of[s];
        special[s] = token[name].name;
        for (size_t g = 0; special[s] == NULL && g < sizeof guesses / sizeof guesses[0]; g++) {
            const char *guess = usual_names[guesses[g]][name];
            if (nvdp__strings_find(pieces, guess, strlen(guess)) != SIZE_MAX) special[s] = guess;
        }
        if (special[s] == NULL) special[s] = usual_names[BERT][name];
    }
    NVDP_RETURN_IF_FAILED(nvdp__tokenizer_specials(m->ctx, path_of(m, from), special, m->made));
    for (int i = 0; i < NAMES; i++) {
        if (token[i].name != NULL) NVDP_RETURN_IF_FAILED(add_special(m, file[i], &token[i]));
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root_of(m, NVDP__FILE_CONFIG), key, value) {
        const size_t size = strlen(key);
        bool known = size < 6 || strcmp(key + size - 6, "_token") != 0;
        for (int i = 0; i < NAMES; i++)
            known = known || strcmp(key, name_keys[i]) == 0;
        if (known || !json_is_string(value)) continue;
        struct nvdp__added_token other;
        NVDP_RETURN_IF_FAILED(read_token(m, NVDP__FILE_CONFIG, key, value, true, &other));
        NVDP_RETURN_IF_FAILED(add_special(m, NVDP__FILE_CONFIG, &other));
    }
    NVDP_RETURN_IF_FAILED(add_extra(m, "extra_special_tokens"));
    NVDP_RETURN_IF_FAILED(add_extra(m, "additional_special_tokens"));
    for (size_t i = 0; i < m->made->added.count; i++) {
        for (int s = 0; s < NVDP__SPECIALS; s++)
            m->made->added.token[i].special |= m->made->added.token[i].id == m->made->special[s];
    }
    return NVDP_OK;
}

/* ---- vocabularies as JSON ---- */

/* Reads the pieces by their ids, which must be 0 to n - 1, each once. */
static nvdp_status read_pieces(struct nvdp_context *ctx, const char *path, const json_t *vocab,
                               struct nvdp__strings *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__strings pieces = {.ctx = ctx};
    size_t count = json_object_size(vocab), index;
    const char **piece = NULL;
    const char *key;
    json_t *value;
    if (count == 0 || count > MAX_PIECES)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected 1 to %d pieces with their ids, found %zu", path, MAX_PIECES,
                          count);
    NVDP_TRY(NVDP__NEW(ctx, piece, count));
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value) {
        int64_t id;
        struct nvdp__field name = {key, strlen(key)};
        NVDP_TRY(nvdp__json_int_required(ctx, path, vocab, key, 0, (int64_t)count - 1, &id));
        if (piece[id] != NULL)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: %s: expected an id of its own, found %lld, which '%.100s' has",
                                path, nvdp__quote_field(name).text, (long long)id, piece[id]));
        piece[id] = key;
    }
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(nvdp__strings_add(&pieces, piece[i], strlen(piece[i]), &index));
    NVDP__HAND_OVER(out, pieces);
cleanup:
    nvdp__strings_release(&pieces);
    free(piece);
    return status;
}

/* Checks that `section`.`key` of tokenizer.json (`key` NULL: the section itself), if present, is
 * `expected` as JSON: the only setting that is implemented. */
static nvdp_status expect(const struct maker *m, const char *section, const char *key,
                          const char *expected) {
    const json_t *object = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), section);
    const json_t *value = key != NULL ? json_object_get(object, key) : object;
    char *found = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    nvdp_status status = NVDP_OK;
    if (found != NULL && strcmp(found, expected) != 0)
        status = nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: '%s%s%s': expected %s, found %.100s",
                            path_of(m, NVDP__FILE_TOKENIZER), section, key != NULL ? "." : "",
                            key != NULL ? key : "", expected, found);
    free(found);
    return status;
}

static nvdp_status expect_all(const struct maker *m, const char *const expected[][3],
                              size_t count) {
    for (size_t i = 0; i < count; i++)
        NVDP_RETURN_IF_FAILED(expect(m, expected[i][0], expected[i][1], expected[i][2]));
    return NVDP_OK;
}

/* Checks that a required section of tokenizer.json has the type. */
static nvdp_status require_type(const struct maker *m, const char *section, const char *type) {
    const char *found = json_string_value(
        json_object_get(json_object_get(root_of(m, NVDP__FILE_TOKENIZER), section), "type"));
    if (found != NULL && strcmp(found, type) == 0) return NVDP_OK;
    return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: '%s': expected type %s, found %.100s",
                      path_of(m, NVDP__FILE_TOKENIZER), section, type,
                      found != NULL ? found : "none");
}

/* The pieces of tokenizer.json, whose model must have the type (or none, as in older files). */
static nvdp_status read_model(const struct maker *m, const char *type, const json_t **model) {
    const char *path = path_of(m, NVDP__FILE_TOKENIZER);
    *model = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), "model");
    const char *found = json_string_value(json_object_get(*model, "type"));
    const json_t *vocab = json_object_get(*model, "vocab");
    if (found == NULL || strcmp(found, type) != 0)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: 'model.type': expected %s, found %.100s", path, type,
                          found != NULL ? found : "none");
    if (!json_is_object(vocab))
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: 'model.vocab': expected 1 to %d pieces with their ids, found none",
                          path, MAX_PIECES);
    return read_pieces(m->ctx, path, vocab, &m->made->pieces);
}

/* ---- WordPiece ---- */

/* Counts the distinct strings of the vocabulary, and drops empty ones at its end. */
static void settle_pieces(struct maker *m) {
    struct nvdp__strings *pieces = &m->made->pieces;
    size_t empty = 0;
    m->distinct = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const size_t bytes = pieces->start[i + 1] - pieces->start[i] - 1;
        m->distinct += pieces->text[pieces->start[i]] != '\0';
        empty |= bytes == 0;
    }
    m->distinct += empty;
    while (pieces->text[pieces->start[pieces->count - 1]] == '\0')
        pieces->count--;
    m->made->vocabulary = pieces->count;
}

/* Returns true if vocab.txt stands alone, as BERT was published in 2018, without a file of transformers. Then
 * the tokenizer of that publication counts: words of up to 200 characters, final sigmas, names of
 * special tokens as text, and pairs that lose one token at a time. */
static bool as_published(const struct maker *m) {
    bool other = m->kind != BERT;
    for (int i = 0; i < NVDP__FILE_MODEL; i++)
        other |= i != NVDP__FILE_VOCAB_TXT && i != NVDP__FILE_SENTENCE &&
                 (m->source->json[i] != NULL || m->source->text[i] != NULL);
    return !other;
}

static nvdp_status make_wordpiece(struct maker *m) {
    static const char *const expected[][3] = {{"model", "continuing_subword_prefix", "\"##\""},
                                              {"normalizer", "clean_text", "true"}};
    const bool backend = m->kind == BACKEND;
    const enum nvdp__tokenizer_file from = backend ? NVDP__FILE_TOKENIZER : NVDP__FILE_CONFIG;
    const json_t *model = NULL, *json = root_of(m, NVDP__FILE_TOKENIZER);
    const json_t *rules = backend ? json_object_get(json, "normalizer") : root_of(m, from);
    const char *path = path_of(m, from);
    struct nvdp__normalization normalization = {.published = as_published(m)};
    int64_t longest = normalization.published ? NVDP__WORD_CHARACTERS : NVDP__USUAL_WORD_CHARACTERS;
    bool lower;
    if (json == NULL) {
        NVDP_RETURN_IF_FAILED(nvdp__vocabulary_parse(
            m->ctx, path_of(m, NVDP__FILE_VOCAB_TXT), m->source->text[NVDP__FILE_VOCAB_TXT],
            m->source->size[NVDP__FILE_VOCAB_TXT], &m->made->pieces));
    } else {
        if (backend) {
            NVDP_RETURN_IF_FAILED(require_type(m, "normalizer", "BertNormalizer"));
            NVDP_RETURN_IF_FAILED(require_type(m, "pre_tokenizer", "BertPreTokenizer"));
            NVDP_RETURN_IF_FAILED(expect_all(m, expected, sizeof expected / sizeof expected[0]));
        }
        NVDP_RETURN_IF_FAILED(read_model(m, "WordPiece", &model));
        if (backend)
            NVDP_RETURN_IF_FAILED(nvdp__json_int(
                m->ctx, path_of(m, NVDP__FILE_TOKENIZER), model, "max_input_chars_per_word",
                NVDP__USUAL_WORD_CHARACTERS, 1, NVDP__WORD_CHARACTERS, &longest));
    }
    settle_pieces(m);
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(m->ctx, path, rules,
                                          backend ? "lowercase" : "do_lower_case", true,
                                          &normalization.lower_case));
    /* by default (or if null), accents are stripped together with lower-casing */
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(m->ctx, path, rules, "strip_accents",
                                          normalization.lower_case, &normalization.strip_accents));
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(
        m->ctx, path, rules, backend ? "handle_chinese_chars" : "tokenize_chinese_chars", true,
        &normalization.chinese_characters));
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(m->ctx, path_of(m, NVDP__FILE_SENTENCE),
                                          root_of(m, NVDP__FILE_SENTENCE), "do_lower_case", false,
                                          &lower));
    m->made->plain = !backend && (!lower || normalization.lower_case);
    normalization.lower_case |= lower;
    m->made->rules = nvdp__word_rules(&normalization);
    m->made->longest_word = (size_t)longest;
    NVDP_RETURN_IF_FAILED(add_tokens(m));
    const json_t *unknown = json_object_get(model, "unk_token");
    if (!backend || unknown == NULL) return NVDP_OK;
    const char *name = json_is_string(unknown) ? json_string_value(unknown) : "";
    m->made->special[NVDP_TOKEN_UNK] = nvdp_tokenizer_find(m->made, name);
    return m->made->special[NVDP_TOKEN_UNK] >= 0
               ? NVDP_OK
               : refuse(m, NVDP__FILE_TOKENIZER, "model.unk_token", "a piece of the vocabulary",
                        unknown);
}

/* ---- byte-level BPE ---- */

/* The merges in the form of merges.txt, from entries "a b" or ["a", "b"]; free() it. */
static nvdp_status merges_text(const struct maker *m, const json_t *merges, char **out,
                               size_t *size) {
    struct nvdp_context *ctx = m->ctx;
    size_t index, capacity = 0, used = 0;
    const json_t *entry;
    char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &text, &capacity, 1, 1));
    json_array_foreach(merges, index, entry) {
        const char *left =
            json_string_value(json_is_array(entry) ? json_array_get(entry, 0) : entry);
        const char *right = json_string_value(json_array_get(entry, 1));
        nvdp_status status = NVDP_OK;
        if (left == NULL ||
            (json_is_array(entry) && (right == NULL || json_array_size(entry) != 2)))
            status = nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: 'model.merges': entry %zu: expected a pair "
                                "of pieces, found something else",
                                path_of(m, NVDP__FILE_TOKENIZER), index);
        size_t need =
            status != NVDP_OK ? 0 : strlen(left) + (right != NULL ? strlen(right) : 0) + 3;
        if (status == NVDP_OK) status = nvdp__reserve(ctx, &text, &capacity, used + need, 1);
        if (status != NVDP_OK) {
            free(text);
            return status;
        }
        used += (size_t)nvdp__snprintf(text + used, need, "%s%s%s\n", left,
                                       right != NULL ? " " : "", right != NULL ? right : "");
    }
    *out = text;
    *size = used;
    return NVDP_OK;
}

static nvdp_status bpe_of_json(struct maker *m) {
    static const char *const expected[][3] = {
        {"pre_tokenizer", "use_regex", "true"},
        {"model", "byte_fallback", "false"},
        {"model", "ignore_merges", "false"},
        {"model", "dropout", "null"},
    };
    nvdp_status status = NVDP_OK;
    const json_t *model;
    const char *path = path_of(m, NVDP__FILE_TOKENIZER);
    char *merges = NULL, *merges_path = NULL;
    size_t size;
    if (m->kind == BACKEND) {
        const json_t *normalizer = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), "normalizer");
        const char *type = json_string_value(json_object_get(normalizer, "type"));
        m->made->compose = type != NULL && strcmp(type, "NFC") == 0;
        if (!m->made->compose && normalizer != NULL && !json_is_null(normalizer))
            NVDP_TRY(
                refuse(m, NVDP__FILE_TOKENIZER, "normalizer", "null or NFC with BPE", normalizer));
        NVDP_TRY(require_type(m, "pre_tokenizer", "ByteLevel"));
        NVDP_TRY(expect_all(m, expected, sizeof expected / sizeof expected[0]));
    }
    NVDP_TRY(read_model(m, "BPE", &model));
    NVDP_TRY(merges_text(m, json_object_get(model, "merges"), &merges, &size));
    merges_path = nvdp__format(m->ctx, "%s: 'model.merges'", path);
    NVDP_TRY(NVDP__MADE(merges_path));
    NVDP_TRY(
        nvdp__bpe_create(m->ctx, path, &m->made->pieces, merges_path, merges, size, &m->made->bpe));
cleanup:
    free(merges);
    free(merges_path);
    return status;
}

static nvdp_status make_bpe(struct maker *m) {
    bool set = false;
    const bool backend = m->kind == BACKEND;
    const enum nvdp__tokenizer_file from = backend ? NVDP__FILE_TOKENIZER : NVDP__FILE_CONFIG;
    const json_t *spaces = root_of(m, from);
    if (backend) spaces = json_object_get(spaces, "pre_tokenizer");
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(m->ctx, path_of(m, from), spaces, "add_prefix_space",
                                          backend, &m->made->prefix_space));
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(m->ctx, path_of(m, NVDP__FILE_SENTENCE),
                                          root_of(m, NVDP__FILE_SENTENCE), "do_lower_case", false,
                                          &set));
    if (set)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: 'do_lower_case': expected false with byte-level BPE, found true",
                          path_of(m, NVDP__FILE_SENTENCE));
    if (root_of(m, NVDP__FILE_TOKENIZER) != NULL) {
        NVDP_RETURN_IF_FAILED(bpe_of_json(m));
    } else {
        NVDP_RETURN_IF_FAILED(read_pieces(m->ctx, path_of(m, NVDP__FILE_VOCAB_JSON),
                                          root_of(m, NVDP__FILE_VOCAB_JSON), &m->made->pieces));
        m->distinct = m->made->pieces.count;
        NVDP_RETURN_IF_FAILED(add_tokens(m));
        return nvdp__bpe_create(m->ctx, path_of(m, NVDP__FILE_VOCAB_JSON), &m->made->pieces,
                                path_of(m, NVDP__FILE_MERGES), m->source->text[NVDP__FILE_MERGES],
                                m->source->size[NVDP__FILE_MERGES], &m->made->bpe);
    }
    m->distinct = m->made->pieces.count;
    return add_tokens(m);
}

/* ---- tokenizer.json: the special tokens around a text ---- */

/* The single id of a special token of a template; -1: there is none. */
static int64_t id_of_template(const json_t *processor, const char *name) {
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(processor, "special_tokens"), name), "ids");
    return json_array_size(ids) == 1 ? json_integer_value(json_array_get(ids, 0)) : -1;
}

/* One part of a template: the id of a special token, or -2 for text A and -3 for text B. */
static int64_t part_of_template(const json_t *processor, const json_t *template, size_t i,
                                int64_t *type) {
    const json_t *entry = json_array_get(template, i);
    const json_t *special = json_object_get(entry, "SpecialToken");
    const json_t *one = special != NULL ? special : json_object_get(entry, "Sequence");
    const char *name = json_string_value(json_object_get(one, "id"));
    *type = json_integer_value(json_object_get(one, "type_id"));
    if (name == NULL) return -1;
    if (special != NULL) return id_of_template(processor, name);
    return strcmp(name, "A") == 0 ? -2 : strcmp(name, "B") == 0 ? -3 : -1;
}

/* Reads [CLS] A [SEP] and [CLS] A [SEP] (once or twice) B [SEP]. Returns false for other ones. */
static bool read_template(const json_t *processor, struct nvdp_tokenizer *made) {
    const json_t *single = json_object_get(processor, "single");
    const json_t *pair = json_object_get(processor, "pair");
    const size_t parts = json_array_size(pair);
    int64_t type, second_type = 0, id[6];
    const int64_t cls = part_of_template(processor, single, 0, &type);
    const int64_t sep = part_of_template(processor, single, 2, &type);
    if (json_array_size(single) != 3 || cls < 0 || sep < 0 || (parts != 5 && parts != 6) ||
        part_of_template(processor, single, 1, &type) != -2)
        return false;
    for (size_t i = 0; i < 3; i++) {
        part_of_template(processor, single, i, &type);
        if (type != 0) return false;
    }
    for (size_t i = 0; i < parts; i++) {
        id[i] = part_of_template(processor, pair, i, &type);
        const bool second = i + 2 >= parts;
        if (second && i + 2 == parts) second_type = type;
        if (type != (second ? second_type : 0)) return false;
    }
    if (id[0] != cls || id[1] != -2 || id[2] != sep || (parts == 6 && id[3] != sep) ||
        id[parts - 2] != -3 || id[parts - 1] != sep || second_type > 1)
        return false;
    made->special[NVDP_TOKEN_CLS] = (int32_t)cls;
    made->special[NVDP_TOKEN_SEP] = (int32_t)sep;
    made->separators = parts - 4;
    made->types = second_type == 1;
    return true;
}

/* Reads the special tokens around a text. */
static nvdp_status read_frame(struct maker *m) {
    const json_t *whole = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), "post_processor");
    const json_t *processor = whole, *list = json_object_get(whole, "processors"), *one;
    struct nvdp_tokenizer *made = m->made;
    bool read = false;
    size_t i, used = 0;
    json_array_foreach(list, i, one) { /* ByteLevel has no effect on ids */
        const char *type = json_string_value(json_object_get(one, "type"));
        if (type == NULL || strcmp(type, "ByteLevel") == 0) continue;
        processor = one;
        used++;
    }
    const char *type = json_string_value(json_object_get(processor, "type"));
    if (type != NULL && used <= 1 && strcmp(type, "TemplateProcessing") == 0) {
        read = read_template(processor, made);
    } else if (type != NULL && used <= 1 &&
               (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)) {
        const json_t *cls = json_array_get(json_object_get(processor, "cls"), 1);
        const json_t *sep = json_array_get(json_object_get(processor, "sep"), 1);
        read = json_is_integer(cls) && json_is_integer(sep);
        made->special[NVDP_TOKEN_CLS] = (int32_t)json_integer_value(cls);
        made->special[NVDP_TOKEN_SEP] = (int32_t)json_integer_value(sep);
        made->types = type[0] == 'B';
        made->separators = made->types ? 1 : 2;
    }
    for (int s = NVDP_TOKEN_CLS; read && s <= NVDP_TOKEN_SEP; s++)
        read = nvdp_tokenizer_piece(made, made->special[s]) != NULL;
    if (read) return NVDP_OK;
    return refuse(m, NVDP__FILE_TOKENIZER, "post_processor",
                  "BertProcessing, RobertaProcessing, or TemplateProcessing with [CLS] A [SEP] and "
                  "[CLS] A [SEP] B [SEP], where [SEP] may be twice after A",
                  whole);
}

/* ---- the whole ---- */

/* The class whose rules apply. */
static enum kind kind_of_files(enum kind stated, const bool files[NVDP__TOKENIZER_FILES]) {
    if (stated != NO_KIND) return stated;
    if (files[NVDP__FILE_TOKENIZER]) return BACKEND;
    return files[NVDP__FILE_VOCAB_TXT] ? BERT : ROBERTA;
}

/* Refuses keys whose values would change ids, except those that the program obeys. */
static nvdp_status check_keys(const struct maker *m) {
    static const char *const right = "right, since texts lose tokens at their end";
    const json_t *config = root_of(m, NVDP__FILE_CONFIG), *entry;
    const json_t *side = json_object_get(config, "truncation_side");
    const json_t *truncation = json_object_get(root_of(m, NVDP__FILE_TOKENIZER), "truncation");
    const json_t *direction = json_object_get(truncation, "direction");
    size_t i;
    if (json_is_string(side) && strcmp(json_string_value(side), "right") != 0)
        return refuse(m, NVDP__FILE_CONFIG, "truncation_side", right, side);
    if (side == NULL && json_is_string(direction) &&
        strcmp(json_string_value(direction), "Right") != 0)
        return refuse(m, NVDP__FILE_TOKENIZER, "truncation.direction", right, direction);
    json_array_foreach(json_object_get(config, "fast_tokenizer_files"), i, entry) {
        if (json_is_string(entry) && strcmp(json_string_value(entry), "tokenizer.json") != 0)
            return refuse(m, NVDP__FILE_CONFIG, "fast_tokenizer_files", "tokenizer.json alone",
                          entry);
    }
    return NVDP_OK;
}

nvdp_status nvdp__tokenizer_of_source(struct nvdp_context *ctx,
                                      const struct nvdp__tokenizer_source *source,
                                      struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct maker m = {.ctx = ctx, .source = source};
    const json_t *json = source->json[NVDP__FILE_TOKENIZER];
    const char *class,
        *type = json_string_value(json_object_get(json_object_get(json, "model"), "type"));
    NVDP_TRY(NVDP__NEW(ctx, m.made, 1));
    NVDP_TRY(find_class(&m, &class));
    const bool files[NVDP__TOKENIZER_FILES] = {[NVDP__FILE_TOKENIZER] = json != NULL,
                                               [NVDP__FILE_VOCAB_TXT] =
                                                   source->text[NVDP__FILE_VOCAB_TXT] != NULL};
    m.kind = kind_of_files(m.kind, files);
    NVDP_TRY(check_keys(&m));
    m.made->separators = m.kind == MPNET || m.kind == ROBERTA ? 2 : 1;
    m.made->types = m.kind == BERT;
    m.bpe = m.kind == ROBERTA || (m.kind == BACKEND && type != NULL && strcmp(type, "BPE") == 0);
    if (m.kind == BACKEND && !m.bpe && (type == NULL || strcmp(type, "WordPiece") != 0))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                            "%s: 'model.type': expected WordPiece or BPE, found %.100s",
                            source->path[NVDP__FILE_TOKENIZER], type != NULL ? type : "none"));
    NVDP_TRY(m.bpe ? make_bpe(&m) : make_wordpiece(&m));
    if (m.kind == BACKEND) NVDP_TRY(read_frame(&m));
    NVDP_TRY(nvdp__json_bool(ctx, source->path[NVDP__FILE_CONFIG], source->json[NVDP__FILE_CONFIG],
                             "split_special_tokens", false, &m.made->names_are_text));
    m.made->plain = m.made->plain && m.kind == BERT && !m.made->names_are_text;
    m.made->names_are_text = m.made->names_are_text || as_published(&m);
    nvdp__tokenizer_finish(m.made);
    NVDP__HAND_OVER(out, m.made);
cleanup:
    nvdp_tokenizer_free(m.made);
    return status;
}

/* ---- a folder ---- */

static void close_source(struct nvdp__tokenizer_source *source) {
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++) {
        free(source->path[i]);
        free(source->text[i]);
        json_decref(source->json[i]);
    }
}

/* Fails because a folder has no vocabulary of the kind: names what is there. */
static nvdp_status fail_missing(struct nvdp_context *ctx, const char *directory, enum kind kind,
                                const char *class) {
    static const char *const wanted[] = {
        [NO_KIND] = ("vocab.txt, or vocab.json and merges.txt, or tokenizer.json (beside "
                     "config.json and model.safetensors)"),
        [BERT] = "vocab.txt or tokenizer.json",
        [MPNET] = "vocab.txt or tokenizer.json",
        [ROBERTA] = "vocab.json and merges.txt, or tokenizer.json",
        [BACKEND] = "tokenizer.json"};
    static const char *const others[] = {"tokenizer.json",  "vocab.txt",
                                         "vocab.json",      "merges.txt",
                                         "tokenizer.model", "sentencepiece.bpe.model",
                                         "spiece.model",    "spm.model",
                                         "tiktoken.model",  "vocab.bpe"};
    char found[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *path = nvdp__model_path(ctx, directory, others[i]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        if (nvdp__exists(path))
            used += (size_t)nvdp__snprintf(found + used, sizeof found - used, "%s%s",
                                           used > 0 ? ", " : "", others[i]);
        free(path);
    }
    const char *next = "";
    if (strstr(found, ".model") != NULL)
        next = ": SentencePiece is not supported; use an encoder with WordPiece or byte-level BPE";
    else if (used > 0)
        next = ": AutoTokenizer.from_pretrained(folder).save_pretrained(folder) of transformers "
               "writes tokenizer.json";
    return nvdp__fail(ctx, NVDP_ERR_IO, "%s: expected %s%s%s, found %s%s", directory, wanted[kind],
                      class != NULL ? " for the tokenizer class " : "", class != NULL ? class : "",
                      used > 0 ? found : "none", next);
}

/* Reads the files of a folder except the vocabulary, and sets `files` to those of the tokenizer. */
static nvdp_status open_folder(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__tokenizer_source *source,
                               bool files[NVDP__TOKENIZER_FILES], enum kind *kind) {
    struct maker m = {.ctx = ctx, .source = source};
    const char *class;
    NVDP_RETURN_IF_FAILED(nvdp__model_folder(ctx, directory));
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++) {
        source->path[i] = nvdp__model_path(ctx, directory, nvdp__tokenizer_file_names[i]);
        if (source->path[i] == NULL) return NVDP_ERR_MEMORY;
        files[i] = nvdp__exists(source->path[i]);
        if (i >= NVDP__FILE_CONFIG && files[i])
            NVDP_RETURN_IF_FAILED(nvdp__json_read(ctx, source->path[i], &source->json[i]));
    }
    NVDP_RETURN_IF_FAILED(find_class(&m, &class));
    *kind = m.kind;
    const bool text = !files[NVDP__FILE_TOKENIZER] && m.kind != BACKEND;
    files[NVDP__FILE_VOCAB_TXT] &= text && m.kind != ROBERTA;
    files[NVDP__FILE_VOCAB_JSON] &=
        text && m.kind != BERT && m.kind != MPNET && !files[NVDP__FILE_VOCAB_TXT];
    files[NVDP__FILE_MERGES] = files[NVDP__FILE_VOCAB_JSON]; /* reading it names it if missing */
    if (files[NVDP__FILE_TOKENIZER] || files[NVDP__FILE_VOCAB_TXT] || files[NVDP__FILE_VOCAB_JSON])
        return NVDP_OK;
    return fail_missing(ctx, directory, m.kind, class);
}

nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1],
                                  const char **class) {
    static const char *const names[] = {[BERT] = "BertTokenizer",
                                        [MPNET] = "MPNetTokenizer",
                                        [ROBERTA] = "RobertaTokenizer",
                                        [BACKEND] = "PreTrainedTokenizerFast"};
    struct nvdp__tokenizer_source source = {0};
    bool there[NVDP__TOKENIZER_FILES] = {0};
    size_t count = 0;
    enum kind kind = NO_KIND;
    nvdp_status status = open_folder(ctx, directory, &source, there, &kind);
    const bool lower =
        json_is_true(json_object_get(source.json[NVDP__FILE_SENTENCE], "do_lower_case"));
    for (int i = 0; status == NVDP_OK && i < NVDP__FILE_MODEL; i++) {
        const bool exists = there[i] || nvdp__exists(source.path[i]);
        if (exists && (i != NVDP__FILE_SENTENCE || lower))
            files[count++] = nvdp__tokenizer_file_names[i];
    }
    files[count] = NULL;
    *class = json_is_string(json_object_get(source.json[NVDP__FILE_CONFIG], "tokenizer_class"))
                 ? NULL
                 : names[kind_of_files(kind, there)];
    close_source(&source);
    return status;
}

nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__tokenizer_source source = {0};
    bool files[NVDP__TOKENIZER_FILES] = {0};
    enum kind kind;
    NVDP_TRY(open_folder(ctx, directory, &source, files, &kind));
    for (int i = 0; i < NVDP__FILE_CONFIG; i++) {
        if (!files[i]) continue;
        const bool text = i == NVDP__FILE_VOCAB_TXT || i == NVDP__FILE_MERGES;
        NVDP_TRY(text ? nvdp__read_file(ctx, source.path[i], FILE_LIMIT, &source.text[i],
                                        &source.size[i])
                      : nvdp__json_read(ctx, source.path[i], &source.json[i]));
    }
    NVDP_TRY(nvdp__tokenizer_of_source(ctx, &source, out));
cleanup:
    close_source(&source);
    return status;
}
