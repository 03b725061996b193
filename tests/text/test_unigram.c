/* Unigram against transformers' ids (golden/unigram), its rules of words, files that are refused, and
 * their messages. */
#include "text_support.h"

static struct nvdp_context *ctx;
static void setup(void) {
    ctx = support_context();
}
TestSuite(unigram, .init = setup);

static struct nvdp_tokenizer *load(const char *directory) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(ctx, directory, &tokenizer));
    return support_keep(tokenizer);
}

static void expect_golden(const char *folder) {
    struct nvdp_tokenizer *tokenizer = load(support_golden(support_path("unigram/%s", folder)));
    json_t *one;
    json_t *cases = support_json(support_golden("unigram/ids.json"));
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    size_t i, compared = 0;
    json_array_foreach(cases, i, one) {
        const json_t *text = json_object_get(one, "text"), *pair = json_object_get(one, "pair");
        const json_t *ids = json_object_get(one, "ids");
        const char *shown = json_string_value(text);
        if (strcmp(text_at(one, "folder"), folder) != 0) continue;
        ok(nvdp_tokenizer_encode(tokenizer, shown, json_string_length(text),
                                 json_string_value(pair), json_string_length(pair),
                                 (size_t)integer_at(one, "max_length"), &tokens));
        cr_assert_eq(tokens.count, json_array_size(ids), "%s: %zu tokens", shown, tokens.count);
        for (size_t t = 0; t < tokens.count; t++)
            cr_expect_eq(tokens.ids[t], json_integer_value(json_array_get(ids, t)),
                         "%s: token %zu is %d", shown, t, tokens.ids[t]);
        compared++;
    }
    cr_expect_gt(compared, 15);
}

Test(unigram, tokenizer_json_gives_the_ids_of_transformers) {
    expect_golden("fast");
}

Test(unigram, sentencepiece_alone_gives_the_ids_of_transformers) {
    expect_golden("spm");
    struct nvdp_tokenizer *tokenizer = load(support_golden("unigram/spm"));
    static const int32_t special[] = {1, 3, 0, 2};
    for (int i = 0; i < NVDP_TOKEN_MASK; i++)
        cr_expect_eq(nvdp_tokenizer_special(tokenizer, (enum nvdp_special)i), special[i]);
    cr_expect_eq(nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_MASK),
                 (int32_t)nvdp_tokenizer_size(tokenizer) - 1);
}

/* transformers looks for tokenizer.model in any folder without tokenizer.json. */
Test(unigram, tokenizer_model_counts_before_the_file_of_the_class) {
    nvdp__autofree char *bytes = NULL;
    size_t size;
    const char *folder =
        support_folder("both", "sentencepiece.bpe.model", "not read", "config.json",
                       "{\"model_type\":\"bert\",\"tokenizer_class\":\"XLMRobertaTokenizer\"}");
    ok(nvdp__read_file(ctx, support_golden("unigram/spm/sentencepiece.bpe.model"), 1 << 20, &bytes,
                       &size));
    support_write(support_scratch_path("both/tokenizer.model"), bytes, size);
    struct nvdp_tokenizer *tokenizer = load(folder), *same = load(support_golden("unigram/spm"));
    cr_expect_str_eq(tokenizer->digest, same->digest);
}

/* ---- a small tokenizer.json ---- */

#define MARK "\xE2\x96\x81"
#define VOCAB                                                                                      \
    "[[\"<s>\",0],[\"<pad>\",0],[\"</s>\",0],[\"<unk>\",0],[\"" MARK "\",-2],[\"a\",-3],"          \
    "[\"b\",-3],[\"ab\",-5],[\"" MARK "a\",-4],[\"ba\",-6.5],[\"<mask>\",0],[\"<0x7A>\",-9]]"
#define PIECE_SPLIT "{\"type\":\"WhitespaceSplit\"}"
#define METASPACE "{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\""
static const char frame[] =
    "{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",2],\"cls\":[\"<s>\",0],"
    "\"trim_offsets\":true,\"add_prefix_space\":true}";

/* Returns a folder with these files; tokenizer.json has these members of its model, normalizer, and
 * pre-tokenizer. */
static const char *folder_of(const char *config, const char *model, const char *normalizer,
                             const char *words) {
    const char *tokenizer =
        support_path("{\"added_tokens\":[],\"normalizer\":%s,\"pre_tokenizer\":%s,"
                     "\"post_processor\":%s,\"model\":{%s}}",
                     normalizer, words, frame, model);
    return support_folder("folder", "tokenizer.json", tokenizer, "tokenizer_config.json", config,
                          "config.json", "{\"model_type\":\"xlm-roberta\"}");
}
#define FAST "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"mask_token\":\"<mask>\"}"
#define MODEL "\"type\":\"Unigram\",\"unk_id\":3,\"vocab\":" VOCAB

#define EXPECT(folder, text, ...) text_expect(load(folder), text, __VA_ARGS__, -1)

/* Sums are -3 - 3 = -6 against -5 for "ab", and -5 - 3 = -8 against -3 - 6.5 for "aba". */
Test(unigram, the_best_sum_wins) {
    EXPECT(folder_of(FAST, MODEL, "null", "null"), "aba", 7, 5);
    EXPECT(folder_of(FAST, MODEL, "null", "null"), "axxyb", 5, 3, 6);
    EXPECT(folder_of(FAST, MODEL ",\"byte_fallback\":true", "null", "null"), "azzx\xFF", 5, 3);
    EXPECT(folder_of(FAST, MODEL ",\"byte_fallback\":true", "null", "null"), "azz", 5, 11, 11);
}

Test(unigram, words_and_marks) {
    EXPECT(folder_of(FAST, MODEL, "null", METASPACE "}"), "a  b", 8, 4, 4, 6);
    EXPECT(folder_of(FAST, MODEL, "null", METASPACE ",\"prepend_scheme\":\"never\"}"), "a  b", 5, 4,
           4, 6);
    EXPECT(folder_of(FAST, MODEL, "null", METASPACE ",\"add_prefix_space\":true}"), " a b", 8, 4,
           6);
    EXPECT(folder_of(FAST, MODEL, "null",
                     "{\"type\":\"Sequence\",\"pretokenizers\":[" PIECE_SPLIT "," METASPACE "}]}"),
           "a \t b\n", 8, 4, 6);
    /* `first`: only at the start of the input, not behind a token */
    EXPECT(folder_of(FAST, MODEL, "null", METASPACE ",\"prepend_scheme\":\"first\"}"), "a<mask>a",
           8, 10, 5);
    EXPECT(folder_of(FAST, MODEL, "null", METASPACE "}"), "a<mask>a", 8, 10, 8);
    EXPECT(folder_of(FAST, MODEL, "null", PIECE_SPLIT), "a b", 5, 6);
}

Test(unigram, normalizers) {
#define STEPS(steps) "{\"type\":\"Sequence\",\"normalizers\":[" steps "]}"
#define FORM(name) "{\"type\":\"" name "\"}"
    static const struct {
        const char *normalizer, *text;
        int32_t id[4];
    } row[] = {
        {STEPS(FORM("NFKD") "," FORM("StripAccents") "," FORM("Lowercase")),
         "\xC3\x81\xE1\xB4\xAE", /* A with acute, modifier letter B */
         {7, -1}},
        {FORM("NFC"), "a\xCC\x81", {3, -1}},
        {FORM("StripAccents"), "a\xCC\x81", {5, -1}},
        {FORM("Nmt"), "a\x01\xE2\x80\x8B\x62", {5, 3, 6, -1}}, /* zero-width space: a space */
        {STEPS("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true},"
               "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"b\"}"),
         " \t a   a\n",
         {7, 5, -1}},
        {"{\"type\":\"Prepend\",\"prepend\":\"" MARK "\"}", "a", {8, -1}},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"bb\"},\"content\":\"a\"}",
         "bbb",
         {7, -1}},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct nvdp_tokenizer *tokenizer = load(folder_of(FAST, MODEL, row[i].normalizer, "null"));
        const int32_t *id = row[i].id;
        text_expect(tokenizer, row[i].text, id[0], id[1], id[2], id[3], -1);
    }
}

/* XLMRobertaTokenizer takes the pieces and the table of tokenizer.json, and its own rules of words. */
Test(unigram, the_class_decides) {
    static const char strip[] = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},"
                                "\"content\":\"a\"}";
    EXPECT(folder_of(FAST, MODEL, strip, "null"), "b b", 5, 3, 5);
    EXPECT(folder_of("{}", MODEL, strip, "null"), "b b", 4, 6, 4, 6);
    EXPECT(folder_of("{\"add_prefix_space\":false}", MODEL, strip, "null"), "b b", 6, 6);
}

Test(unigram, the_later_of_equal_pieces_counts) {
    static const char model[] =
        "\"unk_id\":3,\"vocab\":[[\"<s>\",0],[\"<pad>\",0],[\"</s>\",0],[\"<unk>\",0],[\"a\",-1],"
        "[\"<mask>\",0],[\"a\",-2],[\"aa\",-3]]";
    EXPECT(folder_of(FAST, model, "null", "null"), "aa", 7);
}

/* ---- refusals ---- */

static void refuse(const char *folder, nvdp_status want, const char *part) {
    struct nvdp_tokenizer *tokenizer = NULL;
    cr_expect_eq(nvdp_tokenizer_load(ctx, folder, &tokenizer), want, "%s", part);
    support_contains(nvdp_context_error(ctx), part);
    cr_expect_null(tokenizer);
}

Test(unigram, refused_models) {
    refuse(folder_of(FAST, "\"type\":\"Unigram\",\"vocab\":" VOCAB, "null", "null"), NVDP_ERR_INPUT,
           "tokenizer.json: 'unk_id': expected");
    refuse(folder_of(FAST, "\"type\":\"Unigram\",\"unk_id\":99,\"vocab\":" VOCAB, "null", "null"),
           NVDP_ERR_INPUT, "tokenizer.json: expected a piece for unknown characters with id 99");
    refuse(folder_of(FAST, MODEL ",\"byte_fallback\":null", "null", "null"), NVDP_ERR_UNSUPPORTED,
           "tokenizer.json: 'model.byte_fallback': expected true or false, found null");
    refuse(folder_of("{}", "\"unk_id\":3,\"vocab\":{\"a\":0}", "null", "null"),
           NVDP_ERR_UNSUPPORTED,
           "tokenizer.json: 'model.vocab': expected an array of pieces with their scores, found");
    refuse(folder_of("{}", "\"unk_id\":3,\"vocab\":[[\"a\"]]", "null", "null"),
           NVDP_ERR_UNSUPPORTED, "'model.vocab': expected pairs of a piece and its score");
}

Test(unigram, refused_normalizers_and_words) {
    static const struct {
        const char *normalizer, *words, *part;
    } wrong[] = {
        {"{\"type\":\"ByteLevel\"}", "null", "'normalizer': expected Sequence, Precompiled"},
        {"{\"type\":\"Strip\"}", "null", "'normalizer': expected"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[0-9]\"},\"content\":\"\"}", "null",
         "'normalizer': expected"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"$0\"}", "null",
         "found {\"type\":\"Replace\""},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"\"}", "null",
         "'normalizer': expected"},
        {"{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"?\"}", "null",
         "'normalizer': expected"},
        {"null", "{\"type\":\"Digits\"}", "'pre_tokenizer': expected null, WhitespaceSplit"},
        {"null", METASPACE ",\"add_prefix_space\":false}", "'pre_tokenizer': expected"},
        {"null", METASPACE ",\"prepend_scheme\":\"last\"}", "'pre_tokenizer': expected"},
        {"null", "{\"type\":\"Metaspace\",\"replacement\":\"__\"}", "'pre_tokenizer': expected"},
        {"null",
         "{\"type\":\"Sequence\",\"pretokenizers\":[" PIECE_SPLIT "," METASPACE
         ",\"prepend_scheme\":\"first\"}]}",
         "'pre_tokenizer': expected"},
        {"{\"type\":\"NFC\"}", METASPACE ",\"prepend_scheme\":\"first\"}",
         "'pre_tokenizer.prepend_scheme': expected always or never beside a normalizer"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse(folder_of(FAST, MODEL, wrong[i].normalizer, wrong[i].words), NVDP_ERR_UNSUPPORTED,
               wrong[i].part);
    refuse(folder_of(FAST, MODEL,
                     "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAA==\"}", "null"),
           NVDP_ERR_INPUT, "'precompiled_charsmap': expected a table of SentencePiece");
}

/* Every prefix of the file, and the file with each byte changed, is read or refused. */
Test(unigram, damaged_sentencepiece_files) {
    struct nvdp__tokenizer_source source = {0};
    struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__autofree char *bytes = NULL;
    size_t size, refused = 0;
    ok(nvdp__read_file(ctx, support_golden("unigram/spm/sentencepiece.bpe.model"), 1 << 20, &bytes,
                       &size));
    for (int i = 0; i < NVDP__TOKENIZER_FILES; i++)
        source.path[i] = (char *)nvdp__tokenizer_file_names[i]; /* only read */
    source.json[NVDP__FILE_MODEL] = json_pack("{s:s}", "model_type", "xlm-roberta");
    source.text[NVDP__FILE_SENTENCEPIECE] = bytes;
    for (size_t i = 0; i < 2 * size; i += 7) {
        source.size[NVDP__FILE_SENTENCEPIECE] = i < size ? i : size;
        if (i >= size) bytes[i - size] ^= (char)0x81;
        nvdp_status status = nvdp__tokenizer_of_source(ctx, &source, &tokenizer);
        if (status != NVDP_OK) {
            fails(status, NVDP_ERR_INPUT, "sentencepiece.bpe.model: ");
            refused++;
        } else if (i >= size) {
            nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
            ok(nvdp_tokenizer_encode(tokenizer, "the gulls \xEF\xAC\x81nal", 16, NULL, 0, 99,
                                     &tokens));
        }
        nvdp_tokenizer_free(tokenizer);
        tokenizer = NULL;
        if (i >= size) bytes[i - size] ^= (char)0x81;
    }
    cr_expect_gt(refused, size / 14);
    json_decref(source.json[NVDP__FILE_MODEL]);
}
