#include "text/sentences.h"

#include <stdbool.h>
#include <string.h>

static const char *const abbreviations[] = {"mr", "mrs", "ms",   "dr",  "st",  "vs",  "prof", "sr",
                                            "jr", "no",  "gen",  "col", "sgt", "rev", "ca",   "cf",
                                            "eg", "ie",  "capt", "hon", "lt",  "mt",  "vol"};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

static bool may_begin(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || is_one_of(c, "\"'([{") ||
           (unsigned char)c >= 0x80;
}

/* Whether the '.' at `dot` stands behind a single letter or an abbreviation. */
static bool abbreviates(const char *text, size_t dot) {
    size_t start = dot;
    while (start > 0 && is_letter(text[start - 1])) {
        start--;
    }
    size_t size = dot - start;
    if (size == 1) return true;
    for (size_t i = 0; i < sizeof abbreviations / sizeof abbreviations[0]; i++) {
        size_t k = 0;
        while (k < size && abbreviations[i][k] != '\0' &&
               (text[start + k] | 0x20) == abbreviations[i][k]) {
            k++;
        }
        if (k == size && abbreviations[i][k] == '\0') return true;
    }
    return false;
}

size_t nvdp__sentence_end(const char *text, size_t size) {
    for (size_t at = 0; at < size; at++) {
        if (!is_one_of(text[at], ".!?")) continue;
        size_t end = at + 1;
        while (end < size && is_one_of(text[end], "\"')]}.!?")) {
            end++;
        }
        size_t next = end;
        while (next < size && text[next] == ' ') {
            next++;
        }
        bool single = end == at + 1 && text[at] == '.';
        if (next > end && next < size && may_begin(text[next]) &&
            !(single && abbreviates(text, at)))
            return next;
        at = end - 1;
    }
    return size;
}
