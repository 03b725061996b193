/* Matches texts with patterns (pattern.h). */
#include "base/pattern.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the character or class at `at` has the byte, and its end in *after. */
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

/* Reads a count such as {2} or {1,63} at `at`.  Without one, min and max are 1. */
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
