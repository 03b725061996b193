/* The files of a model folder that change token ids. The ids are those of transformers 5.23, which
 * tests/transformers/check_folders.py compares on many more folders. */
#include "text_support.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
/* ids from 5 on: the 5, cat 6, ##s 7, The 8, dog 9, ##rat 10, mask 11, [ 12, ] 13, new 14 */
#define PIECES SPECIALS "the\ncat\n##s\nThe\ndog\n##rat\nmask\n[\n]\nnew\n"
#define VOCAB                                                                                      \
    "{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"[MASK]\":4,\"the\":5,\"cat\":6,"           \
    "\"##s\":7,\"The\":8,\"dog\":9,\"##rat\":10,\"mask\":11,\"[\":12,\"]\":13,\"new\":14}"
#define FRAME "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}"
/* tokenizer.json, cased, with these added tokens and this post-processor */
#define JSON(added, frame)                                                                         \
    "{\"added_tokens\":[" added "],\"normalizer\":{\"type\":\"BertNormalizer\","                   \
    "\"clean_text\":true,\"lowercase\":false},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"  \
    "\"post_processor\":" frame ",\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","      \
    "\"max_input_chars_per_word\":20,\"vocab\":" VOCAB "}}"
#define BERT "{\"model_type\":\"bert\"}"
#define FAST "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}"

static struct nvdp_context *ctx;
static void setup(void) {
    ctx = support_context();
}
static void teardown(void) {
}
TestSuite(tokenizer_files, .init = setup, .fini = teardown);

struct file {
    const char *name, *content;
};

static const char *folder_of(const struct file *file) {
    const char *folder = support_scratch_path("m");
    char *path = NULL;
    mkdir(folder, 0700);
    for (; file->name != NULL; file++) {
        cr_assert_gt(asprintf(&path, "%s/%s", folder, file->name), 0);
        support_write_text(path, file->content);
        free(path);
    }
    return folder;
}
#define FOLDER(...) folder_of((const struct file[]){__VA_ARGS__, {NULL, NULL}})

static struct nvdp_tokenizer *load(const char *folder) {
    struct nvdp_tokenizer *tokenizer = NULL;
    ok(nvdp_tokenizer_load(ctx, folder, &tokenizer));
    return support_keep(tokenizer);
}
/* The ids of a text in a folder, between the first and the last special token. */
#define EXPECT(folder, text, ...)                                                                  \
    do {                                                                                           \
        struct nvdp_tokenizer *tokenizer = load(folder);                                           \
        text_expect(tokenizer, text, __VA_ARGS__, -1);                                             \
        nvdp_tokenizer_free(tokenizer);                                                            \
    } while (0)

static void refuse(const char *folder, nvdp_status want, const char *part) {
    struct nvdp_tokenizer *tokenizer = NULL;
    cr_expect_eq(nvdp_tokenizer_load(ctx, folder, &tokenizer), want, "%s", part);
    support_contains(nvdp_context_error(ctx), part);
    cr_expect_null(tokenizer);
}

/* PreTrainedTokenizerFast is tokenizer.json alone; BertTokenizer takes only its vocabulary. */
Test(tokenizer_files, the_class_decides) {
    static const char text[] = "The cats";
    const struct file config = {"config.json", BERT}, vocab = {"vocab.txt", PIECES},
                      json = {"tokenizer.json", JSON("", FRAME)};
    EXPECT(FOLDER(config, vocab, json, {"tokenizer_config.json", FAST}), text, 8, 6, 7);
    EXPECT(FOLDER(config, vocab, json, {"tokenizer_config.json", "{}"}), text, 5, 6, 7);
    EXPECT(FOLDER(config, {"tokenizer_config.json", "{\"do_lower_case\": false}"}), text, 8, 6, 7);
    EXPECT(FOLDER({"config.json", "{\"model_type\": \"modernbert\"}"},
                  {"tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\"}"}),
           text, 8, 6, 7);
    EXPECT(FOLDER({"config.json", "{\"model_type\": \"bert\", \"tokenizer_class\": "
                                  "\"PreTrainedTokenizerFast\"}"},
                  {"tokenizer_config.json", "{}"}),
           text, 8, 6, 7);
    refuse(FOLDER({"tokenizer_config.json", "{\"tokenizer_class\": \"CamembertTokenizerFast\"}"}),
           NVDP_ERR_UNSUPPORTED,
           "tokenizer_config.json: 'tokenizer_class': expected BertTokenizer");
}

Test(tokenizer_files, words_over_the_limit_are_unknown) {
    char text[160];
    memset(text, 's', sizeof text);
    memcpy(text, "cat", 3);
    const struct file config = {"config.json", BERT}, json = {"tokenizer.json", JSON("", FRAME)};
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    const struct {
        const char *config;
        size_t size, tokens;
    } limit[] = {{FAST, 20, 18}, {FAST, 21, 1}, {"{}", 100, 98}, {"{}", 101, 1}};
    for (size_t i = 0; i < sizeof limit / sizeof limit[0]; i++) {
        struct nvdp_tokenizer *tokenizer =
            load(FOLDER(config, json, {"tokenizer_config.json", limit[i].config}));
        ok(nvdp_tokenizer_encode(tokenizer, text, limit[i].size, NULL, 0, 512, &tokens));
        cr_expect_eq(tokens.count, limit[i].tokens + 2, "%zu", limit[i].size);
    }
}

#define ADDED(id, content, flags) "{\"id\":" #id ",\"content\":\"" content "\"" flags "}"

Test(tokenizer_files, added_tokens) {
    static const char added[] =
        JSON(ADDED(4, "[MASK]", ",\"special\":true,\"lstrip\":true") "," ADDED(
                 15, "[ENT]",
                 ",\"special\":true") "," ADDED(16, "DogRat",
                                                ",\"normalized\":true") "," ADDED(14, "new",
                                                                                  ",\"single_"
                                                                                  "word\":true"),
             FRAME);
    const struct file config = {"config.json", BERT}, json = {"tokenizer.json", added};
    const char *fast = FOLDER(config, json, {"tokenizer_config.json", FAST});
    EXPECT(fast, "cat[ENT]cat [ent]", 6, 15, 6, 12, 1, 13);
    EXPECT(fast, "cat \t[MASK] cat", 6, 4, 6);
    EXPECT(fast, "new new, news (new)", 14, 14, 1, 14, 7, 1, 14, 1);
    EXPECT(fast, "xDogRat dograt", 1, 16, 9, 10); /* cased: the name is as it is written */
    const char *bert = FOLDER({"tokenizer_config.json", "{}"});
    EXPECT(bert, "DOGRATs", 16, 1); /* lower case: text and name */
    EXPECT(FOLDER({"tokenizer_config.json", "{\"split_special_tokens\": true}"}), "[MASK] new", 12,
           11, 13, 14);
    /* added_tokens_decoder counts before tokenizer.json */
    EXPECT(FOLDER({"tokenizer_config.json",
                   "{\"added_tokens_decoder\": {\"15\": {\"content\": \"[X]\"}}}"}),
           "[X] dograt [MASK]", 15, 9, 10, 4);
}

/* The tokenizers library would find such a token between all letters. */
Test(tokenizer_files, added_token_that_becomes_empty) {
    static const char added[] = JSON(ADDED(15, "\\u200d", ",\"normalized\":true"), FRAME);
    refuse(
        FOLDER({"config.json", BERT}, {"tokenizer.json", added}, {"tokenizer_config.json", FAST}),
        NVDP_ERR_UNSUPPORTED, "found one that becomes empty");
}

Test(tokenizer_files, added_tokens_beside_vocab_txt) {
    const struct file config = {"config.json", BERT}, vocab = {"vocab.txt", PIECES "\n\n"};
    EXPECT(FOLDER(config, vocab, {"tokenizer_config.json", "{\"bos_token\": \"[B]\"}"}), "[B] cat",
           16, 6); /* the empty piece has id 15 */
    EXPECT(FOLDER(config, vocab, {"tokenizer_config.json", "{}"},
                  {"special_tokens_map.json",
                   "{\"mask_token\": {\"content\": \"[MASK]\", \"rstrip\": true}}"},
                  {"added_tokens.json", "{\"[E]\": 16, \"DOG\": 17}"}),
           "[E]s dog Dog [MASK] cat", 16, 1, 17, 17, 4, 6);
    refuse(FOLDER({"added_tokens.json", "{\"[E]\": 20}"}), NVDP_ERR_INPUT,
           "added_tokens.json: added token '[E]': expected the next id after the 15 pieces");
}

#define PART(kind, name, type) "{\"" kind "\":{\"id\":\"" name "\",\"type_id\":" #type "}}"
#define IDS                                                                                        \
    ",\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[2]},\"[SEP]\":{\"id\":\"[SEP]\","   \
    "\"ids\":[3]}}}"
#define SINGLE                                                                                     \
    PART("SpecialToken", "[CLS]", 0)                                                               \
    "," PART("Sequence", "A", 0) "," PART("SpecialToken", "[SEP]", 0)

#define ROBERTA "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]"

static void expect_pair(const char *frame, size_t count, const int32_t *ids, const int32_t *types) {
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    const char *json = support_path(JSON("", "%s"), frame);
    struct nvdp_tokenizer *tokenizer = load(
        FOLDER({"config.json", BERT}, {"tokenizer.json", json}, {"tokenizer_config.json", FAST}));
    cr_assert_eq(nvdp_tokenizer_specials(tokenizer, true), count - 2);
    ok(nvdp_tokenizer_encode(tokenizer, "the", 3, "cat", 3, 9, &tokens));
    cr_assert_eq(tokens.count, count);
    cr_expect_arr_eq(tokens.ids, ids, count * sizeof *ids, "%s", frame);
    cr_expect_arr_eq(tokens.types, types, count * sizeof *types, "%s", frame);
}

Test(tokenizer_files, post_processors) {
    static const int32_t one[] = {2, 5, 3, 6, 3}, two[] = {2, 5, 3, 3, 6, 3},
                         types[] = {0, 0, 0, 1, 1}, none[6] = {0};
    expect_pair(FRAME, 5, one, types);
    expect_pair(ROBERTA ",\"trim_offsets\":true,\"add_prefix_space\":false}", 6, two, none);
    expect_pair("{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"}," FRAME "]}", 5,
                one, types);
    expect_pair("{\"type\":\"TemplateProcessing\",\"single\":[" SINGLE "],\"pair\":[" SINGLE
                "," PART("Sequence", "B", 0) "," PART("SpecialToken", "[SEP]", 0) "]" IDS,
                5, one, none);
    expect_pair("{\"type\":\"TemplateProcessing\",\"single\":[" SINGLE "],\"pair\":[" SINGLE
                "," PART("SpecialToken", "[SEP]", 0) "," PART("Sequence", "B", 0) "," PART(
                    "SpecialToken", "[SEP]", 0) "]" IDS,
                6, two, none);
    static const char *const wrong[] = {
        JSON("", "null"), JSON("", ROBERTA "}"),
        JSON("", ROBERTA ",\"trim_offsets\":true,\"add_prefix_space\":1}"),
        JSON("",
             "{\"type\":\"TemplateProcessing\",\"single\":[" PART(
                 "Sequence", "A", 0) "],\"pair\":[" PART("Sequence", "A",
                                                         0) "," PART("Sequence", "B", 0) "]" IDS),
        JSON("", "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",99]}")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse(FOLDER({"tokenizer.json", wrong[i]}), NVDP_ERR_UNSUPPORTED,
               "tokenizer.json: 'post_processor': expected BertProcessing");
}

/* MPNet: pieces of BERT, special tokens and separators of RoBERTa. */
Test(tokenizer_files, mpnet) {
    const struct file config = {"config.json", "{\"model_type\": \"mpnet\"}"},
                      vocab = {"vocab.txt",
                               "<s>\n<pad>\n</s>\n<unk>\n[UNK]\nthe\ncat\n##s\n<\n>\n<mask>\n"};
    nvdp__auto(nvdp_tokens_free) struct nvdp_tokens tokens = {0};
    struct nvdp_tokenizer *tokenizer = load(FOLDER(config, vocab));
    static const int32_t special[] = {1, 4, 0, 2, 10};
    for (int i = 0; i <= NVDP_TOKEN_MASK; i++)
        cr_expect_eq(nvdp_tokenizer_special(tokenizer, (enum nvdp_special)i), special[i]);
    text_expect(tokenizer, "The cats <mask>the </s>q<unk>", 5, 6, 7, 10, 5, 2, 4, 8, 4, 9, -1);
    static const int32_t want[] = {0, 5, 2, 2, 6, 7, 2}, types[7] = {0};
    ok(nvdp_tokenizer_encode(tokenizer, "the", 3, "cats", 4, 9, &tokens));
    cr_assert_eq(tokens.count, 7);
    cr_expect_arr_eq(tokens.ids, want, sizeof want);
    cr_expect_arr_eq(tokens.types, types, sizeof types);
}

Test(tokenizer_files, lower_case_of_sentence_transformers) {
    const struct file config = {"config.json", BERT}, vocab = {"vocab.txt", PIECES},
                      cased = {"tokenizer_config.json", "{\"do_lower_case\": false}"};
    EXPECT(FOLDER(config, vocab, cased), "The", 8);
    EXPECT(FOLDER(config, vocab, cased, {"sentence_bert_config.json", "{\"do_lower_case\": true}"}),
           "The [MASK]", 5, 4);
}

Test(tokenizer_files, refused_keys) {
    const struct file config = {"config.json", BERT}, vocab = {"vocab.txt", PIECES};
    refuse(FOLDER(config, vocab, {"tokenizer_config.json", "{\"truncation_side\": \"left\"}"}),
           NVDP_ERR_UNSUPPORTED,
           "tokenizer_config.json: 'truncation_side': expected right, since texts lose tokens at "
           "their end, found \"left\"");
    refuse(
        FOLDER({"tokenizer_config.json", "{\"fast_tokenizer_files\": [\"tokenizer.4.0.0.json\"]}"}),
        NVDP_ERR_UNSUPPORTED, "'fast_tokenizer_files': expected tokenizer.json alone, found");
    refuse(FOLDER({"tokenizer_config.json", "{\"extra_special_tokens\": [3]}"}), NVDP_ERR_INPUT,
           "'extra_special_tokens': expected the text of a token");
    refuse(FOLDER({"tokenizer_config.json", "{\"added_tokens_decoder\": {\"x\": {}}}"}),
           NVDP_ERR_INPUT, "'added_tokens_decoder': expected ids with objects, found 'x'");
}

Test(tokenizer_files, missing_vocabulary) {
    refuse(FOLDER({"config.json", "{}"}, {"tokenizer_config.json", FAST}, {"vocab.txt", PIECES}),
           NVDP_ERR_IO,
           "expected tokenizer.json for the tokenizer class PreTrainedTokenizerFast, found "
           "vocab.txt: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)");
    refuse(FOLDER({"tokenizer.model", ""}, {"sentencepiece.bpe.model", ""}), NVDP_ERR_IO,
           "found vocab.txt, tokenizer.model, sentencepiece.bpe.model: AutoTokenizer");
}
