/* Tables of static embeddings: folders of sentence-transformers' StaticEmbedding and of Model2Vec, whose vectors must be those of
 * the definition. */
#include "encoder.h"
#include "model/model.h"

#include "test_context.h"

enum { PIECES = 8, ROWS = 4, WIDTH = 3, TEXTS = 5 };
enum { PAD, UNK, THE, CAT, S, DOG, A, RUNS };

#define VOCABULARY                                                                                 \
    "{'[PAD]': 0, '[UNK]': 1, 'the': 2, 'cat': 3, '##s': 4, 'dog': 5, 'a': 6, 'runs': 7}"
#define TOKENIZER                                                                                  \
    "{'version': '1.0', 'truncation': null, 'padding': null, 'added_tokens': [], "                 \
    "'normalizer': {'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "  \
    "'strip_accents': null, 'lowercase': true}, 'pre_tokenizer': {'type': 'BertPreTokenizer'}, "   \
    "'post_processor': null, 'decoder': null, 'model': {'type': 'WordPiece', 'unk_token': "        \
    "'[UNK]', 'continuing_subword_prefix': '##', 'max_input_chars_per_word': 100, "                \
    "'vocab': " VOCABULARY "}}"
#define ST(class) "{'idx': 0, 'path': '%s', 'type': 'sentence_transformers.models." class "'}"

static const float table[PIECES * WIDTH] = {9, 9,  9,  1, 0.5F, 2, -1, 3, 0.25F, 4,     1, 1,
                                            7, -2, -2, 0, 1,    5, 2,  2, -3,    0.125, 6, 8};
static const char *const texts[TEXTS] = {"The cats", "", "a zebra runs", "zebra",
                                         "the dog runs the dog runs"};
static const int tokens[TEXTS][7] = {
    {THE, CAT, S, -1}, {-1}, {A, UNK, RUNS, -1}, {UNK, -1}, {THE, DOG, RUNS, THE, DOG, RUNS, -1}};

static void write_table(const char *folder, size_t count,
                        const struct nvdp__tensor_source *tensors) {
    mkdir(folder, 0700);
    ok(nvdp__safetensors_write(ctx, support_path("%s/model.safetensors", folder), count, tensors,
                               NULL));
    support_write_text(support_path("%s/tokenizer.json", folder), support_quoted(TOKENIZER));
}

/* Writes a folder of sentence-transformers, whose files are in `inside`. */
static const char *static_folder(const char *name, const char *inside, const char *more) {
    const char *folder = support_scratch_path(name);
    const struct nvdp__tensor_source one = {
        "embedding.weight", NVDP__DTYPE_F32, 2, {PIECES, WIDTH}, table};
    mkdir(folder, 0700);
    write_table(support_path("%s/%s", folder, inside), 1, &one);
    support_write_text(support_path("%s/modules.json", folder),
                       support_quoted(support_path("[" ST("StaticEmbedding") "%s]", inside, more)));
    return folder;
}

static const char *model2vec_folder(const char *name, const char *config, size_t count,
                                    const struct nvdp__tensor_source *tensors) {
    const char *folder = support_scratch_path(name);
    write_table(folder, count, tensors);
    support_write_text(support_path("%s/config.json", folder), support_quoted(config));
    return folder;
}

/* Encodes the texts, and compares the vectors with the mean of the rows, of at most `longest` tokens. */
static void check(const char *folder, const double *rows, bool drops, bool unit, size_t longest) {
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    struct nvdp_encoder_info info;
    float got[TEXTS * WIDTH];
    ok(nvdp__encoder_open(ctx, (const char *const[]){"model", folder, NULL}, &encoder, &info));
    cr_assert_str_eq(info.pooling, "mean");
    cr_assert_eq(info.normalized, unit);
    cr_assert_eq(info.vector_size, WIDTH);
    ok(nvdp_dataset_from_texts(ctx, nvdp_encoder_tokenizer(encoder), info.max_length, TEXTS, texts,
                               NULL, &data));
    ok(nvdp_encoder_run(ctx, encoder, data, NULL, got));
    for (size_t i = 0; i < TEXTS; i++) {
        double sum[WIDTH] = {0}, square = 0;
        size_t n = 0;
        for (size_t k = 0; k < longest && tokens[i][k] >= 0; k++) {
            if (drops && tokens[i][k] == UNK) continue;
            n++;
            for (size_t d = 0; d < WIDTH; d++)
                sum[d] += rows[(size_t)tokens[i][k] * WIDTH + d];
        }
        for (size_t d = 0; d < WIDTH && n > 0; d++)
            sum[d] /= (double)n;
        for (size_t d = 0; d < WIDTH; d++)
            square += sum[d] * sum[d];
        for (size_t d = 0; d < WIDTH; d++)
            near(got[i * WIDTH + d], unit && n > 0 ? sum[d] / sqrt(square) : sum[d], 1e-6,
                 "%s: text %zu", folder, i);
    }
}

static void as_double(double rows[PIECES * WIDTH]) {
    for (size_t i = 0; i < PIECES * WIDTH; i++)
        rows[i] = (double)table[i];
}

Test(static_embedding, a_folder_of_sentence_transformers_gives_means) {
    double rows[PIECES * WIDTH];
    as_double(rows);
    check(static_folder("plain", "0_StaticEmbedding", ""), rows, false, false, SIZE_MAX);
    check(static_folder("unit", "0_StaticEmbedding",
                        ", {'path': '1_Normalize', 'type': "
                        "'sentence_transformers.models.Normalize'}"),
          rows, false, true, SIZE_MAX);
    check(static_folder("root", ".", ""), rows, false, false, SIZE_MAX);
}

Test(static_embedding, a_length_in_the_tokenizer_counts) {
    const char *folder = static_folder("cut", "0", "");
    double rows[PIECES * WIDTH];
    as_double(rows);
    nvdp__autoptr(json_decref) json_t *json = json_incref(support_parsed(TOKENIZER));
    json_object_set_new(json, "truncation",
                        support_parsed("{'max_length': 4, 'direction': 'Right', 'stride': 0, "
                                       "'strategy': 'LongestFirst'}"));
    json_dump_file(json, support_path("%s/0/tokenizer.json", folder), 0);
    check(folder, rows, false, false, 4);
}

Test(static_embedding, model2vec_drops_unknown_tokens) {
    const struct nvdp__tensor_source one = {
        "embeddings", NVDP__DTYPE_F32, 2, {PIECES, WIDTH}, table};
    const struct nvdp__tensor_source half = {
        "embeddings", NVDP__DTYPE_F16, 2, {PIECES, WIDTH}, table};
    double rows[PIECES * WIDTH];
    as_double(rows);
    /* means of numbers in float16 are float32 */
    check(model2vec_folder("half", "{'model_type': 'model2vec'}", 1, &half), rows, true, false,
          SIZE_MAX);
    check(model2vec_folder("raw", "{'model_type': 'model2vec'}", 1, &one), rows, true, false,
          SIZE_MAX);
    check(model2vec_folder("unit",
                           "{'model_type': 'model2vec', 'normalize': true, "
                           "'max_length': null}",
                           1, &one),
          rows, true, true, SIZE_MAX);
    /* 4 tokens of the median length 3: a text is cut to 12 characters, "the dog runs" */
    check(model2vec_folder("cut", "{'model_type': 'model2vec', 'max_length': 4}", 1, &one), rows,
          true, false, 3);
}

Test(static_embedding, a_token_has_its_row_and_its_factor) {
    static const int64_t mapping[PIECES] = {0, 3, 1, 1, 2, 3, 0, 2};
    static const float factors[PIECES] = {1, 2, 0.5F, 3, -1, 0.25F, 8, 1.5F};
    const struct nvdp__tensor_source all[] = {
        {"embeddings", NVDP__DTYPE_F32, 2, {ROWS, WIDTH}, table},
        {"mapping", NVDP__DTYPE_I64, 1, {PIECES}, mapping},
        {"weights", NVDP__DTYPE_F32, 1, {PIECES}, factors}};
    double rows[PIECES * WIDTH];
    for (size_t i = 0; i < PIECES * WIDTH; i++)
        rows[i] = (double)factors[i / WIDTH] *
                  (double)table[(size_t)mapping[i / WIDTH] * WIDTH + i % WIDTH];
    const char *config = "{'model_type': 'model2vec', 'normalize': false}";
    const char *folder = model2vec_folder("mapped", config, 3, all);
    check(folder, rows, true, false, SIZE_MAX);

    /* method word reads the same rows */
    struct nvdp_bert_config own;
    ok(nvdp__bert_config_read(ctx, folder, &own));
    const struct nvdp__over_words how = {0};
    const struct nvdp_bert_config words =
        nvdp__encoder_row(NVDP_MODEL_WORDS)->over_words(&own, &how);
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__auto(nvdp__bert_release) struct nvdp__bert bert = {0};
    nvdp__auto(nvdp__params_release) struct nvdp__params params = {0};
    nvdp__params_init(&params, ctx);
    ok(nvdp__bert_declare(&bert, &words, false, &params));
    ok(nvdp__params_allocate(&params, false));
    ok(nvdp__checkpoint_load(&dev, folder, &params));
    for (size_t i = 0; i < PIECES * WIDTH; i++)
        near(nvdp__value(&params, bert.word)[i], rows[i], 0);
}

Test(static_embedding, wrong_tables_are_refused) {
    static const int64_t mapping[PIECES] = {0, 3, 1, 1, 2, 4, 0, 2};
    const char *config = "{'model_type': 'model2vec'}";
    const struct nvdp__tensor_source
        all[] = {{"embeddings", NVDP__DTYPE_F32, 2, {ROWS, WIDTH}, table},
                 {"mapping", NVDP__DTYPE_I64, 1, {PIECES}, mapping}},
        weights[] = {{"embeddings", NVDP__DTYPE_F32, 2, {PIECES, WIDTH}, table},
                     {"weights", NVDP__DTYPE_F32, 1, {ROWS}, table}};
    struct nvdp_bert_config read;
    fails(nvdp__bert_config_read(ctx, model2vec_folder("far", config, 2, all), &read),
          NVDP_ERR_INPUT, "tensor 'mapping': token 5: expected a row from 0 to 3, found 4");
    fails(nvdp__bert_config_read(ctx, model2vec_folder("short", config, 2, weights), &read),
          NVDP_ERR_INPUT,
          "tensor 'weights': expected a vector of 8 numbers, one per token, found 4");
    fails(nvdp__bert_config_read(ctx, model2vec_folder("none", config, 1, all + 1), &read),
          NVDP_ERR_INPUT, "expected a tensor 'embedding.weight' or 'embeddings'");
}

Test(static_embedding, what_a_table_cannot_do_is_refused) {
    const char *folder = static_folder("plain", "0_StaticEmbedding", "");
    const char *data = support_folder("data", "train.tsv", "text\tlabel\na cat\t0\nthe dog\t1\n",
                                      "dev.tsv", "text\tlabel\na dog\t0\nthe cat\t1\n");
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    struct nvdp_encoder_info info;
    fails(nvdp__encoder_open(ctx, (const char *const[]){"model", folder, "pool", "cls", NULL},
                             &encoder, &info),
          NVDP_ERR_ARGUMENT, "option --pool: expected mean or none");
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp_config *config = support_config(
        ctx, "train", "task", "tsv", "data", data, "text-column", "text", "label-column", "label",
        "model", folder, "method", "base", "out", support_scratch_path("run"), NULL);
    fails(nvdp_train(ctx, config, &result), NVDP_ERR_INPUT,
          "the model is a table of static embeddings: expected --method word, found base");
}

Test(static_embedding, texts_have_no_special_tokens) {
    static const int32_t want[] = {A, CAT, THE, DOG};
    const char *folder = static_folder("plain", "0_StaticEmbedding", "");
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    struct nvdp_tokens made = {0};
    ok(nvdp_tokenizer_load(ctx, folder, &tokenizer));
    cr_assert_eq(nvdp_tokenizer_specials(tokenizer, true), 0);
    ok(nvdp_tokenizer_encode(tokenizer, "a cat", 5, "the dog", 7, 9, &made));
    cr_assert_eq(made.count, 4);
    cr_assert_arr_eq(made.ids, want, sizeof want);
    for (size_t i = 0; i < made.count; i++)
        cr_assert_eq(made.types[i], 0);
    ok(nvdp_tokenizer_encode(tokenizer, "a cat", 5, "the dog", 7, 3, &made));
    cr_assert_eq(made.count, 3);
    /* the vocabulary has no [SEP], which would be the border of a pair of words */
    ok(nvdp__tokenizer_read_words(ctx, folder, tokenizer));
    ok(nvdp_tokenizer_encode(tokenizer, "a cat", 5, NULL, 0, 9, &made));
    cr_assert_eq(made.count, 2);
    cr_assert_eq(nvdp_tokenizer_encode(tokenizer, "a", 1, "cat", 3, 9, &made),
                 NVDP_ERR_UNSUPPORTED);
    nvdp_tokens_free(&made);
}
