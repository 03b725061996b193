/* Splits bytes into words (normalize.h): properties of characters, folding, then the iterator over
 * words. */
#include "text/normalize.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    REPLACEMENT = 0xFFFD,
    CAPITAL_I_DOT = 0x130,
    DOT_ABOVE = 0x307,
    FIRST_COMPATIBLE = 0xA0, /* first character that has a compatibility decomposition */
    FIRST_DECOMPOSABLE = 0xC0,
    CAPITAL_SIGMA = 0x3A3,
    FINAL_SIGMA = 0x3C2,
    NEWER_COMPOSITE = 0x11938, /* the only composite that is newer than Unicode 8 */
    /* larger than any canonical decomposition, which has at most 4 characters */
    LONGEST_DECOMPOSITION = 32,
    COMBINING_CLASSES = 256,
    SHORT_RUN = 16 /* up to this length, insertion sort is faster than counting sort */
};

/* ---- characters ---- */

int32_t nvdp__decode(const char *text, size_t size, size_t *bytes) {
    /* A character has at most 4 bytes; the bound also keeps the length within its type. */
    utf8proc_int32_t rune;
    utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)text,
                                             (utf8proc_ssize_t)(size < 4 ? size : 4), &rune);
    *bytes = step > 0 ? (size_t)step : 1;
    return step > 0 ? rune : -1;
}

int32_t nvdp__last_rune(const char *text, size_t size, size_t *bytes) {
    size_t first = size - 1;
    while (first > 0 && size - first < 4 && ((unsigned char)text[first] & 0xC0) == 0x80)
        first--;
    const int32_t rune = nvdp__decode(text + first, size - first, bytes);
    if (*bytes == size - first) return rune;
    *bytes = 1;
    return -1;
}

bool nvdp__is_utf8(const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        size_t bytes = 1;
        if ((unsigned char)text[at] >= 0x80 && nvdp__decode(text + at, size - at, &bytes) < 0)
            return false;
        at += bytes;
    }
    return true;
}

bool nvdp__has_category(int32_t rune, unsigned set) {
    return (1U << utf8proc_category(rune) & set) != 0;
}

/* Returns true for tab, newline, return and every character of category Z. */
static bool is_space(int32_t rune) {
    if (rune < 0x80) return rune == ' ' || rune == '\t' || rune == '\n' || rune == '\r';
    return nvdp__has_category(rune, NVDP__IN(ZS) | NVDP__IN(ZL) | NVDP__IN(ZP));
}

bool nvdp__is_enclosed_letter(int32_t rune) {
    return (rune >= 0x24B6 && rune <= 0x24E9) || (rune >= 0x1F130 && rune <= 0x1F149) ||
           (rune >= 0x1F150 && rune <= 0x1F169) || (rune >= 0x1F170 && rune <= 0x1F189);
}

bool nvdp__is_white_space(int32_t rune) {
    if (rune < 0) return false;
    if (rune < 0x80) return rune == ' ' || (rune >= '\t' && rune <= '\r');
    return rune == 0x85 || nvdp__has_category(rune, NVDP__IN(ZS) | NVDP__IN(ZL) | NVDP__IN(ZP));
}

/* A range of characters. */
struct range {
    int32_t first, last;
};
/* Returns true if one of the ranges, which are in ascending order, includes the character. */
static bool is_within(int32_t rune, const struct range *range, size_t count) {
    for (size_t i = 0; i < count && rune >= range[i].first; i++) {
        if (rune <= range[i].last) return true;
    }
    return false;
}

/* Returns true if a format character, mark or punctuation mark is newer than Unicode 8, whose categories the
 * `tokenizers` library has. A range may include other characters. */
static bool is_newer(int32_t rune) {
    static const struct range range[] = {
        {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},
        {0xA76, 0xA76},     {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},
        {0xC77, 0xC77},     {0xC84, 0xC84},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
        {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
        {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
        {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},
        {0x10D24, 0x10F89}, {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9},
        {0x111CF, 0x111CF}, {0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E},
        {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF}, {0x12FF1, 0x13455},
        {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
        {0x1E944, 0x1E95F}};
    return is_within(rune, range, sizeof range / sizeof range[0]);
}

bool nvdp__is_dropped(int32_t rune) {
    return rune < 0 || rune == REPLACEMENT ||
           nvdp__has_category(rune, NVDP__IN(CC) | NVDP__IN(CO)) ||
           (nvdp__has_category(rune, NVDP__IN(CF)) && !is_newer(rune));
}

/* The last range but one begins 0x100 too late, as in the `tokenizers` library. */
bool nvdp__is_chinese(int32_t rune) {
    static const struct range block[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                         {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                         {0x2F800, 0x2FA1F}};
    return is_within(rune, block, sizeof block / sizeof block[0]);
}

bool nvdp__is_punctuation(int32_t rune) {
    if (rune < 0x80)
        return (rune >= 33 && rune <= 47) || (rune >= 58 && rune <= 64) ||
               (rune >= 91 && rune <= 96) || (rune >= 123 && rune <= 126);
    /* these characters changed their category after Unicode 8 */
    if (rune == 0x166D || rune == 0x111C9) return true;
    return nvdp__has_category(rune, NVDP__IN(PC) | NVDP__IN(PD) | NVDP__IN(PS) | NVDP__IN(PE) |
                                        NVDP__IN(PI) | NVDP__IN(PF) | NVDP__IN(PO)) &&
           !is_newer(rune);
}

/* Returns true for nonspacing marks, which are removed with the accents. */
static bool is_accent(int32_t rune) {
    if (rune < FIRST_DECOMPOSABLE) return false;
    return rune == 0x1734 || (nvdp__has_category(rune, NVDP__IN(MN)) && !is_newer(rune));
}

/* Returns true for marks that are newer than Unicode 9. The `tokenizers` library neither strips nor orders these
 * marks. */
static bool is_newer_mark(int32_t rune) {
    static const struct range newer[] = {
        {0x7FD, 0x7FD},     {0x898, 0x8D3},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
        {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xCF3, 0xD00},     {0xD3B, 0xD3C},
        {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},
        {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
        {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
        {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
        {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99},
        {0x11D31, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1},
        {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E4EF}};
    return is_within(rune, newer, sizeof newer / sizeof newer[0]);
}

bool nvdp__is_mark(int32_t rune) {
    if (rune < FIRST_DECOMPOSABLE) return false;
    /* these characters changed their category after Unicode 9 */
    return rune == 0x1CF2 || rune == 0x1CF3 ||
           (nvdp__has_category(rune, NVDP__IN(MN) | NVDP__IN(MC) | NVDP__IN(ME)) &&
            !is_newer_mark(rune));
}

/* ---- text in messages ---- */

struct nvdp__quote nvdp__quote_field(struct nvdp__field field) {
    struct nvdp__quote quote = {"'"};
    const size_t max = sizeof quote.text - sizeof "...'";
    size_t used = 1, at = 0;
    while (at < field.size) {
        size_t bytes;
        int32_t rune = nvdp__decode(field.text + at, field.size - at, &bytes);
        bool printable = rune >= 0x20 && (rune < 0x7F || rune >= 0xA0);
        if (!printable) bytes = 1;
        if (used + bytes > max) break;
        memcpy(quote.text + used, printable ? field.text + at : "?", bytes);
        used += bytes;
        at += bytes;
    }
    strcpy(quote.text + used, at < field.size ? "...'" : "'");
    return quote;
}

/* ---- folding ---- */

nvdp_status nvdp__runes_push(struct nvdp_context *ctx, struct nvdp__runes *runes, int32_t rune) {
    return NVDP__PUSH(ctx, runes->at, runes->count, runes->capacity, rune);
}

/* Returns true for characters with Unicode's property Case_Ignorable: categories Mn, Me, Cf, Lm, Sk, and the marks
 * that occur within words. */
static bool is_case_ignorable(int32_t rune) {
    static const int32_t within[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                     0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        if (rune == within[i]) return true;
    }
    return nvdp__has_category(rune, NVDP__IN(MN) | NVDP__IN(ME) | NVDP__IN(CF) | NVDP__IN(LM) |
                                        NVDP__IN(SK));
}

/* Returns true for characters with Unicode's property Cased, if they are not case-ignorable: categories Lu, Ll, Lt,
 * ordinal indicators, Roman numerals, letters in circles and squares. */
static bool is_cased(int32_t rune) {
    return nvdp__has_category(rune, NVDP__IN(LU) | NVDP__IN(LL) | NVDP__IN(LT)) || rune == 0xAA ||
           rune == 0xBA || (rune >= 0x2160 && rune <= 0x217F) || nvdp__is_enclosed_letter(rune);
}

/* Returns true under Unicode's condition Final_Sigma (The Unicode Standard, table 3-17): there is a cased character
 * before and none after, apart from case-ignorable characters. A sigma is itself cased, so the sigmas of a run
 * together visit each character a bounded number of times. */
static bool is_final(const struct nvdp__runes *run, size_t at) {
    size_t before = at;
    while (before > 0 && is_case_ignorable(run->at[before - 1])) {
        before--;
    }
    if (before == 0 || !is_cased(run->at[before - 1])) return false;
    size_t after = at + 1;
    while (after < run->count && is_case_ignorable(run->at[after])) {
        after++;
    }
    return after == run->count || !is_cased(run->at[after]);
}

/* Returns the lower-case form of letters that are newer than Unicode 15, which utf8proc may lack. */
static int32_t newer_lower(int32_t rune) {
    static const struct {
        struct range of;
        int32_t distance;
    } row[] = {{{0x1C89, 0x1C89}, 1},      {{0xA7CB, 0xA7CB}, 0x264 - 0xA7CB},
               {{0xA7CC, 0xA7CC}, 1},      {{0xA7CE, 0xA7CE}, 1},
               {{0xA7D2, 0xA7D2}, 1},      {{0xA7D4, 0xA7D4}, 1},
               {{0xA7DA, 0xA7DA}, 1},      {{0xA7DC, 0xA7DC}, 0x19B - 0xA7DC},
               {{0x10D50, 0x10D65}, 0x20}, {{0x16EA0, 0x16EB8}, 0x1B}};
    for (size_t i = 0; i < sizeof row / sizeof row[0] && rune >= row[i].of.first; i++) {
        if (rune <= row[i].of.last) return rune + row[i].distance;
    }
    return rune;
}

/* Returns the lower-case form of a character, at most two characters. In the `tokenizers` library, this form does
 * not depend on the characters around it: a capital sigma at the end of a word becomes the sigma for the middle of a
 * word. */
static size_t lower(const struct nvdp__runes *run, size_t at, bool published, int32_t out[2]) {
    const int32_t rune = run->at[at];
    if (published && rune == CAPITAL_SIGMA && is_final(run, at)) {
        out[0] = FINAL_SIGMA;
        return 1;
    }
    if (rune == CAPITAL_I_DOT) {
        out[0] = 'i';
        out[1] = DOT_ABOVE;
        return 2;
    }
    out[0] = utf8proc_tolower(rune);
    if (out[0] == rune) out[0] = newer_lower(rune);
    return 1;
}

static nvdp_status push_decomposed(struct nvdp_context *ctx, int32_t rune, bool compatible,
                                   struct nvdp__runes *out) {
    /* compatibility decompositions that the `tokenizers` library lacks */
    static const struct range newer[] = {{0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xAB69, 0xAB69},
                                         {0x10781, 0x107BA}, {0x1E030, 0x1E06D}, {0x1F16C, 0x1F16C},
                                         {0x1FBF0, 0x1FBF9}};
    if (rune < FIRST_COMPATIBLE || rune == NEWER_COMPOSITE ||
        (!compatible && rune < FIRST_DECOMPOSABLE) ||
        (compatible && is_within(rune, newer, sizeof newer / sizeof newer[0])))
        return nvdp__runes_push(ctx, out, rune);
    utf8proc_int32_t part[LONGEST_DECOMPOSITION];
    int boundary = 0;
    utf8proc_option_t options =
        compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE;
    utf8proc_ssize_t parts =
        utf8proc_decompose_char(rune, part, LONGEST_DECOMPOSITION, options, &boundary);
    for (utf8proc_ssize_t i = 0; i < parts && i < LONGEST_DECOMPOSITION; i++) {
        NVDP_TRY(nvdp__runes_push(ctx, out, part[i]));
    }
    return NVDP_OK;
}

static unsigned combining_class(int32_t rune) {
    if (rune < FIRST_DECOMPOSABLE) return 0;
    unsigned class = (unsigned)utf8proc_get_property(rune)->combining_class % COMBINING_CLASSES;
    return class != 0 && is_newer_mark(rune) ? 0 : class;
}

static void sort_short(int32_t *rune, size_t count) {
    for (size_t i = 1; i < count; i++) {
        int32_t moved = rune[i];
        size_t to = i;
        for (; to > 0 && combining_class(rune[to - 1]) > combining_class(moved); to--) {
            rune[to] = rune[to - 1];
        }
        rune[to] = moved;
    }
}

/* Sorts by counting, because texts that consist only of marks must not take quadratic time. */
static nvdp_status sort_long(struct nvdp_context *ctx, int32_t *rune, size_t count) {
    size_t start[COMBINING_CLASSES + 1] = {0};
    nvdp__autofree int32_t *sorted = NULL;
    NVDP_TRY(NVDP__NEW(ctx, sorted, count));
    for (size_t i = 0; i < count; i++) {
        start[combining_class(rune[i]) + 1]++;
    }
    for (size_t i = 0; i < COMBINING_CLASSES; i++) {
        start[i + 1] += start[i];
    }
    for (size_t i = 0; i < count; i++) {
        sorted[start[combining_class(rune[i])]++] = rune[i];
    }
    memcpy(rune, sorted, count * sizeof *rune);
    return NVDP_OK;
}

/* Orders marks canonically: sorts each run of combining marks by class, stably. This matters even if accents are
 * dropped afterward, because it decides the order of the remaining spacing marks. */
static nvdp_status order_marks(struct nvdp_context *ctx, struct nvdp__runes *runes) {
    for (size_t at = 0; at < runes->count;) {
        size_t end = at;
        while (end < runes->count && combining_class(runes->at[end]) != 0) {
            end++;
        }
        if (end - at > SHORT_RUN) {
            NVDP_TRY(sort_long(ctx, runes->at + at, end - at));
        } else {
            sort_short(runes->at + at, end - at);
        }
        at = end + 1;
    }
    return NVDP_OK;
}

nvdp_status nvdp__fold(struct nvdp_context *ctx, const struct nvdp__normalization *normalization,
                       const struct nvdp__runes *run, struct nvdp__runes *folded) {
    folded->count = 0;
    for (size_t at = 0; at < run->count; at++) {
        int32_t rune[2] = {run->at[at]};
        size_t runes =
            normalization->lower_case ? lower(run, at, normalization->published, rune) : 1;
        for (size_t i = 0; i < runes; i++) {
            NVDP_TRY(normalization->strip_accents ? push_decomposed(ctx, rune[i], false, folded)
                                                  : nvdp__runes_push(ctx, folded, rune[i]));
        }
    }
    if (!normalization->strip_accents) return NVDP_OK;
    NVDP_TRY(order_marks(ctx, folded));
    size_t kept = 0;
    for (size_t i = 0; i < folded->count; i++)
        if (!is_accent(folded->at[i])) folded->at[kept++] = folded->at[i];
    folded->count = kept;
    return NVDP_OK;
}

nvdp_status nvdp__normal_form(struct nvdp_context *ctx, const struct nvdp__runes *run,
                              unsigned flags, struct nvdp__runes *out) {
    out->count = 0;
    for (size_t i = 0; i < run->count; i++)
        NVDP_TRY(push_decomposed(ctx, run->at[i], (flags & NVDP__COMPATIBLE) != 0, out));
    NVDP_TRY(order_marks(ctx, out));
    if ((flags & NVDP__COMPOSED) != 0 && out->count > 0)
        out->count = (size_t)utf8proc_normalize_utf32(out->at, (utf8proc_ssize_t)out->count,
                                                      UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return NVDP_OK;
}

nvdp_status nvdp__runes_read(struct nvdp_context *ctx, const char *text, size_t size,
                             struct nvdp__runes *out) {
    out->count = 0;
    for (size_t at = 0, bytes; at < size; at += bytes) {
        int32_t rune = nvdp__decode(text + at, size - at, &bytes);
        NVDP_TRY(nvdp__runes_push(ctx, out, rune >= 0 ? rune : REPLACEMENT));
    }
    return NVDP_OK;
}

nvdp_status nvdp__runes_write(struct nvdp_context *ctx, const struct nvdp__runes *runes,
                              struct nvdp__normalized *out) {
    NVDP_TRY(nvdp__reserve(ctx, &out->text, &out->capacity, 4 * runes->count + 1, 1));
    out->size = 0;
    for (size_t i = 0; i < runes->count; i++)
        out->size +=
            (size_t)utf8proc_encode_char(runes->at[i], (utf8proc_uint8_t *)out->text + out->size);
    out->text[out->size] = '\0';
    return NVDP_OK;
}

nvdp_status nvdp__normalize(struct nvdp_context *ctx,
                            const struct nvdp__normalization *normalization, const char *text,
                            size_t size, struct nvdp__normalized *out) {
    struct nvdp__runes *run = &out->run;
    run->count = 0;
    for (size_t at = 0, bytes; at < size; at += bytes) {
        int32_t rune = nvdp__decode(text + at, size - at, &bytes);
        const bool space = rune >= 0 && is_space(rune);
        const bool alone = normalization->chinese_characters && nvdp__is_chinese(rune);
        if (!space && nvdp__is_dropped(rune)) continue;
        if (alone) NVDP_TRY(nvdp__runes_push(ctx, run, ' '));
        NVDP_TRY(nvdp__runes_push(ctx, run, space ? ' ' : rune));
        if (alone) NVDP_TRY(nvdp__runes_push(ctx, run, ' '));
    }
    NVDP_TRY(nvdp__fold(ctx, normalization, run, &out->folded));
    return nvdp__runes_write(ctx, &out->folded, out);
}

void nvdp__normalized_release(struct nvdp__normalized *normalized) {
    free(normalized->run.at);
    free(normalized->folded.at);
    free(normalized->text);
    free(normalized->other);
    *normalized = (struct nvdp__normalized){0};
}

/* ---- words ---- */

enum byte_kind { BYTE_LETTER, BYTE_PUNCTUATION, BYTE_SPACE, BYTE_DROPPED, BYTE_NOT_ASCII };

struct nvdp__word_rules nvdp__word_rules(const struct nvdp__normalization *normalization) {
    struct nvdp__word_rules rules = {.normalization = *normalization};
    for (int byte = 0; byte < NVDP__BYTE_VALUES; byte++) {
        enum byte_kind kind = BYTE_LETTER;
        if (byte >= 0x80) {
            kind = BYTE_NOT_ASCII;
        } else if (is_space(byte)) {
            kind = BYTE_SPACE;
        } else if (nvdp__is_dropped(byte)) {
            kind = BYTE_DROPPED;
        } else if (nvdp__is_punctuation(byte)) {
            kind = BYTE_PUNCTUATION;
        }
        bool capital = normalization->lower_case && byte >= 'A' && byte <= 'Z';
        rules.kind[byte] = (unsigned char)kind;
        rules.folded[byte] = (char)(capital ? byte - 'A' + 'a' : byte);
    }
    return rules;
}

void nvdp__words_begin(struct nvdp__words *words, const char *text, size_t size) {
    words->text = text;
    words->size = size;
    words->at = words->plain_end = words->folded.count = words->folded_at = 0;
}

void nvdp__words_release(struct nvdp__words *words) {
    free(words->run.at);
    free(words->folded.at);
    *words = (struct nvdp__words){0};
}

static enum byte_kind kind_at(const struct nvdp__words *words, size_t at) {
    return (enum byte_kind)words->rules->kind[(unsigned char)words->text[at]];
}

/* Takes the next word of text[at..plain_end); takes none if only dropped characters are left. */
static void take_plain(struct nvdp__words *words) {
    struct nvdp__word *word = &words->word;
    for (; words->at < words->plain_end; words->at++) {
        enum byte_kind kind = kind_at(words, words->at);
        if (kind == BYTE_DROPPED) continue;
        if (kind == BYTE_PUNCTUATION && word->characters > 0) return;
        if (word->characters++ < NVDP__WORD_CHARACTERS)
            word->bytes[word->size++] = words->rules->folded[(unsigned char)words->text[words->at]];
        if (kind == BYTE_PUNCTUATION) {
            words->at++;
            return;
        }
    }
}

/* Collects the characters from `at` up to a separator, and skips white space after them. An ideograph is a separate
 * run. */
static nvdp_status gather_run(struct nvdp__words *words) {
    bool chinese = words->rules->normalization.chinese_characters;
    struct nvdp__runes *run = &words->run;
    run->count = 0;
    while (words->at < words->size) {
        size_t bytes;
        int32_t rune = nvdp__decode(words->text + words->at, words->size - words->at, &bytes);
        bool alone = chinese && nvdp__is_chinese(rune);
        if (alone && run->count > 0) return NVDP_OK;
        words->at += bytes;
        if (rune >= 0 && is_space(rune)) return NVDP_OK;
        if (!nvdp__is_dropped(rune)) NVDP_TRY(nvdp__runes_push(words->ctx, run, rune));
        if (alone) return NVDP_OK;
    }
    return NVDP_OK;
}

/* Takes the next word of the folded run. */
static void take_folded(struct nvdp__words *words) {
    struct nvdp__word *word = &words->word;
    for (; words->folded_at < words->folded.count; words->folded_at++) {
        int32_t rune = words->folded.at[words->folded_at];
        bool alone = nvdp__is_punctuation(rune);
        if (alone && word->characters > 0) return;
        if (word->characters++ < NVDP__WORD_CHARACTERS)
            word->size +=
                (size_t)utf8proc_encode_char(rune, (utf8proc_uint8_t *)word->bytes + word->size);
        if (alone) {
            words->folded_at++;
            return;
        }
    }
}

/* Prepares the run at `at`. Usually the run up to white space is plain ASCII. Otherwise the accents in the run
 * depend on each other, and the run is folded as a whole. */
static nvdp_status start_run(struct nvdp__words *words) {
    while (words->at < words->size && kind_at(words, words->at) == BYTE_SPACE) {
        words->at++;
    }
    size_t end = words->at;
    while (end < words->size && kind_at(words, end) != BYTE_SPACE &&
           kind_at(words, end) != BYTE_NOT_ASCII) {
        end++;
    }
    if (end == words->size || kind_at(words, end) == BYTE_SPACE) {
        words->plain_end = end;
        return NVDP_OK;
    }
    NVDP_TRY(gather_run(words));
    words->plain_end = words->at;
    words->folded_at = 0;
    return nvdp__fold(words->ctx, &words->rules->normalization, &words->run, &words->folded);
}

nvdp_status nvdp__words_next(struct nvdp__words *words, bool *found) {
    struct nvdp__word *word = &words->word;
    word->size = 0;
    word->characters = 0;
    for (;;) {
        take_folded(words);
        if (word->characters == 0) take_plain(words);
        if (word->characters > 0 || words->at == words->size) break;
        NVDP_TRY(start_run(words));
    }
    *found = word->characters > 0;
    return NVDP_OK;
}
