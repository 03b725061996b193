/* Suggestions for misspelled names (guess.h), by edit distance. */
#include "base/guess.h"

#include "base/base.h"
#include <stdio.h>
#include <string.h>

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
