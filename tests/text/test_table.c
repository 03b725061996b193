/* CSV, quoted tabs and JSON lines: rows and fields, and the data sets made from a user's own
 * files. */
#include "text_support.h"

#include "test_context.h"

/* Returns all rows of a table as one text: fields in <>, then the line where the row begins and
 * a newline. */
static char *rows_of(enum nvdp__table_format format, const char *text, nvdp_status want) {
    struct nvdp__tsv tsv;
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    nvdp_status status = NVDP_OK;
    nvdp__tsv_open(ctx, "f", text, strlen(text), &tsv);
    tsv.format = format;
    while (status == NVDP_OK && nvdp__tsv_more(&tsv)) {
        status = nvdp__tsv_next(&tsv);
        for (size_t i = 0; i < tsv.fields && status == NVDP_OK; i++) {
            if (tsv.field[i].text == NULL)
                fputs("<->", to);
            else
                fprintf(to, "<%.*s>", (int)tsv.field[i].size, tsv.field[i].text);
        }
        if (status == NVDP_OK) fprintf(to, "%zu\n", tsv.line);
    }
    cr_expect_eq(status, want, "%s", nvdp_context_error(ctx));
    nvdp__tsv_release(&tsv);
    fclose(to);
    return support_keep(out);
}

static void expect(enum nvdp__table_format format, const char *text, const char *want) {
    char *got = rows_of(format, text, NVDP_OK);
    cr_expect_str_eq(got, want);
}

static void refuse(enum nvdp__table_format format, const char *text, const char *message) {
    free(rows_of(format, text, NVDP_ERR_INPUT));
    support_contains(nvdp_context_error(ctx), message);
}

/* Checks the grammar of RFC 4180, section 2, rule by rule. */
Test(table, csv) {
    expect(NVDP__TABLE_CSV, "aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n",
           "<aaa><bbb><ccc>1\n<zzz><yyy><xxx>2\n");
    expect(NVDP__TABLE_CSV, "aaa,bbb,ccc\r\nzzz,yyy,xxx", "<aaa><bbb><ccc>1\n<zzz><yyy><xxx>2\n");
    expect(NVDP__TABLE_CSV, "\"aaa\",\"b \r\nbb\",\"ccc\"\r\nzzz,yyy,xxx", /* a row of two lines */
           "<aaa><b \r\nbb><ccc>1\n<zzz><yyy><xxx>3\n");
    expect(NVDP__TABLE_CSV, "\"aaa\",\"b\"\"bb\",\"c,c\"\n", "<aaa><b\"bb><c,c>1\n");
    expect(NVDP__TABLE_CSV, ",\"\",\"\"\"\"\n\n\r\nx, y ,\n", "<><><\">1\n<x>< y ><>4\n");
    expect(NVDP__TABLE_CSV, "5\" disk,it\"s\n", "<5\" disk><it\"s>1\n");
    expect(NVDP__TABLE_QUOTED_TSV, "a\t\"b\tc\"\n\"d\"\t\n", "<a><b\tc>1\n<d><>2\n");
    refuse(NVDP__TABLE_CSV, "a,\"b\"c\n", "f:1: column 2: expected the end of the field");
    refuse(NVDP__TABLE_CSV, "a,b\nc,\"d\n", "f:2: column 2: expected a closing quote");
}

Test(table, endings_in_upper_case) {
    cr_expect_eq(nvdp__path_table_format("a/TRAIN.CSV"), NVDP__TABLE_CSV);
    cr_expect_eq(nvdp__path_table_format("a.Json.gz"), NVDP__TABLE_JSONL);
    cr_expect(nvdp__is_table("a.TSV"));
}

Test(table, json_lines) {
    expect(NVDP__TABLE_JSONL,
           "{\"t\": \"a\\n\\u00e9\", \"y\": 1}\r\n\n{\"y\": 2.5, \"z\": 3, \"t\": true}\n{\"y\": "
           "0.1, \"t\": 1e-7}\n{\"y\": "
           "null}\n",
           "<t><y>1\n<a\n\xC3\xA9><1>1\n<true><2.5>3\n<1e-07><0.1>4\n<-><->5\n");
    refuse(NVDP__TABLE_JSONL, "[1]\n", "f:1: expected a JSON object, found another value");
    refuse(NVDP__TABLE_JSONL, "{\"a\": 1}\n{\"a\"\n", "f:2: expected a JSON object, found none");
    refuse(NVDP__TABLE_JSONL, "{\"a\": 1, \"a\": 2}\n", "duplicate");
}

Test(table, json_arrays) {
    expect(NVDP__TABLE_JSONL, "[{\"t\": \"a\", \"y\": 1}, {\"t\": \"b]},{\\\"\", \"y\": 2}]",
           "<t><y>1\n<a><1>1\n<b]},{\"><2>1\n");
    expect(NVDP__TABLE_JSONL,
           "\n [\n  {\n    \"t\": \"a\"\n  },\n\n  {\"t\": \"b\", \"u\": [1, {}]}\n "
           ",{\"t\":0}\r\n]\n\n",
           "<t>3\n<a>3\n<b>7\n<0>8\n");
    expect(NVDP__TABLE_JSONL, "{\"t\": 1}\n  \n{\"t\": 2}\n \t", "<t>1\n<1>1\n<2>3\n");
    refuse(NVDP__TABLE_JSONL, "[{\"a\": 1},\n{\"a\": 2}\n",
           "f:2: expected a comma or the end of the array after the object that begins here, found "
           "the end of the file");
    refuse(NVDP__TABLE_JSONL, "[{\"a\": 1}]\n{",
           "f:2: expected the end of the file after the array");
    refuse(NVDP__TABLE_JSONL, "[{\"a\": 1},\nnull]",
           "f:2: expected a JSON object, found another value");
    refuse(NVDP__TABLE_JSONL, "[{\"a\": 1},]", "f:1: expected a JSON object, found none");
    refuse(NVDP__TABLE_JSONL, "[]", "f:1: expected a JSON object, found none");
    refuse(NVDP__TABLE_JSONL, "{\n\"a\": 1}", "or is one array of objects");
}

Test(table, empty_lines_are_no_rows) {
    expect(NVDP__TABLE_TSV, "\na\tb\n\n1\t2\n\t\n\r\n\n3\t4\n\n",
           "<a><b>2\n<1><2>4\n<><>5\n<3><4>8\n");
    expect(NVDP__TABLE_TSV, "a\n\nb\n", "<a>1\n<>2\n<b>3\n"); /* but texts in a single column */
}

Test(table, quotes_are_recognized) {
    static const struct {
        const char *text;
        bool quoted;
    } cases[] = {
        {"a\tb\n1\t2\n", false},
        {"a\tb\n1\t\"x \"\"y\"\"\"\n", true},   /* as pandas quotes: where needed */
        {"\"a\"\t\"b\"\n\"1\"\t\"2\"\n", true}, /* every field quoted */
        {"a\tb\n1\t\"great\"\n", false},        /* a text that is a quotation */
        {"a\tb\n1\t\"great\" film\n", false},
        {"a\tb\n1\t5\" \"\"disk\"\"\n", false},
        {"a\tb\n1\t\"two\nlines\"\n", true},
        {"a\tb\n1\t\"open \"\"quote\n", false},
        {"a\tb\n1\t\"x\"\"\"\n1\n", false}, /* no row of two fields */
        {"a\tb\n\"x\t1\ny\"\t2\n", false},  /* a quotation of two rows */
        {"a\tb\r\n1\t\"x\r\n\r\n2\ty\"\r\n", false},
        {"a\tb\n\"x\t1\ny\"\t2\n1\t\"z\n\nz\"\n", true}, /* one row needs them */
        {"a\tb\n\"x\ty\"\t2\n", true},
        {"a\n\"x\ny\"\n", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum nvdp__table_format format;
        cr_expect_eq(nvdp__tsv_is_quoted(cases[i].text, strlen(cases[i].text)), cases[i].quoted,
                     "%s", cases[i].text);
        support_file("quotes.tsv", cases[i].text);
        ok(nvdp__table_chunks_format(ctx, nvdp__task_layout(NVDP_TASK_TSV),
                                     support_scratch_path("quotes.tsv"), &format));
        cr_expect_eq(format == NVDP__TABLE_QUOTED_TSV, cases[i].quoted, "%s", cases[i].text);
    }
}

static void same_row(const struct nvdp__tsv *a, const struct nvdp__tsv *b) {
    cr_assert_eq(a->line, b->line);
    cr_assert_eq(a->fields, b->fields, "line %zu", a->line);
    for (size_t i = 0; i < a->fields; i++) {
        cr_assert_eq(a->field[i].size, b->field[i].size, "line %zu", a->line);
        cr_assert_arr_eq(a->field[i].text, b->field[i].text, a->field[i].size);
    }
}

/* Read in chunks, a file has the same rows as a whole, wherever chunks end: within quotes,
 * doubled ones, CRLF. */
Test(table, pieces) {
    enum { BYTES = 3 << 20 };
    static const enum nvdp__table_format formats[] = {NVDP__TABLE_TSV, NVDP__TABLE_QUOTED_TSV,
                                                      NVDP__TABLE_CSV, NVDP__TABLE_LINES};
    static const char *const quoted[] = {"\"\"\"\"", "\"a\nb\"", "\"x\r\ny, \"\"z\"\"\"", "",
                                         "word"};
    const char *path = support_scratch_path("pieces");
    nvdp__autofree char *text = malloc(BYTES + (1 << 21));
    unsigned seed = 7;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const bool quotes = formats[f] == NVDP__TABLE_CSV || formats[f] == NVDP__TABLE_QUOTED_TSV;
        const char separator = formats[f] == NVDP__TABLE_CSV ? ',' : '\t';
        nvdp__auto(nvdp__tsv_release) struct nvdp__tsv whole;
        struct nvdp__table_chunks pieces = {0};
        size_t size = 0, rows = 0;
        bool more = true, row = true;
        while (size < BYTES) {
            for (int c = rand_r(&seed) % 3; c >= 0; c--) {
                const char *cell = quotes ? quoted[rand_r(&seed) % 5] : "some \"words\r";
                size += (size_t)sprintf(text + size, "%s%c", cell, c > 0 ? separator : '\n');
            }
            if (size > BYTES / 2 && size < BYTES / 2 + 20) { /* a row longer than a chunk */
                memset(text + size, 'w', 1 << 20);
                size += 1 << 20;
            }
            if (rand_r(&seed) % 8 == 0) text[size - 1] = '\r', text[size++] = '\n';
        }
        support_write(path, text, size - 1);
        nvdp__tsv_open(ctx, path, text, size - 1, &whole);
        whole.format = formats[f];
        ok(nvdp__table_chunks_open(ctx, path, formats[f], &pieces));
        while (more) {
            ok(nvdp__table_chunks_next(&pieces, &row));
            if (row) {
                cr_assert(nvdp__tsv_more(&whole));
                ok(nvdp__tsv_next(&whole));
                same_row(&whole, &pieces.tsv);
                rows++;
            } else {
                ok(nvdp__table_chunks_read(&pieces, &more));
            }
        }
        cr_assert_not(nvdp__tsv_more(&whole));
        cr_assert_gt(rows, 50000);
        cr_assert_lt(pieces.capacity, 4 << 20);
        nvdp__table_chunks_close(&pieces);
    }
}

/* The same of an array of objects of one or several lines. */
Test(table, pieces_of_an_array) {
    enum { OBJECTS = 40000, ROOM = 8 << 20 };
    const char *path = support_scratch_path("pieces");
    struct nvdp__table_chunks pieces = {0};
    nvdp__auto(nvdp__tsv_release) struct nvdp__tsv whole;
    char *text = malloc(ROOM);
    size_t size = 0, rows = 0;
    unsigned seed = 3;
    bool more = true, row = true;
    size += (size_t)sprintf(text, " [ ");
    for (size_t i = 0; i < OBJECTS; i++)
        size +=
            (size_t)sprintf(text + size, "{\"t\":%s\"%0*d ],}\\\"\"%s}%s", i % 3 == 0 ? "\n" : " ",
                            1 + (int)(rand_r(&seed) % 200), (int)i, i % 5 == 0 ? "\n" : "",
                            i + 1 < OBJECTS ? (i % 2 == 0 ? ",\n" : " , ") : "\n]\n");
    support_write(path, text, size);
    nvdp__tsv_open(ctx, path, text, size, &whole);
    whole.format = NVDP__TABLE_JSONL;
    ok(nvdp__table_chunks_open(ctx, path, NVDP__TABLE_JSONL, &pieces));
    while (more) {
        ok(nvdp__table_chunks_next(&pieces, &row));
        if (row) {
            cr_assert(nvdp__tsv_more(&whole));
            ok(nvdp__tsv_next(&whole));
            same_row(&whole, &pieces.tsv);
            cr_assert(pieces.row.text[0] == '{' && pieces.row.text[pieces.row.size - 1] == '}');
            rows++;
        } else {
            ok(nvdp__table_chunks_read(&pieces, &more));
        }
    }
    cr_assert_not(nvdp__tsv_more(&whole));
    cr_assert_eq(rows, OBJECTS + 1);
    nvdp__table_chunks_close(&pieces);
    free(text);
}

struct heard {
    char text[4096];
};

static void hear(enum nvdp_log_level level, const char *message, void *user) {
    struct heard *heard = user;
    if (level == NVDP_LOG_WARNING) strcat(heard->text, "warning: ");
    strncat(heard->text, message, sizeof heard->text - strlen(heard->text) - sizeof "\nwarning: ");
    strcat(heard->text, "\n");
}

static struct nvdp_dataset *load(const char *name, const char *text, nvdp_status want) {
    struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    struct nvdp_tokenizer *tokenizer = text_tiny(ctx);
    support_file(name, text);
    config.max_length = 8;
    nvdp__set_columns(&config, &(struct nvdp__columns){.text_column = "t", .label_column = "y"});
    cr_assert_eq(nvdp__dataset_load(ctx, tokenizer, &config, NVDP_SPLIT_TRAIN, NULL, &dataset),
                 want, "%s", nvdp_context_error(ctx));
    remove(support_scratch_path(name));
    return support_keep(dataset);
}

/* The same texts in every format give the same data set. */
Test(table, formats_agree) {
    struct heard heard = {""};
    nvdp_context_set_log(ctx, hear, &heard);
    struct nvdp_dataset *plain =
        load("train.tsv", "y\tt\nno\tthe cat, sat.\nyes\tthe mat\nno\t\"run\" .\n", NVDP_OK);
    cr_expect_str_eq(heard.text, "");
    static const char *const others[][2] = {
        {"train.csv", "t,y\r\n\"the cat, sat.\",no\r\nthe mat,yes\r\n\"\"\"run\"\" .\",no\r\n"},
        {"train.tsv", "\"y\"\t\"t\"\nno\t\"the cat, sat.\"\nyes\tthe mat\nno\t\"\"\"run\"\" .\"\n"},
        {"train.jsonl", "{\"t\": \"the cat, sat.\", \"y\": \"no\"}\n{\"y\": \"yes\", \"t\": \"the "
                        "mat\"}\n{\"y\": \"no\", \"t\": \"\\\"run\\\" .\"}\n"},
        {"train.json", "{\"t\": \"the cat, sat.\", \"y\": \"no\"}\n{\"y\": \"yes\", \"t\": \"the "
                       "mat\"}\n{\"y\": \"no\", \"t\": \"\\\"run\\\" .\"}\n"},
        {"train.json",
         "[{\"t\": \"the cat, sat.\", \"y\": \"no\"},\n {\"y\": \"yes\", \"t\": \"the "
         "mat\"}, {\"y\": \"no\", \"t\": \"\\\"run\\\" .\"}\n]"},
        {"train.tsv", "\ny\tt\nno\tthe cat, sat.\n\nyes\tthe mat\nno\t\"run\" .\n\n"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        heard.text[0] = '\0';
        struct nvdp_dataset *other = load(others[i][0], others[i][1], NVDP_OK);
        text_same(plain, other);
        cr_expect_eq(strstr(heard.text, "fields are quoted as in CSV") != NULL, i == 1, "%s",
                     heard.text);
    }
    support_file("train.csv", "t,y\na,b\n");
    (void)load("train.tsv", "t\ty\na\tb\n", NVDP_ERR_INPUT);
    support_contains(nvdp_context_error(ctx), "train.csv, found both");
    remove(support_scratch_path("train.csv"));
}

/* Parquet, under the names that Hugging Face gives, is named with the ways to convert it. */
Test(table, parquet_is_told) {
    support_file("train-00000-of-00001.parquet", "PAR1");
    (void)load("x.txt", "", NVDP_ERR_IO);
    support_contains(nvdp_context_error(ctx), "train.tsv: cannot read",
                     "00001.parquet, x.txt: scripts/from_datasets.py");
    remove(support_scratch_path("train-00000-of-00001.parquet"));
}

Test(table, other_formats_are_told) {
    static const char *const cases[][3] = {
        {"train.tsv", "t,y\na,b\n", "found commas: CSV files are named .csv"},
        {"train.csv", "t\ty\na\tb\n", "found tabs: such files are named .tsv"},
        {"train.csv", "t;y\na;b\n", "found semicolons"},
        {"train.csv", "t,y\ra,b\r", "found CR alone: tr"},
        {"train.tsv", "{\"t\": \"a\"}\n", "whose files are named .jsonl"},
        {"train.jsonl", "{\"t\": \"a\", \"y\": \"no\"}\n{\"t\": \"b\"}\n",
         "train.jsonl:2: 'y': expected text or a number, found none"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)load(cases[i][0], cases[i][1], NVDP_ERR_INPUT);
        support_contains(nvdp_context_error(ctx), cases[i][2]);
    }
}

/* Each kind is counted in one line, once. */
Test(table, odd_texts_are_counted) {
    struct heard heard = {""};
    nvdp_context_set_log(ctx, hear, &heard);
    nvdp_dataset_free(load("train.tsv",
                           "y\tt\nno\t\nyes\tthe \xFF cat\nno\tcat the cat the cat the cat\nyes\t"
                           "the\n",
                           NVDP_OK));
    cr_expect(strstr(heard.text, "1 of its rows are not UTF-8") != NULL, "%s", heard.text);
    cr_expect(strncmp(heard.text, "warning: ", 9) == 0, "%s", heard.text);
    cr_expect(strstr(heard.text, "iconv -f WINDOWS-1252 -t UTF-8") != NULL, "%s", heard.text);
    cr_expect(strstr(heard.text, "1 of 4 texts are empty") != NULL, "%s", heard.text);
    cr_expect(strstr(heard.text, "1 of 4 texts (25.0 %) are cut to 8 tokens") != NULL, "%s",
              heard.text);
    cr_expect(strstr(heard.text, "not in the vocabulary") == NULL, "%s", heard.text);
    heard.text[0] = '\0';
    nvdp_dataset_free(load("train.tsv", "y\tt\nno\tzebra the cat\nyes\tlama cat\n", NVDP_OK));
    cr_expect(strstr(heard.text, "40 % of the tokens are not in the vocabulary") != NULL, "%s",
              heard.text);
    heard.text[0] = '\0';
    nvdp_dataset_free(load("train.tsv",
                           "y\tt\n1\ta\n2\ta\n3\ta\n4\ta\n5\ta\n6\ta\n7\ta\n8\ta\n9\ta\n10\ta\n"
                           "11\ta\n",
                           NVDP_OK));
    cr_expect(strstr(heard.text, "has 11 different labels, all of them numbers") != NULL, "%s",
              heard.text);
    cr_expect(strstr(heard.text, "--regression") != NULL);
    static const struct {
        const char *rows, *said;
    } odd[] = {{"a\tgood\nb\tgood \n", "'good' and 'good ' are two classes"},
               {"a\tA b\nb\tab\n", "'A b' and 'ab' are two classes"},
               {"a\ttrue\nb\t1\n", "'1' and 'true' are two classes"},
               {"a\t0\nb\t0.0\n", "'0' and '0.0' are two classes"},
               {"a\tno\nb\tNaN\n", "'NaN' is a class; if it means that there is no label"},
               {"a\tgood\nb\tgoods\n", NULL}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        heard.text[0] = '\0';
        nvdp_dataset_free(load("train.tsv", support_path("t\ty\n%s", odd[i].rows), NVDP_OK));
        cr_expect(odd[i].said != NULL ? strstr(heard.text, odd[i].said) != NULL
                                      : heard.text[0] == '\0',
                  "%s", heard.text);
    }
    cr_assert_null(load("train.tsv", "y\tt\n1\ta\n3.7\ta\n", NVDP_ERR_INPUT));
    support_contains(nvdp_context_error(ctx),
                     "column 'y': expected names of classes, found numbers "
                     "such as '3.7'; --regression takes them as scores");
    nvdp_dataset_free(load("train.tsv", "y\tt\n1.0\ta\n0.0\ta\n", NVDP_OK));
    nvdp_dataset_free(load("train.tsv", "y\tt\n1.5\ta\nnone\ta\n", NVDP_OK));
}
