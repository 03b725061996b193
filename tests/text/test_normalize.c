/* Folding by itself: decomposition, canonical order, case. */
#include "text_support.h"

static void expect_fold(struct nvdp__normalization how, const int32_t *from, size_t count,
                        const int32_t *want, size_t wanted) {
    struct nvdp__runes run = {0};
    struct nvdp__runes folded = {0};
    for (size_t i = 0; i < count; i++) {
        ok(nvdp__runes_push(NULL, &run, from[i]));
    }
    ok(nvdp__fold(NULL, &how, &run, &folded));
    cr_assert_eq(folded.count, wanted);
    for (size_t i = 0; i < wanted; i++) {
        cr_assert_eq(folded.at[i], want[i], "%zu: U+%04X, not U+%04X", i, (unsigned)folded.at[i],
                     (unsigned)want[i]);
    }
    free(run.at);
    free(folded.at);
}
#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FOLD(how, from, want) expect_fold(how, from, COUNT(from), want, COUNT(want))

static const struct nvdp__normalization uncased = {true, true, true, false};
static const struct nvdp__normalization lower_only = {true, false, true, false};

Test(normalize, decomposition) {
    const int32_t from[] = {0xC5, 0x1E69, 0xAC01, 0x212B, 0x37E};
    const int32_t want[] = {'a', 's', 0x1100, 0x1161, 0x11A8, 'a', ';'};
    FOLD(uncased, from, want);
}

/* Spacing marks are kept, in canonical order: U+302E has class 224, U+1D165 has 216. */
Test(normalize, spacing_marks_are_ordered) {
    const int32_t from[] = {'a', 0x302E, 0x301, 0x1D165, 0x323, 'b', 0x302E};
    const int32_t want[] = {'a', 0x1D165, 0x302E, 'b', 0x302E};
    FOLD(uncased, from, want);
}

/* The grapheme joiner has class 0 and so separates, although it is dropped. */
Test(normalize, joiner_separates_marks) {
    const int32_t from[] = {'a', 0x302E, 0x34F, 0x1D165};
    const int32_t want[] = {'a', 0x302E, 0x1D165};
    FOLD(uncased, from, want);
}

/* Many marks use the other sort, which is stable too. */
Test(normalize, many_marks) {
    enum { PAIRS = 40 };
    int32_t from[3 * PAIRS];
    int32_t want[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        from[3 * i] = 0x302E + i % 2; /* both 224 */
        from[3 * i + 1] = 0x301;
        from[3 * i + 2] = 0x1D165;
        want[i] = 0x1D165;
        want[PAIRS + i] = 0x302E + i % 2;
    }
    FOLD(uncased, from, want);
}

Test(normalize, lower_case) {
    const int32_t from[] = {'A', 0x130, 0x1E9E, 0x1C4, 0x10400};
    const int32_t want[] = {'a', 'i', 0x307, 0xDF, 0x1C6, 0x10428};
    FOLD(lower_only, from, want);
    const int32_t bare[] = {'a', 'i', 0xDF, 0x1C6, 0x10428};
    FOLD(uncased, from, bare);
}

Test(normalize, classes) {
    cr_assert(nvdp__is_punctuation('$') && nvdp__is_punctuation('^') && nvdp__is_punctuation('`'));
    cr_assert(nvdp__is_punctuation(0x3002) && nvdp__is_punctuation(0xBF));
    cr_assert_not(nvdp__is_punctuation('a') || nvdp__is_punctuation(0x20AC)); /* euro: Sc */
    cr_assert(nvdp__is_chinese(0x4E00) && nvdp__is_chinese(0x9FFF) && nvdp__is_chinese(0x2FA1F));
    cr_assert_not(nvdp__is_chinese(0x3042) || nvdp__is_chinese(0xAC00) || nvdp__is_chinese(0xA000));
    cr_assert(nvdp__is_chinese(0x2B81F) && nvdp__is_chinese(0x2B920));
    cr_assert_not(nvdp__is_chinese(0x2B820) || nvdp__is_chinese(0x2B91F)); /* as in tokenizers */
    cr_assert(nvdp__is_dropped(0) && nvdp__is_dropped(0xFFFD) && nvdp__is_dropped(-1));
    cr_assert(nvdp__is_dropped(0xAD) && nvdp__is_dropped(0x85)); /* Cf, Cc */
    cr_assert(nvdp__is_dropped(0xE000));                         /* private */
    cr_assert_not(nvdp__is_dropped(0x378));                      /* unassigned */
    cr_assert_not(nvdp__is_dropped(0x890) ||
                  nvdp__is_punctuation(0x2E52)); /* newer than Unicode 8 */
    cr_assert(nvdp__is_punctuation(0x166D) && nvdp__is_white_space(0x85));
    cr_assert_not(nvdp__is_dropped('a') || nvdp__is_dropped(0x4E2D));
}
