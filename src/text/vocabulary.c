/* Vocabularies (vocabulary.h): distinct strings, vocab.txt, word counts, then training: pairs,
 * queue, merges, alphabet. */
#include "text/vocabulary.h"

#include "base/array.h"
#include "base/file.h"
#include "text/plain_text.h"
#include "text/tokenizer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 1 << 10, /* initial slots of the hash table */
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

/* Returns the slot of the string, or the free slot where it belongs. Multiplication propagates a byte only to higher
 * bits, so the index mixes both halves of the hash. */
static size_t find_slot(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                        const char *bytes, size_t size) {
    const size_t mark = tail ? 2 : 0;
    const size_t mask = strings->slots - 1;
    for (size_t at = (hash ^ hash >> 32) & mask;; at = (at + 1) & mask) {
        struct nvdp__slot slot = strings->slot[at];
        if (slot.number == 0) return at;
        if (slot.hash != hash >> 32) continue;
        const struct nvdp__field have = nvdp__string(strings, slot.number - 1);
        if (have.size == size + mark && memcmp(have.text, "##", mark) == 0 &&
            memcmp(have.text + mark, bytes, size) == 0)
            return at;
    }
}

/* Finds the slot of a string, and computes the upper half of the string's hash. Grows the table first if more than
 * half of the slots would be occupied. */
static nvdp_status seek(struct nvdp__strings *strings, const char *bytes, size_t size,
                        struct nvdp__slot **slot, uint32_t *upper) {
    if (2 * (strings->count + 1) > strings->slots) {
        struct nvdp__strings wider = *strings;
        wider.slots = strings->slots == 0 ? FIRST_SLOTS : 2 * strings->slots;
        NVDP_TRY(NVDP__NEW(strings->ctx, wider.slot, wider.slots));
        for (size_t i = 0; i < strings->count; i++) {
            const struct nvdp__field one = nvdp__string(strings, i);
            const uint64_t hash = hash_bytes(one.text, one.size);
            wider.slot[find_slot(&wider, hash, false, one.text, one.size)] =
                (struct nvdp__slot){(uint32_t)(hash >> 32), (uint32_t)(i + 1)};
        }
        free(strings->slot);
        *strings = wider;
    }
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

nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__strings *out) {
    nvdp__auto(nvdp__strings_release) struct nvdp__strings pieces = {.ctx = ctx};
    const size_t mark = nvdp__byte_order_mark(bytes, count);
    struct nvdp__field rest = {bytes + mark, count - mark};
    while (rest.size > 0) {
        struct nvdp__field line = nvdp__take_part(&rest, '\n');
        size_t last; /* bytes of the last character */
        if (memchr(line.text, '\0', line.size) != NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected text, found a NUL byte", path,
                              pieces.count + 1);
        if (!nvdp__is_utf8(line.text, line.size))
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected UTF-8, found piece %s", path,
                              pieces.count + 1, nvdp__quote_field(line).text);
        /* white space at the end of a line is not part of the piece */
        while (line.size > 0 && nvdp__is_white_space(nvdp__last_rune(line.text, line.size, &last)))
            line.size -= last;
        NVDP_TRY(nvdp__strings_append(&pieces, line.text, line.size));
    }
    if (pieces.longest == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected one piece per line, found no piece",
                          path);
    return NVDP__HAND_OVER(out, pieces);
}

/* ---- word counts ---- */

nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times) {
    size_t index = 0;
    counts->words.ctx = counts->ctx;
    NVDP_TRY(nvdp__strings_add(&counts->words, word, size, &index));
    NVDP_TRY(nvdp__reserve(counts->ctx, &counts->entry, &counts->capacity, index + 1,
                           sizeof *counts->entry));
    struct nvdp__word_entry *entry = &counts->entry[index];
    if (!counts->once || entry->document != counts->document) entry->times += times;
    entry->document = counts->document;
    return NVDP_OK;
}

void nvdp__word_counts_release(struct nvdp__word_counts *counts) {
    nvdp__strings_release(&counts->words);
    free(counts->entry);
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
        if (line.begins) {
            left = all;
            counts->document++;
        }
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
    /* number of occurrences over all words, weighted by the counts of the words */
    int64_t times;
    uint32_t node;     /* list of words that have, or had, the pair */
    uint32_t enlarged; /* the last merge that made the pair more frequent */
};
struct node { /* An entry of a pair's list of words. */
    uint32_t word, next;
};

struct character {
    char bytes[4];
    uint32_t size;
    uint64_t times;
    bool form[2]; /* true if the character begins words; true if it continues words */
};
struct alphabet {
    struct nvdp__strings index; /* index into `at` */
    struct character *at;
    size_t capacity;
};

struct trainer {
    struct nvdp_context *ctx;
    const struct nvdp__word_counts *counts;
    const struct nvdp__vocabulary_options *options;
    struct nvdp__strings pieces; /* the vocabulary so far */
    struct alphabet alphabet;
    /* words as sequences of pieces, in `memory`; words not used in training are empty */
    struct nvdp__memory memory;
    int32_t *symbol;
    size_t symbols;
    size_t *start;    /* [words] first piece of each word */
    uint32_t *length; /* [words] number of pieces of each word */
    struct pair *pair;
    size_t pairs, pair_capacity;
    struct nvdp__strings keys; /* keys of the pairs */
    struct node *node;         /* node 0 is the null node */
    size_t nodes, node_capacity;
    /* pairs by decreasing count at insertion, then by left and right piece */
    struct nvdp__heap_item *heap;
    size_t heaped, heap_capacity;
    uint32_t *enlarged; /* pairs that the current merge makes more frequent */
    size_t enlarged_count, enlarged_capacity;
    uint32_t merge; /* index of the current merge, from 1 */
};

struct key {
    int32_t left, right;
};

/* Counts another occurrence of the pair. */
static nvdp_status add_place(struct trainer *t, int32_t left, int32_t right, uint32_t word) {
    const struct key key = {left, right};
    size_t index = 0;
    NVDP_TRY(nvdp__strings_add(&t->keys, (const char *)&key, sizeof key, &index));
    if (index == t->pairs)
        NVDP_TRY(NVDP__PUSH(t->ctx, t->pair, t->pairs, t->pair_capacity,
                            (struct pair){.left = left, .right = right, .node = NO_NODE}));
    struct pair *pair = &t->pair[index];
    pair->times += (int64_t)t->counts->entry[word].times;
    if (pair->node == NO_NODE || t->node[pair->node].word != word) {
        const struct node node = {.word = word, .next = pair->node};
        pair->node = (uint32_t)t->nodes;
        NVDP_TRY(NVDP__PUSH(t->ctx, t->node, t->nodes, t->node_capacity, node));
    }
    if (pair->enlarged == t->merge) return NVDP_OK;
    pair->enlarged = t->merge;
    return NVDP__PUSH(t->ctx, t->enlarged, t->enlarged_count, t->enlarged_capacity,
                      (uint32_t)index);
}

static void remove_place(struct trainer *t, int32_t left, int32_t right, uint32_t word) {
    const struct key key = {left, right};
    const size_t index = nvdp__strings_find(&t->keys, (const char *)&key, sizeof key);
    t->pair[index].times -= (int64_t)t->counts->entry[word].times;
}

/* ---- the queue: by decreasing frequency, then by left and right piece ---- */

static nvdp_status enqueue(struct trainer *t, size_t index) {
    const struct pair *pair = &t->pair[index];
    const struct nvdp__heap_item item = {.first = (uint64_t)(INT64_MAX - pair->times),
                                         .second = (uint64_t)(uint32_t)pair->left << 32 |
                                                   (uint32_t)pair->right,
                                         .of = index};
    NVDP_TRY(nvdp__reserve(t->ctx, &t->heap, &t->heap_capacity, t->heaped + 1, sizeof *t->heap));
    nvdp__heap_push(t->heap, &t->heaped, item);
    return NVDP_OK;
}

/* Finds the pair to merge; *found is false if no pair is frequent enough. An outdated count in the queue is too
 * large; such a pair is inserted again with its current count. */
static nvdp_status best_pair(struct trainer *t, uint32_t *best, bool *found) {
    int64_t min = (int64_t)t->options->min_count;
    *found = false;
    while (t->heaped > 0 && !*found) {
        const struct nvdp__heap_item top = nvdp__heap_pop(t->heap, &t->heaped);
        int64_t times = t->pair[top.of].times;
        if (times < min) continue;
        *found = times == INT64_MAX - (int64_t)top.first;
        *best = (uint32_t)top.of;
        if (!*found) NVDP_TRY(enqueue(t, top.of));
    }
    return NVDP_OK;
}

static nvdp_status push_enlarged(struct trainer *t) {
    for (size_t i = 0; i < t->enlarged_count; i++) {
        if (t->pair[t->enlarged[i]].times >= (int64_t)t->options->min_count)
            NVDP_TRY(enqueue(t, t->enlarged[i]));
    }
    t->enlarged_count = 0;
    return NVDP_OK;
}

/* ---- merges ---- */

/* Replaces the pair (left, right) by `merged` everywhere in the word. */
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

static nvdp_status merge_all(struct trainer *t) {
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, t->ctx, "vocabulary", "piece", t->pieces.count, t->options->size);
    for (size_t merges = 0; t->pieces.count < t->options->size; merges++) {
        char text[NVDP__WORD_BYTES + 2];
        uint32_t best = 0;
        size_t index = 0;
        bool found;
        NVDP_TRY(best_pair(t, &best, &found));
        if (!found) break;
        const struct pair pair = t->pair[best];
        t->merge++;
        /* the new piece is the left piece followed by the right piece without "##"; two pairs may give the same
         * piece */
        const struct nvdp__field left = nvdp__string(&t->pieces, (size_t)pair.left);
        const struct nvdp__field right = nvdp__string(&t->pieces, (size_t)pair.right);
        memcpy(text, left.text, left.size);
        memcpy(text + left.size, right.text + 2, right.size - 2);
        NVDP_TRY(nvdp__strings_add(&t->pieces, text, left.size + right.size - 2, &index));
        for (uint32_t node = pair.node; node != NO_NODE; node = t->node[node].next)
            NVDP_TRY(merge_in_word(t, t->node[node].word, pair.left, pair.right, (int32_t)index));
        NVDP_TRY(push_enlarged(t));
        if (merges % MERGES_A_REPORT != 0) continue;
        nvdp__meter_update(&meter, t->pieces.count, (double)merges, "piece", NAN);
        NVDP_TRY(nvdp__check_cancelled(t->ctx, "interrupted while the vocabulary was trained"));
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* ---- the alphabet ---- */

static size_t character_size(const char *bytes) {
    unsigned char lead = (unsigned char)bytes[0];
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Keeps the most frequent characters, and numbers them by decreasing frequency. Equally frequent characters are
 * ordered by their bytes, which is the order of code points. */
static nvdp_status make_alphabet(struct trainer *t, struct alphabet *alphabet) {
    const struct nvdp__strings *words = &t->counts->words;
    for (size_t w = 0; w < words->count; w++) {
        const struct nvdp__field word = nvdp__string(words, w);
        for (size_t at = 0, bytes, index = 0; at < word.size; at += bytes) {
            bytes = character_size(word.text + at);
            NVDP_TRY(nvdp__strings_add(&alphabet->index, word.text + at, bytes, &index));
            NVDP_TRY(nvdp__reserve(t->ctx, &alphabet->at, &alphabet->capacity, index + 1,
                                   sizeof *alphabet->at));
            struct character *character = &alphabet->at[index];
            memcpy(character->bytes, word.text + at, bytes);
            character->size = (uint32_t)bytes;
            character->times += t->counts->entry[w].times;
        }
    }
    const size_t count = alphabet->index.count;
    NVDP__SORT(alphabet->at, count, NVDP__DOWN(struct character, times),
               NVDP__UP_MEMORY(struct character, bytes));
    nvdp__strings_release(&alphabet->index);
    alphabet->index.ctx = t->ctx;
    for (size_t i = 0, index; i < count && i < t->options->alphabet; i++)
        NVDP_TRY(nvdp__strings_add(&alphabet->index, alphabet->at[i].bytes, alphabet->at[i].size,
                                   &index));
    return NVDP_OK;
}

/* Returns the index of the character at `bytes`; SIZE_MAX if the character was dropped. */
static size_t find_character(const struct alphabet *alphabet, const char *bytes) {
    return nvdp__strings_find(&alphabet->index, bytes, character_size(bytes));
}

/* Records in which forms characters occur, and sums the lengths of the words; words with a dropped character have
 * length 0. */
static void measure_words(struct trainer *t, struct alphabet *alphabet) {
    const struct nvdp__strings *words = &t->counts->words;
    for (size_t w = 0; w < words->count; w++) {
        const struct nvdp__field word = nvdp__string(words, w);
        uint32_t length = 0;
        size_t at = 0;
        for (; at < word.size && find_character(alphabet, word.text + at) != SIZE_MAX; length++)
            at += character_size(word.text + at);
        t->start[w] = t->symbols;
        t->length[w] = at == word.size ? length : 0;
        t->symbols += t->length[w];
        for (at = 0; t->length[w] > 0 && at < word.size; at += character_size(word.text + at))
            alphabet->at[find_character(alphabet, word.text + at)].form[at > 0] = true;
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
    NVDP_TRY(NVDP__ARRAYS(t->ctx, &t->memory, NVDP__ITEMS(t->symbol, t->symbols)));
    t->merge = 1;
    for (size_t w = 0; w < words->count; w++) {
        const char *word = nvdp__string(words, w).text;
        int32_t *symbol = t->symbol + t->start[w];
        for (size_t i = 0, bytes; i < t->length[w]; i++, word += bytes) {
            char text[2 + 4] = "##";
            const size_t mark = i > 0 ? 2 : 0;
            bytes = character_size(word);
            memcpy(text + mark, word, bytes);
            symbol[i] = (int32_t)nvdp__strings_find(&t->pieces, text, mark + bytes);
            if (i > 0) NVDP_TRY(add_place(t, symbol[i - 1], symbol[i], (uint32_t)w));
        }
    }
    return push_enlarged(t);
}

static void release(struct trainer *t) {
    nvdp__strings_release(&t->alphabet.index);
    free(t->alphabet.at);
    nvdp__strings_release(&t->pieces);
    nvdp__memory_release(&t->memory);
    free(t->pair);
    nvdp__strings_release(&t->keys);
    free(t->node);
    free(t->heap);
    free(t->enlarged);
}

nvdp_status nvdp__vocabulary_text(struct nvdp_context *ctx, const struct nvdp__strings *pieces,
                                  char **out, size_t *size) {
    NVDP_TRY(NVDP__NEW(ctx, *out, pieces->start[pieces->count] + 1));
    *size = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        for (const char *at = pieces->text + pieces->start[i]; *at != '\0'; at++)
            (*out)[(*size)++] = *at;
        (*out)[(*size)++] = '\n';
    }
    return NVDP_OK;
}

nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces) {
    nvdp__auto(release) struct trainer t = {.ctx = ctx,
                                            .counts = counts,
                                            .options = options,
                                            .pieces = {.ctx = ctx},
                                            .keys = {.ctx = ctx},
                                            .alphabet = {.index = {.ctx = ctx}}};
    size_t bytes;
    if (options->size > MAX_PIECES)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{vocab-size}: expected at most %d, found %zu",
                          MAX_PIECES, options->size);
    NVDP_TRY(NVDP__ARRAYS(ctx, &t.memory, NVDP__ITEMS(t.start, counts->words.count),
                          NVDP__ITEMS(t.length, counts->words.count)));
    NVDP_TRY(NVDP__PUSH(ctx, t.node, t.nodes, t.node_capacity, (struct node){0}));
    NVDP_TRY(make_alphabet(&t, &t.alphabet));
    measure_words(&t, &t.alphabet);
    NVDP_TRY(first_pieces(&t, &t.alphabet));
    NVDP_TRY(split_words(&t));
    NVDP_TRY(merge_all(&t));
    NVDP_TRY(nvdp__vocabulary_text(ctx, &t.pieces, text, &bytes));
    *pieces = t.pieces.count;
    return NVDP_OK;
}
