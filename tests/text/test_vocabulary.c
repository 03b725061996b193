/* vocab.txt and tokenizer_config.json: accepted content, refused content and its messages. */
#include "text_support.h"

#include "test_context.h"

static void refuse_bytes(const char *bytes, size_t count, const char *message) {
    struct nvdp__strings vocabulary = {0};
    nvdp_status status = nvdp__vocabulary_parse(ctx, "v.txt", bytes, count, &vocabulary);
    text_error(ctx, status, NVDP_ERR_INPUT, "%s", message);
    cr_assert_eq(vocabulary.count, 0);
    cr_assert_null(vocabulary.text);
}

static void refuse(const char *text, const char *message) {
    refuse_bytes(text, strlen(text), message);
}

Test(vocabulary, refusals) {
    refuse("", "v.txt: expected one piece per line, found no piece");
    refuse("\xEF\xBB\xBF", "v.txt: expected one piece per line, found no piece");
    refuse("\n \r\n", "v.txt: expected one piece per line, found no piece");
    refuse("a\nb\xFF\n", "v.txt:2: expected UTF-8, found piece 'b?'");
    refuse_bytes("a\nb\0c\n", 6, "v.txt:2: expected text, found a NUL byte");
}

Test(vocabulary, lines) {
    static const char text[] = "\xEF\xBB\xBFone\r\ntwo\nthr\u00E9\xE2\x80\xA8"
                               "e\r\n##four";
    nvdp__auto(nvdp__strings_release) struct nvdp__strings vocabulary = {0};
    ok(nvdp__vocabulary_parse(NULL, "v.txt", text, sizeof text - 1, &vocabulary));
    cr_assert_eq(vocabulary.count, 4);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "one", 3), 0);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "two", 3), 1);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "##four", 6), 3);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "four", 4), SIZE_MAX);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "on", 2), SIZE_MAX);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "", 0), SIZE_MAX);
}

/* The line number is the id, also after empty lines and of the later of equal lines. */
Test(vocabulary, lines_without_a_piece) {
    static const char text[] = "a\n\nb\n\r\na \nc\u2003\n\nb\n\n";
    nvdp__auto(nvdp__strings_release) struct nvdp__strings vocabulary = {0};
    ok(nvdp__vocabulary_parse(NULL, "v.txt", text, sizeof text - 1, &vocabulary));
    cr_assert_eq(vocabulary.count, 9);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "a", 1), 4);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "b", 1), 7);
    cr_assert_eq(nvdp__strings_find(&vocabulary, "c", 1), 5);
    for (size_t i = 0; i < vocabulary.count; i++)
        cr_assert_eq(vocabulary.text[vocabulary.start[i]] == '\0', i != 4 && i != 5 && i != 7);
}

/* A table at its largest load still finds every piece. */
Test(vocabulary, every_piece_is_found) {
    enum { PIECES = 4096, ROOM = PIECES * 8 };
    nvdp__autofree char *text = calloc(1, ROOM);
    size_t used = 0;
    for (int i = 0; i < PIECES; i++)
        used += (size_t)snprintf(text + used, ROOM - used, "p%d\n", i);
    nvdp__auto(nvdp__strings_release) struct nvdp__strings vocabulary = {0};
    ok(nvdp__vocabulary_parse(NULL, "v.txt", text, used, &vocabulary));
    for (int i = 0; i < PIECES; i++) {
        char piece[16];
        int size = snprintf(piece, sizeof piece, "p%d", i);
        cr_assert_eq(nvdp__strings_find(&vocabulary, piece, (size_t)size), (size_t)i);
    }
}

Test(tokenizer_load, questions) {
    struct nvdp_tokenizer *tokenizer = text_tiny(ctx);
    cr_assert_eq(nvdp_tokenizer_size(tokenizer), TINY_SIZE);
    cr_assert_str_eq(nvdp_tokenizer_piece(tokenizer, TINY_TAIL_WANT), "##want");
    cr_assert_null(nvdp_tokenizer_piece(tokenizer, TINY_SIZE));
    cr_assert_null(nvdp_tokenizer_piece(tokenizer, -1));
    cr_assert_eq(nvdp_tokenizer_find(tokenizer, "mat"), TINY_MAT);
    cr_assert_eq(nvdp_tokenizer_find(tokenizer, "dog"), -1);
    cr_assert_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_PAD), TINY_PAD);
    cr_assert_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK), TINY_UNK);
    cr_assert_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS), TINY_CLS);
    cr_assert_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP), TINY_SEP);
    cr_assert_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_MASK), TINY_MASK);
    nvdp_tokenizer_free(NULL);
}

Test(tokenizer_load, missing_special_token) {
    struct nvdp_tokenizer *tokenizer = NULL;
    const char *model = text_model("m", "[PAD]\n[UNK]\n[SEP]\n[MASK]\n", NULL);
    text_error(ctx, nvdp_tokenizer_load(ctx, model, &tokenizer), NVDP_ERR_INPUT,
               "%s/vocab.txt: cls_token: expected '[CLS]' among the 4 pieces, found none", model);
    cr_assert_null(tokenizer);
}

Test(tokenizer_load, missing_file) {
    struct nvdp_tokenizer *tokenizer = NULL;
    fails(nvdp_tokenizer_load(ctx, support_scratch_path("nothing-here"), &tokenizer), NVDP_ERR_IO,
          "nothing-here: no such folder: expected one of this machine");
}

Test(tokenizer_load, config_names_special_tokens) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    const char *model = text_model(
        "m", "<pad>\n<unk>\n<s>\n</s>\n<mask>\nx\n",
        "{\"pad_token\": \"<pad>\", \"unk_token\": {\"content\": \"<unk>\", \"lstrip\": false},"
        " \"cls_token\": \"<s>\", \"sep_token\": {\"content\": \"</s>\"},"
        " \"mask_token\": \"<mask>\"}");
    ok(nvdp_tokenizer_load(ctx, model, &tokenizer));
    for (int i = 0; i <= NVDP_TOKEN_MASK; i++)
        cr_assert_eq(nvdp_tokenizer_special(tokenizer, (enum nvdp_special)i), i);
    text_expect(tokenizer, "x y", 5, 1, -1);
}

static void refuse_config(const char *config, const char *message) {
    struct nvdp_tokenizer *tokenizer = NULL;
    const char *model = text_model("m", NULL, config);
    cr_assert_eq(nvdp_tokenizer_load(ctx, model, &tokenizer), NVDP_ERR_INPUT, "%s", config);
    cr_assert_null(tokenizer);
    support_contains(nvdp_context_error(ctx), "tokenizer_config.json: ");
    support_contains(nvdp_context_error(ctx), message);
}

Test(tokenizer_load, bad_config) {
    refuse_config("{\"do_lower_case\": 3}", "do_lower_case");
    refuse_config("{\"strip_accents\": \"yes\"}", "strip_accents");
    refuse_config("{\"tokenize_chinese_chars\": []}", "tokenize_chinese_chars");
    refuse_config("{\"cls_token\": 7}", "cls_token");
    refuse_config("{\"cls_token\": {\"lstrip\": false}}",
                  "'cls_token': expected a string as its 'content'");
    refuse_config("{", "line 1");
}

static struct nvdp_tokenizer *with_config(const char *config) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(ctx, text_model("m", NULL, config), &tokenizer));
    return support_keep(tokenizer);
}

Test(tokenizer_load, config_decides_the_fold) {
    static const char text[] = "The CAF\u00C9 caf\u00E9 cafe";
    struct nvdp_tokenizer *tokenizer = with_config("{}");
    text_expect(tokenizer, text, TINY_THE, TINY_CAFE, TINY_CAFE, TINY_CAFE, -1);
    tokenizer = with_config("{\"do_lower_case\": true, \"strip_accents\": null}");
    text_expect(tokenizer, text, TINY_THE, TINY_CAFE, TINY_CAFE, TINY_CAFE, -1);
    tokenizer = with_config("{\"do_lower_case\": false}");
    text_expect(tokenizer, text, TINY_CAPITAL_THE, TINY_UNK, TINY_CAFE_ACCENT, TINY_CAFE, -1);
    tokenizer = with_config("{\"do_lower_case\": false, \"strip_accents\": true}");
    text_expect(tokenizer, text, TINY_CAPITAL_THE, TINY_UNK, TINY_CAFE, TINY_CAFE, -1);
    tokenizer = with_config("{\"strip_accents\": false}");
    text_expect(tokenizer, text, TINY_THE, TINY_CAFE_ACCENT, TINY_CAFE_ACCENT, TINY_CAFE, -1);
    tokenizer = with_config("{\"tokenize_chinese_chars\": false}");
    text_expect(tokenizer, "a\u4E2D \u4E2D", TINY_UNK, TINY_MIDDLE, -1);
}
