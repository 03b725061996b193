/* Text output (sentence.h): appended, aligned and wrapped; bounds as text; suggestions for misspelled names. */
#include "base/sentence.h"
#include "base/escape.h"

#include <math.h>
#include <stdarg.h>
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

/* Writes one line of a text after `before`, wrapped; `carried` begins what is carried over. Returns the end of the
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

/* The smallest multiple of `step` that is not below `value`, or the nearest multiple if it is
 * within 1e-9 of the value. */
static double multiple(double value, double step) {
    const double quotient = value / step, nearest = round(quotient);
    return fabs(quotient - nearest) <= 1e-9 * fabs(quotient) ? nearest : ceil(quotient);
}

/* Rounds up to `digits` significant digits. Scales by a power of ten with nonnegative exponent,
 * because only those are exact. */
static double rounded(double value, int digits) {
    const int place = (int)floor(log10(fabs(value))) + 1 - digits;
    const double power = pow(10, abs(place));
    return place < 0 ? multiple(value * power, 1) / power : multiple(value, power) * power;
}

const char *nvdp__samples_text(double samples, char text[NVDP__SAMPLES_TEXT]) {
    nvdp__snprintf(text, NVDP__SAMPLES_TEXT, samples == 1 ? "one sample" : "%.0f samples", samples);
    return text;
}

/* Rounds up with sign 1, and down with sign -1. */
static const char *write_bound(char text[NVDP__BOUND_TEXT], double value, int sign) {
    enum { DIGITS = 4 };
    const double made =
        isfinite(value) && value != 0 ? sign * rounded(sign * value, DIGITS) : value;
    const bool plain = fabs(made) < 1e9 && fabs(made) >= 1e3; /* "12720", not "1.272e+04" */
    nvdp__snprintf(text, NVDP__BOUND_TEXT, plain ? "%.0f" : "%.4g", made);
    return text;
}

const char *nvdp__bound(char text[NVDP__BOUND_TEXT], double value) {
    return write_bound(text, value, 1);
}

const char *nvdp__bound_below(char text[NVDP__BOUND_TEXT], double value) {
    return write_bound(text, value, -1);
}

const char *nvdp__share_bound(char text[NVDP__BOUND_TEXT], double probability) {
    const double percent = 100 * probability;
    if (percent > 0 && percent < 1)
        nvdp__snprintf(text, NVDP__BOUND_TEXT, "%.2g %%", rounded(percent, 2));
    else
        nvdp__snprintf(text, NVDP__BOUND_TEXT, "%.5g %%", multiple(10 * percent, 1) / 10);
    return text;
}

double nvdp__lower_bound(double value, int decimals) {
    return -multiple(-value * pow(10, decimals), 1) / pow(10, decimals);
}

/* ---- suggestions for misspelled names, by edit distance ---- */

/* Longer names are not compared. */
enum { LONGEST = 40 };

/* '_' equals '-'. */
static int letter(char c) {
    return c == '_' ? '-' : c;
}

/* Number of insertions, deletions, substitutions and swaps of adjacent letters between a and b
 * (Damerau 1964, restricted: each position is edited once). */
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
