/* Reads files of word vectors as written by GloVe and word2vec: each line is a word and its
 * numbers.
 *
 *     V n              the first line, if present: two integers
 *     word v1 ... vn
 *
 * There are two passes: the first counts lines, so that the second fills an array of the right
 * size. */
#include "text/word_vectors.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>

struct reader {
    struct nvdp__lines lines;
    size_t count, dim; /* of the table */
    size_t declared;   /* words according to the first line */
    bool header;
    struct nvdp__line line;
    const char *at, *end; /* rest of the line */
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

static nvdp_status next_line(struct reader *reader, bool *found) {
    NVDP_RETURN_IF_FAILED(nvdp__lines_next(&reader->lines, &reader->line, found));
    reader->at = reader->line.text;
    reader->end = reader->line.text + reader->line.size;
    return NVDP_OK;
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

static nvdp_status measure(struct reader *reader) {
    bool found;
    size_t declared_dim = 0;
    NVDP_RETURN_IF_FAILED(next_line(reader, &found));
    struct reader first = *reader;
    reader->header = found && count_fields(*reader) == 2 &&
                     whole(next_field(&first), &reader->declared) &&
                     whole(next_field(&first), &declared_dim);
    if (reader->header) NVDP_RETURN_IF_FAILED(next_line(reader, &found));
    if (!found)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: expected a word and its vector a line, found none",
                          reader->lines.path);
    const size_t fields = count_fields(*reader);
    if (fields < 2)
        return LINE_FAIL(reader, "expected a word and its vector, found %zu fields", fields);
    reader->dim = fields - 1;
    if (reader->header && declared_dim != reader->dim)
        return LINE_FAIL(reader, "expected %zu numbers, as the first line says, found %zu",
                         declared_dim, reader->dim);
    while (found) {
        /* A word, and at least a space and a digit per number; otherwise the array could be far
         * larger than the file. */
        if (reader->line.size < 1 + 2 * reader->dim)
            return LINE_FAIL(reader, "expected a word and %zu numbers, found %zu fields",
                             reader->dim, count_fields(*reader));
        reader->count++;
        NVDP_RETURN_IF_FAILED(next_line(reader, &found));
    }
    if (reader->header && reader->declared != reader->count)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s:1: expected %zu words, as the first line says, found %zu",
                          reader->lines.path, reader->declared, reader->count);
    size_t bytes;
    if (reader->count > INT32_MAX || reader->dim > INT32_MAX ||
        !nvdp__mul(reader->count, reader->dim, &bytes) || !nvdp__mul(bytes, sizeof(double), &bytes))
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: %zu words of %zu dimensions, expected at most %d of each",
                          reader->lines.path, reader->count, reader->dim, INT32_MAX);
    return NVDP_OK;
}

/* Reads a decimal number. Up to 15 digits and a power of ten up to 22 are both exact doubles, so
 * one multiplication or division rounds correctly (Clinger 1990); strtod reads the others. */
static bool number(struct nvdp__field field, double *out) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[128];
    const char *at = field.text, *end = at + field.size;
    const bool minus = at < end && *at == '-';
    uint64_t digits = 0;
    size_t read = 0, behind = 0;
    bool point = false;
    for (at += minus; at < end && (*at == '.' ? !point : *at >= '0' && *at <= '9'); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits = 10 * digits + (uint64_t)(*at - '0');
        read++;
        behind += point;
        if (read > 15) break;
    }
    if (at == end && read > 0) {
        *out = (double)digits / power[behind];
        if (minus) *out = -*out;
        return true;
    }
    if (field.size == 0 || field.size >= sizeof text) return false;
    memcpy(text, field.text, field.size);
    text[field.size] = '\0';
    if (strspn(text, "0123456789+-.eE") != field.size) return false;
    char *stop = NULL;
    *out = nvdp__strtod(text, &stop);
    return stop == text + field.size && fabs(*out) <= 1e150;
}

static nvdp_status read_word(struct reader *reader, struct nvdp__strings *words) {
    const struct nvdp__field word = next_field(reader);
    size_t index, row = words->count;
    bool plain = nvdp__is_utf8(word.text, word.size);
    for (size_t i = 0; i < word.size; i++)
        plain = plain && (unsigned char)word.text[i] >= ' ';
    if (!plain)
        return LINE_FAIL(reader, "expected a word in UTF-8 without control characters, found %s",
                         nvdp__quote_field(word).text);
    NVDP_RETURN_IF_FAILED(nvdp__strings_add(words, word.text, word.size, &index));
    if (index < row)
        return LINE_FAIL(reader, "word %s: expected once, found before on line %zu",
                         nvdp__quote_field(word).text, index + 1 + reader->header);
    return NVDP_OK;
}

static nvdp_status read_line(struct reader *reader, struct nvdp__strings *words, double *row) {
    NVDP_RETURN_IF_FAILED(read_word(reader, words));
    for (size_t k = 0; k < reader->dim; k++) {
        const struct nvdp__field field = next_field(reader);
        if (field.size == 0)
            return LINE_FAIL(reader, "expected %zu numbers, found %zu", reader->dim, k);
        if (!number(field, &row[k]))
            return LINE_FAIL(reader, "number %zu: expected a finite one of at most 1e150, found %s",
                             k + 1, nvdp__quote_field(field).text);
    }
    if (next_field(reader).size > 0)
        return LINE_FAIL(reader, "expected %zu numbers, found %zu", reader->dim,
                         reader->dim + 1 + count_fields(*reader));
    return NVDP_OK;
}

nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp__word_vectors *out) {
    nvdp_status status = NVDP_OK;
    struct reader reader = {0};
    struct nvdp__meter meter;
    double *rows = NULL;
    bool found = true;
    NVDP_TRY(nvdp__check_regular(ctx, path)); /* it is read twice */
    NVDP_TRY(nvdp__lines_open(ctx, path, &reader.lines));
    NVDP_TRY(measure(&reader));
    nvdp__lines_close(&reader.lines);
    NVDP_TRY(nvdp__lines_open(ctx, path, &reader.lines));
    NVDP_TRY(NVDP__NEW(ctx, rows, reader.count * reader.dim));
    words->ctx = ctx;
    if (reader.header) NVDP_TRY(next_line(&reader, &found));
    nvdp__meter_begin(&meter, ctx, "word vectors", "words", 0, reader.count);
    for (size_t i = 0; i < reader.count && found; i++) {
        NVDP_TRY(next_line(&reader, &found));
        if (!found) break;
        NVDP_TRY(read_line(&reader, words, rows + i * reader.dim));
        if (i % 1024 == 0) {
            NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
            nvdp__meter_update(&meter, i, (double)i, "words", NAN);
        }
    }
    if (words->count != reader.count)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: the file changed while it was read", path));
    nvdp__meter_end(&meter);
    *out = (struct nvdp__word_vectors){.count = reader.count, .dim = reader.dim, .rows = rows};
    rows = NULL;
cleanup:
    nvdp__lines_close(&reader.lines);
    free(rows);
    return status;
}
