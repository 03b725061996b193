/* Vocabularies (vocabulary.h): distinct strings, vocab.txt, word counts, then training: pairs,
 * queue, merges, alphabet. */
#include "text/vocabulary.h"

#include "text/plain_text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1 << 10, /* of the hash table */
    LINES_A_REPORT = 256,
    MERGES_A_REPORT = 16,
    MAX_PIECES = 1 << 24,
    NO_NODE = 0
};

/* ---- distinct strings ---- */

static uint64_t hash_bytes(const char *bytes, size_t size) {
    uint64_t hash = NVDP__HASH_EMPTY;
    for (size_t i = 0; i < size; i++)
        hash = nvdp__hash_byte(hash, bytes[i]);
    return hash;
}

/* The slot of the string, or the free slot where it belongs. Multiplication propagates a byte
 * only to higher bits, so the index mixes both halves of the hash. */
static size_t find_slot(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                        const char *bytes, size_t size) {
    const size_t mark = tail ? 2 : 0;
    const size_t mask = strings->slots - 1;
    for (size_t at = (hash ^ hash >> 32) & mask;; at = (at + 1) & mask) {
        struct nvdp__slot slot = strings->slot[at];
        if (slot.number == 0) return at;
        if (slot.hash != hash >> 32) continue;
        size_t have;
        const char *text = nvdp__string(strings, slot.number - 1, &have);
        if (have == size + mark && memcmp(text, "##", mark) == 0 &&
            memcmp(text + mark, bytes, size) == 0)
            return at;
    }
}

/* Keeps at most half of the slots occupied. */
static nvdp_status reserve_slots(struct nvdp__strings *strings) {
    if (2 * (strings->count + 1) <= strings->slots) return NVDP_OK;
    struct nvdp__strings wider = *strings;
    wider.slots = strings->slots == 0 ? FIRST_SLOTS : 2 * strings->slots;
    wider.slot = nvdp__calloc(strings->ctx, wider.slots, sizeof *wider.slot);
    if (wider.slot == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < strings->count; i++) {
        size_t size;
        const char *text = nvdp__string(strings, i, &size);
        uint64_t hash = hash_bytes(text, size);
        wider.slot[find_slot(&wider, hash, false, text, size)] =
            (struct nvdp__slot){(uint32_t)(hash >> 32), (uint32_t)(i + 1)};
    }
    free(strings->slot);
    *strings = wider;
    return NVDP_OK;
}

/* The slot of a string and the upper half of its hash. */
static nvdp_status seek(struct nvdp__strings *strings, const char *bytes, size_t size,
                        struct nvdp__slot **slot, uint32_t *upper) {
    NVDP_TRY(reserve_slots(strings));
    uint64_t hash = hash_bytes(bytes, size);
    *slot = &strings->slot[find_slot(strings, hash, false, bytes, size)];
    *upper = (uint32_t)(hash >> 32);
    return NVDP_OK;
}

/* Appends the string, whose slot is known. */
static nvdp_status append(struct nvdp__strings *strings, struct nvdp__slot *slot, uint32_t upper,
                          const char *bytes, size_t size) {
    if (strings->count >= UINT32_MAX - 1)
        return nvdp__fail(strings->ctx, NVDP_ERR_UNSUPPORTED,
                          "more than 2^32 distinct words or pairs");
    NVDP_TRY(nvdp__reserve(strings->ctx, &strings->start, &strings->start_capacity,
                           strings->count + 2, sizeof *strings->start));
    size_t end = strings->start[strings->count];
    NVDP_TRY(
        nvdp__reserve(strings->ctx, &strings->text, &strings->text_capacity, end + size + 1, 1));
    memcpy(strings->text + end, bytes, size);
    strings->text[end + size] = '\0';
    if (size > strings->longest) strings->longest = size;
    strings->start[++strings->count] = end + size + 1;
    *slot = (struct nvdp__slot){upper, (uint32_t)strings->count};
    return NVDP_OK;
}

nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index) {
    struct nvdp__slot *slot;
    uint32_t upper;
    NVDP_TRY(seek(strings, bytes, size, &slot, &upper));
    *index = slot->number != 0 ? slot->number - 1 : strings->count;
    return slot->number != 0 ? NVDP_OK : append(strings, slot, upper, bytes, size);
}

nvdp_status nvdp__strings_append(struct nvdp__strings *strings, const char *bytes, size_t size) {
    struct nvdp__slot *slot;
    uint32_t upper;
    NVDP_TRY(seek(strings, bytes, size, &slot, &upper));
    const uint32_t before = slot->number;
    NVDP_TRY(append(strings, slot, upper, bytes, size));
    if (before != 0) strings->text[strings->start[before - 1]] = '\0';
    return NVDP_OK;
}

size_t nvdp__strings_lookup(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                            const char *bytes, size_t size) {
    if (strings->slots == 0) return SIZE_MAX;
    uint32_t number = strings->slot[find_slot(strings, hash, tail, bytes, size)].number;
    return number != 0 ? number - 1 : SIZE_MAX;
}

size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size) {
    return nvdp__strings_lookup(strings, hash_bytes(bytes, size), false, bytes, size);
}

void nvdp__strings_release(struct nvdp__strings *strings) {
    free(strings->text);
    free(strings->start);
    free(strings->slot);
    *strings = (struct nvdp__strings){0};
}

/* ---- vocab.txt ---- */

const char *const nvdp__special_names[NVDP__SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                         "[MASK]"};

/* The line without the white space at its end. */
static struct nvdp__field trimmed(struct nvdp__field line) {
    while (line.size > 0) {
        size_t first = line.size - 1, bytes; /* of the last character */
        while (first > 0 && line.size - first < 4 &&
               ((unsigned char)line.text[first] & 0xC0) == 0x80)
            first--;
        if (!nvdp__is_white_space(nvdp__decode(line.text + first, line.size - first, &bytes)) ||
            bytes != line.size - first)
            break;
        line.size = first;
    }
    return line;
}

static nvdp_status add_line(struct nvdp__strings *pieces, const char *path,
                            struct nvdp__field line) {
    struct nvdp_context *ctx = pieces->ctx;
    const size_t number = pieces->count + 1;
    if (memchr(line.text, '\0', line.size) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected text, found a NUL byte", path,
                          number);
    if (!nvdp__is_utf8(line.text, line.size))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected UTF-8, found piece %s", path,
                          number, nvdp__quote_field(line).text);
    line = trimmed(line);
    return nvdp__strings_append(pieces, line.text, line.size);
}

nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__strings *out) {
    nvdp__auto(nvdp__strings_release) struct nvdp__strings pieces = {.ctx = ctx};
    const size_t mark = sizeof NVDP__BYTE_ORDER_MARK - 1;
    size_t at = count >= mark && memcmp(bytes, NVDP__BYTE_ORDER_MARK, mark) == 0 ? mark : 0;
    while (at < count) {
        struct nvdp__field line = {bytes + at, count - at};
        const char *end = memchr(line.text, '\n', line.size);
        if (end != NULL) line.size = (size_t)(end - line.text);
        at += line.size + 1;
        NVDP_TRY(add_line(&pieces, path, line));
    }
    if (pieces.longest == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected one piece per line, found no piece",
                          path);
    NVDP__HAND_OVER(out, pieces);
    return NVDP_OK;
}

/* ---- word counts ---- */

nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times) {
    size_t index = 0;
    counts->words.ctx = counts->ctx;
    NVDP_TRY(nvdp__strings_add(&counts->words, word, size, &index));
    NVDP_TRY(nvdp__reserve(counts->ctx, &counts->times, &counts->capacity, index + 1,
                           sizeof *counts->times));
    counts->times[index] += times;
    return NVDP_OK;
}

void nvdp__word_counts_release(struct nvdp__word_counts *counts) {
    nvdp__strings_release(&counts->words);
    free(counts->times);
    *counts = (struct nvdp__word_counts){0};
}

/* Counts words while *left is positive. */
static nvdp_status count_line(struct nvdp__word_counts *counts, struct nvdp__words *words,
                              const struct nvdp__plain_line *line, uint64_t *left) {
    nvdp__words_begin(words, line->text, line->size);
    while (*left > 0) {
        bool found;
        NVDP_TRY(nvdp__words_next(words, &found));
        if (!found) return NVDP_OK;
        if (words->word.characters > NVDP__USUAL_WORD_CHARACTERS) continue;
        NVDP_TRY(nvdp__word_counts_add(counts, words->word.bytes, words->word.size, 1));
        --*left;
    }
    return NVDP_OK;
}

nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files, uint64_t max) {
    const uint64_t all = max > 0 ? max : UINT64_MAX;
    uint64_t left = all;
    struct nvdp_context *ctx = counts->ctx;
    nvdp__autoptr(nvdp__plain_text_close) struct nvdp__plain_text *plain = NULL;
    nvdp__auto(nvdp__words_release) struct nvdp__words words = {.rules = rules, .ctx = ctx};
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, ctx, "words", "line", 0, 0);
    NVDP_TRY(nvdp__plain_text_open(ctx, path, files, &plain));
    for (uint64_t lines = 0;; lines++) {
        struct nvdp__plain_line line;
        bool found;
        NVDP_TRY(nvdp__plain_text_next(plain, &line, &found));
        if (!found) break;
        if (line.begins) left = all;
        NVDP_TRY(count_line(counts, &words, &line, &left));
        if (lines % LINES_A_REPORT != 0) continue;
        nvdp__meter_update(&meter, lines, (double)nvdp__plain_text_bytes(plain) / 1e6, "MB", NAN);
        NVDP_TRY(nvdp__check_cancelled(ctx, "interrupted while words were counted"));
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* ---- pairs of adjacent pieces ---- */

struct pair {
    int32_t left, right;
    int64_t times;     /* over all words, weighted by their counts */
    uint32_t node;     /* list of words that have, or had, the pair */
    uint32_t enlarged; /* the last merge that made it more frequent */
};
struct node { /* an entry of a pair's list of words */
    uint32_t word, next;
};
struct candidate { /* an entry of the queue: a pair and its count at insertion */
    int64_t times;
    uint32_t pair;
};

struct trainer {
    struct nvdp_context *ctx;
    const struct nvdp__word_counts *counts;
    const struct nvdp__vocabulary_options *options;
    struct nvdp__strings pieces; /* the vocabulary so far */
    /* words as sequences of pieces; words not used in training are empty */
    int32_t *symbol;
    size_t symbols;
    size_t *start;    /* [words] */
    uint32_t *length; /* [words] */
    struct pair *pair;
    size_t pairs, pair_capacity;
    struct nvdp__strings keys; /* of the pairs */
    struct node *node;         /* node 0 is the null node */
    size_t nodes, node_capacity;
    struct candidate *heap;
    size_t heaped, heap_capacity;
    uint32_t *enlarged; /* pairs that the current merge makes more frequent */
    size_t enlarged_count, enlarged_capacity;
    uint32_t merge; /* index of the current merge, from 1 */
};

struct key {
    int32_t left, right;
};

static nvdp_status find_pair(struct trainer *t, struct key key, size_t *index) {
    NVDP_TRY(nvdp__strings_add(&t->keys, (const char *)&key, sizeof key, index));
    if (*index < t->pairs) return NVDP_OK;
    NVDP_TRY(nvdp__reserve(t->ctx, &t->pair, &t->pair_capacity, t->pairs + 1, sizeof *t->pair));
    t->pair[t->pairs++] = (struct pair){.left = key.left, .right = key.right, .node = NO_NODE};
    return NVDP_OK;
}

/* Counts another occurrence of the pair. */
static nvdp_status add_place(struct trainer *t, int32_t left, int32_t right, uint32_t word) {
    size_t index = 0;
    NVDP_TRY(find_pair(t, (struct key){left, right}, &index));
    NVDP_TRY(nvdp__reserve(t->ctx, &t->node, &t->node_capacity, t->nodes + 1, sizeof *t->node));
    NVDP_TRY(nvdp__reserve(t->ctx, &t->enlarged, &t->enlarged_capacity, t->enlarged_count + 1,
                           sizeof *t->enlarged));
    struct pair *pair = &t->pair[index];
    pair->times += (int64_t)t->counts->times[word];
    if (pair->node == NO_NODE || t->node[pair->node].word != word) {
        t->node[t->nodes] = (struct node){.word = word, .next = pair->node};
        pair->node = (uint32_t)t->nodes++;
    }
    if (pair->enlarged != t->merge) {
        pair->enlarged = t->merge;
        t->enlarged[t->enlarged_count++] = (uint32_t)index;
    }
    return NVDP_OK;
}

static void remove_place(struct trainer *t, int32_t left, int32_t right, uint32_t word) {
    const struct key key = {left, right};
    char bytes[sizeof key];
    memcpy(bytes, &key, sizeof key);
    const size_t index = nvdp__strings_find(&t->keys, bytes, sizeof key);
    t->pair[index].times -= (int64_t)t->counts->times[word];
}

/* ---- the queue: by decreasing frequency, then by left and right piece ---- */

static bool comes_before(const struct trainer *t, struct candidate a, struct candidate b) {
    if (a.times != b.times) return a.times > b.times;
    const struct pair *p = &t->pair[a.pair];
    const struct pair *q = &t->pair[b.pair];
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

static nvdp_status heap_push(struct trainer *t, uint32_t pair) {
    NVDP_TRY(nvdp__reserve(t->ctx, &t->heap, &t->heap_capacity, t->heaped + 1, sizeof *t->heap));
    struct candidate item = {t->pair[pair].times, pair};
    size_t at = t->heaped++;
    while (at > 0 && comes_before(t, item, t->heap[(at - 1) / 2])) {
        t->heap[at] = t->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    t->heap[at] = item;
    return NVDP_OK;
}

static struct candidate heap_pop(struct trainer *t) {
    struct candidate top = t->heap[0];
    struct candidate item = t->heap[--t->heaped];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= t->heaped) break;
        if (child + 1 < t->heaped && comes_before(t, t->heap[child + 1], t->heap[child])) child++;
        if (!comes_before(t, t->heap[child], item)) break;
        t->heap[at] = t->heap[child];
        at = child;
    }
    t->heap[at] = item;
    return top;
}

/* Finds the pair to merge; *found is false if none is frequent enough. Outdated counts in the
 * queue are too large: such a pair is reinserted with its current count. */
static nvdp_status best_pair(struct trainer *t, uint32_t *best, bool *found) {
    int64_t min = (int64_t)t->options->min_count;
    *found = false;
    while (t->heaped > 0 && !*found) {
        struct candidate top = heap_pop(t);
        int64_t times = t->pair[top.pair].times;
        if (times < min) continue;
        *found = times == top.times;
        *best = top.pair;
        if (!*found) NVDP_TRY(heap_push(t, top.pair));
    }
    return NVDP_OK;
}

static nvdp_status push_enlarged(struct trainer *t) {
    for (size_t i = 0; i < t->enlarged_count; i++) {
        if (t->pair[t->enlarged[i]].times >= (int64_t)t->options->min_count)
            NVDP_TRY(heap_push(t, t->enlarged[i]));
    }
    t->enlarged_count = 0;
    return NVDP_OK;
}

/* ---- merges ---- */

/* Replaces left, right by `merged` everywhere in the word. */
static nvdp_status merge_in_word(struct trainer *t, uint32_t word, int32_t left, int32_t right,
                                 int32_t merged) {
    int32_t *at = t->symbol + t->start[word];
    uint32_t length = t->length[word];
    uint32_t to = 0;
    for (uint32_t i = 0; i < length; i++, to++) {
        if (i + 1 == length || at[i] != left || at[i + 1] != right) {
            at[to] = at[i];
            continue;
        }
        remove_place(t, left, right, word);
        if (to > 0) {
            remove_place(t, at[to - 1], left, word);
            NVDP_TRY(add_place(t, at[to - 1], merged, word));
        }
        if (i + 2 < length) {
            remove_place(t, right, at[i + 2], word);
            NVDP_TRY(add_place(t, merged, at[i + 2], word));
        }
        at[to] = merged;
        i++;
    }
    t->length[word] = to;
    return NVDP_OK;
}

/* The piece of a pair: the left one followed by the right one without "##". Two pairs may give
 * the same piece. */
static nvdp_status join(struct trainer *t, int32_t left, int32_t right, int32_t *merged) {
    char text[NVDP__WORD_BYTES + 2];
    size_t size;
    size_t tail;
    const char *a = nvdp__string(&t->pieces, (size_t)left, &size);
    memcpy(text, a, size);
    const char *b = nvdp__string(&t->pieces, (size_t)right, &tail);
    memcpy(text + size, b + 2, tail - 2);
    size_t index = 0;
    NVDP_TRY(nvdp__strings_add(&t->pieces, text, size + tail - 2, &index));
    *merged = (int32_t)index;
    return NVDP_OK;
}

static nvdp_status merge_pair(struct trainer *t, uint32_t best) {
    const struct pair pair = t->pair[best];
    int32_t merged = 0;
    t->merge++;
    NVDP_TRY(join(t, pair.left, pair.right, &merged));
    for (uint32_t node = pair.node; node != NO_NODE; node = t->node[node].next) {
        NVDP_TRY(merge_in_word(t, t->node[node].word, pair.left, pair.right, merged));
    }
    return push_enlarged(t);
}

static nvdp_status merge_all(struct trainer *t) {
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, t->ctx, "vocabulary", "piece", t->pieces.count, t->options->size);
    for (size_t merges = 0; t->pieces.count < t->options->size; merges++) {
        uint32_t best = 0;
        bool found;
        NVDP_TRY(best_pair(t, &best, &found));
        if (!found) break;
        NVDP_TRY(merge_pair(t, best));
        if (merges % MERGES_A_REPORT != 0) continue;
        nvdp__meter_update(&meter, t->pieces.count, (double)merges, "piece", NAN);
        NVDP_TRY(nvdp__check_cancelled(t->ctx, "interrupted while the vocabulary was trained"));
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* ---- the alphabet ---- */

struct character {
    char bytes[4];
    uint32_t size;
    uint64_t times;
    bool form[2]; /* begins words; continues words */
};
struct alphabet {
    struct nvdp__strings index; /* index into `at` */
    struct character *at;
    size_t capacity;
};

static int by_frequency(const void *a, const void *b) {
    const struct character *x = a;
    const struct character *y = b;
    if (x->times != y->times) return x->times > y->times ? -1 : 1;
    /* the order of UTF-8 bytes is that of code points */
    return memcmp(x->bytes, y->bytes, sizeof x->bytes);
}

static size_t character_size(const char *bytes) {
    unsigned char lead = (unsigned char)bytes[0];
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static nvdp_status count_characters(struct trainer *t, struct alphabet *alphabet) {
    const struct nvdp__strings *words = &t->counts->words;
    for (size_t w = 0; w < words->count; w++) {
        size_t size;
        const char *word = nvdp__string(words, w, &size);
        for (size_t at = 0; at < size; at += character_size(word + at)) {
            size_t bytes = character_size(word + at);
            size_t index = 0;
            NVDP_TRY(nvdp__strings_add(&alphabet->index, word + at, bytes, &index));
            NVDP_TRY(nvdp__reserve(t->ctx, &alphabet->at, &alphabet->capacity, index + 1,
                                   sizeof *alphabet->at));
            struct character *character = &alphabet->at[index];
            memcpy(character->bytes, word + at, bytes);
            character->size = (uint32_t)bytes;
            character->times += t->counts->times[w];
        }
    }
    return NVDP_OK;
}

/* Sorts, keeps the most frequent characters, and numbers them. */
static nvdp_status limit_alphabet(struct trainer *t, struct alphabet *alphabet) {
    size_t count = alphabet->index.count;
    if (count > 0) qsort(alphabet->at, count, sizeof *alphabet->at, by_frequency);
    nvdp__strings_release(&alphabet->index);
    alphabet->index.ctx = t->ctx;
    size_t kept = nvdp__min(count, t->options->alphabet);
    for (size_t i = 0; i < kept; i++) {
        size_t index = 0;
        NVDP_TRY(nvdp__strings_add(&alphabet->index, alphabet->at[i].bytes, alphabet->at[i].size,
                                   &index));
    }
    return NVDP_OK;
}

/* Records in which forms characters occur and sums the words' lengths; words with a dropped
 * character have length 0. */
static void measure_words(struct trainer *t, struct alphabet *alphabet) {
    const struct nvdp__strings *words = &t->counts->words;
    for (size_t w = 0; w < words->count; w++) {
        size_t size;
        const char *word = nvdp__string(words, w, &size);
        uint32_t length = 0;
        size_t at = 0;
        while (at < size && nvdp__strings_find(&alphabet->index, word + at,
                                               character_size(word + at)) != SIZE_MAX) {
            at += character_size(word + at);
            length++;
        }
        t->start[w] = t->symbols;
        t->length[w] = at == size ? length : 0;
        t->symbols += t->length[w];
        for (at = 0; t->length[w] > 0 && at < size; at += character_size(word + at)) {
            size_t index =
                nvdp__strings_find(&alphabet->index, word + at, character_size(word + at));
            alphabet->at[index].form[at > 0] = true;
        }
    }
}

/* Adds special tokens, then the characters in both forms. */
static nvdp_status first_pieces(struct trainer *t, const struct alphabet *alphabet) {
    size_t index = 0;
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        const char *name = nvdp__special_names[i];
        NVDP_TRY(nvdp__strings_add(&t->pieces, name, strlen(name), &index));
    }
    for (size_t i = 0; i < 2 * alphabet->index.count; i++) {
        const struct character *character = &alphabet->at[i % alphabet->index.count];
        const size_t form = i / alphabet->index.count;
        char marked[2 + sizeof character->bytes] = "##";
        memcpy(marked + 2, character->bytes, sizeof character->bytes);
        if (character->form[form])
            NVDP_TRY(nvdp__strings_add(&t->pieces, marked + 2 - 2 * form,
                                       2 * form + character->size, &index));
    }
    if (t->pieces.count <= t->options->size) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "{vocab-size}: expected at least %zu for the special tokens and the text's "
                      "characters, found %zu",
                      t->pieces.count, t->options->size);
}

/* Splits words into one-character pieces and counts their pairs. */
static nvdp_status split_words(struct trainer *t) {
    const struct nvdp__strings *words = &t->counts->words;
    t->symbol = nvdp__calloc(t->ctx, t->symbols, sizeof *t->symbol);
    if (t->symbol == NULL) return NVDP_ERR_MEMORY;
    t->merge = 1;
    for (size_t w = 0; w < words->count; w++) {
        size_t size;
        const char *word = nvdp__string(words, w, &size);
        int32_t *symbol = t->symbol + t->start[w];
        for (size_t at = 0, i = 0; i < t->length[w]; at += character_size(word + at), i++) {
            char text[2 + 4] = "##";
            size_t mark = i > 0 ? 2 : 0;
            size_t bytes = character_size(word + at);
            memcpy(text + mark, word + at, bytes);
            symbol[i] = (int32_t)nvdp__strings_find(&t->pieces, text, mark + bytes);
            if (i > 0) NVDP_TRY(add_place(t, symbol[i - 1], symbol[i], (uint32_t)w));
        }
    }
    return push_enlarged(t);
}

static nvdp_status begin(struct trainer *t, struct alphabet *alphabet) {
    size_t words = t->counts->words.count;
    t->start = nvdp__calloc(t->ctx, words, sizeof *t->start);
    t->length = nvdp__calloc(t->ctx, words, sizeof *t->length);
    if (t->start == NULL || t->length == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__reserve(t->ctx, &t->node, &t->node_capacity, t->nodes + 1, sizeof *t->node));
    t->nodes = 1;
    NVDP_TRY(count_characters(t, alphabet));
    NVDP_TRY(limit_alphabet(t, alphabet));
    measure_words(t, alphabet);
    NVDP_TRY(first_pieces(t, alphabet));
    return split_words(t);
}

static void release(struct trainer *t) {
    nvdp__strings_release(&t->pieces);
    free(t->symbol);
    free(t->start);
    free(t->length);
    free(t->pair);
    nvdp__strings_release(&t->keys);
    free(t->node);
    free(t->heap);
    free(t->enlarged);
}

/* Writes one piece per line. */
static nvdp_status write_text(const struct trainer *t, char **text) {
    size_t bytes = t->pieces.start[t->pieces.count];
    char *out = nvdp__calloc(t->ctx, bytes + 1, 1);
    if (out == NULL) return NVDP_ERR_MEMORY;
    memcpy(out, t->pieces.text, bytes);
    for (size_t i = 0; i < t->pieces.count; i++)
        out[t->pieces.start[i + 1] - 1] = '\n';
    *text = out;
    return NVDP_OK;
}

nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces) {
    nvdp_status status = NVDP_OK;
    struct trainer t = {.ctx = ctx,
                        .counts = counts,
                        .options = options,
                        .pieces = {.ctx = ctx},
                        .keys = {.ctx = ctx}};
    struct alphabet alphabet = {.index = {.ctx = ctx}};
    if (options->size > MAX_PIECES)
        NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                     "{vocab-size}: expected at most %d, found %zu", MAX_PIECES,
                                     options->size));
    NVDP_TRY_OR_CLEAN(begin(&t, &alphabet));
    NVDP_TRY_OR_CLEAN(merge_all(&t));
    NVDP_TRY_OR_CLEAN(write_text(&t, text));
    *pieces = t.pieces.count;
cleanup:
    nvdp__strings_release(&alphabet.index);
    free(alphabet.at);
    release(&t);
    return status;
}
