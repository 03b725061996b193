/* The vocabulary trainer: known merges, ties, limits, and a plain version of the same rule. */
#include "text_support.h"

#include "test_context.h"

struct word {
    const char *text;
    uint64_t times;
};

static char *train(const struct word *words, size_t count, size_t size, size_t alphabet,
                   uint64_t min_count) {
    struct nvdp__word_counts counts = {.ctx = ctx};
    const struct nvdp__vocabulary_options options = {size, alphabet, min_count};
    char *text = NULL;
    size_t pieces = 0;
    for (size_t i = 0; i < count; i++)
        ok(nvdp__word_counts_add(&counts, words[i].text, strlen(words[i].text), words[i].times));
    ok(nvdp__vocabulary_train(ctx, &counts, &options, &text, &pieces));
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    cr_assert_eq(lines, pieces);
    nvdp__word_counts_release(&counts);
    return support_keep(text);
}

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static void expect(const struct word *words, size_t count, size_t size, size_t alphabet,
                   uint64_t min_count, const char *pieces) {
    char *found = train(words, count, size, alphabet, min_count);
    cr_assert_str_eq(found, pieces);
}

/* Trains on the example of Sennrich, Haddow & Birch 2016. Characters by frequency: e 17, w 16, s
 * t 9, l o 7, n 6, d i 3, r 2 (ties by code point). Among equally frequent pairs, the one whose
 * left piece comes first wins. */
static const struct word sennrich[] = {{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}};

Test(vocabulary_train, known_merges) {
    expect(sennrich, 4, 100, 100, 2,
           SPECIALS "w\nl\nn\n##e\n##w\n##s\n##t\n##o\n##d\n##i\n##r\n"
                    "##es\n##est\nlo\nlow\nne\n##west\nnewest\nwi\n##dest\nwidest\n##er\nlower\n");
}

Test(vocabulary_train, stops_at_its_size_and_at_the_least_count) {
    expect(sennrich, 4, 18, 100, 2,
           SPECIALS "w\nl\nn\n##e\n##w\n##s\n##t\n##o\n##d\n##i\n##r\n##es\n##est\n");
    expect(sennrich, 4, 100, 100, 8,
           SPECIALS "w\nl\nn\n##e\n##w\n##s\n##t\n##o\n##d\n##i\n##r\n##es\n##est\n");
}

/* In "aaa" a pair overlaps itself: it is merged from the left. */
Test(vocabulary_train, overlapping_pairs) {
    expect((const struct word[]){{"baaaa", 3}}, 1, 100, 100, 2,
           SPECIALS "b\n##a\n##aa\nbaa\nbaaaa\n");
    expect((const struct word[]){{"baaa", 3}}, 1, 100, 100, 2,
           SPECIALS "b\n##a\n##aa\nbaa\nbaaa\n");
}

/* "##abc" arises as ##ab + ##c and as ##a + ##bc, and is one piece. */
Test(vocabulary_train, two_ways_to_one_piece) {
    const struct word words[] = {{"xab", 9}, {"ybc", 8}, {"zabc", 3}, {"wabc", 2}};
    char *found = train(words, 4, 100, 100, 2);
    nvdp__auto(nvdp__strings_release) struct nvdp__strings vocabulary = {
        0}; /* refuses a repeated piece */
    ok(nvdp__vocabulary_parse(ctx, "v", found, strlen(found), &vocabulary));
}

/* Only three of four characters are kept: words with the fourth are skipped. */
Test(vocabulary_train, rare_characters_are_left_out) {
    expect((const struct word[]){{"ab", 5}, {"ac", 4}, {"ad\xC3\xA9", 3}}, 3, 100, 3, 2,
           SPECIALS "a\n##b\n##c\nab\nac\n");
    expect((const struct word[]){{"\xE4\xB8\xAD", 2}, {"\xF0\x9F\x98\x80\xC3\xA9", 2}}, 2, 100, 9,
           2, SPECIALS "\xE4\xB8\xAD\n\xF0\x9F\x98\x80\n##\xC3\xA9\n\xF0\x9F\x98\x80\xC3\xA9\n");
}

Test(vocabulary_train, too_small_a_size_is_refused) {
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = {.ctx = ctx};
    const struct nvdp__vocabulary_options options = {6, 100, 2};
    char *text = NULL;
    size_t pieces = 0;
    ok(nvdp__word_counts_add(&counts, "ab", 2, 1));
    text_error(
        ctx, nvdp__vocabulary_train(ctx, &counts, &options, &text, &pieces), NVDP_ERR_ARGUMENT,
        "--vocab-size: expected at least 7 for the special tokens and the text's characters, "
        "found 6");
    cr_assert_null(text);
}

/* ---- against a plain version of the rule: count all pairs again for every merge ---- */

enum { WORDS = 60, ROOM = 16, PIECES = 120 };

struct plain {
    char piece[PIECES][ROOM + 3];
    int pieces;
    int symbol[WORDS][ROOM];
    int length[WORDS];
    uint64_t times[WORDS];
};

static int find_piece(struct plain *p, const char *text) {
    for (int i = 0; i < p->pieces; i++)
        if (strcmp(p->piece[i], text) == 0) return i;
    return -1;
}

static bool merge_best(struct plain *p) {
    static uint64_t times[PIECES][PIECES];
    memset(times, 0, sizeof times);
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < p->length[w]; i++)
            times[p->symbol[w][i]][p->symbol[w][i + 1]] += p->times[w];
    int left = -1;
    int right = -1;
    for (int a = 0; a < p->pieces; a++) { /* the first of the most frequent */
        for (int b = 0; b < p->pieces; b++) {
            if (times[a][b] < 2 || (left >= 0 && times[a][b] <= times[left][right])) continue;
            left = a;
            right = b;
        }
    }
    if (left < 0) return false;
    char text[2 * ROOM + 8];
    sprintf(text, "%s%s", p->piece[left], p->piece[right] + 2);
    int merged = find_piece(p, text);
    if (merged < 0) {
        merged = p->pieces++;
        strcpy(p->piece[merged], text);
    }
    for (int w = 0; w < WORDS; w++) {
        int to = 0;
        for (int i = 0; i < p->length[w]; i++, to++) {
            bool here =
                i + 1 < p->length[w] && p->symbol[w][i] == left && p->symbol[w][i + 1] == right;
            p->symbol[w][to] = here ? merged : p->symbol[w][i];
            i += here;
        }
        p->length[w] = to;
    }
    return true;
}

/* Draws distinct words of the letters a to d, so that ties and overlaps are frequent. */
static void draw_words(uint64_t seed, char text[WORDS][ROOM + 1], struct word *words) {
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    for (int w = 0; w < WORDS;) {
        size_t length = 1 + nvdp__stream_below(&stream, ROOM - 4);
        for (size_t i = 0; i < length; i++)
            text[w][i] = (char)('a' + nvdp__stream_below(&stream, 4));
        text[w][length] = '\0';
        words[w] = (struct word){text[w], 1 + nvdp__stream_below(&stream, 4)};
        bool twice = false;
        for (int i = 0; i < w; i++)
            twice |= strcmp(text[i], text[w]) == 0;
        w += !twice;
    }
}

/* Takes the alphabet's pieces from the trainer and counts merges plainly. */
static void check_plainly(const char *found, const struct word *words, size_t size) {
    static struct plain p;
    memset(&p, 0, sizeof p);
    nvdp__autofree char *copy = strdup(found);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        bool character = strlen(line) == 1 || (strncmp(line, "##", 2) == 0 && strlen(line) == 3);
        if (p.pieces >= 5 && !character) break;
        strcpy(p.piece[p.pieces++], line);
    }
    for (int w = 0; w < WORDS; w++) {
        p.times[w] = words[w].times;
        p.length[w] = (int)strlen(words[w].text);
        for (int i = 0; i < p.length[w]; i++) {
            char mark[4];
            sprintf(mark, "%s%c", i > 0 ? "##" : "", words[w].text[i]);
            p.symbol[w][i] = find_piece(&p, mark);
            cr_assert_geq(p.symbol[w][i], 5);
        }
    }
    while (p.pieces < (int)size && merge_best(&p)) {
    }
    char all[PIECES * (ROOM + 4)] = "";
    for (int i = 0; i < p.pieces; i++)
        strcat(strcat(all, p.piece[i]), "\n");
    cr_assert_str_eq(found, all);
}

Test(vocabulary_train, agrees_with_the_plain_rule_and_forgets_the_order_of_words) {
    for (uint64_t seed = 1; seed <= 12; seed++) {
        char text[WORDS][ROOM + 1];
        struct word words[WORDS];
        struct word turned[WORDS];
        draw_words(seed, text, words);
        for (int w = 0; w < WORDS; w++)
            turned[w] = words[(w * 7 + (int)seed) % WORDS];
        size_t size = 30 + 7 * seed;
        char *found = train(words, WORDS, size, 100, 2);
        char *again = train(turned, WORDS, size, 100, 2);
        cr_assert_str_eq(found, again);
        check_plainly(found, words, size);
    }
}

/* ---- from text ---- */

/* The trainer sees the tokenizer's words: folded, marks separate, ideographs alone. */
Test(vocabulary_train, words_are_the_tokenizers) {
    const struct nvdp__normalization normalization = {true, true, true, false};
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = {.ctx = ctx};
    const char *path =
        support_file("words.txt", "Caf\xC3\xA9, CAFE!\n\xE4\xB8\xAD\xE6\x96\x87 it's\xC2\xA0it\n");
    ok(nvdp__word_counts_read(&counts, &rules, &path, 1, 0));
    const struct word want[] = {{"cafe", 2},         {",", 1},  {"!", 1}, {"\xE4\xB8\xAD", 1},
                                {"\xE6\x96\x87", 1}, {"it", 2}, {"'", 1}, {"s", 1}};
    cr_assert_eq(counts.words.count, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < counts.words.count; i++) {
        size_t at = nvdp__strings_find(&counts.words, want[i].text, strlen(want[i].text));
        cr_assert_lt(at, counts.words.count, "%s", want[i].text);
        cr_assert_eq(counts.entry[at].times, want[i].times, "%s", want[i].text);
    }
}

/* Every allocation fails in turn. */
Test(vocabulary_train, without_memory) {
    nvdp_status status = NVDP_ERR_MEMORY;
    uint64_t k = 0;
    while (status != NVDP_OK && k < 400) {
        nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = {.ctx = ctx};
        const struct nvdp__vocabulary_options options = {60, 100, 2};
        nvdp__autofree char *text = NULL;
        size_t pieces = 0;
        nvdp__fail_allocation(ctx, ++k);
        status = NVDP_OK;
        for (size_t i = 0; i < 4 && status == NVDP_OK; i++)
            status = nvdp__word_counts_add(&counts, sennrich[i].text, strlen(sennrich[i].text),
                                           sennrich[i].times);
        if (status == NVDP_OK)
            status = nvdp__vocabulary_train(ctx, &counts, &options, &text, &pieces);
        nvdp__fail_allocation(ctx, 0);
        cr_assert_eq(text != NULL, status == NVDP_OK);
    }
    ok(status);
    cr_assert_gt(k, 10);
}
