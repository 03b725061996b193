/* Encoding, against the published tokenizer's ids and at the edges of the definition. */
#include "text_support.h"

/* Checks one line of the golden file; its fields determine its form. */
static void check_golden(const struct nvdp_tokenizer *tokenizer, const json_t *golden,
                         size_t line) {
    const json_t *text = json_object_get(golden, "text");
    const json_t *pair = json_object_get(golden, "pair");
    const json_t *ids = json_object_get(golden, "input_ids");
    const json_t *types = json_object_get(golden, "token_type_ids");
    size_t max_length = (size_t)integer_at(golden, "max_length");
    struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text),
                             json_string_value(pair), json_string_length(pair), max_length,
                             &tokens));
    cr_assert_eq(tokens.count, json_array_size(ids), "line %zu", line);
    for (size_t i = 0; i < tokens.count; i++) {
        cr_assert_eq(tokens.ids[i], json_integer_value(json_array_get(ids, i)), "line %zu", line);
        cr_assert_eq(tokens.types[i], json_integer_value(json_array_get(types, i)), "line %zu",
                     line);
    }
    nvdp_tokens_free(&tokens);
}

/* vocab.txt alone is read as published with BERT. */
Test(tokenizer, golden) {
    char *text = support_read(support_shared("golden/tokenizer.jsonl"));
    struct nvdp_tokenizer *tokenizer = text_base(support_context());
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        nvdp__autoptr(json_decref) json_t *golden = json_loads(line, JSON_ALLOW_NUL, NULL);
        cr_assert_not_null(golden);
        check_golden(tokenizer, golden, ++lines);
    }
    cr_assert_gt(lines, 300);
}

Test(tokenizer, fixtures) {
    static const char separator[] = "\n__ggml_vocab_test__\n";
    char *input = support_read(support_shared("data/fixtures/bert-uncased-tokenizer.inp"));
    char *output = support_read(support_shared("data/fixtures/bert-uncased-tokenizer.out"));
    struct nvdp_tokenizer *tokenizer = text_base(support_context());
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    size_t texts = 0;
    char *expected = output;
    for (char *text = input; text != NULL; texts++) {
        char *end = strstr(text, separator);
        char *line_end = strchr(expected, '\n');
        if (line_end != NULL) *line_end = '\0';
        size_t size = end != NULL ? (size_t)(end - text) : strlen(text);
        ok(nvdp_tokenizer_encode(tokenizer, text, size, NULL, 0, 512, &tokens));
        for (size_t i = 1; i + 1 < tokens.count; i++)
            cr_assert_eq(tokens.ids[i], strtol(expected, &expected, 10), "text %zu", texts);
        cr_assert_eq(strspn(expected, " "), strlen(expected), "text %zu", texts);
        if (line_end != NULL) expected = line_end + 1;
        text = end != NULL ? end + strlen(separator) : NULL;
    }
    cr_assert_eq(texts, 47);
}

static struct nvdp_context *ctx;
static struct nvdp_tokenizer *tiny;

static void setup(void) {
    ctx = support_context();
    tiny = text_tiny(ctx);
}

static void teardown(void) {
    nvdp_tokenizer_free(tiny);
}

TestSuite(tiny, .init = setup, .fini = teardown);

Test(tiny, words) {
    text_expect(tiny, "", -1);
    text_expect(tiny, "   \t\r\n ", -1);
    text_expect(tiny, "the cat sat", TINY_THE, TINY_CAT, TINY_SAT, -1);
    text_expect(tiny, " THE\tCat\n", TINY_THE, TINY_CAT, -1);
    text_expect(tiny, "unwanted", TINY_UN, TINY_TAIL_WANT, TINY_TAIL_ED, -1);
    text_expect(tiny, "running.", TINY_RUN, TINY_TAIL_NING, TINY_DOT, -1);
    text_expect(tiny, "a,.b", TINY_A, TINY_COMMA, TINY_DOT, TINY_B, -1);
    text_expect(tiny, "thecatx the", TINY_UNK, TINY_THE, -1);
    text_expect(tiny, "abab", TINY_A, TINY_TAIL_B, TINY_TAIL_A, TINY_TAIL_B, -1);
}

/* The names of special tokens are tokens, in their own spelling. */
Test(tiny, special_names_are_tokens) {
    text_expect(tiny, "[CLS]", TINY_CLS, -1);
    text_expect(tiny, "a[MASK]b the [mask]", TINY_A, TINY_MASK, TINY_B, TINY_THE, TINY_UNK,
                TINY_UNK, TINY_UNK, -1);
    text_expect(tiny, "[SEP][SEP][PAD] [UNK]", TINY_SEP, TINY_SEP, TINY_PAD, TINY_UNK, -1);
    text_expect(tiny, "[[MASK]", TINY_UNK, TINY_MASK, -1);
    text_expect(tiny, "##want", TINY_UNK, TINY_UNK, TINY_UNK, -1);
}

/* Code that replaces the tokens of a text reads the names as text. */
Test(tiny, special_names_are_text) {
    nvdp__tokenizer_read_names_as_text(tiny);
    text_expect(tiny, "[CLS]", TINY_UNK, TINY_UNK, TINY_UNK, -1);
    text_expect(tiny, "[MASK] the", TINY_UNK, TINY_UNK, TINY_UNK, TINY_THE, -1);
    text_expect(tiny, "##want", TINY_UNK, TINY_UNK, TINY_UNK, -1);
}

Test(tiny, dropped_characters_join) {
    text_expect(tiny,
                "c\x01"
                "at",
                TINY_CAT, -1);
    text_expect(tiny,
                "c\x7F"
                "at",
                TINY_CAT, -1);
    text_expect(tiny,
                "c\x0B"
                "at",
                TINY_CAT, -1);
    text_expect(tiny, "c\u200Bat", TINY_CAT, -1); /* zero width space: Cf */
    text_expect(tiny,
                "c\xC2\x85"
                "at",
                TINY_CAT, -1); /* next line: Cc */
    text_expect(tiny, "c\uFFFDat", TINY_CAT, -1);
    text_expect(tiny, "c\uE000at", TINY_CAT, -1); /* private use: Co */
    text_expect(tiny, "c\u0378at", TINY_UNK, -1); /* unassigned characters stay */
    text_expect(tiny, "\uFEFFthe", TINY_THE, -1);
}

Test(tiny, nul_bytes_are_dropped) {
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tiny, "c\0at\0", 5, "\0", 1, 16, &tokens));
    const int32_t want[] = {TINY_CLS, TINY_CAT, TINY_SEP, TINY_SEP};
    cr_assert_eq(tokens.count, 4);
    cr_assert_arr_eq(tokens.ids, want, sizeof want);
}

Test(tiny, bad_utf8_is_dropped) {
    static const char *const bad[] = {
        "\x80",                 /* only a continuation byte */
        "\xC3",                 /* truncated, followed by a letter */
        "\xE2\x82",             /* the same, of three bytes */
        "\xF0\x9F\x98",         /* the same, of four */
        "\xC0\xAF",             /* overlong */
        "\xE0\x80\xAF",         /* overlong */
        "\xED\xA0\x80",         /* a surrogate */
        "\xF4\x90\x80\x80",     /* beyond U+10FFFF */
        "\xFE\xFF\xF8\x88\x80", /* never in UTF-8 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *text = support_path("c%sat the", bad[i]);
        text_expect(tiny, text, TINY_CAT, TINY_THE, -1);
        text = support_path("the %s", bad[i]); /* at the very end */
        text_expect(tiny, text, TINY_THE, -1);
        text_expect(tiny, bad[i], -1);
    }
}

Test(tiny, spaces_of_every_kind_separate) {
    static const char *const space[] = {" ",      "\t",     "\n",     "\r",     "\u00A0", "\u1680",
                                        "\u2003", "\u2028", "\u2029", "\u202F", "\u3000"};
    for (size_t i = 0; i < sizeof space / sizeof space[0]; i++) {
        text_expect(tiny, support_path("the%scat%s", space[i], space[i]), TINY_THE, TINY_CAT, -1);
    }
}

Test(tiny, accents_and_ideographs) {
    text_expect(tiny, "Caf\u00E9 cafe\u0301 CAF\u00C9", TINY_CAFE, TINY_CAFE, TINY_CAFE, -1);
    text_expect(tiny, "\u0301", -1); /* an accent without a letter is not a word */
    text_expect(tiny, "a\u4E2Db", TINY_A, TINY_MIDDLE, TINY_B, -1);
    text_expect(tiny, "\u4E2D\u4E2D", TINY_MIDDLE, TINY_MIDDLE, -1);
    text_expect(tiny, "the\u3002", TINY_THE, TINY_UNK, -1); /* punctuation of category Po */
}

/* A capital sigma becomes one in the middle of a word wherever it is, as in `tokenizers`. */
Test(tiny, sigma) {
    text_expect(tiny, "A\u03A3", TINY_A, TINY_TAIL_SIGMA, -1);
    text_expect(tiny, "A\u03C2", TINY_A, TINY_TAIL_FINAL_SIGMA, -1);
    text_expect(tiny, "A\u03A3A", TINY_A, TINY_TAIL_SIGMA, TINY_TAIL_A, -1);
    text_expect(tiny, "A.\u03A3", TINY_A, TINY_DOT, TINY_SIGMA, -1);
    text_expect(tiny, ".\u03A3", TINY_DOT, TINY_SIGMA, -1);
    text_expect(tiny, "\u03A3 a", TINY_SIGMA, TINY_A, -1);
    text_expect(tiny, "A\u03A3.", TINY_A, TINY_TAIL_SIGMA, TINY_DOT, -1);
    text_expect(tiny, "A\u03A3.B", TINY_A, TINY_TAIL_SIGMA, TINY_DOT, TINY_B, -1);
}

/* A word may have 100 characters, not 101; characters count, not bytes. */
Test(tiny, long_words) {
    char text[512] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, "a");
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tiny, text, strlen(text), NULL, 0, 512, &tokens));
    cr_assert_eq(tokens.count, 102);
    cr_assert_eq(tokens.ids[100], TINY_TAIL_A);
    strcat(text, "a");
    text_expect(tiny, text, TINY_UNK, -1);
    strcat(text, " a");
    text_expect(tiny, text, TINY_UNK, TINY_A, -1);
    strcpy(text, "a");
    for (int i = 0; i < 99; i++)
        strcat(text, "\u03C3");
    ok(nvdp_tokenizer_encode(tiny, text, strlen(text), NULL, 0, 512, &tokens));
    cr_assert_eq(tokens.count, 102);
    strcat(text, "\u03C3");
    text_expect(tiny, text, TINY_UNK, -1);
}

static void expect_pair(const char *text, const char *pair, size_t max_length, size_t a, size_t b) {
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tiny, text, strlen(text), pair, strlen(pair), max_length, &tokens));
    cr_assert_eq(tokens.count, a + b + 3, "'%s' '%s' %zu", text, pair, max_length);
    for (size_t i = 0; i < tokens.count; i++) {
        int32_t want = TINY_SEP;
        if (i == 0) {
            want = TINY_CLS;
        } else if (i < 1 + a) {
            want = TINY_A;
        } else if (i >= 2 + a && i < 2 + a + b) {
            want = TINY_B;
        }
        cr_assert_eq(tokens.ids[i], want);
        cr_assert_eq(tokens.types[i], i >= 2 + a);
    }
}

/* Applies the rule itself, one token at a time, and compares the formula. */
Test(tiny, pairs_lose_from_the_longer_side) {
    enum { MAX_PIECES = 9 };
    for (size_t room = 0; room <= 2 * MAX_PIECES; room++) {
        for (size_t a = 0; a <= MAX_PIECES; a++) {
            for (size_t b = 0; b <= MAX_PIECES; b++) {
                char text[2 * MAX_PIECES + 1] = "";
                char pair[2 * MAX_PIECES + 1] = "";
                for (size_t i = 0; i < a; i++)
                    strcat(text, "a ");
                for (size_t i = 0; i < b; i++)
                    strcat(pair, "b ");
                size_t left_a = a;
                size_t left_b = b;
                while (left_a + left_b > room) {
                    if (left_a > left_b || (left_a == left_b && a <= b)) {
                        left_a--;
                    } else {
                        left_b--;
                    }
                }
                expect_pair(text, pair, room + 3, left_a, left_b);
            }
        }
    }
}

Test(tiny, single_texts_lose_their_end) {
    struct nvdp_tokens tokens = {0};
    ok(nvdp_tokenizer_encode(tiny, "the unwanted cat", 16, NULL, 0, 4, &tokens));
    const int32_t want[] = {TINY_CLS, TINY_THE, TINY_UN, TINY_SEP};
    cr_assert_eq(tokens.count, 4);
    cr_assert_arr_eq(tokens.ids, want, sizeof want);
    ok(nvdp_tokenizer_encode(tiny, "the", 3, NULL, 0, 2, &tokens));
    cr_assert_eq(tokens.count, 2);
    nvdp_tokens_free(&tokens);
    cr_assert_null(tokens.ids);
    cr_assert_eq(tokens.capacity, 0);
}

Test(tiny, arguments) {
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    cr_assert_eq(nvdp_tokenizer_encode(tiny, "a", 1, NULL, 0, 1, &tokens), NVDP_ERR_ARGUMENT);
    cr_assert_eq(nvdp_tokenizer_encode(tiny, "a", 1, "b", 1, 2, &tokens), NVDP_ERR_ARGUMENT);
    cr_assert_eq(nvdp_tokenizer_encode(tiny, NULL, 0, NULL, 0, 8, &tokens), NVDP_ERR_ARGUMENT);
    cr_assert_eq(nvdp_tokenizer_encode(tiny, "a", 1, NULL, 0, SIZE_MAX, &tokens),
                 NVDP_ERR_ARGUMENT);
    cr_assert_null(tokens.ids);
    ok(nvdp_tokenizer_encode(tiny, "a", 1, NULL, 0, PTRDIFF_MAX, &tokens));
    cr_assert_eq(tokens.count, 3);
}

/* Time is linear in the text: unordered marks, sigmas, one endless word. */
Test(tiny, long_texts_are_linear, .timeout = 60) {
    enum { REPEATS = 400000 };
    static const char *const part[] = {"\u0301\u0323", "\u03A3'", "a", "\u4E2D", "a,", "\xFF"};
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    for (size_t p = 0; p < sizeof part / sizeof part[0]; p++) {
        size_t size = strlen(part[p]);
        nvdp__autofree char *text = malloc(REPEATS * size + 1);
        for (size_t i = 0; i < REPEATS; i++)
            memcpy(text + i * size, part[p], size + 1);
        ok(nvdp_tokenizer_encode(tiny, text, REPEATS * size, text, REPEATS * size, 64, &tokens));
        cr_assert_leq(tokens.count, 64);
    }
}

/* ---- texts as sequences of words ---- */

/* Whole texts of words, with their marks and without special tokens. */
Test(tiny, texts_as_words) {
    const char *text[] = {"Running, [SEP] a cat", "", "the"},
               *pair[] = {NULL, NULL, "unwanted [CLS]"};
    static const int32_t ids[] = {TINY_RUN,     TINY_TAIL_NING, TINY_COMMA, TINY_UNK,
                                  TINY_UNK,     TINY_UNK,       TINY_A,     TINY_CAT,
                                  TINY_THE,     TINY_SEP,       TINY_UN,    TINY_TAIL_WANT,
                                  TINY_TAIL_ED, TINY_UNK,       TINY_UNK,   TINY_UNK};
    static const int32_t marks[] = {0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 1, 0, 0, 0};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    ok(nvdp__tokenizer_read_words(ctx, "DIR", tiny));
    ok(nvdp_dataset_from_texts(ctx, tiny, 3, 3, text, pair, &dataset));
    cr_expect_eq(dataset->offset[1], 8);
    cr_expect_eq(dataset->offset[2], 8);
    cr_assert_eq(dataset->offset[3], 16);
    cr_expect_eq(dataset->truncated, 0);
    cr_expect_arr_eq(dataset->ids, ids, sizeof ids);
    cr_expect_arr_eq(dataset->types, marks, sizeof marks);
}

Test(tiny, texts_as_words_are_not_cut) {
    enum { WORDS = 100000 };
    nvdp__autofree char *long_text = malloc(2 * WORDS + 1);
    for (size_t i = 0; i < WORDS; i++)
        memcpy(long_text + 2 * i, i % 2 == 0 ? "a " : "b ", 2);
    long_text[2 * WORDS] = '\0';
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    ok(nvdp__tokenizer_read_words(ctx, "DIR", tiny));
    ok(nvdp_dataset_from_texts(ctx, tiny, 3, 1, (const char *const[]){long_text}, NULL, &dataset));
    cr_expect_eq(dataset->longest, WORDS);
    cr_expect_eq(dataset->truncated, 0);
}

Test(tiny, words_need_a_tokenizer_of_words) {
    static const struct nvdp__tokenizer_row *const others[] = {&nvdp__bpe_row, &nvdp__unigram_row};
    for (size_t i = 0; i < 2; i++) {
        char message[200];
        snprintf(message, sizeof message,
                 "DIR: a certificate per word needs a WordPiece tokenizer, whose pieces of a word "
                 "depend on this word alone, found %s",
                 others[i]->name);
        tiny->row = others[i];
        text_error(ctx, nvdp__tokenizer_read_words(ctx, "DIR", tiny), NVDP_ERR_INPUT, "%s",
                   message);
    }
    tiny->row = &nvdp__wordpiece_row;
    tiny->normalizer.count = 2;
    text_error(ctx, nvdp__tokenizer_read_words(ctx, "DIR", tiny), NVDP_ERR_INPUT,
               "DIR: a certificate per word needs a tokenizer without a normalizer of its own, "
               "found one of 2 steps that reads the whole text");
    tiny->normalizer.count = 0;
    struct nvdp__added_token token = {.name = "new york", .size = 8, .id = TINY_SIZE};
    ok(nvdp__added_put(ctx, &tiny->added, &token));
    text_error(
        ctx, nvdp__tokenizer_read_words(ctx, "DIR", tiny), NVDP_ERR_INPUT,
        "DIR: a certificate per word needs a tokenizer without added tokens, which may reach "
        "over words, found 'new york'");
    cr_expect(!tiny->words);
}

/* Without the word mode, BERT's own rule looks past the apostrophe for a letter. */
Test(tiny, a_sigma_does_not_depend_on_the_next_word) {
    static const char *const text[] = {"\xCE\xA3\xCE\xA3'", "\xCE\xA3\xCE\xA3'a",
                                       "\xCE\xA3\xCE\xA3"};
    enum { TEXTS = sizeof text / sizeof *text };
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *published = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    ok(nvdp_tokenizer_load(ctx, text_model("published", NULL, NULL), &published));
    text_expect(published, text[0], TINY_SIGMA, TINY_TAIL_FINAL_SIGMA, TINY_UNK, -1);
    text_expect(published, text[1], TINY_SIGMA, TINY_TAIL_SIGMA, TINY_UNK, TINY_A, -1);
    ok(nvdp__tokenizer_read_words(ctx, "DIR", published));
    ok(nvdp_dataset_from_texts(ctx, published, 3, TEXTS, text, NULL, &dataset));
    for (size_t i = 0; i < TEXTS; i++) {
        const int32_t *ids = dataset->ids + dataset->offset[i];
        cr_expect(ids[0] == TINY_SIGMA && ids[1] == TINY_TAIL_SIGMA, "%s", text[i]);
    }
}
