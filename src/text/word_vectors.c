/* Reads files of word vectors as they are published: text of GloVe, word2vec and fastText, and
 * the binary form of word2vec.
 *
 *     V n              the first line, if present: two integers
 *     word v1 ... vn   a line of text; the last n fields are the numbers, so a word may contain
 *                      spaces
 *     word f1 ... fn   in the binary form, after a header: the word, a space, n float32 values,
 *                      little-endian, possibly a newline
 *
 * A sample of the beginning decides the form and n. Rows of text are read in blocks: while all threads parse the
 * numbers of a block, one of the threads first takes over the rows of the previous block and reads the next block. */
#include "base/file.h"
#include "base/sentence.h"
#include "tensor/vector.h"
#include "text/task.h"
#include "text/vectors.h"

#include <omp.h>
#include <stdlib.h>

enum {
    SAMPLE_BYTES = 1 << 20,
    SAMPLE_ROWS = 100,
    LONGEST_WORD = 1 << 16, /* max length of a word of the binary form, in bytes */
    CANCEL_ROWS = 1024,
    BLOCK_BYTES = 1 << 21, /* bytes of text that are parsed together */
    BLOCK_NUMBERS = 1 << 18,
    LONG_DIGITS = 19 /* any number with this many digits fits 64 bits */
};

struct reader {
    struct nvdp__lines lines;
    struct nvdp__strings *words;
    struct nvdp__vector_rows *rows;
    double *numbers; /* [capacity] numbers of a row that is read alone */
    size_t capacity;
    size_t count, dim; /* number of rows of the file; numbers per row */
    size_t declared;   /* number of words according to the first line */
    bool header, binary;
    struct nvdp__field line;
    const char *at, *end; /* the rest of the current line */
    /* numbers of rows that are unlike `word v1 ... vn`; `example` is the first word with spaces */
    size_t spaced, repeated, not_utf8, nameless;
    struct nvdp__quote example;
};

/* Returns the next field of a line; fields are separated by spaces and tabs. The size is 0 at the end. */
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

static void set_line(struct reader *reader, struct nvdp__field line) {
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

/* Returns the number with these eight digits, the first digit in the lowest byte. */
NVDP__INLINE uint64_t eight_digits(uint64_t eight) {
    eight = (eight * 10 + (eight >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    eight = (eight * 100 + (eight >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    return (eight * 10000 + (eight >> 32)) & UINT64_C(0x00000000FFFFFFFF);
}

/* Appends the digits at `at` to *digits; returns the end of the digits. */
static const char *take_digits(const char *at, const char *end, uint64_t *digits) {
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const uint64_t every = UINT64_C(0x0101010101010101), high = 0x80 * every;
    while (end - at >= 8) { /* eight digits at a time, the first digit in the lowest byte */
        uint64_t eight, other;
        memcpy(&eight, at, sizeof eight);
        eight ^= '0' * every;
        other = ((eight + 0x76 * every) | eight) & high; /* marks the bytes above 9 */
        const int n = other != 0 ? __builtin_ctzll(other) / 8 : 8;
        if (n == 0) return at;
        *digits = *digits * power[n] + eight_digits(eight << 8 * (8 - n));
        at += n;
        if (n < 8) return at;
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *digits = *digits * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Reads a number +-digits / 10^decimals, digits <= 2^53, which ends at a blank or at `end`; the sign is the upper
 * bit of *digits. Returns the end of the number, or NULL for other fields. */
static const char *short_decimal(const char *at, const char *end, uint64_t *digits,
                                 unsigned char *decimals) {
    const bool minus = at < end && *at == '-';
    const char *const start = at += minus;
    int places = 0, exponent = 0;
    *digits = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        *digits = *digits * 10 + (uint64_t)(*at - '0');
    size_t read = (size_t)(at - start);
    if (at < end && *at == '.') {
        const char *const point = ++at;
        at = take_digits(at, end, digits);
        read += (size_t)(at - point);
        places = at - point <= LONG_DIGITS ? (int)(at - point) : 0;
    }
    if (read < 1 || read > LONG_DIGITS || *digits > UINT64_C(1) << 53) return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const bool small = ++at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        const char *const first = at;
        for (; at < end && at - first < 3 && *at >= '0' && *at <= '9'; at++)
            exponent = exponent * 10 + (*at - '0');
        if (at == first) return NULL;
        places += small ? exponent : -exponent;
    }
    if (places < 0 || places > NVDP__ROW_DECIMALS || (at < end && *at != ' ' && *at != '\t'))
        return NULL;
    *decimals = (unsigned char)places;
    *digits |= (uint64_t)minus << 63;
    return at;
}

/* Reads a field that ends at `end`, has at least 8 bytes before its end, and has the form [-]d.d with 1 to 8
 * decimals, as most numbers do; returns false for other fields. Few steps of this function wait for each other. */
NVDP__INLINE bool usual_decimal(const char *at, const char *end, uint64_t *digits,
                                unsigned char *decimals) {
    static const uint32_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const uint64_t every = UINT64_C(0x0101010101010101), high = 0x80 * every;
    const bool minus = *at == '-';
    at += minus;
    const size_t places = (size_t)(end - at) - 2;
    const unsigned first = (unsigned)*at - '0';
    uint64_t eight;
    if (places - 1 > 7 || at[1] != '.' || first > 9) return false;
    memcpy(&eight, end - 8, sizeof eight); /* the last digit is in the highest byte */
    eight = (eight ^ '0' * every) & ~UINT64_C(0) << (64 - 8 * places);
    if ((((eight + 0x76 * every) | eight) & high) != 0) return false; /* some byte is above 9 */
    *digits = (first * (uint64_t)power[places] + eight_digits(eight)) | (uint64_t)minus << 63;
    *decimals = (unsigned char)places;
    return true;
}

/* Returns the number; digits and the power of ten are exact, so one division rounds correctly (Clinger 1990). */
static double decimal_value(uint64_t digits, unsigned char decimals) {
    const double value = (double)(digits & INT64_MAX) / nvdp__powers_of_ten[decimals];
    return digits >> 63 != 0 ? -value : value;
}

static const char *short_number(const char *at, const char *end, double *out) {
    uint64_t digits;
    unsigned char decimals;
    at = short_decimal(at, end, &digits, &decimals);
    if (at != NULL) *out = decimal_value(digits, decimals);
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

/* Guesses the numbers per row from one row: the number of numbers at its end, without the first field. */
static size_t guess_dim(struct reader row) {
    size_t fields = 0, numbers = 0;
    double value;
    for (struct nvdp__field field; (field = next_field(&row)).size > 0; fields++)
        numbers = number(field, &value) ? numbers + 1 : 0;
    return fields > 0 ? nvdp__min(numbers, fields - 1) : 0;
}

/* Returns the most frequent guess among the first rows; 0 if no row ends in numbers. */
static size_t common_dim(struct reader sample) {
    struct {
        size_t dim, times;
    } guess[SAMPLE_ROWS] = {0};
    size_t best = 0;
    struct nvdp__field rest = {sample.at, (size_t)(sample.end - sample.at)};
    for (size_t rows = 0; rows < SAMPLE_ROWS && rest.size > 0; rows++) {
        size_t g = 0;
        set_line(&sample, nvdp__take_part(&rest, '\n'));
        if (sample.line.size > 0 && sample.end[-1] == '\r') sample.end--;
        const size_t dim = guess_dim(sample);
        if (dim == 0) continue;
        while (guess[g].times > 0 && guess[g].dim != dim)
            g++;
        guess[g].dim = dim;
        if (++guess[g].times > guess[best].times) best = g;
    }
    return guess[best].dim;
}

/* Returns true if the file is binary. The sample begins after a header. The file is binary if the first line of the
 * sample is no row of text and has bytes that text never has. */
static bool is_binary(struct reader sample, size_t dim) {
    const size_t size = (size_t)(sample.end - sample.at);
    struct nvdp__field lines = {sample.at, size};
    struct reader first = sample;
    set_line(&first, nvdp__take_part(&lines, '\n'));
    if (guess_dim(first) >= dim) return false;
    const char *space = memchr(sample.at, ' ', size);
    if (space == NULL) return false;
    const size_t rest = nvdp__min((size_t)(sample.end - space), 4 * dim);
    for (size_t i = 0; i < rest; i++)
        if ((unsigned char)space[i] < '\t' || (unsigned char)space[i] == 0x7F) return true;
    return !nvdp__is_utf8(space, rest);
}

static nvdp_status find_form(struct reader *reader) {
    struct nvdp__field sample;
    struct reader first = *reader;
    size_t dim = 0;
    NVDP_TRY(nvdp__lines_peek(&reader->lines, SAMPLE_BYTES, &sample));
    const size_t mark = nvdp__byte_order_mark(sample.text, sample.size);
    set_line(&first, (struct nvdp__field){sample.text + mark, sample.size - mark});
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
    reader->lines.line = 0;
    reader->dim = fields - 1; /* reading the first row will report what is not a number */
    return NVDP_OK;
}

/* ---- words ---- */

/* Counts a row of the file and adds its word. *kept is false for a row that is skipped. */
static nvdp_status count_row(struct reader *reader, struct nvdp__field word, bool *kept) {
    const size_t row = reader->words->count;
    size_t index;
    if (++reader->count > INT32_MAX)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: %zu words of %zu dimensions, expected at most %d of each",
                          reader->lines.path, reader->count, reader->dim, INT32_MAX);
    bool text = nvdp__is_utf8(word.text, word.size), spaced = false;
    for (size_t i = 0; i < word.size; i++) {
        spaced = spaced || word.text[i] == ' ';
        text =
            text && (unsigned char)word.text[i] >= ' '; /* a tab would be a column of the output */
    }
    *kept = false;
    reader->nameless += word.size == 0;
    reader->not_utf8 += !text;
    if (word.size == 0 || !text) return NVDP_OK;
    NVDP_TRY(nvdp__strings_add(reader->words, word.text, word.size, &index));
    *kept = index == row;
    reader->repeated += !*kept;
    if (*kept && spaced && reader->spaced++ == 0) reader->example = nvdp__quote_field(word);
    return NVDP_OK;
}

/* ---- rows of text ---- */

/* Reads the last dim fields; *bad is the index of the first field that is not a number, or dim. */
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

/* Splits a row whose word has spaces or is empty. */
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
    if (numbers >= dim && numbers > 1) /* the line has two rows */
        return LINE_FAIL(reader, "expected %zu numbers, found %zu", dim, numbers + dim);
    return NVDP_OK;
}

/* Reads the current line, in any form. */
static nvdp_status read_row(struct reader *reader) {
    const char *start = reader->at;
    struct nvdp__field word = next_field(reader);
    size_t bad;
    bool kept;
    NVDP_TRY(nvdp__reserve(reader->lines.ctx, &reader->numbers, &reader->capacity, reader->dim,
                           sizeof(double)));
    read_numbers(reader, reader->numbers, &bad);
    if (bad < reader->dim || reader->at < reader->end) { /* rare: spaces around or in the word */
        reader->at = start;
        NVDP_TRY(split_row(reader, &word));
        const char *numbers = reader->at;
        read_numbers(reader, reader->numbers, &bad);
        reader->at = numbers;
        for (size_t k = 0; bad < reader->dim && k < bad; k++)
            (void)next_field(reader);
        if (bad < reader->dim)
            return LINE_FAIL(reader, "number %zu: expected a finite one of at most 1e150, found %s",
                             bad + 1, nvdp__quote_field(next_field(reader)).text);
    }
    NVDP_TRY(count_row(reader, word, &kept));
    return kept ? nvdp__vector_rows_add_doubles(reader->rows, reader->numbers) : NVDP_OK;
}

/* A line of a block. A plain line is `word v1 ... vn`; any other line is read alone. */
struct text_row {
    struct nvdp__field line;
    size_t number; /* number of the line */
    struct nvdp__field word;
    uint32_t *
        /* memory in the table, for a row of four bytes per number; the next block gets the unused memory */
        space;
    unsigned char form;
    bool plain;
};

struct block {
    char *text; /* owned; contains the lines */
    size_t text_capacity;
    /* `whole` is the number of rows that are parsed; `lines` includes empty lines */
    size_t rows, whole, bytes, lines;
    struct text_row *row; /* [capacity] the lines */
    double *numbers;      /* [capacity, dim] numbers of rows that are doubles */
};

/* The state that the blocks share. */
struct blocks {
    /* owner of these arrays, and of the arrays of the blocks except `text` */
    struct nvdp__memory memory;
    size_t capacity; /* max rows of a block */
    size_t line;     /* number of lines before the next block */
    struct block block[3];
    /* scratch buffers of each thread */
    uint64_t *digits;        /* [threads, dim] digits of the numbers of a line */
    unsigned char *decimals; /* [threads, dim] number of decimals of each number */
    const char **stop;       /* [threads, dim + 1] ends of the fields of a line */
};

/* Finds the next lines; finds none at the end of the file. */
static nvdp_status find_lines(struct nvdp__lines *lines, const struct blocks *blocks,
                              struct block *block) {
    struct nvdp__field bytes;
    bool ended = false;
    block->rows = block->bytes = block->lines = 0;
    for (size_t want = BLOCK_BYTES; block->lines == 0 && !ended; want *= 2) {
        NVDP_TRY(nvdp__lines_peek(lines, want, &bytes));
        ended = bytes.size < want;
        while (block->rows < blocks->capacity && block->bytes < bytes.size) {
            const char *at = bytes.text + block->bytes;
            const size_t left = bytes.size - block->bytes;
            const char *stop = memchr(at, '\n', left);
            if (stop == NULL && !ended) break;
            size_t size = stop != NULL ? (size_t)(stop - at) : left;
            block->bytes += size + (stop != NULL);
            const size_t number = blocks->line + ++block->lines;
            const size_t mark = number == 1 ? nvdp__byte_order_mark(at, size) : 0;
            if (size > 0 && at[size - 1] == '\r') size--;
            if (size <= mark) continue;
            struct text_row *row = &block->row[block->rows++];
            row->line = (struct nvdp__field){at + mark, size - mark};
            row->number = number;
        }
    }
    return NVDP_OK;
}

/* Gives the block the buffer that contains its lines, and copies the bytes after the lines to the block's old
 * buffer. */
static nvdp_status take_buffer(struct nvdp__lines *lines, struct block *block) {
    const size_t end = lines->used + block->bytes, left = lines->have - end;
    NVDP_TRY(nvdp__reserve(lines->ctx, &block->text, &block->text_capacity, left + 1, 1));
    memcpy(block->text, lines->buffer + end, left);
    const size_t capacity = lines->capacity;
    char *text = lines->buffer;
    lines->buffer = block->text;
    lines->capacity = block->text_capacity;
    lines->have = left;
    lines->used = 0;
    block->text = text;
    block->text_capacity = capacity;
    return NVDP_OK;
}

/* Reads the next lines. */
static nvdp_status next_block(struct reader *reader, struct blocks *blocks, struct block *block) {
    const size_t dim = reader->dim;
    struct nvdp_context *ctx = reader->lines.ctx;
    const size_t threads = (size_t)nvdp_context_threads(ctx);
    reader->lines.line = blocks->line;
    NVDP_TRY(find_lines(&reader->lines, blocks, block));
    if (block->lines == 0) return NVDP_OK;
    NVDP_TRY(take_buffer(&reader->lines, block));
    blocks->line += block->lines;
    /* A row has at least a digit and a space per number; otherwise the memory could be far larger than the file. */
    for (block->whole = 0; block->whole < block->rows; block->whole++) {
        struct text_row *row = &block->row[block->whole];
        if (row->line.size < 2 * dim) break;
        if (dim <= NVDP__ROW_WIDEST && row->space == NULL)
            NVDP_TRY(nvdp__vector_rows_space(reader->rows, dim * sizeof *row->space, &row->space));
    }
    if (block->whole > 0 && block->numbers == NULL)
        NVDP_TRY(NVDP__ARRAYS(ctx, &blocks->memory,
                              NVDP__ITEMS(block->numbers, blocks->capacity * dim)));
    if (block->whole == 0 || blocks->stop != NULL) return NVDP_OK;
    return NVDP__ARRAYS(ctx, &blocks->memory, NVDP__ITEMS(blocks->digits, threads * dim),
                        NVDP__ITEMS(blocks->decimals, threads * dim),
                        NVDP__ITEMS(blocks->stop, threads * (dim + 1)));
}

/* Writes the end of each of a line's n fields, which are separated by single spaces. Returns false if there are more
 * or fewer fields. Compares 64 bytes at a time. */
static bool find_fields(struct nvdp__field line, size_t n, const char **stop) {
    const uint64_t every = UINT64_C(0x0101010101010101), low = 0x7F * every;
    size_t fields = 0;
    for (size_t from = 0; from < line.size; from += 64) {
        uint64_t blanks = 0;
        for (size_t at = from; at < from + 64 && at + 8 <= line.size; at += 8) {
            uint64_t eight;
            memcpy(&eight, line.text + at, sizeof eight);
            eight ^= ' ' * every;
            eight = ~(((eight & low) + low) | eight | low); /* 0x80 in the bytes that were blanks */
            blanks |= (eight >> 7) * UINT64_C(0x0102040810204080) >> 56 << (at - from);
        }
        for (size_t at = nvdp__max(line.size / 8 * 8, from); at < line.size && at < from + 64; at++)
            blanks |= (uint64_t)(line.text[at] == ' ') << (at - from);
        for (; blanks != 0; blanks &= blanks - 1) {
            if (fields + 1 == n) return false;
            stop[fields++] = line.text + from + __builtin_ctzll(blanks);
        }
    }
    stop[fields++] = line.text + line.size;
    return fields == n;
}

/* Reads the decimals of a line; returns false if the line is not plain or has other numbers. */
static bool parse_decimals(const struct reader *reader, struct text_row *row, uint64_t *digits,
                           unsigned char *decimals, const char **stop) {
    const size_t dim = reader->dim;
    if (!find_fields(row->line, dim + 1, stop)) return false;
    row->word = (struct nvdp__field){row->line.text, (size_t)(stop[0] - row->line.text)};
    if (memchr(row->word.text, '\t', row->word.size) != NULL) return false;
    for (size_t k = 0; k < dim; k++) {
        const char *const at = stop[k] + 1, *const end = stop[k + 1];
        if (end - row->line.text >= 8 && end - at > 2 &&
            usual_decimal(at, end, &digits[k], &decimals[k]))
            continue;
        const char *const after = short_decimal(at, end, &digits[k], &decimals[k]);
        if (after == NULL || after != end) return false;
    }
    return true;
}

/* Parses a plain row. */
static void parse_row(const struct reader *reader, struct text_row *row, uint64_t *digits,
                      unsigned char *decimals, const char **stop, double *numbers) {
    const size_t dim = reader->dim;
    struct reader own = {.dim = dim};
    size_t k = dim;
    row->form = NVDP__ROW_DOUBLES;
    row->plain = parse_decimals(reader, row, digits, decimals, stop);
    if (row->plain) {
        row->form = nvdp__row_of_decimals(dim, digits, decimals, row->space);
        for (size_t i = 0; row->form == NVDP__ROW_DOUBLES && i < dim; i++)
            numbers[i] = decimal_value(digits[i], decimals[i]);
        return;
    }
    set_line(&own, row->line);
    row->word = next_field(&own);
    read_numbers(&own, numbers, &k);
    row->plain = k == dim && own.at == own.end;
}

/* Takes over the rows of a parsed block. */
static nvdp_status take_block(struct reader *reader, struct block *block) {
    bool kept;
    for (size_t i = 0; i < block->rows; i++) {
        struct text_row *row = &block->row[i];
        reader->lines.line = row->number;
        set_line(reader, row->line);
        if (i == block->whole)
            return LINE_FAIL(reader, "expected a word and %zu numbers%s, found %zu fields",
                             reader->dim, reader->header ? ", as the first line says" : "",
                             count_fields(*reader));
        if (!row->plain) {
            NVDP_TRY(read_row(reader));
            continue;
        }
        NVDP_TRY(count_row(reader, row->word, &kept));
        if (!kept) continue;
        if (row->form == NVDP__ROW_DOUBLES) {
            NVDP_TRY(nvdp__vector_rows_add_doubles(reader->rows, block->numbers + i * reader->dim));
            continue;
        }
        NVDP_TRY(nvdp__vector_rows_put(reader->rows, row->form, row->space));
        row->space = NULL;
    }
    block->rows = 0;
    return NVDP_OK;
}

/* Parses the rows of `now`, while one thread takes over the rows of `before` and reads `after`. */
static nvdp_status advance(struct reader *reader, struct blocks *blocks, struct block *before,
                           struct block *now, struct block *after) {
    const int threads = nvdp_context_threads(reader->lines.ctx);
    const size_t dim = reader->dim;
    nvdp_status status = NVDP_OK;
#pragma omp parallel num_threads(threads)
    {
#pragma omp single nowait
        {
            status = take_block(reader, before);
            if (status == NVDP_OK) status = next_block(reader, blocks, after);
        }
#pragma omp for schedule(dynamic, 16)
        for (size_t i = 0; i < now->whole; i++) {
            const size_t thread = (size_t)omp_get_thread_num();
            parse_row(reader, &now->row[i], blocks->digits + thread * dim,
                      blocks->decimals + thread * dim, blocks->stop + thread * (dim + 1),
                      now->numbers + i * dim);
        }
    }
    return status;
}

static void release_blocks(struct blocks *blocks) {
    for (size_t b = 0; b < 3; b++)
        free(blocks->block[b].text);
    nvdp__memory_release(&blocks->memory);
}

static nvdp_status read_text(struct reader *reader, struct nvdp__meter *meter) {
    struct nvdp_context *ctx = reader->lines.ctx;
    const size_t rows = BLOCK_NUMBERS / nvdp__max(reader->dim, 1);
    nvdp__auto(release_blocks) struct blocks blocks = {.capacity = nvdp__max(rows, 1),
                                                       .line = reader->lines.line};
    struct block *block = blocks.block;
    size_t i = 0;
    for (size_t b = 0; b < 3; b++)
        NVDP_TRY(NVDP__ARRAYS(ctx, &blocks.memory, NVDP__ITEMS(block[b].row, blocks.capacity)));
    NVDP_TRY(next_block(reader, &blocks, &block[1]));
    for (; block[(i + 1) % 3].lines > 0; i++) {
        NVDP_TRY(advance(reader, &blocks, &block[i % 3], &block[(i + 1) % 3], &block[(i + 2) % 3]));
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        nvdp__meter_update(meter, reader->count, (double)reader->count, "words", NAN);
    }
    return take_block(reader, &block[i % 3]);
}

/* ---- rows of the binary form ---- */

/* Reads the next row of the binary form. The bytes of the word are in *word until the next call. */
static nvdp_status next_binary(struct reader *reader, char *word, size_t *size, bool *found) {
    struct nvdp__field byte;
    *size = 0;
    for (;;) {
        NVDP_TRY(nvdp__lines_take(&reader->lines, 1, &byte));
        *found = byte.size > 0;
        if (!*found || *byte.text == ' ') break;
        if (*size == 0 && *byte.text == '\n') continue; /* this byte ends the row before */
        if (*size == LONGEST_WORD)
            return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                              "%s: word %zu: expected at most %d bytes before a space, found more",
                              reader->lines.path, reader->lines.line, LONGEST_WORD);
        word[(*size)++] = *byte.text;
    }
    if (!*found && *size == 0) return NVDP_OK;
    if (*found) NVDP_TRY(nvdp__lines_take(&reader->lines, 4 * reader->dim, &byte));
    if (!*found || byte.size < 4 * reader->dim)
        return nvdp__fail(reader->lines.ctx, NVDP_ERR_INPUT,
                          "%s: word %zu: expected %zu numbers of 4 bytes, found the end of the "
                          "file; make or download the file again",
                          reader->lines.path, reader->lines.line, reader->dim);
    reader->lines.line++;
    set_line(reader, byte);
    return NVDP_OK;
}

static nvdp_status read_binary(struct reader *reader, struct nvdp__meter *meter) {
    struct nvdp_context *ctx = reader->lines.ctx;
    nvdp__autofree char *word = NULL;
    nvdp__autofree float *row = NULL;
    const size_t dim = reader->dim;
    size_t size, capacity = 0;
    bool kept;
    NVDP_TRY(NVDP__NEW(ctx, word, LONGEST_WORD));
    for (bool found = true;;) {
        NVDP_TRY(next_binary(reader, word, &size, &found));
        if (!found) break;
        const struct nvdp__field name = {word, size};
        NVDP_TRY(nvdp__reserve(ctx, &row, &capacity, dim, sizeof *row));
        memcpy(row, reader->at, dim * sizeof *row);
        for (size_t k = 0; k < dim; k++)
            if (!isfinite(row[k]))
                return nvdp__fail(
                    ctx, NVDP_ERR_INPUT, "%s: word %s: number %zu: expected a finite one, found %g",
                    reader->lines.path, nvdp__quote_field(name).text, k + 1, (double)row[k]);
        NVDP_TRY(count_row(reader, name, &kept));
        if (kept) NVDP_TRY(nvdp__vector_rows_add_floats(reader->rows, row));
        if (reader->count % CANCEL_ROWS != 0) continue;
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        nvdp__meter_update(meter, reader->count, (double)reader->count, "words", NAN);
    }
    return NVDP_OK;
}

/* ---- the file ---- */

static nvdp_status read_rows(struct reader *reader) {
    struct nvdp_context *ctx = reader->lines.ctx;
    const char *path = reader->lines.path;
    struct nvdp__field line;
    struct nvdp__meter meter;
    bool found;
    if (reader->dim > INT32_MAX)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: %zu dimensions, expected at most %d", path,
                          reader->dim, INT32_MAX);
    if (reader->header) NVDP_TRY(nvdp__lines_next(&reader->lines, &line, &found));
    nvdp__meter_begin(&meter, ctx, "word vectors", "words", 0,
                      reader->header ? reader->declared : 0);
    NVDP_TRY(reader->binary ? read_binary(reader, &meter) : read_text(reader, &meter));
    nvdp__meter_end(&meter);
    if (reader->rows->count > 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected %s, found none", path,
                      reader->count == 0 ? "a word and its vector a line" : "words in UTF-8");
}

/* Logs in one line what is unusual about the file. */
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
        nvdp__append(&say, "; %zu words have control characters or are not UTF-8, and are left out",
                     reader->not_utf8);
    if (reader->nameless > 0)
        nvdp__append(&say, "; %zu rows without a word are left out", reader->nameless);
    if (text[0] != '\0')
        nvdp__log(reader->lines.ctx, NVDP_LOG_NOTICE, "%s: %s", reader->lines.path, text + 2);
}

static void release(struct reader *reader) {
    nvdp__lines_close(&reader->lines);
    free(reader->numbers);
}

nvdp_status nvdp__word_vectors_read(struct nvdp_context *ctx, const char *path,
                                    struct nvdp__strings *words, struct nvdp__vector_rows *out) {
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows rows = {.ctx = ctx};
    nvdp__auto(release) struct reader reader = {.words = words, .rows = &rows};
    words->ctx = ctx;
    NVDP_TRY(nvdp__check_regular(ctx, path));
    NVDP_TRY(nvdp__lines_open(ctx, path, &reader.lines));
    NVDP_TRY(find_form(&reader));
    rows.dim = reader.dim;
    NVDP_TRY(read_rows(&reader));
    log_odd(&reader);
    return NVDP__HAND_OVER(out, rows);
}
