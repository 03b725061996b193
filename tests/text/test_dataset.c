/* Loading: the tasks' files, labels, refusals, limits. */
#include "text_support.h"

static struct nvdp_context *ctx;
static struct nvdp_tokenizer *tiny;
static char notice[512], lines_notice[512]; /* the last one, and the last one about lines */
static int notices;

static void keep_notice(enum nvdp_log_level level, const char *message, void *user) {
    (void)user;
    cr_assert_eq(level, strstr(message, "not UTF-8") != NULL ? NVDP_LOG_WARNING : NVDP_LOG_NOTICE);
    snprintf(notice, sizeof notice, "%s", message);
    if (strstr(message, "one per line") != NULL)
        snprintf(lines_notice, sizeof lines_notice, "%s", message);
    notices++;
}

static void setup(void) {
    ctx = support_context();
    tiny = text_tiny(ctx);
    nvdp_context_set_log(ctx, keep_notice, NULL);
}

TestSuite(dataset, .init = setup);

/* Returns the configuration of a user's own task. */
static struct nvdp_dataset_config own_config(const char *text, const char *pair, const char *label,
                                             bool regression) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    nvdp__set_columns(&config, &(struct nvdp__columns){text, pair, label, regression});
    return config;
}

static struct nvdp_dataset *load(const struct nvdp_dataset_config *config, enum nvdp_split split) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_load(ctx, tiny, config, split, NULL, &dataset));
    return support_keep(dataset);
}

static struct nvdp_dataset *load_file(const struct nvdp_dataset_config *config, const char *path) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp_dataset_load_file(ctx, tiny, config, path, &dataset));
    return support_keep(dataset);
}

static struct nvdp_dataset *select_rows(const struct nvdp_dataset *from, size_t count,
                                        const size_t *rows) {
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp__dataset_select(ctx, from, count, rows, &dataset));
    return support_keep(dataset);
}

static void expect_text(const struct nvdp_dataset *dataset, size_t text, size_t count,
                        const int32_t *ids) {
    cr_assert_eq(dataset->offset[text + 1] - dataset->offset[text], count);
    cr_assert_arr_eq(dataset->ids + dataset->offset[text], ids, count * sizeof *ids);
}

Test(dataset, single_texts) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    support_file("train.tsv", "sentence\tlabel\r\nthe cat .\t1\r\n\t0\r\n\"sat\t0");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert_eq(dataset->count, 3);
    cr_assert_eq(dataset->longest, 5);
    cr_assert_eq(dataset->truncated, 0);
    expect_text(dataset, 0, 5, (int32_t[]){TINY_CLS, TINY_THE, TINY_CAT, TINY_DOT, TINY_SEP});
    expect_text(dataset, 1, 2, (int32_t[]){TINY_CLS, TINY_SEP});
    expect_text(dataset, 2, 4, (int32_t[]){TINY_CLS, TINY_UNK, TINY_SAT, TINY_SEP});
    cr_assert(dataset->label[0] == 1 && dataset->label[1] == 0 && dataset->label[2] == 0);
    cr_assert_null(dataset->id);
    cr_assert_eq(dataset->index[2], 2);
    cr_assert_str_eq(dataset->task->name, "sst2");
    nvdp_dataset_free(NULL);
}

Test(dataset, test_labels_are_hidden) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    support_file("test.tsv", "index\tsentence\tlabel\n7\tcat\t-1\n8\tmat\t-1\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TEST);
    cr_assert_eq(dataset->count, 2);
    cr_assert_null(dataset->label);
    cr_assert_str_eq(dataset->id[0], "7");
    cr_assert_str_eq(dataset->id[1], "8");
}

Test(dataset, pairs) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_MRPC);
    config.max_length = 5;
    support_file("dev.tsv", "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
                            "1\t5\t6\tthe cat\tmat\n0\t5\t6\ta\tb\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_DEV);
    const int32_t types[] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
    expect_text(dataset, 0, 5, (int32_t[]){TINY_CLS, TINY_THE, TINY_SEP, TINY_MAT, TINY_SEP});
    expect_text(dataset, 1, 5, (int32_t[]){TINY_CLS, TINY_A, TINY_SEP, TINY_B, TINY_SEP});
    cr_assert_arr_eq(dataset->types, types, sizeof types);
    cr_assert_eq(dataset->truncated, 1);
    cr_assert_eq(dataset->label[0], 1);
}

Test(dataset, scores) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_STSB);
    support_file("dev.tsv", "index\tsentence1\tsentence2\tscore\n0\ta\tb\t2.75\n1\ta\tb\t5\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_DEV);
    cr_assert(dataset->task->regression);
    cr_assert(dataset->label[0] == 2.75f && dataset->label[1] == 5);
    cr_assert_str_eq(dataset->id[1], "1");
}

Test(dataset, cola_without_and_with_header) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_COLA);
    support_file("train.tsv", "src\t0\t*\tcat the\nsrc\t1\t\tthe cat");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert_eq(dataset->count, 2);
    const int32_t first[] = {TINY_CLS, TINY_CAT, TINY_THE, TINY_SEP};
    expect_text(dataset, 0, 4, first);
    cr_assert(dataset->label[0] == 0 && dataset->label[1] == 1);
    cr_assert_eq(dataset->index[0], 0);
    support_file("test.tsv", "index\tsentence\n0\tcat the\n");
    dataset = load(&config, NVDP_SPLIT_TEST);
    cr_assert_eq(dataset->count, 1);
    expect_text(dataset, 0, 4, first);
}

Test(dataset, mnli_without_gold) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_MNLI);
    support_file("dev_mismatched.tsv", "index\tsentence1\tsentence2\tgold_label\n"
                                       "0\ta\tb\tcontradiction\n1\ta\tb\t-\n2\tb\ta\tneutral\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_DEV_MISMATCHED);
    cr_assert_eq(dataset->count, 2);
    cr_assert_eq(dataset->bad_rows, 1);
    cr_assert(dataset->label[0] == 2 && dataset->label[1] == 1);
    cr_assert_eq(dataset->index[1], 2);
    cr_assert_not_null(strstr(notice, "skipped 1 rows without a gold label"));
}

Test(dataset, own_columns) {
    struct nvdp_dataset_config config = own_config("body", "title", "topic", false);
    support_file("train.tsv", "topic\tid\ttitle\tbody\nwar\tn1\tthe\tcat\nart\tn2\tmat\tsat\n"
                              "war\tn3\ta\tb\narts\tn4\ta\tb\n");
    struct nvdp_dataset *train = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert_eq(train->task->classes, 3);
    cr_assert_str_eq(train->task->labels[0], "art");
    cr_assert_str_eq(train->task->labels[1], "arts");
    cr_assert_str_eq(train->task->labels[2], "war");
    cr_assert(train->label[0] == 2 && train->label[1] == 0 && train->label[3] == 1);
    cr_assert_str_eq(train->id[2], "n3");
    expect_text(train, 0, 5, (int32_t[]){TINY_CLS, TINY_CAT, TINY_SEP, TINY_THE, TINY_SEP});

    support_file("dev.tsv", "topic\ttitle\tbody\nwar\tthe\tcat\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dev = NULL;
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_DEV, NULL, &dev),
               NVDP_ERR_ARGUMENT, "labels_from: expected the train split's task, found none");
    config.labels_from = train->task;
    dev = load(&config, NVDP_SPLIT_DEV); /* dev has its own copy of the names */
    cr_assert_eq(dev->label[0], 2);
    cr_assert_str_eq(dev->task->labels[2], "war");
    config.labels_from = dev->task;
    const char *path = support_file("test.tsv", "topic\ttitle\tbody\nlaw\tthe\tcat\n");
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *test = NULL;
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TEST, NULL, &test),
               NVDP_ERR_INPUT, "%s:2: label 'law': expected one of art, arts, war", path);
    support_file("test.tsv", "title\tbody\nthe\tcat\n");
    test = load(&config, NVDP_SPLIT_TEST);
    cr_assert_null(test->label);
    cr_assert_eq(test->task->classes, 3);
}

Test(dataset, own_scores) {
    struct nvdp_dataset_config config = own_config("t", NULL, "y", true);
    const char *path = support_file("train.tsv", "t\ty\na\t-17.5\nb\t1e6\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert(dataset->label[0] == -17.5f && dataset->label[1] == 1e6f);
    cr_assert_eq(dataset->task->classes, 1);
    support_file("train.tsv", "t\ty\na\t1e60\n");
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset),
               NVDP_ERR_INPUT, "%s:2: score '1e60': expected a finite number", path);
}

Test(dataset, named_files) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_RTE);
    struct nvdp_dataset *dataset =
        load_file(&config, support_file("x.tsv", "sentence2\tsentence1\nb\ta\n"));
    cr_assert_null(dataset->label);
    expect_text(dataset, 0, 5, (int32_t[]){TINY_CLS, TINY_A, TINY_SEP, TINY_B, TINY_SEP});
    dataset = load_file(
        &config, support_file("x.tsv", "sentence2\tsentence1\tlabel\nb\ta\tnot_entailment\n"));
    cr_assert_eq(dataset->label[0], 1);
    config = own_config("t", NULL, NULL, false);
    dataset = load_file(
        &config,
        support_file("x.tsv", "t\nthe cat\n\n")); /* one column: an empty line is an empty text */
    cr_assert_eq(dataset->count, 2);
    cr_assert_eq(dataset->task->classes, 0);
    config.label_column = "y";
    dataset = load_file(&config,
                        support_file("x.tsv", "t\ty\na\tno\nb\tyes\n")); /* the file's own labels */
    cr_assert_eq(dataset->task->classes, 2);
    cr_assert_eq(dataset->label[1], 1);
}

/* Checks the notice of a file of `lines` texts, or its absence. */
static void expect_lines(const char *path, size_t lines) {
    char want[512] = "";
    if (lines > 0) snprintf(want, sizeof want, "%s: %zu texts, one per line", path, lines);
    cr_expect_str_eq(lines_notice, want);
    lines_notice[0] = '\0';
}

/* A file whose name is not that of a table has one text per line, unless its first line is a header. */
Test(dataset, lines_of_texts) {
    static const struct {
        const char *name, *text;
        size_t count;
        bool labeled;
        const char *error;
        bool lines;
    } cases[] = {
        {"x.txt", "the cat\na\n", 2, false, NULL, true},
        {"x.txt", "\xEF\xBB\xBFthe cat\r\n\r\na\tb\nt\na", 5, false, NULL, true},
        {"x", "the cat\n", 1, false, NULL, true},
        {"x.txt", "the cat\n\n", 2, false, NULL, true},
        {"x.txt", "t\nthe cat\n", 1, false, NULL, false},
        {"x.txt", "\xEF\xBB\xBFt\r\nthe cat\r\na\r\n", 2, false, NULL, false},
        {"x.data", "y\tt\nno\tthe cat\nyes\ta\n", 2, true, NULL, false},
        {"x.txt", "\n {\"t\": \"the cat\"}\n{\"t\": \"a\"}\n", 2, false, NULL, false},
        {"x.txt", "the\tcat\na\n", 0, false, "x.txt:1: missing column 't'", false},
        {"x.txt", "{\"u\": \"the cat\"}\n", 0, false, "x.txt:1: missing column 't'", false},
        {"x.txt", "", 0, false, "x.txt:1: empty file: expected texts, one per line, or a table",
         false},
        {"x.txt", "\xEF\xBB\xBF", 0, false,
         "x.txt:1: empty file: expected texts, one per line, or a table", false},
        {"x.tsv", "", 0, false, "x.tsv:1: empty file: expected a header line", false},
        {"x.tsv", "the cat\na\n", 0, false, "x.tsv:1: missing column 't'", false},
        {"x.tsv", "the\tO\ncat\tB-ANIMAL\n", 0, false,
         "missing column 't': found columns 'the', 'O'; it looks like words with tags: write each",
         false},
        {"x.txt", "the O\ncat B-ANIMAL\n", 0, false,
         "x.txt:1: expected one text per line, found 'the O', which looks like a word with a tag; "
         "write each sentence in one line, without tags; if it is a text, put a line 't' before",
         false},
        {"x.csv", "the cat\na\n", 0, false, "x.csv:1: missing column 't'", false}};
    const int32_t ids[] = {TINY_CLS, TINY_THE, TINY_CAT, TINY_SEP};
    struct nvdp_dataset *dataset = NULL;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        struct nvdp_dataset_config config = own_config("t", NULL, "y", false);
        config.cache = support_scratch_path("cache"); /* a table the second time from there */
        const char *path = support_file(cases[i / 2].name, cases[i / 2].text);
        const nvdp_status status = nvdp_dataset_load_file(ctx, tiny, &config, path, &dataset);
        if (cases[i / 2].error != NULL) {
            fails(status, NVDP_ERR_INPUT, cases[i / 2].error);
            continue;
        }
        cr_assert_eq(status, NVDP_OK, "%zu: %s", i / 2, nvdp_context_error(ctx));
        cr_expect_eq(dataset->count, cases[i / 2].count, "%zu: %zu", i / 2, dataset->count);
        cr_expect_eq(dataset->label != NULL, cases[i / 2].labeled);
        cr_expect_eq(dataset->index[dataset->count - 1], (int64_t)dataset->count - 1);
        expect_text(dataset, 0, 4, ids);
        expect_lines(path, cases[i / 2].lines ? dataset->count : 0);
        nvdp_dataset_free(dataset);
    }
    /* a sample; a task's own column; texts with ids, and pairs, have columns */
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    config.limit = 2;
    const char *path = support_file("x.txt", "the cat\nthe cat\nthe cat\n");
    dataset = load_file(&config, path);
    cr_expect_eq(dataset->count, 2);
    expect_lines(path, 3);
    expect_text(dataset, 1, 4, ids);
    config.id_column = "who";
    text_error(ctx, nvdp_dataset_load_file(ctx, tiny, &config, path, &dataset), NVDP_ERR_INPUT,
               "%s:1: missing column 'sentence': found columns 'the cat'", path);
    config = text_config(NVDP_TASK_RTE);
    text_error(ctx, nvdp_dataset_load_file(ctx, tiny, &config, path, &dataset), NVDP_ERR_INPUT,
               "%s:1: missing column 'sentence1': found columns 'the cat'", path);
}

/* Other tables, arrays and line ends are no texts, if they have the name of a file of texts. Texts may begin like these. */
Test(dataset, lines_that_are_no_texts) {
#define HEADER "which looks like the header of a table; the name of a table ends in .csv, .tsv, "
#define ARRAY "which looks like an array in JSON; the name of a table ends in .csv, .tsv, "
    static const struct {
        const char *text, *error;
        size_t count;
    } cases[] = {{"T\nthe cat\n", "x.txt:1: expected one text per line, found 'T', " HEADER, 0},
                 {"\"t\"\nthe cat\n", "found '\"t\"', " HEADER, 0},
                 {"\xEF\xBB\xBF't'\r\nthe cat\r\n", "found ''t'', " HEADER, 0},
                 {" t \nthe cat\n", HEADER, 0},
                 {"id,t,y\n1,the cat,0\n", "found 'id,t,y', " HEADER, 0},
                 {"\"id\",\"T\"\r\n1,\"the\r\ncat\"\r\n", HEADER, 0},
                 {"t,y\nthe cat,0", "put a line 't' before the texts", 0},
                 {"id, t\n1, the cat\n", HEADER, 0},
                 {"id;t;y\n1;the cat;0\n", HEADER, 0},
                 {"\n\nid,t\n1,the cat\n", "x.txt:3: expected one text per line, found", 0},
                 {"\nid\tt\n1\tthe cat\n", "x.txt:2: expected one text per line, found", 0},
                 {"[{\"t\": \"the cat\"},\n{\"t\": \"a\"}]\n", ARRAY, 0},
                 {"\n [\n{\"t\": \"the cat\"}\n]\n", "x.txt:2: expected one text per line, ", 0},
                 {"[\"the cat\", \"a\"]\n", ARRAY, 0},
                 {"[[2, 5], [6]]", ARRAY, 0},
                 {"[ 2, 5 ]\n[]\n", ARRAY, 0},
                 {"the cat\ra\rthe cat\r",
                  "x.txt:1: expected lines that end in LF or CR LF, found "
                  "CR alone; convert the file, as tr '\\r' '\\n' does",
                  0},
                 {"id\tt\r1\tthe cat\r", "missing column 't'", 0},
                 {"the cat\r", NULL, 1},
                 {"the cat\r\r\na", NULL, 2},
                 {"the cat, a\nt\n", NULL, 2},
                 {"the cat, t, or a\n", NULL, 1},
                 {"a\rthe cat\r\na\r\n", NULL, 2},
                 {"a t, the cat\nid,t\n", NULL, 2},
                 {"[a] the cat\n", NULL, 1},
                 {"[1] the cat\n[1]\n", NULL, 2},
                 {" \nt\n", HEADER, 0},
                 {" \n \n", NULL, 2},
                 {"t\n[{\"a\": 1}]\nt\n\n", NULL, 3}};
    struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset_config config = own_config("t", NULL, "y", false);
    nvdp_context_set_log(ctx, NULL, NULL); /* warns of unknown words */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = support_file("x.txt", cases[i].text);
        const nvdp_status status = nvdp_dataset_load_file(ctx, tiny, &config, path, &dataset);
        cr_expect_eq(status, cases[i].error != NULL ? NVDP_ERR_INPUT : NVDP_OK, "%zu: %s", i,
                     nvdp_context_error(ctx));
        if (cases[i].error != NULL) support_contains(nvdp_context_error(ctx), cases[i].error);
        if (status != NVDP_OK) continue;
        cr_expect_eq(dataset->count, cases[i].count, "%zu: %zu", i, dataset->count);
        nvdp_dataset_free(dataset);
    }
    /* the files of a task have tabs */
    config = text_config(NVDP_TASK_SST2);
    fails(nvdp_dataset_load_file(ctx, tiny, &config, support_file("x.txt", "Sentence,label\n"),
                                 &dataset),
          NVDP_ERR_INPUT, "a table of this task has columns separated by tabs");
}

/* The options of a program of an older header end before limit: they have the default, all rows. */
Test(dataset, shorter_options_keep_their_size) {
    struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset_config config, before;
    memset(&config, 0x77, sizeof config);
    config.struct_size = offsetof(struct nvdp_dataset_config, limit);
    before = config;
    const size_t size = config.struct_size;
    const char *path = support_file("x.tsv", "sentence\tlabel\na\t1\nb\t0\n");
    ok(nvdp_dataset_config_default(ctx, &config));
    cr_expect_eq(config.max_length, 128);
    cr_expect_eq(config.struct_size, size);
    cr_expect_arr_eq((char *)&config + size, (char *)&before + size, sizeof config - size);
    config.task = NVDP_TASK_SST2;
    dataset = load_file(&config, path);
    cr_expect_eq(dataset->count, 2);
    support_file("train.tsv", "sentence\tlabel\na\t1\nb\t0\n");
    config.directory = support_scratch();
    dataset = load(&config, NVDP_SPLIT_TRAIN);
    cr_expect_eq(dataset->count, 2);
    config.struct_size = 0;
    static const char message[] =
        "struct_size: expected the size of a struct, as set by NVDP_RESULT, found 0";
    text_error(ctx, nvdp_dataset_load_file(ctx, tiny, &config, path, &dataset), NVDP_ERR_ARGUMENT,
               message);
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset),
               NVDP_ERR_ARGUMENT, message);
    text_error(ctx, nvdp_dataset_config_default(ctx, &config), NVDP_ERR_ARGUMENT, message);
}

/* Classes are in numeric order if all labels are numbers, else in the order of their bytes. */
Test(dataset, order_of_classes) {
    static const struct {
        const char *text, *labels[4];
        float last; /* class of the last row */
    } cases[] = {{"t\ty\ncat\t10\ncat\t-1\ncat\t2\ncat\t02\n", {"-1", "02", "2", "10"}, 1},
                 {"t\ty\ncat\t10\ncat\tx\ncat\t2\ncat\t2\n", {"10", "2", "x"}, 1}};
    struct nvdp_dataset_config config = own_config("t", NULL, "y", false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        support_file("train.tsv", cases[i].text);
        struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
        for (int c = 0; c < dataset->task->classes; c++)
            cr_expect_str_eq(dataset->task->labels[c], cases[i].labels[c]);
        cr_expect_eq(dataset->label[3], cases[i].last);
    }
}

#define SKIPS "; training with --skip-bad-rows skips such rows"

static void refuse(const struct nvdp_dataset_config *config, const char *text,
                   const char *message) {
    struct nvdp_dataset *dataset = NULL;
    const char *path = support_file("train.tsv", text);
    nvdp_status status = nvdp__dataset_load(ctx, tiny, config, NVDP_SPLIT_TRAIN, NULL, &dataset);
    text_error(ctx, status, NVDP_ERR_INPUT, "%s%s", path, message);
    cr_assert_null(dataset);
}

Test(dataset, refusals) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    refuse(&config, "", ":1: empty file: expected a header line");
    refuse(&config, "\xEF\xBB\xBF", ":1: empty file: expected a header line");
    refuse(&config, "sentence\tlabel\n", ": expected rows, found none");
    refuse(&config, "text\tlabel\ncat\t1\n",
           ":1: missing column 'sentence': found columns 'text', 'label'");
    refuse(&config, "sentence\ty\ncat\t1\n",
           ":1: missing column 'label': found columns 'sentence', 'y'");
    refuse(&config, "sentence\tlabel\tsentence\ncat\t1\tb\n",
           ":1: expected one column 'sentence', found it as 1 and 3");
    refuse(&config, "sentence\tlabel\ncat\t1\nmat\n", ":3: expected 2 columns, found 1" SKIPS);
    refuse(&config, "sentence\tlabel\ncat\t1\n\n\r\nmat\n",
           ":5: expected 2 columns, found 1" SKIPS);
    refuse(&config, "sentence\tlabel\ncat\t1\t2\n", ":2: expected 2 columns, found 3" SKIPS);
    refuse(&config, "sentence\tlabel\ncat\t7\n", ":2: label '7': expected one of 0, 1");
    refuse(&config, "sentence\tlabel\ncat\t\n", ":2: label '': expected one of 0, 1");
    config = text_config(NVDP_TASK_QNLI);
    refuse(&config, "question\tsentence\tlabel\na\tb\tyes\n",
           ":2: label 'yes': expected one of entailment, not_entailment");
    config = text_config(NVDP_TASK_STSB);
    refuse(&config, "sentence1\tsentence2\tscore\na\tb\t9.5\n",
           ":2: score '9.5': expected a number from 0 to 5");
    refuse(&config, "sentence1\tsentence2\tscore\na\tb\thigh\n",
           ":2: score 'high': expected a number from 0 to 5");
    config = text_config(NVDP_TASK_COLA);
    refuse(&config, "s\t1\t\tcat\ns\tcat\n", ":2: expected 4 columns, found 2" SKIPS);
    refuse(&config, "s\tx\t\tcat\n", ":1: label 'x': expected one of 0, 1");
    config = own_config("t", NULL, "y", false);
    refuse(&config, "t\ty\na\tx\nb\tx\n",
           ": column 'y': expected at least 2 different labels, found only 'x'");
    refuse(&config, "t\ty\na\t\nb\tx\n", ":2: 'y': expected the name of a class, found no label");
    refuse(&config, "t\ty\na\tx\xFF\nb\tx\n", ":2: label 'x?': expected a name in UTF-8");
}

Test(dataset, wrong_arguments) {
    struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    config.max_length = 2;
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_DEV, NULL, &dataset),
               NVDP_ERR_ARGUMENT, "--max-length: expected 3 to 512, found 2");
    config.max_length = 513;
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_DEV, NULL, &dataset),
               NVDP_ERR_ARGUMENT, "--max-length: expected 3 to 512, found 513");
    config = text_config(NVDP_TASK_SST2);
    config.directory = NULL;
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_DEV, NULL, &dataset),
               NVDP_ERR_ARGUMENT, "directory: expected a path, found none");
    config = text_config(NVDP_TASK_TSV);
    config.text_column = "t";
    support_file("train.tsv", "t\na\n");
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset),
               NVDP_ERR_ARGUMENT, "--label-column: expected a column's name, found none");
    config = text_config(NVDP_TASK_RTE);
    config.directory = support_scratch_path("missing");
    fails(nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_DEV, NULL, &dataset), NVDP_ERR_IO,
          "missing/dev.tsv");
    cr_assert_null(dataset);
}

Test(dataset, bad_rows_are_skipped_on_request) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_QQP);
    config.skip_bad_rows = true;
    const char *path =
        support_file("train.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
                                  "5\t0\t0\ta\tb\t1\n6\t0\t0\tbroken\n"
                                  "7\t0\t0\ta\tb\t2\n8\t0\t0\tb\ta\t0\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert_eq(dataset->count, 2);
    cr_assert_eq(dataset->bad_rows, 2);
    cr_assert_eq(dataset->index[1], 3);
    cr_assert_str_eq(dataset->id[1], "8");
    cr_assert_eq(notices, 1);
    char want[512];
    snprintf(want, sizeof want,
             "%s: skipped 2 bad rows; the first: %s:3: expected 6 columns, found 4", path, path);
    cr_assert_str_eq(notice, want);
    support_file("train.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\nx\n");
    text_error(ctx, nvdp__dataset_load(ctx, tiny, &config, NVDP_SPLIT_TRAIN, NULL, &dataset),
               NVDP_ERR_INPUT, "%s: expected rows, found none that can be used", path);
}

/* The tokenizer drops NULs and bytes that are not UTF-8. */
Test(dataset, texts_may_be_ill_formed) {
    static const char text[] = "sentence\tlabel\nc\xFF\0at\t1\n";
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    support_write(support_scratch_path("train.tsv"), text, sizeof text - 1);
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    expect_text(dataset, 0, 3, (int32_t[]){TINY_CLS, TINY_CAT, TINY_SEP});
}

/* Writes `rows` SST-2 rows: text i has i % 7 words and label i % 3 == 0. */
static void write_rows(size_t rows) {
    nvdp__autofree char *text = calloc(rows + 1, 64);
    strcpy(text, "sentence\tlabel\n");
    char *end = text + strlen(text);
    for (size_t i = 0; i < rows; i++) {
        for (size_t w = 0; w < i % 7; w++)
            end = stpcpy(end, i % 2 == 0 ? "cat " : "mat ");
        end += sprintf(end, "\t%d\n", i % 3 == 0);
    }
    support_file("train.tsv", text);
}

Test(dataset, limit) {
    write_rows(1000);
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    struct nvdp_dataset *all = load(&config, NVDP_SPLIT_TRAIN);
    config.limit = 100;
    config.limit_seed = 1;
    struct nvdp_dataset *some = load(&config, NVDP_SPLIT_TRAIN);
    struct nvdp_dataset *again = load(&config, NVDP_SPLIT_TRAIN);
    config.limit_seed = 2;
    struct nvdp_dataset *others = load(&config, NVDP_SPLIT_TRAIN);
    cr_assert_eq(some->count, 100);
    text_same(some, again);
    cr_assert_neq(memcmp(some->index, others->index, 100 * sizeof *some->index), 0);
    size_t rows[100];
    for (size_t i = 0; i < 100; i++) {
        rows[i] = (size_t)some->index[i];
        cr_assert(i == 0 || some->index[i - 1] < some->index[i]);
    }
    cr_assert_gt(rows[99], 500); /* fails for 1 seed in 2^100 */
    struct nvdp_dataset *selected = select_rows(all, 100, rows);
    text_same(some, selected);
    config.limit = 1000;
    struct nvdp_dataset *whole = load(&config, NVDP_SPLIT_TRAIN);
    text_same(all, whole);
}

Test(dataset, threads_do_not_matter) {
    write_rows(501);
    struct nvdp_dataset_config config = text_config(NVDP_TASK_SST2);
    config.max_length = 6;
    struct nvdp_dataset *first = NULL;
    static const int threads[] = {1, 2, 3, 16, 1000};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        ok(nvdp_context_set_threads(ctx, threads[i]));
        struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
        if (first == NULL) {
            first = dataset;
            cr_assert_gt(first->truncated, 0);
        } else {
            text_same(first, dataset);
        }
    }
}

Test(dataset, selection) {
    struct nvdp_dataset_config config = own_config("t", NULL, "y", false);
    config.max_length = 4;
    support_file("train.tsv", "id\tt\ty\np\ta\tno\nq\tthe cat sat\tyes\nr\tb b\tno\n");
    struct nvdp_dataset *dataset = load(&config, NVDP_SPLIT_TRAIN);
    const size_t rows[] = {2, 1, 2};
    struct nvdp_dataset *selected = select_rows(dataset, 3, rows);
    const size_t wrong[] = {0, 3};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *none = NULL;
    text_error(ctx, nvdp__dataset_select(ctx, dataset, 2, wrong, &none), NVDP_ERR_ARGUMENT,
               "row 3: expected less than 3");
    ok(nvdp__dataset_select(ctx, dataset, 0, NULL, &none));
    cr_assert_eq(none->count, 0);
    cr_assert_eq(selected->count, 3);
    cr_assert_eq(selected->truncated, 1);
    cr_assert_eq(selected->longest, 4);
    expect_text(selected, 2, 4, (int32_t[]){TINY_CLS, TINY_B, TINY_B, TINY_SEP});
    cr_assert_str_eq(selected->id[0], "r");
    cr_assert_str_eq(selected->task->labels[1], "yes");
    cr_assert_eq(selected->label[1], 1);
    cr_assert_eq(selected->index[0], 2);
}

Test(dataset, from_texts) {
    const char *const text[] = {"the cat", "a"};
    const char *const pair[] = {NULL, "b"};
    struct nvdp_dataset *dataset = NULL;
    ok(nvdp_dataset_from_texts(ctx, tiny, 16, 2, text, pair, &dataset));
    expect_text(dataset, 0, 4, (int32_t[]){TINY_CLS, TINY_THE, TINY_CAT, TINY_SEP});
    expect_text(dataset, 1, 5, (int32_t[]){TINY_CLS, TINY_A, TINY_SEP, TINY_B, TINY_SEP});
    cr_assert_null(dataset->label);
    cr_assert_eq(dataset->index[1], 1);
    nvdp_dataset_free(dataset);
    ok(nvdp_dataset_from_texts(ctx, tiny, 16, 0, NULL, NULL, &dataset));
    cr_assert_eq(dataset->count, 0);
    nvdp_dataset_free(dataset);
    text_error(ctx, nvdp_dataset_from_texts(ctx, tiny, 1, 2, text, NULL, &dataset),
               NVDP_ERR_ARGUMENT, "--max-length: expected 3 to 512, found 1");
}

/* Checks every stored file of GLUE for its known number of rows. */
Test(dataset, glue, .timeout = 120) {
    static const struct {
        enum nvdp_task_id task;
        const char *folder;
        enum nvdp_split split;
        size_t rows;
    } file[] = {
        {NVDP_TASK_SST2, "SST-2", NVDP_SPLIT_TRAIN, 67349},
        {NVDP_TASK_SST2, "SST-2", NVDP_SPLIT_DEV, 872},
        {NVDP_TASK_SST2, "SST-2", NVDP_SPLIT_TEST, 1821},
        {NVDP_TASK_MRPC, "MRPC", NVDP_SPLIT_TRAIN, 3668},
        {NVDP_TASK_MRPC, "MRPC", NVDP_SPLIT_DEV, 408},
        {NVDP_TASK_MRPC, "MRPC", NVDP_SPLIT_TEST, 1725},
        {NVDP_TASK_RTE, "RTE", NVDP_SPLIT_TRAIN, 2490},
        {NVDP_TASK_RTE, "RTE", NVDP_SPLIT_DEV, 277},
        {NVDP_TASK_RTE, "RTE", NVDP_SPLIT_TEST, 3000},
        {NVDP_TASK_STSB, "STS-B", NVDP_SPLIT_TRAIN, 5749},
        {NVDP_TASK_STSB, "STS-B", NVDP_SPLIT_DEV, 1500},
        {NVDP_TASK_STSB, "STS-B", NVDP_SPLIT_TEST, 1379},
        {NVDP_TASK_QNLI, "QNLI", NVDP_SPLIT_TRAIN, 9999},
        {NVDP_TASK_QNLI, "QNLI", NVDP_SPLIT_DEV, 5463},
        {NVDP_TASK_QNLI, "QNLI", NVDP_SPLIT_TEST, 5463},
        {NVDP_TASK_COLA, "CoLA", NVDP_SPLIT_TRAIN, 8551},
        {NVDP_TASK_COLA, "CoLA", NVDP_SPLIT_DEV, 1043},
        {NVDP_TASK_COLA, "CoLA", NVDP_SPLIT_TEST, 1063},
        {NVDP_TASK_QQP, "QQP", NVDP_SPLIT_TRAIN, 9999},
        {NVDP_TASK_QQP, "QQP", NVDP_SPLIT_DEV, 19702},
    };
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *base = text_base(ctx);
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        const char *folder = support_path("data/glue/%s", file[i].folder);
        struct nvdp_dataset_config config = text_config(file[i].task);
        config.directory = support_shared(folder);
        nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
        ok(nvdp__dataset_load(ctx, base, &config, file[i].split, NULL, &dataset));
        cr_assert_eq(dataset->count, file[i].rows, "%s: %zu rows", folder, dataset->count);
        cr_assert_eq(dataset->bad_rows, 0);
        cr_assert_leq(dataset->longest, 128);
        cr_assert_eq(dataset->label == NULL, file[i].split == NVDP_SPLIT_TEST);
    }
}
