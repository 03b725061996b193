/* Sanitizers: valid and invalid files of word vectors, an encoder's table, words and texts, V_S. */
#include "dchi/dchi.h"
#include "encoder/safetensors.h"
#include "sanitize/sanitize.h"
#include "support.h"
#include <lzma.h>
#include <nvdp.h>

static const char small[] = "6 2\n"
                            "the 0 1\n"
                            "film 1 0.5\n"
                            "good -1e-1 2.25\n"
                            "bad 3 4\n"
                            "movie 1 .5\n"
                            ". 7 -8\n";

struct made {
    struct nvdp_context *ctx;
    struct nvdp_config *config;
    struct nvdp_sanitizer *sanitizer;
};

/* Makes a sanitizer from options: name, value, ... NULL. */
static nvdp_status make(struct made *made, const char *const *options) {
    made->sanitizer = NULL;
    made->ctx = support_context();
    ok(nvdp_config_create(made->ctx, "sanitizer", &made->config));
    for (size_t i = 0; options[i] != NULL; i += 2)
        support_set(made->ctx, made->config, options[i], options[i + 1]);
    support_keep(made->config);
    const nvdp_status status = nvdp_sanitizer_create(made->ctx, made->config, &made->sanitizer);
    support_keep(made->sanitizer);
    return status;
}
#define MAKE(made, ...) make(made, (const char *const[]){__VA_ARGS__, NULL})

static struct nvdp_sanitizer_info info(const struct made *made) {
    struct nvdp_sanitizer_info out = NVDP_RESULT(struct nvdp_sanitizer_info);
    ok(nvdp_sanitizer_describe(made->sanitizer, &out));
    return out;
}

static void tokens_are(const struct made *made, const char *text, const char *want,
                       size_t unknown) {
    struct nvdp_token_list list = {0};
    char got[512] = "";
    ok(nvdp_sanitizer_tokenize(made->ctx, made->sanitizer, text, strlen(text), &list));
    for (size_t i = 0; i < list.count; i++) {
        strcat(got, i > 0 ? " " : "");
        strcat(got, nvdp_sanitizer_word(made->sanitizer, list.token[i]));
    }
    cr_expect_str_eq(got, want);
    cr_expect_eq(list.unknown, unknown);
    nvdp_token_list_free(&list);
}

Test(sanitizer, words_of_a_file) {
    struct made made;
    ok(MAKE(&made, "vectors", support_file("v.txt", small), "mechanism", "santext", "epsilon",
            "2"));
    const struct nvdp_sanitizer_info facts = info(&made);
    cr_expect_eq(facts.tokens, 6);
    cr_expect_eq(facts.dim, 2);
    cr_expect_eq(facts.eta, 2);
    cr_expect_eq(facts.equal, 2);
    cr_expect_str_eq(nvdp_sanitizer_word(made.sanitizer, facts.equal_a), "film");
    cr_expect_str_eq(nvdp_sanitizer_word(made.sanitizer, facts.equal_b), "movie");
    cr_expect(!facts.pieces && !facts.drops && !facts.counting);
    double row[2];
    nvdp__vectors_row(nvdp_sanitizer_vectors(made.sanitizer), 2, row);
    cr_expect_eq(row[0], -.1);
    cr_expect_eq(row[1], 2.25);
    tokens_are(&made, "The GOOD film, by M\xC3\xA9. The movie.",
               "the good film [UNK] [UNK] [UNK] . the "
               "movie .",
               3);
    cr_expect_eq(nvdp_sanitizer_find(made.sanitizer, "bad"), 3);
    cr_expect_eq(nvdp_sanitizer_find(made.sanitizer, "Bad"), NVDP_DCHI_UNKNOWN);
    cr_expect_null(nvdp_sanitizer_word(made.sanitizer, 6));
    char *text = NULL;
    ok(nvdp_sanitizer_text(made.ctx, made.sanitizer, 3, (int32_t[]){0, 3, 5}, &text));
    cr_expect_str_eq(text, "the bad .");
    free(text);
    cr_expect_eq(nvdp_sanitizer_text(made.ctx, made.sanitizer, 1, (int32_t[]){-1}, &text),
                 NVDP_ERR_ARGUMENT);
}

/* The table is the same if the file is packed, has a first line, has Windows' line ends or lacks
 * the last line end. */
Test(sanitizer, files_alike) {
    const char *lines = strchr(small, '\n') + 1;
    char crlf[512] = "\xEF\xBB\xBF", *at = crlf + 3;
    for (const char *from = small; *from != '\0'; from++) {
        if (*from == '\n') *at++ = '\r';
        *at++ = *from == ' ' ? '\t' : *from;
    }
    uint8_t packed[1024];
    size_t size = 0;
    cr_assert_eq(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (const uint8_t *)small,
                                         strlen(small), packed, &size, sizeof packed),
                 LZMA_OK);
    support_write(support_scratch_path("packed"), packed, size);
    const char *path[] = {support_file("plain", lines), support_file("crlf", crlf),
                          support_scratch_path("packed"), support_file("head", small)};
    for (size_t f = 0; f < 4; f++) {
        struct made made;
        ok(MAKE(&made, "vectors", path[f], "mechanism", "random"));
        cr_expect_eq(info(&made).tokens, 6);
        const struct nvdp_vectors *vectors = nvdp_sanitizer_vectors(made.sanitizer);
        static const double want[] = {0, 1, 1, .5, -.1, 2.25, 3, 4, 1, .5, 7, -8};
        for (size_t x = 0; x < 6; x++) {
            double row[2];
            nvdp__vectors_row(vectors, x, row);
            cr_expect_arr_eq(row, want + 2 * x, sizeof row);
        }
    }
}

/* Every number equals strtod's, whichever reader was used. */
Test(sanitizer, numbers_are_exact) {
    static const char *const numbers[] = {"0.1",
                                          "-0.00066023",
                                          "123456789012345",
                                          "1234567890123456",
                                          "0.123456789012345",
                                          "0.1234567890123456789",
                                          "1e-7",
                                          "-2.5E+3",
                                          "7.",
                                          ".5",
                                          "4.9e-124",
                                          "000000000000000001.5"};
    enum { N = sizeof numbers / sizeof *numbers };
    char line[1024] = "w";
    for (size_t i = 0; i < N; i++)
        strcat(strcat(line, " "), numbers[i]);
    struct made made;
    ok(MAKE(&made, "vectors", support_file("n.txt", line), "mechanism", "random"));
    double row[N];
    nvdp__vectors_row(nvdp_sanitizer_vectors(made.sanitizer), 0, row);
    for (size_t i = 0; i < N; i++)
        cr_expect_eq(row[i], strtod(numbers[i], NULL), "%s", numbers[i]);
}

Test(sanitizer, bad_files) {
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "expected a word and its vector a line, found none"},
        {"3 2\n", "expected a word and its vector a line, found none"},
        {"a 1 2\nb 1\n", "bad:2: expected a word and 2 numbers, found 2 fields"},
        {"a 1 2\nbbbbb 1\n", "bad:2: expected a word and 2 numbers, found 2 fields"},
        {"a 1 2\nb 1 2 3 4\n", "bad:2: expected 2 numbers, found 4"},
        {"a 1 2\nb 1 nan\n",
         "bad:2: number 2: expected a finite one of at most 1e150, found 'nan'"},
        {"a 1 inf\n", "bad:1: number 2: expected a finite one"},
        {"a 1 1e200\n", "bad:1: number 2: expected a finite one"},
        {"a 1 0x1\n", "bad:1: number 2: expected a finite one"},
        {"2 3\na 1 2\nb 2 3\n",
         "bad:2: expected a word and 3 numbers, as the first line says, found 3 fields"},
        {"a\n", "bad:1: expected a word and its vector, found 1 fields"},
        {"\xFF 1 2\n", "bad: expected words in UTF-8, found none"},
        {"\x1F\x8B 1 2\n", "expected a complete gzip file"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct made made;
        fails(MAKE(&made, "vectors", support_file("bad", bad[i].text), "mechanism", "random"),
              NVDP_ERR_INPUT, bad[i].message);
        cr_expect_null(made.sanitizer);
    }
}

Test(sanitizer, bad_options) {
    const char *path = support_file("v.txt", small);
    static const struct {
        const char *name[3], *value[3], *message;
    } bad[] = {
        {{"mechanism"}, {"none"}, "mechanism: expected laplace"},
        {{"mechanism"},
         {"santext"},
         "--eta or --epsilon: mechanism santext needs a finite number above 0, found 0"},
        {{"mechanism", "eta"},
         {"random", "30"},
         "--eta or --epsilon: mechanism random draws uniformly and takes no eta"},
        {{"mechanism", "eta", "model"},
         {"laplace", "1", "x"},
         "expected exactly one of these options, found both"},
        {{"mechanism", "eta"},
         {"santext-plus", "1"},
         "santext-plus needs exactly one source of sensitive tokens"},
        {{"mechanism", "eta", "sensitive-from-data"},
         {"santext", "1", "true"},
         "mechanism: only santext-plus has sensitive tokens, found santext"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *options[9] = {"vectors", path};
        for (size_t o = 0; o < 3 && bad[i].name[o] != NULL; o++) {
            options[2 + 2 * o] = bad[i].name[o];
            options[3 + 2 * o] = bad[i].value[o];
        }
        struct made made;
        fails(make(&made, options), NVDP_ERR_ARGUMENT, bad[i].message);
        for (const char *const *value = (const char *const[]){"0", "-1", "inf", "nan", NULL};
             i == 0 && *value != NULL; value++) {
            if (strcmp(*value, "0") == 0) continue;
            support_refused(made.ctx, made.config, "eta", *value, "eta");
        }
    }
}

/* Counts: the 3, film 2, good 1, "." 1, bad 0, movie 0. The lower row wins a tie. */
Test(sanitizer, sensitive_tokens_are_the_rarest) {
    const char *path = support_file("v.txt", small);
    const char *corpus = support_file("corpus.txt", "The the film.\n\nGood film, the end\n");
    static const struct {
        const char *share;
        unsigned char want[6];
    } cases[] = {{"0.5", {0, 0, 1, 1, 1, 0}},
                 {"0.2", {0, 0, 0, 1, 0, 0}},
                 {"0.84", {0, 1, 1, 1, 1, 1}},
                 {"1", {1, 1, 1, 1, 1, 1}}};
    for (size_t i = 0; i < 4; i++) {
        struct made made;
        ok(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive",
                cases[i].share, "sensitive-from", corpus));
        cr_expect_arr_eq(made.sanitizer->sensitive, cases[i].want, 6);
    }
    struct made made;
    ok(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive", "0.5",
            "sensitive-from-data", "true"));
    cr_expect(info(&made).counting);
    cr_expect_null(nvdp_sanitizer_dchi(made.sanitizer));
    nvdp__sanitizer_count_tokens(made.sanitizer, 9, (int32_t[]){0, 0, 0, 1, 1, 2, 5, -1, 77});
    ok(nvdp__sanitizer_choose(made.ctx, made.sanitizer));
    cr_expect_arr_eq(made.sanitizer->sensitive, cases[0].want, 6);
    cr_expect_not_null(nvdp_sanitizer_dchi(made.sanitizer));
    cr_expect_eq(info(&made).sensitive, 3);
    ok(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive-list",
            support_file("list", "bad\n\n  . \r\n")));
    cr_expect_arr_eq(made.sanitizer->sensitive, ((unsigned char[]){0, 0, 0, 1, 0, 1}), 6);
    fails(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive-list",
               support_file("list", "bad\nugly\n")),
          NVDP_ERR_INPUT, "list:2: sensitive token 'ugly' is not in the vocabulary of 6");
    fails(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive-from",
               support_file("none", "no such words\n")),
          NVDP_ERR_INPUT, "found none");
    fails(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "sensitive", "0.1",
               "sensitive-from", corpus),
          NVDP_ERR_ARGUMENT, "contains at least one token");
}

/* The vocabulary is the table's words, in its order, that occur in another text or in the texts
 * themselves. */
Test(sanitizer, words_of_a_text) {
    static const char *const words[] = {"the", "film", "good", "."};
    const char *path = support_file("v.txt", small);
    const char *corpus = support_file("corpus.txt", "The the film.\n\nGood film, the end\n");
    struct made made;
    for (int own = 0; own < 2; own++) {
        ok(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "vocabulary-from",
                own == 1 ? "sst2" : corpus, "sensitive", "0.5",
                own == 1 ? "sensitive-from-data" : "sensitive-from", own == 1 ? "true" : corpus));
        cr_expect_eq(info(&made).counting, own == 1);
        if (own == 1) {
            cr_expect_eq(info(&made).tokens, 6);
            nvdp__sanitizer_count_tokens(made.sanitizer, 9,
                                         (int32_t[]){0, 0, 0, 1, 1, 2, 5, -1, 77});
            ok(nvdp__sanitizer_choose(made.ctx, made.sanitizer));
        }
        const struct nvdp_sanitizer_info facts = info(&made);
        cr_expect(facts.tokens == 4 && facts.table == 6 && facts.own_words == (own == 1));
        cr_expect(!facts.counting && facts.equal == 0 && facts.sensitive == 2);
        for (int32_t x = 0; x < 4; x++)
            cr_expect_str_eq(nvdp_sanitizer_word(made.sanitizer, x), words[x]);
        cr_expect_eq(nvdp_sanitizer_find(made.sanitizer, "bad"), NVDP_DCHI_UNKNOWN);
        double row[2];
        nvdp__vectors_row(nvdp_sanitizer_vectors(made.sanitizer), 3, row);
        cr_expect_arr_eq(row, ((double[]){7, -8}), sizeof row);
        cr_expect_arr_eq(made.sanitizer->sensitive, /* each word once */
                         ((unsigned char[]){0, 0, 1, 1}), 4);
        tokens_are(&made, "the movie.", "the [UNK] .", 1);
    }
    /* files of V_S are read after the words are known; words left out of the vocabulary are
     * allowed there */
    for (int list = 0; list < 2; list++) {
        const char *later = list == 1 ? support_file("list", "bad\ngood\n") : corpus;
        ok(MAKE(&made, "vectors", path, "mechanism", "santext-plus", "eta", "2", "vocabulary-from",
                "sst2", "sensitive", "0.3", list == 1 ? "sensitive-list" : "sensitive-from",
                later));
        support_set(made.ctx, made.config, list == 1 ? "sensitive-list" : "sensitive-from", NULL);
        nvdp__sanitizer_count_tokens(made.sanitizer, 4, (int32_t[]){5, 2, 1, 0});
        ok(nvdp__sanitizer_choose(made.ctx, made.sanitizer));
        cr_expect_arr_eq(made.sanitizer->sensitive, ((unsigned char[]){0, 0, 1, 0}), 4);
    }
    ok(MAKE(&made, "vectors", path, "mechanism", "random", "vocabulary-from", "sst2"));
    fails(nvdp__sanitizer_choose(made.ctx, made.sanitizer), NVDP_ERR_INPUT,
          "--vocabulary-from: expected texts that contain words");
    cr_expect_eq(MAKE(&made, "vectors", path, "mechanism", "random", "vocabulary-from",
                      support_file("none", "no such words\n")),
                 NVDP_ERR_INPUT);
}

/* ---- an encoder's table ---- */

static const char pieces[] =
    "[PAD]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\nto\n##\n.\n";

static const char *model(struct nvdp_context *ctx, const char *name, const char *vocabulary) {
    struct nvdp_bert_config config = NVDP_RESULT(struct nvdp_bert_config);
    ok(nvdp_bert_config_find(ctx, "tiny", &config));
    config.hidden_size = 8;
    config.num_attention_heads = 2;
    config.num_hidden_layers = 1;
    config.intermediate_size = 8;
    config.vocab_size = 0;
    for (const char *at = vocabulary; *at != '\0'; at++)
        config.vocab_size += *at == '\n';
    const char *path = support_scratch_path(name);
    ok(nvdp_bert_create_random(ctx, &config, 1, support_file("vocab", vocabulary), path));
    return path;
}

Test(sanitizer, pieces_of_an_encoder) {
    struct made made;
    struct nvdp_context *ctx = support_context();
    const char *path = model(ctx, "bert", pieces);
    ok(MAKE(&made, "model", path, "mechanism", "laplace-nearest", "eta", "1e4"));
    cr_expect_eq(info(&made).tokens, 5);
    cr_expect_eq(info(&made).dim, 8);
    cr_expect(info(&made).pieces);
    static const int32_t row[11] = {-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4};
    for (int32_t id = 0; id < 11; id++)
        cr_expect_eq(nvdp__sanitizer_token(made.sanitizer, id), row[id]);
    for (int32_t x = 0; x < 5; x++)
        cr_expect_eq(nvdp__sanitizer_piece(made.sanitizer, x), x + 6);
    cr_expect_eq(nvdp__sanitizer_token(made.sanitizer, 11), NVDP_DCHI_UNKNOWN);
    cr_expect_eq(nvdp__sanitizer_piece(made.sanitizer, 5), -1);
    tokens_are(&made, "Unable to. [MASK]", "un ##able to . [UNK] [UNK] [UNK]", 3);
    struct nvdp__safetensors *weights = NULL;
    const char *tensors = support_path("%s/model.safetensors", path);
    ok(nvdp__safetensors_open(ctx, tensors, &weights));
    const struct nvdp__tensor_info *table =
        nvdp__safetensors_find(weights, "bert.embeddings.word_embeddings.weight");
    float values[11 * 8];
    nvdp__safetensors_read_f32(table, values);
    double vector[8];
    nvdp__vectors_row(nvdp_sanitizer_vectors(made.sanitizer), 2, vector);
    for (size_t k = 0; k < 8; k++)
        cr_expect_eq(vector[k], (double)values[8 * 8 + k]);
    nvdp__safetensors_close(weights);
    nvdp__autofree char *text = NULL;
    ok(nvdp_sanitizer_text(ctx, made.sanitizer, 6, (int32_t[]){1, 0, 1, 1, 3, 2}, &text));
    cr_expect_str_eq(text, "able unableable ## to");
    ok(MAKE(&made, "model", path, "mechanism", "random", "oov", "drop"));
    tokens_are(&made, "Unable, to.", "un ##able to .", 1);
    path = model(ctx, "empty", "[PAD]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    fails(MAKE(&made, "model", path, "mechanism", "random"), NVDP_ERR_INPUT,
          "expected at least one regular token, found only 6");
}

/* A word without a vector becomes uniform over the table under every mechanism. */
Test(sanitizer, unknown_words_are_uniform) {
    enum { DRAWS = 6000 };
    const uint64_t seed = 5;
    nvdp__autofree int32_t *tokens = calloc(DRAWS, sizeof *tokens),
                           *out = calloc(DRAWS, sizeof *out);
    for (size_t i = 0; i < DRAWS; i++)
        tokens[i] = i % 2 == 0 ? NVDP_DCHI_UNKNOWN : 3;
    for (int m = 0; m < 3; m++) {
        struct made made;
        ok(MAKE(&made, "vectors", support_file("v.txt", small), "mechanism",
                (const char *[]){"santext", "laplace-nearest", "random"}[m], "eta",
                m == 2 ? "0" : "40"));
        struct nvdp_dchi *dchi = nvdp_sanitizer_dchi(made.sanitizer);
        ok(nvdp_dchi_sample(made.ctx, dchi, 1, (size_t[]){0, DRAWS}, tokens, &seed, 0, out));
        double seen[6] = {0}, square = 0;
        size_t kept = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            if (i % 2 == 0)
                seen[out[i]]++;
            else
                kept += out[i] == 3;
        }
        for (size_t x = 0; x < 6; x++)
            square += pow(seen[x] - DRAWS / 12., 2) / (DRAWS / 12.);
        cr_expect_lt(square, 30.9); /* chi-square, 5 degrees: above it with probability 1e-5 */
        if (m < 2) cr_expect_eq(kept, DRAWS / 2); /* eta d is above 100 */
        if (m != 1) {
            double log_p[6];
            ok(nvdp_dchi_log_probabilities(made.ctx, dchi, 1, tokens, log_p));
            for (size_t y = 0; y < 6; y++)
                cr_expect_float_eq(log_p[y], -log(6), 1e-15);
        }
        double worst;
        ok(nvdp_dchi_divergence(made.ctx, dchi, 1, (double[]){INFINITY}, 1, tokens, 1, tokens + 1,
                                &worst));
        if (m == 1) cr_expect(isinf(worst));
        if (m == 2) cr_expect_eq(worst, 0);
        cr_expect_eq(
            nvdp_dchi_sample(made.ctx, dchi, 1, (size_t[]){0, 1}, (int32_t[]){-2}, &seed, 0, out),
            NVDP_ERR_ARGUMENT);
    }
    struct made made;
    ok(MAKE(&made, "vectors", support_file("v.txt", small), "mechanism", "laplace", "eta", "40"));
    double worst;
    nvdp__autofree double *y = calloc(2 * DRAWS, sizeof *y);
    struct nvdp_dchi *dchi = nvdp_sanitizer_dchi(made.sanitizer);
    ok(nvdp_dchi_divergence(made.ctx, dchi, 1, (double[]){INFINITY}, 1, tokens, 1, tokens + 1,
                            &worst));
    cr_expect_float_eq(worst, 40 * hypot(7 - 3, -8 - 4), 1e-12 * worst); /* bad and "." */
    ok(nvdp_dchi_perturb(made.ctx, dchi, 1, (size_t[]){0, DRAWS}, tokens, &seed, 0, y));
    /* of the first coordinate; the table's mean is 11.9/6, its deviation below 3 */
    double mean = 0;
    for (size_t i = 0; i < DRAWS; i += 2)
        mean += y[2 * i] / (DRAWS / 2.);
    cr_expect_float_eq(mean, 11.9 / 6, 5 * 3 / sqrt(DRAWS / 2.));
}

/* Every allocation fails in turn: an error each time, no result, no leak. */
Test(sanitizer, out_of_memory) {
    struct nvdp_context *ctx = support_context();
    const char *vectors = support_file("v.txt", small),
               *corpus = support_file("corpus.txt", "The the film.\n");
    const char *bert = model(ctx, "bert", pieces);
    char config_path
        [600]; /* where a file is missing, memory for another place to look is not needed */
    snprintf(config_path, sizeof config_path, "%s/tokenizer_config.json", bert);
    support_write_text(config_path, "{}");
    for (int kind = 0; kind < 2; kind++) {
        struct nvdp_config *config = support_config(
            ctx, "sanitizer", kind == 0 ? "vectors" : "model", kind == 0 ? vectors : bert, NULL);
        if (kind == 0) support_set(ctx, config, "vocabulary-from", corpus);
        support_set(ctx, config, "mechanism", "santext-plus");
        support_set(ctx, config, "eta", "3");
        support_set(ctx, config, kind == 0 ? "sensitive-from" : "sensitive-list",
                    kind == 0 ? corpus : support_file("list", "un\n"));
        nvdp_status status = NVDP_ERR_MEMORY;
        uint64_t k = 0;
        while (status != NVDP_OK && k < 500) {
            nvdp__autoptr(nvdp_sanitizer_free) struct nvdp_sanitizer *sanitizer = NULL;
            nvdp__auto(nvdp_token_list_free) struct nvdp_token_list list = {0};
            char *text = NULL;
            nvdp__fail_allocation(ctx, ++k);
            status = nvdp_sanitizer_create(ctx, config, &sanitizer);
            cr_assert_eq(sanitizer != NULL, status == NVDP_OK);
            if (status == NVDP_OK)
                status = nvdp_sanitizer_tokenize(ctx, sanitizer, "unable to film", 14, &list);
            if (status == NVDP_OK)
                status = nvdp_sanitizer_text(ctx, sanitizer, 1, (int32_t[]){0}, &text);
            nvdp__fail_allocation(ctx, 0);
            if (status != NVDP_OK)
                cr_assert_eq(status, NVDP_ERR_MEMORY, "%s", nvdp_context_error(ctx));
            free(text);
        }
        ok(status);
        cr_expect_gt(k, 10);
    }
}
