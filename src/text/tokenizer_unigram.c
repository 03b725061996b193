/* Unigram of a folder (tokenizer_maker.h): pieces with scores from tokenizer.json or from SentencePiece's
 * own file, a message of Protocol Buffers. transformers reads its pieces and its table of
 * characters. XLMRobertaTokenizer puts four special tokens in place of its first three pieces, and
 * <mask> behind the last one. */
#include "text/tokenizer_maker.h"

#include <stdlib.h>
#include <string.h>

/* Pieces in the making. */
struct list {
    struct nvdp__maker *m;
    double *score;
    size_t capacity;
    json_t *named; /* special tokens that the file names, as in 'added_tokens' */
};

static nvdp_status add_piece(struct list *list, const char *text, size_t size, double score) {
    struct nvdp__strings *pieces = &list->m->made->pieces;
    if (pieces->count >= NVDP__MAX_PIECES)
        return nvdp__fail(list->m->ctx, NVDP_ERR_UNSUPPORTED, "%s: expected at most %d pieces",
                          nvdp__path_of(list->m, nvdp__vocabulary_of(list->m)), NVDP__MAX_PIECES);
    NVDP_TRY(nvdp__reserve(list->m->ctx, &list->score, &list->capacity, pieces->count + 1,
                           sizeof *list->score));
    list->score[pieces->count] = score;
    return nvdp__strings_append(pieces, text, size);
}

/* ---- tokenizer.json ---- */

static nvdp_status pieces_of_json(struct list *list, const json_t *model) {
    const struct nvdp__maker *m = list->m;
    const json_t *vocab = json_object_get(model, "vocab"), *entry;
    size_t i;
    if (!json_is_array(vocab) || json_array_size(vocab) == 0)
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "model.vocab",
                            "an array of pieces with their scores", vocab);
    json_array_foreach(vocab, i, entry) {
        const json_t *text = json_array_get(entry, 0), *score = json_array_get(entry, 1);
        if (json_array_size(entry) != 2 || !json_is_string(text) || !json_is_number(score))
            return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "model.vocab",
                                "pairs of a piece and its score", entry);
        NVDP_TRY(add_piece(list, json_string_value(text), json_string_length(text),
                           json_number_value(score)));
    }
    return NVDP_OK;
}

/* Reads 'pre_tokenizer': Metaspace, WhitespaceSplit, or both in a Sequence. */
static nvdp_status read_words(const struct nvdp__maker *m, const json_t *json,
                              struct nvdp__unigram_rules *rules) {
    static const char *const schemes[] = {[NVDP__LEADING_NEVER] = "never",
                                          [NVDP__LEADING_FIRST] = "first",
                                          [NVDP__LEADING_ALWAYS] = "always"};
    const char *type = json_string_value(json_object_get(json, "type"));
    const json_t *list = json_object_get(json, "pretokenizers"), *one;
    size_t i;
    if (json == NULL || json_is_null(json)) return NVDP_OK;
    if (type != NULL && strcmp(type, "Sequence") == 0 && json_is_array(list)) {
        json_array_foreach(list, i, one) NVDP_TRY(read_words(m, one, rules));
        return NVDP_OK;
    }
    if (type != NULL && strcmp(type, "WhitespaceSplit") == 0 && !rules->marks_spaces) {
        rules->at_white_space = true;
        return NVDP_OK;
    }
    const json_t *mark = json_object_get(json, "replacement");
    const json_t *split = json_object_get(json, "split");
    const json_t *old = json_object_get(json, "add_prefix_space");
    const json_t *scheme = json_object_get(json, "prepend_scheme");
    const char *name = scheme != NULL ? json_string_value(scheme) : "always";
    size_t bytes = 0, prefix = 0;
    while (name != NULL && prefix < sizeof schemes / sizeof schemes[0] &&
           strcmp(name, schemes[prefix]) != 0)
        prefix++;
    if (type == NULL || strcmp(type, "Metaspace") != 0 || rules->marks_spaces ||
        !json_is_string(mark) || json_string_length(mark) == 0 ||
        nvdp__decode(json_string_value(mark), json_string_length(mark), &bytes) < 0 ||
        bytes != json_string_length(mark) || name == NULL ||
        prefix == sizeof schemes / sizeof schemes[0] ||
        (prefix == NVDP__LEADING_FIRST && rules->at_white_space) ||
        (json_is_false(old) && prefix != NVDP__LEADING_NEVER) ||
        (old != NULL && !json_is_boolean(old) && !json_is_null(old)) ||
        (split != NULL && !json_is_boolean(split) && !json_is_null(split)))
        return nvdp__refuse(
            m, NVDP__FILE_TOKENIZER, "pre_tokenizer",
            "null, WhitespaceSplit, Metaspace (with prepend_scheme always, first or never, "
            "as add_prefix_space says), or WhitespaceSplit and Metaspace (not with "
            "first)",
            json);
    rules->marks_spaces = true;
    rules->at_marks = !json_is_false(split);
    rules->prefix = (enum nvdp__leading)prefix;
    memcpy(rules->mark, json_string_value(mark), bytes);
    rules->mark_size = bytes;
    return NVDP_OK;
}

/* The rules that tokenizer.json states. */
static nvdp_status rules_of_json(struct nvdp__maker *m, const json_t *model,
                                 struct nvdp__unigram_rules *rules) {
    const char *path = nvdp__path_of(m, NVDP__FILE_TOKENIZER);
    const json_t *json = nvdp__root_of(m, NVDP__FILE_TOKENIZER);
    const json_t *bytes = json_object_get(model, "byte_fallback");
    int64_t unknown;
    NVDP_TRY(nvdp__json_int_required(m->ctx, path, model, "unk_id", 0, NVDP__MAX_PIECES, &unknown));
    if (bytes != NULL && !json_is_boolean(bytes))
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "model.byte_fallback", "true or false", bytes);
    rules->unknown = (int32_t)unknown;
    rules->byte_fallback = json_is_true(bytes);
    NVDP_TRY(
        nvdp__normalizer_read(&m->made->normalizer, path, json_object_get(json, "normalizer")));
    return read_words(m, json_object_get(json, "pre_tokenizer"), rules);
}

/* The first table in tokenizer.json's normalizer, which XLMRobertaTokenizer takes alone; NULL: none. */
static const json_t *table_of_json(const json_t *normalizer) {
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    const json_t *one;
    size_t i;
    if (type != NULL && strcmp(type, "Precompiled") == 0) return normalizer;
    if (type == NULL || strcmp(type, "Sequence") != 0) return NULL;
    json_array_foreach(json_object_get(normalizer, "normalizers"), i, one) {
        type = json_string_value(json_object_get(one, "type"));
        if (type != NULL && strcmp(type, "Precompiled") == 0) return one;
    }
    return NULL;
}

/* ---- SentencePiece ---- */

/* A field of a message. */
struct field {
    uint64_t number, value; /* value: of varints and 32-bit numbers */
    const char *bytes;      /* NULL: the field is a number */
    size_t size;
};

static bool read_varint(const char **at, const char *end, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = (unsigned char)*(*at)++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* Reads the field at *at < end and moves *at behind it. */
static bool read_field(const char **at, const char *end, struct field *out) {
    enum { VARINT, FIXED_64, BYTES, FIXED_32 = 5 };
    uint64_t key, size;
    *out = (struct field){0};
    if (!read_varint(at, end, &key)) return false;
    out->number = key >> 3;
    switch (key & 7) {
    case VARINT:
        return read_varint(at, end, &out->value);
    case BYTES:
        if (!read_varint(at, end, &size)) return false;
        break;
    case FIXED_32:
        size = 4;
        break;
    case FIXED_64:
        size = 8;
        break;
    default:
        return false;
    }
    if (size > (uint64_t)(end - *at)) return false;
    if ((key & 7) == BYTES) {
        out->bytes = *at;
        out->size = (size_t)size;
    }
    for (size_t i = 0; out->bytes == NULL && i < size; i++)
        out->value |= (uint64_t)(unsigned char)(*at)[i] << 8 * i;
    *at += size;
    return true;
}

static nvdp_status add_named(struct list *list, const char *text, size_t size, bool special) {
    json_t *entry = json_pack("{s:s%, s:b}", "content", text, size, "special", (int)special);
    if (entry == NULL || json_object_set_new(entry, "normalized", json_false()) != 0 ||
        json_array_append_new(list->named, entry) != 0)
        return nvdp__fail(list->m->ctx, NVDP_ERR_MEMORY, "%s: out of memory",
                          nvdp__path_of(list->m, nvdp__vocabulary_of(list->m)));
    return NVDP_OK;
}

/* Reads a piece: its text (1), score (2) and type (3). */
static bool read_piece(struct field message, struct field *text, double *score, uint64_t *type) {
    struct field field;
    *text = (struct field){.bytes = ""};
    *score = 0;
    *type = 1;
    for (const char *at = message.bytes, *end = at + message.size; at < end;) {
        if (!read_field(&at, end, &field)) return false;
        if (field.number == 1 && field.bytes != NULL) *text = field;
        if (field.number == 2 && field.bytes == NULL) {
            const uint32_t bits = (uint32_t)field.value;
            float number;
            memcpy(&number, &bits, sizeof number);
            *score = number;
        }
        if (field.number == 3 && field.bytes == NULL) *type = field.value;
    }
    return text->size > 0 && memchr(text->bytes, '\0', text->size) == NULL &&
           nvdp__is_utf8(text->bytes, text->size);
}

/* Reads SentencePiece's file: pieces (1) and its rules for characters (3), whose member 2 is a table. */
static nvdp_status read_sentencepiece(struct list *list) {
    enum { CONTROL = 3, USER_DEFINED = 4, REPLACED = 3 /* pieces at the start */ };
    struct nvdp__maker *m = list->m;
    const enum nvdp__tokenizer_file file = nvdp__vocabulary_of(m);
    const char *path = nvdp__path_of(m, file), *at = m->source->text[file];
    const char *const start = at, *const end = at + m->source->size[file];
    struct field field, text, table = {0};
    size_t pieces = 0;
    while (at < end) {
        double score;
        uint64_t type;
        const char *from = at;
        bool sound = read_field(&at, end, &field);
        if (sound && field.number == 1 && (sound = field.bytes != NULL) &&
            (sound = read_piece(field, &text, &score, &type))) {
            if (type == CONTROL || type == USER_DEFINED)
                NVDP_TRY(add_named(list, text.bytes, text.size, type == CONTROL));
            if (pieces++ >= REPLACED) NVDP_TRY(add_piece(list, text.bytes, text.size, score));
        }
        if (sound && field.number == 3 && field.bytes != NULL) {
            for (const char *in = field.bytes, *stop = in + field.size; sound && in < stop;) {
                struct field member;
                sound = read_field(&in, stop, &member);
                if (sound && member.number == 2 && member.bytes != NULL) table = member;
            }
        }
        if (!sound)
            return nvdp__fail(m->ctx, NVDP_ERR_INPUT,
                              "%s: expected a model of SentencePiece, found something else at byte "
                              "%zu",
                              path, (size_t)(from - start));
    }
    if (pieces <= REPLACED)
        return nvdp__fail(
            m->ctx, NVDP_ERR_INPUT,
            "%s: expected a model of SentencePiece with more than %d pieces, found %zu", path,
            REPLACED, pieces);
    return table.size > 0
               ? nvdp__normalizer_add_table(&m->made->normalizer, path, table.bytes, table.size)
               : NVDP_OK;
}

static nvdp_status pieces_of_sentencepiece(struct list *list) {
    static const enum nvdp__name first[] = {NVDP__BOS, NVDP__PAD, NVDP__EOS, NVDP__UNK};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        const char *name;
        NVDP_TRY(nvdp__special_name(list->m, first[i], &name));
        NVDP_TRY(add_piece(list, name, strlen(name), 0));
    }
    NVDP_TRY(read_sentencepiece(list));
    const char *mask;
    NVDP_TRY(nvdp__special_name(list->m, NVDP__MASK, &mask));
    return add_piece(list, mask, strlen(mask), 0);
}

/* ---- the model ---- */

/* The rules of XLMRobertaTokenizer. */
static nvdp_status rules_of_class(struct nvdp__maker *m, struct nvdp__unigram_rules *rules) {
    const json_t *json = nvdp__root_of(m, NVDP__FILE_TOKENIZER);
    const json_t *table = table_of_json(json_object_get(json, "normalizer"));
    bool prefix;
    NVDP_TRY(nvdp__json_bool(m->ctx, nvdp__path_of(m, NVDP__FILE_CONFIG),
                             nvdp__root_of(m, NVDP__FILE_CONFIG), "add_prefix_space", true,
                             &prefix));
    *rules =
        (struct nvdp__unigram_rules){.unknown = 3,
                                     .at_white_space = true,
                                     .marks_spaces = true,
                                     .at_marks = true,
                                     .prefix = prefix ? NVDP__LEADING_ALWAYS : NVDP__LEADING_NEVER,
                                     .mark = "\xE2\x96\x81",
                                     .mark_size = 3};
    return nvdp__normalizer_read(&m->made->normalizer, nvdp__path_of(m, NVDP__FILE_TOKENIZER),
                                 table);
}

/* Around a text, XLMRobertaTokenizer puts the tokens of bos_token and eos_token. */
static nvdp_status frame_of_class(struct nvdp__maker *m) {
    static const struct {
        enum nvdp__name name;
        enum nvdp_special special;
    } frame[] = {{NVDP__BOS, NVDP_TOKEN_CLS}, {NVDP__EOS, NVDP_TOKEN_SEP}};
    for (size_t i = 0; i < sizeof frame / sizeof frame[0]; i++) {
        const char *name;
        NVDP_TRY(nvdp__special_name(m, frame[i].name, &name));
        m->made->special[frame[i].special] = nvdp_tokenizer_find(m->made, name);
    }
    return NVDP_OK;
}

nvdp_status nvdp__make_unigram(struct nvdp__maker *m) {
    nvdp_status status = NVDP_OK;
    const json_t *model = json_object_get(nvdp__root_of(m, NVDP__FILE_TOKENIZER), "model");
    const char *path = nvdp__path_of(m, nvdp__vocabulary_of(m));
    struct nvdp__unigram_rules rules = {0};
    struct nvdp__unigram *unigram = NULL;
    struct list list = {.m = m, .named = json_array()};
    struct nvdp_tokenizer *made = m->made;
    made->row = &nvdp__unigram_row;
    if (list.named == NULL)
        NVDP_TRY_OR_CLEAN(nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path));
    NVDP_TRY_OR_CLEAN(nvdp__refuse_lower_case(m));
    NVDP_TRY_OR_CLEAN(nvdp__normalizer_add_decoding(&made->normalizer));
    made->pieces.ctx = m->ctx;
    NVDP_TRY_OR_CLEAN(nvdp__root_of(m, NVDP__FILE_TOKENIZER) != NULL
                          ? pieces_of_json(&list, model)
                          : pieces_of_sentencepiece(&list));
    NVDP_TRY_OR_CLEAN(m->class->backend ? rules_of_json(m, model, &rules)
                                        : rules_of_class(m, &rules));
    made->vocabulary = m->distinct = made->pieces.count;
    status = nvdp__unigram_create(m->ctx, path, &made->pieces, list.score, &rules, &unigram);
    list.score = NULL;
    made->model = unigram;
    NVDP_TRY_OR_CLEAN(status);
    NVDP_TRY_OR_CLEAN(nvdp__add_tokens(m, list.named));
    made->special[NVDP_TOKEN_UNK] = rules.unknown;
    if (!m->class->backend) NVDP_TRY_OR_CLEAN(frame_of_class(m));
cleanup:
    free(list.score);
    json_decref(list.named);
    return status;
}
