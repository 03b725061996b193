#include "text/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum {
    REPLACEMENT = 0xFFFD,
    CAPITAL_SIGMA = 0x3A3,
    SMALL_SIGMA = 0x3C3,
    FINAL_SIGMA = 0x3C2,
    CAPITAL_I_DOT = 0x130,
    DOT_ABOVE = 0x307,
    FIRST_DECOMPOSABLE = 0xC0,
    DECOMPOSITION_ROOM = 32, /* the longest canonical decomposition has 4 */
    COMBINING_CLASSES = 256,
    SHORT_RUN = 16 /* marks in a row that insertion sorts faster than counting */
};

nvdp_status nvdp__runes_push(struct nvdp_context *ctx, struct nvdp__runes *runes, int32_t rune) {
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &runes->at, &runes->capacity, runes->count + 1, sizeof *runes->at));
    runes->at[runes->count++] = rune;
    return NVDP_OK;
}

int32_t nvdp__decode(const char *text, size_t size, size_t *bytes) {
    /* No character is longer than 4 bytes; the bound also keeps the length within its type. */
    utf8proc_int32_t rune;
    utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)text,
                                             (utf8proc_ssize_t)(size < 4 ? size : 4), &rune);
    *bytes = step > 0 ? (size_t)step : 1;
    return step > 0 ? rune : -1;
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

size_t nvdp__encode_rune(int32_t rune, char *bytes) {
    return (size_t)utf8proc_encode_char(rune, (utf8proc_uint8_t *)bytes);
}

bool nvdp__is_space(int32_t rune) {
    if (rune < 0x80) return rune == ' ' || rune == '\t' || rune == '\n' || rune == '\r';
    switch (utf8proc_category(rune)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return true;
    default:
        return false;
    }
}

bool nvdp__is_dropped(int32_t rune) {
    if (rune < 0 || rune == REPLACEMENT) return true;
    switch (utf8proc_category(rune)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
        return true;
    default: /* unassigned ones stay, so that a newer Unicode does not change the outcome */
        return false;
    }
}

bool nvdp__is_chinese(int32_t rune) {
    static const struct {
        int32_t first, last;
    } block[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
                 {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    for (size_t i = 0; i < sizeof block / sizeof block[0]; i++) {
        if (rune < block[i].first) return false;
        if (rune <= block[i].last) return true;
    }
    return false;
}

bool nvdp__is_punctuation(int32_t rune) {
    if (rune < 0x80)
        return (rune >= 33 && rune <= 47) || (rune >= 58 && rune <= 64) ||
               (rune >= 91 && rune <= 96) || (rune >= 123 && rune <= 126);
    switch (utf8proc_category(rune)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return true;
    default:
        return false;
    }
}

/* Unicode's Case_Ignorable: categories Mn, Me, Cf, Lm, Sk and the marks that stand within words. */
static bool is_case_ignorable(int32_t rune) {
    static const int32_t within[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                     0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        if (rune == within[i]) return true;
    }
    switch (utf8proc_category(rune)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        return false;
    }
}

/* Unicode's Cased, for characters that are not case-ignorable. */
static bool is_cased(int32_t rune) {
    switch (utf8proc_category(rune)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
        return true;
    default: /* ordinal indicators, Roman numerals, letters in circles and squares */
        return rune == 0xAA || rune == 0xBA || (rune >= 0x2160 && rune <= 0x217F) ||
               (rune >= 0x24B6 && rune <= 0x24E9) || (rune >= 0x1F130 && rune <= 0x1F149) ||
               (rune >= 0x1F150 && rune <= 0x1F169) || (rune >= 0x1F170 && rune <= 0x1F189);
    }
}

/* Unicode's Final_Sigma (The Unicode Standard, table 3-17): a cased character before, none after,
 * with case-ignorable ones passed over.  A sigma is cased itself, so that the sigmas of a run
 * together look at each character a bounded number of times. */
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

/* The characters that one becomes in lower case, at most two. */
static size_t lower(const struct nvdp__runes *run, size_t at, int32_t out[2]) {
    int32_t rune = run->at[at];
    switch (rune) {
    case CAPITAL_SIGMA:
        out[0] = is_final(run, at) ? FINAL_SIGMA : SMALL_SIGMA;
        return 1;
    case CAPITAL_I_DOT:
        out[0] = 'i';
        out[1] = DOT_ABOVE;
        return 2;
    default:
        out[0] = utf8proc_tolower(rune);
        return 1;
    }
}

static nvdp_status push_decomposed(struct nvdp_context *ctx, int32_t rune,
                                   struct nvdp__runes *out) {
    if (rune < FIRST_DECOMPOSABLE) return nvdp__runes_push(ctx, out, rune);
    utf8proc_int32_t part[DECOMPOSITION_ROOM];
    int boundary = 0;
    utf8proc_ssize_t parts =
        utf8proc_decompose_char(rune, part, DECOMPOSITION_ROOM, UTF8PROC_DECOMPOSE, &boundary);
    for (utf8proc_ssize_t i = 0; i < parts && i < DECOMPOSITION_ROOM; i++) {
        NVDP_RETURN_IF_FAILED(nvdp__runes_push(ctx, out, part[i]));
    }
    return NVDP_OK;
}

static unsigned combining_class(int32_t rune) {
    if (rune < FIRST_DECOMPOSABLE) return 0;
    return (unsigned)utf8proc_get_property(rune)->combining_class % COMBINING_CLASSES;
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

/* A counting sort: texts of marks only must not take quadratic time. */
static nvdp_status sort_long(struct nvdp_context *ctx, int32_t *rune, size_t count) {
    size_t start[COMBINING_CLASSES + 1] = {0};
    int32_t *sorted = nvdp__calloc(ctx, count, sizeof *sorted);
    if (sorted == NULL) return NVDP_ERR_MEMORY;
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
    free(sorted);
    return NVDP_OK;
}

/* Canonical ordering: each stretch of combining marks is sorted by class, stably.  Where only
 * accents are dropped afterwards it still decides the order of the spacing marks that stay. */
static nvdp_status order_marks(struct nvdp_context *ctx, struct nvdp__runes *runes) {
    for (size_t at = 0; at < runes->count;) {
        size_t end = at;
        while (end < runes->count && combining_class(runes->at[end]) != 0) {
            end++;
        }
        if (end - at > SHORT_RUN) {
            NVDP_RETURN_IF_FAILED(sort_long(ctx, runes->at + at, end - at));
        } else {
            sort_short(runes->at + at, end - at);
        }
        at = end + 1;
    }
    return NVDP_OK;
}

static void drop_accents(struct nvdp__runes *runes) {
    size_t kept = 0;
    for (size_t i = 0; i < runes->count; i++) {
        int32_t rune = runes->at[i];
        if (rune < FIRST_DECOMPOSABLE || utf8proc_category(rune) != UTF8PROC_CATEGORY_MN)
            runes->at[kept++] = rune;
    }
    runes->count = kept;
}

nvdp_status nvdp__fold(struct nvdp_context *ctx, const struct nvdp__normalization *normalization,
                       const struct nvdp__runes *run, struct nvdp__runes *folded) {
    folded->count = 0;
    for (size_t at = 0; at < run->count; at++) {
        int32_t rune[2] = {run->at[at]};
        size_t runes = normalization->lower_case ? lower(run, at, rune) : 1;
        for (size_t i = 0; i < runes; i++) {
            NVDP_RETURN_IF_FAILED(normalization->strip_accents
                                      ? push_decomposed(ctx, rune[i], folded)
                                      : nvdp__runes_push(ctx, folded, rune[i]));
        }
    }
    if (!normalization->strip_accents) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(order_marks(ctx, folded));
    drop_accents(folded);
    return NVDP_OK;
}
