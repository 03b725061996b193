/* Unigram (tokenizer.h): the model, then its files. */
#include "text/task.h"

#include "base/own.h"
#include "text/tokenizer.h"
#include "text/tokenizer_maker.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== the model ==== */

enum { NO_PIECE = -1 };
static const double unknown_penalty = 10.0;

struct nvdp__unigram {
    struct nvdp__unigram_rules rules;
    double *score; /* [vocabulary] scores by id */
    size_t vocabulary;
    double unknown_score;
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes; NO_PIECE if there is none */
    /* The trie. The children of a node are adjacent: node i has the children child[i] to child[i + 1] - 1. Node 0 is
     * the root. */
    uint32_t *child;      /* [nodes + 1] first child of each node */
    int32_t *id;          /* [nodes] the piece that ends at a node; NO_PIECE if none does */
    unsigned char *label; /* [nodes] the last byte of the string of a node */
    size_t nodes;
};

/* ---- the trie ---- */

struct piece {
    struct nvdp__field text; /* the first member, for nvdp__by_field() */
    int32_t id;
};

/* A node that is being made: the pieces that begin with the string of the node. */
struct range {
    uint32_t first, end, depth;
};

/* Makes the nodes level by level from sorted pieces. */
static void make_nodes(struct nvdp__unigram *made, const struct piece *piece, size_t count,
                       struct range *range) {
    made->id[0] = NO_PIECE;
    range[0] = (struct range){0, (uint32_t)count, 0};
    made->nodes = 1;
    for (size_t node = 0; node < made->nodes; node++) {
        const uint32_t depth = range[node].depth, end = range[node].end;
        uint32_t at = range[node].first;
        made->child[node] = (uint32_t)made->nodes;
        if (at < end && piece[at].text.size == depth) made->id[node] = piece[at++].id;
        while (at < end) {
            const size_t child = made->nodes++;
            const uint32_t first = at;
            made->label[child] = (unsigned char)piece[at].text.text[depth];
            made->id[child] = NO_PIECE;
            while (at < end && (unsigned char)piece[at].text.text[depth] == made->label[child])
                at++;
            range[child] = (struct range){first, at, depth + 1};
        }
    }
    made->child[made->nodes] = (uint32_t)made->nodes;
}

static nvdp_status make_trie(struct nvdp_context *ctx, const struct nvdp__strings *pieces,
                             struct nvdp__unigram *made) {
    nvdp__autofree struct piece *piece = NULL;
    nvdp__autofree struct range *range = NULL;
    size_t count = 0, nodes = 1;
    NVDP_TRY(NVDP__NEW(ctx, piece, pieces->count));
    for (size_t id = 0; id < pieces->count; id++) {
        const struct nvdp__field text = nvdp__string(pieces, id);
        if (*text.text != '\0') piece[count++] = (struct piece){text, (int32_t)id};
    }
    qsort(piece, count, sizeof *piece, nvdp__by_field);
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__field text = piece[i].text;
        size_t same = 0;
        while (i > 0 && same < piece[i - 1].text.size &&
               text.text[same] == piece[i - 1].text.text[same])
            same++;
        nodes += text.size - same;
    }
    if (nodes >= UINT32_MAX)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "a vocabulary of %zu bytes", nodes);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(range, nodes), NVDP__ITEMS(made->child, nodes + 1),
                          NVDP__ITEMS(made->id, nodes), NVDP__ITEMS(made->label, nodes)));
    make_nodes(made, piece, count, range);
    return NVDP_OK;
}

/* Returns the child of a node by a byte; 0 if there is none. */
static size_t child_node(const struct nvdp__unigram *unigram, size_t node, char byte) {
    const size_t first = unigram->child[node];
    const unsigned char *labels = unigram->label + first;
    const unsigned char *found =
        memchr(labels, (unsigned char)byte, unigram->child[node + 1] - first);
    return found != NULL ? first + (size_t)(found - labels) : 0;
}

static int32_t find(const struct nvdp__unigram *unigram, const char *text, size_t size) {
    size_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = child_node(unigram, node, text[i]);
        if (node == 0) return NO_PIECE;
    }
    return unigram->id[node];
}

/* ---- creation ---- */

static void free_unigram(void *model) {
    struct nvdp__unigram *unigram = model;
    if (unigram == NULL) return;
    free(unigram->score);
    free(unigram->child);
    free(unigram->id);
    free(unigram->label);
    free(unigram);
}
NVDP__AUTOPTR(struct nvdp__unigram, free_unigram)

nvdp_status nvdp__unigram_create(struct nvdp_context *ctx, const char *path,
                                 const struct nvdp__strings *pieces, double **owned,
                                 const struct nvdp__unigram_rules *rules,
                                 struct nvdp__unigram **out) {
    nvdp__autoptr(free_unigram) struct nvdp__unigram *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    NVDP__HAND_OVER(&made->score, *owned);
    const double *const score = made->score;
    made->vocabulary = pieces->count;
    made->rules = *rules;
    double lowest = INFINITY;
    for (size_t id = 0; id < pieces->count; id++) {
        if (!isfinite(score[id]))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: piece %zu: expected a number as its score, found %g", path, id,
                              score[id]);
        lowest = fmin(lowest, score[id]);
    }
    if (rules->unknown < 0 || (size_t)rules->unknown >= pieces->count)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a piece for unknown characters with id %d, found %zu "
                          "pieces",
                          path, (int)rules->unknown, pieces->count);
    made->unknown_score = lowest - unknown_penalty;
    NVDP_TRY(make_trie(ctx, pieces, made));
    for (int byte = 0; byte < NVDP__BYTE_VALUES; byte++) {
        char name[8];
        const int size = nvdp__snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        made->byte[byte] = find(made, name, (size_t)size);
    }
    return NVDP__HAND_OVER(out, made);
}

/* ---- the best pieces of a word ---- */

/* The best pieces up to a byte of a word. */
struct nvdp__unigram_node {
    double score;
    uint32_t start; /* start of the last piece */
    uint32_t end;   /* in the result: end of the piece that begins here */
    int32_t id;     /* id of the last piece; NO_PIECE if no piece ends here */
};

static void offer(struct nvdp__unigram_node *node, size_t start, size_t end, double score,
                  int32_t id) {
    const double sum = score + node[start].score;
    if (node[end].id != NO_PIECE && sum <= node[end].score) return;
    node[end].score = sum;
    node[end].start = (uint32_t)start;
    node[end].id = id;
}

/* Adds the ids of a run of unknown characters. */
static void add_unknown(const struct nvdp__unigram *unigram, struct nvdp__encoder *encoder,
                        const char *text, size_t size) {
    const int32_t id = find(unigram, text, size); /* the run may be a piece */
    bool bytes = id == NO_PIECE && unigram->rules.byte_fallback;
    for (size_t i = 0; bytes && i < size; i++)
        bytes = unigram->byte[(unsigned char)text[i]] != NO_PIECE;
    for (size_t i = 0; bytes && i < size; i++)
        encoder->ids[encoder->count++] = unigram->byte[(unsigned char)text[i]];
    if (!bytes) encoder->ids[encoder->count++] = id != NO_PIECE ? id : unigram->rules.unknown;
}

static nvdp_status encode_word(struct nvdp__encoder *encoder, const char *word, size_t size) {
    const struct nvdp__unigram *unigram = encoder->tokenizer->model;
    const int32_t unknown = unigram->rules.unknown;
    if (size >= UINT32_MAX)
        return nvdp__fail(encoder->ctx, NVDP_ERR_UNSUPPORTED, "a word of %zu bytes", size);
    NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->unigram.node, &encoder->unigram.capacity,
                           size + 1, sizeof *encoder->unigram.node));
    NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->ids, &encoder->capacity, encoder->count + size,
                           sizeof *encoder->ids));
    struct nvdp__unigram_node *node = encoder->unigram.node;
    for (size_t i = 0; i <= size; i++)
        node[i] = (struct nvdp__unigram_node){.id = NO_PIECE};
    for (size_t at = 0, bytes; at < size; at += bytes) {
        bool alone = false; /* true if the character is a piece */
        nvdp__decode(word + at, size - at, &bytes);
        for (size_t end = at, place = 0; end < size;) {
            place = child_node(unigram, place, word[end++]);
            if (place == 0) break;
            const int32_t id = unigram->id[place];
            if (id == NO_PIECE) continue;
            offer(node, at, end, unigram->score[id], id);
            alone |= end - at == bytes;
        }
        if (!alone) offer(node, at, at + bytes, unigram->unknown_score, unknown);
    }
    for (size_t end = size; end > 0; end = node[end].start)
        node[node[end].start].end = (uint32_t)end;
    for (size_t at = 0, end; at < size; at = end) {
        end = node[at].end;
        if (node[end].id != unknown) {
            encoder->ids[encoder->count++] = node[end].id;
            continue;
        }
        while (end < size && node[node[end].end].id == unknown)
            end = node[end].end;
        add_unknown(unigram, encoder, word + at, end - at);
    }
    return NVDP_OK;
}

/* ---- words ---- */

/* Encodes text[0..size), size > 0, with marks in place of spaces. */
static nvdp_status encode_marked(struct nvdp__encoder *encoder, const char *text, size_t size,
                                 size_t limit) {
    const struct nvdp__unigram_rules *rules =
        &((struct nvdp__unigram *)encoder->tokenizer->model)->rules;
    const size_t mark = rules->mark_size;
    size_t used = 0;
    if (!rules->marks_spaces) return encode_word(encoder, text, size);
    NVDP_TRY(nvdp__reserve(encoder->ctx, &encoder->spaced, &encoder->spaced_capacity,
                           (size + 1) * mark, 1));
    char *marked = encoder->spaced;
    const bool has = *text == ' ' || (size >= mark && memcmp(text, rules->mark, mark) == 0);
    if (!has && (rules->prefix == NVDP__LEADING_ALWAYS ||
                 (rules->prefix == NVDP__LEADING_FIRST && encoder->at_start))) {
        memcpy(marked, rules->mark, mark);
        used = mark;
    }
    for (size_t i = 0; i < size; i++) {
        const bool space = text[i] == ' ';
        memcpy(marked + used, space ? rules->mark : text + i, space ? mark : 1);
        used += space ? mark : 1;
    }
    for (size_t at = 0; at < used && encoder->count < limit;) {
        size_t end = rules->at_marks ? at + 1 : used;
        while (end < used && (used - end < mark || memcmp(marked + end, rules->mark, mark) != 0))
            end++;
        end = nvdp__min(end, used);
        NVDP_TRY(encode_word(encoder, marked + at, end - at));
        at = end;
    }
    return NVDP_OK;
}

static nvdp_status encode(struct nvdp__encoder *encoder, const char *text, size_t size,
                          size_t limit) {
    const struct nvdp__unigram *unigram = encoder->tokenizer->model;
    if (!unigram->rules.at_white_space) return encode_marked(encoder, text, size, limit);
    for (size_t at = 0, bytes; at < size && encoder->count < limit; at += bytes) {
        const size_t start = at;
        for (; at < size; at += bytes) {
            if (nvdp__is_white_space(nvdp__decode(text + at, size - at, &bytes))) break;
        }
        if (at > start) NVDP_TRY(encode_marked(encoder, text + start, at - start, limit));
    }
    return NVDP_OK;
}

static void digest(const struct nvdp_tokenizer *tokenizer, struct nvdp__digest *digest) {
    const struct nvdp__unigram *unigram = tokenizer->model;
    const struct nvdp__unigram_rules *rules = &unigram->rules;
    nvdp__digest_text(digest, tokenizer->row->name);
    nvdp__digest_bytes(digest, unigram->score, unigram->vocabulary * sizeof *unigram->score);
    NVDP__DIGEST_NUMBERS(digest, (uint64_t)rules->unknown,
                         (uint64_t)(rules->byte_fallback + 2 * rules->at_white_space +
                                    4 * rules->marks_spaces + 8 * rules->at_marks),
                         (uint64_t)rules->prefix);
    nvdp__digest_bytes(digest, rules->mark, rules->mark_size);
    nvdp__normalizer_digest(&tokenizer->normalizer, digest);
}

const struct nvdp__tokenizer_row nvdp__unigram_row = {
    .name = "Unigram", .encode = encode, .digest = digest, .free = free_unigram};

/* ==== the files ==== */

/* Unigram of a folder (tokenizer_maker.h): pieces with scores from tokenizer.json or from a SentencePiece file,
 * which is a message of Protocol Buffers. The library transformers reads the pieces and the table of characters of
 * this file. XLMRobertaTokenizer puts four special tokens in place of the first three pieces, and <mask> after the
 * last piece. */

/* Pieces that are being made. */
struct list {
    struct nvdp__maker *m;
    double **score;
    size_t capacity;
    json_t *named; /* special tokens that the file contains, as in 'added_tokens' */
};

static nvdp_status add_piece(struct list *list, const char *text, size_t size, double score) {
    struct nvdp__strings *pieces = &list->m->made->pieces;
    if (pieces->count >= NVDP__MAX_PIECES)
        return nvdp__fail(list->m->ctx, NVDP_ERR_UNSUPPORTED, "%s: expected at most %d pieces",
                          nvdp__file_path(list->m, nvdp__vocabulary_file(list->m)),
                          NVDP__MAX_PIECES);
    NVDP_TRY(nvdp__reserve(list->m->ctx, list->score, &list->capacity, pieces->count + 1,
                           sizeof **list->score));
    (*list->score)[pieces->count] = score;
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

/* Reads the rules that tokenizer.json states. */
static nvdp_status rules_of_json(struct nvdp__maker *m, const json_t *model,
                                 struct nvdp__unigram_rules *rules) {
    const char *path = nvdp__file_path(m, NVDP__FILE_TOKENIZER);
    const json_t *json = nvdp__file_root(m, NVDP__FILE_TOKENIZER);
    const json_t *bytes = json_object_get(model, "byte_fallback");
    int64_t unknown;
    NVDP_TRY(nvdp__json_int_required(m->ctx, path, model, "unk_id", 0, NVDP__MAX_PIECES, &unknown));
    if (bytes != NULL && !json_is_boolean(bytes))
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "model.byte_fallback", "true or false", bytes);
    rules->unknown = (int32_t)unknown;
    rules->byte_fallback = json_is_true(bytes);
    NVDP_TRY(
        nvdp__normalizer_read(&m->made->normalizer, path, json_object_get(json, "normalizer")));
    NVDP_TRY(read_words(m, json_object_get(json, "pre_tokenizer"), rules));
    if (rules->prefix == NVDP__LEADING_FIRST && json_is_object(json_object_get(json, "normalizer")))
        return nvdp__refuse(m, NVDP__FILE_TOKENIZER, "pre_tokenizer.prepend_scheme",
                            "always or never beside a normalizer, which may remove the beginning "
                            "of a text",
                            json_object_get(json, "pre_tokenizer"));
    return NVDP_OK;
}

/* Returns the first table in the normalizer of tokenizer.json, which is the only step that XLMRobertaTokenizer uses;
 * NULL if there is none. */
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

/* A field of a message in the wire format of Protocol Buffers. */
struct field {
    uint64_t number, value; /* `value` is for varints and 32-bit numbers */
    const char *bytes;      /* NULL if the field is a number */
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

/* Reads the field at *at < end and moves *at to the end of the field. */
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
                          nvdp__file_path(list->m, nvdp__vocabulary_file(list->m)));
    return NVDP_OK;
}

/* Reads a piece: its string (1), score (2) and type (3). */
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

/* Reads a SentencePiece file: the pieces (1) and the rules for characters (3), whose member 2 is a table. */
static nvdp_status read_sentencepiece(struct list *list) {
    enum { CONTROL = 3, USER_DEFINED = 4, REPLACED = 3 /* number of pieces at the start */ };
    struct nvdp__maker *m = list->m;
    const enum nvdp__tokenizer_file file = nvdp__vocabulary_file(m);
    const char *path = nvdp__file_path(m, file), *at = m->source->text[file];
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

/* Sets the rules of XLMRobertaTokenizer. */
static nvdp_status rules_of_class(struct nvdp__maker *m, struct nvdp__unigram_rules *rules) {
    const json_t *json = nvdp__file_root(m, NVDP__FILE_TOKENIZER);
    const json_t *table = table_of_json(json_object_get(json, "normalizer"));
    bool prefix;
    NVDP_TRY(nvdp__json_bool(m->ctx, nvdp__file_path(m, NVDP__FILE_CONFIG),
                             nvdp__file_root(m, NVDP__FILE_CONFIG), "add_prefix_space", true,
                             &prefix));
    *rules =
        (struct nvdp__unigram_rules){.unknown = 3,
                                     .at_white_space = true,
                                     .marks_spaces = true,
                                     .at_marks = true,
                                     .prefix = prefix ? NVDP__LEADING_ALWAYS : NVDP__LEADING_NEVER,
                                     .mark = "\xE2\x96\x81",
                                     .mark_size = 3};
    return nvdp__normalizer_read(&m->made->normalizer, nvdp__file_path(m, NVDP__FILE_TOKENIZER),
                                 table);
}

nvdp_status nvdp__make_unigram(struct nvdp__maker *m) {
    const json_t *model = json_object_get(nvdp__file_root(m, NVDP__FILE_TOKENIZER), "model");
    const char *path = nvdp__file_path(m, nvdp__vocabulary_file(m));
    struct nvdp__unigram_rules rules = {0};
    struct nvdp__unigram *unigram = NULL;
    nvdp__autofree double *score = NULL;
    nvdp__autoptr(json_decref) json_t *named = json_array();
    struct list list = {.m = m, .score = &score, .named = named};
    struct nvdp_tokenizer *made = m->made;
    made->row = &nvdp__unigram_row;
    if (named == NULL) return nvdp__fail(m->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    NVDP_TRY(nvdp__refuse_lower_case(m));
    NVDP_TRY(nvdp__normalizer_add_decoding(&made->normalizer));
    made->pieces.ctx = m->ctx;
    NVDP_TRY(nvdp__file_root(m, NVDP__FILE_TOKENIZER) != NULL ? pieces_of_json(&list, model)
                                                              : pieces_of_sentencepiece(&list));
    NVDP_TRY(m->class->backend ? rules_of_json(m, model, &rules) : rules_of_class(m, &rules));
    made->vocabulary = m->distinct = made->pieces.count;
    NVDP_TRY(nvdp__unigram_create(m->ctx, path, &made->pieces, &score, &rules, &unigram));
    made->model = unigram;
    NVDP_TRY(nvdp__add_tokens(m, named));
    made->special[NVDP_TOKEN_UNK] = rules.unknown;
    if (m->class->backend) return NVDP_OK;
    /* around a text, XLMRobertaTokenizer puts the tokens of bos_token and eos_token */
    const char *bos, *eos;
    NVDP_TRY(nvdp__special_name(m, NVDP__BOS, &bos));
    NVDP_TRY(nvdp__special_name(m, NVDP__EOS, &eos));
    made->special[NVDP_TOKEN_CLS] = nvdp_tokenizer_find(made, bos);
    made->special[NVDP_TOKEN_SEP] = nvdp_tokenizer_find(made, eos);
    return NVDP_OK;
}
