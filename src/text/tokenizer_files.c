/* Loads a tokenizer from the files of a Hugging Face directory: vocab.txt (WordPiece),
 * vocab.json and merges.txt (byte-level BPE), or tokenizer.json, which has either.
 * tokenizer_config.json names the special tokens and WordPiece's normalization. Start with
 * nvdp_tokenizer_load at the end. */
#include "text/tokenizer.h"

#include "base/file.h"
#include "base/json.h"
#include "text/sentence.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30 /* bytes */, FAST_WORD_CHARACTERS = 100, MAX_PIECES = 1 << 24 };

static const char *const roberta_names[NVDP__SPECIALS] = {"<pad>", "<unk>", "<s>", "</s>",
                                                          "<mask>"};

/* ---- choice of the files ---- */

nvdp_status nvdp__tokenizer_files(struct nvdp_context *ctx, const char *directory,
                                  const char *files[NVDP__TOKENIZER_FILES + 1]) {
    static const char *const sources[][NVDP__TOKENIZER_FILES + 1] = {
        {"vocab.txt"}, {"vocab.json", "merges.txt"}, {"tokenizer.json"}};
    NVDP_RETURN_IF_FAILED(nvdp__model_folder(ctx, directory));
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        char *path = nvdp__model_path(ctx, directory, sources[i][0]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        bool there = nvdp__exists(path);
        free(path);
        if (!there) continue;
        memcpy(files, sources[i], sizeof sources[i]);
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_IO,
                      "%s: expected vocab.txt, or vocab.json and merges.txt, or tokenizer.json "
                      "(beside config.json and model.safetensors), found none",
                      directory);
}

/* ---- tokenizer_config.json ---- */

/* Reads a special token: a string, or an object with the string as "content". `config` NULL:
 * keeps the default. */
static nvdp_status read_special(struct nvdp_context *ctx, const char *path, const json_t *config,
                                int which, const char **name) {
    const char *key = nvdp__special_keys[which];
    const json_t *value = json_object_get(config, key);
    if (!json_is_object(value)) return nvdp__json_string(ctx, path, config, key, *name, name);
    const json_t *content = json_object_get(value, "content");
    if (!json_is_string(content))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected a string as its 'content'", path,
                          key);
    *name = json_string_value(content);
    return NVDP_OK;
}

/* On entry `special` holds the defaults; found names replace them and point into `config`. */
static nvdp_status read_specials(struct nvdp_context *ctx, const char *path, const json_t *config,
                                 const char *special[NVDP__SPECIALS]) {
    for (int i = 0; i < NVDP__SPECIALS; i++)
        NVDP_RETURN_IF_FAILED(read_special(ctx, path, config, i, &special[i]));
    return NVDP_OK;
}

static nvdp_status read_rules(struct nvdp_context *ctx, const char *path, const json_t *config,
                              struct nvdp__normalization *rules) {
    NVDP_RETURN_IF_FAILED(
        nvdp__json_bool(ctx, path, config, "do_lower_case", true, &rules->lower_case));
    /* by default (or if null), accents are stripped together with lower-casing */
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, config, "strip_accents", rules->lower_case,
                                          &rules->strip_accents));
    return nvdp__json_bool(ctx, path, config, "tokenize_chinese_chars", true,
                           &rules->chinese_characters);
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
    json_object_foreach((json_t *)vocab, key, value) {
        int64_t id;
        struct nvdp__field name = {key, strlen(key)};
        NVDP_TRY(nvdp__json_int_required(ctx, path, vocab, key, 0, (int64_t)count - 1, &id));
        if (piece[id] != NULL)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: %s: expected an id of its own, found %lld, which '%.100s' has",
                                path, nvdp__quote_field(name).text, (long long)id, piece[id]));
        if (name.size == 0)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: piece %lld: expected text, found none",
                                path, (long long)id));
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

static void digest_pieces(struct nvdp__digest *digest, const struct nvdp_tokenizer *tokenizer) {
    const struct nvdp__strings *pieces = &tokenizer->pieces;
    nvdp__digest_begin(digest);
    nvdp__digest_bytes(digest, pieces->text, pieces->start[pieces->count]);
    for (int i = 0; i < NVDP__SPECIALS; i++)
        nvdp__digest_number(digest, (uint64_t)tokenizer->special[i]);
}

/* Builds BPE from pieces, merges and special tokens. `added`: further tokens that texts may
 * name, as in tokenizer.json; NULL: none. */
static nvdp_status make_bpe(struct nvdp_context *ctx, const char *path, const json_t *vocab,
                            const char *merges_path, const char *merges, size_t count,
                            const char *config_path, const json_t *config, const json_t *added,
                            struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__digest digest;
    const char *special[NVDP__SPECIALS];
    memcpy(special, roberta_names, sizeof special);
    struct nvdp_tokenizer *tokenizer = nvdp__calloc(ctx, 1, sizeof *tokenizer);
    if (tokenizer == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(read_specials(ctx, config_path, config, special));
    NVDP_TRY(read_pieces(ctx, path, vocab, &tokenizer->pieces));
    NVDP_TRY(nvdp__tokenizer_specials(ctx, path, special, tokenizer));
    NVDP_TRY(nvdp__bpe_create(ctx, path, &tokenizer->pieces, merges_path, merges, count,
                              &tokenizer->bpe));
    digest_pieces(&digest, tokenizer);
    nvdp__digest_bytes(&digest, merges, count);
    size_t index;
    const json_t *entry;
    json_array_foreach(added, index, entry) {
        struct nvdp__added_token token = {
            .left_spaces = json_is_true(json_object_get(entry, "lstrip")),
            .right_spaces = json_is_true(json_object_get(entry, "rstrip"))};
        const char *name = json_string_value(json_object_get(entry, "content"));
        if (json_is_true(json_object_get(entry, "single_word")))
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                                "%s: added token '%.100s': 'single_word': expected false, found "
                                "true",
                                path, name));
        token.id = nvdp_tokenizer_find(tokenizer, name);
        NVDP_TRY(nvdp__bpe_add(ctx, tokenizer->bpe, &tokenizer->pieces, token));
    }
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        const json_t *strip =
            json_object_get(json_object_get(config, nvdp__special_keys[i]), "lstrip");
        struct nvdp__added_token token = {.id = tokenizer->special[i],
                                          .left_spaces = strip != NULL ? json_is_true(strip)
                                                                       : i == NVDP_TOKEN_MASK};
        NVDP_TRY(nvdp__bpe_add(ctx, tokenizer->bpe, &tokenizer->pieces, token));
    }
    for (size_t i = 0; i < tokenizer->bpe->added_count; i++) {
        nvdp__digest_number(&digest, (uint64_t)tokenizer->bpe->added[i].id);
        nvdp__digest_number(&digest, tokenizer->bpe->added[i].left_spaces);
        nvdp__digest_number(&digest, tokenizer->bpe->added[i].right_spaces);
    }
    nvdp__digest_end(&digest, tokenizer->digest);
    NVDP__HAND_OVER(out, tokenizer);
cleanup:
    nvdp_tokenizer_free(tokenizer);
    return status;
}

nvdp_status nvdp__tokenizer_of_vocab_json(struct nvdp_context *ctx, const char *path,
                                          const json_t *vocab, const char *merges_path,
                                          const char *merges, size_t count, const char *config_path,
                                          const json_t *config, struct nvdp_tokenizer **out) {
    bool prefix;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_bool(ctx, config_path, config, "add_prefix_space", false, &prefix));
    if (prefix)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: 'add_prefix_space': expected false, found true", config_path);
    return make_bpe(ctx, path, vocab, merges_path, merges, count, config_path, config, NULL, out);
}

/* ---- tokenizer.json ---- */

struct document {
    struct nvdp_context *ctx;
    const char *path;
    const json_t *root;
};

/* Checks that `section`.`key` (`key` NULL: the section itself), if present, is `expected` as
 * JSON: the only setting that is implemented. */
static nvdp_status expect(const struct document *document, const char *section, const char *key,
                          const char *expected) {
    const json_t *object = json_object_get(document->root, section);
    const json_t *value = key != NULL ? json_object_get(object, key) : object;
    char *found = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    nvdp_status status = NVDP_OK;
    if (found != NULL && strcmp(found, expected) != 0)
        status = nvdp__fail(document->ctx, NVDP_ERR_UNSUPPORTED,
                            "%s: '%s%s%s': expected %s, found %.100s", document->path, section,
                            key != NULL ? "." : "", key != NULL ? key : "", expected, found);
    free(found);
    return status;
}

static nvdp_status expect_all(const struct document *document, const char *const expected[][3],
                              size_t count) {
    for (size_t i = 0; i < count; i++)
        NVDP_RETURN_IF_FAILED(expect(document, expected[i][0], expected[i][1], expected[i][2]));
    return NVDP_OK;
}

/* Checks that a required section has the type. */
static nvdp_status require_type(const struct document *document, const char *section,
                                const char *type) {
    const char *found =
        json_string_value(json_object_get(json_object_get(document->root, section), "type"));
    if (found != NULL && strcmp(found, type) == 0) return NVDP_OK;
    return nvdp__fail(document->ctx, NVDP_ERR_UNSUPPORTED,
                      "%s: '%s': expected type %s, found %.100s", document->path, section, type,
                      found != NULL ? found : "none");
}

/* The pieces in the form of vocab.txt; free() it. */
static nvdp_status vocabulary_text(struct nvdp_context *ctx, const struct nvdp__strings *pieces,
                                   char **out, size_t *size) {
    *size = pieces->start[pieces->count];
    char *text = nvdp__calloc(ctx, *size + 1, 1);
    if (text == NULL) return NVDP_ERR_MEMORY;
    memcpy(text, pieces->text, *size);
    for (size_t i = 1; i <= pieces->count; i++)
        text[pieces->start[i] - 1] = '\n';
    *out = text;
    return NVDP_OK;
}

static nvdp_status wordpiece_of_json(const struct document *document, const json_t *model,
                                     const char *config_path, const json_t *config,
                                     struct nvdp_tokenizer **out) {
    static const char *const expected[][3] = {{"model", "continuing_subword_prefix", "\"##\""},
                                              {"normalizer", "clean_text", "true"}};
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = document->ctx;
    struct nvdp__normalization rules;
    struct nvdp__strings pieces = {0};
    const char *special[NVDP__SPECIALS];
    char *text = NULL;
    size_t size;
    int64_t longest;
    const json_t *normalizer = json_object_get(document->root, "normalizer");
    memcpy(special, nvdp__special_names, sizeof special);
    NVDP_TRY(require_type(document, "normalizer", "BertNormalizer"));
    NVDP_TRY(require_type(document, "pre_tokenizer", "BertPreTokenizer"));
    NVDP_TRY(expect_all(document, expected, sizeof expected / sizeof expected[0]));
    NVDP_TRY(
        nvdp__json_bool(ctx, document->path, normalizer, "lowercase", true, &rules.lower_case));
    NVDP_TRY(nvdp__json_bool(ctx, document->path, normalizer, "strip_accents", rules.lower_case,
                             &rules.strip_accents));
    NVDP_TRY(nvdp__json_bool(ctx, document->path, normalizer, "handle_chinese_chars", true,
                             &rules.chinese_characters));
    NVDP_TRY(nvdp__json_int(ctx, document->path, model, "max_input_chars_per_word",
                            FAST_WORD_CHARACTERS, 1, NVDP__WORD_CHARACTERS, &longest));
    NVDP_TRY(read_specials(ctx, config_path, config, special));
    NVDP_TRY(read_pieces(ctx, document->path, json_object_get(model, "vocab"), &pieces));
    NVDP_TRY(vocabulary_text(ctx, &pieces, &text, &size));
    NVDP_TRY(nvdp__tokenizer_create(ctx, document->path, text, size, special, &rules, out));
    (*out)->longest_word = (size_t)longest;
cleanup:
    nvdp__strings_release(&pieces);
    free(text);
    return status;
}

/* The merges in the form of merges.txt, from entries "a b" or ["a", "b"]; free() it. */
static nvdp_status merges_text(const struct document *document, const json_t *merges, char **out,
                               size_t *size) {
    struct nvdp_context *ctx = document->ctx;
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
                                document->path, index);
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

/* The vocabulary with added tokens after its pieces; json_decref() it. */
static nvdp_status with_added(const struct document *document, const json_t *vocab,
                              const json_t *added, json_t **out) {
    struct nvdp_context *ctx = document->ctx;
    nvdp_status status = NVDP_OK;
    size_t index;
    const json_t *entry;
    if (!json_is_object(vocab))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'model.vocab': expected pieces with "
                          "their ids, found none",
                          document->path);
    json_t *all = json_copy((json_t *)vocab);
    if (all == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", document->path);
    json_array_foreach(added, index, entry) {
        const char *name = json_string_value(json_object_get(entry, "content"));
        json_t *id = json_object_get(entry, "id");
        if (name == NULL || !json_is_integer(id))
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: 'added_tokens': entry %zu: expected an "
                                "'id' and a 'content', found none",
                                document->path, index));
        json_t *have = json_object_get(all, name);
        if (have != NULL && !json_equal(have, id))
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: added token '%.100s': expected the id that "
                                "the vocabulary has, found %lld",
                                document->path, name, (long long)json_integer_value(id)));
        if (have == NULL && json_object_set(all, name, id) != 0)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", document->path));
    }
    NVDP__HAND_OVER(out, all);
cleanup:
    json_decref(all);
    return status;
}

static nvdp_status bpe_of_json(const struct document *document, const json_t *model,
                               const char *config_path, const json_t *config,
                               struct nvdp_tokenizer **out) {
    static const char *const expected[][3] = {
        {"normalizer", NULL, "null"},           {"pre_tokenizer", "add_prefix_space", "false"},
        {"pre_tokenizer", "use_regex", "true"}, {"model", "byte_fallback", "false"},
        {"model", "ignore_merges", "false"},    {"model", "dropout", "null"},
    };
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = document->ctx;
    const json_t *added = json_object_get(document->root, "added_tokens");
    json_t *vocab = NULL;
    char *merges = NULL, *merges_path = NULL;
    size_t size;
    NVDP_TRY(require_type(document, "pre_tokenizer", "ByteLevel"));
    NVDP_TRY(require_type(document, "post_processor", "RobertaProcessing"));
    NVDP_TRY(expect_all(document, expected, sizeof expected / sizeof expected[0]));
    NVDP_TRY(with_added(document, json_object_get(model, "vocab"), added, &vocab));
    NVDP_TRY(merges_text(document, json_object_get(model, "merges"), &merges, &size));
    merges_path = nvdp__format(ctx, "%s: 'model.merges'", document->path);
    if (merges_path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(make_bpe(ctx, document->path, vocab, merges_path, merges, size, config_path, config,
                      added, out));
cleanup:
    json_decref(vocab);
    free(merges);
    free(merges_path);
    return status;
}

nvdp_status nvdp__tokenizer_of_json(struct nvdp_context *ctx, const char *path, const json_t *json,
                                    const char *config_path, const json_t *config,
                                    struct nvdp_tokenizer **out) {
    const struct document document = {ctx, path, json};
    const json_t *model = json_object_get(json, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    if (type != NULL && strcmp(type, "WordPiece") == 0)
        return wordpiece_of_json(&document, model, config_path, config, out);
    if (type != NULL && strcmp(type, "BPE") == 0)
        return bpe_of_json(&document, model, config_path, config, out);
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                      "%s: 'model.type': expected WordPiece or BPE, found %.100s", path,
                      type != NULL ? type : "none");
}

/* ---- a folder ---- */

nvdp_status nvdp_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                struct nvdp_tokenizer **out) {
    nvdp_status status = NVDP_OK;
    const char *files[NVDP__TOKENIZER_FILES + 1] = {0};
    const char *special[NVDP__SPECIALS]; /* point into `config`, or are the defaults */
    struct nvdp__normalization rules;
    char *path = NULL, *second = NULL, *config_path = NULL, *bytes = NULL;
    json_t *config = NULL, *json = NULL;
    size_t count = 0;
    memcpy(special, nvdp__special_names, sizeof special);
    NVDP_TRY(nvdp__tokenizer_files(ctx, directory, files));
    path = nvdp__model_path(ctx, directory, files[0]);
    second = nvdp__model_path(ctx, directory, files[1] != NULL ? files[1] : files[0]);
    config_path = nvdp__model_path(ctx, directory, "tokenizer_config.json");
    NVDP_TRY(NVDP__MADE(path, second, config_path));
    if (nvdp__exists(config_path)) NVDP_TRY(nvdp__json_read(ctx, config_path, &config));
    if (strcmp(files[0], "vocab.txt") == 0) {
        NVDP_TRY(read_rules(ctx, config_path, config, &rules));
        NVDP_TRY(read_specials(ctx, config_path, config, special));
        NVDP_TRY(nvdp__read_file(ctx, path, FILE_LIMIT, &bytes, &count));
        NVDP_TRY(nvdp__tokenizer_create(ctx, path, bytes, count, special, &rules, out));
        goto cleanup;
    }
    NVDP_TRY(nvdp__json_read(ctx, path, &json));
    if (files[1] != NULL) {
        NVDP_TRY(nvdp__read_file(ctx, second, FILE_LIMIT, &bytes, &count));
        NVDP_TRY(nvdp__tokenizer_of_vocab_json(ctx, path, json, second, bytes, count, config_path,
                                               config, out));
    } else {
        NVDP_TRY(nvdp__tokenizer_of_json(ctx, path, json, config_path, config, out));
    }
cleanup:
    json_decref(json);
    json_decref(config);
    free(bytes);
    free(config_path);
    free(second);
    free(path);
    return status;
}
