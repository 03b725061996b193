/* Private texts among public ones: whatever reads as the same text is found, in every kind of file. */
#include "text_support.h"

#include "test_context.h"

static bool has(const struct nvdp__public_texts *public, const char *text) {
    bool found = false;
    ok(nvdp__public_texts_have(public, NULL, text, strlen(text), &found));
    return found;
}

static void add(struct nvdp__public_texts *public, const char *text, size_t max_length) {
    ok(nvdp__public_texts_add(public, text, strlen(text), max_length));
}

/* Words decide without a model: not their case, width, accents and separators. A text without words is none. */
Test(public_texts, words) {
    nvdp__auto(nvdp__public_texts_release) struct nvdp__public_texts public = {.path =
                                                                                   "public.txt"};
    cr_expect_not(has(&public, "The cat sat"));
    add(&public, "The cat sat. Na\xC3\xAFve \xEF\xAC\x81g", 0); /* a ligature fi */
    add(&public, "  ", 0);
    cr_expect(has(&public, "the cat sat. naive fig"));
    cr_expect(has(&public, "\tTHE\xC2\xA0 cat\r\n sat .  nai\xCC\x88ve\xE2\x80\x8B FIG\n"));
    cr_expect(has(&public, "\xEF\xBC\xB4he cat sat. naive fig")); /* a wide T */
    cr_expect(has(&public, "the cat sat naive fig!"));
    cr_expect(has(&public, "\"the-cat\" \xE2\x80\x9Csat\xE2\x80\x9D: naive fig")); /* quotes */
    cr_expect_not(has(&public, "thecat sat. naive fig"));
    cr_expect_not(has(&public, "the cat sat. naive fig fig"));
    add(&public, "...", 0);
    cr_expect(has(&public, " . .."));
    cr_expect_not(has(&public, "!"));
    cr_expect_not(has(&public, ""));
}

/* A model reads fewer differences: cut texts and unknown words are the same tokens. */
Test(public_texts, tokens) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    const char *cased = "{\"do_lower_case\": false}";
    ok(nvdp_tokenizer_load(ctx, text_model("cased", NULL, cased), &tokenizer));
    nvdp__auto(nvdp__public_texts_release) struct nvdp__public_texts public = {
        .ctx = ctx, .tokenizer = tokenizer, .max_length = 5, .path = "public.txt"};
    add(&public, "the cat sat . the cat", 5);
    add(&public, "run the", 3); /* read as "run" */
    cr_expect(has(&public, "the cat sat , mat"));
    cr_expect(has(&public, "THE Cat SAT , mat")); /* as the tokens of its words */
    cr_expect_not(has(&public, "the cat mat . the cat"));
    cr_expect(has(&public, "run"));
    cr_expect(has(&public, "Run the"));
    cr_expect_not(has(&public, "run cat"));
    cr_expect_not(has(&public, ""));
    add(&public, "the \xE2\x98\x83", 5);
    cr_expect(has(&public, "the \xE2\x9C\x88")); /* [UNK], too */
    ok(nvdp__public_texts_add_ids(
        &public, 6, (int32_t[]){TINY_CLS, TINY_MAT, TINY_DOT, TINY_SEP, TINY_CAT, TINY_SEP}));
    cr_expect(has(&public, "mat ."));
    cr_expect(has(&public, "cat"));
    cr_expect_not(has(&public, "mat . cat"));
    add(&public, "", 5); /* a model reads a text without words */
    cr_expect(has(&public, " \n"));
}

/* Each line and cell of a file counts. */
Test(public_texts, files) {
    static const char *const names[] = {"p.txt", "p.tsv", "p.csv", "p.jsonl"};
    static const char *const texts[] = {
        "one text\n\nanother\tits pair\n",
        "sentence\tlabel\none text\t1\nanother\t0\nits pair\t0\n",
        "a,b\n\"one\ntext\",1\nanother,its pair\n",
        "{\"a\": \"one text\", \"b\": 1}\n{\"a\": \"another\", \"b\": \"its pair\"}\n"};
    for (size_t i = 0; i < 4; i++) {
        const char *path = support_scratch_path(names[i]);
        nvdp__auto(nvdp__public_texts_release) struct nvdp__public_texts public = {.ctx = ctx,
                                                                                   .path = path};
        support_write_text(path, texts[i]);
        ok(nvdp__public_texts_add_file(&public, path));
        cr_expect(has(&public, "One text"), "%s", names[i]);
        cr_expect(has(&public, "another"), "%s", names[i]);
        cr_expect(has(&public, "its pair"), "%s", names[i]);
        cr_expect_not(has(&public, "text"), "%s", names[i]);
    }
}

/* The refusal counts what is private, names the first row and the declaration, and says who may read it. */
Test(public_texts, refusal) {
    nvdp__auto(nvdp__public_texts_release) struct nvdp__public_texts public = {
        .ctx = ctx, .path = "public.txt"};
    static const char *const texts[] = {"none of them", "A cat", "a cat", "a dog"};
    add(&public, "a cat", 0);
    for (size_t i = 0; i < 4; i++)
        ok(nvdp__public_texts_compare(&public, texts[i], strlen(texts[i]), i));
    fails(nvdp__public_texts_check(&public, "{center}"), NVDP_ERR_ARGUMENT,
          "--center: public.txt: expected public texts, found "
          "2 of the 4 private texts among them, the first in "
          "row 2; ");
    support_contains(nvdp_context_error(ctx), "do not remove these alone", "--public-independent",
                     "do not pass it on");
    public.found = 0;
    ok(nvdp__public_texts_check(&public, "{center}"));
}
