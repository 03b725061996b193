/* Tests corpus files: they hold the tokenizer's tokens for any number of threads, and damage is
 * found. */
#include "toy_corpus.h"

static const char no_key[] = "";

static nvdp_status build(struct toy *toy, const char *text, const char *out) {
    return nvdp__corpus_build(toy->ctx, toy->tokenizer, &text, 1, no_key, out);
}

static size_t file_size(const char *path) {
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    return (size_t)info.st_size;
}

Test(corpus, holds_the_tokens_sentences_and_documents) {
    nvdp__auto(toy_close) struct toy toy = toy_open(3);
    nvdp__auto(nvdp__corpus_close) struct nvdp__corpus corpus;
    const char *file = support_scratch_path("few.tokens");
    ok(build(&toy,
             support_file("few.txt",
                          "The cat sat. A dog barked.\nOur bird\n\n\x01\n \nThis FISH swam. 1\n"),
             file));
    ok(nvdp__corpus_open(toy.ctx, file, no_key, toy.pieces.count, &corpus));
    static const char *const want[] = {"the",  "cat",  "s",    "##at",  ".",   "a",
                                       "dog",  "bark", "##ed", ".",     "our", "bird",
                                       "this", "fish", "s",    "##wam", ".",   "[UNK]"};
    cr_assert_eq(corpus.tokens, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < corpus.tokens; i++)
        cr_assert_str_eq(nvdp_tokenizer_piece(toy.tokenizer, nvdp__corpus_id(&corpus, i)), want[i]);
    static const uint64_t sentence[] = {0, 5, 10, 12, 17, 18};
    static const uint64_t document[] = {0, 3, 5};
    cr_assert_eq(corpus.sentences, 5);
    cr_assert_eq(corpus.documents, 2); /* the document of a control character has no token */
    cr_assert_eq(memcmp(corpus.sentence, sentence, sizeof sentence), 0);
    cr_assert_eq(memcmp(corpus.document, document, sizeof document), 0);
}

/* Compares every line's ids with the public tokenizer's. */
Test(corpus, agrees_with_the_tokenizer_on_any_number_of_threads) {
    nvdp__auto(toy_close) struct toy toy = toy_open(200);
    char *bytes = support_read(toy.text);
    struct nvdp_tokens tokens = {0};
    size_t at = 0;
    for (char *line = strtok(bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        ok(nvdp_tokenizer_encode(toy.tokenizer, line, strlen(line), NULL, 0, 4096, &tokens));
        for (size_t i = 1; i + 1 < tokens.count; i++, at++) {
            cr_assert_lt(at, toy.corpus.tokens);
            cr_assert_eq(nvdp__corpus_id(&toy.corpus, at), tokens.ids[i]);
        }
    }
    cr_assert_eq(at, toy.corpus.tokens);
    nvdp_tokens_free(&tokens);
    for (int threads = 1; threads <= 3; threads++) {
        const char *name = support_path("t%d.tokens", threads);
        nvdp_context_set_threads(toy.ctx, threads);
        ok(build(&toy, toy.text, support_scratch_path(name)));
        size_t size = file_size(support_scratch_path(name));
        char *one = support_read(support_scratch_path("t1.tokens"));
        char *this = support_read(support_scratch_path(name));
        cr_assert_eq(memcmp(one, this, size), 0, "%d threads", threads);
    }
}

/* Expects a refusal after byte `at` was changed; with `sealed` the digests are corrected, so
 * that later checks run. */
static void refused(struct toy *toy, size_t at, bool sealed, const char *message) {
    const char *file = support_scratch_path("good.tokens");
    const char *bent = support_scratch_path("bent.tokens");
    struct nvdp__corpus corpus;
    ok(build(toy, toy->text, file));
    size_t size = file_size(file);
    char *bytes = support_read(file);
    bytes[at] = (char)(bytes[at] ^ 0x41);
    struct nvdp__corpus_header *h = (struct nvdp__corpus_header *)(void *)bytes;
    if (sealed) {
        nvdp__checksum(bytes + sizeof *h, size - sizeof *h, h->body);
        nvdp__checksum(bytes, offsetof(struct nvdp__corpus_header, header), h->header);
    }
    support_write(bent, bytes, size);
    fails(nvdp__corpus_open(toy->ctx, bent, no_key, toy->pieces.count, &corpus), NVDP_ERR_INPUT,
          message);
}

Test(corpus, damage_is_refused) {
    nvdp__auto(toy_close) struct toy toy = toy_open(20);
    const size_t header = sizeof(struct nvdp__corpus_header);
    refused(&toy, 0, false, "found other data");
    refused(&toy, offsetof(struct nvdp__corpus_header, tokens), false,
            "header: the checksum does not match");
    refused(&toy, header, false, "do not match the checksum");
    refused(&toy, offsetof(struct nvdp__corpus_header, version), true, "expected version 1");
    refused(&toy, offsetof(struct nvdp__corpus_header, id_size), true,
            "expected token ids of 2 or 4");
    refused(&toy, offsetof(struct nvdp__corpus_header, pieces), true, "expected a vocabulary of");
    refused(&toy, offsetof(struct nvdp__corpus_header, key), true,
            "found the tokens of other texts");
    refused(&toy, offsetof(struct nvdp__corpus_header, tokens), true, "bytes, found");
    refused(&toy, offsetof(struct nvdp__corpus_header, sentences) + 7, true, "expected 1 to");
    refused(&toy, header + 1, true, "expected token ids below 37");
    size_t tables = header + (toy.corpus.tokens * 2 + 7) / 8 * 8;
    refused(&toy, tables + 8 + 7, true, "expected increasing offsets");
    refused(&toy, tables + (toy.corpus.sentences + 2) * 8, true, "expected increasing offsets");
    support_write(support_scratch_path("short.tokens"), "NVDPTOKS", 8);
    struct nvdp__corpus corpus;
    cr_assert_eq(
        nvdp__corpus_open(toy.ctx, support_scratch_path("short.tokens"), NULL, 37, &corpus),
        NVDP_ERR_INPUT);
}

static void keep_notice(enum nvdp_log_level level, const char *message, void *user) {
    if (level == NVDP_LOG_NOTICE) snprintf(user, 1024, "%s", message);
}

/* The second call finds the file of the first; a damaged file is rewritten. */
Test(corpus, is_cached_by_text_and_vocabulary) {
    nvdp__auto(toy_close) struct toy toy = toy_open(20);
    char notice[1024] = "";
    char path[1024] = "";
    struct nvdp__corpus corpus;
    const char digest[2][NVDP__DIGEST_HEX] = {"1", "2"};
    char key[2][NVDP__DIGEST_HEX];
    nvdp_context_set_log(toy.ctx, keep_notice, notice);
    for (int i = 0; i < 2; i++)
        nvdp__corpus_key(toy.tokenizer, &digest[i], 1, key[i]);
    cr_assert_str_neq(key[0], key[1]);
    const char *folder = support_scratch_path("cache");
    snprintf(path, sizeof path, "%s/corpus-%s", folder, key[0]);
    for (int round = 0; round < 3; round++) {
        struct stat before = {0};
        struct stat after;
        if (round == 2) support_write_text(path, "not a corpus at all");
        if (round > 0) cr_assert_eq(stat(path, &before), 0);
        ok(nvdp__corpus_cached(toy.ctx, toy.tokenizer, &toy.text, &digest[0], 1, folder, &corpus));
        nvdp__corpus_close(&corpus);
        cr_assert_eq(stat(path, &after), 0);
        cr_assert_eq(before.st_ino == after.st_ino, round == 1);
    }
    cr_assert_not_null(strstr(notice, "makes this cache file again"), "%s", notice);
    /* With an impossible folder the tokens are not kept. */
    ok(nvdp__corpus_cached(toy.ctx, toy.tokenizer, &toy.text, &digest[0], 1, toy.text, &corpus));
    cr_assert_eq(corpus.tokens, toy.corpus.tokens);
    nvdp__corpus_close(&corpus);
    cr_assert_not_null(strstr(notice, "tokens are not cached"), "%s", notice);
}

Test(corpus, of_no_token_is_refused) {
    nvdp__auto(toy_close) struct toy toy = toy_open(2);
    support_file("none.txt", "\x01\n\x02\n");
    fails(build(&toy, support_scratch_path("none.txt"), support_scratch_path("none.tokens")),
          NVDP_ERR_INPUT, "found none");
    struct stat info;
    cr_assert_neq(stat(support_scratch_path("none.tokens"), &info), 0);
}
