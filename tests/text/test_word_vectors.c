/* Files of word vectors as they are published: words with spaces, repeated words, wrong headers, the binary form. */
#include "support.h"
#include "text/vectors.h"
#include <zlib.h>

struct file {
    struct nvdp_context *ctx;
    struct nvdp__strings words;
    struct nvdp__vector_rows read;
    char notice[1024];
    size_t notices;
};

static void take_notice(enum nvdp_log_level level, const char *message, void *user) {
    struct file *file = user;
    file->notices += level == NVDP_LOG_NOTICE;
    snprintf(file->notice, sizeof file->notice, "%s", message);
}

static nvdp_status read_bytes(struct file *file, const void *bytes, size_t size) {
    const char *path = support_scratch_path("v");
    *file = (struct file){.ctx = support_context()};
    nvdp_context_set_log(file->ctx, take_notice, file);
    support_write(path, bytes, size);
    return nvdp__word_vectors_read(file->ctx, path, &file->words, &file->read);
}

static void drop(struct file *file) {
    nvdp__vector_rows_release(&file->read);
    nvdp__strings_release(&file->words);
}

/* The words and numbers of the file as text, "word:1,2;..."; `notice` is the end of its one
 * notice, NULL if there is none. */
static void expect_bytes(const void *bytes, size_t count, const char *rows, const char *notice) {
    struct file file;
    char found[1024] = "";
    ok(read_bytes(&file, bytes, count));
    cr_expect_eq(file.read.count, file.words.count);
    for (size_t x = 0; x < file.read.count; x++) {
        sprintf(found + strlen(found), "%s", nvdp__string(&file.words, x).text);
        double scratch[NVDP__ROW_WIDEST];
        const double *row = nvdp__vector_row(&file.read, x, scratch);
        for (size_t k = 0; k < file.read.dim; k++)
            sprintf(found + strlen(found), "%c%g", k == 0 ? ':' : ',', row[k]);
        strcat(found, ";");
    }
    cr_expect_str_eq(found, rows);
    cr_expect_eq(file.notices, notice != NULL);
    if (notice != NULL) {
        const char *colon = strstr(file.notice, "v: ");
        cr_assert_not_null(colon);
        cr_expect_str_eq(colon + 3, notice);
    }
    drop(&file);
}

static void expect(const char *text, const char *rows, const char *notice) {
    expect_bytes(text, strlen(text), rows, notice);
}

Test(word_vectors, words_with_spaces) {
    expect(". . . .5 .25 1\nat name@x.com 1 2 3\ngood 1 0 0\n",
           ". . .:0.5,0.25,1;at name@x.com:1,2,3;good:1,0,0;",
           "2 words contain spaces, such as '. . .'");
    /* a number may be a word, or its end */
    expect("good 1 0 0\n2005 1 2 3\nroom 101 4 5 6\n10 000 7 8 9\n",
           "good:1,0,0;2005:1,2,3;room 101:4,5,6;10 000:7,8,9;",
           "2 words contain spaces, such as 'room 101'");
    /* a no-break space is no space */
    expect("a\xC2\xA0"
           "b 1 2\nc 3 4\n",
           "a\xC2\xA0"
           "b:1,2;c:3,4;",
           NULL);
}

Test(word_vectors, odd_rows_are_counted) {
    expect("a 1 2\nb 3 4\na 5 6\na 7 8\n", "a:1,2;b:3,4;",
           "2 rows repeat a word, whose first row counts");
    expect("a 1 2\n\xFF\xFE 3 4\nb 5 6\n\x01 1 1\nnew\tyork 1 1\n", "a:1,2;b:5,6;",
           "3 words have control characters or are not UTF-8, and are left out");
    expect("a 1 2\n 3 4\nb 5 6\n", "a:1,2;b:5,6;", "1 rows without a word are left out");
    expect("a 1 2\n\nb 3 4\r\n\n", "a:1,2;b:3,4;", NULL);
    expect("\xEF\xBB\xBF"
           "a 1 2 \n  b\t3  4\n",
           "a:1,2;b:3,4;", NULL);
}

Test(word_vectors, headers) {
    expect("2 3\na 1 2 3\nb 4 5 6\n", "a:1,2,3;b:4,5,6;", NULL);
    expect("5 3\r\na 1 2 3\r\nb 4 5 6\r\n", "a:1,2,3;b:4,5,6;",
           "the first line says 5 words, the file has 2");
    expect("1 3\na 1 2 3\nx y 4 5 6\na 1 1 1", "a:1,2,3;x y:4,5,6;",
           "the first line says 1 words, the file has 3; 1 words contain spaces, such as 'x y'; "
           "1 rows repeat a word, whose first row counts");
    /* the header decides, whatever most rows look like */
    expect("2 2\nx 1 2 3\ny 4 5 6\n", "x 1:2,3;y 4:5,6;", "2 words contain spaces, such as 'x 1'");
}

Test(word_vectors, gzip) {
    static const char text[] = "1 2\na 1 2\n";
    unsigned char packed[256];
    z_stream gz = {.next_in = (z_const Bytef *)text,
                   .avail_in = sizeof text - 1,
                   .next_out = packed,
                   .avail_out = sizeof packed};
    cr_assert_eq(deflateInit2(&gz, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&gz, Z_FINISH), Z_STREAM_END);
    expect_bytes(packed, gz.total_out, "a:1,2;", NULL);
    deflateEnd(&gz);
}

/* ---- the binary form of word2vec ---- */

static size_t put_row(char *to, const char *word, const float *values, size_t dim,
                      const char *end) {
    const size_t n = strlen(word);
    memcpy(to, word, n);
    to[n] = ' ';
    memcpy(to + n + 1, values, dim * sizeof *values);
    strcpy(to + n + 1 + dim * sizeof *values, end);
    return n + 1 + dim * sizeof *values + strlen(end);
}

Test(word_vectors, binary) {
    static const float values[][3] = {{1, -.5f, 0}, {0x1p-10f, 3, 7}, {2, 2, 2}};
    for (int newline = 0; newline < 2; newline++) {
        char bytes[256] = "3 3\n";
        size_t n = strlen(bytes);
        const char *end = newline != 0 ? "\n" : "";
        n += put_row(bytes + n, "good", values[0], 3, end);
        n += put_row(bytes + n, "new_york", values[1], 3, end);
        const size_t two = n;
        n += put_row(bytes + n, "good", values[2], 3, end);
        expect_bytes(bytes, n, "good:1,-0.5,0;new_york:0.000976562,3,7;",
                     "1 rows repeat a word, whose first row counts");
        expect_bytes(bytes, two, "good:1,-0.5,0;new_york:0.000976562,3,7;",
                     "the first line says 3 words, the file has 2");
        struct file file;
        fails(read_bytes(&file, bytes, two - 4), NVDP_ERR_INPUT,
              "v: word 2: expected 3 numbers of 4 bytes, found the end of the file");
        drop(&file);
        const float infinite[] = {1, INFINITY, 0};
        n = two + put_row(bytes + two, "x", infinite, 3, end);
        fails(read_bytes(&file, bytes, n), NVDP_ERR_INPUT,
              "word 'x': number 2: expected a finite one, found inf");
        drop(&file);
    }
}

Test(word_vectors, what_fits_nothing_is_refused) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a 1 2\nb 1 2 3 4\n", "v:2: expected 2 numbers, found 4"}, /* two rows in one */
        {"a 1 2 3\nb 1 2\nc 1 2 3\n", "v:2: expected a word and 3 numbers, found 3 fields"},
        {"good\nbad\n", "v:1: expected a word and its vector, found 1 fields"},
        {"good morning\n",
         "v:1: number 1: expected a finite one of at most 1e150, found 'morning'"},
        {"\x01 1 2\n", "v: expected words in UTF-8, found none"},
        {"7 2\n", "v: expected a word and its vector a line, found none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file;
        fails(read_bytes(&file, cases[i].text, strlen(cases[i].text)), NVDP_ERR_INPUT,
              cases[i].message);
        drop(&file);
    }
}

/* ---- numbers in four bytes ---- */

/* Reads one row; every number must be strtod's, and the row must have that form. */
static void expect_form(const char *numbers, unsigned char form) {
    const char *text = support_path("a %s\n", numbers);
    struct file file;
    ok(read_bytes(&file, text, strlen(text)));
    cr_expect_eq(file.read.form[0], form, "%s: %d", numbers, file.read.form[0]);
    double scratch[NVDP__ROW_WIDEST];
    const double *row = nvdp__vector_row(&file.read, 0, scratch);
    const char *at = text + 2;
    for (size_t k = 0; k < file.read.dim; k++) {
        char *end;
        const double want = strtod(at, &end);
        cr_expect_arr_eq(&row[k], &want, sizeof want, "%s: number %zu: %.17g", numbers, k, row[k]);
        nvdp__vector_row_part(&file.read, 0, k, 1, scratch + k);
        cr_expect_arr_eq(&scratch[k], &want, sizeof want);
        at = end;
    }
    drop(&file);
}

Test(word_vectors, numbers_keep_their_doubles) {
    /* 10^-k times an integer below 2^31, with the sign of zero */
    expect_form("0.1 -0.0000 0.2345 -12 1e-3 5. -.5 2E0 0", 4);
    expect_form("-2.147483647 0.000000001 0.5", 9);
    expect_form("1.0019e-05 -0.24487 1.99", 9);
    expect_form("1e-22 0", 22);
    /* integers below 2^28, each with its own power of ten */
    expect_form("3.0 0.000000001 0.5", NVDP__ROW_NEAR + 2);
    expect_form("0.12345678 -0.0012345678 3.4567891 1.0e-12 -0.0", NVDP__ROW_NEAR + 6);
    expect_form("26.8435455 0.00000000000001 10.00000000", NVDP__ROW_NEAR + 7);
    /* float32, and what remains */
    expect_form("0.100000001490116119384765625 0.5", NVDP__ROW_FLOATS);
    expect_form("1e30 -3 0.5", NVDP__ROW_DOUBLES);
    expect_form("0.12345678901234567 1", NVDP__ROW_DOUBLES);
    expect_form("123456789.12345 1", NVDP__ROW_DOUBLES);
    expect_form("99999999999999999999 1 1e-130 1e22 9007199254740993e-5", NVDP__ROW_DOUBLES);
}

/* Blocks end within lines and rows, whatever their size. */
Test(word_vectors, long_files) {
    enum { ROWS = 3000, DIM = 700 };
    nvdp__autofree char *text = malloc((size_t)ROWS * (DIM * 8 + 32));
    char *at = text;
    nvdp__autofree double *want = malloc(sizeof *want * ROWS * DIM);
    for (size_t j = 0; j < ROWS; j++) {
        at += sprintf(at, "%sw%zu", j % 7 == 0 ? "\n" : "", j);
        for (size_t k = 0; k < DIM; k++) {
            const unsigned n = (unsigned)(j * 7919 + k * 104729) % 100000;
            want[j * DIM + k] = (k % 2 == 0 ? 1 : -1) * ((double)n / 1e5);
            *at++ = ' ';
            if (k % 2 != 0) *at++ = '-';
            *at++ = '.';
            for (unsigned place = 10000; place > 0; place /= 10)
                *at++ = (char)('0' + n / place % 10);
        }
        at = stpcpy(at, j % 5 == 0 ? "\r\n" : "\n");
    }
    struct file file;
    ok(read_bytes(&file, text, (size_t)(at - text)));
    cr_assert_eq(file.read.count, ROWS);
    for (size_t j = 0; j < ROWS; j++) {
        double scratch[NVDP__ROW_WIDEST];
        cr_assert_eq(file.read.form[j], 5);
        cr_assert_arr_eq(nvdp__vector_row(&file.read, j, scratch), want + j * DIM,
                         DIM * sizeof *want, "row %zu", j);
    }
    drop(&file);
    /* the number of the line, with the empty ones, of a row far from the start */
    text[(at - text) - 20] = 'x';
    fails(read_bytes(&file, text, (size_t)(at - text)), NVDP_ERR_INPUT, "v:3429: number 698");
    drop(&file);
}
