/* Reads files of word vectors as they are published: text of GloVe, word2vec and fastText, and
 * the binary form of word2vec.
 *
 *     V n              the first line, if present: two integers
 *     word v1 ... vn   a line of text; the last n fields are the numbers, so a word may contain
 *                      spaces
 *     word f1 ... fn   in the binary form, after a header: the word, a space, n float32 values,
 *                      little-endian, possibly a newline
 *
 * A sample of the beginning decides about the form and about n. Then there are two passes: the first counts rows, so
 * that the second fills an array of the right size. */
#include "text/word_vectors.h"
#include "base/file.h"
#include "base/sentence.h"
#include "text/task.h"

#include <math.h>
#include <stdlib.h>

enum {
    SAMPLE_BYTES = 1 << 20,
    SAMPLE_ROWS = 100,
    LONGEST_WORD = 1 << 16, /* of the binary form, in bytes */
    CANCEL_ROWS = 1024
};

struct reader {
    struct nvdp__lines lines;
    size_t count, dim; /* rows of the file, numbers per row */
    size_t declared;   /* words according to the first line */
    bool header, binary;
    struct nvdp__line line;
    const char *at, *end; /* rest of the line */
    /* rows that are unlike `word v1 ... vn`; `example` is the first word with spaces */
    size_t spaced, repeated, not_utf8, nameless;
    struct nvdp__quote example;
};

/* The next field of a line; fields are separated by spaces and tabs. Size 0 at the end. */
static struct nvdp__field next_field(struct reader *reader) {
    const char *start = reader->at, *end = reader->end;
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    const char *at = start;
    while (at < end && *at != ' ' && *at != '\t')
        at++;
    reader->at = at;
    return (struct nvdp__field){start, (size_t)(at - start)};
}

static void set_line(struct reader *reader, struct nvdp__line line) {
    reader->line = line;
    reader->at = line.text;
    reader->end = line.text + line.size;
}

static size_t count_fields(struct reader reader) {
    size_t count = 0;
    while (next_field(&reader).size > 0)
        count++;
    return count;
}

static bool whole(struct nvdp__field field, size_t *out) {
    size_t value = 0;
    if (field.size < 1 || field.size > 12) return false;
    for (size_t i = 0; i < field.size; i++) {
        if (field.text[i] < '0' || field.text[i] > '9') return false;
        value = 10 * value + (size_t)(field.text[i] - '0');
    }
    *out = value;
    return true;
}

#define LINE_FAIL(reader, format, ...)                                                             \
    nvdp__fail((reader)->lines.ctx, NVDP_ERR_INPUT, "%s:%zu: " format, (reader)->lines.path,       \
               (reader)->lines.line, __VA_ARGS__)

/* Reads a decimal number of up to 15 digits, which ends at a blank or at the end. These and a power of ten up to 22 are
 * both exact doubles, so one division rounds correctly (Clinger 1990). Returns the end, or NULL for other fields. */
static const char *short_number(const char *at, const char *end, double *out) {
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool minus = at < end && *at == '-';
    const char *const start = at += minus, *point = NULL;
    uint64_t digits = 0;
    for (; at < end; at++) {
        const unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit < 10)
            digits = 10 * digits + digit;
        else if (*at == '.' && point == NULL)
            point = at;
        else
            break;
    }
    const size_t read = (size_t)(at - start) - (point != NULL);
    if (read < 1 || read > 15 || (at < end && *at != ' ' && *at != '\t')) return NULL;
    const double value = (double)digits / power[point != NULL ? at - point - 1 : 0];
    *out = minus ? -value : value;
    return at;
}

static bool number(struct nvdp__field field, double *out) {
    char text[128], *stop = NULL;
    if (short_number(field.text, field.text + field.size, out) != NULL) return true;
    if (field.size == 0 || field.size >= sizeof text) return false;
    memcpy(text, field.text, field.size);
    text[field.size] = '\0';
    if (strspn(text, "0123456789+-.eE") != field.size) return false;
    *out = nvdp__strtod(text, &stop);
    return stop == text + field.size && fabs(*out) <= 1e150;
}

/* ---- the form, from the beginning of the file ---- */

/* Numbers of a row according to the row alone: those at its end, except the first field. */
static size_t guess_dim(struct reader row) {
    size_t fields = 0, numbers = 0;
    double value;
    for (struct nvdp__field field; (field = next_field(&row)).size > 0; fields++)
        numbers = number(field, &value) ? numbers + 1 : 0;
    return fields > 0 ? nvdp__min(numbers, fields - 1) : 0;
}

/* The most frequent guess among the first rows; 0: no row ends in numbers. */
static size_t common_dim(struct reader sample) {
    struct {
        size_t dim, times;
    } guess[SAMPLE_ROWS] = {0};
    size_t best = 0;
    const char *at = sample.at, *end = sample.end;
    for (size_t rows = 0; rows < SAMPLE_ROWS && at < end; rows++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        size_t g = 0;
        set_line(&sample, (struct nvdp__line){at, (size_t)(stop - at)});
        if (sample.line.size > 0 && stop[-1] == '\r') sample.end--;
        const size_t dim = guess_dim(sample);
        at = stop < end ? stop + 1 : end;
        if (dim == 0) continue;
        while (guess[g].times > 0 && guess[g].dim != dim)
            g++;
        guess[g].dim = dim;
        if (++guess[g].times > guess[best].times) best = g;
    }
    return guess[best].dim;
}

/* The sample begins behind a header. It is binary if its first line is no row of text and has bytes that text never
 * has. */
static bool is_binary(struct reader sample, size_t dim) {
    const size_t size = (size_t)(sample.end - sample.at);
    const char *stop = memchr(sample.at, '\n', size);
    const size_t row = stop != NULL ? (size_t)(stop - sample.at) : size;
    struct reader first = sample;
    set_line(&first, (struct nvdp__line){sample.at, row});
    if (guess_dim(first) >= dim) return false;
    const char *space = memchr(sample.at, ' ', size);
    if (space == NULL) return false;
    const size_t rest = nvdp__min((size_t)(sample.end - space), 4 * dim);
    for (size_t i = 0; i < rest; i++)
        if ((unsigned char)space[i] < '\t' || (unsigned char)space[i] == 0x7F) return true;
    return !nvdp__is_utf8(space, rest);
}

static nvdp_status find_form(struct reader *reader) {
    struct nvdp__line sample;
    struct reader first = *reader;
    size_t dim = 0;
    NVDP_RETURN_IF_FAILED(nvdp__lines_take(&reader->lines, SAMPLE_BYTES, &sample));
    const size_t mark = nvdp__byte_order_mark(sample.text, sample.size);
    set_line(&first, (struct nvdp__line){sample.text + mark, sample.size - mark});
    const char *stop = memchr(first.at, '\n', first.line.size);
    struct reader head = first;
    if (stop != NULL) head.end = stop > first.at && stop[-1] == '\r' ? stop - 1 : stop;
    const size_t fields = count_fields(head);
    reader->header = fields == 2 && whole(next_field(&head), &reader->declared) &&
                     whole(next_field(&head), &dim) && dim > 0;
    if (reader->header) first.at = stop != NULL ? stop + 1 : first.end;
    reader->binary = reader->header && is_binary(first, dim);
    reader->dim = reader->header ? dim : common_dim(first);
    if (reader->dim > 0 || first.at == first.end) return NVDP_OK;
    reader->lines.line = 1;
    if (fields < 2)
        return LINE_FAIL(reader, "expected a word and its vector, found %zu fields", fields);
    reader->dim = fields - 1; /* reading the first row will name what is not a number */
    return NVDP_OK;
}

/* ---- words ---- */

/* Adds the word of the next row. *kept is false for a row that is passed over. */
static nvdp_status take_word(struct reader *reader, struct nvdp__strings *words,
                             struct nvdp__field word, bool *kept) {
    const size_t row = words->count;
    size_t index;
    bool text = nvdp__is_utf8(word.text, word.size), spaced = false;
    for (size_t i = 0; i < word.size; i++) {
        spaced = spaced || word.text[i] == ' ' || word.text[i] == '\t';
        text = text && ((unsigned char)word.text[i] >= ' ' || word.text[i] == '\t');
    }
    *kept = false;
    reader->nameless += word.size == 0;
    reader->not_utf8 += !text;
    if (word.size == 0 || !text) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__strings_add(words, word.text, word.size, &index));
    *kept = index == row;
    reader->repeated += !*kept;
    if (*kept && spaced && reader->spaced++ == 0) reader->example = nvdp__quote_field(word);
    return NVDP_OK;
}

/* ---- rows of text ---- */

static nvdp_status next_row(struct reader *reader, bool *found) {
    struct nvdp__line line;
    do
        NVDP_RETURN_IF_FAILED(nvdp__lines_next(&reader->lines, &line, found));
    while (*found && line.size == 0);
    set_line(reader, line);
    return NVDP_OK;
}

/* Reads the last dim fields; *bad is the first that is not a number, or dim. */
static void read_numbers(struct reader *reader, double *row, size_t *bad) {
    for (*bad = 0; *bad < reader->dim; ++*bad) {
        const char *at = reader->at;
        at += at < reader->end && *at == ' ';
        at = short_number(at, reader->end, &row[*bad]);
        if (at != NULL)
            reader->at = at;
        else if (!number(next_field(reader), &row[*bad]))
            return;
    }
}

/* Splits a row whose word may have spaces, or none at all. */
static nvdp_status split_row(struct reader *reader, struct nvdp__field *word) {
    const size_t fields = count_fields(*reader), dim = reader->dim;
    const bool blank = *reader->at == ' ' || *reader->at == '\t';
    size_t numbers = 0;
    double value;
    if (fields < dim || (fields == dim && !blank))
        return LINE_FAIL(reader, "expected a word and %zu numbers%s, found %zu fields", dim,
                         reader->header ? ", as the first line says" : "", fields);
    *word = (struct nvdp__field){reader->at, 0};
    for (size_t i = dim; i < fields; i++) {
        const struct nvdp__field field = next_field(reader);
        if (i == dim) word->text = field.text;
        word->size = (size_t)(field.text + field.size - word->text);
        numbers += i > dim && number(field, &value);
    }
    if (numbers >= dim && numbers > 1) /* two rows in one */
        return LINE_FAIL(reader, "expected %zu numbers, found %zu", dim, numbers + dim);
    return NVDP_OK;
}

static nvdp_status read_row(struct reader *reader, struct nvdp__strings *words, double *row,
                            bool *kept) {
    const char *start = reader->at;
    struct nvdp__field word = next_field(reader);
    size_t bad;
    read_numbers(reader, row, &bad);
    if (bad < reader->dim || reader->at < reader->end) { /* rare: spaces around or in the word */
        reader->at = start;
        NVDP_RETURN_IF_FAILED(split_row(reader, &word));
        const char *numbers = reader->at;
        read_numbers(reader, row, &bad);
        reader->at = numbers;
        for (size_t k = 0; bad < reader->dim && k < bad; k++)
            (void)next_field(reader);
        if (bad < reader->dim)
            return LINE_FAIL(reader, "number %zu: expected a finite one of at most 1e150, found %s",
                             bad + 1, nvdp__quote_field(next_field(reader)).text);
    }
    return take_word(reader, words, word, kept);
}

/* ---- rows of the binary form ---- */

/* The bytes of the word are in *word until the next call. */
static nvdp_status next_binary(struct reader *reader, char *word, size_t *size, bool *found) {
    struct nvdp__line byte;
    *size = 0;
    for (;;) {
        NVDP_RETURN_IF_FAILED(nvdp__lines_take(&reader->lines, 1, &byte));
        *found = byte.size > 0;
        if (!*found || *byte.text == ' ') break;
        if (*size == 0 && *byte.text == '\n') continue; /* ends the row before */
        if (*size == LONGEST_WORD)
            return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                              "%s: word %zu: expected at most %d bytes before a space, found more",
                              reader->lines.path, reader->lines.line, LONGEST_WORD);
        word[(*size)++] = *byte.text;
    }
    if (!*found && *size == 0) return NVDP_OK;
    if (*found) NVDP_RETURN_IF_FAILED(nvdp__lines_take(&reader->lines, 4 * reader->dim, &byte));
    if (!*found || byte.size < 4 * reader->dim)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: word %zu: expected %zu numbers of 4 bytes, found the end of the "
                          "file; make or download the file again",
                          reader->lines.path, reader->lines.line, reader->dim);
    reader->lines.line++;
    set_line(reader, byte);
    return NVDP_OK;
}

static nvdp_status read_binary(struct reader *reader, struct nvdp__strings *words,
                               struct nvdp__field word, double *row, bool *kept) {
    for (size_t k = 0; k < reader->dim; k++) {
        float value;
        memcpy(&value, reader->at + k * sizeof value, sizeof value);
        row[k] = value;
        if (!isfinite(value))
            return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                              "%s: word %s: number %zu: expected a finite one, found %g",
                              reader->lines.path, nvdp__quote_field(word).text, k + 1, row[k]);
    }
    return take_word(reader, words, word, kept);
}

/* ---- the file ---- */

/* Opens the file and passes over its header. */
static nvdp_status begin(struct reader *reader) {
    bool found;
    struct nvdp__line line;
    const char *path = reader->lines.path;
    struct nvdp_context *ctx = reader->lines.ctx;
    nvdp__lines_close(&reader->lines);
    NVDP_RETURN_IF_FAILED(nvdp__lines_open(ctx, path, &reader->lines));
    return reader->header ? nvdp__lines_next(&reader->lines, &line, &found) : NVDP_OK;
}

static nvdp_status count_rows(struct reader *reader, char *word) {
    size_t size, bytes;
    bool found = true;
    NVDP_RETURN_IF_FAILED(begin(reader));
    while (found) {
        NVDP_RETURN_IF_FAILED(reader->binary ? next_binary(reader, word, &size, &found)
                                             : next_row(reader, &found));
        if (!found) break;
        /* A row of text has at least a digit and a space per number; otherwise the array could be
         * far larger than the file. */
        if (!reader->binary && reader->line.size < 2 * reader->dim)
            return LINE_FAIL(reader, "expected a word and %zu numbers%s, found %zu fields",
                             reader->dim, reader->header ? ", as the first line says" : "",
                             count_fields(*reader));
        reader->count++;
    }
    if (reader->count == 0)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: expected a word and its vector a line, found none",
                          reader->lines.path);
    if (reader->count > INT32_MAX || reader->dim > INT32_MAX ||
        !nvdp__mul(reader->count, reader->dim, &bytes) || !nvdp__mul(bytes, sizeof(double), &bytes))
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: %zu words of %zu dimensions, expected at most %d of each",
                          reader->lines.path, reader->count, reader->dim, INT32_MAX);
    return NVDP_OK;
}

static nvdp_status read_rows(struct reader *reader, char *word, struct nvdp__strings *words,
                             double *rows) {
    struct nvdp_context *ctx = reader->lines.ctx;
    struct nvdp__meter meter;
    NVDP_RETURN_IF_FAILED(begin(reader));
    nvdp__meter_begin(&meter, ctx, "word vectors", "words", 0, reader->count);
    for (size_t i = 0; i < reader->count; i++) {
        bool found, kept;
        size_t size;
        double *row = rows + words->count * reader->dim;
        NVDP_RETURN_IF_FAILED(reader->binary ? next_binary(reader, word, &size, &found)
                                             : next_row(reader, &found));
        if (!found)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: the file changed while it was read",
                              reader->lines.path);
        NVDP_RETURN_IF_FAILED(
            reader->binary
                ? read_binary(reader, words, (struct nvdp__field){word, size}, row, &kept)
                : read_row(reader, words, row, &kept));
        if (i % CANCEL_ROWS != 0) continue;
        NVDP_RETURN_IF_FAILED(nvdp__check_cancelled(ctx, "cancelled"));
        nvdp__meter_update(&meter, i, (double)i, "words", NAN);
    }
    nvdp__meter_end(&meter);
    if (words->count > 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected words in UTF-8, found none",
                      reader->lines.path);
}

/* Says in one line what is odd about the file. */
static void log_odd(const struct reader *reader) {
    const bool other = reader->header && reader->declared != reader->count;
    char text[512] = "";
    struct nvdp__writer say = {text, sizeof text, 0};
    if (other)
        nvdp__append(&say, "; the first line says %zu words, the file has %zu", reader->declared,
                     reader->count);
    if (reader->spaced > 0)
        nvdp__append(&say, "; %zu words contain spaces, such as %s", reader->spaced,
                     reader->example.text);
    if (reader->repeated > 0)
        nvdp__append(&say, "; %zu rows repeat a word, whose first row counts", reader->repeated);
    if (reader->not_utf8 > 0)
        nvdp__append(&say, "; %zu words are not text in UTF-8 and are left out", reader->not_utf8);
    if (reader->nameless > 0)
        nvdp__append(&say, "; %zu rows without a word are left out", reader->nameless);
    if (text[0] != '\0')
        nvdp__log(reader->lines.ctx, NVDP_LOG_NOTICE, "%s: %s", reader->lines.path, text + 2);
}

nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp__word_vectors *out) {
    nvdp_status status = NVDP_OK;
    struct reader reader = {0};
    double *rows = NULL;
    char *word = NULL;
    words->ctx = ctx;
    NVDP_TRY(nvdp__check_regular(ctx, path)); /* it is read several times */
    NVDP_TRY(nvdp__lines_open(ctx, path, &reader.lines));
    NVDP_TRY(find_form(&reader));
    NVDP_TRY(NVDP__NEW(ctx, word, LONGEST_WORD));
    NVDP_TRY(count_rows(&reader, word));
    NVDP_TRY(NVDP__NEW(ctx, rows, reader.count * reader.dim));
    NVDP_TRY(read_rows(&reader, word, words, rows));
    log_odd(&reader);
    *out = (struct nvdp__word_vectors){.count = words->count, .dim = reader.dim, .rows = rows};
    rows = NULL;
cleanup:
    nvdp__lines_close(&reader.lines);
    free(rows);
    free(word);
    return status;
}
