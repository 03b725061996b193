/* Text (sentence.h): appended, aligned and wrapped text; bounds as text; suggestions for misspelled names; untrusted
 * text; text escaped by one list of replacements per format; patterns. */
#include "base/sentence.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN = 18, WIDTH = 78 };

void nvdp__append(struct nvdp__writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length =
        nvdp__vsnprintf(writer->out + writer->used, writer->size - writer->used, format, args);
    va_end(args);
    if (length < 0) return;
    size_t left = writer->size - writer->used - 1;
    writer->used += (size_t)length < left ? (size_t)length : left;
}

void nvdp__append_item(struct nvdp__writer *writer, size_t i, bool last, const char *item) {
    nvdp__append(writer, "%s%s", i == 0 ? "" : last ? " or " : ", ", item);
}

nvdp_status nvdp__printed(struct nvdp_context *ctx, void (*print)(const void *of, FILE *to),
                          const void *of, char **out) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL) print(of, to);
    const bool whole = to != NULL && ferror(to) == 0;
    if (to == NULL || fclose(to) != 0 || !whole) {
        free(text);
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    }
    *out = text;
    return NVDP_OK;
}

void nvdp__print_row_args(FILE *to, const char *name, const char *format, va_list args) {
    char *value = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&value, &size);
    if (text == NULL) return;
    nvdp__vfprintf(text, format, args);
    if (fclose(text) == 0) {
        nvdp__fprintf(to, "%-*s", COLUMN, name);
        nvdp__put_shown(to, value);
        putc('\n', to);
    }
    free(value);
}

void nvdp__print_row(FILE *to, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    nvdp__print_row_args(to, name, format, args);
    va_end(args);
}

/* Writes one line of a text after `before`, wrapped. `carried` begins the continuation lines. Returns the end of the
 * line. */
static const char *print_line(FILE *to, const char *word, const char *before, const char *carried) {
    size_t column = strlen(before);
    fputs(before, to);
    for (bool first = true; *word != '\0' && *word != '\n'; word += strspn(word, " ")) {
        const size_t length = strcspn(word, " \n");
        const bool fits = first || column + 1 + length <= WIDTH;
        if (!fits) nvdp__fprintf(to, "\n%s", carried);
        column = fits ? column + !first : strlen(carried);
        nvdp__fprintf(to, "%s%.*s", fits && !first ? " " : "", (int)length, word);
        column += length;
        word += length;
        first = false;
    }
    putc('\n', to);
    return word;
}

static void print_lines(FILE *to, const char *text, const char *before, const char *carried) {
    for (const char *end = print_line(to, text, before, carried); *end == '\n' && end[1] != '\0';)
        end = print_line(to, end + 1, before, carried);
}

void nvdp__print_wrapped(FILE *to, const char *text) {
    print_lines(to, text, "", strchr(text, '\n') != NULL ? "  " : "");
}

void nvdp__print_quoted(FILE *to, const char *text) {
    print_lines(to, text, "> ", ">   ");
}

/* ---- bounds as text ---- */

/* Returns the smallest multiple of `step` that is not below `value`, or the nearest multiple if it is within 1e-9 of
 * the value. */
static double multiple(double value, double step) {
    const double quotient = value / step, nearest = round(quotient);
    return fabs(quotient - nearest) <= 1e-9 * fabs(quotient) ? nearest : ceil(quotient);
}

/* Rounds up to `digits` significant digits. Scales by a power of ten with a nonnegative exponent, because only such
 * powers are exact. */
static double rounded(double value, int digits) {
    const int place = (int)floor(log10(fabs(value))) + 1 - digits;
    const double power = pow(10, abs(place));
    return place < 0 ? multiple(value * power, 1) / power : multiple(value, power) * power;
}

struct nvdp__short_text nvdp__short_text(const char *format, ...) {
    struct nvdp__short_text made;
    va_list args;
    va_start(args, format);
    nvdp__vsnprintf(made.text, sizeof made.text, format, args);
    va_end(args);
    return made;
}

struct nvdp__short_text nvdp__samples_text(double samples) {
    return nvdp__short_text(samples == 1 ? "one sample" : "%.0f samples", samples);
}

/* Formats a bound: rounds up if sign is 1, and down if sign is -1. */
static struct nvdp__short_text bound(double value, int sign) {
    enum { DIGITS = 4 };
    const double made =
        isfinite(value) && value != 0 ? sign * rounded(sign * value, DIGITS) : value;
    const bool plain = fabs(made) < 1e9 && fabs(made) >= 1e3; /* prints "12720", not "1.272e+04" */
    return nvdp__short_text(plain ? "%.0f" : "%.4g", made);
}

struct nvdp__short_text nvdp__bound(double value) {
    return bound(value, 1);
}

struct nvdp__short_text nvdp__bound_below(double value) {
    return bound(value, -1);
}

struct nvdp__short_text nvdp__share_bound(double probability) {
    const double percent = 100 * probability;
    if (percent > 0 && percent < 1) return nvdp__short_text("%.2g %%", rounded(percent, 2));
    return nvdp__short_text("%.5g %%", multiple(10 * percent, 1) / 10);
}

double nvdp__lower_bound(double value, int decimals) {
    return -multiple(-value * pow(10, decimals), 1) / pow(10, decimals);
}

/* ---- suggestions for misspelled names, by edit distance ---- */

/* Max length of names that are compared. */
enum { LONGEST = 40 };

/* Normalizes a letter: '_' counts as '-'. */
static int letter(char c) {
    return c == '_' ? '-' : c;
}

/* Returns the number of insertions, deletions, substitutions and swaps of adjacent letters between a and b (Damerau
 * 1964, restricted: each position is edited once). */
static size_t distance(const char *a, const char *b) {
    size_t row[3][LONGEST + 1], n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const int x = letter(a[i - 1]), y = letter(b[j - 1]);
            now[j] = nvdp__min(nvdp__min(above[j], now[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == letter(b[j - 2]) && y == letter(a[i - 2]))
                now[j] = nvdp__min(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

void nvdp__guess(struct nvdp__guess *guess, const char *name) {
    const size_t length = strlen(guess->word), limit = 1 + length / 5;
    if (name == NULL || length > LONGEST || strlen(name) > LONGEST) return;
    const size_t here = distance(guess->word, name);
    if (strcmp(guess->word, name) == 0 || here > limit || here >= strlen(name)) return;
    if (guess->text[0] != '\0' && here >= guess->distance) return;
    guess->distance = here;
    nvdp__snprintf(guess->text, sizeof guess->text, "; did you mean '%s'?", name);
}

const char *nvdp__preset_name(const char *name) {
    return name != NULL && strcmp(name, "private") == 0 ? "per-nat" : name;
}

/* ---- untrusted text ---- */

/* Decodes a character of UTF-8. Returns the number of its bytes, 0 if the bytes end within the character, or -1 if
 * the bytes are not UTF-8. */
static int decode(const unsigned char *at, size_t count, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = at[0] < 0x80                    ? 1
                       : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                       : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                       : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                       : -1;
    if (length < 0) return -1;
    *code = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (int i = 1; i < length; i++) {
        if ((size_t)i == count) return 0;
        if ((at[i] & 0xc0) != 0x80) return -1;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    const bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return surrogate || *code < least[length] || *code > 0x10ffff ? -1 : length;
}

static bool is_plain(uint32_t code) {
    static const uint32_t others[][2] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200b}, {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i][0] <= code && code <= others[i][1]) return false;
    return true;
}

size_t nvdp__show_character(const char *text, size_t count, char out[NVDP__SHOWN]) {
    uint32_t code = 0;
    const int length = decode((const unsigned char *)text, count, &code);
    if (length < 0) {
        nvdp__snprintf(out, NVDP__SHOWN, "\\x%02x", (unsigned)(unsigned char)text[0]);
    } else if (is_plain(code)) {
        memcpy(out, text, (size_t)length);
        out[length] = '\0';
    } else if (code < 0x10000) {
        nvdp__snprintf(out, NVDP__SHOWN, "\\u%04x", (unsigned)code);
    } else {
        nvdp__snprintf(out, NVDP__SHOWN, "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(code >> 10),
                       0xdc00 + (unsigned)(code & 0x3ff));
    }
    return (size_t)abs(length);
}

/* Writes the first character of a NUL-terminated string in visible form, and returns the rest of the string. An
 * incomplete character is not UTF-8. */
static const char *show_next(const char *text, char out[NVDP__SHOWN]) {
    const size_t length = nvdp__show_character(text, SIZE_MAX, out);
    return text + length;
}

size_t nvdp__show_into(char *out, size_t size, const char *text) {
    char shown[NVDP__SHOWN];
    size_t used = 0;
    while (*text != '\0') {
        text = show_next(text, shown);
        const size_t length = strlen(shown);
        if (used + length >= size) break;
        memcpy(out + used, shown, length);
        used += length;
    }
    out[used] = '\0';
    return used;
}

void nvdp__put_shown(FILE *to, const char *text) {
    char shown[NVDP__SHOWN];
    while (*text != '\0') {
        text = show_next(text, shown);
        fputs(shown, to);
    }
}

void nvdp__put_tsv(FILE *to, const char *text) {
    char shown[NVDP__SHOWN];
    while (*text != '\0') {
        const bool escape = text[0] == '\\' && text[1] == 'u';
        text = show_next(text, shown);
        fputs(escape ? "\\u005c" : shown, to);
    }
}

/* ---- formats ---- */

struct replacement {
    const char *from, *to;
};

static void put(FILE *to, const char *text, const struct replacement *list) {
    while (*text != '\0') {
        const struct replacement *found = list;
        while (found->from != NULL && strncmp(text, found->from, strlen(found->from)) != 0)
            found++;
        if (found->from != NULL) {
            fputs(found->to, to);
            text += strlen(found->from);
        } else {
            fputc(*text++, to);
        }
    }
}

void nvdp__put_html(FILE *to, const char *text) {
    static const struct replacement list[] = {{"&", "&amp;"},   {"<", "&lt;"},  {">", "&gt;"},
                                              {"\"", "&quot;"}, {"'", "&#39;"}, {"+-", "±"},
                                              {NULL, NULL}};
    put(to, text, list);
}

void nvdp__put_latex(FILE *to, const char *text) {
    static const struct replacement list[] = {{"\\", "\\textbackslash{}"},
                                              {"{", "\\{"},
                                              {"}", "\\}"},
                                              {"$", "\\$"},
                                              {"&", "\\&"},
                                              {"#", "\\#"},
                                              {"%", "\\%"},
                                              {"_", "\\_"},
                                              {"^", "\\textasciicircum{}"},
                                              {"~", "\\textasciitilde{}"},
                                              {"<", "$<$"},
                                              {">", "$>$"},
                                              {"|", "$|$"},
                                              {"\"", "''"},
                                              {"+-", "$\\pm$"},
                                              {NULL, NULL}};
    put(to, text, list);
}

void nvdp__put_markdown(FILE *to, const char *text) {
    static const struct replacement list[] = {
        {"\\", "\\\\"}, {"|", "\\|"}, {"*", "\\*"},  {"_", "\\_"},  {"`", "\\`"},
        {"[", "\\["},   {"]", "\\]"}, {"<", "&lt;"}, {">", "&gt;"}, {"&", "&amp;"},
        {"#", "\\#"},   {"~", "\\~"}, {"+-", "±"},   {NULL, NULL}};
    put(to, text, list);
}

/* True if a spreadsheet would evaluate the cell. Numbers, and strings of numbers such as "-0.5 to +1", are harmless.
 * A quote before the cell makes the cell a string. */
static bool is_formula(const char *text) {
    return *text != '\0' && strchr("=+-@\t\r", *text) != NULL &&
           text[strspn(text, "0123456789.+-e% ()\302\261tofina")] != '\0';
}

void nvdp__put_csv(FILE *to, const char *text) {
    static const struct replacement list[] = {{"\"", "\"\""}, {NULL, NULL}};
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";
    fputs(quote, to);
    if (is_formula(text)) fputc('\'', to);
    put(to, text, list);
    fputs(quote, to);
}

void nvdp__put_gnuplot(FILE *to, const char *text) {
    /* Backquotes would run a command. */
    static const struct replacement list[] = {
        {"\\", "\\\\"}, {"\"", "\\\""}, {"`", "'"}, {"\n", " "}, {NULL, NULL}};
    fputc('"', to);
    put(to, text, list);
    fputc('"', to);
}

static bool is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}

static bool has_control(const char *text) {
    while (*text != '\0' && !is_control(*text))
        text++;
    return *text != '\0';
}

static void put_quoted(FILE *to, const char *text, char quote) {
    fputc(quote, to);
    for (; *text != '\0'; text++) {
        if (is_control(*text))
            nvdp__fprintf(to, "\\x%02x", (unsigned)*text);
        else
            nvdp__fprintf(to, *text == quote || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc(quote, to);
}

void nvdp__put_shell(FILE *to, const char *text) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, to);
        return;
    }
    static const struct replacement list[] = {{"'", "'\\''"}, {NULL, NULL}};
    if (has_control(text)) {
        fputc('$', to);
        put_quoted(to, text, '\'');
        return;
    }
    fputc('\'', to);
    put(to, text, list);
    fputc('\'', to);
}

void nvdp__put_quoted(FILE *to, const char *text) {
    put_quoted(to, text, '"');
}

void nvdp__put_code(FILE *to, const char *text) {
    int longest = 0, run = 0;
    for (const char *c = text; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    const size_t length = strlen(text);
    const bool padded = length > 0 && (text[0] == '`' || text[length - 1] == '`');
    for (int i = 0; i <= longest; i++)
        fputc('`', to);
    nvdp__fprintf(to, padded ? " %s " : "%s", text);
    for (int i = 0; i <= longest; i++)
        fputc('`', to);
}

char *nvdp__plain_copy(struct nvdp_context *ctx, const char *text) {
    char *copy = nvdp__strdup(ctx, text), *to = copy, shown[NVDP__SHOWN];
    while (copy != NULL && *text != '\0') {
        const char *next = show_next(text, shown);
        const size_t length = (size_t)(next - text);
        const bool plain = strncmp(shown, text, length) == 0 && shown[length] == '\0';
        if (plain) memcpy(to, text, length);
        if (!plain) *to = ' ';
        to += plain ? length : 1;
        text = next;
    }
    if (copy != NULL) *to = '\0';
    return copy;
}

char *nvdp__escaped(struct nvdp_context *ctx, void (*writer)(FILE *to, const char *text),
                    const char *text) {
    char *made = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&made, &size);
    if (to != NULL) writer(to, text);
    if (to != NULL && fclose(to) == 0) return made;
    free(made);
    nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NULL;
}

/* ---- patterns ---- */

/* Returns true if the character or class at `at` contains the byte; sets *after to the end of the character or
 * class. */
static bool has_byte(const char *at, unsigned char byte, const char **after) {
    bool found = false;
    if (*at != '[') {
        *after = at + 1;
        return (unsigned char)*at == byte;
    }
    for (at++; *at != ']'; at++) {
        const unsigned char low = (unsigned char)at[0];
        if (at[1] == '-' && at[2] != ']') at += 2;
        found = found || (low <= byte && byte <= (unsigned char)*at);
    }
    *after = at + 1;
    return found;
}

/* Reads a count such as {2} or {1,63} at `at`. If there is no count, min and max are 1. */
static const char *read_count(const char *at, int *min, int *max) {
    char *end = NULL;
    *min = *max = 1;
    if (*at != '{') return at;
    *min = *max = (int)strtol(at + 1, &end, 10);
    if (*end == ',') *max = (int)strtol(end + 1, &end, 10);
    return end + 1;
}

static bool matches_one(const char *pattern, const char *text) {
    while (*pattern != '\0' && *pattern != '|') {
        const char *after = NULL;
        int min, max, count = 0;
        (void)has_byte(pattern, 0, &after);
        const char *next = read_count(after, &min, &max);
        while (count < max && *text != '\0' && has_byte(pattern, (unsigned char)*text, &after)) {
            count++;
            text++;
        }
        if (count < min) return false;
        pattern = next;
    }
    return *text == '\0';
}

bool nvdp__matches(const char *pattern, const char *text) {
    for (; pattern != NULL; pattern = strchr(pattern, '|')) {
        if (*pattern == '|') pattern++;
        if (matches_one(pattern, text)) return true;
    }
    return false;
}
