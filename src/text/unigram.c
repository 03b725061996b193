/* Unigram (tokenizer.h): a trie of the pieces, the best pieces of a word, and splitting into words.
 * Sums are formed and ties are broken as in the `tokenizers` library, so that ids are the same. */
#include "text/tokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_PIECE = -1 };
static const double unknown_penalty = 10.0;

struct nvdp__unigram {
    struct nvdp__unigram_rules rules;
    double *score; /* [vocabulary] by id */
    size_t vocabulary;
    double unknown_score;
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes; NO_PIECE: none */
    /* The trie. Children of a node follow each other: node i has nodes child[i] to child[i + 1] - 1.
     * Node 0 is the root. */
    uint32_t *child;      /* [nodes + 1] */
    int32_t *id;          /* [nodes] the piece that ends at a node; NO_PIECE: none */
    unsigned char *label; /* [nodes] the last byte of a node's text */
    size_t nodes;
};

/* ---- the trie ---- */

struct piece {
    const char *text;
    size_t size;
    int32_t id;
};

static int compare_pieces(const void *left, const void *right) {
    const struct piece *a = left, *b = right;
    const int order = memcmp(a->text, b->text, nvdp__min(a->size, b->size));
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* A node in the making: the pieces that begin with its text. */
struct range {
    uint32_t first, end, depth;
};

/* Makes the nodes level by level from sorted pieces. */
static nvdp_status make_nodes(struct nvdp__unigram *made, const struct piece *piece, size_t count,
                              struct range *range) {
    made->id[0] = NO_PIECE;
    range[0] = (struct range){0, (uint32_t)count, 0};
    made->nodes = 1;
    for (size_t node = 0; node < made->nodes; node++) {
        const uint32_t depth = range[node].depth, end = range[node].end;
        uint32_t at = range[node].first;
        made->child[node] = (uint32_t)made->nodes;
        if (at < end && piece[at].size == depth) made->id[node] = piece[at++].id;
        while (at < end) {
            const size_t child = made->nodes++;
            const uint32_t first = at;
            made->label[child] = (unsigned char)piece[at].text[depth];
            made->id[child] = NO_PIECE;
            while (at < end && (unsigned char)piece[at].text[depth] == made->label[child])
                at++;
            range[child] = (struct range){first, at, depth + 1};
        }
    }
    made->child[made->nodes] = (uint32_t)made->nodes;
    return NVDP_OK;
}

static nvdp_status make_trie(struct nvdp_context *ctx, const struct nvdp__strings *pieces,
                             struct nvdp__unigram *made) {
    nvdp__autofree struct piece *piece = NULL;
    nvdp__autofree struct range *range = NULL;
    size_t count = 0, nodes = 1;
    NVDP_TRY(NVDP__NEW(ctx, piece, pieces->count));
    for (size_t id = 0; id < pieces->count; id++) {
        size_t size;
        const char *text = nvdp__string(pieces, id, &size);
        if (*text != '\0') piece[count++] = (struct piece){text, size, (int32_t)id};
    }
    qsort(piece, count, sizeof *piece, compare_pieces);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        while (i > 0 && same < piece[i - 1].size && piece[i].text[same] == piece[i - 1].text[same])
            same++;
        nodes += piece[i].size - same;
    }
    if (nodes >= UINT32_MAX)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "a vocabulary of %zu bytes", nodes);
    NVDP_TRY(NVDP__NEW(ctx, range, nodes));
    NVDP_TRY(NVDP__NEW(ctx, made->child, nodes + 1));
    NVDP_TRY(NVDP__NEW(ctx, made->id, nodes));
    NVDP_TRY(NVDP__NEW(ctx, made->label, nodes));
    return make_nodes(made, piece, count, range);
}

/* The child of a node by a byte; 0: there is none. */
static size_t step(const struct nvdp__unigram *unigram, size_t node, char byte) {
    const size_t first = unigram->child[node];
    const unsigned char *labels = unigram->label + first;
    const unsigned char *found =
        memchr(labels, (unsigned char)byte, unigram->child[node + 1] - first);
    return found != NULL ? first + (size_t)(found - labels) : 0;
}

static int32_t find(const struct nvdp__unigram *unigram, const char *text, size_t size) {
    size_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = step(unigram, node, text[i]);
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
                                 const struct nvdp__strings *pieces, double *score,
                                 const struct nvdp__unigram_rules *rules,
                                 struct nvdp__unigram **out) {
    nvdp__autoptr(free_unigram) struct nvdp__unigram *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) {
        free(score);
        return NVDP_ERR_MEMORY;
    }
    made->score = score;
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
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* ---- the best pieces of a word ---- */

/* The best pieces up to a byte of a word. */
struct nvdp__unigram_node {
    double score;
    uint32_t start; /* of the last piece */
    uint32_t end;   /* of the piece that begins here, in the result */
    int32_t id;     /* of the last piece; NO_PIECE: no piece ends here */
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
        bool alone = false; /* the character is a piece */
        nvdp__decode(word + at, size - at, &bytes);
        for (size_t end = at, place = 0; end < size;) {
            place = step(unigram, place, word[end++]);
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

/* Encodes text[0..size), size > 0, with spaces as marks. */
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
    nvdp__digest_number(digest, (uint64_t)rules->unknown);
    nvdp__digest_number(digest, (uint64_t)(rules->byte_fallback + 2 * rules->at_white_space +
                                           4 * rules->marks_spaces + 8 * rules->at_marks));
    nvdp__digest_number(digest, (uint64_t)rules->prefix);
    nvdp__digest_bytes(digest, rules->mark, rules->mark_size);
    nvdp__normalizer_digest(&tokenizer->normalizer, digest);
}

const struct nvdp__tokenizer_row nvdp__unigram_row = {
    .name = "Unigram", .encode = encode, .digest = digest, .free = free_unigram};
