/* The certificate per word: its bound against an exhaustive search over texts, and its numbers. */
#include "base/sentence.h"
#include "rdp/word.h"
#include "rdp_test.h"

#include "test_context.h"

/* ---- the oracle: c times the largest L1 distance of the multisets of windows ---- */

enum { LETTERS = 3, LONGEST = 9, CODE = 1 << 16 };

/* Numbers the window of word i: its letters, the place of i in it included, so that windows at the
 * ends of a text, which have fewer words, differ from all others. */
static unsigned window_of(const int *text, int n, int i, int r) {
    unsigned code = 1;
    for (int k = i - r; k <= i + r; k++)
        code = code * (LETTERS + 1) + (k < 0 || k >= n ? 0 : 1 + (unsigned)text[k]);
    return code % (CODE - 1);
}

static int windows_distance(const int *a, int n, const int *b, int m, int r) {
    static int count[CODE];
    int distance = 0;
    for (int i = 0; i < n; i++)
        count[window_of(a, n, i, r)]++;
    for (int i = 0; i < m; i++)
        count[window_of(b, m, i, r)]--;
    for (int i = 0; i < n + m; i++) {
        const unsigned at = i < n ? window_of(a, n, i, r) : window_of(b, m, i - n, r);
        distance += abs(count[at]);
        count[at] = 0;
    }
    return distance;
}

/* Spells `number` in `letters` letters. */
static void spell(int number, int letters, int n, int *text) {
    for (int i = 0; i < n; i++, number /= letters)
        text[i] = number % letters;
}

static int power(int base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/* The largest distance over all texts of up to n words, and all ways to replace `before` adjacent
 * words by `after` words. */
static int largest(int letters, int n, int r, int before, int after) {
    int most = 0;
    for (int length = before; length <= n; length++)
        for (int x = 0; x < power(letters, length); x++)
            for (int at = 0; at + before <= length; at++)
                for (int y = 0; y < power(letters, after); y++) {
                    int a[LONGEST], b[LONGEST + 3];
                    spell(x, letters, length, a);
                    memcpy(b, a, (size_t)at * sizeof *a);
                    spell(y, letters, after, b + at);
                    memcpy(b + at + after, a + at + before,
                           (size_t)(length - at - before) * sizeof *a);
                    const int found = windows_distance(a, length, b, length - before + after, r);
                    if (found > most) most = found;
                }
    return most;
}

Test(word, no_change_of_words_exceeds_the_bound) {
    static const size_t change[][2] = {{1, 1}, {0, 1}, {1, 0}, {2, 1},
                                       {1, 2}, {2, 2}, {0, 2}, {3, 3}};
    for (int r = 0; r <= 3; r++) {
        const int letters = r <= 1 ? 3 : 2, n = r <= 1 ? 6 : 8;
        for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
            const struct nvdp__word_clip clip = {.word = 1, .text = 1e9, .window = (size_t)r};
            const int found = largest(letters, n, r, (int)change[i][0], (int)change[i][1]);
            const double bound = nvdp__word_shift(&clip, change[i][0], change[i][1]);
            cr_expect_leq(found, bound, "r = %d, change %zu: %d", r, i, found);
            /* with enough letters the bound is attained */
            if (r <= 1) cr_expect_eq(found, bound, "r = %d: %d", r, found);
        }
    }
}

/* Counts the windows of a text that are left after removing those of the known words: `before` and `after` words on
 * either side of a place, of which only windows that do not reach the place count. -1: a removed window is missing. */
static int windows_at_place(const int *text, int n, int before, int after, int r) {
    static int count[CODE];
    int left = 0;
    bool missing = false;
    for (int i = 0; i < n; i++)
        count[window_of(text, n, i, r)]++;
    for (int i = 0; i + r < before; i++)
        count[window_of(text, before, i, r)]--;
    for (int i = r; i < after; i++)
        count[window_of(text + n - after, after, i, r)]--;
    for (int i = 0; i < n; i++) {
        int *at = &count[window_of(text, n, i, r)];
        missing |= *at < 0;
        left += *at;
        *at = 0;
    }
    for (int i = 0; i + r < before; i++)
        missing |= count[window_of(text, before, i, r)] != 0;
    for (int i = r; i < after; i++)
        missing |= count[window_of(text + n - after, after, i, r)] != 0;
    memset(count, 0, sizeof count);
    return missing ? -1 : left;
}

/* All texts with up to K = 3 words at a place between known words: the reference, made of the known words alone, is part
 * of the text's sum, and the rest has as many windows as the radius counts. */
Test(word, no_words_at_a_place_exceed_the_radius) {
    enum { LETTERS_USED = 2, AROUND = 3 };
    for (int r = 0; r <= 2; r++)
        for (int words = 1; words <= 3; words++) {
            const struct nvdp__word_clip clip = {.word = 1, .text = 1e6, .window = r};
            const double radius = nvdp__word_radius(&clip, (size_t)words);
            int most = 0;
            for (int before = 0; before <= AROUND; before++)
                for (int after = 0; after <= AROUND; after++)
                    for (int k = 0; k <= words; k++)
                        for (int x = 0; x < power(LETTERS_USED, before + k + after); x++) {
                            int text[LONGEST];
                            spell(x, LETTERS_USED, before + k + after, text);
                            const int found =
                                windows_at_place(text, before + k + after, before, after, r);
                            cr_assert_geq(found, 0);
                            cr_assert_leq(found, radius, "r = %d, %d words: %d", r, words, found);
                            if (found > most) most = found;
                        }
            cr_expect_eq(most, 2 * r + words);
            cr_expect_lt(radius, most + 1);
        }
}

Test(word, shift_of_one_word) {
    for (size_t r = 0; r < 4; r++) {
        const struct nvdp__word_clip clip = {.word = 0.5, .text = 1e9, .window = r};
        const double reach = 2 * (double)r + 1;
        cr_expect_eq(nvdp__word_shift(&clip, 1, 1), 2 * 0.5 * reach);
        cr_expect_eq(nvdp__word_shift(&clip, 0, 1), 0.5 * (2 * reach - 1));
        cr_expect_eq(nvdp__word_shift(&clip, 1, 0), 0.5 * (2 * reach - 1));
        cr_expect_eq(nvdp__word_shift(&clip, 0, 0), 0);
    }
}

/* ---- the numbers ---- */

Test(word, mu_is_capped_by_the_text) {
    const struct nvdp__word_clip near = {.word = 0.1, .text = 4}, far = {.word = 10, .text = 4};
    cr_expect_geq(nvdp__word_mu(&near, 1, 1, 1), 0.2);
    cr_expect_leq(nvdp__word_mu(&near, 1, 1, 1), 0.2 + 4e-6);
    near(nvdp__word_mu(&near, 1, 1, 9), 3 * nvdp__word_mu(&near, 1, 1, 1), 1e-12);
    cr_expect_geq(nvdp__word_mu(&far, 1, 1, 1), 8);
    cr_expect_leq(nvdp__word_mu(&far, 1, 1, 1), 8 * (1 + 1e-12));
    cr_expect_geq(nvdp__word_radius(&near, 1), 0.1);
    cr_expect_leq(nvdp__word_radius(&near, 1), 0.1 + 2e-6);
    cr_expect_eq(nvdp__word_radius(&far, 1), 4);
    cr_expect_geq(nvdp__word_mu(&near, 3, 3, 1), 0.6);
    cr_expect_leq(nvdp__word_mu(&near, 3, 3, 1), 3 * nvdp__word_mu(&near, 1, 1, 1));
    cr_expect_leq(nvdp__word_mu(&far, 3, 3, 1), 8 * (1 + 1e-12));
    cr_expect_eq(nvdp__word_radius(&far, 3), 4);
}

Test(word, calibration_keeps_the_budget) {
    static const double epsilon[] = {0.1, 1, 2, 4, 8, 30};
    for (size_t i = 0; i < sizeof epsilon / sizeof *epsilon; i++)
        for (int given = 0; given < 2; given++) {
            const double mu = nvdp_gdp_mu(epsilon[i], 1e-5);
            struct nvdp__word_clip clip = {.text = given ? 3 : INFINITY};
            clip.word = nvdp__word_clip_for(&clip, mu);
            if (!given) clip.text = nvdp__word_spare(clip.word);
            cr_expect_leq(2 * clip.word, mu);
            cr_expect_geq(2 * clip.word, mu * (1 - 1e-3));
            cr_expect_leq(nvdp__word_mu(&clip, 1, 1, 1), mu);
            cr_expect_leq(nvdp_gdp_epsilon(nvdp__word_mu(&clip, 1, 1, 1), 1e-5), epsilon[i]);
        }
    cr_expect(isnan(nvdp__word_clip_for(&(struct nvdp__word_clip){.text = 1e9}, 1)));
}

/* ---- the claim of a certificate ---- */

static struct nvdp_limits limits_of(double word, double text) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    strcpy(limits.method, "word");
    limits.noise = limits.sealed = limits.same_noise = true;
    limits.rows = 1;
    limits.dim = 2;
    limits.kappa = 1;
    limits.clip_sequence = text;
    limits.clip_mu = limits.alpha_max = INFINITY;
    limits.clip_word = word;
    return limits;
}

static const char *statement_of(const struct nvdp_certificate *made) {
    char *text = NULL;
    ok(nvdp__certificate_statement(ctx, made, &text));
    return support_keep(text);
}

static struct nvdp_certificate certified(const struct nvdp_limits *limits) {
    struct nvdp_certificate made = NVDP_RESULT(struct nvdp_certificate);
    ok(nvdp_certify(ctx, limits, NULL, &made));
    return made;
}

Test(word, certificate) {
    struct nvdp_limits limits = limits_of(0.1, 50);
    struct nvdp_certificate made = certified(&limits);
    cr_assert(made.word.holds);
    cr_expect_geq(made.word.mu, 0.2);
    near(made.word.epsilon, nvdp_gdp_epsilon(made.word.mu, 1e-5), 1e-12);
    cr_expect_gt(made.epsilon, 100 * made.word.epsilon);
    cr_expect_gt(made.word.guesses, 0);
    for (size_t i = 0; i < made.word.guesses; i++) {
        cr_expect_geq(made.word.guess[i].bound, made.word.guess[i].baseline);
        cr_expect_leq(made.word.guess[i].bound,
                      nvdp_guess_bound(made.word.guess[i].baseline, made.word.radius, 1, 0));
    }
    const char *text = statement_of(&made);
    const char *said[] = {
        "Proven for each single occurrence of a word",
        "The text as a whole may be recognized, and its length guessed",
        "of the time with it, on average over texts and noise (epsilon",
        "Single guesses can be nearly certain. Further samples of this text or",
        "Chinese characters are words of their own",
        "No useful guarantee",
        support_path("has up to k times the mu: for 3 adjacent words epsilon is %s, and",
                     nvdp__bound(nvdp_gdp_epsilon(made.word.phrase_mu, 1e-5)).text)};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        support_contains(text, said[i]);
    support_lacks(text, "hidden");
    cr_expect_eq(made.word.window, limits.word_window);
    cr_expect_geq(made.word.phrase_mu, 0.6);
    cr_expect_lt(made.word.phrase_mu, 0.601);
    for (size_t i = 0; i < made.word.guesses; i++)
        cr_expect_gt(made.word.phrase_guess[i].bound, made.word.guess[i].bound);

    /* With a useful certificate of whole texts the text is not said to be recognized. */
    limits = limits_of(0.1, 1);
    made = certified(&limits);
    cr_assert_lt(made.epsilon, NVDP_USEFUL_EPSILON);
    text = statement_of(&made);
    support_contains(text, "Proven for each single occurrence of a word");
    support_lacks(text, "may be recognized");
    support_contains(text, "depends on the length of its text");

    /* Nothing useful is proven of three words whose epsilon is large. */
    limits = limits_of(2, 500);
    made = certified(&limits);
    cr_assert_lt(made.word.epsilon, 30);
    support_contains(statement_of(&made), "for 3 adjacent words nothing useful is proven.");
}

Test(word, nothing_is_claimed_without_the_conditions) {
    for (int i = 0; i < 6; i++) {
        struct nvdp_limits limits = limits_of(0.1, 50);
        if (i == 0) limits.clip_word = 0;
        if (i == 1) limits.sealed = false;
        if (i == 2) limits.rows = 0;
        if (i == 3) limits.same_noise = false;
        if (i == 4) limits.logvar_min = limits.logvar_max = -1;
        if (i == 5) limits.clip_sequence = INFINITY;
        const struct nvdp_certificate made = certified(&limits);
        cr_expect(!made.word.holds, "%d", i);
        support_lacks(statement_of(&made), "occurrence of a word");
        cr_expect_null(json_object_get(support_result_json(ctx, &made, NULL), "word"), "%d", i);
    }
}
