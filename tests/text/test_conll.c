/* Words and tags in columns: sentences, documents, faults, and the texts made from them. */
#include "text_support.h"

static nvdp_status read_text(struct nvdp_context *ctx, const char *text, struct nvdp__conll *out) {
    return nvdp__conll_read(ctx, "f.tsv", text, strlen(text), out);
}

Test(conll, sentences_and_documents) {
    static const char *const same[] = {
        "-DOCSTART-\tO\n\nBig\tO\nred\tB-COL\n\n\nsea\tI-COL\n-DOCSTART-\tO\nend\tO",
        "-DOCSTART- -X- O\r\n\r\nBig NNP O\r\nred  JJ   B-COL \r\n \t\r\nsea NN I-COL\r\n\r\n"
        "-DOCSTART- -X- O\r\nend NN O\r\n\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        struct nvdp__conll conll = {0};
        ok(read_text(NULL, same[i], &conll));
        cr_assert(conll.sentences == 3 && conll.words == 4 && conll.tagged);
        cr_expect(conll.start[1] == 2 && conll.start[2] == 3 && conll.start[3] == 4);
        cr_expect(conll.document[0] == 0 && conll.document[1] == 0 && conll.document[2] == 1);
        cr_expect(nvdp__field_is(conll.word[1].text, "red"));
        cr_expect(nvdp__field_is(conll.word[1].tag, "B-COL"));
        nvdp__conll_release(&conll);
    }
}

Test(conll, is_recognized_by_content) {
    static const struct {
        const char *text;
        bool tagged;
    } cases[] = {{"Big\tO\nred\tB-COL\n", true},
                 {"\n \n22 B-Chemical\n", true},
                 {"of I-X \r\n", true},
                 {"-DOCSTART-\tO\n", true},
                 {"text\nplan O\n", false},
                 {"plan B\n", false},
                 {"Take I-95\nand turn left\n", false},
                 {"Take I-95\n\nNo O\n", true},
                 {"vitamin B-\n", false},
                 {"a NN O\n", false},
                 {"text\tlabel\na\tO\n", false},
                 {"\n\n", false},
                 {"", false}};
    struct nvdp_context *ctx = support_context();
    const char *path = support_scratch_path("words.tsv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_write_text(path, cases[i].text);
        cr_expect_eq(nvdp__conll_recognize(ctx, path), cases[i].tagged, "%s", cases[i].text);
    }
    cr_expect_not(nvdp__conll_recognize(ctx, "-"));
    cr_expect(nvdp__conll_recognize(ctx, "words.conll"));
}

Test(conll, faults_name_the_line) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a\tO\nb\tC-X\n", "f.tsv:2: tag 'C-X': expected O, B-TYPE or I-TYPE"},
        {"a\tO\n\nb\tB-\n", "f.tsv:3: tag 'B-'"},
        {"a\tO\nb\tX\tO\n", "f.tsv:2: expected 2 columns, found 3"},
        {"a\tO\nb\n", "f.tsv:2: expected 2 columns, found 1"},
        {"\n \n", "f.tsv: expected words, one a line, found none"},
        {"a\tB-X\nb\tE-X\nc\tU-X\n", "f.tsv: expected tags of one scheme, found IOBES (E-, S- or "
                                     "M-) on line 2 and BILOU (L- or "
                                     "U-) on line 3"},
        {"a\tB-X\nb\tI\n",
         "f.tsv: expected a type in all tags or in none, found one on line 1 and none on line 2"},
    };
    struct nvdp_context *ctx = support_context();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nvdp__conll conll = {0};
        fails(read_text(ctx, cases[i].text, &conll), NVDP_ERR_INPUT, cases[i].error);
        cr_expect_null(conll.word);
    }
}

/* The tags of the words, a space between sentences. */
static char *bio(const struct nvdp__conll *conll) {
    static char out[256];
    size_t n = 0;
    for (size_t i = 0; i < conll->sentences; i++) {
        if (i > 0) out[n++] = ' ';
        for (size_t w = conll->start[i]; w < conll->start[i + 1]; w++)
            n += (size_t)sprintf(out + n, "%c%.*s", conll->word[w].kind,
                                 (int)conll->word[w].type.size, conll->word[w].type.text);
    }
    out[n] = '\0';
    return support_keep(out);
}

/* Entities are the same in every scheme; `|` ends a sentence. */
Test(conll, schemes_are_read_as_bio) {
    static const struct {
        const char *tags, *bio;
    } cases[] = {
        {"B-X I-X O B-X B-X B-Y", "BXIXOBXBXBY"},             /* BIO */
        {"I-X I-X O I-X B-X I-Y | I-Y O", "BXIXOBXBXBY BYO"}, /* IOB1 */
        {"I-X I-Y O I-X", "BXBYOBX"},                         /* without B */
        {"B-X E-X O S-X S-X B-Y I-Y E-Y", "BXIXOBXBXBYIYIY"}, /* IOBES */
        {"B-X M-X E-X O S-X", "BXIXIXOBX"},                   /* BMES */
        {"B-X L-X O U-X U-X B-Y I-Y L-Y", "BXIXOBXBXBYIYIY"}, /* BILOU */
        {"E-X I-X O S-X I-X E-Y I-Y", "BXBXOBXBXBYBY"},       /* ends that nothing began */
        {"B I O I", "BENTITYIENTITYOBENTITY"},
        {"S B E O", "BENTITYBENTITYIENTITYO"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512] = "";
        struct nvdp__conll conll = {0};
        for (const char *at = cases[i].tags; *at != '\0';) {
            const size_t n = strcspn(at, " ");
            if (*at == '|')
                strcat(text, "\n");
            else
                sprintf(text + strlen(text), "w\t%.*s\n", (int)n, at);
            at += n + (at[n] == ' ');
        }
        ok(read_text(NULL, text, &conll));
        cr_expect_str_eq(bio(&conll), cases[i].bio, "%s: %s", cases[i].tags, bio(&conll));
        nvdp__conll_release(&conll);
    }
}

/* ---- data sets ---- */

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\n##dish\nblue\nsea\nthe\n";

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_dataset_config config;
};

static struct fixture setup(void) {
    struct fixture f = {.ctx = support_context(), .config = nvdp__dataset_config_default()};
    support_file("vocab.txt", vocabulary);
    ok(nvdp_tokenizer_load(f.ctx, support_scratch(), &f.tokenizer));
    support_keep(f.tokenizer);
    f.config.task = NVDP_TASK_NER;
    f.config.directory = support_scratch();
    f.config.max_length = 6;
    return f;
}

static struct nvdp_dataset *load(struct fixture *f, enum nvdp_split split) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_load(f->ctx, f->tokenizer, &f->config, split, NULL, &dataset));
    return support_keep(dataset);
}

/* Returns the texts of a fold, or those outside it. */
static struct nvdp_dataset *part_of(struct fixture *f, const struct nvdp_dataset *data, size_t fold,
                                    bool held) {
    struct nvdp_dataset *part = NULL;
    ok(nvdp__dataset_fold(f->ctx, data, 3, fold, held, &part));
    return support_keep(part);
}

static struct nvdp_dataset *selected(struct fixture *f, const struct nvdp_dataset *data,
                                     size_t count, const size_t *rows) {
    struct nvdp_dataset *part = NULL;
    ok(nvdp__dataset_select(f->ctx, data, count, rows, &part));
    return support_keep(part);
}

/* Vocabulary rows: [UNK] 1, [CLS] 2, [SEP] 3, red 5, ##dish 6, blue 7, sea 8, the 9. */
Test(conll, a_tag_stands_at_a_words_first_piece) {
    struct fixture f = setup();
    support_file("train.tsv",
                 "the\tO\nReddish\tB-COL\nsea\tI-COL\nblue\tO\n\n\xE2\x80\x8B\tB-SEA\n");
    struct nvdp_dataset *data = load(&f, NVDP_SPLIT_TRAIN);
    cr_assert_eq(data->task->classes, 5);
    static const char *const names[] = {"B-COL", "B-SEA", "I-COL", "I-SEA", "O"};
    for (int c = 0; c < 5; c++)
        cr_expect_str_eq(data->task->labels[c], names[c]);
    /* [CLS] the red ##dish sea [SEP] | [CLS] blue [SEP] | [CLS] [UNK] [SEP] */
    static const int32_t ids[] = {2, 9, 5, 6, 8, 3, 2, 7, 3, 2, 1, 3};
    static const int32_t tags[] = {-1, 4, 0, -1, 2, -1, -1, 4, -1, -1, 1, -1};
    cr_assert_eq(data->count, 3);
    cr_assert_eq(data->offset[3], 12);
    cr_expect_arr_eq(data->ids, ids, sizeof ids);
    cr_expect_arr_eq(data->tag, tags, sizeof tags);
    cr_expect(data->index[0] == 0 && data->index[1] == 3 && data->index[2] == 4);
    const bool *continues = nvdp__dataset_storage(data)->continues;
    cr_expect(!continues[0] && continues[1] && !continues[2]);
    cr_expect_eq(nvdp__dataset_outputs(data), 5);
    cr_expect(nvdp__dataset_labeled(data));
    const struct nvdp_dataset *part = selected(&f, data, 2, (size_t[]){2, 1});
    cr_expect_arr_eq(part->tag, tags + 9, 3 * sizeof *tags);
    cr_expect_arr_eq(part->tag + 3, tags + 6, 3 * sizeof *tags);
    cr_expect_eq(part->index[0], 4);
    cr_expect_not(nvdp__dataset_storage(part)->continues[1],
                  "its sentence's beginning is not there");
    part = selected(&f, data, 2, (size_t[]){0, 1});
    cr_expect(nvdp__dataset_storage(part)->continues[1]);
}

Test(conll, other_splits_have_the_training_files_classes) {
    struct fixture f = setup();
    support_file("train.conll", "red B-COL\nsea O\n");
    support_file("devel.txt", "sea B-COL\nsea I-COL\n");
    support_file("test.tsv", "sea\nblue\n");
    struct nvdp_dataset *train = load(&f, NVDP_SPLIT_TRAIN);
    f.config.labels_from = train->task;
    struct nvdp_dataset *dev = load(&f, NVDP_SPLIT_DEV), *test = load(&f, NVDP_SPLIT_TEST);
    cr_expect(dev->tag[1] == 0 && dev->tag[2] == 1);
    cr_expect_eq(test->tag[1], NVDP_TAG_UNKNOWN);
    cr_expect_not(nvdp__dataset_labeled(test));
    cr_expect_eq(nvdp__dataset_outputs(test), 2);
    struct nvdp_dataset *none = NULL;
    remove(support_scratch_path("devel.txt"));
    fails(nvdp__dataset_load(f.ctx, f.tokenizer, &f.config, NVDP_SPLIT_DEV, NULL, &none),
          NVDP_ERR_IO, "expected dev.tsv, .txt or .conll (or devel, valid)");
    support_contains(nvdp_context_error(f.ctx), "the folder has test.tsv, train.conll, vocab.txt");
}

/* Each word is held out once; a document is never split. */
Test(conll, folds_by_document) {
    struct fixture f = setup();
    char text[4096] = "";
    for (int d = 0; d < 7; d++) {
        strcat(text, "-DOCSTART- O\n\n");
        for (int s = 0; s <= d; s++)
            strcat(text, "red B-COL\nsea O\nred O\nsea O\nthe O\n\n"); /* two texts each */
    }
    support_file("train.tsv", text);
    struct nvdp_dataset *data = load(&f, NVDP_SPLIT_TRAIN), *none = NULL;
    const size_t *group = nvdp__dataset_storage(data)->group;
    size_t words = 0, texts = 0;
    bool seen[7] = {false};
    cr_assert_eq(data->count, 56);
    cr_expect(group[0] == 0 && group[1] == 0 && group[2] == 1 && group[55] == 6);
    for (size_t fold = 1; fold <= 3; fold++) {
        bool here[7] = {false};
        const struct nvdp_dataset *held = part_of(&f, data, fold, true);
        const struct nvdp_dataset *kept = part_of(&f, data, fold, false);
        cr_expect_eq(held->count + kept->count, data->count);
        for (size_t i = 0; i < held->count; i++)
            here[nvdp__dataset_storage(held)->group[i]] = true;
        for (size_t i = 0; i < kept->count; i++)
            cr_expect_not(here[nvdp__dataset_storage(kept)->group[i]]);
        for (int d = 0; d < 7; d++) {
            cr_expect_not(here[d] && seen[d]);
            seen[d] = seen[d] || here[d];
        }
        words += nvdp__dataset_outputs(held);
        texts += held->count;
    }
    cr_expect_eq(texts, data->count);
    cr_expect_eq(words, nvdp__dataset_outputs(data));
    fails(nvdp__dataset_fold(f.ctx, data, 8, 1, true, &none), NVDP_ERR_INPUT,
          "expected at most the 7");
}

/* A sample has only some of the sentences; its parts still have equal numbers, and none is
 * empty. */
Test(conll, folds_of_a_sample) {
    struct fixture f = setup();
    char text[4096] = "";
    for (int s = 0; s < 100; s++)
        strcat(text, "red B-COL\nsea O\n\n");
    support_file("train.tsv", text);
    f.config.limit = 6;
    for (f.config.limit_seed = 1; f.config.limit_seed <= 5; f.config.limit_seed++) {
        struct nvdp_dataset *data = load(&f, NVDP_SPLIT_TRAIN), *held = NULL;
        for (size_t fold = 1; fold <= 3; fold++)
            cr_expect_eq(part_of(&f, data, fold, true)->count, 2);
        fails(nvdp__dataset_fold(f.ctx, data, 7, 1, true, &held), NVDP_ERR_INPUT,
              "expected at most the 6");
    }
}

/* As texts of a file, sentences are counted, not words; a sample keeps these numbers and the tags. */
Test(conll, texts_with_tags) {
    struct fixture f = setup();
    const char *path =
        support_file("words.tsv", "red B-COL\nsea O\n\nblue O\n\nthe O\nblue B-COL\n");
    for (size_t limit = 0; limit <= 4; limit++) {
        nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
        size_t all = 0;
        ok(nvdp__dataset_load_tagged(f.ctx, f.tokenizer, f.config.max_length, limit, 1, path, &all,
                                     &data));
        cr_expect_eq(all, 3);
        cr_assert_eq(data->count, limit == 0 || limit > 3 ? 3 : limit);
        for (size_t i = 0; i < data->count; i++) {
            static const int32_t id[] = {5, 7, 9};
            cr_assert(data->index[i] >= (i > 0 ? data->index[i - 1] + 1 : 0) && data->index[i] < 3);
            cr_expect_eq(data->ids[data->offset[i] + 1], id[data->index[i]]);
            cr_expect_eq(data->tag[data->offset[i] + 1] == 0, data->index[i] == 0);
        }
    }
}

Test(conll, training_wants_a_type) {
    struct fixture f = setup();
    struct nvdp_dataset *none = NULL;
    static const char *const files[] = {"red\tO\nsea\tO\n", "red\nsea\n"};
    for (size_t i = 0; i < 2; i++) {
        support_file("train.tsv", files[i]);
        fails(nvdp__dataset_load(f.ctx, f.tokenizer, &f.config, NVDP_SPLIT_TRAIN, NULL, &none),
              NVDP_ERR_INPUT, "train.tsv: expected tags B-TYPE or I-TYPE");
    }
}

/* ---- what is said about tags ---- */

static char said[4096];

static void hear(enum nvdp_log_level level, const char *message, void *user) {
    (void)level;
    (void)user;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", message);
}

Test(conll, schemes_are_said) {
    static const char *const cases[][2] = {
        {"red\tB-X\nred\tI-X\nsea\tO\nred\tB-Y\n", ""},
        {"red\tI-X\nsea\tO\nred\tI-Y\n", "train.tsv: the tags are IOB1, and are read as BIO\n"},
        {"red\tI-X\nsea\tO\nred\tB-Y\n", "train.tsv: 1 of 2 entities begin with I and the others "
                                         "with B, as neither BIO nor IOB1 has "
                                         "it: all are read as BIO\n"},
        {"red\tS-X\nsea\tO\n", "train.tsv: the tags are IOBES, and are read as BIO\n"},
        {"red\tU-X\nsea\tL-X\n", "train.tsv: the tags are BILOU, and are read as BIO; 1 of 2 "
                                 "entities have no tag that begins "
                                 "an entity\n"},
        {"red\tB\nsea\tO\n", "train.tsv: the tags have no type: all entities are of type ENTITY\n"},
    };
    struct fixture f = setup();
    nvdp_context_set_log(f.ctx, hear, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said[0] = '\0';
        support_file("train.tsv", cases[i][0]);
        load(&f, NVDP_SPLIT_TRAIN);
        const char *name = strstr(said, "train.tsv");
        cr_expect_str_eq(name != NULL ? name : said, cases[i][1]);
    }
}

/* Types that the training file lacks get classes that no model has, and count as missed. */
Test(conll, new_types_are_missed) {
    struct fixture f = setup();
    support_file("train.tsv", "red\tB-COL\nsea\tO\n");
    support_file("dev.tsv", "red\tB-COL\nsea\tB-SEA\nsea\tI-SEA\n\nthe\tB-ART\nsea\tB-SEA\n");
    struct nvdp_dataset *train = load(&f, NVDP_SPLIT_TRAIN);
    nvdp_context_set_log(f.ctx, hear, NULL);
    f.config.labels_from = train->task;
    struct nvdp_dataset *dev = load(&f, NVDP_SPLIT_DEV);
    /* B-COL, I-COL, O; then B-ART, B-SEA, I-ART, I-SEA */
    static const int32_t tags[] = {-1, 0, 4, 6, -1, -1, 3, 4, -1};
    cr_assert_eq(dev->task->classes, 3);
    cr_expect_arr_eq(dev->tag, tags, sizeof tags);
    cr_expect_str_eq(dev->task->labels[6], "I-SEA");
    support_contains(
        said, "dev.tsv: 3 of 4 entities are of types that the training file lacks (ART, SEA): "
              "they count as missed");
    const struct nvdp_dataset *part = selected(&f, dev, 1, (size_t[]){1});
    cr_expect_str_eq(part->task->labels[part->tag[2]], "B-SEA");
}
