/* Byte-level BPE, and tokenizer.json of both kinds, against transformers' ids
 * (golden/tokens.json); also files that are refused, and their messages. */
#include "text_support.h"

#include "test_context.h"

static struct nvdp_tokenizer *load(const char *directory) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(ctx, directory, &tokenizer));
    return support_keep(tokenizer);
}

/* ---- ids ---- */

static void expect_ids(const struct nvdp_tokenizer *tokenizer, const json_t *entry,
                       const char *model) {
    struct nvdp_tokens tokens = {0};
    const json_t *text = json_object_get(entry, "text"), *pair = json_object_get(entry, "pair");
    const json_t *ids = json_object_get(entry, model);
    ok(nvdp_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text),
                             json_string_value(pair), json_string_length(pair), 4096, &tokens));
    char *shown = json_dumps(entry, JSON_COMPACT);
    cr_expect_eq(tokens.count, json_array_size(ids), "%s: %zu tokens: %s", model, tokens.count,
                 shown);
    for (size_t i = 0; i < tokens.count; i++)
        cr_expect_eq(tokens.ids[i], json_integer_value(json_array_get(ids, i)),
                     "%s: token %zu is %d: %s", model, i, tokens.ids[i], shown);
    free(shown);
    nvdp_tokens_free(&tokens);
}

/* Checks every text of golden/tokens.json. */
static void expect_all_ids(const char *directory, const char *model) {
    struct nvdp_tokenizer *tokenizer = load(directory);
    nvdp__autoptr(json_decref) json_t *json =
        json_load_file(support_golden("tokens.json"), JSON_ALLOW_NUL, NULL);
    const json_t *texts = json_object_get(json, "texts"), *entry;
    size_t i;
    cr_assert_gt(json_array_size(texts), 300);
    json_array_foreach(texts, i, entry) expect_ids(tokenizer, entry, model);
}

/* Makes a folder of the scratch directory with one golden file. */
static const char *folder_with(const char *golden, const char *name) {
    return support_folder("folder", name, support_read(support_golden(golden)));
}

Test(bpe, ids_of_vocab_json_and_merges) {
    expect_all_ids(support_golden("roberta"), "roberta");
}

Test(bpe, ids_of_tokenizer_json) {
    expect_all_ids(folder_with("roberta/tokenizer.json", "tokenizer.json"), "roberta");
}

Test(wordpiece, ids_of_tokenizer_json) {
    expect_all_ids(support_golden("distilbert"), "distilbert");
}

/* Checks the same entries with merges in the older format: "a b". */
/* A piece of a word depends on the space before it. */
Test(bpe, has_no_words) {
    struct nvdp_tokenizer *tokenizer = load(support_golden("roberta"));
    fails(nvdp__tokenizer_read_words(ctx, "DIR", tokenizer), NVDP_ERR_INPUT,
          "needs a WordPiece tokenizer");
}

Test(bpe, merges_as_strings) {
    const char *folder = folder_with("roberta/tokenizer.json", "tokenizer.json");
    json_t *entry;
    json_t *json = support_json(support_golden("roberta/tokenizer.json"));
    json_t *merges = support_at(json, "model/merges");
    size_t i;
    json_array_foreach(merges, i, entry) {
        const char *left = text_at(entry, "0");
        json_array_set_new(merges, i, json_sprintf("%s %s", left, text_at(entry, "1")));
    }
    cr_assert_eq(json_dump_file(json, support_path("%s/tokenizer.json", folder), 0), 0);
    expect_all_ids(folder, "roberta");
}

/* ---- words ---- */

/* `expected` has the words of a text between bars. */
static void expect_words(const char *expected) {
    nvdp__autofree char *text = strdup(expected);
    char *at = text;
    for (const char *from = expected; *from != '\0'; from++)
        if (*from != '|') *at++ = *from;
    *at = '\0';
    size_t size = (size_t)(at - text);
    const char *want = expected;
    for (size_t start = 0; start < size;) {
        size_t word = nvdp__bpe_word(text + start, size - start);
        size_t length = strcspn(want, "|");
        cr_expect_eq(word, length, "%s: %zu bytes at %zu", expected, word, start);
        start += word;
        want += length + (want[length] == '|');
    }
}

Test(bpe, words) {
    expect_words("don|'t| stop|,| it|'s| we|'ll|'d");
    expect_words("DON|'|T|'|RE"); /* lowercase letters only */
    expect_words("'s|'t|''|s| '|t");
    expect_words("a|  | b|   ");
    expect_words("a| |\t|b");
    expect_words("\n\n|\n|x");
    expect_words("abc|123|!?|x| 4|.| -|5");
    expect_words("\u00E9a|\u0301|x"); /* a mark is not a letter */
    expect_words("\u00BD\u2167| \u4E2D\u6587|\u3000|x");
    expect_words("a\U0002EBF0\uA7CBa|1\U000116D0"); /* of Unicode 15.1 and 16 */
    expect_words("a|\xFF\xFE|b");                   /* invalid UTF-8 counts as U+FFFD */
}

Test(bpe, bytes_that_are_no_text) {
    struct nvdp_tokenizer *tokenizer = load(support_golden("roberta"));
    static const char *const same[][2] = {{"a\xFF"
                                           "b",
                                           "a\uFFFD"
                                           "b"},
                                          {"\xE2\x82 x", "\uFFFD\uFFFD x"},
                                          {"\xC0\xAF", "\uFFFD\uFFFD"},
                                          {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
                                          {"x\xF0\x9F\x98", "x\uFFFD\uFFFD\uFFFD"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        nvdp__auto(nvdp_tokens_free) struct nvdp_tokens a = {0}, b = {0};
        ok(nvdp_tokenizer_encode(tokenizer, same[i][0], strlen(same[i][0]), NULL, 0, 99, &a));
        ok(nvdp_tokenizer_encode(tokenizer, same[i][1], strlen(same[i][1]), NULL, 0, 99, &b));
        cr_assert_eq(a.count, b.count, "text %zu", i);
        cr_assert_arr_eq(a.ids, b.ids, a.count * sizeof *a.ids);
    }
}

/* The time is O(n log n), and no byte is lost. */
Test(bpe, long_words) {
    struct nvdp_tokenizer *tokenizer = load(support_golden("roberta"));
    enum { SIZE = 300000 };
    nvdp__autofree char *text = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "theriver"[i % 8];
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    double start = nvdp__now();
    ok(nvdp_tokenizer_encode(tokenizer, text, SIZE, NULL, 0, SIZE, &tokens));
    cr_expect_lt(nvdp__now() - start, 5, "a long word must not take the square of its length");
    cr_assert_gt(tokens.count, 1000);
    for (size_t i = 1, at = 0; i + 1 < tokens.count; i++) {
        const char *piece = nvdp_tokenizer_piece(tokenizer, tokens.ids[i]);
        cr_assert_eq(memcmp(piece, text + at, strlen(piece)), 0, "token %zu", i);
        at += strlen(piece);
    }
}

Test(bpe, pairs_are_cut) {
    struct nvdp_tokenizer *tokenizer = load(support_golden("roberta"));
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    int32_t s = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS);
    int32_t e = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
    int32_t z = nvdp_tokenizer_find(tokenizer, "z"), q = nvdp_tokenizer_find(tokenizer, "q");
    cr_assert_eq(nvdp_tokenizer_specials(tokenizer, true), 4);
    cr_assert_eq(nvdp_tokenizer_specials(tokenizer, false), 2);
    ok(nvdp_tokenizer_encode(tokenizer, "zzzz", 4, "qqqq", 4, 7, &tokens));
    const int32_t want[] = {s, z, e, e, q, q, e};
    cr_assert_eq(tokens.count, 7);
    cr_assert_arr_eq(tokens.ids, want, sizeof want);
    for (size_t i = 0; i < 7; i++)
        cr_expect_eq(tokens.types[i], 0);
    ok(nvdp_tokenizer_encode(tokenizer, "zz", 2, "", 0, 4, &tokens));
    cr_assert_eq(tokens.count, 4);
    cr_assert_eq(nvdp_tokenizer_encode(tokenizer, "zz", 2, "q", 1, 3, &tokens), NVDP_ERR_ARGUMENT);
}

/* ---- bad files ---- */

/* The golden vocab.json with other merges, or merges.txt with another vocabulary, is refused. */
static void refused(const char *name, const char *text, nvdp_status want, const char *part) {
    struct nvdp_tokenizer *tokenizer = NULL;
    folder_with("roberta/vocab.json", "vocab.json");
    const char *folder = folder_with("roberta/merges.txt", "merges.txt");
    const char *path = support_path("%s/%s", folder, name);
    if (text != NULL)
        support_write_text(path, text);
    else
        remove(path);
    cr_expect_eq(nvdp_tokenizer_load(ctx, folder, &tokenizer), want, "%s", part);
    support_contains(nvdp_context_error(ctx), part);
    cr_expect_null(tokenizer);
}

Test(bpe, bad_merges) {
    refused("merges.txt", NULL, NVDP_ERR_IO, "merges.txt");
    refused("merges.txt", "#version: 0.2\nh e\nhe\n", NVDP_ERR_INPUT,
            "merges.txt:3: expected two pieces with a space between them, found 'he'");
    refused("merges.txt", "h e\r\nh e r\r\n", NVDP_ERR_INPUT, "merges.txt:2: expected two pieces");
    refused("merges.txt", "h e\n\nh e\n", NVDP_ERR_INPUT, "merges.txt:2: expected two pieces");
    refused("merges.txt", "h e\nh e\n", NVDP_ERR_INPUT,
            "merges.txt:2: expected another pair, found 'h e', which is merge 1 already");
    refused("merges.txt", "z q\n", NVDP_ERR_INPUT,
            "merges.txt:1: expected pieces of the vocabulary, found 'zq'");
    refused("merges.txt", "\xFF t\n", NVDP_ERR_INPUT, "merges.txt:1: expected pieces");
}

Test(bpe, bad_vocabulary) {
    static const char specials[] =
        "\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"<mask>\": 4";
    refused("vocab.json", "{\"a\": 0,\n\"b\": }", NVDP_ERR_INPUT, "vocab.json: line 2");
    refused("vocab.json", "{}", NVDP_ERR_INPUT, "vocab.json: expected 1 to");
    refused("vocab.json", "{\"a\": 16777216}", NVDP_ERR_INPUT,
            "vocab.json: 'a': expected an integer from 0 to 16777215");
    refused("vocab.json", "{\"a\": 1}", NVDP_ERR_INPUT, "vocab.json: pad_token: expected '<pad>'");
    refused("vocab.json", "{\"a\": \"0\"}", NVDP_ERR_INPUT, "vocab.json: 'a': expected an integer");
    refused("vocab.json", "{\"a\": 0, \"b\": 0}", NVDP_ERR_INPUT, "expected a unique id, found 0");
    refused("vocab.json", "{\"a\": 0, \"a\": 1}", NVDP_ERR_INPUT, "duplicate");
    refused("vocab.json", "{\"<s>\": 0}", NVDP_ERR_INPUT,
            "vocab.json: pad_token: expected '<pad>'");
    refused("vocab.json", support_path("{%s}", specials), NVDP_ERR_INPUT,
            "expected a piece for every byte, found none for 0x00");
    refused("tokenizer_config.json", "{\"add_prefix_space\": 3}", NVDP_ERR_INPUT,
            "tokenizer_config.json: 'add_prefix_space'");
    refused("tokenizer_config.json", "{\"mask_token\": \"<blank>\"}", NVDP_ERR_INPUT,
            "vocab.json: mask_token: expected '<blank>'");
}

/* Replaces one member (`section`.`key`) of a golden model's tokenizer.json. */
static void json_refused(const char *golden, const char *section, const char *key,
                         const char *value, const char *part) {
    struct nvdp_tokenizer *tokenizer = NULL;
    const char *folder = folder_with(golden, "tokenizer.json");
    json_t *json = support_json(support_golden(golden));
    json_t *to = key != NULL ? json_object_get(json, section) : json;
    cr_assert_eq(json_object_set_new(to, key != NULL ? key : section,
                                     json_loads(value, JSON_DECODE_ANY, NULL)),
                 0);
    cr_assert_eq(json_dump_file(json, support_path("%s/tokenizer.json", folder), 0), 0);
    cr_expect_neq(nvdp_tokenizer_load(ctx, folder, &tokenizer), NVDP_OK, "%s", part);
    support_contains(nvdp_context_error(ctx), part, "tokenizer.json: ");
    cr_expect_null(tokenizer);
}

Test(tokenizer_json, refused) {
    static const char bpe[] = "roberta/tokenizer.json", wordpiece[] = "distilbert/tokenizer.json";
    json_refused(bpe, "model", "type", "\"WordLevel\"",
                 "'model.type': expected WordPiece, BPE or Unigram, found WordLevel");
    json_refused(bpe, "model", "type", "\"Unigram\"",
                 "'model.vocab': expected an array of pieces with their scores");
    json_refused(bpe, "model", NULL, "null",
                 "'model.type': expected WordPiece, BPE or Unigram, found none");
    json_refused(bpe, "model", "vocab", "null", "'model.vocab': expected 1 to");
    json_refused(bpe, "model", "vocab", "{\"a\": -1}", "'a': expected an integer from 0 to");
    json_refused(bpe, "model", "end_of_word_suffix", "\"</w>\"",
                 "'model.end_of_word_suffix': expected \"\", found \"</w>\"");
    json_refused(bpe, "model", "continuing_subword_prefix", "\"##\"",
                 "'model.continuing_subword_prefix': expected \"\"");
    json_refused(bpe, "model", "drop_bytes", "0",
                 "'model.drop_bytes': expected null, because the key is not known");
    json_refused(bpe, "added_tokens", NULL, "[{\"id\": 1, \"content\": \"a\", \"strip\": 1}]",
                 "'added_tokens.strip': expected null");
    json_refused(bpe, "version", NULL, "\"2.0\"", "'version': expected 1.0, found \"2.0\"");
    json_refused(bpe, "model", "vocab merges", "0", "'model.vocab merges'");
    json_refused(bpe, "pre_tokenizer", "invert", "true", "'pre_tokenizer.invert': expected null");
    json_refused(bpe, "normalizers", NULL, "[]", "'normalizers': expected null");
    json_refused(bpe, "normalizer", NULL, "{\"type\": \"NFC\", \"form\": 2}", "'normalizer.form'");
    json_refused(
        bpe, "post_processor", NULL,
        "{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\", \"pad\": 1}]}",
        "'post_processor.pad'");
    json_refused(bpe, "model", "merges", "[[\"t\"]]", "'model.merges': entry 0: expected a pair");
    json_refused(bpe, "model", "merges", "[\"h e\", \"t\"]",
                 "'model.merges':2: expected two pieces");
    json_refused(bpe, "model", "ignore_merges", "true",
                 "'model.ignore_merges': expected false, found true");
    json_refused(bpe, "model", "byte_fallback", "true", "'model.byte_fallback': expected false");
    json_refused(bpe, "normalizer", NULL, "{\"type\": \"NFD\"}", "'normalizer': expected null");
    json_refused(bpe, "pre_tokenizer", "type", "\"Whitespace\"",
                 "'pre_tokenizer': expected type ByteLevel, found Whitespace");
    json_refused(bpe, "pre_tokenizer", "add_prefix_space", "3", "'add_prefix_space'");
    json_refused(bpe, "pre_tokenizer", "use_regex", "false",
                 "'pre_tokenizer.use_regex': expected true");
    json_refused(bpe, "post_processor", NULL, "{\"type\": \"ByteLevel\"}",
                 "'post_processor': expected BertProcessing, RobertaProcessing with trim_offsets");
    json_refused(bpe, "added_tokens", NULL, "[{\"id\": 1, \"content\": \"<s>\"}]",
                 "added token '<s>': expected the id that the vocabulary has, found 1");
    json_refused(bpe, "added_tokens", NULL, "[{\"id\": 1}]",
                 "'added_tokens': entry 0: expected an 'id'");
    json_refused(bpe, "added_tokens", NULL,
                 "[{\"id\": 0, \"content\": \"<s>\", \"single_word\": 1}]", "'single_word'");
    json_refused(bpe, "added_tokens", NULL, "[{\"id\": 900, \"content\": \"<e>\"}]",
                 "added token '<e>': expected the next id after the");
    json_refused(bpe, "truncation", NULL, "{\"direction\": \"Left\"}",
                 "'truncation.direction': expected right");
    json_refused(wordpiece, "normalizer", "type", "\"NFKC\"",
                 "'normalizer': expected type BertNormalizer, found NFKC");
    json_refused(wordpiece, "normalizer", "clean_text", "false",
                 "'normalizer.clean_text': expected true");
    json_refused(wordpiece, "model", "continuing_subword_prefix", "\"@@\"",
                 "'model.continuing_subword_prefix': expected \"##\"");
    json_refused(wordpiece, "model", "max_input_chars_per_word", "900",
                 "'max_input_chars_per_word'");
    json_refused(wordpiece, "model", "vocab", "[]", "expected 1 to");
}

/* Keys that change no ids, because they say what is done anyway. */
Test(tokenizer_json, keys_without_effect) {
    static const struct {
        const char *section, *key, *value;
    } cases[] = {{"model", "end_of_word_suffix", "\"\""},
                 {"model", "end_of_word_suffix", "null"},
                 {"model", "fuse_unk", "true"}, /* every byte has a piece */
                 {"model", "unheard_of", "null"},
                 {"pre_tokenizer", "trim_offsets", "false"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = folder_with("roberta/tokenizer.json", "tokenizer.json");
        json_t *json = support_json(support_golden("roberta/tokenizer.json"));
        json_object_set_new(json_object_get(json, cases[i].section), cases[i].key,
                            json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        cr_assert_eq(json_dump_file(json, support_path("%s/tokenizer.json", folder), 0), 0);
        expect_all_ids(folder, "roberta");
    }
}

/* Published vocabularies lack pieces for bytes that UTF-8 never has. Every other byte needs one. */
Test(tokenizer_json, bytes_that_utf8_never_has) {
    const char *folder = folder_with("roberta/tokenizer.json", "tokenizer.json");
    const char *path = support_path("%s/tokenizer.json", folder);
    json_t *json = support_json(support_golden("roberta/tokenizer.json"));
    json_t *vocab = json_object_get(json_object_get(json, "model"), "vocab");
    static const char *const unused[] = {"\u00C0", "\u00C1", "\u00F5", "\u00F9", "\u00FF"};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        cr_assert_eq(json_object_del(vocab, unused[i]), 0);
    cr_assert_eq(json_dump_file(json, path, 0), 0);
    expect_all_ids(folder, "roberta"); /* the other ids stay, with holes between them */
    cr_assert_eq(json_object_del(vocab, "\u00C2"), 0);
    cr_assert_eq(json_dump_file(json, path, 0), 0);
    struct nvdp_tokenizer *tokenizer = NULL;
    fails(nvdp_tokenizer_load(ctx, folder, &tokenizer), NVDP_ERR_INPUT,
          "expected a piece for every byte, found none for 0xc2");
}

/* A vocab.txt with a line twice becomes a tokenizer.json in which an id has no piece. */
Test(tokenizer_json, ids_with_a_hole) {
    const char *folder = folder_with("distilbert/tokenizer.json", "tokenizer.json");
    json_t *json = support_json(support_golden("distilbert/tokenizer.json"));
    json_t *vocab = json_object_get(json_object_get(json, "model"), "vocab");
    const size_t count = json_object_size(vocab);
    const char *key;
    json_t *id;
    json_object_foreach(vocab, key, id) {
        if (json_integer_value(id) + 1 == (json_int_t)count) break;
    }
    const char *last = support_path("%s", key);
    json_object_set_new(vocab, last, json_integer((json_int_t)count + 1));
    cr_assert_eq(json_dump_file(json, support_path("%s/tokenizer.json", folder), 0), 0);
    struct nvdp_tokenizer *tokenizer = load(folder);
    cr_expect_eq(nvdp_tokenizer_find(tokenizer, last), (int32_t)count + 1);
    cr_expect_eq(nvdp_tokenizer_size(tokenizer), count + 2);
    for (size_t hole = count - 1; hole <= count; hole++)
        cr_expect_str_empty(nvdp_tokenizer_piece(tokenizer, (int32_t)hole));
}

/* Tokens added after the vocabulary are pieces, and texts may contain their names. */
Test(tokenizer_json, added_tokens) {
    const char *folder = folder_with("roberta/tokenizer.json", "tokenizer.json");
    json_t *json = support_json(support_golden("roberta/tokenizer.json"));
    json_t *added = json_object_get(json, "added_tokens");
    size_t count = json_object_size(support_at(json, "model/vocab"));
    json_array_append_new(
        added, json_pack("{s:i, s:s, s:b}", "id", (int)count, "content", "<e>", "rstrip", 1));
    json_array_append_new(
        added, json_pack("{s:i, s:s, s:b}", "id", (int)count + 1, "content", "<e>!", "lstrip", 1));
    cr_assert_eq(json_dump_file(json, support_path("%s/tokenizer.json", folder), 0), 0);
    struct nvdp_tokenizer *tokenizer = load(folder);
    int32_t e = (int32_t)count, z = nvdp_tokenizer_find(tokenizer, "z");
    int32_t space = nvdp_tokenizer_find(tokenizer, "\u0120");
    cr_assert_eq(nvdp_tokenizer_size(tokenizer), count + 2);
    text_expect(tokenizer, "z<e> \t z", z, e, z, -1);
    text_expect(tokenizer, "z <e>z", z, space, e, z, -1);
    text_expect(tokenizer, "z <e>! z", z, e + 1, space, z, -1); /* the longest name wins */
    text_expect(tokenizer, "<e> <e>!", e, e + 1, -1); /* the first match has taken the space */
}
