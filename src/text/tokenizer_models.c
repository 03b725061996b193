/* WordPiece and byte-level BPE of a folder (tokenizer_maker.h): pieces, merges and rules. */
#include "text/tokenizer_maker.h"

#include <stdlib.h>
#include <string.h>

/* ---- vocabularies as JSON ---- */

/* Reads the pieces by their ids, each id once. tokenizer.json may have an id without a piece, if the vocab.txt from
 * which it was made had a line twice. Such an id becomes a piece without characters, which no text contains. */
static nvdp_status read_pieces(struct nvdp_context *ctx, const char *path, const json_t *vocab,
                               struct nvdp__strings *out) {
    nvdp__auto(nvdp__strings_release) struct nvdp__strings pieces = {.ctx = ctx};
    size_t entries = json_object_size(vocab), count = 0;
    nvdp__autofree const char **piece = NULL;
    const char *key;
    json_t *value;
    if (entries == 0 || entries > NVDP__MAX_PIECES)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected 1 to %d pieces with their ids, found %zu", path,
                          NVDP__MAX_PIECES, entries);
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value) {
        int64_t id;
        NVDP_TRY(nvdp__json_int_required(ctx, path, vocab, key, 0, NVDP__MAX_PIECES - 1, &id));
        count = nvdp__max(count, (size_t)id + 1);
    }
    NVDP_TRY(NVDP__NEW(ctx, piece, count));
    json_object_foreach((json_t *)(uintptr_t)vocab, key, value) {
        const json_int_t id = json_integer_value(value);
        struct nvdp__field name = {key, strlen(key)};
        if (piece[id] != NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: %s: expected a unique id, found %lld, the id of '%.100s'", path,
                              nvdp__quote_field(name).text, (long long)id, piece[id]);
        piece[id] = key;
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = piece[i] != NULL ? piece[i] : "";
        NVDP_TRY(nvdp__strings_append(&pieces, text, strlen(text)));
    }
    return NVDP__HAND_OVER(out, pieces);
}

/* Settings of tokenizer.json: each `section`.`key`, if present, must have the only implemented `value`, in JSON;
 * null means the same as "". */
struct setting {
    const char *section, *key, *value;
};
static nvdp_status expect(const struct nvdp__maker *m, const struct setting *settings,
                          size_t count) {
    const json_t *json = nvdp__file_root(m, NVDP__FILE_TOKENIZER);
    for (const struct setting *one = settings; one < settings + count; one++) {
        const json_t *value = json_object_get(json_object_get(json, one->section), one->key);
        nvdp__autofree char *found =
            value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        const bool none = json_is_null(value) && strcmp(one->value, "\"\"") == 0;
        if (found != NULL && !none && strcmp(found, one->value) != 0)
            return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                              "%s: '%s.%s': expected %s, found %.100s",
                              nvdp__file_path(m, NVDP__FILE_TOKENIZER), one->section, one->key,
                              one->value, found);
    }
    return NVDP_OK;
}

/* Checks that a required section of tokenizer.json has this type. */
static nvdp_status require_type(const struct nvdp__maker *m, const char *section,
                                const char *type) {
    const char *found = json_string_value(json_object_get(
        json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), section), "type"));
    if (found != NULL && strcmp(found, type) == 0) return NVDP_OK;
    return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED, "%s: '%s': expected type %s, found %.100s",
                      nvdp__file_path(m, NVDP__FILE_TOKENIZER), section, type,
                      found != NULL ? found : "none");
}

/* Reads the pieces of tokenizer.json, whose model must have this type (or no type, as in older files). */
static nvdp_status read_model(const struct nvdp__maker *m, const char *type, const json_t **model) {
    const char *path = nvdp__file_path(m, NVDP__FILE_TOKENIZER);
    *model = json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "model");
    const char *found = json_string_value(json_object_get(*model, "type"));
    const json_t *vocab = json_object_get(*model, "vocab");
    if (found == NULL || strcmp(found, type) != 0)
        return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: 'model.type': expected %s, found %.100s", path, type,
                          found != NULL ? found : "none");
    if (!json_is_object(vocab))
        return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                          "%s: 'model.vocab': expected 1 to %d pieces with their ids, found none",
                          path, NVDP__MAX_PIECES);
    return read_pieces(m->ctx, path, vocab, &m->made->pieces);
}

/* ---- WordPiece ---- */

/* Counts the distinct strings of the vocabulary, and drops empty strings at its end. */
static void settle_pieces(struct nvdp__maker *m) {
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

/* If this is true, the tokenizer of that publication applies: words of up to 200 characters, final sigmas, names of
 * special tokens as text, and pairs that lose one token at a time. */
bool nvdp__as_published(const struct nvdp__maker *m) {
    bool other = m->class != &nvdp__classes[NVDP__CLASS_BERT];
    for (int i = 0; i < NVDP__FILE_MODEL; i++)
        other |= i != NVDP__FILE_VOCAB_TXT && i != NVDP__FILE_SENTENCE &&
                 (m->source->json[i] != NULL || m->source->text[i] != NULL);
    return !other;
}

nvdp_status nvdp__make_wordpiece(struct nvdp__maker *m) {
    static const struct setting expected[] = {{"model", "continuing_subword_prefix", "\"##\""},
                                              {"normalizer", "clean_text", "true"}};
    const bool backend = m->class->backend;
    const enum nvdp__tokenizer_file from = backend ? NVDP__FILE_TOKENIZER : NVDP__FILE_CONFIG;
    const json_t *model = NULL, *json = nvdp__file_root(m, NVDP__FILE_TOKENIZER);
    const json_t *rules = backend ? json_object_get(json, "normalizer") : nvdp__file_root(m, from);
    const char *path = nvdp__file_path(m, from);
    struct nvdp__normalization normalization = {.published = nvdp__as_published(m)};
    int64_t longest = normalization.published ? NVDP__WORD_CHARACTERS : NVDP__USUAL_WORD_CHARACTERS;
    bool lower;
    m->made->row = &nvdp__wordpiece_row;
    if (json == NULL) {
        NVDP_TRY(nvdp__vocabulary_parse(m->ctx, nvdp__file_path(m, NVDP__FILE_VOCAB_TXT),
                                        m->source->text[NVDP__FILE_VOCAB_TXT],
                                        m->source->size[NVDP__FILE_VOCAB_TXT], &m->made->pieces));
    } else {
        if (backend) {
            NVDP_TRY(require_type(m, "normalizer", "BertNormalizer"));
            NVDP_TRY(require_type(m, "pre_tokenizer", "BertPreTokenizer"));
            NVDP_TRY(expect(m, expected, sizeof expected / sizeof expected[0]));
        }
        NVDP_TRY(read_model(m, "WordPiece", &model));
        if (backend)
            NVDP_TRY(nvdp__json_int(m->ctx, nvdp__file_path(m, NVDP__FILE_TOKENIZER), model,
                                    "max_input_chars_per_word", NVDP__USUAL_WORD_CHARACTERS, 1,
                                    NVDP__WORD_CHARACTERS, &longest));
    }
    settle_pieces(m);
    if (model != NULL) m->distinct = json_object_size(json_object_get(model, "vocab"));
    NVDP_TRY(nvdp__json_bool(m->ctx, path, rules, backend ? "lowercase" : "do_lower_case", true,
                             &normalization.lower_case));
    /* by default, or if null, accents are stripped if texts are lower-cased */
    NVDP_TRY(nvdp__json_bool(m->ctx, path, rules, "strip_accents", normalization.lower_case,
                             &normalization.strip_accents));
    NVDP_TRY(nvdp__json_bool(m->ctx, path, rules,
                             backend ? "handle_chinese_chars" : "tokenize_chinese_chars", true,
                             &normalization.chinese_characters));
    NVDP_TRY(nvdp__json_bool(m->ctx, nvdp__file_path(m, NVDP__FILE_SENTENCE),
                             nvdp__file_root(m, NVDP__FILE_SENTENCE), "do_lower_case", false,
                             &lower));
    m->made->plain = !backend && (!lower || normalization.lower_case);
    normalization.lower_case |= lower;
    m->made->rules = nvdp__word_rules(&normalization);
    m->made->longest_word = (size_t)longest;
    NVDP_TRY(nvdp__add_tokens(m, NULL));
    const json_t *unknown = json_object_get(model, "unk_token");
    if (!backend || (unknown == NULL && !m->class->bare)) return NVDP_OK;
    const char *name = json_is_string(unknown) ? json_string_value(unknown) : "";
    m->made->special[NVDP_TOKEN_UNK] = nvdp_tokenizer_find(m->made, name);
    return m->made->special[NVDP_TOKEN_UNK] >= 0
               ? NVDP_OK
               : nvdp__refuse(m, NVDP__FILE_TOKENIZER, "model.unk_token",
                              "a piece of the vocabulary", unknown);
}

/* ---- byte-level BPE ---- */

/* Writes the merges in the form of merges.txt, from entries "a b" or ["a", "b"]; the caller frees *out with free(). */
static nvdp_status merges_text(const struct nvdp__maker *m, const json_t *merges, char **out,
                               size_t *size) {
    struct nvdp_context *ctx = m->ctx;
    size_t index, capacity = 0, used = 0;
    const json_t *entry;
    nvdp__autofree char *text = NULL;
    NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, 1, 1));
    json_array_foreach(merges, index, entry) {
        const char *left =
            json_string_value(json_is_array(entry) ? json_array_get(entry, 0) : entry);
        const char *right = json_string_value(json_array_get(entry, 1));
        if (left == NULL ||
            (json_is_array(entry) && (right == NULL || json_array_size(entry) != 2)))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: 'model.merges': entry %zu: expected a pair "
                              "of pieces, found something else",
                              nvdp__file_path(m, NVDP__FILE_TOKENIZER), index);
        const size_t need = strlen(left) + (right != NULL ? strlen(right) : 0) + 3;
        NVDP_TRY(nvdp__reserve(ctx, &text, &capacity, used + need, 1));
        used += (size_t)nvdp__snprintf(text + used, need, "%s%s%s\n", left,
                                       right != NULL ? " " : "", right != NULL ? right : "");
    }
    *size = used;
    return NVDP__HAND_OVER(out, text);
}

static nvdp_status bpe_of_json(struct nvdp__maker *m, size_t *distinct) {
    static const struct setting expected[] = {
        {"pre_tokenizer", "use_regex", "true"},
        {"model", "byte_fallback", "false"},
        {"model", "ignore_merges", "false"},
        {"model", "dropout", "null"},
        {"model", "continuing_subword_prefix", "\"\""},
        {"model", "end_of_word_suffix", "\"\""},
    };
    const json_t *model;
    const char *path = nvdp__file_path(m, NVDP__FILE_TOKENIZER);
    struct nvdp__bpe *bpe = NULL;
    nvdp__autofree char *merges = NULL;
    size_t size = 0;
    if (m->class->backend) {
        const json_t *normalizer =
            json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "normalizer");
        const char *type = json_string_value(json_object_get(normalizer, "type"));
        const bool composes = type != NULL && strcmp(type, "NFC") == 0;
        if (!composes && normalizer != NULL && !json_is_null(normalizer))
            NVDP_TRY(nvdp__refuse(m, NVDP__FILE_TOKENIZER, "normalizer", "null or NFC with BPE",
                                  normalizer));
        NVDP_TRY(nvdp__normalizer_read(&m->made->normalizer, path, normalizer));
        NVDP_TRY(require_type(m, "pre_tokenizer", "ByteLevel"));
    }
    /* the class has a pre_tokenizer of its own, which is not read */
    const size_t first = m->class->backend ? 0 : 1;
    NVDP_TRY(expect(m, expected + first, sizeof expected / sizeof expected[0] - first));
    NVDP_TRY(read_model(m, "BPE", &model));
    *distinct = json_object_size(json_object_get(model, "vocab"));
    NVDP_TRY(merges_text(m, json_object_get(model, "merges"), &merges, &size));
    nvdp__autofree char *place = nvdp__format(m->ctx, "%s: 'model.merges'", path);
    NVDP_TRY(NVDP__MADE(place));
    const nvdp_status status =
        nvdp__bpe_create(m->ctx, path, &m->made->pieces, place, merges, size, &bpe);
    m->made->model = bpe;
    return status;
}

nvdp_status nvdp__refuse_lower_case(const struct nvdp__maker *m) {
    bool set = false;
    const char *path = nvdp__file_path(m, NVDP__FILE_SENTENCE);
    NVDP_TRY(nvdp__json_bool(m->ctx, path, nvdp__file_root(m, NVDP__FILE_SENTENCE), "do_lower_case",
                             false, &set));
    if (!set) return NVDP_OK;
    return nvdp__fail(m->ctx, NVDP_ERR_UNSUPPORTED,
                      "%s: 'do_lower_case': expected false with %s, found true", path,
                      m->made->row->name);
}

nvdp_status nvdp__make_bpe(struct nvdp__maker *m) {
    const bool backend = m->class->backend;
    const enum nvdp__tokenizer_file from = backend ? NVDP__FILE_TOKENIZER : NVDP__FILE_CONFIG;
    const char *path = nvdp__file_path(m, NVDP__FILE_VOCAB_JSON);
    const json_t *spaces = nvdp__file_root(m, from);
    struct nvdp__bpe *bpe = NULL;
    m->made->row = &nvdp__bpe_row;
    if (backend) spaces = json_object_get(spaces, "pre_tokenizer");
    NVDP_TRY(nvdp__json_bool(m->ctx, nvdp__file_path(m, from), spaces, "add_prefix_space", backend,
                             &m->made->prefix_space));
    NVDP_TRY(nvdp__refuse_lower_case(m));
    if (nvdp__file_root(m, NVDP__FILE_TOKENIZER) != NULL) {
        NVDP_TRY(bpe_of_json(m, &m->distinct));
        return nvdp__add_tokens(m, NULL);
    }
    NVDP_TRY(
        read_pieces(m->ctx, path, nvdp__file_root(m, NVDP__FILE_VOCAB_JSON), &m->made->pieces));
    m->distinct = json_object_size(nvdp__file_root(m, NVDP__FILE_VOCAB_JSON));
    NVDP_TRY(nvdp__add_tokens(m, NULL));
    nvdp_status status = nvdp__bpe_create(
        m->ctx, path, &m->made->pieces, nvdp__file_path(m, NVDP__FILE_MERGES),
        m->source->text[NVDP__FILE_MERGES], m->source->size[NVDP__FILE_MERGES], &bpe);
    m->made->model = bpe;
    return status;
}
